//! Analyses of a profile: its numbers by method, line, source file, class, thread, caller and
//! callee; whose code they are; the methods to optimise first; filters; the comparison of two profiles. Results are
//! tables and trees of ids; showing them is left to other crates. This crate does no input or
//! output.
//!
//! All analyses of numbers by call path take any [`Metric`](perk_profile::Metric).
#![forbid(unsafe_code)]

pub mod advice;
pub mod allocations;
mod bits;
pub mod bottom_up;
pub mod calls;
pub mod charges;
pub mod columns;
pub mod cycles;
pub mod diff;
pub mod filter;
pub mod flame;
pub mod history;
pub mod inferred;
pub mod label_tree;
pub mod labels;
pub mod lanes;
pub mod limits;
pub mod lines;
pub mod locks;
pub mod method_tree;
pub mod near;
pub mod objects;
pub mod owners;
pub mod sharing;
pub mod source;
mod sums;
pub mod times;
pub mod top;
pub mod top_down;
pub mod window;

#[cfg(test)]
mod fixture;

pub use charges::{Charge, Charges, Naming, Work};
pub use columns::Columns;
pub use filter::Filter;
pub use inferred::InferredCallers;
pub use labels::LabelPattern;
pub use method_tree::MethodTree;
pub use owners::{Owner, Owners};
pub use window::Window;
