//! Files that grow from run to run: JamaicaVM's profiles.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use perk_formats::jamaica::JAMAICA;
use perk_jamaica::Flaw;

use crate::file_format;
use crate::output::Target;
use crate::packing;

/// The file if none is named, as the agent's.
const DEFAULT: &str = "java.prof";

/// The requested files; fails if a run could not be added to one of them, or could not replace it.
pub(super) fn targets(paths: &[PathBuf], replace: bool) -> anyhow::Result<Vec<Target>> {
    let default = [PathBuf::from(DEFAULT)];
    let paths = if paths.is_empty() { &default } else { paths };
    let mut targets: Vec<Target> = Vec::new();
    for path in paths {
        let name = path.display();
        let is_packed = packing::split(path).1.is_some();
        if is_packed || !file_format::has_ending(JAMAICA, path) {
            bail!("{name}: --jamaica writes .prof; perk convert converts it to other formats");
        }
        let target = Target { path: path.clone(), format: JAMAICA };
        target.check()?;
        if targets.contains(&target) {
            bail!("{name}: named twice with -o");
        }
        if !replace {
            check(path).with_context(|| format!("cannot add to {name}"))?;
        }
        targets.push(target);
    }
    Ok(targets)
}

/// Fails if the file is not a profile that a run can be added to.
fn check(path: &Path) -> anyhow::Result<()> {
    let Some(file) = existing(path)? else { return Ok(()) };
    match perk_jamaica::flaw(&file)? {
        Some(Flaw::Foreign) => bail!("it is not JamaicaVM's profile; --force replaces it"),
        Some(Flaw::Cut) => bail!("its last line is truncated; --force replaces it"),
        None => Ok(()),
    }
}

fn existing(path: &Path) -> io::Result<Option<File>> {
    match fs::metadata(path) {
        // To open a pipe is to wait for its writer.
        Ok(metadata) if !metadata.is_file() => Ok(None),
        Ok(_) => File::open(path).map(Some),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Adds the agent's `file` to the target, or replaces it. A reader sees the target without the run
/// or with all of it.
pub(super) fn write(file: &Path, target: &Target, replace: bool) -> anyhow::Result<()> {
    if !replace {
        check(&target.path).with_context(|| format!("cannot add to {}", target.path.display()))?;
    }
    target.write_with(&|out| {
        if !replace && let Some(mut old) = existing(&target.path)? {
            io::copy(&mut old, out)?;
        }
        io::copy(&mut File::open(file)?, out).map(|_| ())
    })
}
