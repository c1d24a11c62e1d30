//! Tests of the `perk` command as its users start it.

mod attach;
mod ci;
mod convert;
mod diff;
mod exact;
mod files;
mod foreign;
mod heap;
mod input;
mod install;
mod jamaica;
mod json;
mod launch;
mod listen;
mod mistakes;
mod monitors;
mod names;
mod report;
mod run;
mod serve;
mod shared_fields;
mod source;
mod texts;
mod util;
mod view;
