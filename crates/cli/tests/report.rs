//! `perk report`: where to begin, inferred callers, filters, views of any value, CSV, the first
//! screen.

use std::fs;
use std::io::Read;
use std::process::{Command, Stdio};

use perk_profile::{Event, Profile};

use crate::exact::{push_sites, push_times, write};
use crate::util::{Folder, PERK, assert_refused, stderr, stdout};

/// The example of Shirazi's book: a short program that puts doubles into a hash table. Traces 214,
/// 215 and 151 have lost their callers. The rows that the book leaves out are one row.
const BOOK: &str = "\
java.lang.String.valueOf;java.lang.Double.toString;java.lang.FloatingDecimal.<init>;\
java.lang.FloatingDecimal.dtoa 8664
java.lang.Double.equals 1846
java.lang.FloatingDecimal.dtoa 1609
java.lang.FloatingDecimal.<init>;java.lang.FloatingDecimal.dtoa 490
java.util.Hashtable.put;java.lang.Double.equals 98
tuning.profile.ProfileTest.main;Rest.rest 3106
";

#[track_caller]
fn report(folder: &Folder, arguments: &[&str]) -> String {
    let output = folder.run(&[&["report"], arguments].concat());
    assert_eq!((output.status.code(), stderr(&output).as_str()), (Some(0), ""));
    stdout(&output)
}

#[track_caller]
fn json(folder: &Folder, arguments: &[&str]) -> serde_json::Value {
    serde_json::from_str(&report(folder, &[&["--json"], arguments].concat())).unwrap()
}

fn book() -> Folder {
    let folder = Folder::new();
    folder.file("book.collapsed", BOOK);
    folder
}

#[test]
fn the_method_of_the_book() {
    let text = report(&book(), &["book.collapsed"]);
    let expected = "\
book.collapsed: collapsed stacks, 15813 samples
inferred: the callers of 3 cut traces, 24.95 % of samples (see --no-infer)

What limits the program
Shares are of 15813 samples; what threads wait for was not measured.
 1   68.1 %  uses the CPU: java.lang.String.valueOf
             numbers from and to text 68.1 %; convert less, or keep the result
 2   19.6 %  uses the CPU: tuning.profile.ProfileTest.main
             Rest.rest 19.6 %; perk report book.collapsed --method ProfileTest.main shows its lines and callers
 3   12.3 %  uses the CPU: java.util.Hashtable.put
             Double.equals 12.3 %; perk report book.collapsed --method Hashtable.put shows its lines and callers

More: perk report book.collapsed --all, --tree, --tree=bottom-up, --method NAME, --edges, --brief, --json
";
    assert_eq!(text, expected);
    let all = report(&book(), &["--all", "book.collapsed"]);
    assert!(all.contains("  0.00      0    68.06  10763  java.lang.String.valueOf"), "{all}");
    assert!(
        all.contains("1   68.06  10763    68.06  10763  java.lang.FloatingDecimal.dtoa"),
        "{all}"
    );
}

#[test]
fn what_is_inferred_is_marked() {
    let folder = book();
    let traces = report(&folder, &["book.collapsed", "--traces"]);
    let trace = "
        1609 samples in trace 300003
          java.lang.FloatingDecimal.dtoa
          java.lang.FloatingDecimal.<init> [inferred]
          java.lang.Double.toString [inferred]
          java.lang.String.valueOf [inferred]
";
    assert!(traces.contains(trace), "{traces}");
    let tree = report(&folder, &["book.collapsed", "--tree"]);
    let lines = "
  68.06  10763      0  java.lang.String.valueOf [19.50 % inferred]
  68.06  10763      0   java.lang.Double.toString [19.50 % inferred]
";
    assert!(tree.contains(lines), "{tree}");
    let json = json(&folder, &["book.collapsed"]);
    assert_eq!(json["inferred"]["trace_count"], 3);
    assert_eq!(json["metrics"][0]["methods"][0]["traces"][1]["inferred_frame_count"], 3);
    let begin = &json["where_to_begin"];
    assert_eq!((&begin[0]["number"], &begin[0]["inferred"]), (&10763.into(), &2099.into()));
    assert_eq!(json["tree"]["lines"][0]["inferred"], 2099);
}

#[test]
fn nothing_is_inferred_where_that_is_not_wanted() {
    let folder = book();
    let text = report(&folder, &["book.collapsed", "--no-infer"]);
    assert!(!text.contains("inferred"), "{text}");
    assert!(text.contains(" 1   54.8 %  uses the CPU: java.lang.String.valueOf\n"), "{text}");
    assert!(json(&folder, &["book.collapsed", "--no-infer"])["inferred"].is_null());
}

#[test]
fn a_leaf_points_at_its_callers_and_at_what_is_allocated() {
    let folder = Folder::new();
    let mut profile = Profile::default();
    push_times(
        &mut profile,
        &[
            ("T.main", 1, 100),
            ("T.main;T.get", 600, 30),
            ("T.main;T.read", 2, 400),
            ("T.main;T.read;T.get", 400, 10),
        ],
    );
    push_sites(&mut profile, &[("[[B", "T.main;T.read;U.copy", [5_000_000, 60, 600, 6])]);
    write(&folder, "p.hprof", &profile);
    let text = report(&folder, &["--all", "p.hprof"]);
    let expected = "\
Where to begin
 1   74.1 %  of 540 ms in calls: T.read
             2 calls of 200 ms, called by: T.main
             allocates below: 5 MB of byte[][]
 2   18.5 %  of 540 ms in calls: T.main
             1 call of 100 ms
             allocates below: 5 MB of byte[][]
 3    7.4 %  of 540 ms in calls: T.get
             1000 calls of 40 us, fewer in: T.main (75 %), T.read (25 %)
 4   99.7 %  of 1003 calls: T.get
             call it less in: T.main (60 %), T.read (40 %)
 5    100 %  of 5 MB allocated: U.copy
             byte[][] 100 %
             called by: T.read
 6    100 %  of 600 B live: U.copy
";
    assert!(text.contains(expected), "{text}");
    let Some(Event::Section(section)) = profile.events.last_mut() else { panic!("no sites") };
    section.head.columns.iter_mut().for_each(|column| column.period = Some(512_000));
    write(&folder, "estimated.hprof", &profile);
    let text = report(&folder, &["--all", "estimated.hprof"]);
    assert!(text.contains("allocates below: about 5 MB of byte[][]"), "{text}");
    let json = json(&folder, &["p.hprof"]);
    let read = &json["where_to_begin"][0];
    assert_eq!(read["allocated"][0]["class"], "byte[][]");
    assert_eq!(
        (&read["works"][0]["what"], &read["kind"]),
        (&"its own code".into(), &"time".into())
    );
    assert_eq!(json["where_to_begin"][2]["is_chatty"], true);
}

#[test]
fn every_value_has_every_view() {
    let folder = Folder::new();
    let mut profile = Profile::default();
    push_times(&mut profile, &[("T.main:1", 1, 100), ("T.main:1;T.f:3", 2, 300)]);
    push_sites(
        &mut profile,
        &[
            ("byte[]", "T.main:1;T.f:3", [6_000, 60, 600, 6]),
            ("byte[]", "T.main:2;T.f:4", [2_000, 20, 0, 0]),
        ],
    );
    write(&folder, "p.hprof", &profile);
    for (value, tree, line) in [
        ("time", " 100.00  400 ms  100 ms      1       8 kB  T.main", "1   75.00  300 ms"),
        ("calls", " 100.00      3     1       8 kB  T.main", "1   66.67     2"),
        ("allocated", " 100.00   8 kB   0 B      1  T.main", "1   75.00  6 kB"),
        ("live", " 100.00  600 B    0 B      1       8 kB  T.main", "1  100.00  600 B"),
    ] {
        let view =
            |view: &[&str]| report(&folder, &[&["p.hprof", "--metric", value], view].concat());
        let text = view(&["--tree"]);
        assert!(text.contains(tree), "{value}: {text}");
        let text = view(&["--lines"]);
        let of_bytes = if matches!(value, "allocated" | "live") { " bytes" } else { "" };
        assert!(text.contains(&format!("Top lines by self: {value}{of_bytes}\n")), "{text}");
        let row = text.lines().find(|row| row.trim_start().starts_with(line));
        assert!(row.is_some_and(|row| row.ends_with("T.f (T.java:3)")), "{value}: {text}");
        let text = view(&["--tree=bottom-up", "--min", "0"]);
        assert!(text.contains("T.f\n"), "{value}: {text}");
        assert!(text.contains(" T.main\n"), "{value}: {text}");
        let text = view(&["--method", "f"]);
        assert!(text.contains("\nT.f: self ") && text.contains("caller\n"), "{value}: {text}");
        assert!(view(&["--edges"]).contains("T.main → T.f"), "{value}");
        assert!(view(&[]).contains("Where to begin\n"), "{value}");
        let alias = report(&folder, &["p.hprof", "--value", value]);
        assert_eq!(alias, view(&[]), "{value}");
        let csv = view(&["--csv"]);
        assert!(csv.starts_with("metric,name,class,method,signature,source,self_"), "{csv}");
        assert!(csv.contains(&format!("\n{value},T.f()V,T,f,()V,T.java,")), "{csv}");
    }
    let json = json(&folder, &["p.hprof"]);
    let values: Vec<_> = json["metrics"].as_array().unwrap().iter().collect();
    let names: Vec<_> = values.iter().map(|it| (&it["metric"], &it["unit"])).collect();
    let expected =
        [("time", "nanoseconds"), ("calls", "count"), ("allocated", "bytes"), ("live", "bytes")];
    assert_eq!(names.len(), expected.len());
    for ((name, unit), expected) in names.into_iter().zip(expected) {
        assert_eq!((name.as_str().unwrap(), unit.as_str().unwrap()), expected);
    }
    assert_eq!(values[2]["lines"][0]["line"], 3);
    assert_eq!(values[2]["edges"][0]["caller"], "T.main()V");
    assert_refused(
        &folder.run(&["report", "p.hprof", "--metric", "misses"]),
        &["no misses", "time, calls, allocated, live"],
    );
}

#[test]
fn filters_leave_a_part() {
    let folder = Folder::new();
    folder.file("p.collapsed", "T.main;T.a;T.leaf 6\nT.main;T.b;T.leaf 3\nT.main;T.b 1\n");
    let focus = report(&folder, &["--all", "p.collapsed", "--focus", "T.b"]);
    assert!(focus.starts_with(
        "p.collapsed: collapsed stacks, 4 samples\n\
             filter: 40.00 % of samples kept by --focus T.b, 60.00 % left out\n"
    ));
    assert!(focus.contains("1   75.00     3    75.00      3  T.leaf"), "{focus}");
    let hide = report(&folder, &["--all", "p.collapsed", "--hide", "leaf"]);
    assert!(hide.contains("\nfilter: the frames of leaf are hidden\n"), "{hide}");
    assert!(hide.contains("1   60.00     6    60.00      6  T.a"), "{hide}");
    let output = folder.run(&["report", "p.collapsed", "--ignore", "main"]);
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(stderr(&output), "perk: p.collapsed has no numbers that pass the filter\n");
    assert_refused(&folder.run(&["report", "p.collapsed", "--focus", ""]), &["--focus", "Foo.bar"]);
    let output = folder.run(&[
        "convert",
        "p.collapsed",
        "--ignore",
        "a",
        "--hide",
        "b",
        "--output-format",
        "collapsed",
        "-o",
        "-",
    ]);
    assert_eq!(stdout(&output), "T.main 1\nT.main;T.leaf 3\n");
}

#[test]
fn csv_is_one_view_that_any_reader_takes() {
    let folder = Folder::new();
    let mut profile = Profile::default();
    push_times(&mut profile, &[("T.main", 1, 100), ("T.main;\"T,x\".f", 2, 300)]);
    push_sites(&mut profile, &[("byte[]", "T.main:3;T.f:7", [6_000, 60, 600, 6])]);
    write(&folder, "p.hprof", &profile);
    for (view, first, row) in [
        (
            &[][..],
            "metric",
            &["time", "\"T,x\".f()V", "\"T,x\"", "f", "()V", "T.java", "300000000"][..],
        ),
        (&["--advice"], "kind", &["time", "time", "nanoseconds", "400000000", "\"T,x\".f()V"]),
        // Times have no lines in this profile.
        (&["--lines"], "metric", &["allocated", "T.f()V"]),
        (&["--tree"], "metric", &["time", "0", "false", "T.main()V"]),
        (&["--tree=bottom-up"], "metric", &["time", "0", "false", "\"T,x\".f()V"]),
        (&["--edges"], "caller", &["T.main()V", "\"T,x\".f()V", "2", "300000000"]),
        (&["--method", "main", "--top", "1"], "caller", &["T.main()V", "\"T,x\".f()V", "2"]),
        (
            &["--sites"],
            "class",
            &["byte[]", "6000", "60", "600", "6", "T.f (T.java:7); T.main (T.java:3)"],
        ),
        (&["--classes"], "class", &["byte[]", "6000", "60", "600", "6"]),
    ] {
        let text = report(&folder, &[&["p.hprof", "--csv"], view].concat());
        let mut reader = csv::Reader::from_reader(text.as_bytes());
        assert_eq!(reader.headers().unwrap().get(0), Some(first), "{text}");
        let rows: Vec<csv::StringRecord> = reader.records().map(Result::unwrap).collect();
        let cells: Vec<_> = rows[0].iter().take(row.len()).collect();
        assert_eq!(cells, row, "{text}");
    }
    assert_refused(&folder.run(&["report", "p.hprof", "--csv", "--tree", "--sites"]), &["--csv"]);
    for arguments in [&["--json"][..], &["--traces"], &["--monitors", "--threads"]] {
        let output = folder.run(&[&["report", "p.hprof", "--csv"], arguments].concat());
        assert_refused(&output, &["--csv"]);
    }
    let output = folder.run(&["report", "p.hprof", "--csv", "--monitors"]);
    assert_eq!(stderr(&output), "perk: p.hprof has no monitors\n");
    assert_eq!(output.status.code(), Some(1));
}

#[test]
fn advice_is_a_view_and_a_table_with_what_is_done() {
    let folder = Folder::new();
    folder.file(
        "a.collapsed",
        "com.acme.Main.main;com.acme.Cart.list;java.util.TimSort.sort 12\n\
                                com.acme.Main.main;com.acme.Cart.list 8\n",
    );
    let text = report(&folder, &["a.collapsed", "--advice"]);
    assert!(text.contains("\nWhere to begin\n"), "{text}");
    assert!(
        text.contains("com.acme.Cart.list\n        sorting 60 %, its own code 40 %\n"),
        "{text}"
    );
    let text = report(&folder, &["a.collapsed", "--advice", "--csv"]);
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let titles = reader.headers().unwrap().clone();
    let rows: Vec<csv::StringRecord> = reader.records().map(Result::unwrap).collect();
    let cell = |title| &rows[0][titles.iter().position(|it| it == title).unwrap()];
    let cells = ["kind", "metric", "name", "number", "percent", "self", "parts"].map(cell);
    let expected = ["CPU", "samples", "com.acme.Cart.list", "20", "100.00", "8"];
    assert_eq!(cells[..6], expected, "{text}");
    assert_eq!(cells[6], "sorting 60 %, its own code 40 %");
    let file = "../../testdata/hprof/monitor-threads.txt";
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(file);
    fs::copy(path, folder.join("none.txt")).unwrap();
    let output = folder.run(&["report", "none.txt", "--advice", "--csv"]);
    assert_eq!(stderr(&output), "perk: none.txt has no methods to begin with\n");
    assert_eq!((output.status.code(), &*stdout(&output)), (Some(1), ""));
}

/// Returns the output on a terminal of 80 columns, and its lines without escape sequences.
fn on_a_terminal(folder: &Folder, arguments: &str) -> (String, Vec<String>) {
    use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
    let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&master).unwrap();
    unlockpt(&master).unwrap();
    let name = ptsname(&master, Vec::new()).unwrap().into_string().unwrap();
    let open = || fs::File::options().read(true).write(true).open(&name).unwrap();
    let script = format!("stty cols 80 rows 24; exec \"$PERK\" report {arguments}");
    let mut child = Command::new("sh")
        .args(["-c", &script])
        .current_dir(folder.path())
        .env("PERK", PERK)
        .env("TERM", "xterm")
        .env_remove("NO_COLOR")
        .stdin(open())
        .stdout(open())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut master = fs::File::from(master);
    let reader = std::thread::spawn(move || {
        let mut bytes = Vec::new();
        // Reading the master fails when the last descriptor of the other side is closed.
        let _ = master.read_to_end(&mut bytes);
        String::from_utf8(bytes).unwrap()
    });
    assert!(child.wait().unwrap().success());
    let text = reader.join().unwrap();
    let mut plain = text.replace('\r', "");
    for code in [0, 1, 2, 31, 33] {
        plain = plain.replace(&format!("\x1b[{code}m"), "");
    }
    (text, plain.lines().map(str::to_owned).collect())
}

#[test]
fn the_first_screen_says_what_matters() {
    let folder = Folder::new();
    let caller = |at: usize| format!("org.example.application.service.Caller{at}.call");
    let stack = |at: usize| {
        let leaf = format!("org.example.application.service.Service{}.method", at / 3);
        format!("Main.main;{};{leaf} {}\n", caller(at), 100 - at)
    };
    folder.file("p.collapsed", (0..60).map(stack).collect::<String>());
    let (text, lines) = on_a_terminal(&folder, "p.collapsed");
    assert!(text.contains("\x1b[1mWhat limits the program\x1b[0m"), "{text}");
    assert!(lines.iter().all(|line| line.chars().count() <= 80), "{text}");
    assert!(lines.len() <= 25, "{lines:#?}");
    // A heading, a summary, and at least five methods with a hint each.
    let end = lines.iter().rposition(|line| line.is_empty()).unwrap();
    assert!(lines[3].starts_with("Nothing stands out: the time is spread"), "{lines:#?}");
    let rows = lines[..end].iter().filter(|line| line.contains(" %  uses the CPU: "));
    assert!(end >= 5 + 10 && rows.count() >= 5, "{lines:#?}");
    assert!(
        lines[end + 1].starts_with("More: perk report p.collapsed --all, --tree,"),
        "{lines:#?}"
    );
    // Shares in tables have the colour of their heat, and a bar.
    let (text, lines) = on_a_terminal(&folder, "--advice p.collapsed");
    assert!(text.contains("\x1b[33m7.02\x1b[0m"), "{text}");
    assert!(lines.iter().any(|line| line.contains("  ▌   ")), "{lines:#?}");
    assert!(lines.iter().any(|line| line.trim_start().starts_with("call it less in: ")), "{text}");
    for (options, has_bold) in
        [("--tree", true), ("--all", true), ("--color never", false), ("--color=always", true)]
    {
        let (text, lines) = on_a_terminal(&folder, &format!("{options} p.collapsed"));
        assert_eq!(text.contains("\x1b[1m"), has_bold, "{options}: {text}");
        assert!(lines.iter().all(|line| line.chars().count() <= 80), "{options}: {text}");
    }
    assert!(!report(&folder, &["p.collapsed"]).contains('\x1b'));
    assert!(report(&folder, &["p.collapsed", "--color", "always"]).contains("\x1b[1m"));
    assert_refused(&folder.run(&["report", "p.collapsed", "--color", "blue"]), &["blue", "auto"]);
    assert_refused(
        &folder.run(&["report", "p.collapsed", "--all", "--tree"]),
        &["--all", "--tree"],
    );
}

#[test]
fn ten_lines_of_facts() {
    let folder = Folder::new();
    let mut profile = Profile::default();
    push_times(
        &mut profile,
        &[
            ("acme.Main.main", 1, 100),
            ("acme.Main.main;acme.S.list", 2, 0),
            ("acme.Main.main;acme.S.list;java.util.List.sort;java.util.TimSort.sort", 2, 300),
            ("acme.Main.main;acme.S.list;com.google.gson.Gson.toJson", 2, 100),
        ],
    );
    push_sites(&mut profile, &[("[B", "acme.Main.main;acme.S.list:3", [6_000, 60, 0, 0])]);
    write(&folder, "p.hprof", &profile);
    let text = report(&folder, &["p.hprof", "--brief", "--color", "always"]);
    let expected = "\
profile: p.hprof: HPROF binary, 7 calls, 500 ms of time; 6 kB allocated in 60 objects, 0 B live in 0 objects
time: 80 %, 400 ms, in acme.S.list (sorting 60 %, JSON 20 %), called by acme.Main.main
time: 20 %, 100 ms, in acme.Main.main
calls: 28.6 %, 2, in acme.S.list (calls made for it: JSON 28.6 %, sorting 28.6 %), called by acme.Main.main
calls: 14.3 %, 1, in acme.Main.main
allocated: 100 %, 6 kB, in acme.S.list (byte[] 100 %), called by acme.Main.main
more: perk report p.hprof --all | --tree | --method NAME | --json (of every number)
";
    assert_eq!(text, expected);
    let recorded = crate::foreign::testdata("hprof/times-cpu-depth0.txt");
    assert!(report(&folder, &["--brief", &recorded]).lines().count() <= 10);
    assert_refused(&folder.run(&["report", "p.hprof", "--brief", "--json"]), &["--brief"]);
}

#[test]
fn patterns_mean_classes_and_methods_alike() {
    let folder = Folder::new();
    folder.file(
        "p.collapsed",
        "T.main;java.util.HashMap.put;java.util.HashMap.hash 3\nT.main;T.f 5\n",
    );
    for (pattern, kept) in [
        ("HashMap", "3 samples"),
        ("java.util.HashMap", "3 samples"),
        ("HashMap.put", "3 samples"),
        ("put", "3 samples"),
        ("java.util.*", "3 samples"),
        ("T", "8 samples"),
        ("T.f", "5 samples"),
    ] {
        let text = report(&folder, &["p.collapsed", "--focus", pattern]);
        assert!(text.starts_with(&format!("p.collapsed: collapsed stacks, {kept}")), "{text}");
    }
    let text = report(&folder, &["p.collapsed", "--method", "HashMap"]);
    assert!(text.contains("java.util.HashMap.put: ") && text.contains("HashMap.hash: "), "{text}");
    // A pattern without a match is reported beside one that matches.
    let output = folder.run(&["report", "p.collapsed", "--focus", "T", "--hide", "HashMapp"]);
    assert_eq!(output.status.code(), Some(0));
    let line = "perk: --hide HashMapp: no class or method of p.collapsed has that name; did you mean \
                java.util.HashMap?\n";
    assert_eq!(crate::util::stderr(&output), line);
}

#[test]
fn packages_are_at_the_beginning_of_names() {
    let folder = Folder::new();
    folder.file(
        "p.collapsed",
        "Main.main;Server$UserController.list;java.util.List.sort 3\n\
         Main.main;com.acme.java.util.Foo.run;com.sun.Bar.go 5\n",
    );
    let first_line = |options: &[&str]| {
        let text = report(&folder, &[&["p.collapsed"], options].concat());
        text.lines().next().unwrap().to_owned()
    };
    for (options, kept) in [
        (&["--ignore", "java.*"][..], 5),
        (&["--focus", "java.*"], 3),
        (&["--focus", "*.java.*"], 5),
        (&["--focus", "UserController.list"], 3),
        (&["--focus", "UserController"], 3),
        (&["--focus", "Foo.*"], 5),
    ] {
        let expected = format!("p.collapsed: collapsed stacks, {kept} samples");
        assert_eq!(first_line(options), expected, "{options:?}");
    }
    let hide = ["report", "p.collapsed", "--tree", "--hide", "java.*", "--hide", "sun.*"];
    let tree = stdout(&folder.run(&hide));
    assert!(tree.contains("com.sun.Bar.go") && !tree.contains("java.util.List.sort"), "{tree}");
    // Each command says what is near to a name that nothing has.
    let near = "did you mean 'Server$UserController.list'?";
    let limit = "samples(UserControler.list)>+1%";
    for command in [
        &["report", "p.collapsed", "--focus", "UserControler.list"][..],
        &["report", "p.collapsed", "--method", "UserControler.list"],
        &["convert", "p.collapsed", "--focus", "UserControler.list", "-o", "o.collapsed"],
        &["diff", "p.collapsed", "p.collapsed", "--focus", "UserControler.list"],
        &["diff", "p.collapsed", "p.collapsed", "--fail-on", limit],
    ] {
        let text = stderr(&folder.run(command));
        assert!(text.contains("UserControler.list") && text.contains(near), "{command:?} {text}");
    }
    for (name, advice) in [
        ("acme", "did you mean 'com.acme.*'?"),
        ("acme.java.util.Foo", "did you mean com.acme.java.util.Foo?"),
        ("run", ""),
        ("org.*", "from its beginning on; '*.org.*' finds it further in"),
        ("Q", "use bar, Foo.bar, Foo or com.acme.Foo, with * for any part"),
    ] {
        let text = stderr(&folder.run(&["report", "p.collapsed", "--focus", name]));
        assert!(text.contains(advice) && text.is_empty() == advice.is_empty(), "{name}: {text}");
    }
}

#[test]
fn a_view_without_rows_is_missing() {
    let folder = Folder::new();
    let file = crate::foreign::testdata("hprof/times-cpu-depth0.txt");
    for form in [&["--edges"][..], &["--csv", "--edges"]] {
        let output = folder.run(&[&["report", &*file], form].concat());
        assert_eq!(output.status.code(), Some(1), "{form:?}");
        assert!(stderr(&output).ends_with("has no calls\n"), "{}", stderr(&output));
        assert!(!stdout(&output).contains("caller"), "{}", stdout(&output));
    }
}
