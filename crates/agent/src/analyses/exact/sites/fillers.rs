//! What the JVM fills gaps of the heap with, as the unused end of a thread's allocation buffer: dead
//! objects, which a walk of the heap meets as it does any other, and which nobody has allocated.
//!
//! From JDK 19 on they have classes of their own. Before, they are of two classes that programs use,
//! too. All objects of these that are made from VMInit on are counted by probes: what no probe has
//! counted and was not there at VMInit is a filler.

use perk_hotspot::{FILLER_CLASSES, SHARED_FILLER_CLASSES, since};
use perk_profile::ClassId;

use super::live::{Keeper, Kept, Sum};
use super::sizes::Source;
use crate::jvm::Reference;
use crate::resolve::class_id;
use crate::sync::lock;

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Fillers {
    /// The classes that fillers share with objects, and the objects that were there at VMInit.
    shared: Vec<(ClassId, Keeper)>,
}

impl Fillers {
    /// Looks what is there at VMInit.
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

    /// Takes the fillers out of the objects that have no site, by the number of the class.
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
