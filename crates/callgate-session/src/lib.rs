//! Session events, append-only log and log checker for callgate.
//!
//! A [`Session`] is one append-only log of [`Event`]s. What a user interface shows, what the next model request says and
//! what a replay does is made from its events and from nothing else.
//!
//! | I want to …                              | use                                          |
//! |------------------------------------------|----------------------------------------------|
//! | keep a log                               | [`Session::create`], [`Session::in_memory`]  |
//! | go on with one after a crash             | [`Session::open`]                            |
//! | record something                         | [`Session::append`]                          |
//! | refuse events that break a rule          | [`Session::add_check`] with a [`LogChecker`] |
//! | watch                                    | [`Session::observe`]                         |
//! | read a stored log, or follow a live one  | [`LogReader`]                                |
//! | know what the model has read so far      | [`derive_messages`]                          |

mod checker;
mod clock;
mod content;
mod event;
mod form;
mod header;
mod message;
mod reader;
mod repair;
mod session;
mod surface;

pub use checker::{Check, INVARIANT, LogChecker, Violation};
pub use clock::{Clock, SystemClock};
pub use content::Content;
pub use event::*;
pub use form::FormError;
pub use header::{FORMAT_VERSION, SessionHeader};
pub use message::{
    Message, ModelBlock, ModelMessage, ResultMessage, Source, ToolRequest, UserMessage,
};
pub use reader::{LogReader, ReadError};
pub use repair::{NOT_STARTED, OUTCOME_UNKNOWN, repair};
pub use session::{
    AppendError, Durability, Observation, Position, Recovery, Session, SessionError,
    SessionErrorKind, SessionOptions, TornTail,
};
pub use surface::derive_messages;
