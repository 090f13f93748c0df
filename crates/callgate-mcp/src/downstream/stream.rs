//! A client at the other end of any pair of streams.

use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use callgate::{Cause, Signal};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::mpsc;
use tokio::time::timeout;

use super::{Ended, Session};
use crate::connection::{read_frames, write_lines};
use crate::gateway::Gateway;

/// The longest message of a client, in bytes.
pub(super) const LONGEST: usize = 64 * 1024 * 1024;

/// How long a client that does not read is waited for at the end.
pub(super) const FLUSH: Duration = Duration::from_secs(1);

/// Why a session ends whose client cannot be told anything any more.
pub(super) fn client_gone() -> Cause {
    Cause::new("client-gone", "the client does not read any more")
}

/// Serves a client until it goes or `stop` is cancelled.
pub(crate) async fn serve(
    gateway: &Arc<Gateway>,
    reader: impl AsyncRead + Unpin + Send,
    writer: impl AsyncWrite + Unpin + Send,
    stop: &Signal,
) -> io::Result<Ended> {
    let (frames, inbox) = mpsc::unbounded_channel();
    let (outbox, mut lines) = mpsc::unbounded_channel();
    let stop = stop.child();
    let mut session = pin!(Session::serve(gateway.clone(), inbox, outbox, &stop));
    let mut reading = pin!(async {
        // Its end is the end of the client's messages.
        let frames = frames;
        let read = read_frames(reader, LONGEST, |frame| drop(frames.send(frame))).await;
        read.unwrap_or_else(|error| tracing::debug!(%error, "the client cannot be read"));
    });
    let mut writing = pin!(async {
        let written = write_lines(|task| lines.poll_recv(task), writer).await;
        written.unwrap_or_else(|error| tracing::debug!(%error, "the client cannot be written to"));
    });
    let (mut is_read, mut is_written) = (false, false);
    let ended = loop {
        tokio::select! {
            ended = &mut session => break ended,
            () = &mut reading, if !is_read => is_read = true,
            () = &mut writing, if !is_written => {
                is_written = true;
                stop.cancel(client_gone());
            }
        }
    };
    if !is_written && timeout(FLUSH, writing).await.is_err() {
        tracing::warn!("the client does not read; what was left to say is lost");
    }
    ended
}
