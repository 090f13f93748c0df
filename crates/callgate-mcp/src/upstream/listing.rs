//! Reading a list page by page.

use std::collections::HashSet;
use std::time::Duration;

use callgate::{Json, Object, Str};

use crate::connection::{Connection, Outgoing, RequestError};

/// A list, as far as it could be read.
#[derive(Debug, Default)]
pub(super) struct Listing {
    pub(super) entries: Vec<Json>,
    /// Why there may be more.
    pub(super) cut_short: Option<String>,
}

/// No list has more pages; a server that serves more goes round in circles.
const MOST_PAGES: usize = 1_000;

/// No list is longer.
const MOST_ENTRIES: usize = 50_000;

/// Reads all pages of a list.
///
/// What was read before a page fails is kept.
///
/// # Errors
///
/// If the first page fails.
pub(super) async fn read_all(
    connection: &Connection,
    method: &str,
    member: &str,
    page_timeout: Duration,
) -> Result<Listing, RequestError> {
    let mut listing = Listing::default();
    let mut seen: HashSet<Str> = HashSet::new();
    let mut cursor: Option<Str> = None;
    for page in 1..=MOST_PAGES {
        let params = Object::builder().with_some("cursor", cursor.as_deref()).build();
        let answer = connection.request(Outgoing::new(method, params).within(page_timeout)).await;
        let answer = match answer {
            Ok(answer) => answer,
            Err(error) if page == 1 => return Err(error),
            Err(error) => return Ok(listing.cut(format!("page {page} failed: {error}"))),
        };
        let Some(entries) = answer.get(member).and_then(Json::as_array) else {
            let problem = format!("page {page} has no list of {member}");
            if page == 1 {
                return Err(RequestError::Spoilt(problem));
            }
            return Ok(listing.cut(problem));
        };
        listing.entries.extend(entries.iter().cloned());
        match answer.get("nextCursor") {
            None | Some(Json::Null) => return Ok(listing),
            Some(Json::String(next)) if next.is_empty() => return Ok(listing),
            Some(Json::String(next)) => {
                if !seen.insert(next.clone()) {
                    return Ok(listing.cut(format!("page {page} leads back to an earlier page")));
                }
                cursor = Some(next.clone());
            }
            Some(other) => {
                return Ok(
                    listing.cut(format!("page {page} has a cursor that is no string: {other}"))
                );
            }
        }
        if listing.entries.len() > MOST_ENTRIES {
            return Ok(listing.cut(format!("it has more than {MOST_ENTRIES} entries")));
        }
    }
    Ok(listing.cut(format!("it has more than {MOST_PAGES} pages")))
}

impl Listing {
    fn cut(mut self, reason: String) -> Self {
        self.cut_short = Some(reason);
        self
    }
}
