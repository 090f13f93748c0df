//! Inputs made of others: the same ones for the same seed.

use std::ops::Range;

/// A source of numbers that look random.
#[derive(Clone, Debug)]
pub struct Dice(u64);

impl Dice {
    /// Dice that fall the same way for the same seed.
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// A number below a bound, or zero.
    pub fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        let bound = bound.max(1) as u64;
        usize::try_from(self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) % bound).unwrap_or_default()
    }
}

/// No input becomes longer.
const LONGEST: usize = 4_096;

/// Changes an input in up to four places: bytes, words put in, parts dropped, doubled or taken from another input.
///
/// ```
/// use callgate_fuzz::mutate::{Dice, mutated};
///
/// let (one, other) = (b"{\"a\": 1}".as_slice(), b"[true]".as_slice());
/// let words = ["null".to_owned()];
/// assert_eq!(mutated(one, other, &words, &mut Dice::new(7)), mutated(one, other, &words, &mut Dice::new(7)));
/// ```
pub fn mutated(input: &[u8], other: &[u8], words: &[String], dice: &mut Dice) -> Vec<u8> {
    let mut bytes = input.to_vec();
    if dice.below(4) > 0 {
        // What was well formed mostly stays so.
        for _ in 0..=dice.below(3) {
            replace_value(&mut bytes, other, dice);
        }
        bytes.truncate(LONGEST);
        return bytes;
    }
    for _ in 0..=dice.below(4) {
        let at = dice.below(bytes.len() + 1);
        match dice.below(6) {
            0 => {
                if let Some(byte) = bytes.get_mut(at) {
                    *byte ^= 1 << dice.below(8);
                }
            }
            1 => {
                let word = words.get(dice.below(words.len())).map_or("", |word| word);
                drop(bytes.splice(at..at, word.bytes()));
            }
            2 => {
                let end = (at + dice.below(16)).min(bytes.len());
                drop(bytes.drain(at..end));
            }
            3 => {
                let end = (at + dice.below(32)).min(bytes.len());
                let part = bytes[at..end].to_vec();
                drop(bytes.splice(at..at, part));
            }
            4 => {
                let from = dice.below(other.len() + 1);
                let end = (from + dice.below(64)).min(other.len());
                drop(bytes.splice(at..at, other[from..end].iter().copied()));
            }
            _ => replace_word(&mut bytes, at, words, dice),
        }
        bytes.truncate(LONGEST);
    }
    bytes
}

/// Puts a word in the place of the quoted text behind `at`.
fn replace_word(bytes: &mut Vec<u8>, at: usize, words: &[String], dice: &mut Dice) {
    let quote =
        |from: usize| bytes[from..].iter().position(|byte| *byte == b'"').map(|found| from + found);
    let Some(start) = quote(at.min(bytes.len())) else { return };
    let Some(end) = quote(start + 1) else { return };
    let word = words.get(dice.below(words.len())).map_or("", |word| word);
    drop(bytes.splice(start..=end, word.bytes()));
}

/// Values that stand in for others.
const VALUES: [&str; 12] = [
    "{}",
    "[]",
    "null",
    "true",
    "false",
    "0",
    "1.5",
    "-1",
    "\"\"",
    "\"#\"",
    "[{}]",
    "{\"type\":\"object\"}",
];

/// Puts a JSON value of the other input, or one of a few, in the place of a value.
fn replace_value(bytes: &mut Vec<u8>, other: &[u8], dice: &mut Dice) {
    let (places, others) = (values(bytes), values(other));
    let Some(place) = places.get(dice.below(places.len())) else { return };
    let found = others.get(dice.below(others.len())).filter(|_| dice.below(3) > 0);
    let value =
        found.map_or(VALUES[dice.below(VALUES.len())].as_bytes(), |found| &other[found.clone()]);
    drop(bytes.splice(place.clone(), value.iter().copied()));
}

/// Where the values of a JSON text stand, as far as it is one.
fn values(text: &[u8]) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut open = Vec::new();
    let mut at = 0;
    while let Some(byte) = text.get(at) {
        let start = at;
        at += 1;
        match byte {
            b'{' | b'[' => open.push(start),
            b'}' | b']' => found.extend(open.pop().map(|start| start..at)),
            b'"' => {
                while text.get(at).is_some_and(|byte| *byte != b'"') {
                    at += if text[at] == b'\\' { 2 } else { 1 };
                }
                at = (at + 1).min(text.len());
                let next = text[at..].iter().find(|byte| !byte.is_ascii_whitespace());
                if next != Some(&b':') {
                    found.push(start..at);
                }
            }
            b'-' | b'0'..=b'9' | b'a'..=b'z' => {
                let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || b"+-.".contains(byte);
                while text.get(at).is_some_and(is_part) {
                    at += 1;
                }
                found.push(start..at);
            }
            _ => {}
        }
    }
    found
}
