//! What others do while threads wait for them: who has a lock or the objects of a pool, and who works on
//! a result.

use std::cmp::Reverse;

use perk_profile::{ClassId, KeyedMap, KeyedSet, MethodId, Profile};

use super::idle::group_name;
use super::place::{Place, Places};
use super::waits::Wait;
use super::{Cause, Limit, Stay, part, sum};
use crate::locks;

/// A holder that is known for less than this share of the waits is not named.
const LEAST: f64 = 0.2;

/// What those do for whom threads wait.
#[derive(Clone, Debug, PartialEq)]
pub struct Meanwhile {
    /// The method that does most of it.
    pub method: MethodId,
    /// The line in it.
    pub line: Option<u32>,
    /// What it waits for; `None` if it uses the CPU.
    pub wait: Option<Wait>,
    /// The method that it waits in.
    pub callee: Option<MethodId>,
    /// How many threads do so, on average, and what their names have in common; of threads that work on
    /// results.
    pub pool: Option<(String, usize)>,
}

/// What a method does: the kind of wait, if it waits, the line, and what it waits in.
type Activity = (MethodId, Option<Wait>, Option<u32>, Option<MethodId>);

fn doing(place: &Place) -> Option<Activity> {
    Some((place.method?, place.wait, place.line, place.callee.filter(|_| place.wait.is_some())))
}

/// What most of the time goes to; lines of one method count together.
fn most(sums: &KeyedMap<Activity, u64>) -> Option<(Activity, u64)> {
    let mut methods: KeyedMap<(MethodId, Option<Wait>), u64> = KeyedMap::default();
    for (&(method, wait, ..), ns) in sums {
        *methods.entry((method, wait)).or_default() += ns;
    }
    let (key, ns) = methods.into_iter().max_by_key(|&(key, ns)| (ns, Reverse(key)))?;
    let its = sums.iter().filter(|(doing, _)| (doing.0, doing.1) == key);
    let (doing, _) = its.max_by_key(|&(doing, ns)| (*ns, Reverse(*doing)))?;
    Some((*doing, ns))
}

/// The holders of what threads wait for.
pub(super) struct Holders<'a> {
    profile: &'a Profile,
    places: &'a Places<'a>,
    stays: &'a [Stay<'a>],
    /// Whether the stays are all that threads did.
    has_all: bool,
    /// The classes of the locks that a method waits for, with the time.
    locks: KeyedMap<(Wait, MethodId), KeyedMap<ClassId, u64>>,
    /// How often a method was blocked.
    blocked_counts: KeyedMap<(Wait, MethodId), u64>,
    /// The part of all waits that was measured; the others are estimated.
    measured_part: f64,
}

impl<'a> Holders<'a> {
    pub(super) fn new(
        profile: &'a Profile,
        places: &'a Places<'a>,
        stays: &'a [Stay<'a>],
        has_all: bool,
    ) -> Self {
        let mut of_methods: KeyedMap<(Wait, MethodId), KeyedMap<ClassId, u64>> =
            KeyedMap::default();
        let mut blocked_counts: KeyedMap<(Wait, MethodId), u64> = KeyedMap::default();
        let contention = locks::contention(profile);
        for row in contention.iter().filter(|row| row.waits.is_blocked()) {
            let place = places.of(row.node, None);
            let Some(method) = place.method else { continue };
            let kind = match row.kind {
                perk_profile::LockKind::Monitor => Wait::Monitor,
                perk_profile::LockKind::Parking => Wait::Lock,
            };
            let classes = of_methods.entry((kind, method)).or_default();
            let sum = classes.entry(row.class).or_default();
            *sum = sum.saturating_add(row.waits.blocked_ns);
            let count = blocked_counts.entry((kind, method)).or_default();
            *count = count.saturating_add(row.waits.blocked_count);
        }
        let sampled = profile.accounting.as_ref().map_or(0, |it| it.sampled_wait_count);
        let counts = |row: &locks::ContentionRow| row.waits.blocked_count + row.waits.wait_count;
        let measured_part = match (sampled, sum(contention.iter().map(counts))) {
            (0, _) | (_, 0) => 1.0,
            (sampled, all) => sampled as f64 / all as f64,
        };
        let locks = of_methods;
        Self { profile, places, stays, has_all, locks, blocked_counts, measured_part }
    }

    /// How many waits of methods for locks were measured.
    pub(super) fn measured_count(&self, cause: Cause, methods: &[Option<MethodId>]) -> u64 {
        let Cause::Wait(wait) = cause else { return 0 };
        let methods = methods.iter().flatten();
        let counts = methods.filter_map(|&method| self.blocked_counts.get(&(wait, method)));
        part(sum(counts.copied()), self.measured_part)
    }

    /// The class of the lock that a method waits for most.
    pub(super) fn lock(&self, wait: Wait, method: Option<MethodId>) -> Option<ClassId> {
        let classes = self.locks.get(&(wait, method?))?;
        let most = classes.iter().max_by_key(|&(class, ns)| (*ns, Reverse(*class)));
        most.map(|(class, _)| *class)
    }

    /// Whether a class is the program's.
    pub(super) fn is_of_program(&self, class: ClassId) -> bool {
        self.places.is_program_class(class)
    }

    /// What those do meanwhile for whom the threads of a limit wait in some methods.
    pub(super) fn meanwhile(
        &self,
        limit: &Limit,
        methods: &[Option<MethodId>],
    ) -> Option<Meanwhile> {
        let Cause::Wait(wait) = limit.cause else { return None };
        match wait {
            Wait::Monitor | Wait::Lock => {
                self.of_lock(limit).or_else(|| self.of_stacks(wait, methods))
            }
            Wait::Permit | Wait::Pool | Wait::Notice => self.of_stacks(wait, methods),
            Wait::Result => self.of_tasks(),
            Wait::Room => self.of_others(wait),
            _ => None,
        }
    }

    /// The holders of a lock, as they were met while others waited for it.
    fn of_lock(&self, limit: &Limit) -> Option<Meanwhile> {
        let class = limit.lock?;
        let name = |class| self.profile.symbols.get_class(class).name;
        let mut sums: KeyedMap<Activity, u64> = KeyedMap::default();
        let rows = locks::holding(self.profile);
        let rows = rows.iter().filter(|row| name(row.class) == name(class));
        let all = sum(rows.clone().map(|row| row.blocking_ns));
        for row in rows.filter(|row| row.is_known(self.profile)) {
            let place = self.places.of(row.node, None);
            if let Some(doing) = doing(&place) {
                let sum = sums.entry(doing).or_default();
                *sum = sum.saturating_add(row.blocking_ns);
            }
        }
        let (doing, ns) = most(&sums)?;
        (ns as f64 >= all as f64 * LEAST).then(|| meanwhile_of(doing))
    }

    /// What threads do inside of the methods that wait, or inside of those that call them, after they
    /// have waited.
    fn of_stacks(&self, wait: Wait, methods: &[Option<MethodId>]) -> Option<Meanwhile> {
        if !self.has_all {
            return None;
        }
        let waiting: KeyedSet<MethodId> = methods.iter().flatten().copied().collect();
        let waits = |stay: &&Stay<'_>| {
            stay.place.wait == Some(wait)
                && stay.place.method.is_some_and(|it| waiting.contains(&it))
        };
        let callers: KeyedSet<MethodId> = self
            .stays
            .iter()
            .filter(waits)
            .filter_map(|stay| self.places.caller(stay.place.payer))
            .collect();
        [waiting.clone(), callers].iter().find_map(|inside| {
            let mut sums: KeyedMap<Activity, u64> = KeyedMap::default();
            for stay in self.stays.iter().filter(|stay| !waits(stay)) {
                if !self.places.has_any(stay.node, inside) {
                    continue;
                }
                if let Some(doing) = doing(stay.place) {
                    *sums.entry(doing).or_default() += stay.ns;
                }
            }
            most(&sums).map(|(doing, _)| meanwhile_of(doing))
        })
    }

    /// What the threads do that never wait for such a thing.
    fn of_others(&self, wait: Wait) -> Option<Meanwhile> {
        let waits = self.stays.iter().filter(|stay| stay.place.wait == Some(wait));
        let waiters: KeyedSet<_> = waits.map(|stay| stay.thread).collect();
        let mut sums: KeyedMap<Activity, u64> = KeyedMap::default();
        for stay in self.stays.iter().filter(|stay| !waiters.contains(&stay.thread)) {
            if let Some(doing) = doing(stay.place) {
                *sums.entry(doing).or_default() += stay.ns;
            }
        }
        most(&sums).map(|(doing, _)| meanwhile_of(doing))
    }

    /// What the threads of executors do.
    fn of_tasks(&self) -> Option<Meanwhile> {
        let mut sums: KeyedMap<Activity, u64> = KeyedMap::default();
        for stay in self.stays.iter().filter(|stay| works_on_result(stay)) {
            if let Some(doing) = doing(stay.place) {
                *sums.entry(doing).or_default() += stay.ns;
            }
        }
        let (doing, _) = most(&sums)?;
        let is_it = |stay: &&Stay<'_>| {
            works_on_result(stay)
                && (stay.place.method, stay.place.wait) == (Some(doing.0), doing.1)
        };
        let threads: KeyedSet<_> =
            self.stays.iter().filter(is_it).filter_map(|stay| stay.thread).collect();
        let mut names: KeyedMap<String, usize> = KeyedMap::default();
        for thread in &threads {
            *names.entry(group_name(self.profile.thread_name(*thread))).or_default() += 1;
        }
        let pool = names.into_iter().max_by_key(|(name, count)| (*count, Reverse(name.clone())));
        Some(Meanwhile { pool, ..meanwhile_of(doing) })
    }
}

fn meanwhile_of((method, wait, line, callee): Activity) -> Meanwhile {
    Meanwhile { method, line, wait, callee, pool: None }
}

fn waits_for_result(stay: &Stay<'_>) -> bool {
    stay.place.wait == Some(Wait::Result)
}

fn works_on_result(stay: &Stay<'_>) -> bool {
    stay.place.is_task && !waits_for_result(stay)
}

/// Takes from the waits for results the time in which other threads worked on some: that work is what
/// limits the program. What is left is more than the threads of executors have time for.
pub(super) fn cover(profile: &Profile, stays: &mut [Stay<'_>]) {
    let group = |stay: &Stay<'_>| stay.thread.map(|thread| group_name(profile.thread_name(thread)));
    let waiting: KeyedSet<_> =
        stays.iter().filter(|stay| waits_for_result(stay)).map(group).collect();
    let waited_ns = sum(stays.iter().filter(|stay| waits_for_result(stay)).map(|stay| stay.ns));
    if waited_ns == 0 {
        return;
    }
    let works = stays.iter().filter(|stay| works_on_result(stay));
    let works = works.filter(|stay| stay.thread.is_none() || !waiting.contains(&group(stay)));
    let worked_ns = sum(works.map(|stay| stay.ns)).min(waited_ns);
    let left = (waited_ns - worked_ns) as f64 / waited_ns as f64;
    for stay in stays.iter_mut().filter(|stay| waits_for_result(stay)) {
        stay.ns = (stay.ns as f64 * left) as u64;
    }
}
