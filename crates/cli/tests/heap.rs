//! Heap dumps in `perk report` and `perk convert`.

mod inputs;
mod loaders;
mod objects;
mod views;

use std::fs;
use std::process::Command;

use perk_testkit::{Jdk, fixture, jdk};

use crate::util::{Folder, assert_refused, stderr, stdout};

/// A folder with the dump that a program makes of itself.
fn dumped(jdk: &Jdk, program: &[&str]) -> Folder {
    let folder = Folder::new();
    let output = Command::new(jdk.java())
        .args(["-Xmx64m", "-XX:+UseSerialGC", "-cp"])
        .arg(fixture::fixtures())
        .args(program)
        .current_dir(folder.path())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    folder
}

/// Makes a dump with allocation traces, and other measurements, of a program.
fn measured(folder: &Folder, options: &[&str], file: &str, program: &[&str]) {
    let mut perk = folder.perk();
    perk.args(["run", "-q", "--heap", "all", "-o", file]).args(options).arg("--");
    perk.arg(jdk::compiler().java()).arg("-cp").arg(fixture::fixtures()).args(program);
    let output = perk.output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
}

/// Makes a record of a file with ids of four bytes.
fn record(tag: u8, body: &[u8]) -> Vec<u8> {
    let mut record = vec![tag, 0, 0, 0, 0];
    record.extend((body.len() as u32).to_be_bytes());
    record.extend(body);
    record
}

fn u4(number: u32) -> [u8; 4] {
    number.to_be_bytes()
}

/// Makes a file of two dumps.
pub(crate) fn dump() -> Vec<u8> {
    dumps(2)
}

/// Makes the first `count` of two dumps: of three instances of `a.B` and an array of 100 bytes, and of that array alone.
/// Their ids are not addresses.
pub(crate) fn dumps(count: usize) -> Vec<u8> {
    let mut file = b"JAVA PROFILE 1.0.2\0\0\0\0\x04\0\0\0\0\0\0\0\0".to_vec();
    file.extend(record(0x01, &[&u4(7)[..], b"a/B"].concat()));
    file.extend(record(0x02, &[u4(1), u4(3), u4(0), u4(7)].concat()));
    let class = [&[0x20][..], &u4(3), &[0; 32], &[0, 0, 0, 0, 0, 1], &u4(7), &[11]].concat();
    let instance = |id| [&[0x21][..], &u4(id), &u4(0), &u4(3), &u4(8), &[0; 8]].concat();
    let array = [&[0x23][..], &u4(19), &u4(0), &u4(100), &[8], &[0; 100]].concat();
    let root = [&[0x05][..], &u4(3)].concat();
    let first = [class, instance(11), instance(12), instance(13), array.clone(), root].concat();
    for dump in [first, array].into_iter().take(count) {
        file.extend(record(0x1C, &dump));
        file.extend(record(0x2C, &[]));
    }
    file
}

const TABLE: &str = "\
Heap dump 1 of 2: 4 objects = 192 B of 2 classes
#  bytes %  bytes  objects  class
1    62.50  120 B        1  byte[]
2    37.50   72 B        3  a.B
Roots: 1 system class
Sizes: headers of 12, references of 4, multiples of 8 bytes (assumed)

Heap dump 2 of 2: 1 object = 120 B of 1 class
#  bytes %  bytes  objects  class
1   100.00  120 B        1  byte[]
Sizes: headers of 12, references of 4, multiples of 8 bytes (assumed)
perk heap shows what holds these objects
";

#[test]
fn a_heap_dump_is_shown_by_class() {
    let folder = Folder::new();
    folder.file("two.hprof", dump());
    for arguments in [&["report", "--all", "two.hprof"][..], &["report", "--classes", "two.hprof"]]
    {
        let output = folder.run(arguments);
        assert_eq!((output.status.code(), stderr(&output).as_str()), (Some(0), ""));
        let title = "two.hprof: HPROF binary, 2 heap dumps, the last of 1 object = 120 B\n\n";
        assert_eq!(stdout(&output), format!("{title}{TABLE}"));
    }
}

#[test]
fn json_has_all_of_a_heap_dump() {
    let folder = Folder::new();
    folder.file("two.hprof", dump());
    let output = folder.run(&["report", "--json", "two.hprof"]);
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let first = &report["heap_dumps"][0];
    assert_eq!((&first["object_count"], &first["object_bytes"]), (&4.into(), &192.into()));
    assert_eq!(first["is_cut"], false);
    assert_eq!(first["layout"]["is_inferred"], false);
    assert_eq!(first["roots"], serde_json::json!([{"kind": "system class", "count": 1}]));
    assert_eq!(
        first["classes"][1],
        serde_json::json!({"class": "a.B", "instance_count": 3, "shallow_bytes": 72})
    );
}

/// The form of each dump is one that heap dumps come in.
#[test]
fn heap_dumps_alone_are_neither_converted_nor_browsed() {
    let folder = Folder::new();
    folder.file("two.hprof", dump());
    folder.file("two.hprof.gz", inputs::gzip(&dump()));
    let text = inputs::text_dump();
    let text = fs::read(text).unwrap();
    folder.file("text.txt.gz", text);
    let files = folder.names();
    for file in &files {
        let has = format!("{file} has only heap dumps");
        let parts = [&*has, "perk heap shows what holds", "perk report their classes"];
        for form in perk_formats::FORMATS.into_iter().filter(|form| form.is_written()) {
            let target = format!("new.{}", form.ending());
            let output = folder.run(&["convert", file, "-o", &target]);
            assert_eq!(output.status.code(), Some(2), "{target}: {}", stderr(&output));
            let said = stderr(&output);
            assert!(parts.iter().all(|part| said.contains(part)), "{target}: {said}");
        }
        let output = folder.run(&["convert", file, "-o", "-", "--output-format", "collapsed"]);
        assert!(stderr(&output).contains("cannot write stdout: "), "{}", stderr(&output));
        let output = folder.run(&["view", file]);
        assert_eq!((output.status.code(), stdout(&output).as_str()), (Some(2), ""));
        let said = stderr(&output);
        assert!(parts.iter().all(|part| said.contains(part)), "{said}");
        let output = folder.run(&["diff", file, file, "-o", "new.html"]);
        assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
        assert!(stderr(&output).contains("heap dumps are compared by class, without -o"));
        let output = folder.run(&["diff", file, file]);
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        assert!(stdout(&output).contains("\nheap "), "{}", stdout(&output));
    }
    assert_eq!(folder.names(), files);
}

#[test]
fn what_other_forms_have_no_place_for_is_named() {
    let folder = Folder::new();
    let program = ["HeldObjects", "d.hprof", "true"];
    measured(&folder, &["--cpu", "samples"], "x.hprof", &program);
    let objects = |file: &str| folder.run(&["heap", "--biggest", file]);
    assert_eq!(objects("x.hprof").status.code(), Some(0));
    for form in perk_formats::FORMATS.into_iter().filter(|form| form.is_written()) {
        let target = format!("y.{}", form.ending());
        let output = folder.run(&["convert", "x.hprof", "-o", &target]);
        let said = stderr(&output);
        if !output.status.success() {
            // A form of another kind of measurement.
            assert!(
                said.contains("cannot write y.") && !folder.names().contains(&target),
                "{said}"
            );
            continue;
        }
        let notes = ["heap dumps keep only the sums by class", "heap dumps by class"];
        assert_eq!(
            notes.iter().filter(|note| said.contains(**note)).count(),
            1,
            "{target}: {said}"
        );
        let refused = objects(&target);
        assert_eq!((refused.status.code(), stdout(&refused).as_str()), (Some(2), ""), "{target}");
    }
    assert!(folder.names().len() > 6, "{:?}", folder.names());
}

#[test]
fn dumps_one_behind_the_other_are_all_shown() {
    let folder = Folder::new();
    let dump = dump();
    folder.file("two.hprof", [&dump[..], &dump].concat());
    let output = folder.run(&["report", "--all", "two.hprof"]);
    assert_eq!(output.status.code(), Some(0));
    let note = format!("offset {}: another file begins, and is read, too", dump.len());
    assert!(stderr(&output).contains(&note), "{}", stderr(&output));
    assert!(stdout(&output).contains("4 heap dumps, the last of 1 object"), "{}", stdout(&output));
    assert!(stdout(&output).contains("Heap dump 3 of 4: 4 objects"), "{}", stdout(&output));
}

#[test]
fn a_dump_of_nothing_that_is_known_is_an_error() {
    let folder = Folder::new();
    let head = b"JAVA PROFILE 1.0.2\0\0\0\0\x04\0\0\0\0\0\0\0\0";
    folder.file("a.hprof", [&head[..], &record(0x1C, &[0x66; 9]), &record(0x2C, &[])].concat());
    let output = folder.run(&["report", "a.hprof"]);
    assert_refused(&output, &["offset 40: no sub-record of a heap dump has tag 0x66"]);
}

/// The existing part of a file is shown, and stderr reports the missing part.
#[test]
fn a_heap_dump_that_is_cut_off_is_shown_as_far_as_it_goes() {
    let folder = Folder::new();
    let dump = dump();
    folder.file("cut.hprof", &dump[..dump.len() - 200]);
    let output = folder.run(&["report", "cut.hprof"]);
    assert_eq!(output.status.code(), Some(0));
    assert!(stderr(&output).contains("the file is cut off in"), "{}", stderr(&output));
    let text = stdout(&output);
    assert!(text.contains("; the file is cut off, more objects are missing\n"), "{text}");
}
