//! Tests of the `perk` command as its users start it.

mod files;
mod launch;
mod run;
mod util;
