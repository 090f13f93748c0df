//! Where programs run, and what they may use.

use callgate::json;

use crate::sandbox::{Sandbox, assert_shown};

#[test]
fn programs_run_in_workers_unless_told_otherwise() {
    let sandbox = Sandbox::new();
    let note = |options: &[&str]| {
        let ended = sandbox.callgate([&["run"], options, &["-e", "return 1"]].concat());
        assert_eq!(ended.code, Some(0), "{ended:?}");
        let note = ended.stderr.lines().find(|line| line.starts_with("note: isolation"));
        note.unwrap_or_default().to_owned()
    };
    let best = note(&[]);
    assert!(best.starts_with("note: isolation of the program: worker"), "{best}");
    assert_eq!(note(&["--isolation", "worker"]), best);
    assert_eq!(note(&["--isolation", "in-process"]), "note: isolation of the program: in-process");
}

// TEST-4
#[test]
fn the_configuration_says_where_programs_run_and_the_command_line_says_it_again() {
    let sandbox = Sandbox::new();
    sandbox.write(
        "engine.json",
        r#"{ "callgate": { "engine": { "isolation": "in-process", "memory": "16M", "maxCalls": 2 } } }"#,
    );
    let ended = sandbox.callgate(["run", "--config", "engine.json", "-e", "return 1"]);
    assert!(ended.stderr.contains("program: in-process"), "{ended:?}");
    let options = ["--config", "engine.json", "--isolation", "worker"];
    let ended = sandbox.callgate([&["run"], &options[..], &["-e", "return 1"]].concat());
    assert!(ended.stderr.contains("program: worker"), "{ended:?}");

    let hog = "const a = []; for (;;) a.push(new Array(1000).fill(a.length))";
    let report = sandbox.run_json(&options, hog);
    assert_eq!(report["error"]["kind"], json!("worker-exit"), "{report}");
    let calls = "await tools.glob({ pattern: '*' }); ".repeat(3);
    let report = sandbox.run_json(&options, &calls);
    assert_eq!(report["calls"].as_array().unwrap().len(), 2, "{report}");
    let report = sandbox.run_json(&[&options[..], &["--max-calls", "3"]].concat(), &calls);
    assert_eq!(report["ok"], json!(true), "{report}");
}

#[test]
fn calls_beyond_the_limit_are_denied_one_by_one() {
    let sandbox = Sandbox::new();
    let code = "
        const outcomes = await Promise.allSettled([1, 2, 3].map(n => tools.glob({ pattern: `${n}` })));
        return outcomes.map(o => o.status === 'rejected' ? o.reason.message : typeof o.value)";
    let ended = sandbox.callgate(["run", "-q", "--max-calls", "2", "-e", code]);
    assert_shown!(ended.shown());
}

#[test]
fn less_than_what_is_required_is_refused() {
    let sandbox = Sandbox::new();
    sandbox.write("strict.json", r#"{ "callgate": { "engine": { "requireConfinement": true } } }"#);
    let options = ["run", "--config", "strict.json", "--isolation", "in-process", "-e", "return 1"];
    assert_shown!(sandbox.callgate(options).shown());
}

#[test]
fn sizes_and_levels_that_make_no_sense_are_refused() {
    let sandbox = Sandbox::new();
    let shown: Vec<String> = [
        ["--memory", "0"],
        ["--memory", "lots"],
        ["--memory", "99999999999G"],
        ["--isolation", "vm"],
    ]
    .map(|option| sandbox.callgate([&["run"], &option[..], &["-e", "return 1"]].concat()).shown())
    .into();
    sandbox.write("bad.json", r#"{ "callgate": { "engine": { "memory": "12 parsecs" } } }"#);
    let bad = sandbox.callgate(["run", "--config", "bad.json", "-e", "return 1"]);
    assert_shown!(format!("{}\n{}", shown.join("\n"), bad.shown()));
}
