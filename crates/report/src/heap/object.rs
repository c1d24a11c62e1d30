//! One object: its sizes, holders and fields, and where it was allocated.

use anyhow::bail;
use perk_heap::{Description, Holder, Label, Member, ObjectId, Value};
use perk_hprof::heap::FieldType;
use perk_profile::units::{bytes, percent};
use perk_render::{Cell, Column, Json, LazyTable, Part, Section};

use super::names;
use super::table::{DumpContent, HeapTable};

/// Elements of an array that are shown without `--top`, in text and elsewhere.
const ELEMENTS: usize = 30;
const MOST_ELEMENTS: usize = 1000;

/// An object.
pub(super) struct Object<'c> {
    content: &'c DumpContent<'c>,
    it: Description,
}

impl<'c> Object<'c> {
    /// The object at an address.
    pub(super) fn new(content: &'c DumpContent<'c>, address: u64) -> anyhow::Result<Self> {
        let heap = content.heap;
        let Some(object) = heap.find(address) else {
            bail!("the dump has no object at 0x{address:x}");
        };
        let count = content.top.unwrap_or(if content.is_text { ELEMENTS } else { MOST_ELEMENTS });
        Ok(Self { content, it: heap.describe(object, count as u64)? })
    }

    /// `java.util.ArrayList 0x7f2a5b1e8: 3 elements: 1, 2, 3`
    fn title(&self) -> String {
        let name = names::object(self.content.heap, self.it.object);
        match &self.it.meaning {
            Some(meaning) if self.content.heap.as_class(self.it.object).is_none() => {
                format!("{name}: {}", meaning.text())
            }
            _ => name,
        }
    }

    /// The sizes, and what holds it.
    fn sizes(&self) -> String {
        let heap = self.content.heap;
        let object = self.it.object;
        let (shallow, retained) = (heap.shallow_bytes(object), heap.retained_bytes(object));
        let kinds: Vec<_> = self.it.roots.iter().map(|root| root.kind.name()).collect();
        let kinds = kinds.join(", ");
        let held = match heap.holder(object) {
            Holder::Nothing => {
                let reach = self.it.reach.name();
                return format!("{} itself; {reach}: it retains nothing", bytes(shallow));
            }
            Holder::Roots if kinds.is_empty() => {
                let address = names::address(heap, object);
                format!(
                    "held by several objects or roots together (--refs-to {address}: these, --paths \
                     {address}: the shortest path)"
                )
            }
            Holder::Roots => format!("held as a root: {kinds}"),
            Holder::Object(holder) => {
                let root = if kinds.is_empty() { "" } else { ", which holds its roots" };
                format!("held by {}{root}", names::object(heap, holder))
            }
        };
        let share = percent(retained, heap.totals().reachable.bytes);
        format!(
            "{} itself, {} retained ({share} % of all that is reachable), {held}",
            bytes(shallow),
            bytes(retained)
        )
    }

    fn holders(&self) -> LazyTable<'_> {
        let heap = self.content.heap;
        let retained = Column::bytes("retained_bytes").of(heap.totals().reachable.bytes);
        let heading = "Holders: its dominators, the immediate one first";
        let table = LazyTable::of(&self.content.symbols, heading, &self.it.holders)
            .column(Column::other("address"), |it| names::address(heap, **it))
            .column(Column::other("class"), |it| names::class(heap, **it))
            .column(Column::words().name("object"), |it| names::object(heap, **it))
            .column(retained.share_at(0, "retained %").at(1, "retained"), |it| {
                heap.retained_bytes(**it)
            })
            .each(|it, row| {
                if heap.as_class(**it).is_some() {
                    row.suffix = format!("  {}", names::address(heap, **it));
                }
            })
            .table();
        match self.it.left_out_count {
            0 => table,
            count => table.note(format!("{count} holders in the middle of the path are left out")),
        }
    }

    fn held(&self) -> LazyTable<'_> {
        let heap = self.content.heap;
        let retained = Column::bytes("retained_bytes").of(heap.retained_bytes(self.it.object));
        let heading = "Objects that it holds immediately, by class";
        LazyTable::of(&self.content.symbols, heading, &self.it.held)
            .column(Column::other("class").name("class"), |it| &*heap.class(it.class).name)
            .column(Column::count("instance_count").at(2, "objects"), |it| it.count)
            .column(retained.share_at(0, "retained %").at(1, "retained"), |it| it.retained_bytes)
            .table()
    }

    fn place(&self, member: &Member) -> String {
        match &member.label {
            Label::Field(name) | Label::Static(name) => name.clone(),
            Label::Element(index) => format!("[{index}]"),
            _ => String::new(),
        }
    }

    /// The frames of the allocation, the innermost first.
    fn allocation(&self) -> Option<Vec<String>> {
        let trace = self.content.heap.trace(self.it.trace?)?;
        Some(trace.frames.iter().map(names::frame).collect())
    }
}

/// The name of a type: of references, `reference`.
fn type_name(field_type: FieldType) -> &'static str {
    field_type.name().unwrap_or("reference")
}

impl HeapTable for Object<'_> {
    fn key(&self) -> &'static str {
        "object"
    }

    fn table(&self) -> LazyTable<'_> {
        let heap = self.content.heap;
        let own = heap.as_class(self.it.object).unwrap_or(heap.class_of(self.it.object));
        let size = |it: &&Member, of: fn(&perk_heap::Heap, ObjectId) -> u64| {
            it.to.map_or(Cell::Missing("-"), |to| Cell::Number(of(heap, to)))
        };
        let heading = match &self.it.members[..] {
            [] => "",
            [Member { label: Label::Static(_), .. }, ..] => "Static fields",
            [Member { label: Label::Element(_), .. }, ..] => "Elements",
            _ => "Fields",
        };
        let table = LazyTable::of(&self.content.symbols, heading, &self.it.members)
            .column(Column::other("name"), |it| self.place(it))
            .column(Column::other("declared_by"), |it| {
                it.class.map(|class| &*heap.class(class).name)
            })
            .column(Column::other("type"), |it| type_name(it.field_type))
            .column(Column::words().name("value"), |it| {
                format!("{} = {}", self.place(it), it.item.text)
            })
            .column(Column::other("address"), |it| it.item.address.map(|it| format!("0x{it:x}")))
            .column(Column::other("class"), |it| it.to.map(|to| names::class(heap, to)))
            .column(Column::other("value"), |it| it.item.text.clone())
            .column(Column::bytes("shallow_bytes").at(1, "shallow"), move |it| {
                size(it, perk_heap::Heap::shallow_bytes)
            })
            .column(Column::bytes("retained_bytes").at(0, "retained"), move |it| {
                size(it, perk_heap::Heap::retained_bytes)
            })
            .column(Column::other("is_held"), |it| {
                matches!(it.value, Value::Reference(_)).then_some(it.is_held)
            })
            .each(move |it, row| {
                if let (Some(address), false) = (it.item.address, it.item.text.contains(" @ 0x")) {
                    row.suffix = format!("  0x{address:x}");
                }
                if it.to.is_some() && !it.is_held {
                    row.suffix += ", not held by it";
                }
                if let Some(class) = it.class.filter(|class| *class != own) {
                    row.suffix += &format!("  ({})", heap.class(class).name);
                }
            })
            .table();
        let left = self.it.member_count - self.it.members.len() as u64;
        match left {
            0 => table,
            _ => table.note(format!("{left} more elements: --top N shows N")),
        }
    }

    fn sections(&self, top: usize) -> Vec<Section> {
        let mut sections = vec![
            vec![Part::Heading(self.title()), Part::Sentence(self.sizes())],
            vec![Part::table(self.table())],
            vec![Part::table(self.holders())],
            vec![Part::table(self.held().top(top))],
        ];
        if let Some(frames) = self.allocation() {
            sections.push(vec![Part::Heading("Allocated at".to_owned()), Part::Names(frames)]);
        }
        sections
    }

    fn members(&self, top: usize) -> Vec<(&'static str, Json)> {
        let heap = self.content.heap;
        let object = self.it.object;
        let kinds = self.it.roots.iter().map(|root| root.kind.name());
        let json = Json::object([
            ("address", names::address(heap, object).into()),
            ("class", names::class(heap, object).into()),
            ("meaning", self.it.meaning.as_ref().map(perk_heap::Meaning::text).into()),
            ("shallow_bytes", heap.shallow_bytes(object).into()),
            ("retained_bytes", heap.retained_bytes(object).into()),
            ("reach", self.it.reach.name().into()),
            ("roots", Json::list(kinds)),
            ("member_count", self.it.member_count.into()),
            ("members", self.table().into()),
            ("holders", self.holders().into()),
            ("left_out_holder_count", self.it.left_out_count.into()),
            ("held", self.held().top(top).into()),
            ("allocated_at", self.allocation().map(Json::list).into()),
        ]);
        vec![(self.key(), json)]
    }
}
