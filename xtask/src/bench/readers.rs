//! `xtask bench readers`: the speed of reading files, measured on generated ones. One line of
//! [`FORMATS`] is one format: its generator and its reader.

mod collapsed;
mod fields;
mod hprof_text;
mod jfr;
mod pprof;
pub(super) mod stacks;

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::{env, mem};

use anyhow::{Context, Result, ensure};
use clap::builder::PossibleValuesParser;
use clap::{Args, value_parser};
use perk_profile::Profile;

use crate::arguments;

use super::child;
use super::statistics::Spread;

/// The command of `xtask bench` that reads one file, in a separate process.
const READ: &str = "read-file";

/// The arguments of `xtask bench readers`.
#[derive(Args, Debug)]
pub(crate) struct ReadersArguments {
    /// The size of each file in MB
    #[arg(long, default_value = "320", value_name = "N", value_parser = value_parser!(u64).range(1..))]
    mb: u64,
    /// The number of times that each file is read
    #[arg(long, default_value = "3", value_name = "N", value_parser = arguments::positive())]
    rounds: usize,
    /// The formats [default: all]
    #[arg(long, value_delimiter = ',', value_name = "FORMAT,...", value_parser = formats())]
    only: Vec<String>,
}

/// A generated file.
#[derive(Args, Debug)]
pub(crate) struct GeneratedFile {
    #[arg(value_parser = formats())]
    format: String,
    path: PathBuf,
}

fn formats() -> PossibleValuesParser {
    FORMATS.map(|format| format.name).into()
}

impl GeneratedFile {
    /// Reads the file.
    pub(super) fn read(&self) -> Result<()> {
        let format =
            FORMATS.iter().find(|format| format.name == self.format).context("no such format")?;
        let profile = (format.read)(File::open(&self.path)?)?;
        let is_read = profile.traces().len() > 1 || profile.field_accesses().is_some();
        ensure!(is_read, "nothing was read");
        // Freeing the memory is not a part of reading.
        mem::forget(profile);
        Ok(())
    }
}

/// A format of files.
struct GeneratedFormat {
    /// The name for `--only`.
    name: &'static str,
    /// Writes a file of about `bytes` bytes.
    generate: fn(out: &mut dyn Write, bytes: u64) -> io::Result<()>,
    read: fn(file: File) -> Result<Profile>,
}

const FORMATS: [GeneratedFormat; 6] = [
    GeneratedFormat {
        name: "hprof-text",
        generate: hprof_text::generate,
        read: |file| Ok(perk_hprof::read(file)?),
    },
    GeneratedFormat {
        name: "collapsed",
        generate: collapsed::generate,
        read: |file| Ok(perk_formats::collapsed::read(file)?),
    },
    GeneratedFormat {
        name: "pprof",
        generate: pprof::generate,
        read: |file| Ok(perk_formats::pprof::read(file)?),
    },
    GeneratedFormat {
        name: "pprof-unique",
        generate: pprof::generate_unique,
        read: |file| Ok(perk_formats::pprof::read(file)?),
    },
    GeneratedFormat {
        name: "jfr",
        generate: jfr::generate,
        read: |file| Ok(perk_formats::jfr::read(file)?),
    },
    GeneratedFormat {
        name: "fields",
        generate: fields::generate,
        read: |file| Ok(perk_formats::shared_fields::read(file)?),
    },
];

/// Runs `xtask bench readers`.
pub(super) fn run(options: &ReadersArguments) -> Result<()> {
    let work = tempfile::tempdir().context("cannot make a temporary folder")?;
    let this = env::current_exe().context("cannot find this program")?.display().to_string();
    let mut text = String::from(
        "| format | file | MB/s of CPU time | CPU s | peak RSS |\n|---|---|---|---|---|\n",
    );
    for format in FORMATS.iter().filter(|format| options.takes(format.name)) {
        let path = work.path().join(format.name);
        let mb = generate(format, &path, options.mb)? as f64 / 1e6;
        let command = [&this, "bench", READ, format.name, &path.display().to_string()];
        let usages: Result<Vec<_>> =
            (0..options.rounds).map(|_| child::measure(&command)).collect();
        let usages = usages.with_context(|| format.name)?;
        let cpu_s = Spread::of(usages.iter().map(|it| it.cpu_s));
        let speed = Spread::of(usages.iter().map(|it| mb / it.cpu_s)).text(0);
        let rss_mb = Spread::of(usages.iter().map(|it| it.peak_rss_bytes / 1e6)).median;
        text += &format!(
            "| {} | {mb:.0} MB | {speed} | {:.2} | {rss_mb:.0} MB |\n",
            format.name, cpu_s.median
        );
        std::fs::remove_file(&path).context("cannot remove a generated file")?;
    }
    io::stdout().write_all(text.as_bytes()).context("cannot write to stdout")
}

/// Writes a file of `format`, of about `mb` MB. Returns its actual size in bytes.
fn generate(format: &GeneratedFormat, path: &Path, mb: u64) -> Result<u64> {
    let wrong = || format!("cannot write {}", path.display());
    let mut out = BufWriter::new(File::create(path).with_context(wrong)?);
    (format.generate)(&mut out, mb * 1_000_000).with_context(wrong)?;
    out.flush().with_context(wrong)?;
    Ok(path.metadata().with_context(wrong)?.len())
}

impl ReadersArguments {
    fn takes(&self, name: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|it| it == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn generated_files_are_read() {
        let folder = tempfile::tempdir().unwrap();
        for format in FORMATS {
            let path = folder.path().join(format.name);
            let bytes = generate(&format, &path, 2).unwrap();
            assert!((1_500_000..3_000_000).contains(&bytes), "{}: {bytes} bytes", format.name);
            let profile = (format.read)(File::open(&path).unwrap()).unwrap();
            let records = profile.field_accesses().map_or(0, |accesses| accesses.rows().len());
            assert!(profile.traces().len().max(records) > 100, "{}", format.name);
            // A recording has events that are not part of a profile, and a note reports them.
            assert!(profile.notes.is_empty() || format.name == "jfr", "{:?}", profile.notes);
        }
    }
}
