//! Measurements that a JVM has to be started with.

use anyhow::bail;

use crate::args::{Cpu, Heap, Measured};

/// Fails if one of the measurements cannot begin in a running JVM.
///
/// # Errors
/// The measurement, and what there is instead, in one line.
pub(super) fn what_cannot_attach(args: &Measured) -> anyhow::Result<()> {
    const RUN: &str = "start the program with perk run";
    const SELECT: &str = "name the methods to count (--include 'com.acme.*')";
    let is_of_all = |cpu| args.cpu == Some(cpu) && args.include.is_empty();
    let is_estimated = args.heap == Some(Heap::Sites) && args.sample.is_some();
    for (what, is_given, instead) in [
        ("--cpu times without --include", is_of_all(Cpu::Times), SELECT),
        ("--cpu old without --include", is_of_all(Cpu::Old), SELECT),
        (
            "--heap sites without --sample",
            args.heap == Some(Heap::Sites) && !is_estimated,
            "use --alloc, which estimates",
        ),
        ("--heap dump", args.heap == Some(Heap::Dump), "use jcmd PID GC.heap_dump"),
        ("--heap all", args.heap == Some(Heap::All), "use --alloc, and jcmd PID GC.heap_dump"),
        ("--aprof", args.aprof, "use --alloc, which estimates"),
        ("--xprof", args.xprof.is_some(), "use --cpu samples"),
        ("--fields", args.fields.is_some(), ""),
        ("--jamaica", args.jamaica.is_some(), "use --cpu samples"),
    ] {
        if is_given {
            let or = if instead.is_empty() { "" } else { ", or " };
            bail!("{what} cannot begin in a running program: {instead}{or}{RUN}");
        }
    }
    Ok(())
}
