use callgate_core::program::FailureKind;

use crate::support::{failure, logs, returns, run, value};

#[test]
fn a_program_returns_a_value() {
    returns("return 1", "1");
    returns(
        "const x: number = 2; return { a: [x, 'b', null, true], c: 1.5 }",
        r#"{"a":[2,"b",null,true],"c":1.5}"#,
    );
    returns("return await tools.echo({ a: 1 })", r#"{"a":1}"#);
    assert_eq!(value("let x = 1"), None);
    println!("{:?}", run("throw new Error('boom')"));
    println!(
        "{:?}",
        run("const a = 1;\nfunction f(): never { throw new TypeError('boom') }\n  f()")
    );
    println!("{:?}", run("const a = 1;\nconst a = 2"));
    println!("{:?}", run("await tools.fail('denied: no')"));
    println!("{:?}", run("\n  return await fetch('x')"));
    println!("{:?}", run("return await tools.nope({})"));
    println!("{:?}", run("return tools.toString()"));
    println!("{:?}", run("await new Promise(() => {})"));
    println!("{:?}", run("return { a: [1, { b: new Date() }] }"));
    println!(
        "{:?}",
        run("for(;;){ try { await tools.echo(undefined) } catch (e) { return e.message } }")
    );
    println!("{:?}", run("console.log('a', 1, {x:1,y:2}, [1,,2], new Map([[1,{a:2}]]), () => 1, class A{}, tools, console, new Error('x'), Symbol('x'), 5n, new Date(0), /x/g, Promise.resolve(1), new Uint8Array(3), -0, null, undefined, {a:{b:{c:{d:{e:{f:1}}}}}})").logs);
    println!("{:?}", run("Promise.reject(new Error('lost')); return 1"));
    println!("{:?}", run("return typeof atob + typeof btoa + btoa('abc') + typeof performance"));
    println!(
        "{:?}",
        run(
            "tools.echo(1); try { Function('return 1')() } catch (e) { return String(e) + (async()=>{}).constructor + eval }"
        )
    );
    let _ = (failure("throw 1"), FailureKind::Abort);
    logs("console.log(1)", &["1"]);
}
