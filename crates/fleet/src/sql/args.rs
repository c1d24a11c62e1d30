//! The arguments of `perk sql`.

use std::path::{Path, PathBuf};

use super::output::Form;
use crate::cluster::ClusterArg;
use crate::values::Size;
use anyhow::Context;
use clap::Args;

/// Ask profiles, heap dumps or a store with SQL
///
/// Each profile or heap dump is a recording; all of them are asked together. A store (perk store) is asked alone. Without a query it is
/// read from stdin, or a shell begins.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Examples:
  perk sql app.hprof \"SELECT class, method, self FROM methods WHERE metric = 'samples' ORDER BY self DESC LIMIT 10\"
  perk sql /var/perk/service=shop \"SELECT leaf(stack), sum(value) FROM samples GROUP BY 1 ORDER BY 2 DESC\" --csv
  perk sql dump.hprof \"SELECT class, count(*), sum(shallow_bytes) FROM objects GROUP BY 1 ORDER BY 3 DESC LIMIT 10\"
  perk sql app.jfr
  perk sql s3://profiles/shop \"SELECT service, sum(cpu_ns) FROM samples GROUP BY 1\"
  echo 'SELECT count(*) FROM stacks' | perk sql app.hprof -o answer.parquet

In the shell, \\d lists the tables, \\d TABLE its columns. docs/sql.md describes them, with queries to start from.")]
pub(crate) struct SqlArgs {
    /// Profiles, heap dumps, folders with them, or a store, and the query at the end
    #[arg(value_name = "FILE|FOLDER|STORE|QUERY", required = true)]
    pub(crate) items: Vec<String>,
    /// Print comma-separated values
    #[arg(long, conflicts_with = "json")]
    pub(crate) csv: bool,
    /// Print a list of objects in JSON, one in each line
    #[arg(long)]
    pub(crate) json: bool,
    /// Write the result to a file: .parquet, .csv, .json or .txt
    #[arg(long, short, value_name = "FILE", conflicts_with_all = ["csv", "json"])]
    pub(crate) output: Option<PathBuf>,
    /// The most memory of a query; sorts, joins and sums that need more continue on disk [default: a quarter of all, at most half of what is free]
    #[arg(long, value_name = "SIZE")]
    pub(crate) memory: Option<Size>,
    #[command(flatten)]
    pub(crate) cluster: ClusterArg,
    /// Allow COPY TO, which writes files
    #[arg(long)]
    pub(crate) write: bool,
}

impl SqlArgs {
    /// The form of the answer.
    ///
    /// # Errors
    /// The name of the file says none.
    pub(super) fn form(&self) -> anyhow::Result<Form> {
        match (&self.output, self.csv, self.json) {
            (Some(path), ..) => Form::of(path).with_context(|| {
                format!("{}: answers are written to .parquet, .csv, .json or .txt", path.display())
            }),
            (None, true, _) => Ok(Form::Csv),
            (None, _, true) => Ok(Form::Json),
            (None, ..) => Ok(Form::Text),
        }
    }

    /// The inputs and the query: the last argument, unless it is the name of a file.
    pub(crate) fn split(&self) -> (Vec<PathBuf>, Option<&str>) {
        let query = self.items.last().map(String::as_str);
        let query = query.filter(|it| it.contains(char::is_whitespace) && !Path::new(it).exists());
        let count = self.items.len() - usize::from(query.is_some());
        (self.items[..count].iter().map(PathBuf::from).collect(), query)
    }
}
