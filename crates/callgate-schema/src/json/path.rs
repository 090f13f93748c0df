//! Where in a value something is.

use std::fmt;

use super::Str;

/// One step from a value to a part of it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[expect(clippy::exhaustive_enums, reason = "JSON has exactly these two containers")]
pub enum Step {
    /// Into the member of that name.
    Name(Str),
    /// To the item at that place, counted from zero.
    Index(usize),
}

/// The way from a value to a part of it.
///
/// ```
/// use callgate_schema::JsonPath;
///
/// let path = JsonPath::root().name("rows").index(2).name("id");
/// assert_eq!(path.to_string(), "value.rows[2].id");
/// assert_eq!(path.display("").to_string(), "rows[2].id");
/// assert_eq!(JsonPath::root().display("").to_string(), "arguments");
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct JsonPath(Vec<Step>);

impl JsonPath {
    /// The path to the value itself.
    pub fn root() -> Self {
        Self::default()
    }

    /// This path, and then into a member.
    pub fn name(mut self, name: impl Into<Str>) -> Self {
        self.0.push(Step::Name(name.into()));
        self
    }

    /// This path, and then to an item.
    pub fn index(mut self, index: usize) -> Self {
        self.0.push(Step::Index(index));
        self
    }

    /// The steps from the root.
    pub fn steps(&self) -> &[Step] {
        &self.0
    }

    /// The path as text under a root of that name.
    ///
    /// Names are written as they are, without escaping. Under an empty root label the value itself is `arguments`
    /// and its members have no leading dot.
    pub fn display<'a>(&'a self, root: &'a str) -> impl fmt::Display + 'a {
        DisplayPath { steps: &self.0, root }
    }
}

impl From<Vec<Step>> for JsonPath {
    fn from(steps: Vec<Step>) -> Self {
        Self(steps)
    }
}

/// The path under the root label `value`.
impl fmt::Display for JsonPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.display("value").fmt(f)
    }
}

struct DisplayPath<'a> {
    steps: &'a [Step],
    root: &'a str,
}

impl fmt::Display for DisplayPath<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.steps.is_empty() && self.root.is_empty() {
            return f.write_str("arguments");
        }
        f.write_str(self.root)?;
        for (place, step) in self.steps.iter().enumerate() {
            match step {
                Step::Name(name) if place == 0 && self.root.is_empty() => f.write_str(name)?,
                Step::Name(name) => write!(f, ".{name}")?,
                Step::Index(index) => write!(f, "[{index}]")?,
            }
        }
        Ok(())
    }
}
