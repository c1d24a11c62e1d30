//! `perk sql`: SQL over profiles.

mod args;
mod fault;
mod inputs;
mod output;
mod shell;

use std::fs::{self, File};
use std::io::{self, BufWriter, IsTerminal, Read, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, bail};
use datafusion::dataframe::DataFrame;
use datafusion::execution::context::SQLOptions;
use datafusion::prelude::SessionContext;
use futures::StreamExt;
use perk_tables::{Limits, session};

pub(crate) use self::args::SqlArgs;
use self::fault::fault;
use self::output::{Form, Output};

/// The part of the machine's memory that a query may take, if no option says how much.
const MEMORY_PART: usize = 4;
/// The most room that a query takes on disk.
const SPILL_BYTES: u64 = 64 << 30;

/// Runs a query, or a shell.
///
/// # Errors
/// An input cannot be read, or the query has a fault, in one line.
pub(crate) fn sql(args: &SqlArgs) -> anyhow::Result<ExitCode> {
    let (inputs, query) = args.split();
    let query = match query {
        Some(query) => Some(query.to_owned()),
        None if io::stdin().is_terminal() => None,
        None => {
            let mut text = String::new();
            io::stdin().read_to_string(&mut text).context("the query on stdin cannot be read")?;
            Some(text)
        }
    };
    let recordings = inputs::open(&inputs)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let spill = tempfile::tempdir().context("no folder for temporary files can be made")?;
    let limits = Limits {
        memory_bytes: args.memory.map_or_else(default_memory, |it| it.0 as usize),
        spill: spill.path().to_owned(),
        spill_bytes: SPILL_BYTES,
    };
    let context = session(recordings, &limits)?;
    let asked = Asked { context, options: options(args.write) };
    match query {
        Some(query) => runtime.block_on(asked.run(&query, args)),
        None => shell::run(&asked, &runtime),
    }
}

/// What a query may do: read, and with `--write` also `COPY TO`.
fn options(may_write: bool) -> SQLOptions {
    SQLOptions::new().with_allow_ddl(false).with_allow_dml(may_write).with_allow_statements(false)
}

/// A quarter of the machine's memory, or 1 GiB if that is not known.
fn default_memory() -> usize {
    let info = rustix::system::sysinfo();
    let bytes = (info.totalram as usize).saturating_mul(info.mem_unit as usize);
    if bytes == 0 { 1 << 30 } else { bytes / MEMORY_PART }
}

/// A session, and what may be asked.
struct Asked {
    context: SessionContext,
    options: SQLOptions,
}

impl Asked {
    /// Plans a statement.
    ///
    /// # Errors
    /// Its fault, in one line.
    async fn plan(&self, statement: &str) -> anyhow::Result<DataFrame> {
        let planned = self.context.sql_with_options(statement, self.options).await;
        planned.map_err(|error| fault(statement, &error))
    }

    /// Runs all statements of a text, and writes the results of the last one to a file or stdout.
    async fn run(&self, text: &str, args: &SqlArgs) -> anyhow::Result<ExitCode> {
        let frame = self.plan(text).await?;
        let out: Box<dyn Write + Send> = match &args.output {
            Some(path) => return self.run_to_file(text, frame, path).await,
            None => Box::new(BufWriter::new(io::stdout())),
        };
        let form = match (args.csv, args.json) {
            (true, _) => Form::Csv,
            (_, true) => Form::Json,
            _ => Form::Text,
        };
        tokio::select! {
            written = write(text, frame, Output::new(form, out)) => match written {
                Err(error) if is_closed_pipe(&error) => {}
                written => written?,
            },
            _ = tokio::signal::ctrl_c() => bail!("the query was cancelled"),
        }
        Ok(ExitCode::SUCCESS)
    }

    /// Writes the results to a new file, whose name says in which form.
    async fn run_to_file(
        &self,
        text: &str,
        frame: DataFrame,
        path: &Path,
    ) -> anyhow::Result<ExitCode> {
        let Some(form) = Form::of(path) else {
            bail!("{}: the results are written to .parquet, .csv, .json or .txt", path.display());
        };
        let partial = partial(path);
        let file = File::create(&partial).with_context(|| partial.display().to_string())?;
        let written = tokio::select! {
            written = write(text, frame, Output::new(form, Box::new(BufWriter::new(file)))) => written,
            _ = tokio::signal::ctrl_c() => Err(anyhow::anyhow!("the query was cancelled")),
        };
        let placed = written
            .and_then(|()| fs::rename(&partial, path).with_context(|| path.display().to_string()));
        if placed.is_err() {
            let _ = fs::remove_file(&partial);
        }
        placed.map(|()| ExitCode::SUCCESS)
    }
}

/// The name of a file while it is written.
fn partial(path: &Path) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}.part", std::process::id()));
    path.with_file_name(name)
}

/// Whether whoever reads stdout has ended, which is no fault: `| head`.
fn is_closed_pipe(error: &anyhow::Error) -> bool {
    let io = error.downcast_ref::<io::Error>();
    io.is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
}

/// Writes the rows of a query while they come.
async fn write(text: &str, frame: DataFrame, mut output: Output) -> anyhow::Result<()> {
    let schema = frame.schema().inner().clone();
    output.begin(&schema)?;
    let mut rows = frame.execute_stream().await.map_err(|error| fault(text, &error))?;
    while let Some(batch) = rows.next().await {
        output.batch(&batch.map_err(|error| fault(text, &error))?)?;
    }
    output.end()
}
