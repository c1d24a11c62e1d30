//! The arguments of `perk report`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use perk_profile::NamePattern;

use super::profile::{FilterArgs, ReadArgs, WindowArgs};
use super::values::{name_pattern, share};

/// The views, which do not go with the whole report. Those not in it have exceptions.
const VIEWS: [&str; 8] =
    ["advice", "lines", "tree", "edges", "method", "field", "sites", "classes"];

fn views_and<const N: usize>(others: [&'static str; N]) -> impl Iterator<Item = &'static str> {
    VIEWS.into_iter().chain(others)
}

/// Show a profile: where to begin, top methods, call paths, allocations, locks
///
/// Without a view, shows what matters most on 25 lines; --all, --threads and --traces show the rest. Reads
/// all formats of perk formats, recognised by the content and not by the name. perk infers the callers of
/// cut call traces from longer ones, and marks them as inferred.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  perk report java.hprof.txt
  perk report --all app.hprof | less
  perk report --brief app.hprof
  perk report --traces --top 5 app.hprof
  perk report --threads app.hprof
  perk report --from 2s --to 5s app.hprof
  perk report --tree --min 2% app.hprof
  perk report --tree=bottom-up --focus 'com.acme.*' app.hprof
  perk report --method HashMap.get app.hprof
  perk report --lines --metric allocated app.hprof
  perk report --source src/main/java app.prof
  perk report --source src/main/java -o source.html app.prof
  perk report --field com.acme.Counter.value app.tsv.gz
  perk report --by request --label 'status=5*' app.pb.gz
  perk report --json app.hprof | jq -r '.metrics[:1][].methods[:5][] | [.self, .name] | @tsv'
  perk report --csv app.hprof > methods.csv
  perk report --csv --advice app.hprof > advice.csv
  perk report --markdown app.hprof > comment.md
  perk report tests-*.hprof
  ssh host cat app.hprof | perk report -
  perk report /var/lib/perk --service shop --since 24h --by version

--csv writes the methods (for shared fields: the fields), or the requested view: --advice, --lines,
--source, --tree, --edges, --method, --field, --threads, --sites, --classes or --monitors.

--source shows the number of each line itself (self) and, if the profile has stacks, the number with the
line anywhere on the stack (total). For a profile of --jamaica it also shows the executions of the line's
most executed instruction, and how many of its instructions never ran. A line has run if one of its
instructions has; it has run in part if another one never ran.")]
pub(crate) struct ReportArgs {
    /// The profile, or a store; - is stdin. Several files of one format add up: those of the JVMs of a build
    #[arg(value_name = "FILE", required = true)]
    pub(crate) files: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) read: ReadArgs,
    #[command(flatten)]
    pub(crate) window: WindowArgs,
    #[command(flatten)]
    pub(crate) filter: FilterArgs,
    /// The metric to show: samples, time, calls, wall, allocated, objects, live, blocked, waited, or
    /// another that the profile has [default: each; in trees, the first that it has]
    #[arg(long, visible_alias = "value", value_name = "NAME")]
    pub(crate) metric: Option<String>,
    /// Put the values of this label at the root of all stacks: request, trace_id; without a view, list them
    #[arg(long, value_name = "LABEL")]
    pub(crate) by: Option<String>,
    /// Leave cut traces unchanged
    #[arg(long)]
    pub(crate) no_infer: bool,
    /// Show everything: all tables, call paths and the accounting; with --monitors also the waits of the
    /// JDK's housekeeping
    #[arg(long, conflicts_with_all = views_and(["source", "csv"]))]
    pub(crate) all: bool,
    /// Show ten lines of plain facts, for a chat or a language model
    #[arg(long, conflicts_with_all = views_and(["all", "threads", "traces", "source", "monitors",
                                                "csv", "json"]))]
    pub(crate) brief: bool,
    /// Rows of each table [default: 15, or those that fit; with --json and --csv: all]
    #[arg(long, value_name = "N")]
    pub(crate) top: Option<usize>,
    /// Show everything, and a table for each thread
    #[arg(long, conflicts_with_all = views_and(["source"]))]
    pub(crate) threads: bool,
    /// Show everything, and the call traces with each method on top
    #[arg(long, conflicts_with_all = views_and(["source", "monitors", "csv"]))]
    pub(crate) traces: bool,
    /// Show only where to begin: your methods with the largest numbers, and the work done for them
    #[arg(long)]
    pub(crate) advice: bool,
    /// Show only the methods by line
    #[arg(long)]
    pub(crate) lines: bool,
    /// Show only the source files below this folder, with the numbers beside each line (repeatable)
    #[arg(long, value_name = "DIR")]
    pub(crate) source: Vec<PathBuf>,
    /// Show the whole source files, not only hot lines and those that never ran
    #[arg(long, requires = "source")]
    pub(crate) whole: bool,
    /// Write the source files as an HTML page with this name instead
    #[arg(short, long, value_name = "FILE", requires = "source", conflicts_with_all = ["csv", "json"])]
    pub(crate) output: Option<PathBuf>,
    /// Show only the call tree, from the threads' first methods, or from the top of the stacks
    #[arg(long, value_name = "ORDER", value_enum, num_args = 0..=1, require_equals = true,
          default_missing_value = "top-down")]
    pub(crate) tree: Option<TreeOrder>,
    /// Leave branches below this share out of the call tree
    #[arg(long, value_name = "SHARE", default_value = "0.5%", value_parser = share)]
    pub(crate) min: f64,
    /// Show only the pairs of caller and callee
    #[arg(long)]
    pub(crate) edges: bool,
    /// Show only this method with its callers and callees: bar, Foo.bar, 'com.acme.*'
    #[arg(long, value_name = "NAME", value_parser = name_pattern)]
    pub(crate) method: Option<NamePattern>,
    /// Show only the accesses to this field, or to the fields of a class, by allocation site: bar, Foo.bar,
    /// Foo
    #[arg(long, value_name = "NAME", value_parser = name_pattern)]
    pub(crate) field: Option<NamePattern>,
    /// Show only the allocation sites, with their call paths
    #[arg(long)]
    pub(crate) sites: bool,
    /// Show only the classes of allocated objects, of objects in heap dumps and of accessed objects
    #[arg(long)]
    pub(crate) classes: bool,
    /// Show only the locks that threads waited for, and deadlocks
    #[arg(long)]
    pub(crate) monitors: bool,
    /// Write everything as JSON (docs/json.md): each metric by method, line, edge, thread; calls, locks
    #[arg(long, conflicts_with_all = views_and(["monitors", "csv"]))]
    pub(crate) json: bool,
    /// Write one view as CSV: a line of titles, with units, and one line per row
    #[arg(long)]
    pub(crate) csv: bool,
    /// Write Markdown, for a comment of a pull request: 20 lines, without a limit with --top
    #[arg(long, conflicts_with_all = ["csv", "json"])]
    pub(crate) markdown: bool,
}

/// The beginning of a call tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum TreeOrder {
    /// From the threads' first methods to their callees
    TopDown,
    /// From the methods on top of the stacks to their callers
    BottomUp,
}

impl From<TreeOrder> for perk_report::TreeOrder {
    fn from(order: TreeOrder) -> Self {
        match order {
            TreeOrder::TopDown => Self::TopDown,
            TreeOrder::BottomUp => Self::BottomUp,
        }
    }
}
