//! `callgate schema check`: what is wrong with a schema, a value, or a schema in the short form.

use callgate::schema::JsonPath;
use callgate::schema::json::DEPTH_LIMIT;
use callgate::{
    Json, Object, ObjectBuilder, ParamSpec, SchemaError, SubsetSchema, ValueSpec, Violation, json,
};
use callgate_mcp::{ForeignSchema, ForeignViolation};

use super::request::{Given, Refusal, Request};

const MEMBERS: &[&str] = &[
    "schema",
    "schema_text",
    "value",
    "value_text",
    "root",
    "object_root",
    "foreign",
    "mode",
    "spec",
    "spec_text",
];

/// Bytes of records in one answer; of what would be more only the number is told.
const MOST_BYTES: usize = 64 * 1024 * 1024;

pub(super) fn answer(request: &Request, has_messages: bool) -> Result<Json, Refusal> {
    request.refuse_misspelt(MEMBERS)?;
    if let Some(spec) = request.given("spec")? {
        return compile(&spec, request, has_messages);
    }
    let Some(schema) = request.given("schema")? else {
        return Err(Refusal::unclear(
            "nothing to check; give `schema`, `schema` and `value`, or `mode` and `spec`",
        ));
    };
    let checked = Checked {
        value: request.given("value")?,
        root: request.text("root")?.unwrap_or("value"),
        has_messages,
    };
    let is_foreign = request.flag("foreign")?;
    let has_object_root = request.flag("object_root")?;
    let schema = match schema {
        Given::Json(schema) => schema,
        Given::Lossy(path, why) => {
            return Ok(checked.schema_verdict(&[Record::lossy(&path, "schema", &why)]));
        }
    };
    if is_foreign {
        return checked.by_full_draft(&schema);
    }
    Ok(checked.by_subset(&schema, has_object_root))
}

/// A spec, compiled.
fn compile(spec: &Given, request: &Request, has_messages: bool) -> Result<Json, Refusal> {
    type Compile = fn(&Json) -> Result<SubsetSchema, SchemaError>;
    let (root, compile): (_, Compile) = match request.text("mode")? {
        Some("value") => ("schema", |spec| ValueSpec::from_json(spec)?.compile()),
        Some("parameters") => ("parameters", |spec| ParamSpec::from_json(spec)?.compile()),
        Some(other) => {
            return Err(Refusal::unclear(format!(
                "unknown mode `{other}`; give `value` for a value or `parameters` for a map of them"
            )));
        }
        None => {
            return Err(Refusal::unclear(
                "`mode` is missing; give `value` for a value or `parameters` for a map of them",
            ));
        }
    };
    let refused = |faults: &[Record<'_>]| list(Object::builder(), faults, has_messages);
    Ok(match spec {
        Given::Json(spec) => match compile(spec) {
            Ok(schema) => json!({ "schema": schema.as_json() }),
            Err(error) => refused(&records(error.violations())),
        },
        Given::Lossy(path, why) => refused(&[Record::lossy(path, root, why)]),
    })
}

/// What is judged beside the schema, and how the verdict is told.
struct Checked<'a> {
    value: Option<Given>,
    root: &'a str,
    has_messages: bool,
}

impl Checked<'_> {
    fn by_subset(&self, schema: &Json, has_object_root: bool) -> Json {
        let asserted = if has_object_root {
            SubsetSchema::assert_object_root(schema)
        } else {
            SubsetSchema::assert(schema)
        };
        match (asserted, &self.value) {
            (Err(error), _) => self.schema_verdict(&records(error.violations())),
            (Ok(_), None) => self.schema_verdict(&[]),
            (Ok(schema), Some(Given::Json(value))) => {
                self.value_verdict(&records(&schema.validate(value, self.root)))
            }
            (Ok(_), Some(Given::Lossy(path, why))) => {
                self.value_verdict(&[Record::lossy(path, self.root, why)])
            }
        }
    }

    fn by_full_draft(&self, schema: &Json) -> Result<Json, Refusal> {
        let schema = match ForeignSchema::compile(schema) {
            Ok(schema) => schema,
            Err(error) => {
                return Ok(self.schema_verdict(&[Record::uncompilable(error.to_string())]));
            }
        };
        Ok(match &self.value {
            None => self.schema_verdict(&[]),
            Some(Given::Json(value)) if is_deeper_than(value, DEPTH_LIMIT) => {
                return Err(Refusal::new(
                    "too_deep",
                    format!(
                        "more than {DEPTH_LIMIT} brackets are open in `value`; send a flatter value"
                    ),
                ));
            }
            Some(Given::Json(value)) => {
                let found = schema.validate(value);
                let records: Vec<_> =
                    found.iter().map(|found| Record::foreign(found, self.root)).collect();
                self.value_verdict(&records)
            }
            Some(Given::Lossy(path, why)) => {
                self.value_verdict(&[Record::lossy(path, self.root, why)])
            }
        })
    }

    fn schema_verdict(&self, faults: &[Record<'_>]) -> Json {
        verdict("accepted", faults, self.has_messages)
    }

    fn value_verdict(&self, faults: &[Record<'_>]) -> Json {
        verdict("valid", faults, self.has_messages)
    }
}

/// Whether more brackets than that are open somewhere in a value.
fn is_deeper_than(value: &Json, most: usize) -> bool {
    let mut open = vec![(value, 0)];
    while let Some((value, depth)) = open.pop() {
        let inner = depth + 1;
        match value {
            Json::Array(_) | Json::Object(_) if depth == most => return true,
            Json::Array(items) => open.extend(items.iter().map(|item| (item, inner))),
            Json::Object(members) => open.extend(members.values().map(|member| (member, inner))),
            _ => {}
        }
    }
    false
}

/// One fault, told when it is known that there is room for it.
enum Record<'a> {
    Known(&'a Violation),
    Foreign(&'a ForeignViolation, &'a str),
    Words { path: String, kind: &'static str, message: String },
}

fn records(violations: &[Violation]) -> Vec<Record<'_>> {
    violations.iter().map(Record::of).collect()
}

impl<'a> Record<'a> {
    fn of(violation: &'a Violation) -> Self {
        Self::Known(violation)
    }

    fn foreign(violation: &'a ForeignViolation, root: &'a str) -> Self {
        Self::Foreign(violation, root)
    }

    /// Text with a number in it that cannot be kept.
    fn lossy(path: &JsonPath, root: &str, why: &str) -> Self {
        let path = path.display(root).to_string();
        Self::Words { path, kind: "lossless", message: why.to_owned() }
    }

    fn uncompilable(message: String) -> Self {
        Self::Words { path: "schema".to_owned(), kind: "uncompilable", message }
    }

    /// The record, and about how many bytes it has.
    fn to_json(&self, has_message: bool) -> (Object, usize) {
        let (path, kind, matched) = match self {
            Self::Known(known) => (known.path(), known.kind().as_str(), known.matched()),
            Self::Foreign(found, root) => {
                (found.path().display(root).to_string(), found.keyword(), None)
            }
            Self::Words { path, kind, .. } => (path.clone(), *kind, None),
        };
        let message = has_message.then(|| match self {
            Self::Known(known) => known.message(),
            Self::Foreign(found, _) => found.message().to_owned(),
            Self::Words { message, .. } => message.clone(),
        });
        let size = path.len() + message.as_ref().map_or(0, String::len);
        let record = Object::builder()
            .with("path", path)
            .with("kind", kind)
            .with_some("matched", matched)
            .with_some("message", message);
        (record.build(), size)
    }
}

fn verdict(word: &str, faults: &[Record<'_>], has_messages: bool) -> Json {
    list(Object::builder().with(word, faults.is_empty()), faults, has_messages)
}

/// The answer with its faults, as many as there is room for.
fn list(answer: ObjectBuilder, faults: &[Record<'_>], has_messages: bool) -> Json {
    let mut told: Vec<Json> = Vec::new();
    let mut bytes = 0;
    for fault in faults {
        let (record, size) = fault.to_json(has_messages);
        bytes += size;
        if bytes > MOST_BYTES {
            break;
        }
        told.push(record.into());
    }
    let left = faults.len() - told.len();
    answer.with("violations", told).with_some("omitted", (left > 0).then_some(left)).build().into()
}
