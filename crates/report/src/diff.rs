//! The view of two profiles: what changed from one to the other, and where. Counts are compared exactly,
//! samples with the confidence that their number gives; times are shown.

mod headline;
mod limit;
mod lists;
mod ranking;

use std::cmp::Ordering;
use std::rc::Rc;

use anyhow::bail;
use perk_analysis::diff::{Change, Diff, MetricDiff, align_cpu_time};
use perk_analysis::{Filter, Window};
use perk_profile::units::{amount, printable};
use perk_profile::{Allocations, Metric, Profile, Symbols, Unit};
use perk_render::{Column, Json, LazyTable, Part, Section};

use crate::selection;
use crate::selection::metric::{self, adds_up, is_exact};
use crate::{Answer, Check, NamedItem, View, Want};
pub use limit::Limit;
use limit::{LimitInput, Verdict};
use lists::List;
use ranking::Ranking;

/// Rows of all tables together without `--top`, and of one table at least and at most.
const ROWS: usize = 60;
const LEAST_ROWS: usize = 5;
const MOST_ROWS: usize = 15;
/// Rows with call paths without `--top`.
const SITES: usize = 3;
/// Metrics with tables by method without `--top` and `--metric`.
const RANKINGS: usize = 3;
/// The schema of the JSON and its version: docs/json.md.
const SCHEMA: &str = "perk.diff/1";
/// What is asked of two profiles.
#[derive(Clone, Debug, Default)]
pub struct DiffRequest {
    /// The part of both recordings.
    pub window: Window,
    /// The traces that count.
    pub filter: Filter,
    /// The name of the metric to compare by method; `None` for all.
    pub metric: Option<String>,
    /// Rows of each table, also changes that may be chance; `None` for those of the metrics that changed
    /// most.
    pub top: Option<usize>,
    /// Whether samples and times are compared by their share of the total.
    pub normalizes: bool,
    /// The limits on what may change.
    pub limits: Vec<Limit>,
    /// The forms of the answer.
    pub want: Want,
}

impl DiffRequest {
    /// Leaves in a profile the window and what passes the filter, which `notes` describe.
    ///
    /// # Errors
    /// There is no such window.
    pub fn select(
        &self,
        side: NamedItem<Profile>,
        notes: &mut Vec<String>,
    ) -> anyhow::Result<NamedItem<Profile>> {
        let NamedItem { name, it: mut profile } = side;
        selection::apply((self.window, &self.filter), &mut profile, &name, notes)?;
        Ok(NamedItem::new(name, profile))
    }
}

/// Both profiles with what [`DiffRequest::select`] left of them. Samples get a common CPU time.
impl View<[&mut NamedItem<Profile>; 2]> for DiffRequest {
    fn answer(&self, [before, after]: [&mut NamedItem<Profile>; 2]) -> anyhow::Result<Answer> {
        let mut answer = Answer::default();
        align_cpu_time([&mut before.it, &mut after.it]);
        let names = [&*before.name, &*after.name];
        let (before, after) = (&before.it, &after.it);
        let asked = self.metric.as_deref().map(|name| metric::find(before, name)).transpose()?;
        let diff = Diff::new(before, after);
        let yours = diff.yours([before, after]);
        let comparison = Comparison { names, asked, is_normalized: self.normalizes, diff, yours };
        if comparison.diff.is_empty() {
            let [before, after] = [(comparison.names[0], before), (comparison.names[1], after)]
                .map(|(name, profile)| format!("{name} has {}", contents(profile)));
            bail!("no common metric to compare: {before}; {after}");
        }
        let has_extended = names.iter().zip(comparison.diff.has_extended).filter(|it| it.1);
        if let [(name, _)] = has_extended.collect::<Vec<_>>()[..] {
            let note = format!("accesses by other means are left out: {name} alone has them");
            answer.notes.push(note);
        }
        let compared = comparison.compared([before, after]);
        let verdicts = self.limits.iter().map(|limit| limit.check(compared));
        let verdicts = verdicts.collect::<anyhow::Result<Vec<_>>>()?;
        let all = self.top.unwrap_or(usize::MAX);
        if self.want.table {
            answer.table = Some(comparison.csv(compared, all).into());
        }
        if self.want.document {
            answer.document = Some(comparison.json(compared, &verdicts, all));
        }
        if self.want.text {
            let is_first = self.want.comment;
            answer.sections = comparison.sections(compared, (&verdicts, is_first), self.top);
        }
        let check = |verdict: &Verdict| Check {
            limit: verdict.limit.clone(),
            is_kept: !verdict.is_exceeded,
            text: verdict.line(&comparison.diff.symbols),
        };
        answer.checks = verdicts.iter().map(check).collect();
        answer.differs = match &verdicts[..] {
            [] => comparison.differs(),
            verdicts => verdicts.iter().any(|verdict| verdict.is_exceeded),
        };
        Ok(answer)
    }
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
    /// Whether samples and times are compared by their share.
    is_normalized: bool,
    diff: Diff,
    /// Whether each method is the program's own.
    yours: Vec<bool>,
}

impl Comparison<'_> {
    fn compared<'c>(&'c self, profiles: [&'c Profile; 2]) -> LimitInput<'c> {
        let Self { diff, asked, is_normalized, .. } = self;
        LimitInput { diff, profiles, asked: asked.as_ref(), is_normalized: *is_normalized }
    }

    /// The metrics that are compared by method: all that add up, or the one that was asked for.
    fn shown_metrics(&self) -> impl Iterator<Item = &MetricDiff> {
        self.diff.metrics.iter().filter(|it| match &self.asked {
            Some(asked) => it.metric == *asked,
            // Fields have tables of their own.
            None => adds_up(&it.metric) && !it.metric.is_of_fields(),
        })
    }

    /// Whether calls, accesses to fields or executed bytecodes differ, or allocations where they were
    /// all counted. Live objects depend on the JVM's last garbage collection, and are left aside.
    fn differs(&self) -> bool {
        self.calls_differ()
            || self.accesses_differ()
            || self.shown_metrics().any(|it| is_exact(&it.metric) && counts_differ(it))
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
        let root = self.diff.tree.root();
        let mut sites = self.diff.sites.iter().flatten();
        sites.any(|row| {
            // Those without a site are live objects that nobody has seen being allocated.
            let is_found = row.key.1 == root && [&row.before, &row.after].into_iter().all(is_live);
            !is_found && allocated(&row.before) != allocated(&row.after)
        })
    }

    /// The answer, the metrics by method, most changed first, and what is not by method. The limits are
    /// last, where a terminal shows them, or first.
    fn sections(
        &self,
        compared: LimitInput<'_>,
        (verdicts, are_first): (&[Verdict], bool),
        top: Option<usize>,
    ) -> Vec<Section> {
        let diff = &self.diff;
        let mut rankings: Vec<_> = self.rankings(compared).collect();
        // The number of objects says less than their bytes. Of the same change, the order of interest
        // stays.
        rankings.sort_by(|a, b| b.moved().total_cmp(&a.moved()));
        rankings.sort_by_key(|it| !it.metric().is_leading());
        let mut uncertain = None;
        if top.is_none() {
            uncertain = rankings.iter().find_map(Ranking::uncertain);
            rankings.retain(|it| it.moved() > 0.0);
        }
        let uncertain = uncertain.filter(|_| rankings.is_empty());
        let limit = if top.is_some() || self.asked.is_some() { usize::MAX } else { RANKINGS };
        let more = rankings.split_off(rankings.len().min(limit));
        let lists: Vec<_> = self.lists().filter(List::has_rows).collect();
        let rows = ROWS / (rankings.len() + lists.len() + 1);
        let rows = top.unwrap_or(rows.clamp(LEAST_ROWS, MOST_ROWS));
        let mut sections = vec![self.summary()];
        for (place, ranking) in rankings.iter().enumerate() {
            let has_both = place == 0 || limit == usize::MAX;
            sections.extend(ranking.sections(has_both, (rows, top.is_some())));
        }
        sections.extend(uncertain.into_iter().map(|it| vec![Part::Sentence(it)]));
        if !more.is_empty() {
            let names: Vec<_> = more.iter().map(|it| printable(it.metric().name())).collect();
            let line = format!("Other metrics that changed (--metric): {}", names.join(", "));
            sections.push(vec![Part::Sentence(line)]);
        }
        sections.extend(lists.into_iter().map(|list| match list.has_paths() && top.is_none() {
            true => list.section(SITES),
            false => list.section(rows),
        }));
        if !verdicts.is_empty() {
            let lines = verdicts.iter().map(|it| Part::Sentence(it.line(&diff.symbols)));
            let limits = [Part::Heading("Limits".to_owned())].into_iter().chain(lines).collect();
            sections.insert(if are_first { 0 } else { sections.len() }, limits);
        }
        sections
    }

    /// The metrics by method.
    fn rankings(&self, compared: LimitInput<'_>) -> impl Iterator<Item = Ranking<'_>> {
        let presence = Rc::new(self.diff.presence());
        self.shown_metrics().map(move |it| {
            Ranking::new(&self.diff, it, compared.scaled(it), &presence, self.is_normalized)
        })
    }

    /// What is not by method, or counted for its calls.
    fn lists(&self) -> impl Iterator<Item = List<'_>> {
        let diff = &self.diff;
        let before = [List::calls(diff), List::edges(diff), List::classes(diff), List::sites(diff)];
        let after = [List::locks(diff), List::heap(diff), List::accessed(diff), List::fields(diff)];
        before.into_iter().chain(after).flatten()
    }

    /// A row for each number of each thing that differs, of each kind of thing at most `top`.
    fn csv(&self, compared: LimitInput<'_>, top: usize) -> LazyTable<'_> {
        let diff = &self.diff;
        let before = [List::calls(diff), List::edges(diff), List::classes(diff)];
        let after = [List::locks(diff), List::heap(diff), List::accessed(diff), List::fields(diff)];
        let [before, after] = [Vec::from(before), Vec::from(after)].map(|lists| {
            lists.into_iter().flatten().flat_map(|list| list.numbers(top)).collect::<Vec<_>>()
        });
        // The times of calls are beside their counts.
        let rankings = self.rankings(compared).filter(|it| *it.metric() != Metric::SelfTime);
        let by_method = rankings.flat_map(|it| it.numbers(top));
        let rows: Vec<_> = before.into_iter().chain(by_method).chain(after).collect();
        let percent = |part: u64, all| (all > 0).then(|| perk_profile::units::percent(part, all));
        LazyTable::of(&diff.symbols, "", rows)
            .column(Column::other("kind"), |it| it.kind)
            .column(Column::other("name"), |it| it.name.clone())
            .column(Column::other("caller"), |it| it.caller.clone())
            .column(Column::other("number"), |it| it.id)
            .column(Column::other("before"), |it| it.sides[0])
            .column(Column::other("after"), |it| it.sides[1])
            .column(Column::other("change"), |it| signed(it.sides, Unit::Count))
            .column(Column::other("change_percent"), |it| {
                (it.sides[0] > 0).then(|| relative_number(it.sides))
            })
            .column(Column::other("before_percent"), move |it| percent(it.sides[0], it.totals[0]))
            .column(Column::other("after_percent"), move |it| percent(it.sides[1], it.totals[1]))
            .column(Column::other("margin"), |it| it.margin)
            .table()
    }

    /// Everything that differs, of each list at most `top` rows.
    fn json(&self, compared: LimitInput<'_>, verdicts: &[Verdict], top: usize) -> Json {
        let diff = &self.diff;
        let list = |list: Option<List<'_>>| Json::from(list.map(|list| list.json(top)));
        let total = |it: &MetricDiff| {
            let sides = [it.total.before, it.total.after];
            Json::object([
                ("before", sides[0].into()),
                ("after", sides[1].into()),
                ("change", ranking::change(sides)),
                ("margin", it.margin(sides).into()),
                ("is_significant", it.is_significant(sides).into()),
            ])
        };
        let most = |(method, [before, after]): (_, [u64; 2])| {
            let name = perk_render::full_name(&diff.symbols, method);
            Json::object([
                ("name", name.into()),
                ("before", before.into()),
                ("after", after.into()),
            ])
        };
        let limit = |verdict: &Verdict| {
            Json::object([
                ("limit", verdict.limit.as_str().into()),
                ("unit", verdict.unit.name().into()),
                ("before", verdict.before.into()),
                ("after", verdict.after.into()),
                ("is_exceeded", verdict.is_exceeded.into()),
                ("margin", verdict.margin.into()),
                ("is_uncertain", verdict.is_uncertain.into()),
                ("most", verdict.most.map(most).into()),
            ])
        };
        let samples = diff.metric(&Metric::Samples);
        let sample_ns = samples.and_then(|it| it.sample_ns);
        let of_each = |[before, after]: [u64; 2]| {
            Json::object([("before", before.into()), ("after", after.into())])
        };
        let metrics = self.rankings(compared).map(|it| {
            Json::object([
                ("metric", it.metric().name().into()),
                ("unit", it.metric().unit().name().into()),
                ("total", total(it.raw())),
                ("methods", it.json(top)),
            ])
        });
        Json::object([
            ("schema", SCHEMA.into()),
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
            // The CPU time of each, in nanoseconds.
            ("sample_ns", sample_ns.map(of_each).into()),
            ("metrics", Json::list(metrics)),
            ("locks", list(List::locks(diff))),
            // The objects of the last heap dump of each.
            ("heap", list(List::heap(diff))),
            ("accessed", list(List::accessed(diff))),
            ("fields", list(List::fields(diff))),
        ])
    }
}

impl Verdict {
    /// The limit, whether it is kept, and its numbers.
    fn line(&self, symbols: &Symbols) -> String {
        let state = if self.is_exceeded { "EXCEEDED" } else { "kept" };
        let mut line = format!("{state:<8}  {}: ", self.limit);
        line += &with_relative([self.before, self.after], self.unit);
        if let Some((method, sides)) = self.most {
            let name = printable(&perk_render::full_name(symbols, method));
            line += &format!("; most in {name}: {}", with_relative(sides, self.unit));
        }
        if let Some(margin) = self.margin.filter(|_| self.is_uncertain) {
            line += &format!("; too few samples to say: ± {} at 95 %", amount(margin, self.unit));
        }
        line
    }
}

/// Whether the numbers of a metric differ.
fn counts_differ(it: &MetricDiff) -> bool {
    it.methods.iter().any(|row| row.before.own != row.after.own)
}

fn is_live(objects: &Allocations) -> bool {
    objects.allocated_count == objects.live_count
}

fn allocated(objects: &Allocations) -> (u64, u64) {
    (objects.allocated_bytes, objects.allocated_count)
}

/// `+5`, `-3 ms`, `0`
fn signed([before, after]: [u64; 2], unit: Unit) -> String {
    let moved = amount(before.abs_diff(after), unit);
    match before.cmp(&after) {
        Ordering::Less => format!("+{moved}"),
        Ordering::Equal => moved,
        Ordering::Greater => format!("-{moved}"),
    }
}

/// `+5.00`, in percent.
fn relative_number([before, after]: [u64; 2]) -> String {
    let moved = after as f64 - before as f64;
    format!("{:+.2}", if before == 0 { 0.0 } else { moved * 100.0 / before as f64 })
}

/// The same; `new` where there was none before, `gone` where there is none after.
fn relative(sides: [u64; 2]) -> String {
    match sides {
        [0, after] if after > 0 => "new".to_owned(),
        [before, 0] if before > 0 => "gone".to_owned(),
        _ => relative_number(sides),
    }
}

/// Whether a method with these totals is new, or gone: it is in one of the profiles alone.
fn state(totals: [u64; 2], is_in: [bool; 2]) -> &'static str {
    match (totals, is_in) {
        ([0, _], [false, _]) => "new",
        ([_, 0], [_, false]) => "gone",
        _ => "changed",
    }
}

/// `100 → 105 (+5.00 %)`
fn with_relative(sides: [u64; 2], unit: Unit) -> String {
    let moved = match sides {
        [0, after] if after > 0 => "new".to_owned(),
        _ => format!("{} %", relative_number(sides)),
    };
    format!("{} → {} ({moved})", amount(sides[0], unit), amount(sides[1], unit))
}

fn sums<K, V>(rows: &[Change<K, V>], number: impl Fn(&V) -> u64) -> (u64, u64) {
    rows.iter().fold((0, 0), |(before, after), row| {
        let before = u64::saturating_add(before, number(&row.before));
        (before, u64::saturating_add(after, number(&row.after)))
    })
}
