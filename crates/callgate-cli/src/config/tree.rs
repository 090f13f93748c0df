//! JSON with comments as a tree that knows where everything stands.
//!
//! The nodes lie in one list, parents before children, so that nothing here recurses. Strings and numbers are read by
//! [`Json`]'s own rules; comments and a comma behind the last item are allowed, nothing else that JSON does not have.

use std::ops::Range;

use callgate::schema::json::DEPTH_LIMIT;
use callgate::{Json, Str};
use jsonc_parser::errors::{ParseError, ParseErrorKind};
use jsonc_parser::tokens::Token;
use jsonc_parser::{Scanner, ScannerOptions};

use super::problem::Problem;
use super::text::Text;

/// A whole configuration file.
#[derive(Debug)]
pub(super) struct Tree {
    nodes: Vec<NodeData>,
}

#[derive(Debug)]
struct NodeData {
    span: Range<usize>,
    value: Value,
}

#[derive(Clone, Copy, Debug)]
struct NodeId(usize);

#[derive(Debug)]
enum Value {
    Scalar(Json),
    List(Vec<NodeId>),
    Map(Vec<MemberData>),
}

#[derive(Debug)]
struct MemberData {
    name: Str,
    span: Range<usize>,
    value: NodeId,
}

/// One value of a [`Tree`].
#[derive(Clone, Copy, Debug)]
pub(super) struct Node<'t> {
    tree: &'t Tree,
    id: NodeId,
}

/// One member of a map.
#[derive(Clone, Debug)]
pub(super) struct Member<'t> {
    pub(super) name: &'t Str,
    /// Where the name stands.
    pub(super) span: Range<usize>,
    pub(super) value: Node<'t>,
}

impl Tree {
    pub(super) fn parse(text: &Text) -> Result<Self, Problem> {
        Parser::new(text.source()).run()
    }

    pub(super) fn root(&self) -> Node<'_> {
        Node { tree: self, id: NodeId(0) }
    }
}

impl<'t> Node<'t> {
    fn data(self) -> &'t NodeData {
        &self.tree.nodes[self.id.0]
    }

    fn at(self, id: NodeId) -> Self {
        Self { id, ..self }
    }

    pub(super) fn span(self) -> Range<usize> {
        self.data().span.clone()
    }

    /// The value, unless it is a list or a map.
    pub(super) fn scalar(self) -> Option<&'t Json> {
        match &self.data().value {
            Value::Scalar(json) => Some(json),
            _ => None,
        }
    }

    /// The items, if it is a list.
    pub(super) fn items(self) -> Option<impl Iterator<Item = Node<'t>>> {
        match &self.data().value {
            Value::List(items) => Some(items.iter().map(move |id| self.at(*id))),
            _ => None,
        }
    }

    /// The members in order, if it is a map. A name may come twice; the last one counts.
    pub(super) fn members(self) -> Option<impl Iterator<Item = Member<'t>>> {
        match &self.data().value {
            Value::Map(members) => Some(members.iter().map(move |member| Member {
                name: &member.name,
                span: member.span.clone(),
                value: self.at(member.value),
            })),
            _ => None,
        }
    }

    /// What it is, with its article, for messages.
    pub(super) fn described(self) -> &'static str {
        match &self.data().value {
            Value::List(_) | Value::Scalar(Json::Array(_)) => "a list",
            Value::Map(_) | Value::Scalar(Json::Object(_)) => "an object",
            Value::Scalar(Json::Null) => "null",
            Value::Scalar(Json::Bool(_)) => "a boolean",
            Value::Scalar(Json::Number(_)) => "a number",
            Value::Scalar(Json::String(_)) => "a string",
        }
    }
}

/// What may come next.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Expect {
    Value,
    Name,
    Colon,
    Comma,
    End,
}

struct Parser<'s> {
    source: &'s str,
    scanner: Scanner<'s>,
    nodes: Vec<NodeData>,
    /// The lists and maps that are not closed yet.
    open: Vec<NodeId>,
    /// The name whose value comes next.
    name: Option<(Str, Range<usize>)>,
    expect: Expect,
}

impl<'s> Parser<'s> {
    fn new(source: &'s str) -> Self {
        let options = ScannerOptions {
            allow_single_quoted_strings: false,
            allow_hexadecimal_numbers: false,
            allow_unary_plus_numbers: false,
            allow_bare_decimal_point_numbers: false,
            allow_non_finite_numbers: false,
            allow_extended_string_escapes: false,
        };
        let scanner = Scanner::new(source, &options);
        Self {
            source,
            scanner,
            nodes: Vec::new(),
            open: Vec::new(),
            name: None,
            expect: Expect::Value,
        }
    }

    fn run(mut self) -> Result<Tree, Problem> {
        loop {
            match self.scanner.scan() {
                Ok(Some(token)) => self.take(&token)?,
                Ok(None) => break,
                Err(error) => return Err(self.refused(&error)),
            }
        }
        match self.open.last() {
            _ if self.expect == Expect::End => Ok(Tree { nodes: self.nodes }),
            None => Err(Problem::new(0..0, "the file is empty; write at least `{}`")),
            Some(unclosed) => {
                let data = &self.nodes[unclosed.0];
                let bracket = if matches!(data.value, Value::List(_)) { "]" } else { "}" };
                let message =
                    format!("what is opened here is never closed; add `{bracket}` at its end");
                Err(Problem::new(data.span.clone(), message))
            }
        }
    }

    fn take(&mut self, token: &Token<'s>) -> Result<(), Problem> {
        self.expect = match (token, self.expect) {
            (Token::CommentLine(_) | Token::CommentBlock(_), expect) => expect,
            (Token::OpenBracket, Expect::Value) => {
                self.open(Value::List(Vec::new()), Expect::Value)?
            }
            (Token::OpenBrace, Expect::Value) => self.open(Value::Map(Vec::new()), Expect::Name)?,
            (Token::String(_), Expect::Name) => self.take_name()?,
            (
                Token::String(_) | Token::Number(_) | Token::Boolean(_) | Token::Null,
                Expect::Value,
            ) => {
                let scalar = self.read_scalar()?;
                self.add(Value::Scalar(scalar));
                self.after_value()
            }
            (Token::Comma, Expect::Comma) if self.is_in_map() => Expect::Name,
            (Token::Colon, Expect::Colon) | (Token::Comma, Expect::Comma) => Expect::Value,
            (Token::CloseBrace, Expect::Name | Expect::Comma) if self.is_in_map() => self.close(),
            (Token::CloseBracket, Expect::Value | Expect::Comma) if self.is_in_list() => {
                self.close()
            }
            _ => return Err(self.unexpected()),
        };
        Ok(())
    }

    fn span(&self) -> Range<usize> {
        self.scanner.token_start()..self.scanner.token_end()
    }

    fn innermost(&self) -> Option<&Value> {
        self.open.last().map(|id| &self.nodes[id.0].value)
    }

    fn is_in_map(&self) -> bool {
        matches!(self.innermost(), Some(Value::Map(_)))
    }

    /// A value may also be missing behind a colon: then a closing bracket is wrong.
    fn is_in_list(&self) -> bool {
        matches!(self.innermost(), Some(Value::List(_)))
    }

    fn take_name(&mut self) -> Result<Expect, Problem> {
        if let Json::String(name) = self.read_scalar()? {
            self.name = Some((name, self.span()));
        }
        Ok(Expect::Colon)
    }

    /// Reads the current token by the rules of all JSON from outside.
    fn read_scalar(&self) -> Result<Json, Problem> {
        let span = self.span();
        Json::parse(&self.source[span.clone()]).map_err(|error| {
            let start = span.start + error.offset().min(span.len());
            Problem::new(start..span.end.max(start), error.message())
        })
    }

    fn open(&mut self, value: Value, expect: Expect) -> Result<Expect, Problem> {
        if self.open.len() >= DEPTH_LIMIT {
            let message = format!(
                "more than {DEPTH_LIMIT} brackets are open here; nothing in a configuration is that deep"
            );
            return Err(Problem::new(self.span(), message));
        }
        let id = self.add(value);
        self.open.push(id);
        Ok(expect)
    }

    fn close(&mut self) -> Expect {
        if let Some(id) = self.open.pop() {
            self.nodes[id.0].span.end = self.scanner.token_end();
        }
        self.after_value()
    }

    fn after_value(&self) -> Expect {
        if self.open.is_empty() { Expect::End } else { Expect::Comma }
    }

    /// Adds a node, as a child of the innermost list or map.
    fn add(&mut self, value: Value) -> NodeId {
        let id = NodeId(self.nodes.len());
        let name = self.name.take();
        if let Some(parent) = self.open.last() {
            match (&mut self.nodes[parent.0].value, name) {
                (Value::List(items), _) => items.push(id),
                (Value::Map(members), Some((name, span))) => {
                    members.push(MemberData { name, span, value: id });
                }
                (Value::Map(_) | Value::Scalar(_), _) => {}
            }
        }
        self.nodes.push(NodeData { span: self.span(), value });
        id
    }

    #[cold]
    fn unexpected(&self) -> Problem {
        let found = &self.source[self.span()];
        let wanted = match (self.expect, self.innermost()) {
            (Expect::Value, Some(Value::List(_))) => "a value or `]` must stand",
            (Expect::Value, _) => "a value must stand",
            (Expect::Name, _) => "a name in double quotes or `}` must stand",
            (Expect::Colon, _) => "`:` must stand between a name and its value,",
            (Expect::Comma, Some(Value::List(_))) => "`,` or `]` must stand",
            (Expect::Comma, _) => "`,` or `}` must stand",
            (Expect::End, _) => "the file must end",
        };
        Problem::new(self.span(), format!("{wanted} where `{}` is", shorten(found)))
    }

    /// What the scanner refuses, in our words where they help more.
    #[cold]
    fn refused(&self, error: &ParseError) -> Problem {
        let range = error.range();
        let span = range.start..range.end.max(range.start);
        let found = shorten(self.source.get(span.clone()).unwrap_or_default());
        let message = match error.kind() {
            ParseErrorKind::String(_) => return self.refused_string(),
            ParseErrorKind::SingleQuotedStringsNotAllowed => {
                "strings need double quotes".to_owned()
            }
            ParseErrorKind::UnexpectedToken if !found.is_empty() => {
                format!("`{found}` is nothing that JSON knows; strings need double quotes")
            }
            other => decapitalized(&other.to_string()),
        };
        Problem::new(span, message)
    }

    /// What our own rules say about the string that starts at the current token.
    #[cold]
    fn refused_string(&self) -> Problem {
        let start = self.scanner.token_start();
        let line = self.source[start..].lines().next().unwrap_or_default();
        match Json::parse(line) {
            Err(error) => {
                let start = start + error.offset().min(line.len());
                Problem::new(start..start + 1, error.message())
            }
            Ok(_) => Problem::new(start..start + line.len(), "the string is not closed"),
        }
    }
}

/// The start of a piece of text, short enough to be quoted.
fn shorten(text: &str) -> String {
    const LONGEST: usize = 30;
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

fn decapitalized(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map(|first| first.to_lowercase().chain(chars).collect()).unwrap_or_default()
}
