//! Leak suspects: objects and classes that retain a large part of everything.

use perk_heap::{Heap, HeldPart, ObjectId, PathNode, Place, SUSPECT_SHARE, Suspect, SuspectKind};
use perk_profile::units::{bytes, percent};
use perk_render::{Cell, Column, Json, LazyTable, middle_cut};

use super::names;
use super::table::DumpContent;

/// [`SUSPECT_SHARE`] in words.
pub(super) const SHARE_WORDS: &str = "10 %";
/// The parts of a suspect's memory that are shown.
const PARTS: usize = 5;
/// Parts below this share of a suspect's memory are not shown in text.
const LEAST_PART: f64 = 0.05;
/// The traces of JVMs that do not know where an object was allocated.
const LAST_UNKNOWN_TRACE: u32 = 1;

/// The suspects of a dump.
pub(super) struct Suspects<'c> {
    content: &'c DumpContent<'c>,
    suspects: Vec<SuspectText>,
}

/// A suspect and what is read from the file about it.
struct SuspectText {
    suspect: Suspect,
    /// The places of the parts in the accumulation point.
    places: Vec<Option<String>>,
    /// The frames at which the suspect or its accumulation point was allocated.
    site: Option<Vec<String>>,
}

impl<'c> Suspects<'c> {
    pub(super) fn new(content: &'c DumpContent<'c>) -> anyhow::Result<Self> {
        let heap = content.heap;
        let found = |mut suspect: Suspect| {
            suspect.parts.truncate(PARTS);
            let place = |part: &HeldPart| match (suspect.point, part.object) {
                (Some(point), Some(object)) => anyhow::Ok(
                    heap.place_of(point, object)?.map(|it| names::place(heap, Some(point), &it)),
                ),
                _ => Ok(None),
            };
            let places = suspect.parts.iter().map(place).collect::<anyhow::Result<_>>()?;
            let site = suspect.point.map(|point| site(heap, point)).transpose()?.flatten();
            anyhow::Ok(SuspectText { suspect, places, site })
        };
        let suspects =
            heap.suspects(SUSPECT_SHARE)?.into_iter().map(found).collect::<anyhow::Result<_>>()?;
        Ok(Self { content, suspects })
    }

    pub(super) fn is_empty(&self) -> bool {
        self.suspects.is_empty()
    }

    pub(super) fn table(&self) -> LazyTable<'_> {
        let heap = self.content.heap;
        let retained = Column::bytes("retained_bytes").of(heap.totals().reachable.bytes);
        let all = heap.totals().reachable.bytes;
        let heading =
            format!("Leak suspects: {SHARE_WORDS} or more of what is reachable is held by each");
        LazyTable::of(&self.content.symbols, heading, &self.suspects)
            .column(Column::other("kind"), |it| match it.suspect.suspected {
                SuspectKind::Object(_) => "object",
                SuspectKind::Class(..) => "class",
                SuspectKind::ClassesOf(..) => "classes",
            })
            .column(Column::other("name").name("suspect"), |it| it.name(heap))
            .column(Column::other("address"), |it| match it.suspect.suspected {
                SuspectKind::Object(object) => Some(names::address(heap, object)),
                SuspectKind::Class(..) | SuspectKind::ClassesOf(..) => None,
            })
            .column(Column::count("instance_count"), |it| match it.suspect.suspected {
                SuspectKind::Object(_) => 1,
                SuspectKind::Class(_, count) | SuspectKind::ClassesOf(_, count) => count,
            })
            .column(retained.share_at(0, "retained %").at(1, "retained"), |it| {
                it.suspect.retained_bytes
            })
            .column(Column::other("retained_percent"), move |it| {
                Cell::Share(it.suspect.retained_bytes, all)
            })
            .column(Column::other("accumulation_point"), |it| {
                it.suspect.point.map(|point| point_json(heap, point))
            })
            .column(Column::other("parts"), |it| it.parts_json(heap))
            .column(Column::other("path"), |it| path_json(heap, &it.suspect.path))
            .column(Column::other("is_path_shortest"), |it| it.suspect.is_shortest)
            .column(Column::count("path_object_count"), |it| it.path_count())
            .column(Column::count("compared_path_count"), |it| it.suspect.compared_count)
            .column(Column::other("class_loader"), |it| it.loader(heap))
            .column(Column::other("allocated_at"), |it| {
                it.site.as_ref().map(|frames| Json::list(frames.iter().cloned()))
            })
            .each(|it, row| row.below = it.lines(heap))
            .table()
            .ranked()
    }
}

impl SuspectText {
    fn name(&self, heap: &Heap) -> String {
        match self.suspect.suspected {
            SuspectKind::Object(object) => names::object(heap, object),
            SuspectKind::Class(class, count) => format!("{count} {}", heap.class(class).name),
            SuspectKind::ClassesOf(loader, count) => {
                let classes = if count == 1 { "class" } else { "classes" };
                format!("{count} {classes} of {}", heap.class(loader).name)
            }
        }
    }

    /// The number of objects at the end of the path.
    fn path_count(&self) -> u64 {
        self.suspect.path.last().map_or(0, |node| node.end_count)
    }

    /// Where the suspect refers to what leads to its accumulation point: `static CACHE, `.
    fn way(&self, heap: &Heap) -> String {
        let SuspectKind::Object(suspected) = self.suspect.suspected else { return String::new() };
        let path = &self.suspect.path;
        let below = path.iter().position(|node| node.object == Some(suspected)).map(|it| it + 1);
        let place = below.and_then(|at| path.get(at)?.label.as_ref());
        place.map_or(String::new(), |it| format!("{}, ", names::place(heap, Some(suspected), it)))
    }

    /// What the path is.
    fn path_title(&self, heap: &Heap) -> String {
        let Suspect { suspected, is_shortest, compared_count, point, .. } = &self.suspect;
        match (suspected, is_shortest) {
            (SuspectKind::Object(_), true) => "shortest path from a root:".to_owned(),
            (SuspectKind::Object(_), false) => {
                let address = point.map_or(String::new(), |it| names::address(heap, it));
                format!(
                    "a path from a root over all that hold it (--paths {address}: the shortest):"
                )
            }
            (_, true) => {
                let count = self.path_count();
                format!("shortest path from a root to {count} of {compared_count} of them:")
            }
            (_, false) => {
                "a path from a root to the biggest of them, over all that hold it (--paths: the \
                           shortest ones):"
                    .to_owned()
            }
        }
    }

    fn whole(&self, heap: &Heap) -> u64 {
        self.suspect.point.map_or(self.suspect.retained_bytes, |it| heap.retained_bytes(it))
    }

    /// What is shown below the suspect.
    fn lines(&self, heap: &Heap) -> Vec<String> {
        let mut lines = Vec::new();
        let whole = self.whole(heap);
        if let Some(point) = self.suspect.point
            && self.suspect.suspected != SuspectKind::Object(point)
        {
            let (way, object) = (self.way(heap), names::object(heap, point));
            lines.push(format!("accumulates in {way}{object}: {}", bytes(whole)));
        }
        for (part, place) in self.suspect.parts.iter().zip(&self.places) {
            if (part.retained_bytes as f64) < LEAST_PART * whole as f64 {
                break;
            }
            let place = place.as_ref().map_or(String::new(), |place| format!("{place} "));
            let what = match part.object {
                Some(object) => names::object(heap, object),
                None => format!("{} {}", part.count, heap.class(part.class).name),
            };
            let share = percent(part.retained_bytes, whole);
            lines
                .push(format!("of it {share} % = {} in {place}{what}", bytes(part.retained_bytes)));
        }
        let path = names::path(heap, &self.suspect.path);
        if !path.is_empty() {
            lines.push(self.path_title(heap));
            lines.extend(middle_cut(&path, |step| format!("  {step}")));
        }
        lines.extend(self.loader(heap).map(|loader| format!("class loader: {loader}")));
        if let Some(frames) = &self.site {
            lines.push("allocated at:".to_owned());
            lines.extend(middle_cut(frames, |frame| format!("  {frame}")));
        }
        lines
    }

    /// The loader of the suspected class, or of the object's class; nothing where that is the boot loader.
    fn loader(&self, heap: &Heap) -> Option<String> {
        let class = match self.suspect.suspected {
            SuspectKind::Class(class, _) | SuspectKind::ClassesOf(class, _) => class,
            SuspectKind::Object(object) => {
                heap.as_class(object).unwrap_or_else(|| heap.class_of(object))
            }
        };
        let loader = heap.class(class).loader;
        (loader != 0).then(|| names::loader(heap, loader))
    }

    fn parts_json(&self, heap: &Heap) -> Json {
        Json::list(self.suspect.parts.iter().zip(&self.places).map(|(part, place)| {
            let address = part.object.map(|object| names::address(heap, object));
            let class = match part.object {
                Some(object) => names::class(heap, object),
                None => heap.class(part.class).name.clone(),
            };
            Json::object([
                ("place", place.clone().into()),
                ("class", class.into()),
                ("address", address.into()),
                ("instance_count", part.count.into()),
                ("retained_bytes", part.retained_bytes.into()),
            ])
        }))
    }
}

fn point_json(heap: &Heap, point: ObjectId) -> Json {
    Json::object([
        ("address", names::address(heap, point).into()),
        ("class", names::class(heap, point).into()),
        ("retained_bytes", heap.retained_bytes(point).into()),
    ])
}

fn path_json(heap: &Heap, path: &[PathNode]) -> Json {
    let above = [None].into_iter().chain(path.iter().map(|node| node.object));
    Json::list(path.iter().zip(above).map(|(node, above)| {
        let place = |place: &Place| names::place(heap, above, place);
        let class = match node.object {
            Some(object) => names::class(heap, object),
            None => names::class_or_its_object(heap, node.class, node.stands_for),
        };
        Json::object([
            ("root_kind", node.root.map(|kind| kind.name()).into()),
            ("place", node.label.as_ref().map(place).into()),
            ("class", class.into()),
            ("address", node.object.map(|object| names::address(heap, object)).into()),
            ("level_count", node.level_count.into()),
        ])
    }))
}

/// The frames at which an object was allocated, if the dump has them.
fn site(heap: &Heap, object: ObjectId) -> anyhow::Result<Option<Vec<String>>> {
    let serial = heap.allocation_trace(object)?;
    let trace = heap.trace(serial).filter(|_| serial > LAST_UNKNOWN_TRACE);
    let frames = trace.map(|trace| trace.frames.iter().map(names::frame).collect::<Vec<_>>());
    Ok(frames.filter(|frames| !frames.is_empty()))
}
