//! The queue of a destination: files on disk that it does not have yet, and the thread that delivers them.
//!
//! A file waits under a name with its number and its path at the destination, so that a later process continues
//! with what is there. The oldest are dropped when the queue is full.

use std::collections::VecDeque;
use std::fmt;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use anyhow::Context;
use perk_files::{Access, Destination as FileDestination};
use perk_profile::units::{bytes, plural};

use super::super::metrics::{DestinationMetrics, add};
use super::destination::{Destination, Failure};
use crate::talk::{Tally, say};

/// The time after the first failure. It doubles with each further one.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(60);
/// What a slash of a path is in the name of a file.
const SLASH: &str = "%2F";

/// A queue; see the module.
#[derive(Debug)]
pub(crate) struct Queue {
    folder: PathBuf,
    name: String,
    metrics: Arc<DestinationMetrics>,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    waiting: VecDeque<Waiting>,
    bytes: u64,
    most_bytes: u64,
    next_number: u64,
    is_closed: bool,
    dropped: Tally,
    refused: Tally,
    /// What brings the files from now on, until the thread takes it.
    destination: Option<Box<dyn Destination>>,
}

impl fmt::Debug for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("State").field("waiting", &self.waiting.len()).finish_non_exhaustive()
    }
}

#[derive(Clone, Debug)]
struct Waiting {
    name: String,
    bytes: u64,
}

impl Waiting {
    /// The path at the destination.
    fn path(&self) -> PathBuf {
        let path = self.name.split_once('-').map_or(&*self.name, |it| it.1);
        path.replace(SLASH, "/").into()
    }
}

impl Queue {
    /// Opens the queue of a destination in `folder`, and continues with the files that are there.
    ///
    /// # Errors
    /// The folder cannot be made or read.
    pub(crate) fn open(
        folder: PathBuf,
        most_bytes: u64,
        name: String,
        metrics: Arc<DestinationMetrics>,
    ) -> anyhow::Result<Arc<Self>> {
        let cannot = || format!("cannot use {}", folder.display());
        fs::create_dir_all(&folder).with_context(cannot)?;
        let mut waiting = Vec::new();
        for entry in fs::read_dir(&folder).with_context(cannot)?.flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            let Ok(its) = entry.metadata() else { continue };
            match name.split_once('-').map(|it| it.0.parse::<u64>()) {
                Some(Ok(number)) if !name.ends_with(".part") => {
                    waiting.push((number, Waiting { name, bytes: its.len() }));
                }
                // A process was killed while it wrote the file.
                _ => drop(fs::remove_file(entry.path())),
            }
        }
        waiting.sort_unstable_by_key(|it| it.0);
        let next_number = waiting.last().map_or(0, |last| last.0 + 1);
        let waiting: VecDeque<_> = waiting.into_iter().map(|it| it.1).collect();
        let bytes = waiting.iter().map(|it| it.bytes).sum();
        metrics.waiting_count.store(waiting.len() as u64, Relaxed);
        let state = State { waiting, bytes, most_bytes, next_number, ..State::default() };
        let (state, changed) = (Mutex::new(state), Condvar::new());
        Ok(Arc::new(Self { folder, name, metrics, state, changed }))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes what brings the files, and how many may wait.
    pub(crate) fn set(&self, destination: Box<dyn Destination>, most_bytes: u64) {
        let mut state = self.state();
        state.destination = Some(destination);
        state.most_bytes = most_bytes;
        drop(state);
        self.changed.notify_all();
    }

    /// Adds a file that is to be at `path`.
    ///
    /// # Errors
    /// It cannot be written.
    pub(crate) fn add(&self, path: &str, content: &[u8]) -> anyhow::Result<()> {
        let number = {
            let mut state = self.state();
            state.next_number += 1;
            state.next_number - 1
        };
        let name = format!("{number:012}-{}", path.replace('/', SLASH));
        let file = self.folder.join(&name);
        let written = write(&file, content);
        written.with_context(|| format!("cannot write to {}", self.folder.display()))?;
        let mut state = self.state();
        let file_bytes = content.len() as u64;
        state.bytes += file_bytes;
        state.waiting.push_back(Waiting { name, bytes: file_bytes });
        let mut dropped = 0;
        let most_bytes = state.most_bytes;
        while state.bytes > most_bytes && state.waiting.len() > 1 {
            if let Some(oldest) = state.waiting.pop_front() {
                state.bytes -= oldest.bytes;
                let _ = fs::remove_file(self.folder.join(oldest.name));
                dropped += 1;
            }
        }
        self.metrics.waiting_count.store(state.waiting.len() as u64, Relaxed);
        add(&self.metrics.dropped_count, dropped);
        let to_say = if dropped > 0 { state.dropped.add(dropped) } else { None };
        drop(state);
        if let Some(count) = to_say {
            say(format_args!(
                "{}: {} dropped, the oldest: more than {} wait for it",
                self.name,
                plural(count, "file"),
                bytes(most_bytes)
            ));
        }
        self.changed.notify_all();
        Ok(())
    }

    /// The number of files that wait.
    pub(crate) fn len(&self) -> usize {
        self.state().waiting.len()
    }

    /// The number of files that the destination refused.
    pub(crate) fn refused_count(&self) -> u64 {
        self.metrics.refused_count.load(Relaxed)
    }

    /// Lets the thread end once nothing waits, or a delivery fails.
    pub(crate) fn close(&self) {
        self.state().is_closed = true;
        self.changed.notify_all();
    }

    /// Waits for the next file. `None` once the queue is closed and empty.
    fn next(&self) -> Option<Waiting> {
        let mut state = self.state();
        loop {
            match state.waiting.front() {
                Some(first) => return Some(first.clone()),
                None if state.is_closed => return None,
                None => state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner),
            }
        }
    }

    /// Removes a file that is delivered, or that is not there any more. `false` if it was dropped meanwhile.
    fn remove(&self, file: &Waiting) -> bool {
        let mut state = self.state();
        let is_first = state.waiting.front().is_some_and(|first| first.name == file.name);
        if is_first {
            state.waiting.pop_front();
            state.bytes -= file.bytes;
        }
        self.metrics.waiting_count.store(state.waiting.len() as u64, Relaxed);
        drop(state);
        let _ = fs::remove_file(self.folder.join(&file.name));
        is_first
    }

    /// Waits after a failure, or until something else brings the files. `false` if the queue is closed.
    fn rest(&self, pause: Duration) -> bool {
        let end = Instant::now() + pause;
        let mut state = self.state();
        while !state.is_closed && state.destination.is_none() {
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return true;
            }
            let waited = self.changed.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        !state.is_closed
    }

    /// Delivers files until the queue is closed.
    pub(crate) fn deliver_to(&self, mut destination: Box<dyn Destination>) {
        let (mut failure_count, mut said) = (0, String::new());
        while let Some(file) = self.next() {
            if let Some(new) = self.state().destination.take() {
                destination = new;
            }
            match destination.deliver(&file.path(), &self.folder.join(&file.name)) {
                Ok(()) => {
                    if failure_count > 0 {
                        say(format_args!("{}: files are delivered again", self.name));
                    }
                    failure_count = 0;
                    add(&self.metrics.delivered_count, 1);
                    self.remove(&file);
                    destination.tidy();
                }
                // It was dropped meanwhile, or somebody has removed it.
                Err(_) if !self.folder.join(&file.name).exists() => {
                    if self.remove(&file) {
                        add(&self.metrics.dropped_count, 1);
                    }
                }
                Err(Failure::Refused(reason)) => {
                    failure_count = 0;
                    add(&self.metrics.refused_count, 1);
                    if let Some(count) = { self.state() }.refused.add(1) {
                        let files = plural(count, "file");
                        let name = &self.name;
                        say(format_args!("{name} refuses {files}, dropped: {reason}"));
                    }
                    self.remove(&file);
                }
                Err(Failure::Later { reason, after }) => {
                    add(&self.metrics.retry_count, 1);
                    let line = format!("{reason:#}");
                    if failure_count == 0 || line != said {
                        let files = plural(self.len() as u64, "file");
                        say(format_args!("{}: {line}; perk tries again with {files}", self.name));
                        said = line;
                    }
                    let pause = pause(failure_count);
                    if !self.rest(after.map_or(pause, |after| after.max(pause))) {
                        return;
                    }
                    failure_count += 1;
                }
            }
        }
    }
}

/// The pause after a number of failures, with a part by chance, so that many recorders do not come together.
fn pause(failure_count: u32) -> Duration {
    let longest = FIRST_PAUSE.saturating_mul(1 << failure_count.min(10)).min(LONGEST_PAUSE);
    let now = std::time::SystemTime::now().duration_since(std::time::SystemTime::UNIX_EPOCH);
    let chance = f64::from(now.unwrap_or_default().subsec_nanos() % 1000) / 1000.0;
    longest.mul_f64(0.5 + chance / 2.0)
}

fn write(path: &Path, content: &[u8]) -> std::io::Result<()> {
    match FileDestination::open(path, Access::Owner)? {
        FileDestination::File(mut part) => {
            part.file().write_all(content)?;
            part.finish()
        }
        FileDestination::Stream(_) => Err(std::io::Error::other("it is not a file")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A destination that fails a number of times.
    struct Flaky {
        failures: u32,
        got: Arc<Mutex<Vec<PathBuf>>>,
    }

    impl Destination for Flaky {
        fn deliver(&mut self, path: &Path, _: &Path) -> Result<(), Failure> {
            if path == Path::new("bad") {
                return Err(Failure::Refused("bad".to_owned()));
            }
            if self.failures > 0 {
                self.failures -= 1;
                return Err(anyhow::anyhow!("no").into());
            }
            self.got.lock().unwrap().push(path.to_owned());
            Ok(())
        }
    }

    fn flaky(failures: u32, got: &Arc<Mutex<Vec<PathBuf>>>) -> Box<dyn Destination> {
        Box::new(Flaky { failures, got: Arc::clone(got) })
    }

    fn open(folder: &Path, most_bytes: u64) -> (Arc<Queue>, Arc<DestinationMetrics>) {
        let metrics = Arc::new(DestinationMetrics::default());
        let folder = folder.to_owned();
        let queue = Queue::open(folder, most_bytes, "x".to_owned(), Arc::clone(&metrics));
        (queue.unwrap(), metrics)
    }

    fn number(count: &std::sync::atomic::AtomicU64) -> u64 {
        count.load(std::sync::atomic::Ordering::Relaxed)
    }

    #[test]
    fn files_wait_for_a_later_process_in_their_order() {
        let folder = tempfile::tempdir().unwrap();
        let (queue, _) = open(folder.path(), 100);
        queue.add("a/b", b"1").unwrap();
        queue.add("c", b"2").unwrap();
        fs::write(folder.path().join("000000000003-x.perk-a.part"), "").unwrap();
        let (queue, metrics) = open(folder.path(), 100);
        assert_eq!(queue.len(), 2);
        queue.add("d", b"3").unwrap();
        queue.close();
        let got = Arc::default();
        queue.deliver_to(flaky(0, &got));
        assert_eq!(*got.lock().unwrap(), ["a/b", "c", "d"].map(PathBuf::from));
        assert_eq!(number(&metrics.delivered_count), 3);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn the_oldest_are_dropped_and_counted() {
        let folder = tempfile::tempdir().unwrap();
        let (queue, metrics) = open(folder.path(), 25);
        for name in ["a", "b", "c", "d"] {
            queue.add(name, &[0; 10]).unwrap();
        }
        assert_eq!((queue.len(), number(&metrics.dropped_count)), (2, 2));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
    }

    #[test]
    fn a_failure_is_tried_again_and_the_end_leaves_what_waits() {
        let folder = tempfile::tempdir().unwrap();
        let (queue, metrics) = open(folder.path(), 100);
        queue.add("a", b"1").unwrap();
        let got: Arc<Mutex<Vec<PathBuf>>> = Arc::default();
        let to = flaky(1, &got);
        let thread = std::thread::spawn({
            let queue = Arc::clone(&queue);
            move || queue.deliver_to(to)
        });
        while number(&metrics.delivered_count) == 0 {
            std::thread::sleep(Duration::from_millis(20));
        }
        assert_eq!(number(&metrics.retry_count), 1);
        queue.close();
        thread.join().unwrap();
        queue.add("b", b"1").unwrap();
        queue.deliver_to(flaky(9, &got));
        assert_eq!(queue.len(), 1);
    }

    #[test]
    fn what_is_refused_is_dropped_and_counted() {
        let folder = tempfile::tempdir().unwrap();
        let (queue, metrics) = open(folder.path(), 100);
        for name in ["a", "bad", "c"] {
            queue.add(name, b"1").unwrap();
        }
        assert_eq!(number(&metrics.waiting_count), 3);
        queue.close();
        let got = Arc::default();
        queue.deliver_to(flaky(0, &got));
        assert_eq!(*got.lock().unwrap(), ["a", "c"].map(PathBuf::from));
        let counts = [&metrics.delivered_count, &metrics.refused_count, &metrics.waiting_count];
        assert_eq!(counts.map(number), [2, 1, 0]);
    }

    #[test]
    fn another_destination_takes_what_waits() {
        let folder = tempfile::tempdir().unwrap();
        let (queue, metrics) = open(folder.path(), 100);
        queue.add("a", b"1").unwrap();
        let (never, got) = (Arc::default(), Arc::default());
        let thread = std::thread::spawn({
            let (queue, to) = (Arc::clone(&queue), flaky(u32::MAX, &never));
            move || queue.deliver_to(to)
        });
        while number(&metrics.retry_count) < 3 {
            std::thread::sleep(Duration::from_millis(20));
        }
        queue.set(flaky(0, &got), 100);
        while number(&metrics.delivered_count) == 0 {
            std::thread::sleep(Duration::from_millis(5));
        }
        queue.close();
        thread.join().unwrap();
        assert_eq!((never.lock().unwrap().len(), got.lock().unwrap().len()), (0, 1));
    }

    #[test]
    fn pauses_grow_to_a_limit() {
        assert!(pause(0) <= FIRST_PAUSE && pause(0) >= FIRST_PAUSE / 2);
        assert!(pause(100) <= LONGEST_PAUSE && pause(100) >= LONGEST_PAUSE / 2);
    }
}
