//! The steps by which a worker cuts itself off from its host, in the only order that works.

use callgate_schema::Str;

use super::confinement::{Confinement, Effect, Measure};

/// What a worker may still have.
#[derive(Clone, Copy, Debug)]
pub(super) struct Allowance {
    /// Bytes of address space.
    pub(super) address_space: u64,
    /// Seconds of processor time.
    pub(super) cpu_seconds: u64,
    /// Bytes of stack of the thread that runs programs.
    pub(super) stack: u64,
    /// The descriptor of the socket to the host: 0, 1 or 2.
    pub(super) socket: i32,
}

/// Cuts this process off, and tells how far that went.
///
/// It must be the only thread, and have read nothing of any program. Not a step is taken for
/// granted: what fails is in the report.
pub(super) fn confine(allowance: Allowance) -> Confinement {
    let mut confinement = Confinement::none();
    let mut take = |measure, effect: Result<Effect, String>| {
        confinement.set(measure, effect.unwrap_or_else(|why| Effect::None(why.into())));
    };
    take(Measure::Death, steps::die_with_the_host());
    take(Measure::Privacy, steps::hide());
    take(Measure::Descriptors, steps::close_descriptors());
    take(Measure::Privileges, steps::renounce_privileges());
    // The ruleset of landlock is a descriptor for a moment: the limit on those comes after it.
    take(Measure::Files, steps::shut_files());
    take(Measure::Limits, limit(allowance));
    take(Measure::SystemCalls, steps::filter_system_calls(allowance.socket));
    confinement
}

fn limit(allowance: Allowance) -> Result<Effect, String> {
    if !super::raw::let_crashes_end_the_process() {
        return Err("the handlers of crashes could not be reset".to_owned());
    }
    steps::limit(allowance)
}

fn partial(why: impl Into<Str>) -> Effect {
    Effect::Partial(why.into())
}

#[cfg(target_os = "linux")]
mod steps {
    use landlock::{
        ABI, Access, AccessFs, AccessNet, RestrictionStatus, Ruleset, RulesetAttr, RulesetError,
        RulesetStatus, Scope,
    };
    use rustix::process::{
        DumpableBehavior, Resource, Rlimit, Signal, getrlimit, set_dumpable_behavior,
        set_parent_process_death_signal, setrlimit,
    };
    use rustix::thread::set_no_new_privs;

    use super::{Allowance, Effect, partial};
    use crate::worker::{raw, system_calls};

    /// The highest interface of landlock that was tested with this worker.
    const TESTED: ABI = ABI::V6;

    pub(super) fn die_with_the_host() -> Result<Effect, String> {
        full(set_parent_process_death_signal(Some(Signal::KILL)))
    }

    pub(super) fn hide() -> Result<Effect, String> {
        full(set_dumpable_behavior(DumpableBehavior::NotDumpable))
    }

    pub(super) fn close_descriptors() -> Result<Effect, String> {
        full(raw::close_other_descriptors())
    }

    pub(super) fn renounce_privileges() -> Result<Effect, String> {
        full(set_no_new_privs(true))
    }

    pub(super) fn shut_files() -> Result<Effect, String> {
        let status = landlocked().map_err(|error| error.to_string())?;
        Ok(match status.ruleset {
            RulesetStatus::FullyEnforced => Effect::Full,
            RulesetStatus::PartiallyEnforced => partial("this kernel knows an older landlock"),
            RulesetStatus::NotEnforced => return Err("this kernel has no landlock".to_owned()),
        })
    }

    /// A ruleset without a rule: everything it handles is refused.
    fn landlocked() -> Result<RestrictionStatus, RulesetError> {
        Ruleset::default()
            .handle_access(AccessFs::from_all(TESTED))?
            .handle_access(AccessNet::from_all(TESTED))?
            .scope(Scope::from_all(TESTED))?
            .create()?
            .restrict_self()
    }

    pub(super) fn limit(allowance: Allowance) -> Result<Effect, String> {
        raise_stack(allowance.stack)?;
        let limits = [
            (Resource::Core, 0),
            (Resource::Memlock, 0),
            (Resource::Msgqueue, 0),
            (Resource::Cpu, allowance.cpu_seconds),
            (Resource::As, allowance.address_space),
            // The three it has. A poll of one is refused below the number of those.
            (Resource::Nofile, 3),
        ];
        for (resource, value) in limits {
            let maximum = getrlimit(resource).maximum.map_or(value, |maximum| maximum.min(value));
            let limit = Rlimit { current: Some(maximum), maximum: Some(maximum) };
            setrlimit(resource, limit).map_err(|error| format!("{resource:?}: {error}"))?;
        }
        Ok(Effect::Full)
    }

    /// The main thread's stack grows up to this limit, whatever it was when the process began.
    fn raise_stack(bytes: u64) -> Result<(), String> {
        let limit = getrlimit(Resource::Stack);
        if limit.maximum.is_some_and(|maximum| maximum < bytes) {
            return Err(format!("the stack may not grow to {bytes} bytes: raise `ulimit -Hs`"));
        }
        let limit = Rlimit { current: Some(bytes), maximum: Some(bytes) };
        setrlimit(Resource::Stack, limit).map_err(|error| format!("stack: {error}"))
    }

    pub(super) fn filter_system_calls(socket: i32) -> Result<Effect, String> {
        let filter = system_calls::filter(socket, std::process::id())?;
        full(seccompiler::apply_filter_all_threads(&filter))
    }

    fn full<E: ToString>(done: Result<(), E>) -> Result<Effect, String> {
        done.map(|()| Effect::Full).map_err(|error| error.to_string())
    }
}

/// Systems that can limit a process but not confine it.
#[cfg(not(target_os = "linux"))]
mod steps {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

    use super::{Allowance, Effect, partial};

    const UNKNOWN: &str = "this system has nothing of the kind";

    pub(super) fn die_with_the_host() -> Result<Effect, String> {
        Ok(partial("a worker notices only when it waits"))
    }

    pub(super) fn hide() -> Result<Effect, String> {
        Err(UNKNOWN.to_owned())
    }

    pub(super) fn close_descriptors() -> Result<Effect, String> {
        Err(UNKNOWN.to_owned())
    }

    pub(super) fn renounce_privileges() -> Result<Effect, String> {
        Err(UNKNOWN.to_owned())
    }

    pub(super) fn shut_files() -> Result<Effect, String> {
        Err(UNKNOWN.to_owned())
    }

    pub(super) fn limit(allowance: Allowance) -> Result<Effect, String> {
        let limits = [
            (Resource::Stack, allowance.stack),
            (Resource::Core, 0),
            (Resource::Cpu, allowance.cpu_seconds),
        ];
        for (resource, value) in limits {
            let maximum = getrlimit(resource).maximum.map_or(value, |maximum| maximum.min(value));
            let limit = Rlimit { current: Some(maximum), maximum: Some(maximum) };
            setrlimit(resource, limit).map_err(|error| format!("{resource:?}: {error}"))?;
        }
        Ok(partial("the address space is not limited here; the interpreter limits itself"))
    }

    pub(super) fn filter_system_calls(_socket: i32) -> Result<Effect, String> {
        Err(UNKNOWN.to_owned())
    }
}
