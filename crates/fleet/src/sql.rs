//! `perk sql`: SQL over profiles and heap dumps.

mod args;
mod fault;
mod inputs;
mod output;
mod shell;

use std::io::{self, BufWriter, IsTerminal, Read, Write};
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use anyhow::{Context, bail};
use datafusion::dataframe::DataFrame;
use datafusion::execution::context::SQLOptions;
use datafusion::logical_expr::LogicalPlan;
use datafusion::prelude::SessionContext;
use datafusion::sql::parser::DFParser;
use futures::StreamExt;
use perk_files::{Access, Destination};
use perk_store::Store;
use perk_tables::{Names, TableInfo, session};

use crate::limits::{self, STACK_BYTES};
use crate::signals::until_signal;

pub(crate) use self::args::SqlArgs;
use self::fault::fault;
use self::inputs::Inputs;
use self::output::{Form, Output, Sink};

/// The longest query. Each of its terms can be a level of a plan, which takes some KiB of the stack.
const MOST_QUERY_BYTES: usize = 128 << 10;

/// Runs a query, or a shell.
///
/// # Errors
/// An input cannot be read, or the query has a fault, in one line.
pub(crate) fn sql(args: &SqlArgs) -> anyhow::Result<ExitCode> {
    // Terms of a long query are inside each other, and DataFusion visits them by recursion.
    thread::scope(|scope| {
        let thread = thread::Builder::new().stack_size(STACK_BYTES);
        let running = thread.spawn_scoped(scope, || run(args))?;
        running.join().unwrap_or_else(|_| bail!("the query failed by a fault of perk's"))
    })
}

fn run(args: &SqlArgs) -> anyhow::Result<ExitCode> {
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
    // What is wrong with the question is said before files are read, which can take a while.
    if let Some(query) = &query {
        check(query)?;
    }
    let form = args.form()?;
    if inputs.is_empty() {
        bail!("no input is given: perk sql FILE \"SELECT ...\"");
    }
    let cluster = args.cluster.cluster();
    let inputs = match inputs::open(&inputs)? {
        Inputs::Recordings(..) if cluster.is_some() => {
            bail!("--cluster asks a store: perk store add makes one of recordings")
        }
        inputs => inputs,
    };
    let runtime = limits::runtime()?;
    let (_spill, limits) = limits::of_command(args.memory.map(|it| it.0))?;
    let mut names = Names::default();
    let (context, tables) = match inputs {
        Inputs::Recordings(recordings, events) => {
            names = events.names();
            let tables =
                [perk_tables::tables(), perk_tables::heap_tables(), events.tables()].concat();
            (session(recordings, &events, &limits)?, tables)
        }
        Inputs::Store(address) => {
            let context = runtime.block_on(async {
                let store = Store::open(&address).await?;
                match &cluster {
                    Some(cluster) => cluster.session(&store, &limits).await,
                    None => perk_store::session(&store, &limits).await,
                }
            });
            (context?, perk_store::tables())
        }
    };
    let asked = SqlSession { context, options: options(args.write), tables, names };
    let ended = match query {
        Some(query) => runtime.block_on(asked.run(&query, form, args.output.as_deref())),
        None => shell::run(&asked, &runtime),
    };
    if let Some(cluster) = cluster {
        runtime.block_on(cluster.end());
    }
    // Rows that are made now, for a query that was cancelled, are not waited for.
    runtime.shutdown_background();
    ended
}

/// Checks the words of a query.
///
/// # Errors
/// Its fault, in one line.
fn check(query: &str) -> anyhow::Result<()> {
    if query.len() > MOST_QUERY_BYTES {
        bail!("the query has {} bytes, of at most {MOST_QUERY_BYTES}", query.len());
    }
    match DFParser::parse_sql(query).map_err(|error| fault(query, &error))?.len() {
        0 => bail!("there is no query"),
        1 => Ok(()),
        _ => bail!("the query has several statements: ask one after the other"),
    }
}

/// What a query may do: read, and with `--write` also `COPY TO`.
fn options(may_write: bool) -> SQLOptions {
    SQLOptions::new().with_allow_ddl(false).with_allow_dml(may_write).with_allow_statements(false)
}

/// A session, and what may be asked.
struct SqlSession {
    context: SessionContext,
    options: SQLOptions,
    /// Its tables, for people.
    tables: Vec<TableInfo>,
    /// The names that need no quotes.
    names: Names,
}

impl SqlSession {
    /// Plans a statement.
    ///
    /// # Errors
    /// Its fault, in one line.
    async fn plan(&self, statement: &str) -> anyhow::Result<DataFrame> {
        let planned = self.plan_named(statement).await;
        let frame = planned.map_err(|error| fault(statement, &error))?;
        // DataFusion would empty it before it knows whether the query succeeds.
        if let LogicalPlan::Copy(copy) = frame.logical_plan()
            && Path::new(copy.output_url.trim_start_matches("file://")).exists()
        {
            bail!("{} exists: COPY makes new files", copy.output_url);
        }
        Ok(frame)
    }

    async fn plan_named(&self, statement: &str) -> datafusion::error::Result<DataFrame> {
        let parsed = self.names.parse(statement)?;
        let plan = self.context.state().statement_to_plan(parsed).await?;
        self.options.verify_plan(&plan)?;
        self.context.execute_logical_plan(plan).await
    }

    /// Runs a query, and writes its rows to a new file or to stdout.
    async fn run(&self, query: &str, form: Form, path: Option<&Path>) -> anyhow::Result<ExitCode> {
        let frame = self.plan(query).await?;
        let Some(path) = path else {
            let is_closed = Arc::new(AtomicBool::new(false));
            let out = Box::new(Stdout::new(&is_closed));
            return match write(query, frame, form, out).await {
                Err(_) if is_closed.load(Ordering::Relaxed) => Ok(ExitCode::SUCCESS),
                written => written.map(|()| ExitCode::SUCCESS),
            };
        };
        let cannot = || format!("cannot write {}", path.display());
        let destination = Destination::open(path, Access::Usual).with_context(cannot)?;
        let out = BufWriter::new(destination.file().try_clone().with_context(cannot)?);
        write(query, frame, form, Box::new(out)).await?;
        if let Destination::File(mut part) = destination {
            part.finish().with_context(cannot)?;
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// stdout, and whether whoever reads it has ended, which is no fault: `| head`.
struct Stdout {
    out: BufWriter<io::Stdout>,
    is_closed: Arc<AtomicBool>,
}

impl Stdout {
    fn new(is_closed: &Arc<AtomicBool>) -> Self {
        Self { out: BufWriter::new(io::stdout()), is_closed: Arc::clone(is_closed) }
    }

    fn note<T>(&self, written: io::Result<T>) -> io::Result<T> {
        if written.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::BrokenPipe) {
            self.is_closed.store(true, Ordering::Relaxed);
        }
        written
    }
}

impl Write for Stdout {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.out.write(bytes);
        self.note(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        let flushed = self.out.flush();
        self.note(flushed)
    }
}

/// Writes the rows of a query while they come, until its end, Ctrl-C or SIGTERM. The rows are made elsewhere: a function
/// that takes long does not hold up the end.
async fn write(query: &str, frame: DataFrame, form: Form, out: Sink) -> anyhow::Result<()> {
    let text = query.to_owned();
    let mut rows = tokio::spawn(async move {
        let mut output = Output::new(form, out, frame.schema().inner())?;
        let mut rows = frame.execute_stream().await.map_err(|error| fault(&text, &error))?;
        while let Some(batch) = rows.next().await {
            output.batch(&batch.map_err(|error| fault(&text, &error))?)?;
        }
        output.end()
    });
    tokio::select! {
        written = &mut rows => return written.context("the query failed by a fault of perk's")?,
        signal = until_signal() => signal?,
    }
    rows.abort();
    bail!("the query was cancelled")
}
