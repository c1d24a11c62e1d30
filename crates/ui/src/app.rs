//! The view model: the contents of the screen, and the effects of keys on them.

use std::cmp::Reverse;

use perk_analysis::label_tree::{Flat, ROOT, RankedTree, Scope};
use perk_profile::{Metric, Profile, ThreadId, Unit, units};

use crate::Key;
use crate::flame::Flame;
use crate::label;
use crate::lazy::{Direction, LazyTree};
use crate::list::Cursor;

/// A view of a profile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum View {
    Methods,
    Tree,
    Callers,
    Method,
    Threads,
    Flame,
}

impl View {
    pub(crate) const ALL: [View; 6] =
        [View::Methods, View::Tree, View::Callers, View::Method, View::Threads, View::Flame];

    pub(crate) fn title(self) -> &'static str {
        match self {
            View::Methods => "Methods",
            View::Tree => "Tree",
            View::Callers => "Callers",
            View::Method => "Method",
            View::Threads => "Threads",
            View::Flame => "Flame",
        }
    }
}

/// The order of methods.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    Own,
    Total,
    Name,
}

/// The mode of the keyboard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    Browse,
    /// Typing the text to search for.
    Search(String),
    Help,
}

/// The method around which callers and callees are shown.
#[derive(Debug)]
pub(crate) struct Around {
    pub(crate) label: u32,
    pub(crate) callers: LazyTree,
    pub(crate) callees: LazyTree,
}

/// A row of a list or tree, as it is drawn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Row {
    /// Whether it is a heading between lines; the cursor skips it.
    pub(crate) is_heading: bool,
    pub(crate) own: u64,
    pub(crate) total: u64,
    pub(crate) level: usize,
    /// Whether it is open; `None` if it cannot be opened.
    pub(crate) is_open: Option<bool>,
    pub(crate) text: String,
}

/// The state of the browser.
#[derive(Debug)]
pub struct App<'a> {
    profile: &'a Profile,
    pub(crate) title: String,
    pub(crate) metrics: Vec<Metric>,
    pub(crate) metric: usize,
    pub(crate) view: View,
    pub(crate) order: Order,
    pub(crate) mode: Mode,
    pub(crate) scope: Scope<String>,
    pub(crate) ranked: RankedTree<String>,
    /// The total of the metric in the whole profile, independent of the scope.
    pub(crate) whole: u64,
    flat: Vec<Flat>,
    tree: LazyTree,
    callers: LazyTree,
    around: Option<Around>,
    threads: Vec<(ThreadId, u64)>,
    pub(crate) flame: Flame,
    cursors: [Cursor; View::ALL.len()],
    search: String,
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
        let mut app = Self {
            profile,
            title: units::printable(title),
            metrics,
            metric: 0,
            view: View::Methods,
            order: Order::Own,
            mode: Mode::Browse,
            scope,
            whole: ranked.total(),
            flat: Vec::new(),
            tree: LazyTree::top_down(&ranked),
            callers: LazyTree::bottom_up(&ranked),
            around: None,
            threads: Vec::new(),
            flame: Flame::new(&ranked),
            ranked,
            cursors: [Cursor::default(); View::ALL.len()],
            search: String::new(),
            message: String::new(),
            height: 20,
            is_done: false,
        };
        app.refill();
        app
    }

    /// Shows a metric, if the profile has it.
    pub fn choose(&mut self, metric: &Metric) {
        if let Some(place) = self.metrics.iter().position(|it| it == metric) {
            self.metric = place;
            self.rebuild();
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

    /// The unit of the numbers of the metric.
    pub(crate) fn unit(&self) -> Unit {
        self.shown_metric().unit()
    }

    /// The name of the metric.
    pub(crate) fn metric_name(&self) -> &str {
        self.shown_metric().name()
    }

    /// Formats `count` with its unit; for samples with their time, too, if it is known.
    pub(crate) fn amount(&self, count: u64) -> String {
        let amount = units::amount(count, self.unit());
        match (self.shown_metric(), self.profile.sample_interval_ns()) {
            (Metric::Samples, Some(ns)) => {
                format!("{amount} = {}", units::duration(count.saturating_mul(ns)))
            }
            _ => amount,
        }
    }

    /// Recomputes everything that depends on metric and scope.
    fn rebuild(&mut self) {
        let label = self.around.as_ref().map(|it| self.ranked.label(it.label).to_owned());
        let metric = self.shown_metric().clone();
        self.ranked = ranked(self.profile, &metric, &self.scope);
        self.whole = match self.scope == Scope::default() {
            true => self.ranked.total(),
            false => metric.rows(self.profile).total,
        };
        self.tree = LazyTree::top_down(&self.ranked);
        self.callers = LazyTree::bottom_up(&self.ranked);
        self.flame = Flame::new(&self.ranked);
        self.around = None;
        self.cursors = [Cursor::default(); View::ALL.len()];
        self.refill();
        if let Some(label) = label.and_then(|it| self.ranked.labels.iter().position(|l| *l == it)) {
            self.look_around(label as u32);
        }
    }

    fn refill(&mut self) {
        self.flat = self.ranked.flat();
        self.sort();
        let mut counts = std::collections::BTreeMap::new();
        for (trace, number) in self.shown_metric().rows(self.profile).by_trace() {
            if let Some(thread) = self.profile.get_trace(trace).thread {
                let count: &mut u64 = counts.entry(thread).or_default();
                *count = count.saturating_add(number);
            }
        }
        self.threads = counts.into_iter().collect();
        self.threads.sort_by_key(|&(thread, count)| (Reverse(count), thread));
    }

    fn sort(&mut self) {
        let labels = &self.ranked.labels;
        let name = |row: &Flat| labels[row.label as usize].clone();
        match self.order {
            Order::Own => {
                self.flat.sort_by_cached_key(|it| (Reverse((it.own, it.total)), name(it)))
            }
            Order::Total => {
                self.flat.sort_by_cached_key(|it| (Reverse((it.total, it.own)), name(it)));
            }
            Order::Name => self.flat.sort_by_cached_key(name),
        }
    }

    fn look_around(&mut self, label: u32) {
        self.around = Some(Around {
            label,
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
            View::Method => self.around.as_ref().map_or(0, |around| {
                around.callers.lines().len() + around.callees.lines().len() + 2
            }),
            View::Flame => 0,
        }
    }

    /// A line of the view.
    pub(crate) fn line(&self, index: usize) -> Row {
        let of_tree = |line: &crate::lazy::TreeLine| Row {
            is_heading: false,
            own: line.own,
            total: line.total,
            level: line.level,
            is_open: line.is_open,
            text: self.ranked.label(line.label).to_owned(),
        };
        let plain = |own, total, text: &str| Row {
            is_heading: false,
            own,
            total,
            level: 0,
            is_open: None,
            text: text.to_owned(),
        };
        match (self.view, &self.around) {
            (View::Methods, _) => {
                let row = self.flat[index];
                plain(row.own, row.total, self.ranked.label(row.label))
            }
            (View::Tree, _) => of_tree(&self.tree.lines()[index]),
            (View::Callers, _) => of_tree(&self.callers.lines()[index]),
            (View::Threads, _) => {
                let (thread, count) = self.threads[index];
                plain(count, count, &units::printable(self.profile.thread_name(thread)))
            }
            (View::Method, Some(around)) => {
                let callers = around.callers.lines();
                let heading = |text: &str| Row {
                    is_heading: true,
                    ..plain(0, 0, &format!("{text} {}", self.ranked.label(around.label)))
                };
                match index.checked_sub(callers.len() + 1) {
                    None if index == 0 => heading("Callers of"),
                    None => of_tree(&callers[index - 1]),
                    Some(0) => heading("Called by"),
                    Some(place) => of_tree(&around.callees.lines()[place - 1]),
                }
            }
            (View::Method | View::Flame, _) => plain(0, 0, ""),
        }
    }

    /// Whether a line's text matches the search.
    pub(crate) fn is_match(&self, text: &str) -> bool {
        !self.search.is_empty() && text.to_lowercase().contains(&self.search)
    }

    /// Moves the window of `height` lines to the cursor, and returns the cursor.
    pub(crate) fn cursor(&mut self, height: usize) -> Cursor {
        self.height = height.max(1);
        let count = self.line_count();
        let cursor = &mut self.cursors[self.view as usize];
        cursor.show(count, height);
        *cursor
    }

    fn at(&self) -> usize {
        self.cursors[self.view as usize].at
    }

    fn step(&mut self, by: isize) {
        let count = self.line_count();
        self.cursors[self.view as usize].step(by, count);
        // Headings are skipped, unless no line follows them.
        if self.at() < count && self.line(self.at()).is_heading {
            self.cursors[self.view as usize].step(by.signum(), count);
        }
    }

    /// The method or class under the cursor.
    fn selected(&self) -> Option<u32> {
        let at = self.at();
        match self.view {
            View::Methods => self.flat.get(at).map(|row| row.label),
            View::Tree => self.tree.lines().get(at).map(|line| line.label),
            View::Callers => self.callers.lines().get(at).map(|line| line.label),
            View::Method => self.open_tree().map(|(tree, place)| tree.lines()[place].label),
            View::Threads => None,
            View::Flame => {
                let selected = self.flame.selected;
                (selected != ROOT).then(|| self.ranked.node(selected).label)
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
            View::Methods | View::Threads | View::Flame => return None,
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
        change(tree, &self.ranked, node);
    }

    /// Executes the action of a key.
    pub fn press(&mut self, key: Key) {
        self.message.clear();
        match (&mut self.mode, key) {
            (_, Key::Interrupt) => self.is_done = true,
            (Mode::Help, _) => self.mode = Mode::Browse,
            (Mode::Search(_), Key::Escape) => self.mode = Mode::Browse,
            (Mode::Search(text), Key::Backspace) => {
                text.pop();
            }
            (Mode::Search(text), Key::Enter) => {
                self.search = text.to_lowercase();
                self.mode = Mode::Browse;
                self.find(true, true);
            }
            (Mode::Search(text), Key::Char(c)) => text.push(c),
            (Mode::Search(_), _) => {}
            (Mode::Browse, key) => self.browse(key),
        }
    }

    fn browse(&mut self, key: Key) {
        let page = self.height.saturating_sub(1).max(1) as isize;
        match key {
            Key::Char('q') => self.is_done = true,
            Key::Char('?') => self.mode = Mode::Help,
            Key::Char('/') => self.mode = Mode::Search(String::new()),
            Key::Char('n') => self.find(true, false),
            Key::Char('N') => self.find(false, false),
            Key::Char(c @ '1'..='6') => self.look(View::ALL[c as usize - '1' as usize]),
            Key::Tab | Key::BackTab => {
                let step = if key == Key::Tab { 1 } else { View::ALL.len() - 1 };
                self.look(View::ALL[(self.view as usize + step) % View::ALL.len()]);
            }
            Key::Char(c @ ('v' | 'V')) => {
                let count = self.metrics.len();
                if count > 1 {
                    self.metric = (self.metric + if c == 'v' { 1 } else { count - 1 }) % count;
                    self.rebuild();
                } else {
                    self.message = format!("the profile has only {}", self.metric_name());
                }
            }
            Key::Char('s') => {
                self.order = match self.order {
                    Order::Own => Order::Total,
                    Order::Total => Order::Name,
                    Order::Name => Order::Own,
                };
                self.sort();
                self.look(View::Methods);
            }
            Key::Char('m') => self.look_at_selected(),
            Key::Char('f') => self.focus(),
            Key::Escape | Key::Char('F') => {
                if self.scope != Scope::default() {
                    self.scope = Scope::default();
                    self.rebuild();
                } else if !self.search.is_empty() {
                    self.search.clear();
                }
            }
            key if self.view == View::Flame => self.browse_flame(key),
            Key::Up | Key::Char('k') => self.step(-1),
            Key::Down | Key::Char('j') => self.step(1),
            Key::PageUp => self.step(-page),
            Key::PageDown => self.step(page),
            Key::Home | Key::Char('g') => self.step(isize::MIN + 1),
            Key::End | Key::Char('G') => self.step(isize::MAX),
            Key::Right | Key::Char('l') => self.right(),
            Key::Left | Key::Char('h') => self.left(),
            Key::Char(' ') => self.change_tree(LazyTree::toggle),
            Key::Char('*' | 'e') => self.change_tree(LazyTree::open_heaviest),
            Key::Enter => match self.view {
                View::Methods => self.look_at_selected(),
                View::Threads => self.focus(),
                _ => self.change_tree(LazyTree::toggle),
            },
            _ => {}
        }
    }

    fn browse_flame(&mut self, key: Key) {
        let ranked = &self.ranked;
        match key {
            Key::Up | Key::Char('k') => self.flame.up(ranked),
            Key::Down | Key::Char('j') => self.flame.down(ranked),
            Key::Left | Key::Char('h') => self.flame.aside(ranked, -1),
            Key::Right | Key::Char('l') => self.flame.aside(ranked, 1),
            Key::Enter | Key::Char(' ') => self.flame.zoom(ranked),
            Key::Home | Key::Char('g') => self.flame = Flame::new(ranked),
            _ => {}
        }
    }

    fn look(&mut self, view: View) {
        if view == View::Method && self.around.is_none() {
            match self.selected() {
                Some(label) => self.look_around(label),
                None => {
                    let first = self.flat.first().map(|row| row.label);
                    first.into_iter().for_each(|label| self.look_around(label));
                }
            }
        }
        self.view = view;
    }

    fn look_at_selected(&mut self) {
        if let Some(label) = self.selected() {
            self.look_around(label);
            self.view = View::Method;
        }
    }

    /// Shows only the paths through the selected method, or those of the selected thread.
    fn focus(&mut self) {
        if self.view == View::Threads {
            let Some(&(thread, _)) = self.threads.get(self.at()) else { return };
            self.scope.thread = Some(thread);
            self.rebuild();
            self.view = View::Methods;
        } else if let Some(label) = self.selected() {
            self.scope.through = Some(self.ranked.label(label).to_owned());
            self.rebuild();
        }
    }

    /// The parts of the profile that are shown, in words; empty if all are shown.
    pub(crate) fn scope_text(&self) -> String {
        let thread = self.scope.thread.map(|id| units::printable(self.profile.thread_name(id)));
        let mut parts: Vec<String> =
            thread.into_iter().map(|name| format!("thread {name}")).collect();
        parts.extend(self.scope.through.iter().map(|name| format!("through {name}")));
        parts.join(", ")
    }

    fn right(&mut self) {
        let is_open = self.open_tree().and_then(|(tree, place)| tree.lines()[place].is_open);
        match is_open {
            Some(false) => self.change_tree(LazyTree::open),
            Some(true) => self.step(1),
            None => {}
        }
    }

    fn left(&mut self) {
        let Some((tree, place)) = self.open_tree() else { return };
        let line = tree.lines()[place];
        if line.is_open == Some(true) {
            self.change_tree(LazyTree::close);
        } else if let Some(parent) = tree.line_of_parent(line.node) {
            let up = place - parent;
            self.cursors[self.view as usize].at -= up;
        }
    }

    /// Goes to the next line that matches the search.
    fn find(&mut self, forward: bool, is_new: bool) {
        if self.search.is_empty() {
            self.message = "nothing to search for: type / and a part of a name".to_owned();
            return;
        }
        if self.view == View::Flame {
            let count = self.ranked.labels.iter().filter(|label| self.is_match(label)).count();
            self.message = format!("{count} methods match");
            return;
        }
        let count = self.line_count();
        let at = self.at();
        let places = (0..count).map(|step| match (forward, is_new) {
            (true, true) => (at + step) % count,
            (true, false) => (at + step + 1) % count,
            (false, _) => (at + 2 * count - step - 1) % count,
        });
        let mut places = places;
        match places.find(|&place| self.is_match(&self.line(place).text)) {
            Some(place) => self.cursors[self.view as usize].set(place, count),
            None => self.message = format!("no line here has \"{}\"", self.search),
        }
    }
}

/// The tree of the methods and classes of a part of `profile`.
fn ranked(profile: &Profile, metric: &Metric, scope: &Scope<String>) -> RankedTree<String> {
    RankedTree::new(profile, metric, scope, |part| label::of_part(profile, part))
}
