//! Flame graphs of profiles with millions of call paths: only what is seen is made.
//!
//! A [`FlameGraph`] has the numbers of one question, by path of the profile's [`MethodTree`](crate::MethodTree).
//! Nodes of a view are made when they are looked at: a node represents the paths that have the same labels, and its
//! children are those of all of them, put together by label. Two profiles can be the two sides of one graph.

mod calls;
mod label;
mod numbers;
mod rows;
mod view;

#[cfg(test)]
mod tests;

pub use calls::{LabelCalls, PairCalls};
pub use label::{FlameLabel, LabelKind, Level};
pub use numbers::{FlameGraph, Group, Question, Subject};
pub use view::{Direction, FlameNode, FlameView, Place, Sum};
