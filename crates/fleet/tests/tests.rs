//! `perk-fleet` with real JVMs.

mod documentation;
mod record;
mod regressions;
mod sql;
mod store;
