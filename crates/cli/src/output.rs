//! Writes profiles to files: checked before the work begins, whole or not at all.

use std::fs;
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use anyhow::Context;
use perk_files::{Access, Destination};
use perk_formats::View;
use perk_open::{Format, display_name};

use crate::file_format;
use crate::packing::{self, Packer};
use crate::progress::ProgressStream;

/// A function that writes the content of a file.
pub(crate) type FileContent<'a> = dyn Fn(&mut dyn Write) -> io::Result<()> + 'a;

/// A file to write a profile to, packed where its ending says so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Target {
    pub(crate) path: PathBuf,
    pub(crate) format: Format,
}

impl Target {
    /// The target `path`, in the format of its ending.
    pub(crate) fn of_path(path: &Path) -> anyhow::Result<Self> {
        Ok(Self { format: file_format::of_path(path)?, path: path.to_owned() })
    }

    /// Fails if the file could not be written as things are now.
    pub(crate) fn check(&self) -> anyhow::Result<()> {
        check(&self.path)
    }

    /// The same file name with `infix` before its ending.
    pub(crate) fn with_infix(&self, infix: &str) -> Self {
        let (path, packing) = packing::split(&self.path);
        let ending = path.extension().unwrap_or_default().to_string_lossy();
        let path = packing::join(&path.with_extension(format!("{infix}.{ending}")), packing);
        Self { path, format: self.format }
    }

    /// Writes the selected part of a profile, first under a temporary name in the same folder, so that
    /// the final name has the old content or the new, and nothing between.
    pub(crate) fn write(&self, view: &View<'_>) -> anyhow::Result<()> {
        self.write_with(&|out| self.format.write_view(view, out))
    }

    /// As [`Target::write`], of what `write` writes.
    pub(crate) fn write_with(&self, write: &FileContent<'_>) -> anyhow::Result<()> {
        write_file(&self.path, Access::Usual, write)
    }
}

/// Writes a file, packed where its ending says so. It gets its name when it is complete.
pub(crate) fn write_file(
    path: &Path,
    access: Access,
    write: &FileContent<'_>,
) -> anyhow::Result<()> {
    let whole = || {
        let (_, packing) = packing::split(path);
        let destination = Destination::open(path, access)?;
        let watched = ProgressStream::new(destination.file(), &display_name(path), None);
        let mut out = Packer::new(BufWriter::new(watched), packing)?;
        write(&mut out)?;
        out.finish()?.flush()?;
        match destination {
            Destination::File(mut part) => part.finish(),
            Destination::Stream(_) => Ok(()),
        }
    };
    whole().with_context(|| format!("cannot write {}", path.display()))
}

/// Fails if no file could be written to `path` as things are now.
pub(crate) fn check(path: &Path) -> anyhow::Result<()> {
    Destination::check(path).with_context(|| format!("cannot write {}", path.display()))
}

/// Whether two paths lead to the same file. `false` where one of them does not exist.
pub(crate) fn is_same_file(a: &Path, b: &Path) -> bool {
    let id = |path| fs::metadata(path).map(|metadata| (metadata.dev(), metadata.ino()));
    matches!((id(a), id(b)), (Ok(a), Ok(b)) if a == b)
}

#[cfg(test)]
mod tests {
    use perk_profile::{CpuSamples, Profile};

    use super::*;

    /// A profile of one sample.
    fn profile() -> Profile {
        let mut profile = Profile::default();
        let rows = vec![(profile.system_trace(), 1)];
        profile.events.push(CpuSamples { total: 1, rows, ..CpuSamples::default() }.into());
        profile
    }

    fn target(path: &Path) -> Target {
        Target::of_path(path).unwrap()
    }

    #[test]
    fn a_pid_goes_before_the_ending() {
        let target = target(Path::new("/x/a.b.txt")).with_infix("12");
        assert_eq!(target.path, Path::new("/x/a.b.12.txt"));
        let packed = self::target(Path::new("/x/a.b.txt.gz")).with_infix("12");
        assert_eq!(packed.path, Path::new("/x/a.b.12.txt.gz"));
    }

    #[test]
    fn what_cannot_be_written_is_refused() {
        let temp = tempfile::tempdir().unwrap();
        let folder = temp.path().join("folder.txt");
        fs::create_dir(&folder).unwrap();
        assert!(target(&folder).check().is_err());
        assert!(target(&temp.path().join("none/a.txt")).check().is_err());
        assert!(target(&temp.path().join("new.txt")).check().is_ok());
        assert_eq!(fs::read_dir(temp.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_failed_write_leaves_nothing() {
        let temp = tempfile::tempdir().unwrap();
        let full = temp.path().join("full.collapsed");
        std::os::unix::fs::symlink("/dev/full", &full).unwrap();
        let profile = profile();
        assert!(target(&full).check().is_ok());
        let full = Target { format: file_format::of_path(Path::new("a.txt")).unwrap(), path: full };
        let error = full.write(&View::new(&profile, "x")).unwrap_err();
        assert!(format!("{error:#}").contains("No space left"), "{error:#}");
        assert_eq!(fs::read_dir(temp.path()).unwrap().count(), 1);
    }

    #[test]
    fn nothing_empty_is_written() {
        let temp = tempfile::tempdir().unwrap();
        for format in perk_formats::FORMATS.into_iter().filter(|format| format.is_written()) {
            let path = temp.path().join(format!("empty.{}", format.ending()));
            let target = Target { path, format };
            assert!(target.write(&View::new(&Profile::default(), "x")).is_err(), "{format:?}");
        }
        assert_eq!(fs::read_dir(temp.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_link_keeps_leading_to_its_file() {
        let temp = tempfile::tempdir().unwrap();
        let real = temp.path().join("real.txt");
        fs::File::create(&real).unwrap();
        let link = temp.path().join("link.txt");
        std::os::unix::fs::symlink(&real, &link).unwrap();
        target(&link).write(&View::new(&profile(), "x")).unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert!(fs::metadata(&real).unwrap().len() > 0);
        assert!(is_same_file(&real, &link));
    }
}
