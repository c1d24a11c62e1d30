//! What the user has chosen to see, which stays chosen when the profile is that of a later moment.

use perk_analysis::label_tree::Scope;
use perk_profile::{Metric, Profile};

use super::{App, Mode};
use crate::flame::Flame;
use crate::list::Cursor;
use crate::view::{Order, View};

/// The choice; see the module.
#[derive(Clone, Debug)]
pub(crate) struct Choice {
    view: View,
    metric: Metric,
    order: Order,
    mode: Mode,
    scope: Scope<String>,
    is_unfolded: bool,
    search: String,
    filter: String,
    message: String,
    cursors: [Cursor; View::ALL.len()],
    method: Option<String>,
    /// The labels on the way to open nodes: of the tree, of the callers, and of both around the method.
    opened: [Vec<Vec<String>>; 4],
    zoom: Vec<String>,
    selected: Vec<String>,
}

impl<'a> App<'a> {
    /// Makes a browser of a profile that shows what was chosen in another one.
    pub(crate) fn with_choice(profile: &'a Profile, title: &str, choice: &Choice) -> Self {
        let mut app = Self::new(profile, title);
        if let Some(place) = app.metrics.iter().position(|it| *it == choice.metric) {
            app.metric = place;
        }
        app.order = choice.order;
        app.scope = choice.scope.clone();
        app.is_unfolded = choice.is_unfolded;
        app.search.clone_from(&choice.search);
        app.filter.clone_from(&choice.filter);
        app.rebuild();
        if let Some(method) = &choice.method {
            app.look_around(method.clone());
        }
        let of_view = app.folded.as_ref().unwrap_or(&app.ranked);
        app.tree.reopen(of_view, &choice.opened[0]);
        app.callers.reopen(&app.ranked, &choice.opened[1]);
        if let Some(around) = &mut app.around {
            around.callers.reopen(&app.ranked, &choice.opened[2]);
            around.callees.reopen(&app.ranked, &choice.opened[3]);
        }
        app.flame.zoom = Flame::node_at(of_view, &choice.zoom);
        app.flame.selected = Flame::node_at(of_view, &choice.selected);
        if app.views.contains(&choice.view) {
            app.view = choice.view;
        }
        app.mode = choice.mode.clone();
        app.message.clone_from(&choice.message);
        app.cursors = choice.cursors;
        app
    }

    /// What is chosen.
    pub(crate) fn choice(&self) -> Choice {
        let of_view = self.folded.as_ref().unwrap_or(&self.ranked);
        let around = self.around.as_ref();
        let opened = |tree: Option<&crate::lazy::LazyTree>| {
            tree.map(|tree| tree.opened(&self.ranked)).unwrap_or_default()
        };
        Choice {
            view: self.view,
            metric: self.shown_metric().clone(),
            order: self.order,
            mode: self.mode.clone(),
            scope: self.scope.clone(),
            is_unfolded: self.is_unfolded,
            search: self.search.clone(),
            filter: self.filter.clone(),
            message: self.message.clone(),
            cursors: self.cursors,
            method: around.map(|around| around.name.clone()),
            opened: [
                self.tree.opened(of_view),
                self.callers.opened(&self.ranked),
                opened(around.map(|around| &around.callers)),
                opened(around.map(|around| &around.callees)),
            ],
            zoom: Flame::path(of_view, self.flame.zoom),
            selected: Flame::path(of_view, self.flame.selected),
        }
    }
}
