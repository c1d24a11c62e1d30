//! The objects that retain most, and the instances of a class.

use std::collections::HashMap;
use std::iter;

use perk_heap::{Amount, ClassIndex, Heap, Holder, ObjectId, Reach};
use perk_profile::WholePattern;
use perk_profile::units::{bytes, plural};
use perk_render::{Column, Json, LazyTable, Part, Section};

use super::table::{DumpContent, HeapTable};
use super::{names, what};

/// Objects that are shown without `--top` where all would be too many.
const MOST: usize = 1000;
/// The biggest objects for each one that is shown where those of a class with the same holder are one row.
const CANDIDATES: usize = 50;
/// The holders above each other that are looked at for that.
const MOST_LEVELS: usize = 1000;

/// Objects, those that retain most first.
pub(super) struct Objects<'c> {
    content: &'c DumpContent<'c>,
    rows: Vec<Row>,
    heading: String,
    /// The number of all instances of a class, where the objects are some.
    instance_count: Option<u64>,
    /// What they retain together, where that is wanted.
    set: Option<Set>,
}

struct Row {
    object: ObjectId,
    /// The place in the holder, where the holder itself has it.
    place: Option<String>,
    /// The other objects of its class that its holder holds, where these have no rows, and what they retain.
    others: Amount,
}

/// The instances of classes of one name.
struct Set {
    name: String,
    amount: Amount,
    least_bytes: u64,
    retained: Amount,
    unheld_count: u64,
}

impl<'c> Objects<'c> {
    /// The biggest objects.
    pub(super) fn biggest(content: &'c DumpContent<'c>) -> anyhow::Result<Self> {
        let count = content.top.unwrap_or(if content.is_text { super::table::ROWS } else { MOST });
        Self::of_biggest(
            content,
            count,
            "Biggest objects, without those that are 90 % of their holder",
        )
    }

    /// The first `count` of them.
    pub(super) fn of_biggest(
        content: &'c DumpContent<'c>,
        count: usize,
        heading: &str,
    ) -> anyhow::Result<Self> {
        let rows = content.heap.biggest(count).into_iter();
        let rows =
            rows.map(|object| Row::new(content.heap, object)).collect::<anyhow::Result<_>>()?;
        Ok(Self { content, rows, heading: heading.to_owned(), instance_count: None, set: None })
    }

    /// The first `count` of them, those of a class with the same holder as one. Of what such objects hold, that
    /// of the first is shown.
    pub(super) fn of_biggest_kinds(
        content: &'c DumpContent<'c>,
        count: usize,
        heading: &str,
    ) -> anyhow::Result<Self> {
        let heap = content.heap;
        let holder = |object| match heap.holder(object) {
            Holder::Object(holder) => Some(holder),
            Holder::Roots | Holder::Nothing => None,
        };
        let class_name = |object| {
            let stands_for = heap.as_class(object);
            let class = stands_for.unwrap_or_else(|| heap.class_of(object));
            (stands_for.is_some(), &*heap.class(class).name)
        };
        let kind = |object| (class_name(object), holder(object));
        let mut first_of = HashMap::new();
        let mut rows: Vec<Row> = Vec::new();
        for object in heap.biggest(count.saturating_mul(CANDIDATES)) {
            let above = iter::successors(Some(object), |&it| holder(it)).take(MOST_LEVELS);
            let is_other = |it: ObjectId| first_of.get(&kind(it)).is_some_and(|&first| first != it);
            if rows.len() == count || above.into_iter().any(is_other) {
                continue;
            }
            first_of.insert(kind(object), object);
            let mut row = Row::new(heap, object)?;
            let (held, class) = (heap.held_by(holder(object)), class_name(object));
            for other in held.into_iter().filter(|&it| it != object && class_name(it) == class) {
                row.others.count += 1;
                row.others.bytes += heap.retained_bytes(other);
            }
            rows.push(row);
        }
        Ok(Self { content, rows, heading: heading.to_owned(), instance_count: None, set: None })
    }

    /// The instances of a class.
    pub(super) fn instances(
        content: &'c DumpContent<'c>,
        class: &WholePattern,
    ) -> anyhow::Result<Self> {
        let heap = content.heap;
        let classes = what::classes(heap, class)?;
        let most = content.most_rows();
        let (count, objects) = what::biggest_instances(heap, &classes, most)?;
        // What all of them retain together takes a walk over all objects.
        let set = content.has_words.then(|| Set::new(heap, class, &classes)).transpose()?;
        let row = |object| Row { object, place: None, others: Amount::default() };
        let rows = objects.into_iter().map(row).collect();
        let heading = "Instances by what each retains".to_owned();
        Ok(Self { content, rows, heading, instance_count: Some(count), set })
    }

    fn holder(heap: &Heap, row: &Row) -> String {
        match heap.holder(row.object) {
            Holder::Object(holder) => names::object(heap, holder),
            Holder::Roots => match &*names::root_kinds(heap, row.object) {
                "" => "[several objects or roots together]".to_owned(),
                kinds => format!("[root: {kinds}]"),
            },
            Holder::Nothing => format!("[{}]", heap.reach(row.object).name()),
        }
    }
}

impl Set {
    fn new(heap: &Heap, name: &WholePattern, classes: &[ClassIndex]) -> anyhow::Result<Self> {
        let mut is_meant = vec![false; heap.classes().len()];
        classes.iter().for_each(|class| is_meant[class.0 as usize] = true);
        let is_meant = |it| is_meant[heap.class_of(it).0 as usize];
        let sizes = heap.sets(1, &|it| is_meant(it).then_some(0));
        let mut amount = Amount::default();
        let mut unheld_count = 0;
        heap.each_instance(classes, |object| {
            amount.count += 1;
            amount.bytes += heap.shallow_bytes(object);
            unheld_count += u64::from(heap.reach(object) != Reach::Held);
        });
        let name = match classes {
            [class] => heap.class(*class).name.clone(),
            classes => format!("{} ({})", name.as_str(), classes_of(classes.len())),
        };
        Ok(Self {
            name,
            amount,
            least_bytes: sizes.first().map_or(0, |it| it.least_bytes),
            retained: heap.retained_by_all(&is_meant)?,
            unheld_count,
        })
    }
}

impl Row {
    fn new(heap: &Heap, object: ObjectId) -> anyhow::Result<Self> {
        let place = match heap.holder(object) {
            Holder::Object(holder) => {
                heap.place_of(holder, object)?.map(|place| names::place(heap, Some(holder), &place))
            }
            Holder::Roots | Holder::Nothing => None,
        };
        Ok(Self { object, place, others: Amount::default() })
    }

    /// `, and 30 more of its class there = 27.6 MB`, if that is worth a word.
    fn others(&self, heap: &Heap) -> String {
        let Amount { count, bytes: retained } = self.others;
        if count == 0 || 2 * retained < heap.retained_bytes(self.object) {
            return String::new();
        }
        format!(", and {count} more of its class there = {}", bytes(retained))
    }
}

/// `12 classes`
fn classes_of(count: usize) -> String {
    format!("{count} {}", if count == 1 { "class" } else { "classes" })
}

impl HeapTable for Objects<'_> {
    fn key(&self) -> &'static str {
        if self.instance_count.is_some() { "instances" } else { "biggest" }
    }

    fn part(&self) -> Option<String> {
        let count = self.instance_count.filter(|it| *it > self.rows.len() as u64)?;
        Some(format!("the first {} of {count} instances, by what each retains", self.rows.len()))
    }

    fn table(&self) -> LazyTable<'_> {
        let heap = self.content.heap;
        let all = heap.totals().reachable.bytes;
        let retained = Column::bytes("retained_bytes").of(all);
        LazyTable::of(&self.content.symbols, self.heading.clone(), &self.rows)
            .column(Column::other("address"), |it| names::address(heap, it.object))
            .column(Column::other("class"), |it| names::class(heap, it.object))
            .column(Column::words().name("object"), |it| names::object(heap, it.object))
            .column(Column::bytes("shallow_bytes").at(3, "shallow"), |it| {
                heap.shallow_bytes(it.object)
            })
            .column(retained.share_at(0, "retained %").at(1, "retained").bar_at(2), |it| {
                heap.retained_bytes(it.object)
            })
            .column(Column::other("reach"), |it| heap.reach(it.object).name())
            .column(Column::other("holder_address"), |it| match heap.holder(it.object) {
                Holder::Object(holder) => Some(names::address(heap, holder)),
                Holder::Roots | Holder::Nothing => None,
            })
            .column(Column::other("holder"), |it| Self::holder(heap, it))
            .column(Column::other("place"), |it| it.place.clone())
            .each(|it, row| {
                let place = it.place.as_ref().map_or(String::new(), |place| format!(" {place}"));
                row.suffix =
                    format!(", held by {}{place}{}", Self::holder(heap, it), it.others(heap));
            })
            .table()
            .ranked()
    }

    fn sections(&self, top: usize) -> Vec<Section> {
        let mut sections = Vec::new();
        if let Some(set) = &self.set {
            let unheld = match set.unheld_count {
                0 => String::new(),
                count => format!("; {} of them not reachable, which retain nothing", count),
            };
            sections.push(vec![Part::Sentence(format!(
                "{} of {} = {} retain exactly {} together in {} (at least {}, added up in the \
                 dominator tree){unheld}",
                plural(set.amount.count, "instance"),
                set.name,
                bytes(set.amount.bytes),
                bytes(set.retained.bytes),
                plural(set.retained.count, "object"),
                bytes(set.least_bytes)
            ))]);
        }
        sections.push(vec![Part::table(self.table().top(top))]);
        sections
    }

    fn members(&self, top: usize) -> Vec<(&'static str, Json)> {
        let set = self.set.as_ref().map(|set| {
            Json::object([
                ("name", set.name.as_str().into()),
                ("instance_count", set.amount.count.into()),
                ("shallow_bytes", set.amount.bytes.into()),
                ("retained_bytes", set.retained.bytes.into()),
                ("retained_count", set.retained.count.into()),
                ("least_retained_bytes", set.least_bytes.into()),
                ("unreachable_count", set.unheld_count.into()),
            ])
        });
        let set = set.map(|set| ("set", set));
        set.into_iter().chain([(self.key(), self.table().top(top).into())]).collect()
    }
}
