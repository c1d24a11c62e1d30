//! The agent inside the tool, and JVMPI's header: unpacked on demand to a private folder, named by the
//! agent's content.

use std::env;
use std::fs::{self, DirBuilder, Permissions};
use std::io::{Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow, bail};
use perk_files::{Access, Destination};
use rustix::fs::{StatVfsMountFlags, statvfs};
use rustix::process::geteuid;

/// The library's bytes, as `build.rs` left them.
static LIBRARY: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/libperk.so"));

/// The hash of the library, which differs between any two builds that differ.
pub const HASH: &str = env!("PERK_AGENT_HASH");

/// A file to unpack.
#[derive(Clone, Copy, Debug)]
struct EmbeddedFile {
    name: &'static str,
    bytes: &'static [u8],
}

/// The agent under the name that `-agentlib:perk` finds.
const PERK: EmbeddedFile = EmbeddedFile { name: "libperk.so", bytes: LIBRARY };
/// The agent under the name that `-agentlib:hprof` finds.
const HPROF: EmbeddedFile = EmbeddedFile { name: "libhprof.so", bytes: LIBRARY };
const HEADER: EmbeddedFile =
    EmbeddedFile { name: "jvmpi.h", bytes: include_bytes!("../../../include/jvmpi.h") };

/// The path of the agent as `libperk.so`.
pub fn library() -> anyhow::Result<PathBuf> {
    Ok(unpack(PERK)?.join(PERK.name))
}

/// A folder that holds the agent as `libhprof.so`.
pub fn hprof_folder() -> anyhow::Result<PathBuf> {
    unpack(HPROF)
}

/// A folder that holds JVMPI's header.
pub fn include_folder() -> anyhow::Result<PathBuf> {
    unpack(HEADER)
}

/// Puts a file into the first folder that can take it.
fn unpack(packed: EmbeddedFile) -> anyhow::Result<PathBuf> {
    let mut refusals = Vec::new();
    for base in bases() {
        let folder = base.join(concat!("agent-", env!("PERK_AGENT_HASH")));
        match place(&base, &folder, packed) {
            Ok(()) => return Ok(folder),
            Err(error) => refusals.push(format!("{}: {error:#}", folder.display())),
        }
    }
    Err(anyhow!("{}", refusals.join("; ")))
        .context("cannot unpack the agent (set XDG_CACHE_HOME to a folder of your own)")
}

/// The folders to try, best first.
fn bases() -> Vec<PathBuf> {
    let absolute = |name| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let cache =
        absolute("XDG_CACHE_HOME").or_else(|| absolute("HOME").map(|home| home.join(".cache")));
    let fallback = format!("perk-{}", geteuid().as_raw());
    cache
        .map(|cache| cache.join("perk"))
        .into_iter()
        .chain([env::temp_dir().join(fallback)])
        .collect()
}

fn place(base: &Path, folder: &Path, packed: EmbeddedFile) -> anyhow::Result<()> {
    // HotSpot takes what follows the first `=` of `-agentpath:` for the options.
    if folder.as_os_str().as_bytes().contains(&b'=') {
        bail!("the JVM does not accept a path with a =");
    }
    DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    for folder in [base, folder] {
        check_private(folder)?;
    }
    if statvfs(folder).is_ok_and(|fs| fs.f_flag.contains(StatVfsMountFlags::NOEXEC)) {
        bail!("mounted noexec, no library can be loaded from there");
    }
    write(&folder.join(packed.name), packed.bytes, geteuid().as_raw())
}

/// Puts the library into the file, unless one of the user `uid` exists already.
pub fn write_library(file: &Path, uid: u32) -> anyhow::Result<()> {
    write(file, LIBRARY, uid)
}

fn write(file: &Path, bytes: &[u8], uid: u32) -> anyhow::Result<()> {
    if is_whole(file, bytes, uid) {
        return Ok(());
    }
    // A link is not followed.
    if fs::symlink_metadata(file).is_ok_and(|metadata| !metadata.is_file()) {
        fs::remove_file(file)?;
    }
    let Destination::File(mut part) = Destination::open(file, Access::Owner)? else {
        bail!("{} is not a file", file.display());
    };
    part.file().write_all(bytes)?;
    part.file().set_permissions(Permissions::from_mode(0o700))?;
    Ok(part.finish()?)
}

/// Nobody else may put a library where perk takes one from.
fn check_private(folder: &Path) -> anyhow::Result<()> {
    let metadata = fs::symlink_metadata(folder)?;
    if !metadata.is_dir() || metadata.uid() != geteuid().as_raw() {
        bail!("not a folder of this user");
    }
    if metadata.mode() & 0o077 != 0 {
        fs::set_permissions(folder, Permissions::from_mode(0o700))?;
    }
    Ok(())
}

fn is_whole(file: &Path, bytes: &[u8], uid: u32) -> bool {
    fs::symlink_metadata(file).is_ok_and(|metadata| {
        metadata.is_file() && metadata.uid() == uid && metadata.len() == bytes.len() as u64
    }) && fs::File::open(file).and_then(|file| has_content(file, bytes)).unwrap_or(false)
}

/// Whether a file has this content, read piece by piece: the agent has megabytes, and many JVMs can get it at a
/// time.
fn has_content(mut file: fs::File, bytes: &[u8]) -> std::io::Result<bool> {
    let mut piece = vec![0; 64 << 10];
    for expected in bytes.chunks(piece.len()) {
        let found = &mut piece[..expected.len()];
        file.read_exact(found)?;
        if found != expected {
            return Ok(false);
        }
    }
    Ok(file.read(&mut piece)? == 0)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn unpacks_once_and_repairs_what_was_changed() {
        let temp = tempfile::tempdir().unwrap();
        let (base, folder) = (temp.path().join("perk"), temp.path().join("perk/agent-x"));
        place(&base, &folder, PERK).unwrap();
        let file = folder.join(PERK.name);
        let inode = fs::metadata(&file).unwrap().ino();
        assert_eq!(fs::metadata(&base).unwrap().mode() & 0o777, 0o700);

        place(&base, &folder, PERK).unwrap();
        assert_eq!(fs::metadata(&file).unwrap().ino(), inode);

        fs::write(&file, vec![0; LIBRARY.len()]).unwrap();
        place(&base, &folder, PERK).unwrap();
        assert_eq!(fs::read(&file).unwrap(), LIBRARY);
    }

    #[test]
    fn a_link_is_replaced_and_not_followed() {
        let temp = tempfile::tempdir().unwrap();
        let (base, folder) = (temp.path().join("perk"), temp.path().join("perk/agent-x"));
        fs::create_dir_all(&folder).unwrap();
        let elsewhere = temp.path().join("elsewhere.so");
        fs::write(&elsewhere, LIBRARY).unwrap();
        symlink(&elsewhere, folder.join(PERK.name)).unwrap();
        place(&base, &folder, PERK).unwrap();
        assert!(fs::symlink_metadata(folder.join(PERK.name)).unwrap().is_file());
    }

    #[test]
    fn a_linked_folder_and_a_path_with_an_equals_sign_are_refused() {
        let temp = tempfile::tempdir().unwrap();
        fs::create_dir(temp.path().join("real")).unwrap();
        let base = temp.path().join("perk");
        symlink(temp.path().join("real"), &base).unwrap();
        assert!(place(&base, &base.join("agent-x"), PERK).is_err());
        let base = temp.path().join("a=b");
        assert!(place(&base, &base.join("agent-x"), PERK).is_err());
    }
}
