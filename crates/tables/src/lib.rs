//! Profiles and heap dumps as tables that SQL asks: [`session`] makes a DataFusion session of recordings. [`tables`] and
//! [`heap_tables`] have all tables, with their columns and what these mean.
//!
//! A table of events has the events of one type of a JFR recording, which are read again for each query.
//!
//! A table is made while it is read: of a recording after the other, and only the columns that the query names. A heap
//! dump is analysed for the first query that asks it, and its dominators are found for the first that needs them.
#![forbid(unsafe_code)]

mod events;
mod fault;
mod functions;
mod heap;
mod heap_dump;
mod heap_functions;
mod profile;
mod provider;
mod recording;
mod recording_table;
mod recordings;
mod sample;
mod session;
mod stacks;
mod table;
mod table_functions;

pub use events::{EventFile, Events, Names};
pub use fault::fault;
pub use functions::{all as stack_functions, register as register_functions};
pub use heap::tables as heap_tables;
pub use heap_dump::HeapDump;
pub use profile::tables;
pub use recording::Recording;
pub use recording_table::RecordingTable;
pub use recordings::Recordings;
pub use sample::Sample;
pub use session::{Limits, context, session};
pub use stacks::{STACK_ID_BYTES, StackId, frames, stack_ids};
pub use table::{ColumnInfo, TableInfo, map_names, map_type, slices};
