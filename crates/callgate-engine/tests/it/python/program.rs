//! What programs are, and what they find.

use std::sync::Arc;

use callgate_core::Signal;
use callgate_core::program::{
    FailureKind, Isolation, Language, Namespace, Position, Program, ProgramEngine,
};
use callgate_schema::json;

use super::support::{calls, engine, failed, fails, logs, returns, run, value};
use crate::support::block_on;

#[test]
fn a_program_returns_a_value_and_calls_a_tool() {
    // PYRT-1
    assert_eq!(engine().language(), Language::Python);
    assert_eq!(engine().isolation(), Isolation::WorkerConfined, "{}", engine().confinement());
    returns("return 1", "1");
    returns("return await tools.echo({'text': 'hello'})", r#"{"text":"hello"}"#);
}

#[test]
fn a_program_is_the_inside_of_an_async_function_and_keeps_its_lines() {
    // PYRT-2
    let program = "text = '''one\n  two\n'''\nif text:\n    return [text, await tools.echo(1)]";
    returns(program, r#"["one\n  two\n",1]"#);
    returns("    x = 1\n    return x + 1", "2");
    returns("from __future__ import annotations\ndef f(x: Missing): return x\nreturn f(1)", "1");
    returns("import asyncio\nasync def main():\n    return 5\nreturn asyncio.run(main())", "5");
    returns("from math import *\nreturn floor(pi)", "3");
    fails("yield 1", FailureKind::Exception, "syntax error at line 1, column 1: 'yield' outside");
    fails(
        "async def f():\n    pass\n}\n",
        FailureKind::Exception,
        "line 3, column 1: unmatched '}'",
    );
    fails("x = 1\nreturn x =", FailureKind::Exception, "syntax error at line 2, column 10");
    fails("return 1\0", FailureKind::Exception, "syntax error: ");
    let deep = format!("return {}1{}", "(".repeat(5000), ")".repeat(5000));
    fails(&deep, FailureKind::Exception, "syntax error");
    let long = format!("return {}1", "1 + ".repeat(50_000));
    fails(&long, FailureKind::Exception, "syntax error: the program is nested too deeply");
}

#[test]
fn names_of_the_outermost_level_are_seen_everywhere_as_in_a_module() {
    returns("n = 0\ndef add():\n    global n\n    n += 1\nadd()\nreturn n", "1");
    returns("n = 0\ndef add():\n    nonlocal n\n    n += 1\nadd()\nreturn n", "1");
    returns("x = 1\nclass A:\n    x = x + 1\nreturn A.x", "2");
    returns(
        "x: int = 5\ny: Missing\nreturn ['x' in locals(), 'x' in globals(), 'z' in vars()]",
        "[true,true,false]",
    );
    returns("exec('y = 5')\nreturn [y, eval('y + 1')]", "[5,6]");
    returns("def f():\n    a = 1\n    return sorted(locals())\nreturn f()", r#"["a"]"#);
    returns("if __name__ == '__main__':\n    return 'main'", r#""main""#);
    returns("return [x for x in range(3) if (last := x)] + [last]", "[1,2,2]");
    returns(
        "match {'k': [1, 2, 3]}:\n    case {'k': [first, *rest], **others}:\n        return [first, rest, others]",
        "[1,[2,3],{}]",
    );
    returns(
        "import typing\nfrom dataclasses import dataclass\n@dataclass\nclass A:\n    b: 'B'\nclass B: pass\nreturn typing.get_type_hints(A)['b'] is B",
        "true",
    );
}

#[test]
fn a_program_finds_its_tools_and_their_error_and_nothing_else() {
    // PYRT-3
    returns(
        "return sorted(name for name in globals() if name[:2] != '__')",
        r#"["ToolCallError","tools"]"#,
    );
    fails("return Tools", FailureKind::Exception, "NameError: name 'Tools' is not defined");
    fails("return ReadArgs(path='x')", FailureKind::Exception, "NameError");
    let one = Program::new(
        "return await api.get({})",
        vec![Namespace::new("api", vec!["get".into()], None)],
    );
    let end = block_on(engine().run(one, Arc::<crate::support::Host>::default(), Signal::new()));
    assert_eq!(end.unwrap().value, Some(json!({})));
}

#[test]
fn every_tool_can_be_called_by_member_by_subscript_and_with_keywords() {
    // PYRT-4
    calls(
        "await tools.echo({'a': 1})\nawait tools.echo(a=1, b=None)\nawait tools['a-b']({})\n\
         await tools['']()\nawait tools.__proto__(1)\nawait tools.constructor([2])",
        &[
            ("echo", json!({ "a": 1 })),
            ("echo", json!({ "a": 1, "b": null })),
            ("a-b", json!({})),
            ("", json!({})),
            ("__proto__", json!(1)),
            ("constructor", json!([2])),
        ],
    );
    returns(
        "return ['echo' in tools, 'nope' in tools, len(tools), hasattr(tools, 'nope')]",
        "[true,false,8,false]",
    );
    fails(
        "await tools.ecko({})",
        FailureKind::Exception,
        "AttributeError: `tools` has no `ecko`; did you mean `echo`?",
    );
    fails("await tools['nope']({})", FailureKind::Exception, "KeyError: `tools` has no `nope`");
    fails("tools.echo = 1", FailureKind::Exception, "`tools` cannot be changed");
    fails(
        "await tools.echo({}, 1)",
        FailureKind::Exception,
        "ToolCallError: invalid arguments: `tools.echo` takes its arguments in one dict",
    );
    fails(
        "await tools.echo({}, a=1)",
        FailureKind::Exception,
        "in one dict or as keywords, not both",
    );
}

#[test]
fn calls_overlap_in_the_order_they_were_made() {
    // PYRT-5
    let program = "import asyncio\nreturn await asyncio.gather(tools.later(30), tools.echo(1), tools.later(5))";
    returns(program, "[30,1,5]");
    let numbers: Vec<_> = (0..50).map(|n| ("echo", json!(n))).collect();
    calls("import asyncio\nawait asyncio.gather(*(tools.echo(n) for n in range(50)))", &numbers);
    let mixed = "import asyncio\nresults = await asyncio.gather(tools.echo(1), tools.fail('no'), return_exceptions=True)\n\
                 return [results[0], type(results[1]).__name__, results[1].toolName, str(results[1])]";
    returns(mixed, r#"[1,"ToolCallError","fail","no"]"#);
    let caught = "import asyncio\ntry:\n    await asyncio.gather(tools.later(20), tools.fail('no'))\nexcept ToolCallError as e:\n    return str(e)";
    returns(caught, r#""no""#);
    let many = "import asyncio\nreturn len(await asyncio.gather(*(tools.echo('x' * 1000) for _ in range(5000))))";
    returns(many, "5000");
    let first = "import asyncio\ndone, pending = await asyncio.wait([asyncio.create_task(tools.later(5)), asyncio.create_task(tools.hold(1))], return_when=asyncio.FIRST_COMPLETED)\nreturn [task.result() for task in done]";
    returns(first, "[5]");
    let timed = "import asyncio\ntry:\n    await asyncio.wait_for(tools.hold(1), 0.05)\nexcept asyncio.TimeoutError:\n    return 'late'";
    returns(timed, r#""late""#);
}

#[test]
fn what_is_printed_is_logged_entry_by_entry() {
    // PYRT-6
    logs(
        "print('a', 1, None)\nprint()\nprint('b', 'c', sep='-', end='!')\nprint('two\\nlines')",
        &["a 1 None", "", "b-c!", "two\nlines"],
    );
    logs(
        "import sys\nprint('err', file=sys.stderr)\nsys.stdout.write('x\\ny')\nprint('z')",
        &["err", "x", "y", "z"],
    );
    logs(
        "import io, contextlib\nout = io.StringIO()\nwith contextlib.redirect_stdout(out):\n    print('hidden')\nprint(repr(out.getvalue()))",
        &["'hidden\\n'"],
    );
    logs("import logging\nlogging.warning('careful')", &["WARNING:root:careful"]);
    logs("print('\\ud800 \\x00')", &["\\ud800 \0"]);
    logs("import warnings\nwarnings.warn('old', DeprecationWarning)\nprint('done')", &["done"]);
    logs(
        "tools.echo({})",
        &["program.py:1: RuntimeWarning: coroutine 'tools.echo' was never awaited"],
    );
}

#[test]
fn a_program_that_returns_nothing_has_no_value() {
    // PYRT-9
    for program in ["", "pass", "return", "return None", "x = 5", "# only a comment"] {
        assert_eq!(value(program), None, "{program}");
    }
    for (program, expected) in [
        ("return 0", "0"),
        ("return ''", "\"\""),
        ("return False", "false"),
        ("return [None]", "[null]"),
    ] {
        returns(program, expected);
    }
}

#[test]
fn a_failed_call_raises_an_exception_that_names_the_tool() {
    // PYRT-10
    let program = "try:\n    await tools.fail('denied: not today')\nexcept ToolCallError as e:\n    return [e.toolName, str(e), e.name, e.message, isinstance(e, Exception)]";
    returns(program, r#"["fail","denied: not today","ToolCallError","denied: not today",true]"#);
    returns(
        "try:\n    await tools['a-b'](object())\nexcept Exception as e:\n    return [e.toolName, str(e)]",
        r#"["a-b","invalid arguments: arguments must be lossless JSON; arguments: an object is not JSON: pass the fields you need in a dict"]"#,
    );
    returns(
        "class Mine(ToolCallError):\n    pass\ntry:\n    raise Mine('x')\nexcept ToolCallError as e:\n    return str(e)",
        r#""x""#,
    );
    fails(
        "await tools.fail('failed: gone')",
        FailureKind::Exception,
        "ToolCallError: failed: gone",
    );
}

#[test]
fn errors_are_told_with_the_authors_own_lines() {
    // PYRT-11
    let end = run(
        engine(),
        "def inner(x):\n    return 1 / x\n\nprint('before')\ninner(0)",
        &Arc::default(),
    );
    assert_eq!(end.logs, ["before".into()]);
    let failure = failed(end, "");
    assert_eq!(failure.kind, FailureKind::Exception);
    assert_eq!(failure.position, Some(Position { line: 2, column: 12 }));
    // Since Python 3.11 carets say which part of a line it was.
    let text: Vec<&str> = failure.message.lines().filter(|line| !line.contains('^')).collect();
    insta::assert_snapshot!(text.join("\n"), @r#"
    Traceback (most recent call last):
      File "program.py", line 5, in <program>
        inner(0)
      File "program.py", line 2, in inner
        return 1 / x
    ZeroDivisionError: division by zero
    "#);
    // Where there are any, they stand below what they mean, in a last line without its end too.
    let end = run(engine(), "return 1 / 0", &Arc::default());
    let failure = failed(end, "");
    let lines: Vec<&str> = failure.message.lines().collect();
    if let Some(at) = lines.iter().position(|line| line.contains('^')) {
        assert_eq!(lines[at].find(['^', '~']), lines[at - 1].find("1 / 0"), "{}", failure.message);
    }
    fails("raise ValueError('a') from KeyError('b')", FailureKind::Exception, "direct cause");
    fails(
        "class Odd(Exception):\n    def __str__(self): raise RuntimeError('no')\nraise Odd",
        FailureKind::Exception,
        "Odd",
    );
    fails(
        "import asyncio\nasync def f(): raise ValueError('lost')\nt = asyncio.create_task(f())\nawait asyncio.sleep(0)\nreturn 1",
        FailureKind::Exception,
        "a task failed and nothing awaited it: ",
    );
    fails(
        "import asyncio\nawait asyncio.Event().wait()",
        FailureKind::Exception,
        "the program will never finish",
    );
    fails("raise SystemExit(7)", FailureKind::WorkerExit, "status 7");
    fails("exit()", FailureKind::WorkerExit, "status 0; use `return`");
}
