//! The memory that an analysis needs, and what there is.

use std::fs;
use std::path::{Path, PathBuf};

use perk_profile::units;

use crate::{Error, Options, pool};

/// The most objects of a dump whose suspects have the shortest paths: for these the references of all
/// objects are read once more, and are in memory.
pub(crate) const MOST_OBJECTS: u64 = 2_000_000;

/// What an analysis takes per object at its peak, in bytes: 31 were measured for 24 million objects,
/// of which 45 % are in the core.
const BYTES_PER_OBJECT: u64 = 32;
/// The same if questions about all references follow: 48 were measured.
const BYTES_PER_OBJECT_WITH_REFERENCES: u64 = 50;
/// The same without holders: the class and the size, which are filled while the objects are read.
const BYTES_PER_OBJECT_WITHOUT_HOLDERS: u64 = 9;
/// What it takes in any case: sets of objects, and the objects by address.
const LEAST_BYTES_PER_OBJECT: u64 = 2;
/// What each thread takes besides: the part of the file that it reads, and references on their way.
const BYTES_PER_THREAD: u64 = 6 << 20;
/// The share of the free memory that is used without a limit by the user.
const SHARE_PERCENT: u64 = 80;

/// The place where an analysis keeps its numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Plan {
    Memory,
    /// In a scratch file.
    Scratch(MemoryShortage),
}

/// Less memory than an analysis needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct MemoryShortage {
    /// The size of the part of the scratch file that is in memory.
    pub(crate) pool_bytes: u64,
    /// What all numbers take.
    pub(crate) needed_bytes: u64,
    /// What may be taken.
    pub(crate) limit_bytes: u64,
}

/// Decides where the numbers of this many objects are kept.
///
/// # Errors
/// If there is too little memory even for what cannot be in a file, before the system ends this
/// program or others for it.
pub(crate) fn plan(object_count: u64, options: &Options) -> Result<Plan, Error> {
    let taken = taken_bytes(Path::new("/"));
    let (limit, what) = match options.memory_bytes {
        Some(bytes) => (bytes, "--memory allows"),
        None => match free_memory_bytes() {
            Some(bytes) => (bytes / 100 * SHARE_PERCENT + taken, "80 % of the free memory are"),
            None => return Ok(Plan::Memory),
        },
    };
    let at_most = |bytes: u64| object_count.saturating_mul(bytes).saturating_add(taken);
    let has_references = options.all_references || object_count <= MOST_OBJECTS;
    let bytes = match options.holders {
        true if has_references => BYTES_PER_OBJECT_WITH_REFERENCES,
        true => BYTES_PER_OBJECT,
        false => BYTES_PER_OBJECT_WITHOUT_HOLDERS,
    };
    let needed_bytes = at_most(bytes);
    if needed_bytes <= limit {
        return Ok(Plan::Memory);
    }
    let buffers = (options.threads() as u64).saturating_mul(BYTES_PER_THREAD);
    let least = at_most(LEAST_BYTES_PER_OBJECT).saturating_add(buffers);
    let pool_bytes = limit.saturating_sub(least);
    if pool_bytes >= (pool::LEAST_FRAMES * pool::PAGE_BYTES) as u64 {
        return Ok(Plan::Scratch(MemoryShortage { pool_bytes, needed_bytes, limit_bytes: limit }));
    }
    let (least, limit) = (units::bytes(least + (1 << 20)), units::bytes(limit));
    Err(Error::Refused(format!(
        "the analysis of {object_count} objects needs at least {least} of memory, and {what} {limit}: \
         give more with --memory, or see the classes with perk report"
    )))
}

/// Returns the memory that this program has taken.
fn taken_bytes(root: &Path) -> u64 {
    size_in(&root.join("proc/self/status"), "VmRSS:").unwrap_or(0)
}

/// Returns the size in bytes that a file of the system gives in kB, on the line that begins so. procfs refuses
/// files without all fields of Linux, such as those of gVisor.
fn size_in(file: &Path, begin: &str) -> Option<u64> {
    let text = fs::read_to_string(file).ok()?;
    let size = text.lines().find_map(|line| line.strip_prefix(begin))?;
    let kib: u64 = size.trim().strip_suffix("kB")?.trim_end().parse().ok()?;
    Some(kib.saturating_mul(1024))
}

/// Returns the memory that this program can still get, in bytes: what the system and each of its control groups leave.
/// `None` if that is not known.
pub fn free_memory_bytes() -> Option<u64> {
    free_bytes(Path::new("/"))
}

/// The same below a root.
fn free_bytes(root: &Path) -> Option<u64> {
    let system = size_in(&root.join("proc/meminfo"), "MemAvailable:")?;
    let groups = fs::read_to_string(root.join("proc/self/cgroup")).unwrap_or_default();
    Some(groups.lines().filter_map(|group| left_in(root, group)).fold(system, u64::min))
}

/// Returns what a control group and those above it leave; `group` is a line of `/proc/self/cgroup`.
fn left_in(root: &Path, group: &str) -> Option<u64> {
    let (folder, files) = match group.splitn(3, ':').collect::<Vec<_>>()[..] {
        ["0", "", path] => (path, ("", "memory.max", "memory.current")),
        [_, controllers, path] if controllers.split(',').any(|it| it == "memory") => {
            (path, ("memory", "memory.limit_in_bytes", "memory.usage_in_bytes"))
        }
        _ => return None,
    };
    let (hierarchy, limit, usage) = files;
    let top = root.join("sys/fs/cgroup").join(hierarchy);
    let mut folder = PathBuf::from(folder.trim_start_matches('/'));
    let mut least = None;
    loop {
        let number = |name: &str| -> Option<u64> {
            fs::read_to_string(top.join(&folder).join(name)).ok()?.trim().parse().ok()
        };
        if let (Some(limit), Some(usage)) = (number(limit), number(usage)) {
            let left = limit.saturating_sub(usage);
            least = Some(least.map_or(left, |least: u64| least.min(left)));
        }
        if !folder.pop() {
            return least;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(root: &Path, name: &str, text: &str) {
        let path = root.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    #[test]
    fn the_tightest_group_counts() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        assert_eq!(free_bytes(root), None);
        write(root, "proc/meminfo", "MemTotal: 9000 kB\nMemAvailable:    8000 kB\n");
        assert_eq!(free_bytes(root), Some(8000 * 1024));
        write(root, "proc/self/cgroup", "0::/user/app\n");
        assert_eq!(free_bytes(root), Some(8000 * 1024));
        write(root, "sys/fs/cgroup/user/app/memory.max", "max\n");
        write(root, "sys/fs/cgroup/user/app/memory.current", "1000\n");
        assert_eq!(free_bytes(root), Some(8000 * 1024));
        write(root, "sys/fs/cgroup/user/memory.max", "5000000\n");
        write(root, "sys/fs/cgroup/user/memory.current", "2000000\n");
        assert_eq!(free_bytes(root), Some(3_000_000));
        write(root, "proc/self/cgroup", "12:cpu:/x\n4:memory:/box\n0::/none\n");
        write(root, "sys/fs/cgroup/memory/box/memory.limit_in_bytes", "700\n");
        write(root, "sys/fs/cgroup/memory/box/memory.usage_in_bytes", "800\n");
        assert_eq!(free_bytes(root), Some(0));
    }

    #[test]
    fn the_memory_decides_where_numbers_are_kept() {
        let plan = |memory_bytes| {
            let options =
                Options { thread_count: 2, memory_bytes: Some(memory_bytes), ..Options::default() };
            plan(1 << 20, &options)
        };
        let taken = taken_bytes(Path::new("/"));
        assert!(taken > 1 << 20);
        // The program's own size changes between the calls.
        assert_eq!(plan(taken + (54 << 20)).unwrap(), Plan::Memory);
        let Plan::Scratch(little) = plan(taken + (24 << 20)).unwrap() else {
            panic!("not scratch")
        };
        assert!(little.pool_bytes < 12 << 20, "{little:?}");
        let error = plan(taken + (8 << 20)).unwrap_err().to_string();
        assert!(error.contains("1048576 objects") && error.contains("--memory"), "{error}");
    }
}
