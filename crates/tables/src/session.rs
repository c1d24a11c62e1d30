//! A session of DataFusion with the tables of recordings.

use std::path::PathBuf;
use std::sync::Arc;

use datafusion::error::Result;
use datafusion::execution::disk_manager::{DiskManagerBuilder, DiskManagerMode};
use datafusion::execution::memory_pool::FairSpillPool;
use datafusion::execution::runtime_env::RuntimeEnvBuilder;
use datafusion::execution::session_state::SessionStateBuilder;
use datafusion::prelude::{SessionConfig, SessionContext};

use crate::events::{self, Events};
use crate::functions;
use crate::heap;
use crate::heap_functions;
use crate::profile;
use crate::provider::Provider;
use crate::recordings::Recordings;
use crate::table_functions;

/// The part of the memory that a sort keeps for what it has on disk, and the most of it.
const SORT_PART: usize = 32;
const MOST_SORT_BYTES: usize = 10 << 20;

/// What a query may take.
#[derive(Clone, Debug)]
pub struct Limits {
    /// The most memory, in bytes. Sorts, joins and sums that need more continue on disk.
    pub memory_bytes: usize,
    /// The folder for that.
    pub spill: PathBuf,
    /// The most room there, in bytes.
    pub spill_bytes: u64,
}

impl Limits {
    /// The place for what does not fit the memory.
    pub fn disk(&self) -> DiskManagerBuilder {
        DiskManagerBuilder::default()
            .with_mode(DiskManagerMode::Directories(vec![self.spill.clone()]))
            .with_max_temp_directory_size(self.spill_bytes)
    }
}

/// A session without tables.
///
/// # Errors
/// The folder for what does not fit the memory cannot be made.
pub fn context(limits: &Limits) -> Result<SessionContext> {
    let runtime = RuntimeEnvBuilder::new()
        .with_memory_pool(Arc::new(FairSpillPool::new(limits.memory_bytes)))
        .with_disk_manager_builder(limits.disk())
        .build_arc()?;
    let mut config = SessionConfig::new().with_information_schema(true);
    config.options_mut().sql_parser.collect_spans = true;
    let sort_bytes = (limits.memory_bytes / SORT_PART).min(MOST_SORT_BYTES);
    config.options_mut().execution.sort_spill_reservation_bytes = sort_bytes;
    let state = SessionStateBuilder::new()
        .with_config(config)
        .with_runtime_env(runtime)
        .with_default_features()
        .build();
    Ok(SessionContext::new_with_state(state))
}

/// A session with the tables of these recordings and of their events, and perk's functions.
///
/// # Errors
/// The folder for what does not fit the memory cannot be made.
pub fn session(
    recordings: Recordings,
    events: &Arc<Events>,
    limits: &Limits,
) -> Result<SessionContext> {
    let context = context(limits)?;
    let recordings = Arc::new(recordings);
    for table in profile::all().into_iter().chain(heap::all()) {
        let name = table.info().name;
        context.register_table(&*name, Arc::new(Provider::new(table, Arc::clone(&recordings))))?;
    }
    let known = Arc::clone(&recordings);
    functions::register(&context, move || known.get());
    heap_functions::register(&context, &recordings);
    table_functions::register(&context, &recordings);
    events::register(&context, events)?;
    Ok(context)
}
