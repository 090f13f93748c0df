//! Type text that is committed as golden files (`*.d.ts`, `*.pyi`) is accepted by the languages' own checkers.

use crate::context::Context;
use crate::process;
use crate::step::{Done, Step, Trouble};
use crate::tools;

pub(crate) const STEP: Step = Step {
    name: "type text",
    what: "tsc accepts every committed `*.d.ts`, mypy every `*.pyi`",
    run,
};

const TYPESCRIPT: &str = "7.0.2";
const MYPY: &str = "2.4.1";

fn run(cx: &Context) -> Result<Done, Trouble> {
    let files = cx.files()?;
    let ending = |end: &str| files.iter().filter(|file| file.ends_with(end)).collect::<Vec<_>>();
    let (typescript, python) = (ending(".d.ts"), ending(".pyi"));

    let mut problems = Vec::new();
    if !typescript.is_empty() {
        let mut tsc = tools::npm(cx, "typescript", TYPESCRIPT, "tsc")?;
        // Each file is a module of its own, or their globals would clash.
        tsc.args(["--noEmit", "--strict", "--target", "es2022", "--moduleDetection", "force"]);
        problems.extend(process::run(tsc.args(&typescript)).err());
    }
    for file in &python {
        // One at a time: files of the same name would be one module.
        let mut mypy = tools::pip(cx, "mypy", MYPY)?;
        mypy.args(["--strict", "--no-error-summary", "--cache-dir"]);
        mypy.arg(cx.target().join("tools/mypy-cache")).arg(file);
        problems.extend(process::run(&mut mypy).err());
    }
    Trouble::unless_empty(problems, format!("{} files", typescript.len() + python.len()))
}
