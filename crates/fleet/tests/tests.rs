//! `perk-fleet` with real JVMs.

mod documentation;
mod record;
mod sql;
mod store;
