//! Programs in `QuickJS`: one fresh interpreter a run, on the thread of the caller.

mod failure;
mod inspect;
mod raw;
mod read;
mod realm;
mod rejections;
mod run;
mod session;
mod text;
mod timers;
mod watch;
mod write;

use realm::Realm;

pub(crate) use run::{Assignment, run_one};
