//! `perk report --source`: the numbers of each line beside the source, and the lines that never ran.

use perk_testkit::{fixture, jdk};

use crate::util::{Folder, assert_refused, stderr, stdout};

/// Line 4 runs once, line 5 five times, line 6 in part, line 9 never.
const MAIN: &str = "package com.acme;\r
public class Main {\r
\tpublic static void main(String[] args) {\r
\t\tint sum = 0;\r
\t\tfor (int i = 0; i < 4; i++)\r
\t\t\tsum += i > 9 ? i : 1; // \u{e9}\r
\t}\r
\tstatic void never() {\r
\t\tnew Main();\r
\t}\r
}\r
";

/// The counts of [`MAIN`], of a class without a source, and of a method without lines.
const PROFILE: &str = "\
PROFILE: 60 (60%)   com/acme/Main.main([Ljava/lang/String;)V
PROFILE_LINES: 60 com/acme/Main.main([Ljava/lang/String;)V Main.java 4:2:1:2/2 5:25:5:6/6 6:32:4:6/8 7:1:1:1/1
PROFILE: 0 (0%)     com/acme/Main.never()V
PROFILE_LINES: 0 com/acme/Main.never()V Main.java 9:0:0:0/4 10:0:0:0/1
PROFILE: 30 (30%)   java/util/A.f()V
PROFILE_LINES: 30 java/util/A.f()V A.java 7:30:3:9/10
PROFILE: 10 (10%)   com/acme/Main.bare()V
";

#[track_caller]
fn report(folder: &Folder, arguments: &[&str]) -> String {
    let output = folder.run(&[&["report"], arguments].concat());
    assert_eq!((output.status.code(), stderr(&output).as_str()), (Some(0), ""));
    stdout(&output)
}

pub(crate) fn acme() -> Folder {
    let folder = Folder::new();
    folder.file("Main.prof", PROFILE);
    folder.file("src/com/acme/Main.java", MAIN);
    folder
}

#[test]
fn lines_stand_beside_their_numbers() {
    let text = report(&acme(), &["--source", "src", "Main.prof"]);
    let expected = "\
Source files: bytecodes
1 file with 60.00 % of bytecodes: 4 of 6 lines run (66.67 %), 1 of them in part; 1 of 2 methods run (50.00 %)
no source of 1 file with 30.00 % of bytecodes: java/util/A.java
10.00 % of bytecodes have no source line
#  self %  self  lines run %  lines  run  in part  never run  file
1   60.00    60        66.67      6    4        1          2  src/com/acme/Main.java

src/com/acme/Main.java: 60.00 % of bytecodes, 4 of 6 lines run (66.67 %)
self %  self  executions  never run  line  source
                                        1  package com.acme;
                                        2  public class Main {
                                        3      public static void main(String[] args) {
  2.00     2           1                4          int sum = 0;
 25.00    25           5                5          for (int i = 0; i < 4; i++)
 32.00    32           4     2 of 8     6              sum += i > 9 ? i : 1; // \u{e9}
  1.00     1           1                7      }
                                        8      static void never() {
                       0      all 4     9          new Main();
                       0      all 1    10      }
                                       11  }
";
    assert!(text.ends_with(&format!("\n\n{expected}")), "{text}");
}

#[test]
fn programs_get_lines_with_all_numbers() {
    let folder = acme();
    let csv = report(&folder, &["--source", "src", "--csv", "Main.prof"]);
    let expected = "\
metric,path,file,line,self_count,self_percent,total_count,total_percent,execution_count,\
instruction_count,instruction_run_count,source
bytecodes,src/com/acme/Main.java,com/acme/Main.java,4,2,2.00,2,2.00,1,2,2,\\t\\tint sum = 0;
";
    assert!(csv.starts_with(expected), "{csv}");
    assert_eq!(csv.lines().count(), 7);
    assert!(csv.contains("Main.java,9,0,0.00,0,0.00,0,4,0,"), "{csv}");
    let json = report(&folder, &["--source", "src", "--json", "Main.prof"]);
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    let source = &json["source"];
    assert_eq!((&source["metric"], &source["total"]), (&"bytecodes".into(), &100.into()));
    let file = &source["files"][0];
    assert_eq!(file["path"], "src/com/acme/Main.java");
    assert_eq!((&file["line_count"], &file["line_run_count"]), (&6.into(), &4.into()));
    assert_eq!((&file["method_count"], &file["method_run_count"]), (&2.into(), &1.into()));
    assert_eq!(file["odd_line_count"], 0);
    let lines = file["lines"].as_array().unwrap();
    let of_sixth = serde_json::json!({"line": 6, "self": 32, "self_percent": 32.0,
        "total": 32, "total_percent": 32.0, "execution_count": 4,
        "instruction_count": 8, "instruction_run_count": 6,
        "source": "\t\t\tsum += i > 9 ? i : 1; // \u{e9}"});
    assert_eq!((lines.len(), &lines[2]), (6, &of_sixth));
    let missing =
        serde_json::json!([{"self": 30, "self_percent": 30.0, "file": "java/util/A.java"}]);
    assert_eq!(source["missing"], missing);
}

/// Each folder that a build tool or a person may name leads to the file.
#[test]
fn files_are_found_by_package_and_name() {
    let folder = acme();
    folder.file("many/one/src/main/java/org/acme/Main.java", "package org.acme;\n");
    folder.file("many/.git/com/acme/Main.java", MAIN);
    folder.file("many/two/src/main/java/com/acme/Main.java", MAIN);
    // Kotlin leaves out folders that all packages have in common.
    folder.file("flat/Main.java", MAIN);
    folder.file("flat/test/Main.java", "/* package com.acme; */ package com;\n");
    for (dir, path) in [
        ("src", "src/com/acme/Main.java"),
        ("src/com", "src/com/acme/Main.java"),
        ("src/com/acme/", "src/com/acme/Main.java"),
        ("many", "many/two/src/main/java/com/acme/Main.java"),
        ("flat", "flat/Main.java"),
    ] {
        let text = report(&folder, &["--source", dir, "Main.prof"]);
        assert!(text.contains(&format!("\n{path}: 60.00 % of bytecodes")), "{dir}: {text}");
    }
    folder.file("lib/java/util/A.java", "\n\n\n\n\n\nf();\n");
    let both = ["--source", "lib", "--source", "src", "--source", "src/com", "Main.prof"];
    let text = report(&folder, &both);
    assert!(text.contains("\n2 files with 90.00 % of bytecodes: 5 of 7 lines run"), "{text}");
    assert!(!text.contains("no source of"), "{text}");
    let text = report(&folder, &["--source", "many", "--source", "src", "Main.prof"]);
    let note = "\nseveral sources fit, the first by path is taken: \
                many/two/src/main/java/com/acme/Main.java (1 file)\n";
    assert!(text.contains(note), "{text}");
}

#[test]
fn without_any_source_there_is_one_line() {
    let folder = acme();
    folder.file("other/Main.java", "package org.acme;\n");
    for form in [None, Some("--csv"), Some("--json")] {
        let arguments = ["report", "--source", "other", "Main.prof"].into_iter().chain(form);
        let output = folder.run(&arguments.collect::<Vec<_>>());
        let line = "perk: Main.prof has 2 source files, and --source has none of them: \
                    com/acme/Main.java, java/util/A.java\n";
        assert_eq!(
            (output.status.code(), stderr(&output).as_str(), stdout(&output).as_str()),
            (Some(1), line, "")
        );
    }
    folder.file("p.collapsed", "T.main 3\n");
    let output = folder.run(&["report", "--source", "src", "p.collapsed"]);
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(stderr(&output), "perk: p.collapsed has no line numbers\n");
    assert_refused(
        &folder.run(&["report", "--source", "none", "Main.prof"]),
        &["--source none: cannot read it", "No such file"],
    );
    assert_refused(
        &folder.run(&["report", "--source", "Main.prof", "Main.prof"]),
        &["--source Main.prof", "not a folder"],
    );
    assert_refused(&folder.run(&["report", "--whole", "Main.prof"]), &["--source"]);
}

#[test]
fn another_source_is_reported() {
    let folder = acme();
    folder.file("src/com/acme/Main.java", b"package com.acme;\n\n\n\nclass Main {\n\xff}\n");
    let text = report(&folder, &["--source", "src", "Main.prof"]);
    let line = "not the source of these classes, as lines with numbers are blank or after the end: \
                src/com/acme/Main.java (1 file)\n";
    assert!(text.contains(line), "{text}");
    let legend = "(66.67 %)\nNot the source of these classes: lines with numbers are blank in it or \
                  after its end.\nself %";
    assert!(text.contains(legend), "{text}");
    folder
        .file("src/com/acme/Main.java", b"package com.acme;\n\n\n/*\xff*/\n5\n6\n7\n8\n9\n\x1b[2J");
    let text = report(&folder, &["--source", "src", "Main.prof"]);
    assert!(!text.contains("not the source"), "{text}");
    assert!(text.contains(" 4  /*\u{fffd}*/\n") && text.contains(" 10  \\u{1b}[2J\n"), "{text}");
}

#[test]
fn filters_and_other_metrics_apply() {
    let folder = acme();
    let text = report(&folder, &["--source", "src", "--focus", "never", "Main.prof"]);
    let fact = "\nSource files: bytecodes\n1 file with 0.00 % of bytecodes: 0 of 2 lines run (0.00 %), \
                0 of them in part; 0 of 1 method run (0.00 %)\n";
    assert!(text.contains(fact), "{text}");
    let output = folder.run(&["report", "--source", "src", "--ignore", "*", "Main.prof"]);
    assert_eq!(stderr(&output), "perk: Main.prof has no numbers that pass the filter\n");
    let arrays = "PROFILE_NEWARRAY: 64 @ 9 A.f()V\n";
    folder.file("arrays.prof", format!("{PROFILE}{arrays}"));
    let output =
        folder.run(&["report", "--source", "src", "--metric", "array allocations", "arrays.prof"]);
    assert_eq!(stderr(&output), "perk: arrays.prof has no line numbers for this metric\n");
    let output = folder.run(&["report", "--source", "src", "--ignore", "com.acme.*", "Main.prof"]);
    assert!(stderr(&output).ends_with("has none of them: java/util/A.java\n"));
    let stacks = "\
CPU SAMPLES BEGIN (total = 10) Mon Nov 23 12:00:00 2026\n\
rank   self  accum   count trace method\n   \
1 70.00% 70.00%       7 300001 com.acme.Main.never\n   \
2 30.00% 100.00%       3 300002 com.acme.Main.main\nCPU SAMPLES END\n";
    let traces = "JAVA PROFILE 1.0.1\nTRACE 300001:\n\tcom.acme.Main.never(Main.java:9)\n\
                  \tcom.acme.Main.main(Main.java:6)\nTRACE 300002:\n\tcom.acme.Main.main(Main.java:6)\n";
    folder.file("p.txt", format!("{traces}{stacks}"));
    let text = report(&folder, &["--source", "src", "p.txt"]);
    let expected = "\
self %  self  total %  total  line  source
                                 1  package com.acme;
                                 2  public class Main {
                                 3      public static void main(String[] args) {
                                 4          int sum = 0;
                                 5          for (int i = 0; i < 4; i++)
 30.00     3   100.00     10     6              sum += i > 9 ? i : 1; // \u{e9}
                                 7      }
                                 8      static void never() {
 70.00     7    70.00      7     9          new Main();
                                10      }
                                11  }
";
    assert!(text.ends_with(expected), "{text}");
    assert!(text.contains("\n1 file with 100.00 % of samples\n#  self %  self  file\n"), "{text}");
}

/// Only the interesting ranges of long files are shown, and only some files.
#[test]
fn long_files_are_cut() {
    let folder = Folder::new();
    let (mut profile, blank) = (String::new(), "// \n".repeat(99));
    for class in 1..=7 {
        let source = format!("C{class}.java");
        let lines = format!("50:{class}0:1:1/1 90:0:0:0/3");
        profile += &format!("PROFILE: {class}0 (0%) C{class}.f()V\n");
        profile += &format!("PROFILE_LINES: {class}0 C{class}.f()V {source} {lines}\n");
        folder.file(&source, &blank);
    }
    folder.file("p.prof", profile);
    let text = report(&folder, &["--source", ".", "p.prof"]);
    let expected = "\
                                           … 47 lines
                                       48  // 
                                       49  // 
 25.00    70           1               50  // 
                                       51  // 
                                       52  // 
                                           … 35 lines
                                       88  // 
                                       89  // 
                       0      all 3    90  // 
                                       91  // 
                                       92  // 
                                           … 7 lines

";
    assert!(text.contains(expected), "{text}");
    assert!(text.contains("./C3.java: ") && !text.contains("./C2.java: "), "{text}");
    assert!(text.ends_with("\nand 2 more files (--top)\n"), "{text}");
    let text = report(&folder, &["--source", ".", "--whole", "--top", "1", "p.prof"]);
    assert!(!text.contains('…'), "{text}");
    assert_eq!(text.lines().filter(|line| line.ends_with("  // ")).count(), 99);
}

#[test]
fn the_page_has_all_sources() {
    let folder = acme();
    let text = report(&folder, &["--source", "src", "-o", "x.html", "Main.prof"]);
    assert_eq!(text, "");
    let html = std::fs::read_to_string(folder.join("x.html")).unwrap();
    assert!(html.contains("<title>Main.prof</title>"), "{html:.500}");
    assert!(html.contains("no source of 1 file with 30.00 % of bytecodes"), "{html}");
    let file = r#""path":"src/com/acme/Main.java","name":"com/acme/Main.java","share":60.0"#;
    assert!(html.contains(file), "{html}");
    assert!(html.contains(r#""executions":[1,5,4,1,0,0]"#), "{html}");
    for (arguments, part) in [
        (&["--source", "src", "-o", "x.txt"][..], "x.txt: perk writes source files as .html"),
        (&["--source", "src", "-o", "none/x.html"], "cannot write none/x.html"),
        (&["-o", "x.html"], "--source"),
        (&["--source", "src", "-o", "x.html", "--csv"], "--csv"),
    ] {
        let output = folder.run(&[&["report", "Main.prof"], arguments].concat());
        assert_refused(&output, &[part]);
    }
}

/// `--lines` needs no sources.
#[test]
fn lines_have_their_executions() {
    let folder = acme();
    let text = report(&folder, &["--lines", "--top", "2", "Main.prof"]);
    let expected = "\
Top lines by self: bytecodes
#  self %  self  total %  total  executions  never run  line
1   32.00    32    32.00     32           4     2 of 8  com.acme.Main.main (Main.java:6)
2   30.00    30    30.00     30           3    1 of 10  java.util.A.f (A.java:7)
";
    assert!(text.ends_with(&format!("\n\n{expected}")), "{text}");
    let csv = report(&folder, &["--lines", "--csv", "Main.prof"]);
    let row = "bytecodes,com.acme.Main.bare()V,com.acme.Main,bare,()V,,,10,10.00,10,10.00,,,\n";
    assert!(
        csv.contains("total_percent,execution_count,instruction_count,instruction_run_count\n")
    );
    assert!(csv.contains(row) && csv.contains(",30,30.00,3,10,9\n"), "{csv}");
}

/// A program whose lines run as often as [`LINES_RUN`] says.
const LINES: &str = "\
package acme;
public class Lines {
    interface Op { int apply(int x); }
    final int base = 2;
    static int hits;
    Lines() {}
    Lines(int n) {
        for (int i = 0; i < n; i++)
            if (i % 3 == 0)
                hits += i > 1000 ? 7 : base;
    }
    static int thrown(Object o) {
        return o.hashCode()
            + 1;
    }
    static int dead(int x) {
        return x;
    }
    static void loop(Op op) {
        for (int i = 0; i < 5; i++) op.apply(i);
    }
    public static void main(String[] args) {
        new Lines(10);
        loop(x -> x + hits);
        try {
            thrown(null);
        } catch (NullPointerException e) {
            hits++;
        }
        loop(new Op() {
            public int apply(int x) {
                return x == 9 ? dead(x) : 0;
            }
        });
    }
}
";

/// Of each line: bytecodes, executions, instructions, those that ran. The compiler turns `base` into 2.
const LINES_RUN: [(u64, [u64; 4]); 20] = [
    // Two constructors, one of which never runs.
    (4, [3, 1, 6, 3]),
    (6, [0, 0, 3, 0]),
    (7, [2, 1, 2, 2]),
    // 2 to begin, 11 conditions of 3, 10 steps of 2.
    (8, [2 + 11 * 3 + 10 * 2, 11, 7, 7]),
    (9, [10 * 4, 10, 4, 4]),
    // 4 times, each without the two instructions of `7`.
    (10, [4 * 7, 4, 9, 7]),
    (11, [1, 1, 1, 1]),
    // The second instruction throws.
    (13, [2, 1, 5, 2]),
    (17, [0, 0, 2, 0]),
    (20, [2 * (2 + 6 * 3 + 5 * 6), 12, 11, 11]),
    (21, [2, 2, 1, 1]),
    (23, [5, 1, 5, 5]),
    // 2 in main, 4 in the lambda, which runs 5 times.
    (24, [2 + 5 * 4, 6, 6, 6]),
    (26, [2, 1, 3, 2]),
    (27, [1, 1, 1, 1]),
    (28, [4, 1, 4, 4]),
    (29, [0, 0, 1, 0]),
    // The constructor of the anonymous class is on the line of `new`.
    (30, [4 + 3, 2, 7, 7]),
    // 5 calls, none of which gets to `dead`.
    (32, [5 * 5, 5, 8, 5]),
    (35, [1, 1, 1, 1]),
];

/// The counts of a real run are those of arithmetic, on any JDK.
#[test]
fn lines_run_as_often_as_the_program_says() {
    let classes = fixture::compile_text("Lines", LINES);
    jdk::each(|jdk| {
        let folder = Folder::new();
        folder.file("src/Lines.java", LINES);
        let [java, classes] = [jdk.java(), classes.clone()].map(|it| it.display().to_string());
        let program =
            ["run", "--jamaica", "-o", "l.prof", "--", &java, "-cp", &classes, "acme.Lines"];
        let output = folder.run(&program);
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        let json = report(&folder, &["--source", "src", "--json", "l.prof"]);
        let json: serde_json::Value = serde_json::from_str(&json).unwrap();
        let file = &json["source"]["files"][0];
        assert_eq!(
            (&file["file"], &file["odd_line_count"]),
            (&"acme/Lines.java".into(), &0.into())
        );
        let numbers = ["self", "execution_count", "instruction_count", "instruction_run_count"];
        let lines = file["lines"].as_array().unwrap().iter().map(|line| {
            (line["line"].as_u64().unwrap(), numbers.map(|key| line[key].as_u64().unwrap()))
        });
        let lines: Vec<_> = lines.collect();
        assert_eq!(lines, LINES_RUN);
        let (all, run) = (&file["line_count"], &file["line_run_count"]);
        assert_eq!(
            (all, run, &file["line_run_in_part_count"]),
            (&20.into(), &17.into(), &5.into())
        );
        assert_eq!((&file["method_count"], &file["method_run_count"]), (&9.into(), &7.into()));
    });
}
