//! The arguments of `perk heap`.

use std::path::PathBuf;

use clap::{ArgGroup, Args, ValueEnum};

use perk_profile::{ObjectLayout, WholePattern};
use perk_report::ObjectQuery;
use perk_report::parse::{address, class, layout, what};

use super::values::size;

/// Show what holds the memory of a heap dump
///
/// Without a view, shows the totals, the likely leaks, the biggest objects and the classes by retained
/// size. The retained size of an object is what would be free without it: its own size and that of all
/// objects that only it holds.
#[derive(Debug, Args)]
#[command(group = ArgGroup::new("view").multiple(false))]
#[command(after_help = "\
Examples:
  perk heap app.hprof
  perk heap --classes --top 50 app.hprof
  perk heap --instances com.acme.Session app.hprof
  perk heap --paths com.acme.Session app.hprof
  perk heap --tree app.hprof
  perk heap --tree=0x7f2a5b1e8 app.hprof
  perk heap --object 0x7f2a5b1e8 app.hprof
  perk heap --refs-to com.acme.Session app.hprof
  perk heap --threads app.hprof
  perk heap --sites app.hprof
  perk heap --unreachable --keep-unreachable app.hprof
  perk heap --json app.hprof | jq -r '.suspects[] | [.retained_percent, .name] | @tsv'
  perk heap --classes --csv app.hprof > classes.csv

WHAT is the address of an object (0x7f2a5b1e8), or a class, which means its instances: com.acme.Session,
Session, 'com.acme.*', 'byte[]'. 'class com.acme.Session' is the class itself with its static fields.

In tables, the retained size of a class, a package or a class loader is the least that its objects retain:
it does not include what several of them hold together. --instances CLASS shows the exact size.

--csv writes the classes, or the requested view.")]
pub(crate) struct HeapArgs {
    /// The heap dump; - is stdin
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// Show the classes by retained size
    #[arg(long, group = "view")]
    pub(crate) classes: bool,
    /// Show the packages by retained size
    #[arg(long, group = "view")]
    pub(crate) packages: bool,
    /// Show the class loaders by what they retain, with their classes and the objects of these
    #[arg(long, group = "view")]
    pub(crate) loaders: bool,
    /// Show the threads, also virtual ones: stacks, local variables and what each retains
    #[arg(long, group = "view")]
    pub(crate) threads: bool,
    /// Show the roots: what the JVM itself holds, and why
    #[arg(long, group = "view")]
    pub(crate) roots: bool,
    /// Show the objects that retain most
    #[arg(long, group = "view")]
    pub(crate) biggest: bool,
    /// Show the instances of this class, and what they retain together, exactly
    #[arg(long, group = "view", value_name = "CLASS", value_parser = class)]
    pub(crate) instances: Option<WholePattern>,
    /// Show the objects that nothing holds, by class
    #[arg(long, group = "view")]
    pub(crate) unreachable: bool,
    /// Show the dominator tree, of all objects or of WHAT; objects of a class with the same holder are one
    /// row
    #[arg(long, group = "view", value_name = "WHAT", value_parser = what, num_args = 0..=1,
          require_equals = true)]
    pub(crate) tree: Option<Option<ObjectQuery>>,
    /// Show the shortest paths from roots to WHAT; paths of the same classes and fields are one
    #[arg(long, group = "view", value_name = "WHAT", value_parser = what)]
    pub(crate) paths: Option<ObjectQuery>,
    /// Show the references that WHAT has; for a class, references of the same field are one row
    #[arg(long, group = "view", value_name = "WHAT", value_parser = what)]
    pub(crate) refs_of: Option<ObjectQuery>,
    /// Show the references to WHAT; for a class, references of the same field are one row
    #[arg(long, group = "view", value_name = "WHAT", value_parser = what)]
    pub(crate) refs_to: Option<ObjectQuery>,
    /// Show an object: its value, fields, sizes, holders, and where it was allocated
    #[arg(long, group = "view", value_name = "ADDRESS", value_parser = address)]
    pub(crate) object: Option<u64>,
    /// Show the call traces that allocated objects, by what these retain, if the dump has them (perk run
    /// --heap all)
    #[arg(long, group = "view")]
    pub(crate) sites: bool,
    /// The references that hold objects
    #[arg(long, value_name = "KIND", value_enum, default_value = "soft")]
    pub(crate) refs: Refs,
    /// Count each tree of unreachable objects as held by its own root
    #[arg(long)]
    pub(crate) keep_unreachable: bool,
    /// The dump to show if the file has several, from 1 [default: the last]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) dump: Option<u32>,
    /// The folder for temporary files [default: the system's]
    #[arg(long, value_name = "DIR")]
    pub(crate) scratch: Option<PathBuf>,
    /// Use at most this memory, and scratch files for the rest: 500m, 8g [default: 80 % of the free memory]
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub(crate) memory: Option<u64>,
    /// Neither use nor write the index of a dump of 1 GiB or more, FILE.perkidx
    #[arg(long)]
    pub(crate) no_index: bool,
    /// The sizes of object headers, array headers, references and the alignment, if the sizes inferred from
    /// the addresses are wrong: 12,16,4,8
    #[arg(long, value_name = "SIZES", value_parser = layout)]
    pub(crate) layout: Option<ObjectLayout>,
    /// Rows of each table [default: 15, in trees 40; with --json and --csv: all, in trees 1000]
    #[arg(long, value_name = "N")]
    pub(crate) top: Option<usize>,
    /// Write the view as JSON (docs/json.md)
    #[arg(long, conflicts_with = "csv")]
    pub(crate) json: bool,
    /// Write the view as CSV: a line of titles, with units, and one line per row
    #[arg(long)]
    pub(crate) csv: bool,
    /// Write Markdown, for a comment of a pull request: 20 lines, without a limit with --top
    #[arg(long, conflicts_with_all = ["csv", "json"])]
    pub(crate) markdown: bool,
}

/// The references that hold objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Refs {
    /// Strong references only
    Strong,
    /// Also soft references
    Soft,
    /// Also weak, phantom and finalizer references, as in Eclipse MAT
    All,
}
