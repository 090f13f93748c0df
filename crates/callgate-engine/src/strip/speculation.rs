//! Keeps the parser from trying too often.
//!
//! Where `<` may begin type arguments or mean "less than", and where `(` may begin parameters, the parser tries the one
//! and then the other. A text can nest such places so that each multiplies the work. Before the whole text is parsed,
//! some starts of it are: work that explodes is seen while it is still small.

/// So many places that can double the work are harmless.
const FREE: usize = 9;
/// How many more of them each start has than the one before.
const STEP: usize = 3;
/// A text with more of them is not worth the trying.
const MOST: usize = 600;
/// The first start that is tried whatever is in it. The others are four times as long each.
const FIRST: usize = 2 << 10;
/// Bytes of syntax tree that a byte of text may take. An honest text takes a tenth of it at most.
const TREE_BYTES: usize = 400;
/// Bytes of syntax tree that any text may take.
const BASE: usize = 1 << 20;

/// Checks a text; `tree_size` parses a text and tells how many bytes its tree took.
pub(super) fn check(source: &str, tree_size: impl Fn(&str) -> usize) -> Result<(), (u32, String)> {
    let places = places(source.as_bytes());
    let lengths = std::iter::successors(Some(FIRST), |length| length.checked_mul(4));
    let lengths = lengths.take_while(|length| *length < source.len());
    let mut starts: Vec<usize> = lengths.map(|length| source.floor_char_boundary(length)).collect();
    starts.extend(places.iter().take(MOST).skip(FREE).step_by(STEP));
    starts.sort_unstable();
    let heavy = starts.into_iter().find(|at| tree_size(&source[..*at]) > at * TREE_BYTES + BASE);
    match heavy.or(places.get(MOST).copied()) {
        None => Ok(()),
        Some(at) => {
            let message = "this is nested too deeply to be parsed: give types and inner functions names of their own";
            Err((u32::try_from(at).unwrap_or_default(), message.to_owned()))
        }
    }
}

/// Where a `<` is followed by something the parser could go into deeply. May find too many, never too few.
fn places(source: &[u8]) -> Vec<usize> {
    let found = source.iter().enumerate().filter(|(_, byte)| **byte == b'<').map(|(at, _)| at);
    found.filter(|at| !is_plain(&source[at + 1..])).collect()
}

/// Whether what follows a `<` cannot hold an expression, up to its `>` or to something that no type has: then nothing
/// in it is tried twice.
fn is_plain(after: &[u8]) -> bool {
    /// Types that are longer are rare, and trying many of them takes long.
    const LONGEST: usize = 4_096;
    let (mut angles, mut brackets) = (1_usize, 0_usize);
    let mut rest = &after[..after.len().min(LONGEST)];
    loop {
        rest = match rest {
            [] => return after.len() <= LONGEST,
            [b'=', b'>', rest @ ..] | [b'[', b']', rest @ ..] => rest,
            [b'&', b'&', ..] | [b'|', b'|', ..] | [b'=', b'=', ..] => return true,
            [b'/', b'/', rest @ ..] => skip(rest, b"\n"),
            [b'/', b'*', rest @ ..] => skip(rest, b"*/"),
            // Here an initial value, a computed key or a template may begin.
            [b'=' | b'[' | b'`', ..] => return false,
            [b'(' | b'{', rest @ ..] => {
                brackets += 1;
                rest
            }
            [b')' | b'}' | b';', ..] if brackets == 0 => return true,
            [b')' | b'}', rest @ ..] => {
                brackets -= 1;
                rest
            }
            [b'<', rest @ ..] => {
                angles += 1;
                rest
            }
            [b'>', rest @ ..] => {
                angles -= 1;
                match angles {
                    0 => return true,
                    _ => rest,
                }
            }
            [b'"', rest @ ..] => skip(rest, b"\""),
            [b'\'', rest @ ..] => skip(rest, b"'"),
            [b'+' | b'/' | b'%' | b'^' | b'~' | b']' | b'@' | b'#', ..] => return true,
            [_, rest @ ..] => rest,
        };
    }
}

/// What comes after `end`.
fn skip<'a>(text: &'a [u8], end: &[u8]) -> &'a [u8] {
    match text.windows(end.len()).position(|part| part == end) {
        Some(at) => &text[at + end.len()..],
        None => &[],
    }
}
