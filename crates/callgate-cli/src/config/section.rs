//! Reading the blocks of a configuration: names that are known, values of the right kind, and where they stand.

use std::collections::HashMap;
use std::fmt;
use std::time::Duration;

use callgate::schema::nearest_name;
use callgate::{Json, Str};

use super::problem::Problem;
use super::text::Text;
use super::tree::{Member, Node, Tree};

/// Longer waits than this are no limits: about 25 days, what every timer can count.
const LONGEST: Duration = Duration::from_millis(i32::MAX as u64);

/// Nobody reads more than this.
const MOST_WARNINGS: usize = 20;

/// Reads one file and collects what its author should know.
#[derive(Debug)]
pub(super) struct Reader<'t> {
    text: &'t Text,
    tree: &'t Tree,
    warnings: Vec<Problem>,
}

impl<'t> Reader<'t> {
    pub(super) fn new(text: &'t Text, tree: &'t Tree) -> Self {
        Self { text, tree, warnings: Vec::new() }
    }

    /// The outermost value of the file.
    pub(super) fn root(&self) -> Setting<'t> {
        Setting { path: String::new(), node: self.tree.root() }
    }

    /// The line in which a setting stands.
    pub(super) fn line(&self, setting: &Setting<'_>) -> usize {
        self.text.line(setting.node.span().start)
    }

    /// The file as messages call it.
    pub(super) fn file(&self) -> &'t str {
        self.text.name()
    }

    /// Reads a block whose members have these names. Others are reported and passed over, but for those that could
    /// lead to rules.
    pub(super) fn section(
        &mut self,
        setting: &Setting<'t>,
        known: &[&str],
    ) -> Result<Section<'t>, Problem> {
        self.read(setting, known, |name| !is_about_rules(name, known))
    }

    /// Reads a block of rules. A rule that is passed over protects nothing, so here what is unknown or repeated is not
    /// passed over.
    pub(super) fn rules(
        &mut self,
        setting: &Setting<'t>,
        known: &[&str],
    ) -> Result<Section<'t>, Problem> {
        self.read(setting, known, |_| false)
    }

    fn read(
        &mut self,
        setting: &Setting<'t>,
        known: &[&str],
        may_be_passed_over: impl Fn(&str) -> bool,
    ) -> Result<Section<'t>, Problem> {
        let members: Vec<Member<'t>> = match setting.node.members() {
            Some(members) => members.collect(),
            None => return Err(setting.must_be("an object")),
        };
        let last: HashMap<&Str, usize> =
            members.iter().enumerate().map(|(index, member)| (member.name, index)).collect();
        for (index, member) in members.iter().enumerate() {
            let problem = if !known.contains(&&**member.name) {
                unknown(setting, member, known)
            } else if last.get(member.name) != Some(&index) {
                repeated(setting, member)
            } else {
                continue;
            };
            if may_be_passed_over(member.name) {
                self.warnings.push(problem);
            } else {
                return Err(problem);
            }
        }
        Ok(Section { path: setting.path.clone(), members })
    }

    /// A problem on one line, with its place.
    pub(super) fn describe(&self, problem: &Problem) -> String {
        problem.on_one_line(self.text)
    }

    /// Makes a problem one that its author should know about, and no more.
    pub(super) fn report(&mut self, problem: Problem) {
        self.warnings.push(problem);
    }

    /// The warnings in the order of the file, each on one line; of very many the first ones.
    pub(super) fn into_warnings(mut self) -> Vec<String> {
        self.warnings.sort_by_key(Problem::start);
        let shown = self.warnings.iter().take(MOST_WARNINGS);
        let mut shown: Vec<String> = shown.map(|warning| warning.on_one_line(self.text)).collect();
        if let more @ 1.. = self.warnings.len().saturating_sub(MOST_WARNINGS) {
            shown.push(format!("{}: {more} more warnings", self.text.name()));
        }
        shown
    }
}

/// The keys that lead to rules.
const TO_RULES: [&str; 3] = ["callgate", "policy", "deny"];

/// Whether a key that is passed over could have rules behind it: it is one of the keys that lead there, in the wrong
/// place or too often, or nearly one.
fn is_about_rules(name: &str, known: &[&str]) -> bool {
    let is_one = TO_RULES.iter().any(|key| key.eq_ignore_ascii_case(name));
    let is_near = |near: &str| TO_RULES.contains(&near);
    is_one || nearest_name(name, known.iter().copied()).is_some_and(is_near)
}

#[cold]
fn unknown(setting: &Setting<'_>, member: &Member<'_>, known: &[&str]) -> Problem {
    let name = member.name;
    let hint = match nearest_name(name, known.iter().copied()) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("known here: {}", known.join(", ")),
    };
    let message = format!("unknown key `{}`; {hint}", setting.child(name));
    Problem::new(member.span.clone(), message)
}

#[cold]
fn repeated(setting: &Setting<'_>, member: &Member<'_>) -> Problem {
    let name = setting.child(member.name);
    let message = format!("`{name}` comes again below; only the last one counts");
    Problem::new(member.span.clone(), message)
}

/// A value of the file and the way to it, such as `callgate.policy.deny[0]`.
#[derive(Clone, Debug)]
pub(super) struct Setting<'t> {
    path: String,
    node: Node<'t>,
}

/// The members of one block.
#[derive(Clone, Debug)]
pub(super) struct Section<'t> {
    path: String,
    members: Vec<Member<'t>>,
}

impl<'t> Section<'t> {
    /// The value under a name; of several the last.
    pub(super) fn get(&self, name: &str) -> Option<Setting<'t>> {
        let member = self.members.iter().rev().find(|member| **member.name == *name)?;
        Some(Setting { path: join(&self.path, name), node: member.value })
    }
}

impl<'t> Setting<'t> {
    fn child(&self, name: &str) -> String {
        join(&self.path, name)
    }

    #[cold]
    pub(super) fn problem(&self, message: impl fmt::Display) -> Problem {
        let path =
            if self.path.is_empty() { "the configuration" } else { &*format!("`{}`", self.path) };
        Problem::new(self.node.span(), format!("{path} {message}"))
    }

    #[cold]
    fn must_be(&self, wanted: &str) -> Problem {
        self.problem(format_args!("must be {wanted}, not {}", self.node.described()))
    }

    pub(super) fn is_object(&self) -> bool {
        self.node.members().is_some()
    }

    pub(super) fn as_string(&self) -> Option<&'t Str> {
        match self.node.scalar() {
            Some(Json::String(text)) => Some(text),
            _ => None,
        }
    }

    pub(super) fn string(&self) -> Result<&'t Str, Problem> {
        self.as_string().ok_or_else(|| self.must_be("a string"))
    }

    /// The items of a list.
    pub(super) fn list(&self) -> Result<Vec<Setting<'t>>, Problem> {
        let items = self.node.items().ok_or_else(|| self.must_be("a list"))?;
        let item = |(index, node)| Setting { path: format!("{}[{index}]", self.path), node };
        Ok(items.enumerate().map(item).collect())
    }

    /// The members of a map whose names are the author's own.
    pub(super) fn entries(&self) -> Result<Vec<(&'t Str, Setting<'t>)>, Problem> {
        let members = self.node.members().ok_or_else(|| self.must_be("an object"))?;
        let entry = |member: Member<'t>| {
            let path = self.child(member.name);
            (member.name, Setting { path, node: member.value })
        };
        Ok(members.map(entry).collect())
    }

    /// The way to the value.
    pub(super) fn path(&self) -> &str {
        &self.path
    }

    /// True or false.
    pub(super) fn flag(&self) -> Result<bool, Problem> {
        let flag = self.node.scalar().and_then(Json::as_bool);
        flag.ok_or_else(|| self.must_be("true or false"))
    }

    /// A whole number of at least one.
    pub(super) fn count(&self) -> Result<usize, Problem> {
        let number =
            self.node.scalar().and_then(Json::as_u64).and_then(|count| usize::try_from(count).ok());
        number
            .filter(|count| *count > 0)
            .ok_or_else(|| self.problem("must be a whole number of at least 1"))
    }

    /// A duration in seconds.
    pub(super) fn seconds(&self) -> Result<Duration, Problem> {
        let seconds = self.node.scalar().and_then(Json::as_f64);
        let duration = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
        duration.filter(|duration| !duration.is_zero() && *duration <= LONGEST).ok_or_else(|| {
            self.problem(format_args!(
                "must be a number of seconds above 0 and at most {}",
                LONGEST.as_secs()
            ))
        })
    }

    /// One of a few words.
    pub(super) fn one_of<T: Copy>(&self, words: &[(&str, T)]) -> Result<T, Problem> {
        let text = self.string()?;
        let chosen = words.iter().find(|(word, _)| *word == &**text);
        chosen.map(|(_, value)| *value).ok_or_else(|| {
            let words: Vec<String> = words.iter().map(|(word, _)| format!("`{word}`")).collect();
            self.problem(format_args!("is `{text}`; it must be one of {}", words.join(", ")))
        })
    }
}

fn join(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") }
}
