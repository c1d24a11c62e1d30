//! `perk diff`: what changed from one profile to another. Counts are compared exactly, samples by
//! their share, times are shown. A flame graph shows both at once.

mod csv;
mod graph;
mod json;
pub(crate) mod limit;

use std::io::{self, BufWriter, Write};
use std::process::ExitCode;

use anyhow::bail;
use perk_analysis::diff::{Change, Diff, MetricDiff};
use perk_profile::{Allocations, FrameId, MethodId, Metric, Profile, units};

use crate::args::DiffArgs;
use crate::input::{self, display_name, is_stream};
use crate::metric;
use crate::report::paths::middle_cut;
use crate::report::table::{Row, Table};
use crate::show::{self, Screen, bytes, duration, percent, printable};
use limit::Verdict;

/// Rows of a table, where `--top` does not say it.
const ROWS: usize = 15;
/// The exit code where the profiles differ, or differ past a limit.
const DIFFERS: u8 = 1;

/// Compares two files.
pub(crate) fn diff(args: &DiffArgs) -> anyhow::Result<ExitCode> {
    if is_stream(&args.before) && is_stream(&args.after) {
        bail!("only one of the profiles can come from stdin");
    }
    let names = [display_name(&args.before), display_name(&args.after)];
    let before = input::read(&args.before, &args.read)?.profile;
    let before = args.filter.apply(before, &names[0]);
    let after = input::read(&args.after, &args.read)?.profile;
    let after = args.filter.apply(after, &names[1]);
    let asked = args.metric.as_deref().map(|name| metric::find(&before, name)).transpose()?;
    let names = [&*names[0], &*names[1]];
    let comparison = Comparison { names, asked, diff: Diff::new(&before, &after) };
    if comparison.diff.is_empty() {
        let [before, after] = [(comparison.names[0], &before), (comparison.names[1], &after)]
            .map(|(name, profile)| format!("{name} has {}", contents(profile)));
        bail!("no common metric to compare: {before}; {after}");
    }
    if !args.output.is_empty() {
        graph::write(args, [&before, &after], comparison.names)?;
    }
    let verdicts = args.fail_on.iter().map(|limit| limit.check(&comparison.diff));
    let verdicts = verdicts.collect::<anyhow::Result<Vec<_>>>()?;
    let mut out = BufWriter::new(io::stdout().lock());
    if args.csv {
        csv::write(&comparison, args.top.unwrap_or(usize::MAX), &mut out)?;
    } else if args.json {
        json::write(&comparison, &verdicts, args.top.unwrap_or(usize::MAX), &mut out)?;
    } else {
        let top = args.top.unwrap_or(ROWS);
        out.write_all(comparison.text(&verdicts, top, &Screen::of_stdout()).as_bytes())?;
    }
    out.flush()?;
    let fails = match &verdicts[..] {
        [] => comparison.differs(),
        verdicts => verdicts.iter().any(|verdict| verdict.is_exceeded),
    };
    Ok(if fails { ExitCode::from(DIFFERS) } else { ExitCode::SUCCESS })
}

/// What a profile has, in words.
fn contents(profile: &Profile) -> String {
    let metrics = Metric::all_of(profile).into_iter().filter(Metric::is_leading);
    let metrics = metrics.map(|metric| metric.name().to_owned());
    let others = [
        (profile.call_edges().next().is_some(), "callers and callees"),
        (profile.heaps().next().is_some(), "a heap dump"),
        (profile.field_accesses().is_some(), "field accesses"),
    ];
    let others =
        others.into_iter().filter_map(|(is_there, what)| is_there.then_some(what.to_owned()));
    let parts: Vec<_> = metrics.chain(others).collect();
    if parts.is_empty() { "nothing".to_owned() } else { parts.join(", ") }
}

/// Two profiles side by side.
struct Comparison<'a> {
    /// The files.
    names: [&'a str; 2],
    /// The metric that was asked for.
    asked: Option<Metric>,
    diff: Diff,
}

impl Comparison<'_> {
    /// The metrics that are compared by method: samples, those of other tools, and the one that was
    /// asked for.
    fn shown_metrics(&self) -> impl Iterator<Item = &MetricDiff> {
        self.diff.metrics.iter().filter(|it| match &self.asked {
            Some(asked) => it.metric == *asked,
            None => it.metric == Metric::Samples || it.metric.is_other(),
        })
    }

    /// Whether calls differ, or allocations where they were all counted. What of them lives depends
    /// on when the JVM collected garbage last, and is left aside.
    fn differs(&self) -> bool {
        self.calls_differ() || !self.diff.is_estimated && self.allocations_differ()
    }

    fn calls_differ(&self) -> bool {
        let methods = self.diff.methods.iter().flatten();
        let edges = self.diff.edges.iter().flatten();
        methods.map(|row| (row.before.count, row.after.count)).any(|(a, b)| a != b)
            || edges.into_iter().any(|row| row.before != row.after)
    }

    fn allocations_differ(&self) -> bool {
        self.diff.sites.iter().flatten().any(|row| allocated(&row.before) != allocated(&row.after))
    }

    fn text(&self, verdicts: &[Verdict], top: usize, screen: &Screen) -> String {
        let mut sections = vec![self.summary()];
        if self.calls_differ() {
            sections.push(self.methods(top, screen));
            sections.push(self.edges(top, screen));
        }
        if self.allocations_differ() {
            sections.push(self.classes(top, screen));
            sections.push(self.sites(top, screen));
        }
        sections.extend(self.shown_metrics().map(|shown| self.shares(shown, top, screen)));
        sections.push(self.locks(top, screen));
        sections.push(self.heap(top, screen));
        if !verdicts.is_empty() {
            let line = |verdict: &Verdict| {
                let state = if verdict.is_exceeded { "EXCEEDED" } else { "kept" };
                let (before, after) = (verdict.before, verdict.after);
                format!(
                    "{state:<8}  {}: {}\n",
                    verdict.limit,
                    change(before, after, u64::to_string)
                )
            };
            let lines: String = verdicts.iter().map(line).collect();
            sections.push(format!("{}\n{lines}", screen.heading("Limits")));
        }
        sections.retain(|section| !section.is_empty());
        sections.join("\n")
    }

    /// What is the same in a line; what is not, in a line each.
    fn summary(&self) -> String {
        let diff = &self.diff;
        let mut same = Vec::new();
        let mut lines = String::new();
        let mut times = String::new();
        if let Some(rows) = &diff.methods {
            let (before, after) = sums(rows, |calls| calls.count);
            if self.calls_differ() {
                lines += &format!("calls      {}\n", change(before, after, u64::to_string));
            } else {
                same.push("calls");
            }
            let (before, after) = sums(rows, |calls| calls.self_ns);
            if before.max(after) > 0 {
                times = change(before, after, |&ns| duration(ns));
            }
        }
        if let Some(rows) = &diff.classes {
            let (before, after) = sums(rows, |objects| objects.allocated_bytes);
            let (count_before, count_after) = sums(rows, |objects| objects.allocated_count);
            if self.allocations_differ() {
                let of = if diff.is_estimated { " (estimates)" } else { "" };
                let counts = change(count_before, count_after, u64::to_string);
                let sizes = change(before, after, |&size| bytes(size));
                lines += &format!("allocated  {sizes}{of}\nobjects    {counts}{of}\n");
            } else {
                same.push("allocations");
            }
        }
        for MetricDiff { metric, total, .. } in self.shown_metrics() {
            let shown = |&number: &u64| match metric {
                Metric::Samples => number.to_string(),
                metric => units::amount(number, metric.unit()),
            };
            let numbers = change(total.before, total.after, shown);
            let name = printable(metric.name());
            lines += &format!("{name:<10} {numbers}; methods are compared by their share\n");
        }
        if let Some(rows) = &diff.heap {
            let (before, after) = sums(rows, |objects| objects.shallow_bytes);
            lines += &format!("heap       {}\n", change(before, after, |&size| bytes(size)));
        }
        if let Some(rows) = &diff.locks {
            let (before, after) = sums(rows, |waits| waits.blocked_ns);
            lines += &format!("blocked    {}\n", change(before, after, |&ns| duration(ns)));
        }
        if !same.is_empty() {
            let what = same.join(" and ");
            let of = if times.is_empty() { String::new() } else { format!("; time {times}") };
            return format!("no difference in {what}{of}\n{lines}");
        }
        if !times.is_empty() {
            lines += &format!("time       {times}\n");
        }
        let [before, after] = self.names;
        format!("{before} → {after}\n{lines}")
    }

    fn methods(&self, top: usize, screen: &Screen) -> String {
        let rows = self.diff.methods.iter().flatten();
        let rows: Vec<_> = rows.filter(|row| row.before.count != row.after.count).collect();
        let labels = self.labels(rows.iter().take(top).map(|row| row.key));
        let is_timed = rows.iter().any(|row| row.before.self_ns.max(row.after.self_ns) > 0);
        let mut titles = vec!["before", "after", "change", "change %"];
        if is_timed {
            titles.extend(["self before", "self after"]);
        }
        titles.push("method");
        let cells = rows.iter().take(top).map(|row| {
            let mut cells = counts(row.before.count, row.after.count);
            if is_timed {
                cells.extend([row.before.self_ns, row.after.self_ns].map(duration));
            }
            cells.push(labels(row.key));
            Row { cells, below: Vec::new() }
        });
        let table = Table { titles, rows: cells.collect() }.render(screen);
        section("Calls by method", rows.len(), top, &table, screen)
    }

    fn edges(&self, top: usize, screen: &Screen) -> String {
        let rows = self.diff.edges.iter().flatten();
        let rows: Vec<_> = rows.filter(|row| row.before != row.after).collect();
        let shown = rows.iter().take(top).flat_map(|row| [row.key.0, row.key.1]).flatten();
        let labels = self.labels(shown);
        let name = |id: Option<MethodId>| id.map_or("[not known]".to_owned(), &labels);
        let cells = rows.iter().take(top).map(|row| {
            let mut cells = counts(row.before, row.after);
            cells.push(format!("{} → {}", name(row.key.0), name(row.key.1)));
            Row { cells, below: Vec::new() }
        });
        let titles = vec!["before", "after", "change", "change %", "caller → callee"];
        let table = Table { titles, rows: cells.collect() }.render(screen);
        section("Calls by caller and callee", rows.len(), top, &table, screen)
    }

    fn classes(&self, top: usize, screen: &Screen) -> String {
        let rows = self.diff.classes.iter().flatten();
        let rows: Vec<_> =
            rows.filter(|row| allocated(&row.before) != allocated(&row.after)).collect();
        let shown = rows.iter().take(top).map(|row| {
            let class = printable(self.diff.symbols.class_name(row.key));
            Row { cells: objects(&row.before, &row.after, class), below: Vec::new() }
        });
        let table = Table { titles: OBJECTS.to_vec(), rows: shown.collect() }.render(screen);
        section(&self.title("Allocations by class"), rows.len(), top, &table, screen)
    }

    fn sites(&self, top: usize, screen: &Screen) -> String {
        let Diff { symbols, tree, sites, .. } = &self.diff;
        let rows = sites.iter().flatten();
        let rows: Vec<_> =
            rows.filter(|row| allocated(&row.before) != allocated(&row.after)).collect();
        let shown = rows.iter().take(top).map(|row| {
            let class = printable(symbols.class_name(row.key.0));
            let frames: Vec<_> = tree.frames(row.key.1).collect();
            let below = middle_cut(&frames, |&id: &FrameId| show::frame(symbols, id));
            Row { cells: objects(&row.before, &row.after, class), below }
        });
        let table = Table { titles: OBJECTS.to_vec(), rows: shown.collect() }.render(screen);
        section(&self.title("Allocations by site"), rows.len(), top, &table, screen)
    }

    fn title(&self, title: &str) -> String {
        let of = if self.diff.is_estimated { " (estimates)" } else { "" };
        format!("{title}{of}")
    }

    /// Methods by how their share moved.
    fn shares(
        &self,
        MetricDiff { metric, total: all, methods }: &MetricDiff,
        top: usize,
        screen: &Screen,
    ) -> String {
        let title = match metric {
            Metric::Samples => "Share of the samples by method (self)".to_owned(),
            metric => format!("Share of {} by method (self)", show::metric(metric)),
        };
        let share =
            |count: u64, all: u64| if all == 0 { 0.0 } else { count as f64 * 100.0 / all as f64 };
        let moved: Vec<_> = methods
            .iter()
            .map(|row| {
                let from = share(row.before.own, all.before);
                (row, share(row.after.own, all.after) - from)
            })
            .filter(|&(_, moved)| moved != 0.0)
            .collect();
        let labels = self.labels(moved.iter().take(top).map(|(row, _)| row.key));
        let cells = moved.iter().take(top).map(|(row, moved)| {
            let cells = vec![
                percent(row.before.own, all.before),
                percent(row.after.own, all.after),
                format!("{moved:+.2}"),
                units::amount(row.before.own, metric.unit()),
                units::amount(row.after.own, metric.unit()),
                labels(row.key),
            ];
            Row { cells, below: Vec::new() }
        });
        let titles = vec!["before %", "after %", "points", "before", "after", "method"];
        let table = Table { titles, rows: cells.collect() }.render(screen);
        section(&title, moved.len(), top, &table, screen)
    }

    /// Locks by how the time moved that threads were blocked.
    fn locks(&self, top: usize, screen: &Screen) -> String {
        let rows = self.diff.locks.iter().flatten();
        let rows: Vec<_> = rows.filter(|row| row.before != row.after).collect();
        let cells = rows.iter().take(top).map(|row| {
            let (before, after) = (&row.before, &row.after);
            let cells = vec![
                duration(before.blocked_ns),
                duration(after.blocked_ns),
                relative(before.blocked_ns, after.blocked_ns),
                before.blocked_count.to_string(),
                after.blocked_count.to_string(),
                printable(self.diff.symbols.class_name(row.key)),
            ];
            Row { cells, below: Vec::new() }
        });
        let titles =
            vec!["blocked before", "after", "change %", "times before", "after", "lock of class"];
        let table = Table { titles, rows: cells.collect() }.render(screen);
        section("Waiting for locks by class", rows.len(), top, &table, screen)
    }

    /// Classes by how the bytes of their objects in the heap moved.
    fn heap(&self, top: usize, screen: &Screen) -> String {
        let rows = self.diff.heap.iter().flatten();
        let rows: Vec<_> = rows.filter(|row| row.before != row.after).collect();
        let cells = rows.iter().take(top).map(|row| {
            let (before, after) = (&row.before, &row.after);
            let cells = vec![
                bytes(before.shallow_bytes),
                bytes(after.shallow_bytes),
                relative(before.shallow_bytes, after.shallow_bytes),
                before.instance_count.to_string(),
                after.instance_count.to_string(),
                difference(before.instance_count, after.instance_count),
                printable(self.diff.symbols.class_name(row.key)),
            ];
            Row { cells, below: Vec::new() }
        });
        let table = Table { titles: OBJECTS.to_vec(), rows: cells.collect() }.render(screen);
        section("Objects in the heap by class", rows.len(), top, &table, screen)
    }

    fn labels(&self, methods: impl Iterator<Item = MethodId>) -> impl Fn(MethodId) -> String {
        let labels = show::labels(&self.diff.symbols, methods);
        move |method| labels[&method].clone()
    }
}

/// The titles of a table of allocations.
const OBJECTS: [&str; 7] =
    ["before", "after", "change %", "objects before", "objects after", "change", "class"];

fn objects(before: &Allocations, after: &Allocations, class: String) -> Vec<String> {
    vec![
        bytes(before.allocated_bytes),
        bytes(after.allocated_bytes),
        relative(before.allocated_bytes, after.allocated_bytes),
        before.allocated_count.to_string(),
        after.allocated_count.to_string(),
        difference(before.allocated_count, after.allocated_count),
        class,
    ]
}

fn allocated(objects: &Allocations) -> (u64, u64) {
    (objects.allocated_bytes, objects.allocated_count)
}

/// A table with its title, unless it is empty, and how many rows it leaves out.
fn section(title: &str, count: usize, top: usize, table: &str, screen: &Screen) -> String {
    if count == 0 {
        return String::new();
    }
    let mut text = format!("{}\n{table}", screen.heading(title));
    if count > top {
        text += &format!("and {} more (--top)\n", count - top);
    }
    text
}

/// Before, after, and the difference in two ways.
fn counts(before: u64, after: u64) -> Vec<String> {
    vec![before.to_string(), after.to_string(), difference(before, after), relative(before, after)]
}

/// `+5`, `-3`, `0`
fn difference(before: u64, after: u64) -> String {
    let moved = i128::from(after) - i128::from(before);
    if moved > 0 { format!("+{moved}") } else { moved.to_string() }
}

/// `+5.00`, in percent; `new` where there was none before.
fn relative(before: u64, after: u64) -> String {
    match (before, after) {
        (0, 0) => "+0.00".to_owned(),
        (0, _) => "new".to_owned(),
        _ => format!("{:+.2}", (after as f64 - before as f64) * 100.0 / before as f64),
    }
}

/// `100 → 105 (+5.00 %)`
fn change(before: u64, after: u64, shown: impl Fn(&u64) -> String) -> String {
    let moved = match relative(before, after).as_str() {
        "new" => "new".to_owned(),
        moved => format!("{moved} %"),
    };
    format!("{} → {} ({moved})", shown(&before), shown(&after))
}

fn sums<K, V>(rows: &[Change<K, V>], number: impl Fn(&V) -> u64) -> (u64, u64) {
    rows.iter().fold((0, 0), |(before, after), row| {
        let before = u64::saturating_add(before, number(&row.before));
        (before, u64::saturating_add(after, number(&row.after)))
    })
}
