//! What of a service is compared: versions, or times.

use std::collections::BTreeMap;

use perk_analysis::Owners;
use perk_profile::{KeyedMap, MethodId, Profile, Timestamp, TraceId};
use perk_store::{Counts, Group};

use super::shares::{FEWEST_OF_SIDE, Part, ShareChange, Side, are_comparable, changes};

/// A comparison of a service.
#[derive(Debug)]
pub(super) struct Comparison {
    pub(super) service: String,
    /// The two sides, in words.
    pub(super) names: [String; 2],
    /// The options of `perk diff` that compare them.
    pub(super) patterns: [String; 2],
    /// The samples of the sides.
    pub(super) samples: [u64; 2],
    /// The JVMs of the sides.
    pub(super) jvms: [usize; 2],
    /// The hours of the sides.
    pub(super) hours: [usize; 2],
    /// Whether it is known how much shares vary by chance.
    is_spread_known: bool,
    /// The changes of all methods that have enough samples, or of those that are beyond chance.
    pub(super) changes: Vec<ShareChange>,
    /// The names of methods.
    names_of_methods: KeyedMap<MethodId, String>,
}

impl Comparison {
    /// Why the sides cannot be compared.
    pub(super) fn obstacle(&self) -> Option<&'static str> {
        match self {
            _ if self.samples.iter().any(|&it| it < FEWEST_OF_SIDE) => {
                Some("too few samples to compare")
            }
            Self { is_spread_known: false, .. } => {
                Some("how much shares differ by chance is known only of several JVMs or hours")
            }
            _ => None,
        }
    }

    pub(super) fn method(&self, change: &ShareChange) -> &str {
        self.names_of_methods.get(&change.method).map_or("", |it| it)
    }
}

/// The comparisons of a service: of each version that is new since a time with the one before it, or else of the time
/// since then with that before it.
pub(super) fn of_service(
    service: &str,
    counts: Counts,
    by: &str,
    since_ms: i64,
) -> Vec<Comparison> {
    let Counts { profile, groups } = counts;
    let mut versions: BTreeMap<&str, (i64, Vec<&Group>)> = BTreeMap::new();
    for group in &groups {
        let value = group.labels.iter().find(|it| it.0 == by).map(|it| it.1.as_str());
        let Some(value) = value else { continue };
        let version = versions.entry(value).or_insert((i64::MAX, Vec::new()));
        version.0 = version.0.min(group.begin_ms);
        version.1.push(group);
    }
    let mut versions: Vec<_> = versions.into_iter().collect();
    versions.sort_by_key(|it| it.1.0);
    let owners = Owners::new(&profile);
    let charged = |trace: TraceId| charged(&profile, &owners, trace);
    let whole = |groups: &[&Group]| side(groups.iter().copied(), &charged, |_| true);
    let pairs = versions.windows(2).filter(|pair| pair[1].1.0 >= since_ms);
    let of_pair = |pair: &[(&str, (i64, Vec<&Group>))]| {
        let name = |at: usize| pair[at].0.to_owned();
        let sides = [whole(&pair[0].1.1), whole(&pair[1].1.1)];
        let patterns = [0, 1].map(|at| format!("{by}={}", pair[at].0));
        comparison(service, &profile, [name(0), name(1)], patterns, sides)
    };
    let found: Vec<_> = pairs.map(of_pair).collect();
    if !found.is_empty() {
        return found;
    }
    let at =
        |is: fn(i64, i64) -> bool| side(groups.iter(), &charged, |hour_ms| is(hour_ms, since_ms));
    let sides =
        [at(|hour_ms, since_ms| hour_ms < since_ms), at(|hour_ms, since_ms| hour_ms >= since_ms)];
    let names = ["the time before".to_owned(), "this time".to_owned()];
    let since = moment(since_ms);
    let patterns = [format!("..{since}"), format!("{since}..")];
    vec![comparison(service, &profile, names, patterns, sides)]
}

fn moment(unix_ms: i64) -> String {
    let unix_ms = u64::try_from(unix_ms).unwrap_or(0);
    Timestamp { unix_ms, utc_offset_s: 0 }.iso_utc()
}

fn comparison(
    service: &str,
    profile: &Profile,
    names: [String; 2],
    patterns: [String; 2],
    sides: [Side; 2],
) -> Comparison {
    let samples = sides.each_ref().map(Side::total);
    let mut comparison = Comparison {
        service: service.to_owned(),
        names,
        patterns,
        samples,
        jvms: sides.each_ref().map(Side::jvms),
        hours: sides.each_ref().map(Side::hours),
        is_spread_known: are_comparable(&sides[0], &sides[1]),
        changes: Vec::new(),
        names_of_methods: KeyedMap::default(),
    };
    if comparison.obstacle().is_none() {
        let [before, after] = &sides;
        comparison.changes = changes(before, after);
        let methods = comparison.changes.iter().map(|it| it.method);
        let names = methods.map(|it| (it, profile.symbols.method_name(it)));
        comparison.names_of_methods = names.collect();
    }
    comparison
}

/// The method that a stack counts for: the innermost of the program's own, or else the innermost.
fn charged(profile: &Profile, owners: &Owners, trace: TraceId) -> Option<MethodId> {
    let frame = owners.nearest(profile, trace).or_else(|| profile.frames(trace).next())?;
    Some(profile.symbols.get_frame(frame).method)
}

/// The numbers of groups in some hours, each hour of each group by itself.
fn side<'a>(
    groups: impl Iterator<Item = &'a Group>,
    charged: &dyn Fn(TraceId) -> Option<MethodId>,
    has_hour: impl Fn(i64) -> bool,
) -> Side {
    let mut parts = Vec::new();
    for (jvm, group) in groups.enumerate() {
        let period = group.period.filter(|&it| it > 0).unwrap_or(1);
        for (&hour_ms, stacks) in group.hours.iter().filter(|it| has_hour(*it.0)) {
            let mut part = Part { jvm, hour_ms, ..Part::default() };
            for &(trace, number) in stacks {
                let samples = number.saturating_add(period / 2) / period;
                part.total += samples;
                if let Some(method) = charged(trace) {
                    *part.of_methods.entry(method).or_default() += samples;
                }
            }
            if part.total > 0 {
                parts.push(part);
            }
        }
    }
    Side { parts }
}
