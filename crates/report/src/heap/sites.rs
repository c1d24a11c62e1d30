//! What the objects allocated at each call trace retain.

use perk_heap::Trace;
use perk_profile::units::{bytes, plural};
use perk_profile::{Frame, FrameId, Line, Method, Symbols};
use perk_render::{Cell, Column, Json, LazyTable, Part, Section};

use super::table::{DumpContent, HeapTable};

/// Allocation sites, those that retain most first.
pub(super) struct Sites<'c> {
    content: &'c DumpContent<'c>,
    sites: perk_heap::Sites,
    symbols: Symbols,
    /// The call path of each site, innermost frame first.
    paths: Vec<Vec<FrameId>>,
}

impl<'c> Sites<'c> {
    pub(super) fn new(content: &'c DumpContent<'c>) -> anyhow::Result<Self> {
        let sites = content.heap.sites()?;
        let mut symbols = Symbols::default();
        let paths = sites.sites.iter().map(|site| match content.heap.trace(site.trace) {
            Some(trace) => path(&mut symbols, trace),
            None => Vec::new(),
        });
        let paths = paths.collect();
        Ok(Self { content, sites, symbols, paths })
    }

    /// The objects without a site, in a sentence.
    fn unknown(&self) -> Option<String> {
        let unknown = self.sites.unknown;
        (unknown.count > 0).then(|| {
            format!(
                "The dump does not say where {} = {} were allocated: classes, and objects from before \
                 allocations were traced.",
                plural(unknown.count, "object"),
                bytes(unknown.shallow_bytes)
            )
        })
    }
}

/// The frames of a trace as perk's other views have them.
fn path(symbols: &mut Symbols, trace: &Trace) -> Vec<FrameId> {
    let frame = |frame: &perk_heap::Frame| {
        let class = symbols.class(&frame.class);
        let name = symbols.strings.intern(&frame.method);
        let source = (!frame.source.is_empty()).then(|| symbols.strings.intern(&frame.source));
        let method = symbols.method(Method { class, name, signature: None, source });
        symbols.frame(Frame::new(method, Line::from_hprof(frame.line)))
    };
    trace.frames.iter().map(frame).collect()
}

impl HeapTable for Sites<'_> {
    fn key(&self) -> &'static str {
        "sites"
    }

    fn table(&self) -> LazyTable<'_> {
        let heap = self.content.heap;
        let retained = Column::bytes("least_retained_bytes").of(heap.totals().reachable.bytes);
        let rows = self.sites.sites.iter().zip(&self.paths);
        let heading =
            "Allocation sites by what their objects retain at least, innermost frame first";
        LazyTable::of(&self.symbols, heading, rows)
            .column(Column::other("class").name("class"), |it| &*heap.class(it.0.class).name)
            .column(Column::count("class_count"), |it| it.0.class_count)
            .column(Column::count("instance_count").at(3, "objects"), |it| it.0.size.count)
            .column(Column::bytes("shallow_bytes").at(2, "shallow"), |it| it.0.size.shallow_bytes)
            .column(retained.share_at(0, "at least %").at(1, "retained"), |it| {
                it.0.size.least_bytes
            })
            .each(|it, row| {
                if it.0.class_count > 1 {
                    row.suffix = format!(" and {} more", it.0.class_count - 1);
                }
            })
            .column(Column::path("no frames"), |it| Cell::Path(it.1.clone()))
            .table()
            .ranked()
    }

    fn sections(&self, top: usize) -> Vec<Section> {
        let mut section = vec![Part::table(self.table().top(top))];
        section.extend(self.unknown().map(Part::Sentence));
        vec![section]
    }

    fn members(&self, top: usize) -> Vec<(&'static str, Json)> {
        let unknown = self.sites.unknown;
        vec![
            (self.key(), self.table().top(top).into()),
            ("objects_without_site_count", unknown.count.into()),
            ("objects_without_site_bytes", unknown.shallow_bytes.into()),
        ]
    }

    fn missing(&self) -> Option<String> {
        self.sites.sites.is_empty().then(|| {
            "the dump does not say where objects were allocated; perk run --heap all -o app.hprof -- java \
             ... makes one that does"
                .to_owned()
        })
    }
}
