//! The measurements as a page of markdown.

use std::fmt::Write as _;
use std::fs;
use std::thread;
use std::time::SystemTime;

use perk_profile::Timestamp;
use perk_testkit::Jdk;
use procfs::{CpuInfo, Current as _, LoadAverage, Meminfo};

use super::programs::Program;
use super::statistics::Spread;
use super::variants::{Comparison, Profiler, Variant};
use super::{ProfileSize, Round, Run};

const MIB: f64 = 1024.0 * 1024.0;

const METHOD: &str = "\
Each round runs the program once in the way of each row, in an order that rotates. Values are
medians, with the smallest and the largest. Ratios and differences are taken within each round,
against the mean of its two runs without a profiler, and then the median of these is taken; for `none
again` they are against `none`, which is the measurement's own noise. CPU time is user and system
time of the whole process as the kernel counts it, peak RSS its largest resident memory.
";

/// Returns the heading: the measured programs and options, the machine and the date.
pub(super) fn heading(jdk: &Jdk, comparison: &Comparison) -> String {
    let mut text = format!("{}JDK: {}.\n\n{METHOD}\n", machine(), version(jdk));
    for Variant { name, profiler } in &comparison.variants {
        let about = match profiler {
            Profiler::None => "without a profiler".to_owned(),
            Profiler::Perk(options) => format!("perk's agent, `{options}`"),
            Profiler::FlightRecorder(settings) => {
                format!("the JVM's recorder, settings={settings}")
            }
            Profiler::Other(option) => format!("`{option}`"),
        };
        writeln!(text, "* {name}: {about}").expect(TEXT);
    }
    text
}

/// Returns the version of a JDK as it describes itself.
fn version(jdk: &Jdk) -> String {
    let release = fs::read_to_string(jdk.home.join("release")).unwrap_or_default();
    let version = ["IMPLEMENTOR", "JAVA_RUNTIME_VERSION"].map(|name| value(&release, name));
    version.join(" ").trim().to_owned()
}

/// Returns the lines about perk, the machine and the date.
pub(super) fn machine() -> String {
    let cpus = CpuInfo::current().ok();
    let memory_bytes = Meminfo::current().map_or(f64::NAN, |memory| memory.mem_total as f64);
    let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let load = LoadAverage::current().map_or(f32::NAN, |load| load.one);
    let cores = thread::available_parallelism().map_or(0, usize::from);
    let since_1970 = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let date = Timestamp { unix_ms: since_1970.as_millis() as u64, utc_offset_s: 0 };
    format!(
        "perk {}, {} UTC.\nMachine: {cores} cores of {}, {:.0} GiB of memory, Linux {}; load at the \
         start {load:.2}.\n",
        env!("CARGO_PKG_VERSION"),
        date.ctime(),
        cpus.as_ref().and_then(|cpus| cpus.model_name(0)).unwrap_or("unknown processors"),
        memory_bytes / 1024.0 / MIB,
        kernel.trim(),
    )
}

/// Returns the value of a name in lines such as `NAME="value"`.
fn value(text: &str, name: &str) -> String {
    let lines = text.lines().filter_map(|line| line.split_once('='));
    let mut values = lines.filter(|(key, _)| key.trim() == name);
    values.next().map_or_else(String::new, |(_, value)| value.trim().trim_matches('"').to_owned())
}

/// Returns the tables of one program.
pub(super) fn program(program: &Program, comparison: &Comparison, rounds: &[Round]) -> String {
    let mut text = format!("### {}\n\n", program.name);
    let mut about = program.about.clone();
    about[..1].make_ascii_uppercase();
    writeln!(text, "{about}; {} rounds.\n", rounds.len()).expect(TEXT);
    let variants = &comparison.variants;
    if program.timings.is_some() {
        text += "CPU time of an operation, and how much more than without perk, in ns:\n\n";
        text += &operations(variants, rounds);
        text += "\nThe whole program:\n\n";
    }
    text += &outside(variants, rounds);
    text += "\nperk's own figures, next to the difference seen from outside (empty: a format \
             that does not hold it):\n\n";
    text += &inside(comparison, rounds);
    text
}

const TEXT: &str = "a String takes any text";

/// Returns the table of the costs as seen from outside.
fn outside(variants: &[Variant], rounds: &[Round]) -> String {
    let mut table = head(&[
        "",
        "CPU s",
        "CPU ratio",
        "ratio of medians",
        "CPU more, ms",
        "wall s",
        "wall ratio",
        "peak RSS MiB",
        "RSS more, MiB",
        "file KiB",
        "samples",
        "without stack, %",
    ]);
    let cpu = |run: &Run| run.usage.cpu_s;
    let wall = |run: &Run| run.usage.wall_s;
    let rss = |run: &Run| run.usage.peak_rss_bytes / MIB;
    for (index, Variant { name, profiler }) in variants.iter().enumerate() {
        let all = |of: fn(&Run) -> f64| Spread::of(rounds.iter().map(|round| of(&round[index])));
        let mut cells = vec![(*name).to_owned(), all(cpu).text(3)];
        if index == 0 {
            cells.extend(["1", "1", ""].map(str::to_owned));
            cells.extend([all(wall).text(3), "1".to_owned(), all(rss).text(1), String::new()]);
        } else {
            let base =
                Spread::of(rounds.iter().flat_map(|it| bases(variants, it, index)).map(cpu)).median;
            cells.extend([
                paired(variants, rounds, index, cpu, |it, base| it / base).text(4),
                format!("{:.4}", all(cpu).median / base),
                paired(variants, rounds, index, cpu, |it, base| (it - base) * 1e3).text(1),
                all(wall).text(3),
                paired(variants, rounds, index, wall, |it, base| it / base).text(4),
                all(rss).text(1),
                paired(variants, rounds, index, rss, |it, base| it - base).text(1),
            ]);
        }
        let recorded = |of: fn(ProfileSize) -> f64, decimals: usize| match profiler {
            Profiler::None => String::new(),
            _ => {
                let runs = rounds.iter().filter_map(|round| round[index].recorded);
                format!("{:.decimals$}", Spread::of(runs.map(of)).median)
            }
        };
        cells.extend([
            recorded(|it| it.file_bytes as f64 / 1024.0, 0),
            recorded(|it| it.sample_count as f64, 0),
            recorded(|it| 100.0 * it.unattributed_count as f64 / it.sample_count.max(1) as f64, 2),
        ]);
        table += &row(&cells);
    }
    table
}

/// Returns the table of the agent's own account.
fn inside(comparison: &Comparison, rounds: &[Round]) -> String {
    let Comparison { variants, columns } = comparison;
    let mut names = vec!["", "CPU more, ms"];
    names.extend(columns.iter().map(|column| column.name));
    let mut table = head(&names);
    for (index, Variant { name, profiler }) in variants.iter().enumerate() {
        if !matches!(profiler, Profiler::Perk(_)) {
            continue;
        }
        let difference =
            paired(variants, rounds, index, |run| run.usage.cpu_s, |it, base| (it - base) * 1e3);
        let mut cells = vec![(*name).to_owned(), format!("{:.1}", difference.median)];
        cells.extend(columns.iter().map(|column| {
            let accountings = rounds.iter().filter_map(|round| round[index].accounting.as_ref());
            let median =
                Spread::of(accountings.map(|it| (column.of)(it) as f64 / column.unit)).median;
            let decimals = column.decimals;
            if median.is_nan() { String::new() } else { format!("{median:.decimals$}") }
        }));
        table += &row(&cells);
    }
    table
}

/// Returns the table of the program's measurements of itself.
fn operations(variants: &[Variant], rounds: &[Round]) -> String {
    let first = rounds.first().and_then(|round| round.first());
    let names: Vec<&str> =
        first.iter().flat_map(|run| &run.timings).map(|it| it.operation.as_str()).collect();
    let mut titles = vec![""];
    titles.extend(names.iter().flat_map(|&name| [name, "more"]));
    let mut table = head(&titles);
    for (index, variant) in variants.iter().enumerate() {
        let mut cells = vec![variant.name.to_owned()];
        for operation in 0..names.len() {
            let ns = |run: &Run| run.timings.get(operation).map_or(f64::NAN, |it| it.ns);
            cells.push(Spread::of(rounds.iter().map(|round| ns(&round[index]))).text(2));
            let more = paired(variants, rounds, index, ns, |it, base| it - base).median;
            cells.push(if index == 0 { String::new() } else { format!("{more:.2}") });
        }
        table += &row(&cells);
    }
    table
}

/// Returns the runs of a round with which variant `index` is compared.
fn bases<'a>(variants: &[Variant], round: &'a Round, index: usize) -> Vec<&'a Run> {
    // The last run without perk is itself compared with the first.
    let is_bare = |at: usize| variants[at].profiler == Profiler::None;
    let is_base = |at: usize| is_bare(at) && (!is_bare(index) || at < index);
    round.iter().enumerate().filter(|(at, _)| is_base(*at)).map(|(_, run)| run).collect()
}

/// Compares a variant with the runs without a profiler in each round.
fn paired(
    variants: &[Variant],
    rounds: &[Round],
    index: usize,
    of: impl Fn(&Run) -> f64,
    compare: fn(f64, f64) -> f64,
) -> Spread {
    Spread::of(rounds.iter().map(|round| {
        let bases = bases(variants, round, index);
        let base = bases.iter().map(|run| of(run)).sum::<f64>() / bases.len() as f64;
        compare(of(&round[index]), base)
    }))
}

/// Returns the first two lines of a table.
pub(super) fn head(names: &[impl AsRef<str>]) -> String {
    row(names) + &row(&vec!["---"; names.len()])
}

/// Returns a line of a table.
pub(super) fn row(cells: &[impl AsRef<str>]) -> String {
    let cells: Vec<&str> = cells.iter().map(AsRef::as_ref).collect();
    format!("| {} |\n", cells.join(" | "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::Timing;
    use crate::bench::child::Usage;

    fn round<const N: usize>(cpu_s: [f64; N]) -> Round {
        let run = |cpu_s| Run {
            usage: Usage { cpu_s, ..Usage::default() },
            timings: vec![Timing { operation: "call".to_owned(), ns: cpu_s * 10.0 }],
            ..Run::default()
        };
        cpu_s.map(run).to_vec()
    }

    #[test]
    fn perk_is_compared_with_both_runs_without_it() {
        let names = ["old", "sites"].map(str::to_owned);
        let variants = Comparison::exact(&names).variants;
        let rounds = [round([1.0, 3.0, 4.0, 2.0]), round([2.0, 3.0, 4.0, 2.0])];
        let ratio =
            |index| paired(&variants, &rounds, index, |run| run.usage.cpu_s, |it, base| it / base);
        assert_eq!(ratio(1), Spread { median: 1.75, min: 1.5, max: 2.0 });
        assert_eq!(ratio(3), Spread { median: 1.5, min: 1.0, max: 2.0 });
    }

    #[test]
    fn each_row_has_as_many_cells_as_the_first() {
        let comparison = Comparison::sampling();
        let variants = &comparison.variants;
        let rounds = [round([1.0, 1.5, 2.0, 1.0, 1.0, 1.0, 1.0, 1.0])];
        let outside = outside(variants, &rounds);
        let operations = operations(variants, &rounds);
        for table in [&outside, &operations, &inside(&comparison, &rounds)] {
            let mut cells = table.lines().map(|line| line.matches('|').count());
            let first = cells.next();
            assert!(cells.all(|count| Some(count) == first), "{table}");
        }
        assert!(outside.contains("| polling 10 ms | 1.500 (1.500 to 1.500) | 1.5000 "));
        assert!(operations.contains("| signal 10 ms | 20.00 (20.00 to 20.00) | 10.00 |"));
    }

    #[test]
    fn values_are_found_in_lines() {
        assert_eq!(value("A=\"x y\"\nB=\"z\"\n", "B"), "z");
        assert_eq!(value("", "B"), "");
    }
}
