//! The windows of a recording: `--from` and `--to`.

use perk_testkit::{fixture, jdk};
use serde_json::Value;

use super::perk_run;
use crate::util::{Folder, stderr, stdout};

/// The window's samples, and those with each of two methods on the stack.
fn shares(folder: &Folder, window: &[&str]) -> [u64; 3] {
    let output = folder.perk().args(["report", "o.hprof", "--json"]).args(window).output().unwrap();
    let json: Value = serde_json::from_str(&stdout(&output)).unwrap();
    let methods = json["metrics"][0]["methods"].as_array().unwrap();
    let of = |name: &str| {
        let row = methods.iter().find(|row| row["class"] == "TwoPhases" && row["method"] == name);
        row.map_or(0, |row| row["total"].as_u64().unwrap())
    };
    [json["sample_count"].as_u64().unwrap(), of("a"), of("b")]
}

#[test]
fn a_window_shows_its_phase_alone() {
    jdk::each(|jdk| {
        let folder = Folder::new();
        let classes = fixture::fixtures();
        let [java, classes] = [jdk.java(), classes].map(|it| it.to_str().unwrap().to_owned());
        let line = [&*java, "-cp", &*classes, "TwoPhases", "1500"].map(str::to_owned);
        let output = perk_run(&folder, &["--interval", "10ms", "-o", "o.hprof"], &line);
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        let out = stdout(&output);
        let time = |name: &str| -> u64 {
            let line = out.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix('='));
            line.unwrap().parse().unwrap()
        };
        // The recording begins up to a second before the program's first line.
        let border = format!("{}ms", time("a_to") + 1000);
        let begin = format!("{}ms", time("a_from") + 1000);
        let [all, of_a, of_b] = shares(&folder, &[]);
        let [first, first_a, first_b] = shares(&folder, &["--to", &border]);
        let [second, second_a, second_b] = shares(&folder, &["--from", &border]);
        assert_eq!([first + second, first_a, second_b], [all, of_a, of_b]);
        assert_eq!([first_b, second_a], [0, 0]);
        assert!(second > 120 && second_b * 10 >= second * 9, "{second_b} of {second}");
        let [inner, inner_a, inner_b] = shares(&folder, &["--from", &begin, "--to", &border]);
        assert!(inner > 20 && inner_a * 10 >= inner * 9, "{inner_a} of {inner}");
        assert_eq!(inner_b, 0);

        let text = stdout(&folder.run(&["report", "o.hprof", "--from", &border]));
        let line = text.lines().nth(2).unwrap();
        assert!(line.starts_with("window: ") && text.contains("TwoPhases.b"), "{text}");
        let lines = format!("{second} samples of 10 ms");
        assert!(text.lines().next().unwrap().contains(&lines), "{text}");
        let output = folder.run(&["convert", "o.hprof", "--to", &border, "-o", "part.collapsed"]);
        assert!(stderr(&output).contains("window: 0 s to "), "{}", stderr(&output));
        let part = std::fs::read_to_string(folder.join("part.collapsed")).unwrap();
        assert!(part.contains("TwoPhases.a") && !part.contains("TwoPhases.b"), "{part}");
        let output = folder.run(&["convert", "o.hprof", "--from", &border, "-o", "part.hprof"]);
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        let text = stdout(&folder.run(&["report", "part.hprof", "--from", &border]));
        assert!(text.lines().next().unwrap().contains(&lines), "{text}");
    });
}
