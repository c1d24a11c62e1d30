//! The second pass: class and length of each object, and all references. After it, the referrer of
//! each object that has one only.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use crate::batch::ObjectHead;
use crate::csr::in_threads;
use crate::edges::{EdgeFile, EdgeList, Edges};
use crate::links::{Links, Source};
use crate::model::RefKind;
use crate::space::{Space, Width, split};
use crate::{Error, Watch};

/// Nothing refers to the object.
pub(crate) fn none<W: Width>() -> W {
    W::MOST
}

/// Several objects, or roots, refer to it.
pub(crate) fn many<W: Width>() -> W {
    W::of(W::MOST.at() - 1)
}

/// As [`none`] and [`many`], of numbers as files have them.
pub(crate) const NONE: u32 = u32::MAX;
pub(crate) const MANY: u32 = u32::MAX - 1;

/// The heads of objects that a thread keeps before it gives them to all.
const HEADS: usize = 1 << 14;

/// The class of each object: two bytes where the dump has few classes.
#[derive(Debug)]
pub(crate) enum ClassMarks<S: Space> {
    Few(S::Array<u16>),
    Many(S::Array<u32>),
}

impl<S: Space> ClassMarks<S> {
    #[inline]
    pub(crate) fn get(&self, space: &mut S, object: usize) -> Result<u32, Error> {
        match self {
            Self::Few(classes) => Ok(space.get(classes, object)?.into()),
            Self::Many(classes) => space.get(classes, object),
        }
    }
}

/// What the heads of objects say.
#[derive(Debug)]
pub(crate) struct HeadPass<S: Space> {
    pub(crate) classes: ClassMarks<S>,
    /// The lengths of arrays, 0 for others.
    pub(crate) lengths: S::Array<u32>,
}

/// What the pass finds.
#[derive(Debug)]
pub(crate) struct ReferrerPass<S: Space> {
    pub(crate) heads: HeadPass<S>,
    /// The references that hold.
    pub(crate) edges: Edges,
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

/// The classes and lengths, while they come from several threads.
struct Heads<'s, S: Space> {
    space: &'s mut S,
    pass: HeadPass<S>,
}

/// Reads the heads of all objects.
pub(crate) fn find_heads<S: Space>(
    source: &Source<'_>,
    space: &mut S,
    watch: &mut dyn Watch,
) -> Result<HeadPass<S>, Error> {
    let heads = Mutex::new(Heads::new(source, space));
    for finder in source.each("objects", watch, || HeadFinder::new(&heads))? {
        finder.finish()?;
    }
    Ok(heads.into_inner().unwrap_or_else(PoisonError::into_inner).pass)
}

/// Reads the heads and the references of all objects, these into memory or a file.
pub(crate) fn find<S: Space>(
    source: &Source<'_>,
    space: &mut S,
    edge_file: Option<Arc<EdgeFile>>,
    watch: &mut dyn Watch,
) -> Result<ReferrerPass<S>, Error> {
    let heads = Mutex::new(Heads::new(source, space));
    let found = source.each("references", watch, || ReferrerFinder {
        heads: HeadFinder::new(&heads),
        edges: EdgeList::new(edge_file.clone()),
        class: 0,
        left_out: Vec::new(),
        dangling: BTreeMap::new(),
        dangling_from: DanglingFrom::None,
    })?;
    let mut left_out = Vec::new();
    let mut dangling = BTreeMap::new();
    let mut dangling_from = DanglingFrom::None;
    let mut lists = Vec::new();
    for finder in found {
        finder.heads.finish()?;
        lists.push(finder.edges);
        left_out.extend(finder.left_out);
        dangling_from = dangling_from.and(finder.dangling_from);
        for (class, count) in finder.dangling {
            *dangling.entry(class).or_default() += count;
        }
    }
    left_out.sort_unstable();
    let edges = Edges::collect(lists)?;
    let heads = heads.into_inner().unwrap_or_else(PoisonError::into_inner).pass;
    Ok(ReferrerPass { heads, edges, left_out, dangling, dangling_from })
}

struct HeadFinder<'a, 's, S: Space> {
    heads: &'a Mutex<Heads<'s, S>>,
    /// Object, class and length.
    own: Vec<(u32, u32, u32)>,
    fault: Option<Error>,
}

struct ReferrerFinder<'a, 's, S: Space> {
    heads: HeadFinder<'a, 's, S>,
    edges: EdgeList,
    /// The class of the object at hand.
    class: u32,
    left_out: Vec<(u32, u32, RefKind)>,
    dangling: BTreeMap<u32, u64>,
    dangling_from: DanglingFrom,
}

impl<'a, 's, S: Space> HeadFinder<'a, 's, S> {
    fn new(heads: &'a Mutex<Heads<'s, S>>) -> Self {
        Self { heads, own: Vec::with_capacity(HEADS), fault: None }
    }

    /// Gives the heads to all.
    #[cold]
    fn flush(&mut self) {
        let mut heads = self.heads.lock().unwrap_or_else(PoisonError::into_inner);
        if let Err(fault) = heads.take(&self.own) {
            self.fault.get_or_insert(fault);
        }
        self.own.clear();
    }

    fn finish(mut self) -> Result<(), Error> {
        self.flush();
        self.fault.map_or(Ok(()), Err)
    }
}

impl<S: Space> Links for HeadFinder<'_, '_, S> {
    const HAS_LINKS: bool = false;

    #[inline]
    fn object(&mut self, object: u32, class: u32, length: u32, _head: ObjectHead) {
        if self.own.len() == HEADS {
            self.flush();
        }
        self.own.push((object, class, length));
    }

    fn link(&mut self, _from: u32, _to: u32) {}

    fn left_out(&mut self, _from: u32, _to: u32, _kind: RefKind) {}
}

impl<'s, S: Space> Heads<'s, S> {
    fn new(source: &Source<'_>, space: &'s mut S) -> Self {
        let count = source.ids.count() as usize;
        let classes = match source.model.classes.len() <= u16::MAX.into() {
            true => ClassMarks::Few(space.array(count, 0)),
            false => ClassMarks::Many(space.array(count, 0)),
        };
        let lengths = space.array(count, 0);
        Self { space, pass: HeadPass { classes, lengths } }
    }

    fn take(&mut self, heads: &[(u32, u32, u32)]) -> Result<(), Error> {
        for &(object, class, length) in heads {
            let object = object as usize;
            match &mut self.pass.classes {
                ClassMarks::Few(classes) => self.space.set(classes, object, class as u16)?,
                ClassMarks::Many(classes) => self.space.set(classes, object, class)?,
            }
            if length > 0 {
                self.space.set(&mut self.pass.lengths, object, length)?;
            }
        }
        Ok(())
    }
}

impl<S: Space> Links for ReferrerFinder<'_, '_, S> {
    #[inline]
    fn object(&mut self, object: u32, class: u32, length: u32, head: ObjectHead) {
        self.heads.object(object, class, length, head);
        self.class = class;
        self.edges.begin();
    }

    #[inline]
    fn link(&mut self, from: u32, to: u32) {
        if from != to {
            self.edges.add(from, to);
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

/// Determines the one referrer of each object, [`none`] or [`many`]. `shared` objects are held by
/// more than their referrers.
pub(crate) fn single<W: Width, S: Space>(
    space: &mut S,
    edges: &Edges,
    count: usize,
    shared: impl Iterator<Item = u32>,
    thread_count: usize,
) -> Result<S::Array<W>, Error> {
    let mut referrer = space.array(count, none::<W>());
    for object in shared {
        space.set(&mut referrer, object as usize, many())?;
    }
    let ranges = split(count, thread_count);
    if let Some(parts) = S::parts(&mut referrer, &ranges) {
        in_threads(ranges.iter().zip(parts), |(range, (_, part))| {
            in_part(edges, range.start as u32, part)
        })?;
        return Ok(referrer);
    }
    edges.each(|from, targets| {
        let from = W::of(from as usize);
        for &to in targets {
            let before = space.get(&referrer, to as usize)?;
            if let Some(after) = after(before, from) {
                space.set(&mut referrer, to as usize, after)?;
            }
        }
        Ok(())
    })?;
    Ok(referrer)
}

/// As [`single`], for the objects from `first` on.
fn in_part<W: Width>(edges: &Edges, first: u32, referrer: &mut [W]) -> Result<(), Error> {
    edges.each(|from, targets| {
        let from = W::of(from as usize);
        for &to in targets {
            // What lies before is far beyond the end.
            if let Some(cell) = referrer.get_mut(to.wrapping_sub(first) as usize)
                && let Some(after) = after(*cell, from)
            {
                *cell = after;
            }
        }
        Ok(())
    })
}

/// Returns the new state of an object, by the one before and one more referrer.
#[inline]
fn after<W: Width>(before: W, from: W) -> Option<W> {
    if before == from || before == many() {
        return None;
    }
    Some(if before == none() { from } else { many() })
}
