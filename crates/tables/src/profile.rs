//! The tables of profiles.

mod allocations;
pub(crate) mod diff;
mod fields;
pub(crate) mod flame;
mod locks;
mod methods;
mod names;
mod recordings;
mod samples;
mod stacks;
mod threads;
mod times;

use std::sync::Arc;

use crate::table::{Table, TableInfo};

/// The metric of which docs show a call tree.
const SAMPLES: &str = "samples";

/// All tables, in the order of their names, and then the functions that are tables.
pub fn tables() -> Vec<TableInfo> {
    let mut tables: Vec<_> = all().iter().map(|table| table.info()).collect();
    tables.extend([diff::diff(Arc::new([]), 0).info(), flame::flame(SAMPLES.to_owned()).info()]);
    tables
}

pub(crate) fn all() -> Vec<Arc<dyn Table>> {
    vec![
        Arc::new(recordings::accounting()),
        Arc::new(methods::edges()),
        Arc::new(fields::fields()),
        Arc::new(methods::lines()),
        Arc::new(locks::locks()),
        Arc::new(methods::methods()),
        Arc::new(recordings::metrics()),
        Arc::new(recordings::notes()),
        Arc::new(times::pauses()),
        Arc::new(recordings::recordings()),
        Arc::new(samples::samples()),
        Arc::new(times::series()),
        Arc::new(allocations::sites()),
        Arc::new(stacks::stacks()),
        Arc::new(threads::threads()),
    ]
}
