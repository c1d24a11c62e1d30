//! `xtask fuzz`: the code that reads foreign bytes, on files broken at random or on the files of a
//! folder. A reader may refuse its input. It must not panic, hang, or take more memory than the
//! file justifies.

mod class;
mod targets;

use std::io::{self, Write as _};
use std::panic::{self, AssertUnwindSafe};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use std::{env, fs};

use anyhow::{Context, Result, bail, ensure};
use clap::Args;
use clap::builder::PossibleValuesParser;
use perk_control::Command;
use perk_control::commands::Threads;
use perk_testkit::{fixture, workspace};

use targets::Target;

/// The limit of the size of seeds. The time is better spent on more cases than on larger files.
const SEED_LIMIT_BYTES: u64 = 64 * 1024;
/// The time limit of a case. A longer case is a fault.
const CASE_LIMIT: Duration = Duration::from_secs(10);
/// The number of bytes by which the process may grow in a case.
const GROWTH_LIMIT_BYTES: u64 = 1 << 30;

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
    /// The target [default: each in turn]
    #[arg(value_parser = PossibleValuesParser::from(Target::all().map(Target::name).collect::<Vec<_>>()))]
    target: Option<String>,
    /// The time for each target
    #[arg(long, default_value = "10", value_name = "N")]
    seconds: u64,
    /// The seed of the random numbers
    #[arg(long, default_value = "1", value_name = "N")]
    seed: u64,
    /// Run this file, or the files of this folder, as they are, such as those that cargo-fuzz has found
    #[arg(long, value_name = "FILE|FOLDER", conflicts_with_all = ["seconds", "seed"])]
    corpus: Option<PathBuf>,
}

impl FuzzArguments {
    /// Returns the target that is named, or all targets.
    fn targets(&self) -> Vec<Target> {
        let is_chosen =
            |target: &Target| self.target.as_ref().is_none_or(|name| name == target.name());
        Target::all().filter(is_chosen).collect()
    }
}

/// Fuzzes one target, or each in turn; or runs the files of a folder through them.
pub(crate) fn run(arguments: &FuzzArguments) -> Result<()> {
    let targets = arguments.targets();
    // A panic is printed together with its case instead.
    panic::set_hook(Box::new(|_| {}));
    match &arguments.corpus {
        Some(corpus) => replay(&targets, corpus),
        None => break_at_random(&targets, arguments),
    }
}

/// Runs each file through each target.
fn replay(targets: &[Target], corpus: &Path) -> Result<()> {
    let files = files(corpus, u64::MAX)?;
    ensure!(!files.is_empty(), "no files in {}", corpus.display());
    let mut faults = 0;
    for &target in targets {
        let name = target.name();
        let before = faults;
        for file in &files {
            let bytes = fs::read(file).with_context(|| file.display().to_string())?;
            if let Some(fault) = fault_of(target, &bytes) {
                writeln!(io::stdout(), "{name}: {fault}; the file is {}", file.display())?;
                faults += 1;
            }
        }
        if faults == before {
            writeln!(io::stdout(), "{name:<12} {} files, no fault", files.len())?;
        }
    }
    ensure!(faults == 0, "{faults} faults");
    Ok(())
}

fn break_at_random(targets: &[Target], arguments: &FuzzArguments) -> Result<()> {
    let files = contents(&workspace().join("testdata"))?;
    let source = workspace().join("crates/classfile/tests/java/Everything.java");
    let classes = contents(&fixture::compile_files(&[&source]))?;
    let options: Vec<Vec<u8>> = OPTIONS.iter().map(|text| text.as_bytes().to_vec()).collect();
    for &target in targets {
        let name = target.name();
        let seeds = match name {
            "class" => &classes,
            "options" => &options,
            "commands" => &vec![commands()],
            _ => &files,
        };
        let count = fuzz(target, seeds, arguments)?;
        writeln!(io::stdout(), "{name:<12} {count} cases, no fault")?;
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

/// Returns a file, or all files below a folder, of at most `limit_bytes` bytes.
fn files(path: &Path, limit_bytes: u64) -> Result<Vec<PathBuf>> {
    let metadata = fs::metadata(path).with_context(|| path.display().to_string())?;
    if !metadata.is_dir() {
        let is_small = metadata.len() <= limit_bytes;
        return Ok(is_small.then(|| path.to_owned()).into_iter().collect());
    }
    let entries = fs::read_dir(path)?.map(|entry| entry.map(|it| it.path()));
    let mut entries = entries.collect::<Result<Vec<_>, _>>()?;
    entries.sort();
    let nested = entries.iter().map(|path| files(path, limit_bytes)).collect::<Result<Vec<_>>>()?;
    Ok(nested.concat())
}

/// Returns the content of all files below a folder that are small enough.
fn contents(folder: &Path) -> Result<Vec<Vec<u8>>> {
    let files = files(folder, SEED_LIMIT_BYTES)?;
    ensure!(!files.is_empty(), "no files in {}", folder.display());
    Ok(files.iter().map(fs::read).collect::<Result<_, _>>()?)
}

fn fuzz(target: Target, seeds: &[Vec<u8>], arguments: &FuzzArguments) -> Result<u64> {
    let name = target.name();
    let seed = arguments.seed;
    let mut random = Random(seed | 1);
    let begun = Instant::now();
    let mut count = 0;
    while begun.elapsed() < Duration::from_secs(arguments.seconds) {
        let bytes = case(seeds, &mut random);
        if let Some(fault) = fault_of(target, &bytes) {
            let path = env::temp_dir().join(format!("perk-fuzz-{name}-{seed}-{count}"));
            fs::write(&path, &bytes)?;
            bail!("{name}: {fault}; the file is {}", path.display());
        }
        count += 1;
    }
    Ok(count)
}

/// Returns the fault of a target's work on a case.
fn fault_of(target: Target, bytes: &[u8]) -> Option<String> {
    let before = resident_bytes();
    let started = Instant::now();
    let result = panic::catch_unwind(AssertUnwindSafe(|| target.run(bytes)));
    if let Err(panic) = result {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
        Some(format!("panic: {}", text.unwrap_or("of no text")))
    } else if started.elapsed() > CASE_LIMIT {
        Some(format!("it took {:?}", started.elapsed()))
    } else if resident_bytes().saturating_sub(before) > GROWTH_LIMIT_BYTES {
        Some("it took more than 1 GiB of memory".to_owned())
    } else {
        None
    }
}

/// Returns a seed with a few changes, or occasionally bytes of no seed at all.
fn case(seeds: &[Vec<u8>], random: &mut Random) -> Vec<u8> {
    let mut bytes = match random.below(50) {
        0 => (0..random.below(300)).map(|_| random.next() as u8).collect(),
        _ => seeds[random.below(seeds.len())].clone(),
    };
    for _ in 0..=random.below(6) {
        let at = random.below(bytes.len() + 1);
        let end = (at + 1 + random.below(64)).min(bytes.len());
        match random.below(9) {
            0 => bytes.truncate(at),
            1 => drop(bytes.drain(at.min(end)..end)),
            2 => {
                let again = bytes[at.min(end)..end].to_vec();
                bytes.splice(at..at, again);
            }
            3 => {
                let other = &seeds[random.below(seeds.len())];
                let from = random.below(other.len() + 1);
                let until = (from + random.below(200)).min(other.len());
                bytes.splice(at..at, other[from..until].iter().copied());
            }
            4 => {
                const DIGITS: [&[u8]; 6] =
                    [b"-1", b"0", b"4294967295", b"4294967296", b"9223372036854775808", b"1e400"];
                bytes.splice(at..at, DIGITS[random.below(DIGITS.len())].iter().copied());
            }
            5 => {
                const NUMBERS: [u64; 7] =
                    [0, 1, 0x7fff_ffff, 0xffff_ffff, 0x8000_0000, 1 << 63, u64::MAX];
                let number = NUMBERS[random.below(NUMBERS.len())].to_be_bytes();
                let width = [1, 2, 4, 8][random.below(4)];
                for (to, from) in bytes.iter_mut().skip(at).zip(&number[8 - width..]) {
                    *to = *from;
                }
            }
            _ => {
                if let Some(byte) = bytes.get_mut(at) {
                    *byte ^= 1 << random.below(8);
                }
            }
        }
    }
    bytes
}

/// Returns the number of the process's bytes that are in memory.
fn resident_bytes() -> u64 {
    const PAGE_BYTES: u64 = 4096;
    let text = fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = text.split(' ').nth(1).and_then(|it| it.parse::<u64>().ok()).unwrap_or(0);
    pages * PAGE_BYTES
}

/// A xorshift generator: the same seed gives the same cases.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 7
    }

    fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit.max(1) as u64) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The programs of `fuzz/` are made from the same list.
    #[test]
    fn cargo_fuzz_has_every_target() {
        let manifest = fs::read_to_string(workspace().join("fuzz/Cargo.toml")).unwrap();
        let names = manifest.split("[[bin]]").skip(1).map(|bin| {
            let name = bin.lines().find_map(|line| line.strip_prefix("name = \"")).unwrap();
            name.strip_suffix('"').unwrap()
        });
        assert_eq!(names.collect::<Vec<_>>(), Target::all().map(Target::name).collect::<Vec<_>>());
    }

    #[test]
    fn files_that_break_a_target_are_found() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("sub")).unwrap();
        fs::write(folder.path().join("sub/crash"), "bad").unwrap();
        fs::write(folder.path().join("whole"), "good").unwrap();
        let target = Target::Other("picky", |bytes| assert_ne!(bytes, b"bad"));
        assert_eq!(replay(&[target], folder.path()).unwrap_err().to_string(), "1 faults");
        replay(&[target], &folder.path().join("whole")).unwrap();
        assert!(replay(&[target], &folder.path().join("none")).is_err());
    }
}
