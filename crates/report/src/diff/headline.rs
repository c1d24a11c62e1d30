//! The first lines of a comparison: what changed most and where, then each number.

use perk_analysis::diff::{Calls, Change, Diff, MethodNumbers, MetricDiff};
use perk_profile::units::{amount, printable};
use perk_profile::{MethodId, Metric, Unit, metric as metrics};
use perk_render::{Part, Section};

use super::ranking::is_counted;
use super::{Comparison, signed, sums, with_relative};

/// A time that is not of samples has not changed if it did by less than this part.
const NOISE: f64 = 0.1;
/// A count that changed by this part is an answer beside that of the time.
const COUNTS: f64 = 0.01;
/// A ratio nearer to 1 than this is said in percent.
const NEAR: f64 = 0.1;

impl Comparison<'_> {
    /// The answer, what is the same, and a line for each number that is not.
    pub(super) fn summary(&self) -> Section {
        let same = self.same();
        let answers = self.answers();
        let has_answers = !answers.is_empty();
        let mut lines: Section = answers.into_iter().map(Part::Sentence).collect();
        if !same.is_empty() {
            lines.push(Part::Fact(format!("no difference in {}", in_words(&same))));
        } else if !has_answers {
            let [before, after] = self.names;
            lines.push(Part::Fact(format!("{before} → {after}")));
        }
        let numbers = self.numbers();
        let width = numbers.iter().map(|it| it.0.chars().count()).max().unwrap_or(0).max(9);
        let number = |(name, text): (String, String)| Part::Fact(format!("{name:<width$}  {text}"));
        lines.extend(numbers.into_iter().map(number));
        lines.extend(self.notes().into_iter().map(Part::Sentence));
        lines
    }

    /// What is counted and the same.
    fn same(&self) -> Vec<String> {
        let mut same = Vec::new();
        if self.diff.methods.is_some() && !self.calls_differ() {
            same.push("calls".to_owned());
        }
        if self.diff.sites.is_some() && !self.allocations_differ() {
            same.push("allocations".to_owned());
        }
        if self.diff.fields.is_some() && !self.accesses_differ() {
            same.push("accesses to fields".to_owned());
        }
        let exact =
            self.shown_metrics().filter(|it| crate::selection::metric::is_exact(&it.metric));
        let exact = exact.filter(|it| !super::counts_differ(it));
        same.extend(exact.map(|it| printable(it.metric.name())));
        same
    }

    /// The first line, or two: what after does more or less of than before, and the method that does it.
    /// Time comes first, then what was counted and changed most.
    fn answers(&self) -> Vec<String> {
        let calls = self.calls_as_metric();
        let shown: Vec<_> = self.shown_metrics().map(MetricDiff::in_time).chain(calls).collect();
        let change = |it: &MetricDiff| {
            let Change { before, after, .. } = it.total;
            before.abs_diff(after) as f64 / before.max(after).max(1) as f64
        };
        let is_changed = |it: &&MetricDiff| is_changed(it, &self.diff);
        let time = shown.iter().find(|it| is_time(it));
        let counted = shown.iter().filter(|it| is_counted(it, &self.diff) && !is_live(&it.metric));
        let most = counted.filter(is_changed).max_by(|a, b| change(a).total_cmp(&change(b)));
        let changed_time = time.filter(is_changed);
        let most = most.filter(|it| changed_time.is_none() || change(it) >= COUNTS);
        let mut chosen: Vec<_> = changed_time.into_iter().chain(most).collect();
        if chosen.is_empty() {
            let asked = shown.first().filter(|_| self.asked.is_some());
            chosen.extend(shown.iter().find(is_changed).or(time).or(asked));
        }
        chosen.into_iter().map(|it| self.sentence(it)).collect()
    }

    /// Calls by method, as a metric.
    fn calls_as_metric(&self) -> Option<MetricDiff> {
        let rows = self.diff.methods.as_ref().filter(|_| self.asked.is_none())?;
        let (before, after) = sums(rows, |calls| calls.count);
        let own = |it: &Calls| MethodNumbers { own: it.count, total: it.count };
        let methods = rows.iter().map(|row| Change {
            key: row.key,
            before: own(&row.before),
            after: own(&row.after),
        });
        Some(MetricDiff {
            metric: Metric::Calls,
            total: Change { key: (), before, after },
            methods: methods.collect(),
            ..MetricDiff::default()
        })
    }

    fn sentence(&self, it: &MetricDiff) -> String {
        let [before, after] = self.names;
        let sides = [it.total.before, it.total.after];
        let Words { verb, noun, much, less } = words(it);
        let moved = signed(sides, it.unit);
        let ratio = sides[1] as f64 / sides[0].max(1) as f64;
        let percent = (ratio - 1.0).abs() * 100.0;
        let more = if ratio > 1.0 { "more" } else { less };
        let start = match sides {
            [first, second] if first == second => {
                return format!("{after} {verb} as {much} {noun} as {before}");
            }
            _ if is_time(it) && !is_changed(it, &self.diff) => {
                let chance = match it.is_significant(sides) {
                    Some(false) => "not significant at 95 %",
                    _ => "times differ from run to run",
                };
                return format!(
                    "{after} {verb} about as {much} {noun} as {before} ({moved}; {chance})"
                );
            }
            [0, second] => {
                format!("{after} {verb} {} of {noun}, {before} none", amount(second, it.unit))
            }
            [_, 0] => format!("{after} {verb} no {noun} ({moved})"),
            _ if percent < NEAR * 100.0 => {
                format!("{after} {verb} {percent:.2} % {more} {noun} than {before} ({moved})")
            }
            _ => format!("{after} {verb} {ratio:.2} times the {noun} of {before} ({moved})"),
        };
        let Some(row) = it.culprit(|_| true) else { return start };
        let shown = |row: &Change<MethodId, MethodNumbers>| {
            let name = perk_render::labels(&self.diff.symbols, [row.key]);
            let is_own = |it: MethodNumbers| it.own == it.total;
            let total = if is_own(row.before) && is_own(row.after) { "" } else { "total " };
            let moved = signed([row.before.total, row.after.total], it.unit);
            format!("{} ({total}{moved})", name[&row.key])
        };
        // Where it is a library's or the JDK's, the program's own method that comes to it.
        let is_yours = |method: MethodId| self.yours[method.index()];
        let caller = it.culprit(is_yours).filter(|_| !is_yours(row.key));
        let caller = caller.map(|row| format!(", below {}", shown(row))).unwrap_or_default();
        format!("{start}; most of it in {}{caller}", shown(row))
    }

    /// The name of each number that differs, and its change.
    fn numbers(&self) -> Vec<(String, String)> {
        let diff = &self.diff;
        let mut lines: Vec<(String, String)> = Vec::new();
        let mut push = |name: &str, text: String| lines.push((name.to_owned(), text));
        let count = |(before, after)| with_relative([before, after], Unit::Count);
        if let Some(rows) = diff.methods.as_ref().filter(|_| self.calls_differ()) {
            push("calls", count(sums(rows, |calls| calls.count)));
        }
        for it in self.shown_metrics() {
            let it = it.in_time();
            let sides = [it.total.before, it.total.after];
            let is_same = is_counted(&it, diff) && !super::counts_differ(&it);
            // Fields have lines of their own.
            if is_same || it.metric.is_of_fields() {
                continue;
            }
            let name = match (&it.metric, it.unit) {
                (Metric::Samples, Unit::Nanoseconds) => "CPU time".to_owned(),
                (metric, _) => printable(metric.name()),
            };
            let mut text = with_relative(sides, it.unit);
            if let Some([before, after]) = it.sample_ns {
                let counts = [sides[0] / before.max(1), sides[1] / after.max(1)];
                text += &format!(", {} and {} samples", counts[0], counts[1]);
            }
            match (it.margin(sides), it.is_significant(sides)) {
                (Some(margin), Some(true)) => text += &format!(", ± {}", amount(margin, it.unit)),
                (Some(margin), _) if sides[0] != sides[1] => {
                    text += &format!(", not significant: ± {}", amount(margin, it.unit));
                }
                _ => {}
            }
            push(&name, text);
        }
        if let Some(rows) = diff.fields.as_ref().filter(|_| self.accesses_differ()) {
            push("accesses", count(sums(rows, |it| it.access_count)));
            push("by others", count(sums(rows, |it| it.other_access_count)));
            if diff.has_extended == [true; 2] {
                let numbers = count(sums(rows, |it| it.extended_access_count));
                push("extended", format!("{numbers} accesses by other means"));
            }
        }
        if let Some(rows) = diff.accessed.as_ref().filter(|_| self.accesses_differ()) {
            push("shared", count(sums(rows, |it| it.shared_count)) + " objects");
        }
        if let Some(rows) = &diff.heap {
            let (before, after) = sums(rows, |objects| objects.shallow_bytes);
            push("heap", with_relative([before, after], Unit::Bytes));
        }
        lines
    }

    /// What the numbers can say, once.
    fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        let differs = |it: &&MetricDiff| it.total.before != it.total.after;
        let mut sampled = self.shown_metrics().filter(|it| it.sample.is_some()).peekable();
        if sampled.peek().is_some() {
            let is_changed = sampled.any(|it| is_changed(it, &self.diff));
            let more = match is_changed && !self.is_normalized {
                true => " For runs of different length, --normalize compares shares.",
                false => "",
            };
            notes.push(format!(
                "± is the error of a change that is due to the number of samples, at 95 % confidence.{more}"
            ));
        }
        let differs_by_run = |it: &MetricDiff| it.sample.is_none() || is_of_calls(it);
        if self.shown_metrics().filter(differs).any(|it| is_time(it) && differs_by_run(it)) {
            notes.push("Times differ from run to run; counts do not.".to_owned());
        }
        notes
    }
}

/// The words for a metric.
#[derive(Debug)]
struct Words {
    verb: &'static str,
    noun: String,
    much: &'static str,
    less: &'static str,
}

fn words(it: &MetricDiff) -> Words {
    let (verb, noun) = match (&it.metric, it.unit) {
        (Metric::SelfTime, _) => ("takes", "time".to_owned()),
        (Metric::Samples, Unit::Nanoseconds) => ("takes", "CPU time".to_owned()),
        (Metric::Calls, _) => ("makes", "calls".to_owned()),
        (Metric::AllocatedBytes, _) => ("allocates", "bytes".to_owned()),
        (Metric::AllocatedObjects, _) => ("allocates", "objects".to_owned()),
        (Metric::WallTime, _) => ("takes", it.metric.title()),
        (metric, _) => ("has", metric.title()),
    };
    let [much, less] = match it.unit {
        Unit::Nanoseconds => ["much", "less"],
        Unit::Count | Unit::Bytes => ["many", "fewer"],
    };
    Words { verb, noun, much, less }
}

/// Whether it is of the time of the program's threads.
fn is_time(it: &MetricDiff) -> bool {
    let is_jvm = it.metric.name() == metrics::JVM;
    let is_other = it.metric.is_other() && it.unit == Unit::Nanoseconds && !is_jvm;
    is_other || matches!(it.metric, Metric::Samples | Metric::SelfTime | Metric::WallTime)
}

/// Whether the total changed by more than chance.
fn is_changed(it: &MetricDiff, diff: &Diff) -> bool {
    let sides = [it.total.before, it.total.after];
    let moved = sides[0].abs_diff(sides[1]);
    match it.is_significant(sides) {
        Some(is_significant) if !is_significant || !is_of_calls(it) => is_significant,
        _ if is_counted(it, diff) => moved > 0,
        _ => moved as f64 >= sides[0].max(sides[1]) as f64 * NOISE && moved > 0,
    }
}

/// Whether it is of the times of calls. Ticks are samples of these, and each run has others.
fn is_of_calls(it: &MetricDiff) -> bool {
    it.metric == Metric::SelfTime
}

/// Whether it depends on the JVM's last garbage collection.
fn is_live(metric: &Metric) -> bool {
    matches!(metric, Metric::LiveBytes | Metric::LiveObjects)
}

/// `a`, `a and b`, `a, b and c`
fn in_words(names: &[String]) -> String {
    match names {
        [] => String::new(),
        [name] => name.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}
