//! Which request a message answers, if the message itself cannot be read.

use callgate::Json;

use crate::json_rpc::Id;

/// Looks at the outermost members of what may be a JSON object, however broken or long, in
/// constant memory: whether it speaks of JSON-RPC, and which id it has.
#[derive(Debug, Default)]
pub(super) struct Sniffer {
    depth: usize,
    text: Text,
    /// Whether the next string of the outermost object is a name.
    at_name: bool,
    /// The token of the outermost object that is being read, as far as it is of interest.
    token: Vec<u8>,
    name: Name,
    says_rpc: bool,
    has_method: bool,
    id: Option<Id>,
}

/// Where in a string the next byte stands.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum Text {
    #[default]
    Outside,
    Inside,
    Escaped,
}

/// The member of the outermost object whose value is being read.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum Name {
    Id,
    JsonRpc,
    #[default]
    Other,
}

/// Names and ids longer than this are none of ours.
const LONGEST_TOKEN: usize = 256;

impl Sniffer {
    pub(super) fn feed(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.step(*byte);
        }
    }

    /// The id, and whether there is a method; nothing if it does not speak of JSON-RPC.
    pub(super) fn message(&self) -> Option<(Option<Id>, bool)> {
        self.says_rpc.then(|| (self.id.clone(), self.has_method))
    }

    fn step(&mut self, byte: u8) {
        if self.text != Text::Outside {
            return self.step_in_string(byte);
        }
        match byte {
            b'"' => {
                self.text = Text::Inside;
                if self.at_name {
                    self.token.clear();
                }
                self.keep(byte);
            }
            byte if byte.is_ascii_whitespace() => {}
            b'{' | b'[' => {
                self.depth += 1;
                self.at_name = self.depth == 1;
                self.token.clear();
            }
            b'}' | b']' => {
                self.end_value();
                self.depth = self.depth.saturating_sub(1);
            }
            b':' if self.depth == 1 && self.at_name => self.end_name(),
            b',' => {
                self.end_value();
                self.at_name = self.depth == 1;
            }
            _ => self.keep(byte),
        }
    }

    fn step_in_string(&mut self, byte: u8) {
        self.keep(byte);
        self.text = match (self.text, byte) {
            (Text::Inside, b'"') => Text::Outside,
            (Text::Inside, b'\\') => Text::Escaped,
            _ => Text::Inside,
        };
    }

    fn keep(&mut self, byte: u8) {
        if self.depth == 1 && self.token.len() < LONGEST_TOKEN {
            self.token.push(byte);
        }
    }

    fn end_name(&mut self) {
        self.at_name = false;
        self.name = match &*self.token {
            b"\"id\"" => Name::Id,
            b"\"jsonrpc\"" => Name::JsonRpc,
            b"\"method\"" => {
                self.has_method = true;
                Name::Other
            }
            _ => Name::Other,
        };
        self.token.clear();
    }

    fn end_value(&mut self) {
        if self.depth != 1 || self.at_name {
            return;
        }
        match self.name {
            Name::Id => {
                let id = Json::parse_slice(&self.token).ok();
                self.id = id.as_ref().and_then(Id::of);
            }
            Name::JsonRpc => self.says_rpc |= self.token == b"\"2.0\"",
            Name::Other => {}
        }
        self.name = Name::Other;
        self.token.clear();
    }
}
