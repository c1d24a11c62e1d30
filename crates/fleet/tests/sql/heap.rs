//! Heap dumps of real JVMs: the numbers of `perk heap --json`, and what the JVM says of itself.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use perk_testkit::agent::perk_bin;
use perk_testkit::{JavaRun, fixture, jdk, workspace};
use serde_json::Value;

use super::{rows_of, run, sample};

/// A dump of all objects of a program with a known mix of them, and what the JVM said at that time.
pub(super) struct Dumped {
    folder: tempfile::TempDir,
    /// The lines of `jcmd GC.class_histogram -all` before and after the dump.
    histograms: [String; 2],
    thread_names: BTreeSet<String>,
}

impl Dumped {
    pub(super) fn get() -> &'static Self {
        static DUMPED: OnceLock<Dumped> = OnceLock::new();
        DUMPED.get_or_init(|| {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("mix.hprof");
            let mut said = Vec::new();
            jdk::on(17, |jdk| {
                let source = workspace().join("java/bench/HeapMix.java");
                let run = JavaRun::new(jdk)
                    .classes(fixture::compile_files(&[&source]))
                    .jvm_arg("-Xmx256m");
                let mut java = run.main("HeapMix").args(["1"]).spawn();
                java.wait_for_stdout("READY");
                let jcmd = |command: &[&str]| {
                    let mut jcmd = Command::new(jdk::compiler().jcmd());
                    let output = jcmd.arg(java.pid().to_string()).args(command).output().unwrap();
                    assert!(output.status.success(), "jcmd {command:?}: {output:?}");
                    String::from_utf8(output.stdout).unwrap()
                };
                // What the first commands load is there before.
                let histogram = ["GC.class_histogram", "-all"];
                jcmd(&histogram);
                said.push(jcmd(&histogram));
                jcmd(&["GC.heap_dump", "-all", path.to_str().unwrap()]);
                said.push(jcmd(&histogram));
                said.push(jcmd(&["Thread.print"]));
            });
            let threads = said.pop().unwrap();
            // Those of the JVM itself have no `java.lang.Thread`.
            let is_of_java = |line: &&str| line.starts_with('"') && line.contains(" #");
            let name = |line: &str| line.split('"').nth(1).unwrap().to_owned();
            let thread_names = threads.lines().filter(is_of_java).map(name).collect();
            Self { folder, histograms: said.try_into().unwrap(), thread_names }
        })
    }

    pub(super) fn path(&self) -> PathBuf {
        self.folder.path().join("mix.hprof")
    }
}

#[track_caller]
pub(super) fn rows(query: &str) -> Vec<Value> {
    rows_of(&[&Dumped::get().path()], query)
}

/// What `perk heap --json` says of the dump.
fn heap(arguments: &[&str]) -> Value {
    let mut command = Command::new(perk_bin());
    let output = command.args(["heap", "--json"]).args(arguments).arg(Dumped::get().path());
    let output = output.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    serde_json::from_slice(&output.stdout).unwrap()
}

/// The rows with these columns only, in order.
fn picked(rows: &[Value], names: &[&str]) -> Vec<String> {
    let pick =
        |row: &Value| names.iter().map(|&name| row[name].to_string()).collect::<Vec<_>>().join(" ");
    let mut picked: Vec<_> = rows.iter().map(pick).collect();
    picked.sort();
    picked
}

/// Compares a query with a list of `perk heap --json` in these columns.
#[track_caller]
fn compare(query: &str, listed: &Value, names: &[&str]) {
    let listed = listed.as_array().unwrap();
    assert!(!listed.is_empty());
    let answered = rows(query);
    assert_eq!(answered.len(), listed.len(), "{query}");
    assert_eq!(picked(&answered, names), picked(listed, names), "{query}");
}

#[test]
fn tables_are_those_of_perk_heap() {
    // One name can be of several loaders, and has the loader behind it there.
    let mut classes = heap(&["--classes"])["classes"].take();
    for class in classes.as_array_mut().unwrap() {
        let name = class["class"].as_str().unwrap();
        class["class"] = name.split(" (").next().unwrap().into();
    }
    compare(
        "SELECT class, hex(loader) AS loader, instance_count, shallow_bytes, least_retained_bytes FROM classes \
         WHERE instance_count > 0",
        &classes,
        &["class", "loader", "instance_count", "shallow_bytes", "least_retained_bytes"],
    );
    let instances = heap(&["--instances", "HeapMix$Order"]);
    compare(
        "SELECT hex(address) AS address, class, shallow_bytes, retained_bytes, reach, \
         hex(holder_address) AS holder_address FROM objects WHERE class = 'HeapMix$Order'",
        &instances["instances"],
        &["address", "class", "shallow_bytes", "retained_bytes", "reach", "holder_address"],
    );
    compare(
        "SELECT array_to_string(array_agg(DISTINCT kind), ', ') AS kinds, hex(address) AS address, \
         shallow_bytes, retained_bytes FROM roots GROUP BY address, shallow_bytes, retained_bytes",
        &heap(&["--roots"])["roots"],
        &["address", "shallow_bytes", "retained_bytes"],
    );
    compare(
        "SELECT name, hex(address) AS address, state, is_virtual, is_daemon, local_count, retained_bytes \
         FROM heap_threads",
        &heap(&["--threads"])["threads"],
        &["name", "address", "state", "is_virtual", "is_daemon", "local_count", "retained_bytes"],
    );
    let order = &instances["instances"][0]["address"].as_str().unwrap();
    compare(
        &format!(
            "SELECT CASE kind WHEN 'field' THEN '.' || field WHEN 'class' THEN 'its class' END AS place, \
             hex(refs.to) AS address, holds FROM refs WHERE refs.from = address('{order}')"
        ),
        &heap(&["--refs-of", order])["references"],
        &["place", "address", "holds"],
    );
    compare(
        &format!(
            "SELECT hex(refs.from) AS address, holds FROM refs WHERE hex(refs.to) = '{order}'"
        ),
        &heap(&["--refs-to", order])["referrers"],
        &["address", "holds"],
    );
}

#[test]
fn sums_of_objects_are_those_of_perk_heap() {
    let totals = heap(&["--classes"])["totals"].take();
    let sums = rows(
        "SELECT reach, count(*) AS count, sum(shallow_bytes) AS bytes FROM objects GROUP BY 1",
    );
    for (reach, name) in [
        ("held", "reachable"),
        ("softly reachable", "softly_reachable"),
        ("weakly reachable", "weakly_reachable"),
        ("finalizable", "finalizable"),
        ("unreachable", "unreachable"),
    ] {
        let sum = sums.iter().find(|row| row["reach"] == reach);
        let (count, bytes) =
            sum.map_or((0.into(), 0.into()), |it| (it["count"].clone(), it["bytes"].clone()));
        assert_eq!((&count, &bytes), (&totals[name]["count"], &totals[name]["bytes"]), "{reach}");
    }
    // Roots hold what nothing else holds alone.
    let top = rows(
        "SELECT sum(retained_bytes) AS bytes FROM objects WHERE reach = 'held' AND holder_address IS NULL",
    );
    assert_eq!(top[0]["bytes"], totals["reachable"]["bytes"]);
}

/// Number and bytes of objects by class, as the JVM counts them.
fn histogram(text: &str) -> BTreeMap<String, (u64, u64)> {
    let mut rows = BTreeMap::new();
    for line in text.lines() {
        let words: Vec<_> = line.split_ascii_whitespace().collect();
        let [rank, count, bytes, name, ..] = words[..] else { continue };
        if rank.ends_with(':') && rank != "num" {
            let name = match name {
                "[B" => "byte[]".to_owned(),
                "[Ljava.lang.Object;" => "java.lang.Object[]".to_owned(),
                name => name.to_owned(),
            };
            rows.insert(name, (count.parse().unwrap(), bytes.parse().unwrap()));
        }
    }
    rows
}

#[test]
fn counts_are_those_of_the_jvm() {
    let dumped = Dumped::get();
    let [before, after] = dumped.histograms.each_ref().map(|text| histogram(text));
    let count = |query: &str| {
        let rows = rows(query).into_iter();
        let row = |row: Value| {
            let number = |name: &str| row[name].as_u64().unwrap();
            (row["class"].as_str().unwrap().to_owned(), (number("n"), number("bytes")))
        };
        rows.map(row).collect::<BTreeMap<_, _>>()
    };
    let objects =
        count("SELECT class, count(*) AS n, sum(shallow_bytes) AS bytes FROM objects GROUP BY 1");
    let classes =
        count("SELECT class, sum(all_count) AS n, sum(all_bytes) AS bytes FROM classes GROUP BY 1");
    let mut equal = 0;
    for (class, of_jvm) in before.iter().filter(|it| after.get(it.0) == Some(it.1)) {
        let (Some(found), Some(of_class)) = (objects.get(class), classes.get(class)) else {
            continue;
        };
        assert_eq!(found, of_class, "{class}");
        // Jcmd itself makes some objects.
        if class.starts_with("HeapMix") || class.starts_with("java.util.HashMap") {
            assert_eq!(found, of_jvm, "{class}");
            equal += 1;
        }
    }
    assert!(equal >= 8, "{equal} classes");
    let arrays = count(
        "SELECT class, count(*) AS n, sum(shallow_bytes) AS bytes FROM arrays WHERE length >= 0 GROUP BY 1",
    );
    assert!(arrays.len() > 20);
    for (class, amount) in &arrays {
        assert_eq!(objects[class], *amount, "{class}");
    }
    assert!(objects.keys().all(|class| arrays.contains_key(class) == class.ends_with("[]")));
    let names = rows("SELECT name FROM heap_threads");
    let names: BTreeSet<_> =
        names.iter().map(|row| row["name"].as_str().unwrap().to_owned()).collect();
    let missing: Vec<_> = names.difference(&dumped.thread_names).collect();
    assert_eq!(missing, [] as [&String; 0], "{:?}", dumped.thread_names);
    assert!(names.contains("main"));
}

#[test]
fn fields_and_texts_are_those_of_the_objects() {
    let threads = rows(
        "SELECT name, text(field(address, 'name')) AS by_field, text(field(hex(address), 'name')) AS by_text, \
         field(address, 'tid') AS tid, field(address, 'nothing') AS nothing FROM heap_threads",
    );
    for row in &threads {
        assert_eq!((&row["by_field"], &row["by_text"]), (&row["name"], &row["name"]), "{row}");
        assert!(row["tid"].as_str().unwrap().parse::<u64>().unwrap() > 0, "{row}");
        assert_eq!(row["nothing"], Value::Null, "{row}");
    }
    let strings = rows(
        "SELECT count(*) AS n, count(text) AS texts, count(*) FILTER (WHERE text = text(address)) AS equal, \
         count(*) FILTER (WHERE text = 'main') > 0 AS has_main, \
         (SELECT all_count FROM classes WHERE class = 'java.lang.String') AS of_class FROM strings",
    );
    let row = &strings[0];
    assert_eq!(row["n"], row["of_class"], "{row}");
    assert_eq!(row["texts"], row["equal"], "{row}");
    assert_eq!(row["has_main"], true, "{row}");
    let one = rows(
        "SELECT text(1) AS a, field(address('0x1'), 'a') AS b, hex(address('0xff')) AS c, address('1') AS d",
    );
    assert_eq!(one[0], serde_json::json!({"a": null, "b": null, "c": "0xff", "d": null}));
    let path = Dumped::get().path();
    let both = rows_of(
        &[&path, &path],
        "SELECT recording, count(*) AS n FROM heap_threads \
         WHERE text(field(address, 'name', recording), recording) = name GROUP BY 1 ORDER BY 1",
    );
    assert_eq!(both.len(), 2, "{both:?}");
    assert_eq!(both[0]["n"], threads.len());
}

#[test]
fn a_file_can_have_a_profile_and_a_heap() {
    let file = workspace().join("testdata/hprof/all-b-alloc.hprof.gz");
    let query = "SELECT (SELECT count(*) FROM methods) AS methods, (SELECT count(*) FROM objects) AS objects, \
                 (SELECT count(*) FROM refs) AS refs, (SELECT count(*) FROM roots) AS roots";
    let packed = rows_of(&[&file], query);
    for name in ["methods", "objects", "refs", "roots"] {
        assert!(packed[0][name].as_u64().unwrap() > 2, "{packed:?}");
    }
    // Of a file that is not packed, objects are skipped while the profile is read.
    let folder = tempfile::tempdir().unwrap();
    let plain = folder.path().join("plain.hprof");
    let mut bytes = Vec::new();
    let mut unpacked = flate2::read::GzDecoder::new(std::fs::File::open(&file).unwrap());
    std::io::copy(&mut unpacked, &mut bytes).unwrap();
    std::fs::write(&plain, bytes).unwrap();
    assert_eq!(rows_of(&[&plain], query), packed);
    let metrics = "SELECT metric, unit, total, listed FROM metrics ORDER BY 1";
    assert_eq!(rows_of(&[&plain], metrics), rows_of(&[&file], metrics));
    let none =
        rows_of(&[&sample()], "SELECT count(*) AS n FROM objects JOIN classes USING (class)");
    assert_eq!(none[0]["n"], 0);
}

/// What a query over these files says: one line.
#[track_caller]
fn said(files: &[&Path], query: &str) -> String {
    let output = run(files, &[query]);
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.starts_with("perk: ") && said.lines().count() == 1, "{said}");
    said
}

#[test]
fn faults_of_heaps_are_one_line() {
    let path = &*Dumped::get().path();
    let of = |files: &[&Path], query: &str, part: &str| {
        let said = said(files, query);
        assert!(said.contains(part), "{query}: {said}");
    };
    of(&[&sample()], "SELECT text(1)", "no file has a heap dump");
    of(&[path, path], "SELECT text(1)", "give the number of the recording");
    of(&[path], "SELECT text(1, 7)", "recording 7 has no heap dump");
    of(&[path], "SELECT field(1) FROM objects", "field");
    // A dump of which nothing can be read.
    let folder = tempfile::tempdir().unwrap();
    let broken = folder.path().join("broken.hprof");
    let title = &b"JAVA PROFILE 1.0.2\0\0\0\0\x08\0\0\0\0\0\0\0\0"[..];
    let segment = &b"\x1C\0\0\0\0\0\0\0\x04wwww"[..];
    std::fs::write(&broken, [title, segment].concat()).unwrap();
    of(&[&broken], "SELECT count(*) FROM objects", "no sub-record of a heap dump has tag 0x77");
    assert_eq!(rows_of(&[&broken], "SELECT count(*) AS n FROM recordings")[0]["n"], 1);
    // A cut file has what is there, and says so.
    let cut = folder.path().join("cut.hprof");
    let bytes = std::fs::read(path).unwrap();
    std::fs::write(&cut, &bytes[..bytes.len() / 2]).unwrap();
    let output = run(&[&cut], &["SELECT count(*) > 1000 AS many FROM objects", "--json"]);
    assert_eq!(String::from_utf8_lossy(&output.stdout), "[{\"many\":true}]\n");
    assert!(String::from_utf8_lossy(&output.stderr).contains("cut off"), "{output:?}");
}
