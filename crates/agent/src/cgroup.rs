//! The CPU quota of the process's cgroup, and the time for which the kernel ran none of its threads
//! because the quota of a period was used up.
//!
//! A quota of an outer cgroup holds, too. So each of them that the process can see is read: in a
//! container these begin with the container's own.

use std::fs;
use std::path::{Path, PathBuf};

use perk_profile::Accounting;

use perk_jvm::os;

/// The quotas of the process's cgroups since a moment.
#[derive(Debug, Default)]
pub(crate) struct CpuQuota {
    levels: Vec<(Level, Counts)>,
}

/// A cgroup with the controller of CPUs.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Level {
    V1(PathBuf),
    V2(PathBuf),
}

/// What the kernel has counted of a cgroup since its creation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Counts {
    period_count: u64,
    throttled_count: u64,
    throttled_ns: u64,
}

impl CpuQuota {
    /// Begins at the counts of now.
    pub(crate) fn begin() -> Self {
        let read = |name| fs::read_to_string(name).unwrap_or_default();
        let levels = levels(&read(os::CGROUPS), &read(os::MOUNTS));
        let levels = levels.into_iter().map(|level| {
            let counts = level.counts();
            (level, counts)
        });
        Self { levels: levels.collect() }
    }

    /// Adds the least quota and the longest throttling since the begin to the account.
    pub(crate) fn account(&self, accounting: &mut Accounting) {
        let quota = self.levels.iter().filter_map(|(level, _)| level.quota_millis()).min();
        let counts = self.levels.iter().map(|(level, first)| level.counts().since(*first));
        let counts = counts.max_by_key(|it| (it.throttled_ns, it.period_count)).unwrap_or_default();
        accounting.cpu_quota_millis = quota.unwrap_or(0);
        accounting.cpu_period_count = counts.period_count;
        accounting.throttled_count = counts.throttled_count;
        accounting.throttled_ns = counts.throttled_ns;
    }
}

/// Returns the cgroups of a process, from its own outwards, by its `/proc/self/cgroup` and
/// `/proc/self/mountinfo`.
fn levels(cgroups: &str, mounts: &str) -> Vec<Level> {
    // Controllers that have no hierarchy of version 1 are in the one of version 2.
    let (mut v1, mut v2) = (None, None);
    for line in cgroups.lines() {
        let mut parts = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(path)) = (parts.next(), parts.next()) else { continue };
        match controllers {
            "" => v2 = Some(path),
            _ if controllers.split(',').any(|it| it == "cpu") => v1 = Some(path),
            _ => {}
        }
    }
    let Some(path) = v1.or(v2) else { return Vec::new() };
    let Some((root, mount)) = mounts.lines().find_map(|line| mount(line, v1.is_some())) else {
        return Vec::new();
    };
    // Where the process cannot see its cgroup, it sees one that holds it.
    let below = Path::new(path).strip_prefix(root).unwrap_or(Path::new(""));
    let below = if path.contains("..") { Path::new("") } else { below };
    let mount = PathBuf::from(mount);
    let paths = below.ancestors().map(|below| mount.join(below));
    paths.map(if v1.is_some() { Level::V1 } else { Level::V2 }).collect()
}

/// Returns the root and the place of a mount if it is the hierarchy of CPUs.
fn mount(line: &str, is_v1: bool) -> Option<(&str, &str)> {
    let (places, kind) = line.split_once(" - ")?;
    let mut places = places.split(' ').skip(3);
    let (root, place) = (places.next()?, places.next()?);
    let mut kind = kind.split(' ');
    let (name, options) = (kind.next()?, kind.nth(1)?);
    let is_it = match is_v1 {
        true => name == "cgroup" && options.split(',').any(|it| it == "cpu"),
        false => name == "cgroup2",
    };
    is_it.then_some((root, place))
}

impl Level {
    fn read(&self, name: &str) -> Option<String> {
        let (Level::V1(folder) | Level::V2(folder)) = self;
        fs::read_to_string(folder.join(name)).ok()
    }

    /// Returns the quota in thousandths of a CPU, if there is one.
    fn quota_millis(&self) -> Option<u64> {
        let (quota, period) = match self {
            Level::V1(_) => (self.read("cpu.cfs_quota_us")?, self.read("cpu.cfs_period_us")?),
            Level::V2(_) => {
                let text = self.read("cpu.max")?;
                let (quota, period) = text.split_once(' ')?;
                (quota.to_owned(), period.to_owned())
            }
        };
        // Without a limit these are `-1` and `max`.
        let number = |text: &str| text.trim().parse::<u64>().ok();
        number(&quota)?.checked_mul(1000)?.checked_div(number(&period)?)
    }

    fn counts(&self) -> Counts {
        self.read("cpu.stat").map_or_else(Counts::default, |text| Counts::of(&text))
    }
}

impl Counts {
    /// Reads a file `cpu.stat`.
    fn of(text: &str) -> Self {
        let mut counts = Self::default();
        for (name, value) in text.lines().filter_map(|line| line.split_once(' ')) {
            let Ok(value) = value.trim().parse::<u64>() else { continue };
            match name {
                "nr_periods" => counts.period_count = value,
                "nr_throttled" => counts.throttled_count = value,
                "throttled_time" => counts.throttled_ns = value,
                "throttled_usec" => counts.throttled_ns = value.saturating_mul(1000),
                _ => {}
            }
        }
        counts
    }

    fn since(self, first: Self) -> Self {
        Self {
            period_count: self.period_count.saturating_sub(first.period_count),
            throttled_count: self.throttled_count.saturating_sub(first.throttled_count),
            throttled_ns: self.throttled_ns.saturating_sub(first.throttled_ns),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const V2: &str = "31 23 0:28 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw,nsdelegate\n";
    const BOTH: &str = "31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw,mode=755\n\
        32 31 0:29 /docker/ab /sys/fs/cgroup/cpu,cpuacct rw shared:9 - cgroup cgroup rw,cpu,cpuacct\n\
        33 31 0:31 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n\
        41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n";

    fn v1(paths: &[&str]) -> Vec<Level> {
        paths.iter().map(|it| Level::V1(PathBuf::from(it))).collect()
    }

    fn v2(paths: &[&str]) -> Vec<Level> {
        paths.iter().map(|it| Level::V2(PathBuf::from(it))).collect()
    }

    #[test]
    fn the_cgroups_of_a_process_are_found() {
        let root = ["/sys/fs/cgroup/"];
        assert_eq!(levels("0::/\n", V2), v2(&root));
        let outer = ["/sys/fs/cgroup/a.slice/b.scope", "/sys/fs/cgroup/a.slice", root[0]];
        assert_eq!(levels("0::/a.slice/b.scope\n", V2), v2(&outer));
        // A process that was moved out of its namespace of cgroups.
        assert_eq!(levels("0::/../other\n", V2), v2(&root));
        let cgroups = "5:cpuset:/x\n4:cpu,cpuacct:/docker/ab/inner\n0::/\n";
        let cpu = "/sys/fs/cgroup/cpu,cpuacct";
        assert_eq!(levels(cgroups, BOTH), v1(&[&format!("{cpu}/inner"), &format!("{cpu}/")]));
        assert_eq!(levels("4:cpu,cpuacct:/elsewhere\n", BOTH), v1(&[&format!("{cpu}/")]));
        assert_eq!(levels("", BOTH), []);
        assert_eq!(levels("0::/\n", ""), []);
    }

    #[test]
    fn both_versions_have_the_same_counts() {
        let counts = Counts { period_count: 9, throttled_count: 4, throttled_ns: 5_000_000 };
        let v1 = "nr_periods 9\nnr_throttled 4\nthrottled_time 5000000\nnr_bursts 0\n";
        let v2 = "usage_usec 7\nnr_periods 9\nnr_throttled 4\nthrottled_usec 5000\n";
        assert_eq!([Counts::of(v1), Counts::of(v2)], [counts; 2]);
        assert_eq!(counts.since(Counts { throttled_count: 1, ..counts }).throttled_count, 3);
    }
}
