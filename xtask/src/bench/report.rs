//! The measurements as a page of markdown.

use std::fmt::Write as _;
use std::fs;
use std::thread;
use std::time::SystemTime;

use perk_profile::Timestamp;
use perk_testkit::Jdk;

use super::programs::Program;
use super::statistics::Spread;
use super::{Round, Run, VARIANTS};

const MIB: f64 = 1024.0 * 1024.0;

const METHOD: &str = "\
Each round runs the program without perk, with it at 10 ms, at 1 ms, and without it again, in an
order that rotates. Values are medians, with the smallest and the largest. Ratios and differences
are taken within each round, against the mean of its two runs without perk, and then the median of
these is taken; for `none again` they are against `none`, which is the measurement's own noise. CPU
time is user and system time of the whole process as the kernel counts it, peak RSS its largest
resident memory.
";

/// What was measured, where and when.
pub(super) fn heading(jdk: &Jdk) -> String {
    let read = |file| fs::read_to_string(file).unwrap_or_default();
    let release = read(jdk.home.join("release"));
    let version = ["IMPLEMENTOR", "JAVA_RUNTIME_VERSION"].map(|name| value(&release, name, '='));
    let cpuinfo = read("/proc/cpuinfo".into());
    let memory = read("/proc/meminfo".into());
    let kernel = read("/proc/sys/kernel/osrelease".into());
    let load = read("/proc/loadavg".into());
    let memory_kb: f64 =
        value(&memory, "MemTotal", ':').trim_end_matches(" kB").parse().unwrap_or(f64::NAN);
    let cores = thread::available_parallelism().map_or(0, usize::from);
    let since_1970 = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let date = Timestamp { unix_ms: since_1970.as_millis() as u64, utc_offset_s: 0 };
    format!(
        "perk {}, {} UTC.\nJDK: {}.\nMachine: {cores} cores of {}, {:.0} GiB of memory, Linux {}; \
         load at the start {}.\n\n{METHOD}",
        env!("CARGO_PKG_VERSION"),
        date.ctime(),
        version.join(" ").trim(),
        value(&cpuinfo, "model name", ':'),
        memory_kb / 1024.0 / 1024.0,
        kernel.trim(),
        load.split_whitespace().next().unwrap_or_default(),
    )
}

/// The value behind `name` and the separator in a file of such lines.
fn value(text: &str, name: &str, separator: char) -> String {
    let lines = text.lines().filter_map(|line| line.split_once(separator));
    let mut values = lines.filter(|(key, _)| key.trim() == name);
    values.next().map_or_else(String::new, |(_, value)| value.trim().trim_matches('"').to_owned())
}

/// The tables of one program.
pub(super) fn program(program: &Program, rounds: &[Round]) -> String {
    let mut text = format!("### {}\n\n", program.name);
    let mut about = program.about.clone();
    about[..1].make_ascii_uppercase();
    writeln!(text, "{about}; {} rounds.\n", rounds.len()).expect(TEXT);
    text += &outside(rounds);
    text += "\nWhat perk says of itself, next to the difference seen from outside:\n\n";
    text += &inside(rounds);
    text
}

const TEXT: &str = "a String takes any text";

/// The costs as seen from outside.
fn outside(rounds: &[Round]) -> String {
    let mut table = row(&[
        "",
        "CPU s",
        "CPU ratio",
        "ratio of medians",
        "CPU more, ms",
        "wall s",
        "wall ratio",
        "peak RSS MiB",
        "RSS more, MiB",
    ]);
    table += &row(&["---"; 9]);
    let cpu = |run: &Run| run.usage.cpu_s;
    let wall = |run: &Run| run.usage.wall_s;
    let rss = |run: &Run| run.usage.peak_rss_bytes / MIB;
    for (index, (name, _)) in VARIANTS.iter().enumerate() {
        let all = |of: fn(&Run) -> f64| Spread::of(rounds.iter().map(|round| of(&round[index])));
        let mut cells = vec![(*name).to_owned(), all(cpu).text(3)];
        if index == 0 {
            cells.extend(["1", "1", ""].map(str::to_owned));
            cells.extend([all(wall).text(3), "1".to_owned(), all(rss).text(1), String::new()]);
        } else {
            let base = Spread::of(rounds.iter().flat_map(|it| bases(it, index)).map(cpu)).median;
            cells.extend([
                paired(rounds, index, cpu, |it, base| it / base).text(4),
                format!("{:.4}", all(cpu).median / base),
                paired(rounds, index, cpu, |it, base| (it - base) * 1e3).text(1),
                all(wall).text(3),
                paired(rounds, index, wall, |it, base| it / base).text(4),
                all(rss).text(1),
                paired(rounds, index, rss, |it, base| it - base).text(1),
            ]);
        }
        table += &row(&cells);
    }
    table
}

/// The agent's own account.
fn inside(rounds: &[Round]) -> String {
    let mut table = row(&[
        "",
        "CPU more, ms",
        "perk_cpu_ns, ms",
        "process_cpu_ns, s",
        "java_cpu_ns, s",
        "walks",
        "samples",
        "failed walks",
        "without stack",
        "threads",
        "perk_peak_bytes, MiB",
        "file KiB",
    ]);
    table += &row(&["---"; 12]);
    for (index, (name, interval)) in VARIANTS.iter().enumerate() {
        if interval.is_none() {
            continue;
        }
        let told = |of: fn(&perk_profile::Accounting) -> u64, unit: f64, decimals| {
            let values = rounds.iter().filter_map(|round| round[index].accounting.as_ref());
            let median = Spread::of(values.map(|it| of(it) as f64 / unit)).median;
            format!("{median:.decimals$}")
        };
        let bytes = Spread::of(rounds.iter().map(|round| round[index].file_bytes as f64)).median;
        let difference =
            paired(rounds, index, |run| run.usage.cpu_s, |it, base| (it - base) * 1e3).median;
        table += &row(&[
            (*name).to_owned(),
            format!("{difference:.1}"),
            told(|it| it.perk_cpu_ns, 1e6, 1),
            told(|it| it.process_cpu_ns, 1e9, 3),
            told(|it| it.java_cpu_ns, 1e9, 3),
            told(|it| it.walk_count, 1.0, 0),
            told(|it| it.sample_count, 1.0, 0),
            told(|it| it.failed_walk_count, 1.0, 0),
            told(|it| it.unattributed_count, 1.0, 0),
            told(|it| it.thread_count, 1.0, 0),
            told(|it| it.perk_peak_bytes, MIB, 1),
            format!("{:.0}", bytes / 1024.0),
        ]);
    }
    table
}

/// The runs of a round that variant `index` is compared with.
fn bases(round: &Round, index: usize) -> Vec<&Run> {
    let without = |(variant, _): &(usize, &Run)| VARIANTS[*variant].1.is_none();
    let runs = round.iter().enumerate().filter(without);
    // The second run without perk is compared with the first.
    let is_perk = VARIANTS[index].1.is_some();
    runs.filter(|(variant, _)| is_perk || *variant < index).map(|(_, run)| run).collect()
}

/// Compares a variant with the runs without perk in each round.
fn paired(
    rounds: &[Round],
    index: usize,
    of: fn(&Run) -> f64,
    compare: fn(f64, f64) -> f64,
) -> Spread {
    Spread::of(rounds.iter().map(|round| {
        let bases = bases(round, index);
        let base = bases.iter().map(|run| of(run)).sum::<f64>() / bases.len() as f64;
        compare(of(&round[index]), base)
    }))
}

fn row(cells: &[impl AsRef<str>]) -> String {
    let cells: Vec<&str> = cells.iter().map(AsRef::as_ref).collect();
    format!("| {} |\n", cells.join(" | "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::child::Usage;

    fn round(cpu_s: [f64; 4]) -> Round {
        cpu_s.map(|cpu_s| Run { usage: Usage { cpu_s, ..Usage::default() }, ..Run::default() })
    }

    #[test]
    fn perk_is_compared_with_both_runs_without_it() {
        let rounds = [round([1.0, 3.0, 4.0, 2.0]), round([2.0, 3.0, 4.0, 2.0])];
        let ratio = |index| paired(&rounds, index, |run| run.usage.cpu_s, |it, base| it / base);
        assert_eq!(ratio(1), Spread { median: 1.75, min: 1.5, max: 2.0 });
        assert_eq!(ratio(3), Spread { median: 1.5, min: 1.0, max: 2.0 });
    }

    #[test]
    fn each_row_has_as_many_cells_as_the_first() {
        let rounds = [round([1.0, 1.5, 2.0, 1.0])];
        for table in [outside(&rounds), inside(&rounds)] {
            let mut cells = table.lines().map(|line| line.matches('|').count());
            let first = cells.next();
            assert!(cells.all(|count| Some(count) == first), "{table}");
        }
        assert!(outside(&rounds).contains("| perk 10 ms | 1.500 (1.500 to 1.500) | 1.5000 "));
    }

    #[test]
    fn values_are_found_in_lines() {
        assert_eq!(value("A=\"x y\"\nB=\"z\"\n", "B", '='), "z");
        assert_eq!(value("model name\t: Some CPU\n", "model name", ':'), "Some CPU");
        assert_eq!(value("", "B", '='), "");
    }
}
