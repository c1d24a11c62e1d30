//! What a profile says: its numbers by method, line, class, thread, caller and callee; the methods to
//! begin with; filters; the comparison of two profiles. Answers are tables and trees of ids: who shows
//! them, and how, is nothing of this crate. No input or output happens here.
//!
//! Whatever works on numbers by call path takes any [`Metric`](perk_profile::Metric).
#![forbid(unsafe_code)]

pub mod advice;
pub mod allocations;
pub mod bottom_up;
pub mod calls;
pub mod columns;
pub mod diff;
pub mod filter;
pub mod inferred;
pub mod label_tree;
pub mod lines;
pub mod locks;
pub mod method_tree;
pub mod objects;
pub mod top;
pub mod top_down;

#[cfg(test)]
mod fixture;

pub use columns::Columns;
pub use filter::Filter;
pub use inferred::InferredCallers;
pub use method_tree::MethodTree;
