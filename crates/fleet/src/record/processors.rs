//! The processors that a JVM may use: those of the machine, less the limits of its control groups.

use std::fs;
use std::path::Path;

use perk_attach::jvms::Process;

/// Where control groups are mounted.
const GROUPS: &str = "/sys/fs/cgroup";

/// The number of processors that a process may use, which a quota can make a fraction.
pub(crate) fn available(process: &Process) -> f64 {
    let read = |name| {
        let bytes = process.read(name).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    };
    let usual = || std::thread::available_parallelism().map_or(1, |it| it.get()) as f64;
    let allowed = allowed(&read("status")).unwrap_or_else(usual);
    quota(&read("cgroup"), Path::new(GROUPS)).unwrap_or(allowed).min(allowed)
}

/// The number of processors in the mask of `/proc/PID/status`.
fn allowed(status: &str) -> Option<f64> {
    let mask = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed:"))?;
    let digits = mask.chars().filter_map(|digit| digit.to_digit(16));
    Some(f64::from(digits.map(u32::count_ones).sum::<u32>())).filter(|&it| it > 0.0)
}

/// The least quota of a process's control groups, in processors, as `/proc/PID/cgroup` names them below `root`.
fn quota(groups: &str, root: &Path) -> Option<f64> {
    let mut least: Option<f64> = None;
    for line in groups.lines() {
        let mut parts = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(path)) = (parts.next(), parts.next()) else { continue };
        let is_first_version = controllers.split(',').any(|it| it == "cpu");
        if !is_first_version && !controllers.is_empty() {
            continue;
        }
        let mount = root.join(controllers);
        for group in Path::new(path.trim_start_matches('/')).ancestors() {
            let read = |name| fs::read_to_string(mount.join(group).join(name)).ok();
            let text = match is_first_version {
                true => read("cpu.cfs_quota_us").zip(read("cpu.cfs_period_us")),
                false => read("cpu.max").map(|text| (text, String::new())),
            };
            let Some((quota, period)) = text else { continue };
            let both = format!("{quota} {period}");
            let mut numbers = both.split_whitespace().map(str::parse::<f64>);
            // Without a limit there is -1, or a word.
            if let (Some(Ok(quota)), Some(Ok(period))) = (numbers.next(), numbers.next())
                && quota > 0.0
                && period > 0.0
            {
                let own = quota / period;
                least = Some(least.map_or(own, |least| least.min(own)));
            }
        }
    }
    least
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masks_have_a_bit_for_each_processor() {
        assert_eq!(allowed("Name:\tjava\nCpus_allowed:\tff,00000003\n"), Some(10.0));
        assert_eq!(allowed("Cpus_allowed:\t0\n"), None);
        assert_eq!(allowed("Cpus_allowed_list:\t0-1\n"), None);
    }

    #[test]
    fn the_least_quota_of_a_group_and_those_above_counts() {
        let root = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        write("pods/a/cpu.max", "max 100000\n");
        write("pods/cpu.max", "150000 100000\n");
        assert_eq!(quota("0::/pods/a\n", root.path()), Some(1.5));
        assert_eq!(quota("0::/other\n", root.path()), None);
        write("cpu,cpuacct/b/cpu.cfs_quota_us", "50000\n");
        write("cpu,cpuacct/b/cpu.cfs_period_us", "100000\n");
        write("cpu,cpuacct/cpu.cfs_quota_us", "-1\n");
        write("cpu,cpuacct/cpu.cfs_period_us", "100000\n");
        let groups = "4:memory:/b\n3:cpu,cpuacct:/b/c\n0::/\n";
        assert_eq!(quota(groups, root.path()), Some(0.5));
    }
}
