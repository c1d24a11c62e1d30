//! Limits by CPU: methods that use it, the JVM that uses it beside them, and what takes it away.

use perk_profile::{Accounting, ClassId, KeyedMap, Line, MethodId, Metric, Profile, WallState};

use super::{Cause, Limit, Stay, first, part, share_of_cpu, sum};
use crate::{Charges, MethodTree, Naming, Owners, Work};

/// Compilers with less of the process's CPU time than this are as they should be.
const JIT: f64 = 0.25;
/// Threads that wait for a CPU for less of the time that they want to run do so by chance.
const NO_CPU: f64 = 0.3;
/// A process with more of its CPUs than this has all of them.
const ALL_CPUS: f64 = 0.8;
/// A process that its quota stopped in more of the periods than this has too small a quota.
const THROTTLED: f64 = 0.1;
/// Samples are those of the whole run if they are more than this part of all that were taken.
const WHOLE: f64 = 0.9;
/// Classes with less of all bytes than this are not named.
const CLASS: f64 = 0.03;

/// The limits by CPU of threads at work.
pub(super) fn limits(
    profile: &Profile,
    tree: &MethodTree,
    owners: &Owners,
    stays: &[Stay<'_>],
    sample_ns: Option<u64>,
) -> Vec<Limit> {
    let accounting = profile.accounting.as_ref();
    let in_state = |state| sum(stays.iter().filter(|it| it.state == state).map(|it| it.ns));
    // A thread that the JVM has stopped wants to run, too.
    let active_ns = sum(stays.iter().filter(|it| it.is_active()).map(|it| it.ns));
    let mut runnable_ns = in_state(WallState::Runnable);
    let wanted_ns = active_ns - in_state(WallState::Vm);
    let gc_share = gc_share(accounting);
    let gc_ns = part(active_ns, gc_share);
    let charges = Charges::new(profile, tree, owners, Naming::Words);
    let mut limits = Vec::new();
    if gc_ns > 0 {
        limits.push(gc(profile, tree, &charges, gc_ns));
    }
    let jit = share_of_cpu(accounting, jit_ns);
    if jit >= JIT {
        limits
            .push(Limit { sample_count: u64::MAX, ..Limit::new(Cause::Jit, part(active_ns, jit)) });
    }
    let mut used_ns = active_ns - gc_ns;
    if let Some(cause) =
        no_cpu(accounting).filter(|_| runnable_ns as f64 >= wanted_ns as f64 * NO_CPU)
    {
        if cause == Cause::Throttled && runnable_ns > wanted_ns / 2 {
            // More CPU time is missing than there is.
            runnable_ns = runnable_ns.min(used_ns);
            used_ns -= runnable_ns;
        }
        limits.push(Limit::new(cause, runnable_ns));
    }
    limits.extend(methods(profile, tree, &charges, stays, (used_ns, sample_ns)));
    limits
}

/// The limits by CPU where only CPU time was measured: the collectors and compilers have theirs beside that
/// of the samples.
pub(super) fn limits_of_cpu(
    profile: &Profile,
    tree: &MethodTree,
    owners: &Owners,
    stays: &[Stay<'_>],
    sample_ns: Option<u64>,
) -> Vec<Limit> {
    let charges = Charges::new(profile, tree, owners, Naming::Words);
    let accounting = beside(profile);
    let used_ns = sum(stays.iter().filter(|it| it.is_active()).map(|it| it.ns));
    let mut limits = methods(profile, tree, &charges, stays, (used_ns, sample_ns));
    let gc_ns = accounting.map_or(0, |it| it.gc_cpu_ns);
    if gc_ns > 0 {
        limits.push(gc(profile, tree, &charges, gc_ns));
    }
    let jit = share_of_cpu(accounting, jit_ns);
    if let Some(accounting) = accounting.filter(|_| jit >= JIT) {
        limits.push(Limit { sample_count: u64::MAX, ..Limit::new(Cause::Jit, jit_ns(accounting)) });
    }
    limits
}

/// The CPU time of collectors and compilers, which samples do not have.
pub(super) fn beside_ns(profile: &Profile) -> u64 {
    beside(profile).map_or(0, |it| it.gc_cpu_ns.saturating_add(jit_ns(it)))
}

/// The account of the process, unless the samples are a part of those that it counts: then it is not known
/// what went on beside them.
fn beside(profile: &Profile) -> Option<&Accounting> {
    let count = Metric::Samples.total(profile);
    let is_whole = |it: &&Accounting| count as f64 >= it.sample_count as f64 * WHOLE;
    profile.accounting.as_ref().filter(is_whole)
}

fn jit_ns(accounting: &Accounting) -> u64 {
    accounting.jit_c1_cpu_ns.saturating_add(accounting.jit_c2_cpu_ns)
}

/// The part of the time of threads that want to run that the collection of garbage takes: while it stops
/// them, and as it uses the CPU beside them.
fn gc_share(accounting: Option<&Accounting>) -> f64 {
    let pauses = accounting.filter(|it| it.wall_ns > 0);
    let pauses = pauses.map_or(0.0, |it| it.gc_pause_ns as f64 / it.wall_ns as f64);
    share_of_cpu(accounting, |it| it.gc_cpu_ns).max(pauses)
}

/// What takes CPU time from a process whose threads wait for it; `None` if it has all CPUs.
fn no_cpu(accounting: Option<&Accounting>) -> Option<Cause> {
    let accounting = accounting.filter(|it| it.cpu_count > 0 && it.wall_ns > 0)?;
    if accounting.throttled_count as f64 > accounting.cpu_period_count as f64 * THROTTLED {
        return Some(Cause::Throttled);
    }
    let all_ns = accounting.wall_ns.saturating_mul(accounting.cpu_count);
    let has_all = accounting.process_cpu_ns as f64 >= all_ns as f64 * ALL_CPUS;
    (!has_all).then_some(Cause::OtherProcesses)
}

/// The collection of garbage, with the method that allocates most.
fn gc(profile: &Profile, tree: &MethodTree, charges: &Charges, ns: u64) -> Limit {
    let mut limit = Limit::new(Cause::Gc { share: 0.0 }, ns);
    limit.sample_count = u64::MAX;
    let rows = Metric::AllocatedBytes.rows(profile);
    let mut sums: KeyedMap<MethodId, u64> = KeyedMap::default();
    let mut lines: KeyedMap<(MethodId, u32), u64> = KeyedMap::default();
    let mut classes: KeyedMap<(MethodId, ClassId), u64> = KeyedMap::default();
    for &(key, bytes) in &rows.rows {
        let path = tree.path(profile.get_trace(key.trace).node);
        let payer = charges.of(path).payer;
        let Some(method) = tree.method(payer) else { continue };
        *sums.entry(method).or_default() += bytes;
        if let Some(line) = line(profile, tree, key.trace, payer) {
            *lines.entry((method, line)).or_default() += bytes;
        }
        if let Some(class) = key.subject.class() {
            *classes.entry((method, class)).or_default() += bytes;
        }
    }
    let all = sum(sums.values().copied()).max(1);
    let Some(method) = first(sums.clone()) else { return limit };
    let of = |bytes: u64| bytes as f64 / all as f64;
    limit.cause = Cause::Gc { share: of(sums[&method]) };
    limit.method = Some(method);
    limit.line = first(lines.into_iter().filter(|it| it.0.0 == method).collect()).map(|it| it.1);
    let its = classes
        .into_iter()
        .filter(|&((of, _), bytes)| of == method && bytes as f64 >= all as f64 * CLASS);
    limit.classes = its.map(|((_, class), bytes)| (class, of(bytes))).collect();
    limit.classes.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    limit
}

/// The line of a payer on a trace.
fn line(
    profile: &Profile,
    tree: &MethodTree,
    trace: perk_profile::TraceId,
    payer: perk_profile::PathId,
) -> Option<u32> {
    let path = tree.path(profile.get_trace(trace).node);
    let above = tree.methods(path).count() - tree.methods(payer).count();
    let frame = profile.frames(trace).nth(above)?;
    match profile.symbols.get_frame(frame).line {
        Line::Number(line) => Some(line),
        _ => None,
    }
}

/// What is known of a method that uses the CPU.
#[derive(Debug, Default)]
struct Use {
    number: u64,
    works: KeyedMap<Work, u64>,
    lines: KeyedMap<u32, u64>,
}

/// The methods that use the CPU, which share `used_ns`: by CPU samples where there are enough. Samples of
/// either kind show that a method does.
fn methods(
    profile: &Profile,
    tree: &MethodTree,
    charges: &Charges,
    stays: &[Stay<'_>],
    (used_ns, sample_ns): (u64, Option<u64>),
) -> Vec<Limit> {
    let samples = Metric::Samples.rows(profile);
    let is_sampled = samples.total >= super::FEW_SAMPLES;
    let mut uses: KeyedMap<MethodId, Use> = KeyedMap::default();
    let mut all = 0_u64;
    let mut add = |node, number: u64, line: Option<u32>| {
        let charge = charges.of(tree.path(node));
        all = all.saturating_add(number);
        let Some(method) = tree.method(charge.payer) else { return };
        let used = uses.entry(method).or_default();
        used.number = used.number.saturating_add(number);
        *used.works.entry(charge.work).or_default() += number;
        if let Some(line) = line {
            *used.lines.entry(line).or_default() += number;
        }
    };
    if is_sampled {
        for &(key, number) in &samples.rows {
            let node = profile.get_trace(key.trace).node;
            let line = line(profile, tree, key.trace, charges.of(tree.path(node)).payer);
            add(node, number, line);
        }
    } else {
        for stay in stays.iter().filter(|stay| stay.is_active()) {
            add(stay.node, stay.ns, stay.place.line);
        }
    }
    let mut active: KeyedMap<MethodId, u64> = KeyedMap::default();
    for stay in stays.iter().filter(|stay| stay.is_active()) {
        if let Some(method) = stay.place.method {
            *active.entry(method).or_default() += stay.ns;
        }
    }
    let wall_samples = |method| {
        let ns = active.get(&method).copied().unwrap_or(0);
        sample_ns.map_or(0, |each| ns / each.max(1))
    };
    let limits = uses.into_iter().map(|(method, used)| {
        let share = used.number as f64 / all.max(1) as f64;
        let mut works: Vec<_> = used.works.into_iter().collect();
        works.sort_by_key(|&(work, number)| (std::cmp::Reverse(number), work));
        let scaled = |number: u64| part(used_ns, number as f64 / all.max(1) as f64);
        Limit {
            sample_count: if is_sampled { used.number.max(wall_samples(method)) } else { 0 },
            method: Some(method),
            line: first(used.lines),
            works: works.into_iter().map(|(work, number)| (work, scaled(number))).collect(),
            ..Limit::new(Cause::Cpu, part(used_ns, share))
        }
    });
    limits.collect()
}
