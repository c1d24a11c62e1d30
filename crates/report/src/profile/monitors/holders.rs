//! The holders of locks beside those who wait for them.

use std::collections::HashMap;

use perk_analysis::locks::{self, ContentionRow, HoldingRow};
use perk_analysis::{Owner, Owners};
use perk_profile::units::{percent, plural, printable};
use perk_profile::{ClassId, FrameId, LockKind, NodeId, Profile};
use perk_render::{Cell, Column, LazyTable, lock_suffix};

use super::{NO_PATH, kind_name};

/// Places that are named of each lock.
const PLACES: usize = 3;
/// With fewer samples shares are rough.
const FEW_SAMPLES: u64 = 20;

/// The holders of a profile's locks.
#[derive(Debug)]
pub(super) struct Holders<'a> {
    profile: &'a Profile,
    rows: Vec<HoldingRow>,
}

impl<'a> Holders<'a> {
    pub(super) fn new(profile: &'a Profile) -> Self {
        Self { profile, rows: locks::holding(profile) }
    }

    /// The call paths that had locks which others waited for.
    pub(super) fn paths(&self) -> LazyTable<'_> {
        let total = self.rows.iter().map(|row| row.blocking_ns).fold(0, u64::saturating_add);
        let blocking = Column::ns("blocking_ns").of(total);
        let heading =
            "Top call paths that had locks which others waited for, innermost frame first";
        LazyTable::of(&self.profile.symbols, heading, &self.rows)
            .column(Column::other("class").name("lock"), |row| row.class)
            .column(Column::other("kind"), |row| kind_name(row.kind))
            .columns(
                [
                    blocking.share_at(0, "blocking %").at(1, "blocking"),
                    Column::count("blocking_sample_count").at(2, "samples"),
                ],
                |row| [row.blocking_ns, row.sample_count].map(Cell::Number),
            )
            .each(|row, shown| shown.suffix = lock_suffix(row.kind).to_owned())
            .column(Column::path(NO_PATH), |row| {
                Cell::Path(self.profile.tree.frames(row.node).collect())
            })
            .table()
            .ranked()
    }

    /// Where threads waited for the locks of a class, and where these were held meanwhile.
    pub(super) fn places(
        &self,
        owners: &Owners,
        (class, kind): (ClassId, LockKind),
        waits: &[ContentionRow],
    ) -> Vec<String> {
        let symbols = &self.profile.symbols;
        let name = symbols.get_class(class).name;
        let is_its =
            |its: ClassId, its_kind| (symbols.get_class(its).name, its_kind) == (name, kind);
        let held: Vec<_> = self.rows.iter().filter(|row| is_its(row.class, row.kind)).collect();
        let total: u64 = held.iter().map(|row| row.blocking_ns).fold(0, u64::saturating_add);
        if total == 0 {
            return Vec::new();
        }
        let waits = waits.iter().filter(|row| is_its(row.class, row.kind));
        let waits = waits.map(|row| (row.node, row.waits.blocked_ns));
        let mut lines = shares("blocked in", waits, |node| self.place(owners, node, false));
        let holders = held.iter().map(|row| (row.node, row.blocking_ns));
        lines.extend(shares("held in", holders, |node| self.place(owners, node, true)));
        let known = held.iter().filter(|row| row.is_known(self.profile));
        let (known_ns, samples) = known.fold((0_u64, 0_u64), |(ns, samples), row| {
            (ns.saturating_add(row.blocking_ns), samples.saturating_add(row.sample_count))
        });
        let mut sure = format!(
            "holder known for {} % of the time, from {}",
            percent(known_ns, total),
            plural(samples, "sample")
        );
        if samples < FEW_SAMPLES {
            sure += ": the shares are rough";
        }
        lines.push(sure);
        lines
    }

    /// The innermost frame of the program's own, with the method that it waits in if that is asked for:
    /// `Cache.load (Cache.java:12): java.lang.Thread.sleep`.
    fn place(&self, owners: &Owners, node: NodeId, with_inner: bool) -> String {
        let symbols = &self.profile.symbols;
        let frames: Vec<FrameId> = self.profile.tree.frames(node).collect();
        let Some(&inner) = frames.first() else { return NO_PATH.to_owned() };
        let method = |frame: FrameId| symbols.get_frame(frame).method;
        let is_yours = |frame: &&FrameId| owners.of(method(**frame)) == Owner::Yours;
        let yours = *frames.iter().find(is_yours).unwrap_or(&inner);
        let name = perk_render::frame(symbols, yours);
        match with_inner && yours != inner {
            true => format!("{name}: {}", printable(&symbols.method_name(method(inner)))),
            false => name,
        }
    }
}

/// `60.00 %  blocked in Cache.get (Cache.java:12)`
fn shares(
    what: &str,
    rows: impl Iterator<Item = (NodeId, u64)>,
    place: impl Fn(NodeId) -> String,
) -> Vec<String> {
    let mut sums: HashMap<String, u64> = HashMap::new();
    for (node, ns) in rows.filter(|row| row.1 > 0) {
        let sum = sums.entry(place(node)).or_default();
        *sum = sum.saturating_add(ns);
    }
    let mut sums: Vec<_> = sums.into_iter().collect();
    sums.sort_unstable_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    let total = sums.iter().map(|row| row.1).fold(0, u64::saturating_add);
    let shown = sums.iter().take(PLACES);
    shown.map(|(place, ns)| format!("{:>6} % {what} {place}", percent(*ns, total))).collect()
}
