//! The times of a recording: when it begins, when its file is shown or an increment of it is sent, and when it
//! ends.
//!
//! A thread of the agent's own keeps them, of which the JVM does not know. It is one of the JVM's for the
//! moment in which a recording begins or ends.

use std::ffi::CStr;
use std::io;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Condvar, Mutex};
use std::time::{Duration, Instant, SystemTime};

use perk_control::remote::Request;
use perk_jvm::guard::{Feature, contain, uncounted};
use perk_jvm::os;
use perk_jvm::sync::lock;
use perk_jvm::{Jni, Vm};

use super::Session;
use crate::cgroup::CpuQuota;
use crate::common::Life;
use crate::recorder::Flush;
use crate::{remote, threads};

/// The name of the thread.
const NAME: &str = "perk schedule";
/// Its name while it is one of the JVM's.
const THREAD: &CStr = c"perk schedule";
/// The bytes of the thread's stack.
const STACK_BYTES: usize = 512 << 10;
/// The time of a recording after which its file is first shown, and the least time to the next time.
const FIRST_FLUSH: Duration = Duration::from_secs(1);
/// The time between two increments for who watches.
const INCREMENT: Duration = Duration::from_secs(1);
/// The time between two flushes or increments is at least this many times as long as a flush.
const FLUSH_SHARE: u32 = 50;

/// The divisor of the time of a file for the least time of one.
const LEAST_PART: u32 = 8;

/// Wakes the thread when the session has ended.
#[derive(Debug, Default)]
pub(super) struct Alarm {
    has_rung: Mutex<bool>,
    rings: Condvar,
}

impl Alarm {
    /// Wakes the thread.
    pub(super) fn ring(&self) {
        *lock(&self.has_rung) = true;
        self.rings.notify_all();
    }

    /// Waits until `moment`. Returns whether it has rung.
    fn wait_until(&self, moment: Instant) -> bool {
        let mut has_rung = lock(&self.has_rung);
        while !*has_rung {
            let left = moment.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return false;
            }
            has_rung = match self.rings.wait_timeout(has_rung, left) {
                Ok((has_rung, _)) => has_rung,
                Err(poisoned) => poisoned.into_inner().0,
            };
        }
        true
    }
}

/// Returns the next moment at which the time of day is a multiple of `every`; the one after, if that is near.
fn next_round_moment(every: Duration) -> Instant {
    let since_1970 = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let past_ns = since_1970.as_nanos() % every.as_nanos();
    let left = every.saturating_sub(Duration::from_nanos(past_ns as u64));
    Instant::now() + if left < every / LEAST_PART { left + every } else { left }
}

/// Runs `body`, whose objects are not the program's. Its CPU time is the thread's, which is perk's own.
fn own(feature: Feature, body: impl FnOnce()) {
    uncounted(|| contain(feature, body));
}

impl Session {
    /// Starts the thread, if a time is asked for.
    ///
    /// # Errors
    /// The reason why it does not run, in one line.
    pub(super) fn start_schedule(&'static self, jni: Jni<'_>) -> Result<(), String> {
        let options = &self.common.options;
        let times = [options.delay_ns, options.duration_ns, options.flush_ns, options.every_ns];
        let has_times = times.iter().any(Option::is_some);
        if !has_times && self.common.watcher.is_none() {
            return Ok(());
        }
        let vm = jni.vm().ok_or("no JVM")?;
        let begin = Instant::now();
        if options.delay_ns.is_some() {
            // What is counted exactly is counted, and forgotten when the delay is over.
            self.begin_paused(jni);
        }
        let thread = std::thread::Builder::new().name(NAME.to_owned()).stack_size(STACK_BYTES);
        let started = os::without_signals(|| thread.spawn(move || self.keep_times(vm, begin)));
        started.map(drop).map_err(|error| error.to_string())
    }

    /// The thread's work.
    fn keep_times(&'static self, vm: Vm, begin: Instant) {
        threads::become_own();
        let options = &self.common.options;
        let time = |ns: Option<u64>| ns.map(Duration::from_nanos);
        let mut measured = begin;
        if let Some(delay) = time(options.delay_ns) {
            measured += delay;
            if self.alarm.wait_until(measured) {
                return;
            }
            vm.attached(THREAD, |jni| {
                remote::alone(|| own(Feature::Commands, || self.measure_from_now(jni)));
            });
        }
        let end = time(options.duration_ns).map(|duration| measured + duration);
        let flush = match self.common.watcher {
            Some(_) => Some(INCREMENT),
            None => time(options.flush_ns),
        };
        let mut next = flush.map(|flush| measured + FIRST_FLUSH.min(flush));
        let every = time(options.every_ns);
        let mut part_end = every.map(next_round_moment);
        while let Some(moment) = [end, next, part_end].into_iter().flatten().min() {
            if self.alarm.wait_until(moment) {
                return;
            }
            if end.is_some_and(|end| end <= moment) {
                vm.attached(THREAD, |jni| self.end_on_time(jni));
                return;
            }
            if part_end.is_some_and(|part_end| part_end <= moment) {
                own(Feature::Flushing, || self.begin_part());
                part_end = every.map(next_round_moment);
                continue;
            }
            let begin_ns = os::thread_cpu_ns();
            own(Feature::Flushing, || match &self.common.watcher {
                Some(watcher) => {
                    self.write_increment();
                    watcher.send();
                }
                None => self.flush(),
            });
            let cost = Duration::from_nanos(os::thread_cpu_ns().saturating_sub(begin_ns));
            let pause = flush.unwrap_or_default().min(measured.elapsed().max(FIRST_FLUSH));
            next = Some(Instant::now() + pause.max(cost * FLUSH_SHARE));
        }
    }

    /// Ends the delay.
    fn measure_from_now(&self, jni: Jni<'_>) {
        if self.is_paused() && self.forget(false).is_ok() {
            let _ = self.resume(jni);
            // Samplers leave out the CPU time that threads burned before: the clocks are read after that.
            *lock(&self.since) = self.now();
            self.process_cpu.begin(&self.common.threads, None);
            self.pauses.clear();
            *lock(&self.quota) = CpuQuota::begin();
        }
    }

    /// Ends the recording, whose duration is over.
    fn end_on_time(&self, jni: Jni<'_>) {
        match self.common.life {
            Life::Attached => {
                remote::obey(jni, &Request::Stop);
            }
            Life::Program => remote::alone(|| own(Feature::Dumping, || self.conclude(jni))),
        }
    }

    /// Finishes the file of a program that continues. Probes stay where they are, and count for
    /// nobody.
    fn conclude(&self, jni: Jni<'_>) {
        if self.is_dying.swap(true, Relaxed) {
            return;
        }
        // Waits until the current command is done.
        drop(lock(&self.dumping));
        self.stop();
        self.analyses.iter().for_each(|analysis| analysis.vm_dies(jni));
        self.pause_samples(jni);
        if self.common.options.gc {
            self.collect();
        }
        self.survey();
        self.end(Some(jni));
    }

    /// Writes what was measured since the last increment.
    fn write_increment(&self) {
        let recorder = self.common.recorder;
        let Ok(_dumping) = self.dumping.try_lock() else { return };
        if self.is_dying.load(Relaxed) || self.has_ended() || !lock(recorder).is_begun() {
            return;
        }
        self.settle(false);
        self.analyses.iter().for_each(|analysis| analysis.dump(None, false));
        let accounting = self.accounting();
        lock(recorder).increment(accounting, &self.books);
    }

    /// Ends the file, and begins the next one.
    fn begin_part(&self) {
        let recorder = self.common.recorder;
        let _dumping = lock(&self.dumping);
        if self.is_dying.load(Relaxed) || self.has_ended() {
            return;
        }
        self.settle(false);
        self.analyses.iter().for_each(|analysis| analysis.dump(None, false));
        let accounting = self.accounting();
        lock(recorder).begin_part(accounting, &self.books, &self.common.options);
        self.pauses.begin_part();
    }

    /// Shows what was measured so far under the file's name.
    fn flush(&self) {
        let recorder = self.common.recorder;
        let Ok(_dumping) = self.dumping.try_lock() else { return };
        let is_wanted = || !self.is_dying.load(Relaxed) && !self.has_ended();
        if !is_wanted() || !lock(recorder).is_begun() {
            return;
        }
        self.analyses.iter().for_each(|analysis| analysis.show());
        let accounting = self.accounting();
        // The program waits for its end.
        if !is_wanted() {
            return;
        }
        let flush = lock(recorder).flush(accounting, &self.books);
        let shown = flush.and_then(|flush| flush.map_or(Ok(()), |it| self.show(it, &is_wanted)));
        if let Err(error) = shown {
            os::say(&format!("HPROF WARNING: perk cannot show the profile so far: {error}\n"));
        }
    }

    /// Shows a flush, unless the program waits for its end.
    fn show(&self, mut flush: Flush, is_wanted: &dyn Fn() -> bool) -> io::Result<()> {
        flush.copy()?;
        for analysis in &self.analyses {
            analysis.show_more(&mut flush, is_wanted)?;
        }
        if is_wanted() { flush.show(self.common.recorder) } else { Ok(()) }
    }
}
