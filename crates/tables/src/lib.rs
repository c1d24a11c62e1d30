//! Profiles as tables that SQL asks: [`session`] makes a DataFusion session of recordings. [`tables`] has all tables, with
//! their columns and what these mean.
//!
//! A table of events has the events of one type of a JFR recording, which are read again for each query.
//!
//! A table is made while it is read: of a recording after the other, and only the columns that the query names.
#![forbid(unsafe_code)]

mod events;
mod functions;
mod profile;
mod provider;
mod recording;
mod recordings;
mod sample;
mod session;
mod stacks;
mod table;
mod table_functions;

pub use events::{EventFile, Events, Names};
pub use functions::register as register_functions;
pub use profile::tables;
pub use recording::Recording;
pub use recordings::Recordings;
pub use sample::Sample;
pub use session::{Limits, context, fault, session};
pub use stacks::{STACK_ID_BYTES, StackId, frames, stack_ids};
pub use table::{ColumnInfo, TableInfo, map_names, map_type};
