//! `perk report` and `perk diff` on JamaicaVM's profiles.

use serde_json::{Value, json};

use crate::util::{Folder, stderr, stdout};

/// A file with a line of each keyword at least.
const FILE: &str = "\
PERK_NOTE: 11 Feb 2031
HEAP_REFS: 100 of 400 words (25%)
HEAP_USE: 5321 objects * 1 blocks * 32 bytes = 170272 bytes (80%) trees: 0 (0%) java/lang/String
INSTANTIATION_COUNT: 91123 * 1 = 91123 blocks 2915936 bytes trees: 0 (0%) bootstrap java/lang/String
PROFILE: 3000000 (75%)  app/Main.main([Ljava/lang/String;)V
PROFILE: 600000 (15%)   app/Parser.parse(I)V
PROFILE: 400000 (10%)   java/util/HashMap.get(Ljava/lang/Object;)Ljava/lang/Object;
PROFILE_LINES: 2900000 app/Main.main([Ljava/lang/String;)V Main.java 3:2000000:10000:1/1 5:900000:30000:9/12
PROFILE_CYCLES: 90000000000 app/Main.main([Ljava/lang/String;)V(interpreted)
PROFILE_CYCLES: 9000000000  app/Parser.parse(I)V(compiled)
PROFILE_CYCLES: 8000000000  java/util/HashMap.get(Ljava/lang/Object;)Ljava/lang/Object;(compiled)
PROFILE_INVOKE: 1000 @ 12 app/Main.main([Ljava/lang/String;)V -> app/Parser.parse(I)V
PROFILE_INVOKE: 5 @ 19 app/Main.main([Ljava/lang/String;)V -> app/Parser.parse(I)V
PROFILE_INVOKE: 5000 @ 7 app/Parser.parse(I)V -> java/util/HashMap.get(Ljava/lang/Object;)Ljava/lang/Object;
PROFILE_NATIVE: 512 (100%)     java/lang/System.nanoTime()J
PROFILE_NEWARRAY: 64 @ 9 app/Parser.parse(I)V
PROFILE_NEWARRAY: 640 @ 19 app/Parser.parse(I)V
PROFILE_CLASS_USED_VIA_REFLECTION: app/Plugin
PROFILE_THREAD: 5 100000000000 int 20% comp 60% jni 10% gc 10% C 12288 Java 4096 (main)
PROFILE_THREADS: 7
";

pub(crate) fn folder() -> Folder {
    let folder = Folder::new();
    folder.file("a.prof", FILE);
    folder
}

#[track_caller]
fn report(folder: &Folder, options: &[&str]) -> String {
    let output = folder.perk().args(["report", "a.prof"]).args(options).output().unwrap();
    assert_eq!((output.status.code(), &*stderr(&output)), (Some(0), ""));
    stdout(&output)
}

#[test]
fn the_first_screen_shows_where_the_bytecodes_are_executed() {
    let text = report(&folder(), &["--all"]);
    let screen = "\
a.prof: JamaicaVM profile, 4000000 bytecodes; 512 native calls; 704 array allocations; 6005 calls; \
2.9 MB allocated in 91123 objects, 170.3 kB live in 5321 objects

Where the bytecodes are executed
#  share %  bytecodes  calls  per call  method
1    75.00    3000000                   app.Main.main
        lines 3 (66 %), 5 (30 %)
2    15.00     600000   1005       597  app.Parser.parse
3    10.00     400000   5000      80.0  java.util.HashMap.get

Where the cycles go, each method with all that it called
#  share %       cycles  per call         mode  method
1    90.00  90000000000            interpreted  app.Main.main
2     9.00   9000000000   8955223     compiled  app.Parser.parse
3     8.00   8000000000   1600000     compiled  java.util.HashMap.get

Most cycles per bytecode
High: cache misses, slow intrinsics, native code.
#  cycles each  share %  bytecodes  method
1        27000    81.00    3000000  app.Main.main
2        20000     8.00     400000  java.util.HashMap.get
";
    assert!(text.starts_with(screen), "{text}");
    for part in [
        "2    16.74   1005  app.Parser.parse\n        by app.Main.main @ 12 (1000), 19 (5)\n",
        "\nCalls of native methods\n",
        "2     9.09      64  app.Parser.parse @ 9\n",
        "\nClasses used via reflection: 1\nclass\napp.Plugin\n",
        " 100.00  100000000000        20      60     10    10  12.3 kB      4.1 kB         5  main\n\
         At most 7 threads at once.\n",
        "\nThe fields of live objects are 400 words, 100 of them references (25.00 %).\n",
    ] {
        assert!(text.contains(part), "{part} is not in {text}");
    }
    assert!(!text.contains("inferred"), "methods without callers are no cut paths: {text}");
    assert!(!text.contains("blocks per object"), "{text}");
}

#[test]
fn a_method_has_its_callers_and_callees_with_their_positions() {
    let folder = folder();
    let text = report(&folder, &["--method", "Parser.parse"]);
    assert!(
        text.contains("app.Parser.parse: 1005 calls, 600000 bytecodes, 9000000000 cycles\n"),
        "{text}"
    );
    assert!(text.contains(" 100.00   1005  app.Main.main @ 12 (1000), 19 (5)\n"), "{text}");
    assert!(text.contains(" 100.00   5000  java.util.HashMap.get @ 7\n"), "{text}");
    let text = report(&folder, &["--method", "Main.main"]);
    assert!(text.contains("app.Main.main: no calls in the file, 3000000 bytecodes,"), "{text}");
    let text = report(&folder, &["--edges", "--csv"]);
    assert!(
        text.contains(
            "\napp.Main.main([Ljava/lang/String;)V,app.Parser.parse(I)V,1005,,12:1000 19:5\n"
        ),
        "{text}"
    );
}

#[test]
fn one_metric_and_own_classes_are_shown_alone() {
    let folder = folder();
    let text = report(&folder, &["--all", "--metric", "cycles"]);
    assert!(text.contains("\nTop methods by self: cycles\n"), "{text}");
    assert!(!text.contains("Top call paths") && !text.contains("by total"), "{text}");
    let text = report(&folder, &["--focus", "app.*"]);
    assert!(
        text.contains(
            "filter: kept by --focus app.*: 90.00 % of bytecodes, 0.00 % of native calls, "
        ),
        "{text}"
    );
    assert!(!text.contains("line executions"), "{text}");
    let text = report(&folder, &["--lines"]);
    assert!(text.contains("\nTop lines by self: bytecodes\n"), "{text}");
    let text = report(&folder, &["--threads", "--csv"]);
    assert!(text.ends_with("\nmain,100000000000,20,60,10,10,12288,4096,5\n"), "{text}");
    let json: Value = serde_json::from_str(&report(&folder, &["--json"])).unwrap();
    let cost = &json["cost_per_bytecode"][1];
    assert_eq!(
        (&cost["own_cycle_count"], &cost["bytecode_count"]),
        (&json!(8_000_000_000_u64), &json!(400_000))
    );
    assert_eq!(json["calls"]["edges"][1]["positions"], json!("12:1000 19:5"));
}

#[test]
fn the_same_numbers_in_another_form_are_reported_alike() {
    let folder = folder();
    let output = folder.run(&["convert", "a.prof", "-o", "a.hprof"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let output = folder.run(&["report", "--all", "a.hprof"]);
    let text = stdout(&output);
    let tables = |text: &str| {
        text[text.find("Where the bytecodes").unwrap()..text.find("Where the cycles").unwrap()]
            .to_owned()
    };
    assert_eq!(tables(&text), tables(&report(&folder, &["--all"])));
    assert!(!text.contains("inferred"), "{text}");
}
