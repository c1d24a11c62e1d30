//! A JVM that is recorded: its thread, from the time it is found to its end.

use std::os::unix::net::UnixStream;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use anyhow::{Context, bail};
use perk_attach::jvms::Jvm;
use perk_attach::{Control, PATIENCE, is_refusal_of_jvm, load_agent, may_ask};
use perk_control::AgentAction;
use perk_control::options::{Classes, CommandLine, Options, Output, OutputFormat};
use perk_control::remote::{AgentState, Request, field};

use super::cost::Pace;
use super::files::{JvmFiles, collect, collect_left, finish};
use super::metrics::add;
use super::settings::Settings;
use super::state::{End, Recorder, Woken};
use super::triggers::{LOOK, Quantity, TriggerEvent, Watch};
use crate::lock::lock;
use crate::talk::say;

/// The time that a JVM has to load the agent.
const TIMEOUT: Duration = Duration::from_secs(10);
/// The time for which a recording continues without a recorder.
const GRACE: Duration = Duration::from_secs(600);
/// The time after which the file so far is there for a recorder, if the JVM is killed.
const FLUSH: Duration = Duration::from_secs(10);
/// The memory of a JVM for call traces.
const MEMORY_BYTES: u64 = 64 << 20;
/// The time between the end of a file's time and a look at it.
const FINISHED_AFTER: Duration = Duration::from_millis(700);
/// The time in which a JVM whose connection is closed ends.
const ENDS_WITHIN: Duration = Duration::from_secs(2);
/// The time after a recording that another request has ended.
const REST: Duration = Duration::from_secs(60);
/// The pauses after a JVM that refuses: the first, and the longest.
const PAUSES: [Duration; 2] = [Duration::from_millis(500), Duration::from_secs(60)];
/// The time between two looks for what JVMs have left that have ended.
const LEFT: Duration = Duration::from_secs(60);
/// The refusals after which it is said: a JVM that starts refuses at first.
const SAID_AFTER: u32 = 4;

/// A recording of the agent.
#[derive(Debug)]
struct Recording {
    connection: UnixStream,
    pace: Pace,
    /// The time of a file.
    every: Duration,
}

/// A JVM; see the module.
#[derive(Debug)]
struct RecordedJvm<'a> {
    jvm: &'a Jvm,
    shared: &'a Arc<Recorder>,
    files: Arc<Mutex<JvmFiles>>,
    /// The pace that the cost of the last file asks for.
    pace: Pace,
    /// Whether the memory of call traces is used up.
    is_full: bool,
    watch: Watch,
    /// A trigger that a finished file has fired.
    fired: Option<TriggerEvent>,
}

/// How the end of a JVM's recording came.
enum Over {
    /// With the JVM.
    Jvm,
    /// As the process runs another program.
    Exec,
    /// By another request, while the JVM runs.
    Request,
    /// With the recorder.
    Recorder(End),
    /// To begin anew, with other options.
    Anew,
    /// For what a trigger measures.
    Trigger(Box<TriggerEvent>),
    /// For what a trigger has measured: nothing is recorded now.
    Measured,
}

/// Records a JVM until it ends or the recorder does.
pub(crate) fn record(jvm: &Jvm, shared: &Arc<Recorder>) {
    let (mut refusals, mut said) = (0, String::new());
    loop {
        match RecordedJvm::new(jvm, shared).and_then(|mut it| it.record()) {
            Ok(()) => return,
            Err(_) if jvm.process.is_gone() => return,
            Err(error) => {
                refusals += 1;
                let line = format!("{error:#}");
                if refusals >= SAID_AFTER && line != said {
                    say(format_args!("cannot record: {line}"));
                    said = line;
                }
            }
        }
        let pause = PAUSES[0].saturating_mul(1 << refusals.min(12)).min(PAUSES[1]);
        if let Woken::End(_) = shared.wait(None, Instant::now() + pause) {
            return;
        }
    }
}

impl<'a> RecordedJvm<'a> {
    fn new(jvm: &'a Jvm, shared: &'a Arc<Recorder>) -> anyhow::Result<Self> {
        may_ask(jvm)?;
        let files = Arc::new(Mutex::new(JvmFiles::of(jvm, shared)?));
        Ok(Self {
            jvm,
            shared,
            files,
            pace: Pace::USUAL,
            is_full: false,
            watch: Watch::default(),
            fired: None,
        })
    }

    /// Records until the JVM or the recorder ends.
    fn record(&mut self) -> anyhow::Result<()> {
        collect_left(self.jvm, self.shared);
        let mut recording = self.begin()?;
        let service = lock(&self.files).service().to_owned();
        say(format_args!("recording {}, service {service}", self.jvm.title()));
        add(&self.shared.metrics.jvm_count, 1);
        let end = loop {
            let over = match self.follow(&recording) {
                Over::Trigger(fired) => self.measure(&fired),
                over => over,
            };
            match over {
                Over::Jvm => {
                    finish(Arc::clone(&self.files));
                    say(format_args!("{} has ended", self.jvm.title()));
                    break Ok(());
                }
                Over::Exec => {
                    finish(Arc::clone(&self.files));
                    say(format_args!("{} runs another program now", self.jvm.title()));
                    break Ok(());
                }
                Over::Recorder(End::Recorder) => break Ok(()),
                Over::Recorder(End::All) => {
                    self.stop();
                    finish(Arc::clone(&self.files));
                    break Ok(());
                }
                Over::Request => {
                    let title = self.jvm.title();
                    say(format_args!("the recording of {title} was ended by a request"));
                    self.collect(false);
                    self.shared.metrics.jvm_count.fetch_sub(1, Relaxed);
                    let woken = self.shared.wait(None, Instant::now() + REST);
                    add(&self.shared.metrics.jvm_count, 1);
                    if let Woken::End(_) = woken {
                        break Ok(());
                    }
                    say(format_args!("recording {title} again"));
                }
                Over::Anew => self.stop(),
                Over::Trigger(_) | Over::Measured => {}
            }
            match self.begin() {
                Ok(new) => recording = new,
                Err(error) => break Err(error),
            }
        };
        self.shared.metrics.jvm_count.fetch_sub(1, Relaxed);
        end
    }

    /// Begins a recording, or takes over that of an earlier recorder.
    fn begin(&mut self) -> anyhow::Result<Recording> {
        let settings = self.shared.settings();
        let control = match Control::of(self.jvm) {
            Some(control) => control,
            None => {
                let _permit = self.shared.may_load();
                load_agent(self.jvm, TIMEOUT)?
            }
        };
        control.check(TIMEOUT)?;
        let file = lock(&self.files).option()?;
        let status = control.obey(&Request::Status, TIMEOUT)?;
        let of_its = status.get(field::OPTIONS).and_then(options_of);
        let earlier = of_its.filter(|_| status.state() != Some(AgentState::Idle));
        if let Some(earlier) = &earlier {
            self.pace = Pace::of(earlier);
        }
        let options = self.options(&settings, file);
        let (pace, every) = (self.pace, settings.every);
        let title = self.jvm.title();
        match status.state() {
            Some(AgentState::Idle) => {}
            _ if status.get(field::OPTIONS) == Some(&*options.to_string()) => {
                let connection = control.hold(PATIENCE)?;
                say(format_args!("the recording of {title} continues"));
                return Ok(Recording { connection, pace, every });
            }
            // An earlier recorder had other settings. Nobody else may hold its recording.
            _ if earlier.is_some_and(|it| it.output == options.output) => {
                drop(control.hold(PATIENCE)?);
                control.obey(&Request::Stop, PATIENCE)?;
            }
            _ => {
                bail!("{title} is recorded by another request: perk stop {}", self.jvm.process.pid)
            }
        }
        self.collect(true);
        lock(&self.files).begin();
        let connection = self.lease(&control, &options)?;
        Ok(Recording { connection, pace, every })
    }

    /// Begins a recording. If the JVM refuses what one measurement needs, the others continue.
    fn lease(&self, control: &Control<'_>, options: &Options) -> anyhow::Result<UnixStream> {
        let refusal = match control.lease(options.to_string(), PATIENCE) {
            Ok(connection) => return Ok(connection),
            Err(refusal) => refusal,
        };
        let text = format!("{refusal:#}");
        for (name, others) in options.each_left_out().filter(|_| is_refusal_of_jvm(&text)) {
            if let Ok(connection) = control.lease(others.to_string(), PATIENCE) {
                say(format_args!("no {name} are measured: {text}"));
                return Ok(connection);
            }
        }
        Err(refusal)
    }

    /// The options of the agent.
    fn options(&self, settings: &Settings, file: String) -> Options {
        let nanoseconds = |time: Duration| time.as_nanos() as u64;
        let mut options = Options::default();
        CommandLine::measure_by_default(&mut options);
        CommandLine::deepen(&mut options);
        self.pace.apply(&mut options);
        Options {
            cutoff: 0.0,
            classes: Classes::Used,
            verbose: false,
            thread: true,
            platform_threads: true,
            live: false,
            format: OutputFormat::Extended,
            output: Output::File(file),
            memory_limit_bytes: Some(MEMORY_BYTES),
            flush_ns: Some(nanoseconds(FLUSH.min(settings.every))),
            every_ns: Some(nanoseconds(settings.every)),
            grace_ns: Some(nanoseconds(GRACE)),
            ..options
        }
    }

    /// Takes files until something ends the recording.
    fn follow(&mut self, recording: &Recording) -> Over {
        let begun = Instant::now();
        let mut looked_for_left = begun;
        let mut file_at = next_file(recording.every) + FINISHED_AFTER;
        loop {
            let settings = self.shared.settings();
            if settings.is_once {
                file_at = file_at.min(begun + recording.every);
            }
            let has_triggers = !settings.triggers.is_empty();
            let moment = if has_triggers { file_at.min(Instant::now() + LOOK) } else { file_at };
            let woken = self.shared.wait(Some(&recording.connection), moment);
            match woken {
                Woken::End(end) => return Over::Recorder(end),
                Woken::Closed if self.has_ended() => return Over::Jvm,
                Woken::Closed if Control::of(self.jvm).is_none() => return Over::Exec,
                Woken::Closed => return Over::Request,
                Woken::Time => {}
            }
            if has_triggers {
                let (triggers, per_hour) = (&settings.triggers, settings.triggers_per_hour);
                let fired = self.watch.look(self.jvm, triggers, per_hour);
                if let Some(fired) = fired.or_else(|| self.fired.take()) {
                    return Over::Trigger(Box::new(fired));
                }
            }
            if Instant::now() < file_at {
                continue;
            }
            self.collect(false);
            if looked_for_left.elapsed() >= LEFT {
                collect_left(self.jvm, self.shared);
                looked_for_left = Instant::now();
            }
            file_at = next_file(recording.every) + FINISHED_AFTER;
            if settings.is_once && begun.elapsed() >= recording.every {
                return Over::Recorder(End::All);
            }
            if !self.pace.is_as(recording.pace) {
                let title = self.jvm.title();
                say(format_args!("{title} has {} now, for its budget", self.pace));
                return Over::Anew;
            }
            if settings.every != recording.every || std::mem::take(&mut self.is_full) {
                return Over::Anew;
            }
        }
    }

    /// Measures what a trigger asks for, in place of what is recorded usually.
    fn measure(&mut self, fired: &TriggerEvent) -> Over {
        let title = self.jvm.title();
        say(format_args!("{title}: {}; measures {}", fired.reason, fired.action));
        self.stop();
        let connection = match self.begin_action(fired) {
            Ok(connection) => connection,
            Err(error) => {
                say(format_args!("cannot measure it: {error:#}"));
                return Over::Measured;
            }
        };
        let woken =
            self.shared.wait(Some(&connection), Instant::now() + fired.action.time + TIMEOUT);
        let over = match woken {
            Woken::End(end) => Over::Recorder(end),
            Woken::Closed if self.jvm.process.is_gone() => Over::Jvm,
            Woken::Closed | Woken::Time => Over::Measured,
        };
        match woken {
            Woken::Closed => self.collect(true),
            _ => self.stop(),
        }
        lock(&self.files).set_reason(None);
        over
    }

    fn begin_action(&mut self, fired: &TriggerEvent) -> anyhow::Result<UnixStream> {
        let control = Control::of(self.jvm).context("the JVM has ended")?;
        let mut files = lock(&self.files);
        let options = Options {
            classes: Classes::Used,
            verbose: false,
            output: Output::File(files.option()?.replace("%n", "1")),
            duration_ns: Some(fired.action.time.as_nanos() as u64),
            ..fired.action.options.clone()
        };
        files.set_reason(Some(fired.reason.clone()));
        files.begin();
        control.lease(options.to_string(), PATIENCE)
    }

    /// Whether the JVM has ended, or does now.
    fn has_ended(&self) -> bool {
        let end = Instant::now() + ENDS_WITHIN;
        while !self.jvm.process.is_gone() {
            if Instant::now() >= end {
                return false;
            }
            thread::sleep(Duration::from_millis(20));
        }
        true
    }

    /// Ends the recording, and takes its last file.
    fn stop(&mut self) {
        let stopped = Control::of(self.jvm).map(|control| control.obey(&Request::Stop, TIMEOUT));
        if let Some(Err(error)) = stopped {
            say(format_args!("{error:#}"));
        }
        self.collect(true);
    }

    /// Takes the files that are there, and decides what the cost of the last one means.
    fn collect(&mut self, is_last: bool) {
        let Some(taken) = collect(&self.files, is_last) else { return };
        let settings = self.shared.settings();
        let accounting = &taken.accounting;
        if taken.is_usual {
            self.pace = self.pace.after(accounting, settings.every, settings.budget_percent);
        }
        self.is_full |= accounting.folded_count > 0;
        let blocked = 100.0 * taken.blocked_ns as f64 / (accounting.wall_ns as f64).max(1.0);
        let (triggers, per_hour) = (&settings.triggers, settings.triggers_per_hour);
        self.fired = self.watch.take(Quantity::Blocked, blocked, triggers, per_hour);
    }
}

/// The options of a recording.
fn options_of(text: &str) -> Option<Options> {
    match Options::parse(text, None) {
        Ok(AgentAction::Run(options)) => Some(options),
        _ => None,
    }
}

/// The moment at which the time of day is the next multiple of `every`.
fn next_file(every: Duration) -> Instant {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let past_ns = (now.as_nanos() % every.as_nanos()) as u64;
    Instant::now() + every.saturating_sub(Duration::from_nanos(past_ns))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_next_file_is_within_its_time() {
        let left = next_file(Duration::from_secs(5)).saturating_duration_since(Instant::now());
        assert!(left <= Duration::from_secs(5), "{left:?}");
    }
}
