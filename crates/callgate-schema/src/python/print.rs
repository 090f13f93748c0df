//! Prints shapes as Python types, and declares the classes they need.

use super::imports::{Import, Imports};
use super::names::{ClassNames, camel, is_field, joined};
use crate::json::{Json, Number};
use crate::shape::{Distinct, Literals, Member, Members, Run, Shape, ShapeId, Shapes};
use crate::text;

/// Brackets that may be open at once in one annotation; `CPython` refuses more than 200 on a line.
const MOST_BRACKETS: usize = 180;

/// Prints types, and collects the classes and imports that they need.
#[derive(Default)]
pub(super) struct Printer<'a> {
    pub(super) imports: Imports,
    pub(super) names: ClassNames,
    /// What stands in front of the protocol: the classes, each with a blank line behind it.
    pub(super) classes: String,
    /// Constructs whose end is not printed yet, outermost first.
    open: Vec<Open<'a>>,
    unions: Vec<Branches>,
    /// The expression, and the body of each class that is open; the last is being written.
    texts: Vec<String>,
    spare: Vec<String>,
    /// Names that nested classes begin with.
    bases: Vec<String>,
    scratch: String,
}

/// A construct whose end is not printed yet.
#[derive(Clone, Copy)]
enum Open<'a> {
    /// A class, and whether its last member is required, if there is one.
    Class {
        members: Members,
        name: usize,
        last: Option<bool>,
    },
    Union {
        branches: Run,
        number: usize,
        null: bool,
        outermost: bool,
        site: Site<'a>,
    },
    /// A branch that is taken back if an equal one came before.
    Branch(Mark),
    Bracket,
}

/// Where a type stands.
#[derive(Clone, Copy)]
struct Site<'a> {
    /// The base of its name; `None` where no class can be declared.
    base: Option<usize>,
    /// The field that is yet to be joined to it.
    field: Option<&'a str>,
    /// Brackets that are open.
    brackets: usize,
}

/// A union, with those spliced into it.
#[derive(Default)]
struct Branches {
    printed: usize,
    texts: Distinct,
}

#[derive(Clone, Copy)]
struct Mark {
    before: usize,
    start: usize,
}

impl<'a> Printer<'a> {
    /// Appends the type of a shape. Classes are called after `base`; without it, none is declared.
    pub(super) fn print(
        &mut self,
        out: &mut String,
        shapes: &Shapes<'a>,
        root: ShapeId,
        base: Option<String>,
    ) {
        self.bases.clear();
        let base = base.map(|base| self.add_base(base));
        self.start_text();
        let mut pass = Pass { printer: self, shapes };
        pass.value(root, Site { base, field: None, brackets: 0 });
        while let Some(open) = pass.printer.open.pop() {
            pass.go_on(open);
        }
        let text = self.end_text();
        out.push_str(&text);
        self.spare.push(text);
    }

    /// `Any`, for a schema that cannot be shown.
    pub(super) fn any(&mut self) -> &'static str {
        self.imports.add(Import::Any);
        "Any"
    }

    fn add_base(&mut self, base: String) -> usize {
        self.bases.push(base);
        self.bases.len() - 1
    }

    fn start_text(&mut self) {
        let mut text = self.spare.pop().unwrap_or_default();
        text.clear();
        self.texts.push(text);
    }

    fn end_text(&mut self) -> String {
        self.texts.pop().unwrap_or_default()
    }
}

/// One printing of one type.
struct Pass<'p, 'a> {
    printer: &'p mut Printer<'a>,
    shapes: &'p Shapes<'a>,
}

impl<'a> Pass<'_, 'a> {
    /// Prints a shape, or its beginning and leaves the rest open.
    fn value(&mut self, mut id: ShapeId, mut site: Site<'a>) {
        while let Some(inner) = self.begin(id, site) {
            (id, site) = inner;
        }
    }

    /// Prints what comes in front of the first inner shape, and returns that one.
    fn begin(&mut self, id: ShapeId, site: Site<'a>) -> Option<(ShapeId, Site<'a>)> {
        let full = site.brackets >= MOST_BRACKETS;
        match self.shapes.get(id) {
            Shape::Any => self.any(),
            Shape::Never => self.import(Import::Never, "Never"),
            Shape::String => self.write("str"),
            Shape::Number => self.write("float"),
            Shape::Integer => self.write("int"),
            Shape::Boolean => self.write("bool"),
            Shape::Null => self.write("None"),
            Shape::List(Some(_)) | Shape::Record(_) if full => self.any(),
            Shape::Tuple(tuple) if full && tuple.rest.is_none() => self.any(),
            Shape::List(None) => self.import(Import::Any, "list[Any]"),
            Shape::List(Some(item)) => return Some((item, self.bracket("list[", site))),
            Shape::Record(values) => return Some((values, self.bracket("dict[str, ", site))),
            Shape::Tuple(tuple) if tuple.rest.is_some() => self.import(Import::Any, "list[Any]"),
            Shape::Tuple(tuple) => {
                let site = self.bracket("list[", site);
                self.start_union(Shape::Union(tuple.positions), site);
            }
            Shape::Object(members) => self.object(members, site),
            Shape::Intersection(_) => match self.shapes.first_telling(id) {
                same if same == id => self.any(),
                first => return Some((first, site)),
            },
            union @ (Shape::Literals(_) | Shape::Union(_) | Shape::Nullable(_)) => {
                self.start_union(union, site);
            }
        }
        None
    }

    fn go_on(&mut self, open: Open<'a>) {
        match open {
            Open::Class { members, name, last } => self.next_member(members, name, last),
            Open::Union { branches, number, null, outermost, site } => {
                self.next_branch(branches, number, null, outermost, site);
            }
            Open::Branch(mark) => self.end_branch(mark),
            Open::Bracket => self.write("]"),
        }
    }

    fn bracket(&mut self, opening: &str, site: Site<'a>) -> Site<'a> {
        self.write(opening);
        self.printer.open.push(Open::Bracket);
        Site { brackets: site.brackets + 1, ..site }
    }

    fn object(&mut self, members: Members, site: Site<'a>) {
        let fields = self.shapes.members(members);
        let is_bare = members.open && members.is_empty();
        let Some(base) =
            site.base.filter(|_| !is_bare && fields.iter().all(|field| is_field(field.name)))
        else {
            return self.import(Import::Any, "dict[str, Any]");
        };
        let base = self.name_of(base, site.field);
        let name = self.printer.names.take(base);
        let name = self.printer.add_base(name);
        self.printer.imports.add(Import::TypedDict);
        self.printer.start_text();
        if members.is_empty() {
            self.write("    pass\n");
        }
        self.printer.open.push(Open::Class { members, name, last: None });
    }

    fn name_of(&self, base: usize, field: Option<&str>) -> String {
        let base = &self.printer.bases[base];
        field.map_or_else(|| base.clone(), |field| joined(base, &camel(field)))
    }

    fn next_member(&mut self, mut members: Members, name: usize, last: Option<bool>) {
        match last {
            Some(true) => self.write("\n"),
            Some(false) => self.write("]\n"),
            None => {}
        }
        let Some(member) = members.pop_first(self.shapes) else {
            return self.end_class(name, members.open);
        };
        self.field_head(&member);
        self.printer.open.push(Open::Class { members, name, last: Some(member.required) });
        self.value(member.shape, Site { base: Some(name), field: Some(member.name), brackets: 1 });
    }

    fn field_head(&mut self, member: &Member<'a>) {
        if let Some(out) = self.printer.texts.last_mut()
            && !member.doc.is_empty()
        {
            let doc = member.doc.text(&mut self.printer.scratch);
            if !text::is_blank(doc) {
                out.push_str("    # ");
                text::push_python_comment(out, doc);
                out.push('\n');
            }
        }
        self.write("    ");
        self.write(member.name);
        self.write(": ");
        if !member.required {
            self.import(Import::NotRequired, "NotRequired[");
        }
    }

    fn end_class(&mut self, name: usize, open: bool) {
        if open {
            self.write("    # Extra keys are accepted.\n");
        }
        let body = self.printer.end_text();
        let printer = &mut *self.printer;
        let name = &printer.bases[name];
        printer.classes.extend(["class ", name, "(TypedDict):\n", &body, "\n"]);
        if let Some(out) = printer.texts.last_mut() {
            out.push_str(name);
        }
        printer.spare.push(body);
    }

    fn start_union(&mut self, union: Shape<'a>, site: Site<'a>) {
        self.printer.unions.push(Branches::default());
        self.union(union, true, site);
    }

    /// Prints a union, or its branches into the union around it.
    fn union(&mut self, union: Shape<'a>, outermost: bool, site: Site<'a>) {
        match union {
            Shape::Union(branches) => {
                self.printer.open.push(Open::Union {
                    branches,
                    number: 1,
                    null: false,
                    outermost,
                    site,
                });
            }
            Shape::Nullable(inner) => {
                let branches = Run::of(inner);
                self.printer.open.push(Open::Union {
                    branches,
                    number: 0,
                    null: true,
                    outermost,
                    site,
                });
            }
            Shape::Literals(literals) => {
                self.literals(literals);
                if outermost {
                    self.printer.unions.pop();
                }
            }
            _ => {}
        }
    }

    /// Goes on with the branch of that number. Zero stands for the one that is not numbered, beside
    /// `nullable`.
    fn next_branch(
        &mut self,
        mut branches: Run,
        number: usize,
        null: bool,
        outermost: bool,
        mut site: Site<'a>,
    ) {
        let Some(id) = branches.pop_first() else {
            if null {
                self.literal_branch("None");
            }
            if outermost {
                self.printer.unions.pop();
            }
            return;
        };
        let id = self.shapes.first_telling(id);
        let shape = self.shapes.get(id);
        let mut branch_site = site;
        if number > 0
            && may_hold_class(shape)
            && let Some(base) = site.base
        {
            if site.field.is_some() {
                let base = self.name_of(base, site.field);
                site = Site { base: Some(self.printer.add_base(base)), field: None, ..site };
            }
            let base = joined(&self.printer.bases[site.base.unwrap_or(base)], &number.to_string());
            branch_site = Site { base: Some(self.printer.add_base(base)), ..site };
        }
        let next = if number == 0 { 0 } else { number + 1 };
        self.printer.open.push(Open::Union { branches, number: next, null, outermost, site });
        if matches!(shape, Shape::Literals(_) | Shape::Union(_) | Shape::Nullable(_)) {
            return self.union(shape, false, branch_site);
        }
        let mark = self.start_branch();
        self.printer.open.push(Open::Branch(mark));
        self.value(id, branch_site);
    }

    fn start_branch(&mut self) -> Mark {
        let printer = &mut *self.printer;
        let Some(out) = printer.texts.last_mut() else { return Mark { before: 0, start: 0 } };
        let before = out.len();
        if printer.unions.last().is_some_and(|union| union.printed > 0) {
            out.push_str(" | ");
        }
        Mark { before, start: out.len() }
    }

    fn end_branch(&mut self, mark: Mark) {
        let printer = &mut *self.printer;
        let (Some(union), Some(out)) = (printer.unions.last_mut(), printer.texts.last_mut()) else {
            return;
        };
        if !self.shapes.distinct() || union.texts.insert(out, mark.start) {
            union.printed += 1;
        } else {
            out.truncate(mark.before);
        }
    }

    fn literal_branch(&mut self, literal: &str) {
        let mark = self.start_branch();
        self.write(literal);
        self.end_branch(mark);
    }

    /// The literals in one `Literal`; if one of the numbers cannot stand there, none does.
    fn literals(&mut self, literals: Literals<'a>) {
        let widened = literals.values.iter().any(|value| value.as_number().is_some_and(is_wide));
        let is_literal = |value: &&Json| !(widened && value.as_number().is_some());
        let mut values = literals.values.iter().filter(is_literal).peekable();
        if literals.values.iter().filter(is_literal).all(Json::is_null) {
            if values.peek().is_some() {
                self.literal_branch("None");
            }
        } else {
            let mark = self.start_branch();
            self.import(Import::Literal, "Literal[");
            self.literal_values(values);
            self.write("]");
            self.end_branch(mark);
        }
        if widened {
            self.literal_branch(if literals.integer { "int" } else { "float" });
        }
    }

    fn literal_values(&mut self, values: impl Iterator<Item = &'a Json>) {
        let Some(out) = self.printer.texts.last_mut() else { return };
        let mut printed = Distinct::default();
        let mut separator = "";
        for value in values {
            let before = out.len();
            out.push_str(separator);
            let start = out.len();
            match value {
                Json::String(text) => text::push_string_literal(out, text),
                Json::Bool(true) => out.push_str("True"),
                Json::Bool(false) => out.push_str("False"),
                Json::Null => out.push_str("None"),
                value => text::push_display(out, value),
            }
            if self.shapes.distinct() && !printed.insert(out, start) {
                out.truncate(before);
            }
            separator = ", ";
        }
    }

    fn write(&mut self, text: &str) {
        if let Some(out) = self.printer.texts.last_mut() {
            out.push_str(text);
        }
    }

    fn any(&mut self) {
        self.import(Import::Any, "Any");
    }

    fn import(&mut self, import: Import, text: &str) {
        self.printer.imports.add(import);
        self.write(text);
    }
}

/// Whether a shape can make a class necessary, whose name then tells the branch.
fn may_hold_class(shape: Shape<'_>) -> bool {
    matches!(
        shape,
        Shape::List(Some(_))
            | Shape::Tuple(_)
            | Shape::Object(_)
            | Shape::Record(_)
            | Shape::Union(_)
            | Shape::Nullable(_)
            | Shape::Intersection(_)
    )
}

/// Whether type checkers refuse the number in a `Literal`: it has a fraction or more than 63 bits.
fn is_wide(number: Number) -> bool {
    number.as_i64().is_none_or(|whole| whole == i64::MIN)
}
