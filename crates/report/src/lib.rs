//! The views of profiles, comparisons and heaps.
//!
//! A request is a plain struct: [`ProfileRequest`], [`DiffRequest`], [`HeapRequest`]. [`View::answer`] makes an
//! [`Answer`] of it: a value that owns all it needs, with tables, sentences and notes, as text for people, as
//! one table for CSV and as a document for JSON. Terminal, browser and scripts say the same numbers, as they
//! come from the same answer. Nothing here parses arguments or prints.
//!
//! ```no_run
//! use std::path::Path;
//!
//! use perk_render::Screen;
//! use perk_report::{NamedItem, ProfileRequest, View};
//!
//! # fn main() -> anyhow::Result<()> {
//! let path = Path::new("app.hprof");
//! let input = perk_open::profile(path, &perk_open::Options::default())?;
//! let subject = NamedItem::new(perk_open::display_name(path), input);
//! let answer = ProfileRequest::default().answer(subject)?;
//! print!("{}", answer.text(&Screen::default()));
//! # Ok(())
//! # }
//! ```
#![forbid(unsafe_code)]

pub mod accounting;
mod answer;
mod conversion;
mod diff;
pub mod flame;
mod heap;
pub mod lanes;
pub mod parse;
mod profile;
pub mod selection;
mod view;
pub mod words;

pub use answer::{Answer, Check, Want};
pub use conversion::{Conversion, WritableProfile, merges_threads};
pub use diff::{DiffRequest, Limit};
pub use heap::{HeapRequest, HeapView, ObjectQuery};
pub use profile::{
    EndOfRun, Extent, ProfileRequest, ProfileView, Selection, SourcePart, TreeOrder, heap_classes,
    lead,
};
pub use view::{NamedItem, View};
