//! The pipeline of docs/ci.md, as it stands there.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use perk_testkit::{Jdk, jdk};

use crate::util::{Folder, PERK, assert_refused, stderr, stdout};

/// The program of docs/ci.md. Its loop runs `factor` times as often as its argument says, for each of
/// `calls`.
fn program(factor: u64, calls: u64) -> String {
    format!(
        "package com.acme;
         import java.util.*;
         public class Main {{
             static long work(int count) {{
                 long sum = 0;
                 for (int i = 0; i < count * {factor}; i++) sum += i ^ sum;
                 return sum;
             }}
             public static void main(String[] args) {{
                 Map<String, Long> all = new TreeMap<>();
                 for (int i = 0; i < {calls}; i++) all.put(\"n\" + i % 7, work(Integer.parseInt(args[0])));
                 all.forEach((name, sum) -> System.out.println(name + sum));
             }}
         }}"
    )
}

/// Writes the scripts of docs/ci.md: the blocks of `sh`, each with its name in its first line.
fn scripts(folder: &Folder) {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/ci.md");
    let page = fs::read_to_string(page).unwrap();
    let blocks: Vec<_> = page.split("```sh\n").skip(1).collect();
    assert_eq!(blocks.len(), 4);
    for block in blocks {
        let (script, _) = block.split_once("```\n").unwrap();
        let name = script.split(' ').nth(1).unwrap();
        folder.file(name, script);
    }
}

fn sh(folder: &Folder, jdk: &Jdk, arguments: &[&str]) -> Output {
    let java = jdk.java().parent().unwrap().to_owned();
    let javac = jdk::compiler().java().parent().unwrap().to_owned();
    let perk = Path::new(PERK).parent().unwrap().to_owned();
    let path = std::env::var_os("PATH").unwrap();
    let path = [java, javac, perk].into_iter().chain(std::env::split_paths(&path));
    let mut command = Command::new("sh");
    command.current_dir(folder.path()).args(arguments).env_remove("JAVA_TOOL_OPTIONS");
    command.env("PATH", std::env::join_paths(path).unwrap()).output().unwrap()
}

#[test]
fn the_gate_of_the_documentation_opens_and_closes() {
    jdk::each(|jdk| {
        let folder = Folder::new();
        scripts(&folder);
        folder.file("before/src/com/acme/Main.java", program(1, 50));
        folder.file("after/src/com/acme/Main.java", program(1, 50));
        for script in [
            ["bytecodes.sh", "before", "after"],
            ["baseline.sh", "before.prof", "base.prof"],
            ["baseline.sh", "after.prof", "base.prof"],
            ["calls.sh", "before", "after"],
            ["counts.sh", "before", "after"],
        ] {
            let output = sh(&folder, jdk, &script);
            assert_eq!(output.status.code(), Some(0), "{}{}", stdout(&output), stderr(&output));
        }
        let own = ["diff", "before.prof", "after.prof", "--focus", "com.acme.*"];
        assert_eq!(stdout(&folder.run(&own)), "no difference in bytecodes\n");

        folder.file("after/src/com/acme/Main.java", program(3, 50));
        for script in
            [["bytecodes.sh", "before", "after"], ["baseline.sh", "after.prof", "base.prof"]]
        {
            let output = sh(&folder, jdk, &script);
            let text = stdout(&output);
            assert_eq!(output.status.code(), Some(1), "{text}{}", stderr(&output));
            let limits = text.split("\nLimits\n").nth(1).unwrap();
            let line = limits.lines().next().unwrap();
            assert!(line.starts_with("EXCEEDED  bytecodes>+0.1%: "), "{line}");
            assert!(line.contains("; most in com.acme.Main.work(I)J: "), "{line}");
        }
        // The counts of calls are the same, whatever each call does.
        let output = sh(&folder, jdk, &["calls.sh", "before", "after"]);
        assert_eq!(output.status.code(), Some(0), "{}{}", stdout(&output), stderr(&output));
        folder.file("after/src/com/acme/Main.java", program(1, 51));
        for script in ["calls.sh", "counts.sh"] {
            let output = sh(&folder, jdk, &[script, "before", "after"]);
            let text = stdout(&output);
            assert_eq!(output.status.code(), Some(1), "{text}{}", stderr(&output));
            let line = "EXCEEDED  calls(com.acme.*)>+0: ";
            let line = text.lines().find(|it| it.starts_with(line)).unwrap();
            let most = "; most in com.acme.Main.work(I)J: 50 → 51 (+2.00 %)";
            assert!(line.contains(most), "{line}");
        }
    });
}

/// Two files of collapsed stacks, the second with twice the samples.
fn samples() -> Folder {
    let folder = Folder::new();
    folder.file("before.collapsed", "T.main;a.B|c.<init> 100\nT.main 100\n");
    folder.file("after.collapsed", "T.main;a.B|c.<init> 300\nT.main 100\n");
    folder
}

#[test]
fn limits_are_test_cases_of_junit() {
    let folder = samples();
    let limits = ["--fail-on", "samples>+5%", "--fail-on", "samples(T.main)>+10%"];
    let files = ["diff", "before.collapsed", "after.collapsed", "--junit", "limits.xml"];
    let output = folder.run(&[&files[..], &limits].concat());
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    let text = fs::read_to_string(folder.path().join("limits.xml")).unwrap();
    let xml = roxmltree::Document::parse(&text).unwrap();
    let suite = xml.descendants().find(|it| it.has_tag_name("testsuite")).unwrap();
    assert_eq!((suite.attribute("tests"), suite.attribute("failures")), (Some("2"), Some("1")));
    let cases: Vec<_> = xml.descendants().filter(|it| it.has_tag_name("testcase")).collect();
    assert_eq!(cases[0].attribute("name"), Some("samples>+5%"));
    let failure = cases[0].children().find(|it| it.has_tag_name("failure")).unwrap();
    let message = failure.attribute("message").unwrap();
    assert!(message.starts_with("EXCEEDED  samples>+5%: 200 → 400 (+100.00 %)"), "{message}");
    assert!(cases[1].children().all(|it| !it.has_tag_name("failure")));
    // Without a limit there is no test case.
    let output = folder.run(&files);
    assert_refused(&output, &["--fail-on <LIMIT>"]);
}

#[test]
fn a_comment_has_twenty_lines_and_the_limits_first() {
    let folder = samples();
    let many: String = (0..100).map(|n| format!("T.main;a.B.m{n} {}\n", 100 + n)).collect();
    folder.file("many.collapsed", many);
    let arguments = ["diff", "before.collapsed", "after.collapsed", "--markdown", "--fail-on"];
    let output = folder.run(&[&arguments[..], &["samples>+5%"]].concat());
    let text = stdout(&output);
    assert!(
        text.starts_with("**Limits**\n\nEXCEEDED  samples>+5%: 200 → 400 (+100.00 %)"),
        "{text}"
    );
    assert!(text.contains("| `a.B\\|c.<init>` |\n"), "{text}");
    let output = folder.run(&["diff", "before.collapsed", "many.collapsed", "--markdown"]);
    assert!(stdout(&output).lines().count() <= 20, "{}", stdout(&output));
    let report = ["report", "many.collapsed", "--edges", "--markdown"];
    assert_eq!(stdout(&folder.run(&report)).lines().count(), 20);
    let all = stdout(&folder.run(&[&report[..], &["--top", "100"]].concat()));
    assert!(all.lines().count() > 100, "{all}");
}

#[test]
fn files_of_one_format_add_up() {
    let folder = samples();
    let sum = ["report", "before.collapsed", "after.collapsed", "--csv"];
    let text = stdout(&folder.run(&sum));
    assert!(text.contains("samples,T.main,T,main,,,200,"), "{text}");
    let text = stdout(&folder.run(&["report", "before.collapsed", "after.collapsed"]));
    assert!(text.starts_with("2 files: collapsed stacks, 600 samples"), "{text}");
    assert!(text.contains("More: perk report before.collapsed after.collapsed --all"), "{text}");
    let text = stdout(&folder.run(&["report", "--threads", "before.collapsed", "after.collapsed"]));
    for name in ["before.collapsed", "after.collapsed"] {
        assert!(text.contains(name), "{text}");
    }
    let output = folder.run(&["convert", "before.collapsed", "-o", "b.pb"]);
    assert!(output.status.success(), "{}", stderr(&output));
    let output = folder.run(&["report", "after.collapsed", "b.pb"]);
    assert_refused(
        &output,
        &["after.collapsed is collapsed stacks, b.pb is ", "one format add up"],
    );
}
