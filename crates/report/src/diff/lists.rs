//! The numbers of two profiles side by side, thing by thing: each list defines its numbers once for
//! text, CSV and JSON.

use std::rc::Rc;

use perk_analysis::diff::{Accesses, Calls, Change, Diff, HeapObjects, MetricDiff};
use perk_profile::units::{amount, plural};
use perk_profile::{Allocations, ClassId, Field, MethodId, Metric, NodeId, Unit, Waits};
use perk_render::{Cell, Column, Json, LazyTable, Part, Section};

use super::ranking::{change, percent};
use super::{relative, signed};

/// Represents a method that is not known.
const UNKNOWN: &str = "[not known]";
/// The most numbers of a thing.
const MOST: usize = 6;

/// Things that both profiles have, and their numbers.
#[derive(Debug)]
pub(super) struct List<'d> {
    diff: &'d Diff,
    /// Its name in CSV.
    kind: &'d str,
    heading: String,
    /// The heading of its things in text.
    name: &'static str,
    /// Keys and units of the numbers.
    numbers: Vec<(&'static str, Unit)>,
    /// Text shows the rows where one of this number of numbers differs.
    judged: usize,
    /// The first number as a metric, where it is of samples: text shows the rows where it differs by
    /// more than chance.
    sampled: Option<&'d MetricDiff>,
    /// The columns of text.
    shown: Vec<ColumnText>,
    rows: Vec<Pair>,
}

/// A column of text: an index of the numbers, the part shown, and a heading.
type ColumnText = (usize, Aspect, &'static str);

/// The part of a number that text shows.
#[derive(Clone, Copy, Debug)]
enum Aspect {
    Before,
    After,
    Difference,
    Relative,
}
use Aspect::{After, Before, Difference, Relative};

/// A thing, with each of its numbers before and after.
#[derive(Debug)]
struct Pair {
    thing: DiffSubject,
    numbers: [[u64; 2]; MOST],
}

impl Pair {
    fn differs(&self) -> bool {
        self.numbers.iter().any(|[before, after]| before != after)
    }
}

#[derive(Clone, Copy, Debug)]
enum DiffSubject {
    Method(MethodId),
    /// Caller and callee.
    Edge(Option<MethodId>, Option<MethodId>),
    Class(ClassId),
    Site(ClassId, NodeId),
    /// The class of objects and one of their fields.
    Field(ClassId, Field),
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

const ACCESSES: [(&str, Unit); 6] = [
    ("access_count", Unit::Count),
    ("other_access_count", Unit::Count),
    ("object_count", Unit::Count),
    ("shared_count", Unit::Count),
    ("extended_access_count", Unit::Count),
    ("extended_other_access_count", Unit::Count),
];

const COUNTS: [ColumnText; 4] = [
    (0, Before, "before"),
    (0, After, "after"),
    (0, Difference, "change"),
    (0, Relative, "change %"),
];
const LOCKS: [ColumnText; 5] = [
    (1, Before, "blocked before"),
    (1, After, "after"),
    (1, Relative, "change %"),
    (0, Before, "times before"),
    (0, After, "after"),
];

const SHARED: [ColumnText; 7] = [
    (0, Before, "accesses"),
    (0, After, "after"),
    (0, Relative, "change %"),
    (1, Before, "by others"),
    (1, After, "after"),
    (3, Before, "shared"),
    (3, After, "after"),
];

const EXTENDED: [ColumnText; 4] = [
    (4, Before, "by other means"),
    (4, After, "after"),
    (5, Before, "by others"),
    (5, After, "after"),
];

/// The columns of text that show bytes by `bytes` and objects by `count`.
fn objects_shown(bytes: usize, count: usize) -> Vec<ColumnText> {
    vec![
        (bytes, Before, "before"),
        (bytes, After, "after"),
        (bytes, Relative, "change %"),
        (count, Before, "objects before"),
        (count, After, "objects after"),
        (count, Difference, "change"),
    ]
}

fn pairs<K, V, const N: usize>(
    rows: &[Change<K, V>],
    thing: impl Fn(&K) -> DiffSubject,
    numbers: impl Fn(&V) -> [u64; N],
) -> Vec<Pair> {
    let pair = |row: &Change<K, V>| {
        let mut pair = Pair { thing: thing(&row.key), numbers: [[0; 2]; MOST] };
        for (side, all) in [numbers(&row.before), numbers(&row.after)].into_iter().enumerate() {
            pair.numbers.iter_mut().zip(all).for_each(|(to, number)| to[side] = number);
        }
        pair
    };
    rows.iter().map(pair).collect()
}

fn accesses(it: &Accesses) -> [u64; 6] {
    [
        it.access_count,
        it.other_access_count,
        it.object_count,
        it.shared_count,
        it.extended_access_count,
        it.extended_other_access_count,
    ]
}

fn objects(it: &Allocations) -> [u64; 4] {
    [it.allocated_bytes, it.allocated_count, it.live_bytes, it.live_count]
}

impl<'d> List<'d> {
    fn new(diff: &'d Diff, kind: &'d str, heading: &str, rows: Vec<Pair>) -> Self {
        let heading = heading.to_owned();
        let (numbers, shown) = (Vec::new(), Vec::new());
        let (name, judged, sampled) = ("class", 1, None);
        Self { diff, kind, heading, name, numbers, judged, sampled, shown, rows }
    }

    /// Calls by method.
    pub(super) fn calls(diff: &'d Diff) -> Option<Self> {
        let number = |it: &Calls| [it.count, it.self_ns, it.total_ns];
        let rows = pairs(diff.methods.as_ref()?, |&method| DiffSubject::Method(method), number);
        let is_timed =
            |row: &Pair| row.numbers[0][0] != row.numbers[0][1] && row.numbers[1] != [0; 2];
        let mut shown = COUNTS.to_vec();
        if rows.iter().any(is_timed) {
            shown.extend([(1, Before, "self before"), (1, After, "self after")]);
        }
        let list = Self::new(diff, "calls", "Calls by method", rows);
        Some(Self { name: "method", numbers: CALLS.to_vec(), shown, ..list })
    }

    /// Calls by caller and callee.
    pub(super) fn edges(diff: &'d Diff) -> Option<Self> {
        let edge = |&(caller, callee): &_| DiffSubject::Edge(caller, callee);
        let rows = pairs(diff.edges.as_ref()?, edge, |&count| [count]);
        let estimated = match diff.estimated_edge_count {
            0 => String::new(),
            count => format!(" (without {}, which are estimated)", plural(count, "pair")),
        };
        let heading = format!("Calls by caller and callee{estimated}");
        let list = Self::new(diff, "edges", &heading, rows);
        Some(Self { numbers: CALLS[..1].to_vec(), shown: COUNTS.to_vec(), ..list })
    }

    /// Allocations by class.
    pub(super) fn classes(diff: &'d Diff) -> Option<Self> {
        let rows = pairs(diff.classes.as_ref()?, |&class| DiffSubject::Class(class), objects);
        Some(Self::of_objects(diff, "Allocations by class", rows))
    }

    /// Allocations by site.
    pub(super) fn sites(diff: &'d Diff) -> Option<Self> {
        let site = |&(class, node): &_| DiffSubject::Site(class, node);
        Some(Self::of_objects(
            diff,
            if diff.is_without_callers { "Allocations by line" } else { "Allocations by site" },
            pairs(diff.sites.as_ref()?, site, objects),
        ))
    }

    fn of_objects(diff: &'d Diff, heading: &str, rows: Vec<Pair>) -> Self {
        let estimates = if diff.is_estimated { " (estimates)" } else { "" };
        let list = Self::new(diff, "allocations", &format!("{heading}{estimates}"), rows);
        let sampled = diff.metric(&Metric::AllocatedBytes).filter(|_| diff.is_estimated);
        let (numbers, shown) = (OBJECTS.to_vec(), objects_shown(0, 1));
        Self { numbers, judged: 2, sampled, shown, ..list }
    }

    /// Locks by how the time moved that threads were blocked.
    pub(super) fn locks(diff: &'d Diff) -> Option<Self> {
        let number = |it: &Waits| [it.blocked_count, it.blocked_ns, it.wait_count, it.waited_ns];
        let rows = pairs(diff.locks.as_ref()?, |&class| DiffSubject::Class(class), number);
        let list = Self::new(diff, "locks", "Waiting for locks by class", rows);
        let (numbers, shown) = (WAITS.to_vec(), LOCKS.to_vec());
        Some(Self { name: "lock of class", numbers, judged: 2, shown, ..list })
    }

    /// Classes by how the bytes of their objects in the heap moved.
    pub(super) fn heap(diff: &'d Diff) -> Option<Self> {
        let number = |it: &HeapObjects| [it.instance_count, it.shallow_bytes];
        let rows = pairs(diff.heap.as_ref()?, |&class| DiffSubject::Class(class), number);
        let list = Self::new(diff, "heap", "Objects in the heap by class", rows);
        Some(Self { numbers: HEAP.to_vec(), judged: 2, shown: objects_shown(1, 0), ..list })
    }

    /// Classes by how the accesses to their objects moved.
    pub(super) fn accessed(diff: &'d Diff) -> Option<Self> {
        let rows = pairs(diff.accessed.as_ref()?, |&class| DiffSubject::Class(class), accesses);
        Some(Self::of_accesses(
            diff,
            "accessed",
            "Accesses to the objects of each class, and shared objects",
            rows,
        ))
    }

    /// Fields by how the accesses to them moved.
    pub(super) fn fields(diff: &'d Diff) -> Option<Self> {
        let field = |&(class, field): &_| DiffSubject::Field(class, field);
        let rows = pairs(diff.fields.as_ref()?, field, accesses);
        let list = Self::of_accesses(
            diff,
            "fields",
            "Accesses to fields, and objects whose field is shared",
            rows,
        );
        Some(Self { name: "field", ..list })
    }

    fn of_accesses(diff: &'d Diff, kind: &'d str, heading: &str, rows: Vec<Pair>) -> Self {
        let list = Self::new(diff, kind, heading, rows);
        let mut shown = SHARED.to_vec();
        let count = match diff.has_extended {
            [true, true] => {
                shown.extend(EXTENDED);
                ACCESSES.len()
            }
            _ => ACCESSES.len() - 2,
        };
        Self { numbers: ACCESSES[..count].to_vec(), judged: count, shown, ..list }
    }

    /// Whether its rows have call paths, of many lines.
    pub(super) fn has_paths(&self) -> bool {
        matches!(self.rows.first(), Some(Pair { thing: DiffSubject::Site(..), .. }))
    }

    /// Whether text has a row of it.
    pub(super) fn has_rows(&self) -> bool {
        self.rows.iter().any(|row| self.is_shown(row))
    }

    /// For people: at most `top` rows.
    pub(super) fn section(self, top: usize) -> Section {
        vec![Part::table(self.table(Self::is_shown, top))]
    }

    /// For JSON: at most `top` of the rows that differ.
    pub(super) fn json(self, top: usize) -> Json {
        self.table(|_, row| row.differs(), top).into()
    }

    fn table(mut self, is_kept: impl Fn(&Self, &Pair) -> bool, top: usize) -> LazyTable<'d> {
        let totals = self.totals();
        let mut rows = std::mem::take(&mut self.rows);
        rows.retain(|row| is_kept(&self, row));
        let hidden = rows.len().saturating_sub(top);
        let first = rows.first().map(|row| row.thing);
        let (diff, name, list) = (self.diff, self.name, Rc::new(self));
        let rows = LazyTable::of(&diff.symbols, &*list.heading, rows.into_iter().take(top));
        let thing = move |row: &Pair| row.thing.name(diff);
        let class = Column::other("class").name(name);
        let mut rows = match first {
            Some(DiffSubject::Method(_)) => {
                rows.column(Column::method_name("name").name(name), thing)
            }
            Some(DiffSubject::Edge(..)) => rows
                .column(Column::method_name("caller").name("caller"), |row| row.thing.caller())
                .column(Column::method_name("callee").name("callee"), thing),
            Some(DiffSubject::Field(..)) => rows
                .column(Column::other("class"), |row| row.thing.class())
                .column(Column::other("field").name(name), thing),
            Some(DiffSubject::Site(..)) => {
                rows.column(class, thing).column(Column::path(""), move |row| row.thing.path(diff))
            }
            _ => rows.column(class, thing),
        };
        for (side, key) in [(0, "before"), (1, "after")] {
            let list = Rc::clone(&list);
            let number = move |_, sides: [u64; 2]| sides[side].into();
            rows = rows.column(Column::other(key), move |row| list.each(row, number));
        }
        let moved = Rc::clone(&list);
        rows = rows.column(Column::other("change"), move |row| moved.each(row, |_, it| change(it)));
        for (side, key) in [(0, "before_percent"), (1, "after_percent")] {
            let (list, totals) = (Rc::clone(&list), totals.clone());
            let share =
                move |index: usize, sides: [u64; 2]| percent(sides[side], totals[index][side]);
            rows = rows.column(Column::other(key), move |row| list.each(row, &share));
        }
        for (position, &(index, aspect, heading)) in (0..).zip(&list.shown) {
            let list = Rc::clone(&list);
            let column = Column::words().at(position, heading);
            rows = rows.column(column, move |row| list.cell(row, index, aspect));
        }
        match hidden {
            0 => rows.table(),
            hidden => rows.table().note(format!("and {hidden} more (--top)")),
        }
    }

    /// A value for each number, by its key; the value itself where there is only one.
    fn each(&self, row: &Pair, value: impl Fn(usize, [u64; 2]) -> Json) -> Json {
        match self.numbers[..] {
            [_] => value(0, row.numbers[0]),
            _ => Json::object(
                self.numbers
                    .iter()
                    .enumerate()
                    .map(|(index, &(id, _))| (id, value(index, row.numbers[index]))),
            ),
        }
    }

    /// The sums of the numbers of all rows. A time with what was called is a part of all own times.
    fn totals(&self) -> Vec<[u64; 2]> {
        let sum = |index: usize| {
            let add = |[before, after]: [u64; 2], row: &Pair| {
                let [first, second] = row.numbers[index];
                [before.saturating_add(first), after.saturating_add(second)]
            };
            self.rows.iter().fold([0; 2], add)
        };
        let place = |id| self.numbers.iter().position(|it| it.0 == id);
        let own = |index: usize| match self.numbers[index].0 {
            "total_ns" => place("self_ns").unwrap_or(index),
            _ => index,
        };
        (0..self.numbers.len()).map(|index| sum(own(index))).collect()
    }

    fn is_shown(&self, row: &Pair) -> bool {
        let is_chance =
            self.sampled.is_some_and(|it| it.is_significant(row.numbers[0]) == Some(false));
        !is_chance && row.numbers[..self.judged].iter().any(|[before, after]| before != after)
    }

    fn cell(&self, row: &Pair, index: usize, aspect: Aspect) -> Cell {
        let sides = row.numbers[index];
        let unit = self.numbers[index].1;
        match aspect {
            Before => amount(sides[0], unit).into(),
            After => amount(sides[1], unit).into(),
            Difference => signed(sides, unit).into(),
            Relative => relative(sides).into(),
        }
    }

    /// Each number that differs, of at most `top` things.
    pub(super) fn numbers(self, top: usize) -> impl Iterator<Item = Number<'d>> {
        let totals = self.totals();
        let Self { diff, kind, numbers, rows, .. } = self;
        rows.into_iter().filter(Pair::differs).take(top).flat_map(move |row| {
            let full = |id| perk_render::full_name(&diff.symbols, id);
            let optional = |id: Option<_>| id.map_or(String::new(), full);
            let (name, caller) = match row.thing {
                DiffSubject::Method(method) => (full(method), String::new()),
                DiffSubject::Edge(caller, callee) => (optional(callee), optional(caller)),
                DiffSubject::Class(class) | DiffSubject::Site(class, _) => {
                    (perk_render::class_name(&diff.symbols, class).into_owned(), String::new())
                }
                DiffSubject::Field(class, field) => {
                    (field.name(class, &diff.symbols), String::new())
                }
            };
            let differ = numbers.clone().into_iter().zip(row.numbers).zip(totals.clone());
            let differ = differ.filter(|((_, [before, after]), _)| before != after);
            differ.map(move |(((id, _), sides), totals)| Number {
                kind,
                name: name.clone(),
                caller: caller.clone(),
                id,
                sides,
                totals,
                margin: None,
            })
        })
    }
}

/// One number of one thing.
#[derive(Debug)]
pub(super) struct Number<'d> {
    pub(super) kind: &'d str,
    pub(super) name: String,
    pub(super) caller: String,
    pub(super) id: &'static str,
    /// Before and after.
    pub(super) sides: [u64; 2],
    /// The numbers of all such things.
    pub(super) totals: [u64; 2],
    /// The most by which samples let the change be wrong.
    pub(super) margin: Option<u64>,
}

impl DiffSubject {
    /// Its name; of an edge the callee's.
    fn name(self, diff: &Diff) -> Cell {
        match self {
            DiffSubject::Method(method) => Cell::Method(method),
            DiffSubject::Edge(_, callee) => Cell::method_or(callee, UNKNOWN),
            DiffSubject::Class(class) | DiffSubject::Site(class, _) => Cell::Class(class),
            DiffSubject::Field(class, field) => field.name(class, &diff.symbols).into(),
        }
    }

    /// The class of the objects that have a field.
    fn class(self) -> Cell {
        match self {
            DiffSubject::Field(class, _) => Cell::Class(class),
            _ => Cell::Missing(""),
        }
    }

    fn caller(self) -> Cell {
        match self {
            DiffSubject::Edge(caller, _) => Cell::method_or(caller, UNKNOWN),
            _ => Cell::Missing(""),
        }
    }

    fn path(self, diff: &Diff) -> Cell {
        match self {
            DiffSubject::Site(_, node) => Cell::Path(diff.tree.frames(node).collect()),
            _ => Cell::Missing(""),
        }
    }
}
