//! Standard input and output of this process, each on a thread of its own: they may be pipes,
//! sockets, files or terminals, and a read that never returns must not keep the runtime.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::thread;

use callgate::Signal;
use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;

use super::stream::{FLUSH, LONGEST, client_gone};
use crate::framing::{Frame, Framer};

/// What is read at once.
const CHUNK: usize = 64 * 1024;

/// Standard input and output, taken over.
pub(crate) struct Stdio {
    pub(crate) frames: mpsc::UnboundedReceiver<Frame>,
    pub(crate) lines: mpsc::UnboundedSender<String>,
    pub(crate) writer: Writer,
}

/// The thread that writes.
pub(crate) struct Writer(oneshot::Receiver<()>);

/// Takes standard input and output over. If the client cannot be written to, `stop` is cancelled.
pub(crate) fn open(stop: Signal) -> io::Result<Stdio> {
    let output = File::from(io::stdout().as_fd().try_clone_to_owned()?);
    // Whoever prints from now on, and be it a panic in somebody's hook, does not disturb clients.
    rustix::stdio::dup2_stdout(io::stderr())?;
    let (inbox, frames) = mpsc::unbounded_channel();
    let (lines, outbox) = mpsc::unbounded_channel();
    let (done, flushed) = oneshot::channel();
    thread::Builder::new().name("callgate-stdin".to_owned()).spawn(move || read(&inbox))?;
    thread::Builder::new().name("callgate-stdout".to_owned()).spawn(move || {
        write(output, outbox, &stop);
        // Nobody may be left to hear it.
        let _unheard = done.send(());
    })?;
    Ok(Stdio { frames, lines, writer: Writer(flushed) })
}

impl Writer {
    /// Waits until everything is written, or the client seems not to read any more.
    pub(crate) async fn flushed(self) {
        if timeout(FLUSH, self.0).await.is_err() {
            tracing::warn!("the client does not read; what was left to say is lost");
        }
    }
}

fn read(inbox: &mpsc::UnboundedSender<Frame>) {
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
        framer.feed(&chunk[..length], &mut |frame| is_open &= inbox.send(frame).is_ok());
    }
    framer.finish(&mut |frame| drop(inbox.send(frame)));
}

fn write(mut output: File, mut outbox: mpsc::UnboundedReceiver<String>, stop: &Signal) {
    while let Some(mut line) = outbox.blocking_recv() {
        line.push('\n');
        if let Err(error) = output.write_all(line.as_bytes()) {
            tracing::warn!(%error, "standard output cannot be written");
            stop.cancel(client_gone());
            return;
        }
    }
}
