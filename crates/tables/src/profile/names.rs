//! The parts of names, for columns.

use perk_profile::{MethodId, Metric, Symbols};

/// The parts of a method's name, for columns.
pub(super) fn class(symbols: &Symbols, method: MethodId) -> &str {
    symbols.class_name(symbols.get_method(method).class)
}

pub(super) fn name(symbols: &Symbols, method: MethodId) -> &str {
    symbols.strings.get(symbols.get_method(method).name)
}

pub(super) fn signature(symbols: &Symbols, method: MethodId) -> Option<&str> {
    symbols.get_method(method).signature.map(|id| symbols.strings.get(id))
}

pub(super) fn source(symbols: &Symbols, method: MethodId) -> Option<&str> {
    symbols.get_method(method).source.map(|id| symbols.strings.get(id))
}

/// The unit of a metric, as in `perk report --json`.
pub(super) fn unit(metric: &Metric) -> &'static str {
    metric.unit().name()
}
