//! What a schema says about values, in the terms that both languages print.
//!
//! A schema is read once into an arena of [`Shape`]s, by `shape::subset` or by `foreign::read`; the
//! printers of the languages walk the arena. No step recurses, so depth is no matter.

mod distinct;
mod name_set;
mod subset;

use crate::foreign;
use crate::json::{Json, Object};
use crate::sdk::{Reading, SdkOutput};
use crate::text;

pub(crate) use distinct::Distinct;
pub(crate) use name_set::NameSet;

/// What one node of a schema says.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Shape<'a> {
    /// Nothing that a type could say.
    Any,
    /// That no value fits.
    Never,
    String,
    Number,
    Integer,
    Boolean,
    Null,
    /// One of these scalars.
    Literals(Literals<'a>),
    /// A list; `None` if nothing is said about its items.
    List(Option<ShapeId>),
    Tuple(Tuple),
    Object(Members),
    /// An object without declared members, whose values all have this shape.
    Record(ShapeId),
    /// One of several, in order.
    Union(Run),
    /// The shape or null.
    Nullable(ShapeId),
    /// All of several at once.
    Intersection(Run),
}

/// Where a shape is in its arena.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct ShapeId(usize);

/// Shapes that were placed next to each other.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Run {
    first: usize,
    end: usize,
}

/// The scalars of a `const` or an `enum`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Literals<'a> {
    pub(crate) values: &'a [Json],
    /// Whether numbers among them are whole by declaration.
    pub(crate) integer: bool,
}

/// A list whose first positions have shapes of their own.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tuple {
    pub(crate) positions: Run,
    /// How many of them must be there.
    pub(crate) required: usize,
    /// What may follow; `None` if nothing.
    pub(crate) rest: Option<ShapeId>,
}

/// The declared members of an object.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Members {
    first: usize,
    end: usize,
    pub(crate) open: bool,
}

/// One declared member of an object.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Member<'a> {
    pub(crate) name: &'a str,
    pub(crate) required: bool,
    pub(crate) shape: ShapeId,
    pub(crate) doc: Doc<'a>,
}

/// What documents a member: its description, and the keywords types cannot carry.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Doc<'a> {
    pub(crate) description: &'a str,
    pub(crate) notes: Option<&'a Object>,
}

/// The shapes of one schema. Made once and used again for the next, to save its memory.
#[derive(Debug, Default)]
pub(crate) struct Shapes<'a> {
    nodes: Vec<Shape<'a>>,
    members: Vec<Member<'a>>,
    /// Whether equal branches of a union are printed once, as for schemas outside the subset.
    distinct: bool,
}

impl<'a> Shapes<'a> {
    /// Reads a schema; `None` if `reading` shows nothing of it.
    pub(crate) fn read(&mut self, schema: &'a Json, reading: Reading) -> Option<ShapeId> {
        self.clear();
        let root = self.reserve(1).only();
        self.read_into(root, schema, reading).then_some(root)
    }

    /// Reads what a tool resolves to; `None` if `reading` shows nothing of it.
    pub(crate) fn read_output(
        &mut self,
        output: SdkOutput<'a>,
        reading: Reading,
    ) -> Option<ShapeId> {
        match output {
            SdkOutput::Value(schema) => self.read(schema, reading),
            SdkOutput::Envelope(advertised) => self.read_envelope(advertised, reading),
        }
    }

    /// The object around every MCP result, see FOREIGN-4 and FOREIGN-34.
    fn read_envelope(&mut self, advertised: Option<&'a Json>, reading: Reading) -> Option<ShapeId> {
        self.clear();
        let root = self.reserve(1).only();
        let [blocks, content, structured] = self.reserve(3).ids();
        if !advertised.is_none_or(|schema| self.read_into(structured, schema, reading)) {
            return None;
        }
        self.set(content, Shape::List(Some(blocks)));
        let doc = Doc::default();
        let required = advertised.is_some();
        let mut members = self.start_members();
        self.push_member(
            &mut members,
            Member { name: "content", required: true, shape: content, doc },
        );
        self.push_member(
            &mut members,
            Member { name: "structuredContent", required, shape: structured, doc },
        );
        members.open = false;
        self.set(root, Shape::Object(members));
        Some(root)
    }

    /// Reads a schema into a reserved place; whether anything of it is shown.
    fn read_into(&mut self, place: ShapeId, schema: &'a Json, reading: Reading) -> bool {
        let (nodes, members) = (self.nodes.len(), self.members.len());
        if subset::read(self, place, schema).is_some() {
            return true;
        }
        self.nodes.truncate(nodes);
        self.members.truncate(members);
        if reading == Reading::Strict || foreign::check_limits(schema).is_err() {
            return false;
        }
        self.distinct = true;
        foreign::read(self, place, schema);
        true
    }

    fn clear(&mut self) {
        self.nodes.clear();
        self.members.clear();
        self.distinct = false;
    }

    pub(crate) fn get(&self, id: ShapeId) -> Shape<'a> {
        self.nodes[id.0]
    }

    pub(crate) fn distinct(&self) -> bool {
        self.distinct
    }

    /// The shape that stands for this one: an intersection of which only one shape says something
    /// is that shape.
    pub(crate) fn resolved(&self, id: ShapeId) -> ShapeId {
        let Shape::Intersection(run) = self.get(id) else { return id };
        let mut telling = run.iter().filter(|&part| self.is_telling(part));
        match (telling.next(), telling.next()) {
            (Some(only), None) => only,
            (Some(_), Some(_)) => id,
            (None, _) => run.iter().next().unwrap_or(id),
        }
    }

    /// The first shape of an intersection that says something, or the shape itself.
    pub(crate) fn first_telling(&self, id: ShapeId) -> ShapeId {
        let Shape::Intersection(run) = self.get(id) else { return id };
        run.iter().find(|&part| self.is_telling(part)).unwrap_or(id)
    }

    pub(crate) fn is_telling(&self, id: ShapeId) -> bool {
        !matches!(self.get(id), Shape::Any)
    }

    /// The members of an object, in order.
    pub(crate) fn members(&self, members: Members) -> &[Member<'a>] {
        &self.members[members.first..members.end]
    }

    pub(crate) fn set(&mut self, id: ShapeId, shape: Shape<'a>) {
        self.nodes[id.0] = shape;
    }

    /// Makes room for shapes that are read later; until then they are `Any`.
    pub(crate) fn reserve(&mut self, count: usize) -> Run {
        let first = self.nodes.len();
        let end = first + count;
        self.nodes.resize(end, Shape::Any);
        Run { first, end }
    }

    pub(crate) fn start_members(&self) -> Members {
        let first = self.members.len();
        Members { first, end: first, open: true }
    }

    pub(crate) fn push_member(&mut self, members: &mut Members, member: Member<'a>) {
        debug_assert_eq!(members.end, self.members.len(), "members of one object stand together");
        self.members.push(member);
        members.end += 1;
    }
}

impl Run {
    /// A run of one shape.
    pub(crate) fn of(id: ShapeId) -> Self {
        Self { first: id.0, end: id.0 + 1 }
    }

    pub(crate) fn iter(self) -> impl DoubleEndedIterator<Item = ShapeId> + ExactSizeIterator {
        (self.first..self.end).map(ShapeId)
    }

    /// Takes the first shape off.
    pub(crate) fn pop_first(&mut self) -> Option<ShapeId> {
        let id = (self.first < self.end).then_some(ShapeId(self.first))?;
        self.first += 1;
        Some(id)
    }

    /// The one shape of a run reserved for one.
    pub(crate) fn only(self) -> ShapeId {
        ShapeId(self.first)
    }

    /// The shapes of a run reserved for `N`.
    fn ids<const N: usize>(self) -> [ShapeId; N] {
        std::array::from_fn(|index| ShapeId(self.first + index))
    }
}

impl Members {
    pub(crate) fn is_empty(self) -> bool {
        self.first == self.end
    }

    /// Takes the first member off.
    pub(crate) fn pop_first<'a>(&mut self, shapes: &Shapes<'a>) -> Option<Member<'a>> {
        let member = *shapes.members(*self).first()?;
        self.first += 1;
        Some(member)
    }
}

impl<'a> Doc<'a> {
    pub(crate) fn is_empty(self) -> bool {
        self.description.is_empty() && self.notes.is_none()
    }

    /// The description with its notes behind it, in `scratch` if there are any.
    pub(crate) fn text<'b>(self, scratch: &'b mut String) -> &'b str
    where
        'a: 'b,
    {
        let Some(notes) = self.notes else { return self.description };
        scratch.clear();
        scratch.push_str(self.description);
        let mut separator = if text::is_blank(self.description) { "[" } else { " [" };
        for (name, value) in noted(notes) {
            scratch.push_str(separator);
            scratch.push_str(name);
            scratch.push_str(": ");
            match value {
                Json::String(format) if name == "format" => scratch.push_str(format),
                value => text::push_display(scratch, value),
            }
            separator = ", ";
        }
        scratch.push(']');
        scratch
    }
}

/// Whether a keyword is noted in documentation.
pub(crate) fn is_noted(keyword: &str) -> bool {
    note_rank(keyword).is_some()
}

/// The keywords of a schema node that are noted in documentation, in the order they stand there.
fn noted(node: &Object) -> impl Iterator<Item = (&str, &Json)> {
    let mut notes: Vec<_> = node
        .iter()
        .filter_map(|(keyword, value)| Some((note_rank(keyword)?, &**keyword, value)))
        .collect();
    notes.sort_unstable_by_key(|&(rank, ..)| rank);
    notes.into_iter().map(|(_, keyword, value)| (keyword, value))
}

/// The place of a keyword among those that narrow values without changing their type.
fn note_rank(keyword: &str) -> Option<u8> {
    Some(match keyword {
        "format" => 0,
        "pattern" => 1,
        "minLength" => 2,
        "maxLength" => 3,
        "minimum" => 4,
        "exclusiveMinimum" => 5,
        "maximum" => 6,
        "exclusiveMaximum" => 7,
        "multipleOf" => 8,
        "minItems" => 9,
        "maxItems" => 10,
        "uniqueItems" => 11,
        "minProperties" => 12,
        "maxProperties" => 13,
        "default" => 14,
        _ => return None,
    })
}
