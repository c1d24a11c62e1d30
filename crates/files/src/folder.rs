//! Temporary folders and files.

use std::fs::{self, DirBuilder, File, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use crate::Access;
use crate::names::unique;

/// The permissions of a private folder: all of them for its owner, none for others.
const OWNER: u32 = 0o700;

/// A folder that only its owner can access. It is removed with its contents when it is dropped.
#[derive(Debug)]
pub struct PrivateFolder {
    path: PathBuf,
    is_kept: bool,
}

impl PrivateFolder {
    /// Creates a private folder in `parent`. Its name begins with `begin`.
    ///
    /// # Errors
    /// Returns the error of the operating system.
    pub fn create(parent: &Path, begin: &str) -> io::Result<Self> {
        let make = |path: &Path| DirBuilder::new().mode(OWNER).create(path);
        let (path, ()) = unique(parent, begin.as_bytes(), b"", make)?;
        let folder = Self { path, is_kept: false };
        // A umask may also take rights from the owner.
        if fs::metadata(&folder.path)?.mode() & 0o777 != OWNER {
            fs::set_permissions(&folder.path, Permissions::from_mode(OWNER))?;
        }
        Ok(folder)
    }

    /// Returns the path of the folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Keeps the folder: it is not removed when this is dropped.
    pub fn keep(mut self) {
        self.is_kept = true;
    }
}

impl Drop for PrivateFolder {
    fn drop(&mut self) {
        if !self.is_kept {
            let _ = fs::remove_dir_all(&self.path);
        }
    }
}

/// Creates a file in `folder` that has no name and is gone when it is closed.
///
/// # Errors
/// Returns the error of the operating system.
pub fn nameless(folder: &Path) -> io::Result<File> {
    let create = |path: &Path| {
        let mut options = File::options();
        options.read(true).write(true).create_new(true).mode(Access::Owner.mode()).open(path)
    };
    let (path, file) = unique(folder, b".perk-", b".tmp", create)?;
    fs::remove_file(&path)?;
    Ok(file)
}
