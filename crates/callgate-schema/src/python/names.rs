//! Names in generated Python: which are usable, and how classes are called.

use std::collections::{HashMap, HashSet};

use unicode_ident::{is_xid_continue, is_xid_start};
use unicode_normalization::{UnicodeNormalization, is_nfkc};

/// What a name may have before a suffix tells it from others, in UTF-16 units.
const LONGEST_BASE: usize = 120;

/// Whether a class can have a field of that name.
pub(super) fn is_field(name: &str) -> bool {
    let mangled = name.starts_with("__") && !name.ends_with("__");
    is_name(name) && !mangled
}

/// Whether `tools.name` reaches a tool of that name.
pub(super) fn is_attribute(name: &str) -> bool {
    is_name(name) && !name.starts_with('_')
}

/// Whether a method of that name would hide what annotations use from the methods below it.
pub(super) fn hides_annotation(name: &str) -> bool {
    matches!(name, "Any" | "Literal" | "Never" | "bool" | "dict" | "float" | "int" | "list" | "str")
}

/// Whether it is an identifier that Python reads as it is written.
fn is_name(name: &str) -> bool {
    let is_identifier = if name.is_ascii() {
        !name.starts_with(|first: char| first.is_ascii_digit())
            && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
    } else {
        name.starts_with(|first| first == '_' || is_xid_start(first))
            && name.chars().all(is_xid_continue)
            && is_nfkc(name)
    };
    is_identifier && !name.is_empty() && !is_keyword(name)
}

fn is_keyword(name: &str) -> bool {
    matches!(
        name,
        "False"
            | "None"
            | "True"
            | "__debug__"
            | "and"
            | "as"
            | "assert"
            | "async"
            | "await"
            | "break"
            | "class"
            | "continue"
            | "def"
            | "del"
            | "elif"
            | "else"
            | "except"
            | "finally"
            | "for"
            | "from"
            | "global"
            | "if"
            | "import"
            | "in"
            | "is"
            | "lambda"
            | "nonlocal"
            | "not"
            | "or"
            | "pass"
            | "raise"
            | "return"
            | "try"
            | "while"
            | "with"
            | "yield"
    )
}

/// The names of the classes of one SDK.
#[derive(Debug, Default)]
pub(super) struct ClassNames {
    taken: HashSet<String>,
    /// The last suffix given out for a base.
    suffixes: HashMap<String, u32>,
}

impl ClassNames {
    pub(super) fn contains(&self, name: &str) -> bool {
        self.taken.contains(name)
    }

    /// Takes the base, or else the base with the next free number behind it.
    pub(super) fn take(&mut self, base: String) -> String {
        if !self.taken.contains(&base) {
            self.taken.insert(base.clone());
            return base;
        }
        let suffix = self.suffixes.entry(base.clone()).or_insert(1);
        loop {
            *suffix += 1;
            let name = format!("{base}{suffix}");
            if !self.taken.contains(&name) {
                self.taken.insert(name.clone());
                return name;
            }
        }
    }
}

/// The base of a name of two parts.
pub(super) fn joined(parent: &str, segment: &str) -> String {
    base(format!("{parent}{segment}"))
}

/// A name in camel case that can begin the name of a class.
///
/// `web-get` and `web_get` give `WebGet`; the case of inner letters stays.
pub(super) fn camel(name: &str) -> String {
    let mut camel = String::with_capacity(name.len());
    for part in name.split(|char| char == '_' || !is_xid_continue(char)) {
        let mut chars = part.chars();
        match chars.next() {
            Some(first) if first.len_utf16() == 1 => camel.extend(first.to_uppercase()),
            first => camel.extend(first),
        }
        camel.push_str(chars.as_str());
    }
    let mut camel = normalized(camel);
    if !camel.starts_with(is_xid_start) {
        camel = normalized(format!("Tool{camel}"));
    }
    base(camel)
}

/// The name normalised and cut to the length a base may have.
fn base(name: String) -> String {
    let mut name = normalized(name);
    if name.len() > LONGEST_BASE {
        let mut units = 0;
        let cut = name.char_indices().find(|(_, char)| {
            units += char.len_utf16();
            units > LONGEST_BASE
        });
        if let Some((at, _)) = cut {
            name.truncate(at);
        }
    }
    name
}

fn normalized(name: String) -> String {
    if name.is_ascii() || is_nfkc(&name) { name } else { name.nfkc().collect() }
}
