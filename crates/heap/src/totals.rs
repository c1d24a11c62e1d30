//! Sums over all objects.

use serde::{Deserialize, Serialize};

use crate::RootKind;

/// A number of objects and their shallow bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Amount {
    /// The number of objects.
    pub count: u64,
    /// Their bytes.
    pub bytes: u64,
}

/// The objects of a dump by the way in which they are reachable. Each object is in one amount.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Totals {
    /// Held from the roots, by the references of [`Options::refs`](crate::Options::refs).
    pub reachable: Amount,
    /// Reachable by soft references only; empty where soft references hold.
    pub softly: Amount,
    /// Reachable by weak references, but not by those above. Empty where all references hold.
    pub weakly: Amount,
    /// Reachable only by finalizer or phantom references. Empty where all references hold.
    pub finalizable: Amount,
    /// Not reachable.
    pub unreachable: Amount,
    /// Retained by the roots of each kind: objects that one root or the roots of one kind hold; an
    /// object below roots of several kinds is counted with the first of them. The sums are those of
    /// `reachable`.
    pub by_root: Vec<(RootKind, Amount)>,
    /// The number of references to addresses at which the dump has no object.
    pub dangling_count: u64,
}

/// What a set of objects retains.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SetSize {
    /// The number of objects of the set that are held from the roots.
    pub count: u64,
    /// Their shallow bytes.
    pub shallow_bytes: u64,
    /// The sum of the retained bytes of those that no other object of the set dominates: the least
    /// that the set retains, as what several of them hold together is not in it.
    pub least_bytes: u64,
}
