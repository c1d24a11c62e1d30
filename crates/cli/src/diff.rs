//! `perk diff`: what changed from one profile to another. Counts are compared exactly, samples by
//! their share, times are shown. A flame graph shows both at once.

mod graph;
pub(crate) mod limit;
mod lists;

use std::io::{self, BufWriter, Write};
use std::process::ExitCode;

use anyhow::bail;
use perk_analysis::diff::{Change, Diff, MetricDiff};
use perk_profile::units::{amount, bytes, duration, printable};
use perk_profile::{Allocations, Metric, Profile};
use perk_render::{Column, Json, Part, Screen, Table};

use crate::args::DiffArgs;
use crate::input::{self, display_name, is_stream};
use crate::metric::{self, adds_up, is_exact};
use crate::talk::say;
use crate::window;
use limit::Verdict;
use lists::List;

/// Rows of a table without `--top`.
const ROWS: usize = 15;
/// The exit code where the profiles differ, or differ past a limit.
const DIFFERS: u8 = 1;

/// Compares two files.
pub(crate) fn diff(args: &DiffArgs) -> anyhow::Result<ExitCode> {
    if is_stream(&args.before) && is_stream(&args.after) {
        bail!("only one of the profiles can come from stdin");
    }
    let names = [display_name(&args.before), display_name(&args.after)];
    let window = args.read.window(args.window.to)?;
    let mut before = input::read(&args.before, &args.read)?.profile;
    window::apply_and_say(window, &mut before, &names[0])?;
    args.filter.apply_and_say(&mut before, &names[0]);
    let mut after = input::read(&args.after, &args.read)?.profile;
    window::apply_and_say(window, &mut after, &names[1])?;
    args.filter.apply_and_say(&mut after, &names[1]);
    let asked = args.metric.as_deref().map(|name| metric::find(&before, name)).transpose()?;
    let names = [&*names[0], &*names[1]];
    let comparison = Comparison { names, asked, diff: Diff::new(&before, &after) };
    if comparison.diff.is_empty() {
        let [before, after] = [(comparison.names[0], &before), (comparison.names[1], &after)]
            .map(|(name, profile)| format!("{name} has {}", contents(profile)));
        bail!("no common metric to compare: {before}; {after}");
    }
    let has_extended = names.iter().zip(comparison.diff.has_extended).filter(|it| it.1);
    if let [(name, _)] = has_extended.collect::<Vec<_>>()[..] {
        say(format_args!("accesses by other means are left out: {name} alone has them"));
    }
    if !args.output.is_empty() {
        graph::write(args, [&before, &after], comparison.names)?;
    }
    let verdicts = args.fail_on.iter().map(|limit| limit.check(&comparison.diff));
    let verdicts = verdicts.collect::<anyhow::Result<Vec<_>>>()?;
    let mut out = BufWriter::new(io::stdout().lock());
    let all = args.top.unwrap_or(usize::MAX);
    if args.csv {
        comparison.csv(all).csv(usize::MAX, &mut out)?;
    } else if args.json {
        comparison.json(&verdicts, all).write(&mut out)?;
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

/// The content of a profile, in words.
fn contents(profile: &Profile) -> String {
    let metrics = Metric::leading_of(profile);
    let metrics = metrics.map(|metric| metric.name().to_owned());
    let others = [
        (profile.has_pairs(), "callers and callees"),
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
            None => it.metric == Metric::Samples || it.metric.is_other() && adds_up(&it.metric),
        })
    }

    /// Whether calls, accesses to fields or executed bytecodes differ, or allocations where they were
    /// all counted. Live
    /// objects depend on the JVM's last garbage collection, and are left aside.
    fn differs(&self) -> bool {
        self.calls_differ()
            || self.accesses_differ()
            || self.shown_metrics().any(counts_differ)
            || !self.diff.is_estimated && self.allocations_differ()
    }

    fn accesses_differ(&self) -> bool {
        self.diff.fields.iter().flatten().any(|row| row.before != row.after)
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
        let diff = &self.diff;
        let metrics = self.shown_metrics().map(|shown| Some(List::metric(diff, shown)));
        let before = [List::calls(diff), List::edges(diff), List::classes(diff), List::sites(diff)];
        let after = [List::locks(diff), List::heap(diff), List::accessed(diff), List::fields(diff)];
        let lists = before.into_iter().chain(metrics).chain(after).flatten();
        let mut sections: Vec<_> = lists.map(|list| list.section(top)).collect();
        if !verdicts.is_empty() {
            let line = |verdict: &Verdict| {
                let state = if verdict.is_exceeded { "EXCEEDED" } else { "kept" };
                let numbers = change(verdict.before, verdict.after, u64::to_string);
                let most = verdict.most.map(|(method, [before, after])| {
                    let name = perk_render::full_name(&diff.symbols, method);
                    let numbers = change(before, after, u64::to_string);
                    format!("; most in {}: {numbers}", printable(&name))
                });
                let most = most.unwrap_or_default();
                Part::Sentence(format!("{state:<8}  {}: {numbers}{most}", verdict.limit))
            };
            let heading = Part::Heading("Limits".to_owned());
            sections.push([heading].into_iter().chain(verdicts.iter().map(line)).collect());
        }
        match perk_render::text(sections, screen) {
            text if text.is_empty() => self.summary(),
            text => format!("{}\n{text}", self.summary()),
        }
    }

    /// A row for each number of each thing that differs, of each kind of thing at most `top`.
    fn csv(&self, top: usize) -> Table<'_> {
        let diff = &self.diff;
        let metrics = self.shown_metrics().map(|shown| Some(List::metric(diff, shown)));
        let before = [List::calls(diff), List::edges(diff), List::classes(diff)];
        let after = [List::locks(diff), List::heap(diff), List::accessed(diff), List::fields(diff)];
        let lists = before.into_iter().chain(metrics).chain(after).flatten();
        Table::of(
            &diff.symbols,
            "",
            lists.flat_map(move |list| list.numbers(top)).collect::<Vec<_>>(),
        )
        .column(Column::other("kind"), |it| it.kind)
        .column(Column::other("name"), |it| it.name.clone())
        .column(Column::other("caller"), |it| it.caller.clone())
        .column(Column::other("number"), |it| it.id)
        .column(Column::other("before"), |it| it.sides[0])
        .column(Column::other("after"), |it| it.sides[1])
        .table()
    }

    /// Everything that differs, of each list at most `top` rows.
    fn json<'t>(&'t self, verdicts: &'t [Verdict], top: usize) -> Json<'t> {
        let diff = &self.diff;
        let list = |list: Option<List<'t>>| Json::from(list.map(|list| list.json(top)));
        let sides = |Change { before, after, .. }: &Change<(), u64>| {
            Json::object([("before", (*before).into()), ("after", (*after).into())])
        };
        let most = |(method, [before, after]): (_, [u64; 2])| {
            let name = perk_render::full_name(&diff.symbols, method);
            Json::object([
                ("name", name.into()),
                ("before", before.into()),
                ("after", after.into()),
            ])
        };
        let limit = |verdict: &'t Verdict| {
            Json::object([
                ("limit", verdict.limit.as_str().into()),
                ("before", verdict.before.into()),
                ("after", verdict.after.into()),
                ("is_exceeded", verdict.is_exceeded.into()),
                ("most", verdict.most.map(most).into()),
            ])
        };
        let samples = diff.metric(&Metric::Samples);
        let metrics = self.shown_metrics().filter(|it| it.metric != Metric::Samples).map(|it| {
            Json::object([
                ("name", it.metric.name().into()),
                ("unit", it.metric.unit().name().into()),
                ("total", sides(&it.total)),
                ("methods", List::metric(diff, it).json(top)),
            ])
        });
        Json::object([
            ("before", self.names[0].into()),
            ("after", self.names[1].into()),
            // Whether calls, accesses or allocations that were counted exactly differ.
            ("differs", self.differs().into()),
            ("is_estimated", diff.is_estimated.into()),
            ("limits", Json::list(verdicts.iter().map(limit))),
            ("calls", list(List::calls(diff))),
            ("edges", list(List::edges(diff))),
            ("classes", list(List::classes(diff))),
            ("sites", list(List::sites(diff))),
            ("sample_count", samples.map(|it| sides(&it.total)).into()),
            // Of different numbers of samples: shares are what compares.
            ("samples", list(samples.map(|it| List::metric(diff, it)))),
            // Metrics of other tools, and the one that was asked for; shares compare.
            ("metrics", Json::list(metrics)),
            ("locks", list(List::locks(diff))),
            // The objects of the last heap dump of each.
            ("heap", list(List::heap(diff))),
            ("accessed", list(List::accessed(diff))),
            ("fields", list(List::fields(diff))),
        ])
    }

    /// Numbers that are the same in one line; a line for each that is not.
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
        if let Some(rows) = &diff.fields {
            if self.accesses_differ() {
                let (before, after) = sums(rows, |it| it.access_count);
                lines += &format!("accesses   {}\n", change(before, after, u64::to_string));
                let (before, after) = sums(rows, |it| it.other_access_count);
                lines += &format!("by others  {}\n", change(before, after, u64::to_string));
                if diff.has_extended == [true; 2] {
                    let (before, after) = sums(rows, |it| it.extended_access_count);
                    let numbers = change(before, after, u64::to_string);
                    lines += &format!("extended   {numbers} accesses by other means\n");
                }
            } else {
                same.push("accesses to fields");
            }
        }
        if let Some(rows) = diff.accessed.as_ref().filter(|_| self.accesses_differ()) {
            let (before, after) = sums(rows, |it| it.shared_count);
            lines += &format!("shared     {} objects\n", change(before, after, u64::to_string));
        }
        for it in self.shown_metrics() {
            let MetricDiff { metric, total, .. } = it;
            let shown = |&number: &u64| match metric {
                Metric::Samples => number.to_string(),
                metric => amount(number, metric.unit()),
            };
            let numbers = change(total.before, total.after, shown);
            let name = printable(metric.name());
            let compared = match is_exact(metric) {
                true if !counts_differ(it) => {
                    same.push(metric.name());
                    continue;
                }
                true => "",
                false => "; methods are compared by their share",
            };
            lines += &format!("{name:<10} {numbers}{compared}\n");
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
            let what = in_words(&same);
            let of = if times.is_empty() { String::new() } else { format!("; time {times}") };
            return format!("no difference in {what}{of}\n{lines}");
        }
        if !times.is_empty() {
            lines += &format!("time       {times}\n");
        }
        let [before, after] = self.names;
        format!("{before} → {after}\n{lines}")
    }
}

/// Whether the numbers of a metric that is counted differ.
fn counts_differ(it: &MetricDiff) -> bool {
    is_exact(&it.metric) && it.methods.iter().any(|row| row.before.own != row.after.own)
}

fn allocated(objects: &Allocations) -> (u64, u64) {
    (objects.allocated_bytes, objects.allocated_count)
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

/// `a`, `a and b`, `a, b and c`
fn in_words(names: &[&str]) -> String {
    match names {
        [] => String::new(),
        [name] => (*name).to_owned(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

fn sums<K, V>(rows: &[Change<K, V>], number: impl Fn(&V) -> u64) -> (u64, u64) {
    rows.iter().fold((0, 0), |(before, after), row| {
        let before = u64::saturating_add(before, number(&row.before));
        (before, u64::saturating_add(after, number(&row.after)))
    })
}
