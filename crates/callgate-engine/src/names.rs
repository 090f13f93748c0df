//! Which names a program may find in its global scope.

use std::collections::HashSet;

use callgate_core::program::{EngineError, Namespace};

/// Checks the namespaces of a program, whatever its language.
///
/// # Errors
///
/// The first name that some language could not use, or that is there twice.
pub(crate) fn check(namespaces: &[Namespace]) -> Result<(), EngineError> {
    let mut globals = HashSet::new();
    for namespace in namespaces {
        let class = namespace.error_class.as_ref();
        for name in std::iter::once(&namespace.global).chain(class.map(|class| &class.name)) {
            if !is_usable(name) {
                return Err(EngineError::new(format!(
                    "`{name}` cannot be a global name in every language"
                )));
            }
            if !globals.insert(&**name) {
                return Err(EngineError::new(format!(
                    "the global name `{name}` is declared twice"
                )));
            }
        }
        if let Some(property) =
            class.map(|class| &*class.member_property).filter(|name| !is_usable_property(name))
        {
            return Err(EngineError::new(format!(
                "`{property}` cannot name the member in an error class"
            )));
        }
        let mut members = HashSet::new();
        if let Some(twice) = namespace.members.iter().find(|member| !members.insert(&***member)) {
            return Err(EngineError::new(format!(
                "`{}` has the member `{twice}` twice",
                namespace.global
            )));
        }
    }
    Ok(())
}

fn is_usable(name: &str) -> bool {
    let mut bytes = name.bytes();
    bytes.next().is_some_and(|byte| byte.is_ascii_alphabetic() || byte == b'_')
        && bytes.all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        && !RESERVED.contains(&name)
}

fn is_usable_property(name: &str) -> bool {
    let inner = name.strip_prefix("__").and_then(|rest| rest.strip_suffix("__"));
    !matches!(name, "" | "name" | "message" | "stack" | "args" | "with_traceback" | "add_note")
        && inner.is_none_or(str::is_empty)
}

/// Reserved words of ECMAScript and of Python, and the names both runtimes need themselves.
#[rustfmt::skip]
const RESERVED: &[&str] = &[
    "await", "break", "case", "catch", "class", "const", "continue", "debugger", "default", "delete", "do", "else",
    "enum", "export", "extends", "false", "finally", "for", "function", "if", "import", "in", "instanceof", "new",
    "null", "return", "super", "switch", "this", "throw", "true", "try", "typeof", "var", "void", "while", "with",
    "yield", "let", "static", "implements", "interface", "package", "private", "protected", "public", "arguments",
    "eval", "False", "None", "True", "and", "as", "assert", "async", "def", "del", "elif", "except", "from", "global",
    "is", "lambda", "nonlocal", "not", "or", "pass", "raise", "match", "type", "_",
    "console", "__callgate_main__", "__builtins__", "__name__", "__debug__",
];
