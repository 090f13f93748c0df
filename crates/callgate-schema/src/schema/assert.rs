//! The assertion: a schema is within the subset, or everything that is not is named, in a fixed order.

use super::SchemaError;
use super::node::{Literals, Node, NodeId, ObjectNode, Part, Scalar, ScalarKind};
use crate::json::{Json, Object};
use crate::suggest::nearest_name;
use crate::trail::{Crumb, Place, Trail};
use crate::violation::{Violation, ViolationKind};

/// All keywords there are.
const KEYWORDS: [&str; 12] = [
    "type",
    "oneOf",
    "properties",
    "required",
    "additionalProperties",
    "items",
    "enum",
    "const",
    "description",
    "title",
    "default",
    "examples",
];
/// The keywords that need a type, in the order in which they are reported.
const TYPED: [&str; 6] =
    ["properties", "required", "additionalProperties", "items", "enum", "const"];
const OF_OBJECTS: [&str; 3] = ["properties", "required", "additionalProperties"];
const OF_ARRAYS: [&str; 1] = ["items"];
const OF_SCALARS: [&str; 2] = ["enum", "const"];

/// Constraints of JSON Schema that the subset does not enforce.
const ASSERTIONS: [&str; 24] = [
    "format",
    "pattern",
    "minLength",
    "maxLength",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
    "minItems",
    "maxItems",
    "uniqueItems",
    "contains",
    "minContains",
    "maxContains",
    "minProperties",
    "maxProperties",
    "propertyNames",
    "dependentRequired",
    "dependentSchemas",
    "not",
    "if",
    "then",
    "else",
];

/// The nodes of a schema; the root is the first.
pub(super) fn compile(schema: &Json) -> Result<Vec<Node>, SchemaError> {
    let root = Task::Node { schema, id: Node::ROOT, place: Trail::ROOT };
    let walk = Walk {
        trail: Trail::new(),
        pending: vec![root],
        nodes: vec![Node::Any],
        found: Vec::new(),
    };
    walk.run()
}

struct Walk<'a> {
    trail: Trail,
    /// The next task is on top.
    pending: Vec<Task<'a>>,
    nodes: Vec<Node>,
    found: Vec<Violation>,
}

enum Task<'a> {
    Node {
        schema: &'a Json,
        id: NodeId,
        place: Place,
    },
    /// After the properties of an object.
    Members {
        schema: &'a Object,
        id: NodeId,
        place: Place,
        parts: Vec<NodeId>,
    },
    /// After the branches of a union.
    Beside {
        schema: &'a Object,
        place: Place,
    },
}

impl<'a> Walk<'a> {
    fn run(mut self) -> Result<Vec<Node>, SchemaError> {
        while let Some(task) = self.pending.pop() {
            match task {
                Task::Node { schema, id, place } => self.node(schema, id, place),
                Task::Members { schema, id, place, parts } => {
                    self.members(schema, id, place, &parts);
                }
                Task::Beside { schema, place } => {
                    let message = "means nothing beside oneOf; put it into the branches";
                    self.refuse_present(schema, place, &TYPED, ViolationKind::BesideOneOf, message);
                }
            }
        }
        if self.found.is_empty() { Ok(self.nodes) } else { Err(SchemaError::new(self.found)) }
    }

    fn node(&mut self, schema: &'a Json, id: NodeId, place: Place) {
        let Some(schema) = schema.as_object() else {
            let message = format!(
                "a schema is an object, not {}; `{{}}` takes any value",
                schema.kind().described()
            );
            return self.report(place, ViolationKind::NotSchema, message);
        };
        self.unknown_keywords(schema, place);
        self.annotations(schema, place);
        match (schema.get("type"), schema.get("oneOf")) {
            (Some(_), Some(_)) => {
                let message = "has both type and oneOf; give the type inside the branches";
                self.report(place, ViolationKind::TypeAndOneOf, message);
            }
            (None, None) => {
                let message = "needs a type beside it";
                self.refuse_present(schema, place, &TYPED, ViolationKind::NeedsType, message);
            }
            (None, Some(branches)) => self.union(schema, branches, id, place),
            (Some(kind), None) => self.typed(schema, kind, id, place),
        }
    }

    fn unknown_keywords(&mut self, schema: &Object, place: Place) {
        for name in schema.keys().filter(|name| !KEYWORDS.contains(&&***name)) {
            let message = outside_the_subset(name);
            let place = self.trail.below(place, Crumb::Name(name.clone()));
            self.report(place, ViolationKind::UnknownKeyword, message);
        }
    }

    fn annotations(&mut self, schema: &Object, place: Place) {
        for name in ["description", "title"] {
            if schema.get(name).is_some_and(|value| value.as_str().is_none()) {
                self.report_at(place, name, ViolationKind::BadAnnotation, "must be a string");
            }
        }
    }

    fn union(&mut self, schema: &'a Object, branches: &'a Json, id: NodeId, place: Place) {
        self.pending.push(Task::Beside { schema, place });
        let Some(branches) = branches.as_array().filter(|branches| branches.len() >= 2) else {
            return self.report_at(
                place,
                "oneOf",
                ViolationKind::OneOfArity,
                "must be a list of at least two schemas",
            );
        };
        let place = self.trail.below(place, Crumb::Keyword("oneOf"));
        let ids = self.reserve(branches.len());
        for (index, (schema, id)) in branches.iter().zip(ids.clone()).enumerate().rev() {
            let place = self.trail.below(place, Crumb::Index(index));
            self.pending.push(Task::Node { schema, id, place });
        }
        self.nodes[id] = Node::Union(ids.collect());
    }

    fn typed(&mut self, schema: &'a Object, kind: &Json, id: NodeId, place: Place) {
        let name = match kind {
            Json::String(name) => &**name,
            Json::Array(_) => {
                let message = "must be one type; write several as oneOf";
                return self.report_at(place, "type", ViolationKind::TypeArray, message);
            }
            _ => "",
        };
        match (name, ScalarKind::from_name(name)) {
            ("object", _) => self.object(schema, id, place),
            ("array", _) => self.array(schema, id, place),
            (_, Some(kind)) => self.scalar(schema, kind, id, place),
            (_, None) => {
                let message = "must be object, array, string, number, integer, boolean or null";
                self.report_at(place, "type", ViolationKind::BadType, message);
            }
        }
    }

    fn object(&mut self, schema: &'a Object, id: NodeId, place: Place) {
        self.misplaced(schema, place, &[&OF_ARRAYS, &OF_SCALARS]);
        let mut parts = Vec::new();
        let declared = schema.get("properties").and_then(Json::as_object);
        if let Some(declared) = declared {
            parts = self.reserve(declared.len()).collect();
        }
        self.pending.push(Task::Members { schema, id, place, parts: parts.clone() });
        if let Some(declared) = declared {
            let place = self.trail.below(place, Crumb::Keyword("properties"));
            for ((name, schema), id) in declared.iter().zip(parts).rev() {
                let place = self.trail.below(place, Crumb::Name(name.clone()));
                self.pending.push(Task::Node { schema, id, place });
            }
        } else if schema.contains_key("properties") {
            self.report_at(
                place,
                "properties",
                ViolationKind::BadProperties,
                "must be an object of schemas by name",
            );
        }
    }

    fn members(&mut self, schema: &Object, id: NodeId, place: Place, parts: &[NodeId]) {
        let declared =
            schema.get("properties").and_then(Json::as_object).cloned().unwrap_or_default();
        let required = self.required(schema, &declared, place);
        let closed = match schema.get("additionalProperties") {
            None => false,
            Some(Json::Bool(open)) => !open,
            Some(_) => {
                let message =
                    "must be true or false; a schema for undeclared members is not in the subset";
                self.report_at(
                    place,
                    "additionalProperties",
                    ViolationKind::BadAdditional,
                    message,
                );
                return;
            }
        };
        let part = |(name, node): (&crate::Str, &NodeId)| Part {
            name: name.clone(),
            node: *node,
            required: false,
        };
        let mut parts: Vec<Part> = declared.keys().zip(parts).map(part).collect();
        for name in &required {
            if let Some(part) = declared.position(name).and_then(|place| parts.get_mut(place)) {
                part.required = true;
            }
        }
        let required_parts = parts.iter().filter(|part| part.required).count();
        self.nodes[id] =
            Node::Object(ObjectNode { declared, parts, required, required_parts, closed });
    }

    /// The names that must be there.
    fn required(&mut self, schema: &Object, declared: &Object, place: Place) -> Vec<crate::Str> {
        let Some(list) = schema.get("required") else { return Vec::new() };
        let names = list
            .as_array()
            .and_then(|list| list.iter().map(Json::to_str).collect::<Option<Vec<_>>>());
        let Some(names) = names else {
            self.report_at(
                place,
                "required",
                ViolationKind::BadRequired,
                "must be a list of names",
            );
            return Vec::new();
        };
        for name in names.iter().filter(|name| !declared.contains_key(name)) {
            let near = nearest_name(name, declared.keys().map(|key| &**key));
            let message = match near {
                Some(near) => {
                    format!("`{name}` is not declared in properties; did you mean `{near}`?")
                }
                None => format!("`{name}` is not declared in properties"),
            };
            self.report_at(place, "required", ViolationKind::UndeclaredRequired, message);
        }
        names
    }

    fn array(&mut self, schema: &'a Object, id: NodeId, place: Place) {
        self.misplaced(schema, place, &[&OF_OBJECTS, &OF_SCALARS]);
        let item = schema.get("items").map(|schema| {
            let place = self.trail.below(place, Crumb::Keyword("items"));
            let id = self.reserve(1).start;
            self.pending.push(Task::Node { schema, id, place });
            id
        });
        self.nodes[id] = Node::Array(item);
    }

    fn scalar(&mut self, schema: &Object, kind: ScalarKind, id: NodeId, place: Place) {
        self.misplaced(schema, place, &[&OF_OBJECTS, &OF_ARRAYS]);
        let members = schema.get("enum").and_then(|list| self.literals(list, kind, place));
        let constant = schema.get("const").cloned();
        if let Some(constant) = &constant {
            if !kind.admits(constant) {
                let message = format!("must be {}", kind.described());
                self.report_at(place, "const", ViolationKind::BadConst, message);
            } else if members.as_ref().is_some_and(|members| !members.contains(constant)) {
                self.report_at(
                    place,
                    "const",
                    ViolationKind::ConstNotInEnum,
                    "must be one of the enum beside it",
                );
            }
        }
        self.nodes[id] = Node::Scalar(Scalar { kind, members, constant });
    }

    fn literals(&mut self, list: &Json, kind: ScalarKind, place: Place) -> Option<Literals> {
        let list = list
            .as_array()
            .filter(|list| !list.is_empty() && list.iter().all(|member| kind.admits(member)));
        if list.is_none() {
            let message =
                format!("must be a list of at least one value, each {}", kind.described());
            self.report_at(place, "enum", ViolationKind::BadEnum, message);
        }
        list.map(|list| Literals::new(list.to_vec()))
    }

    fn misplaced(&mut self, schema: &Object, place: Place, groups: &[&[&'static str]]) {
        for group in groups {
            let message = "belongs to another type";
            self.refuse_present(schema, place, group, ViolationKind::Misplaced, message);
        }
    }

    fn refuse_present(
        &mut self,
        schema: &Object,
        place: Place,
        names: &[&'static str],
        kind: ViolationKind,
        message: &str,
    ) {
        for name in names.iter().filter(|name| schema.contains_key(name)) {
            self.report_at(place, name, kind, message);
        }
    }

    /// Room for that many nodes.
    fn reserve(&mut self, count: usize) -> std::ops::Range<NodeId> {
        let start = self.nodes.len();
        self.nodes.resize_with(start + count, || Node::Any);
        start..start + count
    }

    fn report_at(
        &mut self,
        place: Place,
        keyword: &'static str,
        kind: ViolationKind,
        message: impl Into<crate::Str>,
    ) {
        let place = self.trail.below(place, Crumb::Keyword(keyword));
        self.report(place, kind, message);
    }

    fn report(&mut self, place: Place, kind: ViolationKind, message: impl Into<crate::Str>) {
        self.found.push(Violation::new("schema", self.trail.path(place), kind, message));
    }
}

/// What to do instead of a keyword that is not known here.
fn outside_the_subset(keyword: &str) -> String {
    let instead = match keyword {
        "anyOf" => "write oneOf with branches that exclude each other",
        "allOf" => "write one schema that says it all",
        "$ref" | "$defs" | "definitions" => "write the schema out where it is used",
        "nullable" => "write oneOf with a branch of type null",
        "prefixItems" => "write an object with named members",
        "patternProperties" | "unevaluatedProperties" => "leave additionalProperties true",
        "$schema" | "$id" | "$comment" | "deprecated" | "readOnly" | "writeOnly" => "leave it out",
        _ if ASSERTIONS.contains(&keyword) => "say it in the description and check it in the tool",
        _ => {
            return match nearest_name(keyword, KEYWORDS) {
                Some(near) => format!("is not a keyword; did you mean `{near}`?"),
                None => "is not a keyword; leave it out".to_owned(),
            };
        }
    };
    format!("is not in the enforced subset; {instead}")
}
