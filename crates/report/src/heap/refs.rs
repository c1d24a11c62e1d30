//! The references of an object or of the instances of a class, and those to them.

use perk_heap::{Edge, Holder, Label, Limits, MergedRef, ObjectId, Place, Value};
use perk_profile::units::plural;
use perk_render::{Cell, Column, LazyTable, Part, Section};

use super::names;
use super::table::{DumpContent, HeapTable};
use super::what::ObjectQuery;

/// Which end of the references was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Direction {
    /// The references that objects have.
    Of,
    /// The references to objects.
    To,
}

/// References.
pub(super) struct Refs<'c> {
    content: &'c DumpContent<'c>,
    direction: Direction,
    rows: Rows,
    heading: String,
}

enum Rows {
    /// Each reference, with the object at the other end in a few words.
    Each(Vec<(Edge, String)>),
    /// Those of equal fields as one.
    Merged(Vec<MergedRef>),
}

impl<'c> Refs<'c> {
    /// The references of `what`, or to it.
    pub(super) fn new(
        content: &'c DumpContent<'c>,
        direction: Direction,
        what: &ObjectQuery,
    ) -> anyhow::Result<Self> {
        let heap = content.heap;
        let objects = what.objects(heap)?;
        let one = match (what, &objects[..]) {
            (ObjectQuery::Address(_) | ObjectQuery::ClassObject(_), &[object]) => Some(object),
            _ => None,
        };
        let name = match one {
            Some(object) => names::object(heap, object),
            None => format!("{} of {}", plural(objects.len() as u64, "instance"), what.text()),
        };
        let rows = match (one, direction) {
            (Some(object), _) => {
                let edges = match direction {
                    Direction::Of => heap.references(object)?,
                    Direction::To => heap.referrers(&objects)?,
                };
                let with_text = |edge: Edge| {
                    let address = heap.address(direction.end(&edge));
                    let item = heap.brief(Value::Reference(address), Limits::default())?;
                    Ok((edge, item.text))
                };
                Rows::Each(edges.into_iter().map(with_text).collect::<anyhow::Result<_>>()?)
            }
            (None, Direction::Of) => Rows::Merged(heap.merged_references(&objects)?),
            (None, Direction::To) => Rows::Merged(heap.merged_referrers(&objects)?),
        };
        let heading = match direction {
            Direction::Of => format!("References of {name}"),
            Direction::To => format!("References to {name}"),
        };
        Ok(Self { content, direction, rows, heading })
    }

    fn each<'t>(&'t self, edges: &'t [(Edge, String)]) -> LazyTable<'t> {
        let heap = self.content.heap;
        let direction = self.direction;
        let end = move |it: &&(Edge, String)| direction.end(&it.0);
        let place = |it: &&(Edge, String)| {
            names::place(heap, Some(it.0.from), &Place::Named(it.0.label.clone()))
        };
        let is_held = |it: &&(Edge, String)| heap.holder(it.0.to) == Holder::Object(it.0.from);
        LazyTable::of(&self.content.symbols, self.heading.clone(), edges)
            .column(Column::other("place"), place)
            .column(Column::other("address"), move |it| names::address(heap, end(it)))
            .column(Column::other("class"), move |it| names::class(heap, end(it)))
            .column(Column::words().name("reference"), move |it| {
                direction.joined(&names::object(heap, end(it)), &place(it))
            })
            .column(Column::other("value"), |it| it.1.clone())
            .column(Column::other("holds"), |it| it.0.holds)
            .column(Column::other("is_held"), is_held)
            .column(Column::bytes("shallow_bytes").at(1, "shallow"), move |it| {
                heap.shallow_bytes(end(it))
            })
            .column(Column::bytes("retained_bytes").at(0, "retained"), move |it| {
                heap.retained_bytes(end(it))
            })
            .each(move |it, row| {
                if !it.1.contains(" @ 0x") {
                    row.suffix = format!(": {}", it.1);
                }
                row.suffix += match () {
                    () if !it.0.holds => " (does not hold it)",
                    () if is_held(it) => " (holds it alone)",
                    () => "",
                };
            })
            .table()
            .ranked()
    }

    fn merged<'t>(&'t self, rows: &'t [MergedRef]) -> LazyTable<'t> {
        let heap = self.content.heap;
        let direction = self.direction;
        let class = |it: &&MergedRef| {
            let name = &heap.class(it.class).name;
            if it.is_class_object { format!("class {name}") } else { name.clone() }
        };
        let place = |it: &&MergedRef| {
            let place = match &it.label {
                Label::Element(_) => Place::Element(None),
                Label::Local(_) => Place::Local,
                label => Place::Named(label.clone()),
            };
            names::place(heap, None, &place)
        };
        LazyTable::of(&self.content.symbols, self.heading.clone(), rows)
            .column(Column::other("place"), place)
            .column(Column::other("class"), class)
            .column(Column::words().name("reference"), move |it| {
                direction.joined(&class(it), &place(it))
            })
            .column(Column::other("holds"), |it| it.holds)
            .column(Column::count("reference_count").at(0, "references"), |it| it.reference_count)
            .column(Column::count("held_count").at(1, "hold alone"), |it| it.held_count)
            .column(Column::bytes("held_bytes").at(2, "retained"), |it| match it.holds {
                true => Cell::Number(it.held_bytes),
                false => Cell::Missing("-"),
            })
            .each(|it, row| {
                if !it.holds {
                    row.suffix = " (does not hold)".to_owned();
                }
            })
            .table()
            .ranked()
            .note(
                "\"hold alone\": references to an object that only the object with the reference holds; \
                 \"retained\": what such objects retain together, at least.",
            )
    }
}

impl Direction {
    /// The end that is shown.
    fn end(self, edge: &Edge) -> ObjectId {
        match self {
            Self::Of => edge.to,
            Self::To => edge.from,
        }
    }

    /// The other end and the place, in the order of the reference.
    fn joined(self, end: &str, place: &str) -> String {
        match self {
            Self::Of => format!("{place} -> {end}"),
            Self::To if place.starts_with('.') => format!("{end}{place}"),
            Self::To => format!("{end} {place}"),
        }
    }
}

impl HeapTable for Refs<'_> {
    fn key(&self) -> &'static str {
        match self.direction {
            Direction::Of => "references",
            Direction::To => "referrers",
        }
    }

    fn table(&self) -> LazyTable<'_> {
        match &self.rows {
            Rows::Each(edges) => self.each(edges),
            Rows::Merged(rows) => self.merged(rows),
        }
    }

    fn sections(&self, top: usize) -> Vec<Section> {
        vec![vec![Part::table(self.table().top(top))]]
    }

    fn missing(&self) -> Option<String> {
        let is_empty = match &self.rows {
            Rows::Each(edges) => edges.is_empty(),
            Rows::Merged(rows) => rows.is_empty(),
        };
        is_empty.then(|| format!("{}: there are none", self.heading))
    }
}
