//! All that a profile has for a report.

use std::cell::OnceCell;
use std::collections::HashMap;
use std::path::PathBuf;

use perk_analysis::window::WindowExtent;
use perk_analysis::{InferredCallers, MethodTree, Owners};
use perk_profile::units::{percent, plural};
use perk_profile::{MethodId, Metric, NamePattern, PathId, Profile, TraceId};
use perk_render::LazyTable;

use super::allocations::Objects;
use super::calls::Calls;
use super::column_store::ColumnStore;
use super::fields::Fields;
use super::head::Head;
use super::heap;
use super::limits::LimitsView;
use super::metric::MetricView;
use super::monitors::Contention;
use super::source::{self, Sources};
use crate::selection::window;

/// Samples without a stack of less than this share are in the accounting alone.
const LOSS: f64 = 0.01;

/// The function that each stack of a program in Go begins with.
const GO: (&str, &str) = ("runtime", "goexit");

/// Everything a profile has.
#[derive(Debug)]
pub(super) struct Content<'a> {
    pub(super) profile: &'a Profile,
    pub(super) joined: &'a InferredCallers,
    /// The window of the recording that is shown; `None` for all of it.
    pub(super) window: Option<WindowExtent>,
    /// How much passed a filter, in a sentence; `None` where there is none.
    pub(super) filtered: Option<String>,
    /// The numbers of each leading metric and of the one that was asked for, in order of interest.
    pub(super) metrics: Vec<MetricView<'a>>,
    /// The metrics of field accesses, for other programs.
    pub(super) of_fields: Vec<MetricView<'a>>,
    /// The metric that was asked for.
    pub(super) asked: Option<Metric>,
    pub(super) calls: Option<Calls<'a>>,
    pub(super) objects: Option<Objects<'a>>,
    pub(super) contention: Option<Contention<'a>>,
    pub(super) fields: Option<Fields<'a>>,
    pub(super) sources: Option<Sources>,
    pub(super) tree: &'a MethodTree,
    owners: OnceCell<Owners>,
    head: OnceCell<Option<Head<'a>>>,
    limits: OnceCell<Option<LimitsView<'a>>>,
}

impl<'a> Content<'a> {
    /// The content of `profile`; trees and the methods to begin with are by `asked`, or by the
    /// first metric there is.
    pub(super) fn of_metric(
        profile: &'a Profile,
        tree: &'a MethodTree,
        joined: &'a InferredCallers,
        asked: Option<Metric>,
    ) -> Self {
        let mut metrics: Vec<_> = Metric::leading_of(profile).collect();
        metrics.extend(asked.clone().filter(|it| !metrics.contains(it)));
        let metrics = metrics.into_iter();
        Self {
            profile,
            joined,
            window: None,
            filtered: None,
            metrics: metrics.map(|metric| MetricView::new(profile, tree, joined, metric)).collect(),
            objects: Objects::new(profile, tree, asked.as_ref()),
            of_fields: Vec::new(),
            asked,
            calls: Calls::new(profile, tree),
            contention: Contention::new(profile),
            fields: Fields::new(profile),
            sources: None,
            tree,
            owners: OnceCell::new(),
            head: OnceCell::new(),
            limits: OnceCell::new(),
        }
    }

    /// Takes the numbers by path from those that are kept.
    pub(super) fn keep_in(&mut self, store: &'a ColumnStore) {
        let views = self.metrics.drain(..).map(|view| view.kept_in(store));
        self.metrics = views.collect();
    }

    /// Whose code the methods are.
    pub(super) fn owners(&self) -> &Owners {
        self.owners.get_or_init(|| Owners::new(self.profile))
    }

    /// Whether the methods are those of a JVM: functions of other languages have no class, or what looks like
    /// one and is of no source file of Java.
    pub(super) fn is_of_java(&self) -> bool {
        let symbols = &self.profile.symbols;
        let methods = (0..symbols.method_count()).map(|it| symbols.get_method(MethodId::new(it)));
        let (mut has_class, mut has_source, mut is_other) = (false, false, false);
        for method in methods {
            let (class, name) =
                (symbols.class_name(method.class), symbols.strings.get(method.name));
            let source = method.source.map(|it| symbols.strings.get(it));
            if class.starts_with("java.") || source.is_some_and(perk_formats::is_jvm_source) {
                return true;
            }
            has_class |= !class.is_empty();
            has_source |= source.is_some_and(|it| !it.is_empty());
            is_other |= (class, name) == GO;
        }
        has_class && !has_source && !is_other
    }

    /// The first `count` methods of each kind to begin with; `None` where there is none.
    pub(super) fn head(&self, count: usize) -> Option<&Head<'a>> {
        self.head.get_or_init(|| Head::new(self, count)).as_ref()
    }

    /// What limits the program; `None` where the profile does not show it.
    pub(super) fn limits(&self) -> Option<&LimitsView<'a>> {
        self.limits.get_or_init(|| LimitsView::new(self)).as_ref()
    }

    /// The path of a trace.
    pub(super) fn path(&self, trace: TraceId) -> PathId {
        self.tree.path(self.profile.get_trace(trace).node)
    }

    /// Adds the metrics of field accesses that nobody asked for.
    pub(super) fn add_metrics_of_fields(&mut self) {
        for metric in [Metric::FieldAccesses, Metric::SharedFieldAccesses] {
            let is_known = self.profile.has(std::slice::from_ref(&metric));
            if is_known && self.view(&metric).is_none() {
                let view = MetricView::new(self.profile, self.tree, self.joined, metric);
                self.of_fields.push(view);
            }
        }
    }

    /// The numbers of a metric.
    pub(super) fn view(&self, metric: &Metric) -> Option<&MetricView<'a>> {
        self.metrics.iter().find(|view| view.metric == *metric)
    }

    pub(super) fn samples(&self) -> Option<&MetricView<'a>> {
        self.view(&Metric::Samples)
    }

    /// The metric of trees and of the methods to begin with.
    pub(super) fn main_view(&self) -> Option<&MetricView<'a>> {
        match &self.asked {
            Some(metric) => self.view(metric),
            None => self.metrics.first(),
        }
    }

    /// The metric that was asked for, or the first one that is by line; `None` where none is.
    pub(super) fn line_view(&self) -> Option<&MetricView<'a>> {
        let is_meant = |view: &&MetricView<'a>| match &self.asked {
            Some(asked) => *asked == view.metric,
            None => !source::is_of_coverage(&view.metric),
        };
        self.metrics.iter().filter(is_meant).find(|view| view.has_lines())
    }

    /// Looks for the source files below `folders`, or for the one file `only`. Returns what is missing.
    pub(super) fn find_sources(
        &mut self,
        folders: &[PathBuf],
        (only, is_whole): (Option<&str>, bool),
        notes: &mut Vec<String>,
    ) -> anyhow::Result<Option<String>> {
        let metric = match self.line_view() {
            Some(view) => view.metric.clone(),
            None if self.asked.is_none() && source::coverage_metrics(self.profile).is_some() => {
                // Nothing of all that passes the filter ran.
                let metric = source::bytecodes();
                let view = MetricView::new(self.profile, self.tree, self.joined, metric.clone());
                self.metrics.push(view);
                metric
            }
            None => {
                let of = if self.asked.is_some() { " for this metric" } else { "" };
                return Ok(Some(format!("no line numbers{of}")));
            }
        };
        let view = self.view(&metric);
        self.sources =
            view.map(|view| Sources::find(view, folders, (only, is_whole), notes)).transpose()?;
        Ok(self.sources.as_ref().and_then(Sources::nothing))
    }

    /// The source files that were asked for, and the metric of their numbers.
    pub(super) fn sources(&self) -> Option<(&Sources, &MetricView<'a>)> {
        let sources = self.sources.as_ref()?;
        Some((sources, self.view(sources.metric())?))
    }

    /// Measurements of other tools.
    pub(super) fn other_metrics(&self) -> impl Iterator<Item = &MetricView<'a>> {
        self.metrics.iter().filter(|view| view.metric.is_other())
    }

    /// The calls of each method, where they were counted by call path.
    pub(super) fn call_counts(&self) -> Option<HashMap<MethodId, u64>> {
        let calls = self.calls.as_ref().filter(|calls| calls.columns.is_some())?;
        Some(calls.table.methods.iter().map(|row| (row.method, row.count)).collect())
    }

    /// Counted calls, unless a metric is asked for: they say more of callers and callees than the
    /// numbers of any one metric.
    pub(super) fn edge_calls(&self) -> Option<&Calls<'a>> {
        self.calls.as_ref().filter(|_| self.asked.is_none())
    }

    /// Callers and callees: all, or those with a method of `pattern`.
    pub(super) fn edges(&self, pattern: Option<&NamePattern>) -> Option<LazyTable<'_>> {
        match self.edge_calls() {
            Some(calls) => Some(calls.edges(pattern)),
            None => self.main_view().map(|view| view.edge_table(pattern)),
        }
    }

    /// Whether there are callers and callees.
    pub(super) fn has_edges(&self) -> bool {
        self.edge_calls().is_some() || self.main_view().is_some()
    }

    /// The allocation sites, where any is known.
    pub(super) fn sites(&self) -> Option<LazyTable<'_>> {
        self.objects.as_ref().filter(|objects| objects.has_sites).map(|objects| objects.sites())
    }

    pub(super) fn is_empty(&self) -> bool {
        self.metrics.is_empty()
            && self.calls.is_none()
            && self.objects.is_none()
            && self.contention.is_none()
            && self.fields.is_none()
            && self.profile.heaps().next().is_none()
    }

    /// Everything in a line: `12 samples of 10 ms = 120 ms of CPU time; 12 MB allocated`.
    pub(super) fn total(&self) -> String {
        self.totals().join("; ")
    }

    /// Everything, the first kind of numbers first.
    pub(super) fn totals(&self) -> Vec<String> {
        let mut parts = Vec::new();
        parts.extend(self.samples().map(MetricView::total));
        let others = self.other_metrics();
        let others = others
            .filter(|view| view.has_paths() && crate::selection::metric::adds_up(&view.metric));
        parts.extend(others.map(MetricView::total));
        parts.extend(self.view(&Metric::WallTime).map(MetricView::total));
        parts.extend(self.calls.as_ref().map(Calls::total));
        parts.extend(self.objects.as_ref().map(Objects::total));
        parts.extend(self.contention.as_ref().map(Contention::total));
        parts.extend(self.fields.as_ref().map(Fields::total));
        parts.extend(heap::total(self.profile));
        if parts.is_empty() {
            parts.push(plural(0, "sample"));
        }
        parts
    }

    /// What the numbers lack: samples without a stack, if they are many, and faults.
    pub(super) fn losses(&self) -> Option<String> {
        let accounting = self.profile.accounting.as_ref()?;
        let (count, taken) = (accounting.unattributed_count, accounting.sample_count);
        let mut losses = Vec::new();
        if count as f64 >= taken.saturating_add(count) as f64 * LOSS && count > 0 {
            let share = percent(count, taken.saturating_add(count));
            let samples = plural(count, "sample");
            losses.push(format!("{samples} ({share} %) without a known stack (--unattributed)"));
        }
        if accounting.fault_count > 0 {
            let faults = plural(accounting.fault_count, "fault");
            losses.push(format!("{faults} of perk's own: the profile has gaps"));
        }
        (!losses.is_empty()).then(|| losses.join("; "))
    }

    /// What has become of methods whose calls took more than the budget.
    fn over_budget(&self) -> Option<String> {
        let accounting = self.profile.accounting.as_ref()?;
        let methods = plural(accounting.over_budget_method_count, "method");
        let (count, all) = (accounting.over_budget_call_count, accounting.call_count);
        (accounting.over_budget_method_count > 0).then(|| {
            format!(
                "over budget: {methods} with {} % of calls; these have no callers, and their time is their callers'",
                percent(count, all)
            )
        })
    }

    /// Lines that a reader of the numbers must know: the part of all that they are, and inferred
    /// callers.
    pub(super) fn conditions(&self) -> Vec<String> {
        let mut lines: Vec<_> = self.window.iter().flat_map(window::lines).collect();
        lines.extend(self.filtered.iter().map(|what| format!("filter: {what}")));
        lines.extend(self.fields.as_ref().and_then(Fields::extended));
        lines.extend(self.fields.as_ref().and_then(Fields::unknown));
        lines.extend(self.objects.as_ref().and_then(Objects::uncollected));
        lines.extend(self.over_budget());
        let part = self.objects.as_ref().and_then(Objects::part);
        let is_main = self.main_view().is_some_and(|view| view.metric == Metric::AllocatedBytes);
        if let Some(part) = part.filter(|_| is_main) {
            lines.push(format!("shares of allocated bytes are of the {part} that the file lists"));
        }
        if let Some(view) = self.main_view().filter(|_| !self.joined.is_empty()) {
            let rows = self.joined.rows(&view.numbers().rows);
            let number = rows.iter().map(|row| row.1).fold(0, u64::saturating_add);
            if number > 0 {
                let traces = plural(rows.len() as u64, "cut trace");
                let share = percent(number, view.all);
                let metric = view.metric.title();
                lines.push(format!(
                    "inferred: the callers of {traces}, {share} % of {metric} (see --no-infer)"
                ));
            }
        }
        lines
    }
}
