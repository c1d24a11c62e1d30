//! The objects of a heap dump: references, holders, and the bytes that each object retains.
//!
//! A dump is read with `pread` in two passes. The first lists names, classes, threads, roots and
//! the addresses of all objects ([`Heap`] numbers them by address). The second determines sizes, and
//! lists all references. An object that has one referrer only is held by it; the holders of the
//! others are solved as dominators. Contents of objects stay in the file and are read on request.
//! Data that does not fit into memory goes to scratch files.

#![forbid(unsafe_code)]

mod ahead;
mod batch;
mod bits;
mod build;
mod class;
mod class_archive;
mod column;
mod content;
mod core;
mod csr;
mod description;
mod dominators;
mod edges;
mod error;
mod findings;
mod heap;
mod held_tree;
mod ids;
mod index;
mod input;
mod links;
mod living_threads;
mod meaning;
mod memory;
mod merged_refs;
mod model;
mod namesakes;
mod number;
mod object_id;
mod options;
mod packages;
mod path_tree;
mod paths;
mod pool;
mod read;
mod referrers;
mod root;
mod root_path;
mod scan;
mod scratch;
mod sites;
mod solve;
mod space;
mod suspects;
mod thread;
mod totals;
mod tree;
mod walk;
mod workers;

pub use class::{Class, ClassIndex, ClassKind, Field, Static};
pub use content::{Content, FieldValue, Value};
pub use description::{Description, HeldClass, Member};
pub use error::Error;
pub use findings::{HeldPart, HeldRow, Package, PathNode, Place, Suspect, SuspectKind};
pub use heap::{Edge, Heap, Holder, Label, ObjectId, Reach};
pub use held_tree::TreeLimits;
pub use input::{Identity, Input, InputPart};
pub use living_threads::LivingThread;
pub use meaning::{Item, Limits, Meaning, ThreadFacts};
pub use memory::free_memory_bytes;
pub use merged_refs::MergedRef;
pub use options::{NoWatch, Options, Refs, Watch};
pub use path_tree::PathTree;
pub use paths::ShortestPaths;
pub use root::{Root, RootKind};
pub use sites::{Site, Sites};
pub use suspects::{SUSPECT_SHARE, WAY_SHARE};
pub use thread::{Frame, Local, Thread, Trace};
pub use totals::{Amount, SetSize, Totals};
pub use tree::SetOf;
