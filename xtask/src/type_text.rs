//! The generated type text is accepted by the languages' own checkers.

use std::path::Path;

use crate::context::Context;
use crate::process;
use crate::step::{Done, Step, Trouble};
use crate::tools;

pub(crate) const STEP: Step = Step {
    name: "type text",
    what: "tsc and mypy accept the types and SDKs made from every vector, and from 1,000 tools at once",
    run,
};

const TYPESCRIPT: &str = "7.0.2";
const MYPY: &str = "2.4.1";

fn run(cx: &Context) -> Result<Done, Trouble> {
    let texts = cx.target().join("type-text");
    let mut emit =
        cx.cargo(&["run", "--quiet", "-p", "callgate-schema", "--example", "emit_type_texts"]);
    process::run(emit.arg("--").arg(&texts))?;

    let typescript = files(&texts.join("ts"), "ts")?;
    let mut tsc = tools::npm(cx, "typescript", TYPESCRIPT, "tsc")?;
    // Each file is a module of its own, or their globals would clash.
    tsc.args(["--noEmit", "--strict", "--target", "es2022", "--moduleDetection", "force"]);
    let mut problems: Vec<String> = process::run(tsc.args(&typescript)).err().into_iter().collect();

    let python = files(&texts.join("py"), "py")?;
    let mut mypy = tools::pip(cx, "mypy", MYPY)?;
    mypy.args(["--strict", "--no-error-summary", "--cache-dir"]);
    mypy.arg(cx.target().join("tools/mypy-cache")).arg(texts.join("py"));
    problems.extend(process::run(&mut mypy).err());
    Trouble::unless_empty(problems, format!("{} files", typescript.len() + python.len()))
}

/// The files of one ending in a folder; none at all is a fault of whoever should have made them.
fn files(folder: &Path, ending: &str) -> Result<Vec<std::path::PathBuf>, Trouble> {
    let entries = std::fs::read_dir(folder)
        .map_err(|error| format!("cannot read `{}`: {error}", folder.display()))?;
    let mut files: Vec<_> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    files.retain(|file| file.extension().is_some_and(|found| found == ending));
    files.sort();
    if files.is_empty() {
        return Err(Trouble::from(format!("`{}` holds no .{ending} file", folder.display())));
    }
    Ok(files)
}
