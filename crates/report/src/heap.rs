//! The views of a heap dump: what holds the memory.

mod groups;
mod names;
mod object;
mod objects;
mod overview;
mod paths;
mod refs;
mod roots;
mod sites;
mod suspects;
mod table;
mod threads;
mod totals;
mod tree;
mod unreachable;
mod what;

use anyhow::Context;
use perk_heap::Heap;
use perk_profile::{Symbols, WholePattern};
use perk_render::{Json, Part, Section};

use crate::{Answer, NamedItem, View, Want};
use refs::Direction;
use table::{DumpContent, HeapTable, ROWS};
pub use what::ObjectQuery;
pub(crate) use what::parse;

/// The schema and its version. Fields are added within a version; none is renamed, removed or given another
/// meaning.
const SCHEMA: &str = "perk.heap/1";

/// What is asked of a heap.
#[derive(Clone, Debug, Default)]
pub struct HeapRequest {
    /// The view.
    pub view: HeapView,
    /// Rows of each table; `None` for 15, in trees 40, and in tables and documents all, of trees 1000.
    pub top: Option<usize>,
    /// The most instances of a table with all: a note says how many there are.
    pub most_rows: Option<usize>,
    /// The forms of the answer.
    pub want: Want,
}

/// A view of a heap.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum HeapView {
    /// Totals, what is likely to be a leak, the biggest objects and the classes.
    #[default]
    Overview,
    /// The classes by retained size.
    Classes,
    /// The packages by retained size.
    Packages,
    /// The class loaders, by what they, their classes and the objects of these retain.
    Loaders,
    /// The threads: stacks, local variables and what each retains.
    Threads,
    /// The call traces that allocated objects, by what these retain.
    Sites,
    /// The roots.
    Roots,
    /// The objects that retain most.
    Biggest,
    /// The objects that nothing holds, by class.
    Unreachable {
        /// Whether each tree of them counts as held by a root of its own, as the analysis was asked.
        are_kept: bool,
    },
    /// The instances of a class, and what they retain together.
    Instances(WholePattern),
    /// The objects below those that hold them: of all, or of these.
    Tree(Option<ObjectQuery>),
    /// The shortest paths from roots to objects.
    Paths(ObjectQuery),
    /// The references that objects have.
    ReferencesOf(ObjectQuery),
    /// The references to objects.
    ReferencesTo(ObjectQuery),
    /// The object at an address.
    Object(u64),
}

impl View<NamedItem<&Heap>> for HeapRequest {
    fn answer(&self, NamedItem { name, it: heap }: NamedItem<&Heap>) -> anyhow::Result<Answer> {
        let content = DumpContent {
            heap,
            symbols: Symbols::default(),
            top: self.top,
            most_rows: self.most_rows,
            is_text: self.want.text,
            has_words: self.want.text || self.want.document,
        };
        let view = content.view(&self.view)?;
        content.check(&name)?;
        if let Some(missing) = view.missing() {
            return Ok(Answer::missing(format!("{name}: {missing}")));
        }
        let mut answer = Answer::default();
        let top = self.top.unwrap_or(if self.want.text { ROWS } else { usize::MAX });
        if self.want.document {
            let mut members = vec![("schema", SCHEMA.into()), ("file", name.clone().into())];
            members.extend(totals::members(heap));
            members.extend(view.members(top));
            answer.document = Some(Json::object(members));
        }
        if self.want.table {
            answer.notes.push(format!("{name}: {}", names::refs(heap.refs())));
            answer.notes.extend(view.part().map(|part| format!("{name}: {part}")));
            answer.table = Some(view.table().top(top).into());
        }
        if self.want.text {
            let is_overview = self.view == HeapView::Overview;
            let lines = if is_overview { totals::lines } else { totals::title };
            let lines = lines(heap, &name).into_iter().map(Part::Sentence);
            answer.sections.push(lines.collect());
            answer.sections.extend(view.sections(top).into_iter().map(of_words));
        }
        content.check(&name)?;
        Ok(answer)
    }
}

/// The section; its tables are of several names and words in a row.
fn of_words(section: Section) -> Section {
    let parts = section.into_iter().map(|part| match part {
        Part::Table(table) => Part::Table(table.of_words()),
        part => part,
    });
    parts.collect()
}

impl DumpContent<'_> {
    /// Returns the failure of the scratch file, after which no answer is right.
    fn check(&self, name: &str) -> anyhow::Result<()> {
        match self.heap.fault() {
            Some(fault) => Err(fault).with_context(|| format!("cannot analyse {name}")),
            None => Ok(()),
        }
    }

    fn view(&self, view: &HeapView) -> anyhow::Result<Box<dyn HeapTable + '_>> {
        Ok(match view {
            HeapView::Overview => Box::new(overview::Overview::new(self)?),
            HeapView::Classes => Box::new(groups::Groups::classes(self)),
            HeapView::Packages => Box::new(groups::Groups::packages(self)),
            HeapView::Loaders => Box::new(groups::Groups::loaders(self)),
            HeapView::Threads => Box::new(threads::Threads::new(self)?),
            HeapView::Sites => Box::new(sites::Sites::new(self)?),
            HeapView::Roots => Box::new(roots::Roots::new(self)),
            HeapView::Biggest => Box::new(objects::Objects::biggest(self)?),
            HeapView::Unreachable { are_kept } => {
                Box::new(unreachable::Unreachable::new(self, *are_kept))
            }
            HeapView::Instances(class) => Box::new(objects::Objects::instances(self, class)?),
            HeapView::Tree(what) => Box::new(tree::Tree::new(self, what.as_ref())?),
            HeapView::Paths(what) => Box::new(paths::Paths::new(self, what)?),
            HeapView::ReferencesOf(what) => Box::new(refs::Refs::new(self, Direction::Of, what)?),
            HeapView::ReferencesTo(what) => Box::new(refs::Refs::new(self, Direction::To, what)?),
            HeapView::Object(address) => Box::new(object::Object::new(self, *address)?),
        })
    }
}
