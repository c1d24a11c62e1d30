//! The signals that end what runs until then.

use tokio::signal::ctrl_c;
use tokio::signal::unix::{SignalKind, signal};

/// Ends with Ctrl-C or SIGTERM.
pub(crate) async fn until_signal() -> anyhow::Result<()> {
    let mut terminated = signal(SignalKind::terminate())?;
    tokio::select! {
        pressed = ctrl_c() => Ok(pressed?),
        _ = terminated.recv() => Ok(()),
    }
}
