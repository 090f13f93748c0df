//! Programs that would take everything: each ends in a clear error within its limits, and the next run works.

use std::time::{Duration, Instant};

use callgate::{Json, json};

use crate::sandbox::{Sandbox, assert_shown};

/// Ends within its limits, plus what a busy machine adds.
fn fails_soon(sandbox: &Sandbox, timeout: &str, code: &str) -> (String, String) {
    let start = Instant::now();
    let report = sandbox.run_json(&["--timeout", timeout], code);
    assert!(start.elapsed() < Duration::from_mins(1), "{code}: took {:?}", start.elapsed());
    assert_eq!(report["ok"], json!(false), "{code}: {report}");
    let text = |name: &str| report["error"][name].as_str().unwrap().to_owned();
    (text("kind"), text("message"))
}

#[test]
fn endless_loops_end_at_their_timeout() {
    let sandbox = Sandbox::new();
    let loops = [
        "for (;;) {}",
        "await null; for (;;) {}",
        "await tools.glob({ pattern: '*' }); while (true);",
        "try { for (;;) {} } catch {} finally { for (;;) {} }",
        "(async () => { for (;;) await null; })(); await new Promise(() => {})",
        "for (;;) await tools.glob({ pattern: '*' })",
    ];
    for code in loops {
        assert_eq!(fails_soon(&sandbox, "0.5", code).0, "timeout", "{code}");
    }
    assert_eq!(sandbox.result_of("return 'alive'"), json!("alive"));
}

#[test]
fn a_timeout_tells_its_limit() {
    let sandbox = Sandbox::new();
    let ended = sandbox.callgate(["run", "--timeout", "0.2", "-e", "for (;;) {}"]);
    assert_shown!(ended.shown());
}

#[test]
fn a_program_that_waits_for_nothing_is_told_so() {
    let sandbox = Sandbox::new();
    let (kind, message) = fails_soon(&sandbox, "30", "await new Promise(() => {})");
    let expected =
        "the program will never finish: it awaits a promise that nothing can settle any more";
    assert_eq!((&*kind, &*message), ("exception", expected));
}

#[test]
fn what_needs_too_much_memory_or_stack_fails_clearly() {
    let sandbox = Sandbox::new();
    let hogs = [
        ("const a = []; for (;;) a.push(new Array(100000).fill(7))", "worker-exit"),
        ("let s = 'x'; for (;;) s += s", "exception"),
        ("const f = () => f() + 1; return f()", "exception"),
        ("return JSON.parse('['.repeat(100000))", "exception"),
        ("return eval('['.repeat(100000))", "exception"),
        ("return new Array(4294967295)", "invalid-output"),
        ("await tools.read({ path: new Array(4294967295) })", "exception"),
        ("let a = []; for (let n = 0; n < 100000; n++) a = [a]; return a", "invalid-output"),
    ];
    let shown = hogs.map(|(code, expected)| {
        let (kind, message) = fails_soon(&sandbox, "30", code);
        assert_eq!(kind, expected, "{code}: {message}");
        let start: String = message.lines().next().unwrap().chars().take(100).collect();
        assert_eq!(sandbox.result_of("return 1"), json!(1));
        format!("{code}\n  {start}\n")
    });
    insta::assert_snapshot!(shown.concat());
}

#[test]
fn a_source_of_deep_brackets_is_refused() {
    let sandbox = Sandbox::new();
    sandbox.write("deep.ts", &format!("return {}1{}", "[".repeat(100_000), "]".repeat(100_000)));
    let ended = sandbox.callgate(["run", "--json", "-q", "deep.ts"]);
    let report = Json::parse(&ended.stdout).unwrap();
    assert_eq!(
        (ended.code, report["error"]["kind"].as_str()),
        (Some(1), Some("exception")),
        "{ended:?}"
    );
}

#[test]
fn odd_keys_are_kept_or_refused_but_never_changed() {
    let sandbox = Sandbox::new();
    let result = sandbox.result_of(r"return { 'a\0b': 1, a: 2, '': 3, ['__proto__']: 4 }");
    assert_eq!(result, json!({ "a\0b": 1, "a": 2, "": 3, "__proto__": 4 }));
    for code in [r"return { '\ud800': 1 }", r"return ['\udc00']"] {
        assert_eq!(fails_soon(&sandbox, "30", code).0, "invalid-output", "{code}");
    }
}

#[test]
fn timeouts_of_the_configuration_hold_without_a_flag() {
    let sandbox = Sandbox::new();
    sandbox.write("c.json", r#"{ "callgate": { "timeouts": { "run": 0.3, "compute": 0.3 } } }"#);
    let report = sandbox.run_json(&["--config", "c.json"], "for (;;) {}");
    assert_eq!(report["error"]["kind"], json!("timeout"), "{report}");
}
