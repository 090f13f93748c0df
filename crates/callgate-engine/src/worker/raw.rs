//! The system calls that no safe interface has.
//!
//! One of the two places of the project where `unsafe` is allowed.
#![expect(
    unsafe_code,
    reason = "signal dispositions, descriptors nobody owns, clocks of processes"
)]

#[cfg(all(target_os = "linux", feature = "python"))]
use std::os::unix::process::CommandExt as _;
use std::time::Duration;

use rustix::process::Pid;

/// Lets a crash end the process.
///
/// Rust's own handler of these signals would return to the faulting instruction for ever once a
/// filter forbids it to restore the default.
pub(crate) fn let_crashes_end_the_process() -> bool {
    [libc::SIGSEGV, libc::SIGBUS].into_iter().all(|signal| {
        // SAFETY: the default disposition runs no code of ours.
        unsafe { libc::signal(signal, libc::SIG_DFL) != libc::SIG_ERR }
    })
}

/// Has the allocator keep the memory of one interpreter for the next, which else would cost a
/// fault a page, each time.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
pub(crate) fn keep_memory() {
    const KEPT: libc::c_int = 8 << 20;
    // SAFETY: it only changes when memory goes back to the system.
    unsafe { libc::mallopt(libc::M_TRIM_THRESHOLD, KEPT) };
}

/// The allocator decides for itself.
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
pub(crate) fn keep_memory() {}

/// Closes every descriptor after the three standard ones.
#[cfg(target_os = "linux")]
pub(crate) fn close_other_descriptors() -> std::io::Result<()> {
    // SAFETY: the process has just begun, with nothing but what it inherited: nobody in it owns
    // any of these descriptors.
    match unsafe { libc::syscall(libc::SYS_close_range, 3_u32, u32::MAX, 0_u32) } {
        0 => Ok(()),
        _ => Err(std::io::Error::last_os_error()),
    }
}

/// The processor time a process has used, threads and all.
#[cfg(target_os = "linux")]
pub(crate) fn processor_time(process: Pid) -> Option<Duration> {
    /// The scheduler's clock, in the numbers the kernel gives to clocks of processes.
    const SCHEDULER: libc::clockid_t = 2;
    let clock = (!process.as_raw_nonzero().get() << 3) | SCHEDULER;
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the pointer is valid for the call.
    let status = unsafe { libc::clock_gettime(clock, &raw mut time) };
    let (seconds, nanoseconds) = (u64::try_from(time.tv_sec), u32::try_from(time.tv_nsec));
    (status == 0).then(|| Some(Duration::new(seconds.ok()?, nanoseconds.ok()?)))?
}

/// The processor time of another process is not told here: only the worker's own account counts.
#[cfg(not(target_os = "linux"))]
pub(crate) fn processor_time(_process: Pid) -> Option<Duration> {
    None
}

/// Has a command cut itself off between its fork and its exec.
#[cfg(all(target_os = "linux", feature = "python"))]
pub(crate) fn enter_before_exec(
    command: &mut std::process::Command,
    mut cage: crate::python::cage::Cage,
) {
    // SAFETY: what happens there is system calls on memory that was made before the fork.
    unsafe { command.pre_exec(move || cage.enter()) };
}

/// Marks every descriptor after the three standard ones: none of them is there after an exec.
#[cfg(all(target_os = "linux", feature = "python"))]
pub(crate) fn close_other_descriptors_on_exec() -> std::io::Result<()> {
    // SAFETY: nothing is closed that a process which does not call exec could miss.
    match unsafe {
        libc::syscall(libc::SYS_close_range, 3_u32, u32::MAX, libc::CLOSE_RANGE_CLOEXEC)
    } {
        0 => Ok(()),
        _ => Err(std::io::Error::last_os_error()),
    }
}
