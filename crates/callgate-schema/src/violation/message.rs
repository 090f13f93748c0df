//! The words for what a value had and what was expected. A model reads them and mends its call.

use super::{Finding, ViolationKind};
use crate::json::{Json, JsonPath, Object, Step};
use crate::schema::{Node, NodeId, ObjectNode, Scalar, ScalarKind};
use crate::suggest::nearest_name;

/// How many names or literals a message lists.
const MOST_LISTED: usize = 12;
/// How many branches of a union a message describes.
const MOST_BRANCHES: usize = 6;
/// The longest string that is looked into for JSON, in bytes.
const LONGEST_UNQUOTED: usize = 65_536;
/// The longest piece of a value that a message repeats, in characters.
const LONGEST_SHOWN: usize = 60;

pub(super) fn of(kind: ViolationKind, path: &JsonPath, finding: &Finding) -> String {
    match kind {
        ViolationKind::Required => missing(path, finding),
        ViolationKind::Additional => undeclared(path, finding),
        ViolationKind::OneOf => union(finding),
        ViolationKind::Enum => outside_enum(finding),
        _ => wrong(finding),
    }
}

fn node(finding: &Finding) -> &Node {
    &finding.schema.nodes()[finding.node]
}

fn last_name(path: &JsonPath) -> &str {
    match path.steps().last() {
        Some(Step::Name(name)) => name,
        _ => "",
    }
}

/// A value of the wrong type, or not the one it must be.
fn wrong(finding: &Finding) -> String {
    let expected = describe(finding.schema.nodes(), finding.node);
    format!("expected {expected}, got {}{}", show(&finding.found), way_out(finding))
}

/// The usual slips: quotes around a number, none around a text, JSON inside a string, a bare item for a list.
fn way_out(finding: &Finding) -> &'static str {
    let found = &finding.found;
    let unquoted = found
        .as_str()
        .filter(|text| text.len() <= LONGEST_UNQUOTED)
        .and_then(|text| Json::parse(text).ok());
    match (node(finding), found, unquoted) {
        (Node::Scalar(scalar), Json::String(_), Some(inner)) if scalar.kind.admits(&inner) => {
            "; send it without quotes"
        }
        (Node::Scalar(scalar), Json::Number(_) | Json::Bool(_), _)
            if scalar.kind == ScalarKind::String =>
        {
            "; send it as a string, in quotes"
        }
        (Node::Array(_), _, Some(Json::Array(_))) | (Node::Object(_), _, Some(Json::Object(_))) => {
            "; send the JSON itself, not a string of it"
        }
        (Node::Array(Some(item)), _, _) if could_be_item(&finding.schema.nodes()[*item], found) => {
            "; wrap a single item in a list"
        }
        _ => "",
    }
}

fn could_be_item(item: &Node, found: &Json) -> bool {
    match item {
        Node::Any => !found.is_null(),
        Node::Scalar(scalar) => scalar.kind.admits(found),
        Node::Object(_) => found.as_object().is_some(),
        Node::Array(_) | Node::Union(_) => false,
    }
}

fn outside_enum(finding: &Finding) -> String {
    let message = wrong(finding);
    let Node::Scalar(Scalar { members: Some(members), .. }) = node(finding) else { return message };
    let near = finding
        .found
        .as_str()
        .and_then(|text| nearest_name(text, members.list.iter().filter_map(Json::as_str)));
    message + &did_you_mean(near, "\"")
}

fn did_you_mean(name: Option<&str>, quote: &str) -> String {
    name.map(|name| format!("; did you mean {quote}{name}{quote}?")).unwrap_or_default()
}

fn missing(path: &JsonPath, finding: &Finding) -> String {
    let (Node::Object(object), Some(value)) = (node(finding), finding.found.as_object()) else {
        return "missing".to_owned();
    };
    let name = last_name(path);
    let expected = object.declared.position(name).map(|place| object.parts[place].node);
    let expected = expected.map_or_else(String::new, |node| {
        format!(", expected {}", describe(finding.schema.nodes(), node))
    });
    let strange = value.keys().map(|key| &**key).filter(|key| !object.declared.contains_key(key));
    let near = nearest_name(name, strange);
    let hint = near
        .map(|near| format!("; `{near}` was sent, rename it if it was meant"))
        .unwrap_or_default();
    format!("missing{expected}{hint}")
}

fn undeclared(path: &JsonPath, finding: &Finding) -> String {
    let Node::Object(object) = node(finding) else { return "unknown member".to_owned() };
    let near = nearest_name(last_name(path), object.declared.keys().map(|key| &**key));
    let known = match near {
        Some(_) => String::new(),
        None if object.declared.is_empty() => "; this object has no members".to_owned(),
        None => format!("; known are {}", names(object.declared.keys().map(|key| &**key))),
    };
    format!("unknown member{}{known}", did_you_mean(near, "`"))
}

fn union(finding: &Finding) -> String {
    let Node::Union(branches) = node(finding) else { return wrong(finding) };
    let nodes = finding.schema.nodes();
    let shown: Vec<String> =
        branches.iter().take(MOST_BRANCHES).map(|branch| describe(nodes, *branch)).collect();
    let more = match branches.len().saturating_sub(MOST_BRANCHES) {
        0 => String::new(),
        more => format!(", or {more} others"),
    };
    let found = show(&finding.found);
    match finding.matched {
        0 => format!("expected {}{more}, got {found}", shown.join(", or ")),
        matched => format!(
            "expected exactly one of: {}{more}; but {found} fits {matched} of them, so make it fit one only",
            shown.join(", or ")
        ),
    }
}

/// What a node takes, in a few words.
fn describe(nodes: &[Node], node: NodeId) -> String {
    match &nodes[node] {
        Node::Any => "any JSON value".to_owned(),
        Node::Scalar(scalar) => scalar_words(scalar),
        Node::Array(None) => "a list".to_owned(),
        Node::Array(Some(item)) => match &nodes[*item] {
            Node::Scalar(Scalar { kind, members: None, constant: None }) => {
                format!("a list of {}", plural(*kind))
            }
            Node::Object(_) => "a list of objects".to_owned(),
            Node::Array(_) => "a list of lists".to_owned(),
            _ => "a list".to_owned(),
        },
        Node::Object(object) => object_words(nodes, object),
        Node::Union(branches) => format!("one of {} alternatives", branches.len()),
    }
}

fn plural(kind: ScalarKind) -> &'static str {
    match kind {
        ScalarKind::String => "strings",
        ScalarKind::Number => "numbers",
        ScalarKind::Integer => "integers",
        ScalarKind::Boolean => "booleans",
        ScalarKind::Null => "nulls",
    }
}

fn scalar_words(scalar: &Scalar) -> String {
    match (&scalar.constant, &scalar.members) {
        (Some(constant), _) => cut(constant),
        (None, Some(members)) => match members.list.as_slice() {
            [only] => cut(only),
            list => format!("one of {}", listed(list.iter().map(cut), list.len())),
        },
        (None, None) => scalar.kind.described().to_owned(),
    }
}

/// An object by its tag if it has one, else by what it must have.
fn object_words(nodes: &[Node], object: &ObjectNode) -> String {
    let tag = object.parts.iter().find_map(|part| match &nodes[part.node] {
        Node::Scalar(Scalar { constant: Some(constant), .. }) if part.required => {
            Some((&part.name, constant))
        }
        _ => None,
    });
    match tag {
        Some((name, constant)) => format!("an object with `{name}` = {}", cut(constant)),
        None if object.required.is_empty() => "an object".to_owned(),
        None => format!("an object with {}", names(object.required.iter().map(|name| &**name))),
    }
}

fn names<'a>(names: impl ExactSizeIterator<Item = &'a str>) -> String {
    let count = names.len();
    listed(names.map(|name| format!("`{}`", shorten(name))), count)
}

fn listed(items: impl Iterator<Item = String>, count: usize) -> String {
    let shown = items.take(MOST_LISTED).collect::<Vec<_>>().join(", ");
    if count > MOST_LISTED { format!("{shown} and {} more", count - MOST_LISTED) } else { shown }
}

/// What came, as a reader would name it.
fn show(value: &Json) -> String {
    match value {
        Json::Null => "null".to_owned(),
        Json::Bool(_) | Json::Number(_) => value.to_string(),
        Json::String(_) => format!("the string {}", cut(value)),
        Json::Array(array) => match array.len() {
            0 => "an empty list".to_owned(),
            1 => format!("a list of one {}", array[0].kind().as_str()),
            length => format!("a list of {length} items"),
        },
        Json::Object(object) => show_object(object),
    }
}

fn show_object(object: &Object) -> String {
    if object.is_empty() {
        "an empty object".to_owned()
    } else {
        format!("an object with {}", names(object.keys().map(|key| &**key)))
    }
}

/// A literal as JSON, cut when it is long.
fn cut(value: &Json) -> String {
    match value.as_str() {
        Some(text) => Json::from(shorten(text)).to_string(),
        None => value.to_string(),
    }
}

fn shorten(text: &str) -> String {
    match text.char_indices().nth(LONGEST_SHOWN) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
