//! Writes recordings: each number of a profile as events of the JDK, in order of time.

mod bytes;
mod constants;
pub(super) mod plan;
mod schema;
mod state;

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io::{self, Write};

use perk_profile::{Metric, Profile};

use self::bytes::Bytes;
use self::constants::{Constants, References};
use self::plan::{EventKind, EventRow, Plan};
use self::state::SampleState;
use super::source::{HEADER_BYTES, MAGIC, MAJOR};
use super::{SPREAD, TIMES_SETTING};
use crate::deep::Stacks;

/// The sizes at which a chunk ends. Readers hold a chunk in memory.
const CHUNK_BYTES: usize = 8 << 20;
const CHUNK_FRAMES: usize = 2_000_000;
/// A tick is a nanosecond.
const TICKS_PER_SECOND: u64 = 1_000_000_000;
/// The place of the flags in the header of a chunk, which say that numbers are compressed and that
/// no other chunk follows.
const COMPRESSED: u8 = 1;
const LAST: u8 = 2;
/// The number of a time that is not known, the lowest of all.
const NOT_KNOWN: u64 = i64::MIN.cast_unsigned();

/// Writes the samples, wall-clock times, allocations and waits of `profile`.
///
/// # Errors
/// As `out` fails.
pub fn write(profile: &Profile, out: &mut dyn Write) -> io::Result<()> {
    write_chunks(profile, CHUNK_BYTES, out)
}

/// As [`write`], with chunks of about `chunk_bytes`.
pub(super) fn write_chunks(
    profile: &Profile,
    chunk_bytes: usize,
    out: &mut dyn Write,
) -> io::Result<()> {
    let plan = Plan::new(profile);
    let mut writer = Writer::new(profile, chunk_bytes, out);
    write_run(profile, &plan, &mut writer.events);
    // The next event of each row that has begun: its time, its row, and its number in the row.
    let mut next: BinaryHeap<Reverse<(u64, usize, u64)>> = BinaryHeap::new();
    let mut rows = plan.rows.iter().enumerate().peekable();
    loop {
        let is_before = |row: &EventRow| next.peek().is_none_or(|next| row.begin_ns <= next.0.0);
        if let Some((index, row)) = rows.next_if(|(_, row)| is_before(row)) {
            next.push(Reverse((row.time_ns(0), index, 0)));
            continue;
        }
        let Some(Reverse((time_ns, index, event))) = next.pop() else { break };
        let row = &plan.rows[index];
        writer.event(row, event, time_ns)?;
        if event + 1 < row.event_count {
            next.push(Reverse((row.time_ns(event + 1), index, event + 1)));
        }
    }
    writer.finish(plan.length_ns)
}

/// Returns the parts of a profile for which the events of a recording are too few.
pub(super) fn losses(profile: &Profile) -> Vec<&'static str> {
    let is_many = |count| plan::step(count) > 1;
    let samples = is_many(Metric::Samples.rows(profile).total)
        .then_some("samples beyond 5 million (an event represents several)");
    let waits = is_many(plan::wait_count(profile))
        .then_some("waits beyond 5 million (an event represents several)");
    samples.into_iter().chain(waits).collect()
}

/// Writes the description of the run and its settings.
fn write_run(profile: &Profile, plan: &Plan, events: &mut Bytes) {
    let mut add = |type_id: u64, fill: &dyn Fn(&mut Bytes)| {
        let mut fields = Bytes::default();
        // The time.
        fields.number(0);
        fill(&mut fields);
        events.event(type_id, &fields);
    };
    let unix_ms = profile.created.map_or(0, |stamp| stamp.unix_ms);
    if let Some(accounting) = &profile.accounting {
        // The name of the JVM is before its version, which has no spaces.
        let (name, version) = accounting.jvm.rsplit_once(' ').unwrap_or((&accounting.jvm, ""));
        add(schema::JVM_INFORMATION, &|fields| {
            fields.text(name).text(version).no_text().no_text().text(&accounting.program);
            // A recording may have begun long after the JVM.
            fields.number(NOT_KNOWN).number(accounting.pid.into());
        });
    }
    add(schema::ACTIVE_RECORDING, &|fields| {
        fields.number(1).text("perk").no_text().number(0).number(0).long(unix_ms);
        fields.long(plan.length_ns / 1_000_000);
    });
    for (type_id, name, value) in settings(profile, plan) {
        add(schema::ACTIVE_SETTING, &|fields| {
            fields.number(type_id).text(name).text(&value);
        });
    }
    // The interval of samples that represent several is not that of the accounting.
    if let Some(accounting) = profile.accounting.as_ref().filter(|_| plan.sample_step == 1) {
        for line in accounting.to_text().lines() {
            let (name, value) = line.split_once('=').unwrap_or((line, ""));
            add(schema::ACCOUNTING, &|fields| {
                fields.text(name).text(value);
            });
        }
    }
}

/// Returns the settings of the events that the recording has: their types, names and values.
fn settings(profile: &Profile, plan: &Plan) -> Vec<(u64, &'static str, String)> {
    let has = |kind: fn(&EventKind) -> bool| plan.rows.iter().any(|row| kind(&row.kind));
    let mut settings = Vec::new();
    let mut set = |type_id, name, value: &str| settings.push((type_id, name, value.to_owned()));
    if has(|kind| matches!(kind, EventKind::Running | EventKind::Waiting)) {
        set(schema::EXECUTION_SAMPLE, "enabled", "true");
        if let Some(ns) = profile.sample_interval_ns() {
            let period = time_text(ns.saturating_mul(plan.sample_step));
            set(schema::EXECUTION_SAMPLE, "period", &period);
        }
        if !plan.is_timed {
            set(schema::EXECUTION_SAMPLE, TIMES_SETTING, SPREAD);
        }
    }
    if has(|kind| *kind == EventKind::Native) {
        set(schema::NATIVE_SAMPLE, "enabled", "true");
    }
    if has(|kind| *kind == EventKind::Allocation) {
        set(schema::ALLOCATION_SAMPLE, "enabled", "true");
        let bytes = Metric::AllocatedBytes.period(profile).unwrap_or(0);
        set(schema::ALLOCATION_SAMPLE, "interval", &bytes.to_string());
    }
    for (type_id, is_there) in [
        (schema::MONITOR_ENTER, has(|kind| *kind == EventKind::MonitorEnter)),
        (schema::MONITOR_WAIT, has(|kind| *kind == EventKind::MonitorWait)),
        (schema::PARK, has(|kind| matches!(kind, EventKind::Park(_)))),
    ] {
        if is_there {
            set(type_id, "enabled", "true");
            set(type_id, "threshold", "0 ns");
        }
    }
    settings
}

/// Returns a time as settings have it: `10 ms`.
fn time_text(ns: u64) -> String {
    let units = [(1_000_000_000, "s"), (1_000_000, "ms"), (1_000, "us"), (1, "ns")];
    let unit = units.into_iter().find(|(unit, _)| ns > 0 && ns.is_multiple_of(*unit));
    let (unit, name) = unit.unwrap_or((1, "ns"));
    format!("{} {name}", ns / unit)
}

/// The chunks of a recording, one at a time.
struct Writer<'a> {
    profile: &'a Profile,
    out: &'a mut dyn Write,
    chunk_bytes: usize,
    stacks: Stacks<'a>,
    metadata: Bytes,
    events: Bytes,
    used: References,
    /// The start of the chunk, since that of the recording.
    begin_ns: u64,
    /// The time of the last event.
    last_ns: u64,
}

impl<'a> Writer<'a> {
    fn new(profile: &'a Profile, chunk_bytes: usize, out: &'a mut dyn Write) -> Self {
        Self {
            profile,
            out,
            chunk_bytes,
            stacks: Stacks::new(profile),
            metadata: schema::metadata(profile.created.map_or(0, |stamp| stamp.utc_offset_s)),
            events: Bytes::default(),
            used: References::default(),
            begin_ns: 0,
            last_ns: 0,
        }
    }

    /// Writes an event of a row.
    fn event(&mut self, row: &EventRow, event: u64, time_ns: u64) -> io::Result<()> {
        if self.events.bytes.len() >= self.chunk_bytes || self.used.frame_count >= CHUNK_FRAMES {
            self.chunk(time_ns, 0)?;
        }
        self.last_ns = time_ns;
        let node = self.profile.get_trace(row.trace).node;
        let stack = self.used.stack(self.profile, node);
        let thread = self.used.thread(row.thread);
        let class = self.used.class(row.class);
        let amount = row.amount(event);
        let mut fields = Bytes::default();
        if row.kind.is_wait() {
            fields.long(time_ns.saturating_sub(amount)).long(amount);
        } else {
            fields.long(time_ns);
        }
        fields.number(thread).number(stack);
        let type_id = match row.kind {
            EventKind::Running => {
                fields.number(SampleState::Runs.key());
                schema::EXECUTION_SAMPLE
            }
            EventKind::Waiting => {
                fields.number(SampleState::Sleeps.key());
                schema::EXECUTION_SAMPLE
            }
            EventKind::Native => {
                fields.number(SampleState::Runs.key());
                schema::NATIVE_SAMPLE
            }
            EventKind::Allocation => {
                fields.number(class).long(amount).long(row.object_count(event));
                schema::ALLOCATION_SAMPLE
            }
            EventKind::MonitorEnter => {
                fields.number(class).number(0).number(0);
                schema::MONITOR_ENTER
            }
            EventKind::MonitorWait => {
                fields.number(class).number(0).number(NOT_KNOWN).flag(false).number(0);
                schema::MONITOR_WAIT
            }
            EventKind::Park(is_for_lock) => {
                fields.number(class).number(NOT_KNOWN).number(NOT_KNOWN).number(0);
                fields.flag(is_for_lock);
                schema::PARK
            }
            EventKind::WallClock(state) => {
                fields.number(SampleState::Wall(state).key()).long(amount);
                schema::WALL_CLOCK_SAMPLE
            }
        };
        self.events.event(type_id, &fields);
        Ok(())
    }

    /// Writes the last chunk.
    fn finish(mut self, length_ns: u64) -> io::Result<()> {
        let end_ns = length_ns.max(self.last_ns);
        self.chunk(end_ns, LAST)
    }

    /// Writes the events so far as a chunk, which ends at `end_ns`.
    fn chunk(&mut self, end_ns: u64, flags: u8) -> io::Result<()> {
        let events = std::mem::take(&mut self.events);
        let used = std::mem::take(&mut self.used);
        let constants = Constants::new(self.profile);
        let checkpoint = constants.checkpoint(&used, &self.stacks, self.begin_ns);
        let checkpoint_at = HEADER_BYTES + events.bytes.len();
        let metadata_at = checkpoint_at + checkpoint.bytes.len();
        let size = metadata_at + self.metadata.bytes.len();
        let created_ms = self.profile.created.map_or(0, |stamp| stamp.unix_ms);
        let start_ns = created_ms.saturating_mul(1_000_000).saturating_add(self.begin_ns);
        let mut header = Vec::with_capacity(HEADER_BYTES);
        header.extend(MAGIC);
        header.extend(MAJOR.to_be_bytes());
        header.extend(1_u16.to_be_bytes());
        for number in [
            size as u64,
            checkpoint_at as u64,
            metadata_at as u64,
            start_ns.min(i64::MAX.unsigned_abs()),
            end_ns - self.begin_ns,
            self.begin_ns,
            TICKS_PER_SECOND,
        ] {
            header.extend(number.to_be_bytes());
        }
        // The chunk is whole.
        header.extend([0, 0, 0, COMPRESSED | flags]);
        self.out.write_all(&header)?;
        for part in [&events, &checkpoint, &self.metadata] {
            self.out.write_all(&part.bytes)?;
        }
        self.begin_ns = end_ns;
        Ok(())
    }
}
