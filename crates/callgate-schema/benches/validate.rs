//! How long arguments take to be parsed, checked and printed; beside it the full-draft validator.

use callgate_schema::{Json, SubsetSchema, json};
use divan::counter::BytesCount;
use divan::{AllocProfiler, Bencher};

#[global_allocator]
static ALLOCATIONS: AllocProfiler = AllocProfiler::system();

fn main() {
    divan::main();
}

const SIZES: [usize; 2] = [1_024, 102_400];

/// The schema of a batch of records.
fn schema() -> Json {
    let text = json!({ "type": "string" });
    let record = json!({
        "type": "object",
        "properties": {
            "id": { "type": "string", "description": "Record id." },
            "n": { "type": "integer", "description": "Counter." },
            "x": { "type": "number" },
            "flag": { "type": "boolean" },
            "kind": { "type": "string", "enum": ["alpha", "beta", "gamma"] },
            "tags": { "type": "array", "items": text.clone() },
            "nested": {
                "type": "object",
                "properties": { "a": text, "b": { "type": "integer" } },
                "required": ["a", "b"],
                "additionalProperties": false,
            },
        },
        "required": ["id", "n", "x", "flag", "kind", "tags", "nested"],
        "additionalProperties": false,
    });
    json!({
        "type": "object",
        "properties": { "records": { "type": "array", "items": record }, "dry_run": { "type": "boolean" } },
        "required": ["records"],
        "additionalProperties": false,
    })
}

/// A batch of at least that many bytes.
fn arguments(bytes: usize) -> String {
    let mut records = Vec::new();
    let mut text = String::new();
    while text.len() < bytes {
        let place = records.len();
        records.push(json!({
            "id": format!("rec-{place:06}"),
            "n": place,
            "x": Json::parse(&format!("{place}.5")).unwrap_or_default(),
            "flag": place % 2 == 0,
            "kind": ["alpha", "beta", "gamma"][place % 3],
            "tags": [format!("t{}", place % 7), format!("u{}", place % 11)],
            "nested": { "a": format!("value {place}"), "b": place * 3 },
        }));
        text = json!({ "records": records.clone(), "dry_run": false }).to_string();
    }
    text
}

fn parsed(bytes: usize) -> Json {
    Json::parse(&arguments(bytes)).unwrap_or_default()
}

#[divan::bench(args = SIZES)]
fn parse(bencher: Bencher<'_, '_>, bytes: usize) {
    let text = arguments(bytes);
    bencher.counter(BytesCount::of_str(&text)).bench(|| Json::parse(&text));
}

#[divan::bench(args = SIZES)]
fn parse_with_serde_json(bencher: Bencher<'_, '_>, bytes: usize) {
    let text = arguments(bytes);
    bencher
        .counter(BytesCount::of_str(&text))
        .bench(|| serde_json::from_str::<serde_json::Value>(&text));
}

#[divan::bench(args = SIZES)]
fn validate(bencher: Bencher<'_, '_>, bytes: usize) {
    let (schema, value) = (SubsetSchema::assert(&schema()), parsed(bytes));
    bencher.bench(|| schema.as_ref().map(|schema| schema.validate(&value, "").is_empty()));
}

#[divan::bench(args = SIZES)]
fn validate_with_jsonschema(bencher: Bencher<'_, '_>, bytes: usize) {
    let schema = schema().to_serde().unwrap_or_default();
    let validator = jsonschema::validator_for(&schema);
    let value = parsed(bytes).to_serde().unwrap_or_default();
    bencher.bench(|| validator.as_ref().map(|validator| validator.is_valid(&value)).ok());
}

#[divan::bench(args = SIZES)]
fn report_a_fault_in_each_record(bencher: Bencher<'_, '_>, bytes: usize) {
    let schema = SubsetSchema::assert(&schema());
    let value =
        Json::parse(&arguments(bytes).replace("\"flag\":", "\"flags\":")).unwrap_or_default();
    bencher.bench(|| schema.as_ref().map(|schema| schema.validate(&value, "").len()));
}

#[divan::bench(args = SIZES)]
fn print(bencher: Bencher<'_, '_>, bytes: usize) {
    let value = parsed(bytes);
    bencher.bench(|| value.to_string());
}

#[divan::bench]
fn assert_the_schema(bencher: Bencher<'_, '_>) {
    let schema = schema();
    bencher.bench(|| SubsetSchema::assert(&schema));
}
