//! The effects of keys on the screen.

use perk_analysis::label_tree::Scope;

use super::{App, MethodNeighbours, Mode};
use crate::Key;
use crate::flame::Flame;
use crate::lazy::LazyTree;
use crate::list::Cursor;
use crate::view::View;

impl App<'_> {
    /// Executes the action of a key.
    pub fn press(&mut self, key: Key) {
        self.message.clear();
        match (&mut self.mode, key) {
            (_, Key::Interrupt) => self.is_done = true,
            (Mode::Help, _) => self.mode = Mode::Browse,
            (Mode::Search(_) | Mode::Filter(_), Key::Escape) => self.mode = Mode::Browse,
            (Mode::Search(text) | Mode::Filter(text), Key::Backspace) => {
                text.pop();
            }
            (Mode::Search(text), Key::Enter) => {
                self.search = text.to_lowercase();
                self.mode = Mode::Browse;
                self.find(true, true);
            }
            (Mode::Filter(text), Key::Enter) => {
                self.filter = text.to_lowercase();
                self.mode = Mode::Browse;
                self.apply_filter();
            }
            (Mode::Search(text) | Mode::Filter(text), Key::Char(c)) => text.push(c),
            (Mode::Search(_) | Mode::Filter(_), _) => {}
            (Mode::Browse, key) => self.browse(key),
        }
    }

    fn browse(&mut self, key: Key) {
        let page = self.height.saturating_sub(1).max(1) as isize;
        match key {
            Key::Char('q') => self.is_done = true,
            Key::Char('?') => self.mode = Mode::Help,
            Key::Char('/') => self.mode = Mode::Search(String::new()),
            Key::Char('&' | '\\') if self.view.is_list() => {
                self.mode = Mode::Filter(String::new());
            }
            Key::Char('n') => self.find(true, false),
            Key::Char('N') => self.find(false, false),
            Key::Char(c @ '1'..='8') => {
                let view = self.views.get(c as usize - '1' as usize).copied();
                view.into_iter().for_each(|view| self.look(view));
            }
            Key::Tab | Key::BackTab => {
                let count = self.views.len();
                let step = if key == Key::Tab { 1 } else { count - 1 };
                let at = self.views.iter().position(|view| *view == self.view).unwrap_or(0);
                self.look(self.views[(at + step) % count]);
            }
            Key::Char(c @ ('v' | 'V')) if self.view == View::Heap => {
                self.heap.turn(c == 'v');
                self.fill_lists();
            }
            Key::Char('v' | 'V') if self.view == View::Locks => {}
            Key::Char(c @ ('v' | 'V')) => {
                let count = self.metrics.len();
                if count > 1 {
                    self.metric = (self.metric + if c == 'v' { 1 } else { count - 1 }) % count;
                    self.rebuild();
                } else {
                    self.message = format!("the profile has only {}", self.shown_metric().name());
                }
            }
            Key::Char('s') if self.view == View::Heap => {
                self.heap.order = self.heap.order.next();
                self.fill_lists();
            }
            Key::Char('s') if self.view == View::Locks => {}
            Key::Char('s') => {
                self.order = self.order.next();
                self.sort();
                self.look(View::Methods);
            }
            Key::Char('o') if self.view.is_folded() => self.unfold(),
            Key::Char('m') => self.look_at_selected(),
            Key::Char('f') => self.focus(),
            Key::Escape | Key::Char('F') => {
                if !self.filter.is_empty() {
                    self.filter.clear();
                    self.apply_filter();
                } else if self.scope != Scope::default() {
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
            key if self.view == View::Locks => self.browse_locks(key),
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
        let is_fold = self.selected_label().is_some() && self.selected().is_none();
        let ranked = self.folded.as_ref().unwrap_or(&self.ranked);
        match key {
            Key::Up | Key::Char('k') => self.flame.up(ranked),
            Key::Down | Key::Char('j') => self.flame.down(ranked),
            Key::Left | Key::Char('h') => self.flame.aside(ranked, -1),
            Key::Right | Key::Char('l') => self.flame.aside(ranked, 1),
            Key::Enter | Key::Char(' ') if is_fold => self.unfold(),
            Key::Enter | Key::Char(' ') => self.flame.zoom(ranked),
            Key::Home | Key::Char('g') => self.flame = Flame::new(ranked),
            _ => {}
        }
    }

    /// Shows whole stacks and idle threads, or folds them again.
    fn unfold(&mut self) {
        if self.fold.is_empty() {
            self.message = "nothing is folded here".to_owned();
            return;
        }
        self.is_unfolded = !self.is_unfolded;
        self.fold();
        self.cursors[View::Tree as usize] = Cursor::default();
    }

    fn browse_locks(&mut self, key: Key) {
        let at = self.at();
        let is_open = self.selected_line().and_then(|line| line.is_open);
        match (key, is_open) {
            (Key::Enter | Key::Char(' '), Some(_))
            | (Key::Right | Key::Char('l'), Some(false))
            | (Key::Left | Key::Char('h'), Some(true)) => self.locks.toggle(at),
            (Key::Right | Key::Char('l'), Some(true)) => self.step(1),
            (Key::Left | Key::Char('h'), _) => {
                let parent = self.locks.line_of_parent(at).unwrap_or(at);
                self.cursors[View::Locks as usize].at = parent;
            }
            _ => {}
        }
    }

    /// Shows the rows that the filter leaves, from the first.
    fn apply_filter(&mut self) {
        self.fill_lists();
        for view in View::ALL.into_iter().filter(|view| view.is_list()) {
            self.cursors[view as usize] = Cursor::default();
        }
    }

    fn look(&mut self, view: View) {
        let is_empty = !self.around.as_ref().is_some_and(MethodNeighbours::has_numbers);
        if view == View::Method && self.view != View::Method && is_empty {
            let first = || self.flat.first().map(|row| self.ranked.label(row.label).clone());
            let name = self.selected().or_else(first);
            name.into_iter().for_each(|name| self.look_around(name));
        }
        self.view = view;
    }

    fn look_at_selected(&mut self) {
        if let Some(name) = self.selected() {
            self.look_around(name);
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
        } else if let Some(name) = self.selected() {
            self.scope.through = Some(name);
            self.rebuild();
        }
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
