//! Reading a program: from a file, from the command line, from standard input.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::path::Path;

use callgate::Str;
use callgate::schema::nearest_name;

use crate::args::RunArguments;
use crate::failure::Failure;
use crate::input::read_text;

/// A program, and what to call it.
#[derive(Clone, Debug)]
pub(crate) struct Source {
    pub(crate) code: Str,
    /// The file, or where else it comes from.
    pub(crate) name: String,
    /// What the log and the tree of calls say about it.
    pub(crate) description: String,
}

impl Source {
    pub(crate) fn load(arguments: &RunArguments) -> Result<Self, Failure> {
        match (&arguments.file, &arguments.eval) {
            (Some(file), _) if file.as_os_str() == "-" => Self::from_stdin(),
            (Some(file), _) => Self::from_file(file),
            (None, code) => Ok(Self {
                code: code.as_deref().unwrap_or_default().into(),
                name: "(command line)".to_owned(),
                description: "Runs a program from the command line".to_owned(),
            }),
        }
    }

    fn from_stdin() -> Result<Self, Failure> {
        let name = "(standard input)";
        let code = read_text(io::stdin().lock()).map_err(|reason| unreadable("-", &reason))?.into();
        let description = "Runs a program from standard input".to_owned();
        Ok(Self { code, name: name.to_owned(), description })
    }

    fn from_file(path: &Path) -> Result<Self, Failure> {
        let name = path.display().to_string();
        let file = open_file(path, "the file of a program")?;
        let code = read_text(file).map_err(|reason| unreadable(&name, &reason))?.into();
        let file_name = path.file_name().unwrap_or_default().to_string_lossy();
        Ok(Self { code, description: format!("Runs {file_name}"), name })
    }
}

/// Opens a file that a person named; `wanted` says what should be in it.
pub(crate) fn open_file(path: &Path, wanted: &str) -> Result<File, Failure> {
    let name = path.display();
    if path.is_dir() {
        return Err(Failure::usage(format!("`{name}` is a directory; name {wanted}")));
    }
    File::open(path).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => missing(path),
        _ => unreadable(&name.to_string(), &error.to_string()),
    })
}

#[cold]
fn unreadable(name: &str, reason: &str) -> Failure {
    Failure::usage(format!("`{name}` cannot be read: {reason}"))
}

/// There is no such file: says up to where the path is right, and what is there with a name like it.
fn missing(path: &Path) -> Failure {
    let shown = path.display();
    let parent = path.parent().unwrap_or(Path::new(""));
    let directory = if parent.as_os_str().is_empty() { Path::new(".") } else { parent };
    let Ok(entries) = directory.read_dir() else {
        let parent = parent.display();
        return Failure::usage(format!("no file `{shown}`: there is no directory `{parent}`"));
    };
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let mut names: Vec<String> = names.collect();
    names.sort();
    let wanted = path.file_name().and_then(OsStr::to_str).unwrap_or_default();
    Failure::usage(match nearest_name(wanted, names.iter().map(String::as_str)) {
        Some(near) => format!("no file `{shown}`; did you mean `{}`?", parent.join(near).display()),
        None => format!("no file `{shown}`; give a path from the working directory"),
    })
}
