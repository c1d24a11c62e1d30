//! The books that several analyses fill.

pub(crate) mod jamaica;
mod numbers;
pub(crate) mod samples;
pub(crate) mod sites;

use perk_control::options::{Options, OutputFormat};

/// Returns the cutoff of sections that are counted. perk's own file has all rows: those with little time
/// have the most calls, and no total says how many.
pub(crate) fn cutoff_of_counts(options: &Options) -> f64 {
    if options.format == OutputFormat::Extended { 0.0 } else { options.cutoff }
}

/// Whether what trees count goes to the file from there: it holds paths node by node, and does not
/// distinguish threads, which have trees one after another.
pub(crate) fn writes_from_trees(options: &Options) -> bool {
    options.format == OutputFormat::Extended && !options.thread && !options.has_peer()
}
