//! Waiting for locks and for each other, as tables; deadlocks by name.

use std::collections::{HashMap, HashSet};

use perk_analysis::locks;
use perk_profile::monitors::DeadlockLink;
use perk_profile::{
    ClassId, Event, FrameId, LockKind, Monitor, MonitorDump, Profile, ThreadState, TraceId,
    WaitKind, Waits,
};

use super::paths;
use super::table::{Row, Table};
use crate::show::{self, Screen, duration, percent, plural, printable};

/// Stands for the path where it is not known.
const NO_PATH: &str = "[path not known]";
/// Threads named in a row of a dump; of more only the number.
const NAMED: usize = 4;

/// The contention of a profile.
#[derive(Debug)]
pub(super) struct Contention<'a> {
    profile: &'a Profile,
    /// Of all rows.
    pub(super) waits: Waits,
    names: HashMap<u32, &'a str>,
}

/// A circle of threads, in the dump that shows it.
#[derive(Debug)]
pub(super) struct Deadlock<'a> {
    pub(super) dump: &'a MonitorDump,
    pub(super) links: Vec<DeadlockLink>,
}

impl<'a> Contention<'a> {
    /// The contention of `profile`; `None` where it has none.
    pub(super) fn new(profile: &'a Profile) -> Option<Self> {
        let is_of_monitors = |event: &Event| {
            matches!(event, Event::Wait(_) | Event::MonitorTimes(_) | Event::MonitorDump(_))
        };
        profile.events.iter().any(is_of_monitors).then(|| {
            let mut waits = Waits::default();
            let rows = profile.monitor_times().flat_map(|section| &section.rows);
            rows.for_each(|row| waits.add(row.waits));
            if !waits.is_waiting() {
                classes_waited_for(profile).iter().for_each(|&(_, more)| waits.add(more));
            }
            // What files do not list for being too little is blocked time all the same.
            let total_ns = profile.monitor_times().map(|section| section.total_ns);
            waits.blocked_ns = waits.blocked_ns.max(total_ns.fold(0, u64::saturating_add));
            let threads = profile.threads.iter();
            let name = |name| profile.symbols.strings.get(name);
            let names = threads.map(|thread| (thread.serial, name(thread.name))).collect();
            Self { profile, waits, names }
        })
    }

    /// `blocked 7 times for 557 ms, waited 7 times for 1.2 s; 1 deadlock`
    pub(super) fn total(&self) -> String {
        let Waits { blocked_count, blocked_ns, wait_count, waited_ns } = self.waits;
        let mut text = format!(
            "blocked {} for {}, waited {} for {}",
            plural(blocked_count, "time"),
            duration(blocked_ns),
            plural(wait_count, "time"),
            duration(waited_ns)
        );
        let deadlocks = self.deadlocks().len() as u64;
        if deadlocks > 0 {
            text += &format!("; {}", plural(deadlocks, "deadlock"));
        }
        text
    }

    /// All tables.
    pub(super) fn views(&self, top: usize, screen: &Screen) -> String {
        let views = [
            self.deadlock_lines(screen),
            self.locks(top, screen),
            self.paths(top, screen),
            self.threads(top, screen),
            self.last_dump(top, screen),
        ];
        let views: Vec<_> = views.into_iter().filter(|view| !view.is_empty()).collect();
        views.join("\n")
    }

    /// The deadlocks of all dumps, each where it is seen first.
    pub(super) fn deadlocks(&self) -> Vec<Deadlock<'a>> {
        let mut seen = HashSet::new();
        let mut deadlocks = Vec::new();
        for dump in self.profile.monitor_dumps() {
            for links in dump.deadlocks() {
                let threads: Vec<_> = links.iter().map(|link| link.thread).collect();
                if seen.insert(threads) {
                    deadlocks.push(Deadlock { dump, links });
                }
            }
        }
        deadlocks
    }

    /// Each deadlock: who waits for what, who has it, and where they are.
    pub(super) fn deadlock_lines(&self, screen: &Screen) -> String {
        const INDENT: &str = "      ";
        let mut text = String::new();
        for (index, deadlock) in self.deadlocks().iter().enumerate() {
            let threads = plural(deadlock.links.len() as u64, "thread");
            let heading = format!("Deadlock {} of {threads}", index + 1);
            text += &(screen.heading(&heading) + "\n");
            for link in &deadlock.links {
                let monitor = &deadlock.dump.monitors[link.monitor];
                let owner = monitor.owner.map_or(String::new(), |owner| self.thread(owner));
                let (thread, lock) = (self.thread(link.thread), self.lock(monitor));
                let line = format!("{thread} waits for {lock}, which {owner} has");
                text += &format!("  {}\n", screen.cut_end(&line, 2));
                let state = deadlock.dump.threads.iter().find(|it| it.serial == link.thread);
                for line in state.map(|state| self.frames(state.trace)).unwrap_or_default() {
                    text += &format!("{INDENT}{}\n", screen.cut(&line, INDENT.len()));
                }
            }
        }
        text
    }

    /// The classes of locks with most time blocked.
    pub(super) fn locks(&self, top: usize, screen: &Screen) -> String {
        let mut rows = locks::lock_classes(self.profile);
        if !rows.iter().any(|(_, _, waits)| waits.is_waiting()) {
            self.add_waits_told(&mut rows);
        }
        if rows.is_empty() {
            return String::new();
        }
        let rows = rows.iter().take(top).enumerate().map(|(index, &(class, kind, waits))| Row {
            cells: self.cells(index, waits, self.class(class, kind)),
            below: Vec::new(),
        });
        let table = Table { titles: titles("lock"), rows: rows.collect() };
        screen.heading("Top locks by blocked time") + "\n" + &table.render(screen)
    }

    /// Adds what text files tell of waits as they happen, without a call path.
    fn add_waits_told(&self, rows: &mut Vec<(ClassId, LockKind, Waits)>) {
        for (class, waits) in classes_waited_for(self.profile) {
            let known = rows.iter_mut().find(|(known, kind, _)| {
                *kind == LockKind::Monitor && self.name_of(*known) == self.name_of(class)
            });
            match known {
                Some((.., sum)) => sum.add(waits),
                None => rows.push((class, LockKind::Monitor, waits)),
            }
        }
    }

    /// The call paths with most time blocked.
    pub(super) fn paths(&self, top: usize, screen: &Screen) -> String {
        let rows = locks::contention(self.profile);
        if rows.is_empty() {
            return String::new();
        }
        let rows = rows.iter().take(top).enumerate().map(|(index, row)| Row {
            cells: self.cells(index, row.waits, self.class(row.class, row.kind)),
            below: self.frames_of(self.profile.tree.frames(row.node)),
        });
        let table = Table { titles: titles("lock"), rows: rows.collect() };
        screen.heading("Top waiting call paths, innermost frame first")
            + "\n"
            + &table.render(screen)
    }

    /// The threads with most time blocked, where the profile tells threads apart.
    pub(super) fn threads(&self, top: usize, screen: &Screen) -> String {
        let rows = locks::waiting_threads(self.profile);
        if rows.is_empty() {
            return String::new();
        }
        let rows = rows.iter().take(top).enumerate().map(|(index, &(thread, waits))| {
            let name = printable(self.profile.thread_name(thread));
            Row { cells: self.cells(index, waits, name), below: Vec::new() }
        });
        let table = Table { titles: titles("thread"), rows: rows.collect() };
        screen.heading("Threads by blocked time") + "\n" + &table.render(screen)
    }

    /// The monitors of the last dump that somebody waits for, those with most threads first.
    pub(super) fn last_dump(&self, top: usize, screen: &Screen) -> String {
        let Some(dump) = self.profile.monitor_dumps().last() else { return String::new() };
        let mut monitors: Vec<_> = dump.monitors.iter().collect();
        monitors.retain(|it| !it.blocked.is_empty() || !it.waiting.is_empty());
        if monitors.is_empty() {
            return String::new();
        }
        monitors.sort_by_key(|it| std::cmp::Reverse((it.blocked.len(), it.waiting.len())));
        let rows = monitors.into_iter().take(top).map(|monitor| {
            let mut below = Vec::new();
            if let Some(owner) = monitor.owner {
                let state = dump.threads.iter().find(|state| state.serial == owner);
                below.push(format!("{} has it{}", self.thread(owner), entered(monitor)));
                below.extend(state.map(|state| self.place(state)));
            }
            for (threads, what) in
                [(&monitor.blocked, "wants it"), (&monitor.waiting, "waits to be notified")]
            {
                below.extend(self.named(threads, what));
            }
            let counts = [monitor.blocked.len(), monitor.waiting.len()].map(|it| it.to_string());
            let [blocked, waiting] = counts;
            Row { cells: vec![blocked, waiting, self.lock(monitor)], below }
        });
        let titles = vec!["blocked", "waiting", "lock"];
        let table = Table { titles, rows: rows.collect() };
        screen.heading("Threads at locks when it was dumped last") + "\n" + &table.render(screen)
    }

    fn named(&self, threads: &[u32], what: &str) -> Vec<String> {
        let mut lines: Vec<_> = threads
            .iter()
            .take(NAMED)
            .map(|&thread| format!("{} {what}", self.thread(thread)))
            .collect();
        if threads.len() > NAMED {
            lines.push(format!("… and {} more", threads.len() - NAMED));
        }
        lines
    }

    /// `  in Main.run (Main.java:12), sleeping`
    fn place(&self, state: &ThreadState) -> String {
        let top = self.profile.frames(state.trace).next();
        let place = top
            .map_or_else(|| NO_PATH.to_owned(), |frame| show::frame(&self.profile.symbols, frame));
        format!("  in {place}, {}", state.status.title())
    }

    fn frames(&self, trace: TraceId) -> Vec<String> {
        self.frames_of(self.profile.frames(trace))
    }

    fn frames_of(&self, frames: impl Iterator<Item = FrameId>) -> Vec<String> {
        let frames: Vec<_> = frames.collect();
        let symbols = &self.profile.symbols;
        let mut lines = paths::middle_cut(&frames, |&frame| show::frame(symbols, frame));
        if lines.is_empty() {
            lines.push(NO_PATH.to_owned());
        }
        lines
    }

    fn cells(&self, index: usize, waits: Waits, name: String) -> Vec<String> {
        vec![
            (index + 1).to_string(),
            percent(waits.blocked_ns, self.waits.blocked_ns),
            duration(waits.blocked_ns),
            waits.blocked_count.to_string(),
            duration(waits.waited_ns),
            waits.wait_count.to_string(),
            name,
        ]
    }

    fn name_of(&self, class: ClassId) -> &'a str {
        self.profile.symbols.class_name(class)
    }

    fn class(&self, class: ClassId, kind: LockKind) -> String {
        let name = printable(self.name_of(class));
        match kind {
            LockKind::Monitor => name,
            LockKind::Parking => name + " (parking)",
        }
    }

    /// A lock as `Object.toString` shows it, if its identity is known.
    pub(super) fn lock(&self, monitor: &Monitor) -> String {
        let name = printable(self.name_of(monitor.class));
        match monitor.identity {
            Some(identity) => format!("{name}@{identity:x}"),
            None => name,
        }
    }

    /// A thread's name, or its number where it has none.
    pub(super) fn thread(&self, serial: u32) -> String {
        match self.names.get(&serial) {
            Some(name) if !name.is_empty() => printable(name),
            _ => format!("thread {serial}"),
        }
    }
}

fn entered(monitor: &Monitor) -> String {
    match monitor.entry_count {
        0 | 1 => String::new(),
        count => format!(", entered {count} times"),
    }
}

fn titles(last: &'static str) -> Vec<&'static str> {
    vec!["#", "blocked %", "blocked", "times", "waited", "times", last]
}

/// What text files tell of waits as they happen, by class.
pub(super) fn classes_waited_for(profile: &Profile) -> Vec<(ClassId, Waits)> {
    let mut sums: Vec<(ClassId, Waits)> = Vec::new();
    for event in &profile.events {
        let Event::Wait(wait) = event else { continue };
        let Some(class) = wait.class else { continue };
        let more = match wait.kind {
            WaitKind::Wait => Waits { wait_count: 1, ..Waits::default() },
            WaitKind::Waited => {
                Waits { waited_ns: wait.time_ms.saturating_mul(1_000_000), ..Waits::default() }
            }
            WaitKind::Sleep | WaitKind::Exit => continue,
        };
        match sums.iter_mut().find(|(known, _)| *known == class) {
            Some((_, sum)) => sum.add(more),
            None => sums.push((class, more)),
        }
    }
    sums
}
