//! What hosts and models see of the tools as a whole.

use callgate::{CallInput, ErrorKind, ExecutionMode, ToolRuntime, json};
use callgate_tools::FileTools;
use insta::assert_snapshot;

use crate::support::Tree;

#[test]
fn models_see_names_descriptions_and_parameters_and_calls_reach_the_tools() {
    // TEST-2
    let tree = Tree::new([("a.txt", "needle\n")]);
    let schemas = tree.runtime.schemas();
    let shown = schemas.iter().map(|schema| {
        format!("# {}\n{}\n{}\n", schema.name, schema.description, schema.parameters.pretty())
    });
    assert_snapshot!(shown.collect::<Vec<_>>().join("\n"));

    let calls = [
        ("read", json!({ "path": "a.txt" })),
        ("glob", json!({ "pattern": "*" })),
        ("grep", json!({ "pattern": "needle" })),
    ];
    let names: Vec<&str> = schemas.iter().map(|schema| &*schema.name).collect();
    assert_eq!(names, calls.clone().map(|(name, _)| name));
    let texts = calls.map(|(name, arguments)| tree.text(name, arguments));
    assert_snapshot!(texts.join("\n---\n"), @r"
    1: needle

    (end of file; 1 line)
    ---
    a.txt

    (1 file)
    ---
    a.txt
      1: needle

    (1 matching line in 1 file)
    ");
}

#[test]
fn programs_see_the_types_of_values() {
    let tools = FileTools::below(std::env::temp_dir()).unwrap();
    let shown = tools.definitions();
    let shown =
        shown.iter().map(|tool| format!("# {}\n{}\n", tool.name(), tool.output_schema().pretty()));
    assert_snapshot!(shown.collect::<Vec<_>>().join("\n"));
}

#[test]
fn all_calls_may_overlap_and_be_made_again() {
    // FS-10
    let tree = Tree::new([]);
    for (name, arguments) in [
        ("read", json!({ "path": "a" })),
        ("glob", json!({ "pattern": "*" })),
        ("grep", json!({ "pattern": "x" })),
    ] {
        let input = CallInput::new("1", name, arguments);
        assert_eq!(tree.runtime.execution_mode(&input), ExecutionMode::Parallel, "{name}");
        assert!(tree.runtime.get(name).unwrap().is_repeatable());
        assert_eq!(tree.runtime.get(name).unwrap().declared_timeout(), None);
    }
}

#[test]
fn all_tools_are_installed_or_none() {
    let runtime = ToolRuntime::builder().build().unwrap();
    let tools = FileTools::below(std::env::temp_dir()).unwrap();
    let [read, _, grep] = tools.definitions().try_into().unwrap();
    let first = runtime.register(grep).unwrap();
    assert_eq!(tools.install(&runtime).unwrap_err().kind(), ErrorKind::Duplicate);
    assert!(runtime.get("read").is_none());
    first.dispose();
    tools.install(&runtime).unwrap();
    assert_eq!(runtime.register(read).unwrap_err().kind(), ErrorKind::Duplicate);
}

#[test]
fn a_root_must_be_a_directory_that_exists() {
    let tree = Tree::new([("a.txt", "")]);
    let message = |path: &str| {
        let error = FileTools::below(tree.at(path)).unwrap_err();
        error.to_string().replace(tree.root().to_str().unwrap(), "<root>")
    };
    assert_snapshot!(message("a.txt"), @"cannot use `<root>/a.txt` as root: not a directory");
    assert_snapshot!(message("none"), @"cannot use `<root>/none` as root: no such file or directory");
}
