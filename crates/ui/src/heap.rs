//! The classes of a heap dump.

use std::cmp::Reverse;

use perk_profile::units::{bytes, percent, plural};
use perk_profile::{HeapHistogram, Profile};

use crate::view::{Order, ViewRow};

/// The objects of one class.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct HeapRow {
    class: String,
    bytes: u64,
    count: u64,
}

/// The classes of one of a profile's dumps.
#[derive(Debug, Default)]
pub(crate) struct Heap {
    dump: usize,
    dump_count: usize,
    pub(crate) order: Order,
    /// The bytes and the number of all objects.
    pub(crate) wholes: [u64; 2],
    /// The classes that are shown.
    pub(crate) rows: Vec<HeapRow>,
    is_cut: bool,
}

impl Heap {
    /// Makes the view of the last dump.
    pub(crate) fn new(profile: &Profile) -> Self {
        let dump_count = profile.heaps().count();
        Self { dump: dump_count.saturating_sub(1), dump_count, ..Self::default() }
    }

    /// Goes to the next or the previous dump.
    pub(crate) fn turn(&mut self, forward: bool) {
        let count = self.dump_count.max(1);
        self.dump = (self.dump + if forward { 1 } else { count - 1 }) % count;
    }

    /// Whether there are several dumps.
    pub(crate) fn has_more(&self) -> bool {
        self.dump_count > 1
    }

    /// Fills in the classes whose names have `filter`.
    pub(crate) fn fill(&mut self, profile: &Profile, filter: &str) {
        let mut heap = profile.heaps().nth(self.dump).cloned().unwrap_or_default();
        heap.rank();
        let HeapHistogram { rows, is_cut, .. } = &heap;
        self.wholes = [heap.object_bytes(), heap.object_count()];
        self.is_cut = *is_cut;
        let row = |row: &perk_profile::HeapClassRow| HeapRow {
            class: perk_render::class(&profile.symbols, row.class),
            bytes: row.shallow_bytes,
            count: row.instance_count,
        };
        self.rows = rows.iter().map(row).collect();
        self.rows.retain(|row| crate::app::contains(&row.class, filter));
        match self.order {
            Order::First => {}
            Order::Second => self.rows.sort_by_key(|row| Reverse(row.count)),
            Order::Name => self.rows.sort_by(|a, b| a.class.cmp(&b.class)),
        }
    }

    pub(crate) fn row(&self, index: usize) -> ViewRow {
        let HeapRow { class, bytes, count } = &self.rows[index];
        ViewRow { numbers: [Some(*bytes), Some(*count)], text: class.clone(), ..ViewRow::default() }
    }

    /// `heap dump 2 of 3: 12 objects = 3.4 kB`
    pub(crate) fn total(&self) -> String {
        let number = match self.dump_count {
            0 | 1 => String::new(),
            count => format!(" {} of {count}", self.dump + 1),
        };
        let cut = if self.is_cut { " in a file that is cut off" } else { "" };
        let [all_bytes, all_count] = self.wholes;
        format!("heap dump{number}: {} = {}{cut}", plural(all_count, "object"), bytes(all_bytes))
    }

    /// `12 objects (3.00 %), 3.4 kB (1.00 %), 283 B each`
    pub(crate) fn detail(&self, index: usize) -> String {
        let HeapRow { bytes: size, count, .. } = &self.rows[index];
        let [all_bytes, all_count] = self.wholes;
        format!(
            "{} ({} %), {} ({} %), {} each",
            bytes(*size),
            percent(*size, all_bytes),
            plural(*count, "object"),
            percent(*count, all_count),
            bytes(size / (*count).max(1))
        )
    }
}
