//! Triggers: a condition of a JVM, and the measurement that follows for a while.
//!
//! Numbers come from `/proc` and from the counters that a JVM keeps for `jstat`, once a second; waits for locks from
//! its finished files.

use std::collections::VecDeque;
use std::fmt;
use std::str::FromStr;
use std::time::{Duration, Instant};

use perk_attach::jvms::{Counters, Jvm};
use perk_control::AgentAction;
use perk_control::options::{CommandLine, Options, OutputFormat, scaled};
use perk_profile::units::{bytes, duration};
use perk_report::parse::time;
use serde::Deserialize;

use super::processors;

/// The time between two looks at a JVM.
pub(crate) const LOOK: Duration = Duration::from_secs(1);
/// The time in which a trigger may fire a limited number of times.
const HOUR: Duration = Duration::from_secs(3600);

/// A trigger, as settings have it.
#[derive(Clone, Debug)]
pub(crate) struct Trigger {
    pub(crate) condition: Condition,
    pub(crate) action: Action,
}

/// A number of a JVM that conditions are about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Quantity {
    /// The CPU time, in percent of one processor times their number.
    Cpu,
    /// The heap that is used after a collection, in percent of its maximum.
    HeapPercent,
    /// The same in bytes.
    HeapBytes,
    /// The mean pause of the collections of a second, in nanoseconds.
    Pause,
    /// The threads that live.
    Threads,
    /// The time for which threads wait for locks, in percent of the time: 100 is one thread all the time.
    Blocked,
}

/// A number is above a limit for a time.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(try_from = "String")]
pub(crate) struct Condition {
    pub(crate) quantity: Quantity,
    limit: f64,
    time: Duration,
    /// As it was given.
    text: String,
}

/// A measurement for a time.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(try_from = "String")]
pub(crate) struct Action {
    /// The options of the agent, without a file.
    pub(crate) options: Options,
    pub(crate) time: Duration,
    text: String,
}

impl FromStr for Condition {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let hint = "use a condition such as cpu>90% for 30s, heap>80%, heap>2g, pause>200ms, threads>500 or blocked>50%";
        let (what, time) = match text.split_once(" for ") {
            Some((what, text)) => (what, time(text.trim()).map_err(|_| hint)?),
            None => (text, Duration::ZERO),
        };
        let (name, limit) = what.split_once('>').ok_or(hint)?;
        let limit = limit.trim();
        let percent = || limit.strip_suffix('%')?.trim().parse::<f64>().ok();
        let (quantity, limit) = match name.trim() {
            "cpu" => (Quantity::Cpu, percent()),
            "heap" if limit.ends_with('%') => (Quantity::HeapPercent, percent()),
            "heap" => (Quantity::HeapBytes, scaled(limit).map(|it| it as f64)),
            "pause" => (Quantity::Pause, self::time(limit).ok().map(|it| it.as_nanos() as f64)),
            "threads" => (Quantity::Threads, limit.parse::<u32>().ok().map(f64::from)),
            "blocked" => (Quantity::Blocked, percent()),
            _ => return Err(hint.to_owned()),
        };
        let limit = limit.filter(|it| it.is_finite() && *it >= 0.0).ok_or(hint)?;
        Ok(Self { quantity, limit, time, text: text.to_owned() })
    }
}

impl FromStr for Action {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let hint = || {
            "use options of the agent and a time, such as cpu=samples,interval=1ms,wall 30s"
                .to_owned()
        };
        let (options, length) = text.trim().rsplit_once(' ').ok_or_else(hint)?;
        let length = time(length).map_err(|_| hint())?;
        if !(Duration::from_secs(1)..=HOUR).contains(&length) {
            return Err("use a time from 1s to 60m".to_owned());
        }
        // `wall` means `wall=y`.
        let words = options.trim().split(',').map(|word| match word.contains('=') {
            true => word.to_owned(),
            false => format!("{word}=y"),
        });
        let mut usual = Options::default();
        CommandLine::deepen(&mut usual);
        let words = words.collect::<Vec<_>>().join(",");
        let words = format!("depth={},{words},format=p,cutoff=0", usual.depth);
        let options = match Options::parse(&words, None) {
            Ok(AgentAction::Run(options)) => options,
            Ok(AgentAction::Help) => return Err(hint()),
            Err(error) => return Err(error.message),
        };
        if options.format != OutputFormat::Extended || options.heap_dump {
            return Err("use samples or counts: a trigger makes no heap dump".to_owned());
        }
        if let Some(refusal) = options.refusal_to_attach() {
            return Err(refusal.for_agent(&options));
        }
        Ok(Self { options, time: length, text: text.to_owned() })
    }
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Quantity {
    fn text(self, value: f64) -> String {
        match self {
            Self::Cpu | Self::HeapPercent | Self::Blocked => format!("{value:.0} %"),
            Self::HeapBytes => bytes(value as u64),
            Self::Pause => duration(value as u64),
            Self::Threads => format!("{value:.0}"),
        }
    }
}

/// What a JVM says about itself at a moment.
#[derive(Clone, Copy, Debug)]
struct Look {
    at: Instant,
    cpu: Duration,
    /// The processors that it may use.
    processors: f64,
    counters: Option<GcCounters>,
}

/// Counters of `jstat`.
#[derive(Clone, Copy, Debug, Default)]
struct GcCounters {
    heap_used_bytes: u64,
    heap_most_bytes: u64,
    collection_count: u64,
    collection_ns: u64,
    thread_count: u64,
}

/// The state of a JVM's triggers.
#[derive(Debug, Default)]
pub(crate) struct Watch {
    last: Option<Look>,
    /// Since when each condition holds, and when its trigger fired.
    states: Vec<TriggerState>,
}

#[derive(Debug, Default)]
struct TriggerState {
    since: Option<Instant>,
    fired: VecDeque<Instant>,
}

/// A trigger that fires.
#[derive(Clone, Debug)]
pub(crate) struct TriggerEvent {
    pub(crate) action: Action,
    /// The condition and the number, for people and for the file.
    pub(crate) reason: String,
}

impl Watch {
    /// Looks at a JVM, and returns the first trigger that fires.
    pub(crate) fn look(
        &mut self,
        jvm: &Jvm,
        triggers: &[Trigger],
        per_hour: u32,
    ) -> Option<TriggerEvent> {
        let now = Look {
            at: Instant::now(),
            cpu: jvm.process.cpu_time().unwrap_or_default(),
            processors: processors::available(&jvm.process),
            counters: Counters::of(jvm).map(|it| GcCounters::of(&it)),
        };
        let last = self.last.replace(now)?;
        let values = |quantity| value(quantity, &last, &now);
        self.decide(triggers, per_hour, now.at, &values)
    }

    /// Takes the number of a finished file.
    pub(crate) fn take(
        &mut self,
        quantity: Quantity,
        number: f64,
        triggers: &[Trigger],
        per_hour: u32,
    ) -> Option<TriggerEvent> {
        let value = |it| (it == quantity).then_some(number);
        self.decide(triggers, per_hour, Instant::now(), &value)
    }

    fn decide(
        &mut self,
        triggers: &[Trigger],
        per_hour: u32,
        now: Instant,
        value: &dyn Fn(Quantity) -> Option<f64>,
    ) -> Option<TriggerEvent> {
        self.states.resize_with(triggers.len(), TriggerState::default);
        let mut fired = None;
        for (trigger, state) in triggers.iter().zip(&mut self.states) {
            let condition = &trigger.condition;
            let Some(value) = value(condition.quantity) else { continue };
            if value <= condition.limit {
                state.since = None;
                continue;
            }
            let since = *state.since.get_or_insert(now);
            state.fired.retain(|at| now.saturating_duration_since(*at) < HOUR);
            let is_due = now.saturating_duration_since(since) >= condition.time;
            if is_due && fired.is_none() && state.fired.len() < per_hour as usize {
                state.fired.push_back(now);
                state.since = None;
                let reason = format!("{}: {}", condition.text, condition.quantity.text(value));
                fired = Some(TriggerEvent { action: trigger.action.clone(), reason });
            }
        }
        fired
    }
}

/// The number between two looks; `None` if it is not known.
fn value(quantity: Quantity, last: &Look, now: &Look) -> Option<f64> {
    let time = now.at.saturating_duration_since(last.at).as_secs_f64();
    let counters = now.counters;
    match quantity {
        Quantity::Cpu => {
            let used = now.cpu.saturating_sub(last.cpu).as_secs_f64();
            (time > 0.0).then(|| 100.0 * used / time / now.processors)
        }
        Quantity::HeapPercent => {
            let counters = counters.filter(|it| it.heap_most_bytes > 0)?;
            Some(100.0 * counters.heap_used_bytes as f64 / counters.heap_most_bytes as f64)
        }
        Quantity::HeapBytes => Some(counters?.heap_used_bytes as f64),
        Quantity::Pause => {
            let (now, last) = (counters?, last.counters?);
            let count = now.collection_count.saturating_sub(last.collection_count);
            let ns = now.collection_ns.saturating_sub(last.collection_ns);
            Some(if count == 0 { 0.0 } else { ns as f64 / count as f64 })
        }
        Quantity::Threads => Some(counters?.thread_count as f64),
        Quantity::Blocked => None,
    }
}

impl GcCounters {
    fn of(counters: &Counters) -> Self {
        let collections = |name| counters.sum("sun.gc.collector.", name);
        let frequency = counters.get("sun.os.hrt.frequency").filter(|&it| it > 0);
        let ticks = collections("time");
        let ns =
            frequency.map_or(0, |it| (u128::from(ticks) * 1_000_000_000 / u128::from(it)) as u64);
        Self {
            heap_used_bytes: counters.values().heap_used_bytes,
            heap_most_bytes: counters.heap_most_bytes(),
            collection_count: collections("invocations"),
            collection_ns: ns,
            thread_count: counters.get("java.threads.live").unwrap_or(0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trigger(condition: &str) -> Trigger {
        let action = "cpu=samples,interval=1ms,wall 30s".parse().unwrap();
        Trigger { condition: condition.parse().unwrap(), action }
    }

    #[test]
    fn conditions_are_read() {
        for (text, quantity, limit, seconds) in [
            ("cpu>90% for 30s", Quantity::Cpu, 90.0, 30),
            ("heap > 80%", Quantity::HeapPercent, 80.0, 0),
            ("heap>2g", Quantity::HeapBytes, 2147483648.0, 0),
            ("pause>200ms", Quantity::Pause, 2e8, 0),
            ("threads>500 for 1m", Quantity::Threads, 500.0, 60),
            ("blocked>50%", Quantity::Blocked, 50.0, 0),
        ] {
            let it: Condition = text.parse().unwrap();
            assert_eq!((it.quantity, it.limit, it.time.as_secs()), (quantity, limit, seconds));
        }
        for text in
            ["", "cpu", "cpu>", "cpu>x%", "cpu>90", "disk>1%", "cpu>90% for x", "threads>-1"]
        {
            assert!(
                text.parse::<Condition>().unwrap_err().starts_with("use a condition"),
                "{text}"
            );
        }
    }

    #[test]
    fn measurements_are_options_of_the_agent_and_a_time() {
        let action: Action = "cpu=samples,interval=1ms,wall 30s".parse().unwrap();
        assert_eq!(action.time, Duration::from_secs(30));
        assert!(action.options.cpu.samples && action.options.wall_ns.is_some());
        for (text, line) in [
            ("cpu=samples", "use options of the agent and a time"),
            ("cpu=samples 2h", "use a time from 1s to 60m"),
            ("nothing=1 30s", "Unknown option: nothing"),
            ("heap=dump 30s", "use samples or counts"),
            ("cpu=times 30s", "can only be measured from the program's start"),
        ] {
            let error = text.parse::<Action>().unwrap_err();
            assert!(error.contains(line), "{text}: {error}");
        }
    }

    #[test]
    fn a_condition_must_hold_for_its_time_and_fires_a_few_times_an_hour() {
        let triggers = [trigger("cpu>90% for 30s")];
        let mut watch = Watch::default();
        let begin = Instant::now();
        let mut at = |second: u64, cpu: f64| {
            let now = begin + Duration::from_secs(second);
            let value = |it| (it == Quantity::Cpu).then_some(cpu);
            watch.decide(&triggers, 2, now, &value).map(|it| it.reason)
        };
        assert_eq!(at(0, 99.0), None);
        assert_eq!(at(20, 10.0), None);
        assert_eq!(at(30, 99.0), None);
        assert_eq!(at(59, 99.0), None);
        assert_eq!(at(60, 97.4).as_deref(), Some("cpu>90% for 30s: 97 %"));
        assert_eq!((at(61, 99.0), at(92, 99.0).is_some()), (None, true));
        assert_eq!((at(93, 99.0), at(200, 99.0), at(3000, 99.0)), (None, None, None));
        // An hour after the first.
        assert!(at(3700, 99.0).is_some());
    }
}
