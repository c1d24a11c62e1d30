//! Heaps against what is true of them.

mod dump;
mod index;
mod inputs;
