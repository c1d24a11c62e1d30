//! `perk-fleet` with real JVMs.

mod record;
mod sql;
