//! The threads: their stacks, local variables, and what they retain.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use perk_heap::{Holder, Limits, LivingThread, Local, ObjectId, Value};
use perk_profile::units::{bytes, plural};
use perk_render::{Column, Json, LazyTable, Part, Section};

use super::names;
use super::table::{DumpContent, HeapTable};

/// Frames of a stack that text shows, without those that hold something alone.
const FRAMES: usize = 8;
/// Local variables of a frame that text shows.
const LOCALS: usize = 5;

/// The threads, those that retain most first.
pub(super) struct Threads<'c> {
    content: &'c DumpContent<'c>,
    rows: Vec<Row<'c>>,
}

struct Row<'c> {
    thread: LivingThread<'c>,
    /// The local variables of each frame, those that retain most first.
    locals: Vec<LocalView>,
}

/// A local variable.
struct LocalView {
    local: Local,
    /// The object in a few words.
    text: String,
    /// Whether the thread alone holds it.
    is_held: bool,
}

impl Row<'_> {
    /// The local variables of a frame, or of native code.
    fn of_frame(&self, frame: Option<u32>) -> impl Iterator<Item = &LocalView> {
        self.locals.iter().filter(move |it| it.local.frame == frame)
    }
}

impl<'c> Threads<'c> {
    pub(super) fn new(content: &'c DumpContent<'c>) -> anyhow::Result<Self> {
        let heap = content.heap;
        let mut rows = Vec::new();
        for thread in heap.living_threads()? {
            let mut locals = Vec::new();
            for &local in thread.locals {
                let value = Value::Reference(heap.address(local.object));
                let text = heap.brief(value, Limits::default())?.text;
                let holder = heap.holder(local.object);
                let is_held = thread.object.is_some_and(|it| holder == Holder::Object(it));
                locals.push(LocalView { local, text, is_held });
            }
            locals.sort_by_key(|it| {
                let local = it.local;
                (local.frame, Reverse(heap.retained_bytes(local.object)), local.object)
            });
            rows.push(Row { thread, locals });
        }
        Ok(Self { content, rows })
    }

    /// The lines below a thread's row: its frames, each with what it holds.
    fn lines(&self, row: &Row<'_>) -> Vec<String> {
        let mut above: BTreeSet<_> = row.thread.object.into_iter().collect();
        let mut lines = self.locals(row, None, &mut above);
        let frames = row.thread.trace.map_or(&[][..], |trace| &trace.frames);
        let mut left_out = 0;
        for (index, frame) in (0..).zip(frames) {
            let is_new = |it: &&LocalView| it.is_held && !above.contains(&it.local.object);
            let has_new = row.of_frame(Some(index)).any(|it| is_new(&it));
            if index as usize >= FRAMES && !has_new {
                left_out += 1;
                continue;
            }
            if left_out > 0 {
                lines.push(format!("... {}", plural(left_out, "frame")));
                left_out = 0;
            }
            lines.push(names::frame(frame));
            lines.extend(self.locals(row, Some(index), &mut above));
        }
        if left_out > 0 {
            lines.push(format!("... {}", plural(left_out, "frame")));
        }
        if frames.is_empty() && row.thread.facts.is_virtual {
            lines.push("the dump does not have its stack".to_owned());
        }
        lines
    }

    /// The lines of the local variables of a frame, without those in the lines above.
    fn locals(
        &self,
        row: &Row<'_>,
        frame: Option<u32>,
        above: &mut BTreeSet<ObjectId>,
    ) -> Vec<String> {
        let heap = self.content.heap;
        let locals: Vec<_> =
            row.of_frame(frame).filter(|it| above.insert(it.local.object)).collect();
        let line = |it: &&LocalView| {
            let object = it.local.object;
            let address = match it.text.contains(" @ 0x") {
                true => String::new(),
                false => format!(" @ {}", names::address(heap, object)),
            };
            let size = match it.is_held {
                true => format!("{} retained", bytes(heap.retained_bytes(object))),
                false => "also held by others".to_owned(),
            };
            let native = if frame.is_none() { "native code: " } else { "" };
            format!("    {native}{}{address}, {size}", it.text)
        };
        let mut lines: Vec<_> = locals.iter().take(LOCALS).map(line).collect();
        if locals.len() > LOCALS {
            lines.push(format!("    ... {} more", locals.len() - LOCALS));
        }
        lines
    }

    /// The threads, with their stacks in JSON and in text.
    fn stacks(&self) -> LazyTable<'_> {
        let heap = self.content.heap;
        let retained = Column::bytes("retained_bytes").of(heap.totals().reachable.bytes);
        LazyTable::of(&self.content.symbols, "Threads by what they retain", &self.rows)
            .column(Column::other("name"), |it| &*it.thread.facts.name)
            .column(Column::other("address"), |it| address(self.content, it))
            .column(Column::words().name("thread"), |it| name(self.content, it))
            .column(Column::other("state").at(4, "state"), |it| {
                it.thread.facts.state.unwrap_or("unknown")
            })
            .column(Column::other("is_virtual"), |it| it.thread.facts.is_virtual)
            .column(Column::other("is_daemon"), |it| it.thread.facts.is_daemon)
            .column(Column::count("local_count").at(3, "locals"), |it| it.locals.len() as u64)
            .column(retained.share_at(0, "retained %").at(1, "retained").bar_at(2), |it| {
                it.thread.retained_bytes
            })
            .column(Column::other("frames"), |it| Json::list(self.frames(it)))
            .column(Column::other("native_locals"), |it| Json::list(self.local_json(it, None)))
            .each(|it, row| {
                row.suffix = kind(it).to_owned();
                row.below = self.lines(it);
            })
            .table()
            .ranked()
    }

    fn frames<'t>(&'t self, row: &'t Row<'_>) -> Vec<Json> {
        let frames = row.thread.trace.map_or(&[][..], |trace| &trace.frames);
        let frame = |(index, frame)| {
            Json::object([
                ("frame", names::frame(frame).into()),
                ("locals", Json::list(self.local_json(row, Some(index)))),
            ])
        };
        (0..).zip(frames).map(frame).collect()
    }

    fn local_json<'t>(&'t self, row: &'t Row<'_>, frame: Option<u32>) -> Vec<Json> {
        let heap = self.content.heap;
        let json = |it: &'t LocalView| {
            Json::object([
                ("address", names::address(heap, it.local.object).into()),
                ("class", names::class(heap, it.local.object).into()),
                ("value", (&*it.text).into()),
                ("retained_bytes", heap.retained_bytes(it.local.object).into()),
                ("is_held", it.is_held.into()),
            ])
        };
        row.of_frame(frame).map(json).collect()
    }
}

fn address(content: &DumpContent<'_>, row: &Row<'_>) -> Option<String> {
    row.thread.object.map(|object| names::address(content.heap, object))
}

/// The thread's name, or its object where it has none.
fn name(content: &DumpContent<'_>, row: &Row<'_>) -> String {
    match (&*row.thread.facts.name, row.thread.object) {
        ("", Some(object)) => names::object(content.heap, object),
        ("", None) => "[not in the dump]".to_owned(),
        (name, _) => format!("{name:?}"),
    }
}

fn kind(row: &Row<'_>) -> &'static str {
    match (row.thread.facts.is_virtual, row.thread.facts.is_daemon) {
        (true, _) => " (virtual)",
        (false, true) => " (daemon)",
        (false, false) => "",
    }
}

/// A thread, and a frame of it and a local variable of that if it has some.
type Line<'r, 'c> = (&'r Row<'c>, Option<usize>, Option<&'r LocalView>);

/// A line for each local variable, and for each frame and thread without.
fn flat<'r, 'c>(row: &'r Row<'c>) -> Vec<Line<'r, 'c>> {
    let mut lines = Vec::new();
    let frame_count = row.thread.trace.map_or(0, |trace| trace.frames.len());
    for frame in std::iter::once(None).chain((0..frame_count).map(Some)) {
        let of_frame = frame.map(|it| it as u32);
        let before = lines.len();
        lines.extend(row.of_frame(of_frame).map(|local| (row, frame, Some(local))));
        if lines.len() == before && (frame.is_some() || frame_count == 0) {
            lines.push((row, frame, None));
        }
    }
    lines
}

impl HeapTable for Threads<'_> {
    fn key(&self) -> &'static str {
        "threads"
    }

    fn table(&self) -> LazyTable<'_> {
        let heap = self.content.heap;
        LazyTable::of(&self.content.symbols, "", self.rows.iter().flat_map(flat))
            .column(Column::other("thread"), |it| &*it.0.thread.facts.name)
            .column(Column::other("thread_address"), |it| address(self.content, it.0))
            .column(Column::other("state"), |it| it.0.thread.facts.state)
            .column(Column::other("is_virtual"), |it| it.0.thread.facts.is_virtual)
            .column(Column::bytes("thread_retained_bytes"), |it| it.0.thread.retained_bytes)
            .column(Column::count("frame_index"), |it| it.1.map(|index| index as u64))
            .column(Column::other("frame"), |it| {
                it.1.and_then(|index| it.0.thread.trace?.frames.get(index)).map(names::frame)
            })
            .column(Column::other("address"), |it| {
                it.2.map(|local| names::address(heap, local.local.object))
            })
            .column(Column::other("class"), |it| {
                it.2.map(|local| names::class(heap, local.local.object))
            })
            .column(Column::other("value"), |it| it.2.map(|local| local.text.clone()))
            .column(Column::bytes("retained_bytes"), |it| {
                it.2.map(|local| heap.retained_bytes(local.local.object))
            })
            .column(Column::other("is_held"), |it| it.2.map(|local| local.is_held))
            .table()
    }

    fn sections(&self, top: usize) -> Vec<Section> {
        vec![vec![Part::table(self.stacks().top(top))]]
    }

    fn members(&self, top: usize) -> Vec<(&'static str, Json)> {
        vec![(self.key(), self.stacks().top(top).into())]
    }

    fn missing(&self) -> Option<String> {
        self.rows.is_empty().then(|| "the dump has no threads".to_owned())
    }
}
