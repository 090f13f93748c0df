//! [`public_name`]: the name under which a tool of an MCP server is offered.

use sha2::{Digest, Sha256};

/// What the narrowest model API takes.
const LONGEST_NAME: usize = 64;
/// How much of a changed name is kept in front of its hash.
const KEPT_OF_CHANGED: usize = 51;
/// How many digits of the hash follow.
const HASH_DIGITS: usize = 12;
/// Longer server names count as changed, so that a tool's own name stays readable.
const LONGEST_SERVER: usize = 32;

/// The name of a server's tool that every model API accepts: at most 64 of `[A-Za-z0-9_-]`.
///
/// It is `server__raw` where that fits, so it depends on nothing but the two names: it stays
/// when servers come, go or change places. Otherwise a hash of both names tells it from others.
/// No two pairs share a name unless their hashes meet.
///
/// ```
/// use callgate_schema::public_name;
///
/// assert_eq!(public_name("github", "create_issue"), "github__create_issue");
/// assert_eq!(public_name("srv", "admin.reset"), "srv__admin_reset_3b185f786768");
/// ```
pub fn public_name(server: &str, raw: &str) -> String {
    let name = format!("{server}__{raw}");
    let fits = name.len() <= LONGEST_NAME && name.chars().all(is_name_char);
    if fits && is_prefix(server) { name } else { changed_name(&name, server, raw) }
}

/// Whether the first `__` after `server` is where the raw name begins, and the server's name is
/// short: only then is `server__raw` without doubt.
fn is_prefix(server: &str) -> bool {
    !server.contains("__") && !server.ends_with('_') && server.len() <= LONGEST_SERVER
}

fn changed_name(name: &str, server: &str, raw: &str) -> String {
    let readable = name.chars().map(|char| if is_name_char(char) { char } else { '_' });
    let mut changed: String = readable.take(KEPT_OF_CHANGED).collect();
    changed.push('_');
    let hash = Sha256::new().chain_update(server).chain_update([0]).chain_update(raw).finalize();
    let digits = hash.iter().flat_map(|byte| [byte >> 4, byte & 0xf]);
    changed.extend(digits.take(HASH_DIGITS).filter_map(|digit| char::from_digit(digit.into(), 16)));
    changed
}

fn is_name_char(char: char) -> bool {
    char.is_ascii_alphanumeric() || char == '_' || char == '-'
}
