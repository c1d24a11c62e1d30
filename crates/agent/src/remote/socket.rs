//! The place of the control socket.

use std::fs::{self, DirBuilder, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

use perk_control::remote::{folders, socket_name};
use perk_jvm::os;

/// The permissions of the folder and of the socket.
const FOLDER: u32 = 0o700;
const SOCKET: u32 = 0o600;

/// Opens a socket, at `path` or in the first folder that can have it. Returns its path, too.
///
/// # Errors
/// The reason why there is none, in one line.
pub(super) fn bind(path: Option<PathBuf>) -> Result<(UnixListener, PathBuf), String> {
    let places = match path {
        Some(path) => vec![path],
        None => {
            let runtime = std::env::var_os("XDG_RUNTIME_DIR");
            let name = socket_name(std::process::id());
            let folders = folders(runtime.as_deref(), os::user_id());
            folders.into_iter().map(|folder| folder.join(&name)).collect()
        }
    };
    let mut fault = String::new();
    for place in places {
        match bind_at(&place) {
            Ok(listener) => return Ok((listener, place)),
            Err(error) => fault = format!("no control socket at {}: {error}", place.display()),
        }
    }
    Err(fault)
}

fn bind_at(path: &Path) -> io::Result<UnixListener> {
    make_private(path.parent().unwrap_or(path))?;
    let listener = match UnixListener::bind(path) {
        // That of an earlier process of this number; another's answers.
        Err(error)
            if error.kind() == io::ErrorKind::AddrInUse && UnixStream::connect(path).is_err() =>
        {
            fs::remove_file(path)?;
            UnixListener::bind(path)?
        }
        bound => bound?,
    };
    fs::set_permissions(path, Permissions::from_mode(SOCKET))?;
    Ok(listener)
}

/// Makes a folder that is this user's alone, or checks that it is.
fn make_private(folder: &Path) -> io::Result<()> {
    match DirBuilder::new().mode(FOLDER).create(folder) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    let its = fs::symlink_metadata(folder)?;
    if !its.is_dir() || its.uid() != os::user_id() {
        return Err(io::Error::other("the folder is a link, or another user's"));
    }
    if its.mode() & 0o777 != FOLDER {
        fs::set_permissions(folder, Permissions::from_mode(FOLDER))?;
    }
    Ok(())
}
