//! The times in which the JVM stopped the program: for collections of garbage, and for other operations at
//! safepoints.

use perk_profile::{Event, Pause, PauseKind, Profile};

use super::view::{StructAt, View};

/// The pauses of a recording, in nanoseconds since 1970.
#[derive(Debug, Default)]
pub(super) struct Pauses {
    /// The phases of collections in which the program stood still.
    phases: Vec<Pause>,
    /// Whole collections, each as long as its pauses together.
    collections: Vec<Pause>,
    /// Operations of the JVM at safepoints.
    operations: Vec<Pause>,
}

impl Pauses {
    /// Takes a pause of a collection.
    pub(super) fn phase(&mut self, view: &View<'_>, at: StructAt) {
        self.phases.extend(pause(view, at, "duration", PauseKind::Collection));
    }

    /// Takes a collection, which may run beside the program for most of its time.
    pub(super) fn collection(&mut self, view: &View<'_>, at: StructAt) {
        self.collections.extend(pause(view, at, "sumOfPauses", PauseKind::Collection));
    }

    /// Takes an operation of the JVM.
    pub(super) fn operation(&mut self, view: &View<'_>, at: StructAt) {
        if view.flag(at, "safepoint") {
            self.operations.extend(pause(view, at, "duration", PauseKind::Safepoint));
        }
    }

    /// Adds the pauses to the profile of a recording that begins at `begin_ns`.
    pub(super) fn finish(self, begin_ns: u64, profile: &mut Profile) {
        let Self { phases, collections, operations } = self;
        // Phases say more of the same.
        let mut pauses = if phases.is_empty() { collections } else { phases };
        pauses.sort_unstable();
        pauses.dedup();
        let own = only_other(operations, &pauses);
        pauses.extend(own);
        pauses.iter_mut().for_each(|it| it.begin_ns = it.begin_ns.saturating_sub(begin_ns));
        pauses.sort_unstable();
        if !pauses.is_empty() {
            profile.events.push(Event::Pauses(pauses));
        }
    }
}

/// The operations that are not themselves these collections.
fn only_other(mut operations: Vec<Pause>, collections: &[Pause]) -> Vec<Pause> {
    operations.sort_unstable();
    operations.dedup();
    operations.retain(|it| {
        // Pauses do not overlap, so their ends are in order, too.
        let first = collections.partition_point(|other| other.end_ns() <= it.begin_ns);
        collections.get(first).is_none_or(|other| other.begin_ns >= it.end_ns())
    });
    operations
}

fn pause(view: &View<'_>, at: StructAt, length: &str, kind: PauseKind) -> Option<Pause> {
    let (begin_ns, duration_ns) = (view.start_ns(at)?, view.time_ns(at, length)?);
    (duration_ns > 0).then_some(Pause { begin_ns, duration_ns, kind })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn phases_have_the_place_of_collections_and_operations_are_the_others() {
        let pause = |begin_ns, duration_ns, kind| Pause { begin_ns, duration_ns, kind };
        let of_gc = |begin_ns, ns| pause(begin_ns, ns, PauseKind::Collection);
        let operation = |begin_ns, ns| pause(begin_ns, ns, PauseKind::Safepoint);
        let pauses = |phases: &[Pause]| {
            let pauses = Pauses {
                phases: phases.to_vec(),
                collections: vec![of_gc(150, 30)],
                operations: vec![operation(400, 5), operation(149, 40), operation(300, 10)],
            };
            let mut profile = Profile::default();
            pauses.finish(100, &mut profile);
            profile.pauses().copied().collect::<Vec<_>>()
        };
        let others = [operation(200, 10), operation(300, 5)];
        assert_eq!(pauses(&[]), [of_gc(50, 30), others[0], others[1]]);
        let phases = [of_gc(170, 10), of_gc(150, 10)];
        assert_eq!(pauses(&phases), [of_gc(50, 10), of_gc(70, 10), others[0], others[1]]);
        let mut profile = Profile::default();
        Pauses::default().finish(0, &mut profile);
        assert!(profile.events.is_empty());
    }
}
