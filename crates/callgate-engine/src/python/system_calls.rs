//! The system calls of Python workers: a parent may start an interpreter and fork, a child may
//! compute and talk to its host.

use seccompiler::BpfProgram;

use crate::worker::system_calls::{Allowed, compile, has, is, lacks, own_clock};

/// The descriptor of the one socket, in a parent and in a child.
const SOCKET: u64 = 0;
/// How glibc forks: the child's number is written to its own memory, and its end is a signal.
const FORK: u64 = (libc::CLONE_CHILD_CLEARTID | libc::CLONE_CHILD_SETTID | libc::SIGCHLD) as u64;

/// The filter of a parent, from before its exec on.
///
/// It may read files, which landlock narrows to its own, and fork, and confine its children
/// further; it may open no socket, signal nobody, and gain nothing by a second exec.
pub(super) fn parent() -> Result<BpfProgram, String> {
    compile(of_parent())
}

/// The filter of a child, on top of its parent's.
pub(super) fn child() -> Result<BpfProgram, String> {
    compile(of_child())
}

fn plain(calls: &[libc::c_long]) -> impl Iterator<Item = Allowed> {
    calls.iter().map(|call| (*call, Vec::new()))
}

#[rustfmt::skip]
fn of_parent() -> Vec<Allowed> {
    let mut calls: Vec<Allowed> = plain(&[
        libc::SYS_read, libc::SYS_write, libc::SYS_close, libc::SYS_openat, libc::SYS_newfstatat, libc::SYS_fstat,
        libc::SYS_statx, libc::SYS_lseek, libc::SYS_pread64, libc::SYS_readlinkat, libc::SYS_faccessat,
        libc::SYS_getdents64, libc::SYS_ioctl, libc::SYS_fcntl, libc::SYS_dup, libc::SYS_dup3, libc::SYS_close_range,
        libc::SYS_epoll_create1, libc::SYS_mmap, libc::SYS_mprotect, libc::SYS_munmap, libc::SYS_mremap, libc::SYS_brk,
        libc::SYS_madvise, libc::SYS_set_tid_address, libc::SYS_set_robust_list, libc::SYS_rseq, libc::SYS_prlimit64,
        libc::SYS_getrandom, libc::SYS_gettid, libc::SYS_getpid, libc::SYS_getppid, libc::SYS_getuid,
        libc::SYS_geteuid, libc::SYS_getgid, libc::SYS_getegid, libc::SYS_getcwd, libc::SYS_sysinfo, libc::SYS_uname,
        libc::SYS_futex, libc::SYS_rt_sigaction, libc::SYS_rt_sigprocmask, libc::SYS_rt_sigreturn,
        libc::SYS_sigaltstack, libc::SYS_clock_gettime, libc::SYS_clock_getres, libc::SYS_clock_nanosleep,
        libc::SYS_gettimeofday, libc::SYS_ppoll, libc::SYS_pselect6, libc::SYS_recvfrom, libc::SYS_recvmsg,
        libc::SYS_sendto, libc::SYS_getsockname, libc::SYS_getsockopt, libc::SYS_wait4, libc::SYS_exit,
        libc::SYS_exit_group, libc::SYS_sched_yield, libc::SYS_restart_syscall, libc::SYS_execve,
    ]).collect();
    #[cfg(target_arch = "x86_64")]
    calls.extend(plain(&[
        libc::SYS_open, libc::SYS_stat, libc::SYS_lstat, libc::SYS_access, libc::SYS_readlink, libc::SYS_dup2,
        libc::SYS_poll, libc::SYS_select, libc::SYS_arch_prctl,
    ]));
    calls.push((libc::SYS_clone, vec![is(0, FORK)]));
    calls.push((libc::SYS_clone, vec![is(0, bits(libc::SIGCHLD))]));
    for option in [libc::PR_SET_PDEATHSIG, libc::PR_SET_DUMPABLE, libc::PR_SET_SECCOMP] {
        calls.push((libc::SYS_prctl, vec![is(0, bits(option))]));
    }
    calls
}

#[rustfmt::skip]
fn of_child() -> Vec<Allowed> {
    let mut calls: Vec<Allowed> = plain(&[
        libc::SYS_munmap, libc::SYS_mremap, libc::SYS_brk, libc::SYS_futex, libc::SYS_rt_sigreturn,
        libc::SYS_rt_sigprocmask, libc::SYS_sigaltstack, libc::SYS_clock_nanosleep, libc::SYS_gettimeofday,
        libc::SYS_getrandom, libc::SYS_sched_yield, libc::SYS_getpid, libc::SYS_gettid, libc::SYS_ppoll,
        libc::SYS_restart_syscall, libc::SYS_exit, libc::SYS_exit_group,
    ]).collect();
    for call in [
        libc::SYS_read, libc::SYS_write, libc::SYS_recvfrom, libc::SYS_sendto, libc::SYS_close, libc::SYS_getsockname,
        libc::SYS_getsockopt,
    ] {
        calls.push((call, vec![is(0, SOCKET)]));
    }
    calls.extend([
        // Python 3.10 sleeps with it, on no descriptor.
        (libc::SYS_pselect6, vec![is(0, 0)]),
        // Memory: of its own, and never executable.
        (libc::SYS_mmap, vec![has(3, libc::MAP_ANONYMOUS), lacks(2, libc::PROT_EXEC)]),
        (libc::SYS_mprotect, vec![lacks(2, libc::PROT_EXEC)]),
        (libc::SYS_madvise, vec![is(2, bits(libc::MADV_DONTNEED))]),
        (libc::SYS_madvise, vec![is(2, bits(libc::MADV_FREE))]),
        (libc::SYS_clock_gettime, vec![own_clock()]),
    ]);
    #[cfg(target_arch = "x86_64")]
    calls.extend([
        (libc::SYS_poll, vec![]),
        (libc::SYS_select, vec![is(0, 0)]),
    ]);
    calls
}

fn bits(flag: libc::c_int) -> u64 {
    u64::from(flag.unsigned_abs())
}
