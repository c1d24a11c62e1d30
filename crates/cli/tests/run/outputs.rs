//! Every measurement with every ending: refused before the program starts, or written with numbers.

use std::fs;

use perk_testkit::jdk;

use super::kills::rounds;
use super::perk_run;
use crate::util::{Folder, stderr, stdout};

const MEASUREMENTS: [&[&str]; 19] = [
    &[],
    &["--cpu", "times", "--include", "Rounds"],
    &["--cpu", "times", "--timing", "none", "--include", "Rounds"],
    &["--cpu", "times", "--budget", "1.3", "--include", "Rounds"],
    &["--cpu", "old", "--include", "Rounds"],
    &["--wall"],
    &["--alloc=16k"],
    &["--heap", "sites"],
    &["--heap", "sites", "--paths"],
    &["--heap", "sites", "--cpu", "counts"],
    &["--heap", "sites", "--no-live"],
    &["--aprof"],
    &["--monitor"],
    &["--locks"],
    &["--xprof"],
    &["--fields", "shared", "--include", "Rounds"],
    &["--jamaica=bytecodes"],
    &["--heap", "dump"],
    &["--cpu", "samples", "--wall", "--alloc=16k", "--lock"],
];

#[test]
fn what_cannot_be_written_is_refused_before_the_start_and_nothing_empty_is_written() {
    let formats = stdout(&Folder::new().run(&["formats"]));
    let endings: Vec<&str> =
        formats.split_whitespace().filter(|word| word.starts_with('.')).collect();
    assert!(endings.contains(&".html") && endings.contains(&".pb"), "{formats}");
    // The command starts no JVM.
    let nothing = ["true".to_owned()];
    for options in MEASUREMENTS {
        let folder = Folder::new();
        let mut accepted = Vec::new();
        for ending in &endings {
            let file = format!("x{ending}");
            let output = perk_run(&folder, &[options, &["-o", &file]].concat(), &nothing);
            let text = stderr(&output);
            assert_eq!(output.status.code(), Some(2), "{options:?} {ending}: {text}");
            match text.contains("no JVM started") {
                true => accepted.push(file),
                false => assert_eq!(text.lines().count(), 1, "{options:?} {ending}: {text}"),
            }
            assert!(folder.names().is_empty(), "{options:?} {ending}");
        }
        assert!(!accepted.is_empty(), "{options:?}");
        let outputs: Vec<&str> = accepted.iter().flat_map(|file| ["-o", file]).collect();
        let has =
            |words: &[&str]| options.iter().any(|it| words.iter().any(|word| it.starts_with(word)));
        // Contention needs a rival; where each access counts, a few rounds are enough.
        let arguments: &[&str] = match () {
            () if has(&["--locks", "--lock", "--monitor"]) => &["rivals", "4000"],
            () if has(&["--fields", "--jamaica"]) => &["until", "100", "/"],
            () => &["until", "4000", "/"],
        };
        let command = rounds(jdk::compiler(), arguments);
        let output = perk_run(&folder, &[options, &outputs].concat(), &command);
        assert_eq!(output.status.code(), Some(0), "{options:?}: {}", stderr(&output));
        for file in &accepted {
            let bytes = fs::metadata(folder.join(file)).unwrap().len();
            assert!(bytes > 0, "{options:?} {file}");
            // A page of another metric than samples is not read back.
            let is_read = !file.ends_with(".svg") && !file.ends_with(".html");
            if is_read {
                let output = folder.run(&["report", file]);
                assert_eq!(
                    output.status.code(),
                    Some(0),
                    "{options:?} {file}: {}",
                    stderr(&output)
                );
            }
        }
        assert_eq!(folder.names().len(), accepted.len(), "{options:?}");
    }
}

#[test]
fn numbers_that_no_file_has_are_named() {
    let run = |outputs: &[&str]| {
        let folder = Folder::new();
        let command = rounds(jdk::compiler(), &["until", "1500", "/"]);
        let outputs: Vec<_> = outputs.iter().flat_map(|file| ["-o", file]).collect();
        let output = perk_run(&folder, &outputs, &command);
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        let text = stderr(&output);
        text.lines().filter(|line| line.contains("left out")).map(str::to_owned).collect::<Vec<_>>()
    };
    let lost = run(&["a.collapsed"]);
    let line = "perk: left out of a.collapsed, as collapsed stacks cannot hold it: waits";
    assert!(lost.len() == 1 && lost[0].starts_with(line), "{lost:?}");
    assert!(lost[0].ends_with("; a second -o FILE.hprof holds all"), "{lost:?}");
    assert_eq!(run(&["a.collapsed", "a.hprof"]), Vec::<String>::new());
}
