//! `xtask bench readers`: the speed of reading files, measured on generated ones. One line of
//! [`FORMS`] is one form: its generator and its reader.

mod collapsed;
mod fields;
mod hprof_text;
mod jfr;
mod pprof;
mod stacks;

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::{env, mem};

use anyhow::{Context, Result, bail, ensure};
use perk_profile::Profile;

use super::child;
use super::statistics::Spread;

const DEFAULT_MB: u64 = 320;
const DEFAULT_ROUNDS: usize = 3;
/// The subcommand of `bench readers` that reads one file, in a separate process.
const READ: &str = "--read";

const USAGE: &str = "bench readers [--mb N] [--rounds N] [--only FORM,...]";

/// A form of files.
struct Form {
    /// The name for `--only`.
    name: &'static str,
    /// Writes a file of about `bytes` bytes.
    generate: fn(out: &mut dyn Write, bytes: u64) -> io::Result<()>,
    read: fn(file: File) -> Result<Profile>,
}

const FORMS: [Form; 6] = [
    Form {
        name: "hprof-text",
        generate: hprof_text::generate,
        read: |file| Ok(perk_hprof::read(file)?),
    },
    Form {
        name: "collapsed",
        generate: collapsed::generate,
        read: |file| Ok(perk_formats::collapsed::read(file)?),
    },
    Form {
        name: "pprof",
        generate: pprof::generate,
        read: |file| Ok(perk_formats::pprof::read(file)?),
    },
    Form {
        name: "pprof-unique",
        generate: pprof::generate_unique,
        read: |file| Ok(perk_formats::pprof::read(file)?),
    },
    Form { name: "jfr", generate: jfr::generate, read: |file| Ok(perk_formats::jfr::read(file)?) },
    Form {
        name: "fields",
        generate: fields::generate,
        read: |file| Ok(perk_formats::shared_fields::read(file)?),
    },
];

/// Runs `xtask bench readers` with these arguments.
pub(super) fn run(arguments: &[&str]) -> Result<()> {
    if let [READ, name, path] = *arguments {
        let form = FORMS.iter().find(|form| form.name == name).context("no such form")?;
        let profile = (form.read)(File::open(path)?)?;
        let is_read = profile.traces().len() > 1 || profile.field_accesses().is_some();
        ensure!(is_read, "nothing was read");
        // Freeing the memory is not a part of reading.
        mem::forget(profile);
        return Ok(());
    }
    let options = Options::parse(arguments)?;
    let work = tempfile::tempdir().context("cannot make a temporary folder")?;
    let this = env::current_exe().context("cannot find this program")?.display().to_string();
    let mut text = String::from(
        "| form | file | MB/s of CPU time | CPU s | peak RSS |\n|---|---|---|---|---|\n",
    );
    for form in FORMS.iter().filter(|form| options.takes(form.name)) {
        let path = work.path().join(form.name);
        let mb = generate(form, &path, options.mb)? as f64 / 1e6;
        let command = [&this, "bench", "readers", READ, form.name, &path.display().to_string()];
        let usages: Result<Vec<_>> =
            (0..options.rounds).map(|_| child::measure(&command)).collect();
        let usages = usages.with_context(|| form.name)?;
        let cpu_s = Spread::of(usages.iter().map(|it| it.cpu_s));
        let speed = Spread::of(usages.iter().map(|it| mb / it.cpu_s)).text(0);
        let rss_mb = Spread::of(usages.iter().map(|it| it.peak_rss_bytes / 1e6)).median;
        text += &format!(
            "| {} | {mb:.0} MB | {speed} | {:.2} | {rss_mb:.0} MB |\n",
            form.name, cpu_s.median
        );
        std::fs::remove_file(&path).context("cannot remove a generated file")?;
    }
    io::stdout().write_all(text.as_bytes()).context("cannot write to stdout")
}

/// Writes a file of `form`, of about `mb` MB. Returns its actual size in bytes.
fn generate(form: &Form, path: &Path, mb: u64) -> Result<u64> {
    let wrong = || format!("cannot write {}", path.display());
    let mut out = BufWriter::new(File::create(path).with_context(wrong)?);
    (form.generate)(&mut out, mb * 1_000_000).with_context(wrong)?;
    out.flush().with_context(wrong)?;
    Ok(path.metadata().with_context(wrong)?.len())
}

#[derive(Debug)]
struct Options {
    mb: u64,
    rounds: usize,
    /// The names of forms; empty means all.
    only: Vec<String>,
}

impl Options {
    fn parse(arguments: &[&str]) -> Result<Self> {
        let mut options = Self { mb: DEFAULT_MB, rounds: DEFAULT_ROUNDS, only: Vec::new() };
        for pair in arguments.chunks(2) {
            let &[name, value] = pair else { bail!("{} needs a value", pair[0]) };
            match name {
                "--mb" => options.mb = value.parse().context("--mb takes a number")?,
                "--rounds" => options.rounds = value.parse().context("--rounds takes a number")?,
                "--only" => options.only = value.split(',').map(str::to_owned).collect(),
                _ => bail!("unknown option {name}: {USAGE}"),
            }
        }
        ensure!(options.mb > 0 && options.rounds > 0, "--mb and --rounds must be at least 1");
        for name in &options.only {
            let known = FORMS.iter().any(|form| form.name == name);
            ensure!(known, "unknown form {name}: {}", FORMS.map(|form| form.name).join(", "));
        }
        Ok(options)
    }

    fn takes(&self, name: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|it| it == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_read() {
        let options = Options::parse(&["--mb", "5", "--only", "hprof-text"]).unwrap();
        assert_eq!((options.mb, options.rounds), (5, DEFAULT_ROUNDS));
        assert!(options.takes("hprof-text") && !options.takes("other"));
        for wrong in [&["--mb"][..], &["--mb", "0"], &["--only", "x"], &["--fast", "1"]] {
            assert!(Options::parse(wrong).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn generated_files_are_read() {
        let folder = tempfile::tempdir().unwrap();
        for form in FORMS {
            let path = folder.path().join(form.name);
            let bytes = generate(&form, &path, 2).unwrap();
            assert!((1_500_000..3_000_000).contains(&bytes), "{}: {bytes} bytes", form.name);
            let profile = (form.read)(File::open(&path).unwrap()).unwrap();
            let records = profile.field_accesses().map_or(0, |accesses| accesses.rows().len());
            assert!(profile.traces().len().max(records) > 100, "{}", form.name);
            // A recording has events that are not part of a profile, and a note reports them.
            assert!(profile.notes.is_empty() || form.name == "jfr", "{:?}", profile.notes);
        }
    }
}
