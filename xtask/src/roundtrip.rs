//! `xtask roundtrip-jdk`: the classes of a JDK, read and written, with probes and without.

mod modules;
mod patched;
mod probes;

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use nix::sys::resource::{UsageWho, getrusage};
use perk_classfile::{ClassEditor, ClassFile, MethodEdit};
use perk_testkit::Jdk;

use modules::Module;
use patched::Patched;
use probes::{Counts, Kinds};

const USAGE: &str = "roundtrip-jdk JAVA_HOME [--modules java.base|all]";

/// Runs `xtask roundtrip-jdk` with these arguments.
pub(crate) fn run(arguments: &[&str]) -> Result<()> {
    let (home, module) = match arguments {
        [home] | [home, "--modules", "all"] => (home, None),
        [home, "--modules", module] => (home, Some(*module)),
        _ => bail!("{USAGE}"),
    };
    let jdk = Jdk::at(Path::new(home)).with_context(|| format!("no JDK in {home}"))?;
    round_trip(&jdk, module).map(drop)
}

/// Does everything with the classes of one module, or of all. Returns the methods without probes.
fn round_trip(jdk: &Jdk, module: Option<&str>) -> Result<Vec<String>> {
    let work = tempfile::tempdir().context("cannot make a temporary folder")?;
    let modules = modules::extract(jdk, module, &work.path().join("image"))?;
    let tell = Tell::new(jdk, &modules);
    tell.time("parsed", each(&modules, parse)?);
    tell.time("written, identical", each(&modules, |bytes| identical(bytes, false))?);
    tell.time("all code written anew, identical", each(&modules, |bytes| identical(bytes, true))?);
    for (name, kinds) in [("calls", Kinds::Calls), ("all kinds", Kinds::All)] {
        let mut counts = Counts::default();
        let time = each(&modules, |bytes| probes::instrument(bytes, kinds, &mut counts).map(drop))?;
        tell.time(&format!("probes of {name}"), time);
        tell_counts(&counts);
    }
    let (patched, skipped) = Patched::write(jdk, &modules, work.path())?;
    let linked = patched.link_all()?;
    eprintln!("linked with -Xverify:all: {linked}, and the class that was broken was found");
    eprintln!("javac under the patched JDK counted: {}", patched.compile()?);
    Ok(skipped)
}

/// Tells on stderr how fast things were done.
struct Tell {
    class_count: usize,
}

impl Tell {
    fn new(jdk: &Jdk, modules: &[Module]) -> Self {
        let classes = modules.iter().flat_map(|module| &module.classes);
        let sizes: Vec<usize> = classes.map(|class| class.bytes.len()).collect();
        let class_count = sizes.len();
        let bytes = sizes.iter().sum::<usize>() / class_count.max(1);
        let (version, modules) = (jdk.version, modules.len());
        eprintln!("JDK {version}: {class_count} classes of {bytes} bytes; modules: {modules}");
        Self { class_count }
    }

    fn time(&self, what: &str, time: Duration) {
        let total_ms = time.as_secs_f64() * 1e3;
        let per_thousand = total_ms * 1e3 / self.class_count as f64;
        eprintln!("{what}: {total_ms:.0} ms CPU, {per_thousand:.1} ms per 1000 classes");
    }
}

fn tell_counts(counts: &Counts) {
    let Counts { methods, probes, undecided, skipped } = counts;
    eprintln!("  {probes} probes in {methods} methods");
    eprintln!("  constructors whose unwinding is not seen: {undecided}");
    eprintln!("  methods skipped: {}", skipped.len());
    skipped.iter().for_each(|skipped| eprintln!("    {skipped}"));
}

fn parse(bytes: &[u8]) -> Result<()> {
    ClassFile::parse(bytes)?;
    Ok(())
}

/// Calls `action` for each class; returns the CPU time it took.
fn each(modules: &[Module], mut action: impl FnMut(&[u8]) -> Result<()>) -> Result<Duration> {
    let start = cpu_time()?;
    for class in modules.iter().flat_map(|module| &module.classes) {
        action(&class.bytes).with_context(|| class.name.clone())?;
    }
    Ok(cpu_time()? - start)
}

fn cpu_time() -> Result<Duration> {
    let usage = getrusage(UsageWho::RUSAGE_THREAD).context("getrusage")?;
    let microseconds: i64 = [usage.user_time(), usage.system_time()]
        .map(|time| time.tv_sec() * 1_000_000 + time.tv_usec())
        .iter()
        .sum();
    Ok(Duration::from_micros(microseconds.unsigned_abs()))
}

/// Fails unless a class that is written is the class that was read.
fn identical(bytes: &[u8], all_code: bool) -> Result<()> {
    let class = ClassFile::parse(bytes)?;
    let mut editor = ClassEditor::new(&class);
    if all_code {
        let nothing = MethodEdit::new();
        for (index, method) in class.methods().enumerate() {
            if method.code()?.is_some() {
                editor.edit_method(index, &nothing);
            }
        }
    }
    let edited = editor.finish();
    if let Some(skipped) = edited.skipped.first() {
        bail!("method {} is skipped: {}", skipped.method, skipped.reason);
    }
    ensure!(edited.bytes == bytes, "it is not written as it was read");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use perk_testkit::jdk;

    #[test]
    fn java_base_runs_with_probes_in_every_method() {
        jdk::each(|jdk| {
            // A Java runtime need not have what takes its image apart.
            if jdk.has_javac {
                let skipped = round_trip(jdk, Some("java.base")).unwrap();
                assert_eq!(skipped, [""; 0], "JDK {}", jdk.version);
            }
        });
    }

    #[test]
    fn wrong_arguments_are_told() {
        assert_eq!(run(&[]).unwrap_err().to_string(), USAGE);
        let error = run(&["/no/such/jdk"]).unwrap_err();
        assert_eq!(error.to_string(), "no JDK in /no/such/jdk");
    }
}
