//! Rendering: typed tables and documents as text for people, as CSV and as JSON.
//!
//! A view defines the columns of a table once: the key of a number with its unit, its heading, the total
//! that its shares are of. A [`LazyTable`] borrows what it shows and makes no row before it is asked for; a
//! [`Table`] is a value of its own, with the names that its rows need. The renderers do the rest:
//! escaping, alignment, the width of the screen, names of methods. Nothing here reads files or knows where a
//! number comes from.
#![forbid(unsafe_code)]

mod bar;
mod cell;
mod csv;
mod excerpt;
mod json;
mod locks;
mod markdown;
mod names;
mod screen;
mod subset;
mod table;
mod text;
mod values;

pub use bar::bar;
pub use cell::{Cell, TableRow};
pub use excerpt::Excerpt;
pub use json::Json;
pub use locks::{DumpNames, lock_suffix};
pub use markdown::markdown;
pub use names::{class, class_name, frame, full_name, labels, place, short_method};
pub use screen::{Colour, Screen};
pub use table::{Column, LazyTable, Rows, Table};
pub use text::{Part, Section, middle_cut, text};
