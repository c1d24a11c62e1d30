//! The folders of perk's that were killed: nobody else removes them.

use std::fs::{self, File};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::Duration;

use rustix::fs::{FlockOperation, flock};
use rustix::process::geteuid;

/// The age from which a folder that nobody holds is removed. A JVM of a killed perk may still begin to write to
/// it.
const KEPT_FOR: Duration = Duration::from_secs(24 * 3600);

/// Holds a folder until the file is closed, or the process has ended in whatever way.
pub(super) fn hold(folder: &Path) -> Option<File> {
    let folder = File::open(folder).ok()?;
    flock(&folder, FlockOperation::NonBlockingLockExclusive).is_ok().then_some(folder)
}

/// Removes the empty folders in `parent` whose names begin with `begin` and that no process holds any more. What
/// has a file in it is kept: somebody may want the profile.
pub(super) fn remove(parent: &Path, begin: &str) {
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        let is_own = |path: &Path| {
            let its = fs::symlink_metadata(path).ok()?;
            let age = its.modified().ok()?.elapsed().ok()?;
            Some(its.is_dir() && its.uid() == geteuid().as_raw() && age >= KEPT_FOR)
        };
        let path = entry.path();
        if entry.file_name().as_encoded_bytes().starts_with(begin.as_bytes())
            && is_own(&path) == Some(true)
            && hold(&path).is_some()
        {
            let _ = fs::remove_dir(&path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::SystemTime;

    #[test]
    fn only_old_empty_folders_that_nobody_holds_are_removed() {
        let parent = tempfile::tempdir().unwrap();
        let make = |name: &str, is_old: bool| {
            let path = parent.path().join(name);
            fs::create_dir(&path).unwrap();
            if name == "perk-full" {
                fs::write(path.join("perk-1.hprof"), "x").unwrap();
            }
            let age = if is_old { KEPT_FOR } else { Duration::ZERO };
            let times = fs::FileTimes::new().set_modified(SystemTime::now() - age);
            File::open(&path).unwrap().set_times(times).unwrap();
            path
        };
        make("perk-gone", true);
        make("perk-full", true);
        make("perk-new", false);
        make("other", true);
        let held = hold(&make("perk-held", true)).unwrap();
        let names = || {
            let entries = fs::read_dir(parent.path()).unwrap();
            let mut names: Vec<_> =
                entries.map(|it| it.unwrap().file_name().into_string().unwrap()).collect();
            names.sort();
            names
        };
        remove(parent.path(), "perk-");
        assert_eq!(names(), ["other", "perk-full", "perk-held", "perk-new"]);
        drop(held);
        remove(parent.path(), "perk-");
        assert_eq!(names(), ["other", "perk-full", "perk-new"]);
    }
}
