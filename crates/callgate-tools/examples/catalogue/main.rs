//! Prints `docs/tools.md`: every tool of this crate as a model sees it.
//!
//! `cargo xtask gen` writes the document, `cargo xtask gen --check` fails when it is not fresh.
#![expect(clippy::print_stdout, reason = "a generator: standard output is what it is for")]

mod catalogue;

use std::error::Error;
use std::path::Path;

fn main() -> Result<(), Box<dyn Error>> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let on_disk = catalogue::packages_in(&source)?;
    print!("{}", catalogue::document(catalogue::PACKAGES, &on_disk, &source)?);
    Ok(())
}
