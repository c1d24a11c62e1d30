//! A heap dump that is asked.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use datafusion::error::Result;
use perk_heap::{Heap, Options};

use crate::fault::fault;

/// How a dump is analysed.
type Analysis = dyn Fn(&Options) -> anyhow::Result<Heap> + Send + Sync;

/// A heap dump, which is analysed when it is asked first. Holders are found when they are asked for.
pub struct HeapDump {
    analysis: Box<Analysis>,
    heap: Mutex<Option<Arc<Heap>>>,
}

impl HeapDump {
    /// A dump that `analysis` analyses, with the options that it gets.
    pub fn new(
        analysis: impl Fn(&Options) -> anyhow::Result<Heap> + Send + Sync + 'static,
    ) -> Self {
        Self { analysis: Box::new(analysis), heap: Mutex::default() }
    }

    /// The heap, and how its objects are held if that is needed. Who asks meanwhile waits.
    pub(crate) fn heap(&self, holders: bool) -> Result<Arc<Heap>> {
        let mut known = self.heap.lock().unwrap_or_else(PoisonError::into_inner);
        match &*known {
            Some(heap) if heap.has_holders() || !holders => Ok(Arc::clone(heap)),
            _ => {
                let options = Options { holders, ..Options::default() };
                let heap = (self.analysis)(&options).map_err(fault)?;
                Ok(Arc::clone(known.insert(Arc::new(heap))))
            }
        }
    }
}

impl fmt::Debug for HeapDump {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HeapDump").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use perk_heap::NoWatch;
    use perk_profile::Profile;

    use super::*;
    use crate::{Events, Limits, Recording, session};

    /// The analyses that queries need, one after the other in a session: whether each finds holders.
    fn analyses(queries: &[&str]) -> Vec<bool> {
        let done = Arc::new(Mutex::new(Vec::new()));
        let dump = HeapDump::new({
            let done = Arc::clone(&done);
            move |options| {
                done.lock().unwrap().push(options.holders);
                let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
                let path = root.join("testdata/hprof/all-b-alloc.hprof.gz");
                Ok(Heap::open(&path, options, &mut NoWatch)?)
            }
        });
        let recording = Recording::new(1, "dump".to_owned(), Profile::default(), Some(dump));
        let events = Arc::new(Events::new(Vec::new(), |_| {}));
        let spill = std::env::temp_dir();
        let limits = Limits { memory_bytes: 1 << 30, spill, spill_bytes: 1 << 30 };
        let context = session(vec![recording].into(), &events, &limits).unwrap();
        let runtime = tokio::runtime::Builder::new_multi_thread().build().unwrap();
        for query in queries {
            let rows = runtime.block_on(async { context.sql(query).await?.collect().await });
            assert!(rows.unwrap().iter().any(|batch| batch.num_rows() > 0), "{query}");
        }
        drop(context);
        Arc::into_inner(done).map_or_else(Vec::new, |done| done.into_inner().unwrap())
    }

    #[test]
    fn a_dump_is_analysed_when_it_is_asked_and_as_far_as_is_needed() {
        let histogram = "SELECT class, count(*), sum(shallow_bytes) FROM objects GROUP BY 1";
        let retained = "SELECT class, sum(retained_bytes) FROM objects GROUP BY 1";
        assert_eq!(analyses(&["SELECT * FROM recordings"]), [] as [bool; 0]);
        let texts = "SELECT max(length(text)) FROM strings";
        let simple = [histogram, "SELECT max(length) FROM arrays", "SELECT * FROM refs", texts];
        assert_eq!(analyses(&simple), [false]);
        assert_eq!(analyses(&[histogram, retained, histogram]), [false, true]);
        assert_eq!(analyses(&[retained, histogram]), [true]);
        assert_eq!(analyses(&["SELECT least_retained_bytes FROM classes"]), [true]);
        assert_eq!(analyses(&["SELECT all_count FROM classes"]), [false]);
    }
}
