//! `perk heap` on classes of one name from several class loaders.

use std::process::Command;

use perk_testkit::jdk;
use rustix::termios::{Winsize, tcsetwinsize};
use serde_json::Value;

use crate::input::Terminal;
use crate::util::{Folder, PERK, stderr, stdout, wait_for};

const LOADERS: u64 = 20;
/// An array of 100,000 bytes in a static field.
const DATA: u64 = 100_016;

/// A folder with `it.hprof`, in which `holder` holds the classes.
fn dumped(holder: &str) -> Folder {
    super::dumped(jdk::compiler(), &["ManyLoaders", "it.hprof", holder])
}

#[track_caller]
fn shown(folder: &Folder, arguments: &[&str]) -> String {
    let output = folder.run(&[&["heap", "it.hprof"], arguments].concat());
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    stdout(&output)
}

#[track_caller]
fn rows(folder: &Folder, key: &str, arguments: &[&str]) -> Vec<Value> {
    let value: Value =
        serde_json::from_str(&shown(folder, &[arguments, &["--json"]].concat())).unwrap();
    value[key].as_array().unwrap().clone()
}

#[test]
fn a_registry_of_classes_of_many_loaders_is_the_suspect() {
    let folder = dumped("registry");
    let suspects = rows(&folder, "suspects", &[]);
    let registry = &suspects[0];
    assert_eq!(registry["name"], "class ManyLoaders$Registry");
    assert!(registry["retained_bytes"].as_u64().unwrap() > LOADERS * DATA, "{registry}");
    assert_eq!(registry["accumulation_point"]["class"], "java.lang.Object[]");
    assert_eq!(registry["is_path_shortest"], true);
    let path = registry["path"].as_array().unwrap();
    let places: Vec<_> = path[path.len() - 2..].iter().map(|it| it["place"].as_str()).collect();
    assert_eq!(places, [Some("static REGISTERED"), Some(".elementData")]);
    // Each instance is of another class of the name.
    let [part] = &registry["parts"].as_array().unwrap()[..] else { panic!("{registry}") };
    assert_eq!(
        (&part["class"], &part["instance_count"]),
        (&"ManyLoaders$Plugin".into(), &LOADERS.into())
    );
    let text = shown(&folder, &[]);
    assert!(text.contains("  accumulates in static REGISTERED, java.lang.Object[] 0x"), "{text}");
    assert!(text.contains("  shortest path from a root:\n"), "{text}");
    // Of twenty alike, one is among the biggest.
    let biggest = text.split("Biggest objects").nth(1).unwrap().split("\n\n").next().unwrap();
    assert_eq!(biggest.matches("  ManyLoaders$Plugin 0x").count(), 1, "{text}");
    assert!(biggest.contains(", and 19 more of its class there = "), "{text}");
    let plugins = rows(&folder, "biggest", &[]);
    let is_plugin = |it: &&Value| it["class"] == "ManyLoaders$Plugin";
    assert_eq!(plugins.iter().filter(is_plugin).count(), 9, "{plugins:?}");
}

#[test]
fn classes_of_one_name_are_one_in_trees_and_paths() {
    let folder = dumped("registry");
    let tree = rows(&folder, "tree", &["--tree=class ManyLoaders$Registry"]);
    let is_class = |it: &&Value| it["class"] == "class ManyLoaders$Plugin";
    let classes: Vec<_> = tree.iter().filter(is_class).collect();
    let [class] = classes[..] else { panic!("{tree:?}") };
    assert_eq!((&class["instance_count"], &class["address"]), (&LOADERS.into(), &Value::Null));
    let data = tree.iter().find(|it| it["class"] == "byte[]").unwrap();
    assert_eq!(
        (&data["instance_count"], &data["retained_bytes"]),
        (&LOADERS.into(), &(LOADERS * DATA).into())
    );
    let text = shown(&folder, &["--tree=class ManyLoaders$Registry"]);
    assert!(text.contains(" 20 class ManyLoaders$Plugin\n"), "{text}");

    let paths = rows(&folder, "paths", &["--paths", "PluginLoader"]);
    let [.., plugin, class, loader] = &paths[..] else { panic!("{paths:?}") };
    for (row, place, class) in [
        (plugin, "[]", "ManyLoaders$Plugin"),
        (class, "its class", "class ManyLoaders$Plugin"),
        (loader, "class loader", "ManyLoaders$PluginLoader"),
    ] {
        assert_eq!((&row["place"], &row["class"]), (&place.into(), &class.into()), "{row}");
        assert_eq!((&row["path_count"], &row["address"]), (&LOADERS.into(), &Value::Null), "{row}");
    }
    let text = shown(&folder, &["--paths", "PluginLoader"]);
    assert!(text.contains("Shortest paths from roots to 20 objects of PluginLoader\n"), "{text}");
}

#[test]
fn classes_that_several_hold_are_suspected_by_the_class_of_their_loaders() {
    let folder = dumped("threads");
    let suspects = rows(&folder, "suspects", &[]);
    let classes = &suspects[0];
    assert_eq!(
        (&classes["kind"], &classes["name"], &classes["address"]),
        (&"classes".into(), &"20 classes of ManyLoaders$PluginLoader".into(), &Value::Null)
    );
    assert_eq!(classes["instance_count"], LOADERS);
    assert_eq!(
        (&classes["path_object_count"], &classes["compared_path_count"]),
        (&20.into(), &20.into())
    );
    let path = classes["path"].as_array().unwrap();
    assert_eq!(path[0]["root_kind"], "thread");
    assert_eq!(path[path.len() - 1]["class"], "class ManyLoaders$Plugin");
    let data =
        classes["parts"].as_array().unwrap().iter().find(|it| it["class"] == "byte[]").unwrap();
    assert_eq!(
        (&data["instance_count"], &data["retained_bytes"]),
        (&LOADERS.into(), &(LOADERS * DATA).into())
    );
    // The classes of the boot loader have no common reason.
    assert!(suspects.iter().all(|it| it["name"] != "java.lang.Class"), "{suspects:?}");
    let text = shown(&folder, &[]);
    assert!(text.contains("  shortest path from a root to 20 of 20 of them:\n"), "{text}");
}

#[test]
fn a_class_is_what_its_name_on_the_screen_stands_for() {
    let folder = dumped("registry");
    let name = "class ManyLoaders$Registry";
    let edges = rows(&folder, "references", &["--refs-of", name]);
    assert!(edges.iter().any(|it| it["place"] == "static REGISTERED"), "{edges:?}");
    let text = shown(&folder, &["--paths", name]);
    assert!(text.contains(&format!("roots to {name}\n")), "{text}");
    // Of several classes of the name, the references are summed up.
    let merged = rows(&folder, "references", &["--refs-of", "class ManyLoaders$Plugin"]);
    let data = merged.iter().find(|it| it["place"] == "static DATA").unwrap();
    assert_eq!(data["reference_count"], LOADERS, "{data}");
    let output = folder.run(&["heap", "it.hprof", "--tree=ManyLoaders$Registry"]);
    assert_eq!(output.status.code(), Some(2));
    let hint = "('class ManyLoaders$Registry' is the class itself)";
    assert!(stderr(&output).contains(hint), "{}", stderr(&output));
}

#[test]
fn rows_begin_with_their_object_on_a_narrow_terminal() {
    let folder = dumped("registry");
    let terminal = Terminal::new();
    let size = Winsize { ws_col: 80, ws_row: 50, ws_xpixel: 0, ws_ypixel: 0 };
    tcsetwinsize(&terminal.file, size).unwrap();
    let status = Command::new(PERK)
        .args(["heap", "--biggest", "--top", "3", "it.hprof"])
        .current_dir(folder.path())
        .env("TERM", "xterm")
        .env("NO_COLOR", "1")
        .stdout(terminal.file.try_clone().unwrap())
        .status()
        .unwrap();
    assert!(status.success());
    let shown = wait_for("all rows", || {
        let shown = terminal.shown();
        (shown.matches("held by ").count() == 3).then_some(shown)
    });
    assert!(shown.lines().all(|line| line.trim_end().chars().count() <= 80), "{shown}");
    assert_eq!(shown.matches("  ManyLoaders$Plugin 0x").count(), 2, "{shown}");
    assert!(shown.contains("        held by java.lang.Object[] 0x"), "{shown}");
}
