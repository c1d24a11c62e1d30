//! What the threads do by the clock: the time in each state, and the methods that it is in.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::rc::Rc;

use perk_analysis::{Owner, Owners};
use perk_profile::units::duration;
use perk_profile::{Key, MethodId, Metric, Profile, Subject, ThreadId, TraceId, WallState};
use perk_render::{Cell, Column, LazyTable};

use super::metric::{MetricView, NO_STACK};

/// Places below each state.
const PLACES: usize = 3;
/// A place with less of the time of its state than this is left out, in percent.
const LEAST: f64 = 3.0;

/// The time of all threads in a state.
#[derive(Clone, Debug)]
struct InState {
    state: Option<WallState>,
    ns: u64,
    /// The places, most time first.
    places: Vec<(Place, u64)>,
}

/// A method on top of stacks, and the first of the program's methods below it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Place {
    top: Option<MethodId>,
    own: Option<MethodId>,
}

impl InState {
    fn title(&self) -> &'static str {
        self.state.map_or("in a state that is not known", WallState::title)
    }
}

/// The table of states; `None` where the profile has no wall-clock samples. With `top`, as many
/// places are shown below each state.
pub(super) fn states<'t>(
    view: &'t MetricView<'_>,
    owners: &Owners,
    top: Option<usize>,
) -> Option<LazyTable<'t>> {
    if view.metric != Metric::WallTime {
        return None;
    }
    let profile = view.profile;
    let symbols = &profile.symbols;
    let rows = rows(profile, owners);
    let methods = rows.iter().flat_map(|row| &row.places).flat_map(|(it, _)| [it.top, it.own]);
    let labels = Rc::new(perk_render::labels(symbols, methods.flatten()));
    let (shown, count) = (Rc::clone(&labels), top.unwrap_or(PLACES));
    let places = move |row: &InState| {
        let labels = Rc::clone(&labels);
        LazyTable::of(symbols, "", row.places.clone())
            .column(Column::other("top"), |it| it.0.top)
            .column(Column::other("own"), |it| it.0.own)
            .column(Column::ns("self_ns"), |it| it.1)
            .table()
            .labelled(&labels)
    };
    let table = LazyTable::of(symbols, "What the threads do, by state", rows)
        .column(Column::other("state"), |row| row.state.map_or("", WallState::name))
        .column(view.measure("self").share_at(0, "wall %").at(1, "wall"), |row| row.ns)
        .column(Column::words().name("state"), |row| row.title())
        .column(Column::other("places"), places)
        .each(move |row, text| text.below = lines(row, &shown, count, top.is_some()))
        .table();
    (!table.is_empty()).then(|| {
        table.legend(
            "Time of all threads. Below: the program's method and, in it, what waits or runs.",
        )
    })
}

/// The columns of the states, in the order of [`WallState::ALL`].
const STATE_COLUMNS: [&str; WallState::ALL.len()] = [
    "running_ns",
    "runnable_ns",
    "blocked_ns",
    "waiting_ns",
    "parked_ns",
    "sleeping_ns",
    "native_ns",
    "vm_ns",
];

/// The time of each thread in each state, most time first; `None` where the profile has no wall-clock samples of
/// threads with states.
pub(super) fn thread_states(profile: &Profile) -> Option<LazyTable<'_>> {
    let mut times: HashMap<ThreadId, [u64; WallState::ALL.len()]> = HashMap::new();
    for (Key { trace, subject, .. }, ns) in Metric::WallTime.rows(profile).rows {
        let (Subject::State(state), Some(thread)) = (subject, profile.get_trace(trace).thread)
        else {
            continue;
        };
        let place = WallState::ALL.iter().position(|&it| it == state)?;
        let sum = &mut times.entry(thread).or_default()[place];
        *sum = sum.saturating_add(ns);
    }
    let mut rows: Vec<_> = times.into_iter().collect();
    let total = |ns: &[u64]| ns.iter().fold(0_u64, |sum, &it| sum.saturating_add(it));
    rows.sort_by_key(|(thread, ns)| (Reverse(total(ns)), *thread));
    let table = LazyTable::of(&profile.symbols, "Threads by state", rows)
        .column(Column::other("thread_serial"), |row| u64::from(profile.get_thread(row.0).serial))
        .column(Column::other("thread"), |row| profile.thread_name(row.0))
        .columns(STATE_COLUMNS.map(Column::ns), |row| row.1.map(Cell::Number))
        .table();
    (!table.is_empty()).then_some(table)
}

/// The states, most time first.
fn rows(profile: &Profile, owners: &Owners) -> Vec<InState> {
    let mut places: HashMap<(Option<WallState>, Place), u64> = HashMap::new();
    let mut known: HashMap<TraceId, Place> = HashMap::new();
    for (Key { trace, subject, .. }, ns) in Metric::WallTime.rows(profile).rows {
        let state = match subject {
            Subject::State(state) => Some(state),
            _ => None,
        };
        let place = *known.entry(trace).or_insert_with(|| place(profile, owners, trace));
        let sum = places.entry((state, place)).or_default();
        *sum = sum.saturating_add(ns);
    }
    let mut rows: Vec<InState> = Vec::new();
    for ((state, place), ns) in places {
        let row = match rows.iter_mut().find(|row| row.state == state) {
            Some(row) => row,
            None => {
                rows.push(InState { state, ns: 0, places: Vec::new() });
                rows.last_mut().expect("a row was added")
            }
        };
        row.ns = row.ns.saturating_add(ns);
        row.places.push((place, ns));
    }
    rows.sort_by_key(|row| (Reverse(row.ns), row.state));
    for row in &mut rows {
        row.places.sort_by_key(|&(place, ns)| (Reverse(ns), place));
    }
    rows
}

fn place(profile: &Profile, owners: &Owners, trace: TraceId) -> Place {
    let method = |frame| profile.symbols.get_frame(frame).method;
    let is_of_program = |it: &MethodId| matches!(owners.of(*it), Owner::Yours | Owner::Library);
    let yours = owners.nearest(profile, trace).map(method);
    let mut methods = profile.frames(trace).map(method);
    let top = profile.frames(trace).next().map(method);
    Place { top, own: yours.or_else(|| methods.find(is_of_program)) }
}

/// `62 %, 1.2 s: Server.serve, in java.lang.Object.wait`
fn lines(
    row: &InState,
    labels: &HashMap<MethodId, String>,
    count: usize,
    is_asked: bool,
) -> Vec<String> {
    let share = |ns: u64| ns as f64 * 100.0 / row.ns.max(1) as f64;
    let shown = row.places.iter().take(count).take_while(|it| is_asked || share(it.1) >= LEAST);
    let line = |&(Place { top, own }, ns): &(Place, u64)| {
        let label = |method: Option<MethodId>| method.map(|it| labels[&it].as_str());
        let place = match (label(own), label(top)) {
            (Some(own), Some(top)) if own != top => format!("{own}, in {top}"),
            (_, top) => top.unwrap_or(NO_STACK).to_owned(),
        };
        format!("{:.0} %, {}: {place}", share(ns), duration(ns))
    };
    shown.map(line).collect()
}
