//! Development commands of the workspace, called as `cargo xtask …`.
//!
//! Everything that is checked is a row of one of three tables: [`tests::STEPS`], [`tidy::STEPS`] and
//! [`ci::STEPS`]; every generated file is a row of [`generated::FILES`].
#![expect(clippy::print_stdout, reason = "a command-line tool: standard output is what it is for")]

mod capture;
mod ci;
mod context;
mod generated;
mod libtest;
mod mcp_peers;
mod process;
mod step;
mod tests;
mod tidy;
mod tools;
mod type_text;

use std::process::ExitCode;

use crate::context::Context;

const USAGE: &str = "\
usage: cargo xtask test [--long] [FILTER…]   run all tests and checks; with a filter, only the tests whose name contains it
       cargo xtask peers                     run the binary between official MCP servers and clients, one step of the tests
       cargo xtask tidy                      check the rules of the repository that no compiler knows
       cargo xtask gen [--check]             write the generated files, or check that they are fresh
       cargo xtask capture                   list the tools of public MCP servers again, for the tests of generated SDKs
       cargo xtask ci                        format, lints, docs, dependencies, tidy, generated files";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments[..] {
        ["test", ref rest @ ..] => test(rest),
        ["tidy"] => step::run_all(&Context::new(), tidy::STEPS.iter()),
        ["gen"] => generated::write_all(&Context::new()),
        ["gen", "--check"] => step::run_all(&Context::new(), [generated::STEP].iter()),
        ["peers"] => step::run_all(&Context::new(), [mcp_peers::STEP].iter()),
        ["capture"] => capture::run(&Context::new()),
        ["ci"] => {
            let steps = ci::STEPS.iter().chain(tidy::STEPS).chain([&generated::STEP]);
            step::run_all(&Context::new(), steps)
        }
        ["help" | "--help" | "-h"] => {
            println!("{USAGE}");
            ExitCode::SUCCESS
        }
        _ => {
            eprintln!("{USAGE}");
            ExitCode::from(2)
        }
    }
}

fn test(arguments: &[&str]) -> ExitCode {
    let mut cx = Context::new();
    for argument in arguments {
        match *argument {
            "--long" => cx.long = true,
            option if option.starts_with('-') => {
                eprintln!("unknown option `{option}`\n{USAGE}");
                return ExitCode::from(2);
            }
            filter => cx.filters.push(filter.to_owned()),
        }
    }
    if cx.filters.is_empty() {
        let checks =
            [&mcp_peers::STEP, &type_text::STEP, &generated::STEP].into_iter().chain(tidy::STEPS);
        step::run_all(&cx, tests::STEPS.iter().chain(checks))
    } else {
        step::run_all(&cx, tests::STEPS.iter())
    }
}
