//! `perk heap`: what holds the memory of a heap dump.

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
mod threads;
mod totals;
mod tree;
mod unreachable;
mod watch;
pub(crate) mod what;

use std::io::{self, BufWriter, Write};
use std::process::ExitCode;

use anyhow::Context;
use perk_heap::{Heap, Options};
use perk_open::{display_name, is_stream};
use perk_profile::Symbols;
use perk_profile::units::printable;
use perk_render::{Json, Part, Screen, Section, Table};

use crate::args::{HeapArgs, Refs};
use crate::talk;

use refs::Direction;

/// The schema and its version. Fields are added within a version; none is renamed, removed or given another
/// meaning.
const SCHEMA: &str = "perk.heap/1";
/// Rows of a table in text, and of a tree in text and in JSON and CSV, without `--top`.
const ROWS: usize = 15;
const TREE_ROWS: usize = 40;
const MOST_TREE_ROWS: usize = 1000;
/// Columns by which the first lines go on further in.
const INDENT: usize = 4;
/// The exit code where there is nothing to show.
const NOTHING: u8 = 1;

/// An analysed dump, and what its tables need.
struct Content {
    heap: Heap,
    /// Names are text; tables ask for symbols all the same.
    symbols: Symbols,
    /// The number of rows that is asked for.
    top: Option<usize>,
    /// Whether it is shown as text.
    is_text: bool,
}

/// A view of a dump: a table, and what is around it.
trait View {
    /// Returns the key of the table in JSON.
    fn key(&self) -> &'static str;

    /// Returns all rows.
    fn table(&self) -> Table<'_>;

    /// Returns the text.
    fn sections(&self, top: usize) -> Vec<Section<'_>> {
        vec![vec![Part::Table(self.table().top(top))]]
    }

    /// Returns the members of the JSON document.
    fn members(&self, top: usize) -> Vec<(&'static str, Json<'_>)> {
        vec![(self.key(), self.table().top(top).into())]
    }

    /// Returns what the numbers of the table are of, where that is not all.
    fn part(&self) -> Option<String> {
        None
    }

    /// Returns what the dump has not, if there is nothing to show.
    fn missing(&self) -> Option<String> {
        None
    }
}

/// Analyses a dump and shows a view of it on stdout.
pub(crate) fn heap(args: &HeapArgs) -> anyhow::Result<ExitCode> {
    let name = display_name(&args.file);
    let is_text = !args.json && !args.csv;
    let mut progress = watch::Progress::new(&name, is_text && !has_view(args));
    let heap = perk_open::heap(&args.file, &options(args), &mut progress)?;
    drop(progress);
    for note in heap.notes() {
        talk::say(format_args!("{name}: {}", printable(note)));
    }
    let content = Content { heap, symbols: Symbols::default(), top: args.top, is_text };
    let view = content.view(args)?;
    content.check(&name)?;
    if let Some(missing) = view.missing() {
        talk::say(format_args!("{name}: {missing}"));
        return Ok(ExitCode::from(NOTHING));
    }
    let mut out = BufWriter::new(io::stdout().lock());
    let top = args.top.unwrap_or(if is_text { ROWS } else { usize::MAX });
    if args.json {
        let mut members = vec![("schema", SCHEMA.into()), ("file", name.clone().into())];
        members.extend(totals::members(&content.heap));
        members.extend(view.members(top));
        Json::object(members).write(&mut out)?;
    } else if args.csv {
        talk::say(format_args!("{name}: {}", names::refs(content.heap.refs())));
        if let Some(part) = view.part() {
            talk::say(format_args!("{name}: {part}"));
        }
        view.table().csv(top, &mut out)?;
    } else {
        let screen = Screen::of_stdout();
        let lines = if has_view(args) { totals::title } else { totals::lines };
        for line in lines(&content.heap, &name) {
            writeln!(out, "{}", screen.wrap(&line, INDENT))?;
        }
        let sections: Vec<_> = view.sections(top).into_iter().map(of_words).collect();
        write!(out, "\n{}", perk_render::text(sections, &screen))?;
    }
    out.flush()?;
    content.check(&name)?;
    Ok(ExitCode::SUCCESS)
}

impl Content {
    /// Returns the failure of the scratch file, after which no answer is right.
    fn check(&self, name: &str) -> anyhow::Result<()> {
        match self.heap.fault() {
            Some(fault) => Err(fault).with_context(|| format!("cannot analyse {name}")),
            None => Ok(()),
        }
    }
}

/// The section; its tables are of several names and words in a row.
fn of_words(section: Section<'_>) -> Section<'_> {
    let parts = section.into_iter().map(|part| match part {
        Part::Table(table) => Part::Table(table.of_words()),
        part => part,
    });
    parts.collect()
}

fn options(args: &HeapArgs) -> Options {
    let has_index = !args.no_index && !is_stream(&args.file);
    Options {
        refs: match args.refs {
            Refs::Strong => perk_heap::Refs::Strong,
            Refs::Soft => perk_heap::Refs::Soft,
            Refs::All => perk_heap::Refs::All,
        },
        keep_unreachable: args.keep_unreachable,
        dump_number: args.dump.map(|number| number as usize),
        layout: args.layout,
        scratch: args.scratch.clone(),
        index_from_bytes: has_index.then_some(Options::INDEX_FROM_BYTES),
        memory_bytes: args.memory,
        all_references: args.instances.is_some() || args.paths.is_some(),
        ..Options::default()
    }
}

/// Whether one of the views is asked for.
fn has_view(args: &HeapArgs) -> bool {
    let HeapArgs {
        classes, packages, loaders, threads, roots, biggest, unreachable, sites, ..
    } = *args;
    [classes, packages, loaders, threads, roots, biggest, unreachable, sites].contains(&true)
        || args.instances.is_some()
        || args.tree.is_some()
        || args.paths.is_some()
        || args.refs_of.is_some()
        || args.refs_to.is_some()
        || args.object.is_some()
}

impl Content {
    fn view(&self, args: &HeapArgs) -> anyhow::Result<Box<dyn View + '_>> {
        Ok(match () {
            () if args.classes => Box::new(groups::Groups::classes(self)),
            () if args.packages => Box::new(groups::Groups::packages(self)),
            () if args.loaders => Box::new(groups::Groups::loaders(self)),
            () if args.threads => Box::new(threads::Threads::new(self)?),
            () if args.sites => Box::new(sites::Sites::new(self)?),
            () if args.roots => Box::new(roots::Roots::new(self)),
            () if args.biggest => Box::new(objects::Objects::biggest(self)?),
            () if args.unreachable => {
                Box::new(unreachable::Unreachable::new(self, args.keep_unreachable))
            }
            () if args.instances.is_some() => {
                let class = args.instances.as_ref().context("a class")?;
                Box::new(objects::Objects::instances(self, class)?)
            }
            () if args.tree.is_some() => {
                Box::new(tree::Tree::new(self, args.tree.as_ref().and_then(Option::as_ref))?)
            }
            () if args.paths.is_some() => {
                Box::new(paths::Paths::new(self, args.paths.as_ref().context("an object")?)?)
            }
            () if args.refs_of.is_some() => {
                let what = args.refs_of.as_ref().context("an object")?;
                Box::new(refs::Refs::new(self, Direction::Of, what)?)
            }
            () if args.refs_to.is_some() => {
                let what = args.refs_to.as_ref().context("an object")?;
                Box::new(refs::Refs::new(self, Direction::To, what)?)
            }
            () if args.object.is_some() => {
                Box::new(object::Object::new(self, args.object.context("an address")?)?)
            }
            () => Box::new(overview::Overview::new(self)?),
        })
    }

    /// The number of rows of a tree.
    fn tree_rows(&self) -> usize {
        self.top.unwrap_or(if self.is_text { TREE_ROWS } else { MOST_TREE_ROWS })
    }
}
