//! The private folder that the JVM's agent writes to and perk reads from.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use anyhow::{Context, bail};
use rustix::fs::StatVfsMountFlags;

use crate::inside::{JvmFolder, bases, first};
use crate::jvms::Jvm;
use crate::option_of_file;

/// The begin of the names of such folders.
pub(crate) const PREFIX: &str = "recording-";
/// The name of the agent's file.
const FILE: &str = "recording.hprof";

/// The folder of a recording. It is removed when this is dropped, and locked until then.
#[derive(Debug)]
pub struct Recording {
    base: JvmFolder,
    folder: JvmFolder,
    name: OsString,
    is_kept: bool,
}

impl Recording {
    /// Makes a folder that the JVM's user alone can access.
    pub fn new(jvm: &Jvm) -> anyhow::Result<Self> {
        let made = first(jvm, &bases(jvm), |base| {
            if base.is_mounted(StatVfsMountFlags::RDONLY) {
                bail!("read-only");
            }
            let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
            let since = since.unwrap_or_default().as_nanos();
            // Nobody else can make a file of this name: the folder is private.
            let name = OsString::from(format!("{PREFIX}{}-{since}", std::process::id()));
            let folder = base.child(&name)?;
            folder.lock();
            Ok(Self { base, folder, name, is_kept: false })
        });
        made.with_context(|| format!("{} has no folder for its recording", jvm.title()))
    }

    /// The value of the agent's option `file`.
    pub fn file_option(&self) -> anyhow::Result<String> {
        option_of_file(&self.folder.seen.join(FILE))
    }

    /// Copies the agent's file. `false` if the agent has not finished one.
    pub fn take(&self, to: &Path) -> anyhow::Result<bool> {
        let mut file = match self.folder.open_file(FILE) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
            other => other.context("cannot read the recording")?,
        };
        let mut options = File::options();
        let copy = options.write(true).create_new(true).mode(0o600).open(to);
        let copied = copy.and_then(|mut copy| io::copy(&mut file, &mut copy));
        copied.with_context(|| format!("cannot copy the recording to {}", to.display()))?;
        Ok(true)
    }

    /// Whether the agent is not done with its file: what it shows is of its last flush.
    pub fn is_unfinished(&self) -> bool {
        let list =
            || fs::read_dir(self.folder.path(".")).map(|it| it.flatten().collect::<Vec<_>>());
        let files = self.folder.act(list).flatten().unwrap_or_default();
        files.iter().any(|file| file.path().extension().is_some_and(|it| it == "part"))
    }

    /// Leaves the folder where it is, and returns the path that the JVM has for the file.
    pub fn keep(mut self) -> PathBuf {
        self.is_kept = true;
        self.folder.seen.join(FILE)
    }
}

impl Drop for Recording {
    fn drop(&mut self) {
        if !self.is_kept {
            let _ = self.base.act(|| fs::remove_dir_all(self.base.path(&self.name)));
        }
    }
}
