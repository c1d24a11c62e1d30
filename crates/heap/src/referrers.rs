//! The second pass: class and length of each object, and its referrer if it has one only.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU16, AtomicU32, Ordering};

use crate::batch::Head;
use crate::links::{Links, Source};
use crate::model::RefKind;
use crate::{Error, Watch};

/// Nothing refers to the object.
pub(crate) const NONE: u32 = u32::MAX;
/// Several objects, or roots, refer to it.
pub(crate) const MANY: u32 = u32::MAX - 1;

/// The class of each object: two bytes where the dump has few classes.
#[derive(Debug)]
pub(crate) enum Classes {
    Few(Vec<u16>),
    Many(Vec<u32>),
}

impl Classes {
    #[inline]
    pub(crate) fn get(&self, object: u32) -> u32 {
        match self {
            Self::Few(classes) => classes[object as usize].into(),
            Self::Many(classes) => classes[object as usize],
        }
    }
}

#[derive(Debug)]
enum Cells {
    Few(Vec<AtomicU16>),
    Many(Vec<AtomicU32>),
}

/// What the pass finds.
#[derive(Debug)]
pub(crate) struct Referrers {
    pub(crate) classes: Classes,
    /// The lengths of arrays, 0 for others.
    pub(crate) lengths: Vec<u32>,
    /// The one referrer of each object, [`NONE`] or [`MANY`].
    pub(crate) referrer: Vec<u32>,
    /// The references that do not hold: from, to.
    pub(crate) left_out: Vec<(u32, u32, RefKind)>,
    /// The number of references to nothing, by the class of the objects that have them.
    pub(crate) dangling: BTreeMap<u32, u64>,
    /// The objects that have these.
    pub(crate) dangling_from: DanglingFrom,
}

/// The objects that have references to nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum DanglingFrom {
    #[default]
    None,
    One(u32),
    Several,
}

impl DanglingFrom {
    fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::None, it) | (it, Self::None) => it,
            (one, other) if one == other => one,
            _ => Self::Several,
        }
    }
}

/// Reads all references. `roots` are held by more than their referrers.
pub(crate) fn find(
    source: &Source<'_>,
    roots: impl Iterator<Item = u32>,
    watch: &mut dyn Watch,
) -> Result<Referrers, Error> {
    let count = source.ids.count() as usize;
    let cells = |value: u32| (0..count).map(|_| AtomicU32::new(value)).collect::<Vec<_>>();
    let classes = match source.model.classes.len() <= u16::MAX.into() {
        true => Cells::Few((0..count).map(|_| AtomicU16::new(0)).collect()),
        false => Cells::Many(cells(0)),
    };
    let (lengths, referrer) = (cells(0), cells(NONE));
    roots.for_each(|root| referrer[root as usize].store(MANY, Ordering::Relaxed));
    let found = source.each("references", watch, || Finder {
        classes: &classes,
        lengths: &lengths,
        referrer: &referrer,
        class: 0,
        left_out: Vec::new(),
        dangling: BTreeMap::new(),
        dangling_from: DanglingFrom::None,
    })?;
    let mut left_out = Vec::new();
    let mut dangling = BTreeMap::new();
    let mut dangling_from = DanglingFrom::None;
    for finder in found {
        left_out.extend(finder.left_out);
        dangling_from = dangling_from.and(finder.dangling_from);
        for (class, count) in finder.dangling {
            *dangling.entry(class).or_default() += count;
        }
    }
    left_out.sort_unstable();
    let plain = |cells: Vec<AtomicU32>| cells.into_iter().map(AtomicU32::into_inner).collect();
    let classes = match classes {
        Cells::Few(cells) => Classes::Few(cells.into_iter().map(AtomicU16::into_inner).collect()),
        Cells::Many(cells) => Classes::Many(plain(cells)),
    };
    Ok(Referrers {
        classes,
        lengths: plain(lengths),
        referrer: plain(referrer),
        left_out,
        dangling,
        dangling_from,
    })
}

struct Finder<'a> {
    classes: &'a Cells,
    lengths: &'a [AtomicU32],
    referrer: &'a [AtomicU32],
    /// The class of the object at hand.
    class: u32,
    left_out: Vec<(u32, u32, RefKind)>,
    dangling: BTreeMap<u32, u64>,
    dangling_from: DanglingFrom,
}

impl Links for Finder<'_> {
    #[inline]
    fn object(&mut self, object: u32, class: u32, length: u32, _head: Head) {
        self.class = class;
        match self.classes {
            Cells::Few(cells) => cells[object as usize].store(class as u16, Ordering::Relaxed),
            Cells::Many(cells) => cells[object as usize].store(class, Ordering::Relaxed),
        }
        if length > 0 {
            self.lengths[object as usize].store(length, Ordering::Relaxed);
        }
    }

    #[inline]
    fn link(&mut self, from: u32, to: u32) {
        let cell = &self.referrer[to as usize];
        let mut before = cell.load(Ordering::Relaxed);
        loop {
            let after = match before {
                _ if before == from || from == to => return,
                MANY => return,
                NONE => from,
                _ => MANY,
            };
            match cell.compare_exchange_weak(before, after, Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => return,
                Err(now) => before = now,
            }
        }
    }

    fn left_out(&mut self, from: u32, to: u32, kind: RefKind) {
        self.left_out.push((from, to, kind));
    }

    #[cold]
    fn dangling(&mut self, from: u32, _address: u64) {
        self.dangling_from = self.dangling_from.and(DanglingFrom::One(from));
        *self.dangling.entry(self.class).or_default() += 1;
    }
}
