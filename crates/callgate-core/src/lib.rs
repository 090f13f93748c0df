//! Registry, scopes, hooks and the guarded call pipeline of callgate.
//!
//! Most users name the crate `callgate`, which re-exports this one together with an engine.

mod approval;
mod call;
mod change;
mod cleanup;
mod code;
mod error;
pub mod hook;
pub mod hooks;
mod invariants;
mod ordered;
pub mod phase;
mod pipeline;
mod plugin;
pub mod preflight;
pub mod program;
mod prompt;
mod record;
mod registry;
mod restriction;
mod result;
mod scheduler;
mod scope;
mod signal;
pub mod testing;
mod tool;
mod typed;
mod view;

pub use approval::{Approval, ApprovalRequest, Approver};
pub use call::{Call, CallInput, Token};
pub use change::{Change, Place, ScopeChange};
pub use code::{RUN_CODE, SdkDetail, SdkOptions};
pub use error::{Error, ErrorInfo, ErrorKind, FailureClass, HookError, ToolError, codes};
pub use hook::{Decision, Denial, Executed, Hook, Next, PostDecision, Question};
pub use invariants::{Invariants, StageName};
pub use pipeline::Execution;
pub use plugin::{Plugin, PluginHandle};
pub use program::Language;
pub use prompt::{
    Assembly, ContextEntry, Prompt, PromptSection, Section, UNLISTED_TOOLS, Variable,
};
pub use record::{Recorder, SessionStep};
pub use registry::{Layer, Mode, Registration, RegistrationGuard, ScopeId};
pub use restriction::Restriction;
pub use result::{CallResult, Outcome};
pub use scheduler::{Scheduler, StepResults};
pub use scope::{ExecutionMode, RuntimeBuilder, Scope, ToolRuntime};
pub use signal::{Cause, Signal};
pub use tool::{Output, OutputSchema, Parameters, Returned, ToolContext, ToolDefinition, render};
pub use typed::Tool;
pub use view::ToolSchema;

/// What `#[tool]` writes its code in terms of; not for use by hand, and free to change.
#[doc(hidden)]
pub mod __private {
    pub use crate::typed::function::{
        Ending, Function, Input, Parameter, PlainReturn, Return, Slot,
    };
    pub use crate::{ToolContext, ToolDefinition};
}
