//! The part of a profile that is looked at: a window of time, a filter, a metric.

pub mod filter;
pub mod labels;
pub mod metric;
pub mod window;
