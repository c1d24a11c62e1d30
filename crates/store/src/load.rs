//! A part of a store as one profile.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use anyhow::{Context, Result, anyhow, bail};
use datafusion::arrow::array::{
    Array, AsArray, FixedSizeBinaryArray, Int64Array, MapArray, StringArray,
    TimestampMillisecondArray,
};
use datafusion::arrow::datatypes::{Int64Type, TimestampMillisecondType};
use datafusion::arrow::record_batch::RecordBatch;
use datafusion::prelude::{DataFrame, SessionContext, col};
use futures::{StreamExt, TryStreamExt};
use perk_profile::{
    Column, Event, Key, Label, LabelSetId, LabelValue, Metric, NodeId, Profile, Section,
    SectionHead, Subject, Thread, ThreadId, Timeline, TimelineHead, TimelineRow, Timestamp, Unit,
    WallState,
};
use perk_tables::{Limits, StackId, stack_ids};

use crate::hour::Hour;
use crate::label_text::LabelText;
use crate::layout::{Table, service_name};
use crate::read_dates::Dates;
use crate::rows::TICK_MS;
use crate::schema;
use crate::selection::{HourPieces, Window};
use crate::store::Store;
use crate::tables::StoreTable;

/// What of a store is asked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Question {
    /// The service; all if `None`.
    pub service: Option<String>,
    /// The first time, in milliseconds since 1970.
    pub from_ms: Option<i64>,
    /// The first time after it.
    pub to_ms: Option<i64>,
    /// The labels that numbers have.
    pub labels: LabelText,
}

impl Question {
    fn window(&self) -> Window {
        Window {
            service: self.service.as_deref().map(service_name),
            from: self.from_ms.map(Hour::of),
            to: self.to_ms.map(|it| Hour::of(it - 1)),
        }
    }

    fn has_time(&self, time_ms: i64) -> bool {
        self.from_ms.is_none_or(|from| time_ms >= from - from.rem_euclid(TICK_MS))
            && self.to_ms.is_none_or(|to| time_ms < to)
    }
}

/// The labels of recordings, by the id in the rows of their numbers.
pub(crate) type Sources = HashMap<[u8; 16], LabelText>;

impl Store {
    /// The numbers that a question asks as one profile: with their threads and labels, and their times.
    ///
    /// # Errors
    /// The store cannot be read, or has nothing of it, in one line.
    pub async fn profile(&self, question: &Question, limits: &Limits) -> Result<Profile> {
        let pieces = self.pieces(&question.window()).await?;
        // A compacted piece leaves stacks to those of other hours of its date.
        let stacks = match pieces.iter().any(|it| it.compaction.is_some()) {
            true => self.files(&self.dates_of(&pieces).await?, Table::Stacks).await?,
            false => self.files(&pieces, Table::Stacks).await?,
        };
        let profile = self.stacks(&stacks).await?;
        let sources = self.sources(&pieces).await?;
        let mut builder = ProfileBuilder::new(profile, &sources, question);
        let frame = self.sample_rows(&self.context(limits)?, pieces)?;
        let mut batches = frame.execute_stream().await?;
        while let Some(batch) = batches.next().await {
            builder.add(&batch?)?;
        }
        builder.profile().with_context(|| format!("{self}"))
    }

    /// All pieces of the dates of these.
    async fn dates_of(&self, pieces: &[HourPieces]) -> Result<Vec<HourPieces>> {
        let dates: Vec<_> = pieces.iter().map(|it| it.slot.clone().of_date()).collect();
        self.pieces(&Dates(&dates)).await
    }

    pub(crate) async fn sources(&self, pieces: &[HourPieces]) -> Result<Sources> {
        let mut sources = Sources::new();
        let files = self.files(pieces, Table::Recordings).await?;
        let mut batches = self.batches(&files, Table::Recordings);
        while let Some(file) = batches.try_next().await? {
            for batch in file {
                let ids = ids(&batch, "source")?;
                let labels = maps(&batch, "labels")?;
                for row in 0..batch.num_rows() {
                    let id = <[u8; 16]>::try_from(ids.value(row))?;
                    sources.entry(id).or_insert_with(|| map(labels, row));
                }
            }
        }
        Ok(sources)
    }

    /// The rows of `samples` that pieces have, with the columns of the files.
    pub(crate) fn sample_rows(
        &self,
        context: &SessionContext,
        pieces: Vec<HourPieces>,
    ) -> Result<DataFrame> {
        let table = StoreTable::of_pieces(self.clone(), Table::Samples, pieces);
        let columns = schema::of(Table::Samples);
        let columns: Vec<_> = columns.fields().iter().map(|it| col(it.name())).collect();
        Ok(context.read_table(Arc::new(table))?.select(columns)?)
    }
}

/// What numbers are of, besides their metric and time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct RowKey {
    node: NodeId,
    thread: Option<ThreadId>,
    subject: Subject,
    labels: LabelSetId,
}

/// The numbers of a metric.
#[derive(Debug, Default)]
struct Numbers {
    rows: HashMap<RowKey, u64>,
    /// By tick, thread and node.
    times: BTreeMap<(i64, Option<ThreadId>, NodeId), u64>,
    /// The shortest interval of samples, in nanoseconds.
    interval_ns: Option<u64>,
}

/// Rows that become a profile.
struct ProfileBuilder<'a> {
    profile: Profile,
    sources: &'a Sources,
    question: &'a Question,
    nodes: HashMap<StackId, NodeId>,
    threads: HashMap<String, ThreadId>,
    labels: HashMap<([u8; 16], LabelText), Option<LabelSetId>>,
    metrics: BTreeMap<(String, String), Numbers>,
    begin_ms: i64,
    end_ms: i64,
}

impl<'a> ProfileBuilder<'a> {
    fn new(profile: Profile, sources: &'a Sources, question: &'a Question) -> Self {
        let nodes = stack_ids(&profile).into_iter().enumerate();
        let nodes = nodes.map(|(node, id)| (id, NodeId::new(node))).collect();
        let (threads, labels, metrics) = Default::default();
        let (begin_ms, end_ms) = (i64::MAX, i64::MIN);
        Self { profile, sources, question, nodes, threads, labels, metrics, begin_ms, end_ms }
    }

    fn add(&mut self, batch: &RecordBatch) -> Result<()> {
        let columns = Columns::of(batch)?;
        for row in 0..batch.num_rows() {
            let time_ms = columns.time.value(row);
            if !self.question.has_time(time_ms) {
                continue;
            }
            let source = <[u8; 16]>::try_from(columns.source.value(row))?;
            let Some(labels) = self.labels(source, map(columns.labels, row)) else { continue };
            let node = match columns.stack.is_valid(row) {
                true => {
                    let id = StackId(columns.stack.value(row).try_into()?);
                    *self.nodes.get(&id).ok_or_else(|| anyhow!("a stack has no frames"))?
                }
                false => self.profile.tree.root(),
            };
            let text = |column: &'_ StringArray| {
                column.is_valid(row).then(|| column.value(row).to_owned())
            };
            let thread = text(columns.thread).map(|name| self.thread(name));
            let metric = (columns.metric.value(row).to_owned(), columns.unit.value(row).to_owned());
            let subject = text(columns.subject);
            let subject = subject.map_or(Subject::None, |it| self.subject(&metric.0, &it));
            let value = u64::try_from(columns.value.value(row)).unwrap_or(0);
            let cpu_ns = columns.cpu_ns.is_valid(row).then(|| columns.cpu_ns.value(row) as u64);
            let numbers = self.metrics.entry(metric).or_default();
            // CPU samples are added up as time: recordings can have different intervals.
            if let Some(interval_ns) = cpu_ns.and_then(|ns| ns.checked_div(value)) {
                numbers.interval_ns =
                    Some(numbers.interval_ns.map_or(interval_ns, |it| it.min(interval_ns)));
            }
            let value = cpu_ns.unwrap_or(value);
            let key = RowKey { node, thread, subject, labels };
            let sum = numbers.rows.entry(key).or_default();
            *sum = sum.saturating_add(value);
            let sum = numbers.times.entry((time_ms, thread, node)).or_default();
            *sum = sum.saturating_add(value);
            self.begin_ms = self.begin_ms.min(time_ms);
            self.end_ms = self.end_ms.max(time_ms + TICK_MS);
        }
        Ok(())
    }

    /// The labels of a row as a set of the profile; `None` if they are not those that are asked.
    fn labels(&mut self, source: [u8; 16], own: LabelText) -> Option<LabelSetId> {
        let key = (source, own);
        if let Some(&known) = self.labels.get(&key) {
            return known;
        }
        let all = all_labels(self.sources, &key.0, &key.1);
        let asked = &self.question.labels;
        let is_asked = asked.iter().all(|(key, value)| all.get(&**key) == Some(&&**value));
        let found = is_asked.then(|| {
            let strings = &mut self.profile.symbols.strings;
            let label = |(key, value): (&&str, &&str)| Label {
                key: strings.intern(key),
                value: LabelValue::Text(strings.intern(value)),
            };
            let labels = all.iter().map(label).collect();
            self.profile.labels.set(labels)
        });
        self.labels.insert(key, found);
        found
    }

    fn thread(&mut self, name: String) -> ThreadId {
        if let Some(&known) = self.threads.get(&name) {
            return known;
        }
        let serial =
            u32::try_from(self.threads.len()).unwrap_or(u32::MAX).saturating_add(FIRST_THREAD);
        let text = self.profile.symbols.strings.intern(&name);
        let thread = Thread { serial, object_id: 0, name: text, group: None, parent_group: None };
        let id = self.profile.push_thread(thread);
        self.profile.events.push(Event::ThreadStart(id));
        self.threads.insert(name, id);
        id
    }

    /// The subject that has this name.
    fn subject(&mut self, metric: &str, name: &str) -> Subject {
        let metric = Metric::own(metric);
        if let Some(state) = WallState::of_name(name).filter(|_| metric == Some(Metric::WallTime)) {
            return Subject::State(state);
        }
        let symbols = &mut self.profile.symbols;
        if metric.is_some_and(|it| it.is_of_fields())
            && let Some((class, field)) = name.rsplit_once('.')
        {
            let class = symbols.class(class);
            return Subject::Field(class, symbols.strings.intern(field));
        }
        Subject::Class(symbols.class(name))
    }

    fn profile(self) -> Result<Profile> {
        let Self { mut profile, metrics, begin_ms, end_ms, .. } = self;
        if metrics.is_empty() {
            bail!("nothing was recorded of this");
        }
        let created_ms = u64::try_from(begin_ms).unwrap_or(0);
        profile.created = Some(Timestamp { unix_ms: created_ms, utc_offset_s: 0 });
        let mut families: BTreeMap<usize, Vec<(Metric, Numbers)>> = BTreeMap::new();
        for (at, ((name, unit), numbers)) in metrics.into_iter().enumerate() {
            let metric = metric(&name, &unit);
            let family = FAMILIES.iter().position(|family| family.contains(&metric));
            families
                .entry(family.unwrap_or(FAMILIES.len() + at))
                .or_default()
                .push((metric, numbers));
        }
        for family in families.into_values() {
            let section = section(&mut profile, &family);
            profile.events.push(Event::Section(section));
            for (metric, numbers) in family {
                let timeline = timeline(&mut profile, metric, numbers, begin_ms, end_ms);
                profile.events.push(Event::Timeline(timeline));
            }
        }
        Ok(profile)
    }
}

/// The metrics whose numbers are in one section.
const FAMILIES: [&[Metric]; 3] = [&Metric::OF_CALLS, &Metric::OF_OBJECTS, &Metric::OF_LOCKS];

impl Numbers {
    /// The number of a sum: of CPU time it is that of samples.
    fn count(&self, sum: u64) -> u64 {
        let interval_ns = self.interval_ns.filter(|&it| it > 0);
        interval_ns.map_or(sum, |it| sum.saturating_add(it / 2) / it)
    }
}

/// The section of the metrics of a family.
fn section(profile: &mut Profile, family: &[(Metric, Numbers)]) -> Section {
    let keys: BTreeSet<_> = family.iter().flat_map(|it| it.1.rows.keys().copied()).collect();
    let columns = family.iter().map(|(metric, numbers)| {
        let total = numbers.rows.values().map(|&sum| numbers.count(sum));
        let total = total.fold(0, u64::saturating_add);
        Column { period: numbers.interval_ns, ..Column::new(metric.clone(), total) }
    });
    let mut section = Section::new(SectionHead::new(columns.collect::<Vec<_>>()));
    for key in keys {
        let numbers = family
            .iter()
            .map(|(_, numbers)| numbers.rows.get(&key).map_or(0, |&sum| numbers.count(sum)));
        let trace = profile.trace(key.node, key.thread);
        let of = Key { trace, subject: key.subject, labels: key.labels };
        section.push(of, &numbers.collect::<Vec<_>>());
    }
    section
}

/// The times of a metric's numbers.
fn timeline(
    profile: &mut Profile,
    metric: Metric,
    mut numbers: Numbers,
    begin_ms: i64,
    end_ms: i64,
) -> Timeline {
    let times = std::mem::take(&mut numbers.times);
    let rows = times.into_iter().map(|((time_ms, thread, node), sum)| {
        let tick = u64::try_from((time_ms - begin_ms) / TICK_MS).unwrap_or(0);
        let trace = profile.trace(node, thread);
        TimelineRow { tick, thread, trace, count: numbers.count(sum) }
    });
    let mut rows: Vec<_> = rows.collect();
    rows.sort_unstable();
    let end_ns = u64::try_from(end_ms - begin_ms).unwrap_or(0).saturating_mul(1_000_000);
    let tick_ns = TICK_MS.unsigned_abs() * 1_000_000;
    let head = TimelineHead { metric, tick_ns, begin_ns: 0, end_ns };
    Timeline { head, rows: rows.into_iter().collect() }
}

/// The labels of a number: those of its recording, and its own, which have precedence.
pub(crate) fn all_labels<'a>(
    sources: &'a Sources,
    source: &[u8; 16],
    own: &'a [(String, String)],
) -> BTreeMap<&'a str, &'a str> {
    let common = sources.get(source).map_or(&[][..], |it| it);
    common.iter().chain(own).map(|(key, value)| (&**key, &**value)).collect()
}

/// HPROF's number of the first thread.
const FIRST_THREAD: u32 = 200_001;

fn metric(name: &str, unit: &str) -> Metric {
    Metric::own(name).unwrap_or_else(|| {
        let units = [Unit::Count, Unit::Nanoseconds, Unit::Bytes];
        let unit = units.into_iter().find(|it| it.name() == unit).unwrap_or_default();
        Metric::other(name, unit)
    })
}

/// The columns of a batch of `samples`.
struct Columns<'a> {
    time: &'a TimestampMillisecondArray,
    metric: &'a StringArray,
    unit: &'a StringArray,
    thread: &'a StringArray,
    stack: &'a FixedSizeBinaryArray,
    subject: &'a StringArray,
    source: &'a FixedSizeBinaryArray,
    labels: &'a MapArray,
    value: &'a Int64Array,
    cpu_ns: &'a Int64Array,
}

impl<'a> Columns<'a> {
    fn of(batch: &'a RecordBatch) -> Result<Self> {
        let text = |name| column(batch, name)?.as_string_opt::<i32>().with_context(|| other(name));
        let number = |name| {
            column(batch, name)?.as_primitive_opt::<Int64Type>().with_context(|| other(name))
        };
        let time = column(batch, "time")?.as_primitive_opt::<TimestampMillisecondType>();
        Ok(Self {
            time: time.with_context(|| other("time"))?,
            metric: text("metric")?,
            unit: text("unit")?,
            thread: text("thread")?,
            stack: ids(batch, "stack")?,
            subject: text("subject")?,
            source: ids(batch, "source")?,
            labels: maps(batch, "labels")?,
            value: number("value")?,
            cpu_ns: number("cpu_ns")?,
        })
    }
}

fn other(name: &str) -> String {
    format!("the column {name} has another type")
}

fn column<'a>(batch: &'a RecordBatch, name: &str) -> Result<&'a dyn Array> {
    let column =
        batch.column_by_name(name).with_context(|| format!("there is no column {name}"))?;
    Ok(column.as_ref())
}

fn ids<'a>(batch: &'a RecordBatch, name: &str) -> Result<&'a FixedSizeBinaryArray> {
    column(batch, name)?.as_fixed_size_binary_opt().with_context(|| other(name))
}

fn maps<'a>(batch: &'a RecordBatch, name: &str) -> Result<&'a MapArray> {
    column(batch, name)?.as_map_opt().with_context(|| other(name))
}

/// The entries of a row.
pub(crate) fn map(maps: &MapArray, row: usize) -> LabelText {
    let entries = maps.value(row);
    let [keys, values] = entries.columns() else { return LabelText::new() };
    let (keys, values) = (keys.as_string_opt::<i32>(), values.as_string_opt::<i32>());
    let pairs = keys.zip(values).into_iter().flat_map(|(keys, values)| keys.iter().zip(values));
    pairs.filter_map(|(key, value)| Some((key?.to_owned(), value?.to_owned()))).collect()
}
