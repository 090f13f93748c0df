//! Files, and sections of files, that a program writes: `cargo xtask gen`, and `--check`.

use std::process::ExitCode;

use crate::context::Context;
use crate::step::{Done, Step, Trouble};
use crate::tidy;

/// A committed file, or a section of one, that is made and not written.
#[derive(Debug)]
struct Generated {
    /// Relative to the workspace's root.
    path: &'static str,
    /// The part between `<!-- generated: NAME -->` and `<!-- /generated -->`; all of the file if `None`.
    section: Option<&'static str>,
    /// Text that ends in a line break. [`Context::cargo_output`] runs the product's own programs.
    make: fn(&Context) -> Result<String, String>,
}

/// Every generated file. A new one is one row here.
const FILES: &[Generated] = &[
    Generated { path: "CONTRIBUTING.md", section: Some("tidy"), make: |_| Ok(tidy::table()) },
    Generated {
        path: "docs/conformance.md",
        section: None,
        make: |cx| {
            cx.cargo_output(&["run", "-q", "-p", "callgate-core", "--example", "conformance"])
        },
    },
    Generated {
        path: "docs/tools.md",
        section: None,
        make: |cx| {
            cx.cargo_output(&["run", "-q", "-p", "callgate-tools", "--example", "catalogue"])
        },
    },
];

pub(crate) const STEP: Step = Step {
    name: "generated files",
    what: "`cargo xtask gen` would change nothing",
    run: check_all,
};

/// Writes what is stale.
pub(crate) fn write_all(cx: &Context) -> ExitCode {
    let mut code = ExitCode::SUCCESS;
    for file in FILES {
        match file.write(cx) {
            Ok(true) => println!("wrote {}", file.path),
            Ok(false) => println!("{} is fresh", file.path),
            Err(error) => {
                eprintln!("{error}");
                code = ExitCode::FAILURE;
            }
        }
    }
    code
}

fn check_all(cx: &Context) -> Result<Done, Trouble> {
    let problems = FILES.iter().filter_map(|file| file.check(cx).err()).collect();
    Trouble::unless_empty(problems, format!("{} fresh", FILES.len()))
}

impl Generated {
    /// Whether the file had to be changed.
    fn write(&self, cx: &Context) -> Result<bool, String> {
        let (now, due) = self.now_and_due(cx)?;
        if now.as_ref() == Some(&due) {
            return Ok(false);
        }
        std::fs::write(cx.root.join(self.path), due)
            .map_err(|error| format!("cannot write `{}`: {error}", self.path))?;
        Ok(true)
    }

    fn check(&self, cx: &Context) -> Result<(), String> {
        let (now, due) = self.now_and_due(cx)?;
        if now.as_ref() == Some(&due) {
            return Ok(());
        }
        Err(format!("{} is stale: run `cargo xtask gen` and commit it", self.path))
    }

    /// What the file is, if it exists, and what it should be.
    fn now_and_due(&self, cx: &Context) -> Result<(Option<String>, String), String> {
        let made = (self.make)(cx)?;
        let now = std::fs::read_to_string(cx.root.join(self.path)).ok();
        let due = match self.section {
            None => made,
            Some(name) => with_section(now.as_deref().unwrap_or_default(), name, &made)
                .map_err(|error| format!("{}: {error}", self.path))?,
        };
        Ok((now, due))
    }
}

/// The text with the section's content replaced.
fn with_section(text: &str, name: &str, content: &str) -> Result<String, String> {
    let opening = format!("<!-- generated: {name} -->\n");
    let closing = "<!-- /generated -->";
    let parts = text.split_once(&opening).and_then(|(before, rest)| {
        let (_, after) = rest.split_once(closing)?;
        Some((before, after))
    });
    let Some((before, after)) = parts else {
        return Err(format!(
            "put `{}` and `{closing}` where the section belongs",
            opening.trim_end()
        ));
    };
    Ok(format!("{before}{opening}{content}{closing}{after}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_section_is_replaced_and_the_rest_is_kept() {
        let text = "a\n<!-- generated: x -->\nold\n<!-- /generated -->\nb\n";
        assert_eq!(
            with_section(text, "x", "new\n").unwrap(),
            "a\n<!-- generated: x -->\nnew\n<!-- /generated -->\nb\n"
        );
    }

    #[test]
    fn a_missing_section_is_refused_with_the_lines_to_add() {
        assert_eq!(
            with_section("<!-- generated: x -->\n", "x", "new\n").unwrap_err(),
            "put `<!-- generated: x -->` and `<!-- /generated -->` where the section belongs"
        );
    }

    #[test]
    fn a_stale_file_is_named_with_the_command_that_mends_it() {
        let file = Generated { path: "LICENSE", section: None, make: |_| Ok("other\n".to_owned()) };
        assert_eq!(
            file.check(&Context::new()).unwrap_err(),
            "LICENSE is stale: run `cargo xtask gen` and commit it"
        );
    }
}
