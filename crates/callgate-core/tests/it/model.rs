//! The registry against a naive model: random steps, then every view compared.

use std::collections::BTreeSet;

use callgate_core::{
    CallInput, Change, Mode, Registration, Restriction, Scope, ToolRuntime, codes,
};
use callgate_schema::json;
use proptest::prelude::*;

use crate::support::plain;

const NAMES: [&str; 5] = ["a", "b", "c", "d", "e"];

#[derive(Clone, Debug)]
enum Step {
    Child { of: usize },
    Register { at: usize, name: usize },
    Restrict { at: usize, allow: Option<Vec<usize>>, deny: Vec<usize> },
    Present { at: usize, mode: u8 },
    Undo { which: usize },
    Replace { which: usize, name: usize },
    Dispose { at: usize },
    Call { at: usize, name: usize },
}

fn step() -> impl Strategy<Value = Step> {
    let place = 0..6_usize;
    let name = 0..NAMES.len();
    let some_names = prop::collection::vec(0..NAMES.len(), 0..3);
    prop_oneof![
        2 => place.clone().prop_map(|of| Step::Child { of }),
        6 => (place.clone(), name.clone()).prop_map(|(at, name)| Step::Register { at, name }),
        3 => (place.clone(), prop::option::of(some_names.clone()), some_names)
            .prop_map(|(at, allow, deny)| Step::Restrict { at, allow, deny }),
        1 => (place.clone(), 0..3_u8).prop_map(|(at, mode)| Step::Present { at, mode }),
        4 => (0..20_usize).prop_map(|which| Step::Undo { which }),
        2 => (0..20_usize, name.clone()).prop_map(|(which, name)| Step::Replace { which, name }),
        1 => place.clone().prop_map(|at| Step::Dispose { at }),
        4 => (place, name).prop_map(|(at, name)| Step::Call { at, name }),
    ]
}

/// What one layer holds, in order of registration.
#[derive(Clone, Debug)]
enum Held {
    Tool(usize),
    Mask { allow: Option<Vec<usize>>, deny: Vec<usize> },
    Mode(Mode),
}

/// The naive registry: every question walks everything.
#[derive(Debug, Default)]
struct Model {
    parents: Vec<Option<usize>>,
    disposed: BTreeSet<usize>,
    entries: Vec<(u64, usize, Held)>,
    next: u64,
}

impl Model {
    fn chain(&self, scope: usize) -> Vec<usize> {
        let mut chain: Vec<usize> =
            std::iter::successors(Some(scope), |scope| self.parents[*scope]).collect();
        chain.reverse();
        chain
    }

    fn is_disposed(&self, scope: usize) -> bool {
        self.chain(scope).iter().any(|scope| self.disposed.contains(scope))
    }

    fn held(&self, scope: usize) -> impl Iterator<Item = &Held> {
        self.entries.iter().filter(move |(_, at, _)| *at == scope).map(|(_, _, held)| held)
    }

    fn tools(&self, scope: usize) -> Vec<usize> {
        let pick = |held: &Held| if let Held::Tool(name) = held { Some(*name) } else { None };
        self.held(scope).filter_map(pick).collect()
    }

    fn view(&self, scope: usize) -> Vec<usize> {
        let chain = self.chain(scope);
        let (own, inherited) = chain.split_last().unwrap();
        let mut view: Vec<usize> = Vec::new();
        let add = |view: &mut Vec<usize>, names: Vec<usize>| {
            for name in names {
                if !view.contains(&name) {
                    view.push(name);
                }
            }
        };
        for layer in inherited {
            add(&mut view, self.tools(*layer));
        }
        for layer in &chain {
            for held in self.held(*layer) {
                if let Held::Mask { allow, deny } = held {
                    view.retain(|name| {
                        allow.as_ref().is_none_or(|allow| allow.contains(name))
                            && !deny.contains(name)
                    });
                }
            }
        }
        add(&mut view, self.tools(*own));
        view
    }

    fn mode(&self, scope: usize) -> Mode {
        let pick = |held: &Held| if let Held::Mode(mode) = held { Some(*mode) } else { None };
        let chain = self.chain(scope);
        chain.iter().rev().find_map(|layer| self.held(*layer).find_map(pick)).unwrap_or_default()
    }

    /// Whether an entry may be added, and its id if it was.
    fn add(&mut self, at: usize, held: Held) -> Option<u64> {
        if self.is_disposed(at) {
            return None;
        }
        let is_allowed = match &held {
            Held::Tool(name) => !self.tools(at).contains(name),
            Held::Mode(_) => !self.held(at).any(|held| matches!(held, Held::Mode(_))),
            Held::Mask { allow, deny } => {
                let chain = self.chain(at);
                let inherited: BTreeSet<usize> =
                    chain[..chain.len() - 1].iter().flat_map(|layer| self.tools(*layer)).collect();
                allow.iter().flatten().chain(deny).all(|name| inherited.contains(name))
            }
        };
        is_allowed.then(|| {
            self.next += 1;
            self.entries.push((self.next, at, held));
            self.next
        })
    }

    fn remove(&mut self, id: u64) {
        self.entries.retain(|(entry, _, _)| *entry != id);
    }
}

/// The runtime under test beside its model; scope 0 is the runtime itself.
struct Pair {
    runtime: ToolRuntime,
    scopes: Vec<Scope>,
    model: Model,
    registrations: Vec<(usize, u64, Registration)>,
}

impl Pair {
    fn new() -> Self {
        let runtime = ToolRuntime::builder().invariants(false).build().unwrap();
        let model = Model { parents: vec![None], ..Model::default() };
        Self { runtime, scopes: Vec::new(), model, registrations: Vec::new() }
    }

    fn place(&self, index: usize) -> usize {
        index % self.model.parents.len()
    }

    fn layer(&self, at: usize) -> &callgate_core::Layer {
        if at == 0 { &self.runtime } else { &self.scopes[at - 1] }
    }

    fn note(&mut self, at: usize, held: &Held, real: Result<Registration, callgate_core::Error>) {
        let expected = self.model.add(at, held.clone());
        match (expected, real) {
            (Some(id), Ok(registration)) => self.registrations.push((at, id, registration)),
            (None, Err(_)) => {}
            (expected, real) => panic!("{held:?} at {at}: model {expected:?}, real {real:?}"),
        }
    }

    async fn take(&mut self, step: Step) {
        match step {
            Step::Child { of } => {
                let of = self.place(of);
                if self.model.parents.len() < 6 && !self.model.is_disposed(of) {
                    self.scopes.push(self.layer(of).scope());
                    self.model.parents.push(Some(of));
                }
            }
            Step::Register { at, name } => {
                let at = self.place(at);
                let real = self.layer(at).register(plain(NAMES[name]));
                self.note(at, &Held::Tool(name), real);
            }
            Step::Restrict { at, allow, deny } => {
                let at = self.place(at);
                if at > 0 {
                    let named = |names: &Vec<usize>| {
                        names.iter().map(|name| NAMES[*name]).collect::<Vec<_>>()
                    };
                    let real = match &allow {
                        Some(allow) => Restriction::allow(named(allow)).and_deny(named(&deny)),
                        None => Restriction::deny(named(&deny)),
                    };
                    let real = self.scopes[at - 1].restrict(real);
                    self.note(at, &Held::Mask { allow, deny }, real);
                }
            }
            Step::Present { at, mode } => {
                let at = self.place(at);
                if at > 0 {
                    let mode = [Mode::Native, Mode::Code, Mode::Both][usize::from(mode)];
                    let real = self.scopes[at - 1].present_as(mode);
                    self.note(at, &Held::Mode(mode), real);
                }
            }
            Step::Undo { which } => {
                if !self.registrations.is_empty() {
                    let (_, id, registration) =
                        &self.registrations[which % self.registrations.len()];
                    registration.dispose();
                    self.model.remove(*id);
                }
            }
            Step::Replace { which, name } => self.replace(which, name),
            Step::Dispose { at } => {
                let at = self.place(at);
                if at > 0 {
                    self.scopes[at - 1].dispose().await;
                    self.model.disposed.insert(at);
                    let gone: Vec<usize> = (0..self.model.parents.len())
                        .filter(|scope| self.model.is_disposed(*scope))
                        .collect();
                    self.model.entries.retain(|(_, at, _)| !gone.contains(at));
                }
            }
            Step::Call { at, name } => self.call(self.place(at), name).await,
        }
    }

    /// Undoes one registration and adds a tool in its layer, at once or not at all.
    fn replace(&mut self, which: usize, name: usize) {
        if self.registrations.is_empty() {
            return;
        }
        let which = which % self.registrations.len();
        let (at, old, registration) = self.registrations[which].clone();
        let real = self.layer(at).change(|change: &mut Change<'_>| {
            change.undo(&registration);
            change.register(plain(NAMES[name]))
        });
        let before = self.model.entries.clone();
        self.model.remove(old);
        match (self.model.add(at, Held::Tool(name)), real) {
            (Some(id), Ok(registration)) => self.registrations.push((at, id, registration)),
            (None, Err(_)) => self.model.entries = before,
            (expected, real) => panic!("replace at {at}: model {expected:?}, real {real:?}"),
        }
    }

    async fn call(&self, at: usize, name: usize) {
        let input = CallInput::new("1", NAMES[name], json!({}));
        let result = self.layer(at).execute(input).await;
        let visible = self.model.view(at).contains(&name);
        let runs = visible && self.model.mode(at) != Mode::Code && !self.model.is_disposed(at);
        assert_eq!(!result.is_error(), runs, "call of {} at {at}: {}", NAMES[name], result.text());
        if self.model.mode(at) == Mode::Code && visible {
            assert_eq!(result.error().unwrap().code(), Some(codes::UNKNOWN_TOOL));
        }
    }

    fn compare(&self) {
        for at in 0..self.model.parents.len() {
            let layer = self.layer(at);
            let mut expected: Vec<&str> =
                self.model.view(at).into_iter().map(|name| NAMES[name]).collect();
            let seen: Vec<String> =
                layer.schemas().iter().map(|tool| tool.name.to_string()).collect();
            if self.model.mode(at) != Mode::Native {
                expected.push(callgate_core::RUN_CODE);
            }
            assert_eq!(seen, expected, "view of {at}");
            assert_eq!(layer.mode(), self.model.mode(at), "mode of {at}");
        }
    }
}

fn cases(short: u32, long: u32) -> u32 {
    if std::env::var_os("CALLGATE_TEST_LONG").is_some() { long } else { short }
}

// VIS-1 VIS-2 VIS-3 VIS-4 SCOPE-10 SCOPE-11 SCOPE-12 SCOPE-13 REG-24
#[test]
fn the_registry_agrees_with_a_naive_model() {
    let tokio = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let config = ProptestConfig { cases: cases(10_000, 100_000), ..ProptestConfig::default() };
    // On failure proptest prints the steps, shrunk, and the seed.
    proptest!(config, |(steps in prop::collection::vec(step(), 1..30))| {
        tokio.block_on(async {
            let mut pair = Pair::new();
            for step in steps {
                pair.take(step).await;
            }
            pair.compare();
        });
    });
}
