//! `xtask roundtrip-jdk`: the classes of a JDK are read and written, and linked with probes.
//!
//! The probes are those that the agent places, and call the helper class that it carries. This
//! command uses whole JDKs; the tests of `perk-instrument` do the same with java.base.

#[path = "../../crates/instrument/tests/support/mod.rs"]
mod support;

use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use clap::Args;
use nix::sys::resource::{UsageWho, getrusage};
use perk_classfile::ClassFile;
use perk_testkit::Jdk;

use crate::arguments;
use support::image::{self, ImageClass};
use support::round_trip::{self, KINDS, ProbeResult};

/// The arguments of `xtask roundtrip-jdk`.
#[derive(Args, Debug)]
pub(crate) struct RoundtripArguments {
    /// The JDK, by its version or folder
    #[arg(value_name = "VERSION|HOME", value_parser = arguments::jdk)]
    jdk: Jdk,
    /// The modules, such as java.base [default: all]
    #[arg(long, value_delimiter = ',', value_name = "MODULE,...")]
    modules: Vec<String>,
}

/// Runs `xtask roundtrip-jdk`.
pub(crate) fn run(RoundtripArguments { jdk, modules }: &RoundtripArguments) -> Result<()> {
    let classes = image::read(jdk, modules);
    ensure!(!classes.is_empty(), "no module {}", modules.join(","));
    let failures = round_trip(jdk, &classes)?;
    ensure!(failures == 0, "failures: {failures}");
    Ok(())
}

/// Runs all steps on classes, and reports on stderr. Returns the number of reported failures.
fn round_trip(jdk: &Jdk, classes: &[ImageClass]) -> Result<usize> {
    let bytes: usize = classes.iter().map(|class| class.bytes.len()).sum();
    let (version, count) = (jdk.version, classes.len());
    eprintln!("JDK {version}: {count} classes of {} bytes", bytes / count.max(1));
    let parse = |bytes: &[u8]| ClassFile::parse(bytes).map(drop).map_err(|it| it.to_string());
    let mut failures = each("parsed", classes, parse)?;
    failures += each("written as they were read", classes, |it| round_trip::identical(it, false))?;
    failures += each("with all code written anew", classes, |it| round_trip::identical(it, true))?;
    let leaves = timed("leaves found", count, || round_trip::leaf_table(classes))?;
    for kind in KINDS {
        let what = format!("probes of {}", kind.name);
        let probed = timed(&what, count, || ProbeResult::new(classes, kind, &leaves))?;
        let (changed, methods) = (probed.classes.len(), probed.method_count);
        let added = probed.added_bytes / methods.max(1);
        eprintln!(
            "  classes changed: {changed}, methods: {methods}, bytes added per method: {added}"
        );
        print_lines("methods that lack probes", &probed.skipped);
        let begin = Instant::now();
        let failed = probed.link(jdk);
        eprintln!("  linked, and javac run, in {:.0} s", begin.elapsed().as_secs_f64());
        print_lines("failures", &failed);
        failures += failed.len();
    }
    Ok(failures)
}

/// Calls `action` for each class; returns the number of classes for which it fails.
fn each(
    what: &str,
    classes: &[ImageClass],
    action: impl Fn(&[u8]) -> Result<(), String>,
) -> Result<usize> {
    let failed: Vec<String> = timed(what, classes.len(), || {
        let failure = |class: &ImageClass| {
            let reason = action(&class.bytes).err()?;
            Some(format!("{}/{}: {reason}", class.module, class.name))
        };
        classes.iter().filter_map(failure).collect()
    })?;
    print_lines("failures", &failed);
    Ok(failed.len())
}

/// Prints the CPU time of an action on `class_count` classes.
fn timed<T>(what: &str, class_count: usize, action: impl FnOnce() -> T) -> Result<T> {
    let start = cpu_time()?;
    let result = action();
    let total_ms = (cpu_time()? - start).as_secs_f64() * 1e3;
    let each_ms = total_ms / class_count.max(1) as f64;
    eprintln!("{what}: {total_ms:.0} ms CPU, {each_ms:.4} ms a class");
    Ok(result)
}

fn print_lines(what: &str, lines: &[String]) {
    eprintln!("  {what}: {}", lines.len());
    lines.iter().for_each(|line| eprintln!("    {line}"));
}

fn cpu_time() -> Result<Duration> {
    let usage = getrusage(UsageWho::RUSAGE_THREAD).context("getrusage")?;
    let microseconds: i64 = [usage.user_time(), usage.system_time()]
        .map(|time| time.tv_sec() * 1_000_000 + time.tv_usec())
        .iter()
        .sum();
    Ok(Duration::from_micros(microseconds.unsigned_abs()))
}
