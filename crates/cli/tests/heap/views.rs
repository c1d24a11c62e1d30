//! The views of `perk heap` on a dump whose retained sizes are arithmetic.

use std::process::{Command, Stdio};

use perk_testkit::{JavaRun, fixture, jdk, workspace};
use serde_json::Value;

use super::measured;
use crate::input::Terminal;
use crate::util::{Folder, PERK, assert_refused, stderr, stdout, wait_for};

/// A map of 1000 items: the map, its table of 2048, and of each an entry, a key, an item and its array.
const MAP_BYTES: u64 = 48 + (16 + 4 * 2048) + 1000 * (32 + 16 + ITEM_BYTES);
const ITEM_BYTES: u64 = 16 + (16 + 8 * 100);
const LIST_BYTES: u64 = 10_000 * 16;
const LOCAL_BYTES: u64 = 16 + 8 * 250_000;
const SHARED_BYTES: u64 = 16 + 8 * 1000;

/// A folder with `live.hprof`, or `all.hprof` with its garbage.
fn dumped(is_live: bool) -> Folder {
    let file = if is_live { "live.hprof" } else { "all.hprof" };
    super::dumped(jdk::compiler(), &["HeldObjects", file, &is_live.to_string()])
}

#[track_caller]
fn json(folder: &Folder, arguments: &[&str]) -> Value {
    let output = folder.run(&[&["heap", "--json"], arguments].concat());
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let value: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(value["schema"], "perk.heap/1");
    value
}

#[track_caller]
fn text(folder: &Folder, arguments: &[&str]) -> String {
    let output = folder.run(&[&["heap"], arguments].concat());
    assert_eq!((output.status.code(), stderr(&output).as_str()), (Some(0), ""));
    stdout(&output)
}

fn rows<'v>(value: &'v Value, key: &str) -> &'v Vec<Value> {
    value[key].as_array().unwrap_or_else(|| panic!("{key}: {value}"))
}

fn find<'v>(rows: &'v [Value], key: &str, text: &str) -> &'v Value {
    rows.iter().find(|row| row[key] == text).unwrap_or_else(|| panic!("{text}: {rows:?}"))
}

fn places(path: &Value) -> Vec<&str> {
    path.as_array().unwrap().iter().filter_map(|step| step["place"].as_str()).collect()
}

#[test]
fn the_overview_says_what_holds_the_memory() {
    let folder = dumped(true);
    let value = json(&folder, &["live.hprof"]);
    assert_eq!(value["refs"], "soft");
    let totals = &value["totals"];
    let all = totals["reachable"]["bytes"].as_u64().unwrap();
    let by_root: u64 =
        totals["by_root"].as_array().unwrap().iter().map(|it| it["bytes"].as_u64().unwrap()).sum();
    assert_eq!(by_root, all);

    let suspects = rows(&value, "suspects");
    let of_class = find(suspects, "name", "class HeldObjects");
    let retained = of_class["retained_bytes"].as_u64().unwrap();
    assert!(retained >= MAP_BYTES + LIST_BYTES + SHARED_BYTES, "{retained}");
    let point = &of_class["accumulation_point"];
    assert_eq!(point["class"], "java.util.HashMap$Node[]");
    assert_eq!(point["retained_bytes"], MAP_BYTES - 48);
    assert_eq!(
        (&of_class["is_path_shortest"], &of_class["path_object_count"]),
        (&true.into(), &1.into())
    );
    let way = places(&of_class["path"]);
    assert_eq!(way[way.len() - 2..], ["static MAP", ".table"]);
    let [part] = &of_class["parts"].as_array().unwrap()[..] else { panic!("{of_class}") };
    assert_eq!(
        (&part["class"], &part["instance_count"]),
        (&"java.util.HashMap$Node".into(), &1000.into())
    );
    assert!(of_class["class_loader"].as_str().unwrap().contains("AppClassLoader"), "{of_class}");

    let point = |suspect: &&Value| suspect["accumulation_point"]["class"] == "long[]";
    let of_thread = suspects.iter().find(point).unwrap();
    assert_eq!(of_thread["accumulation_point"]["retained_bytes"], LOCAL_BYTES);
    let path = of_thread["path"].as_array().unwrap();
    assert_eq!((&path[0]["root_kind"], path.len()), (&"thread".into(), 2));
    let place = path[1]["place"].as_str().unwrap();
    assert!(place.starts_with("local of HeldObjects.hold (HeldObjects.java:"), "{place}");

    let map = find(rows(&value, "biggest"), "place", "static MAP");
    assert_eq!(
        (&map["class"], &map["retained_bytes"]),
        (&"java.util.HashMap".into(), &MAP_BYTES.into())
    );
    let items = find(rows(&value, "classes"), "class", "HeldObjects$Item");
    assert_eq!(items["instance_count"], 1000);
    assert_eq!(
        (&items["shallow_bytes"], &items["least_retained_bytes"]),
        (&16_000.into(), &(1000 * ITEM_BYTES).into())
    );

    let text = text(&folder, &["live.hprof"]);
    assert!(
        text.lines().next().unwrap().contains("strong and soft references hold objects"),
        "{text}"
    );
    for part in [
        "Leak suspects: ",
        "  class HeldObjects\n",
        "static MAP java.util.HashMap 0x",
        "local of HeldObjects.hold (",
        " \"holder\"\n",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

#[test]
fn classes_packages_loaders_and_roots_add_up() {
    let folder = dumped(true);
    let classes = json(&folder, &["--classes", "live.hprof"]);
    let all = &classes["totals"]["reachable"];
    let sum =
        |rows: &[Value], key: &str| rows.iter().map(|it| it[key].as_u64().unwrap()).sum::<u64>();
    for (option, key) in
        [("--classes", "classes"), ("--packages", "packages"), ("--loaders", "loaders")]
    {
        let value = json(&folder, &[option, "live.hprof"]);
        let rows = rows(&value, key);
        assert_eq!(sum(rows, "instance_count"), all["count"].as_u64().unwrap(), "{option}");
        assert_eq!(sum(rows, "shallow_bytes"), all["bytes"].as_u64().unwrap(), "{option}");
        let csv = text_of_csv(&folder, &[option, "live.hprof"]);
        assert_eq!(csv.len(), rows.len(), "{option}");
    }
    let value = json(&folder, &["--loaders", "live.hprof"]);
    assert!(rows(&value, "loaders").iter().any(|it| it["loader"] == "boot loader"));
    let value = json(&folder, &["--roots", "live.hprof"]);
    assert_eq!(sum(rows(&value, "root_kinds"), "held_bytes"), all["bytes"].as_u64().unwrap());
    // The exact size has what two objects hold together, the table does not.
    let pairs = find(rows(&classes, "classes"), "class", "HeldObjects$Pair");
    assert_eq!(pairs["least_retained_bytes"], 32);
    let value = json(&folder, &["--instances", "Pair", "live.hprof"]);
    assert_eq!(value["set"]["least_retained_bytes"], 32);
    assert_eq!(value["set"]["retained_bytes"], 32 + SHARED_BYTES);
    assert_eq!(rows(&value, "instances").len(), 2);
    assert!(
        text(&folder, &["--instances", "Pair", "live.hprof"])
            .contains("retain exactly 8 kB together in 3 objects (at least 32 B")
    );
}

/// The rows of a CSV file.
#[track_caller]
fn text_of_csv(folder: &Folder, arguments: &[&str]) -> Vec<csv::StringRecord> {
    let output = folder.run(&[&["heap", "--csv"], arguments].concat());
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(stderr(&output).contains("--refs soft"), "{}", stderr(&output));
    csv::Reader::from_reader(&output.stdout[..]).records().map(|row| row.unwrap()).collect()
}

#[test]
fn trees_merge_classes_and_lists() {
    let folder = dumped(true);
    let value = json(&folder, &["--tree=HeldObjects$Node", "live.hprof"]);
    let [list] = &rows(&value, "tree")[..] else { panic!("{value}") };
    assert_eq!((&list["instance_count"], &list["level_count"]), (&10_000.into(), &10_000.into()));
    assert_eq!(
        (&list["shallow_bytes"], &list["retained_bytes"]),
        (&LIST_BYTES.into(), &LIST_BYTES.into())
    );

    let biggest = json(&folder, &["--biggest", "live.hprof"]);
    let map = find(rows(&biggest, "biggest"), "place", "static MAP")["address"].as_str().unwrap();
    let value = json(&folder, &[&format!("--tree={map}"), "live.hprof"]);
    let of_depth = |depth: u64| rows(&value, "tree").iter().filter(move |it| it["depth"] == depth);
    let row = |depth| of_depth(depth).next().unwrap();
    assert_eq!(row(0)["retained_bytes"], MAP_BYTES);
    assert_eq!(
        (&row(1)["place"], &row(1)["retained_bytes"]),
        (&".table".into(), &(MAP_BYTES - 48).into())
    );
    // Entries of the same bucket are below each other.
    assert_eq!(
        (&row(2)["class"], &row(2)["instance_count"]),
        (&"java.util.HashMap$Node".into(), &1000.into())
    );
    let item = of_depth(3).find(|it| it["class"] == "HeldObjects$Item").unwrap();
    assert_eq!(
        (&item["instance_count"], &item["retained_bytes"]),
        (&1000.into(), &(1000 * ITEM_BYTES).into())
    );
    let text = text(&folder, &["--tree", "live.hprof"]);
    assert!(text.contains("static MAP java.util.HashMap 0x"), "{text}");
}

#[test]
fn paths_have_the_fields_of_every_step() {
    let folder = dumped(true);
    let value = json(&folder, &["--paths", "HeldObjects$Item", "live.hprof"]);
    assert_eq!(
        (&value["object_count"], &value["asked_object_count"]),
        (&1000.into(), &1000.into())
    );
    let nodes = rows(&value, "paths");
    let ends: u64 = nodes.iter().map(|it| it["end_count"].as_u64().unwrap()).sum();
    assert_eq!(ends, 1000);
    let map = find(nodes, "place", "static MAP");
    assert_eq!((&map["class"], &map["path_count"]), (&"java.util.HashMap".into(), &1000.into()));
    let at = |place: &str| nodes.iter().position(|it| it["place"] == place).unwrap();
    assert!(at("static MAP") < at(".table") && at(".table") < at("[]") && at("[]") < at(".value"));
    let text = text(&folder, &["--paths", "Item", "live.hprof"]);
    assert!(
        text.contains("static MAP java.util.HashMap 0x")
            && text.contains(".value HeldObjects$Item"),
        "{text}"
    );
    // One object has one path, with the index of each element.
    let instances = json(&folder, &["--instances", "Item", "--top", "1", "live.hprof"]);
    let address = rows(&instances, "instances")[0]["address"].as_str().unwrap();
    let value = json(&folder, &["--paths", address, "live.hprof"]);
    assert_eq!((&value["object_count"], &value["asked_object_count"]), (&1.into(), &1.into()));
    let places = places(&value["paths"]);
    assert!(
        places.contains(&".value") && places.iter().any(|it| it.starts_with('[') && it.len() > 2),
        "{places:?}"
    );
}

#[test]
fn suspects_say_where_they_were_allocated() {
    let folder = Folder::new();
    measured(&folder, &[], "x.hprof", &["HeldObjects", "d.hprof", "true"]);
    let value = json(&folder, &["x.hprof"]);
    let map = find(rows(&value, "suspects"), "name", "class HeldObjects");
    let frames = map["allocated_at"].as_array().unwrap();
    assert!(
        frames.iter().any(|it| it.as_str().unwrap().starts_with("HeldObjects.main (")),
        "{map}"
    );
    let text = text(&folder, &["x.hprof"]);
    assert!(text.contains("        allocated at:\n          java.util.HashMap.resize ("), "{text}");
}

/// The last nodes of the list are 10,000 steps from its root: these paths have no middle.
#[test]
fn paths_along_lists_are_one() {
    let folder = dumped(true);
    let value = json(&folder, &["--paths", "HeldObjects$Node", "live.hprof"]);
    let nodes = rows(&value, "paths");
    let list = find(nodes, "place", "static list");
    assert_eq!(list["class"], "HeldObjects$Node");
    let next = find(nodes, "place", ".next");
    assert_eq!(list["depth"].as_u64().unwrap() + 1, next["depth"].as_u64().unwrap());
    let (found, asked) =
        (value["object_count"].as_u64().unwrap(), value["asked_object_count"].as_u64().unwrap());
    // All paths together have 50 million steps.
    assert!(asked == 10_000 && (100..10_000).contains(&found), "{found} of {asked}");
    let level_count = next["level_count"].as_u64().unwrap();
    assert!((4_900..10_000).contains(&level_count), "{level_count}");
    let text = text(&folder, &["--paths", "HeldObjects$Node", "live.hprof"]);
    let heading = format!(
        "Shortest paths from roots to {found} of 10000 objects of HeldObjects$Node, spread over all\n"
    );
    assert!(text.contains(&heading), "{text}");
}

#[test]
fn references_are_chosen_and_garbage_is_shown() {
    let folder = dumped(false);
    let of = |options: &[&str], class: &str| {
        let value = json(&folder, &[options, &["--unreachable", "all.hprof"]].concat());
        let rows = rows(&value, "unreachable").clone();
        rows.into_iter().find(|it| it["class"] == class)
    };
    let garbage = of(&[], "HeldObjects$Garbage").unwrap();
    assert_eq!(
        (&garbage["reach"], &garbage["instance_count"]),
        (&"unreachable".into(), &10.into())
    );
    assert_eq!(
        (&garbage["shallow_bytes"], &garbage["retained_bytes"]),
        (&160.into(), &Value::Null)
    );
    let kept = of(&["--keep-unreachable"], "HeldObjects$Garbage").unwrap();
    assert_eq!(
        (&kept["instance_count"], &kept["retained_bytes"]),
        (&10.into(), &(10 * 136).into())
    );
    assert_eq!(of(&[], "HeldObjects$Cached"), None);
    let cached = of(&["--refs", "strong"], "HeldObjects$Cached").unwrap();
    assert_eq!(
        (&cached["reach"], &cached["instance_count"]),
        (&"softly reachable".into(), &7.into())
    );
    let output = folder.run(&["heap", "--refs", "strong", "--paths", "Cached", "all.hprof"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("Cached: softly reachable"), "{}", stderr(&output));
    // References of 8 bytes: each node has 24.
    let value = json(
        &folder,
        &["--layout", "16,24,8,8", "--instances", "HeldObjects$Node", "--top", "1", "all.hprof"],
    );
    assert_eq!(value["set"]["shallow_bytes"], 10_000 * 24);
}

#[test]
fn what_the_dump_has_not_is_said_in_a_line() {
    let folder = dumped(true);
    let refused = |arguments: &[&str], parts: &[&str]| {
        assert_refused(&folder.run(&[&["heap"], arguments].concat()), parts);
    };
    refused(
        &["--instances", "Itme", "live.hprof"],
        &["Itme: no class has that name; did you mean 'HeldObjects$Item'"],
    );
    refused(&["--tree=0x10", "live.hprof"], &["no object at 0x10"]);
    refused(&["--paths", "0xzz", "live.hprof"], &["use an address such as 0x"]);
    refused(&["--classes", "--roots", "live.hprof"], &["cannot be used with"]);
    refused(&["--dump", "2", "live.hprof"], &["live.hprof", "dump"]);
    refused(&["--memory", "100k", "live.hprof"], &["live.hprof", "--memory"]);
    refused(&["none.hprof"], &["none.hprof"]);
    folder.file("text.hprof", "nothing of the kind");
    refused(&["text.hprof"], &["text.hprof"]);
}

#[test]
fn a_terminal_shows_the_classes_at_once() {
    let folder = dumped(true);
    let on_a_terminal = |arguments: &[&str]| {
        let terminal = Terminal::new();
        let output = Command::new(PERK)
            .arg("heap")
            .args(arguments)
            .current_dir(folder.path())
            .env("TERM", "xterm")
            .stdout(Stdio::piped())
            .stderr(terminal.file.try_clone().unwrap())
            .spawn()
            .unwrap()
            .wait_with_output()
            .unwrap();
        assert_eq!(stdout(&output), text(&folder, arguments));
        terminal
    };
    let terminal = on_a_terminal(&["live.hprof"]);
    wait_for("the classes", || terminal.shown().contains("  long[]\r\n").then_some(()));
    assert!(terminal.shown().contains("Classes by their own size"), "{}", terminal.shown());
    assert_eq!(on_a_terminal(&["--classes", "live.hprof"]).shown(), "");
}

#[test]
fn a_dump_comes_through_a_pipe() {
    let folder = dumped(true);
    let bytes = std::fs::read(folder.join("live.hprof")).unwrap();
    let of_pipe =
        folder.perk().args(["heap", "--classes", "-"]).write_stdin(bytes).output().unwrap();
    assert_eq!(of_pipe.status.code(), Some(0), "{}", stderr(&of_pipe));
    let of_file = text(&folder, &["--classes", "live.hprof"]);
    assert_eq!(stdout(&of_pipe), of_file.replace("live.hprof:", "stdin:"));
}

#[test]
fn the_documents_are_what_the_page_says() {
    let folder = dumped(false);
    let views: [&[&str]; 9] = [
        &[],
        &["--packages"],
        &["--loaders"],
        &["--roots"],
        &["--instances", "Item"],
        &["--unreachable"],
        &["--tree"],
        &["--paths", "Item"],
        &["--biggest"],
    ];
    let document = |view: &&[&str]| {
        (view.join(" "), json(&folder, &[*view, &["--top", "20", "all.hprof"]].concat()))
    };
    crate::json::check("perk heap", &views.iter().map(document).collect::<Vec<_>>());
}

/// Returns the least that `--memory` takes, by the message for too little.
fn least_memory(folder: &Folder, file: &str) -> u64 {
    let output = folder.run(&["heap", "--memory", "1m", file]);
    assert_refused(&output, &["needs at least", "--memory allows 1 MB"]);
    let message = stderr(&output);
    let size = message.split("at least ").nth(1).unwrap().split(" MB").next().unwrap();
    (size.parse::<f64>().unwrap() * 1000.0) as u64
}

/// The numbers of all objects go to the file and come back many times.
#[test]
fn little_memory_gives_the_same_answers() {
    let folder = mix("7");
    let memory = format!("{}k", least_memory(&folder, "mix.hprof") + 1024);
    let views: &[&[&str]] = &[
        &[],
        &["--loaders", "--json", "--refs", "all"],
        &["--instances", "Order", "--json"],
        &["--unreachable", "--keep-unreachable", "--csv"],
        &["--threads"],
        &["--tree=Order", "--json"],
        &["--paths", "Order"],
        &["--refs-to", "Order", "--json"],
    ];
    for view in views {
        let plenty = folder.run(&[&["heap"], *view, &["mix.hprof"]].concat());
        assert_eq!(plenty.status.code(), Some(0), "{view:?}: {}", stderr(&plenty));
        let little = folder.run(&[&["heap", "--memory", &memory], *view, &["mix.hprof"]].concat());
        assert_eq!(little.status.code(), Some(0), "{view:?}: {}", stderr(&little));
        assert!(stdout(&little) == stdout(&plenty), "{view:?}");
        // The one thing that differs, and the proof that there are scratch files.
        let messages = stderr(&little);
        let (line, rest) = messages.split_once('\n').unwrap();
        assert!(line.contains("the rest goes to scratch files in "), "{view:?}: {messages}");
        assert_eq!(rest, stderr(&plenty), "{view:?}");
    }
}

#[test]
fn a_full_disk_is_said() {
    let folder = mix("20");
    let memory = format!("{}k", least_memory(&folder, "mix.hprof") + 4096);
    // The shell ignores the signal, so that writing fails as on a full disk.
    let script = r#"trap '' XFSZ; ulimit -f 4096; exec "$0" "$@""#;
    let mut shell = Command::new("bash");
    shell.current_dir(folder.path()).args(["-c", script, PERK, "heap", "--memory", &memory]);
    let output = shell.arg("mix.hprof").output().unwrap();
    let messages = stderr(&output);
    assert_eq!((output.status.code(), stdout(&output).as_str()), (Some(2), ""), "{messages}");
    let fault = messages.lines().last().unwrap();
    for part in
        ["cannot analyse mix.hprof: the scratch file in", "cannot be written", "--scratch DIR"]
    {
        assert!(fault.contains(part), "{messages}");
    }
}

/// A folder with the dump of a program of many objects, `mix.hprof`; of a size in MB.
fn mix(mb: &str) -> Folder {
    let folder = Folder::new();
    let source = workspace().join("java/bench/HeapMix.java");
    let run = JavaRun::new(jdk::compiler()).classes(fixture::compile_files(&[&source]));
    let mut java = run.jvm_arg("-Xmx256m").main("HeapMix").args([mb]).spawn();
    java.wait_for_stdout("READY");
    let mut jcmd = Command::new(jdk::compiler().jcmd());
    let path = folder.join("mix.hprof");
    let output =
        jcmd.arg(java.pid().to_string()).args(["GC.heap_dump", "-all"]).arg(path).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    folder
}
