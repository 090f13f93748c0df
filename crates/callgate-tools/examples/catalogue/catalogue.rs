//! The document, from tools that are really registered.

use std::collections::BTreeSet;
use std::error::Error;
use std::fmt::Write as _;
use std::path::Path;

use callgate::{Layer, ToolRuntime, ToolSchema};
use callgate_tools::FileTools;

/// One family of tools: a module of the crate's root.
pub(crate) struct Package {
    /// The module.
    pub(crate) name: &'static str,
    /// What it needs to be registered.
    pub(crate) requires: &'static str,
    /// What its calls write.
    pub(crate) writes: &'static str,
    /// Other names of its tools.
    pub(crate) aliases: &'static str,
    /// What the generator chose where there is no default.
    pub(crate) note: &'static str,
    /// Registers it alone, with its defaults.
    pub(crate) register: fn(&Layer) -> Result<(), Box<dyn Error>>,
}

/// Every package, in the order of the document.
pub(crate) const PACKAGES: &[Package] = &[Package {
    name: "files",
    requires: "a directory as root",
    writes: "nothing",
    aliases: "none",
    note: "root: the working directory",
    register: |layer| Ok(FileTools::below(".")?.install(layer)?),
}];

/// The packages of a source folder: its modules.
pub(crate) fn packages_in(source: &Path) -> Result<BTreeSet<String>, Box<dyn Error>> {
    let mut packages = BTreeSet::new();
    for entry in source.read_dir()? {
        let path = entry?.path();
        let is_module = path.extension().is_some_and(|extension| extension == "rs");
        match path.file_stem().and_then(|stem| stem.to_str()) {
            Some(name) if is_module && name != "lib" => packages.insert(name.to_owned()),
            _ => false,
        };
    }
    Ok(packages)
}

/// The document.
pub(crate) fn document(
    packages: &[Package],
    on_disk: &BTreeSet<String>,
    source: &Path,
) -> Result<String, Box<dyn Error>> {
    let is_listed = |name: &&String| packages.iter().any(|package| package.name == **name);
    if let Some(missing) = on_disk.iter().find(|name| !is_listed(name)) {
        return Err(format!(
            "the package `{missing}` is not in the catalogue; add a row to `PACKAGES`"
        )
        .into());
    }
    let mut table = String::from(HEAD);
    let mut sections = String::new();
    for package in packages {
        let tools = registered(package)?;
        let names: Vec<String> = tools.iter().map(|tool| format!("`{}`", tool.name)).collect();
        let Package { name, requires, writes, aliases, note, .. } = package;
        writeln!(
            table,
            "| `{name}` | {} | {requires} | {writes} | {aliases} | {note} |",
            names.join(", ")
        )?;
        write!(sections, "\n## `{name}`\n")?;
        for tool in &tools {
            sections.push_str(&section(package, tool, source));
        }
    }
    Ok(table + &sections)
}

const HEAD: &str = "\
# Tools

Every tool of `callgate-tools` as a model sees it. Made by `cargo xtask gen` from tools that are registered; do not edit.

| package | tools | needs | calls write | aliases | note |
|---|---|---|---|---|---|
";

/// What models see of a package that is registered alone, by name.
fn registered(package: &Package) -> Result<Vec<ToolSchema>, Box<dyn Error>> {
    let runtime = ToolRuntime::builder().build()?;
    (package.register)(&runtime)?;
    let mut tools = runtime.schemas().to_vec();
    if tools.is_empty() {
        let Package { name, requires, .. } = package;
        return Err(format!("the package `{name}` registers no tool; it needs {requires}").into());
    }
    tools.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(tools)
}

fn section(package: &Package, tool: &ToolSchema, source: &Path) -> String {
    let ToolSchema { name, description, parameters, .. } = tool;
    let own = format!("{}/{name}.rs", package.name);
    let file = if source.join(&own).is_file() { own } else { format!("{}.rs", package.name) };
    format!(
        "\n### `{name}`\n\n{}\n\n```json\n{}\n```\n\nDefined in `crates/callgate-tools/src/{file}`.\n",
        description.trim_end(),
        parameters.pretty()
    )
}
