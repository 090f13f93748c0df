//! Schemas that servers publish: any draft, any keyword, possibly hostile.

mod node;
mod words;

use std::fmt;
use std::sync::Arc;
use std::thread;

use callgate::schema::{JsonPath, ViolationKind};
use callgate::schema::{Step, Violations, foreign};
use callgate::{Json, Str, Violation};
use jsonschema::error::ValidationErrorKind;
use jsonschema::{Draft, PatternOptions, ValidationError, Validator};
use node::{Counted, Exhausted, Seen};
use serde_json::Value;

/// A schema of somebody else's, compiled: the full draft is enforced, nothing is fetched.
///
/// `format`, content keywords and unknown keywords are annotations, `default` is never applied.
///
/// ```
/// use callgate::json;
/// use callgate_mcp::ForeignSchema;
///
/// let schema = ForeignSchema::compile(&json!({
///     "type": "object",
///     "properties": { "name": { "type": "string", "minLength": 1 } },
///     "required": ["name"],
/// }))?;
/// assert!(schema.validate(&json!({ "name": "ada" })).is_empty());
/// let found = schema.validate(&json!({ "name": "" }));
/// assert_eq!((found[0].path().to_string(), found[0].keyword()), ("value.name".into(), "minLength"));
/// # Ok::<(), callgate_mcp::Uncompilable>(())
/// ```
#[derive(Clone)]
pub struct ForeignSchema(Arc<Compiled>);

struct Compiled {
    validator: Validator<Counted>,
    open: Vec<String>,
}

/// Why a schema is not enforced.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Uncompilable(String);

impl fmt::Display for Uncompilable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Uncompilable {}

/// One thing that is wrong with a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForeignViolation {
    path: JsonPath,
    keyword: Str,
    message: String,
}

impl ForeignViolation {
    /// Where. For a missing or undeclared member it is the member's own path.
    pub fn path(&self) -> &JsonPath {
        &self.path
    }

    /// The keyword that the value breaks, such as `minLength`.
    pub fn keyword(&self) -> &str {
        &self.keyword
    }

    /// What was expected and what came.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// The same for those who know the enforced subset's violations only.
    pub(crate) fn to_violation(&self, root: &str) -> Violation {
        let kind = match &*self.keyword {
            "required" => ViolationKind::Required,
            "additionalProperties" => ViolationKind::Additional,
            "enum" => ViolationKind::Enum,
            "const" => ViolationKind::Const,
            "oneOf" => ViolationKind::OneOf,
            _ => ViolationKind::Type,
        };
        Violation::new(root, self.path.clone(), kind, self.message.clone())
    }
}

/// Steps that one match of a pattern may take before it counts as failed.
const MOST_BACKTRACKS: usize = 100_000;

/// Steps that every check may take, and those it may take for each value in a value. A real schema
/// needs a few of them.
const FREE_STEPS: u64 = 2_000_000;
const STEPS_PER_NODE: u64 = 200;

/// So many errors of the engine are looked at.
const MOST_ERRORS: usize = 1_000;

/// Values nested deeper than this are checked on a thread with room for the recursion.
const SHALLOW: usize = 64;

/// Room for values as deep as can come from outside.
const DEEP_STACK: usize = 512 * 1024 * 1024;

impl ForeignSchema {
    /// Compiles a schema. References that lead nowhere are open: everything fits where they stand.
    ///
    /// # Errors
    ///
    /// A schema that is too large, invalid by its own draft, or beyond what the engine can run.
    /// Its values then stay unchecked; see [`ForeignSchema`].
    pub fn compile(schema: &Json) -> Result<Self, Uncompilable> {
        foreign::check_limits(schema).map_err(|limit| Uncompilable(limit.to_string()))?;
        let mut value = schema.to_serde().map_err(|error| Uncompilable(error.to_string()))?;
        let open = foreign::open_references(schema);
        if !open.is_empty() {
            drop_references(&mut value, &open);
        }
        let validator = jsonschema::options_for::<Counted>()
            .with_draft(draft(schema))
            .offline()
            .should_validate_formats(false)
            .without_content_media_type_support("application/json")
            .without_content_encoding_support("base64")
            .with_pattern_options(PatternOptions::fancy_regex().backtrack_limit(MOST_BACKTRACKS))
            .build(&value)
            .map_err(|error| Uncompilable(words::uncompilable(&error)))?;
        Ok(Self(Arc::new(Compiled { validator, open })))
    }

    /// The references in it that lead nowhere.
    pub fn open_references(&self) -> &[String] {
        &self.0.open
    }

    /// What is wrong with a value: by path, then by keyword; empty if it fits.
    ///
    /// A value that cannot be checked with reasonable effort, because the schema branches again and
    /// again over it, does not fit.
    pub fn validate(&self, value: &Json) -> Vec<ForeignViolation> {
        let (nodes, depth) = measure(value);
        let steps = FREE_STEPS + nodes.saturating_mul(STEPS_PER_NODE);
        if depth <= SHALLOW {
            return self.validate_here(value, steps);
        }
        let deep = thread::scope(|scope| {
            let check = thread::Builder::new()
                .stack_size(DEEP_STACK)
                .spawn_scoped(scope, || self.validate_here(value, steps));
            check.ok()?.join().ok()
        });
        deep.unwrap_or_else(|| {
            vec![whole("depth", "it is nested too deep to be checked; send a flatter value")]
        })
    }

    fn validate_here(&self, value: &Json, steps: u64) -> Vec<ForeignViolation> {
        let validator = &self.0.validator;
        match node::within(steps, || validator.is_valid(Seen(value))) {
            Ok(true) => return Vec::new(),
            Ok(false) => {}
            Err(Exhausted) => {
                let message = "it cannot be checked against its schema with reasonable effort; send a simpler value";
                return vec![whole("effort", message)];
            }
        }
        let found = node::within(steps, || {
            let errors = validator.iter_errors(Seen(value)).take(MOST_ERRORS);
            errors.flat_map(|error| violations(value, &error)).collect::<Vec<_>>()
        });
        let Ok(mut found) = found else {
            return vec![whole(
                "effort",
                "it does not fit its schema, for more reasons than can be told",
            )];
        };
        found.sort_by_cached_key(|found| (found.path.to_string(), found.keyword.clone()));
        found.dedup();
        found
    }
}

impl fmt::Debug for ForeignSchema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ForeignSchema").field("open", &self.0.open).finish_non_exhaustive()
    }
}

/// The violations as one text, under the root label.
pub(crate) fn describe(found: &[ForeignViolation], root: &str) -> String {
    let violations: Vec<_> = found.iter().map(|found| found.to_violation(root)).collect();
    Violations::from(violations).to_string()
}

/// A fault of the whole value.
fn whole(keyword: &str, message: &str) -> ForeignViolation {
    ForeignViolation {
        path: JsonPath::root(),
        keyword: keyword.into(),
        message: message.to_owned(),
    }
}

/// The draft that `$schema` names; without a known one the newest.
fn draft(schema: &Json) -> Draft {
    let named = schema.get("$schema").and_then(Json::as_str).unwrap_or_default();
    let named = named.trim_end_matches('#').trim_start_matches("https").trim_start_matches("http");
    match named {
        "://json-schema.org/draft-04/schema" => Draft::Draft4,
        "://json-schema.org/draft-06/schema" => Draft::Draft6,
        "://json-schema.org/draft-07/schema" => Draft::Draft7,
        "://json-schema.org/draft/2019-09/schema" => Draft::Draft201909,
        _ => Draft::Draft202012,
    }
}

/// How many values are in a value, itself included, and how deep it is nested.
fn measure(value: &Json) -> (u64, usize) {
    let mut open = vec![(value, 0)];
    let (mut nodes, mut deepest) = (0, 0);
    while let Some((value, depth)) = open.pop() {
        nodes += 1;
        deepest = deepest.max(depth);
        match value {
            Json::Array(items) => open.extend(items.iter().map(|item| (item, depth + 1))),
            Json::Object(members) => {
                open.extend(members.values().map(|member| (member, depth + 1)));
            }
            _ => {}
        }
    }
    (nodes, deepest)
}

/// Takes those references out, so that everything fits where they stand.
fn drop_references(schema: &mut Value, open: &[String]) {
    let mut pending = vec![schema];
    while let Some(value) = pending.pop() {
        match value {
            Value::Array(items) => pending.extend(items),
            Value::Object(members) => {
                for keyword in ["$ref", "$dynamicRef", "$recursiveRef"] {
                    let is_open = |target: &str| open.iter().any(|open| open == target);
                    if members.get(keyword).and_then(Value::as_str).is_some_and(is_open) {
                        members.remove(keyword);
                    }
                }
                pending.extend(members.values_mut());
            }
            _ => {}
        }
    }
}

/// One error of the engine as violations: each member that is missing or too many is one of its
/// own.
fn violations(value: &Json, error: &ValidationError<'_>) -> Vec<ForeignViolation> {
    let (path, found) = locate(value, error.instance_path().as_str());
    let keyword: Str = error.kind().keyword().into();
    let member = |name: &str, message: String| ForeignViolation {
        path: path.clone().name(name),
        keyword: keyword.clone(),
        message,
    };
    match error.kind() {
        ValidationErrorKind::Required { property } => {
            let name = property.as_str().unwrap_or_default();
            vec![member(name, words::missing(name, found))]
        }
        ValidationErrorKind::AdditionalProperties { unexpected }
        | ValidationErrorKind::UnevaluatedProperties { unexpected } => unexpected
            .iter()
            .map(|name| member(name, words::undeclared(found.and_then(|found| found.get(name)))))
            .collect(),
        _ => {
            let message = words::broken(error, value, found);
            vec![ForeignViolation { path, keyword, message }]
        }
    }
}

/// Follows a JSON pointer of the engine.
fn locate<'v>(value: &'v Json, pointer: &str) -> (JsonPath, Option<&'v Json>) {
    let mut steps = Vec::new();
    let mut found = Some(value);
    for segment in pointer.split('/').skip(1) {
        let segment = segment.replace("~1", "/").replace("~0", "~");
        let index = segment.parse::<usize>().ok();
        if let (Some(items), Some(index)) = (found.and_then(Json::as_array), index) {
            found = items.get(index);
            steps.push(Step::Index(index));
        } else {
            found = found.and_then(|found| found.get(&segment));
            steps.push(Step::Name(segment.into()));
        }
    }
    (JsonPath::from(steps), found)
}
