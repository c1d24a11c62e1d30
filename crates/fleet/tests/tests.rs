//! `perk-fleet` with real JVMs.

mod cluster;
mod documentation;
mod pyroscope_api;
mod record;
mod regressions;
mod serve;
mod sql;
mod store;
