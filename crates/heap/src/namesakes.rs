//! Classes of one name that several class loaders define: in trees and paths they are one.

use rustc_hash::FxHashMap;

use crate::{ClassIndex, Heap, ObjectId};

/// For each class the first one of its name.
pub(crate) struct Namesakes(Vec<ClassIndex>);

impl Namesakes {
    pub(crate) fn of(heap: &Heap) -> Self {
        let mut first: FxHashMap<&str, ClassIndex> = FxHashMap::default();
        let classes = (0..).map(ClassIndex).zip(heap.classes());
        Self(classes.map(|(index, class)| *first.entry(&class.name).or_insert(index)).collect())
    }

    /// Returns the first class of the name of an object's class, and that of the class that it represents.
    pub(crate) fn kind_of(
        &self,
        heap: &Heap,
        object: ObjectId,
    ) -> (ClassIndex, Option<ClassIndex>) {
        let class = heap.class_of(object).0;
        let is_class = class == heap.model.of_classes;
        let stands_for = is_class.then(|| heap.as_class(object)).flatten();
        (self.0[class as usize], stands_for.map(|class| self.0[class.0 as usize]))
    }

    /// Returns the first class of the name of an object's class.
    pub(crate) fn class_of(&self, heap: &Heap, object: ObjectId) -> ClassIndex {
        self.0[heap.class_of(object).0 as usize]
    }

    /// Returns the first class of the name of the class that an object represents.
    pub(crate) fn as_class(&self, heap: &Heap, object: ObjectId) -> Option<ClassIndex> {
        let class = heap.class_of(object).0 == heap.model.of_classes;
        let stands_for = class.then(|| heap.as_class(object)).flatten();
        stands_for.map(|class| self.0[class.0 as usize])
    }
}
