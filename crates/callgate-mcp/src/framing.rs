//! Lines in, messages out: the border that everything from another process passes first.
//!
//! A line is checked for its length, for UTF-8, for brackets and numbers that could not be kept,
//! and only then for being JSON-RPC. What is no message is [`Noise`], which costs nobody anything;
//! a response that cannot be used fails the one request it answers.

mod noise;
mod sniff;
#[cfg(test)]
mod tests;

pub(crate) use noise::{Noise, NoiseKind, NoiseMeter};

use callgate::schema::ParseErrorKind;
use callgate::{Json, ParseError};
use memchr::memchr;

use crate::json_rpc::{Id, Message, RpcError, Unfit};
use sniff::Sniffer;

/// What a line, or a part of a batch, turned out to be.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Frame {
    Message(Message),
    /// A request that cannot be served, and the answer to it.
    Refused {
        id: Option<Id>,
        error: RpcError,
    },
    /// A response that cannot be used, for this request.
    Spoilt {
        id: Id,
        reason: String,
    },
    Noise(Noise),
}

/// Cuts bytes into lines and reads them.
#[derive(Debug)]
pub(crate) struct Framer {
    limit: usize,
    line: Vec<u8>,
    skipped: Option<Skipped>,
}

/// A line that is too long to be kept: only what it might be is remembered.
#[derive(Debug)]
struct Skipped {
    length: usize,
    start: Vec<u8>,
    sniffer: Sniffer,
}

/// A buffer this big is not kept for the next line.
const KEPT_BUFFER: usize = 1024 * 1024;

impl Framer {
    /// A framer for lines of at most `limit` bytes.
    pub(crate) fn new(limit: usize) -> Self {
        Self { limit, line: Vec::new(), skipped: None }
    }

    /// Takes bytes in and hands out what the lines that end in them are.
    pub(crate) fn feed(&mut self, bytes: &[u8], take: &mut dyn FnMut(Frame)) {
        let mut rest = bytes;
        while let Some(end) = memchr(b'\n', rest) {
            let line = &rest[..end];
            rest = &rest[end + 1..];
            if self.line.is_empty() && self.skipped.is_none() && line.len() <= self.limit {
                read_line(line, take);
            } else {
                self.append(line);
                self.end_line(take);
            }
        }
        self.append(rest);
    }

    /// The end of the stream ends the last line too.
    pub(crate) fn finish(&mut self, take: &mut dyn FnMut(Frame)) {
        if !self.line.is_empty() || self.skipped.is_some() {
            self.end_line(take);
        }
    }

    fn append(&mut self, bytes: &[u8]) {
        if let Some(skipped) = &mut self.skipped {
            skipped.length += bytes.len();
            skipped.sniffer.feed(bytes);
        } else if self.line.len() + bytes.len() <= self.limit {
            self.line.extend_from_slice(bytes);
        } else {
            let mut start = std::mem::take(&mut self.line);
            let mut sniffer = Sniffer::default();
            sniffer.feed(&start);
            sniffer.feed(bytes);
            let length = start.len() + bytes.len();
            // One byte more shows that there was more.
            let kept = noise::SAMPLE_BYTES + 1;
            start.truncate(kept);
            start.extend_from_slice(&bytes[..bytes.len().min(kept - start.len())]);
            start.shrink_to_fit();
            self.skipped = Some(Skipped { length, start, sniffer });
        }
    }

    fn end_line(&mut self, take: &mut dyn FnMut(Frame)) {
        if let Some(Skipped { length, start, sniffer }) = self.skipped.take() {
            let reason =
                format!("the message has {length} bytes, and at most {} are accepted", self.limit);
            let noise = Noise::new(NoiseKind::TooLong, &start);
            return take(unreadable(&sniffer, RpcError::INVALID_REQUEST, reason, noise));
        }
        read_line(&self.line, take);
        self.line.clear();
        self.line.shrink_to(KEPT_BUFFER);
    }
}

/// Reads one line. Byte order marks, carriage returns and space around a message are no fault.
fn read_line(line: &[u8], take: &mut dyn FnMut(Frame)) {
    let line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line).trim_ascii();
    if !matches!(line.first(), Some(b'{' | b'[')) {
        return take(Frame::Noise(Noise::new(NoiseKind::of_text(line), line)));
    }
    match Json::parse_slice(line) {
        Ok(Json::Array(batch)) if !batch.is_empty() => {
            for message in &batch {
                take(read_message(message, line));
            }
        }
        Ok(message) => take(read_message(&message, line)),
        Err(error) => take(refuse(line, &error)),
    }
}

fn read_message(json: &Json, line: &[u8]) -> Frame {
    match Message::read(json) {
        Ok(message) => Frame::Message(message),
        Err(Unfit::Foreign) => Frame::Noise(Noise::new(NoiseKind::NotRpc, line)),
        Err(Unfit::Request { id, reason }) => {
            Frame::Refused { id, error: RpcError::new(RpcError::INVALID_REQUEST, reason) }
        }
        Err(Unfit::Response { id, reason }) => Frame::Spoilt { id, reason },
    }
}

/// Text that our parser does not take: a broken message, or no message at all.
fn refuse(line: &[u8], error: &ParseError) -> Frame {
    let mut sniffer = Sniffer::default();
    sniffer.feed(line);
    let code = match error.kind() {
        ParseErrorKind::Syntax => RpcError::PARSE,
        _ => RpcError::INVALID_PARAMS,
    };
    let noise = Noise::new(NoiseKind::of_text(line), line);
    unreadable(&sniffer, code, error.to_string(), noise)
}

/// Whoever waits for what a broken message would have been must hear of it.
fn unreadable(sniffer: &Sniffer, code: i64, reason: String, noise: Noise) -> Frame {
    match sniffer.message() {
        Some((Some(id), true)) => {
            Frame::Refused { id: Some(id), error: RpcError::new(code, reason) }
        }
        Some((Some(id), false)) => Frame::Spoilt { id, reason },
        Some((None, _)) => Frame::Noise(Noise { kind: NoiseKind::Broken, ..noise }),
        None => Frame::Noise(noise),
    }
}
