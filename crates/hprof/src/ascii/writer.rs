//! Writes HPROF ASCII.

mod heap;
mod monitors;

use std::io::{self, Write};

use perk_profile::{CallTimes, CpuSamples, FrameId, Line, Profile, Sites, TraceId};

use super::{
    ACCOUNTING, BY_ALLOCATED, BY_LIVE, ESTIMATE, ESTIMATE_SERIAL, INTERIM, INTERIM_SERIAL,
    PROSE_END,
};
use crate::lines::one_line;
use crate::units::to_ms;
use crate::write::{EntryMarks, ThreadStart, date};

const PROSE: &str = "\
This is a profile of a Java program, in the ASCII format of the HPROF agent.
It was written by perk and holds these records:

THREAD START
THREAD END      the life of a Java thread; id is its serial number.

TRACE           a call trace: the frames of a stack, the innermost first.
                (thread=n) is the thread it belongs to, where threads are
                distinguished. Other records refer to it by its number.

HEAP DUMP       the objects of the heap, each under its address. ROOT lines say
                what the JVM holds and why, OBJ are instances with their
                references, ARR arrays, CLS classes with what their static
                fields refer to. sz is in bytes; trace is where the object was
                allocated, 0 where that was not recorded.

SITES           what was allocated where. Rows are classes and traces: the
                bytes and objects that live, and those ever allocated. self is
                a row's share of all live bytes, accum the share of all rows
                down to it. TRACE 299999 before it says that the numbers are
                estimates from samples.

CPU SAMPLES     where the program spent its CPU time. Each sample represents
                one interval of CPU time of a thread; threads that wait or
                sleep have none. Rows are traces, those with the most
                samples first: self is a row's share of all samples, accum
                the share of all rows down to it.

CPU TIME (ms)   the calls of methods. Rows are traces: count is how often the
                method on top was called on this path, self the share of the
                time spent in it and not in what it called, accum the share
                of all rows down to it.

count callee caller time
                the calls of methods by callee and caller: how often, and the
                milliseconds with all that was called. The table ends with the
                next record.

WAIT            a thread begins to wait to be notified, in Object.wait; timeout
                is in milliseconds, 0 for none.
WAITED          the wait is over; time_waited is in milliseconds.

MONITOR DUMP    all threads with where they are and what they do, and all
                monitors that a thread has or waits for. status is R for a
                thread that runs, SL sleeps, MW waits to enter a monitor, CW
                waits to be notified or is parked. LOCK is a lock of
                java.util.concurrent.

MONITOR TIME    where threads waited to enter monitors that others had. Rows
                are traces and classes of monitors: count is how often, self
                the share of all these waits, accum the share of all rows
                down to it. Rows of (Parking) are locks of
                java.util.concurrent.

Records after this header come in the order in which they happened. The
sections come when the program ends and each time a dump is asked for
(SIGQUIT, jcmd PID JVMTI.data_dump). CPU SAMPLES, CPU TIME, the table
of calls and MONITOR TIME begin from zero each time, SITES are those since
the program began.
";

/// A writer of the text, record by record.
#[derive(Debug)]
pub struct Writer<W: Write> {
    out: W,
    traces: EntryMarks,
    /// The number of sections that the next one counts again.
    interim_count: u32,
    /// The most frames of a trace.
    depth: usize,
}

impl<W: Write> Writer<W> {
    /// Writes the header and its prose, with the accounting if the profile has one by now.
    ///
    /// # Errors
    /// The errors of the sink. The same holds for all other methods.
    pub fn begin(mut out: W, profile: &Profile) -> io::Result<Self> {
        writeln!(out, "JAVA PROFILE 1.0.1, created {}\n", date(None, profile).ctime())?;
        out.write_all(PROSE.as_bytes())?;
        if let Some(accounting) = &profile.accounting {
            writeln!(out, "\nSamples taken and lost, and the cost of perk itself:\n")?;
            for line in accounting.to_text().lines() {
                writeln!(out, "{ACCOUNTING}{line}")?;
            }
        }
        write!(out, "\n{PROSE_END}\n\n")?;
        Ok(Self { out, traces: EntryMarks::default(), interim_count: 0, depth: usize::MAX })
    }

    /// Writes `THREAD START`.
    pub fn thread_start(&mut self, thread: &ThreadStart<'_>) -> io::Result<()> {
        writeln!(
            self.out,
            "THREAD START (obj={:x}, id = {}, name=\"{}\", group=\"{}\")",
            thread.object_id,
            thread.serial,
            one_line(thread.name),
            one_line(thread.group.unwrap_or("")),
        )
    }

    /// Writes `THREAD END`.
    pub fn thread_end(&mut self, serial: u32) -> io::Result<()> {
        writeln!(self.out, "THREAD END (id = {serial})")
    }

    /// Writes the traces that are new, in the rows' order, and `CPU SAMPLES`. Samples without a
    /// frame are left out, also of the total: the original does not count any, and readers look for
    /// a method in each row.
    pub fn cpu_samples(&mut self, profile: &Profile, samples: &CpuSamples) -> io::Result<()> {
        type Rows = Vec<(TraceId, u64)>;
        let stamp = date(samples.written, profile).ctime();
        let (rows, without): (Rows, Rows) =
            samples.rows.iter().partition(|row| profile.frames(row.0).next().is_some());
        let without = without.iter().map(|row| row.1).fold(0, u64::saturating_add);
        let total = samples.total.saturating_sub(without);
        self.traces(profile, rows.iter().map(|row| row.0))?;
        if samples.is_interim {
            let serial = INTERIM_SERIAL.saturating_sub(self.interim_count);
            self.interim_count += 1;
            writeln!(self.out, "TRACE {serial}:\n\t{INTERIM}")?;
        }
        writeln!(self.out, "CPU SAMPLES BEGIN (total = {total}) {stamp}")?;
        let rows = rows.into_iter().map(|(trace, count)| (trace, count, count));
        self.cpu_rows(profile, total, rows)?;
        writeln!(self.out, "CPU SAMPLES END")
    }

    /// Writes the traces that are new, in the rows' order, and `CPU TIME (ms)`. The total is in
    /// whole milliseconds. The rows' times are percentages of the exact total. If it is less than
    /// half a millisecond, all percentages are 0.
    pub fn call_times(&mut self, profile: &Profile, times: &CallTimes) -> io::Result<()> {
        let (stamp, total_ms) = (date(times.written, profile).ctime(), to_ms(times.total_ns));
        self.traces(profile, times.rows.iter().map(|row| row.trace))?;
        writeln!(self.out, "CPU TIME (ms) BEGIN (total = {total_ms}) {stamp}")?;
        let total_ns = if total_ms == 0 { 0 } else { times.total_ns };
        let rows = times.rows.iter().map(|row| (row.trace, row.self_ns, row.count));
        self.cpu_rows(profile, total_ns, rows)?;
        writeln!(self.out, "CPU TIME (ms) END")
    }

    /// Writes all traces that are new.
    pub fn all_traces(&mut self, profile: &Profile) -> io::Result<()> {
        self.traces(profile, (0..profile.traces().len()).map(TraceId::new))
    }

    /// Writes the traces that are new, in order of trace, and `SITES`. If the numbers are
    /// estimates, the trace that announces this comes right before `SITES`.
    pub fn sites(&mut self, profile: &Profile, sites: &Sites) -> io::Result<()> {
        let mut traces: Vec<_> = sites.rows.iter().map(|row| row.trace).collect();
        traces.sort_unstable();
        self.traces(profile, traces)?;
        if let Some(interval_bytes) = sites.sample_interval_bytes {
            let (before, after) = ESTIMATE;
            writeln!(self.out, "TRACE {ESTIMATE_SERIAL}:\n\t{before}{interval_bytes}{after}")?;
        }
        let order = if sites.selection.by_allocated { BY_ALLOCATED } else { BY_LIVE };
        let stamp = date(sites.written, profile).ctime();
        writeln!(
            self.out,
            "SITES BEGIN ({order}) {stamp}\n          \
             percent          live          alloc'ed  stack class\n \
             rank   self  accum     bytes objs     bytes  objs trace name"
        )?;
        let mut sum = 0_u64;
        for (index, row) in sites.rows.iter().enumerate() {
            let objects = row.objects;
            sum = sum.saturating_add(objects.live_bytes);
            let own = percent(objects.live_bytes, sites.total.live_bytes);
            let accumulated = percent(sum, sites.total.live_bytes);
            writeln!(
                self.out,
                "{:5} {own:5.2}% {accumulated:5.2}% {:9} {:4} {:9} {:5} {:5} {}",
                index + 1,
                objects.live_bytes,
                objects.live_count,
                objects.allocated_bytes,
                objects.allocated_count,
                profile.get_trace(row.trace).serial,
                one_line(profile.symbols.class_name(row.class)),
            )?;
        }
        writeln!(self.out, "SITES END")
    }

    /// Writes the rows of a CPU section: trace, its part of `total`, and its count.
    fn cpu_rows(
        &mut self,
        profile: &Profile,
        total: u64,
        rows: impl ExactSizeIterator<Item = (TraceId, u64, u64)>,
    ) -> io::Result<()> {
        if rows.len() > 0 {
            writeln!(self.out, "rank   self  accum   count trace method")?;
        }
        let mut sum = 0_u64;
        for (index, (id, part, count)) in rows.enumerate() {
            sum = sum.saturating_add(part);
            let (rank, own, accumulated) = (index + 1, percent(part, total), percent(sum, total));
            let trace = profile.get_trace(id);
            write!(
                self.out,
                "{rank:4} {own:5.2}% {accumulated:5.2}% {count:7} {:5} ",
                trace.serial
            )?;
            match profile.tree.frame(trace.node) {
                Some(frame) => writeln!(self.out, "{}", method(profile, frame))?,
                None => writeln!(self.out, "<empty trace>")?,
            }
        }
        Ok(())
    }

    /// Writes those of `traces` that are not written yet.
    fn traces(
        &mut self,
        profile: &Profile,
        traces: impl IntoIterator<Item = TraceId>,
    ) -> io::Result<()> {
        for trace in traces {
            if self.traces.first(trace.index()) {
                self.trace(profile, trace)?;
            }
        }
        Ok(())
    }

    fn trace(&mut self, profile: &Profile, id: TraceId) -> io::Result<()> {
        let trace = profile.get_trace(id);
        write!(self.out, "TRACE {}:", trace.serial)?;
        if let Some(thread) = trace.thread {
            write!(self.out, " (thread={})", profile.get_thread(thread).serial)?;
        }
        writeln!(self.out)?;
        let mut empty = true;
        for id in profile.tree.frames(trace.node).take(self.depth) {
            empty = false;
            let frame = profile.symbols.get_frame(id);
            let source = profile.symbols.get_method(frame.method).source;
            let source = source.map_or("<Unknown Source>", |id| profile.symbols.strings.get(id));
            write!(self.out, "\t{}({}:", method(profile, id), one_line(source))?;
            match frame.line {
                Line::Number(line) => writeln!(self.out, "{line})")?,
                Line::Unknown => writeln!(self.out, "Unknown line)")?,
                Line::Compiled => writeln!(self.out, "Compiled method)")?,
                Line::Native => writeln!(self.out, "Native method)")?,
            }
        }
        if empty {
            writeln!(self.out, "\t<empty>")?;
        }
        Ok(())
    }

    /// Sets the most frames of a trace. Of traces that have more than `depth`, the inner frames are
    /// written.
    pub(crate) fn set_depth(&mut self, depth: usize) {
        self.depth = depth;
    }

    /// Returns the sink.
    pub fn out(&mut self) -> &mut W {
        &mut self.out
    }
}

/// Returns a percentage, which is 0 % if the total is 0.
fn percent(part: u64, total: u64) -> f64 {
    if total == 0 { 0.0 } else { part as f64 * 100.0 / total as f64 }
}

fn method(profile: &Profile, frame: FrameId) -> String {
    let frame = profile.symbols.get_frame(frame);
    one_line(&profile.symbols.method_name(frame.method)).into_owned()
}
