//! Each program of this folder: the target of its own name.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| perk_fuzz::run(env!("CARGO_BIN_NAME"), bytes));
