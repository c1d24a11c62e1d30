//! Folders in the file system that a JVM sees, reached from outside: through its root, by handles, and
//! with the rights of the JVM's user, so that nobody can lead perk elsewhere.

use std::ffi::OsStr;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::{fs, io};

use anyhow::{Context, bail};
use perk_control::remote;
use procfs::FromRead;
use procfs::process::Stat;
use rustix::fs::{
    AtFlags, FlockOperation, Mode, OFlags, ResolveFlags, StatVfsMountFlags, fchmod, flock,
    fstatvfs, mkdirat, openat, openat2, unlinkat,
};
use rustix::io::Errno;

use crate::jvms::{Jvm, inner_id, path_in};
use crate::user::User;

/// The permissions of perk's folders: all of them for their owner, none for others.
const OWNER: Mode = Mode::RWXU;
const FOLDER: OFlags = OFlags::DIRECTORY.union(OFlags::CLOEXEC);

/// A folder of the JVM's.
#[derive(Debug)]
pub struct JvmFolder {
    /// The path that the JVM has for it.
    pub seen: PathBuf,
    folder: OwnedFd,
    user: User,
}

/// Opens a file that the JVM sees, for reading. Links are followed within what the JVM sees, with the rights of its
/// user: nobody can lead perk to a file of another.
///
/// # Errors
/// There is no such file, the kernel cannot keep links inside, or it is not a regular file.
pub fn open_file(jvm: &Jvm, path: &Path) -> io::Result<fs::File> {
    let root = openat(jvm.process.folder(), "root", OFlags::PATH | FOLDER, Mode::empty())?;
    let path = match path.is_absolute() {
        true => path.to_owned(),
        false => jvm.process.inner_path(fs::read_link(jvm.process.path("cwd"))?).join(path),
    };
    let below = path.strip_prefix("/").unwrap_or(&path);
    // A pipe without a writer would be waited for.
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK;
    let open = || openat2(&root, below, flags, Mode::empty(), ResolveFlags::IN_ROOT);
    regular(User::of(jvm).act(open)??.into())
}

fn regular(file: fs::File) -> io::Result<fs::File> {
    match file.metadata()?.is_file() {
        true => Ok(file),
        false => Err(io::Error::other("it is not a file")),
    }
}

/// Whether the JVM's namespace has no such process, by the JVM's own `/proc`. A process that started at another time than
/// `start_ticks`, if that is known, is another one.
pub fn has_ended(jvm: &Jvm, pid: u32, start_ticks: Option<u64>) -> bool {
    let process = |pid| JvmFolder::open(jvm, Path::new(&format!("/proc/{pid}")));
    match process(pid) {
        Err(error) => {
            error.kind() == io::ErrorKind::NotFound && process(jvm.status.inner_pid).is_ok()
        }
        Ok(folder) => start_ticks.is_some_and(|start_ticks| {
            let stat = folder.open_file("stat").ok();
            let stat = stat.and_then(|it| Stat::from_read(io::BufReader::new(it)).ok());
            stat.is_some_and(|stat| stat.starttime != start_ticks)
        }),
    }
}

/// The paths of perk's own folders for a JVM, as the JVM sees them, best first: those in which its
/// agent has its socket, and others for when these cannot be used.
pub fn bases(jvm: &Jvm) -> Vec<PathBuf> {
    let runtime_folder = jvm.process.variable("XDG_RUNTIME_DIR");
    let uid = inner_id(&jvm.process, jvm.status.uid).unwrap_or(jvm.status.uid);
    let mut bases = remote::folders(runtime_folder.as_deref(), uid);
    let others = ["/dev/shm", "/var/tmp"].map(|parent| format!("{parent}/perk-{uid}").into());
    bases.extend(others);
    bases
}

impl JvmFolder {
    /// Opens a folder that exists. Links are followed within what the JVM sees.
    pub fn open(jvm: &Jvm, path: &Path) -> io::Result<Self> {
        let root = openat(jvm.process.folder(), "root", OFlags::PATH | FOLDER, Mode::empty())?;
        let below = path.strip_prefix("/").unwrap_or(path);
        let below = if below.as_os_str().is_empty() { Path::new(".") } else { below };
        let flags = OFlags::RDONLY | FOLDER;
        let user = User::of(jvm);
        let open = || match openat2(&root, below, flags, Mode::empty(), ResolveFlags::IN_ROOT) {
            // An old kernel or a filter of system calls.
            Err(Errno::NOSYS | Errno::PERM) => {
                openat(&root, below, flags | OFlags::NOFOLLOW, Mode::empty())
            }
            other => other,
        };
        Ok(Self { seen: path.to_owned(), folder: user.act(open)??, user })
    }

    /// Opens the working folder of the JVM.
    pub fn working_folder(jvm: &Jvm) -> io::Result<Self> {
        let flags = OFlags::RDONLY | FOLDER;
        let folder = openat(jvm.process.folder(), "cwd", flags, Mode::empty())?;
        let seen = jvm.process.inner_path(fs::read_link(jvm.process.path("cwd"))?);
        Ok(Self { seen, folder, user: User::of(jvm) })
    }

    /// Opens a folder of perk's at `path`, and makes it if it is not there: it belongs to the JVM's
    /// user, and no other user has access.
    pub fn own(jvm: &Jvm, path: &Path) -> anyhow::Result<Self> {
        let parent = path.parent().context("it is the root")?;
        let name = path.file_name().context("it has no name")?;
        let parent = Self::open(jvm, parent)?;
        parent.child(name)
    }

    /// Opens or makes such a folder in this one.
    pub fn child(&self, name: &OsStr) -> anyhow::Result<Self> {
        let folder = self.user.act(|| self.open_child(name))??;
        Ok(Self { seen: self.seen.join(name), folder, user: self.user })
    }

    /// Opens such a folder that exists. Links are not followed.
    pub fn existing_child(&self, name: &OsStr) -> io::Result<Self> {
        let flags = OFlags::RDONLY | FOLDER | OFlags::NOFOLLOW;
        let open = || openat(&self.folder, name, flags, Mode::empty());
        let child =
            Self { seen: self.seen.join(name), folder: self.user.act(open)??, user: self.user };
        child.check_owner()?;
        Ok(child)
    }

    /// Fails unless the folder is the user's alone.
    pub fn check_owner(&self) -> io::Result<()> {
        let its = self.metadata()?;
        match its.uid() == self.user.uid && its.mode() & 0o777 == OWNER.bits() {
            true => Ok(()),
            false => Err(io::Error::other("it is not one user's alone")),
        }
    }

    /// Describes the folder.
    pub fn metadata(&self) -> io::Result<fs::Metadata> {
        fs::metadata(self.path(""))
    }

    /// Locks the folder until this is dropped, or perk ends. `false` if another has it locked, or the
    /// file system has no locks.
    pub fn lock(&self) -> bool {
        flock(&self.folder, FlockOperation::NonBlockingLockExclusive).is_ok()
    }

    fn open_child(&self, name: &OsStr) -> anyhow::Result<OwnedFd> {
        match mkdirat(&self.folder, name, OWNER) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(error) => return Err(io::Error::from(error).into()),
        }
        let flags = OFlags::RDONLY | FOLDER | OFlags::NOFOLLOW;
        let folder = match openat(&self.folder, name, flags, Mode::empty()) {
            Err(Errno::LOOP | Errno::NOTDIR) => bail!("it is not a folder"),
            other => other.map_err(io::Error::from)?,
        };
        let metadata = fs::metadata(path_in(&folder, ""))?;
        if metadata.uid() != self.user.uid {
            bail!("it belongs to another user");
        }
        if metadata.mode() & 0o777 != OWNER.bits() {
            fchmod(&folder, OWNER).map_err(io::Error::from)?;
        }
        Ok(folder)
    }

    /// Runs `work`, which uses files of this folder, with the rights of the JVM's user.
    pub fn act<T: Send>(&self, work: impl FnOnce() -> T + Send) -> io::Result<T> {
        self.user.act(work)
    }

    /// The path of a file in the folder, for perk, as long as this handle is open.
    pub fn path(&self, name: impl AsRef<Path>) -> PathBuf {
        path_in(&self.folder, name)
    }

    /// Opens a regular file of the folder, for reading. Links are not followed.
    ///
    /// # Errors
    /// There is no such file, or it is not a regular one.
    pub fn open_file(&self, name: impl AsRef<Path>) -> io::Result<fs::File> {
        // A pipe without a writer would be waited for.
        let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
        let path = self.path(name);
        let open = || fs::File::options().read(true).custom_flags(flags.bits() as i32).open(path);
        regular(self.act(open)??)
    }

    /// Whether the folder's file system has this property.
    pub fn is_mounted(&self, how: StatVfsMountFlags) -> bool {
        fstatvfs(&self.folder).is_ok_and(|it| it.f_flag.contains(how))
    }
}

/// The first of perk's folders that `use_it` can use, with what it made of it.
///
/// # Errors
/// There is none. The message has the reason for each.
pub fn first<T>(
    jvm: &Jvm,
    bases: &[PathBuf],
    use_it: impl Fn(JvmFolder) -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    let mut refusals = Vec::new();
    for base in bases {
        match JvmFolder::own(jvm, base).and_then(&use_it) {
            Ok(it) => return Ok(it),
            Err(error) => refusals.push(format!("{}: {error:#}", base.display())),
        }
        remove_empty(jvm, base);
    }
    bail!("{}", refusals.join("; "))
}

/// Removes a folder that turned out to be of no use, unless something is in it.
fn remove_empty(jvm: &Jvm, folder: &Path) {
    if let (Some(parent), Some(name)) = (folder.parent(), folder.file_name())
        && let Ok(parent) = JvmFolder::open(jvm, parent)
    {
        let _ = parent.act(|| unlinkat(&parent.folder, name, AtFlags::REMOVEDIR));
    }
}
