//! Temporary folders and files.

use std::fs::{self, DirBuilder, File, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use crate::Access;
use crate::names::unique;

/// What a folder's owner may do in it: all.
const OWNER: u32 = 0o700;

/// A folder that nobody else can look into. It goes when it is dropped, with all that is in it.
#[derive(Debug)]
pub struct PrivateFolder {
    path: PathBuf,
    is_kept: bool,
}

impl PrivateFolder {
    /// Creates one in `parent`, whose name begins with `begin`.
    ///
    /// # Errors
    /// As the system says.
    pub fn create(parent: &Path, begin: &str) -> io::Result<Self> {
        let make = |path: &Path| DirBuilder::new().mode(OWNER).create(path);
        let (path, ()) = unique(parent, begin.as_bytes(), b"", make)?;
        let folder = Self { path, is_kept: false };
        // A umask may take the owner's rights, too.
        if fs::metadata(&folder.path)?.mode() & 0o777 != OWNER {
            fs::set_permissions(&folder.path, Permissions::from_mode(OWNER))?;
        }
        Ok(folder)
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Leaves it where it is.
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

/// A file in `folder` that has no name and is gone when it is closed.
///
/// # Errors
/// As the system says.
pub fn nameless(folder: &Path) -> io::Result<File> {
    let create = |path: &Path| {
        let mut options = File::options();
        options.read(true).write(true).create_new(true).mode(Access::Owner.mode()).open(path)
    };
    let (path, file) = unique(folder, b".perk-", b".tmp", create)?;
    fs::remove_file(&path)?;
    Ok(file)
}
