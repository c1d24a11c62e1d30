//! The tables of profiles.

mod allocations;
mod locks;
mod methods;
mod recordings;
mod samples;
mod stacks;
mod threads;
mod times;

use std::sync::Arc;

use perk_profile::{MethodId, Metric, Symbols};

use crate::table::{Table, TableInfo};

/// All tables, in the order of their names.
pub fn tables() -> Vec<TableInfo> {
    all().iter().map(|table| table.info()).collect()
}

pub(crate) fn all() -> Vec<Arc<dyn Table>> {
    vec![
        Arc::new(recordings::accounting()),
        Arc::new(methods::edges()),
        Arc::new(methods::lines()),
        Arc::new(locks::locks()),
        Arc::new(methods::methods()),
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

/// The parts of a method's name, for columns.
fn class(symbols: &Symbols, method: MethodId) -> &str {
    symbols.class_name(symbols.get_method(method).class)
}

fn name(symbols: &Symbols, method: MethodId) -> &str {
    symbols.strings.get(symbols.get_method(method).name)
}

fn signature(symbols: &Symbols, method: MethodId) -> Option<&str> {
    symbols.get_method(method).signature.map(|id| symbols.strings.get(id))
}

fn source(symbols: &Symbols, method: MethodId) -> Option<&str> {
    symbols.get_method(method).source.map(|id| symbols.strings.get(id))
}

/// The unit of a metric, as in `perk report --json`.
fn unit(metric: &Metric) -> &'static str {
    metric.unit().name()
}
