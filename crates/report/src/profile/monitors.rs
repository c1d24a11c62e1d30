//! Waiting for locks and for each other; deadlocks by name; dumps of threads.

mod holders;

use perk_analysis::Owners;
use perk_analysis::locks::{self, ContentionRow, Deadlock};
use perk_profile::monitors::DeadlockLink;
use perk_profile::units::{duration, plural};
use perk_profile::{
    ClassId, Event, FrameId, LockKind, Metric, Monitor, MonitorDump, NodeId, Profile, ThreadState,
    WaitKind, Waits,
};
use perk_render::{Cell, Column, DumpNames, Json, LazyTable, Part, Rows, Section, lock_suffix};

use self::holders::Holders;

/// Represents the path where it is not known.
const NO_PATH: &str = "[path not known]";
/// Threads named in a row of a dump; of more only the number.
const NAMED: usize = 4;

/// The contention of a profile.
#[derive(Debug)]
pub(super) struct Contention<'a> {
    profile: &'a Profile,
    owners: Owners,
    /// The waits of the program, by path, and those of the JDK's housekeeping.
    rows: Vec<ContentionRow>,
    housekeeping: Vec<ContentionRow>,
    holders: Holders<'a>,
    /// Of all rows.
    waits: Waits,
    names: DumpNames<'a>,
}

/// A row of a table of locks: class, kind, waits, and the path where rows are by path.
type LockRow = (ClassId, LockKind, Waits, Option<NodeId>);

impl<'a> Contention<'a> {
    /// The contention of `profile`; `None` where it has none.
    pub(super) fn new(profile: &'a Profile) -> Option<Self> {
        let is_of_monitors = |event: &Event| match event {
            Event::Section(section) => section.head.has(&Metric::OF_LOCKS),
            event => matches!(event, Event::Wait(_) | Event::MonitorDump(_)),
        };
        profile.events.iter().any(is_of_monitors).then(|| {
            let mut waits = Waits::default();
            let rows = profile.monitor_times().flat_map(|section| section.rows);
            rows.for_each(|row| waits.add(row.waits));
            if !waits.is_waiting() {
                classes_waited_for(profile).iter().for_each(|&(_, more)| waits.add(more));
            }
            // What files do not list for being too little is blocked time all the same.
            let total_ns = profile.columns(&Metric::BlockedTime).map(|column| column.total);
            waits.blocked_ns = waits.blocked_ns.max(total_ns.fold(0, u64::saturating_add));
            let names = DumpNames::new(profile);
            let owners = Owners::new(profile);
            let rows = locks::contention(profile).into_iter();
            let (housekeeping, rows) =
                rows.partition(|row| locks::is_housekeeping(profile, &owners, row));
            let holders = Holders::new(profile);
            Self { profile, owners, rows, housekeeping, holders, waits, names }
        })
    }

    /// `blocked 7 times for 557 ms, waited 7 times for 1.2 s; 1 deadlock`, without the JDK's housekeeping.
    pub(super) fn total(&self) -> String {
        let Waits { blocked_count, blocked_ns, wait_count, waited_ns } = self.own_waits();
        let about = if self.is_estimated() { "about " } else { "" };
        let mut text = format!(
            "blocked {about}{} for {}, waited {about}{} for {}",
            plural(blocked_count, "time"),
            duration(blocked_ns),
            plural(wait_count, "time"),
            duration(waited_ns)
        );
        let deadlocks = locks::deadlocks(self.profile).len() as u64;
        if deadlocks > 0 {
            text += &format!("; {}", plural(deadlocks, "deadlock"));
        }
        text
    }

    /// The waits without the JDK's housekeeping.
    fn own_waits(&self) -> Waits {
        let less = sum(&self.housekeeping).numbers();
        let mut numbers = self.waits.numbers();
        numbers.iter_mut().zip(less).for_each(|(sum, less)| *sum = sum.saturating_sub(less));
        Waits::of(numbers)
    }

    /// Each deadlock: the threads, the locks they wait for, the owners, and their frames.
    pub(super) fn deadlock_lines(&self) -> Section {
        let mut parts = Vec::new();
        for (index, deadlock) in locks::deadlocks(self.profile).iter().enumerate() {
            let threads = plural(deadlock.links.len() as u64, "thread");
            parts.push(Part::Heading(format!("Deadlock {} of {threads}", index + 1)));
            for link in &deadlock.links {
                let monitor = &deadlock.dump.monitors[link.monitor];
                let owner = monitor.owner.map_or(String::new(), |owner| self.names.thread(owner));
                let (thread, lock) = (self.names.thread(link.thread), self.names.lock(monitor));
                let sentence = format!("  {thread} waits for {lock}, which {owner} has");
                parts.push(Part::Sentence(sentence));
                let state = deadlock.dump.threads.iter().find(|it| it.serial == link.thread);
                parts.extend(state.map(|state| Part::Names(self.frames(state))));
            }
        }
        parts
    }

    /// A table of locks: by class, or with the paths that waited for them.
    fn lock_table<'t>(
        &'t self,
        heading: &str,
        all: Waits,
        rows: impl IntoIterator<Item = LockRow, IntoIter: 't>,
    ) -> Rows<'t, LockRow> {
        let mut rows = rows.into_iter().peekable();
        let has_paths = rows.peek().is_some_and(|row| row.3.is_some());
        let locks = LazyTable::of(&self.profile.symbols, heading, rows)
            .column(Column::other("class").name("lock"), |row| row.0)
            .column(Column::other("kind"), |row| kind_name(row.1))
            .columns(Self::columns(all), |row| numbers(row.2).map(Cell::Number))
            .each(|row, shown| shown.suffix = lock_suffix(row.1).to_owned());
        let path = |node| Cell::Path(self.profile.tree.frames(node).collect());
        match has_paths {
            true => locks.column(Column::path(NO_PATH), move |row| row.3.map(path)),
            false => locks,
        }
    }

    /// The columns of waits; shares are of all of them.
    fn columns(all: Waits) -> [Column; 4] {
        let blocked = Column::ns("blocked_ns").of(all.blocked_ns);
        [
            Column::count("blocked_count").at(2, "times"),
            blocked.share_at(0, "blocked %").at(1, "blocked"),
            Column::count("wait_count").at(4, "times"),
            Column::ns("waited_ns").at(3, "waited"),
        ]
    }

    /// The classes of locks with most time blocked, each with the places where threads waited for it and
    /// where it was held.
    pub(super) fn locks(&self) -> LazyTable<'_> {
        self.locks_of(false)
    }

    /// The same with the waits of the JDK's housekeeping.
    pub(super) fn all_locks(&self) -> LazyTable<'_> {
        self.locks_of(true)
    }

    fn locks_of(&self, with_housekeeping: bool) -> LazyTable<'_> {
        let shown = self.shown(with_housekeeping);
        let mut rows = locks::classes_of(self.profile, &shown);
        if !self.waits_by_path() {
            self.add_reported_waits(&mut rows);
        }
        let rows = rows.into_iter().map(|(class, kind, waits)| (class, kind, waits, None));
        let places = move |row: &LockRow| self.holders.places(&self.owners, (row.0, row.1), &shown);
        let heading = self.heading("Top locks by blocked time");
        let table = self.lock_table(&heading, self.all(with_housekeeping), rows);
        let table = table.each(move |row, shown| shown.below = places(row)).table().ranked();
        match self.housekeeping_note(with_housekeeping) {
            Some(note) => table.note(note),
            None => table,
        }
    }

    /// Whether the waits are estimated from samples of them.
    fn is_estimated(&self) -> bool {
        self.profile.accounting.as_ref().is_some_and(|it| it.sampled_wait_count > 0)
    }

    fn heading(&self, heading: &str) -> String {
        format!("{heading}{}", if self.is_estimated() { ", estimated" } else { "" })
    }

    /// The sum of the waits that are shown.
    fn all(&self, with_housekeeping: bool) -> Waits {
        if with_housekeeping { self.waits } else { self.own_waits() }
    }

    /// Whether waits to be notified are known by path.
    fn waits_by_path(&self) -> bool {
        self.rows.iter().chain(&self.housekeeping).any(|row| row.waits.is_waiting())
    }

    /// The waits that are shown.
    fn shown(&self, with_housekeeping: bool) -> Vec<ContentionRow> {
        let housekeeping = self.housekeeping.iter().filter(|_| with_housekeeping);
        let mut rows: Vec<_> = self.rows.iter().chain(housekeeping).copied().collect();
        rows.sort_by_key(|row| (row.waits.order(), row.node, row.class, row.kind));
        rows
    }

    /// The JDK's housekeeping in one line, if it is left out.
    fn housekeeping_note(&self, is_shown: bool) -> Option<String> {
        let sum = sum(&self.housekeeping);
        let wait_count = sum.wait_count.saturating_add(sum.blocked_count);
        let waited_ns = sum.waited_ns.saturating_add(sum.blocked_ns);
        (wait_count > 0 && !is_shown).then(|| {
            format!(
                "JDK housekeeping (Cleaner, Reference Handler, idle pool threads, join): waited {} for {} \
                 (--all)",
                plural(wait_count, "time"),
                duration(waited_ns)
            )
        })
    }

    /// Adds the waits that text files report as they happen, without a call path.
    fn add_reported_waits(&self, rows: &mut Vec<(ClassId, LockKind, Waits)>) {
        let name = |class| self.profile.symbols.class_name(class);
        for (class, waits) in classes_waited_for(self.profile) {
            let known = rows
                .iter_mut()
                .find(|(known, kind, _)| *kind == LockKind::Monitor && name(*known) == name(class));
            match known {
                Some((.., sum)) => sum.add(waits),
                None => rows.push((class, LockKind::Monitor, waits)),
            }
        }
    }

    /// The call paths with most time blocked.
    pub(super) fn paths(&self) -> LazyTable<'_> {
        self.paths_of(false)
    }

    /// The same with the waits of the JDK's housekeeping.
    pub(super) fn all_paths(&self) -> LazyTable<'_> {
        self.paths_of(true)
    }

    fn paths_of(&self, with_housekeeping: bool) -> LazyTable<'_> {
        let rows = self.shown(with_housekeeping).into_iter();
        let rows = rows.map(|row| (row.class, row.kind, row.waits, Some(row.node)));
        let heading = self.heading("Top waiting call paths, innermost frame first");
        self.lock_table(&heading, self.all(with_housekeeping), rows).table().ranked()
    }

    /// The call paths that had locks while others waited for them.
    pub(super) fn holding_paths(&self) -> LazyTable<'_> {
        self.holders.paths()
    }

    /// The threads with most time blocked, where the profile distinguishes threads.
    pub(super) fn threads(&self) -> LazyTable<'_> {
        let rows = locks::waiting_threads(self.profile);
        LazyTable::of(&self.profile.symbols, "Threads by blocked time", rows)
            .column(Column::words().name("thread"), |row| self.profile.thread_name(row.0))
            .columns(Self::columns(self.waits), |row| numbers(row.1).map(Cell::Number))
            .table()
            .ranked()
    }

    /// The monitors of the last dump that somebody waits for, those with most threads first.
    pub(super) fn last_dump(&self) -> Option<LazyTable<'_>> {
        let dump = self.profile.monitor_dumps().last()?;
        let below = |monitor: &Monitor| {
            let mut below = Vec::new();
            if let Some(owner) = monitor.owner {
                let state = dump.threads.iter().find(|state| state.serial == owner);
                below.push(format!("{} has it{}", self.names.thread(owner), entered(monitor)));
                below.extend(state.map(|state| self.position(state)));
            }
            below.extend(self.named(&monitor.blocked, "wants it"));
            below.extend(self.named(&monitor.waiting, "waits to be notified"));
            below
        };
        let heading = "Threads at locks when it was dumped last";
        let table = LazyTable::of(&self.profile.symbols, heading, locks::wanted(dump))
            .column(Column::words().at(0, "blocked"), |it| it.blocked.len() as u64)
            .column(Column::words().at(1, "waiting"), |it| it.waiting.len() as u64)
            .column(Column::words().name("lock"), |it| self.names.lock(it))
            .each(move |it, row| row.below = below(it));
        Some(table.table())
    }

    fn named(&self, threads: &[u32], what: &str) -> Vec<String> {
        let shown = threads.iter().take(NAMED);
        let mut lines: Vec<_> =
            shown.map(|&thread| format!("{} {what}", self.names.thread(thread))).collect();
        if threads.len() > NAMED {
            lines.push(format!("… and {} more", threads.len() - NAMED));
        }
        lines
    }

    /// `  in Main.run (Main.java:12), sleeping`
    fn position(&self, state: &ThreadState) -> String {
        let top = self.profile.frames(state.trace).next();
        let frame = top.map(|frame| perk_render::frame(&self.profile.symbols, frame));
        format!("  in {}, {}", frame.as_deref().unwrap_or(NO_PATH), state.status.title())
    }

    fn frames(&self, state: &ThreadState) -> Vec<String> {
        let frames: Vec<_> = self.profile.frames(state.trace).collect();
        let line = |&frame: &FrameId| perk_render::frame(&self.profile.symbols, frame);
        match frames.is_empty() {
            true => vec![NO_PATH.to_owned()],
            false => perk_render::middle_cut(&frames, line),
        }
    }

    /// Everything; of each list by time the first `top` rows.
    pub(super) fn report(&self, top: usize) -> Json {
        let locks = locks::lock_classes(self.profile).into_iter();
        let locks = locks.map(|(class, kind, waits)| (class, kind, waits, None));
        let reported = classes_waited_for(self.profile).into_iter();
        let reported = reported.map(|(class, waits)| (class, LockKind::Monitor, waits, None));
        let waits = Self::columns(self.waits).into_iter().zip(numbers(self.waits));
        let waits = waits.map(|(column, number)| (column.id(), number.into()));
        let dumps = self.profile.monitor_dumps();
        let deadlocks = locks::deadlocks(self.profile).into_iter();
        Json::object(waits.chain([
            ("is_estimated", self.is_estimated().into()),
            ("locks", self.lock_table("", self.waits, locks).table().top(top).into()),
            ("paths", self.all_paths().top(top).into()),
            ("holding_paths", self.holding_paths().top(top).into()),
            ("reported_waits", self.lock_table("", self.waits, reported).table().top(top).into()),
            ("dumps", Json::list(dumps.map(|dump| self.dump(dump)))),
            ("deadlocks", Json::list(deadlocks.map(|deadlock| self.links(deadlock)))),
        ]))
    }

    fn dump(&self, dump: &'a MonitorDump) -> Json {
        let symbols = &self.profile.symbols;
        let path = |state: &&ThreadState| Cell::Path(self.profile.frames(state.trace).collect());
        let threads = LazyTable::of(symbols, "", &dump.threads)
            .column(Column::other("serial"), |it| u64::from(it.serial))
            .column(Column::other("name"), |it| self.names.thread(it.serial))
            .column(Column::other("status"), |it| it.status.title())
            .column(Column::other("is_suspended"), |it| it.is_suspended)
            .column(Column::other("is_interrupted"), |it| it.is_interrupted)
            .column(Column::other("is_in_native"), |it| it.is_in_native)
            .column(Column::path(""), path)
            .table();
        let serials = |threads: &[u32]| Json::list(threads.iter().copied());
        let monitors = LazyTable::of(symbols, "", &dump.monitors)
            .column(Column::other("class"), |it| it.class)
            .column(Column::other("kind"), |it| kind_name(it.kind))
            .column(Column::other("identity"), |it| it.identity.map(u64::from))
            .column(Column::other("owner_serial"), |it| it.owner.map(u64::from))
            .column(Column::other("entry_count"), |it| u64::from(it.entry_count))
            .column(Column::other("blocked_serials"), move |it| serials(&it.blocked))
            .column(Column::other("waiting_serials"), move |it| serials(&it.waiting))
            .table();
        Json::object([
            ("written_unix_ms", dump.written.map(|written| written.unix_ms).into()),
            ("threads", threads.into()),
            ("monitors", monitors.into()),
        ])
    }

    fn links(&self, deadlock: Deadlock<'a>) -> LazyTable<'_> {
        let Deadlock { dump, links } = deadlock;
        let monitor = |link: &DeadlockLink| &dump.monitors[link.monitor];
        LazyTable::of(&self.profile.symbols, "", links)
            .column(Column::other("thread_serial"), |it| u64::from(it.thread))
            .column(Column::other("thread"), |it| self.names.thread(it.thread))
            .column(Column::other("waits_for_class"), move |it| monitor(it).class)
            .column(Column::other("waits_for_identity"), move |it| {
                monitor(it).identity.map(u64::from)
            })
            .column(Column::other("owner_serial"), move |it| monitor(it).owner.map(u64::from))
            .table()
    }
}

/// The sum of rows.
fn sum(rows: &[ContentionRow]) -> Waits {
    let mut sum = Waits::default();
    rows.iter().for_each(|row| sum.add(row.waits));
    sum
}

/// The numbers of the columns of waits.
fn numbers(waits: Waits) -> [u64; 4] {
    let Waits { blocked_count, blocked_ns, wait_count, waited_ns } = waits;
    [blocked_count, blocked_ns, wait_count, waited_ns]
}

fn kind_name(kind: LockKind) -> &'static str {
    match kind {
        LockKind::Monitor => "monitor",
        LockKind::Parking => "parking",
    }
}

fn entered(monitor: &Monitor) -> String {
    match monitor.entry_count {
        0 | 1 => String::new(),
        count => format!(", entered {count} times"),
    }
}

/// The waits that text files report as they happen, by class.
fn classes_waited_for(profile: &Profile) -> Vec<(ClassId, Waits)> {
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
