//! The meaning of a name: the path of a file, or a stream that is written to directly.

use std::fs::{self, File, Metadata};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use crate::names::folder_of;
use crate::stream::Stream;

/// The number of links that are followed. The kernel has the same limit.
const MOST_LINKS: u32 = 40;
/// The mode bit of a folder in which only a file's owner may rename or remove it.
const STICKY: u32 = 0o1000;
/// The mode bits of a folder that users other than its owner may write to.
const SHARED: u32 = 0o022;

/// The meaning of a name.
#[derive(Debug)]
pub(crate) enum FilePlace {
    Stream(Stream),
    /// A path that is not a link. If there is a file, it can be replaced.
    File(PathBuf),
}

impl FilePlace {
    pub(crate) fn of(name: &Path) -> io::Result<Self> {
        let mut path = name.to_owned();
        for _ in 0..MOST_LINKS {
            if let Some(descriptor) = Stream::descriptor(&path) {
                return Ok(Self::Stream(descriptor));
            }
            let metadata = match fs::symlink_metadata(&path) {
                Ok(metadata) => metadata,
                Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Self::File(path)),
                Err(error) => return Err(error),
            };
            let kind = metadata.file_type();
            if !kind.is_symlink() {
                return Self::of_kind(path, &metadata);
            }
            check_owner(&path, &metadata, "it is a link of another user's")?;
            path = folder_of(&path).join(fs::read_link(&path)?);
        }
        Err(io::Error::from_raw_os_error(libc::ELOOP))
    }

    fn of_kind(path: PathBuf, metadata: &Metadata) -> io::Result<Self> {
        let kind = metadata.file_type();
        if kind.is_file() {
            check_replaceable(&path, metadata)?;
            Ok(Self::File(path))
        } else if kind.is_fifo() {
            check_owner(&path, metadata, "it is a pipe of another user's")?;
            Ok(Self::Stream(Stream::Pipe(path)))
        } else if kind.is_char_device() {
            Ok(Self::Stream(Stream::Device(path)))
        } else if kind.is_dir() {
            Err(io::Error::new(ErrorKind::IsADirectory, "it is a folder"))
        } else {
            let what = if kind.is_socket() { "a socket" } else { "a block device" };
            Err(io::Error::other(format!("it is {what}, not a file")))
        }
    }
}

/// Refuses a link or pipe in a folder that all users may write to, unless it belongs to this user
/// or to the folder's owner. The kernel does so with `fs.protected_symlinks` and
/// `fs.protected_fifos`.
fn check_owner(path: &Path, metadata: &Metadata, what: &str) -> io::Result<()> {
    let folder = fs::metadata(folder_of(path))?;
    let is_shared = folder.mode() & STICKY != 0 && folder.mode() & SHARED != 0;
    let is_trusted = metadata.uid() == folder.uid() || effective_uid() == Some(metadata.uid());
    match is_shared && !is_trusted {
        true => Err(io::Error::new(ErrorKind::PermissionDenied, what)),
        false => Ok(()),
    }
}

/// Refuses to replace a file that may not be written to.
fn check_replaceable(path: &Path, metadata: &Metadata) -> io::Result<()> {
    File::options().write(true).custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK).open(path)?;
    let folder = fs::metadata(folder_of(path))?;
    let user = effective_uid();
    let owners = [Some(0), Some(metadata.uid()), Some(folder.uid())];
    if folder.mode() & STICKY != 0 && !owners.contains(&user) {
        let what = "it is another user's, and none but its owner may replace it in this folder";
        return Err(io::Error::new(ErrorKind::PermissionDenied, what));
    }
    Ok(())
}

/// Returns the effective user of this process, if the system reports it. The agent contains this code, so
/// that procfs does not read the file.
fn effective_uid() -> Option<u32> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let ids = status.lines().find_map(|line| line.strip_prefix("Uid:"))?;
    // The real, effective, saved and file system ids.
    ids.split_whitespace().nth(1)?.parse().ok()
}
