//! What one scope sees at one moment: the only source of truth for listing, calling, scheduling.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::{Arc, OnceLock};

use callgate_schema::{Json, Str};
use callgate_session::Session;
use indexmap::IndexMap;

use crate::approval::Approver;
use crate::call::Call;
use crate::code::{RUN_CODE, SdkOptions};
use crate::hook::{
    Approve, Assemble, Chain, CodeDispatchLog, Execute, Hook, PostExecute, PreExecute, Stage,
};
use crate::preflight::ToolSignature;
use crate::program::Language;
use crate::prompt::{ContextEntry, Section, Variable};
use crate::registry::{
    Entry, EntryId, GuardFn, LayerData, Mode, Node, ObserverFn, Ordered, Shared, StageFn, State,
    fresh,
};
use crate::tool::ToolDefinition;

/// What a model is told about one tool, and nothing else.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ToolSchema {
    /// The name to call it by.
    pub name: Str,
    /// What it does.
    pub description: Str,
    /// The JSON Schema of its arguments.
    pub parameters: Json,
}

pub(crate) struct View {
    /// Tells it from all other views. Never 0.
    pub(crate) serial: u64,
    /// Visible tools but `run_code`, in order of registration, farther layers first.
    pub(crate) tools: IndexMap<Str, ToolDefinition>,
    pub(crate) mode: Mode,
    pub(crate) sdk: SdkOptions,
    pub(crate) guards: Vec<(EntryId, Arc<GuardFn>)>,
    pub(crate) pre_execute: Chain<PreExecute>,
    pub(crate) execute: Chain<Execute>,
    pub(crate) post_execute: Chain<PostExecute>,
    pub(crate) code_dispatch_log: Chain<CodeDispatchLog>,
    pub(crate) approve: Chain<Approve>,
    pub(crate) assemble: Chain<Assemble>,
    /// Names of all tools of the chain, hidden ones too.
    pub(crate) known: BTreeSet<Str>,
    pub(crate) sections: IndexMap<Str, Section>,
    pub(crate) variables: BTreeMap<Str, Variable>,
    pub(crate) contexts: IndexMap<Str, ContextEntry>,
    pub(crate) is_context_suppressed: bool,
    pub(crate) observers: Vec<Arc<ObserverFn>>,
    pub(crate) stage_observers: Vec<Arc<StageFn>>,
    pub(crate) approver: Option<Arc<dyn Approver>>,
    pub(crate) session: Option<Session>,
    /// Whether the scope was disposed: its guards are gone, so it must not call anything.
    pub(crate) disposed: bool,
    run_code: Option<ToolDefinition>,
    schemas: OnceLock<Arc<[ToolSchema]>>,
    signatures: OnceLock<Arc<[ToolSignature]>>,
    /// How long the whole SDK is in each language, once somebody asked.
    pub(crate) sdk_bytes: PerLanguage<usize>,
}

impl View {
    pub(crate) fn build(shared: &Shared, state: &State, node: &Node) -> Self {
        let chain = state.chain(node);
        let mode = nearest(&chain, |entry| match entry {
            Entry::Mode(mode) => Some(*mode),
            _ => None,
        })
        .unwrap_or(shared.mode);
        Self {
            serial: fresh(),
            tools: visible_tools(&chain),
            mode,
            sdk: nearest(&chain, |entry| match entry {
                Entry::Sdk(options) => Some(*options),
                _ => None,
            })
            .unwrap_or(shared.sdk),
            guards: all(&chain, |id, entry| match entry {
                Entry::Guard(guard) => Some((id, guard.clone())),
                _ => None,
            }),
            pre_execute: hooks(&chain, |entry| match entry {
                Entry::PreExecute(hook) => Some(hook),
                _ => None,
            }),
            execute: hooks(&chain, |entry| match entry {
                Entry::Execute(hook) => Some(hook),
                _ => None,
            }),
            post_execute: hooks(&chain, |entry| match entry {
                Entry::PostExecute(hook) => Some(hook),
                _ => None,
            }),
            code_dispatch_log: hooks(&chain, |entry| match entry {
                Entry::CodeDispatchLog(hook) => Some(hook),
                _ => None,
            }),
            approve: hooks(&chain, |entry| match entry {
                Entry::Approve(hook) => Some(hook),
                _ => None,
            }),
            assemble: hooks(&chain, |entry| match entry {
                Entry::Assemble(hook) => Some(hook),
                _ => None,
            }),
            known: chain
                .iter()
                .flat_map(|layer| layer.tools())
                .map(|tool| tool.tool().name.clone())
                .collect(),
            sections: named(&chain, |entry| match entry {
                Entry::Section(section) => Some((section.name.clone(), section.clone())),
                _ => None,
            })
            .collect(),
            variables: named(&chain, |entry| match entry {
                Entry::Variable(variable) => Some((variable.name.clone(), variable.clone())),
                _ => None,
            })
            .collect(),
            contexts: named(&chain, |entry| match entry {
                Entry::Context(context) => Some((context.name.clone(), context.clone())),
                _ => None,
            })
            .collect(),
            is_context_suppressed: nearest(&chain, |entry| {
                matches!(entry, Entry::NoContext).then_some(())
            })
            .is_some(),
            observers: in_order(&chain, |entry| match entry {
                Entry::Observer(observer) => Some(observer),
                _ => None,
            }),
            stage_observers: all(&chain, |_, entry| match entry {
                Entry::StageObserver(observer) => Some(observer.clone()),
                _ => None,
            }),
            approver: nearest(&chain, |entry| match entry {
                Entry::Approver(approver) => Some(approver.clone()),
                _ => None,
            }),
            session: nearest(&chain, |entry| match entry {
                Entry::Session(session) => Some(session.clone()),
                _ => None,
            }),
            disposed: chain.iter().any(|layer| layer.is_disposed()),
            run_code: (mode != Mode::Native).then(|| shared.run_code().clone()),
            schemas: OnceLock::new(),
            signatures: OnceLock::new(),
            sdk_bytes: PerLanguage::default(),
        }
    }

    /// The tool of that name, if this scope can see it.
    pub(crate) fn get(&self, name: &str) -> Option<&ToolDefinition> {
        match &self.run_code {
            Some(run_code) if name == RUN_CODE => Some(run_code),
            _ => self.tools.get(name),
        }
    }

    /// The tool that would run for this call: none if it is hidden, or if the model must go
    /// through a program.
    pub(crate) fn resolve(&self, call: &Call) -> Option<&ToolDefinition> {
        if self.is_collapsed(call) { None } else { self.get(call.name()) }
    }

    /// Whether the model named a visible tool directly although it may only write programs.
    pub(crate) fn is_collapsed(&self, call: &Call) -> bool {
        self.collapses(call.name(), call.is_model_direct())
    }

    pub(crate) fn collapses(&self, name: &str, is_model_direct: bool) -> bool {
        self.mode == Mode::Code
            && is_model_direct
            && name != RUN_CODE
            && self.tools.contains_key(name)
    }

    /// Every visible tool, `run_code` last.
    pub(crate) fn definitions(&self) -> impl Iterator<Item = &ToolDefinition> {
        self.tools.values().chain(&self.run_code)
    }

    pub(crate) fn schemas(&self) -> &Arc<[ToolSchema]> {
        self.schemas.get_or_init(|| {
            let schemas = self.definitions().map(|definition| {
                let tool = definition.tool();
                ToolSchema {
                    name: tool.name.clone(),
                    description: tool.description.clone(),
                    parameters: tool.parameters.clone(),
                }
            });
            schemas.collect()
        })
    }

    /// What programs are checked against.
    pub(crate) fn signatures(&self) -> &Arc<[ToolSignature]> {
        self.signatures.get_or_init(|| self.tools.values().map(ToolSignature::of).collect())
    }
}

/// Something that is made once for each language.
#[derive(Debug, Default)]
pub(crate) struct PerLanguage<T>([OnceLock<T>; Language::ALL.len()]);

impl<T> PerLanguage<T> {
    pub(crate) fn of(&self, language: Language, make: impl FnOnce() -> T) -> &T {
        let place = Language::ALL.iter().position(|other| *other == language).unwrap_or(0);
        self.0[place].get_or_init(make)
    }
}

impl fmt::Debug for View {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("View").field("tools", &self.tools.keys()).finish_non_exhaustive()
    }
}

/// Inherited tools that every layer of the chain admits, then the scope's own, unfiltered.
fn visible_tools(chain: &[&LayerData]) -> IndexMap<Str, ToolDefinition> {
    let mut tools = IndexMap::new();
    let Some((own, inherited)) = chain.split_last() else { return tools };
    let keyed = |tool: &ToolDefinition| (tool.tool().name.clone(), tool.clone());
    for layer in inherited {
        tools.extend(layer.tools().map(keyed));
    }
    for entry in chain.iter().flat_map(|layer| layer.entries.values()) {
        if let Entry::Restriction(restriction) = entry {
            tools.retain(|name, _| restriction.admits(name));
        }
    }
    tools.extend(own.tools().map(keyed));
    tools
}

fn all<T>(chain: &[&LayerData], pick: impl Fn(EntryId, &Entry) -> Option<T>) -> Vec<T> {
    let entries = chain.iter().flat_map(|layer| &layer.entries);
    entries.filter_map(|(id, entry)| pick(*id, entry)).collect()
}

/// What is picked by name, nearer layers after farther ones so that they win.
fn named<'a, T>(
    chain: &[&'a LayerData],
    pick: impl Fn(&'a Entry) -> Option<(Str, T)>,
) -> impl Iterator<Item = (Str, T)> {
    chain.iter().flat_map(|layer| layer.entries.values()).filter_map(pick)
}

fn nearest<T>(chain: &[&LayerData], pick: impl Fn(&Entry) -> Option<T>) -> Option<T> {
    chain.iter().rev().flat_map(|layer| layer.entries.values()).find_map(pick)
}

/// What is picked from all layers, in the one order that scopes have no influence on.
fn in_order<'a, H: ?Sized + 'a>(
    chain: &[&'a LayerData],
    pick: impl Fn(&'a Entry) -> Option<&'a Ordered<H>>,
) -> Vec<Arc<H>> {
    let entries = chain.iter().flat_map(|layer| layer.entries.values());
    let mut picked: Vec<&Ordered<H>> = entries.filter_map(pick).collect();
    picked.sort_by_key(|ordered| ordered.order);
    picked.into_iter().map(|ordered| ordered.hook.clone()).collect()
}

fn hooks<'a, S: Stage>(
    chain: &[&'a LayerData],
    pick: impl Fn(&'a Entry) -> Option<&'a Ordered<dyn Hook<S>>>,
) -> Chain<S> {
    in_order(chain, pick).into()
}
