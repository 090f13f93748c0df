//! What the parent of Python programs is put into before it is an interpreter.

use std::io;
use std::path::Path;

use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, PathBeneath, PathFd,
    Ruleset, RulesetAttr, RulesetCreated, RulesetCreatedAttr, RulesetError, Scope,
};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use rustix::thread::set_no_new_privs;
use seccompiler::BpfProgram;

use super::interpreter::Interpreter;
use crate::worker::confinement::Effect;
use crate::worker::raw;

/// The highest interface of landlock that was tested with these workers.
const TESTED: ABI = ABI::V6;
/// Descriptors a parent may have: its own, and those of modules it imports.
const DESCRIPTORS: u64 = 64;
/// The stack of the only thread. Deep recursion of the interpreter is limited before it is full.
const STACK: u64 = 8 << 20;

/// Made before a fork, entered between it and the exec: nothing there takes memory or a lock.
#[derive(Debug)]
pub(crate) struct Cage {
    pub(super) address_space: u64,
    /// None where the kernel has no landlock, or nobody wants it.
    pub(super) files: Option<RulesetCreated>,
    /// None where nobody wants it.
    pub(super) filter: Option<BpfProgram>,
}

impl Cage {
    /// Cuts this process off.
    pub(crate) fn enter(&mut self) -> io::Result<()> {
        // Without it a parent closes the descriptors itself.
        let _ = raw::close_other_descriptors_on_exec();
        set_no_new_privs(true)?;
        for (resource, value) in [
            (Resource::Core, 0),
            (Resource::Memlock, 0),
            (Resource::Msgqueue, 0),
            (Resource::Nofile, DESCRIPTORS),
            (Resource::Stack, STACK),
            (Resource::As, self.address_space),
        ] {
            let maximum = getrlimit(resource).maximum.map_or(value, |maximum| maximum.min(value));
            let limit = Rlimit { current: Some(maximum), maximum: Some(maximum) };
            setrlimit(resource, limit)?;
        }
        if let Some(files) = self.files.take() {
            files.restrict_self().map_err(|_| io::Error::from(io::ErrorKind::PermissionDenied))?;
        }
        if let Some(filter) = &self.filter {
            seccompiler::apply_filter(filter)
                .map_err(|_| io::Error::from(io::ErrorKind::Unsupported))?;
        }
        Ok(())
    }
}

/// The files of an interpreter, and no others; how far that is in force.
pub(super) fn files(interpreter: &Interpreter) -> (Option<RulesetCreated>, Effect) {
    let created = |level, abi| ruleset(interpreter, level, abi);
    if let Ok(files) = created(CompatLevel::HardRequirement, TESTED) {
        return (Some(files), Effect::Full);
    }
    match created(CompatLevel::HardRequirement, ABI::V1) {
        Ok(oldest) => match created(CompatLevel::BestEffort, TESTED) {
            Ok(files) => (Some(files), partial()),
            Err(_) => (Some(oldest), partial()),
        },
        Err(error) => (None, Effect::None(error.to_string().into())),
    }
}

fn partial() -> Effect {
    Effect::Partial("this kernel knows an older landlock".into())
}

fn ruleset(
    interpreter: &Interpreter,
    level: CompatLevel,
    abi: ABI,
) -> Result<RulesetCreated, RulesetError> {
    let mut ruleset =
        Ruleset::default().set_compatibility(level).handle_access(AccessFs::from_all(abi))?;
    if !AccessNet::from_all(abi).is_empty() {
        ruleset = ruleset.handle_access(AccessNet::from_all(abi))?;
    }
    if !Scope::from_all(abi).is_empty() {
        ruleset = ruleset.scope(Scope::from_all(abi))?;
    }
    let mut created = ruleset.create()?;
    let read: BitFlags<AccessFs> = AccessFs::ReadFile.into();
    for file in &interpreter.mapped {
        created = allow(created, file.as_ref(), read | AccessFs::Execute)?;
    }
    for directory in &interpreter.library {
        created = allow(created, directory.as_ref(), read | AccessFs::ReadDir)?;
    }
    allow(created, Path::new("/etc/ld.so.cache"), read)
}

/// What does not exist needs no rule.
fn allow(
    ruleset: RulesetCreated,
    path: &Path,
    access: BitFlags<AccessFs>,
) -> Result<RulesetCreated, RulesetError> {
    match PathFd::new(path) {
        Ok(file) => ruleset.add_rule(PathBeneath::new(file, access)),
        Err(_) => Ok(ruleset),
    }
}
