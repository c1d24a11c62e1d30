//! `perk-fleet store` with recordings of real JVMs, and with files of other tools.

mod buckets;
mod labels;
mod profile_tables;
pub(crate) mod questions;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use perk_testkit::{jdk, peer, workspace};
use serde_json::Value;

use crate::record::Place;
use crate::record::counterparts::{output, script};
use crate::record::files::{pid, start};
use crate::sql;

/// The sums of metrics: of values, and of CPU time.
pub(crate) type Sums = BTreeMap<String, (i64, Option<i64>)>;

pub(crate) const SUMS: &str =
    "SELECT metric, sum(value) AS value, sum(cpu_ns) AS cpu_ns FROM samples GROUP BY metric";

/// A folder for a store.
pub(crate) struct StoreFolder {
    folder: tempfile::TempDir,
}

impl StoreFolder {
    pub(crate) fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.folder.path().join("store")
    }

    /// Runs a command on the store.
    fn run(&self, command: &str, arguments: &[&str]) -> Output {
        let mut run = Command::new(env!("CARGO_BIN_EXE_perk-fleet"));
        let run = run.args(["store", command]).arg(self.path()).args(arguments);
        run.stdin(Stdio::null()).output().unwrap()
    }

    /// What a command prints.
    #[track_caller]
    pub(crate) fn print(&self, command: &str, arguments: &[&str]) -> String {
        let output = self.run(command, arguments);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{command} {arguments:?}: {said}");
        String::from_utf8(output.stdout).unwrap()
    }

    #[track_caller]
    pub(crate) fn rows(&self, query: &str) -> Vec<Value> {
        sql::rows_of(&[&self.path()], query)
    }

    /// Two files of one hour and two others, of three services.
    #[track_caller]
    pub(crate) fn of_tools() -> Self {
        let this = Self::new();
        for (file, service, time) in of_tools() {
            let label = format!("service={service}");
            let file = file.to_str().unwrap();
            let printed = this.print("add", &["--label", &label, "--time", time, file]);
            assert_eq!(printed, "recordings added: 1\n");
        }
        this
    }

    /// The data files of the samples.
    pub(crate) fn samples(&self) -> Vec<PathBuf> {
        let mut found = Vec::new();
        files(&self.path().join("samples"), &mut found);
        found.retain(|it| it.extension().is_some_and(|it| it == "parquet"));
        found
    }
}

/// Files of other tools, each with a service and a time.
pub(crate) fn of_tools() -> [(PathBuf, &'static str, &'static str); 4] {
    let file = |name: &str| workspace().join("testdata").join(name);
    [
        (file("collapsed/allocations.collapsed"), "shop", "2026-11-28T10:00:00Z"),
        (file("collapsed/signatures.collapsed"), "shop", "2026-11-28T10:30:00Z"),
        (file("collapsed/allocations.collapsed"), "a/b é", "2026-11-28T10:00:00Z"),
        (file("collapsed/signatures.collapsed"), "other", "2026-11-27T23:59:59Z"),
    ]
}

pub(crate) fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    let mut paths: Vec<_> = fs::read_dir(folder).unwrap().map(|it| it.unwrap().path()).collect();
    paths.sort();
    for path in paths {
        if path.is_dir() { files(&path, found) } else { found.push(path) }
    }
}

pub(crate) fn sums(rows: &[Value]) -> Sums {
    let sum = |row: &Value| (row["value"].as_i64().unwrap(), row["cpu_ns"].as_i64());
    rows.iter().map(|row| (row["metric"].as_str().unwrap().to_owned(), sum(row))).collect()
}

/// What DuckDB finds in the files of a store.
#[track_caller]
fn sums_of_duckdb(store: &StoreFolder) -> Option<Sums> {
    let duckdb = peer("counterparts/duckdb", "counterparts")?;
    let pattern = store.path().join("samples/*/*/*/*.parquet");
    let query = format!(
        "SELECT metric, sum(value)::BIGINT AS value, sum(cpu_ns)::BIGINT AS cpu_ns FROM \
         read_parquet('{}', hive_partitioning = true) GROUP BY metric",
        pattern.display()
    );
    let mut command = script("query.py");
    let rows: Vec<Value> =
        serde_json::from_str(&output(command.env("PYTHONPATH", duckdb).arg(query))).unwrap();
    Some(sums(&rows))
}

#[test]
fn a_store_has_what_its_files_have() {
    let recorded = sql::recordings();
    let store = StoreFolder::new();
    let paths: Vec<_> = recorded.iter().map(|it| it.to_str().unwrap()).collect();
    assert_eq!(store.print("add", &paths), "recordings added: 2\n");
    let inputs: Vec<_> = recorded.iter().map(PathBuf::as_path).collect();
    let of_files = sums(&sql::rows_of(&inputs, SUMS));
    assert!(of_files.contains_key("samples") && of_files.contains_key("wall"), "{of_files:?}");
    assert_eq!(sums(&store.rows(SUMS)), of_files);
    if let Some(of_duckdb) = sums_of_duckdb(&store) {
        assert_eq!(of_duckdb, of_files);
    }
    // Stacks have the same ids, names and functions.
    let by_stack = "SELECT stack, leaf(stack) AS leaf, array_to_string(frames(stack), ';') AS path, owner(stack) AS owner, \
                    sum(value) AS value FROM samples WHERE metric = 'samples' AND stack_contains(stack, 'Shop.*') \
                    GROUP BY stack ORDER BY stack";
    let stacks = store.rows(by_stack);
    assert!(!stacks.is_empty());
    assert_eq!(stacks, sql::rows_of(&inputs, by_stack));
    let frames = "SELECT DISTINCT stack, depth, class, method, signature, source, line, kind FROM stacks \
                  WHERE stack IN (SELECT stack FROM samples) ORDER BY stack, depth";
    assert_eq!(store.rows(frames), sql::rows_of(&inputs, frames));
    // So do labels, accounts and recordings.
    let labels = "SELECT labels['service'] AS service, labels['host'] AS host, sum(value) AS value FROM samples \
                  WHERE metric = 'samples' GROUP BY 1, 2";
    assert_eq!(store.rows(labels), sql::rows_of(&inputs, labels));
    let account =
        "SELECT name, value FROM accounting WHERE value NOT IN ('', '0') ORDER BY name, value";
    assert_eq!(store.rows(account), sql::rows_of(&inputs, account));
    let recordings = "SELECT created, duration_ns, interval_ns, program, jvm, cpu_ns, perk_cpu_ns FROM recordings \
                      ORDER BY created";
    assert_eq!(store.rows(recordings).len(), 2);
    let totals = "SELECT metric, sum(total) AS total FROM metrics GROUP BY 1 ORDER BY 1";
    assert_eq!(store.rows(totals), sql::rows_of(&inputs, totals));
    // Times are those of the files, to within 10 seconds.
    let times =
        "SELECT min(time) AS first, max(time) AS last FROM samples WHERE metric = 'samples'";
    let is_near = "SELECT bool_and(time <= created + interval '1 hour' AND time > created - interval '10 seconds') AS is_near \
                   FROM samples CROSS JOIN (SELECT min(created) AS created FROM recordings)";
    assert_eq!(store.rows(times).len(), 1);
    assert_eq!(store.rows(is_near)[0]["is_near"], true);
}

#[test]
fn a_repeat_changes_nothing_in_whatever_file_it_is() {
    let store = StoreFolder::of_tools();
    let before = (sums(&store.rows(SUMS)), store.samples());
    let folder = tempfile::tempdir().unwrap();
    for (file, service, time) in of_tools() {
        let packed = folder.path().join("another-name.gz");
        let text = fs::read(&file).unwrap();
        let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        std::io::Write::write_all(&mut gz, &text).unwrap();
        fs::write(&packed, gz.finish().unwrap()).unwrap();
        let label = format!("service={service}");
        let packed = packed.to_str().unwrap();
        let printed = store.print("add", &["--label", &label, "--time", time, packed]);
        assert_eq!(printed, "recordings added: 0, 1 were there\n");
    }
    assert_eq!((sums(&store.rows(SUMS)), store.samples()), before);
    // Nor after a compaction, whose file has other names.
    store.print("compact", &[]);
    for (file, service, time) in of_tools() {
        let label = format!("service={service}");
        store.print("add", &["--label", &label, "--time", time, file.to_str().unwrap()]);
    }
    assert_eq!(sums(&store.rows(SUMS)), before.0);
}

#[test]
fn compactions_change_no_sum() {
    let store = StoreFolder::of_tools();
    let by_all = "SELECT service, date, hour, time, metric, stack, thread, labels['service'] AS label, sum(value) AS value \
                  FROM samples GROUP BY 1, 2, 3, 4, 5, 6, 7, 8 ORDER BY 1, 2, 3, 4, 5, 6, 7, 8";
    let before = store.rows(by_all);
    assert_eq!(store.samples().len(), 4);
    // Several at once, as machines of a platform may run it.
    let compact = || {
        let mut command = Command::new(env!("CARGO_BIN_EXE_perk-fleet"));
        command.args(["store", "compact"]).arg(store.path()).stdout(Stdio::null()).spawn().unwrap()
    };
    for mut child in [compact(), compact(), compact()] {
        child.wait().unwrap();
    }
    store.print("compact", &[]);
    assert_eq!(store.samples().len(), 3, "{:?}", store.samples());
    assert_eq!(store.rows(by_all), before);
    if let Some(of_duckdb) = sums_of_duckdb(&store) {
        assert_eq!(of_duckdb, sums(&store.rows(SUMS)));
    }
    // A late recording of the hour counts, and is in the next compaction.
    let (file, ..) = &of_tools()[0];
    let file = file.to_str().unwrap();
    store.print("add", &["--label", "service=shop", "--time", "2026-11-28T10:59:59Z", file]);
    let more = store.rows(by_all);
    assert!(more.len() > before.len());
    assert_eq!(
        store.print("compact", &[]).split(',').next(),
        Some("hours compacted: 1"),
        "{:?}",
        store.samples()
    );
    assert_eq!(store.rows(by_all), more);
    let whole = store.print("check", &[]);
    assert!(whole.starts_with("whole: 3 pieces") && whole.lines().count() == 1, "{whole}");
}

#[test]
fn filters_choose_the_files_that_are_read() {
    let store = StoreFolder::of_tools();
    let count = |filter: &str| {
        store.rows(&format!("SELECT count(*) AS n FROM samples WHERE {filter}"))[0]["n"]
            .as_i64()
            .unwrap()
    };
    let all = count("true");
    let shop = count("service = 'shop'");
    assert!(shop > 0 && shop < all);
    // A file that cannot be read shows that it is not.
    let others =
        store.samples().into_iter().filter(|it| !it.to_string_lossy().contains("service=shop"));
    for file in others {
        fs::write(file, "no Parquet").unwrap();
    }
    for filter in [
        "service = 'shop'",
        "service IN ('shop', 'none')",
        "time >= '2026-11-28T10:00:00Z' AND service LIKE 'sho%'",
        "date = '2026-11-28' AND hour = 10 AND service = 'shop'",
    ] {
        assert_eq!(count(filter), shop, "{filter}");
    }
    assert_eq!(count("time > '2026-11-29T00:00:00Z'"), 0);
    assert_eq!(count("date < '2026-11-27'"), 0);
    let broken = sql::run(&[&store.path()], &["SELECT count(value + 1) FROM samples"]);
    assert_eq!(broken.status.code(), Some(2));
}

#[test]
fn what_is_not_whole_does_not_count() {
    let store = StoreFolder::of_tools();
    let whole = sums(&store.rows(SUMS));
    let mut manifests = Vec::new();
    files(&store.path().join("manifest"), &mut manifests);
    // A writer that was killed before its manifest.
    let manifest =
        manifests.iter().find(|it| it.to_string_lossy().contains("service=other")).unwrap();
    let text = fs::read(manifest).unwrap();
    fs::remove_file(manifest).unwrap();
    assert!(sums(&store.rows(SUMS)) != whole);
    let checked = store.print("check", &[]);
    assert!(checked.starts_with("whole: 3 pieces") && checked.contains("left over"), "{checked}");
    fs::write(manifest, text).unwrap();
    assert_eq!(sums(&store.rows(SUMS)), whole);
    // Files of others.
    fs::write(store.path().join("samples/notes.txt"), "mine").unwrap();
    fs::write(manifest.with_file_name("x.json"), "mine").unwrap();
    assert_eq!(sums(&store.rows(SUMS)), whole);
    let checked = store.print("check", &[]);
    assert!(checked.contains("not of a store: 2"), "{checked}");
    // A file that was cut.
    let cut = &store.samples()[0];
    let bytes = fs::read(cut).unwrap();
    fs::write(cut, &bytes[..bytes.len() / 2]).unwrap();
    let checked = store.run("check", &[]);
    assert_eq!(checked.status.code(), Some(1));
    let printed = String::from_utf8_lossy(&checked.stdout);
    assert!(printed.contains("not whole: 1") && printed.contains("samples/"), "{printed}");
}

#[test]
fn faults_are_one_line() {
    let store = StoreFolder::new();
    let said = |output: Output, code: i32| {
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(code), "{said}");
        assert!(said.starts_with("perk: "), "{said}");
        said
    };
    assert!(said(store.run("ls", &[]), 2).lines().count() == 1);
    let (file, ..) = &of_tools()[0];
    let undated = said(store.run("add", &[file.to_str().unwrap()]), 2);
    assert!(undated.contains("--time"), "{undated}");
    assert!(said(store.run("ls", &["--since", "soon"]), 2).contains("2026-11-29T10:00:00Z"));
    fs::write(store.path().join("perk-store.json"), "{\"format\":\"perk-store\",\"version\":99}")
        .unwrap();
    assert!(said(store.run("ls", &[]), 2).contains("use a later perk"));
    fs::write(store.path().join("perk-store.json"), "{\"format\":\"x\",\"version\":1}").unwrap();
    assert!(said(store.run("ls", &[]), 2).contains("not of a store"));
    let both = sql::run(&[&StoreFolder::of_tools().path(), file], &["SELECT 1"]);
    let both = said(both, 2);
    assert!(both.contains("no ") || both.contains("alone"), "{both}");
}

#[test]
fn an_age_ends_dates() {
    let store = StoreFolder::of_tools();
    assert!(store.print("expire", &["--older-than", "3650d"]).starts_with("dates removed: 0"));
    assert!(store.print("ls", &[]).contains("2026-11-27 23:00"));
    assert!(
        store.print("ls", &["--since", "2026-11-28", "--service", "shop"]).lines().count() == 2
    );
    let removed = store.print("expire", &["--older-than", "1h"]);
    assert!(removed.starts_with("dates removed: 3, with 16 files"), "{removed}");
    assert_eq!(store.print("ls", &[]), "nothing is in this part of the store\n");
}

#[test]
fn a_part_is_exported_as_one_profile() {
    let store = StoreFolder::new();
    let recorded = sql::recordings();
    let paths: Vec<_> = recorded.iter().map(|it| it.to_str().unwrap()).collect();
    store.print("add", &paths);
    let out = store.folder.path().join("out.hprof.zst");
    store.print("export", &["--service", "Shop", "-o", out.to_str().unwrap()]);
    let by = "SELECT metric, unit, leaf(stack) AS leaf, thread, subject, labels['host'] AS host, sum(value) AS value \
              FROM samples GROUP BY 1, 2, 3, 4, 5, 6 ORDER BY 1, 2, 3, 4, 5, 6";
    let inputs: Vec<_> = recorded.iter().map(PathBuf::as_path).collect();
    assert_eq!(sql::rows_of(&[&out], by), sql::rows_of(&inputs, by));
    let other = store.run("export", &["--label", "host=none", "-o", out.to_str().unwrap()]);
    assert!(String::from_utf8_lossy(&other.stderr).contains("nothing was recorded of this"));
}

#[test]
fn a_recorder_writes_into_a_store() {
    let place = Place::new();
    let store = StoreFolder::new();
    let address = format!("store+file://{}", store.path().display());
    let running = start(jdk::compiler());
    let recorder = place.start(&["--every", "1s", "--to", &address, &pid(&running)]);
    recorder.wait_until("the files", || place.files().len() >= 3);
    recorder.signal("-INT");
    recorder.end();
    fs::write(running.dir().join("go"), "").unwrap();
    let files = place.files();
    let inputs: Vec<_> = files.iter().map(PathBuf::as_path).collect();
    assert_eq!(sums(&store.rows(SUMS)), sums(&sql::rows_of(&inputs, SUMS)));
    let recordings = store.rows("SELECT file FROM recordings ORDER BY file");
    let names = files.iter().map(|it| it.file_name().unwrap().to_str().unwrap());
    assert!(recordings.iter().map(|it| it["file"].as_str().unwrap()).eq(names), "{recordings:?}");
}
