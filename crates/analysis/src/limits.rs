//! What limits a program: one list of what the threads that work spend their time on, whatever its kind.
//!
//! The measure of all rows is one: the share of the wall-clock time of threads that work. A thread that
//! waits for clients or tasks does not work: the worker of a pool, a selector, a `main` that has started a
//! server. A wait that a method of the program asked for is work, and one for a lock always is. A thread
//! that is ready to run and has no CPU wants to run, and counts as if it did.
//!
//! A thread that waits for the result of another one is not a limit of its own as long as the other one
//! works for it: only the waits that are more than the work of such threads count.

mod cpu;
mod idle;
mod meanwhile;
mod place;
mod repeats;
#[cfg(test)]
mod tests;
mod virtual_threads;
mod waits;

use std::cmp::Reverse;

use perk_profile::{
    Accounting, ClassId, Key as RowKey, KeyedMap, KeyedSet, LockKind, MethodId, Metric, NodeId,
    Profile, Subject, ThreadId, TraceId, WallState,
};

use crate::charges::{Charges, FILES, NETWORK, STREAMS};
use crate::{MethodTree, Naming, Owners, Work};
pub use idle::{IdleGroup, IdleThreads};
pub use meanwhile::Meanwhile;
use place::{Place, Places};
pub use repeats::{Repeat, repeats};
pub use waits::Wait;

/// With fewer samples a number is no ground for advice.
pub const FEW_SAMPLES: u64 = 20;
/// Rows with less of everything than this are left out.
const LEAST: f64 = 0.01;
/// The most rows.
const MOST: usize = 20;
/// A program whose threads work for less of the time than this, all together, has nothing to do.
const IDLE: f64 = 0.1;
/// A thread has fewer samples than [`FEW_SAMPLES`] in a shorter recording.
const SHORT_NS: u64 = 400_000_000;
/// What is less than this does not stand out.
const STANDS_OUT: f64 = 0.1;
/// A method that uses the CPU stands out with this share, or with `TIMES_NEXT` times the share of the next.
const STANDS_OUT_OF_CPU: f64 = 0.4;
const TIMES_NEXT: u64 = 2;

/// What a program spends its time on.
#[derive(Clone, Debug, Default)]
pub struct Limits {
    /// What the time is of.
    pub whole: Whole,
    /// The time of threads that work, or that of the whole.
    pub total_ns: u64,
    /// How many threads work, on average; `None` if the length of the recording is not known.
    pub working_threads: Option<f64>,
    /// The limits, most time first.
    pub rows: Vec<Limit>,
    /// The threads that do not work.
    pub idle: IdleThreads,
    /// Whether there are virtual threads whose waits without a carrier are not known.
    pub hides_virtual_waits: bool,
    /// Whether any of the rows stands out.
    pub verdict: Verdict,
}

/// What the times of limits are parts of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Whole {
    /// The wall-clock time of threads that work.
    #[default]
    Work,
    /// The CPU time of samples, of compilers and of collectors, and the time blocked by locks, as far as
    /// these were measured.
    Measured {
        /// CPU time is.
        has_cpu: bool,
        /// Locks are.
        has_locks: bool,
    },
    /// Samples of unknown length: a nanosecond is one of them.
    Samples,
}

/// What a list of limits says as a whole.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Verdict {
    /// The first row is the answer.
    #[default]
    Clear,
    /// The threads have next to nothing to do.
    Idle,
    /// There are too few samples.
    Few,
    /// The CPU time is spread over many methods.
    Flat,
}

/// A limit.
#[derive(Clone, Debug, PartialEq)]
pub struct Limit {
    /// What it is.
    pub cause: Cause,
    /// The time of threads that work that it takes.
    pub ns: u64,
    /// The part of it in which threads use the CPU for what they otherwise wait for.
    pub cpu_ns: u64,
    /// The number of samples that this is known by.
    pub sample_count: u64,
    /// The method that it is charged to.
    pub method: Option<MethodId>,
    /// The line in it with most of the time.
    pub line: Option<u32>,
    /// The method that is called to wait.
    pub callee: Option<MethodId>,
    /// The class of the lock.
    pub lock: Option<ClassId>,
    /// What is done for the method, most first.
    pub works: Vec<(Work, u64)>,
    /// The classes of the objects that are allocated most, with their shares of all bytes.
    pub classes: Vec<(ClassId, f64)>,
    /// What those do meanwhile for whom the threads wait.
    pub meanwhile: Option<Meanwhile>,
}

/// The cause of a limit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Cause {
    /// A method uses the CPU, or would if there was one.
    Cpu,
    /// Threads wait.
    Wait(Wait),
    /// The collection of garbage. `share` is that of the method of all bytes allocated; 0 if that is not
    /// known.
    Gc {
        /// Of all bytes.
        share: f64,
    },
    /// The compilation of bytecode.
    Jit,
    /// The cgroup's quota: the kernel stops the process.
    Throttled,
    /// Other processes have the CPUs.
    OtherProcesses,
}

impl Cause {
    /// Its name for other programs.
    pub fn name(self) -> &'static str {
        match self {
            Cause::Cpu => "cpu",
            Cause::Wait(wait) => wait.name(),
            Cause::Gc { .. } => "gc",
            Cause::Jit => "jit",
            Cause::Throttled => "throttled",
            Cause::OtherProcesses => "other_processes",
        }
    }
}

impl Limit {
    fn new(cause: Cause, ns: u64) -> Self {
        Self {
            cause,
            ns,
            cpu_ns: 0,
            sample_count: 0,
            method: None,
            line: None,
            callee: None,
            lock: None,
            works: Vec::new(),
            classes: Vec::new(),
            meanwhile: None,
        }
    }

    /// Whether there are too few samples for advice.
    pub fn is_uncertain(&self) -> bool {
        self.sample_count < FEW_SAMPLES
    }
}

/// A time of a thread at a place.
#[derive(Clone, Copy, Debug)]
struct Stay<'p> {
    place: &'p Place,
    state: WallState,
    node: NodeId,
    thread: Option<ThreadId>,
    ns: u64,
}

impl Stay<'_> {
    /// Whether the thread runs, or wants to.
    fn is_active(&self) -> bool {
        matches!(self.state, WallState::Running | WallState::Runnable | WallState::Vm)
    }

    fn key(&self) -> Key {
        (self.place.wait, self.place.method)
    }
}

/// What waits are added up by.
type Key = (Option<Wait>, Option<MethodId>);

/// Finds the limits of a profile with samples of wall-clock time or of CPU time, or with waits for locks;
/// `None` where it has none of them.
pub fn limits(profile: &Profile, tree: &MethodTree, owners: &Owners) -> Option<Limits> {
    let mut rows = Metric::WallTime.rows(profile).rows;
    let hides_virtual_waits = virtual_threads::are_waits_hidden(profile, &rows);
    let mut whole = Whole::Work;
    if rows.is_empty() {
        (whole, rows) = measured(profile)?;
    } else {
        rows.extend(virtual_threads::waits(profile, &rows));
    }
    let thread_ns = sum(rows.iter().map(|row| row.1));
    let charges = Charges::new(profile, tree, owners, Naming::Callees);
    let places = Places::new(profile, tree, owners, &charges);
    let known = places_of(profile, &places, &rows);
    let stays: Vec<_> = stays(profile, &known, &rows).map(|(_, stay)| stay).collect();
    let known_ns = sum(stays.iter().map(|stay| stay.ns));
    let (idle, mut stays) = idle::split(profile, stays);
    meanwhile::cover(profile, &mut stays);
    let accounting = profile.accounting.as_ref();
    let sample_ns = match whole {
        Whole::Work => accounting
            .filter(|it| it.wall_sample_count > 0)
            .map(|it| it.wall_thread_ns / it.wall_sample_count),
        Whole::Measured { .. } => profile.sample_interval_ns(),
        Whole::Samples => Some(1),
    };
    let mut total_ns = sum(stays.iter().map(|stay| stay.ns));
    let mut limits = waiting(profile, &places, &stays, whole == Whole::Work);
    if whole == Whole::Work {
        limits.extend(cpu::limits(profile, tree, owners, &stays, sample_ns));
    } else {
        limits.extend(cpu::limits_of_cpu(profile, tree, owners, &stays, sample_ns));
        total_ns = total_ns.saturating_add(cpu::beside_ns(profile));
    }
    for limit in &mut limits {
        let is_wait = matches!(limit.cause, Cause::Wait(_));
        if is_wait || limit.sample_count == 0 {
            // Recordings of other tools do not say what a sample represents.
            let visits = sample_ns.map_or(u64::MAX, |each| limit.ns / each.max(1));
            limit.sample_count = limit.sample_count.max(visits);
        }
    }
    limits.retain(|it| it.ns > 0 && it.ns as f64 >= total_ns as f64 * LEAST);
    unite_io(&mut limits);
    sort(&mut limits, total_ns);
    limits.truncate(MOST);
    let wall_ns = accounting.map(|it| it.wall_ns).filter(|&ns| ns > 0 && whole == Whole::Work);
    let threads = |wall_ns: u64| thread_ns as f64 / wall_ns as f64;
    let working_threads =
        wall_ns.map(|wall_ns| threads(wall_ns) * total_ns as f64 / known_ns.max(1) as f64);
    let all_samples = sample_ns.map_or(u64::MAX, |each| total_ns / each.max(1));
    let is_short = wall_ns.is_some_and(|ns| ns < SHORT_NS);
    let verdict = match verdict(&limits, total_ns, working_threads, all_samples) {
        Verdict::Idle if is_short => Verdict::Few,
        verdict => verdict,
    };
    Some(Limits {
        whole,
        total_ns,
        working_threads,
        rows: limits,
        idle,
        hides_virtual_waits,
        verdict,
    })
}

/// What else than wall-clock time says where the time went: CPU time, and waits for locks.
fn measured(profile: &Profile) -> Option<(Whole, Vec<(RowKey, u64)>)> {
    let interval_ns = profile.sample_interval_ns();
    let row = |trace, state, ns| (RowKey::new(trace, Subject::State(state)), ns);
    let samples = Metric::Samples.rows(profile).rows.into_iter();
    let running = |(key, count): (RowKey, u64)| {
        row(key.trace, WallState::Running, count.saturating_mul(interval_ns.unwrap_or(1)))
    };
    let mut rows: Vec<_> = samples.map(running).collect();
    let has_cpu = !rows.is_empty();
    if has_cpu && interval_ns.is_none() {
        return Some((Whole::Samples, rows));
    }
    let locks = profile.monitor_times().flat_map(|section| section.rows);
    let blocked = locks.filter(|it| it.waits.blocked_ns > 0).map(|it| {
        let state = match it.kind {
            LockKind::Monitor => WallState::Blocked,
            LockKind::Parking => WallState::Parked,
        };
        row(it.trace, state, it.waits.blocked_ns)
    });
    let count = rows.len();
    rows.extend(blocked);
    let has_locks = rows.len() > count;
    (!rows.is_empty()).then_some((Whole::Measured { has_cpu, has_locks }, rows))
}

/// The traces and states in which threads do not work, as [`Limits::idle`] has their threads.
pub fn idle(profile: &Profile, tree: &MethodTree, owners: &Owners) -> KeyedSet<(TraceId, Subject)> {
    let rows = Metric::WallTime.rows(profile).rows;
    if rows.is_empty() {
        return KeyedSet::default();
    }
    let charges = Charges::new(profile, tree, owners, Naming::Callees);
    let places = Places::new(profile, tree, owners, &charges);
    let known = places_of(profile, &places, &rows);
    let (keys, stays): (Vec<&RowKey>, Vec<_>) = stays(profile, &known, &rows).unzip();
    let are_idle = idle::are_idle(profile, &stays);
    let idle = keys.iter().zip(are_idle).filter(|(_, is_idle)| *is_idle);
    idle.map(|(key, _)| (key.trace, key.subject)).collect()
}

/// The places in which threads were, by the nodes of their stacks and by their states.
type StatePlaces = KeyedMap<(NodeId, WallState), Place>;

fn places_of(profile: &Profile, places: &Places<'_>, rows: &[(RowKey, u64)]) -> StatePlaces {
    let mut known = StatePlaces::default();
    for (key, _) in rows {
        if let Subject::State(state) = key.subject {
            let node = profile.get_trace(key.trace).node;
            known.entry((node, state)).or_insert_with(|| places.of(node, Some(state)));
        }
    }
    known
}

/// The stays of some rows. Nothing is known of what happened before a thread was met first.
fn stays<'p, 'r>(
    profile: &'p Profile,
    known: &'p StatePlaces,
    rows: &'r [(RowKey, u64)],
) -> impl Iterator<Item = (&'r RowKey, Stay<'p>)> {
    rows.iter().filter(|(_, ns)| *ns > 0).filter_map(|(key, ns)| {
        let Subject::State(state) = key.subject else { return None };
        let trace = profile.get_trace(key.trace);
        let is_known = trace.node != profile.tree.root();
        let place = known.get(&(trace.node, state)).filter(|_| is_known)?;
        let stay = Stay { place, state, node: trace.node, thread: trace.thread, ns: *ns };
        Some((key, stay))
    })
}

/// Gives the CPU time of files and of the network to the waits for them of the same method: a request to
/// the system may have to wait or not.
fn unite_io(limits: &mut [Limit]) {
    let (mut waits, mut methods): (Vec<_>, Vec<_>) =
        limits.iter_mut().partition(|it| it.cause != Cause::Cpu);
    for wait in &mut waits {
        let is_its = |work: Work| match (wait.cause, work) {
            (Cause::Wait(Wait::File), Work::Named(name)) => [FILES, STREAMS].contains(&name),
            (Cause::Wait(Wait::Network), Work::Named(name)) => [NETWORK, STREAMS].contains(&name),
            _ => false,
        };
        let same = |it: &&mut &mut Limit| it.method == wait.method;
        let Some(method) = methods.iter_mut().find(same) else { continue };
        let ns = sum(method.works.iter().filter(|it| is_its(it.0)).map(|it| it.1));
        method.works.retain(|it| !is_its(it.0));
        let samples = part(method.sample_count, ns as f64 / method.ns.max(1) as f64);
        if method.sample_count < u64::MAX {
            method.sample_count -= samples;
            wait.sample_count = wait.sample_count.saturating_add(samples);
        }
        method.ns = method.ns.saturating_sub(ns);
        wait.ns = wait.ns.saturating_add(ns);
        wait.cpu_ns = ns;
    }
}

/// Sorts limits, most first. What has the CPUs beside the program is also in the times of the methods that
/// want them: a limit of the program's own that takes much of the time comes first.
fn sort(limits: &mut [Limit], total_ns: u64) {
    let share = |limit: &Limit| limit.ns as f64 / total_ns.max(1) as f64;
    let is_own = |limit: &Limit| !matches!(limit.cause, Cause::OtherProcesses | Cause::Jit);
    let has_much = limits.iter().any(|it| is_own(it) && share(it) >= STANDS_OUT_OF_CPU);
    let rank = |limit: &Limit| match limit.cause {
        Cause::OtherProcesses => u8::from(has_much || limit.is_uncertain()),
        Cause::Jit => 1,
        _ => u8::from(share(limit) < STANDS_OUT),
    };
    limits.sort_by_key(|it| (rank(it), Reverse(it.ns), it.method));
    // A method whose garbage takes nearly as long uses the CPU to allocate: the garbage is the reason.
    let gc =
        limits.iter().position(|it| matches!(it.cause, Cause::Gc { .. }) && !it.is_uncertain());
    let Some(gc) = gc.filter(|&at| limits[at].ns as f64 >= total_ns as f64 * STANDS_OUT) else {
        return;
    };
    let is_its = |it: &Limit| {
        it.cause == Cause::Cpu
            && it.method == limits[gc].method
            && limits[gc].ns.saturating_mul(TIMES_NEXT) >= it.ns
    };
    if let Some(cpu) = limits[..gc].iter().position(is_its) {
        limits[cpu..=gc].rotate_right(1);
    }
}

/// Whether any of the limits stands out.
fn verdict(
    limits: &[Limit],
    total_ns: u64,
    working_threads: Option<f64>,
    sample_count: u64,
) -> Verdict {
    if working_threads.is_some_and(|threads| threads < IDLE) {
        return Verdict::Idle;
    }
    let Some(first) = limits.first() else { return Verdict::Idle };
    // Rows of methods and locks have samples beside those of wall-clock time, of which those of the JVM are a
    // part.
    let is_of_jvm = first.sample_count == u64::MAX;
    if first.is_uncertain() || is_of_jvm && sample_count < FEW_SAMPLES {
        return Verdict::Few;
    }
    let share = |limit: &Limit| limit.ns as f64 / total_ns.max(1) as f64;
    let is_large = |limit: &Limit| share(limit) >= STANDS_OUT;
    let is_other = |cause| !matches!(cause, Cause::Cpu | Cause::Jit | Cause::OtherProcesses);
    let has_others = limits.iter().any(|it| is_large(it) && is_other(it.cause));
    if has_others || first.cause == Cause::OtherProcesses {
        return Verdict::Clear;
    }
    let next = limits[1..].iter().find(|it| it.cause == Cause::Cpu);
    let next_ns = next.map_or(0, |next| next.ns);
    let is_first =
        share(first) >= STANDS_OUT_OF_CPU || first.ns >= next_ns.saturating_mul(TIMES_NEXT);
    if is_large(first) && is_first { Verdict::Clear } else { Verdict::Flat }
}

/// The limits that are waits.
fn waiting(
    profile: &Profile,
    places: &Places<'_>,
    stays: &[Stay<'_>],
    has_all: bool,
) -> Vec<Limit> {
    let mut groups: KeyedMap<Key, Group> = KeyedMap::default();
    for stay in stays.iter().filter(|stay| stay.place.wait.is_some()) {
        groups.entry(stay.key()).or_default().add(stay);
    }
    let holders = meanwhile::Holders::new(profile, places, stays, has_all);
    let mut limits = Vec::new();
    for ((wait, method), group) in groups {
        let Some(wait) = wait else { continue };
        let mut limit = Limit::new(Cause::Wait(wait), group.ns);
        limit.method = method;
        limit.line = first(group.lines);
        limit.callee = first(group.callees);
        limit.lock = holders.lock(wait, method);
        limits.push(limit);
    }
    // The first of several methods that wait for one thing represents all of them.
    limits.sort_by_key(|it| (Reverse(it.ns), it.method));
    let mut merged: Vec<(Limit, Vec<Option<MethodId>>)> = Vec::new();
    for limit in limits {
        let same = merged.iter_mut().find(|(known, _)| is_one(&holders, known, &limit));
        match same {
            Some((known, methods)) => {
                known.ns = known.ns.saturating_add(limit.ns);
                methods.push(limit.method);
            }
            None => {
                let methods = vec![limit.method];
                merged.push((limit, methods));
            }
        }
    }
    for (limit, methods) in &mut merged {
        limit.meanwhile = holders.meanwhile(limit, methods);
        limit.sample_count = holders.measured_count(limit.cause, methods);
    }
    merged.into_iter().map(|(limit, _)| limit).collect()
}

/// Whether two limits are waits for one thing: a lock of a class of the program, a pool.
fn is_one(holders: &meanwhile::Holders<'_>, one: &Limit, other: &Limit) -> bool {
    if one.cause != other.cause {
        return false;
    }
    match one.cause {
        Cause::Wait(Wait::Pool) => one.callee == other.callee,
        Cause::Wait(Wait::Monitor | Wait::Lock) => {
            one.lock == other.lock && one.lock.is_some_and(|class| holders.is_of_program(class))
        }
        _ => false,
    }
}

/// Times that are added up.
#[derive(Debug, Default)]
struct Group {
    ns: u64,
    lines: KeyedMap<u32, u64>,
    callees: KeyedMap<MethodId, u64>,
}

impl Group {
    fn add(&mut self, stay: &Stay<'_>) {
        self.ns = self.ns.saturating_add(stay.ns);
        if let Some(line) = stay.place.line {
            *self.lines.entry(line).or_default() += stay.ns;
        }
        if let Some(callee) = stay.place.callee {
            *self.callees.entry(callee).or_default() += stay.ns;
        }
    }
}

/// The key with most.
fn first<K: Copy + Ord + std::hash::Hash>(sums: KeyedMap<K, u64>) -> Option<K> {
    sums.into_iter().max_by_key(|&(key, sum)| (sum, Reverse(key))).map(|(key, _)| key)
}

fn sum(numbers: impl Iterator<Item = u64>) -> u64 {
    numbers.fold(0, u64::saturating_add)
}

/// A part of `ns`.
fn part(ns: u64, share: f64) -> u64 {
    (ns as f64 * share.clamp(0.0, 1.0)) as u64
}

/// What the process's account says of groups of threads, as shares of its CPU time.
fn share_of_cpu(accounting: Option<&Accounting>, ns: impl Fn(&Accounting) -> u64) -> f64 {
    let accounting = accounting.filter(|it| it.cpu_count > 0 && it.process_cpu_ns > 0);
    accounting.map_or(0.0, |it| ns(it) as f64 / it.process_cpu_ns as f64)
}
