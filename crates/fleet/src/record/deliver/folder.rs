//! A folder as a destination: `service=NAME/date=YYYY-MM-DD/hour=HH/FILE`. The oldest files go first.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use anyhow::Context;
use perk_files::{Access, Destination as FileDestination};

use super::destination::{Destination, Failure};

/// The longest time between two looks at the age of the files.
const LOOK: Duration = Duration::from_secs(600);
/// The divisor of the most bytes of a folder for those that are written between two looks at its size.
const SHARE: u64 = 20;

/// The folder.
#[derive(Debug)]
pub(crate) struct Folder {
    path: PathBuf,
    keep: Option<Duration>,
    most_bytes: Option<u64>,
    /// The bytes since the last look.
    written_bytes: u64,
    looked_at: Option<Instant>,
}

/// A file of the folder.
#[derive(Debug)]
struct KeptFile {
    modified: SystemTime,
    path: PathBuf,
    bytes: u64,
}

impl Folder {
    /// The folder at a path; files are removed when they are older, or more, than this.
    pub(crate) fn new(path: PathBuf, keep: Option<Duration>, most_bytes: Option<u64>) -> Self {
        Self { path, keep, most_bytes, written_bytes: 0, looked_at: None }
    }

    /// Removes what is too old or too much.
    fn sweep(&self) {
        let mut files = Vec::new();
        list(&self.path, 0, &mut files);
        if self.keep.is_none() && self.most_bytes.is_none() {
            return;
        }
        files.sort_unstable_by(|a, b| (a.modified, &a.path).cmp(&(b.modified, &b.path)));
        let mut bytes: u64 = files.iter().map(|it| it.bytes).sum();
        for file in files {
            let is_old =
                self.keep.is_some_and(|keep| file.modified.elapsed().is_ok_and(|age| age > keep));
            // What is written until the next look has room.
            if !is_old && self.most_bytes.is_none_or(|most| bytes <= most - most / SHARE) {
                return;
            }
            if fs::remove_file(&file.path).is_ok() {
                bytes -= file.bytes;
            }
            // The folders of the hour, the day and the service, if they are empty.
            let above = file.path.ancestors().skip(1).take_while(|it| *it != self.path);
            let _ = above.take(3).try_for_each(fs::remove_dir);
        }
    }
}

/// Adds the files that perk has put there: three folders down.
fn list(folder: &Path, depth: usize, files: &mut Vec<KeptFile>) {
    const BEGINS: [&str; 3] = ["service=", "date=", "hour="];
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let Ok(its) = entry.metadata() else { continue };
        match BEGINS.get(depth) {
            Some(begin)
                if its.is_dir() && entry.file_name().to_string_lossy().starts_with(begin) =>
            {
                list(&entry.path(), depth + 1, files);
            }
            // A process was killed while it wrote the file.
            None if entry.file_name().to_string_lossy().ends_with(".part") => {
                let modified = its.modified().unwrap_or(SystemTime::now());
                if modified.elapsed().is_ok_and(|age| age > LOOK) {
                    let _ = fs::remove_file(entry.path());
                }
            }
            None if its.is_file() => {
                let modified = its.modified().unwrap_or(SystemTime::UNIX_EPOCH);
                files.push(KeptFile { modified, path: entry.path(), bytes: its.len() });
            }
            _ => {}
        }
    }
}

impl Destination for Folder {
    fn deliver(&mut self, path: &Path, file: &Path) -> Result<(), Failure> {
        let target = self.path.join(path);
        let cannot = || format!("cannot write {}", target.display());
        let folder = target.parent().unwrap_or(&self.path);
        fs::create_dir_all(folder).with_context(cannot)?;
        let mut source = fs::File::open(file).with_context(cannot)?;
        let copy = || match FileDestination::open(&target, Access::Usual)? {
            FileDestination::File(mut part) => {
                let bytes = io::copy(&mut source, &mut part.file())?;
                part.finish().map(|()| bytes)
            }
            FileDestination::Stream(_) => Err(io::Error::other("it is not a file")),
        };
        self.written_bytes += { copy }().with_context(cannot)?;
        Ok(())
    }

    fn tidy(&mut self) {
        let has_limit = self.keep.is_some() || self.most_bytes.is_some();
        if !has_limit && self.looked_at.is_some() {
            return;
        }
        let look = self.keep.map_or(LOOK, |keep| LOOK.min(keep / 4));
        let is_late = self.looked_at.is_none_or(|at| at.elapsed() >= look);
        let is_much = self.most_bytes.is_some_and(|most| self.written_bytes > most / SHARE);
        if is_late || is_much {
            self.sweep();
            self.looked_at = Some(Instant::now());
            self.written_bytes = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let mut files = Vec::new();
        list(folder, 0, &mut files);
        let mut names: Vec<_> = files
            .iter()
            .map(|it| it.path.file_name().unwrap().to_str().unwrap().to_owned())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn the_oldest_files_go_first_and_others_files_stay() {
        let temp = tempfile::tempdir().unwrap();
        let target = temp.path().join("out");
        let source = temp.path().join("source");
        fs::write(&source, [0; 100]).unwrap();
        let mut folder = Folder::new(target.clone(), None, Some(250));
        fs::create_dir_all(&target).unwrap();
        fs::write(target.join("mine"), [0; 1000]).unwrap();
        for number in 0..5 {
            let path = format!("service=a/date=2026-11-29/hour={number:02}/{number}.hprof.zst");
            folder.deliver(Path::new(&path), &source).unwrap();
            std::thread::sleep(Duration::from_millis(5));
            folder.tidy();
        }
        assert_eq!(names(&target), ["3.hprof.zst", "4.hprof.zst"]);
        assert!(
            target.join("mine").exists()
                && !target.join("service=a/date=2026-11-29/hour=00").exists()
        );
    }

    #[test]
    fn old_files_are_removed() {
        let temp = tempfile::tempdir().unwrap();
        let source = temp.path().join("source");
        fs::write(&source, "x").unwrap();
        let mut folder =
            Folder::new(temp.path().join("out"), Some(Duration::from_secs(3600)), None);
        for name in ["old", "new"] {
            let path = format!("service=a/date=d/hour=1/{name}");
            folder.deliver(Path::new(&path), &source).unwrap();
        }
        let old = temp.path().join("out/service=a/date=d/hour=1/old");
        let past = SystemTime::now() - Duration::from_secs(7200);
        fs::File::options().write(true).open(old).unwrap().set_modified(past).unwrap();
        folder.tidy();
        assert_eq!(names(&temp.path().join("out")), ["new"]);
    }
}
