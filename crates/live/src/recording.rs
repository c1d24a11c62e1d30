//! A recording that is read while it is made.

use std::io::Read;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use perk_hprof::Error;
use perk_hprof::binary::Increments;
use perk_profile::Profile;

use crate::history::{History, Moment, Range};

/// The reason why no more comes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// The recording has ended, and is whole.
    Ended,
    /// The connection was lost, or has something that is no recording; the reason in one line.
    Lost(String),
}

/// A recording; see the module.
#[derive(Debug)]
pub struct LiveRecording {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    history: History,
    /// The symbols, call paths, threads and the accounting so far.
    profile: Arc<Profile>,
    increment_count: u64,
    end: Option<End>,
}

impl LiveRecording {
    /// Reads the increments of `stream` on a thread until it ends.
    ///
    /// # Errors
    /// The system has no thread.
    pub fn start(stream: impl Read + Send + 'static) -> std::io::Result<Arc<Self>> {
        let recording = Arc::new(Self { state: Mutex::default(), changed: Condvar::new() });
        let reader = Arc::clone(&recording);
        let thread = thread::Builder::new().name("perk live".to_owned());
        thread.spawn(move || reader.read(stream))?;
        Ok(recording)
    }

    fn read(&self, stream: impl Read) {
        let end = match self.follow(stream) {
            Ok(()) => End::Ended,
            Err(Error::Cut { .. }) => End::Lost("the connection was closed".to_owned()),
            Err(error) => End::Lost(error.to_string()),
        };
        self.state().end = Some(end);
        self.changed.notify_all();
    }

    fn follow(&self, stream: impl Read) -> Result<(), Error> {
        let mut increments = Increments::new(stream)?;
        while let Some(events) = increments.read()? {
            let profile = Arc::new(increments.profile().clone());
            let mut state = self.state();
            state.history.push(&profile, events);
            state.profile = profile;
            state.increment_count += 1;
            drop(state);
            self.changed.notify_all();
        }
        Ok(())
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The number of increments so far, which changes with each.
    pub fn increment_count(&self) -> u64 {
        self.state().increment_count
    }

    /// The reason why no more comes, once that is so.
    pub fn end(&self) -> Option<End> {
        self.state().end.clone()
    }

    /// Waits until there are more increments than `known`, no more come, or the time is over.
    pub fn wait(&self, known: u64, limit: Duration) {
        let is_same = |state: &mut State| state.increment_count <= known && state.end.is_none();
        drop(self.changed.wait_timeout_while(self.state(), limit, is_same));
    }

    /// The part of the recording in a range that ends at `until` of the recording, or now.
    pub fn moment(&self, range: Range, until: Option<Duration>) -> Moment {
        let state = self.state();
        state.history.moment(&state.profile, range, until)
    }
}
