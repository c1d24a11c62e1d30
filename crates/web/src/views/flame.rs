//! Flame graphs: the part that is seen, and searches.

use std::sync::Arc;

use perk_analysis::flame::{
    Direction, FlameGraph, Group, Level, Place, Question as Asked, Subject,
};
use perk_analysis::label_tree::StartFold;
use perk_analysis::{Columns, MethodTree, Window};
use perk_profile::{Metric, Profile};
use perk_render::Json;
use perk_report::{Selection, flame, parse};

use super::report::whole_or_part;
use crate::app::App;
use crate::fault::Fault;
use crate::question::{OF_PART, Question};
use crate::reply::{JSON, Reply};
use crate::sources::Source;

/// The parameters of flame graphs.
pub(crate) const KNOWN: [&str; 10] =
    ["metric", "tree", "method", "group", "fold", "root", "depth", "min-width", "version", "q"];
/// Those that select what the numbers are, and not what is seen of them.
const OF_NUMBERS: [&str; 3] = ["metric", "group", "fold"];
/// A node is sent if it has at least one of this number of parts of the root.
const WIDTH: u64 = 1600;
/// The most levels that are sent at once.
const LEVELS: usize = 200;

/// A profile with what its flame graphs need.
pub(crate) struct ViewedStacks {
    pub(crate) selection: Arc<Selection>,
    pub(crate) asked: Asked,
    /// What distinguishes it from others.
    pub(crate) key: String,
}

impl ViewedStacks {
    /// The profile of a source for a question.
    pub(crate) fn new(app: &App, source: &Source, question: &Question) -> Result<Self, Fault> {
        let (selection, is_part) = whole_or_part(app, source, question)?;
        let part = if is_part { question.key_of(&OF_PART) } else { String::new() };
        let key = format!("{} {} {part}", source.id, source.version);
        let profile = selection.profile();
        let metric = match question.text("metric") {
            Some(name) => selection.metric(name)?,
            None => Metric::first_of(profile)
                .ok_or_else(|| Fault::nothing("the profile has no numbers by call path"))?,
        };
        // The part is the window already.
        let window = if is_part { Window::default() } else { question.window()? };
        if !window.is_whole() {
            check_window(window, profile, &metric, &source.name)?;
        }
        // Around a method, all that goes through it is one.
        let is_around = question.text("tree") == Some("around");
        let (level, mut group) = level_and_group(question, is_part)?;
        if is_around {
            group = Group::None;
        }
        let [folds_frames, folds_idle] = folds(question)?.map(|it| it && !is_around);
        let filter = question.filter()?;
        let asked = Asked { metric, window, filter, level, group, folds_frames, folds_idle };
        let numbers = question.key_of(&OF_NUMBERS);
        let key = format!("{key} {} {numbers} {is_around}", question.key_of(&OF_PART));
        Ok(Self { selection, asked, key })
    }

    pub(crate) fn profile(&self) -> &Profile {
        self.selection.profile()
    }

    fn tree(&self) -> &MethodTree {
        self.selection.tree()
    }

    /// What is folded, if anything is.
    fn start(&self) -> Option<&StartFold> {
        let is_folded = self.asked.folds_frames || self.asked.folds_idle;
        is_folded.then(|| self.selection.start()).filter(|it| !it.is_empty())
    }

    /// The numbers that the profile keeps, where those of the question are some of them.
    fn columns(&self) -> Option<Arc<Columns>> {
        let is_by_path = self.asked.is_by_path(self.profile());
        is_by_path.then(|| self.selection.columns(&self.asked.metric))
    }

    /// What the question is about, with the numbers that the profile keeps.
    fn subject<'s>(&'s self, columns: Option<&'s Columns>) -> Subject<'s> {
        let (tree, owners) = (self.tree(), self.selection.owners());
        Subject { profile: self.profile(), tree, owners, start: self.start(), columns }
    }
}

/// Whether what is above the program's own code is one node, and whether the time of threads that do not work is.
fn folds(question: &Question) -> Result<[bool; 2], Fault> {
    match question.text("fold").unwrap_or("nothing") {
        "start" => Ok([true; 2]),
        "frames" => Ok([true, false]),
        "idle" => Ok([false, true]),
        "nothing" => Ok([false; 2]),
        other => Err(Fault::question(format!("fold {other}: use start, frames, idle or nothing"))),
    }
}

/// Fails where a profile has no times in a window.
fn check_window(
    window: Window,
    profile: &Profile,
    metric: &Metric,
    name: &str,
) -> Result<(), Fault> {
    if window.to_ns.is_some_and(|to_ns| to_ns <= window.from_ns.unwrap_or(0)) {
        return Err(Fault::question("to is not later than from"));
    }
    match profile.timelines().any(|it| it.head.metric == *metric) {
        true => Ok(()),
        false => Err(Fault::question(format!(
            "{name} does not tell when its {} were measured",
            metric.title()
        ))),
    }
}

/// What is a node, and what is at the root; a part has the values of its label at the root already.
fn level_and_group(question: &Question, is_part: bool) -> Result<(Level, Group), Fault> {
    let by = question.text("by").filter(|_| !is_part);
    let by = || by.map_or(Group::None, |key| Group::Label(key.to_owned()));
    Ok(match question.text("group") {
        None => (Level::Method, by()),
        Some("thread") => (Level::Method, Group::Thread),
        Some("class") => (Level::Class, by()),
        Some("package") => (Level::Package, by()),
        Some(other) => match other.strip_prefix("label:") {
            Some(key) => (Level::Method, Group::Label(key.to_owned())),
            None => {
                return Err(Fault::question(format!(
                    "group {other}: use thread, label:KEY, class or package"
                )));
            }
        },
    })
}

/// The place that a question names.
pub(crate) fn place(question: &Question) -> Result<Place, Fault> {
    let path = question.value("root", |text| {
        let ids = text.split('.').filter(|it| !it.is_empty()).map(str::parse::<u32>);
        ids.collect::<Result<Vec<_>, _>>()
            .map_err(|_| "use the ids of the nodes on the way to it: 3.17.4")
    })?;
    Ok(Place {
        direction: match question.text("tree").unwrap_or("top-down") {
            "top-down" | "around" => Direction::TopDown,
            "bottom-up" => Direction::BottomUp,
            other => {
                let line = format!("tree {other}: use top-down, bottom-up or around");
                return Err(Fault::question(line));
            }
        },
        around: question.value("method", parse::name_pattern)?,
        path: path.unwrap_or_default(),
        levels: question.number("depth")?.unwrap_or(LEVELS).min(LEVELS),
        width: question.number("min-width")?.unwrap_or(WIDTH),
    })
}

/// The graph of profiles, from memory where it was asked for before.
pub(crate) fn graph(app: &App, viewed: &[ViewedStacks]) -> Result<Arc<FlameGraph>, Fault> {
    let keys: Vec<_> = viewed.iter().map(|it| &*it.key).collect();
    app.flames.get(&keys.join(" and "), || {
        let columns: Vec<_> = viewed.iter().map(ViewedStacks::columns).collect();
        let sides = viewed.iter().zip(&columns);
        let sides = sides.map(|(it, columns)| (it.subject(columns.as_deref()), &it.asked));
        let sides: Vec<_> = sides.collect();
        Ok(FlameGraph::new(&sides))
    })
}

/// What is seen at a place.
pub(crate) fn seen(
    graph: &FlameGraph,
    viewed: &[ViewedStacks],
    place: &Place,
) -> Result<Vec<(&'static str, Json)>, Fault> {
    let trees: Vec<_> = viewed.iter().map(ViewedStacks::tree).collect();
    let view = graph.view(&trees, place);
    let view = view.ok_or_else(|| Fault::nothing("the graph has no such node"))?;
    let mut members = vec![("root", Json::list(place.path.iter().copied()))];
    members.extend(flame::nodes(graph, &view, &place.path, viewed.len() > 1));
    // Calls beside the time that samples show.
    if let [one] = viewed
        && one.asked.metric == Metric::Samples
        && (one.asked.level, place.direction) == (Level::Method, Direction::TopDown)
        && let Some(table) = one.selection.calls()
    {
        members.extend(flame::calls(&view, &graph.calls(one.tree(), table)));
    }
    Ok(members)
}

/// The members of a graph's answer: callers and callees of a method, or what is seen at a place.
pub(crate) fn members(
    app: &App,
    viewed: &[ViewedStacks],
    question: &Question,
) -> Result<Vec<(&'static str, Json)>, Fault> {
    let graph = graph(app, viewed)?;
    let place = place(question)?;
    let Some(last) = viewed.last() else { return Ok(Vec::new()) };
    let mut members = flame::of_metric(&last.asked.metric, last.profile());
    if question.text("tree") != Some("around") {
        let place = Place { around: None, ..place };
        members.extend(seen(&graph, viewed, &place)?);
        return Ok(members);
    }
    if place.around.is_none() {
        return Err(Fault::question("name the method: method=Foo.bar"));
    }
    for (name, direction) in [("callers", Direction::BottomUp), ("callees", Direction::TopDown)] {
        let place = Place { direction, ..place.clone() };
        members.push((name, Json::object(seen(&graph, viewed, &place)?)));
    }
    Ok(members)
}

/// The part of a flame graph that is seen.
pub(crate) fn flame(app: &App, source: &Source, question: &Question) -> Result<Reply, Fault> {
    question.check(&[&KNOWN[..KNOWN.len() - 1], &OF_PART])?;
    let viewed = [ViewedStacks::new(app, source, question)?];
    let mut all = vec![("version", Json::from(source.version))];
    all.extend(members(app, &viewed, question)?);
    document(all, source.version)
}

/// The labels with a text in them, and the sum of all stacks through one of them.
pub(crate) fn search(app: &App, source: &Source, question: &Question) -> Result<Reply, Fault> {
    question.check(&[&KNOWN, &OF_PART])?;
    let text = question.text("q").filter(|it| !it.is_empty());
    let text = text.ok_or_else(|| Fault::question("name the text: q=parse"))?;
    let viewed = [ViewedStacks::new(app, source, question)?];
    let graph = graph(app, &viewed)?;
    let (ids, found) = graph.search(&[viewed[0].tree()], text);
    let mut all = vec![("version", Json::from(source.version))];
    all.extend(flame::of_metric(&viewed[0].asked.metric, viewed[0].profile()));
    all.extend([
        ("total", graph.total()[0].into()),
        ("found", found[0].into()),
        ("ids", Json::list(ids)),
    ]);
    document(all, source.version)
}

/// A document of these members.
pub(crate) fn document(members: Vec<(&'static str, Json)>, version: u64) -> Result<Reply, Fault> {
    let mut bytes = Vec::new();
    Json::object(members).write_compact(&mut bytes).map_err(anyhow::Error::from)?;
    Ok(Reply::of(bytes, JSON).version(version))
}
