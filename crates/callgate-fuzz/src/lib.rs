//! What holds on any input, one plain function for each reader of text from outside.
//!
//! The same functions run under libFuzzer (`fuzz/`) and in the smoke test of this crate, which feeds them the corpus
//! and mutations of it. A function that returns found nothing; one that panics, or does not come to its end, found a
//! fault.
#![expect(clippy::missing_panics_doc, reason = "a target panics when what it says does not hold")]

pub mod mutate;

use callgate::schema::{
    ParseErrorKind, SdkTool, foreign, lower_output, lower_parameters, python, typescript,
};
use callgate::{Json, ParamSpec, SubsetSchema, ValueSpec, json};
use callgate_mcp::ForeignSchema;

/// One target.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::exhaustive_structs, reason = "a target has a name and a function")]
pub struct Target {
    /// Its name, and that of its folder in `fuzz/corpus`.
    pub name: &'static str,
    /// Tries one input.
    pub run: fn(&[u8]),
}

/// Every target. A new one is a row here and a file in `fuzz/fuzz_targets`.
pub const TARGETS: &[Target] = &[
    Target { name: "json", run: json },
    Target { name: "subset", run: subset },
    Target { name: "foreign", run: foreign },
    Target { name: "types", run: types },
    Target { name: "spec", run: spec },
    Target { name: "derive", run: derive },
    Target { name: "strip", run: strip },
];

/// JSON text: what is read prints to text that reads the same, and what is refused is refused with a place.
pub fn json(input: &[u8]) {
    let read = match Json::parse_slice(input) {
        Ok(read) => read,
        Err(error) => {
            assert!(error.offset() <= input.len(), "a place outside the text");
            let is_json = serde_json::from_slice::<serde_json::Value>(input).is_ok();
            assert!(!is_json || error.kind() != ParseErrorKind::Syntax, "this is JSON: {error}");
            return;
        }
    };
    for text in [read.to_string(), read.pretty()] {
        assert_eq!(Json::parse(&text).ok().as_ref(), Some(&read), "it reads as something else");
    }
    if let Ok(value) = read.to_serde() {
        assert_eq!(Json::try_from(value).ok().as_ref(), Some(&read), "serde changed it");
    }
}

/// A schema of the subset, and on the next line a value: both ways to judge the value agree.
pub fn subset(input: &[u8]) {
    let (schema, value) = two_lines(input);
    let Some(schema) = parsed(schema) else { return };
    let asserted = match SubsetSchema::assert(&schema) {
        Ok(asserted) => asserted,
        Err(error) => {
            assert!(!error.violations().is_empty(), "refused without a reason");
            assert_eq!(typescript::type_text(&schema, 0), "unknown");
            assert_eq!(python::type_text(&schema), "Any");
            return;
        }
    };
    assert_ne!(typescript::type_text(&schema, 0), "unknown");
    let Some(value) = parsed(value) else { return };
    let violations = asserted.validate(&value, "value");
    assert_eq!(asserted.is_valid(&value), violations.is_empty(), "two verdicts");
    for violation in &violations {
        assert!(violation.path().starts_with("value"), "{violation}");
        assert!(!violation.message().is_empty());
    }
}

/// A schema of somebody else's, and on the next line a value: it compiles or says why not, and judges.
pub fn foreign(input: &[u8]) {
    let (schema, value) = two_lines(input);
    let Some(schema) = parsed(schema) else { return };
    let compiled = match ForeignSchema::compile(&schema) {
        Ok(compiled) => compiled,
        Err(error) => {
            assert!(!error.to_string().is_empty());
            return;
        }
    };
    let Some(value) = parsed(value) else { return };
    let verdict = compiled.validate(&value);
    assert_eq!(verdict, compiled.validate(&value), "two verdicts");
}

/// A schema of somebody else's: its types are text that parses.
pub fn types(input: &[u8]) {
    if let Some((typescript, _)) = type_texts(input) {
        let parsed = callgate::engine::strip(&typescript);
        assert!(parsed.is_ok(), "{parsed:?}\n{typescript}");
    }
}

/// The declarations of a tool with that schema, in TypeScript and in Python.
pub fn type_texts(input: &[u8]) -> Option<(String, String)> {
    let schema = parsed(input)?;
    let name = schema.get("title").and_then(Json::as_str).unwrap_or("t");
    let description = schema.get("description").and_then(Json::as_str).unwrap_or_default();
    let tool = SdkTool::new(name, description, &schema, &schema);
    let texts = (typescript::declarations(&[tool]), python::declarations(&[tool]));
    let again = (typescript::declarations(&[tool]), python::declarations(&[tool]));
    assert!(texts == again, "the same tools gave other text");
    assert!(!texts.0.lines().chain(texts.1.lines()).any(|line| line.starts_with("```")));
    let _unresolved = foreign::open_references(&schema);
    Some(texts)
}

/// A schema in the short form for authors: what compiles is of the subset.
pub fn spec(input: &[u8]) {
    let Some(spec) = parsed(input) else { return };
    let compiled = [
        ValueSpec::from_json(&spec).and_then(|spec| spec.compile()),
        ParamSpec::from_json(&spec).and_then(|spec| spec.compile()),
    ];
    for compiled in compiled {
        match compiled {
            Ok(schema) => assert_eq!(SubsetSchema::assert(schema.as_json()).as_ref(), Ok(&schema)),
            Err(error) => assert!(!error.violations().is_empty(), "refused without a reason"),
        }
    }
}

/// A schema as a Rust type would have it: what is lowered is of the subset.
pub fn derive(input: &[u8]) {
    let Some(derived) = parsed(input) else { return };
    for lowered in [lower_parameters(&derived), lower_output(&derived)] {
        match lowered {
            Ok(schema) => assert_eq!(SubsetSchema::assert(schema.as_json()).as_ref(), Ok(&schema)),
            Err(error) => assert!(!error.violations().is_empty(), "refused without a reason"),
        }
    }
}

/// A program in TypeScript: erasing its types keeps every place, and erases nothing the second time.
pub fn strip(input: &[u8]) {
    let Ok(source) = str::from_utf8(input) else { return };
    let Ok(javascript) = callgate::engine::strip(source) else { return };
    assert_eq!(javascript.len(), source.len(), "columns moved");
    assert_eq!(javascript.matches('\n').count(), source.matches('\n').count(), "lines moved");
    assert_eq!(
        callgate::engine::strip(&javascript).as_ref(),
        Ok(&javascript),
        "not JavaScript yet"
    );
}

fn parsed(text: &[u8]) -> Option<Json> {
    Json::parse_slice(text).ok()
}

/// The first line, and what follows it.
fn two_lines(input: &[u8]) -> (&[u8], &[u8]) {
    let end = input.iter().position(|byte| *byte == b'\n').unwrap_or(input.len());
    let (first, rest) = input.split_at(end);
    (first, rest.get(1..).unwrap_or_default())
}

/// Words of the inputs, which mutations put in.
pub fn words() -> Vec<String> {
    let keywords = [
        "type",
        "oneOf",
        "anyOf",
        "allOf",
        "properties",
        "required",
        "additionalProperties",
        "items",
        "prefixItems",
        "enum",
        "const",
        "$ref",
        "$defs",
        "$id",
        "$anchor",
        "default",
        "description",
        "title",
        "not",
        "if",
        "patternProperties",
        "nullable",
        "minItems",
        "string",
        "object",
        "array",
        "integer",
        "number",
        "null",
        "boolean",
        "json",
        "toString",
        "__proto__",
    ];
    let texts = [
        "{",
        "}",
        "[",
        "]",
        ",",
        ":",
        "\"",
        "\\",
        "\\u0000",
        "\\ud800",
        "*/",
        "```",
        "\n",
        "-0",
        "1e999",
        "9007199254740993",
        "1.5",
        "{}",
        "[[[[[[[[",
        "{\"a\":",
        "\"#\"",
        "\"#/$defs/A\"",
        "await ",
        "as any",
        "<T>",
        "enum X {}",
        "\u{2028}",
        "\u{feff}",
        "é",
    ];
    let quoted = keywords.iter().map(|word| json!(*word).to_string());
    quoted.chain(texts.map(str::to_owned)).collect()
}
