//! Erasing types in place.

use callgate_engine::strip;

/// Checks the whole text that is left. In `expected`, `·` stands for a space.
#[track_caller]
fn erased(source: &str, expected: &str) {
    let expected = expected.replace('·', " ");
    assert_eq!(strip(source).map_err(|error| error.to_string()), Ok(expected.clone()), "{source}");
    assert_eq!(source.len(), expected.len(), "every byte stays where it was: {source}");
}

/// Checks the place and the message of the first problem.
#[track_caller]
fn refused(source: &str, line: u32, column: u32, message: &str) {
    let error = strip(source).expect_err(source);
    let problem = &error.problems()[0];
    assert_eq!(
        (problem.position.line, problem.position.column),
        (line, column),
        "{source}: {error}"
    );
    assert!(problem.message.contains(message), "{source}: {}", problem.message);
}

#[test]
fn types_become_spaces() {
    // TSRT-3
    for (source, expected) in [
        ("let x: number = 1", "let x········ = 1"),
        ("let x: A | B, y!: C;", "let x·······, y····;"),
        ("const f = <T>(x: T, y?: U): T => x", "const f = ···(x···, y····)··· => x"),
        (
            "function f<T extends A>(this: T, x?: B): x is C {}",
            "function f·············(·········x····)········ {}",
        ),
        (
            "x as T; y satisfies U; z!.a!.b; w as const",
            "x·····; y············; z·.a·.b; w·;·······",
        ),
        ("f<T>(x); new C<T>(); tag<T>`x`; a?.<T>()", "f···(x); new C···(); tag···`x`; a?.···()"),
        (
            "class A<T> extends B<T> implements C, D {}",
            "class A··· extends B····················{}",
        ),
        ("for (const x of y as T[]) {}", "for (const x of y·······) {}"),
        ("try {} catch (e: unknown) {}", "try {} catch (e·········) {}"),
        ("let { a, b }: T = c, [d]: U = e;", "let { a, b }··· = c, [d]··· = e;"),
        ("(x as any) = 1; (<T,>(y: T) => y)(2)", "(x·······) = 1; (····(y···) => y)(2)"),
        ("#!/bin/sh\nreturn await x as T", "·········\nreturn await x·;···"),
    ] {
        erased(source, expected);
    }
}

#[test]
fn whole_statements_of_types_leave_a_semicolon() {
    // TSRT-3
    for (source, expected) in [
        ("type A = B", ";·········"),
        ("interface A { b: C }", ";···················"),
        ("declare const x: number", ";······················"),
        ("declare function f(): void;", ";··························"),
        ("function f(x: A): void; function f(x) {}", ";······················ function f(x) {}"),
        ("declare class A {}", ";·················"),
        ("declare namespace N { const x: number }", ";······································"),
        ("declare module 'x' { }", ";·····················"),
        ("declare global { }", ";·················"),
        ("a\ninterface B {}\n(c)", "a\n;·············\n(c)"),
    ] {
        erased(source, expected);
    }
}

#[test]
fn class_members_lose_what_is_not_javascript() {
    // TSRT-3
    for (source, expected) in [
        ("class A { private x: T = 1 }", "class A { ;······ x··· = 1 }"),
        ("class A { static readonly x?: T; }", "class A { static          x····; }"),
        ("class A { protected async m?(): T {} }", "class A { ;········ async m·()··· {} }"),
        ("class A { [k: string]: T; x = 1 }", "class A { ;·············· x = 1 }"),
        ("class A { declare x: T\n['y'] = 1 }", "class A { ;···········\n['y'] = 1 }"),
        ("class A { x = a as any\n['y'] = 1 }", "class A { x = a·;·····\n['y'] = 1 }"),
        ("class A { get: T\nfoo() {} }", "class A { get;··\nfoo() {} }"),
        ("class A { x = 1\npublic ['y'] = 2 }", "class A { x = 1\n;····· ['y'] = 2 }"),
        ("class A { m(x: T): void; m(x) {} }", "class A { ;············· m(x) {} }"),
        (
            "abstract class A { abstract x: T; abstract m(): U; y!: V }",
            "········ class A { ;············· ;··············· y;··· }",
        ),
        ("class A { ['x' + y]?: T = 1; #p: U }", "class A { ['x' + y]···· = 1; #p;·· }"),
        (
            "class A { override m() {} constructor(); constructor(x?: T) {} }",
            "class A { ;······· m() {} ;············· constructor(x····) {} }",
        ),
    ] {
        erased(source, expected);
    }
}

#[test]
fn a_line_that_ended_in_a_type_does_not_run_on() {
    // TSRT-3
    for next in ["(b)", "[b]", "`b`"] {
        erased(&format!("let x = a as any\n{next}"), &format!("let x = a·;·····\n{next}"));
        erased(&format!("x = a!\n;{next}"), &format!("x = a·\n;{next}"));
    }
    erased("let x: T\n[b] = c", "let x;··\n[b] = c");
    erased("if (a) b as T\nelse c", "if (a) b·;···\nelse c");
    erased("f(a as T)\n[b]", "f(a·····)\n[b]");
    erased("const g = f<T>\nb()", "const g = f;··\nb()");
}

#[test]
fn arrows_stay_on_the_line_of_their_parameters() {
    // TSRT-3
    erased("f = (x): Array<\n  T\n> => x", "f = (x·········\n···\n) => x");
    erased(
        "return <\n  T\n>(x: T) => x",
        "return (\n···\n· x···) => x".replace("· x", "·x").replace("\n·x", "\n··x").as_str(),
    );
    erased("f = async <\nT>(x) => x", "f = async (\n···x) => x");
    erased("f = (x) /* a\n b */ : T => x", "f = (x······\n········) => x");
}

#[test]
fn every_line_and_column_stays() {
    // TSRT-4
    let source = "type A = {\n  b: string // ä €\n};\nconst c: A = { b: '€' } as A; // x\r\nlet d: /* € */ number = 1;\u{2028}return c";
    let javascript = strip(source).unwrap();
    assert_eq!(javascript.len(), source.len());
    let breaks = |text: &str| {
        text.match_indices(['\n', '\r', '\u{2028}']).map(|(at, _)| at).collect::<Vec<_>>()
    };
    assert_eq!(breaks(&javascript), breaks(source));
    assert_eq!(javascript.find("return c"), source.find("return c"));
    assert_eq!(javascript.find("'€'"), source.find("'€'"));
}

#[test]
fn what_cannot_be_erased_is_refused_with_what_to_write_instead() {
    // TSRT-3
    for (source, column, message) in [
        ("enum Color { Red }", 1, "write `const Color = { A: \"a\", B: \"b\" } as const`"),
        ("const enum Color { Red }", 1, "write `const Color = "),
        ("declare enum Color { Red }", 1, "write `const Color = "),
        ("namespace N { const x = 1 }", 1, "write an object or plain functions"),
        ("module N { }", 1, "write an object or plain functions"),
        ("class A { constructor(private x: T) {} }", 23, "`this.x = x`"),
        ("class A { constructor(readonly x) {} }", 23, "`this.x = x`"),
        ("import fs from 'fs'", 1, "no modules"),
        ("import type { A } from 'a'", 1, "no modules"),
        ("import 'a'", 1, "no modules"),
        ("import a = require('a')", 1, "no modules"),
        ("import a = N.b", 1, "no modules"),
        ("const a = await import('a')", 17, "no modules"),
        ("return import.meta.url", 8, "no modules"),
        ("export const x = 1", 1, "leave `export` out"),
        ("export type X = 1", 1, "leave `export` out"),
        ("export default 1", 1, "leave `export` out"),
        ("export { x }", 1, "leave `export` out"),
        ("export * from 'x'", 1, "leave `export` out"),
        ("export = x", 1, "leave `export` out"),
        ("export as namespace X", 1, "leave `export` out"),
        ("const x = <T>y", 11, "write `x as T`"),
        ("@deco class A {}", 1, "decorators"),
        ("class A { @deco x = 1 }", 11, "decorators"),
        ("class A { accessor x = 1 }", 11, "`get` and `set`"),
        ("return a ** b as number ** c", 8, "put the cast in parentheses"),
    ] {
        refused(source, 1, column, message);
    }
    assert_eq!(strip("return (a + b as number) * c").unwrap(), "return (a + b          ) * c");
    assert_eq!(strip("return a + b as number + c").unwrap(), "return a + b           + c");
    assert_eq!(strip("return await a as number * 2").unwrap(), "return await a           * 2");
}

#[test]
fn problems_come_with_their_place_and_the_authors_lines() {
    // TSRT-3
    refused("const a = 1;\n  let = ;", 2, 9, "");
    let source = "const items = [1, 2];\n\tenum Color { Red }\nreturn items as number[];\nimport fs from 'fs'";
    insta::assert_snapshot!(strip(source).unwrap_err(), @r#"
    syntax error at line 2, column 2: `enum` needs code to be generated: write `const Color = { A: "a", B: "b" } as const` and `type Color = (typeof Color)[keyof typeof Color]`
      1 | const items = [1, 2];
    > 2 | 	enum Color { Red }
        | 	^
      3 | return items as number[];
    syntax error at line 4, column 1: a program has no modules to import: use the language itself, or call a tool
      3 | return items as number[];
    > 4 | import fs from 'fs'
        | ^
    "#);
    let many = strip(&"import 'x'\n".repeat(7)).unwrap_err();
    assert_eq!(many.problems().len(), 7);
    assert!(many.to_string().ends_with("and 2 more"), "{many}");
    let long = format!("const x = '{}'; enum A {{}}", "y".repeat(500));
    let shown = strip(&long).unwrap_err().to_string();
    assert!(shown.lines().all(|line| line.len() < 250), "{shown}");
}

#[test]
fn only_the_inside_of_one_function_is_a_program() {
    // TSRT-5
    for source in
        ["} ; evil(); async function x() {", "})", "*/", "`", "return 1 }", "if (1) {", "(", "/*"]
    {
        strip(source).expect_err(source);
    }
}

#[test]
fn javascript_is_left_as_it_is() {
    // TSRT-3
    for source in [
        "",
        "return 1",
        "for await (const x of y) { if (x < 1 && x > 2) break }",
        "const { a = 1, ...rest } = await f(`${g(`${h}`)}`), r = /[/]}`/g; label: for (;;) continue label",
        "class A { static #x = 1; get y() { return A.#x } static { this.z = 1 } *[Symbol.iterator]() { yield* [] } }",
        "a?.b?.[c]?.(d) ?? (e ||= f); let g = async x => await x, type = 1, as = 2, satisfies = 3, declare = 4",
        "using x = y; x = a ? (b) : (c); return x",
    ] {
        erased(source, source);
    }
}
