//! The tables of a store in SQL: views of its files.

use std::sync::Arc;

use anyhow::{Result, anyhow};
use datafusion::catalog::MemorySchemaProvider;
use datafusion::catalog::SchemaProvider;
use datafusion::prelude::SessionContext;
use perk_tables::{ColumnInfo, Limits, TableInfo};

use crate::file_place::FilePlace;
use crate::functions;
use crate::layout::Table;
use crate::objects::StoreAddress;
use crate::profile_table::{self, ProfileTable, TableFunction};
use crate::read_dates::ReadDates;
use crate::store::{Store, StoreSource};
use crate::tables::StoreTable;

/// The schema of the files.
const FILES: &str = "files";

/// A view: its name, what a row is, its query, and its columns with what they mean.
struct View {
    name: &'static str,
    about: &'static str,
    query: &'static str,
    columns: &'static [(&'static str, &'static str, &'static str)],
}

const SERVICE: (&str, &str, &str) = ("service", "text", "the service");
const DATE: (&str, &str, &str) = ("date", "date", "the date, in UTC");

/// All of them.
const VIEWS: [View; 6] = [
    View {
        name: "accounting",
        about: "what was recorded, lost and cost, one row for each number of each recording that is not 0",
        query: "SELECT service, date, recording, line['key'] AS name, line['value'] AS value, \
                TRY_CAST(line['value'] AS BIGINT) AS number FROM (SELECT service, date, recording, \
                unnest(map_entries(accounting)) AS line FROM files.recordings)",
        columns: &[
            SERVICE,
            DATE,
            ("recording", "id", "the recording, as in `recordings`"),
            ("name", "text", "the name of the number, with its unit, as in perk report --json"),
            ("value", "text", "its value as text"),
            ("number", "number", "its value as a number; null if it is none"),
        ],
    },
    View {
        name: "metrics",
        about: "the metrics of each recording, with their sums",
        query: "SELECT service, date, recording, of['metric'] AS metric, of['unit'] AS unit, \
                of['total'] AS total, of['period'] AS period FROM (SELECT service, date, recording, \
                unnest(metrics) AS of FROM files.recordings)",
        columns: &[
            SERVICE,
            DATE,
            ("recording", "id", "the recording, as in `recordings`"),
            ("metric", "text", "its name in all tables"),
            ("unit", "text", "its unit: count, nanoseconds or bytes"),
            ("total", "number", "the sum of all numbers, also of those that the file left out"),
            (
                "period",
                "number",
                "the nanoseconds or bytes from sample to sample; null if all was counted, or it is not known",
            ),
        ],
    },
    View {
        name: "recordings",
        about: "the recordings of the store; one of several hours has a row for each hour",
        query: "SELECT service, date, recording, source, file, created, duration_ns, interval_ns, program, jvm, \
                cpu_ns, perk_cpu_ns, labels, notes FROM files.recordings",
        columns: &[
            SERVICE,
            DATE,
            ("recording", "id", "its id, which follows from its content"),
            ("source", "id", "the id of its labels, as in `samples`"),
            ("file", "text", "the name of its file"),
            ("created", "time", "its start"),
            (
                "duration_ns",
                "number",
                "its length; null without an account, and in the rows of later hours",
            ),
            (
                "interval_ns",
                "number",
                "the CPU time that a sample represents; null if it is not known",
            ),
            ("program", "text", "the main class or jar with its arguments, without secrets"),
            ("jvm", "text", "the name and version of the JVM"),
            ("cpu_ns", "number", "CPU time of the process, with the JVM's own threads"),
            ("perk_cpu_ns", "number", "the part of it that perk took"),
            ("labels", "labels", "the labels that all of its numbers have: labels['version']"),
            ("notes", "list", "what perk skipped or found wrong in the file"),
        ],
    },
    View {
        name: "samples",
        about: "all numbers; those of 10 seconds that differ in nothing else are one",
        query: "SELECT service, date, hour, time, metric, unit, thread, stack, subject, source, \
                all_labels(source, labels) AS labels, value, cpu_ns FROM files.samples",
        columns: &[
            SERVICE,
            DATE,
            ("hour", "number", "the hour of the day, in UTC"),
            (
                "time",
                "time",
                "the begin of the 10 seconds in which it was measured; the recording's start, if that is not known",
            ),
            (
                "metric",
                "text",
                "the metric, as in --metric: samples, wall, allocated, blocked and so on",
            ),
            ("unit", "text", "its unit: count, nanoseconds or bytes"),
            ("thread", "text", "the name of the thread; null if it is not known"),
            ("stack", "stack", "the stack, as in `stacks`; null if it is not known"),
            (
                "subject",
                "text",
                "what the number is of besides: the class of the objects or of the lock, a field, the state of the thread",
            ),
            ("source", "id", "the id of the labels of its recording, as in `recordings`"),
            ("labels", "labels", "the labels of the number: labels['version']"),
            ("value", "number", "the number, in the unit of the metric"),
            (
                "cpu_ns",
                "number",
                "the CPU time of CPU samples: recordings can have different intervals; null for other metrics",
            ),
        ],
    },
    View {
        name: "stacks",
        about: "the frames of the stacks that numbers are of, one row each, by service and date",
        query: "SELECT service, date, stack, depth, frame['class'] AS class, frame['method'] AS method, \
                frame['signature'] AS signature, frame['source'] AS source, \
                CASE WHEN frame['line'] > 0 THEN frame['line'] END AS line, frame['kind'] AS kind FROM \
                (SELECT service, date, stack, unnest(frames) AS frame, \
                unnest(range(1, CAST(array_length(frames) AS BIGINT) + 1)) AS depth FROM \
                (SELECT service, date, stack, first_value(frames) AS frames FROM files.stacks \
                GROUP BY service, date, stack))",
        columns: &[
            SERVICE,
            DATE,
            (
                "stack",
                "stack",
                "the stack; its id follows from its frames and is the same in all recordings",
            ),
            ("depth", "number", "the place of the frame, from 1: the outermost"),
            ("class", "text", "the class of the method; empty for native functions"),
            ("method", "text", "the name of the method"),
            ("signature", "text", "its parameters and result, as the JVM writes them"),
            ("source", "text", "its source file, or the library of a native function"),
            ("line", "number", "the line; null if it is not known"),
            (
                "kind",
                "text",
                "how its code ran: interpreted, inlined, native and so on; null if it is not known",
            ),
        ],
    },
    View {
        name: "threads",
        about: "the names of the threads that numbers are of, by service and date",
        query: "SELECT DISTINCT service, date, thread FROM files.samples WHERE thread IS NOT NULL",
        columns: &[SERVICE, DATE, ("thread", "text", "the name of the thread")],
    },
];

/// All tables of a store, in the order of their names, and then the functions that are tables.
pub fn tables() -> Vec<TableInfo> {
    let column = |&(name, kind, about): &(&'static str, &'static str, &'static str)| ColumnInfo {
        name: name.into(),
        kind: kind.into(),
        about: about.into(),
    };
    let table = |view: &View| TableInfo {
        name: view.name.into(),
        about: view.about.into(),
        columns: view.columns.iter().map(column).collect(),
    };
    let mut tables: Vec<_> = VIEWS.iter().map(table).chain(profile_table::infos()).collect();
    // A function has arguments.
    tables.sort_by_key(|it| (it.name.contains('('), it.name.clone()));
    tables
}

/// A session with the tables of a store, and perk's functions.
///
/// # Errors
/// The folder for what does not fit the memory cannot be made, or the views do not fit the files.
pub async fn session(store: &Store, limits: &Limits) -> Result<SessionContext> {
    let context = store.context(limits)?;
    add_tables(store, FilePlace::of_session()?, limits, &context).await?;
    Ok(context)
}

/// Adds the tables of a store and perk's functions to a session of a cluster, whose machines see the store at the same
/// address.
///
/// # Errors
/// The folder of the store is not there or its name is no text, or the views do not fit the files.
pub async fn add_to_cluster_session(
    store: &Store,
    limits: &Limits,
    context: &SessionContext,
) -> Result<()> {
    let place = FilePlace::of_cluster(store.address())?;
    // Plans that need tables of this process run here.
    if let StoreAddress::Bucket(_) = store.address() {
        context.register_object_store(place.url.as_ref(), Arc::clone(&store.objects));
    }
    add_tables(store, place, limits, context).await
}

async fn add_tables(
    store: &Store,
    place: FilePlace,
    limits: &Limits,
    context: &SessionContext,
) -> Result<()> {
    let read = ReadDates::default();
    let files = Arc::new(MemorySchemaProvider::new());
    for table in Table::ALL {
        let provider = StoreTable::new(store.clone(), place.clone(), table, read.clone());
        files.register_table(table.name().to_owned(), Arc::new(provider))?;
    }
    let catalog = context.catalog("datafusion").ok_or_else(|| anyhow!("there is no catalog"))?;
    catalog.register_schema(FILES, files)?;
    for function in functions::of(&StoreSource::Open(store.clone()), &read) {
        context.register_udf(function);
    }
    for view in VIEWS {
        let provider = context.sql(view.query).await?.into_view();
        context.register_table(view.name, provider)?;
    }
    let places = ProfileTable::places();
    for (name, source) in profile_table::tables() {
        let table = ProfileTable::new(store, limits, &places, source);
        context.register_table(&*name, Arc::new(table))?;
    }
    TableFunction::register(context, store, limits, &places);
    Ok(())
}
