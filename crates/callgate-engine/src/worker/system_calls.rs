//! The system calls an interpreter needs, and nothing else: what seccomp lets through.

use std::collections::BTreeMap;

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, TargetArch,
};

/// The filter for a worker that talks through the descriptor `socket` and is the process `pid`.
///
/// Whatever is not listed fails with `EPERM`. Nothing here opens, connects, forks, executes,
/// signals another process or makes memory executable, and descriptors other than the socket are
/// good for nothing.
pub(crate) fn filter(socket: i32, pid: u32) -> Result<BpfProgram, String> {
    compile(allowed(u64::from(socket.unsigned_abs()), u64::from(pid)))
}

/// The filter that lets those calls through, and refuses all others with `EPERM`.
pub(crate) fn compile(calls: Vec<Allowed>) -> Result<BpfProgram, String> {
    let arch = TargetArch::try_from(std::env::consts::ARCH).map_err(|error| error.to_string())?;
    let mut rules = BTreeMap::new();
    for (call, conditions) in calls {
        let conditions: Result<Vec<_>, _> = conditions
            .into_iter()
            .map(|(argument, test, value)| {
                SeccompCondition::new(argument, SeccompCmpArgLen::Dword, test, value)
            })
            .collect();
        let conditions = conditions.map_err(|error| error.to_string())?;
        let chain: &mut Vec<SeccompRule> = rules.entry(call).or_default();
        if !conditions.is_empty() {
            chain.push(SeccompRule::new(conditions).map_err(|error| error.to_string())?);
        }
    }
    let refused = SeccompAction::Errno(libc::EPERM.unsigned_abs());
    let filter = SeccompFilter::new(rules, refused, SeccompAction::Allow, arch);
    filter.and_then(TryInto::try_into).map_err(|error| error.to_string())
}

/// What an argument of a call must be: its place, how it is compared, with what.
pub(crate) type Condition = (u8, SeccompCmpOp, u64);

/// A call with conditions that must all hold. A call that is listed twice has two ways through.
pub(crate) type Allowed = (libc::c_long, Vec<Condition>);

fn allowed(socket: u64, pid: u64) -> Vec<Allowed> {
    let mut calls = vec![
        // The one way out.
        (libc::SYS_read, vec![is(0, socket)]),
        (libc::SYS_write, vec![is(0, socket)]),
        (libc::SYS_recvfrom, vec![is(0, socket)]),
        (libc::SYS_sendto, vec![is(0, socket)]),
        (libc::SYS_ppoll, vec![]),
        // Memory: of its own, and never executable.
        (libc::SYS_mmap, vec![has(3, libc::MAP_ANONYMOUS), lacks(2, libc::PROT_EXEC)]),
        (libc::SYS_mprotect, vec![lacks(2, libc::PROT_EXEC)]),
        (libc::SYS_munmap, vec![]),
        (libc::SYS_mremap, vec![]),
        (libc::SYS_brk, vec![]),
        (libc::SYS_madvise, vec![is(2, bits(libc::MADV_DONTNEED))]),
        (libc::SYS_madvise, vec![is(2, bits(libc::MADV_FREE))]),
        (libc::SYS_futex, vec![]),
        // Time, and chance. The numbers of other processes' clocks are negative.
        (libc::SYS_clock_gettime, vec![own_clock()]),
        (libc::SYS_gettimeofday, vec![]),
        (libc::SYS_getrandom, vec![]),
        (libc::SYS_sched_yield, vec![]),
        // Signals within the process; the only one it may send ends it.
        (libc::SYS_rt_sigreturn, vec![]),
        (libc::SYS_rt_sigprocmask, vec![]),
        (libc::SYS_sigaltstack, vec![]),
        (libc::SYS_restart_syscall, vec![]),
        (libc::SYS_getpid, vec![]),
        (libc::SYS_gettid, vec![]),
        (libc::SYS_tgkill, vec![is(0, pid), is(1, pid), is(2, bits(libc::SIGABRT))]),
        // The end.
        (libc::SYS_exit, vec![]),
        (libc::SYS_exit_group, vec![]),
    ];
    // The generic table, which other architectures use, has only `ppoll`.
    #[cfg(target_arch = "x86_64")]
    calls.push((libc::SYS_poll, vec![]));
    calls
}

/// A clock of the system or of the process itself.
pub(crate) fn own_clock() -> Condition {
    (0, SeccompCmpOp::MaskedEq(0xffff_fff0), 0)
}

pub(crate) fn is(argument: u8, value: u64) -> Condition {
    (argument, SeccompCmpOp::Eq, value)
}

pub(crate) fn has(argument: u8, flag: libc::c_int) -> Condition {
    (argument, SeccompCmpOp::MaskedEq(bits(flag)), bits(flag))
}

pub(crate) fn lacks(argument: u8, flag: libc::c_int) -> Condition {
    (argument, SeccompCmpOp::MaskedEq(bits(flag)), 0)
}

fn bits(flag: libc::c_int) -> u64 {
    u64::from(flag.unsigned_abs())
}
