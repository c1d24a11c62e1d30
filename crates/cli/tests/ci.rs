//! The pipeline of docs/ci.md, as it stands there.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use perk_testkit::{Jdk, jdk};

use crate::util::{Folder, PERK, stderr, stdout};

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
    assert_eq!(blocks.len(), 3);
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
        let output = sh(&folder, jdk, &["calls.sh", "before", "after"]);
        let text = stdout(&output);
        assert_eq!(output.status.code(), Some(1), "{text}{}", stderr(&output));
        let line = "EXCEEDED  calls(com.acme.*)>+0: ";
        let line = text.lines().find(|it| it.starts_with(line)).unwrap();
        assert!(line.contains("; most in com.acme.Main.work(I)J: 50 → 51 (+2.00 %)"), "{line}");
    });
}
