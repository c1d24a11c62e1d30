//! The threads that lived when the dump was made, and the bytes that they retain.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use crate::{ClassIndex, Error, Heap, Local, ObjectId, ThreadFacts, Trace};

/// A thread.
#[derive(Clone, Debug)]
pub struct LivingThread<'h> {
    /// Its `java.lang.Thread`, if the dump has it.
    pub object: Option<ObjectId>,
    /// The facts of that object; names and states are not known without it.
    pub facts: ThreadFacts,
    /// Its stack, if the dump has it.
    pub trace: Option<&'h Trace>,
    /// The objects that its frames and native code hold.
    pub locals: &'h [Local],
    /// The bytes that it retains: its object, and the objects that this object and its frames hold.
    pub retained_bytes: u64,
}

impl Heap {
    /// Returns the threads, virtual ones among them, those that retain most first. Virtual threads
    /// without a carrier have stacks from JDK 22 on.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn living_threads(&self) -> Result<Vec<LivingThread<'_>>, Error> {
        let mut living = Vec::new();
        let mut known = BTreeSet::new();
        for thread in self.threads() {
            known.extend(thread.object);
            let facts = match thread.object {
                Some(object) => self.thread_facts(object)?.unwrap_or_default(),
                None => ThreadFacts::default(),
            };
            living.push(LivingThread {
                object: thread.object,
                facts,
                trace: self.trace(thread.trace).filter(|trace| !trace.frames.is_empty()),
                locals: &thread.locals,
                retained_bytes: thread.object.map_or(0, |object| self.retained_bytes(object)),
            });
        }
        for object in self.virtual_threads() {
            if known.contains(&object) {
                continue;
            }
            let Some(facts) = self.thread_facts(object)? else { continue };
            if matches!(facts.state, Some("NEW" | "TERMINATED")) {
                continue;
            }
            let retained_bytes = self.retained_bytes(object);
            let object = Some(object);
            living.push(LivingThread { object, facts, trace: None, locals: &[], retained_bytes });
        }
        living.sort_by_key(|it| (Reverse(it.retained_bytes), it.object));
        Ok(living)
    }

    fn virtual_threads(&self) -> Vec<ObjectId> {
        let above = self.classes_named("java.lang.BaseVirtualThread");
        let classes = (0..self.classes().len() as u32).map(ClassIndex);
        let classes: Vec<_> =
            classes.filter(|&it| above.iter().any(|&above| self.is_subclass(it, above))).collect();
        let mut threads = Vec::new();
        if !classes.is_empty() {
            self.each_instance(&classes, |object| threads.push(object));
        }
        threads.retain(|&object| self.as_class(object).is_none());
        threads
    }
}
