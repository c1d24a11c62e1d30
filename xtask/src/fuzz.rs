//! `xtask fuzz`: the readers of all formats, and of class files, on files broken at random. A reader may refuse what it
//! is given; it must not panic, hang, or take memory that the file does not have.

use std::io::{self, Write as _};
use std::panic::{self, AssertUnwindSafe};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use std::{env, fs};

use anyhow::{Context, Result, bail, ensure};
use perk_formats::{
    async_profiler, collapsed, flamegraph, jamaica, jfr, perf_script, pprof, shared_fields,
    speedscope, xprof,
};
use perk_hprof::aprof;
use perk_testkit::fixture;

use crate::roundtrip;

/// A reader: its name, and what runs it.
type Reader = (&'static str, fn(&[u8]));

const READERS: [Reader; 13] = [
    ("hprof", |bytes| drop(perk_hprof::read(bytes))),
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
    ("class", roundtrip::try_bytes),
];

/// Larger files are no seeds: the time is better spent on more cases.
const SEED_LIMIT_BYTES: u64 = 64 * 1024;
/// A case that takes longer is a fault.
const CASE_LIMIT: Duration = Duration::from_secs(10);
/// The process may grow by so much in a case.
const GROWTH_LIMIT_BYTES: u64 = 1 << 30;
const USAGE: &str = "fuzz [FORMAT] [--seconds N] [--seed N]";

/// Fuzzes one reader, or each in turn.
pub(crate) fn run(arguments: &[&str]) -> Result<()> {
    let (mut only, mut seconds, mut seed) = (None, 10_u64, 1_u64);
    let mut arguments = arguments.iter();
    while let Some(&name) = arguments.next() {
        let mut value = || arguments.next().with_context(|| format!("{name} needs a value"));
        match name {
            "--seconds" => seconds = value()?.parse().context("--seconds takes a number")?,
            "--seed" => seed = value()?.parse().context("--seed takes a number")?,
            name if !name.starts_with('-') => only = Some(name),
            _ => bail!("unknown option {name}: {USAGE}"),
        }
    }
    let chosen: Vec<_> =
        READERS.iter().filter(|(name, _)| only.is_none_or(|only| only == *name)).collect();
    ensure!(!chosen.is_empty(), "no such format; there are {}", READERS.map(|it| it.0).join(", "));
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().context("xtask has no parent")?;
    let mut seeds = Vec::new();
    collect(&root.join("testdata"), &mut seeds)?;
    ensure!(!seeds.is_empty(), "no files in testdata");
    let mut classes = Vec::new();
    collect(
        &fixture::compile_files(&[&root.join("crates/classfile/tests/java/Everything.java")]),
        &mut classes,
    )?;
    // The panic is told with its case.
    panic::set_hook(Box::new(|_| {}));
    for &&(name, read) in &chosen {
        let seeds = if name == "class" { &classes } else { &seeds };
        let count = fuzz(name, read, seeds, Duration::from_secs(seconds), seed)?;
        writeln!(io::stdout(), "{name:<11} {count} cases, no fault")?;
    }
    Ok(())
}

/// The content of all files below `folder` that are small enough.
fn collect(folder: &Path, seeds: &mut Vec<Vec<u8>>) -> Result<()> {
    let mut paths: Vec<PathBuf> =
        fs::read_dir(folder)?.map(|entry| entry.map(|it| it.path())).collect::<Result<_, _>>()?;
    paths.sort();
    for path in paths {
        let metadata = fs::metadata(&path)?;
        if metadata.is_dir() {
            collect(&path, seeds)?;
        } else if metadata.len() <= SEED_LIMIT_BYTES {
            seeds.push(fs::read(&path)?);
        }
    }
    Ok(())
}

fn fuzz(name: &str, read: fn(&[u8]), seeds: &[Vec<u8>], time: Duration, seed: u64) -> Result<u64> {
    let mut random = Random(seed | 1);
    let begun = Instant::now();
    let mut count = 0;
    while begun.elapsed() < time {
        let bytes = case(seeds, &mut random);
        let before = resident_bytes();
        let started = Instant::now();
        let result = panic::catch_unwind(AssertUnwindSafe(|| read(&bytes)));
        let fault = if let Err(panic) = result {
            let text = panic.downcast_ref::<String>().map(String::as_str);
            let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
            Some(format!("panic: {}", text.unwrap_or("of no text")))
        } else if started.elapsed() > CASE_LIMIT {
            Some(format!("it took {:?}", started.elapsed()))
        } else if resident_bytes().saturating_sub(before) > GROWTH_LIMIT_BYTES {
            Some("it took more than 1 GiB of memory".to_owned())
        } else {
            None
        };
        if let Some(fault) = fault {
            let path = env::temp_dir().join(format!("perk-fuzz-{name}-{seed}-{count}"));
            fs::write(&path, &bytes)?;
            bail!("{name}: {fault}; the file is {}", path.display());
        }
        count += 1;
    }
    Ok(count)
}

/// A seed with a few things broken, or now and then bytes of no seed at all.
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

/// What of the process is in memory.
fn resident_bytes() -> u64 {
    const PAGE_BYTES: u64 = 4096;
    let text = fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = text.split(' ').nth(1).and_then(|it| it.parse::<u64>().ok()).unwrap_or(0);
    pages * PAGE_BYTES
}

/// Xorshift: the same cases for the same seed.
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
