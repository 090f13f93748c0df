//! Standard input and output of this process, each on a thread of its own: they may be pipes,
//! sockets, files or terminals, and a read that never returns must not keep the runtime.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::thread;
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;

use crate::framing::{Frame, Framer};

/// Messages of the client that may wait.
const INBOX: usize = 64;

/// The longest message of a client, in bytes.
const LONGEST: usize = 64 * 1024 * 1024;

/// What is read at once.
const CHUNK: usize = 64 * 1024;

/// How long a client that does not read is waited for at the end.
const FLUSH: Duration = Duration::from_secs(1);

/// Takes standard input and output over.
pub(crate) fn open() -> io::Result<(mpsc::Receiver<Frame>, mpsc::UnboundedSender<String>, Writer)> {
    let output = File::from(io::stdout().as_fd().try_clone_to_owned()?);
    // Whoever prints from now on, and be it a panic in somebody's hook, does not disturb clients.
    rustix::stdio::dup2_stdout(io::stderr())?;
    let (frames, inbox) = mpsc::channel(INBOX);
    let (outbox, lines) = mpsc::unbounded_channel();
    thread::Builder::new().name("callgate-stdin".to_owned()).spawn(move || read(&frames))?;
    let (done, flushed) = oneshot::channel();
    thread::Builder::new().name("callgate-stdout".to_owned()).spawn(move || {
        write(output, lines);
        // Nobody may be left to hear it.
        let _unheard = done.send(());
    })?;
    Ok((inbox, outbox, Writer(flushed)))
}

/// The thread that writes.
pub(crate) struct Writer(oneshot::Receiver<()>);

impl Writer {
    /// Waits until everything is written, or the client seems not to read any more.
    pub(crate) async fn flushed(self) {
        if timeout(FLUSH, self.0).await.is_err() {
            tracing::warn!("the client does not read; what was left to say is lost");
        }
    }
}

fn read(inbox: &mpsc::Sender<Frame>) {
    let mut framer = Framer::new(LONGEST);
    let mut input = io::stdin().lock();
    let mut chunk = vec![0; CHUNK];
    let mut is_open = true;
    while is_open {
        let length = match input.read(&mut chunk) {
            Ok(0) => break,
            Ok(length) => length,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => {
                tracing::warn!(%error, "standard input cannot be read");
                break;
            }
        };
        framer.feed(&chunk[..length], &mut |frame| is_open &= inbox.blocking_send(frame).is_ok());
    }
    framer.finish(&mut |frame| drop(inbox.blocking_send(frame)));
}

fn write(mut output: File, mut lines: mpsc::UnboundedReceiver<String>) {
    while let Some(mut line) = lines.blocking_recv() {
        line.push('\n');
        if let Err(error) = output.write_all(line.as_bytes()) {
            tracing::warn!(%error, "standard output cannot be written");
            return;
        }
    }
}
