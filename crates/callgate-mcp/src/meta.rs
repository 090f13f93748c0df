//! What callgate adds to messages of others: members of `_meta` whose names start with
//! `callgate/`, and nothing else.

use callgate::{Json, Object};

/// On a result: what is wrong with it, as a list of texts.
pub(crate) const WARNINGS: &str = "callgate/warnings";

/// On a result: that the tool asked to end the turn.
pub(crate) const CONCLUDES_TURN: &str = "callgate/concludesTurn";

/// On a tool: the output schema that its server declares but may not keep.
pub(crate) const OUTPUT_SCHEMA: &str = "callgate/outputSchema";

/// On a tool, a prompt or a resource: the server it belongs to and what it is called there.
pub(crate) const ORIGIN: &str = "callgate/origin";

/// The object with one more member in its `_meta`.
pub(crate) fn with(object: &Object, name: &str, value: impl Into<Json>) -> Object {
    let meta = object.get("_meta").and_then(Json::as_object).cloned().unwrap_or_default();
    object.with("_meta", Json::Object(meta.with(name, value)))
}
