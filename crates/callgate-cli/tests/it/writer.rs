//! A writer of programs that knows nothing but the text about `run_code`, and what its user wants.

use callgate::{Json, Object};

/// A tool as the text declares it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Declared {
    pub(crate) name: String,
    /// The members of its arguments that must be given, and their types.
    required: Vec<(String, String)>,
    /// The members of its value, if that is declared.
    output: Vec<String>,
}

/// The tools that a text declares, in its order.
pub(crate) fn declarations(text: &str) -> Vec<Declared> {
    let members = |interface: &str| -> Vec<(String, Vec<(String, String)>)> {
        let start = format!("interface {interface} {{\n");
        let (_, rest) = text.split_once(&start).unwrap_or_else(|| panic!("no {interface}: {text}"));
        let (block, _) = rest.split_once("\n}").unwrap();
        let mut members: Vec<(String, Vec<(String, String)>)> = Vec::new();
        for line in block.lines() {
            let indent = line.len() - line.trim_start().len();
            let Some((name, kind)) = line.trim().split_once(": ") else { continue };
            let (name, kind) = (name.trim_matches('"').to_owned(), kind.trim_end_matches(';'));
            match indent {
                2 if !name.starts_with("/**") => members.push((name, Vec::new())),
                4 if !name.starts_with("/**") => {
                    members.last_mut().unwrap().1.push((name, kind.to_owned()));
                }
                _ => {}
            }
        }
        members
    };
    let outputs = members("ToolOutputMap");
    let output = |tool: &str| -> Vec<String> {
        let declared = outputs.iter().find(|(name, _)| name == tool);
        declared.unwrap().1.iter().map(|(name, _)| name.trim_end_matches('?').to_owned()).collect()
    };
    let tools = members("ToolArgsMap").into_iter().map(|(name, arguments)| {
        let required = arguments.into_iter().filter(|(name, _)| !name.ends_with('?')).collect();
        Declared { output: output(&name), name, required }
    });
    tools.collect()
}

/// The tools in what a program is told when it looks declarations up.
pub(crate) fn looked_up(text: &str) -> Vec<Declared> {
    let mut tools: Vec<Declared> = Vec::new();
    let mut is_output = false;
    for line in text.lines().filter(|line| !line.trim().starts_with("/**")) {
        let indent = line.len() - line.trim_start().len();
        if indent == 2
            && let Some((name, _)) = line.trim().split_once("(args: ")
        {
            let name = name.trim_matches('"').to_owned();
            tools.push(Declared { name, required: Vec::new(), output: Vec::new() });
            is_output = false;
        } else if indent == 4
            && let Some((name, kind)) = line.trim().split_once(": ")
        {
            let (tool, kind) = (tools.last_mut().unwrap(), kind.trim_end_matches(';'));
            if is_output {
                tool.output.push(name.trim_end_matches('?').to_owned());
            } else if !name.ends_with('?') {
                tool.required.push((name.to_owned(), kind.to_owned()));
            }
        }
        is_output |= line.contains("): Promise<{");
    }
    tools
}

/// A program that calls these tools at once and returns what each resolved to, by name.
pub(crate) fn program(
    tools: &[&Declared],
    wish: &dyn Fn(&str) -> Option<Json>,
    accessor: &dyn Fn(&str) -> String,
) -> String {
    let calls = tools.iter().map(|tool| {
        let arguments = tool.required.iter().map(|(name, kind)| {
            let value = wish(name).unwrap_or_else(|| some(kind));
            (name.clone(), value)
        });
        let arguments = Json::from(arguments.collect::<Object>());
        // Of a declared value it uses what is declared first.
        let member = tool.output.first().map(|name| format!(".then((value) => value.{name})"));
        let (name, call) = (Json::from(tool.name.clone()), accessor(&tool.name));
        format!("  {name}: {call}({arguments}){},", member.unwrap_or_default())
    });
    let calls = calls.collect::<Vec<String>>().join("\n");
    format!(
        "const calls = {{\n{calls}\n}};\nconst entries = Object.entries(calls).map(async ([name, call]) => [name, await call]);\nreturn Object.fromEntries(await Promise.all(entries));"
    )
}

/// How the text says that a tool is called.
pub(crate) fn accessor(text: &str, name: &str) -> String {
    let forms = [format!("tools.{name}"), format!("tools[\"{name}\"]")];
    let line = text.lines().find(|line| {
        forms.iter().any(|form| {
            line.strip_prefix("- ")
                .and_then(|line| line.strip_prefix(&**form))
                .is_some_and(|rest| rest.is_empty() || rest.starts_with(": "))
        })
    });
    let line = line.unwrap_or_else(|| panic!("`{name}` is not listed: {text}"));
    forms.into_iter().find(|form| line[2..].starts_with(&**form)).unwrap()
}

/// Some value of a type.
fn some(kind: &str) -> Json {
    match kind.split(" | ").next().unwrap() {
        "number" => Json::from(2),
        "boolean" => Json::from(true),
        literal if literal.starts_with('"') => Json::parse(literal).unwrap(),
        "string" => Json::from("some text"),
        other => panic!("no value for `{other}`"),
    }
}
