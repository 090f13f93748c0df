//! Frames on the socket between a host and a worker.
//!
//! A frame is a length (four bytes, little endian, the length of what follows), one byte of kind,
//! and a payload. The socket is a stream: frames may be larger than any message a datagram or
//! sequenced-packet socket takes, many of them leave in one system call, and every Unix has it.

use std::io;
use std::os::fd::AsFd;

use rustix::buffer::spare_capacity;
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, recv, send};

/// The length in front of each frame.
const HEAD: usize = 4;
/// How much is read at once, and how much memory an empty buffer may keep.
const CHUNK: usize = 64 << 10;
/// How much is read at once while a large frame arrives.
const LARGE_CHUNK: usize = 1 << 20;

/// What arrived and was not looked at.
#[derive(Debug)]
pub(crate) struct Inbox {
    bytes: Vec<u8>,
    /// Where the first frame begins.
    start: usize,
    cap: usize,
}

/// A frame that is longer than allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TooLong;

/// What reading from the socket came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Received {
    /// Something arrived.
    Some,
    /// There is nothing at the moment.
    Nothing,
    /// The other side is gone.
    Closed,
}

impl Inbox {
    /// An empty one for frames of at most `cap` bytes.
    pub(crate) fn new(cap: usize) -> Self {
        Self { bytes: Vec::new(), start: 0, cap }
    }

    /// Takes the next frame, if it is there as a whole, and hands its kind and payload to `read`.
    pub(crate) fn next<R>(&mut self, read: impl Fn(u8, &[u8]) -> R) -> Result<Option<R>, TooLong> {
        loop {
            let Some(length) = length_at(&self.bytes[self.start..]) else { return Ok(None) };
            if length > self.cap {
                return Err(TooLong);
            }
            let start = self.start + HEAD;
            let Some(frame) = self.bytes.get(start..start + length) else { return Ok(None) };
            let result = frame.split_first().map(|(kind, payload)| read(*kind, payload));
            self.start = start + length;
            self.shrink();
            // A frame without a kind is none.
            if result.is_some() {
                return Ok(result);
            }
        }
    }

    /// Whether a frame of that kind is there as a whole.
    pub(crate) fn holds(&self, kind: u8) -> bool {
        let mut rest = &self.bytes[self.start..];
        while let Some(length) = length_at(rest) {
            match rest.get(HEAD..HEAD + length) {
                Some(frame) if frame.first() == Some(&kind) => return true,
                Some(_) => rest = &rest[HEAD + length..],
                None => return false,
            }
        }
        false
    }

    /// Whether nothing is left over, not even a part of a frame.
    pub(crate) fn is_empty(&self) -> bool {
        self.start == self.bytes.len()
    }

    /// Reads what is there. With `wait` it waits until something is.
    pub(crate) fn receive(&mut self, socket: impl AsFd, wait: bool) -> Received {
        self.bytes.drain(..std::mem::take(&mut self.start));
        self.bytes.reserve(self.room());
        let flags = if wait { RecvFlags::empty() } else { RecvFlags::DONTWAIT };
        loop {
            return match recv(&socket, spare_capacity(&mut self.bytes), flags) {
                Ok((0, _)) => Received::Closed,
                Ok(_) => Received::Some,
                Err(Errno::INTR) => continue,
                Err(Errno::AGAIN) => Received::Nothing,
                Err(_) => Received::Closed,
            };
        }
    }

    /// Takes bytes in as if they had arrived.
    #[cfg(test)]
    pub(crate) fn feed(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// How much to read next. Memory is taken as bytes arrive, not as a length promises them.
    fn room(&self) -> usize {
        let expected = length_at(&self.bytes).map_or(0, |length| length.min(self.cap) + HEAD);
        expected.saturating_sub(self.bytes.len()).clamp(CHUNK, LARGE_CHUNK)
    }

    /// Gives the memory of a large frame back once it was read.
    fn shrink(&mut self) {
        if self.is_empty() {
            self.bytes.clear();
            self.start = 0;
            if self.bytes.capacity() > LARGE_CHUNK {
                self.bytes.shrink_to(CHUNK);
            }
        }
    }
}

fn length_at(bytes: &[u8]) -> Option<usize> {
    let head = bytes.first_chunk::<HEAD>()?;
    usize::try_from(u32::from_le_bytes(*head)).ok()
}

/// What waits to be sent.
#[derive(Debug, Default)]
pub(crate) struct Outbox {
    bytes: Vec<u8>,
    /// How much of it was sent.
    sent: usize,
}

impl Outbox {
    /// Adds a frame whose payload `write` writes.
    ///
    /// A payload of more than `cap` bytes, or more than a length can say, is taken back.
    pub(crate) fn push(
        &mut self,
        kind: u8,
        cap: usize,
        write: impl FnOnce(&mut Vec<u8>),
    ) -> Result<(), TooLong> {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(&[0; HEAD]);
        self.bytes.push(kind);
        write(&mut self.bytes);
        let length = self.bytes.len() - start - HEAD;
        let fits = u32::try_from(length).ok().filter(|_| length <= cap);
        let Some(length) = fits else {
            self.bytes.truncate(start);
            return Err(TooLong);
        };
        self.bytes[start..start + HEAD].copy_from_slice(&length.to_le_bytes());
        Ok(())
    }

    /// Adds everything that waits in another one.
    pub(crate) fn append(&mut self, other: Self) {
        if self.is_empty() {
            *self = other;
        } else {
            self.bytes.extend_from_slice(&other.bytes[other.sent..]);
        }
    }

    /// What waits.
    #[cfg(test)]
    pub(crate) fn into_bytes(mut self) -> Vec<u8> {
        self.bytes.split_off(self.sent)
    }

    /// How many bytes wait.
    pub(crate) fn len(&self) -> usize {
        self.bytes.len() - self.sent
    }

    /// Whether nothing waits.
    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Sends as much as the socket takes without waiting, and says whether that was everything.
    ///
    /// # Errors
    ///
    /// If the other side is gone.
    pub(crate) fn flush(&mut self, socket: impl AsFd) -> io::Result<bool> {
        while !self.is_empty() {
            match send(&socket, &self.bytes[self.sent..], send_flags()) {
                Ok(count) => self.sent += count,
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => {
                    self.compact();
                    return Ok(false);
                }
                Err(error) => return Err(error.into()),
            }
        }
        self.compact();
        Ok(true)
    }

    /// Forgets what was sent, once that is worth the copy.
    fn compact(&mut self) {
        if self.sent == self.bytes.len() {
            self.bytes.clear();
            self.sent = 0;
            if self.bytes.capacity() > LARGE_CHUNK {
                self.bytes.shrink_to(CHUNK);
            }
        } else if self.sent >= LARGE_CHUNK {
            self.bytes.drain(..self.sent);
            self.sent = 0;
        }
    }
}

#[cfg(not(target_vendor = "apple"))]
fn send_flags() -> SendFlags {
    SendFlags::DONTWAIT | SendFlags::NOSIGNAL
}

/// Apple has an option on the socket instead of a flag: see [`without_signal`].
#[cfg(target_vendor = "apple")]
fn send_flags() -> SendFlags {
    SendFlags::DONTWAIT
}

/// Makes sending to a worker that is gone an error and not a signal that ends the host.
#[cfg(target_vendor = "apple")]
pub(crate) fn without_signal(socket: impl AsFd) -> io::Result<()> {
    Ok(rustix::net::sockopt::set_socket_nosigpipe(socket, true)?)
}

/// Makes sending to a worker that is gone an error and not a signal that ends the host.
#[cfg(not(target_vendor = "apple"))]
#[expect(clippy::unnecessary_wraps, reason = "it can fail where the flag of a send does not exist")]
pub(crate) fn without_signal(_socket: impl AsFd) -> io::Result<()> {
    Ok(())
}
