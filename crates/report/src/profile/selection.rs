//! The part of a profile that a request is about.

use std::sync::{Arc, OnceLock};

use perk_analysis::calls::{CallColumns, CallTable};
use perk_analysis::label_tree::StartFold;
use perk_analysis::window::WindowExtent;
use perk_analysis::{Columns, Filter, InferredCallers, MethodTree, Owners, Window, inferred};
use perk_open::{Format, Input};
use perk_profile::{Metric, Profile};

use super::column_store::ColumnStore;
use super::{ProfileRequest, jamaica};
use crate::NamedItem;
use crate::selection::{filter, labels, metric, window};

/// The bytes of a call path, about.
const PATH_BYTES: usize = 20;

/// What a request selects of a profile: a window, what passes a filter, a label at the root of stacks. Several
/// requests that select the same can be answered from it.
#[derive(Debug)]
pub struct Selection {
    pub(super) name: String,
    pub(super) format: Format,
    pub(super) profile: Profile,
    pub(super) joined: InferredCallers,
    pub(super) window: Option<WindowExtent>,
    pub(super) filtered: Option<String>,
    /// What there is to know about the selection, in lines.
    pub(super) notes: Vec<String>,
    /// The metrics in the window, also those of which nothing passes the filter.
    metrics: Vec<Metric>,
    /// The paths of methods, made when they are first needed. Parts with the same call paths share it.
    tree: Arc<OnceLock<MethodTree>>,
    owners: Arc<OnceLock<Owners>>,
    /// The numbers by path of the metrics that were asked for last; a part does not keep its own.
    pub(super) columns: Option<ColumnStore>,
    /// Whether it has other call paths than the profile that it is a part of.
    has_own_paths: bool,
    start: OnceLock<StartFold>,
    calls: OnceLock<Option<CallTable>>,
}

impl ProfileRequest {
    /// Selects the part of a profile that the request is about.
    ///
    /// # Errors
    /// There is no such window, label or metric.
    pub fn select(&self, subject: NamedItem<Input>) -> anyhow::Result<Selection> {
        let NamedItem { name, it: Input { format, mut profile } } = subject;
        profile.merge_unnamed_threads();
        let window = window::apply(self.window, &mut profile, &name)?;
        let metrics = Metric::all_of(&profile);
        if let Some(name) = &self.metric {
            metric::find(&profile, name)?;
        }
        let joined = match !self.infers_callers || jamaica::is_in(&profile) {
            true => InferredCallers::default(),
            false => inferred::infer(&mut profile),
        };
        let (filtered, notes) = (None, Vec::new());
        let (tree, owners, start, calls) = Default::default();
        let mut selection = Selection {
            name,
            format,
            profile,
            joined,
            window,
            filtered,
            notes,
            metrics,
            tree,
            owners,
            columns: Some(ColumnStore::default()),
            has_own_paths: true,
            start,
            calls,
        };
        selection.narrow(&self.filter, self.by.as_deref())?;
        Ok(selection)
    }
}

impl Selection {
    /// The profile, with what is selected of it.
    pub fn profile(&self) -> &Profile {
        &self.profile
    }

    /// The paths of methods of the profile.
    pub fn tree(&self) -> &MethodTree {
        self.tree.get_or_init(|| MethodTree::new(&self.profile))
    }

    /// Whose code the methods are.
    pub fn owners(&self) -> &Owners {
        self.owners.get_or_init(|| Owners::new(&self.profile))
    }

    /// The numbers of a metric by path.
    pub fn columns(&self, metric: &Metric) -> Arc<Columns> {
        match &self.columns {
            Some(store) => store.get(&self.profile, self.tree(), metric),
            None => Columns::new(&self.profile, self.tree(), metric, None).into(),
        }
    }

    /// The bytes that it takes besides those that it shares with the profile that it is a part of, about.
    pub fn own_bytes(&self) -> usize {
        let paths = if self.has_own_paths { self.profile.tree.len() * PATH_BYTES } else { 0 };
        self.profile.row_bytes() + paths + self.columns.as_ref().map_or(0, ColumnStore::bytes)
    }

    /// What is folded at the beginning of stacks.
    pub fn start(&self) -> &StartFold {
        self.start.get_or_init(|| StartFold::new(&self.profile, self.tree(), self.owners()))
    }

    /// The calls that were counted; `None` where none were.
    pub fn calls(&self) -> Option<&CallTable> {
        let profile = &self.profile;
        let table = || {
            let columns = CallColumns::new(profile, self.tree(), None);
            CallTable::of_tree(profile, self.tree(), &columns)
        };
        let calls = || Metric::Calls.is_in(profile).then(table);
        self.calls.get_or_init(calls).as_ref()
    }

    /// The name of its file for messages.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether callers are inferred: then another window or none could infer others.
    pub fn is_inferred(&self) -> bool {
        !self.joined.is_empty()
    }

    /// The part of this selection of a whole profile that a request is about, whose window has to be the whole
    /// one unless no caller is inferred.
    ///
    /// # Errors
    /// There is no such window, label or metric.
    pub fn part(&self, request: &ProfileRequest) -> anyhow::Result<Self> {
        if let Some(name) = &request.metric {
            self.metric(name)?;
        }
        let input = Input { format: self.format, profile: self.profile.clone() };
        if request.window != Window::default() || !request.infers_callers {
            let selection = request.select(NamedItem::new(self.name.clone(), input))?;
            return Ok(Self { columns: None, ..selection });
        }
        let Self { name, format, joined, metrics, tree, owners, .. } = self;
        let mut part = Self {
            name: name.clone(),
            format: *format,
            profile: input.profile,
            joined: joined.clone(),
            window: None,
            filtered: None,
            notes: Vec::new(),
            metrics: metrics.clone(),
            tree: Arc::clone(tree),
            owners: Arc::clone(owners),
            columns: None,
            has_own_paths: false,
            start: OnceLock::new(),
            calls: OnceLock::new(),
        };
        part.narrow(&request.filter, request.by.as_deref())?;
        if !part.profile.has_paths_of(&self.profile) {
            (part.tree, part.owners) = Default::default();
            part.has_own_paths = true;
        }
        Ok(part)
    }

    /// Leaves what passes the filter, with the values of a label at the root.
    fn narrow(&mut self, filter: &Filter, by: Option<&str>) -> anyhow::Result<()> {
        let Self { name, profile, joined, notes, .. } = self;
        self.filtered = filter::apply(filter, profile, joined, name, notes);
        if let Some(key) = by {
            labels::root(profile, key)?;
            self.joined = InferredCallers::default();
        }
        Ok(())
    }

    /// The metric of that name.
    ///
    /// # Errors
    /// The profile does not have it.
    pub fn metric(&self, name: &str) -> anyhow::Result<Metric> {
        let by_name = self.metrics.iter().find(|metric| metric.name() == name).cloned();
        let own = || Metric::own(name).filter(|metric| self.metrics.contains(metric));
        by_name.or_else(own).map_or_else(|| metric::find(&self.profile, name), Ok)
    }
}

#[cfg(test)]
mod tests {
    use perk_profile::{NamePattern, Section};

    use super::super::fixture::trace;
    use super::*;

    /// Frames that are taken out of the end of stacks leave the call paths as they are.
    #[test]
    fn a_part_whose_stacks_end_elsewhere_has_paths_of_its_own() {
        let mut profile = Profile::default();
        let rows = [(&["T.main", "T.a", "T.leaf"][..], 3), (&["T.main"], 4)];
        let rows = rows.map(|(stack, number)| (trace(&mut profile, stack, None), number));
        profile.events.push(Section::of(Metric::Samples, 7, rows).into());
        let format = perk_formats::FORMATS[0];
        let input = Input { format, profile };
        let whole = ProfileRequest::default().select(NamedItem::new("app", input));
        let whole = whole.unwrap();
        assert_eq!(whole.columns(&Metric::Samples).ends().count(), 2);
        let hide = NamePattern::new("T.leaf").into_iter().collect();
        let filter = Filter { hide, ..Filter::default() };
        let part = whole.part(&ProfileRequest { filter, ..ProfileRequest::default() }).unwrap();
        assert!(part.profile.tree.is_same(&whole.profile.tree));
        let columns = part.columns(&Metric::Samples);
        let ends = columns.ends().map(|(path, number)| {
            let method = part.tree().method(path).map(|it| part.profile.symbols.method_name(it));
            (method.unwrap_or_default(), number, columns.total(path))
        });
        let ends: Vec<_> = ends.collect();
        assert_eq!(ends, [("T.main".to_owned(), 4, 7), ("T.a".to_owned(), 3, 3)]);
    }
}
