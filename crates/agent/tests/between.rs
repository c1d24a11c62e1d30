//! `aprof=between`: tables of the allocations between two dumps, of a program whose allocations are
//! known by arithmetic.

#![forbid(unsafe_code)]

use std::collections::BTreeMap;

use perk_hprof::aprof::{self, AprofRow, Table};
use perk_profile::{Metric, Profile, names};
use perk_testkit::{JavaRun, Jdk, Outcome, RunningJava, Signal, jdk};

const N: u64 = 500;
const FILE: &str = "o.hprof";
/// The objects that each step of `AllocationsInSteps` makes: Marked, as many Marked[4], and Second.
const STEPS: [(u64, u64); 3] = [(N, 0), (2 * N, N), (3 * N, 0)];
/// Their sizes, with headers of 12 bytes and references of 4.
const SIZES_BYTES: [(&str, u64); 3] = [
    ("AllocationsInSteps$Marked", 24),
    ("AllocationsInSteps$Marked[]", 32),
    ("AllocationsInSteps$Second", 16),
];

/// The beginning of the line above a table.
const SPAN: &str = "\nAllocated from ";

/// Runs the steps, and asks for a dump after those of `asked`.
fn run(jdk: &Jdk, options: &str, asked: &[usize], mut dumped: impl FnMut(&RunningJava)) -> Outcome {
    let run = JavaRun::new(jdk).agent(&format!("cutoff=0,file={FILE},{options}"));
    let mut running = run.main("AllocationsInSteps").args([N.to_string()]).spawn();
    let mut dump_count = 0;
    for step in 1..=STEPS.len() {
        running.wait_for_stdout(&format!("step {step}\n"));
        if asked.contains(&step) {
            running.signal(Signal::QUIT);
            dump_count += 1;
            running.wait_until("a dump", |running| section_count(running) == dump_count);
            dumped(&running);
        }
        std::fs::write(running.dir().join(format!("go-{step}")), "").unwrap();
    }
    let outcome = running.wait();
    outcome.assert_success();
    assert!(!outcome.stderr.contains("ERROR"), "{}", outcome.report());
    outcome
}

/// Returns the number of dumps that the file shows by now.
fn section_count(running: &RunningJava) -> usize {
    let Ok(bytes) = std::fs::read(running.dir().join(FILE)) else { return 0 };
    let profile = perk_hprof::read(&bytes[..]).unwrap();
    profile.sections().filter(|section| section.head.has(&Metric::OF_OBJECTS)).count()
}

#[track_caller]
fn profile(outcome: &Outcome) -> Profile {
    perk_hprof::read(outcome.bytes(FILE)).unwrap()
}

/// Returns the tables on stdout: start, end (in seconds as printed), and rows.
#[track_caller]
fn spans(outcome: &Outcome) -> Vec<(String, String, Table)> {
    let parts = outcome.stdout.split(SPAN).skip(1);
    let span = |part: &str| {
        let (line, text) = part.split_once('\n').unwrap();
        let (from, until) =
            line.strip_suffix(" s of the run:").unwrap().split_once(" s to ").unwrap();
        let table = aprof::tables(text.as_bytes()).unwrap().remove(0);
        // The text contains only the table, in the table's own layout.
        let mut layout = Vec::new();
        aprof::write(&mut layout, &table).unwrap();
        assert!(text.as_bytes().starts_with(&layout), "{}", outcome.report());
        (from.to_owned(), until.to_owned(), table)
    };
    parts.map(span).collect()
}

/// Returns the rows of the program's own classes.
fn own(table: &Table) -> Vec<AprofRow> {
    let own = table.rows.iter().filter(|row| row.class.starts_with("AllocationsInSteps"));
    let mut rows: Vec<AprofRow> = own.cloned().collect();
    rows.sort_by(|a, b| a.class.cmp(&b.class));
    rows
}

/// Returns the same rows by arithmetic, for some steps.
fn expected(steps: &[usize]) -> Vec<AprofRow> {
    let sum =
        |count: fn(&(u64, u64)) -> u64| steps.iter().map(|&step| count(&STEPS[step - 1])).sum();
    let counts: [u64; 3] = [sum(|it| it.0), sum(|it| it.0), sum(|it| it.1)];
    let rows = SIZES_BYTES.iter().zip(counts).filter(|(_, count)| *count > 0);
    rows.map(|(&(class, size_bytes), count)| AprofRow {
        class: class.into(),
        bytes: count * size_bytes,
        count,
    })
    .collect()
}

/// Returns the bytes and objects of all classes of some tables, by the class's name in profiles.
fn by_class<'a>(tables: impl Iterator<Item = &'a Table>) -> BTreeMap<String, (u64, u64)> {
    let mut sums: BTreeMap<String, (u64, u64)> = BTreeMap::new();
    for row in tables.flat_map(|table| &table.rows) {
        let sum = sums.entry(names::stable(&row.class).into_owned()).or_default();
        (sum.0, sum.1) = (sum.0 + row.bytes, sum.1 + row.count);
    }
    sums
}

#[track_caller]
fn assert_spans(outcome: &Outcome, of_steps: &[&[usize]]) {
    let spans = spans(outcome);
    assert_eq!(spans.len(), of_steps.len(), "{}", outcome.report());
    let mut last = "0.000";
    for ((from, until, table), steps) in spans.iter().zip(of_steps) {
        assert_eq!(from, last);
        assert!(until.parse::<f64>().unwrap() > from.parse().unwrap(), "{from} to {until}");
        assert_eq!(own(table), expected(steps), "{steps:?}");
        let (bytes, count) =
            table.rows.iter().fold((0, 0), |sum, row| (sum.0 + row.bytes, sum.1 + row.count));
        assert_eq!((table.total.bytes, table.total.count), (bytes, count));
        last = until;
    }
}

#[test]
fn each_dump_has_what_came_since_the_one_before() {
    jdk::each(|jdk| {
        for format in ["a", "b", "p"] {
            let options = format!("aprof=between,format={format}");
            let outcome = run(jdk, &options, &[1, 2], |_| {});
            assert_spans(&outcome, &[&[1], &[2], &[3]]);
            // The file covers the whole run, and the tables its parts.
            let profile = profile(&outcome);
            let whole = Table::of(&profile, &profile.sites().unwrap());
            assert_eq!(own(&whole), expected(&[1, 2, 3]));
            let spans = spans(&outcome);
            assert_eq!(by_class(spans.iter().map(|it| &it.2)), by_class([whole].iter()));
        }
    });
}

#[test]
fn one_signal_makes_two_spans() {
    jdk::each(|jdk| {
        let outcome = run(jdk, "aprof=between", &[2], |_| {});
        assert_spans(&outcome, &[&[1, 2], &[3]]);
        assert_spans(&run(jdk, "aprof=between", &[], |_| {}), &[&[1, 2, 3]]);
        assert_spans(&run(jdk, "aprof=between,doe=n", &[1, 2], |_| {}), &[&[1], &[2]]);
    });
}

/// Objects without a site may live at one dump and be gone at the next: they are in no table.
#[test]
fn sites_and_calls_beside_it() {
    jdk::each(|jdk| {
        let outcome = run(jdk, "aprof=between,heap=sites,cpu=times,gc=y,format=p", &[1, 2], |_| {});
        assert_spans(&outcome, &[&[1], &[2], &[3]]);
        let profile = profile(&outcome);
        let whole = Table::of(&profile, &profile.sites().unwrap());
        assert_eq!(own(&whole), expected(&[1, 2, 3]));
    });
}

#[test]
fn without_it_a_signal_prints_no_table() {
    jdk::each(|jdk| {
        let no_table = |running: &RunningJava| assert!(!running.stdout().contains("--total--"));
        let outcome = run(jdk, "aprof=y", &[1, 2], no_table);
        assert!(spans(&outcome).is_empty());
        assert_eq!(outcome.stdout.matches("--total--").count(), 1, "{}", outcome.report());
        let table = aprof::tables(outcome.stdout.as_bytes()).unwrap().remove(0);
        assert_eq!(own(&table), expected(&[1, 2, 3]));
    });
}
