//! Heap dumps and monitors in the text format.

use super::text::{Lines, Sum, columns, date, hex, number};
use super::{
    Class, Contents, Heap, MonitorDump, MonitorEvent, MonitorTimes, Object, OwnedMonitor,
    Recording, Result, Root, Section, ThreadState, Value, ensure,
};
use crate::hprof::monitor::MonitorTime;

/// The thread of the first root of each dump. It represents no thread of the program.
const UNKNOWN_THREAD: u32 = 200_000;
const MONITOR_TIME_TITLE: &str = "rank   self  accum   count trace monitor";

/// The kinds of roots that name a thread, and the text before its number.
const THREAD_ROOTS: [(&str, &str); 5] = [
    ("thread", "id="),
    ("thread block", "thread="),
    ("Java stack", "thread="),
    ("JNI local ref", "thread="),
    ("native stack", "thread="),
];
/// The kinds of roots that do not name a thread.
const OTHER_ROOTS: [&str; 4] = ["JNI global ref", "system class", "busy monitor", "unknown"];

impl Recording {
    /// Reads a record that does not begin with the words of threads, traces, sites and costs.
    pub(super) fn heap_or_monitor_record(&mut self, lines: &mut Lines<'_>) -> Result<()> {
        if let Some(rest) = lines.next_after("HEAP DUMP BEGIN (") {
            self.heap_dump(rest, lines)
        } else if lines.next_after("MONITOR DUMP BEGIN").is_some() {
            self.monitor_dump(lines)
        } else if let Some(rest) = lines.next_after("MONITOR TIME BEGIN (total = ") {
            self.monitor_times(rest, lines)
        } else {
            let line = lines.next()?;
            let event = monitor_event(line).ok_or_else(|| {
                format!("no record begins with {:?}", line.get(..60).unwrap_or(line))
            })?;
            self.monitor_events.push(event);
            Ok(())
        }
    }

    fn heap_dump(&mut self, rest: &str, lines: &mut Lines<'_>) -> Result<()> {
        let (count, rest) = rest.split_once(" objects, ").ok_or("no number of objects")?;
        let (bytes, written) = rest.split_once(" bytes) ").ok_or("no number of bytes")?;
        date(written)?;
        let mut heap = Heap { stated: Some((number(count)?, number(bytes)?)), ..Heap::default() };
        loop {
            let line = lines.next()?;
            if line == "HEAP DUMP END" {
                break;
            } else if let Some(rest) = line.strip_prefix("ROOT ") {
                let is_first = heap.objects.is_empty() && heap.classes.is_empty();
                ensure(is_first, || "a root behind an object".to_owned())?;
                heap.roots.push(root(rest)?);
            } else if let Some(rest) = line.strip_prefix("OBJ ") {
                ensure(heap.classes.is_empty(), || "an object behind a class".to_owned())?;
                let (id, object) = instance(rest, lines)?;
                ensure(heap.objects.insert(id, object).is_none(), || format!("{id:x} again"))?;
            } else if let Some(rest) = line.strip_prefix("ARR ") {
                ensure(heap.classes.is_empty(), || "an array behind a class".to_owned())?;
                let (id, object) = array(rest, lines)?;
                ensure(heap.objects.insert(id, object).is_none(), || format!("{id:x} again"))?;
            } else if let Some(rest) = line.strip_prefix("CLS ") {
                let (id, class) = class(rest, lines)?;
                ensure(heap.classes.insert(id, class).is_none(), || format!("{id:x} again"))?;
            } else {
                return Err(format!("no part of a heap dump: {line:?}"));
            }
        }
        for trace in heap.traces() {
            self.check_trace(trace)?;
        }
        let roots = heap.roots.iter().filter(|root| root.thread != Some(UNKNOWN_THREAD));
        let threads = roots.filter_map(|root| root.thread);
        let late_threads = threads.filter(|serial| !self.threads.contains_key(serial));
        let late_traces = heap.traces().filter(|serial| !self.traces.contains_key(serial));
        heap.late = late_threads.chain(late_traces).collect();
        self.add_section(Section::Heap(heap));
        Ok(())
    }

    fn monitor_dump(&mut self, lines: &mut Lines<'_>) -> Result<()> {
        let mut dump = MonitorDump::default();
        while lines.next_after("MONITOR DUMP END").is_none() {
            if let Some(rest) = lines.next_after("    THREAD ") {
                ensure(dump.monitors.is_empty(), || "a thread behind a monitor".to_owned())?;
                let (thread, rest) = rest.split_once(", trace ").ok_or("no trace")?;
                let (trace, status) = rest.split_once(", status: ").ok_or("no status")?;
                let (thread, trace) = (number(thread)?, number(trace)?);
                self.check_trace(trace)?;
                check_status(status)?;
                dump.threads.push(ThreadState { thread, trace, status: status.to_owned() });
            } else {
                let line = lines.next()?;
                let class = line
                    .strip_prefix("    MONITOR ")
                    .ok_or_else(|| format!("no part of a monitor dump: {line:?}"))?;
                dump.monitors.push(owned_monitor(class, lines)?);
            }
        }
        self.add_section(Section::MonitorDump(dump));
        Ok(())
    }

    /// Reads rows of the form `%4u %5.2f%% %5.2f%% %7u %5u %s (Java)`.
    fn monitor_times(&mut self, rest: &str, lines: &mut Lines<'_>) -> Result<()> {
        let (total, written) = rest.split_once(" ms) ").ok_or("no total in ms")?;
        date(written)?;
        let mut times = MonitorTimes { total_ms: number(total)?, rows: Vec::new() };
        ensure(lines.next()? == MONITOR_TIME_TITLE, || "no title of MONITOR TIME".to_owned())?;
        let mut sum = Sum::default();
        while lines.next_after("MONITOR TIME END").is_none() {
            let line = lines.next()?;
            let rank = times.rows.len() + 1;
            let (row, [own, accumulated, count, trace], monitor) = columns(line)?;
            let (count, trace): (u64, u32) = (number(count)?, number(trace)?);
            let again = format!("{rank:4} {own:>6} {accumulated:>6} {count:7} {trace:5} {monitor}");
            ensure(line == again && row == rank, || format!("row {line:?}, expected {again:?}"))?;
            let class = monitor.strip_suffix(" (Java)").ok_or_else(|| format!("row {line:?}"))?;
            self.check_trace(trace)?;
            let percent = sum.add(own, accumulated)?;
            times.rows.push(MonitorTime { percent, count, trace, class: class.to_owned() });
        }
        let in_order = times.rows.is_sorted_by(|a, b| a.percent >= b.percent);
        ensure(in_order, || "MONITOR TIME out of order".to_owned())?;
        self.add_section(Section::MonitorTimes(times));
        Ok(())
    }
}

/// Parses `%x (kind=<%s>[, ...])`.
fn root(rest: &str) -> Result<Root> {
    let bad = || format!("no root: {rest:?}");
    let (object, rest) = rest.split_once(" (kind=<").ok_or_else(bad)?;
    let (kind, rest) = rest.split_once('>').ok_or_else(bad)?;
    let rest = rest.strip_suffix(')').ok_or_else(bad)?;
    let object = hex(object)?;
    if let Some((kind, before)) = THREAD_ROOTS.iter().find(|(name, _)| *name == kind) {
        let rest = rest.strip_prefix(", ").and_then(|rest| rest.strip_prefix(before));
        let rest = rest.ok_or_else(bad)?;
        let (thread, rest) = rest.split_once(", ").unwrap_or((rest, ""));
        let fits = match *kind {
            "thread" => rest.strip_prefix("trace=").is_some(),
            "Java stack" | "JNI local ref" => rest.strip_prefix("frame=").is_some(),
            _ => rest.is_empty(),
        };
        ensure(fits, bad)?;
        let trace = rest.strip_prefix("trace=").map(number).transpose()?;
        return Ok(Root { object, kind, thread: Some(number(thread)?), trace });
    }
    let kind = OTHER_ROOTS.iter().find(|name| **name == kind).ok_or_else(bad)?;
    let fits = match *kind {
        "JNI global ref" => rest.starts_with(", id=") && rest.contains(", trace="),
        "system class" => rest.starts_with(", name="),
        _ => rest.is_empty(),
    };
    ensure(fits, bad)?;
    Ok(Root { object, kind, thread: None, trace: None })
}

/// Parses `%x (sz=%u, trace=%u, `, and returns the rest up to the closing parenthesis.
fn head(rest: &str) -> Result<(u64, u64, u32, &str)> {
    let bad = || format!("no head of an object: {rest:?}");
    let (id, rest) = rest.split_once(" (sz=").ok_or_else(bad)?;
    let (bytes, rest) = rest.split_once(", trace=").ok_or_else(bad)?;
    let (trace, rest) = rest.split_once(", ").ok_or_else(bad)?;
    let rest = rest.strip_suffix(')').ok_or_else(bad)?;
    Ok((hex(id)?, number(bytes)?, number(trace)?, rest))
}

fn instance(rest: &str, lines: &mut Lines<'_>) -> Result<(u64, Object)> {
    let (id, bytes, trace, rest) = head(rest)?;
    let class = rest.strip_prefix("class=").and_then(|rest| rest.rsplit_once('@'));
    let (class, class_id) = class.ok_or_else(|| format!("an object without class: {rest:?}"))?;
    hex(class_id)?;
    let mut fields = Vec::new();
    while let Some(line) = lines.next_after("\t") {
        fields.push(named_reference(line)?);
    }
    let contents = Contents::Fields(fields);
    Ok((id, Object { class: class.to_owned(), bytes: Some(bytes), trace, contents }))
}

/// Parses `name<tab>id`, with a second tab after a name of less than eight characters.
fn named_reference(line: &str) -> Result<(String, Value)> {
    let bad = || format!("no field: {line:?}");
    let (name, id) = line.split_once('\t').ok_or_else(bad)?;
    let id = if name.len() < 8 { id.strip_prefix('\t').ok_or_else(bad)? } else { id };
    let id = hex(id)?;
    ensure(id != 0, || format!("a null in a field: {line:?}"))?;
    Ok((name.to_owned(), Value::Reference(id)))
}

fn array(rest: &str, lines: &mut Lines<'_>) -> Result<(u64, Object)> {
    let (id, bytes, trace, rest) = head(rest)?;
    let bad = || format!("no array: {rest:?}");
    let (length, class) = rest
        .strip_prefix("nelems=")
        .and_then(|rest| rest.split_once(", elem type="))
        .ok_or_else(bad)?;
    let length = number(length)?;
    let Some((class, class_id)) = class.rsplit_once('@') else {
        ensure(class.ends_with("[]"), bad)?;
        let class = class.to_owned();
        let contents = Contents::Primitives(length, None);
        return Ok((id, Object { class, bytes: Some(bytes), trace, contents }));
    };
    hex(class_id)?;
    ensure(class.ends_with("[]"), bad)?;
    let mut elements = Vec::new();
    while let Some(line) = lines.next_after("\t[") {
        let (index, id) =
            line.split_once("]\t\t").ok_or_else(|| format!("no element: {line:?}"))?;
        let (index, id) = (number(index)?, hex(id)?);
        ensure(id != 0 && index < length, || format!("element {index} of {length}"))?;
        elements.push((index, id));
    }
    let contents = Contents::References(length, elements);
    Ok((id, Object { class: class.to_owned(), bytes: Some(bytes), trace, contents }))
}

fn class(rest: &str, lines: &mut Lines<'_>) -> Result<(u64, Class)> {
    const LINKS: [&str; 4] = ["super\t\t", "loader\t\t", "signers\t\t", "domain\t\t"];
    let bad = || format!("no class: {rest:?}");
    let (id, rest) = rest.split_once(" (name=").ok_or_else(bad)?;
    let rest = rest.strip_suffix(')').ok_or_else(bad)?;
    let (name, trace) = rest.rsplit_once(", trace=").ok_or_else(bad)?;
    let mut class = Class { name: name.to_owned(), trace: number(trace)?, ..Class::default() };
    for (link, title) in class.links.iter_mut().zip(LINKS) {
        if let Some(id) = lines.next_after(&format!("\t{title}")) {
            *link = hex(id)?;
        }
    }
    while let Some(line) = lines.next_after("\t") {
        if let Some(field) = line.strip_prefix("static ") {
            let (name, id) = field.split_once('\t').ok_or_else(bad)?;
            class.statics.push((name.to_owned(), Value::Reference(hex(id)?)));
        } else {
            let entry = line.strip_prefix("constant pool entry ").ok_or_else(bad)?;
            let (index, id) = entry.split_once('\t').ok_or_else(bad)?;
            class.constants.push((number(index)?, hex(id)?));
        }
    }
    Ok((hex(id)?, class))
}

/// Checks the flags and the state of a thread.
fn check_status(status: &str) -> Result<()> {
    const FLAGS: [&str; 3] = ["S", "intr", "native"];
    const STATES: [&str; 7] = ["ZO", "NS", "SL", "MW", "CW", "R", "UN"];
    let (flags, state) = status.rsplit_once('|').unwrap_or(("", status));
    let known = flags.split('|').filter(|flag| !flag.is_empty()).all(|flag| FLAGS.contains(&flag));
    ensure(known && STATES.contains(&state), || format!("status {status:?}"))
}

fn owned_monitor(class: &str, lines: &mut Lines<'_>) -> Result<OwnedMonitor> {
    let owner = match class.strip_suffix(" unowned") {
        Some(_) => None,
        None => {
            let line = lines.next()?;
            let (thread, count) = line
                .strip_prefix("\towner: thread ")
                .and_then(|rest| rest.split_once(", entry count: "))
                .ok_or_else(|| format!("no owner: {line:?}"))?;
            Some((number(thread)?, number(count)?))
        }
    };
    let mut threads = |title: &str| -> Result<Vec<u32>> {
        let rest = lines.next_after(title).ok_or_else(|| format!("no {title:?}"))?;
        rest.split(',')
            .map(str::trim_start)
            .filter(|it| !it.is_empty())
            .map(|it| number(it.strip_prefix("thread ").unwrap_or(it)))
            .collect()
    };
    let entering = threads("\twaiting to enter:")?;
    let waiting = threads("\twaiting to be notified:")?;
    let class = class.strip_suffix(" unowned").unwrap_or(class).to_owned();
    Ok(OwnedMonitor { class, owner, entering, waiting })
}

/// Parses `WAIT: MONITOR %s, timeout=%d, thread %d` and similar lines.
fn monitor_event(line: &str) -> Option<MonitorEvent> {
    let (kind, monitor, rest) = if let Some(rest) = line.strip_prefix("WAIT: MONITOR ") {
        let (monitor, rest) = rest.split_once(", timeout=")?;
        ("WAIT", monitor, rest)
    } else if let Some(rest) = line.strip_prefix("WAITED: MONITOR ") {
        let (monitor, rest) = rest.split_once(", time_waited=")?;
        ("WAITED", monitor, rest)
    } else {
        ("SLEEP", "", line.strip_prefix("SLEEP: timeout=")?)
    };
    let (time, thread) = rest.split_once(", thread ")?;
    let (time_ms, thread) = (number(time).ok()?, number(thread).ok()?);
    Some(MonitorEvent { kind, monitor: monitor.to_owned(), time_ms, thread })
}
