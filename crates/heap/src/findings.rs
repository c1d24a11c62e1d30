//! What questions about the whole heap found. Each takes a walk over all objects, so it is kept, and the index of a
//! large dump has it.

use std::sync::OnceLock;

use serde::{Deserialize, Serialize};

use crate::class::ClassIndex;
use crate::heap::Label;
use crate::object_id::ObjectId;
use crate::root::RootKind;
use crate::totals::SetSize;

/// The biggest objects that are kept.
pub(crate) const BIGGEST: usize = 1000;
/// The rows of the dominator tree that are kept.
pub(crate) const TREE_ROWS: usize = 1000;

/// What was found, as far as it was asked for.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Findings {
    /// What the instances of each class retain.
    #[serde(with = "found")]
    pub(crate) class_sizes: OnceLock<Vec<SetSize>>,
    #[serde(with = "found")]
    pub(crate) packages: OnceLock<Vec<Package>>,
    /// The objects that retain most: the first [`BIGGEST`].
    #[serde(with = "found")]
    pub(crate) biggest: OnceLock<Vec<ObjectId>>,
    /// The suspects with [`SUSPECT_SHARE`](crate::SUSPECT_SHARE).
    #[serde(with = "found")]
    pub(crate) suspects: OnceLock<Vec<Suspect>>,
    /// The rows of the tree below the roots with [`TREE_ROWS`], each with its place in the order of what they retain.
    #[serde(with = "found")]
    pub(crate) tree: OnceLock<Vec<(usize, HeldRow)>>,
}

/// Objects of a class with the same holder, or with holders in the same row.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeldRow {
    /// The number of rows above it.
    pub depth: usize,
    /// The class; classes of one name are one.
    pub class: ClassIndex,
    /// The class that the objects represent: class objects are distinguished by its name.
    pub stands_for: Option<ClassIndex>,
    /// The object, where it is one, with those of its class that it holds.
    pub object: Option<ObjectId>,
    /// The number of objects; those that hold others of their class, as in lists and trees, with these.
    pub count: u64,
    /// Their own bytes.
    pub shallow_bytes: u64,
    /// The bytes that they retain.
    pub retained_bytes: u64,
    /// The number of levels of the tree that the row represents: above 1 where objects hold others of
    /// their class.
    pub level_count: u64,
}

/// The classes of a package.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Package {
    /// Its name; that of arrays is the one of their elements.
    pub name: String,
    /// The number of its classes.
    pub class_count: u64,
    /// What the instances of its classes retain.
    pub size: SetSize,
}

/// What is suspected.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum SuspectKind {
    /// One object.
    Object(ObjectId),
    /// The objects of a class of which none is held by another object; the number of them. No class of
    /// classes is among them.
    Class(ClassIndex, u64),
    /// The class objects whose class loaders are of a class, of which none is held by another object; the
    /// number of them.
    ClassesOf(ClassIndex, u64),
}

/// An object or a class that retains much, and where its memory accumulates.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Suspect {
    /// The object or the class. Of the objects on the way from the roots down to the accumulation point it is
    /// the last class object or thread; without these, the first object.
    pub suspected: SuspectKind,
    /// The bytes that it retains; of a class, the sum over its objects.
    pub retained_bytes: u64,
    /// The accumulation point: the last object down the dominator tree that keeps [`WAY_SHARE`](crate::WAY_SHARE) of its holder.
    /// A class has none.
    pub point: Option<ObjectId>,
    /// The parts of the memory: what the accumulation point or the objects of the class hold immediately,
    /// most first.
    pub parts: Vec<HeldPart>,
    /// A path from a root to the accumulation point. Of a class, the path that most of its objects share, or
    /// where it is not the shortest, one to the object that retains most.
    pub path: Vec<PathNode>,
    /// Whether it is the shortest path; otherwise it leads over all dominators.
    pub is_shortest: bool,
    /// The number of objects whose paths were compared.
    pub compared_count: u64,
}

/// A part of what an accumulation point holds: an object, or the other objects of a class together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeldPart {
    /// The class.
    pub class: ClassIndex,
    /// The object, where it is one.
    pub object: Option<ObjectId>,
    /// The number of objects.
    pub count: u64,
    /// The bytes that they retain.
    pub retained_bytes: u64,
}

/// Objects of a class that the same path leads to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PathNode {
    /// The number of nodes above.
    pub depth: usize,
    /// The place of the reference in the node above; an element has no index where several are one. Roots
    /// have none.
    pub label: Option<Place>,
    /// The first kind of root that it is, at the top.
    pub root: Option<RootKind>,
    /// The class; classes of one name are one.
    pub class: ClassIndex,
    /// The class that the objects represent, where they represent classes.
    pub stands_for: Option<ClassIndex>,
    /// The object, where it is one.
    pub object: Option<ObjectId>,
    /// The number of such references after each other, as in a list, at most.
    pub level_count: u64,
    /// The number of objects asked for whose path leads here.
    pub path_count: u64,
    /// The number of them that are at this node.
    pub end_count: u64,
}

/// The place of a reference in an object.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Place {
    /// A field, or another place with a name.
    Named(Label),
    /// A local variable in the frames of several threads.
    Local,
    /// An element, its index where it is one and known.
    Element(Option<u64>),
    /// Several references together, over other objects.
    Several,
}

/// A value that may have been found.
mod found {
    use std::sync::OnceLock;

    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(super) fn serialize<T: Serialize, S: Serializer>(
        found: &OnceLock<T>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        found.get().serialize(serializer)
    }

    pub(super) fn deserialize<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<OnceLock<T>, D::Error> {
        let found = Option::<T>::deserialize(deserializer)?;
        Ok(found.map_or_else(OnceLock::new, OnceLock::from))
    }
}
