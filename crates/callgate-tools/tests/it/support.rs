//! A directory tree to work on, and a runtime that has the tools for it.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use callgate::{CallInput, CallResult, Json, ToolRuntime};
use callgate_tools::FileTools;
use tempfile::TempDir;

/// A root with an outside: `root` and whatever lies beside it.
pub(crate) struct Tree {
    directory: TempDir,
    pub(crate) runtime: ToolRuntime,
    tokio: tokio::runtime::Runtime,
}

impl Tree {
    /// Files below the root, with their texts.
    pub(crate) fn new<'a>(files: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().join("root");
        fs::create_dir(&root).unwrap();
        let runtime = ToolRuntime::builder().build().unwrap();
        FileTools::below(&root).unwrap().install(&runtime).unwrap();
        let tokio = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let tree = Self { directory, runtime, tokio };
        for (path, text) in files {
            tree.write(path, text);
        }
        tree
    }

    /// The root, without links.
    pub(crate) fn root(&self) -> PathBuf {
        self.directory.path().canonicalize().unwrap().join("root")
    }

    pub(crate) fn at(&self, path: impl AsRef<Path>) -> PathBuf {
        self.root().join(path)
    }

    pub(crate) fn write(&self, path: impl AsRef<Path>, text: impl AsRef<[u8]>) {
        let path = self.at(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    pub(crate) fn link(&self, path: &str, target: impl AsRef<Path>) {
        symlink(target, self.at(path)).unwrap();
    }

    pub(crate) fn call(&self, tool: &str, arguments: impl Into<Json>) -> CallResult {
        let call = self.runtime.execute(CallInput::new("call", tool, arguments));
        self.block_on(call)
    }

    /// What the model reads, errors too.
    pub(crate) fn text(&self, tool: &str, arguments: impl Into<Json>) -> String {
        self.call(tool, arguments).text()
    }

    /// The value of a call that succeeds.
    pub(crate) fn value(&self, tool: &str, arguments: impl Into<Json>) -> Json {
        let result = self.call(tool, arguments);
        result.value().unwrap_or_else(|| panic!("{}", result.text())).clone()
    }

    /// The code and the text of a call that fails.
    pub(crate) fn failure(&self, tool: &str, arguments: impl Into<Json>) -> String {
        let result = self.call(tool, arguments);
        let code = result.error().expect("a failure").code().expect("a code");
        format!("{code}\n{}", result.text())
    }

    pub(crate) fn block_on<T>(&self, future: impl Future<Output = T>) -> T {
        self.tokio.block_on(future)
    }
}
