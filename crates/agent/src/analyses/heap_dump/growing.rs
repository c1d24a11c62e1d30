//! A file that is read while it is written.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering::Acquire};
use std::thread;
use std::time::{Duration, Instant};

use perk_jvm::os;

/// The time that the thread waits for more data when it has read all.
const PAUSE: Duration = Duration::from_micros(200);

/// The interval of progress reports.
const PROGRESS: Duration = Duration::from_secs(1);

/// The number of bytes read after which their blocks are given back.
const RELEASED_BYTES: u64 = 8 << 20;

/// A file that is written at the same time, from its beginning to its end. It loses its name when
/// it is opened, and its blocks once they are read.
pub(super) struct GrowingFile<'a> {
    path: PathBuf,
    /// Whether all data is written.
    is_complete: &'a AtomicBool,
    file: Option<File>,
    read_bytes: u64,
    released_bytes: u64,
    /// The receiver of the number of bytes read, from time to time.
    progress: &'a (dyn Fn(u64) + Sync),
    /// The time of the next progress report.
    due: Instant,
}

impl<'a> GrowingFile<'a> {
    pub(super) fn new(
        path: &Path,
        is_complete: &'a AtomicBool,
        progress: &'a (dyn Fn(u64) + Sync),
    ) -> Self {
        Self {
            path: path.to_owned(),
            is_complete,
            file: None,
            read_bytes: 0,
            released_bytes: 0,
            progress,
            due: Instant::now() + PROGRESS,
        }
    }

    /// Waits for more data; `false` if there will be none.
    fn wait(&self, was_complete: bool) -> bool {
        if !was_complete {
            thread::sleep(PAUSE);
        }
        !was_complete
    }

    /// Waits for the first bytes; `false` if there will be none.
    pub(super) fn begins(&mut self) -> io::Result<bool> {
        loop {
            let was_complete = self.is_complete.load(Acquire);
            if let Some(file) = self.open()?
                && file.metadata()?.len() > 0
            {
                return Ok(true);
            }
            if !self.wait(was_complete) {
                return Ok(false);
            }
        }
    }

    fn open(&mut self) -> io::Result<Option<&File>> {
        if self.file.is_none() {
            self.file = match File::options().read(true).write(true).open(&self.path) {
                Ok(file) => {
                    std::fs::remove_file(&self.path)?;
                    Some(file)
                }
                Err(error) if error.kind() == io::ErrorKind::NotFound => None,
                Err(error) => return Err(error),
            };
        }
        Ok(self.file.as_ref())
    }
}

impl Read for GrowingFile<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            // Read before the data, so that no data is missed.
            let was_complete = self.is_complete.load(Acquire);
            let at = self.read_bytes;
            let count = match self.open()? {
                Some(file) => file.read_at(buffer, at)?,
                None => 0,
            };
            if count > 0 {
                self.read_bytes += count as u64;
                let unused = self.read_bytes - self.released_bytes;
                if let Some(file) = self.file.as_ref().filter(|_| unused >= RELEASED_BYTES) {
                    os::release_blocks(file.as_raw_fd(), self.released_bytes..self.read_bytes);
                    self.released_bytes = self.read_bytes;
                }
                if Instant::now() >= self.due {
                    (self.progress)(self.read_bytes);
                    self.due += PROGRESS;
                }
                return Ok(count);
            }
            if !self.wait(was_complete) {
                return Ok(0);
            }
        }
    }
}
