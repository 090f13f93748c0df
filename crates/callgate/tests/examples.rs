//! Every example runs, and prints what it always printed.

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};
    use std::process::Command;

    /// `cargo test` builds the examples beside the tests.
    fn example(name: &str) -> PathBuf {
        let test = std::env::current_exe().unwrap();
        let folder = test.parent().and_then(Path::parent).unwrap();
        folder.join("examples").join(name).with_extension(std::env::consts::EXE_EXTENSION)
    }

    fn names() -> Vec<String> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples");
        let files = std::fs::read_dir(folder).unwrap();
        let mut names: Vec<String> = files
            .map(|file| file.unwrap().path().file_stem().unwrap().to_str().unwrap().to_owned())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn every_example_prints_what_its_snapshot_says() {
        let names = names();
        assert!(names.len() >= 6, "{names:?}");
        for name in names {
            let program = example(&name);
            let output = Command::new(&program).output().unwrap_or_else(|error| {
                panic!(
                    "cannot run {}: {error}; `cargo test -p callgate` builds it",
                    program.display()
                )
            });
            assert!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stderr));
            insta::assert_snapshot!(name.as_str(), String::from_utf8(output.stdout).unwrap());
        }
    }
}
