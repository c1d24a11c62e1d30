//! The kinds of objects, by their classes.

use std::cell::Cell;
use std::sync::{PoisonError, RwLock};

use rustc_hash::FxHashMap;

use crate::id::Id;

/// What the objects of a class have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct InstanceKind {
    /// The class as `OBJECT_ALLOC` names it: of an array of objects, the class of its elements; `None`
    /// for arrays of primitives.
    pub(crate) class: Option<Id>,
    /// `JVMPI_NORMAL_OBJECT`, or the type of an array's elements.
    pub(crate) kind: u8,
}

/// The classes whose objects were met.
#[derive(Debug, Default)]
pub(crate) struct InstanceKinds {
    by_class: RwLock<FxHashMap<Id, InstanceKind>>,
}

/// The classes that a thread met last.
const CACHED: usize = 64;

thread_local! {
    /// By the last digits of their ids, which are never used again.
    static CACHE: [Cell<Option<(Id, InstanceKind)>>; CACHED] = const { [const { Cell::new(None) }; CACHED] };
}

impl InstanceKinds {
    /// Returns the objects' kind of a class that was met, without a call of the JVM.
    pub(crate) fn get(&self, class: Id) -> Option<InstanceKind> {
        CACHE.with(|cache| {
            let place = &cache[(class.0 >> 4) as usize % CACHED];
            if let Some((_, instances)) = place.get().filter(|(id, _)| *id == class) {
                return Some(instances);
            }
            let all = self.by_class.read().unwrap_or_else(PoisonError::into_inner);
            let instances = *all.get(&class)?;
            place.set(Some((class, instances)));
            Some(instances)
        })
    }

    pub(crate) fn add(&self, class: Id, instances: InstanceKind) {
        let mut all = self.by_class.write().unwrap_or_else(PoisonError::into_inner);
        all.insert(class, instances);
    }

    /// Forgets a class, if the object was one.
    pub(crate) fn forget(&self, id: Id) {
        let is_class =
            || self.by_class.read().unwrap_or_else(PoisonError::into_inner).contains_key(&id);
        if is_class() {
            self.by_class.write().unwrap_or_else(PoisonError::into_inner).remove(&id);
        }
    }
}
