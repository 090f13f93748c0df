//! What keeps a worker from its host, measure by measure.

use std::fmt;

use callgate_core::program::Isolation;
use callgate_schema::{Json, Object, Str};

/// What keeps the worker processes of an engine from the host, as they found out themselves.
///
/// ```no_run
/// # fn main() -> Result<(), callgate_core::program::EngineError> {
/// use callgate_engine::TypeScript;
/// use callgate_engine::worker::{Effect, Measure};
///
/// let engine = TypeScript::worker().build()?;
/// if let Effect::None(why) = engine.confinement().effect(Measure::SystemCalls) {
///     eprintln!("programs could reach this system: {why}");
/// }
/// println!("{}", engine.confinement());
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Confinement([Effect; Measure::ALL.len()]);

/// One measure of a [`Confinement`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Measure {
    /// Only the few system calls that an interpreter needs are answered (seccomp): no file, no
    /// network, no process, no thread. This is the boundary.
    SystemCalls,
    /// The process can never gain privileges.
    Privileges,
    /// Limits on address space, processor time, descriptors and core files.
    Limits,
    /// Files and the network are out of reach once more (landlock), whatever the first measure
    /// lets through. Its absence weakens nothing that is promised.
    Files,
    /// The kernel ends the worker with its host.
    Death,
    /// No other process of the user can look into the worker.
    Privacy,
    /// Descriptors that the host left open are closed.
    Descriptors,
}

/// How far a [`Measure`] is in force.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "a measure is in force, or in part, or not")]
pub enum Effect {
    /// It is in force.
    Full,
    /// A part of it is, and this is why not all.
    Partial(Str),
    /// It is not, and this is why.
    None(Str),
}

impl Measure {
    /// Every measure, the most important first.
    pub const ALL: [Self; 7] = [
        Self::SystemCalls,
        Self::Privileges,
        Self::Limits,
        Self::Files,
        Self::Death,
        Self::Privacy,
        Self::Descriptors,
    ];

    /// Its name for people.
    pub fn name(self) -> &'static str {
        match self {
            Self::SystemCalls => "system calls",
            Self::Privileges => "privileges",
            Self::Limits => "limits",
            Self::Files => "files",
            Self::Death => "death with the host",
            Self::Privacy => "privacy",
            Self::Descriptors => "descriptors",
        }
    }
}

impl Confinement {
    /// Nothing is in force so far.
    pub(crate) fn none() -> Self {
        Self(Measure::ALL.map(|_| Effect::None("not tried".into())))
    }

    pub(crate) fn set(&mut self, measure: Measure, effect: Effect) {
        self.0[measure as usize] = effect;
    }

    /// How far a measure is in force.
    pub fn effect(&self, measure: Measure) -> &Effect {
        &self.0[measure as usize]
    }

    /// What all of it comes to: [`Isolation::WorkerConfined`] if system calls, privileges and
    /// limits are in force, else [`Isolation::Worker`].
    pub fn isolation(&self) -> Isolation {
        let boundary = [Measure::SystemCalls, Measure::Privileges, Measure::Limits];
        if boundary.iter().all(|measure| *self.effect(*measure) == Effect::Full) {
            Isolation::WorkerConfined
        } else {
            Isolation::Worker
        }
    }

    pub(crate) fn write(&self) -> Json {
        let effects = self.0.iter().map(|effect| match effect {
            Effect::Full => Json::from(Object::builder().build()),
            Effect::Partial(why) => Object::builder().with("partial", why.clone()).build().into(),
            Effect::None(why) => Object::builder().with("none", why.clone()).build().into(),
        });
        effects.collect::<Vec<Json>>().into()
    }

    pub(crate) fn read(json: &Json) -> Option<Self> {
        let mut confinement = Self::none();
        let effects = json.as_array()?;
        for (measure, effect) in Measure::ALL.into_iter().zip(effects.iter()) {
            let why = |name: &str| effect.get(name)?.to_str();
            let effect = match (why("partial"), why("none")) {
                (Some(why), _) => Effect::Partial(why),
                (None, Some(why)) => Effect::None(why),
                (None, None) => Effect::Full,
            };
            confinement.set(measure, effect);
        }
        Some(confinement)
    }
}

/// The level, and then each measure that is not in full force.
impl fmt::Display for Confinement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.isolation())?;
        for measure in Measure::ALL {
            match self.effect(measure) {
                Effect::Full => {}
                Effect::Partial(why) => write!(f, "; {} only in part: {why}", measure.name())?,
                Effect::None(why) => write!(f, "; no measure for {}: {why}", measure.name())?,
            }
        }
        Ok(())
    }
}
