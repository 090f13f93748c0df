//! [`References`]: where the `$ref`s of one document lead.

use std::collections::HashMap;

use crate::json::Json;

/// The references of one document, each resolved once.
pub(super) struct References<'a> {
    root: &'a Json,
    known: HashMap<&'a str, Option<&'a Json>>,
    /// Found by walking the whole document, so only when one is asked for.
    anchors: Option<HashMap<&'a str, &'a Json>>,
}

impl<'a> References<'a> {
    pub(super) fn new(root: &'a Json) -> Self {
        Self { root, known: HashMap::new(), anchors: None }
    }

    /// What a reference leads to inside the document.
    pub(super) fn resolve(&mut self, reference: &'a str) -> Option<&'a Json> {
        if let Some(known) = self.known.get(reference) {
            return *known;
        }
        let target = self.find(reference);
        self.known.insert(reference, target);
        target
    }

    fn find(&mut self, reference: &str) -> Option<&'a Json> {
        let fragment = percent_decoded(reference.strip_prefix('#')?)?;
        if fragment.is_empty() {
            return Some(self.root);
        }
        match fragment.strip_prefix('/') {
            Some(pointer) => pointed(self.root, pointer),
            None => self.anchors().get(&*fragment).copied(),
        }
    }

    fn anchors(&mut self) -> &HashMap<&'a str, &'a Json> {
        self.anchors.get_or_insert_with(|| anchors(self.root))
    }
}

/// The value at a JSON pointer without its first slash.
fn pointed<'a>(root: &'a Json, pointer: &str) -> Option<&'a Json> {
    pointer.split('/').try_fold(root, |value, step| match value {
        Json::Object(members) => members.get(&unescaped(step)?),
        Json::Array(items) => items.get(index(step)?),
        _ => None,
    })
}

/// A step of a pointer with `~0` and `~1` replaced.
fn unescaped(step: &str) -> Option<String> {
    let mut pieces = step.split('~');
    let mut plain = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let (escape, rest) = piece.split_at_checked(1)?;
        plain.push(match escape {
            "0" => '~',
            "1" => '/',
            _ => return None,
        });
        plain.push_str(rest);
    }
    Some(plain)
}

fn index(step: &str) -> Option<usize> {
    let canonical = step == "0" || step.starts_with(|first: char| matches!(first, '1'..='9'));
    if canonical { step.parse().ok() } else { None }
}

fn percent_decoded(text: &str) -> Option<String> {
    let mut pieces = text.split('%');
    let mut bytes = pieces.next().unwrap_or_default().as_bytes().to_vec();
    for piece in pieces {
        let digits =
            piece.get(..2).filter(|digits| digits.bytes().all(|byte| byte.is_ascii_hexdigit()))?;
        bytes.push(u8::from_str_radix(digits, 16).ok()?);
        bytes.extend_from_slice(&piece.as_bytes()[2..]);
    }
    String::from_utf8(bytes).ok()
}

/// Every anchor of the document; of the same name the first counts.
fn anchors(root: &Json) -> HashMap<&str, &Json> {
    let mut anchors = HashMap::new();
    let mut open = vec![root];
    while let Some(value) = open.pop() {
        match value {
            Json::Array(items) => open.extend(items.iter().rev()),
            Json::Object(members) => {
                for name in anchor_names(value) {
                    anchors.entry(name).or_insert(value);
                }
                open.extend(members.iter().rev().map(|(_, member)| member));
            }
            _ => {}
        }
    }
    anchors
}

/// The names a node gives itself; draft 6 and 7 write them as an `$id` of a fragment alone.
fn anchor_names(node: &Json) -> impl Iterator<Item = &str> {
    let named = |keyword| node.get(keyword).and_then(Json::as_str);
    let legacy = named("$id").and_then(|id| id.strip_prefix('#'));
    [named("$anchor"), named("$dynamicAnchor"), legacy].into_iter().flatten()
}
