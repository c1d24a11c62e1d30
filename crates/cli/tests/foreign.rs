//! `perk report` and `perk convert` on profiles of other tools.

use std::path::Path;

use crate::util::{Folder, stderr, stdout};

/// Returns the path of a file of testdata.
pub(crate) fn testdata(name: &str) -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata").join(name).display().to_string()
}

#[test]
fn shared_fields_are_reported() {
    let folder = Folder::new();
    let output = folder.run(&["report", "--all", &testdata("shared-fields/seed.tsv")]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let text = stdout(&output);
    assert!(text.contains("shared fields, 2 objects, 0 of them shared between threads"), "{text}");
    assert!(text.contains("char[]: int $arraylength"), "{text}");
    assert!(
        text.contains("char[]\n        made at java.util.Arrays.copyOf(char[], int) @2"),
        "{text}"
    );
    let csv = stdout(&folder.run(&["report", "--csv", &testdata("shared-fields/seed.tsv")]));
    assert_eq!(csv.lines().count(), 1 + 12, "{csv}");
    assert!(csv.contains("char[],[C,$components,?,,1,0,1,0,0,0,0,0,53,0,0\n"), "{csv}");
    let output = folder.run(&["report", "--json", &testdata("shared-fields/seed.tsv")]);
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let objects = json["field_accesses"]["objects"].as_array().unwrap();
    assert_eq!(objects.len(), 2);
    assert_eq!(objects[0]["fields"].as_array().unwrap().len(), 10);
    assert_eq!(objects[0]["fields"][2]["owner_read_count"], 6);
}

/// Field accesses by the method that allocated the object, class and field.
#[test]
fn field_accesses_are_a_metric_by_allocation_site() {
    let folder = Folder::new();
    let seed = testdata("shared-fields/seed.tsv");
    let collapsed = |arguments: &[&str]| {
        let output =
            folder.run(&[arguments, &["--output-format", "collapsed", "-o", "-"]].concat());
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        stdout(&output)
    };
    let text = collapsed(&["convert", &seed]);
    assert!(text.contains("java.util.Arrays.copyOf;char[];$components 53\n"), "{text}");
    assert!(text.contains("java.nio.ByteBuffer.wrap;java.nio.HeapByteBuffer;hb 7\n"), "{text}");
    let count = |line: &str| line.rsplit(' ').next().unwrap().parse::<u64>().unwrap();
    assert_eq!(text.lines().map(count).sum::<u64>(), 146);
    assert_eq!(folder.run(&["convert", &seed, "-o", "a.hprof"]).status.code(), Some(0));
    assert_eq!(collapsed(&["convert", "a.hprof", "--metric", "accesses"]), text);
    assert_eq!(folder.run(&["convert", &seed, "-o", "a.html"]).status.code(), Some(0));
    let page = std::fs::read_to_string(folder.join("a.html")).unwrap();
    assert!(page.contains("\"accesses\"") && page.contains("HeapByteBuffer"), "{page:.200}");
    // All accesses of the file are of the threads that allocated the objects.
    let output = folder.run(&["convert", &seed, "--metric", "shared_accesses", "-o", "b.html"]);
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
}

#[test]
fn jamaica_is_reported_and_converted() {
    let folder = Folder::new();
    let file = testdata("jamaica/seed.prof");
    let output = folder.run(&["convert", &file, "-o", "a.jamaica"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let output = folder.run(&["convert", "a.jamaica", "-o", "b.prof"]);
    assert_eq!((output.status.code(), &*stderr(&output)), (Some(0), ""), "not as cpu=old");
    let [a, b] = ["a.jamaica", "b.prof"].map(|name| std::fs::read(folder.join(name)).unwrap());
    assert!(a == b, "{}", String::from_utf8_lossy(&b));
    let output = folder.run(&[
        "convert",
        &file,
        "--metric",
        "cycles",
        "--output-format",
        "collapsed",
        "-o",
        "-",
    ]);
    assert!(stdout(&output).contains("java.io.PrintStream.println "), "{}", stdout(&output));
    let output = folder.run(&["convert", &file, "--output-format", "collapsed", "-o", "-"]);
    let total: u64 = stdout(&output)
        .lines()
        .map(|line| line.rsplit(' ').next().unwrap().parse::<u64>().unwrap())
        .sum();
    assert_eq!(total, 58_526_278);
}

/// Their functions say neither whose they are nor what they wait for.
#[test]
fn profiles_of_other_languages_begin_with_the_top_functions() {
    let folder = Folder::new();
    let stack = |caller: &str| {
        format!("n 1 1.000001: 1 cpu-clock:\n\t1 hot (/bin/n)\n\t2 {caller} (/bin/n)\n\n")
    };
    folder.file("n.perf", stack("main").repeat(2) + &stack("other"));
    let go = testdata("pprof/cpu.pb.gz");
    for (file, first) in [("n.perf", "100.00     3"), (&*go, "25.76    17")] {
        let output = folder.run(&["report", file]);
        let text = stdout(&output);
        let mut lines = text.lines().skip(1).skip_while(|line| line.is_empty());
        assert_eq!(lines.next(), Some("Top functions by self"), "{text}");
        assert!(lines.nth(1).is_some_and(|line| line.contains(first)), "{text}");
        assert!(!text.contains("What limits") && !text.contains("your code"), "{text}");
    }
}
