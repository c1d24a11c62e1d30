//! The numbers of two profiles side by side, thing by thing: each list defines its numbers once for
//! text, CSV and JSON.

use perk_analysis::diff::{Calls, Change, Diff, HeapObjects, MethodNumbers, MetricDiff};
use perk_profile::units::amount;
use perk_profile::{Allocations, ClassId, MethodId, Metric, NodeId, Unit, Waits};
use perk_render::{Cell, Column, Json, Part, Row, Section, Table};

use super::{difference, relative};

/// The most numbers of a thing.
const MOST: usize = 4;

/// Things that both profiles have, and their numbers.
#[derive(Debug)]
pub(super) struct List<'d> {
    diff: &'d Diff,
    /// Its name in CSV.
    kind: &'d str,
    heading: String,
    /// What a row is, for people.
    name: &'static str,
    /// Keys and units of the numbers.
    numbers: Vec<(&'static str, Unit)>,
    /// Text shows the rows where one of these numbers differs; with totals, its share.
    judged: &'static [usize],
    totals: Option<[u64; 2]>,
    /// The columns of text: an index of the numbers, what of it, and a heading.
    shown: Vec<(usize, Aspect, &'static str)>,
    rows: Vec<Pair>,
}

/// What text shows of a number.
#[derive(Clone, Copy, Debug)]
enum Aspect {
    Before,
    After,
    Difference,
    Relative,
    ShareBefore,
    ShareAfter,
    /// By how much the share moved.
    Points,
}
use Aspect::{After, Before, Difference, Points, Relative, ShareAfter, ShareBefore};

/// A thing, with each of its numbers before and after.
#[derive(Debug)]
struct Pair {
    thing: Thing,
    numbers: [[u64; 2]; MOST],
}

impl Pair {
    fn differs(&self) -> bool {
        self.numbers.iter().any(|[before, after]| before != after)
    }
}

#[derive(Clone, Copy, Debug)]
enum Thing {
    Method(MethodId),
    /// Caller and callee.
    Edge(Option<MethodId>, Option<MethodId>),
    Class(ClassId),
    Site(ClassId, NodeId),
}

const CALLS: [(&str, Unit); 3] =
    [("call_count", Unit::Count), ("self_ns", Unit::Nanoseconds), ("total_ns", Unit::Nanoseconds)];
const OBJECTS: [(&str, Unit); 4] = [
    ("allocated_bytes", Unit::Bytes),
    ("allocated_count", Unit::Count),
    ("live_bytes", Unit::Bytes),
    ("live_count", Unit::Count),
];
const WAITS: [(&str, Unit); 4] = [
    ("blocked_count", Unit::Count),
    ("blocked_ns", Unit::Nanoseconds),
    ("wait_count", Unit::Count),
    ("waited_ns", Unit::Nanoseconds),
];
const HEAP: [(&str, Unit); 2] = [("instance_count", Unit::Count), ("shallow_bytes", Unit::Bytes)];

/// The columns of text that show bytes by `bytes` and objects by `count`.
fn objects_shown(bytes: usize, count: usize) -> Vec<(usize, Aspect, &'static str)> {
    vec![
        (bytes, Before, "before"),
        (bytes, After, "after"),
        (bytes, Relative, "change %"),
        (count, Before, "objects before"),
        (count, After, "objects after"),
        (count, Difference, "change"),
    ]
}

fn pairs<K, V>(
    rows: &[Change<K, V>],
    thing: impl Fn(&K) -> Thing,
    numbers: impl Fn(&V) -> [u64; MOST],
) -> Vec<Pair> {
    let pair = |row: &Change<K, V>| {
        let (before, after) = (numbers(&row.before), numbers(&row.after));
        let numbers = std::array::from_fn(|index| [before[index], after[index]]);
        Pair { thing: thing(&row.key), numbers }
    };
    rows.iter().map(pair).collect()
}

fn objects(it: &Allocations) -> [u64; MOST] {
    [it.allocated_bytes, it.allocated_count, it.live_bytes, it.live_count]
}

impl<'d> List<'d> {
    /// Calls by method.
    pub(super) fn calls(diff: &'d Diff) -> Option<Self> {
        let number = |it: &Calls| [it.count, it.self_ns, it.total_ns, 0];
        let mut shown = vec![
            (0, Before, "before"),
            (0, After, "after"),
            (0, Difference, "change"),
            (0, Relative, "change %"),
        ];
        let rows = pairs(diff.methods.as_ref()?, |&method| Thing::Method(method), number);
        let is_timed =
            |row: &Pair| row.numbers[0][0] != row.numbers[0][1] && row.numbers[1] != [0; 2];
        if rows.iter().any(is_timed) {
            shown.extend([(1, Before, "self before"), (1, After, "self after")]);
        }
        Some(Self {
            diff,
            kind: "calls",
            heading: "Calls by method".to_owned(),
            name: "method",
            numbers: CALLS.to_vec(),
            judged: &[0],
            totals: None,
            shown,
            rows,
        })
    }

    /// Calls by caller and callee.
    pub(super) fn edges(diff: &'d Diff) -> Option<Self> {
        let edge = |&(caller, callee): &_| Thing::Edge(caller, callee);
        let rows = pairs(diff.edges.as_ref()?, edge, |&count| [count, 0, 0, 0]);
        Some(Self {
            diff,
            kind: "edges",
            heading: "Calls by caller and callee".to_owned(),
            name: "",
            numbers: CALLS[..1].to_vec(),
            judged: &[0],
            totals: None,
            shown: vec![
                (0, Before, "before"),
                (0, After, "after"),
                (0, Difference, "change"),
                (0, Relative, "change %"),
            ],
            rows,
        })
    }

    /// Allocations by class.
    pub(super) fn classes(diff: &'d Diff) -> Option<Self> {
        let rows = pairs(diff.classes.as_ref()?, |&class| Thing::Class(class), objects);
        Some(Self::of_objects(diff, "allocations", "Allocations by class", rows))
    }

    /// Allocations by site.
    pub(super) fn sites(diff: &'d Diff) -> Option<Self> {
        let site = |&(class, node): &_| Thing::Site(class, node);
        let rows = pairs(diff.sites.as_ref()?, site, objects);
        Some(Self::of_objects(diff, "sites", "Allocations by site", rows))
    }

    fn of_objects(diff: &'d Diff, kind: &'d str, heading: &str, rows: Vec<Pair>) -> Self {
        let estimates = if diff.is_estimated { " (estimates)" } else { "" };
        Self {
            diff,
            kind,
            heading: format!("{heading}{estimates}"),
            name: "class",
            numbers: OBJECTS.to_vec(),
            judged: &[0, 1],
            totals: None,
            shown: objects_shown(0, 1),
            rows,
        }
    }

    /// Methods by how their share of a metric moved.
    pub(super) fn metric(diff: &'d Diff, of: &'d MetricDiff) -> Self {
        let MetricDiff { metric, total, methods } = of;
        let number = |it: &MethodNumbers| [it.own, it.total, 0, 0];
        let what = match metric {
            Metric::Samples => "the samples".to_owned(),
            metric => perk_render::metric(metric),
        };
        Self {
            diff,
            kind: metric.name(),
            heading: format!("Share of {what} by method (self)"),
            name: "method",
            numbers: ["self_count", "total_count"].map(|id| (id, metric.unit())).to_vec(),
            judged: &[0],
            totals: Some([total.before, total.after]),
            shown: vec![
                (0, ShareBefore, "before %"),
                (0, ShareAfter, "after %"),
                (0, Points, "points"),
                (0, Before, "before"),
                (0, After, "after"),
            ],
            rows: pairs(methods, |&method| Thing::Method(method), number),
        }
    }

    /// Locks by how the time moved that threads were blocked.
    pub(super) fn locks(diff: &'d Diff) -> Option<Self> {
        let number = |it: &Waits| [it.blocked_count, it.blocked_ns, it.wait_count, it.waited_ns];
        Some(Self {
            diff,
            kind: "locks",
            heading: "Waiting for locks by class".to_owned(),
            name: "lock of class",
            numbers: WAITS.to_vec(),
            judged: &[0, 1, 2, 3],
            totals: None,
            shown: vec![
                (1, Before, "blocked before"),
                (1, After, "after"),
                (1, Relative, "change %"),
                (0, Before, "times before"),
                (0, After, "after"),
            ],
            rows: pairs(diff.locks.as_ref()?, |&class| Thing::Class(class), number),
        })
    }

    /// Classes by how the bytes of their objects in the heap moved.
    pub(super) fn heap(diff: &'d Diff) -> Option<Self> {
        let number = |it: &HeapObjects| [it.instance_count, it.shallow_bytes, 0, 0];
        Some(Self {
            diff,
            kind: "heap",
            heading: "Objects in the heap by class".to_owned(),
            name: "class",
            numbers: HEAP.to_vec(),
            judged: &[0, 1],
            totals: None,
            shown: objects_shown(1, 0),
            rows: pairs(diff.heap.as_ref()?, |&class| Thing::Class(class), number),
        })
    }

    /// A table for people, of at most `top` rows.
    pub(super) fn section(mut self, top: usize) -> Section<'d> {
        let mut rows = std::mem::take(&mut self.rows);
        rows.retain(|row| self.is_shown(row));
        let hidden = rows.len().saturating_sub(top);
        let names = match rows.first().map(|row| row.thing) {
            Some(Thing::Edge(..)) => {
                vec![Column::words().name("caller"), Column::words().name("callee")]
            }
            Some(Thing::Site(..)) => vec![Column::words().name(self.name), Column::path("")],
            _ => vec![Column::words().name(self.name)],
        };
        let positions = (0..).zip(&self.shown);
        let columns = positions.map(|(position, shown)| Column::words().at(position, shown.2));
        let columns = columns.chain(names).collect();
        let (diff, heading) = (self.diff, std::mem::take(&mut self.heading));
        let rows = rows.into_iter().take(top).map(move |row| {
            let cells = self.shown.iter().map(|&(index, aspect, _)| self.cell(&row, index, aspect));
            Row::new(cells.chain(row.thing.names(diff)).collect())
        });
        let table = Table::new(&diff.symbols, heading, columns, rows);
        vec![Part::Table(match hidden {
            0 => table,
            hidden => table.note(format!("and {hidden} more (--top)")),
        })]
    }

    fn is_shown(&self, row: &Pair) -> bool {
        self.judged.iter().any(|&index| match self.totals {
            Some(totals) => points(row.numbers[index], totals) != 0.0,
            None => row.numbers[index][0] != row.numbers[index][1],
        })
    }

    fn cell(&self, row: &Pair, index: usize, aspect: Aspect) -> Cell<'d> {
        let [before, after] = row.numbers[index];
        let totals = self.totals.unwrap_or_default();
        let unit = self.numbers[index].1;
        match aspect {
            Before => Cell::text(amount(before, unit)),
            After => Cell::text(amount(after, unit)),
            Difference => Cell::text(difference(before, after)),
            Relative => Cell::text(relative(before, after)),
            ShareBefore => Cell::Share(before, totals[0]),
            ShareAfter => Cell::Share(after, totals[1]),
            Points => Cell::text(format!("{:+.2}", points(row.numbers[index], totals))),
        }
    }

    /// The first `top` rows for JSON.
    pub(super) fn json(self, top: usize) -> Json<'d> {
        let Self { diff, numbers: ids, rows, .. } = self;
        let keys = match rows.first().map(|row| row.thing) {
            Some(Thing::Method(_)) => vec![Column::other("name")],
            Some(Thing::Edge(..)) => vec![Column::other("caller"), Column::other("callee")],
            Some(Thing::Site(..)) => vec![Column::other("class"), Column::path("")],
            _ => vec![Column::other("class")],
        };
        let sides = ["before", "after"].map(Column::other);
        let rows = rows.into_iter().filter(Pair::differs).take(top).map(move |row| {
            let side = |side: usize| match &ids[..] {
                [_] => Cell::Number(row.numbers[0][side]),
                ids => {
                    let numbers = ids.iter().zip(row.numbers);
                    Cell::Json(Json::object(numbers.map(|(&(id, _), it)| (id, it[side].into()))))
                }
            };
            Row::new(row.thing.names(diff).into_iter().chain([0, 1].map(side)).collect())
        });
        Table::new(&diff.symbols, "", keys.into_iter().chain(sides).collect(), rows).into()
    }

    /// A row of CSV for each number that differs, of at most `top` things.
    pub(super) fn csv(self, top: usize) -> impl Iterator<Item = Row<'d>> {
        let Self { diff, kind, numbers, rows, .. } = self;
        rows.into_iter().filter(Pair::differs).take(top).flat_map(move |row| {
            let full = |id| perk_render::full_name(&diff.symbols, id);
            let optional = |id: Option<_>| id.map_or(String::new(), full);
            let (name, caller) = match row.thing {
                Thing::Method(method) => (full(method), String::new()),
                Thing::Edge(caller, callee) => (optional(callee), optional(caller)),
                Thing::Class(class) | Thing::Site(class, _) => {
                    (perk_render::class_name(&diff.symbols, class).into_owned(), String::new())
                }
            };
            let differ = numbers.clone().into_iter().zip(row.numbers);
            differ.filter(|(_, [before, after])| before != after).map(
                move |((number, _), [before, after])| {
                    let names = [Cell::text(kind), Cell::text(name.clone())];
                    let names = names.into_iter().chain([Cell::text(caller.clone())]);
                    let numbers = [Cell::text(number), Cell::Number(before), Cell::Number(after)];
                    Row::new(names.chain(numbers).collect())
                },
            )
        })
    }
}

impl Thing {
    /// The cells of its names.
    fn names<'t>(self, diff: &Diff) -> Vec<Cell<'t>> {
        let method = |id| Cell::method_or(id, "[not known]");
        match self {
            Thing::Method(id) => vec![Cell::Method(id)],
            Thing::Edge(caller, callee) => vec![method(caller), method(callee)],
            Thing::Class(class) => vec![Cell::Class(class)],
            Thing::Site(class, node) => {
                vec![Cell::Class(class), Cell::Path(diff.tree.frames(node).collect())]
            }
        }
    }
}

/// By how many percentage points a share moved.
fn points([before, after]: [u64; 2], totals: [u64; 2]) -> f64 {
    let share =
        |count: u64, all: u64| if all == 0 { 0.0 } else { count as f64 * 100.0 / all as f64 };
    share(after, totals[1]) - share(before, totals[0])
}
