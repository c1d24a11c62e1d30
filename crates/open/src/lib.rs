//! Opens what perk reads: profiles and heap dumps, in files or streams, packed or not, of any format.
//!
//! [`profile`] makes a [`Profile`](perk_profile::Profile) of an input, [`heap`] a
//! [`Heap`](perk_heap::Heap). The content decides the format. What a reader skips is in the notes of what it
//! made; this crate prints nothing. Packed data is unpacked, up to three times; UTF-16 and the prefixes of
//! build tools are decoded. [`content`] looks at a file's beginning alone. Bytes and memory are bounded ([`Options`]).
#![forbid(unsafe_code)]

mod bounded;
mod content;
mod heap;
mod heapless;
mod memory;
mod packed;
mod prefix;
mod profile;
mod source;
mod sum;
mod utf16;

pub use content::{Content, content};
pub use heap::heap;
pub use perk_formats::FileFormat;
pub use profile::{Input, Options, has_only_heaps, prepare, profile, profile_beside_heap};
pub use source::{Source, display_name, is_stream};
pub use sum::sum;

/// A format of the registry.
pub type Format = &'static dyn FileFormat;
