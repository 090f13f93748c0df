//! Whether two lowered schemas can accept the same value.

use crate::json::Json;

/// Whether no two of the branches accept a common value.
pub(super) fn all_disjoint(branches: &[Json]) -> bool {
    branches
        .iter()
        .enumerate()
        .all(|(place, a)| branches[..place].iter().all(|b| are_disjoint(a, b)))
}

/// Whether a lowered schema accepts every value.
pub(super) fn takes_anything(schema: &Json) -> bool {
    schema.get("type").is_none() && schema.get("oneOf").is_none()
}

/// Whether no value fits both.
fn are_disjoint(a: &Json, b: &Json) -> bool {
    let mut pending = vec![(a, b)];
    while let Some((a, b)) = pending.pop() {
        match (a.get("oneOf").and_then(Json::as_array), b.get("oneOf").and_then(Json::as_array)) {
            (Some(branches), _) => pending.extend(branches.iter().map(|branch| (branch, b))),
            (None, Some(branches)) => pending.extend(branches.iter().map(|branch| (a, branch))),
            (None, None) if !are_disjoint_types(a, b) => return false,
            (None, None) => {}
        }
    }
    true
}

fn are_disjoint_types(a: &Json, b: &Json) -> bool {
    let (Some(kind), Some(other)) = (json_type(a), json_type(b)) else { return false };
    match kind {
        _ if kind != other => true,
        "object" => tags(a).any(|(name, tag)| {
            tags(b).any(|(beside, other)| name == beside && literals_differ(tag, other))
        }),
        _ => literals_differ(a, b),
    }
}

/// The type, where integers are numbers too.
fn json_type(schema: &Json) -> Option<&str> {
    let kind = schema.get("type")?.as_str()?;
    Some(if kind == "integer" { "number" } else { kind })
}

/// The members that must be there, by name.
fn tags(schema: &Json) -> impl Iterator<Item = (&str, &Json)> {
    let required = schema.get("required").and_then(Json::as_array).map_or(&[][..], |names| names);
    required.iter().filter_map(|name| {
        let name = name.as_str()?;
        Some((name, schema.get("properties")?.get(name)?))
    })
}

/// Whether both have literals, and none in common.
fn literals_differ(a: &Json, b: &Json) -> bool {
    match (literals(a), literals(b)) {
        (Some(a), Some(b)) => a.iter().all(|literal| !b.contains(literal)),
        _ => false,
    }
}

fn literals(schema: &Json) -> Option<&[Json]> {
    match schema.get("const") {
        Some(constant) => Some(std::slice::from_ref(constant)),
        None => schema.get("enum").and_then(Json::as_array).map(|members| &**members),
    }
}
