//! The agent's library, in a folder of the JVM's own file system.

use std::ffi::OsStr;
use std::path::PathBuf;

use anyhow::{Context, bail};
use rustix::fs::StatVfsMountFlags;

use crate::agent::{self, HASH};
use crate::inside::{JvmFolder, bases, first};
use crate::jvms::Jvm;

/// The name of the library.
const NAME: &str = "libperk.so";

/// Puts the library where the JVM can load it, and returns the path that the JVM has for it.
///
/// # Errors
/// No folder can be used. The line has the reasons.
pub(crate) fn place(jvm: &Jvm) -> anyhow::Result<PathBuf> {
    let mut bases = bases(jvm);
    let name = bases.last().and_then(|base| base.file_name()).map(OsStr::to_owned);
    if let (Ok(folder), Some(name)) = (JvmFolder::working_folder(jvm), name) {
        bases.push(folder.seen.join(name));
    }
    first(jvm, &bases, |base| place_in(jvm, &base)).with_context(|| {
        format!(
            "cannot give {} the agent; mount a folder in it that is writable and not noexec, \
             such as /tmp",
            jvm.title()
        )
    })
}

fn place_in(jvm: &Jvm, base: &JvmFolder) -> anyhow::Result<PathBuf> {
    if base.is_mounted(StatVfsMountFlags::NOEXEC) {
        bail!("mounted noexec, no library can be loaded from there");
    }
    let folder = concat!(env!("CARGO_PKG_VERSION"), "-");
    let folder = base.child(OsStr::new(&format!("{folder}{HASH}")))?;
    let seen = folder.seen.join(NAME);
    if seen.to_str().is_none_or(|path| path.contains('\0')) {
        bail!("its path is not UTF-8");
    }
    let uid = jvm.status.uid;
    folder.act(|| agent::write_library(&folder.path(NAME), uid))??;
    Ok(seen)
}
