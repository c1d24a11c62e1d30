//! What the profile knows of the objects and threads of a heap dump.

use std::io::{self, Read};

use perk_hprof::heap::{ClassFields, Context, FieldType, HeapOptions};
use perk_profile::{Profile, StrId, ThreadId, TraceId};
use rustc_hash::FxHashMap;

use super::RecordSite;
use super::sizes::DumpSizes;
use crate::recorder::Recorder;
use crate::roster::Turnover;

/// The platform threads, in the JVM's order, as they were right before a dump.
#[derive(Debug, Default)]
pub(super) struct ThreadList {
    /// The ids by which the JVM's dump identifies the threads.
    pub(super) tids: Vec<u64>,
    /// The recorder's counts of threads before these were listed.
    pub(super) turnover: Turnover,
}

/// What the JVM's dump does not contain, of its objects.
pub(super) struct ObjectFacts<'a> {
    /// The class and trace of each record, by its index.
    pub(super) sites: &'a [RecordSite],
    /// The records of arrays, by address.
    pub(super) arrays: FxHashMap<u64, u32>,
    pub(super) sizes: &'a DumpSizes,
}

/// What the JVM's dump does not contain.
struct DumpFacts<'a> {
    objects: ObjectFacts<'a>,
    threads: FxHashMap<u64, ThreadId>,
    stack_tids: Option<Vec<u64>>,
}

/// Writes the heap as the JVM dumps it; `list` holds the threads of the moment right before.
///
/// # Errors
/// A fault in the JVM's dump, in one line. The recorder reports a failure of the output, which is not an
/// error.
pub(super) fn write(
    recorder: &mut Recorder,
    input: &mut impl Read,
    options: &HeapOptions,
    list: ThreadList,
    objects: ObjectFacts<'_>,
) -> Result<(), String> {
    let threads = recorder.announce_all();
    let is_current = recorder.are_listed(list.turnover, &list.tids);
    let stack_tids = is_current.then_some(list.tids);
    let mut facts = DumpFacts { objects, threads, stack_tids };
    let mut fault = None;
    recorder.write(|writer, profile, _| {
        let was_patient = writer.out().set_patient(true);
        let written = writer.heap_dump(profile, input, options, &mut facts);
        writer.out().set_patient(was_patient);
        match written {
            Err(error) if error.kind() == io::ErrorKind::InvalidData => {
                fault = Some(error.to_string());
                Ok(())
            }
            written => written.map(drop),
        }
    });
    fault.map_or(Ok(()), Err)
}

impl Context for DumpFacts<'_> {
    fn object_trace(
        &mut self,
        profile: &mut Profile,
        class: StrId,
        record: u32,
    ) -> Option<TraceId> {
        let known = self.objects.sites.get(record as usize).copied().flatten();
        let is_of_class = |id| profile.symbols.get_class(id).name == class;
        let known = known.filter(|&(id, _)| is_of_class(id));
        Some(known.map_or_else(|| profile.system_trace(), |(_, trace)| trace))
    }

    fn kept_trace(&mut self, profile: &mut Profile, address: u64) -> Option<TraceId> {
        let record = self.objects.arrays.get(&address).copied().unwrap_or(0);
        let known = self.objects.sites.get(record as usize).copied().flatten();
        Some(known.map_or_else(|| profile.system_trace(), |(_, trace)| trace))
    }

    fn thread(&mut self, _: &mut Profile, tid: u64) -> Option<ThreadId> {
        self.threads.get(&tid).copied()
    }

    fn stack_tids(&mut self) -> Option<Vec<u64>> {
        self.stack_tids.take()
    }

    fn roots_parked_frames(&self) -> bool {
        self.objects.sizes.roots_parked_frames()
    }

    fn instance_bytes(&mut self, classes: &[ClassFields<'_>]) -> u64 {
        self.objects.sizes.instance_bytes(classes)
    }

    fn array_bytes(&mut self, element: FieldType, length: u32) -> u64 {
        self.objects.sizes.array_bytes(element, length)
    }
}
