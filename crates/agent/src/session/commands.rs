//! The effects of a peer's commands.

use std::sync::atomic::Ordering::Relaxed;

use perk_control::commands::{Command, ThreadId, Threads};
use perk_control::messages::EXIT_LINE;
use perk_hotspot::FILLER_CLASSES;
use perk_jvm::Jni;
use perk_jvm::os;
use perk_jvm::sync::lock;
use perk_jvmti_sys::jvmtiError;
use perk_profile::{ClassId, SiteSelection};

use super::Session;
use crate::analyses::Order;
use crate::listener::CommandReceiver;
use crate::recorder::Inquiry;
use crate::roster::Slot;

impl CommandReceiver for Session {
    fn obey(&'static self, jni: Jni<'_>, command: Command) {
        if self.is_dying.load(Relaxed) {
            return;
        }
        if let Err(reason) = self.try_to_obey(jni, command) {
            os::say(&format!("HPROF ERROR: perk: {reason}\n"));
        }
    }
}

impl Session {
    fn try_to_obey(&'static self, jni: Jni<'_>, command: Command) -> Result<(), String> {
        match command {
            // No dump may wait for this: while the JVM dies it may never return.
            Command::ForceGc => self.common.jvmti.force_garbage_collection(),
            Command::DumpHeap => {
                let mut done = Ok(());
                self.answer(|session| {
                    session.gather_objects();
                    done = session.order(jni, Order::DumpHeap);
                });
                done?;
            }
            Command::AllocSites { flags, cutoff } => {
                let selection = SiteSelection::from_flags(flags);
                if selection.after_gc {
                    self.common.jvmti.force_garbage_collection();
                }
                self.answer(|session| {
                    session.gather_objects();
                    session.ask(Inquiry::Sites { selection, cutoff: cutoff.into() });
                });
            }
            Command::HeapSummary => {
                // If the sites of objects are not known, the live objects are.
                let live = match self.common.options.heap_sites {
                    true => None,
                    false => Some(self.heap_totals(jni).map_err(|it| it.to_string())?),
                };
                self.answer(|session| {
                    session.gather_objects();
                    session.ask(Inquiry::HeapSummary { live });
                });
            }
            Command::Exit => self.exit(jni),
            Command::DumpTraces => self.answer(|session| {
                session.settle(false);
                lock(session.common.recorder).write_traces();
            }),
            Command::CpuSamples { cutoff } => self.answer(|session| {
                session.settle(false);
                session.ask(Inquiry::Samples { cutoff: cutoff.into() });
            }),
            Command::AllocOn | Command::AllocOff | Command::ClearSites => {
                if !self.common.options.heap_sites && !self.common.options.aprof {
                    return Err("without heap=sites no allocations are counted".to_owned());
                }
                self.answer(|session| {
                    session.gather_objects();
                    session.ask(match command {
                        Command::AllocOn => Inquiry::CountSites(true),
                        Command::AllocOff => Inquiry::CountSites(false),
                        _ => Inquiry::ClearSites,
                    });
                });
            }
            Command::CpuOn(threads) => {
                let thread = self.slot_of(threads)?;
                self.order(jni, Order::Sample { thread, is_sampled: true })?;
                self.ask(Inquiry::BeginSamples);
            }
            Command::CpuOff(threads) => {
                let thread = self.slot_of(threads)?;
                self.order(jni, Order::Sample { thread, is_sampled: false })?;
            }
            Command::ClearCpu => self.answer(|session| {
                session.settle(false);
                session.ask(Inquiry::ClearCpu);
            }),
            Command::Depth(depth) => self.order(jni, Order::Depth(depth.into()))?,
            Command::Eof => {}
        }
        Ok(())
    }

    /// Sends a request to all analyses.
    fn order(&self, jni: Jni<'_>, order: Order) -> Result<(), String> {
        self.analyses.iter().try_for_each(|analysis| analysis.obey(jni, order))
    }

    /// Returns the number and size of all objects, without those that fill gaps of the heap. If the
    /// fillers have no classes of their own, they are unreachable `int[]` arrays.
    fn heap_totals(&self, jni: Jni<'_>) -> Result<(u64, u64), jvmtiError> {
        let classes = self.common.jvmti.loaded_classes(jni)?;
        let ids = classes.iter().map(|class| self.common.class(class));
        let ids: Vec<_> = ids.collect();
        let recorder = lock(self.common.recorder);
        let name = |class: &ClassId| recorder.profile.symbols.class_name(*class);
        let fillers = ids.iter().filter(|class| FILLER_CLASSES.contains(&name(class)));
        let mut without: Vec<_> = fillers.copied().collect();
        let shared = ids.iter().position(|class| name(class) == "int[]");
        drop(recorder);
        let shared = shared.filter(|_| without.is_empty());
        let (mut count, mut bytes) = (0, 0);
        if let Some(place) = shared {
            (count, bytes) = self.common.jvmti.reachable_totals(&classes[place])?;
            without.push(ids[place]);
        }
        let without: Vec<_> = without.into_iter().map(|class| class.index() as i64 + 1).collect();
        let others = self.common.jvmti.heap_totals(&without)?;
        Ok((count + others.0, bytes + others.1))
    }

    /// Sends an inquiry to all books.
    fn ask(&self, inquiry: Inquiry) {
        let recorder = &mut lock(self.common.recorder);
        self.books.iter().for_each(|book| book.answer(recorder, inquiry));
    }

    /// Runs `body`, unless the JVM has begun to die or the output is gone. No dump is made at the same
    /// time.
    fn answer(&'static self, body: impl FnOnce(&'static Self)) {
        let _dumping = lock(&self.dumping);
        if self.is_dying.load(Relaxed) || !lock(self.common.recorder).is_begun() {
            return;
        }
        body(self);
        // Data that was gathered and not written will be gathered again.
        self.drop_gathered();
    }

    /// Books all data, with the objects that live now.
    fn gather_objects(&self) {
        self.survey();
        self.settle(false);
    }

    /// Returns the thread that a command refers to; `None` for all threads.
    fn slot_of(&self, threads: Threads) -> Result<Option<Slot>, String> {
        let find = |id: ThreadId| {
            let recorder = lock(self.common.recorder);
            id.readings().into_iter().find_map(|reading| recorder.find_thread(reading))
        };
        match threads {
            Threads::All => Ok(None),
            Threads::One(id) => match find(id) {
                Some(slot) => Ok(Some(slot)),
                None => Err(format!("no thread has the id {:#x}", id.readings()[0])),
            },
        }
    }

    /// Ends the program as the original did: at once, with exit code 0 and without a last dump.
    fn exit(&self, jni: Jni<'_>) {
        os::say(&format!("{EXIT_LINE}\n"));
        {
            let _dumping = lock(&self.dumping);
            lock(self.common.recorder).finish();
        }
        jni.halt();
        // `halt` does not return, unless Java cannot be called.
        std::process::exit(0);
    }
}
