//! `callgate run`: programs from everywhere, and what is shown of them.

use callgate::json;

use crate::sandbox::{Sandbox, assert_shown, without_times};

#[test]
fn rows_are_shown_as_a_table_with_the_calls_below() {
    let sandbox = Sandbox::new();
    sandbox.write(
        "sizes.ts",
        "const { files } = await tools.glob({ pattern: '**/*.rs' });\n\
         const rows = await Promise.all(files.map(async ({ path, bytes }: { path: string; bytes: number }) => {\n\
           const { totalLines } = await tools.read({ path });\n\
           return { path, bytes, lines: totalLines };\n\
         }));\n\
         console.log('files:', rows.length);\n\
         return rows;\n",
    );
    assert_shown!(sandbox.callgate(["run", "sizes.ts"]).shown());
}

#[test]
fn a_program_can_stand_on_the_command_line_or_come_through_standard_input() {
    let sandbox = Sandbox::new();
    let shown = [
        sandbox.callgate(["run", "-e", "return 6 * 7"]),
        sandbox.callgate(["run", "-e", "-1"]),
        sandbox.with_input(["run", "-"], "return { a: [1, { b: 'x' }] }"),
        sandbox.with_input(["run", "-q", "-"], "return 'two\\nlines'"),
        sandbox.callgate(["run", "-q", "-e", "console.log('only', { logged: true })"]),
    ];
    assert_shown!(shown.map(|ended| ended.shown()).join("\n"));
}

#[test]
fn json_output_is_one_object_with_everything_in_it() {
    let sandbox = Sandbox::new();
    let report = sandbox.run_json(
        &[],
        "console.log('a', 1); console.log('b');\n\
         const answers = await Promise.allSettled([tools.read({ path: 'src/main.rs', limit: 1 }), tools.read({ path: 'no' })]);\n\
         return answers.map(({ status, reason }) => ({ status, message: reason?.message }));",
    );
    insta::assert_snapshot!(without_times(&report).pretty());
}

#[test]
fn failures_carry_their_kind_in_json() {
    let sandbox = Sandbox::new();
    let failures = [
        ("throw new Error('boom')", "exception"),
        ("throw 'text'", "exception"),
        ("return 1 +", "exception"),
        ("await tools.read({ path: 'nope' })", "exception"),
        ("await tools.nothing({})", "exception"),
        ("return () => 1", "invalid-output"),
        ("return NaN", "invalid-output"),
        ("for (;;) {}", "timeout"),
    ];
    for (code, kind) in failures {
        let report = sandbox.run_json(&["--timeout", "1"], code);
        assert_eq!(
            (report["ok"].as_bool(), report["error"]["kind"].as_str()),
            (Some(false), Some(kind)),
            "{report}"
        );
        assert_eq!(report["result"], json!(null), "{code}");
    }
}

#[test]
fn what_goes_wrong_before_a_run_is_an_object_too() {
    let sandbox = Sandbox::new();
    sandbox.write("bad.json", "{");
    let ended = [
        sandbox.callgate(["run", "--json", "src/man.rs"]),
        sandbox.callgate(["run", "--json", "--config", "bad.json", "-e", "1"]),
    ];
    assert_shown!(ended.map(|ended| ended.shown()).join("\n"));
}

#[test]
fn a_syntax_error_shows_its_place() {
    let sandbox = Sandbox::new();
    sandbox.write("broken.ts", "const a: number = 1;\nconst b = a +* 2;\nreturn b;\n");
    sandbox.write("enum.ts", "enum Color { Red }\nreturn Color.Red;\n");
    let ended =
        [sandbox.callgate(["run", "-q", "broken.ts"]), sandbox.callgate(["run", "-q", "enum.ts"])];
    assert_shown!(ended.map(|ended| ended.shown()).join("\n"));
}

#[test]
fn an_exception_shows_what_was_logged_and_called_before_it_and_its_place() {
    let sandbox = Sandbox::new();
    sandbox.write(
        "throws.ts",
        "console.log('before');\nawait tools.glob({ pattern: '*.md' });\nfunction inner() {\n  throw new TypeError('boom');\n}\ninner();\n",
    );
    assert_shown!(sandbox.callgate(["run", "-q", "throws.ts"]).shown());
}

#[test]
fn a_program_can_catch_a_failing_call_and_go_on() {
    let sandbox = Sandbox::new();
    let result = sandbox.result_of(
        "try { await tools.read({ path: 'nope' }); } catch (error) {\n\
           return [error instanceof ToolCallError, error.name, error.toolName, error.message];\n\
         }",
    );
    let message = "failed: `nope` does not exist; use `glob` to see what is there";
    assert_eq!(result, json!([true, "ToolCallError", "read", message]));
}

#[test]
fn integers_of_any_width_arrive_unchanged() {
    let sandbox = Sandbox::new();
    let result = sandbox.result_of("return [9007199254740991, -0.5, 1e21]");
    assert_eq!(result.to_string(), "[9007199254740991,-0.5,1e+21]");
}

#[test]
fn a_file_that_is_no_program_is_refused_with_the_way_out() {
    let sandbox = Sandbox::new();
    sandbox.write("programs/largest-files.ts", "return 1");
    std::fs::write(sandbox.path().join("binary.ts"), b"return 1;\n\xff\xfe").unwrap();
    let ended = [
        sandbox.callgate(["run", "programs/largest-file.ts"]),
        sandbox.callgate(["run", "programs/zebra.ts"]),
        sandbox.callgate(["run", "nowhere/zebra.ts"]),
        sandbox.callgate(["run", "programs"]),
        sandbox.callgate(["run", "binary.ts"]),
        sandbox.callgate(["run"]),
        sandbox.callgate(["run", "a.ts", "-e", "1"]),
        sandbox.callgate(["run", "--timeout", "0", "-e", "1"]),
        sandbox.callgate(["run", "--timeout", "soon", "-e", "1"]),
        sandbox.callgate(["run", "--root", "nowhere", "-e", "1"]),
        sandbox.callgate(["run", "--root", "readme.md", "-e", "1"]),
    ];
    assert_shown!(ended.map(|ended| ended.shown()).join("\n"));
}

#[test]
fn tools_stay_below_the_root() {
    let sandbox = Sandbox::new();
    let code = "return [await tools.glob({ pattern: '**' }).then((found) => found.files.map((file) => file.path)),\n\
                await tools.read({ path: '../readme.md' }).catch((error) => error.message)]";
    let report = sandbox.run_json(&["--root", "src"], code);
    let refused = "failed: `../readme.md` leads out of the root through `..`; only what is below the root can be read";
    assert_eq!(report["result"], json!([["lib.rs", "main.rs"], refused]));
}

#[test]
fn many_calls_are_shown_in_part() {
    let sandbox = Sandbox::new();
    let code = "for (let n = 1; n <= 45; n++) await tools.read({ path: n === 25 ? 'nope' : 'readme.md', limit: n }).catch(() => {})";
    let ended = sandbox.callgate(["run", "-q", "-e", code]);
    assert_shown!(ended.shown());
}

#[test]
fn arguments_of_a_call_cannot_steer_the_output() {
    let sandbox = Sandbox::new();
    let code = "await tools.read({ path: 'a\\u001b[31m\\n\\u202eb'.repeat(9) }).catch(() => {})";
    let ended = sandbox.callgate(["run", "-q", "-e", code]);
    assert_shown!(ended.shown());
}

#[test]
fn colours_come_only_when_asked_for() {
    let sandbox = Sandbox::new();
    let plain = sandbox.callgate(["run", "-q", "-e", "return [{ a: 1 }]"]);
    assert!(!plain.stdout.contains('\u{1b}'), "{plain:?}");
    let colored = sandbox.callgate(["run", "-q", "--color", "always", "-e", "return [{ a: 1 }]"]);
    assert_shown!(colored.stdout.replace('\u{1b}', "␛"));
    let mut command = sandbox.command();
    let output = command
        .args(["run", "-q", "--color", "auto", "-e", "1 +"])
        .env("NO_COLOR", "1")
        .output()
        .unwrap();
    assert!(!output.stderr.contains(&0x1b));
}

#[test]
fn a_check_says_all_that_is_wrong_with_a_program_and_runs_none_of_it() {
    let sandbox = Sandbox::new();
    sandbox.write(
        "wrong.ts",
        "const { files } = await tools.glob({ patern: '**/*.rs' });\n\
         for (const file of files) {\n\
         \x20 tools.raed({ path: file.path });\n\
         \x20 tools.read({ path: 1 });\n\
         }\n",
    );
    sandbox.write("right.ts", "return (await tools.glob({ pattern: '*' })).files.length");
    sandbox.write("enum.ts", "enum Color { Red }");
    let shown = [
        sandbox.callgate(["run", "--check", "wrong.ts"]),
        sandbox.callgate(["run", "--check", "--json", "wrong.ts"]),
        sandbox.callgate(["run", "--check", "right.ts"]),
        sandbox.callgate(["run", "--check", "--json", "right.ts"]),
        sandbox.callgate(["run", "--check", "enum.ts"]),
        sandbox.callgate(["run", "--check", "missing.ts"]),
        sandbox.callgate(["run", "--check", "--json", "missing.ts"]),
        sandbox.callgate(["run", "wrong.ts"]),
    ];
    assert_shown!(shown.map(|ended| ended.shown()).join("\n"));
}
