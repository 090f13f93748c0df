//! Child processes: run with a verdict, captured, or followed line by line.

use std::io::{self, BufRead, BufReader, PipeReader};
use std::process::{Command, ExitStatus};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

/// How long a followed child may print nothing before the listener hears of it.
const QUIET: Duration = Duration::from_secs(30);

/// How often a silent child is looked at.
const TICK: Duration = Duration::from_secs(1);

/// What happens while a child is followed.
#[derive(Debug)]
pub(crate) enum Event<'a> {
    /// One line of its standard output or standard error, without the line break.
    Line(&'a str),
    /// It has printed nothing for a while; the time since its start.
    Quiet(Duration),
}

/// Runs a command whose output goes straight to ours.
pub(crate) fn run(command: &mut Command) -> Result<(), String> {
    let status = command.status().map_err(|error| cannot_start(command, &error))?;
    if status.success() { Ok(()) } else { Err(format!("`{}` failed: {status}", shown(command))) }
}

/// Runs a command and returns its standard output; standard error is part of the error only.
pub(crate) fn output(command: &mut Command) -> Result<String, String> {
    let output = command.output().map_err(|error| cannot_start(command, &error))?;
    if !output.status.success() {
        let stderr = String::from_utf8_lossy(&output.stderr);
        return Err(format!(
            "`{}` failed: {}\n{}",
            shown(command),
            output.status,
            stderr.trim_end()
        ));
    }
    String::from_utf8(output.stdout).map_err(|_| format!("`{}` printed no UTF-8", shown(command)))
}

/// Runs a command and hands over its standard output and standard error as one sequence of lines.
pub(crate) fn follow(
    mut command: Command,
    on_event: &mut dyn FnMut(Event<'_>),
) -> Result<ExitStatus, String> {
    let failed = |error: io::Error| format!("cannot follow a command: {error}");
    let (reader, writer) = io::pipe().map_err(failed)?;
    command.stdout(writer.try_clone().map_err(failed)?).stderr(writer);
    let mut child = command.spawn().map_err(|error| cannot_start(&command, &error))?;
    drop(command); // It holds our ends of the pipe, which would never close.

    let lines = lines_of(reader);
    let started = Instant::now();
    let mut last_sign = started;
    loop {
        match lines.recv_timeout(TICK) {
            Ok(line) => {
                last_sign = Instant::now();
                on_event(Event::Line(&line));
            }
            Err(RecvTimeoutError::Disconnected) => return child.wait().map_err(failed),
            Err(RecvTimeoutError::Timeout) => {
                // A process that outlives its parent may keep the pipe open for ever.
                if let Some(status) = child.try_wait().map_err(failed)? {
                    on_event(Event::Line(
                        "(a process that was left behind still holds the output)",
                    ));
                    return Ok(status);
                }
                if last_sign.elapsed() >= QUIET {
                    last_sign = Instant::now();
                    on_event(Event::Quiet(started.elapsed()));
                }
            }
        }
    }
}

fn lines_of(reader: PipeReader) -> Receiver<String> {
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        for line in BufReader::new(reader).split(b'\n') {
            let Ok(line) = line else { break };
            let line = String::from_utf8_lossy(&line).trim_end_matches('\r').to_owned();
            if sender.send(line).is_err() {
                break;
            }
        }
    });
    receiver
}

fn cannot_start(command: &Command, error: &io::Error) -> String {
    format!("cannot start `{}`: {error}", command.get_program().to_string_lossy())
}

/// The command as one would type it, without the folders of its program.
fn shown(command: &Command) -> String {
    let program = std::path::Path::new(command.get_program());
    let mut words = vec![program.file_name().unwrap_or_default().to_string_lossy()];
    words.extend(command.get_args().map(|argument| argument.to_string_lossy()));
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn follow_shell(script: &str) -> (bool, Vec<String>) {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        let mut lines = Vec::new();
        let status = follow(command, &mut |event| {
            if let Event::Line(line) = event {
                lines.push(line.to_owned());
            }
        });
        (status.unwrap().success(), lines)
    }

    #[test]
    fn both_outputs_arrive_in_the_order_they_were_written() {
        let (success, lines) = follow_shell("echo one; echo two >&2; printf 'three'; exit 3");
        assert!(!success);
        assert_eq!(lines, ["one", "two", "three"]);
    }

    #[test]
    fn a_process_left_behind_does_not_hold_up_the_run() {
        let (success, lines) = follow_shell("echo one; sleep 20 & exit 0");
        assert!(success);
        assert_eq!(lines, ["one", "(a process that was left behind still holds the output)"]);
    }

    #[test]
    fn a_failed_command_reports_what_it_was_and_what_it_said() {
        let mut command = Command::new("sh");
        command.args(["-c", "echo no >&2; exit 2"]);
        let error = output(&mut command).unwrap_err();
        assert_eq!(error, "`sh -c echo no >&2; exit 2` failed: exit status: 2\nno");
    }
}
