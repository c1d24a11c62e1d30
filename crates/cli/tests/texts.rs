//! The results of `perk report` for the texts of old JVMs, and its output of harmful names.

use std::path::Path;

use crate::util::{Folder, stderr, stdout};

/// Returns the report on a file of testdata.
fn report(folder: &Folder, arguments: &[&str], name: &str) -> String {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata").join(name);
    let output = folder.run(&[&["report", file.to_str().unwrap()], arguments].concat());
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    stdout(&output)
}

fn json(folder: &Folder, name: &str) -> serde_json::Value {
    serde_json::from_str(&report(folder, &["--json"], name)).unwrap()
}

/// The shares of an excerpt are its own, and the live bytes are at most the allocated bytes.
#[test]
fn sites_have_the_shares_of_their_file() {
    let folder = Folder::new();
    let name = "hprof/seeds/manual5-sites.txt";
    let text = report(&folder, &["--all"], name);
    let total = "HPROF text, 4 sites with 63.31 % of the live bytes: 1.6 MB allocated in 27936 \
                 objects, 1.6 MB live in 27936 objects\n";
    assert!(text.contains(total), "{text}");
    let row = "1   44.13    1.1 MB         13967     1.1 MB    13967  java.util.zip.ZipEntry\n";
    assert!(text.contains(row), "{text}");
    assert!(text.contains("#  live %      live  live objects  allocated  objects  class\n"));
    assert!(
        text.contains(" 1   44.1 %  of 2.5 MB live: java.util.zip.ZipFile+3.nextElement\n"),
        "{text}"
    );
    let by_allocated = report(&folder, &["--all", "--metric", "allocated"], name);
    let condition = "shares of allocated bytes are of the 4 sites with 63.31 % of the live bytes \
                     that the file lists\n";
    assert!(by_allocated.contains(condition), "{by_allocated}");
    let json = json(&folder, name);
    let objects = &json["allocations"];
    assert_eq!(objects["is_partial"], true);
    assert_eq!(objects["live_bytes"], objects["allocated_bytes"]);
    assert!(objects["all_live_bytes"].as_u64().unwrap() > 2_500_000);
}

/// If all sites are below the cutoff, the allocations are not known.
#[test]
fn sites_without_rows_are_no_zero() {
    let folder = Folder::new();
    folder.file("a.txt", "SITES BEGIN (ordered by live bytes) x\nSITES END\n");
    let text = stdout(&folder.run(&["report", "a.txt"]));
    assert_eq!(text, "a.txt: HPROF text, no allocation sites listed\n");
}

/// The numbers that a file does not give are missing in every output.
#[test]
fn what_is_not_known_is_no_zero() {
    let folder = Folder::new();
    let left = "hprof/seeds/book-prof-four-tables.prof";
    let text = report(&folder, &["--all"], left);
    assert!(text.contains("; 46.2 kB live in 401 objects\n"), "{text}");
    assert!(text.contains("Top classes by live bytes\n#  live %     live  live objects  class\n"));
    assert!(text.contains("114 kB          1174          -        -  -\n"), "{text}");
    assert!(!text.contains("0 B"), "{text}");
    let json = json(&folder, left);
    assert!(json["allocations"]["allocated_bytes"].is_null());
    assert!(json["heap_summaries"][0]["allocated_bytes"].is_null(), "{json}");
    let csv = report(&folder, &["--classes", "--csv"], left);
    assert!(csv.contains("\nbyte[],,,19200,5\n"), "{csv}");
    // A JFR recording has allocations and their sites, but not the live objects.
    let recording = "jfr/jdk17.jfr.gz";
    let text = report(&folder, &["--all", "--top", "1"], recording);
    assert!(text.contains(" MB allocated") && !text.contains(" live in "), "{text}");
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata").join(recording);
    folder.run(&["convert", file.to_str().unwrap(), "-o", "a.hprof"]);
    let again = stdout(&folder.run(&["report", "--all", "a.hprof", "--top", "1"]));
    assert!(again.contains(" MB allocated") && !again.contains(" live in "), "{again}");
}

/// Times of threads and of the program are not added up. Ticks of the JVM are below no cutoff. A
/// method with ticks in native code does not call itself.
#[test]
fn the_tables_of_xprof_are_reported() {
    let folder = Folder::new();
    let text = report(&folder, &["--all"], "xprof/threads.txt");
    assert!(text.contains("-Xprof text, 337 samples; 129 native-ticks\n"), "{text}");
    let numbers = "
Metrics without call paths
  total  metric
26.63 s  thread-elapsed
        9.03 s of thread main
        8.81 s of thread Wörker #1
        8.79 s of thread Wörker #1
 9.03 s  program-elapsed
    126  received-ticks
      2  received-ticks: Received GC ticks
     44  received-ticks: Compilation
      1  received-ticks: Other VM operations
     10  received-ticks: Class loader
";
    assert!(text.contains(numbers), "{text}");
    assert!(!text.contains("cutoff") && !text.contains("[no stack]"), "{text}");
    let tree = report(&folder, &["--tree"], "xprof/long.txt");
    assert!(tree.contains("  91.85    169   169  LongRun.busy\n"), "{tree}");
    assert!(!tree.contains("recursive"), "{tree}");
}

/// A name may contain any characters: dangerous ones never reach a terminal, a spreadsheet or a
/// page unchanged.
#[test]
fn names_do_no_harm() {
    let folder = Folder::new();
    let name = "a\u{1b}[31m\u{202e}.collapsed";
    folder.file(name, "T.main;=cmd()|x 3\nT.main;@\u{202e}gnp.exe 2\nT.main;T.\u{1b}[2J 1\n");
    let harms = |text: &str| text.contains(['\u{1b}', '\u{202e}']);
    for arguments in [
        &["report", name][..],
        &["report", name, "--csv"],
        &["report", name, "--tree"],
        &["report", name, "--edges", "--csv"],
        &["diff", name, name],
        &["report", "none\u{1b}[31m.txt"],
        &["convert", name, "-o", "x.none\u{1b}"],
        &["convert", name, "-o", "a.svg"],
    ] {
        let output = folder.run(arguments);
        let (out, err) = (stdout(&output), stderr(&output));
        assert!(!harms(&out) && !harms(&err), "{arguments:?}: {out:?} {err:?}");
    }
    let text = stdout(&folder.run(&["report", name]));
    assert!(text.starts_with("a\\u{1b}[31m\\u{202e}.collapsed: "), "{text}");
    let csv = stdout(&folder.run(&["report", name, "--csv"]));
    assert!(csv.contains("\nsamples,'=cmd()|x,"), "{csv}");
    assert!(csv.contains(",3,50.00,3,50.00\n"), "{csv}");
    let picture = std::fs::read_to_string(folder.join("a.svg")).unwrap();
    assert!(!harms(&picture), "{picture}");
    let refused = stderr(&folder.run(&["report", "none\u{1b}[31m.txt"]));
    assert!(refused.contains("none\\u{1b}[31m.txt"), "{refused}");
}

#[test]
fn sums_that_stop_are_reported() {
    let folder = Folder::new();
    let most = u64::MAX;
    folder.file(
        "a.txt",
        format!(
            "SITES BEGIN (ordered by live bytes) x\n\
             1 50.00% 50.00% {most} 1 {most} 1 1 A\n2 50.00% 100.00% {most} 1 {most} 1 1 B\n\
             SITES END\n"
        ),
    );
    let said = stderr(&folder.run(&["report", "a.txt"]));
    assert!(said.contains("the sum of the allocated bytes stops at 2^64 - 1"), "{said}");
}
