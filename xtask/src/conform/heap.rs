//! `xtask conform heap`: sizes, holders, classes and suspects of a heap dump by perk and by the crate
//! hprof-analyzer, which follows Eclipse MAT, object by object.
//!
//! The two have other rules for the sizes of some objects. So retained sizes are compared twice: as
//! they are, and as the sums of the analyzer's sizes over what perk says that the objects hold. What
//! differs in the latter has other holders. That is an error, but near references that only one of the
//! two follows: the analyzer follows the collector's own list of references (`discovered`), and perk those
//! of classes to their signers, protection domains and constant pools.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::fs::File;
use std::io::{self, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use clap::Args;
use perk_heap::{
    Class, ClassKind, Heap, Holder, Label, NoWatch, Options, Reach, Refs, SuspectKind, Value,
};
use serde::Deserialize;

/// A question for the sizes of all objects but those that represent classes. Numbers are in the order
/// of addresses.
const QUERY: &str = "SELECT s.@objectId, s.@usedHeapSize, s.@retainedHeapSize FROM \".*\" s";
/// The objects of a question, whose answer has at most a million rows, and the most questions. ClassSums larger
/// dumps that number of objects is compared, in groups that are evenly spread.
const GROUP: u64 = 900_000;
const MOST_GROUPS: u64 = 3;
/// The part of what is reachable from which on both name suspects.
const SUSPECTED_SHARE: f64 = 0.1;
/// The rows of a table that are printed.
const ROWS: usize = 40;

/// The parts of the analyzer's report that are compared.
#[derive(Debug, Deserialize)]
struct Report {
    overview: Overview,
    leaks: Leaks,
    queries: Vec<Query>,
}

#[derive(Debug, Deserialize)]
struct Overview {
    total_objects: u64,
    total_shallow: u64,
    unreachable_count: u64,
    histogram: Vec<HistogramRow>,
}

#[derive(Debug, Deserialize)]
struct HistogramRow {
    pretty_class: String,
    loader_id: u64,
    instances: u64,
    shallow: u64,
    retained: u64,
}

impl HistogramRow {
    /// Returns the class's name in perk's format, which sets off the number of a hidden class by a point.
    fn name(&self) -> String {
        self.pretty_class.replace("+0x", ".0x")
    }
}

#[derive(Debug, Deserialize)]
struct Leaks {
    suspects: Vec<TheirSuspect>,
}

#[derive(Debug, Deserialize)]
struct TheirSuspect {
    is_single: bool,
    pretty_class: String,
    retained: u64,
}

#[derive(Debug, Deserialize)]
struct Query {
    rows: Vec<[QueryCell; 3]>,
    truncated: bool,
}

#[derive(Debug, Deserialize)]
struct QueryCell {
    v: u64,
}

/// The differences of a comparison by class: their number, and the first one.
#[derive(Debug, Default)]
struct Differences {
    equal_count: u64,
    by_class: BTreeMap<String, (u64, String)>,
}

impl Differences {
    /// Compares perk's number with the analyzer's.
    fn add(&mut self, class: &str, ours: u64, theirs: u64, what: impl Display) {
        if ours == theirs {
            self.equal_count += 1;
            return;
        }
        let first = || format!("{ours} for {theirs}, {what}");
        let row = self.by_class.entry(class.to_owned()).or_insert_with(|| (0, first()));
        row.0 += 1;
    }

    fn print(&self, what: &str) -> Result<()> {
        let mut out = io::stdout().lock();
        let count: u64 = self.by_class.values().map(|it| it.0).sum();
        writeln!(out, "{what}: {} equal, {count} others", self.equal_count)?;
        let mut rows: Vec<_> = self.by_class.iter().collect();
        rows.sort_by_key(|(_, it)| std::cmp::Reverse(it.0));
        for (class, (count, first)) in rows.iter().take(ROWS) {
            writeln!(out, "  {count} of {class}: {first}")?;
        }
        if rows.len() > ROWS {
            writeln!(out, "  and {} more classes", rows.len() - ROWS)?;
        }
        Ok(())
    }
}

/// The arguments of `xtask conform heap`.
#[derive(Args, Debug)]
pub(super) struct DumpArguments {
    /// The heap dump
    dump: PathBuf,
    /// The program of the crate hprof-analyzer
    analyzer: PathBuf,
}

/// Runs `xtask conform heap`.
pub(super) fn run(DumpArguments { dump, analyzer }: &DumpArguments) -> Result<()> {
    let options = Options { refs: Refs::All, index_from_bytes: None, ..Options::default() };
    let heap = Heap::open(dump, &options, &mut NoWatch)?;
    let report = analyze(dump, analyzer, heap.object_count())?;
    let totals = heap.totals();
    let theirs = &report.overview;
    println(&format!(
        "objects: {} for {}, bytes: {} for {}, unreachable: {} for {}",
        totals.reachable.count,
        theirs.total_objects,
        totals.reachable.bytes,
        theirs.total_shallow,
        totals.unreachable.count,
        theirs.unreachable_count,
    ))?;
    let sizes = Sizes::new(&heap, &report)?;
    sizes.compare(&heap)?;
    classes(&heap, &sizes, &report)?;
    suspects(&heap, &report)
}

/// Has the analyzer write its report on a dump with this number of objects.
fn analyze(dump: &Path, analyzer: &Path, count: u64) -> Result<Report> {
    let out = tempfile::Builder::new().suffix(".json").tempfile()?;
    let groups = count.div_ceil(GROUP).min(MOST_GROUPS);
    let queries = (0..groups).flat_map(|group| {
        let from = group * count / groups;
        let range = format!("WHERE s.@objectId >= {from} AND s.@objectId < {}", from + GROUP);
        ["--query".to_owned(), format!("{QUERY} {range}")]
    });
    let output = Command::new(analyzer)
        .arg(dump)
        .arg(out.path())
        .args(["--format", "json", "--detail", "max", "--progress", "never"])
        .args(queries)
        .stdin(Stdio::null())
        .output()
        .with_context(|| format!("cannot start {}", analyzer.display()))?;
    let stderr = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{}: {stderr}", output.status);
    let file = BufReader::new(File::open(out.path())?);
    serde_json::from_reader(file).context("the report has another format")
}

/// The analyzer's sizes by the number of the object, and the sums of its shallow sizes over what perk
/// says that an object holds.
#[derive(Debug)]
struct Sizes {
    shallow: Vec<u64>,
    retained: Vec<Option<u64>>,
    sums: Vec<u64>,
    /// Whether the object, or one that it holds, is near a reference that only one of the two follows.
    is_special: Vec<bool>,
}

impl Sizes {
    fn new(heap: &Heap, report: &Report) -> Result<Self> {
        let count = heap.object_count() as usize;
        let (mut shallow, mut retained) = (vec![0; count], vec![None; count]);
        let instances = instance_bytes(heap, report);
        for object in heap.objects() {
            let bytes = match heap.as_class(object) {
                Some(class) => class_bytes(heap.class(class), heap),
                None => instances[heap.class_of(object).0 as usize]
                    .unwrap_or_else(|| heap.shallow_bytes(object)),
            };
            shallow[object.0 as usize] = bytes;
        }
        for query in &report.queries {
            ensure!(!query.truncated, "the analyzer leaves out objects");
            for [id, own, held] in &query.rows {
                let id = id.v as usize;
                ensure!(id < count, "the analyzer has an object {id}, and perk {count} objects");
                (shallow[id], retained[id]) = (own.v, Some(held.v));
            }
        }
        let mut classes = heap.classes().iter().filter_map(|class| class.object);
        ensure!(classes.all(|it| retained[it.0 as usize].is_none()), "objects have other numbers");
        let mut order = heap.held_by(None);
        let mut at = 0;
        while at < order.len() {
            order.extend(heap.held_by(Some(order[at])));
            at += 1;
        }
        let mut sums = shallow.clone();
        let mut is_special = special(heap)?;
        for &object in order.iter().rev() {
            if let Holder::Object(holder) = heap.holder(object) {
                let [holder, object] = [holder, object].map(|it| it.0 as usize);
                sums[holder] += sums[object];
                is_special[holder] |= is_special[object];
            }
        }
        Ok(Self { shallow, retained, sums, is_special })
    }

    /// Compares the sizes of all objects that are held, but those that represent classes.
    fn compare(&self, heap: &Heap) -> Result<()> {
        let (mut shallow, mut retained) = (Differences::default(), Differences::default());
        let (mut held, mut special) = (Differences::default(), Differences::default());
        for object in heap.objects() {
            let index = object.0 as usize;
            let Some(theirs) = self.retained[index] else { continue };
            if heap.reach(object) != Reach::Held {
                continue;
            }
            let class = &heap.class(heap.class_of(object)).name;
            let what = format_args!("{:#x}", heap.address(object)).to_string();
            shallow.add(class, heap.shallow_bytes(object), self.shallow[index], &what);
            retained.add(class, heap.retained_bytes(object), theirs, &what);
            let held = if self.is_special[index] { &mut special } else { &mut held };
            held.add(class, self.sums[index], theirs, &what);
        }
        shallow.print("shallow sizes")?;
        retained.print("retained sizes")?;
        held.print("retained sizes by the analyzer's shallow sizes")?;
        special.print("the same near references that one of the two does not follow")?;
        ensure!(held.by_class.is_empty(), "objects have other holders");
        Ok(())
    }
}

/// Returns the size of the instances of each class for the analyzer, if it lists some.
fn instance_bytes(heap: &Heap, report: &Report) -> Vec<Option<u64>> {
    let rows = report.overview.histogram.iter();
    let rows = rows.map(|row| ((row.name(), row.loader_id), row));
    let rows: BTreeMap<(String, u64), &HistogramRow> = rows.collect();
    let of = |class: &Class| {
        let row = rows.get(&(class.name.clone(), class.loader))?;
        (class.kind == ClassKind::Instance && row.instances > 0)
            .then(|| row.shallow / row.instances)
    };
    heap.classes().iter().map(of).collect()
}

/// Whether perk alone follows such a reference.
fn is_of_perk(label: &Label) -> bool {
    matches!(label, Label::Signers | Label::ProtectionDomain | Label::Constant(_))
}

/// Returns which objects are at an end of a reference that only one of the two follows, or have another
/// reference to its end.
fn special(heap: &Heap) -> Result<Vec<bool>> {
    let mut is_special = vec![false; heap.object_count() as usize];
    let mut of_classes = Vec::new();
    for class in heap.classes().iter().filter_map(|class| class.object) {
        let edges = heap.references(class)?.into_iter();
        let edges = edges.filter(|it| is_of_perk(&it.label));
        of_classes.extend(edges.map(|it| it.to));
    }
    for edge in heap.referrers(&of_classes)? {
        is_special[edge.from.0 as usize] = true;
        is_special[edge.to.0 as usize] = true;
    }
    let above = heap.classes_named("java.lang.ref.Reference");
    for object in heap.objects() {
        let class = heap.class_of(object);
        if !above.iter().any(|&above| heap.is_subclass(class, above)) {
            continue;
        }
        let field = heap.field(object, "discovered")?;
        if let Some(Value::Reference(to)) = field.map(|field| field.value)
            && let Some(to) = heap.find(to)
        {
            is_special[to.0 as usize] = true;
        }
    }
    Ok(is_special)
}

/// Returns the size that the analyzer gives an object that represents a class: that of its static
/// fields.
fn class_bytes(class: &Class, heap: &Heap) -> u64 {
    let reference_bytes = heap.layout().reference_bytes as usize;
    let of = |field: &perk_heap::Static| field.value.field_type().bytes(reference_bytes) as u64;
    class.statics.iter().map(of).sum::<u64>().next_multiple_of(8)
}

/// Compares the rows of classes. The least that the instances of a class and its class object retain is
/// the sum of what those retain that no other one holds.
fn classes(heap: &Heap, sizes: &Sizes, report: &Report) -> Result<()> {
    #[derive(Clone, Copy, Default)]
    struct ClassSums {
        count: u64,
        shallow: u64,
        least: u64,
    }
    let key = |class: &Class| (class.name.clone(), class.loader);
    let mut found = BTreeMap::<(String, u64), ClassSums>::new();
    // The number of objects of each class among those above the one at hand.
    let mut depth = vec![0_u32; heap.classes().len()];
    for root in heap.held_by(None) {
        let mut todo = vec![(root, false)];
        while let Some((object, is_left)) = todo.pop() {
            let (class, as_class) = (heap.class_of(object), heap.as_class(object));
            for it in as_class.into_iter().chain([class]) {
                let depth = &mut depth[it.0 as usize];
                if is_left {
                    *depth -= 1;
                    continue;
                }
                let of = found.entry(key(heap.class(it))).or_default();
                if it == class {
                    of.count += 1;
                    of.shallow += sizes.shallow[object.0 as usize];
                }
                if *depth == 0 {
                    of.least += sizes.sums[object.0 as usize];
                }
                *depth += 1;
            }
            if is_left {
                continue;
            }
            todo.push((object, true));
            todo.extend(heap.held_by(Some(object)).into_iter().map(|it| (it, false)));
        }
    }
    // Several classes of a loader may have one name: anonymous ones of JDK 8.
    let mut theirs = BTreeMap::<(String, u64), ClassSums>::new();
    for row in &report.overview.histogram {
        let of = theirs.entry((row.name(), row.loader_id)).or_default();
        of.count += row.instances;
        of.shallow += row.shallow;
        of.least += row.retained;
    }
    let mut differences = [Differences::default(), Differences::default(), Differences::default()];
    for (key, theirs) in theirs {
        let of = found.remove(&key).unwrap_or_default();
        let numbers =
            [(of.count, theirs.count), (of.shallow, theirs.shallow), (of.least, theirs.least)];
        for (differences, (ours, theirs)) in differences.iter_mut().zip(numbers) {
            differences.add(&key.0, ours, theirs, "of all instances");
        }
    }
    for ((class, _), of) in found {
        differences[0].add(&class, of.count, 0, "not in the report");
        differences[1].add(&class, of.shallow, 0, "not in the report");
    }
    let [counts, shallow, least] = &differences;
    counts.print("classes, instances")?;
    shallow.print("classes, shallow bytes in the analyzer's sizes")?;
    least.print("classes, least retained bytes in the analyzer's sizes")
}

fn suspects(heap: &Heap, report: &Report) -> Result<()> {
    for suspect in heap.suspects(SUSPECTED_SHARE)? {
        let name = match suspect.suspected {
            SuspectKind::Object(object) => {
                let class = heap.as_class(object).unwrap_or(heap.class_of(object));
                heap.class(class).name.clone()
            }
            SuspectKind::Class(class, count) => format!("{count} {}", heap.class(class).name),
            SuspectKind::ClassesOf(loader, count) => {
                format!("{count} classes of {}", heap.class(loader).name)
            }
        };
        println(&format!("suspect of perk: {name}, {}", suspect.retained_bytes))?;
    }
    for suspect in &report.leaks.suspects {
        let kind = if suspect.is_single { "" } else { "instances of " };
        let TheirSuspect { pretty_class, retained, .. } = suspect;
        println(&format!("suspect of the analyzer: {kind}{pretty_class}, {retained}"))?;
    }
    Ok(())
}

fn println(line: &str) -> Result<()> {
    Ok(writeln!(io::stdout(), "{line}")?)
}
