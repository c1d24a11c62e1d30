//! Heaps against what is true of them: graphs made at random, programs whose sizes are arithmetic,
//! what JVMs say of themselves, and files that are packed, odd or broken.

mod broken;
mod dump;
mod graph;
mod histogram;
mod index;
mod inputs;
mod jhat;
mod large;
mod plain;
mod random;
mod real;
mod retained;
mod truth;
mod visualvm;
