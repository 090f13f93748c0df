//! Specs written as JSON: checked depth-first in the order they are written, up to the first fault.

use super::{
    ArraySpec, JsonSpec, Notes, ObjectSpec, OneOfSpec, ParamSpec, ScalarSpec, ValueSpec, declare,
};
use crate::json::{Json, Object, Str};
use crate::schema::SchemaError;
use crate::suggest::nearest_name;
use crate::trail::{Crumb, Place, Trail};
use crate::violation::{Violation, ViolationKind};

pub(super) fn value(spec: &Json) -> Result<ValueSpec, SchemaError> {
    let mut walk = Walk::new("schema");
    walk.pending.push(Task::Node { spec, place: Trail::ROOT, position: Position::Value });
    walk.run()?;
    Ok(walk.done.pop().map_or_else(|| JsonSpec::default().into(), |done| done.spec))
}

pub(super) fn parameters(spec: &Json) -> Result<ParamSpec, SchemaError> {
    let mut walk = Walk::new("parameters");
    let Some(map) = spec.as_object() else {
        let message =
            format!("parameters are an object of specs by name, not {}", spec.kind().described());
        return Err(walk.fault(Trail::ROOT, ViolationKind::NotPropertyMap, message));
    };
    walk.put_off_properties(map, Trail::ROOT);
    walk.run()?;
    let mut parameters = ParamSpec::new();
    for (name, Done { spec, required }) in map.keys().zip(walk.done) {
        declare(
            &mut parameters.properties,
            &mut parameters.required,
            name.clone(),
            &spec,
            required,
        );
    }
    Ok(parameters)
}

struct Walk<'a> {
    root: &'static str,
    trail: Trail,
    /// The next task is on top.
    pending: Vec<Task<'a>>,
    /// Finished specs whose parent is not finished yet, in order.
    done: Vec<Done>,
}

enum Task<'a> {
    Node {
        spec: &'a Json,
        place: Place,
        position: Position,
    },
    /// After the children of a node.
    Close {
        node: Object,
        form: Form,
        required: bool,
    },
}

/// Where a spec stands: only a property can be required.
#[derive(Clone, Copy, PartialEq)]
enum Position {
    Value,
    Property,
}

#[derive(Clone, Copy, PartialEq)]
enum Form {
    Scalar(&'static str),
    Array,
    Object,
    Json,
    OneOf,
}

struct Done {
    spec: ValueSpec,
    required: bool,
}

const NOTES: [&str; 4] = ["description", "title", "default", "examples"];

impl Form {
    fn of(kind: &str) -> Option<Self> {
        Some(match kind {
            "string" => Self::Scalar("string"),
            "number" => Self::Scalar("number"),
            "integer" => Self::Scalar("integer"),
            "boolean" => Self::Scalar("boolean"),
            "null" => Self::Scalar("null"),
            "array" => Self::Array,
            "object" => Self::Object,
            "json" => Self::Json,
            _ => return None,
        })
    }

    /// The keys of this form beside notes and `type`.
    fn keys(self) -> &'static [&'static str] {
        match self {
            Self::Scalar(_) => &["enum", "const"],
            Self::Array => &["items"],
            Self::Object => &["properties", "additionalProperties"],
            Self::Json => &[],
            Self::OneOf => &["oneOf"],
        }
    }
}

impl<'a> Walk<'a> {
    fn new(root: &'static str) -> Self {
        Self { root, trail: Trail::new(), pending: Vec::new(), done: Vec::new() }
    }

    fn run(&mut self) -> Result<(), SchemaError> {
        while let Some(task) = self.pending.pop() {
            match task {
                Task::Node { spec, place, position } => self.node(spec, place, position)?,
                Task::Close { node, form, required } => {
                    let spec = self.close(&node, form);
                    self.done.push(Done { spec, required });
                }
            }
        }
        Ok(())
    }

    fn node(
        &mut self,
        spec: &'a Json,
        place: Place,
        position: Position,
    ) -> Result<(), SchemaError> {
        let Some(node) = spec.as_object() else {
            let message =
                format!("a spec is an object with a type, not {}", spec.kind().described());
            return Err(self.fault(place, ViolationKind::NotSpec, message));
        };
        let kind = node.get("type").and_then(Json::as_str).and_then(Form::of);
        let form = if node.contains_key("oneOf") { Some(Form::OneOf) } else { kind };
        let Some(form) = form else {
            let message = "must be string, number, integer, boolean, null, array, object or json, or else oneOf is needed";
            return Err(self.fault_at(place, "type", ViolationKind::BadType, message));
        };
        let required = self.required_flag(node, place, position)?;
        self.vocabulary(node, place, position, kind.unwrap_or(form))?;
        if form == Form::OneOf && node.contains_key("type") {
            let message = "has both type and oneOf; give the types inside the branches";
            return Err(self.fault(place, ViolationKind::TypeAndOneOf, message));
        }
        self.own_checks(node, place, form)?;
        self.pending.push(Task::Close { node: node.clone(), form, required });
        self.put_off_children(node, place, form);
        Ok(())
    }

    fn required_flag(
        &mut self,
        node: &Object,
        place: Place,
        position: Position,
    ) -> Result<bool, SchemaError> {
        match node.get("required") {
            Some(Json::Bool(true)) if position == Position::Property => Ok(true),
            Some(_) if position == Position::Property => {
                let message = "is true or absent; leave it out if the member may be missing";
                Err(self.fault_at(place, "required", ViolationKind::BadRequiredFlag, message))
            }
            _ => Ok(false),
        }
    }

    fn vocabulary(
        &mut self,
        node: &Object,
        place: Place,
        position: Position,
        form: Form,
    ) -> Result<(), SchemaError> {
        let known = |key: &str| {
            matches!(key, "type" | "oneOf")
                || NOTES.contains(&key)
                || form.keys().contains(&key)
                || (key == "required" && position == Position::Property)
        };
        let Some(unknown) = node.keys().find(|key| !known(key)) else { return Ok(()) };
        let near = nearest_name(unknown, form.keys().iter().chain(&NOTES).copied());
        let message = match near {
            Some(near) => format!("is not a key of this kind of spec; did you mean `{near}`?"),
            None => "is not a key of this kind of spec; say it in the description and check it in the tool".to_owned(),
        };
        let place = self.trail.below(place, Crumb::Name(unknown.clone()));
        Err(self.fault(place, ViolationKind::UnknownKey, message))
    }

    fn own_checks(&mut self, node: &Object, place: Place, form: Form) -> Result<(), SchemaError> {
        let wrong =
            |key: &str, right: fn(&Json) -> bool| node.get(key).is_some_and(|value| !right(value));
        let (key, kind, message) = match form {
            Form::Scalar(_) if wrong("enum", |list| list.as_array().is_some()) => {
                ("enum", ViolationKind::BadEnum, "must be a list of values")
            }
            Form::Object if node.get("additionalProperties").and_then(Json::as_bool).is_none() => (
                "additionalProperties",
                ViolationKind::OpennessMissing,
                "must say whether undeclared members are accepted: true or false",
            ),
            Form::Object if wrong("properties", |map| map.as_object().is_some()) => {
                ("properties", ViolationKind::NotPropertyMap, "must be an object of specs by name")
            }
            Form::OneOf if wrong("oneOf", |list| list.as_array().is_some()) => {
                ("oneOf", ViolationKind::OneOfArity, "must be a list of at least two specs")
            }
            _ => return Ok(()),
        };
        Err(self.fault_at(place, key, kind, message))
    }

    fn put_off_children(&mut self, node: &'a Object, place: Place, form: Form) {
        match form {
            Form::Scalar(_) | Form::Json => {}
            Form::Array => {
                if let Some(spec) = node.get("items") {
                    let place = self.trail.below(place, Crumb::Keyword("items"));
                    self.pending.push(Task::Node { spec, place, position: Position::Value });
                }
            }
            Form::Object => {
                if let Some(map) = node.get("properties").and_then(Json::as_object) {
                    let place = self.trail.below(place, Crumb::Keyword("properties"));
                    self.put_off_properties(map, place);
                }
            }
            Form::OneOf => {
                let place = self.trail.below(place, Crumb::Keyword("oneOf"));
                for (index, spec) in branches(node).iter().enumerate().rev() {
                    let place = self.trail.below(place, Crumb::Index(index));
                    self.pending.push(Task::Node { spec, place, position: Position::Value });
                }
            }
        }
    }

    fn put_off_properties(&mut self, map: &'a Object, place: Place) {
        for (name, spec) in map.iter().rev() {
            let place = self.trail.below(place, Crumb::Name(name.clone()));
            self.pending.push(Task::Node { spec, place, position: Position::Property });
        }
    }

    /// Puts a node together; its children are the last ones done.
    fn close(&mut self, node: &Object, form: Form) -> ValueSpec {
        let copy = |key: &str| node.get(key).cloned();
        let notes = Notes {
            description: copy("description"),
            title: copy("title"),
            default: copy("default"),
            examples: copy("examples"),
        };
        match form {
            Form::Scalar(kind) => ScalarSpec {
                kind,
                notes,
                members: node.get("enum").cloned(),
                constant: node.get("const").cloned(),
            }
            .into(),
            Form::Json => JsonSpec { notes }.into(),
            Form::Array => {
                let count = usize::from(node.contains_key("items"));
                let items = self.take_done(count).next().map(|item| item.spec.to_schema());
                ArraySpec { notes, items }.into()
            }
            Form::OneOf => {
                let branches = self
                    .take_done(branches(node).len())
                    .map(|branch| branch.spec.to_schema())
                    .collect();
                OneOfSpec { notes, branches }.into()
            }
            Form::Object => {
                let open = node.get("additionalProperties").and_then(Json::as_bool) == Some(true);
                let map = node.get("properties").and_then(Json::as_object);
                let (properties, required) = map.map(|map| self.close_properties(map)).unzip();
                ObjectSpec { notes, open, properties, required: required.unwrap_or_default() }
                    .into()
            }
        }
    }

    fn close_properties(&mut self, map: &Object) -> (Object, Vec<Str>) {
        let mut required = Vec::new();
        let mut properties = Vec::with_capacity(map.len());
        for (name, done) in map.keys().zip(self.take_done(map.len())) {
            properties.push((name.clone(), done.spec.to_schema()));
            if done.required {
                required.push(name.clone());
            }
        }
        (properties.into_iter().collect(), required)
    }

    fn take_done(&mut self, count: usize) -> std::vec::IntoIter<Done> {
        self.done.split_off(self.done.len() - count).into_iter()
    }

    fn fault_at(
        &mut self,
        place: Place,
        key: &'static str,
        kind: ViolationKind,
        message: impl Into<Str>,
    ) -> SchemaError {
        let place = self.trail.below(place, Crumb::Keyword(key));
        self.fault(place, kind, message)
    }

    fn fault(&self, place: Place, kind: ViolationKind, message: impl Into<Str>) -> SchemaError {
        SchemaError::new(vec![Violation::new(self.root, self.trail.path(place), kind, message)])
    }
}

fn branches(node: &Object) -> &[Json] {
    node.get("oneOf").and_then(Json::as_array).map_or(&[], |branches| branches)
}
