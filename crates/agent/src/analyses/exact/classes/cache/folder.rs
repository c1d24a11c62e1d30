//! The folder of the files of kept classes: `perk/classes` in the user's cache folder.

use std::env;
use std::fs::{self, DirBuilder, Metadata};
use std::io::{ErrorKind, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use perk_files::{Access, Destination};
use perk_jvm::os::{self, Load, Mapping};

/// The end of the files' names.
const ENDING: &str = "classes";
/// The number of files that are kept: one for each JDK, version of perk and kind of profile.
const MOST_FILES: usize = 12;
/// The maximum size of a file, in bytes.
const MOST_BYTES: usize = 64 << 20;
/// The permission of others to write.
const OTHERS_WRITE: u32 = 0o022;

/// A file of the folder.
#[derive(Debug)]
pub(super) struct Place {
    file: PathBuf,
}

impl Place {
    /// Returns the place of a file that may exist. `None` if there is no folder that can be
    /// trusted; this is reported.
    pub(super) fn find(name: &str) -> Option<Self> {
        let absolute = |name| env::var_os(name).map(PathBuf::from).filter(|it| it.is_absolute());
        let cache = absolute("XDG_CACHE_HOME");
        let cache = cache.or_else(|| Some(absolute("HOME")?.join(".cache")))?;
        let folder = cache.join("perk/classes");
        let file = folder.join(name).with_extension(ENDING);
        is_trusted(&folder).then_some(Self { file })
    }

    /// Returns the contents of the file. Nobody changes it: it is only replaced.
    pub(super) fn read(&self) -> Option<Mapping> {
        let file = os::open_in_place(&self.file).ok()?;
        let metadata = file.metadata().ok()?;
        if let Some(fault) = fault(&metadata, metadata.is_file()) {
            report(&self.file, fault);
            return None;
        }
        let length = usize::try_from(metadata.len()).ok().filter(|it| *it <= MOST_BYTES)?;
        Mapping::of(&file, length, Load::Now)
    }

    /// Removes the file.
    pub(super) fn remove(&self) {
        let _ = fs::remove_file(&self.file);
    }

    /// Writes the file, and removes the oldest others. Without room or permission nothing is
    /// written.
    pub(super) fn write(&self, bytes: &[u8]) -> Option<()> {
        let folder = self.file.parent()?;
        DirBuilder::new().recursive(true).mode(0o700).create(folder).ok()?;
        if !is_trusted(folder) {
            return None;
        }
        let Destination::File(mut part) = Destination::open(&self.file, Access::Owner).ok()? else {
            return None;
        };
        part.file().write_all(bytes).ok()?;
        part.finish().ok()?;
        remove_oldest(folder)
    }
}

/// Whether a folder and the one above it are this user's alone, or do not exist yet; otherwise this
/// is reported.
fn is_trusted(folder: &Path) -> bool {
    folder.ancestors().take(2).all(|folder| match fs::symlink_metadata(folder) {
        Ok(metadata) => fault(&metadata, metadata.is_dir()).is_none_or(|fault| {
            report(folder, fault);
            false
        }),
        Err(error) => error.kind() == ErrorKind::NotFound,
    })
}

/// Returns the reason not to trust a file or folder.
fn fault(metadata: &Metadata, is_right_kind: bool) -> Option<&'static str> {
    if !is_right_kind {
        Some("it is a link or of another kind")
    } else if metadata.uid() != os::user_id() {
        Some("it belongs to another user")
    } else if metadata.mode() & OTHERS_WRITE != 0 {
        Some("other users can write to it")
    } else {
        None
    }
}

fn report(path: &Path, fault: &str) {
    os::say(&format!("perk: no class is kept in {}: {fault}\n", path.display()));
}

fn remove_oldest(folder: &Path) -> Option<()> {
    let age = |path: &PathBuf| fs::metadata(path).and_then(|it| it.modified()).ok();
    let paths = fs::read_dir(folder).ok()?.flatten().map(|entry| entry.path());
    let kept = paths.filter(|path| path.extension().is_some_and(|it| it == ENDING));
    let mut kept: Vec<(Option<SystemTime>, PathBuf)> = kept.map(|it| (age(&it), it)).collect();
    kept.sort_unstable();
    let count = kept.len().saturating_sub(MOST_FILES);
    kept.iter().take(count).for_each(|(_, path)| drop(fs::remove_file(path)));
    Some(())
}
