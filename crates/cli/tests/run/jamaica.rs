//! Bytecodes of a program that executes as many each time.

use std::fs;
use std::path::PathBuf;
use std::process::Output;

use perk_testkit::{Jdk, fixture, jdk};

use crate::util::{Folder, assert_refused, shell_line, stderr, stdout};

/// The classes of a program that executes as many bytecodes in `turn` as [`expected`] computes.
fn classes() -> PathBuf {
    let text = "public class Turns {
        static int turn(int turns) {
            int sum = 0;
            for (int i = 0; i < turns; i++) sum += i;
            return sum;
        }
        public static void main(String[] args) {
            System.out.println(turn(Integer.parseInt(args[0])));
        }
    }";
    fixture::compile_text("Turns", text)
}

fn line(jdk: &Jdk, turns: &str) -> Vec<String> {
    let [java, classes] = [jdk.java(), classes()].map(|path| path.to_str().unwrap().to_owned());
    vec![java, "-cp".to_owned(), classes, "Turns".to_owned(), turns.to_owned()]
}

fn run(folder: &Folder, options: &[&str], line: &[String]) -> Output {
    folder.perk().arg("run").args(options).arg("--").args(line).output().unwrap()
}

/// Returns the bytecodes of `turn` in each part of a file.
#[track_caller]
fn bytecodes(folder: &Folder, file: &str) -> Vec<u64> {
    let text = fs::read_to_string(folder.join(file)).unwrap();
    let lines = text.lines().filter(|line| line.starts_with("PROFILE: "));
    let of_method = lines.filter(|line| line.ends_with(" Turns.turn(I)I"));
    of_method.map(|line| line.split(' ').nth(1).unwrap().parse().unwrap()).collect()
}

/// 4 to begin, 3 for each look at the condition, 6 for each turn, 2 to return.
fn expected(turns: u64) -> u64 {
    4 + 3 * (turns + 1) + 6 * turns + 2
}

#[test]
fn runs_are_added_to_one_file() {
    jdk::each(|jdk| {
        let folder = Folder::new();
        for options in [&["--jamaica", "-o", "a.prof"][..], &["--jamaica"], &["--jamaica"]] {
            let output = run(&folder, options, &line(jdk, "1000"));
            assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        }
        assert_eq!(bytecodes(&folder, "a.prof"), [expected(1000)]);
        assert_eq!(bytecodes(&folder, "java.prof"), [expected(1000), expected(1000)]);
        assert_eq!(folder.names(), ["a.prof", "java.prof"]);
        let output = run(&folder, &["--jamaica", "--force"], &line(jdk, "7"));
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        assert_eq!(bytecodes(&folder, "java.prof"), [expected(7)]);
    });
}

#[test]
fn a_run_is_reported() {
    jdk::each(|jdk| {
        let folder = Folder::new();
        let output = run(&folder, &["--jamaica"], &line(jdk, "100000"));
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        let count = expected(100_000);
        let row = |text: &str| {
            let row = text.lines().find(|line| line.ends_with("  Turns.turn")).expect("a row");
            row.split_whitespace().map(str::to_owned).collect::<Vec<_>>()
        };
        for text in [stderr(&output), stdout(&folder.run(&["report", "java.prof"]))] {
            assert!(text.contains("\nWhere the bytecodes are executed\n"), "{text}");
            assert!(text.contains("\nWhere the cycles go, each method with all that it"), "{text}");
            let row = row(&text);
            assert_eq!(row[2..5], [count.to_string(), "1".to_owned(), count.to_string()], "{text}");
        }
        let text = stdout(&folder.run(&["report", "java.prof", "--method", "Turns.turn"]));
        assert!(text.contains(&format!("Turns.turn: 1 call, {count} bytecodes")), "{text}");
        assert!(text.contains(" 100.00      1  Turns.main @ 9\n"), "{text}");
        let text = stdout(&folder.run(&["report", "java.prof", "--threads", "--csv"]));
        assert!(text.contains("\nmain,"), "{text}");
    });
}

#[test]
fn each_jvm_has_a_file_of_its_own() {
    let folder = Folder::new();
    let jdk = jdk::compiler();
    let script = format!("{}; {}", shell_line(&line(jdk, "5")), shell_line(&line(jdk, "6")));
    let output = run(&folder, &["--jamaica"], &["sh", "-c", &script].map(str::to_owned));
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let names = folder.names();
    let mut all: Vec<_> = names.iter().flat_map(|name| bytecodes(&folder, name)).collect();
    all.sort_unstable();
    assert_eq!(all, [expected(5), expected(6)], "{names:?}");
    assert!(names.iter().all(|it| it.starts_with("java.") && it.ends_with(".prof")), "{names:?}");
}

#[test]
fn a_file_that_a_run_cannot_be_added_to_is_refused_before_the_run() {
    let folder = Folder::new();
    folder.file("other.prof", "count callee caller time\n1 A.b()V C.d()V 5\n");
    folder.file("cut.prof", "PROFILE: 12 (100%) A.b()V\nPROFILE: 13 (1");
    folder.file("empty.prof", "");
    let line = line(jdk::compiler(), "3");
    for (file, message) in [
        ("other.prof", "perk: cannot add to other.prof: it is not JamaicaVM's profile; --force"),
        ("cut.prof", "perk: cannot add to cut.prof: its last line is truncated; --force"),
        ("a.txt", "perk: a.txt: --jamaica writes .prof; perk convert converts it to other formats"),
        ("a.prof.gz", "perk: a.prof.gz: --jamaica writes .prof; perk convert converts"),
    ] {
        let output = run(&folder, &["--jamaica", "-o", file], &line);
        assert_refused(&output, &[message]);
        assert_eq!(output.stdout, b"", "the program did not run");
    }
    for file in ["empty.prof", "other.prof"] {
        let force: &[&str] = if file == "other.prof" { &["--force"] } else { &[] };
        let output = run(&folder, &[&["--jamaica", "-o", file], force].concat(), &line);
        assert_eq!(output.status.code(), Some(0), "{file}: {}", stderr(&output));
    }
    assert_eq!(bytecodes(&folder, "empty.prof"), [expected(3)]);
    assert_eq!(bytecodes(&folder, "other.prof"), [expected(3)]);
}
