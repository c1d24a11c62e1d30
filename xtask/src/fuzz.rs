//! `xtask fuzz`: cargo-fuzz on the code that reads foreign bytes, with seeds. A reader may refuse its input. It
//! must not panic, hang, or take more memory than the file justifies.

#[cfg(test)]
#[path = "../../fuzz/src/class.rs"]
mod class;
#[cfg(test)]
#[path = "../../fuzz/src/targets.rs"]
mod targets;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use clap::Args;
use perk_control::Command;
use perk_control::commands::Threads;
use perk_testkit::fixture;

use crate::workspace::{cargo, root};

/// libFuzzer's limits of an input: its seconds, the process's megabytes, and its bytes. The time is better spent
/// on more inputs than on larger ones.
const LIMITS: [&str; 3] = ["-timeout=10", "-rss_limit_mb=2048", "-max_len=65536"];

/// The parts of option strings.
const OPTIONS: [&str; 4] = [
    "cpu=samples,interval=500us,depth=64,thread=y,cutoff=0.01,format=b,idsize=4,version=1.0.1",
    "cpu=times,timing=exact,clock=wall,include=a.B:c.*,exclude=x.Y.z,max-nodes=8m,lineno=n",
    "heap=all,sample=512k,monitor=y,locks=y,gc=y,force=n,file=%p.txt,aprof=between",
    "heap=sites,net=[::1]:4000,doe=n,verbose=n,classes=used",
];

/// The arguments of `xtask fuzz`.
#[derive(Args, Debug)]
pub(crate) struct FuzzArguments {
    /// The target, of those that cargo fuzz list names [default: each in turn]
    target: Option<String>,
    /// The time for each target
    #[arg(long, default_value = "10", value_name = "N")]
    seconds: u64,
}

/// Fuzzes one target, or each in turn.
pub(crate) fn run(FuzzArguments { target, seconds }: &FuzzArguments) -> Result<()> {
    let names = match target {
        Some(name) => vec![name.clone()],
        None => names()?,
    };
    for name in names {
        let corpus = root().join("fuzz/corpus").join(&name);
        fs::create_dir_all(&corpus).with_context(|| corpus.display().to_string())?;
        let status = cargo()
            .args(["fuzz", "run", "--sanitizer", "none", &name])
            .args([corpus, seeds(&name)?])
            .arg("--")
            .arg(format!("-max_total_time={seconds}"))
            .args(LIMITS)
            .status()
            .context("cannot start cargo")?;
        ensure!(
            status.success(),
            "cargo fuzz run {name}: {status} (tools/setup.sh fuzz installs it)"
        );
    }
    Ok(())
}

/// Returns the names of the targets.
fn names() -> Result<Vec<String>> {
    let manifest = fs::read_to_string(root().join("fuzz/Cargo.toml"))?;
    let names = manifest.split("[[bin]]").skip(1).filter_map(|program| {
        let name = program.lines().find_map(|line| line.strip_prefix("name = \""))?;
        Some(name.strip_suffix('"')?.to_owned())
    });
    Ok(names.collect())
}

/// Returns the folder with the seeds of a target.
fn seeds(name: &str) -> Result<PathBuf> {
    let folder = root().join("target/fuzz-seeds").join(name);
    match name {
        "class" => {
            let source = root().join("crates/classfile/tests/java/Everything.java");
            return Ok(fixture::compile_files(&[&source]));
        }
        "options" => write_seeds(&folder, &OPTIONS)?,
        "commands" => write_seeds(&folder, &[commands()])?,
        _ => return Ok(root().join("testdata")),
    }
    Ok(folder)
}

fn write_seeds(folder: &Path, seeds: &[impl AsRef<[u8]>]) -> Result<()> {
    fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
    for (number, seed) in seeds.iter().enumerate() {
        fs::write(folder.join(number.to_string()), seed)?;
    }
    Ok(())
}

/// Returns the bytes of some commands.
fn commands() -> Vec<u8> {
    [
        Command::AllocSites { flags: 3, cutoff: 0.1 },
        Command::HeapSummary,
        Command::CpuOn(Threads::All),
        Command::Depth(8),
        Command::CpuSamples { cutoff: 0.1 },
        Command::DumpTraces,
        Command::Exit,
    ]
    .map(|command| command.encode(1))
    .concat()
}

#[cfg(test)]
mod tests {
    use super::targets::Target;
    use super::*;

    /// The largest seed of a test.
    const SMALL_BYTES: u64 = 4096;

    fn small_files(path: &Path, files: &mut Vec<PathBuf>) {
        if path.is_dir() {
            for entry in fs::read_dir(path).unwrap() {
                small_files(&entry.unwrap().path(), files);
            }
        } else if path.metadata().unwrap().len() <= SMALL_BYTES {
            files.push(path.to_owned());
        }
    }

    #[test]
    fn each_program_is_a_target_that_takes_its_seeds() {
        let targets: Vec<_> = Target::all().collect();
        assert_eq!(names().unwrap(), targets.iter().map(|it| it.name()).collect::<Vec<_>>());
        for target in targets {
            let mut files = Vec::new();
            small_files(&seeds(target.name()).unwrap(), &mut files);
            assert!(!files.is_empty(), "{}", target.name());
            files.iter().for_each(|file| target.run(&fs::read(file).unwrap()));
        }
    }
}
