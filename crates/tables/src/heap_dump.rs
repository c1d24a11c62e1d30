//! A heap dump that is asked.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use datafusion::error::Result;
use perk_heap::{Heap, Options};

use crate::session::fault;

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
