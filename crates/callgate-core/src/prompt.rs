//! What a model request opens with: sections of system text, and the list of tools.
//!
//! A section is a name, a place in the order and a text, given or computed anew for every
//! assembly. The registry contributes two of its own: `tools:code-only` (order 99) and
//! `tools:sdk` (order 150), both empty where the mode does not need them.

use std::collections::BTreeMap;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use callgate_schema::Str;
use callgate_session::Session;

use crate::code::{Dialect, RUN_CODE};
use crate::error::{Error, ErrorKind, from_panic};
use crate::hook::{Assemble, Next};
use crate::program::Language;
use crate::registry::{Layer, Mode, ScopeId, sorted_list};
use crate::signal::Signal;
use crate::view::ToolSchema;

/// The place of all tools that a tool order does not list.
pub const UNLISTED_TOOLS: &str = "<unlisted-tools>";

/// The section that tells a model to call nothing but `run_code`.
pub(crate) const CODE_ONLY: &str = "tools:code-only";
/// The section with the generated SDK.
pub(crate) const SDK: &str = "tools:sdk";

type TextFn = dyn Fn(&Assembly) -> String + Send + Sync;
type ValueFn = dyn Fn(&Assembly) -> Option<String> + Send + Sync;

/// A section of the system text.
///
/// ```
/// use callgate_core::Section;
/// let persona = Section::text("deployment:persona", 0, "You work on the files of {{cwd}}.");
/// let clock = Section::computed("clock", 10, |_| "It is early.".to_owned()).literal();
/// # let _ = (persona, clock);
/// ```
#[derive(Clone)]
pub struct Section {
    pub(crate) name: Str,
    order: i32,
    text: Arc<TextFn>,
    is_literal: bool,
    is_complete: bool,
}

/// A value for `{{name}}` in sections.
#[derive(Clone)]
pub struct Variable {
    pub(crate) name: Str,
    value: Arc<ValueFn>,
}

/// A piece of run-time context: no part of the system text, given to the model as a message when
/// it changes.
#[derive(Clone)]
pub struct ContextEntry {
    pub(crate) name: Str,
    order: i32,
    text: Arc<TextFn>,
}

/// For whom a prompt is assembled.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Assembly {
    /// The scope; none for the runtime itself.
    pub scope: Option<ScopeId>,
    /// Its session log, if it has one.
    pub session: Option<Session>,
    /// The form in which its model sees tools.
    pub mode: Mode,
    /// Cancelled when nobody waits for the prompt any more.
    pub signal: Signal,
}

/// An assembled prompt.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Prompt {
    /// The sections that are not empty, in order.
    pub sections: Vec<PromptSection>,
    /// The tools for the request, in order.
    pub tools: Vec<ToolSchema>,
}

/// One section of an assembled prompt.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PromptSection {
    /// Its name.
    pub name: Str,
    /// Its text, variables filled in.
    pub text: String,
}

impl PromptSection {
    /// A section, for hooks that add one.
    pub fn new(name: impl Into<Str>, text: impl Into<String>) -> Self {
        Self { name: name.into(), text: text.into() }
    }
}

impl Prompt {
    /// The system text: the sections, joined by a blank line.
    pub fn system(&self) -> String {
        let texts: Vec<&str> = self.sections.iter().map(|section| &*section.text).collect();
        texts.join("\n\n")
    }
}

impl Section {
    /// A section whose text is always the same.
    pub fn text(name: impl Into<Str>, order: i32, text: impl Into<String>) -> Self {
        let text = text.into();
        Self::computed(name, order, move |_| text.clone())
    }

    /// A section whose text is computed for every assembly. An empty text means no section.
    pub fn computed(
        name: impl Into<Str>,
        order: i32,
        text: impl Fn(&Assembly) -> String + Send + Sync + 'static,
    ) -> Self {
        Self {
            name: name.into(),
            order,
            text: Arc::new(text),
            is_literal: false,
            is_complete: false,
        }
    }

    /// Takes the text as it is: `{{` in it has no meaning.
    #[must_use]
    pub fn literal(mut self) -> Self {
        self.is_literal = true;
        self
    }

    /// Makes it the whole system text: no other section remains, whatever hooks do.
    #[must_use]
    pub fn complete(mut self) -> Self {
        self.is_complete = true;
        self
    }
}

impl Variable {
    /// A variable whose value is computed for every assembly; `None` means it has no value there.
    pub fn new(
        name: impl Into<Str>,
        value: impl Fn(&Assembly) -> Option<String> + Send + Sync + 'static,
    ) -> Self {
        Self { name: name.into(), value: Arc::new(value) }
    }
}

impl ContextEntry {
    /// A piece of context. An empty text means there is nothing to say.
    pub fn new(
        name: impl Into<Str>,
        order: i32,
        text: impl Fn(&Assembly) -> String + Send + Sync + 'static,
    ) -> Self {
        Self { name: name.into(), order, text: Arc::new(text) }
    }
}

impl Layer {
    /// Assembles the prompt of this scope: sections and tools, then the
    /// [assembly hooks](Self::on_assemble), whose answer is final.
    ///
    /// As long as nothing changes, every assembly is byte-identical.
    ///
    /// # Errors
    ///
    /// A mode that needs a program engine without one, a tool order that names tools nobody
    /// knows, a reference to a variable that does not exist, two complete sections, a hook that
    /// fails.
    ///
    /// # Cancellation
    ///
    /// Dropping the future loses nothing.
    pub async fn assemble(&self, signal: &Signal) -> Result<Prompt, Error> {
        let view = self.view();
        let assembly = self.assembly(&view, signal);
        let language = self.language_for(view.mode)?;
        let mut sections = self.sections(&assembly, language)?;
        let complete = only_complete(&sections)?;
        sections.sort_by_key(|section| section.order);
        let prompt = Prompt {
            sections: sections.into_iter().map(|section| section.done).collect(),
            tools: self.ordered_tools(&view)?,
        };
        let chain = view.assemble.clone();
        drop(view);
        let assembled = Next::<Assemble>::new(chain, assembly, Arc::new(prompt)).go().await;
        let mut prompt = assembled.map_err(|error| prompt_error(error.to_string()))?;
        if let Some(complete) = complete {
            prompt.sections = vec![complete];
        }
        Ok(prompt)
    }

    /// The run-time context of this scope: one text, empty if there is nothing to say.
    ///
    /// # Errors
    ///
    /// If computing an entry panics.
    pub fn runtime_context(&self, signal: &Signal) -> Result<String, Error> {
        let view = self.view();
        if view.is_context_suppressed {
            return Ok(String::new());
        }
        let assembly = self.assembly(&view, signal);
        let mut entries: Vec<&ContextEntry> = view.contexts.values().collect();
        entries.sort_by_key(|entry| entry.order);
        let texts: Result<Vec<String>, Error> = entries
            .into_iter()
            .map(|entry| compute(&entry.name, &*entry.text, &assembly))
            .collect();
        let texts: Vec<String> = texts?.into_iter().filter(|text| !text.is_empty()).collect();
        Ok(texts.join("\n\n"))
    }

    fn assembly(&self, view: &crate::view::View, signal: &Signal) -> Assembly {
        Assembly {
            scope: self.scope_id(),
            session: view.session.clone(),
            mode: view.mode,
            signal: signal.clone(),
        }
    }

    /// The language of programs, if the mode needs one.
    fn language_for(&self, mode: Mode) -> Result<Option<Language>, Error> {
        match (mode, self.language()) {
            (Mode::Native, _) => Ok(None),
            (_, Some(language)) => Ok(Some(language)),
            (mode, None) => Err(prompt_error(format!(
                "mode `{}` needs a program engine and none is installed; build the runtime with one, or use mode `native`",
                mode.name()
            ))),
        }
    }

    fn sections(
        &self,
        assembly: &Assembly,
        language: Option<Language>,
    ) -> Result<Vec<Rendered>, Error> {
        let view = self.view();
        let mut sections: BTreeMap<Str, (usize, Section)> = BTreeMap::new();
        let own = language.map(|language| self.own_sections(language, assembly.mode));
        let contributed = view.sections.values().cloned();
        for (position, section) in own.into_iter().flatten().chain(contributed).enumerate() {
            sections.insert(section.name.clone(), (position, section));
        }
        let mut winners: Vec<(usize, Section)> = sections.into_values().collect();
        winners.sort_by_key(|(position, _)| *position);
        let mut rendered = Vec::new();
        for (_, section) in winners {
            let text = compute(&section.name, &*section.text, assembly)?;
            let text = if section.is_literal {
                text
            } else {
                fill(&section.name, &text, &view.variables, assembly)?
            };
            if !text.is_empty() {
                rendered.push(Rendered {
                    order: section.order,
                    is_complete: section.is_complete,
                    done: PromptSection { name: section.name, text },
                });
            }
        }
        Ok(rendered)
    }

    /// The registry's own sections. They are data: a tool description is not scanned for
    /// variables.
    fn own_sections(&self, language: Language, mode: Mode) -> [Section; 2] {
        let code_only = if mode == Mode::Code { Dialect::of(language).code_only } else { "" };
        let sdk = self.sdk(language);
        [Section::text(CODE_ONLY, 99, code_only).literal(), Section::text(SDK, 150, sdk).literal()]
    }

    /// The tools of the request in their canonical order.
    fn ordered_tools(&self, view: &crate::view::View) -> Result<Vec<ToolSchema>, Error> {
        let mut tools: Vec<ToolSchema> = match view.mode {
            Mode::Native | Mode::Both => view.schemas().to_vec(),
            Mode::Code => {
                view.schemas().iter().filter(|tool| &*tool.name == RUN_CODE).cloned().collect()
            }
        };
        if tools.iter().any(|tool| &*tool.name == UNLISTED_TOOLS) {
            return Err(prompt_error(format!(
                "a tool is named `{UNLISTED_TOOLS}`, which marks a place in the tool order; rename it"
            )));
        }
        tools.sort_by(|one, other| one.name.cmp(&other.name));
        let Some(order) = &self.shared.tool_order else { return Ok(tools) };
        let mut known: Vec<&str> = match view.mode {
            Mode::Code => Vec::new(),
            Mode::Native | Mode::Both => view.known.iter().map(|name| &**name).collect(),
        };
        if view.mode != Mode::Native {
            known.push(RUN_CODE);
        }
        let listed = || order.iter().filter(|name| &***name != UNLISTED_TOOLS);
        let unknown: Vec<&str> =
            listed().map(|name| &**name).filter(|name| !known.contains(name)).collect();
        if !unknown.is_empty() {
            return Err(prompt_error(format!(
                "the tool order names unknown tools: {}; known are {}",
                sorted_list(unknown),
                sorted_list(known)
            )));
        }
        let place = |tool: &ToolSchema| {
            let at = |wanted: &str| order.iter().position(|name| &**name == wanted);
            at(&tool.name).or_else(|| at(UNLISTED_TOOLS))
        };
        tools.sort_by_key(place);
        Ok(tools)
    }
}

/// Checks a tool order: the marker exactly once, no name twice.
pub(crate) fn check_tool_order(order: &[Str]) -> Result<(), Error> {
    let invalid = |message: String| Err(Error::new(ErrorKind::InvalidConfig, message));
    let markers = order.iter().filter(|name| &***name == UNLISTED_TOOLS).count();
    if markers != 1 {
        return invalid(format!(
            "the tool order must contain `{UNLISTED_TOOLS}` exactly once, and has it {markers} times"
        ));
    }
    for (index, name) in order.iter().enumerate() {
        if order[..index].contains(name) {
            return invalid(format!("the tool order lists `{name}` twice"));
        }
    }
    Ok(())
}

struct Rendered {
    order: i32,
    is_complete: bool,
    done: PromptSection,
}

fn only_complete(sections: &[Rendered]) -> Result<Option<PromptSection>, Error> {
    let mut complete = sections.iter().filter(|section| section.is_complete);
    let first = complete.next().map(|section| section.done.clone());
    if let (Some(first), Some(second)) = (&first, complete.next()) {
        return Err(prompt_error(format!(
            "the sections `{}` and `{}` are both complete; only one can be the whole prompt",
            first.name, second.done.name
        )));
    }
    Ok(first)
}

fn compute(name: &str, text: &TextFn, assembly: &Assembly) -> Result<String, Error> {
    catch_unwind(AssertUnwindSafe(|| text(assembly))).map_err(|panic| {
        prompt_error(from_panic(&format!("section `{name}`"), &*panic).to_string())
    })
}

/// Replaces `{{name}}`; substituted text is not scanned again. An opening without a later close
/// is ordinary text.
fn fill(
    section: &str,
    text: &str,
    variables: &BTreeMap<Str, Variable>,
    assembly: &Assembly,
) -> Result<String, Error> {
    let mut filled = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, opened)) = rest.split_once("{{") {
        let Some((reference, after)) = opened.split_once("}}") else { break };
        filled.push_str(before);
        filled.push_str(&value_of(section, reference, variables, assembly)?);
        rest = after;
    }
    filled.push_str(rest);
    Ok(filled)
}

fn value_of(
    section: &str,
    reference: &str,
    variables: &BTreeMap<Str, Variable>,
    assembly: &Assembly,
) -> Result<String, Error> {
    if !is_variable_name(reference) {
        return Err(prompt_error(format!(
            "section `{section}` has the malformed reference `{{{{{reference}}}}}`; write a name of a-z, 0-9 and _ without spaces"
        )));
    }
    let Some(variable) = variables.get(reference) else {
        return Err(prompt_error(format!(
            "section `{section}` refers to the unknown variable `{reference}`"
        )));
    };
    let value = catch_unwind(AssertUnwindSafe(|| (variable.value)(assembly)));
    match value {
        Ok(Some(value)) => Ok(value),
        Ok(None) => Err(prompt_error(format!(
            "section `{section}` refers to `{reference}`, which has no value here"
        ))),
        Err(panic) => {
            Err(prompt_error(from_panic(&format!("variable `{reference}`"), &*panic).to_string()))
        }
    }
}

pub(crate) fn is_variable_name(name: &str) -> bool {
    let mut letters = name.bytes();
    letters.next().is_some_and(|first| first.is_ascii_lowercase())
        && letters
            .all(|letter| letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == b'_')
}

#[cold]
fn prompt_error(message: String) -> Error {
    Error::new(ErrorKind::Prompt, message)
}

macro_rules! debug_by_field_name {
    ($($type:ident),*) => {$(
        impl fmt::Debug for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_struct(stringify!($type)).field("name", &self.name).finish_non_exhaustive()
            }
        }
    )*};
}

debug_by_field_name!(Section, Variable, ContextEntry);
