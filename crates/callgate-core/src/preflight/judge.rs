//! Sketches of calls against the schemas a program was shown.

use std::collections::HashMap;

use callgate_schema::{Array, Json, JsonPath, Object, SubsetSchema, json, nearest_name};

use super::sketch::{CallSketch, Known, Sketch, SketchMember};
use super::{Finding, FindingKind, ToolSignature};
use crate::program::{Namespace, Position, Program};

/// Steps that the arguments of one call may cost. What is not looked at counts as right.
const FUEL: u32 = 10_000;
/// How deep a schema is followed, references and combinations included.
const DEPTH: u32 = 128;
/// No program needs to hear of more.
const MOST: usize = 200;
/// How many names a message lists.
const LISTED: usize = 12;
/// The longest piece of a value that a message repeats, in characters.
const LONGEST_SHOWN: usize = 60;

/// Compares the calls of a program with what it was shown: its namespaces, and the schemas of its tools.
///
/// The same rules for every language. The findings are in the order of the text.
///
/// ```
/// use callgate_core::preflight::{CallSketch, Extent, Sketch, ToolSignature, judge};
/// use callgate_core::program::{Namespace, Position, Program};
/// use callgate_schema::json;
///
/// let schema = json!({
///     "type": "object",
///     "properties": { "path": { "type": "string" } },
///     "required": ["path"],
/// });
/// let tools = [ToolSignature::new("read", schema)];
/// let program = Program::new("await tools.read({})", vec![Namespace::new("tools", vec!["read".into()], None)]);
///
/// let at = |column| Position { line: 1, column };
/// let mut call = CallSketch::new("tools", "read", at(13));
/// call.argument = Some(Sketch::object(at(18), vec![], Extent::Complete));
/// assert_eq!(judge(&program, &tools, &[call.clone()]), []);
///
/// call.is_refusal_certain = true;
/// let findings = judge(&program, &tools, &[call]);
/// assert_eq!(findings[0].to_string(), "line 1, column 18: `read`: path: missing, expected a string");
/// ```
pub fn judge(program: &Program, tools: &[ToolSignature], calls: &[CallSketch]) -> Vec<Finding> {
    if calls.is_empty() {
        return Vec::new();
    }
    let tools: HashMap<&str, &ToolSignature> =
        tools.iter().map(|tool| (&*tool.name, tool)).collect();
    let mut findings = Vec::new();
    for call in calls {
        let Some(namespace) = program.namespaces.iter().find(|space| space.global == call.global)
        else {
            continue;
        };
        judge_call(call, namespace, tools.get(&*call.member).copied(), &mut findings);
        if findings.len() >= MOST {
            break;
        }
    }
    findings.sort_by_key(|finding| (finding.position.line, finding.position.column, finding.kind));
    findings.dedup();
    findings.truncate(MOST);
    findings
}

fn judge_call(
    call: &CallSketch,
    namespace: &Namespace,
    tool: Option<&ToolSignature>,
    findings: &mut Vec<Finding>,
) {
    let CallSketch { member, position, .. } = call;
    if tool.is_none() && !namespace.members.contains(member) {
        if call.is_lookup_certain {
            let message = no_such_member(namespace, member);
            findings.push(Finding::new(FindingKind::UnknownTool, *position, message));
        }
        return;
    }
    if call.is_forgotten {
        let message = format!(
            "`{}` is called and nothing waits for its end: write `await` in front of it",
            shown(member)
        );
        findings.push(Finding::new(FindingKind::NotAwaited, *position, message));
    }
    if let (true, Some(argument), Some(tool)) = (call.is_refusal_certain, &call.argument, tool) {
        judge_argument(tool, argument, *position, findings);
    }
}

fn no_such_member(namespace: &Namespace, member: &str) -> String {
    let Namespace { global, members, .. } = namespace;
    let names = || members.iter().map(|name| &**name);
    let hint = match nearest_name(member, names()) {
        Some(near) => format!("; did you mean `{near}`?"),
        None if members.is_empty() => "; there are no tools".to_owned(),
        None if members.len() <= LISTED => format!("; there are {}", listed(names())),
        None => String::new(),
    };
    format!("`{global}` has no `{}`{hint}", shown(member))
}

fn judge_argument(
    tool: &ToolSignature,
    argument: &Sketch,
    call: Position,
    findings: &mut Vec<Finding>,
) {
    let mut walk =
        Walk { root: &tool.parameters, fuel: FUEL, depth: 0, is_enforced: tool.is_enforced };
    let faults = match &argument.known {
        Known::Absent => {
            let message = "nothing is passed: pass an object, `{}` if there is nothing to say";
            vec![Fault {
                kind: FindingKind::MissingArgument,
                at: call,
                path: JsonPath::root(),
                message: message.to_owned(),
                is_of_type: false,
            }]
        }
        // Somebody else's tool may take it for an empty object.
        Known::Scalar(Json::Null) => Vec::new(),
        _ => walk.faults(&tool.parameters, argument, &JsonPath::root()),
    };
    findings.extend(faults.into_iter().map(|fault| {
        let message = format!("`{}`: {}: {}", tool.name, fault.path.display(""), fault.message);
        Finding::new(fault.kind, fault.at, message)
    }));
}

/// One thing that is certainly wrong with an argument.
struct Fault {
    kind: FindingKind,
    at: Position,
    path: JsonPath,
    message: String,
    /// Whether the value is of another type altogether.
    is_of_type: bool,
}

struct Walk<'a> {
    root: &'a Json,
    fuel: u32,
    depth: u32,
    is_enforced: bool,
}

impl<'a> Walk<'a> {
    /// What is certainly wrong with a value. Keywords that are not known here are taken to be satisfied.
    fn faults(&mut self, schema: &'a Json, sketch: &Sketch, path: &JsonPath) -> Vec<Fault> {
        if self.fuel == 0 || self.depth >= DEPTH {
            return Vec::new();
        }
        self.fuel -= 1;
        self.depth += 1;
        let faults = self.faults_here(schema, sketch, path);
        self.depth -= 1;
        faults
    }

    fn faults_here(&mut self, schema: &'a Json, sketch: &Sketch, path: &JsonPath) -> Vec<Fault> {
        let mut faults = match &sketch.known {
            Known::Unfit(why) => return vec![wrong(sketch, path, why.clone())],
            Known::Nothing | Known::Absent => return Vec::new(),
            Known::List { .. } | Known::Object { .. } if !self.is_enforced => {
                return self.unfit_below(sketch, path);
            }
            _ if !self.is_enforced => return Vec::new(),
            _ => Vec::new(),
        };
        let Some(schema) = self.resolved(schema) else { return self.unfit_below(sketch, path) };
        if let Some(fault) =
            of_type(schema, sketch, path).or_else(|| of_literals(schema, sketch, path))
        {
            return vec![fault];
        }
        faults.extend(out_of_range(schema, sketch, path));
        match &sketch.known {
            Known::List { items, .. } => self.items(schema, items, path, &mut faults),
            Known::Object { members, is_open } => {
                self.members(schema, sketch.at, members, *is_open, path, &mut faults);
            }
            _ => {}
        }
        self.combinations(schema, sketch, path, &mut faults);
        faults
    }

    /// What can never be passed, whatever the schema is.
    fn unfit_below(&mut self, sketch: &Sketch, path: &JsonPath) -> Vec<Fault> {
        match &sketch.known {
            Known::List { items, .. } => {
                let items = items.iter().enumerate();
                items
                    .flat_map(|(at, item)| self.faults(&Json::Null, item, &path.clone().index(at)))
                    .collect()
            }
            Known::Object { members, .. } => members
                .iter()
                .flat_map(|it| {
                    self.faults(&Json::Null, &it.value, &path.clone().name(it.name.clone()))
                })
                .collect(),
            _ => Vec::new(),
        }
    }

    /// The schema behind references within the same document. Beside a reference nothing else is looked at.
    fn resolved(&self, mut schema: &'a Json) -> Option<&'a Object> {
        for _ in 0..DEPTH {
            let object = schema.as_object()?;
            let Some(reference) = object.get("$ref") else { return Some(object) };
            let pointer = reference.as_str()?.strip_prefix('#')?;
            schema = at_pointer(self.root, pointer)?;
        }
        None
    }

    fn items(
        &mut self,
        schema: &'a Object,
        items: &[Sketch],
        path: &JsonPath,
        faults: &mut Vec<Fault>,
    ) {
        let is_plain = !schema.contains_key("prefixItems");
        let each = schema.get("items").filter(|each| is_plain && each.as_object().is_some());
        for (at, item) in items.iter().enumerate() {
            let path = path.clone().index(at);
            faults.extend(self.faults(each.unwrap_or(&Json::Null), item, &path));
        }
    }

    fn members(
        &mut self,
        schema: &'a Object,
        at: Position,
        members: &[SketchMember],
        is_open: bool,
        path: &JsonPath,
        faults: &mut Vec<Fault>,
    ) {
        let empty = Object::default();
        let declared = schema.get("properties").and_then(Json::as_object).unwrap_or(&empty);
        let last: HashMap<&str, &SketchMember> = members.iter().map(|it| (&*it.name, it)).collect();
        let is_given =
            |name: &str| last.get(name).is_some_and(|member| member.value.known != Known::Absent);
        let strange =
            || members.iter().filter(|it| !declared.contains_key(&it.name) && is_given(&it.name));
        let mut renamed = Vec::new();
        if !is_open {
            for name in required(schema).filter(|name| !is_given(name)) {
                let near = nearest_name(name, strange().map(|it| &*it.name));
                let near = near.and_then(|near| last.get(near));
                let expected =
                    declared.get(name).map(|schema| format!(", expected {}", self.words(schema)));
                let hint = near
                    .map(|near| format!("; `{}` was passed, rename it if it was meant", near.name));
                renamed.extend(near.map(|near| &near.name));
                faults.push(Fault {
                    kind: FindingKind::MissingArgument,
                    at: near.map_or(at, |near| near.at),
                    path: path.clone().name(name),
                    message: format!(
                        "missing{}{}",
                        expected.unwrap_or_default(),
                        hint.unwrap_or_default()
                    ),
                    is_of_type: false,
                });
            }
        }
        let is_closed = schema.get("additionalProperties") == Some(&Json::Bool(false))
            && !schema.contains_key("patternProperties");
        for member in strange().filter(|it| is_closed && !renamed.contains(&&it.name)) {
            faults.push(Fault {
                kind: FindingKind::UnknownArgument,
                at: member.at,
                path: path.clone().name(member.name.clone()),
                message: unknown_member(&member.name, declared),
                is_of_type: false,
            });
        }
        for member in members {
            if last.get(&*member.name).is_some_and(|it| std::ptr::eq(*it, member)) {
                let schema = schema.get("properties").and_then(|all| all.get(&member.name));
                let path = path.clone().name(member.name.clone());
                faults.extend(self.faults(schema.unwrap_or(&Json::Null), &member.value, &path));
            }
        }
    }

    fn combinations(
        &mut self,
        schema: &'a Object,
        sketch: &Sketch,
        path: &JsonPath,
        faults: &mut Vec<Fault>,
    ) {
        for part in branches(schema, "allOf") {
            faults.extend(self.faults(part, sketch, path));
        }
        for keyword in ["anyOf", "oneOf"] {
            let branches = branches(schema, keyword);
            let wrong: Vec<Vec<Fault>> =
                branches.iter().map(|branch| self.faults(branch, sketch, path)).collect();
            if wrong.is_empty() || wrong.iter().any(Vec::is_empty) {
                continue;
            }
            // The one alternative that is of the type of the value is what was meant.
            let is_other = |fault: &Fault| fault.is_of_type && fault.path == *path;
            let mut meant = wrong.into_iter().filter(|faults| !faults.iter().any(is_other));
            match (meant.next(), meant.next()) {
                (Some(only), None) => faults.extend(only),
                _ => faults.push(self.of_no_branch(branches, sketch, path)),
            }
        }
    }

    fn of_no_branch(&self, branches: &'a [Json], sketch: &Sketch, path: &JsonPath) -> Fault {
        const MOST: usize = 6;
        let mut words: Vec<String> = branches.iter().take(MOST).map(|it| self.words(it)).collect();
        words.dedup();
        let more = match branches.len().saturating_sub(MOST) {
            0 => String::new(),
            more => format!(", or {more} others"),
        };
        wrong(sketch, path, format!("expected {}{more}, got {}", words.join(", or "), got(sketch)))
    }

    /// What a schema takes, in a few words.
    fn words(&self, schema: &'a Json) -> String {
        let Some(schema) = self.resolved(schema) else { return "any JSON value".to_owned() };
        if let Some(literals) = literals(schema) {
            let one_of = if literals.len() > 1 { "one of " } else { "" };
            return format!("{one_of}{}", literal_list(&literals));
        }
        let types = types(schema);
        let words: Vec<&str> = types.iter().map(|name| described(name)).collect();
        match words.as_slice() {
            [] => "another value".to_owned(),
            words => words.join(" or "),
        }
    }
}

fn at_pointer<'a>(root: &'a Json, pointer: &str) -> Option<&'a Json> {
    if pointer.is_empty() {
        return Some(root);
    }
    let mut here = root;
    for step in pointer.strip_prefix('/')?.split('/') {
        if step.contains('%') {
            return None;
        }
        let step = step.replace("~1", "/").replace("~0", "~");
        // Below another identifier the same text means another place.
        here = match here {
            Json::Object(object) if !std::ptr::eq(here, root) && object.contains_key("$id") => {
                return None;
            }
            Json::Object(object) => object.get(&step)?,
            Json::Array(array) => array.get(step.parse::<usize>().ok()?)?,
            _ => return None,
        };
    }
    Some(here)
}

fn required(schema: &Object) -> impl Iterator<Item = &str> {
    let names = schema.get("required").and_then(Json::as_array).map(|names| &**names);
    names.unwrap_or_default().iter().filter_map(Json::as_str)
}

fn branches<'a>(schema: &'a Object, keyword: &str) -> &'a [Json] {
    schema.get(keyword).and_then(Json::as_array).map(|all| &**all).unwrap_or_default()
}

/// The types a schema allows; empty if it does not say.
fn types(schema: &Object) -> Vec<&str> {
    match schema.get("type") {
        Some(Json::String(name)) => vec![name],
        Some(Json::Array(names)) => names.iter().filter_map(Json::as_str).collect(),
        _ => Vec::new(),
    }
}

/// The only values a schema allows, if it says so.
fn literals(schema: &Object) -> Option<Vec<&Json>> {
    match (schema.get("const"), schema.get("enum")) {
        (Some(only), _) => Some(vec![only]),
        (None, Some(Json::Array(all))) => Some(all.iter().collect()),
        _ => None,
    }
}

/// Whether a value is certainly none of a type.
fn is_other(sketch: &Sketch, name: &str) -> bool {
    match (&sketch.known, name) {
        (Known::Scalar(Json::Number(number)), "integer") => !number.is_integer(),
        (Known::Scalar(Json::Number(_)) | Known::Number, "number" | "integer")
        | (Known::Scalar(Json::String(_)) | Known::Text, "string")
        | (Known::Scalar(Json::Bool(_)) | Known::Boolean, "boolean")
        | (Known::Scalar(Json::Null), "null")
        | (Known::List { .. }, "array")
        | (Known::Object { .. }, "object")
        | (Known::Nothing | Known::Absent, _) => false,
        (_, name) => matches!(
            name,
            "string" | "number" | "integer" | "boolean" | "null" | "array" | "object"
        ),
    }
}

fn of_type(schema: &Object, sketch: &Sketch, path: &JsonPath) -> Option<Fault> {
    let types = types(schema);
    if types.is_empty() || !types.iter().all(|name| is_other(sketch, name)) {
        return None;
    }
    let expected: Vec<&str> = types.iter().map(|name| described(name)).collect();
    let message = match (&sketch.known, types.as_slice()) {
        (Known::Scalar(value), [name]) => as_at_run_time(&json!({ "type": *name }), value),
        _ => None,
    };
    let message = message
        .unwrap_or_else(|| format!("expected {}, got {}", expected.join(" or "), got(sketch)));
    Some(Fault { is_of_type: true, ..wrong(sketch, path, message) })
}

fn of_literals(schema: &Object, sketch: &Sketch, path: &JsonPath) -> Option<Fault> {
    let literals = literals(schema)?;
    let is_wrong = match &sketch.known {
        Known::Scalar(value) => !literals.contains(&value),
        Known::Text => !literals.iter().any(|it| it.as_str().is_some()),
        Known::Number => !literals.iter().any(|it| it.as_number().is_some()),
        Known::Boolean => !literals.iter().any(|it| it.as_bool().is_some()),
        Known::List { .. } => !literals.iter().any(|it| it.as_array().is_some()),
        Known::Object { .. } => !literals.iter().any(|it| it.as_object().is_some()),
        Known::Nothing | Known::Absent | Known::Unfit(_) => false,
    };
    if !is_wrong {
        return None;
    }
    let known = match &sketch.known {
        Known::Scalar(value) if literals.iter().all(|it| it.as_str().is_some()) => {
            let all: Array = literals.iter().map(|it| (*it).clone()).collect();
            as_at_run_time(&json!({ "type": "string", "enum": all }), value)
        }
        _ => None,
    };
    let one_of = if literals.len() > 1 { "one of " } else { "" };
    let message = known.unwrap_or_else(|| {
        format!("expected {one_of}{}, got {}", literal_list(&literals), got(sketch))
    });
    Some(wrong(sketch, path, message))
}

/// The words that the check at run time would find.
fn as_at_run_time(schema: &Json, value: &Json) -> Option<String> {
    let schema = SubsetSchema::assert(schema).ok()?;
    schema.validate(value, "").first().map(callgate_schema::Violation::message)
}

fn out_of_range(schema: &Object, sketch: &Sketch, path: &JsonPath) -> Option<Fault> {
    let Known::Scalar(value) = &sketch.known else { return None };
    let number = value.as_number()?.as_f64();
    let bound = |name: &str| schema.get(name).and_then(Json::as_number);
    let expected = match (bound("minimum"), bound("maximum")) {
        (Some(least), _) if number < least.as_f64() => format!("at least {least}"),
        (_, Some(most)) if number > most.as_f64() => format!("at most {most}"),
        _ => return None,
    };
    Some(wrong(sketch, path, format!("expected {expected}, got {}", got(sketch))))
}

fn wrong(sketch: &Sketch, path: &JsonPath, message: String) -> Fault {
    let kind = FindingKind::WrongArgument;
    Fault { kind, at: sketch.at, path: path.clone(), message, is_of_type: false }
}

fn unknown_member(name: &str, declared: &Object) -> String {
    let names = || declared.keys().map(|key| &**key);
    match nearest_name(name, names()) {
        Some(near) => format!("unknown member; did you mean `{near}`?"),
        None if declared.is_empty() => "unknown member; this object has no members".to_owned(),
        None => format!("unknown member; known are {}", listed(names())),
    }
}

fn described(name: &str) -> &str {
    match name {
        "string" => "a string",
        "number" => "a number",
        "integer" => "an integer",
        "boolean" => "a boolean",
        "array" => "a list",
        "object" => "an object",
        other => other,
    }
}

/// What was passed, in a few words.
fn got(sketch: &Sketch) -> String {
    match &sketch.known {
        Known::Scalar(Json::String(text)) => format!("the string {}", Json::from(shown(text))),
        Known::Scalar(Json::Number(number)) => number.to_string(),
        Known::Scalar(other) => other.to_string(),
        Known::Text => "a string".to_owned(),
        Known::Number => "a number".to_owned(),
        Known::Boolean => "a boolean".to_owned(),
        Known::List { .. } => "a list".to_owned(),
        Known::Object { .. } => "an object".to_owned(),
        Known::Nothing | Known::Absent | Known::Unfit(_) => "something else".to_owned(),
    }
}

fn literal_list(literals: &[&Json]) -> String {
    let items = literals.iter().take(LISTED).map(|literal| shown(&literal.to_string()));
    let more = if literals.len() > LISTED { ", …" } else { "" };
    format!("{}{more}", items.collect::<Vec<_>>().join(", "))
}

fn listed<'n>(names: impl ExactSizeIterator<Item = &'n str>) -> String {
    let more = match names.len().saturating_sub(LISTED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let names: Vec<String> = names.take(LISTED).map(|name| format!("`{}`", shown(name))).collect();
    format!("{}{more}", names.join(", "))
}

fn shown(text: &str) -> String {
    match text.char_indices().nth(LONGEST_SHOWN) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
