//! What can be wrong with a path, in words a model can act on.

use std::io;

use callgate::ToolError;

/// The stable codes of the file tools' failures.
pub mod codes {
    /// The path leads out of the root.
    pub const FS_OUTSIDE_ROOT: &str = "FS_OUTSIDE_ROOT";
    /// There is no such file or directory, or the file has no such line.
    pub const FS_NOT_FOUND: &str = "FS_NOT_FOUND";
    /// A file is needed, and this is a directory, a pipe, a socket or a device.
    pub const FS_NOT_REGULAR_FILE: &str = "FS_NOT_REGULAR_FILE";
    /// A directory is needed, and this is a file.
    pub const FS_NOT_DIRECTORY: &str = "FS_NOT_DIRECTORY";
    /// The file is binary, or not in UTF-8.
    pub const FS_NOT_TEXT: &str = "FS_NOT_TEXT";
    /// The operating system refuses to give access.
    pub const FS_UNREADABLE: &str = "FS_UNREADABLE";
}

fn fault(code: &'static str, message: String) -> ToolError {
    ToolError::coded("FileError", code, message)
}

#[cold]
pub(super) fn outside(message: String) -> ToolError {
    fault(codes::FS_OUTSIDE_ROOT, message)
}

#[cold]
pub(super) fn not_found(message: String) -> ToolError {
    fault(codes::FS_NOT_FOUND, message)
}

#[cold]
pub(super) fn not_regular(message: String) -> ToolError {
    fault(codes::FS_NOT_REGULAR_FILE, message)
}

#[cold]
pub(super) fn not_directory(path: &str) -> ToolError {
    let message = format!(
        "`{path}` is a file; give the directory to search, or leave `path` out to search everything"
    );
    fault(codes::FS_NOT_DIRECTORY, message)
}

#[cold]
pub(super) fn not_text(path: &str) -> ToolError {
    fault(
        codes::FS_NOT_TEXT,
        format!("`{path}` is binary or not in UTF-8, so it has no lines to show"),
    )
}

#[cold]
pub(super) fn unreadable(path: &str, error: impl Into<io::Error>) -> ToolError {
    fault(codes::FS_UNREADABLE, format!("`{path}` cannot be read: {}", words(&error.into())))
}

/// An error in words, without the operating system's number and capitals.
pub(super) fn words(error: &io::Error) -> String {
    let text = error.to_string();
    match text.split_once(" (os error") {
        Some((words, _)) => words.to_lowercase(),
        None => text,
    }
}
