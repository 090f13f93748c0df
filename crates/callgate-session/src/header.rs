//! [`SessionHeader`]: the first line of a stored log.

use std::path::Path;

use callgate_schema::{Json, Str};

use crate::form::{Field, Fields, FormError, Members};

/// The version of the stored form that this crate reads and writes.
pub const FORMAT_VERSION: u64 = 0;

/// What is known about a session before its first event.
///
/// ```
/// use callgate_session::SessionHeader;
///
/// let header = SessionHeader::new("s-1", 1_700_000_000_000).with_origin("gateway");
/// assert_eq!(&*header.id, "s-1");
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct SessionHeader {
    /// The id of the session.
    pub id: Str,
    /// When it was made, in milliseconds since 1970.
    pub created_at: u64,
    /// The absolute working directory it is about.
    pub cwd: Option<Str>,
    /// The session it was forked from or delegated by.
    pub parent_session: Option<Str>,
    /// How many events it was seeded with.
    pub seed_length: Option<u64>,
    /// What made it, such as `gateway`, `run` or `chat`.
    pub origin: Option<Str>,
    /// How many delegations lie above it.
    pub delegation_depth: Option<u64>,
    /// The preset it was made with.
    pub preset: Option<Str>,
}

impl SessionHeader {
    /// A header with nothing but an id and the time of creation, in milliseconds since 1970.
    pub fn new(id: impl Into<Str>, created_at: u64) -> Self {
        Self {
            id: id.into(),
            created_at,
            cwd: None,
            parent_session: None,
            seed_length: None,
            origin: None,
            delegation_depth: None,
            preset: None,
        }
    }

    /// The same header with a working directory, which must be absolute.
    #[must_use]
    pub fn with_cwd(self, cwd: impl Into<Str>) -> Self {
        Self { cwd: Some(cwd.into()), ..self }
    }

    /// The same header with the session it descends from.
    #[must_use]
    pub fn with_parent_session(self, id: impl Into<Str>) -> Self {
        Self { parent_session: Some(id.into()), ..self }
    }

    /// The same header with what made the session.
    #[must_use]
    pub fn with_origin(self, origin: impl Into<Str>) -> Self {
        Self { origin: Some(origin.into()), ..self }
    }

    /// The same header with the number of delegations above the session.
    #[must_use]
    pub fn with_delegation_depth(self, depth: u64) -> Self {
        Self { delegation_depth: Some(depth), ..self }
    }

    /// The same header with a preset.
    #[must_use]
    pub fn with_preset(self, preset: impl Into<Str>) -> Self {
        Self { preset: Some(preset.into()), ..self }
    }

    /// Reads the form that [`Display`](std::fmt::Display) prints.
    ///
    /// # Errors
    ///
    /// If it is no header, of another version, or if its `cwd` is not absolute.
    pub fn from_json(json: &Json) -> Result<Self, FormError> {
        Self::read(json)
    }

    pub(crate) fn check(&self) -> Result<(), FormError> {
        match &self.cwd {
            Some(cwd) if !Path::new(&**cwd).is_absolute() => {
                Err(FormError::new(format!("must be an absolute path, not `{cwd}`")).within("cwd"))
            }
            _ => Ok(()),
        }
    }
}

/// Prints the JSON form: one line.
impl std::fmt::Display for SessionHeader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut out = String::new();
        self.print(&mut out);
        f.write_str(&out)
    }
}

const MEMBERS: &[&str] = &[
    "type",
    "version",
    "id",
    "createdAt",
    "cwd",
    "parentSession",
    "seedLength",
    "origin",
    "delegationDepth",
    "preset",
];

impl Field for SessionHeader {
    fn read(json: &Json) -> Result<Self, FormError> {
        if json.get("type").and_then(Json::as_str) != Some("session") {
            return Err(FormError::new(
                "is not the header of a session log (`{\"type\":\"session\",…}`)",
            ));
        }
        check_version(json)?;
        let fields = Fields::of(json, MEMBERS)?;
        let header = Self {
            id: fields.take("id")?,
            created_at: fields.take("createdAt")?,
            cwd: fields.take("cwd")?,
            parent_session: fields.take("parentSession")?,
            seed_length: fields.take("seedLength")?,
            origin: fields.take("origin")?,
            delegation_depth: fields.take("delegationDepth")?,
            preset: fields.take("preset")?,
        };
        header.check()?;
        Ok(header)
    }

    fn print(&self, out: &mut String) {
        let mut members = Members::open(out);
        members.word("type", "session");
        members.put("version", &FORMAT_VERSION);
        members.put("id", &self.id);
        members.put("createdAt", &self.created_at);
        members.put("cwd", &self.cwd);
        members.put("parentSession", &self.parent_session);
        members.put("seedLength", &self.seed_length);
        members.put("origin", &self.origin);
        members.put("delegationDepth", &self.delegation_depth);
        members.put("preset", &self.preset);
        members.close();
    }
}

/// Comes before everything else about a header: a newer version may have other members.
fn check_version(json: &Json) -> Result<(), FormError> {
    match json.get("version") {
        Some(version) if version.as_u64() == Some(FORMAT_VERSION) => Ok(()),
        Some(version) => Err(FormError::new(format!(
            "is {version}, but this version of callgate reads logs of version {FORMAT_VERSION} only"
        ))
        .within("version")),
        None => Err(FormError::new("is missing").within("version")),
    }
}
