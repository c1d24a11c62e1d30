//! The objects with which the JVM fills gaps of the heap, such as the unused end of a thread's
//! allocation buffer. A walk of the heap meets these dead objects like any other, but the program
//! has not allocated them.
//!
//! From JDK 19 on they have classes of their own. Before that, they are of two classes that
//! programs use as well. Probes count all objects of these classes that are made from VMInit on, so
//! the objects that no probe has counted and that did not exist at VMInit are fillers.

use perk_hotspot::{FILLER_CLASSES, SHARED_FILLER_CLASSES, since};
use perk_profile::ClassId;

use super::live::{Keeper, Kept, Sum};
use super::sizes::Source;
use crate::jvm::Reference;
use crate::resolve::class_id;
use crate::sync::lock;

/// The known fillers; see the module.
#[derive(Debug, Default)]
pub(super) struct Fillers {
    /// The classes that fillers share with objects, and their objects that existed at VMInit.
    shared: Vec<(ClassId, Keeper)>,
}

impl Fillers {
    /// Records the objects that exist at VMInit.
    pub(super) fn vm_init(source: &Source<'_>, feature_version: u32) -> Self {
        if feature_version >= since::FILLER_CLASSES {
            return Self::default();
        }
        let Source { jvmti, jni, recorder, .. } = *source;
        let classes: Vec<_> =
            SHARED_FILLER_CLASSES.iter().filter_map(|it| jni.find_class(it)).collect();
        let mut shared: Vec<_> = classes
            .iter()
            .map(|class| (class_id(jvmti, recorder, class).0, Keeper::default()))
            .collect();
        let classes: Vec<&dyn Reference> = classes.iter().map(|it| it as &dyn Reference).collect();
        for object in jvmti.reachable_of(jni, &classes).unwrap_or_default() {
            let Some(class) = jni.class_of(&object) else { continue };
            let id = class_id(jvmti, recorder, &class).0;
            let bytes = jvmti.object_bytes(&object).unwrap_or(0);
            for (_, keeper) in shared.iter_mut().filter(|(shared, _)| *shared == id) {
                keeper.keep(jni, &object, Kept::new(0, bytes));
            }
        }
        Self { shared }
    }

    /// Removes the fillers from the objects without a site, which are indexed by the number of the
    /// class.
    pub(super) fn remove(&mut self, source: &Source<'_>, others: &mut [Sum]) {
        for (class, keeper) in &mut self.shared {
            let mut living = Sum::default();
            keeper.live(source.jni).for_each(|kept| living.add(1, kept.bytes()));
            if let Some(sum) = others.get_mut(class.index() + 1) {
                *sum = sum.least(living);
            }
        }
        let symbols = &lock(source.recorder).profile.symbols;
        for (number, sum) in others.iter_mut().enumerate().skip(1) {
            if sum.count > 0
                && FILLER_CLASSES.contains(&symbols.class_name(ClassId::new(number - 1)))
            {
                *sum = Sum::default();
            }
        }
    }
}
