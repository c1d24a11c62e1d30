//! A store of recordings: a folder, or a part of a bucket, with Parquet files that other engines read as they are.
//! docs/store.md has its layout.
//!
//! A recording is cut by the hours of the clock into *pieces* ([`Piece::all_of`]). A piece is three files (samples,
//! stacks, the recording), and a manifest that is written last: whoever finds the manifest finds the piece whole. The id
//! of a piece follows from its content, so that a piece that comes again changes nothing. Nothing is ever written
//! twice, so writers need no lock.
#![forbid(unsafe_code)]

mod add;
mod check;
mod columns;
mod compact;
mod encode;
mod expire;
mod file_place;
mod file_reader;
mod functions;
mod hour;
mod label_function;
mod label_text;
mod layout;
mod load;
mod manifest;
mod objects;
mod origin;
mod piece;
mod piece_id;
mod profile_table;
mod question;
mod read_dates;
mod rows;
mod schema;
mod selection;
mod span;
mod stacks;
mod store;
mod tables;
mod views;

pub use check::CheckReport;
pub use compact::CompactionSummary;
pub use expire::ExpirySummary;
pub use functions::{StoreFunction, store_functions};
pub use hour::Hour;
pub use layout::{Table, service_name};
pub use load::{Counts, Group, LabelValues, NoAnswer, Total};
pub use objects::{StoreAddress, reason};
pub use origin::Origin;
pub use piece::Piece;
pub use piece_id::PieceId;
pub use question::{Detail, KeptLabels, KeptTimes, KeyChoice, Question};
pub use selection::{HourPieces, Selection, StoredFile, Whole, Window};
pub use span::ServiceSpan;
pub use store::Store;
pub use views::{add_to_cluster_session, session, tables};
