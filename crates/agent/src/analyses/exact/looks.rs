//! The looks at what calls take, by which methods give up their positions.
//!
//! A method that changes is compiled again by the JVM, and so are those that it is inlined in. So each look comes after
//! twice the time of the one before: what this costs stays a part of the whole.

mod choice;

use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use perk_jvm::sync::lock;
use perk_jvm::{Jni, Local, MethodRef, ObjectRef, Reference};
use perk_jvm::{os, probes};

use self::choice::Look;
use super::ExactEngine;
use super::path_budget::PathBudget;
use super::tree::{MethodCalls, Tree};
use crate::common::{Common, MOST_HELPER_FRAMES};
use crate::recorder::{Calls, Recorder};

/// The time until the first look, and the longest between two.
const FIRST_LOOK: Duration = Duration::from_secs(1);
const LONGEST_INTERVAL: Duration = Duration::from_secs(60);
/// The calls below which a look is not worth it.
const FEW_CALLS: u64 = 1_000_000;
/// The number of methods that the accounting names.
const NAMED: usize = 100;
/// The number of classes that the JVM changes at once: the JVM stands still meanwhile.
const BATCH: usize = 64;
/// The frames between a method and the one at whose node it is, at most: those of methods over budget.
const MOST_FRAMES: usize = MOST_HELPER_FRAMES + 64;

/// A method by its names in the JVM.
#[derive(Debug)]
struct MethodKey {
    number: u32,
    /// `Ljava/lang/String;`
    class: String,
    name: String,
    signature: String,
}

impl MethodKey {
    fn of(recorder: &mut Recorder, number: u32) -> Self {
        let id = recorder.numbered_method(number);
        let symbols = &recorder.profile.symbols;
        let method = symbols.get_method(id);
        Self {
            number,
            class: format!("L{};", symbols.class_name(method.class).replace('.', "/")),
            name: symbols.strings.get(method.name).to_owned(),
            signature: method.signature.map_or("", |it| symbols.strings.get(it)).to_owned(),
        }
    }

    /// Whether it has this name and signature.
    fn has(&self, (name, signature): &(String, String)) -> bool {
        self.name == *name && self.signature == *signature
    }
}

impl ExactEngine {
    /// Starts the counters of the budget for paths, and the thread that looks; nothing without a budget.
    ///
    /// # Errors
    /// The reason why that is not possible, in one line.
    pub(super) fn start_looks(&'static self, jni: Jni<'_>) -> Result<(), String> {
        let Some(budget) = self.path_budget else { return Ok(()) };
        budget.counters.start(self.common, jni)?;
        budget.worker.start(self.common, jni, c"perk budget", |jni| self.look(budget, jni))
    }

    /// Looks at what calls take, until the thread must stop.
    fn look(&self, budget: &PathBudget, jni: Jni<'_>) {
        let (mut calls, mut counted_count) = (Vec::new(), 0);
        let mut cpu_ns = os::process_cpu_ns();
        let mut interval = FIRST_LOOK;
        while !budget.worker.wait_until(Instant::now() + interval) {
            let (calls_before, cpu_ns_before) = (std::mem::take(&mut calls), cpu_ns);
            let counted_before = counted_count;
            cpu_ns = os::process_cpu_ns();
            counted_count = budget.counters.sums(lock(&budget.methods).counted.len()).iter().sum();
            for tree in self.pool.trees() {
                if !budget.tree.get().is_some_and(|own| std::ptr::eq(*own, tree)) {
                    tree.add_calls(&self.pool, &mut calls);
                }
            }
            interval = (interval * 2).min(LONGEST_INTERVAL);
            let look = Look {
                calls: &since(&calls, &calls_before),
                counted_count: counted_count - counted_before,
                cpu_ns: cpu_ns.saturating_sub(cpu_ns_before),
            };
            if look.call_count() < FEW_CALLS {
                continue;
            }
            let mut kept = lock(&budget.methods).chosen.clone();
            kept.extend(&*self.classes.natives());
            let chosen = look.chosen(budget.ratio, &kept);
            if !chosen.is_empty() {
                self.give_up(budget, jni, &chosen);
            }
        }
    }

    /// Has the classes of these methods changed.
    fn give_up(&self, budget: &PathBudget, jni: Jni<'_>, chosen: &[u32]) {
        let recorder = self.common.recorder;
        let key = |number: &u32| MethodKey::of(&mut lock(recorder), *number);
        let mut keys: Vec<MethodKey> = chosen.iter().map(key).collect();
        lock(&budget.methods).chosen.extend(chosen);
        budget.has_any.store(true, Relaxed);
        let jvmti = self.common.jvmti;
        jni.with_room(u16::MAX, || {
            let mut classes: Vec<Local<'_>> = jvmti.loaded_classes(jni).unwrap_or_default();
            classes.retain(|class| {
                let signature = jvmti.class_signature(class).unwrap_or_default();
                keys.iter().any(|key| key.class == signature)
            });
            let raw: Vec<_> = classes.iter().map(|it| it.raw()).collect();
            let mut refused: Vec<String> = Vec::new();
            for batch in raw.chunks(BATCH) {
                let refuse = &mut |class: &ObjectRef<'_>, _| {
                    refused.extend(jvmti.class_signature(class).ok());
                };
                // SAFETY: they are references to classes that `classes` holds.
                unsafe { probes::retransform(jvmti, batch, refuse) };
            }
            {
                let over = &mut lock(&budget.methods).over;
                for key in keys.iter().filter(|key| refused.contains(&key.class)) {
                    over.remove(&key.number);
                }
                keys.retain(|key| over.contains(&key.number));
            }
            for class in &classes {
                let signature = jvmti.class_signature(class).unwrap_or_default();
                for method in jvmti.class_methods(class).unwrap_or_default() {
                    let names = jvmti.method_name(method).unwrap_or_default();
                    if keys.iter().any(|key| key.class == signature && key.has(&names)) {
                        lock(&budget.methods).over_refs.push(method);
                    }
                }
            }
        });
        let recorder = &mut lock(recorder);
        let names = &mut lock(&budget.methods).names;
        for key in keys.iter().take(NAMED.saturating_sub(names.len())) {
            let id = recorder.numbered_method(key.number);
            names.push(recorder.profile.symbols.method_name(id));
        }
    }

    /// Whether the calling thread is in a method over budget that is called from a node of its tree, and calls `method`.
    /// Where perk cannot look at the stack, it is one of those by which the node called the method before.
    ///
    /// # Safety
    /// The address must be a node's.
    pub(super) unsafe fn is_called_over_budget(
        &self,
        jni: Jni<'_>,
        tree: &Tree,
        from: u64,
        method: u32,
    ) -> bool {
        let Some(budget) = self.path_budget.filter(|it| it.has_any.load(Relaxed)) else {
            return false;
        };
        let Some(thread) = self.plain_thread(jni) else {
            let over = lock(&budget.methods).over.clone();
            return tree.has_called(&self.pool, from, method, &over);
        };
        // SAFETY: a frame is a number and a pointer; zeroes are valid.
        let mut buffer = [const { unsafe { std::mem::zeroed() } }; MOST_FRAMES];
        let mut frames = Vec::new();
        if self.common.jvmti.stack(&thread, &mut buffer, &mut frames).is_err() {
            return false;
        }
        // SAFETY: the caller's promise.
        let outer = unsafe { Tree::method_of(from) };
        let helper = self.common.helper_methods();
        let mut frames = frames.iter().map(|it| it.method).filter(|it| !helper.contains(it));
        let inner = frames.next().filter(|inner| !self.is_method(*inner, method));
        // A leaf is counted by its caller.
        for frame in inner.into_iter().chain(frames) {
            let is_over = lock(&budget.methods).over_refs.contains(&frame);
            let is_outer = self.is_method(frame, outer);
            if is_over || is_outer {
                return is_over && !is_outer;
            }
        }
        false
    }

    /// Returns the calling thread if it is neither virtual nor carries virtual threads. For others, JVMTI waits until
    /// a virtual thread has come to its carrier, which would be for ever if the probe is met on the way.
    fn plain_thread<'a>(&self, jni: Jni<'a>) -> Option<Local<'a>> {
        let Common { jvmti, threads, .. } = self.common;
        let thread = jvmti.current_thread(jni)?;
        if threads.slot_of_caller().is_none() {
            threads.known_slot(jni, &thread);
        }
        threads.slot_of_caller().map(|_| thread)
    }

    /// Whether a method of the JVM has the name of the one with a number.
    fn is_method(&self, method: MethodRef, number: u32) -> bool {
        if number >= Calls::OVER_BUDGET {
            return false;
        }
        let names = self.common.jvmti.method_name(method).unwrap_or_default();
        MethodKey::of(&mut lock(self.common.recorder), number).has(&names)
    }
}

/// Returns the calls since an earlier look.
fn since(now: &[MethodCalls], before: &[MethodCalls]) -> Vec<MethodCalls> {
    let then = before.iter().copied().chain(std::iter::repeat(MethodCalls::default()));
    let new = now.iter().zip(then).map(|(now, then)| MethodCalls {
        entered_count: now.entered_count.saturating_sub(then.entered_count),
        touched_count: now.touched_count.saturating_sub(then.touched_count),
    });
    new.collect()
}
