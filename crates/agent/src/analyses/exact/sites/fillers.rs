//! The objects with which the JVM fills gaps of the heap, such as the unused end of a thread's
//! allocation buffer. A walk of the heap meets these dead objects like any other, but the program
//! has not allocated them.
//!
//! From JDK 19 on they have classes of their own. Before that, they are of two classes that
//! programs use as well. Probes count all objects of these classes that are made from VMInit on, so
//! the objects that no probe has counted and that did not exist at VMInit are fillers. Those that did
//! are known by their identity hashes.

use perk_hotspot::{FILLER_CLASSES, SHARED_FILLER_CLASSES, since};
use perk_jvm::Reference;
use perk_jvm::sync::lock;
use perk_profile::ClassId;

use super::identities::Identities;
use super::live::Sum;
use crate::class_sizes::Source;
use crate::resolve::class_id;

/// The known fillers; see the module.
#[derive(Debug, Default)]
pub(super) struct Fillers {
    /// The classes that fillers share with objects.
    shared: Vec<ClassId>,
}

impl Fillers {
    /// Reserves the identity hashes of the objects that exist at VMInit.
    pub(super) fn vm_init(
        source: &Source<'_>,
        feature_version: u32,
        identities: Option<&Identities>,
    ) -> Self {
        if feature_version >= since::FILLER_CLASSES {
            return Self::default();
        }
        let Source { jvmti, jni, recorder, .. } = *source;
        let classes: Vec<_> =
            SHARED_FILLER_CLASSES.iter().filter_map(|it| jni.find_class(it)).collect();
        let shared = classes.iter().map(|class| class_id(jvmti, recorder, class).0).collect();
        let classes: Vec<&dyn Reference> = classes.iter().map(|it| it as &dyn Reference).collect();
        if let Some(identities) = identities {
            let objects = jvmti.reachable_of(jni, &classes).unwrap_or_default();
            objects.iter().for_each(|object| identities.reserve(jni, object));
        }
        Self { shared }
    }

    /// Removes the fillers from the objects without a site. These, and those that are known to have
    /// existed at VMInit, are indexed by the number of the class.
    pub(super) fn remove(&self, source: &Source<'_>, others: &mut [Sum], reserved: &[Sum]) {
        for class in &self.shared {
            let number = class.index() + 1;
            if let Some(sum) = others.get_mut(number) {
                *sum = sum.least(reserved.get(number).copied().unwrap_or_default());
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
