//! JVMPI, the profiler interface of JDK 1.2 to 5: constants, structures and the function table.
//!
//! [`table`] has them as data. `xtask jvmpi` writes `include/jvmpi.h` and the types of this module from
//! it. The layouts are those of x86-64 Linux, where `jint` has 4 bytes and pointers have 8.

#[allow(
    missing_docs,
    missing_debug_implementations,
    non_camel_case_types,
    non_snake_case,
    reason = "the names are the specification's, which describes them"
)]
mod generated;
pub mod table;

pub use generated::*;

/// The target type of a [`jobjectID`], which is opaque to agents.
#[derive(Debug)]
pub enum ObjectId {}

/// The target type of a [`JVMPI_RawMonitor`], which is opaque to agents.
#[derive(Debug)]
pub enum RawMonitor {}

/// The id of an object.
#[expect(non_camel_case_types, reason = "the specification's name")]
pub type jobjectID = *mut ObjectId;

/// The id of a raw monitor.
#[expect(non_camel_case_types, reason = "the specification's name")]
pub type JVMPI_RawMonitor = *mut RawMonitor;
