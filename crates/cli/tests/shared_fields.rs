//! `perk report`, `perk diff` and `perk convert` on accesses to fields.

use perk_testkit::{JavaRun, jdk};
use serde_json::{Value, json};

use crate::util::{Folder, assert_refused, stderr, stdout};

/// A record: site, class, and of each field its class, its name, its type and its numbers.
fn record(site: &str, class: &str, fields: &[(&str, &str, &str, [u64; 4])]) -> String {
    let mut text = match site.split_once('.') {
        None => format!("{site}\t{class}\n"),
        Some((of, method)) => format!("com/acme/{of}\x1c{method}\x1c()V\x1c4\t{class}\n"),
    };
    for (of, name, kind, [a, b, c, d]) in fields {
        text += &format!("{of}\x1c{name}\x1c{kind}\t{a}\t{b}\t{c}\t{d}\n");
    }
    text + "\n"
}

/// A counter that all threads write `writes` times, a queue with two ends, tasks that are handed over,
/// values that are read by others, points that never leave their thread, an object of unknown site and
/// an array.
pub(crate) fn file(writes: u64) -> String {
    let counter = "com.acme.Counter$Cell";
    let (queue, task) = ("com.acme.Queue", "com.acme.Task");
    let mut text = record("Main.main", counter, &[(counter, "value", "J", [3, 1, 9, writes])]);
    text += &record(
        "Main.main",
        queue,
        &[(queue, "head", "I", [0, 0, 400, 0]), (queue, "tail", "I", [0, 0, 1, 300])],
    );
    let fields = [(task, "input", "I", [0, 2, 1, 0]), (task, "result", "I", [0, 1, 0, 2])];
    text += &record("Main.submit", task, &fields).repeat(3);
    text += &record(
        "Main.main",
        "com.acme.Value",
        &[("com.acme.Base", "id", "Ljava/lang/String;", [0, 7, 1, 0])],
    );
    text += &record("Main.draw", "com.acme.Point", &[("com.acme.Point", "x", "I", [4, 0, 4, 0])]);
    text += &record("?", "com.acme.Late", &[("com.acme.Late", "z", "I", [0, 50, 0, 60])]);
    text + &record(
        "Main.main",
        "[C",
        &[("[C", "$arraylength", "I", [1, 1, 0, 0]), ("[C", "$components", "?", [1, 2, 3, 4])],
    )
}

fn folder(writes: u64) -> Folder {
    let folder = Folder::new();
    folder.file("a b.tsv", file(writes));
    folder
}

#[test]
fn the_report_says_what_to_do() {
    let folder = folder(5);
    let output = folder.run(&["report", "--all", "a b.tsv"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let text = stdout(&output);
    let begin = "a b.tsv: shared fields, 9 objects, 7 of them shared between threads (87.50 %); \
                 accesses: 765, 335 of them by other threads than the owner (43.79 %)\n\
                 not judged: 1 object of unknown site, with 110 accesses: the file does not say which \
                 thread made it\n\n\
                 What to do\n\
                 2 to guard by a lock, 1 to pad, 1 to confine to one thread, 2 to make final (2 of them shared), 1 class \
                 needs no lock.\n";
    assert!(text.starts_with(begin), "{text}");
    for lines in [
        "#  objects  of all %  reads  by others  writes  by others  field\n\
         1        1    100.00      3          1       9          5  com.acme.Counter$Cell.value\n        \
         perk report 'a b.tsv' --field 'com.acme.Counter$Cell.value'\n\
         2        1    100.00      1          2       3          4  char[]\n        made at com.acme.Main.main() @4\n        \
         perk report 'a b.tsv' --field 'char[]'\n",
        "  com.acme.Queue\n        the owner writes head, others write tail\n        \
         perk report 'a b.tsv' --field com.acme.Queue\n",
        "1        3    100.00      0          9       3          6  com.acme.Task\n        made at com.acme.Main.submit() @4\n",
        "1        1    100.00      0          7       1          0  com.acme.Base.id\n",
        "1        1    100.00      4          0       4          0  com.acme.Point\n",
    ] {
        assert!(text.contains(lines), "{lines}\nis not in\n{text}");
    }
    let names = |text: &str| text.matches("com.acme.Late").count();
    assert!(names(&text) > 0, "the tables have objects of unknown site: {text}");
    let shared =
        text.split("Top shared fields").nth(1).unwrap().split("Top classes").next().unwrap();
    assert_eq!(names(shared), 0, "{shared}");
}

/// The advice on a real program, whose accesses are known by arithmetic.
#[test]
fn a_program_gets_the_advice_that_it_was_written_for() {
    jdk::each(|jdk| {
        let folder = Folder::new();
        let run = JavaRun::new(jdk).agent("fields=shared,file=a.tsv.gz").main("SharedAdvice");
        let outcome = run.dir(folder.path()).run();
        outcome.assert_success();
        let output = folder.run(&["report", "--json", "a.tsv.gz"]);
        let json: Value = serde_json::from_slice(&output.stdout).unwrap();
        let advice = json["field_accesses"]["advice"].as_array().unwrap().iter();
        let advice = advice.filter(|it| it["is_of_jdk"] == false).map(|it| {
            let numbers =
                ["owner_read_count", "other_read_count", "owner_write_count", "other_write_count"]
                    .map(|key| it[key].as_u64().unwrap());
            let name = it["field_pattern"].as_str().unwrap().strip_prefix("SharedAdvice$").unwrap();
            json!([it["advice"], name, it["object_count"], it["known_count"], numbers])
        });
        // Each of both threads does each thing a thousand times.
        let expected = json!([
            ["lock", "Counter.value", 1, 1, [1000, 1000, 1000, 1000]],
            ["volatile", "Flag.isDone", 1, 1, [1, 0, 0, 1]],
            ["pad", "Ring", 1, 1, [1000, 1000, 1000, 1000]],
            ["confine", "Task", 1000, 1000, [0, 1000, 1000, 1000]],
            ["final", "Config.size", 1, 1, [1000, 1000, 1, 0]],
            ["final", "Task.input", 1000, 1000, [0, 1000, 1000, 0]],
            ["no lock", "Point", 1000, 1000, [2000, 0, 2000, 0]],
        ]);
        assert_eq!(Value::from_iter(advice), expected, "{}", jdk.home.display());
    });
}

/// A program cannot change the JDK's classes. It can use others in the place of those that lock.
#[test]
fn advice_on_the_jdk_is_left_to_data() {
    let folder = Folder::new();
    let own = |class| record("Main.main", class, &[(class, "x", "I", [4, 0, 4, 0])]);
    folder.file("jdk.tsv", own("java.util.ArrayList"));
    let text = stdout(&folder.run(&["report", "--all", "jdk.tsv"]));
    let nothing = "\nWhat to do\nNothing was found; 1 more in the JDK's own classes, which a program \
                   cannot change, are in --json.\n\nTop classes";
    assert!(text.contains(nothing), "{text}");
    let output = folder.run(&["report", "--json", "jdk.tsv"]);
    let json: Value = serde_json::from_slice(&output.stdout).unwrap();
    let advice = &json["field_accesses"]["advice"];
    assert_eq!((&advice[0]["advice"], &advice[0]["is_of_jdk"]), (&"no lock".into(), &true.into()));
    folder.file("locks.tsv", own("java.util.Vector"));
    let text = stdout(&folder.run(&["report", "--all", "locks.tsv"]));
    assert!(text.contains("\nWhat to do\n1 class needs no lock.\n"), "{text}");
}

/// The command below an advice shows its numbers.
#[test]
fn a_field_is_shown_by_site() {
    let folder = folder(5);
    let report = |arguments: &[&str]| {
        let output = folder.run(&[&["report", "a b.tsv"], arguments].concat());
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        stdout(&output)
    };
    let text = report(&["--field", "com.acme.Counter$Cell.value"]);
    let row = "lock  com.acme.Counter$Cell: long value\n        made at com.acme.Main.main() @4\n";
    assert!(text.contains(row) && !text.contains("Queue"), "{text}");
    let text = report(&["--field", "Late"]);
    assert!(
        text.contains("com.acme.Late: int z\n        made at a site that is not known\n"),
        "{text}"
    );
    // By the class that declares it, and by that of the object.
    for name in ["Base.id", "Value.id", "id", "Value"] {
        let text = report(&["--field", name]);
        assert!(
            text.contains("com.acme.Value: java.lang.String com.acme.Base.id\n        made at "),
            "{text}"
        );
    }
    let csv = report(&["--field", "char[]", "--csv"]);
    assert_eq!(
        csv,
        "class,field_class,field,descriptor,site,advice,object_count,unknown_count,accessed_count,\
         shared_count,other_written_count,read_only_count,owner_read_count,other_read_count,\
         owner_write_count,other_write_count,unknown_access_count\n\
         char[],[C,$components,?,com.acme.Main.main() @4,lock,1,0,1,1,1,0,1,2,3,4,0\n\
         char[],[C,$arraylength,I,com.acme.Main.main() @4,,1,0,1,1,0,1,1,1,0,0,0\n"
    );
    let output = folder.run(&["report", "a b.tsv", "--field", "Missing"]);
    assert_eq!(output.status.code(), Some(1));
    let line = "perk: a b.tsv has no accesses to the field Missing: no class or field has that name; \
                use bar, Foo.bar, Foo or com.acme.Foo, with * for any part\n";
    assert_eq!(stderr(&output), line);
}

#[test]
fn files_are_the_same_packed_and_by_any_ending() {
    let folder = folder(5);
    let whole = stdout(&folder.run(&["report", "--csv", "a b.tsv"]));
    for name in ["a.tsv.gz", "a.tsv.zst", "a.fields", "a.tsv"] {
        let output = folder.run(&["convert", "a b.tsv", "-o", name]);
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        assert_eq!(stdout(&folder.run(&["report", "--csv", name])), whole, "{name}");
    }
}

#[test]
fn every_table_is_csv() {
    let folder = folder(5);
    let csv = |arguments: &[&str]| {
        stdout(&folder.run(&[&["report", "--csv", "a b.tsv"], arguments].concat()))
    };
    let fields = csv(&[]);
    assert_eq!(fields.lines().count(), 1 + 10, "{fields}");
    let row = "com.acme.Late,com.acme.Late,z,I,,1,1,1,0,0,0,0,0,0,0,110\n";
    assert!(fields.contains(row), "{fields}");
    let row = "com.acme.Queue,com.acme.Queue,tail,I,pad,1,0,1,1,1,0,0,0,1,300,0\n";
    assert!(fields.contains(row), "{fields}");
    let classes = csv(&["--classes"]);
    assert!(classes.starts_with("class,advice,object_count,unknown_count,"), "{classes}");
    assert!(classes.contains("com.acme.Task,confine,3,0,3,3,3,0,0,9,3,6,0\n"), "{classes}");
    let sites = csv(&["--sites"]);
    let row = "com.acme.Task,com.acme.Main.submit() @4,confine,3,0,3,3,3,0,0,9,3,6,0\n";
    assert!(sites.contains(row), "{sites}");
    assert!(sites.contains("com.acme.Late,,,1,1,1,0,0,0,0,0,0,0,110\n"), "{sites}");
}

#[test]
fn json_has_everything() {
    let folder = folder(5);
    let output = folder.run(&["report", "--json", "a b.tsv"]);
    let json: Value = serde_json::from_slice(&output.stdout).unwrap();
    let all = &json["field_accesses"];
    let total = [
        "object_count",
        "unknown_count",
        "shared_count",
        "access_count",
        "other_access_count",
        "unknown_access_count",
    ]
    .map(|key| all[key].as_u64().unwrap());
    assert_eq!(total, [9, 1, 7, 765, 335, 110]);
    let advice = all["advice"].as_array().unwrap();
    let pad = advice.iter().find(|it| it["advice"] == "pad").unwrap();
    assert_eq!(pad["field_pattern"], "com.acme.Queue");
    assert_eq!(
        (&pad["owner_written_field"], &pad["other_written_field"]),
        (&"head".into(), &"tail".into())
    );
    assert_eq!((&pad["object_count"], &pad["known_count"]), (&1.into(), &1.into()));
    assert_eq!(advice[0]["owner_written_field"], Value::Null);
    let lengths = ["advice", "classes", "fields", "sites", "objects"]
        .map(|key| all[key].as_array().unwrap().len());
    assert_eq!(lengths, [7, 7, 10, 7, 7]);
    let late = all["objects"].as_array().unwrap().iter().find(|it| it["class"] == "com.acme.Late");
    assert_eq!(
        (&late.unwrap()["is_shared"], &late.unwrap()["site"]),
        (&false.into(), &Value::Null)
    );
}

#[test]
fn filters_choose_objects_by_the_method_that_made_them() {
    let folder = folder(5);
    let output = folder.run(&["report", "--all", "a b.tsv", "--focus", "Main.submit"]);
    let text = stdout(&output);
    let begin = "a b.tsv: shared fields, 3 objects, 3 of them shared between threads (100.00 %); accesses: 18,";
    assert!(text.starts_with(begin), "{text}");
    assert!(
        text.contains("filter: 33.33 % of objects with field accesses kept by --focus Main.submit"),
        "{text}"
    );
    assert!(!text.contains("unknown site"), "{text}");
    let command = "perk report 'a b.tsv' --focus Main.submit --field com.acme.Task\n";
    assert!(text.contains(command), "{text}");
    let text = stdout(&folder.run(&["report", "--all", "a b.tsv", "--ignore", "Main"]));
    assert!(text.starts_with("a b.tsv: shared fields, 1 object, 0 of them"), "{text}");
    assert!(text.contains("\nWhat to do\nNothing was found.\n"), "{text}");
}

#[test]
fn two_files_are_compared_by_class_and_field() {
    let folder = folder(5);
    folder.file(
        "b.tsv",
        file(9)
            + &record(
                "Main.main",
                "com.acme.Value",
                &[("com.acme.Base", "id", "Ljava/lang/String;", [1, 0, 1, 0])],
            ),
    );
    let diff =
        |arguments: &[&str]| folder.run(&[&["diff", "a b.tsv", "b.tsv"], arguments].concat());
    let output = diff(&[]);
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    let text = stdout(&output);
    for line in [
        "accesses   875 → 881 (+0.69 %)\n",
        "by others  335 → 339 (+1.19 %)\n",
        "shared     7 → 7 (+0.00 %) objects\n",
        "com.acme.Counter$Cell: long value\n",
        "com.acme.Value: java.lang.String com.acme.Base.id\n",
    ] {
        assert!(text.contains(line), "{line}\nis not in\n{text}");
    }
    assert!(!text.contains("com.acme.Queue"), "{text}");
    for (limit, code) in [
        ("shared_accesses>+3", 1),
        ("shared_accesses>+4", 0),
        ("shared_accesses(Counter$Cell.value)>+3", 1),
        ("shared_accesses(com.acme.Base.id)>+0", 0),
        ("accesses(Value)>+1", 1),
        ("accesses(Value)>+2", 0),
        ("shared_objects>+0", 0),
        ("shared_objects(com.acme.Value)>+0", 0),
    ] {
        let output = diff(&["--fail-on", limit]);
        assert_eq!(output.status.code(), Some(code), "{limit}: {}", stdout(&output));
    }
    assert_refused(
        &diff(&["--fail-on", "shared_objects(Missing)>+0"]),
        &["no class or method has that name"],
    );
    let csv = stdout(&diff(&["--csv"]));
    assert!(
        csv.contains(
            "fields,com.acme.Counter$Cell: long value,,other_access_count,6,10,+4,+66.67,"
        ),
        "{csv}"
    );
    assert!(csv.contains("accessed,com.acme.Value,,object_count,1,2,+1,"), "{csv}");
    let json: Value = serde_json::from_slice(&diff(&["--json"]).stdout).unwrap();
    assert_eq!(json["fields"][0]["class"], "com.acme.Counter$Cell");
    assert_eq!(json["fields"][0]["after"]["other_access_count"], 10);
    assert_eq!(json["accessed"].as_array().unwrap().len(), 2);
    let same = folder.run(&["diff", "b.tsv", "b.tsv"]);
    assert_eq!(same.status.code(), Some(0));
    assert_eq!(stdout(&same), "no difference in accesses to fields\n");
}

/// A counter that an `AtomicInteger` guards, components that `arraycopy` writes, an object of unknown
/// site; with `has_extended` the last four numbers of each field, too.
pub(crate) fn by_means(has_extended: bool, copied: u64) -> String {
    let of = |numbers: [u64; 8]| {
        let count = if has_extended { 8 } else { 4 };
        numbers[..count].iter().fold(String::new(), |text, it| text + &format!("\t{it}"))
    };
    let (main, atomic) = ("com/acme/Main\x1cmain\x1c()V\x1c4", "com.acme.Atomic");
    format!(
        "{main}\t{atomic}\n{atomic}\x1cvalue\x1cI{}\n\n{main}\t[C\n[C\x1c$arraylength\x1cI{}\n[C\x1c$components\x1c?{}\n\n\
         ?\tLate\nLate\x1cz\x1cI{}\n\n",
        of([2, 0, 1, 0, 0, 10, 20, 30]),
        of([1, 0, 0, 0, 0, 0, 0, 0]),
        of([9, 0, 4, 0, 0, 0, 0, copied]),
        of([0, 5, 0, 0, 0, 2, 0, 7]),
    )
}

#[test]
fn accesses_by_other_means_are_shown_apart_and_judged() {
    let folder = Folder::new();
    folder.file("a.tsv", by_means(true, 64));
    folder.file("plain.tsv", by_means(false, 0));
    let text = stdout(&folder.run(&["report", "--all", "a.tsv"]));
    let begin = "a.tsv: shared fields, 3 objects, 2 of them shared between threads (100.00 %); accesses: 17, 0 of them \
                 by other threads than the owner (0.00 %)\n\
                 accesses by other means (arraycopy, clone, reflection, VarHandle, Unsafe, JNI): 124, 104 of them by \
                 other threads than the owner (83.87 %); they have columns of their own; objects and advice are judged \
                 by both\n\
                 not judged: 1 object of unknown site, with 5 accesses and 9 by other means: the file does not say \
                 which thread made it\n\n\
                 What to do\n2 to guard by a lock.\n";
    assert!(text.starts_with(begin), "{text}");
    for lines in [
        "reads  by others  writes  by others  by other means  by others  class\n\
         1        1    100.00      9          0       4          0              64         64  char[]\n",
        "2        1    100.00      2          0       1          0              60         40  com.acme.Atomic.value\n",
        "by other means  by others  not judged  to do  field\n",
    ] {
        assert!(text.contains(lines), "{lines}\nis not in\n{text}");
    }
    // Without these counts, what they would have shown is not known.
    let text = stdout(&folder.run(&["report", "--all", "plain.tsv"]));
    assert!(!text.contains("by other means") && text.contains("\n1 to make final (0 of"), "{text}");
    let keys = |file: &str| {
        let output = folder.run(&["report", "--json", file]);
        let json: Value = serde_json::from_slice(&output.stdout).unwrap();
        let all = &json["field_accesses"];
        let total = ["access_count", "unknown_access_count", "extended_access_count"];
        let total = total
            .into_iter()
            .chain(["extended_other_access_count", "extended_unknown_access_count"]);
        let field =
            ["owner_read_count", "extended_owner_write_count", "extended_other_write_count"];
        let object = &all["objects"][0]["fields"][0];
        let fields = field.map(|key| object[key].clone());
        (total.map(|key| all[key].clone()).collect::<Vec<_>>(), fields)
    };
    assert_eq!(
        keys("a.tsv"),
        (
            vec![17.into(), 5.into(), 124.into(), 104.into(), 9.into()],
            [2.into(), 20.into(), 30.into()]
        )
    );
    assert_eq!(
        keys("plain.tsv"),
        (
            vec![17.into(), 5.into(), Value::Null, Value::Null, Value::Null],
            [2.into(), Value::Null, Value::Null]
        )
    );
    let csv = stdout(&folder.run(&["report", "--csv", "a.tsv"]));
    let head = "owner_write_count,other_write_count,extended_owner_read_count,extended_other_read_count,\
                extended_owner_write_count,extended_other_write_count,unknown_access_count,\
                extended_unknown_access_count\n";
    assert!(csv.lines().next().unwrap().ends_with(head.trim_end()), "{csv}");
    assert!(
        csv.contains(
            "com.acme.Atomic,com.acme.Atomic,value,I,lock,1,0,1,1,1,0,2,0,1,0,0,10,20,30,0,0\n"
        ),
        "{csv}"
    );
    assert!(csv.contains("Late,Late,z,I,,1,1,1,0,0,0,0,0,0,0,0,0,0,0,5,9\n"), "{csv}");
    // Both forms of the file, and the page.
    assert!(folder.run(&["convert", "a.tsv", "-o", "a.fields.gz"]).status.success());
    assert_eq!(stdout(&folder.run(&["report", "--csv", "a.fields.gz"])), csv);
    assert!(folder.run(&["convert", "a.tsv", "-o", "a.html"]).status.success());
    let page = std::fs::read_to_string(folder.join("a.html")).unwrap();
    assert!(page.contains("\"total\":[3,1,2,2,0,12,0,5,0,5,0,10,20,94,9]"), "{page}");
}

#[test]
fn files_with_and_without_other_means_are_compared_by_what_both_have() {
    let folder = Folder::new();
    folder.file("a.tsv", by_means(true, 64));
    folder.file("b.tsv", by_means(true, 65));
    folder.file("plain.tsv", by_means(false, 0));
    let output = folder.run(&["diff", "a.tsv", "b.tsv"]);
    assert_eq!((output.status.code(), stderr(&output)), (Some(1), String::new()));
    let text = stdout(&output);
    assert!(text.contains("\nextended   133 → 134 (+0.75 %) accesses by other means\n"), "{text}");
    assert!(text.contains("64     65         64     65  char[]: $components\n"), "{text}");
    let csv = stdout(&folder.run(&["diff", "--csv", "a.tsv", "b.tsv"]));
    assert!(
        csv.contains("fields,char[]: $components,,extended_other_access_count,64,65,+1,"),
        "{csv}"
    );
    for (files, name) in [(["a.tsv", "plain.tsv"], "a.tsv"), (["plain.tsv", "b.tsv"], "b.tsv")] {
        let output = folder.run(&[&["diff"], &files[..]].concat());
        assert_eq!(output.status.code(), Some(0), "{}", stdout(&output));
        let said = format!("perk: accesses by other means are left out: {name} alone has them\n");
        assert_eq!(stderr(&output), said);
        assert_eq!(stdout(&output), "no difference in accesses to fields\n");
    }
}

#[test]
fn html_is_the_page_of_fields() {
    let folder = folder(5);
    for (file, arguments) in [
        ("a.html", &[][..]),
        ("b.html", &["--output-format", "fields-html"]),
        ("c.fields.html", &[]),
    ] {
        let output = folder.run(&[&["convert", "a b.tsv", "-o", file], arguments].concat());
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        assert!(!stderr(&output).contains("left out"), "{}", stderr(&output));
        let page = std::fs::read_to_string(folder.join(file)).unwrap();
        assert!(
            page.contains("id=\"perk-fields\"") && page.contains("com.acme.Queue"),
            "{page:.200}"
        );
    }
    let output = folder.run(&["convert", "a b.tsv", "--metric", "accesses", "-o", "graph.html"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let page = std::fs::read_to_string(folder.join("graph.html")).unwrap();
    assert!(page.contains("id=\"perk-data\""), "{page:.200}");
    folder.file("cpu.collapsed", "a.B.c 3\n");
    let output = folder.run(&["convert", "cpu.collapsed", "-o", "cpu.fields.html"]);
    assert_refused(&output, &["page of fields", "the profile has none"]);
}
