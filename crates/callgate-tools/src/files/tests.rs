//! Work that is told to stop while it goes on, which no test from outside can time.

use std::fs;
use std::io::{self, Read};

use callgate::{Cause, Json, Signal, ToolError, codes::ABORTED};

use super::blocking::Watch;
use super::grep::{Matches, Searched, regex};
use super::root::{Opened, Root};
use super::walk::Walk;
use super::window::{Unusable, Window};

/// A text without end, whose reader is told to stop at the third read.
struct Endless {
    signal: Signal,
    reads: usize,
}

impl Endless {
    fn new() -> (Self, Watch) {
        let signal = Signal::new();
        let watch = Watch::new(&signal);
        (Self { signal, reads: 0 }, watch)
    }
}

impl Read for Endless {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.reads += 1;
        if self.reads == 3 {
            self.signal.cancel(Cause::new("user", "stop"));
        }
        buffer.fill(b'\n');
        Ok(buffer.len())
    }
}

#[test]
fn reading_stops_between_two_chunks() {
    let (mut text, watch) = Endless::new();
    let stopped = Window::read(&mut text, 1, 1, &watch);
    assert!(matches!(stopped, Err(Unusable::Stopped(error)) if error.code() == Some(ABORTED)));
    assert_eq!(text.reads, 3);
}

#[test]
fn searching_a_file_stops_between_two_chunks() {
    let (mut text, watch) = Endless::new();
    let mut matches = Matches::new(regex::compile("x", false).unwrap(), 1, &watch);
    let stopped: Result<Searched, ToolError> = matches.search("endless", &mut text);
    assert!(stopped.is_err_and(|error| error.code() == Some(ABORTED)));
    assert_eq!(text.reads, 3);
}

#[test]
fn a_walk_stops_between_two_files() {
    let directory = tempfile::tempdir().unwrap();
    for name in ["a", "b", "c"] {
        fs::write(directory.path().join(name), "").unwrap();
    }
    let root = Root::open_at(directory.path()).unwrap();
    let Opened::Directory(start) = root.open(".").unwrap() else { panic!("not a directory") };
    let signal = Signal::new();
    let watch = Watch::new(&signal);
    let mut walk = Walk::start(&root, start, false, &watch).unwrap();
    assert_eq!(walk.next().unwrap().map(|found| Json::from(found.path)), Some(Json::from("a")));
    signal.cancel(Cause::new("user", "stop"));
    assert!(walk.next().is_err_and(|error| error.code() == Some(ABORTED)));
}
