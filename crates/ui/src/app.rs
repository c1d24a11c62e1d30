//! The view model: the contents of the screen.

mod choice;
mod press;

use std::cmp::Reverse;

pub(crate) use self::choice::Choice;

use perk_analysis::label_tree::{LabelTotal, ROOT, RankedTree, Scope, StartFold};
use perk_analysis::{MethodTree, Owner, Owners};
use perk_profile::{KeyedMap, Metric, Profile, ThreadId, units};

use crate::details;
use crate::flame::Flame;
use crate::heap::Heap;
use crate::label;
use crate::lazy::{Direction, LazyTree, TreeLine};
use crate::list::Cursor;
use crate::locks;
use crate::outline::Outline;
use crate::view::{Order, View, ViewRow};

/// The mode of the keyboard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    Browse,
    /// Typing the text to search for.
    Search(String),
    /// Typing the text that the shown rows have.
    Filter(String),
    Help,
}

/// The method around which callers and callees are shown. It stays chosen where the metric or the scope
/// has no numbers of it; both trees are empty then.
#[derive(Debug)]
pub(crate) struct MethodNeighbours {
    pub(crate) name: String,
    pub(crate) callers: LazyTree,
    pub(crate) callees: LazyTree,
}

impl MethodNeighbours {
    /// Whether the metric has numbers of the method in the scope.
    pub(crate) fn has_numbers(&self) -> bool {
        !self.callers.lines().is_empty()
    }
}

/// The state of the browser.
#[derive(Debug)]
pub struct App<'a> {
    pub(crate) profile: &'a Profile,
    pub(crate) title: String,
    pub(crate) metrics: Vec<Metric>,
    metric: usize,
    /// The views for which the profile has something.
    pub(crate) views: Vec<View>,
    pub(crate) view: View,
    pub(crate) order: Order,
    pub(crate) mode: Mode,
    pub(crate) scope: Scope<String>,
    pub(crate) ranked: RankedTree<String>,
    /// The owners of the methods, by label.
    owner_of: KeyedMap<String, Owner>,
    fold: StartFold,
    /// Whether views Tree and Flame show whole stacks and idle threads.
    pub(crate) is_unfolded: bool,
    /// The tree of views Tree and Flame; `None` if it is the whole one.
    folded: Option<RankedTree<String>>,
    /// The total of the metric in the whole profile, independent of the scope.
    pub(crate) whole: u64,
    /// The number of calls, objects or waits of each label, where the profile has them.
    pub(crate) counts: KeyedMap<String, u64>,
    flat: Vec<LabelTotal>,
    tree: LazyTree,
    callers: LazyTree,
    around: Option<MethodNeighbours>,
    threads: Vec<(ThreadId, u64)>,
    pub(crate) flame: Flame,
    pub(crate) locks: Outline,
    pub(crate) heap: Heap,
    cursors: [Cursor; View::ALL.len()],
    search: String,
    filter: String,
    /// The message in the last line, until the next key.
    pub(crate) message: String,
    height: usize,
    is_done: bool,
}

impl<'a> App<'a> {
    /// Makes a browser of `profile` with the title `title`.
    pub fn new(profile: &'a Profile, title: &str) -> Self {
        let metrics = Metric::all_of(profile);
        let metric = metrics.first().cloned().unwrap_or_default();
        let scope = Scope::default();
        let ranked = ranked(profile, &metric, &scope);
        let owners = Owners::new(profile);
        let locks = locks::outline(profile, &owners);
        let views = views(profile, !metrics.is_empty(), &locks);
        let mut cursors = [Cursor::default(); View::ALL.len()];
        // The first line of the locks is a heading.
        cursors[View::Locks as usize].at = 1;
        let mut app = Self {
            profile,
            title: units::printable(title),
            metrics,
            metric: 0,
            view: views[0],
            views,
            order: Order::First,
            mode: Mode::Browse,
            scope,
            owner_of: label::owners(profile, &owners),
            fold: StartFold::new(profile, &MethodTree::new(profile), &owners),
            is_unfolded: false,
            folded: None,
            whole: ranked.total(),
            counts: KeyedMap::default(),
            flat: Vec::new(),
            tree: LazyTree::top_down(&ranked),
            callers: LazyTree::bottom_up(&ranked),
            around: None,
            threads: Vec::new(),
            flame: Flame::new(&ranked),
            locks,
            heap: Heap::new(profile),
            ranked,
            cursors,
            search: String::new(),
            filter: String::new(),
            message: String::new(),
            height: 20,
            is_done: false,
        };
        app.fold();
        app.refill();
        app
    }

    /// Shows a metric, if the profile has it.
    pub fn choose(&mut self, metric: &Metric) {
        if let Some(place) = self.metrics.iter().position(|it| it == metric) {
            self.metric = place;
            self.rebuild();
            self.view = View::Methods;
        }
    }

    /// Whether the user has left.
    pub fn is_done(&self) -> bool {
        self.is_done
    }

    /// The metric that is shown.
    pub(crate) fn shown_metric(&self) -> &Metric {
        self.metrics.get(self.metric).unwrap_or(&Metric::Samples)
    }

    /// Recomputes everything that depends on metric and scope.
    fn rebuild(&mut self) {
        let metric = self.shown_metric().clone();
        self.ranked = ranked(self.profile, &metric, &self.scope);
        self.whole = match self.scope == Scope::default() {
            true => self.ranked.total(),
            false => metric.rows(self.profile).total,
        };
        self.callers = LazyTree::bottom_up(&self.ranked);
        self.fold();
        for view in View::ALL.into_iter().filter(|view| view.is_by_metric()) {
            self.cursors[view as usize] = Cursor::default();
        }
        self.refill();
        if let Some(around) = self.around.take() {
            self.look_around(around.name);
        }
    }

    /// Makes the tree of views Tree and Flame.
    fn fold(&mut self) {
        let through = self.scope.through.as_ref();
        // A path through a method that is folded would be lost.
        let is_whole = self.is_unfolded
            || self.fold.is_empty()
            || through.is_some_and(|label| self.owner_of(label) != Some(Owner::Yours));
        self.folded = (!is_whole).then(|| {
            let label = |part| label::of_part(self.profile, part);
            let metric = self.shown_metric();
            RankedTree::folded(self.profile, metric, &self.scope, &self.fold, label)
        });
        let ranked = self.folded.as_ref().unwrap_or(&self.ranked);
        self.flame = Flame::new(ranked);
        self.tree = LazyTree::top_down(ranked);
        let is_above = |line: &&TreeLine| ranked.label(line.label) == label::ABOVE_YOURS;
        if let Some(line) = self.tree.lines().iter().find(is_above) {
            self.tree.open(ranked, line.node);
        }
    }

    /// The tree of the view.
    pub(crate) fn ranked_of_view(&self) -> &RankedTree<String> {
        let folded = self.folded.as_ref().filter(|_| self.view.is_folded());
        folded.unwrap_or(&self.ranked)
    }

    fn refill(&mut self) {
        self.counts = counts(self.profile, self.shown_metric(), &self.scope);
        self.fill_lists();
    }

    /// Fills the lists with the rows that the filter leaves.
    fn fill_lists(&mut self) {
        self.flat = self.ranked.flat();
        let (ranked, filter) = (&self.ranked, &self.filter);
        self.flat.retain(|row| contains(ranked.label(row.label), filter));
        self.heap.fill(self.profile, filter);
        self.sort();
        let mut counts = std::collections::BTreeMap::new();
        for (trace, number) in self.shown_metric().rows(self.profile).by_trace() {
            let thread = self.profile.get_trace(trace).thread;
            let is_shown = |&thread: &ThreadId| {
                contains(&units::printable(self.profile.thread_name(thread)), &self.filter)
            };
            if let Some(thread) = thread.filter(is_shown) {
                let count: &mut u64 = counts.entry(thread).or_default();
                *count = count.saturating_add(number);
            }
        }
        self.threads = counts.into_iter().collect();
        self.threads.sort_by_key(|&(thread, count)| (Reverse(count), thread));
    }

    fn sort(&mut self) {
        let labels = &self.ranked.labels;
        let name = |row: &LabelTotal| labels[row.label as usize].clone();
        match self.order {
            Order::First => {
                self.flat.sort_by_cached_key(|it| (Reverse((it.own, it.total)), name(it)))
            }
            Order::Second => {
                self.flat.sort_by_cached_key(|it| (Reverse((it.total, it.own)), name(it)));
            }
            Order::Name => self.flat.sort_by_cached_key(name),
        }
    }

    fn look_around(&mut self, name: String) {
        let label = self.ranked.labels.iter().position(|label| *label == name);
        let label = label.map(|label| label as u32);
        self.around = Some(MethodNeighbours {
            name,
            callers: LazyTree::around(&self.ranked, label, Direction::Up),
            callees: LazyTree::around(&self.ranked, label, Direction::Down),
        });
        self.cursors[View::Method as usize] = Cursor { at: 1, top: 0 };
    }

    /// The number of lines of the view.
    pub(crate) fn line_count(&self) -> usize {
        match self.view {
            View::Methods => self.flat.len(),
            View::Tree => self.tree.lines().len(),
            View::Callers => self.callers.lines().len(),
            View::Threads => self.threads.len(),
            View::Method => {
                self.around.as_ref().filter(|around| around.has_numbers()).map_or(0, |around| {
                    around.callers.lines().len() + around.callees.lines().len() + 2
                })
            }
            View::Flame => 0,
            View::Locks => self.locks.lines().len(),
            View::Heap => self.heap.rows.len(),
        }
    }

    /// A line of the view.
    pub(crate) fn line(&self, index: usize) -> ViewRow {
        let of_label = |label: u32, numbers| ViewRow {
            numbers,
            text: self.ranked_of_view().label(label).clone(),
            owner: self.owner_of(self.ranked_of_view().label(label)),
            ..ViewRow::default()
        };
        let of_tree = |line: &TreeLine, direction| {
            // The numbers of callers are parts of one number.
            let own = (direction == Direction::Down).then_some(line.own);
            let row = of_label(line.label, [own, Some(line.total)]);
            ViewRow { level: line.level, is_open: line.is_open, ..row }
        };
        match (self.view, &self.around) {
            (View::Methods, _) => {
                let row = self.flat[index];
                of_label(row.label, [Some(row.own), Some(row.total)])
            }
            (View::Tree, _) => of_tree(&self.tree.lines()[index], Direction::Down),
            (View::Callers, _) => of_tree(&self.callers.lines()[index], Direction::Up),
            (View::Threads, _) => {
                let (thread, count) = self.threads[index];
                let text = units::printable(self.profile.thread_name(thread));
                ViewRow { numbers: [None, Some(count)], text, ..ViewRow::default() }
            }
            (View::Method, Some(around)) => {
                let callers = around.callers.lines();
                let heading = |text: &str| {
                    let text = format!("{text} {}", around.name);
                    ViewRow { is_heading: true, text, ..ViewRow::default() }
                };
                match index.checked_sub(callers.len() + 1) {
                    None if index == 0 => heading("Callers of"),
                    None => of_tree(&callers[index - 1], Direction::Up),
                    Some(0) => heading("Called by"),
                    Some(place) => of_tree(&around.callees.lines()[place - 1], Direction::Down),
                }
            }
            (View::Locks, _) => self.locks.row(index),
            (View::Heap, _) => self.heap.row(index),
            (View::Method | View::Flame, _) => ViewRow::default(),
        }
    }

    /// The line under the cursor.
    pub(crate) fn selected_line(&self) -> Option<ViewRow> {
        (self.at() < self.line_count()).then(|| self.line(self.at()))
    }

    /// The reason why view Method has no lines, for people; `None` if it has lines.
    pub(crate) fn missing_method(&self) -> Option<String> {
        let around = self.around.as_ref().filter(|around| !around.has_numbers())?;
        let (name, metric) = (&around.name, self.shown_metric().name());
        let what_to_do = match self.scope == Scope::default() {
            true => "v: the next metric",
            false => "Esc: everything",
        };
        Some(format!("no {metric} here ({what_to_do}): {name}"))
    }

    /// The owner of a label; `None` if it is not code.
    pub(crate) fn owner_of(&self, label: &str) -> Option<Owner> {
        self.owner_of.get(label).copied()
    }

    /// Whether the profile has code of others beside the program's own.
    pub(crate) fn has_others(&self) -> bool {
        self.owner_of.values().any(|owner| *owner != Owner::Yours)
    }

    /// Whether a line's text matches the search.
    pub(crate) fn is_match(&self, text: &str) -> bool {
        !self.search.is_empty() && contains(text, &self.search)
    }

    /// Moves the window of `height` lines to the cursor, and returns the cursor.
    pub(crate) fn cursor(&mut self, height: usize) -> Cursor {
        self.height = height.max(1);
        let count = self.line_count();
        let cursor = &mut self.cursors[self.view as usize];
        cursor.show(count, height);
        *cursor
    }

    pub(crate) fn at(&self) -> usize {
        self.cursors[self.view as usize].at
    }

    fn step(&mut self, by: isize) {
        let count = self.line_count();
        self.cursors[self.view as usize].step(by, count);
        // Headings are skipped; a line follows each of them, but not before the first.
        for by in [by.signum(), 1] {
            if self.at() < count && self.line(self.at()).is_heading {
                self.cursors[self.view as usize].step(by, count);
            }
        }
    }

    /// The method or class under the cursor.
    fn selected(&self) -> Option<String> {
        let label = self.ranked_of_view().label(self.selected_label()?);
        (label != label::ABOVE_YOURS && label != label::IDLE).then(|| label.clone())
    }

    fn selected_label(&self) -> Option<u32> {
        let at = self.at();
        match self.view {
            View::Methods => self.flat.get(at).map(|row| row.label),
            View::Tree => self.tree.lines().get(at).map(|line| line.label),
            View::Callers => self.callers.lines().get(at).map(|line| line.label),
            View::Method => self.open_tree().map(|(tree, place)| tree.lines()[place].label),
            View::Threads | View::Locks | View::Heap => None,
            View::Flame => {
                let selected = self.flame.selected;
                (selected != ROOT).then(|| self.ranked_of_view().node(selected).label)
            }
        }
    }

    /// The tree under the cursor, and the line in it.
    fn open_tree(&self) -> Option<(&LazyTree, usize)> {
        let at = self.at();
        let (tree, place) = match self.view {
            View::Tree => (&self.tree, at),
            View::Callers => (&self.callers, at),
            View::Method => {
                let around = self.around.as_ref()?;
                let callers = around.callers.lines().len();
                match at.checked_sub(callers + 2) {
                    Some(place) => (&around.callees, place),
                    None => (&around.callers, at.checked_sub(1)?),
                }
            }
            View::Methods | View::Threads | View::Flame | View::Locks | View::Heap => return None,
        };
        (place < tree.lines().len()).then_some((tree, place))
    }

    fn change_tree(&mut self, change: impl FnOnce(&mut LazyTree, &RankedTree<String>, usize)) {
        let Some((tree, place)) = self.open_tree() else { return };
        let node = tree.lines()[place].node;
        let at = self.at();
        let tree = match (self.view, &mut self.around) {
            (View::Tree, _) => &mut self.tree,
            (View::Callers, _) => &mut self.callers,
            (_, Some(around)) if at <= around.callers.lines().len() => &mut around.callers,
            (_, Some(around)) => &mut around.callees,
            (_, None) => return,
        };
        let folded = self.folded.as_ref().filter(|_| self.view.is_folded());
        change(tree, folded.unwrap_or(&self.ranked), node);
    }

    /// The parts of the profile that are shown, in words; empty if all are shown.
    pub(crate) fn scope_text(&self) -> String {
        let thread = self.scope.thread.map(|id| units::printable(self.profile.thread_name(id)));
        let mut parts: Vec<String> =
            thread.into_iter().map(|name| format!("thread {name}")).collect();
        parts.extend(self.scope.through.iter().map(|name| format!("through {name}")));
        parts.retain(|_| self.view.is_by_metric());
        if self.view.is_list() && !self.filter.is_empty() {
            parts.push(format!("rows with \"{}\"", self.filter));
        }
        parts.join(", ")
    }
}

/// The tree of the methods and classes of a part of `profile`.
fn ranked(profile: &Profile, metric: &Metric, scope: &Scope<String>) -> RankedTree<String> {
    RankedTree::new(profile, metric, scope, |part| label::of_part(profile, part))
}

/// The views for which a profile has something; at least one.
fn views(profile: &Profile, has_metrics: bool, locks: &Outline) -> Vec<View> {
    let has_heap = profile.heaps().next().is_some();
    let has_locks = !locks.lines().is_empty();
    let has_threads = || profile.traces().iter().any(|trace| trace.thread.is_some());
    let has_nothing = !has_metrics && !has_heap && !has_locks;
    let has = |view: &View| match view {
        View::Heap => has_heap,
        View::Locks => has_locks,
        View::Threads => has_metrics && has_threads(),
        View::Methods => has_metrics || has_nothing,
        _ => has_metrics,
    };
    View::ALL.into_iter().filter(has).collect()
}

/// The number of calls, objects or waits of each label, beside the numbers of `metric`.
fn counts(profile: &Profile, metric: &Metric, scope: &Scope<String>) -> KeyedMap<String, u64> {
    let counts = details::counted(metric).map(|(counted, _)| counted);
    let Some(counted) = counts.filter(|counted| counted.is_in(profile)) else {
        return KeyedMap::default();
    };
    let tree = ranked(profile, &counted, scope);
    tree.flat().iter().map(|row| (tree.label(row.label).clone(), row.own)).collect()
}

/// Whether `text` has `part`, which is in lower case.
pub(crate) fn contains(text: &str, part: &str) -> bool {
    part.is_empty() || text.to_lowercase().contains(part)
}
