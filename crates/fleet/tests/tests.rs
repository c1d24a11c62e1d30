//! `perk-fleet` with real JVMs.

mod documentation;
mod pyroscope_api;
mod record;
mod regressions;
mod serve;
mod sql;
mod store;
