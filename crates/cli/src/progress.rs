//! Shows how far a long read or write is, on a terminal.

use std::io::{self, IsTerminal, Read, Write, stderr};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Shorter work shows no progress.
const PROGRESS_AFTER: Duration = Duration::from_secs(1);

/// A stream whose bytes are shown until it is dropped.
pub(crate) struct ProgressStream<S> {
    stream: S,
    bar: ProgressBar,
    begun: Instant,
    is_shown: bool,
}

impl<S> ProgressStream<S> {
    /// Watches a stream of that name, and of `length` bytes if that is known.
    pub(crate) fn new(stream: S, name: &str, length: Option<u64>) -> Self {
        let bar = ProgressBar::with_draw_target(length, ProgressDrawTarget::hidden());
        let template = match length {
            Some(_) => "{prefix} [{wide_bar}] {bytes}/{total_bytes} {eta}",
            None => "{prefix} {bytes} {elapsed}",
        };
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style.progress_chars("=> "));
        }
        bar.set_prefix(name.to_owned());
        let is_shown = !stderr().is_terminal();
        Self { stream, bar, begun: Instant::now(), is_shown }
    }

    fn advance(&mut self, count: usize) {
        if !self.is_shown && self.begun.elapsed() > PROGRESS_AFTER {
            self.is_shown = true;
            self.bar.set_draw_target(ProgressDrawTarget::stderr_with_hz(10));
        }
        self.bar.inc(count as u64);
    }
}

impl<S> Drop for ProgressStream<S> {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

impl<R: Read> Read for ProgressStream<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.stream.read(buffer)?;
        self.advance(count);
        Ok(count)
    }
}

impl<W: Write> Write for ProgressStream<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = self.stream.write(bytes)?;
        self.advance(count);
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stream.flush()
    }
}
