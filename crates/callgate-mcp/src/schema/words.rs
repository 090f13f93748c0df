//! What is wrong with a value, in words that whoever sent it can act on.

use callgate::Json;
use callgate::schema::nearest_name;
use jsonschema::ValidationError;
use jsonschema::error::{TypeKind, ValidationErrorKind as Broken};
use serde_json::Value;

/// The longest piece of a value that is repeated, in characters.
const LONGEST_SHOWN: usize = 60;

/// How many alternatives are listed.
const MOST_LISTED: usize = 12;

/// The longest text that an error of the engine is worth.
const LONGEST_REASON: usize = 300;

pub(super) fn uncompilable(error: &ValidationError<'_>) -> String {
    let place = error.instance_path().as_str();
    let place = if place.is_empty() {
        String::new()
    } else {
        format!(" at `{}`", shorten(place, LONGEST_SHOWN))
    };
    format!("the schema cannot be used{place}: {}", shorten(&error.to_string(), LONGEST_REASON))
}

pub(super) fn missing(name: &str, object: Option<&Json>) -> String {
    let sent = object.and_then(Json::as_object);
    let near = sent.and_then(|sent| nearest_name(name, sent.keys().map(|key| &**key)));
    match near {
        Some(near) => format!("missing; `{near}` was sent, rename it if it was meant"),
        None => "missing".to_owned(),
    }
}

pub(super) fn undeclared(value: Option<&Json>) -> String {
    match value {
        Some(value) => format!("there is no such member, got {}; leave it out", show(value)),
        None => "there is no such member; leave it out".to_owned(),
    }
}

/// What a keyword demanded and what came.
pub(super) fn broken(error: &ValidationError<'_>, root: &Json, found: Option<&Json>) -> String {
    let got = found.map(|found| format!(", got {}", show(found))).unwrap_or_default();
    match error.kind() {
        Broken::Type { kind } => format!("expected {}{got}", types(kind)),
        Broken::Enum { options } => format!("expected one of {}{got}", alternatives(options)),
        Broken::Constant { expected_value } => format!("expected {}{got}", literal(expected_value)),
        Broken::Minimum { limit } => format!("must be at least {limit}{got}"),
        Broken::Maximum { limit } => format!("must be at most {limit}{got}"),
        Broken::ExclusiveMinimum { limit } => format!("must be above {limit}{got}"),
        Broken::ExclusiveMaximum { limit } => format!("must be below {limit}{got}"),
        Broken::MultipleOf { multiple_of } => format!("must be a multiple of {multiple_of}{got}"),
        Broken::MinLength { limit } => format!("must have at least {limit} characters{got}"),
        Broken::MaxLength { limit } => format!("must have at most {limit} characters{got}"),
        Broken::MinItems { limit } => format!("must have at least {limit} items{got}"),
        Broken::MaxItems { limit } => format!("must have at most {limit} items{got}"),
        Broken::AdditionalItems { limit } => format!("must have at most {limit} items{got}"),
        Broken::MinProperties { limit } => format!("must have at least {limit} members{got}"),
        Broken::MaxProperties { limit } => format!("must have at most {limit} members{got}"),
        Broken::UniqueItems => format!("must not have the same item twice{got}"),
        Broken::Pattern { pattern } => format!("must match the pattern `{pattern}`{got}"),
        Broken::BacktrackLimitExceeded { .. } | Broken::RegexEngineFailure { .. } => {
            format!("could not be matched against its pattern within the limit{got}")
        }
        Broken::AnyOf { context } | Broken::OneOfNotValid { context } => {
            let near = nearest_branch(root, context);
            format!("fits none of the {} alternatives{got}{near}", context.len())
        }
        Broken::OneOfMultipleValid { .. } => {
            format!("fits more than one of the alternatives, must fit exactly one{got}")
        }
        Broken::FalseSchema => format!("nothing is accepted here{got}"),
        Broken::Not { .. } => format!("is explicitly excluded{got}"),
        Broken::PropertyNames { error } => {
            format!("has a member whose name is not accepted: {}", broken(error, root, None))
        }
        _ => shorten(&error.masked().to_string(), LONGEST_REASON) + &got,
    }
}

/// What is wrong in the one branch of a union that the value is of the right type for.
fn nearest_branch(root: &Json, context: &[Vec<ValidationError<'static>>]) -> String {
    let place = |errors: &[ValidationError<'static>]| {
        errors.iter().map(|error| error.instance_path().as_str().len()).min().unwrap_or(0)
    };
    let top = context.iter().map(|errors| place(errors)).min().unwrap_or(0);
    let is_of_type = |errors: &&Vec<ValidationError<'static>>| {
        !errors.iter().any(|error| {
            error.instance_path().as_str().len() == top
                && matches!(error.kind(), Broken::Type { .. })
        })
    };
    let mut likely = context.iter().filter(is_of_type);
    let (Some(branch), None) = (likely.next(), likely.next()) else { return String::new() };
    let faults = branch.iter().flat_map(|error| super::violations(root, error));
    match faults.min_by_key(|fault| fault.path.steps().len()) {
        Some(fault) => {
            let path = fault.path.display("").to_string();
            format!("; nearest alternative: {path}: {}", shorten(&fault.message, LONGEST_REASON))
        }
        None => String::new(),
    }
}

fn types(kind: &TypeKind) -> String {
    match kind {
        TypeKind::Single(kind) => with_article(&kind.to_string()),
        TypeKind::Multiple(kinds) => {
            let kinds: Vec<String> =
                kinds.iter().map(|kind| with_article(&kind.to_string())).collect();
            kinds.join(" or ")
        }
    }
}

fn with_article(kind: &str) -> String {
    match kind {
        "null" => "null".to_owned(),
        "array" => "a list".to_owned(),
        "object" | "integer" => format!("an {kind}"),
        _ => format!("a {kind}"),
    }
}

fn alternatives(options: &Value) -> String {
    let options = options.as_array().map(Vec::as_slice).unwrap_or_default();
    let mut listed: Vec<String> = options.iter().take(MOST_LISTED).map(literal).collect();
    if options.len() > MOST_LISTED {
        listed.push(format!("… {} more", options.len() - MOST_LISTED));
    }
    listed.join(", ")
}

fn literal(value: &Value) -> String {
    shorten(&value.to_string(), LONGEST_SHOWN)
}

/// A value as messages repeat it.
fn show(value: &Json) -> String {
    match value {
        Json::Null => "null".to_owned(),
        Json::Bool(value) => value.to_string(),
        Json::Number(number) => format!("the number {number}"),
        Json::String(text) if text.len() <= LONGEST_SHOWN => format!("the string {value}"),
        Json::String(text) => format!(
            "the string {}",
            shorten(&Json::from(shorten(text, LONGEST_SHOWN)).to_string(), LONGEST_SHOWN)
        ),
        Json::Array(_) => "a list".to_owned(),
        Json::Object(_) => "an object".to_owned(),
    }
}

fn shorten(text: &str, limit: usize) -> String {
    let mut shortened: String = text.chars().take(limit).collect();
    if shortened.len() < text.len() {
        shortened.push('…');
    }
    shortened
}
