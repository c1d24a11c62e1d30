//! Files in perk's folders that processes have left which were killed.

use std::ffi::OsStr;
use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;
use std::time::Duration;

use crate::inside::{JvmFolder, bases, has_ended};
use crate::jvms::Jvm;
use crate::recording::PREFIX;
use crate::socket::{Deadline, connect_to};

/// The age of a socket from which on its agent listens at it, if there is one.
const LISTENS_AFTER: Duration = Duration::from_secs(60);
/// The time for which the recording of a killed tool is kept: somebody may want it.
const KEPT_FOR: Duration = Duration::from_secs(24 * 3600);

/// Removes the sockets of JVMs and the recordings of tools that were killed, from the folders of the
/// JVM's user. What cannot be removed stays.
pub fn remove(jvm: &Jvm) {
    for base in bases(jvm) {
        let Ok(folder) = JvmFolder::open(jvm, &base) else { continue };
        if folder.check_owner().is_err() {
            continue;
        }
        let entries = fs::read_dir(folder.path("")).into_iter().flatten().flatten();
        for name in entries.map(|entry| entry.file_name()) {
            if is_recording(&folder, &name) {
                let _ = folder.act(|| fs::remove_dir_all(folder.path(&name)));
            } else if is_dead_socket(jvm, &folder, &name) {
                let _ = folder.act(|| fs::remove_file(folder.path(&name)));
            }
        }
    }
}

/// Whether it is a recording that no tool will read.
fn is_recording(base: &JvmFolder, name: &OsStr) -> bool {
    if !name.as_encoded_bytes().starts_with(PREFIX.as_bytes()) {
        return false;
    }
    let Ok(folder) = base.existing_child(name) else { return false };
    folder.metadata().is_ok_and(|its| is_older(&its, KEPT_FOR)) && folder.lock()
}

/// Whether it is the socket of an agent that is gone.
fn is_dead_socket(jvm: &Jvm, folder: &JvmFolder, name: &OsStr) -> bool {
    let pid = name.to_str().and_then(|name| name.strip_suffix(".sock")?.parse::<u32>().ok());
    let (Some(pid), Ok(its)) = (pid, fs::symlink_metadata(folder.path(name))) else {
        return false;
    };
    its.file_type().is_socket()
        && its.uid() == jvm.status.uid
        && is_older(&its, LISTENS_AFTER)
        && has_ended(jvm, pid, None)
        && folder.act(|| is_refused(&folder.path(name))).unwrap_or(false)
}

/// Whether nobody listens at a socket, in whatever namespace.
fn is_refused(socket: &Path) -> bool {
    let answer = connect_to(socket, Deadline::after(Duration::ZERO));
    answer.is_err_and(|error| error.kind() == ErrorKind::ConnectionRefused)
}

/// Whether a file has not been changed for this time.
fn is_older(its: &fs::Metadata, time: Duration) -> bool {
    its.modified().is_ok_and(|at| at.elapsed().is_ok_and(|age| age > time))
}
