//! The versions of the Model Context Protocol that are spoken, on both sides.

use callgate::{Json, Object, json};

/// Versions with an `initialize` handshake, oldest first.
pub(crate) const VERSIONS: &[&str] = &["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];

/// The newest of them.
pub(crate) const NEWEST: &str = "2025-11-25";

pub(crate) fn is_known(version: &str) -> bool {
    VERSIONS.contains(&version)
}

/// The version to answer a client with: its own, if it is known.
pub(crate) fn negotiate(wanted: Option<&str>) -> &'static str {
    let known = wanted.and_then(|wanted| VERSIONS.iter().find(|version| **version == wanted));
    known.copied().unwrap_or(NEWEST)
}

/// What servers are greeted with.
pub(crate) fn hello() -> Object {
    Object::builder()
        .with("protocolVersion", NEWEST)
        .with("capabilities", json!({}))
        .with("clientInfo", identity())
        .build()
}

/// Who speaks.
pub(crate) fn identity() -> Json {
    json!({ "name": "callgate", "version": env!("CARGO_PKG_VERSION") })
}
