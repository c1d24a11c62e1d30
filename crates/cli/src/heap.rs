//! `perk heap`: what holds the memory of a heap dump.

mod progress;

use std::process::ExitCode;

use perk_heap::Options;
use perk_open::{display_name, is_stream};
use perk_profile::units::printable;
use perk_render::Screen;
use perk_report::{HeapRequest, HeapView, NamedItem, View};

use crate::args::{HeapArgs, Refs};
use crate::{answer, talk};

/// The exit code where there is nothing to show.
const NOTHING: u8 = 1;

/// Analyses a dump and shows a view of it on stdout.
pub(crate) fn heap(args: &HeapArgs) -> anyhow::Result<ExitCode> {
    let name = display_name(&args.file);
    let want = answer::wanted(args.json, args.csv, args.markdown);
    let request = HeapRequest { view: view(args), top: args.top, want, ..HeapRequest::default() };
    let shows_classes = want.text && request.view == HeapView::Overview;
    let mut progress = progress::HeapProgress::new(&name, shows_classes);
    let heap = perk_open::heap(&args.file, &options(args), &mut progress)?;
    drop(progress);
    for note in heap.notes() {
        talk::say(format_args!("{name}: {}", printable(note)));
    }
    let answer = request.answer(NamedItem::new(name, &heap))?;
    answer::write(&answer, (want, args.top), &Screen::of_stdout())?;
    Ok(if answer.missing.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(NOTHING) })
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

/// The requested view: the command line has at most one.
fn view(args: &HeapArgs) -> HeapView {
    let simple = [
        (args.classes, HeapView::Classes),
        (args.packages, HeapView::Packages),
        (args.loaders, HeapView::Loaders),
        (args.threads, HeapView::Threads),
        (args.sites, HeapView::Sites),
        (args.roots, HeapView::Roots),
        (args.biggest, HeapView::Biggest),
        (args.unreachable, HeapView::Unreachable { are_kept: args.keep_unreachable }),
    ];
    let simple = simple.into_iter().find_map(|(is_asked, view)| is_asked.then_some(view));
    let others = || {
        let instances = args.instances.clone().map(HeapView::Instances);
        let tree = args.tree.clone().map(HeapView::Tree);
        let paths = args.paths.clone().map(HeapView::Paths);
        let of = args.refs_of.clone().map(HeapView::ReferencesOf);
        let to = args.refs_to.clone().map(HeapView::ReferencesTo);
        instances.or(tree).or(paths).or(of).or(to).or(args.object.map(HeapView::Object))
    };
    simple.or_else(others).unwrap_or_default()
}
