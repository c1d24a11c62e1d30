//! A recording of a running JVM while it is made: the last seconds, the last minute, or all of it, as a
//! profile.
//!
//! [`LiveRecording`] reads the increments of a stream on a thread of its own, and gives a [`Moment`] when it is
//! asked. [`History`] is the memory behind it: it keeps each increment of the last ten minutes, and the sum of
//! the older ones. [`Vitals`] are the numbers of a moment that views of a running JVM begin with.
#![forbid(unsafe_code)]

mod history;
mod jvm;
mod recording;
mod vitals;

pub use history::{History, Moment, PartTooOld, Range, Stretch};
pub use jvm::{Jvm, JvmCounters, JvmState, ending, exit_text};
pub use recording::{End, LiveRecording, Progress};
pub use vitals::{ThreadVitals, Vitals, threads};
