//! The locks: deadlocks, the classes of locks with those who waited and those who had them, and the threads
//! at locks in the last dump.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::hash::Hash;

use perk_analysis::locks::{self, ContentionRow, Deadlock, HoldingRow};
use perk_analysis::{Owner, Owners};
use perk_profile::units::{duration, plural};
use perk_profile::{ClassId, FrameId, LockKind, Metric, MonitorDump, NodeId, Profile, Waits};
use perk_render::{DumpNames, lock_suffix};

use crate::outline::{Entry, Outline};
use crate::view::ViewRow;

/// Represents the path where it is not known.
const NO_PATH: &str = "[path not known]";

/// Makes the outline of the locks of a profile; it is empty where the profile has none.
pub(crate) fn outline(profile: &Profile, owners: &Owners) -> Outline {
    let mut builder = Builder::new(profile, owners);
    builder.deadlocks();
    builder.classes();
    builder.last_dump();
    Outline::new(builder.entries, builder.wholes)
}

struct Builder<'a> {
    profile: &'a Profile,
    owners: &'a Owners,
    names: DumpNames<'a>,
    entries: Vec<Entry>,
    wholes: [u64; 2],
    /// Whether entries are added that have no numbers at all.
    is_text: bool,
}

impl<'a> Builder<'a> {
    fn new(profile: &'a Profile, owners: &'a Owners) -> Self {
        let names = DumpNames::new(profile);
        Self { profile, owners, names, entries: Vec::new(), wholes: [0; 2], is_text: false }
    }

    fn push(&mut self, level: usize, text: String) -> &mut Entry {
        let row = ViewRow { level, text, is_text: self.is_text, ..ViewRow::default() };
        self.entries.push(Entry { row, detail: String::new() });
        self.entries.last_mut().expect("an entry was added")
    }

    fn heading(&mut self, text: &str) {
        self.push(0, text.to_owned()).row.is_heading = true;
    }

    /// The deadlocks of all dumps, each where it is seen first.
    fn deadlocks(&mut self) {
        self.is_text = true;
        for Deadlock { dump, links } in locks::deadlocks(self.profile) {
            let number = plural(links.len() as u64, "thread");
            self.heading(&format!("Deadlock of {number}"));
            for link in links {
                let monitor = &dump.monitors[link.monitor];
                let owner = monitor.owner.map_or(String::new(), |it| self.names.thread(it));
                let (thread, lock) = (self.names.thread(link.thread), self.names.lock(monitor));
                self.push(0, format!("{thread} waits for {lock}, which {owner} has"));
                self.stack(dump, link.thread, 1);
            }
        }
    }

    /// The classes of locks, most time blocked first, each with the paths that waited and that had them.
    fn classes(&mut self) {
        self.is_text = false;
        let profile = self.profile;
        let (idle, waits): (Vec<_>, Vec<_>) = locks::contention(profile)
            .into_iter()
            .partition(|row| locks::is_housekeeping(profile, self.owners, row));
        let holders = locks::holding(profile);
        if idle.is_empty() && waits.is_empty() && holders.is_empty() {
            return;
        }
        let (all, of_idle) = (sum(&waits), sum(&idle));
        // What files do not list for being too little is blocked time all the same.
        let total = profile.columns(&Metric::BlockedTime).map(|column| column.total);
        let total = total.fold(0, u64::saturating_add).saturating_sub(of_idle.blocked_ns);
        self.wholes = [all.blocked_ns.max(total), all.waited_ns];
        self.heading("Locks by blocked time");
        let mut classes = locks::classes_of(profile, &waits);
        let name = |class: ClassId| profile.symbols.class_name(class);
        for row in &holders {
            let is_its =
                |it: &(ClassId, LockKind, Waits)| (name(it.0), it.1) == (name(row.class), row.kind);
            if !classes.iter().any(is_its) {
                classes.push((row.class, row.kind, Waits::default()));
            }
        }
        for (class, kind, its_waits) in classes {
            let is_its = |its, its_kind| (name(its), its_kind) == (name(class), kind);
            let shown = perk_render::class(&profile.symbols, class) + lock_suffix(kind);
            self.waits(0, shown, its_waits);
            let its: Vec<_> = waits.iter().filter(|row| is_its(row.class, row.kind)).collect();
            self.waiters(&its);
            let its = holders.iter().filter(|row| is_its(row.class, row.kind));
            self.holders(&its.collect::<Vec<_>>());
        }
        if !idle.is_empty() {
            let words = in_words(of_idle);
            let entry = self.push(0, "JDK housekeeping".to_owned());
            entry.detail = format!("Cleaner, idle pool threads, join: {words}");
            self.waiters(&idle.iter().collect::<Vec<_>>());
        }
    }

    fn waits(&mut self, level: usize, text: String, waits: Waits) {
        let entry = self.push(level, text);
        entry.row.numbers = [Some(waits.blocked_ns), Some(waits.waited_ns)];
        entry.detail = in_words(waits);
    }

    /// The places that waited, each with its paths.
    fn waiters(&mut self, rows: &[&ContentionRow]) {
        let verb = |waits: Waits| if waits.is_blocked() { "blocked in " } else { "waits in " };
        // Rows that only waited keep their order.
        let number = |row: &ContentionRow| row.waits.blocked_ns;
        for group in by_place(rows, number, |row| (verb(row.waits), self.place(row.node))) {
            let (prefix, (place, owner)) = group.0;
            self.waits(1, place, sum(group.1.iter().copied()));
            self.owned(prefix, owner);
            for row in group.1 {
                self.waits(2, self.inner(row.node), row.waits);
                self.path(row.node, 3);
            }
        }
    }

    /// The places that had a lock which others waited for, each with its paths.
    fn holders(&mut self, rows: &[&HoldingRow]) {
        let unknown = || ("a thread that is not known".to_owned(), None);
        let place = |row: &HoldingRow| match row.is_known(self.profile) {
            true => self.place(row.node),
            false => unknown(),
        };
        for ((place, owner), rows) in by_place(rows, |row| row.blocking_ns, place) {
            self.held(1, place, &rows);
            self.owned("held in ", owner);
            for row in rows.into_iter().filter(|row| row.is_known(self.profile)) {
                self.held(2, self.inner(row.node), &[row]);
                self.path(row.node, 3);
            }
        }
    }

    fn held(&mut self, level: usize, text: String, rows: &[&HoldingRow]) {
        let sum = |number: fn(&HoldingRow) -> u64| {
            rows.iter().map(|row| number(row)).fold(0, u64::saturating_add)
        };
        let (ns, samples) = (sum(|row| row.blocking_ns), sum(|row| row.sample_count));
        let entry = self.push(level, text);
        entry.row.numbers = [Some(ns), None];
        let samples = plural(samples, "sample");
        entry.detail = format!("others were blocked for {}, from {samples}", duration(ns));
    }

    /// The monitors of the last dump that somebody waits for.
    fn last_dump(&mut self) {
        self.is_text = true;
        let Some(dump) = self.profile.monitor_dumps().last() else { return };
        let monitors = locks::wanted(dump);
        if monitors.is_empty() {
            return;
        }
        self.heading("Threads at locks when it was dumped last");
        for monitor in monitors {
            let (blocked, waiting) = (monitor.blocked.len(), monitor.waiting.len());
            let lock = self.names.lock(monitor);
            self.push(0, format!("{lock}: {blocked} blocked, {waiting} waiting"));
            let ways = [(&monitor.blocked, "wants it"), (&monitor.waiting, "waits to be notified")];
            let threads = monitor.owner.map(|owner| (owner, "has it")).into_iter();
            let more = ways.into_iter().flat_map(|(all, way)| all.iter().map(move |it| (*it, way)));
            for (thread, way) in threads.chain(more) {
                self.push(1, format!("{} {way}", self.names.thread(thread)));
                self.stack(dump, thread, 2);
            }
        }
    }

    /// The frames of a thread in a dump.
    fn stack(&mut self, dump: &MonitorDump, thread: u32, level: usize) {
        if let Some(state) = dump.threads.iter().find(|state| state.serial == thread) {
            self.path(self.profile.get_trace(state.trace).node, level);
        }
    }

    /// The frames of a path, the innermost first.
    fn path(&mut self, node: NodeId, level: usize) {
        for frame in self.profile.tree.frames(node) {
            let owner = self.owner(frame);
            self.push(level, perk_render::frame(&self.profile.symbols, frame));
            self.owned("", Some(owner));
        }
    }

    /// Sets whose code the last entry is, and the words before its name.
    fn owned(&mut self, prefix: &'static str, owner: Option<Owner>) {
        if let Some(Entry { row, .. }) = self.entries.last_mut() {
            (row.prefix, row.owner) = (prefix, owner);
        }
    }

    fn owner(&self, frame: FrameId) -> Owner {
        self.owners.of(self.profile.symbols.get_frame(frame).method)
    }

    /// The innermost frame of the program's own, or the innermost one, and its owner.
    fn place(&self, node: NodeId) -> (String, Option<Owner>) {
        let mut frames = self.profile.tree.frames(node);
        let inner = self.profile.tree.frame(node);
        let yours = frames.find(|&frame| self.owner(frame) == Owner::Yours);
        match yours.or(inner) {
            Some(frame) => {
                (perk_render::frame(&self.profile.symbols, frame), Some(self.owner(frame)))
            }
            None => (NO_PATH.to_owned(), None),
        }
    }

    /// The innermost frame of a path.
    fn inner(&self, node: NodeId) -> String {
        let frame = self.profile.tree.frame(node);
        frame.map_or_else(
            || NO_PATH.to_owned(),
            |frame| perk_render::frame(&self.profile.symbols, frame),
        )
    }
}

fn sum<'r>(rows: impl IntoIterator<Item = &'r ContentionRow>) -> Waits {
    let mut sum = Waits::default();
    rows.into_iter().for_each(|row| sum.add(row.waits));
    sum
}

/// Rows by their places, those with the largest sums of numbers first.
fn by_place<'r, R, P: Clone + Eq + Hash>(
    rows: &[&'r R],
    number: impl Fn(&R) -> u64,
    place: impl Fn(&R) -> P,
) -> Vec<(P, Vec<&'r R>)> {
    let mut groups: Vec<(P, Vec<&R>, u64)> = Vec::new();
    let mut indexes: HashMap<P, usize> = HashMap::new();
    for &row in rows {
        let place = place(row);
        let index = *indexes.entry(place.clone()).or_insert_with(|| {
            groups.push((place, Vec::new(), 0));
            groups.len() - 1
        });
        let (_, group, sum) = &mut groups[index];
        group.push(row);
        *sum = sum.saturating_add(number(row));
    }
    groups.sort_by_key(|group| Reverse(group.2));
    groups.into_iter().map(|(place, group, _)| (place, group)).collect()
}

/// `blocked 7 times for 557 ms, waited 7 times for 1.2 s`
fn in_words(waits: Waits) -> String {
    let part = |verb, count, ns| {
        (count > 0 || ns > 0)
            .then(|| format!("{verb} {} for {}", plural(count, "time"), duration(ns)))
    };
    let blocked = part("blocked", waits.blocked_count, waits.blocked_ns);
    let waited = part("waited", waits.wait_count, waits.waited_ns);
    blocked.into_iter().chain(waited).collect::<Vec<_>>().join(", ")
}
