//! Prints shapes as TypeScript types.

use crate::shape::{Distinct, Literals, Member, Members, Run, Shape, ShapeId, Shapes, Tuple};
use crate::text;

/// Prints types, with buffers that are used again for the next.
#[derive(Default)]
pub(super) struct Printer {
    /// Constructs whose end is not printed yet, outermost first.
    open: Vec<Open>,
    unions: Vec<Branches>,
    /// Where `(` belongs that was found to be due only at its `)`.
    parentheses: Vec<usize>,
    bars: Bars,
    /// Where a union of several branches ended last.
    union_end: Option<usize>,
    scratch: String,
}

/// A construct whose end is not printed yet.
#[derive(Clone, Copy)]
enum Open {
    Object {
        members: Members,
        level: usize,
        started: bool,
    },
    Union {
        branches: Run,
        null: bool,
        outermost: bool,
        level: usize,
    },
    /// A branch that is taken back if an equal one came before.
    Branch(Mark),
    /// The item type of a list, from here on.
    Item(usize),
    Tuple {
        tuple: Tuple,
        printed: usize,
        start: usize,
        level: usize,
    },
    /// The item type behind the positions of a tuple, from here on.
    Rest(usize),
    Record,
    Intersection {
        parts: Run,
        start: usize,
        started: bool,
        level: usize,
    },
}

/// A union, with those spliced into it.
#[derive(Default)]
struct Branches {
    printed: usize,
    texts: Distinct,
}

/// The state of the text in front of a branch.
#[derive(Clone, Copy)]
struct Mark {
    before: usize,
    start: usize,
    parentheses: usize,
    bars: Bars,
}

/// The last `|` or `&` of the text so far; each byte is looked at once.
#[derive(Clone, Copy, Default)]
struct Bars {
    scanned: usize,
    last: Option<usize>,
}

impl Printer {
    /// Appends the type of a shape that belongs to a construct at `level`.
    pub(super) fn print(
        &mut self,
        out: &mut String,
        shapes: &Shapes<'_>,
        root: ShapeId,
        level: usize,
    ) {
        let start = out.len();
        self.bars = Bars { scanned: start, last: None };
        self.union_end = None;
        let mut pass = Pass { printer: self, out, shapes };
        pass.value(root, level);
        while let Some(open) = pass.printer.open.pop() {
            pass.go_on(open);
        }
        insert_parentheses(out, start, &mut self.parentheses);
    }
}

/// One printing of one type.
struct Pass<'p, 'a> {
    printer: &'p mut Printer,
    out: &'p mut String,
    shapes: &'p Shapes<'a>,
}

impl<'a> Pass<'_, 'a> {
    /// Prints a shape, or its beginning and leaves the rest open.
    fn value(&mut self, mut id: ShapeId, level: usize) {
        while let Some(inner) = self.begin(id, level) {
            id = inner;
        }
    }

    /// Prints what comes in front of the first inner shape, and returns that one.
    fn begin(&mut self, id: ShapeId, level: usize) -> Option<ShapeId> {
        match self.shapes.get(id) {
            Shape::Any => self.out.push_str("JsonValue"),
            Shape::Never => self.out.push_str("never"),
            Shape::String => self.out.push_str("string"),
            Shape::Number | Shape::Integer => self.out.push_str("number"),
            Shape::Boolean => self.out.push_str("boolean"),
            Shape::Null => self.out.push_str("null"),
            Shape::List(None) => self.out.push_str("JsonValue[]"),
            Shape::List(Some(item)) => {
                self.push(Open::Item(self.out.len()));
                return Some(item);
            }
            Shape::Tuple(tuple) => {
                self.out.push('[');
                self.push(Open::Tuple { tuple, printed: 0, start: self.out.len(), level });
            }
            Shape::Object(members) if members.is_empty() => {
                let values = if members.open { "JsonValue" } else { "never" };
                self.out.extend(["Record<string, ", values, ">"]);
            }
            Shape::Object(members) => {
                self.out.push_str("{\n");
                self.push(Open::Object { members, level, started: false });
            }
            Shape::Record(values) => {
                self.out.push_str("Record<string, ");
                self.push(Open::Record);
                return Some(values);
            }
            Shape::Intersection(parts) => match self.shapes.resolved(id) {
                same if same == id => {
                    let start = self.out.len();
                    self.push(Open::Intersection { parts, start, started: false, level });
                }
                only => return Some(only),
            },
            union @ (Shape::Literals(_) | Shape::Union(_) | Shape::Nullable(_)) => {
                self.printer.unions.push(Branches::default());
                self.union(union, true, level);
            }
        }
        None
    }

    fn go_on(&mut self, open: Open) {
        match open {
            Open::Object { members, level, started } => self.next_member(members, level, started),
            Open::Union { branches, null, outermost, level } => {
                self.next_branch(branches, null, outermost, level);
            }
            Open::Branch(mark) => self.end_branch(mark),
            Open::Item(start) => {
                self.group_if_barred(start);
                self.out.push_str("[]");
            }
            Open::Tuple { tuple, printed, start, level } => {
                self.next_position(tuple, printed, start, level);
            }
            Open::Rest(start) => {
                self.group_if_barred(start);
                self.out.push_str("[]]");
            }
            Open::Record => self.out.push('>'),
            Open::Intersection { parts, start, started, level } => {
                self.next_part(parts, start, started, level);
            }
        }
    }

    fn push(&mut self, open: Open) {
        self.printer.open.push(open);
    }

    fn next_member(&mut self, mut members: Members, level: usize, started: bool) {
        if started {
            self.out.push_str(";\n");
        }
        if let Some(member) = members.pop_first(self.shapes) {
            self.member_head(&member, level + 1);
            self.push(Open::Object { members, level, started: true });
            return self.value(member.shape, level + 1);
        }
        push_indent(self.out, level);
        self.out.push_str(if members.open { "} & Record<string, JsonValue>" } else { "}" });
    }

    fn member_head(&mut self, member: &Member<'a>, level: usize) {
        if !member.doc.is_empty() {
            push_doc(self.out, member.doc.text(&mut self.printer.scratch), level);
        }
        push_indent(self.out, level);
        push_key(self.out, member.name);
        self.out.push_str(if member.required { ": " } else { "?: " });
    }

    /// Prints a union, or its branches into the union around it.
    fn union(&mut self, union: Shape<'a>, outermost: bool, level: usize) {
        match union {
            Shape::Union(branches) => {
                self.push(Open::Union { branches, null: false, outermost, level });
            }
            Shape::Nullable(inner) => {
                self.push(Open::Union { branches: Run::of(inner), null: true, outermost, level });
            }
            Shape::Literals(literals) => self.literals(literals, outermost),
            _ => {}
        }
    }

    fn literals(&mut self, literals: Literals<'a>, outermost: bool) {
        for value in literals.values {
            let mark = self.start_branch();
            match value.as_str() {
                Some(text) => text::push_string_literal(self.out, text),
                None => text::push_display(self.out, value),
            }
            self.end_branch(mark);
        }
        if outermost {
            self.end_union();
        }
    }

    fn next_branch(&mut self, mut branches: Run, null: bool, outermost: bool, level: usize) {
        if let Some(id) = branches.pop_first() {
            self.push(Open::Union { branches, null, outermost, level });
            return self.branch(id, level);
        }
        if null {
            let mark = self.start_branch();
            self.out.push_str("null");
            self.end_branch(mark);
        }
        if outermost {
            self.end_union();
        }
    }

    fn branch(&mut self, id: ShapeId, level: usize) {
        let id = self.shapes.resolved(id);
        let shape = self.shapes.get(id);
        if matches!(shape, Shape::Literals(_) | Shape::Union(_) | Shape::Nullable(_)) {
            return self.union(shape, false, level);
        }
        let mark = self.start_branch();
        self.push(Open::Branch(mark));
        self.value(id, level);
    }

    fn start_branch(&mut self) -> Mark {
        let before = self.out.len();
        if self.printer.unions.last().is_some_and(|union| union.printed > 0) {
            self.out.push_str(" | ");
        }
        let (parentheses, bars) = (self.printer.parentheses.len(), self.printer.bars);
        Mark { before, start: self.out.len(), parentheses, bars }
    }

    fn end_branch(&mut self, mark: Mark) {
        let Some(union) = self.printer.unions.last_mut() else { return };
        if !self.shapes.distinct() || union.texts.insert(self.out, mark.start) {
            union.printed += 1;
            return;
        }
        self.out.truncate(mark.before);
        self.printer.parentheses.truncate(mark.parentheses);
        self.printer.bars = mark.bars;
        self.printer.union_end = None;
    }

    fn end_union(&mut self) {
        if self.printer.unions.pop().is_some_and(|union| union.printed > 1) {
            self.printer.union_end = Some(self.out.len());
        }
    }

    fn next_position(&mut self, mut tuple: Tuple, printed: usize, start: usize, level: usize) {
        if printed > tuple.required {
            self.group_if_barred(start);
            self.out.push('?');
        }
        let next = tuple.positions.pop_first();
        if printed > 0 && (next.is_some() || tuple.rest.is_some()) {
            self.out.push_str(", ");
        }
        if let Some(id) = next {
            self.push(Open::Tuple { tuple, printed: printed + 1, start: self.out.len(), level });
            return self.value(id, level);
        }
        let Some(rest) = tuple.rest else { return self.out.push(']') };
        self.out.push_str("...");
        self.push(Open::Rest(self.out.len()));
        self.value(rest, level);
    }

    fn next_part(&mut self, mut parts: Run, start: usize, started: bool, level: usize) {
        if started && self.printer.union_end == Some(self.out.len()) {
            self.group(start);
        }
        while let Some(id) = parts.pop_first() {
            if !self.shapes.is_telling(id) {
                continue;
            }
            if started {
                self.out.push_str(" & ");
            }
            self.push(Open::Intersection { parts, start: self.out.len(), started: true, level });
            return self.value(id, level);
        }
    }

    /// Puts the text from `start` in parentheses if it has a `|` or `&`, in whatever place.
    fn group_if_barred(&mut self, start: usize) {
        if self.printer.bars.are_behind(start, self.out) {
            self.group(start);
        }
    }

    fn group(&mut self, start: usize) {
        self.printer.parentheses.push(start);
        self.out.push(')');
    }
}

impl Bars {
    /// Whether there is one in `text` from `start` on.
    fn are_behind(&mut self, start: usize, text: &str) -> bool {
        let new = &text.as_bytes()[self.scanned..];
        if let Some(at) = new.iter().rposition(|byte| matches!(byte, b'|' | b'&')) {
            self.last = Some(self.scanned + at);
        }
        self.scanned = text.len();
        self.last.is_some_and(|last| last >= start)
    }
}

/// Inserts `(` at every place in `text` from `start` on, in one go.
fn insert_parentheses(text: &mut String, start: usize, places: &mut Vec<usize>) {
    if places.is_empty() {
        return;
    }
    places.sort_unstable();
    let tail = text.split_off(start);
    text.reserve(tail.len() + places.len());
    let mut copied = 0;
    for place in places.drain(..) {
        text.push_str(&tail[copied..place - start]);
        text.push('(');
        copied = place - start;
    }
    text.push_str(&tail[copied..]);
}

/// Appends a comment of one line, with its indentation and its line end.
pub(super) fn push_doc(out: &mut String, doc: &str, level: usize) {
    push_indent(out, level);
    out.push_str("/** ");
    text::push_typescript_doc(out, doc);
    out.push_str(" */\n");
}

/// Appends two spaces for each level.
pub(super) fn push_indent(out: &mut String, level: usize) {
    const SPACES: &str = "                                                                ";
    let mut left = 2 * level;
    while left > 0 {
        let now = left.min(SPACES.len());
        out.push_str(&SPACES[..now]);
        left -= now;
    }
}

/// Appends the name of a member, quoted where it has to be.
pub(super) fn push_key(out: &mut String, name: &str) {
    if is_identifier(name) { out.push_str(name) } else { text::push_string_literal(out, name) }
}

/// Whether `tools.name` reaches a member of that name.
pub(super) fn is_identifier(name: &str) -> bool {
    let is_start = |byte: u8| byte.is_ascii_alphabetic() || byte == b'_' || byte == b'$';
    name.bytes().next().is_some_and(is_start)
        && name.bytes().all(|byte| is_start(byte) || byte.is_ascii_digit())
}
