//! `perk-fleet record` with real JVMs.

mod record;
