//! Writes heap dumps, with the sites of objects and the threads that the profile has.

use std::io::{self, Read};

use perk_hprof::heap::{ClassFields, Context, FieldType, HeapCounts, HeapOptions};
use perk_profile::{ClassId, Profile, StrId, ThreadId, TraceId};
use rustc_hash::FxHashMap;

use super::sizes::DumpedSizes;
use super::{File, Recorder};

/// The platform threads, in the JVM's order, as they were right before a dump.
#[derive(Debug, Default)]
pub(crate) struct ThreadList {
    /// The ids by which the JVM's dump identifies the threads.
    pub(crate) tids: Vec<u64>,
    /// The recorder's count of thread starts and ends before the threads were listed.
    pub(crate) turnover: u64,
}

/// The recorder's facts that the JVM's dump does not contain.
struct Known<'a> {
    /// The class and trace of each record, by its index.
    sites: &'a [Option<(ClassId, TraceId)>],
    /// The records of arrays, by address.
    arrays: FxHashMap<u64, u32>,
    threads: FxHashMap<u64, ThreadId>,
    stack_tids: Option<Vec<u64>>,
    sizes: &'a DumpedSizes,
}

impl Recorder {
    /// Returns a number that changes with each thread that starts or ends.
    pub(crate) fn thread_turnover(&self) -> u64 {
        self.roster.turnover()
    }

    /// Writes the heap as the JVM dumps it; `list` holds the threads of the moment right before,
    /// `arrays` the records of arrays, by address.
    ///
    /// # Errors
    /// A fault in the JVM's dump, in one line. A failure of the output is reported here and is not
    /// an error.
    pub(crate) fn write_heap(
        &mut self,
        input: &mut impl Read,
        options: &HeapOptions,
        sizes: &DumpedSizes,
        list: ThreadList,
        arrays: FxHashMap<u64, u32>,
    ) -> Result<HeapCounts, String> {
        let living: Vec<_> = self.roster.living().collect();
        living.into_iter().for_each(|slot| self.announce(slot));
        let threads = self.roster.by_java_id(&mut self.profile);
        let File::Begun(writer) = &mut self.file else { return Ok(HeapCounts::default()) };
        let sites = self.objects.sites();
        // If no thread has started or ended since, the listed threads are those of the dump.
        let stack_tids = (self.roster.turnover() == list.turnover).then_some(list.tids);
        let mut known = Known { sites, arrays, threads, stack_tids, sizes };
        let was_patient = writer.out().set_patient(true);
        let dumped = writer.heap_dump(&mut self.profile, input, options, &mut known);
        writer.out().set_patient(was_patient);
        match dumped.and_then(|counts| writer.out().rest().map(|()| counts)) {
            Ok(counts) => Ok(counts),
            Err(error) if error.kind() == io::ErrorKind::InvalidData => Err(error.to_string()),
            Err(error) => {
                self.lose_output(&error);
                Ok(HeapCounts::default())
            }
        }
    }
}

impl Context for Known<'_> {
    fn object_trace(
        &mut self,
        profile: &mut Profile,
        class: StrId,
        record: u32,
    ) -> Option<TraceId> {
        let known = self.sites.get(record as usize).copied().flatten();
        let is_of_class = |id| profile.symbols.get_class(id).name == class;
        let known = known.filter(|&(id, _)| is_of_class(id));
        Some(known.map_or_else(|| profile.system_trace(), |(_, trace)| trace))
    }

    fn kept_trace(&mut self, profile: &mut Profile, address: u64) -> Option<TraceId> {
        let record = self.arrays.get(&address).copied().unwrap_or(0);
        let known = self.sites.get(record as usize).copied().flatten();
        Some(known.map_or_else(|| profile.system_trace(), |(_, trace)| trace))
    }

    fn thread(&mut self, _: &mut Profile, tid: u64) -> Option<ThreadId> {
        self.threads.get(&tid).copied()
    }

    fn stack_tids(&mut self) -> Option<Vec<u64>> {
        self.stack_tids.take()
    }

    fn roots_parked_frames(&self) -> bool {
        self.sizes.roots_parked_frames()
    }

    fn instance_bytes(&mut self, classes: &[ClassFields<'_>]) -> u64 {
        self.sizes.instance_bytes(classes)
    }

    fn array_bytes(&mut self, element: FieldType, length: u32) -> u64 {
        self.sizes.array_bytes(element, length)
    }
}
