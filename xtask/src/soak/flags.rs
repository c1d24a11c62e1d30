//! The flags of the JVM that runs have in turn.

use std::process::Command;

use anyhow::Result;
use perk_testkit::Jdk;

/// Flags of one run.
#[derive(Clone, Copy, Debug)]
pub(super) struct Flags {
    pub(super) all: &'static [&'static str],
    /// Whether a program takes many times as long.
    pub(super) is_slow: bool,
    /// Whether the JVM prints lines of its own among the program's.
    pub(super) is_chatty: bool,
}

impl Flags {
    pub(super) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }
}

const fn usual(all: &'static [&'static str]) -> Flags {
    Flags { all, is_slow: false, is_chatty: false }
}

const fn slow(all: &'static [&'static str]) -> Flags {
    Flags { all, is_slow: true, is_chatty: false }
}

const fn chatty(all: &'static [&'static str]) -> Flags {
    Flags { all, is_slow: false, is_chatty: true }
}

const ALL: [Flags; 17] = [
    usual(&[]),
    slow(&["-Xint"]),
    usual(&["-XX:+UseSerialGC", "-Xmx512m"]),
    usual(&["-XX:+UseZGC"]),
    slow(&["-Xcomp"]),
    usual(&["-XX:+UseParallelGC", "-Xmx512m"]),
    usual(&["-XX:-TieredCompilation"]),
    usual(&["-XX:+UseShenandoahGC"]),
    usual(&["-XX:TieredStopAtLevel=1"]),
    usual(&["-XX:+UseCompactObjectHeaders"]),
    usual(&["-XX:+UseG1GC", "-Xmx256m", "-Xms16m"]),
    chatty(&["-Xcheck:jni"]),
    chatty(&["-XX:ReservedCodeCacheSize=6m"]),
    usual(&["-XX:+UseZGC", "-XX:+ZGenerational"]),
    chatty(&["-XX:StartFlightRecording:settings=profile,filename=whole.jfr"]),
    usual(&["-XX:-UseCompressedOops", "-XX:-SegmentedCodeCache"]),
    usual(&["-XX:+UseCompactObjectHeaders", "-XX:+UseZGC"]),
];

/// Returns the flags that a JDK takes.
pub(super) fn of(jdk: &Jdk) -> Result<Vec<Flags>> {
    let folder = tempfile::tempdir()?;
    let is_taken = |flags: &Flags| {
        let mut java = Command::new(jdk.java());
        java.args(flags.all).arg("-version").current_dir(folder.path());
        java.output().is_ok_and(|output| {
            let text = String::from_utf8_lossy(&output.stderr);
            output.status.success() && !text.contains("not supported") && !text.contains("Ignoring")
        })
    };
    Ok(ALL.into_iter().filter(is_taken).collect())
}
