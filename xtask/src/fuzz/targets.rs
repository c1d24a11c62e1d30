//! The one list of what is fuzzed: by `xtask fuzz`, and by the programs of `fuzz/`, which include
//! this file.

use perk_control::{Options, commands};
use perk_formats::{
    async_profiler, collapsed, flamegraph, jamaica, jfr, perf_script, pprof, shared_fields,
    speedscope, xprof,
};
use perk_hprof::heap::Stream;
use perk_hprof::{aprof, ascii, binary, old};

use super::class;

/// What takes any bytes: its name, and what runs it. It panics where there is a fault.
pub(crate) type Target = (&'static str, fn(&[u8]));

pub(crate) const TARGETS: [Target; 19] = [
    ("hprof", |bytes| drop(perk_hprof::read(bytes))),
    ("hprof-text", |bytes| drop(ascii::read(bytes))),
    ("hprof-binary", |bytes| drop(binary::read(bytes))),
    ("hprof-old", |bytes| drop(old::read(bytes))),
    ("heap", heap),
    ("aprof", |bytes| drop(aprof::read(bytes))),
    ("collapsed", |bytes| drop(collapsed::read(bytes))),
    ("html", |bytes| drop(flamegraph::read(bytes))),
    ("xprof", |bytes| drop(xprof::read(bytes))),
    ("jamaica", |bytes| drop(jamaica::read(bytes))),
    ("fields", |bytes| drop(shared_fields::read(bytes))),
    ("pprof", |bytes| drop(pprof::read(bytes))),
    ("speedscope", |bytes| drop(speedscope::read(bytes))),
    ("jfr", |bytes| drop(jfr::read(bytes))),
    ("perf", |bytes| drop(perf_script::read(bytes))),
    ("async", |bytes| drop(async_profiler::read(bytes))),
    ("class", class::edit_and_probe),
    ("options", |bytes| drop(Options::parse(&String::from_utf8_lossy(bytes), None))),
    ("commands", commands_of),
];

/// Every record of a heap dump.
fn heap(bytes: &[u8]) {
    let Ok((_, mut records)) = Stream::new(bytes) else { return };
    while let Ok(Some(_)) = records.next() {}
}

/// Every command of a connection.
fn commands_of(mut bytes: &[u8]) {
    use commands::Received::{End, Garbage};
    while let Ok(received) = commands::read(&mut bytes)
        && !matches!(received, End | Garbage { .. })
    {}
}
