//! An unfinished file.

use std::fs::{self, File, TryLockError};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use crate::names::{beside, folder_of, is_beside};
use crate::{Access, ReadAt};

/// A file that lies beside its target until it is complete. It is locked meanwhile: a part without
/// a lock has lost its program. If it is dropped before it has its name, it is removed, unless it
/// is kept.
#[derive(Debug)]
pub struct Part {
    file: File,
    path: PathBuf,
    target: PathBuf,
    access: Access,
    /// Whether it remains if it does not get its name.
    is_kept: bool,
    is_named: bool,
}

impl Part {
    /// Creates a part for `target`, which is not a link, and removes the parts that killed programs
    /// have left beside it.
    pub(crate) fn create(target: &Path, access: Access) -> io::Result<Self> {
        let part = Self::create_new(target, access)?;
        part.remove_stale();
        Ok(part)
    }

    fn create_new(target: &Path, access: Access) -> io::Result<Self> {
        let create = |path: &Path| {
            let mut options = File::options();
            let file =
                options.read(true).write(true).create_new(true).mode(access.mode()).open(path)?;
            // Another program that looks for stale parts may have locked or removed the file first.
            // Some file systems do not have locks.
            let is_taken = matches!(file.try_lock(), Err(TryLockError::WouldBlock));
            if is_taken || !is_at(&file, path)? {
                return Err(io::ErrorKind::AlreadyExists.into());
            }
            Ok(file)
        };
        let (path, file) = beside(target, create)?;
        let target = target.to_owned();
        Ok(Self { file, path, target, access, is_kept: false, is_named: false })
    }

    /// The file.
    pub fn file(&self) -> &File {
        &self.file
    }

    /// Returns the path of the part until it is complete.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Keeps the part from now on, even if it does not get its name.
    pub fn keep(&mut self) {
        self.is_kept = true;
    }

    /// Whether the file has its target's name already: by [`Part::show`], or because it is
    /// finished.
    ///
    /// # Errors
    /// Returns an error if the file's metadata cannot be read.
    pub fn is_shown(&self) -> io::Result<bool> {
        is_at(&self.file, &self.target)
    }

    /// Adds the target's name as a second name of the file, which continues to grow under it.
    ///
    /// # Errors
    /// Returns an error if the file system does not have links, or if it fails.
    pub fn show(&self) -> io::Result<()> {
        let (link, ()) = beside(&self.target, |link| fs::hard_link(&self.path, link))?;
        rename(&link, &self.target)
    }

    /// Gives the target's name to a copy of the file in its current state. The copy is finished.
    ///
    /// # Errors
    /// Returns the error of the copying; the target is then unchanged.
    pub fn show_copy(&self) -> io::Result<Self> {
        let mut copy = self.twin()?;
        io::copy(&mut ReadAt { file: &self.file, offset: 0 }, &mut copy.file())?;
        copy.finish()?;
        Ok(copy)
    }

    /// Creates another part for the same target. It is empty.
    ///
    /// # Errors
    /// Returns the error of the creation.
    pub fn twin(&self) -> io::Result<Self> {
        Self::create_new(&self.target, self.access)
    }

    /// Gives the file its target's name as its only name.
    ///
    /// # Errors
    /// Returns the error of the renaming; the file is then still a part.
    pub fn finish(&mut self) -> io::Result<()> {
        // Renaming one name of a file to another of its names would keep both.
        if self.is_shown()? {
            fs::remove_file(&self.path)?;
        } else {
            fs::rename(&self.path, &self.target)?;
        }
        self.is_named = true;
        Ok(())
    }

    /// Appends the bytes from `offset` on to the target, which is made if it is not there; another
    /// program may append to it at the same time. Returns the number of bytes.
    ///
    /// # Errors
    /// Returns the error of the copying; the target is then as it was.
    pub fn append(&self, offset: u64) -> io::Result<u64> {
        let mut options = File::options();
        let options = options.append(true).create(true).mode(self.access.mode());
        let mut target = options.open(&self.target)?;
        // Some file systems do not have locks.
        let _ = target.lock();
        let whole_bytes = target.metadata()?.len();
        let copied = io::copy(&mut ReadAt { file: &self.file, offset }, &mut target);
        if copied.is_err() {
            let _ = target.set_len(whole_bytes);
        }
        copied
    }

    /// Removes the file, whose content is elsewhere.
    ///
    /// # Errors
    /// Returns the error of the removal.
    pub fn remove(&mut self) -> io::Result<()> {
        fs::remove_file(&self.path)?;
        self.is_named = true;
        Ok(())
    }

    /// Removes the parts that killed programs have left beside the same target. A part without a
    /// lock does not belong to a running program. The data that it has shown is under another name.
    fn remove_stale(&self) {
        let Ok(own) = self.file.metadata() else { return };
        let Ok(entries) = fs::read_dir(folder_of(&self.target)) else { return };
        for entry in entries.flatten().filter(|it| is_beside(&it.file_name(), &self.target)) {
            let path = entry.path();
            let mut options = File::options();
            options.read(true).custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK);
            let Ok(file) = options.open(&path) else { continue };
            let is_ours = file.metadata().is_ok_and(|it| it.is_file() && it.uid() == own.uid());
            if is_ours && file.try_lock().is_ok() && is_at(&file, &path).unwrap_or(false) {
                let _ = fs::remove_file(&path);
            }
        }
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        if !self.is_named && !self.is_kept {
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Whether a file is the one with that name; it may have been moved away or replaced.
///
/// # Errors
/// Returns an error if the file's metadata cannot be read.
pub fn is_at(file: &File, name: &Path) -> io::Result<bool> {
    let its = file.metadata()?;
    let named = fs::symlink_metadata(name);
    Ok(named.is_ok_and(|named| (named.dev(), named.ino()) == (its.dev(), its.ino())))
}

/// Renames a file, or removes it if that fails.
pub(crate) fn rename(from: &Path, to: &Path) -> io::Result<()> {
    fs::rename(from, to).inspect_err(|_| drop(fs::remove_file(from)))
}
