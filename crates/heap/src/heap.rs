//! An analysed heap dump.

use std::ops::Range;
use std::sync::{Arc, Mutex, OnceLock};

use perk_profile::ObjectLayout;
use serde::{Deserialize, Serialize};

use crate::batch::Batch;
use crate::column::{Column, ColumnPlace, Rows};
use crate::findings::Findings;
use crate::ids::Ids;
use crate::input::Input;
use crate::links::Source;
use crate::model::Model;
pub use crate::object_id::ObjectId;
pub(crate) use crate::object_id::Reachability;
use crate::object_id::UNIT_BYTES;
use crate::read::ObjectPlace;
use crate::referrers::MANY;
use crate::thread::Threads;
use crate::{Class, ClassIndex, Error, Refs, Root, RootKind, Thread, Totals, Trace};

/// The way in which an object is reachable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Reach {
    /// Held from the roots.
    Held,
    /// By soft references only.
    Softly,
    /// By weak references only.
    Weakly,
    /// By finalizer or phantom references only.
    Finalizable,
    /// Not at all.
    Unreachable,
}

impl Reach {
    /// Returns its name in texts and documents.
    pub fn name(self) -> &'static str {
        match self {
            Self::Held => "held",
            Self::Softly => "softly reachable",
            Self::Weakly => "weakly reachable",
            Self::Finalizable => "finalizable",
            Self::Unreachable => "unreachable",
        }
    }
}

/// The holder of an object: its immediate dominator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Holder {
    /// Every path from a root to the object leads over this one.
    Object(ObjectId),
    /// It is a root, or several roots hold it together.
    Roots,
    /// It is not held.
    Nothing,
}

/// The place of a reference in the object that has it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Label {
    /// An instance field.
    Field(String),
    /// A static field of the class that the object represents.
    Static(String),
    /// The element of an array with this index.
    Element(u64),
    /// The object's class.
    Class,
    /// The superclass of the class that the object represents.
    Superclass,
    /// Its class loader.
    Loader,
    /// Its signers.
    Signers,
    /// Its protection domain.
    ProtectionDomain,
    /// An entry of its constant pool.
    Constant(u16),
    /// A local variable of the thread that the object represents: the index of its frame, or `None`
    /// for native code.
    Local(Option<u32>),
}

/// A reference.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edge {
    /// The object that has it.
    pub from: ObjectId,
    /// The object that it refers to.
    pub to: ObjectId,
    /// Its place in `from`.
    pub label: Label,
    /// Whether it holds `to` under the [`Refs`] of the analysis.
    pub holds: bool,
}

/// The class of each object: two bytes where the dump has few classes.
#[derive(Debug)]
pub(crate) enum Classes {
    Few(Column<u16>),
    Many(Column<u32>),
}

impl Classes {
    #[inline]
    pub(crate) fn get(&self, object: u32) -> u32 {
        match self {
            Self::Few(classes) => classes.get(object as usize).into(),
            Self::Many(classes) => classes.get(object as usize),
        }
    }
}

/// What each object retains, in the unit of sizes: four bytes where the whole heap fits.
#[derive(Debug)]
pub(crate) enum RetainedSizes {
    Few(Column<u32>),
    Many(Column<u64>),
}

impl RetainedSizes {
    #[inline]
    pub(crate) fn units(&self, object: ObjectId) -> u64 {
        match self {
            Self::Few(units) => units.get(object.0 as usize).into(),
            Self::Many(units) => units.get(object.0 as usize),
        }
    }
}

/// How objects are held.
#[derive(Debug)]
pub(crate) struct Holders {
    /// The holders, or [`MANY`] for the roots.
    pub(crate) holder: Column<u32>,
    pub(crate) retained: RetainedSizes,
    pub(crate) reach: Column<Reachability>,
}

/// An analysed heap dump.
#[derive(Debug)]
pub struct Heap {
    pub(crate) title: String,
    pub(crate) unix_ms: u64,
    pub(crate) id_bytes: usize,
    pub(crate) notes: Vec<String>,
    pub(crate) is_cut: bool,
    pub(crate) refs: Refs,
    pub(crate) layout: ObjectLayout,
    pub(crate) input: Input,
    pub(crate) ids: Ids,
    pub(crate) batches: Vec<Batch>,
    pub(crate) model: Model,
    pub(crate) classes: Classes,
    /// The sizes of the objects, in units.
    pub(crate) shallow: Column<u32>,
    /// `None` if the analysis ended before ([`Options::holders`](crate::Options::holders)).
    pub(crate) holders: Option<Holders>,
    pub(crate) room: ColumnPlace,
    pub(crate) totals: Totals,
    pub(crate) roots: Vec<Root>,
    pub(crate) threads: Threads,
    pub(crate) thread_count: usize,
    /// The objects that each object holds, and those that roots hold.
    pub(crate) children: OnceLock<Rows>,
    pub(crate) findings: Findings,
    /// All references that hold.
    pub(crate) graph: OnceLock<Rows>,
    /// The batch of each object, where the addresses of batches overlap.
    pub(crate) batch_of: OnceLock<Column<u32>>,
    /// The places of the objects of the batches that were looked at last.
    pub(crate) places: Mutex<Vec<(usize, Arc<Vec<ObjectPlace>>)>>,
}

impl Heap {
    /// Returns the text at the beginning of the file: `JAVA PROFILE 1.0.2`.
    pub fn title(&self) -> &str {
        &self.title
    }

    /// Returns the time when the dump began, in milliseconds since 1970.
    pub fn unix_ms(&self) -> u64 {
        self.unix_ms
    }

    /// Returns what is unusual about the file, a line each: cut off, wrong lengths, unknown records.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Whether the file ends inside the dump: there were more objects.
    pub fn is_cut(&self) -> bool {
        self.is_cut
    }

    /// Returns the references that hold objects.
    pub fn refs(&self) -> Refs {
        self.refs
    }

    /// Whether it is known how objects are held. It is not after an analysis without
    /// [`Options::holders`](crate::Options::holders).
    pub fn has_holders(&self) -> bool {
        self.holders.is_some()
    }

    /// Returns the rules that shallow sizes follow from.
    pub fn layout(&self) -> ObjectLayout {
        self.layout
    }

    /// Returns the sums over all objects.
    pub fn totals(&self) -> &Totals {
        &self.totals
    }

    /// Returns the number of objects, class objects among them.
    pub fn object_count(&self) -> u64 {
        self.ids.count().into()
    }

    /// Returns all objects.
    pub fn objects(&self) -> impl Iterator<Item = ObjectId> + use<> {
        (0..self.ids.count()).map(ObjectId)
    }

    /// Returns the objects with these numbers and their addresses. Addresses in a row cost less than single
    /// ones.
    pub fn addresses(&self, range: Range<u32>) -> impl Iterator<Item = (ObjectId, u64)> {
        let first = range.start;
        (first..).map(ObjectId).zip(self.ids.addresses(range))
    }

    /// Calls with each instance of these classes, in the order of their addresses.
    pub fn each_instance(&self, classes: &[ClassIndex], mut found: impl FnMut(ObjectId)) {
        let mut is_meant = vec![false; self.classes().len()];
        classes.iter().for_each(|class| is_meant[class.0 as usize] = true);
        let is_meant = |class: usize| is_meant[class];
        let mut found = |place: usize| found(ObjectId(place as u32));
        match &self.classes {
            Classes::Few(classes) => classes.each_of(|it| is_meant(it.into()), &mut found),
            Classes::Many(classes) => classes.each_of(|it| is_meant(it as usize), &mut found),
        }
    }

    /// Returns the classes.
    pub fn classes(&self) -> &[Class] {
        &self.model.classes
    }

    /// Returns a class.
    pub fn class(&self, index: ClassIndex) -> &Class {
        &self.model.classes[index.0 as usize]
    }

    /// Returns the classes of this name, in source form. Several loaders may each have one.
    pub fn classes_named(&self, name: &str) -> Vec<ClassIndex> {
        self.model.named(name)
    }

    /// Returns the class with the class object at this address.
    pub fn class_at(&self, address: u64) -> Option<ClassIndex> {
        self.model.by_address.get(&address).copied().map(ClassIndex)
    }

    /// Whether `class` is `above` or below it.
    pub fn is_subclass(&self, class: ClassIndex, above: ClassIndex) -> bool {
        self.model.above(class.0).contains(&above.0)
    }

    /// Returns the object at this address.
    pub fn find(&self, address: u64) -> Option<ObjectId> {
        self.ids.find(address).map(ObjectId)
    }

    /// Returns the address of an object.
    pub fn address(&self, object: ObjectId) -> u64 {
        self.ids.address(object.0)
    }

    /// Returns the class of an object. That of class objects is `java.lang.Class`.
    pub fn class_of(&self, object: ObjectId) -> ClassIndex {
        ClassIndex(self.classes.get(object.0))
    }

    /// Returns the class that an object represents.
    pub fn as_class(&self, object: ObjectId) -> Option<ClassIndex> {
        self.model.as_class(object.0).map(ClassIndex)
    }

    /// Returns the size of the object itself, in bytes.
    pub fn shallow_bytes(&self, object: ObjectId) -> u64 {
        u64::from(self.shallow.get(object.0 as usize)) * UNIT_BYTES
    }

    /// Returns the bytes that would be free without the object: its own and those of all objects
    /// that it holds; 0 if it is not held from the roots.
    pub fn retained_bytes(&self, object: ObjectId) -> u64 {
        self.holders.as_ref().map_or(0, |it| it.retained.units(object) * UNIT_BYTES)
    }

    /// Returns the immediate dominator of an object.
    pub fn holder(&self, object: ObjectId) -> Holder {
        let Some(holders) = &self.holders else { return Holder::Nothing };
        match holders.holder.get(object.0 as usize) {
            _ if !self.reachability(object).is_held() => Holder::Nothing,
            MANY => Holder::Roots,
            holder => Holder::Object(ObjectId(holder)),
        }
    }

    /// Returns the way in which an object is reachable.
    pub fn reach(&self, object: ObjectId) -> Reach {
        match self.reachability(object) {
            Reachability::NOT => Reach::Unreachable,
            Reachability::SOFTLY => Reach::Softly,
            Reachability::WEAKLY => Reach::Weakly,
            Reachability::FINALIZABLE => Reach::Finalizable,
            _ => Reach::Held,
        }
    }

    fn reachability(&self, object: ObjectId) -> Reachability {
        self.holders.as_ref().map_or(Reachability::NOT, |it| it.reach.get(object.0 as usize))
    }

    /// Returns the first kind of the roots from which an object is reachable, if it is held.
    pub fn root_kind(&self, object: ObjectId) -> Option<RootKind> {
        let reached = self.reachability(object);
        RootKind::ALL.into_iter().find(|&kind| Reachability::held(kind) == reached)
    }

    /// Returns the roots, in the order of objects.
    pub fn roots(&self) -> &[Root] {
        &self.roots
    }

    /// Returns the roots that an object is.
    pub fn roots_of(&self, object: ObjectId) -> &[Root] {
        let first = self.roots.partition_point(|root| root.object < object);
        let count = self.roots[first..].partition_point(|root| root.object == object);
        &self.roots[first..first + count]
    }

    /// Returns the first failure of the scratch file since the last call. Queries continue with 0
    /// or nothing in place of unreadable numbers, so their answers are wrong then.
    pub fn fault(&self) -> Option<Error> {
        self.room.fault()
    }

    /// Returns the threads.
    pub fn threads(&self) -> &[Thread] {
        &self.threads.threads
    }

    /// Returns the call trace with this serial number.
    pub fn trace(&self, serial: u32) -> Option<&Trace> {
        self.threads.traces.get(&serial)
    }

    /// Returns what skips the file need.
    pub(crate) fn source(&self) -> Source<'_> {
        Source {
            input: &self.input,
            id_bytes: self.id_bytes,
            batches: &self.batches,
            ids: &self.ids,
            model: &self.model,
            locals: &self.threads.held,
            thread_count: self.thread_count,
        }
    }
}
