//! Programs such as models write, from `tests/programs/python.md`.

use std::sync::Arc;

use callgate_core::Signal;
use callgate_core::preflight::ToolSignature;
use callgate_core::program::{
    ErrorClass, Namespace, Program, ProgramCall, ProgramEngine, ProgramHost, Reply,
};
use callgate_schema::{Json, Object, ParseOptions, Str, json};

use super::support::engine;
use crate::support::block_on;

const CORPUS: &str = include_str!("../../programs/python.md");
const TOOLS: &str = include_str!("../../programs/tools.json");

/// Answers the calls that are listed.
struct Listed(Json);

impl ProgramHost for Listed {
    fn call(&self, call: ProgramCall, reply: Reply) {
        let answers = self.0.get(&call.member).and_then(Json::as_array).unwrap();
        let answer = answers.iter().find(|answer| answer.item(0) == Some(&call.arguments));
        reply.send(match answer.and_then(|answer| answer.item(1)) {
            Some(value) => Ok(value.clone()),
            None => Err("failed: no such thing".to_owned()),
        });
    }
}

/// What stands in the first block of that kind.
fn block<'a>(section: &'a str, kind: &str) -> Option<&'a str> {
    let (_, rest) = section.split_once(&format!("\n```{kind}\n"))?;
    Some(rest.split_once("\n```").map_or(rest, |(block, _)| block))
}

#[test]
fn programs_such_as_models_write_run_unchanged() {
    // RUNTIME-3
    let tools: Json = ParseOptions::new().parse(TOOLS).unwrap();
    let members: Vec<Str> = tools.as_object().map(Object::keys).unwrap().cloned().collect();
    let open = json!({ "type": "object" });
    let signatures: Vec<ToolSignature> =
        members.iter().map(|name| ToolSignature::new(name.clone(), open.clone())).collect();
    let class = ErrorClass::new("ToolCallError", "toolName");
    let space = Namespace::new("tools", members, Some(class));
    let host = Arc::new(Listed(tools));
    let sections: Vec<&str> = CORPUS.split("\n## ").skip(1).collect();
    assert!(sections.len() >= 60, "{} programs", sections.len());
    for section in sections {
        let name = section.lines().next().unwrap();
        let program = Program::new(block(section, "python").unwrap(), vec![space.clone()]);
        assert_eq!(block_on(engine().check(&program, &signatures)), [], "{name}");
        let end = block_on(engine().run(program, host.clone(), Signal::new())).unwrap();
        assert_eq!(end.failure, None, "{name}");
        let expected: Option<Json> =
            block(section, "json").map(|text| ParseOptions::new().parse(text).unwrap());
        assert_eq!(end.value, expected, "{name}");
        assert_eq!(end.logs.join("\n"), block(section, "text").unwrap_or_default(), "{name}");
    }
}
