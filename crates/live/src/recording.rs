//! A recording that is read while it is made.

use std::io::Read;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use perk_hprof::Error;
use perk_hprof::binary::{GrowingSymbols, Increments};

use crate::history::{History, Moment, PartTooOld, Range, Stretch};

/// The reason why no more comes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// The recording has ended, and is whole.
    Ended,
    /// The connection was lost, or has something that is no recording; the reason in one line.
    Lost(String),
}

/// How far a recording is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// The number of increments, which changes with each.
    pub increment_count: u64,
    /// The end of the last increment, in nanoseconds of the recording.
    pub end_ns: u64,
    /// The begin of what is known second by second.
    pub kept_from_ns: u64,
    /// The time when it began, in milliseconds since 1970; 0 before its head has come.
    pub begun_unix_ms: u64,
    /// The time since the last increment came, or since the beginning.
    pub silence: Duration,
    /// The reason why no more comes, once that is so.
    pub end: Option<End>,
}

/// A recording; see the module.
#[derive(Debug)]
pub struct LiveRecording {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug)]
struct State {
    history: History,
    /// They are copied when a part of the recording is asked for.
    symbols: GrowingSymbols,
    begun_unix_ms: u64,
    increment_count: u64,
    /// The time of the last increment.
    last: Instant,
    end: Option<End>,
}

impl State {
    fn new() -> Self {
        Self {
            history: History::default(),
            symbols: GrowingSymbols::default(),
            begun_unix_ms: 0,
            increment_count: 0,
            last: Instant::now(),
            end: None,
        }
    }
}

impl LiveRecording {
    /// Reads the increments of `stream` on a thread until it ends.
    ///
    /// # Errors
    /// The system has no thread.
    pub fn start(stream: impl Read + Send + 'static) -> std::io::Result<Arc<Self>> {
        let recording = Arc::new(Self { state: Mutex::new(State::new()), changed: Condvar::new() });
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
        {
            let mut state = self.state();
            state.symbols = increments.symbols();
            state.begun_unix_ms = increments.begun_unix_ms();
        }
        while let Some(events) = increments.read()? {
            let mut state = self.state();
            state.history.push(increments.accounting(), events);
            let old = state.history.old_count();
            if old > 0 {
                let symbols = state.symbols.copy();
                state.history.add_up(&symbols, old);
            }
            state.increment_count += 1;
            state.last = Instant::now();
            drop(state);
            self.changed.notify_all();
        }
        Ok(())
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How far it is.
    pub fn progress(&self) -> Progress {
        let state = self.state();
        Progress {
            increment_count: state.increment_count,
            end_ns: state.history.end_ns(),
            kept_from_ns: state.history.kept_from_ns(),
            begun_unix_ms: state.begun_unix_ms,
            silence: state.last.elapsed(),
            end: state.end.clone(),
        }
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

    /// Waits until no more comes, or the time is over. Returns the reason why no more comes.
    pub fn wait_for_end(&self, limit: Duration) -> Option<End> {
        let goes_on = |state: &mut State| state.end.is_none();
        let waited = self.changed.wait_timeout_while(self.state(), limit, goes_on);
        waited.unwrap_or_else(PoisonError::into_inner).0.end.clone()
    }

    /// The range that ends at `until` of the recording, or now.
    pub fn stretch(&self, range: Range, until: Option<Duration>) -> Stretch {
        self.state().history.stretch(range, until)
    }

    /// A part of the recording.
    ///
    /// # Errors
    /// Its increments are added up with others.
    pub fn moment(&self, stretch: Stretch) -> Result<Moment, PartTooOld> {
        let mut state = self.state();
        let symbols = state.symbols.copy();
        state.history.moment(symbols, stretch)
    }
}
