//! Another reader of the text form, which knows the format's description alone and takes nothing
//! else: what perk writes must be what readers of HPROF expect. It is proved on the original's
//! files.

#![forbid(unsafe_code)]

use std::collections::HashSet;
use std::fs;
use std::iter::Peekable;
use std::path::Path;
use std::str::Lines;

use perk_hprof::Format;
use perk_profile::{Event, LockKind, MonitorRow, MonitorTimes, Profile, Waits};

/// Takes a line apart where blanks stand.
fn words(line: &str) -> Vec<&str> {
    line.split_ascii_whitespace().collect()
}

fn is_number(word: &str) -> bool {
    !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit())
}

/// C's ctime: `Www Mmm dd hh:mm:ss yyyy`, the day padded with a blank.
fn is_date(text: &str) -> bool {
    let digit = |c: char| if c.is_ascii_digit() { '0' } else { c };
    let shape: String = text.chars().skip(7).map(digit).collect();
    text.is_ascii() && [" 00 00:00:00 0000", "  0 00:00:00 0000"].contains(&shape.as_str())
}

struct Strict<'a> {
    lines: Peekable<Lines<'a>>,
    traces: HashSet<&'a str>,
    sections: usize,
}

impl<'a> Strict<'a> {
    fn check(text: &'a str) -> Result<usize, String> {
        let (header, body) = text.split_once("\n--------\n\n").ok_or("no line of dashes")?;
        let date =
            header.lines().next().and_then(|it| it.strip_prefix("JAVA PROFILE 1.0.1, created "));
        if !date.is_some_and(is_date) {
            return Err(format!("header: {header}"));
        }
        let lines = body.lines().peekable();
        let mut strict = Strict { lines, traces: HashSet::new(), sections: 0 };
        while let Some(line) = strict.lines.next() {
            strict.record(line).ok_or_else(|| format!("line \"{line}\" or what follows it"))?;
        }
        Ok(strict.sections)
    }

    fn record(&mut self, line: &'a str) -> Option<()> {
        if let Some(rest) = line.strip_prefix("TRACE ") {
            self.trace(rest)
        } else if let Some(rest) = line.strip_prefix("SITES BEGIN (ordered by live bytes) ") {
            is_date(rest).then_some(())?;
            self.sites()
        } else if let Some(rest) = line.strip_prefix("CPU TIME (ms) BEGIN (total = ") {
            let (total, date) = rest.split_once(") ")?;
            (is_number(total) && is_date(date)).then_some(())?;
            self.times()
        } else if line == "MONITOR DUMP BEGIN" {
            self.monitor_dump()
        } else if let Some(rest) = line.strip_prefix("MONITOR TIME BEGIN (total = ") {
            let (total, date) = rest.split_once(" ms) ")?;
            (is_number(total) && is_date(date)).then_some(())?;
            self.monitor_time()
        } else if let Some(rest) = line.strip_prefix("WAIT: MONITOR ") {
            wait(rest, ", timeout=")
        } else if let Some(rest) = line.strip_prefix("WAITED: MONITOR ") {
            wait(rest, ", time_waited=")
        } else if let Some(rest) = line.strip_prefix("THREAD END (id = ") {
            is_number(rest.strip_suffix(")")?).then_some(())
        } else {
            line.strip_prefix("THREAD START (obj=").map(|_| ())
        }
    }

    fn trace(&mut self, rest: &'a str) -> Option<()> {
        let (serial, thread) = rest.split_once(':')?;
        is_number(serial).then_some(())?;
        if !thread.is_empty() {
            is_number(thread.strip_prefix(" (thread=")?.strip_suffix(')')?).then_some(())?;
        }
        self.traces.insert(serial);
        let mut count = 0;
        while let Some(frame) = self.lines.next_if(|line| line.starts_with('\t')) {
            count += 1;
            let (method, place) =
                frame[1..].strip_suffix(')').unwrap_or("").split_once('(').unwrap_or_default();
            let line = place.rsplit_once(':').map_or("", |(_, line)| line);
            let is_frame = method.contains('.') && (is_number(line) || line == "Unknown line");
            (is_frame || frame == "\t<empty>").then_some(())?;
        }
        (count > 0).then_some(())
    }

    fn sites(&mut self) -> Option<()> {
        let titles = [
            "          percent          live          alloc'ed  stack class",
            " rank   self  accum     bytes objs     bytes  objs trace name",
        ];
        for title in titles {
            (self.lines.next()? == title).then_some(())?;
        }
        for rank in 1.. {
            let line = self.lines.next()?;
            if line == "SITES END" {
                break;
            }
            let words = words(line);
            let [_, own, sum, live, objects, bytes, count, trace, class] = words[..] else {
                return None;
            };
            // The line is what C's printf makes of its words.
            let again = format!(
                "{rank:5} {own:>6} {sum:>6} {live:>9} {objects:>4} {bytes:>9} {count:>5} {trace:>5} {class}"
            );
            let numbers = [live, objects, bytes, count].into_iter().all(is_number);
            (again == line && numbers && self.traces.contains(trace)).then_some(())?;
        }
        self.sections += 1;
        Some(())
    }

    fn monitor_dump(&mut self) -> Option<()> {
        const STATUSES: [&str; 7] = ["ZO", "NS", "SL", "MW", "CW", "R", "UN"];
        while let Some(line) = self.lines.next_if(|line| line.starts_with("    THREAD ")) {
            let (serial, rest) = line["    THREAD ".len()..].split_once(", trace ")?;
            let (trace, status) = rest.split_once(", status: ")?;
            let status = status.strip_prefix("S|").unwrap_or(status);
            let status = status.strip_prefix("intr|").unwrap_or(status);
            let status = status.strip_prefix("native|").unwrap_or(status);
            let is_known = STATUSES.contains(&status) && self.traces.contains(trace);
            (is_number(serial) && is_known).then_some(())?;
        }
        while let Some(line) = self.lines.next_if(|line| line.starts_with("    MONITOR ")) {
            let class = &line["    MONITOR ".len()..];
            if let Some(class) = class.strip_suffix(" unowned") {
                is_signature(class).then_some(())?;
            } else {
                is_signature(class).then_some(())?;
                let owner = self.lines.next()?.strip_prefix("\towner: thread ")?;
                let (owner, count) = owner.split_once(", entry count: ")?;
                (is_number(owner) && is_number(count)).then_some(())?;
            }
            for title in ["\twaiting to enter:", "\twaiting to be notified:"] {
                let threads = self.lines.next()?.strip_prefix(title)?;
                let is_thread = |it: &str| it.strip_prefix(" thread ").is_some_and(is_number);
                (threads.is_empty() || threads.split(',').all(is_thread)).then_some(())?;
            }
        }
        (self.lines.next()? == "MONITOR DUMP END").then_some(())?;
        self.sections += 1;
        Some(())
    }

    fn monitor_time(&mut self) -> Option<()> {
        (self.lines.next()? == "rank   self  accum   count trace monitor").then_some(())?;
        for rank in 1.. {
            let line = self.lines.next()?;
            if line == "MONITOR TIME END" {
                break;
            }
            let words = words(line);
            let [_, own, sum, count, trace, class, "(Java)"] = words[..] else { return None };
            let again = format!("{rank:4} {own:>6} {sum:>6} {count:>7} {trace:>5} {class} (Java)");
            (again == line && is_number(count) && self.traces.contains(trace)).then_some(())?;
        }
        self.sections += 1;
        Some(())
    }

    fn times(&mut self) -> Option<()> {
        if self.lines.next_if_eq(&"CPU TIME (ms) END").is_none() {
            (self.lines.next()? == "rank   self  accum   count trace method").then_some(())?;
            for rank in 1.. {
                let line = self.lines.next()?;
                if line == "CPU TIME (ms) END" {
                    break;
                }
                let words = words(line);
                let [_, own, sum, count, trace, ..] = words[..] else { return None };
                let start = format!("{rank:4} {own:>6} {sum:>6} {count:>7} {trace:>5} ");
                let is_row = line.starts_with(&start) && line.len() > start.len();
                (is_row && is_number(count) && self.traces.contains(trace)).then_some(())?;
            }
        }
        self.sections += 1;
        Some(())
    }
}

/// `Ljava/lang/Object;, timeout=0, thread 200001` behind the name.
fn wait(rest: &str, time: &str) -> Option<()> {
    let (class, rest) = rest.split_once(time)?;
    let (ms, thread) = rest.split_once(", thread ")?;
    (is_signature(class) && is_number(ms) && is_number(thread)).then_some(())
}

fn is_signature(class: &str) -> bool {
    let element = class.trim_start_matches('[');
    let is_array_of_primitives = element.len() == 1 && class.len() > 1;
    is_array_of_primitives || (element.starts_with('L') && element.ends_with(';'))
}

fn golden(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/hprof").join(name);
    // The system trace is never written by the original, though rows refer to it.
    fs::read_to_string(&path).unwrap().replacen(
        "\n--------\n\n",
        "\n--------\n\nTRACE 300000:\n\t<empty>\n",
        1,
    )
}

fn written(profile: &Profile) -> String {
    let mut bytes = Vec::new();
    perk_hprof::write(profile, Format::Ascii, &mut bytes).unwrap();
    String::from_utf8(bytes).unwrap()
}

const FILES: [&str; 5] = [
    "times-cpu.txt",
    "times-cpu-thread.txt",
    "sites-alloc-depth1.txt",
    "monitor-threads.txt",
    "monitor-cpu-nocontention.txt",
];

#[test]
fn the_originals_files_are_taken() {
    for name in FILES {
        assert_eq!(Strict::check(&golden(name)), Ok(1), "{name}");
    }
}

#[test]
fn what_differs_is_refused() {
    let text = golden("sites-alloc-depth1.txt");
    for (from, to) in [
        ("SITES END\n", ""),
        ("trace name\n", "trace name (estimated)\n"),
        ("SITES BEGIN (ordered by live bytes) ", "SITES BEGIN (estimates) "),
        ("  863  0.01%", "  863 0.01%"),
        ("SITES BEGIN", "a line\nSITES BEGIN"),
        (" 300012 char[]", " 399999 char[]"),
    ] {
        let changed = text.replacen(from, to, 1);
        // The header's prose has some of these words, too.
        let changed =
            if Strict::check(&changed).is_ok() { text.replace(from, to) } else { changed };
        assert_ne!(changed, text, "{from}");
        assert!(Strict::check(&changed).is_err(), "{from}");
    }
}

#[test]
fn perks_files_are_taken() {
    for name in FILES {
        let profile = perk_hprof::read(golden(name).as_bytes()).unwrap();
        assert_eq!(Strict::check(&written(&profile)), Ok(1), "{name}");
    }
}

/// MONITOR TIME, which the original has in its manual and never wrote.
#[test]
fn monitor_times_are_taken() {
    let mut profile = perk_hprof::read(golden("monitor-threads.txt").as_bytes()).unwrap();
    let trace = profile.trace_by_serial(300_077).unwrap();
    let class = profile.symbols.class("ThreadsMonitors$Lock");
    let waits = Waits { blocked_count: 8, blocked_ns: 345_000_000, ..Waits::default() };
    let rows = vec![MonitorRow { trace, class, kind: LockKind::Monitor, waits }; 2];
    let times = MonitorTimes { total_ns: 700_000_000, rows, written: None };
    profile.events.push(Event::MonitorTimes(times));
    let text = written(&profile);
    assert_eq!(Strict::check(&text), Ok(2));
    assert!(text.contains("   1 49.29% 49.29%       8 300077 ThreadsMonitors$Lock (Java)\n"));
}

#[test]
fn estimated_sites_are_taken_and_known_again() {
    let mut profile = perk_hprof::read(golden(FILES[2]).as_bytes()).unwrap();
    let exact = profile.events.clone();
    for event in &mut profile.events {
        if let Event::Sites(sites) = event {
            sites.sample_interval_bytes = Some(524_288);
        }
    }
    // Exact sites after estimated ones are told apart.
    profile.events.extend(exact);
    let text = written(&profile);
    assert!(text.contains(
        "TRACE 299999:\n\tperk.estimate(one sample in 524288 bytes:Unknown line)\nSITES BEGIN"
    ));
    assert_eq!(Strict::check(&text), Ok(2));
    let mut binary = Vec::new();
    perk_hprof::write(&profile, Format::Binary, &mut binary).unwrap();
    for bytes in [text.as_bytes(), &binary] {
        let again = perk_hprof::read(bytes).unwrap();
        let intervals: Vec<_> = again
            .events
            .iter()
            .filter_map(|event| match event {
                Event::Sites(sites) => Some(sites.sample_interval_bytes),
                _ => None,
            })
            .collect();
        assert_eq!(intervals, [Some(524_288), None]);
        assert_eq!(again.trace_by_serial(299_999), None);
    }
}
