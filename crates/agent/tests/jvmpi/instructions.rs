//! INSTRUCTION_START against a path that is known from the bytecodes, and MONITOR_CONTENDED_EXIT.

use std::process::Command;

use perk_testkit::{Outcome, fixture, jdk};

use crate::support::{library, profiled};

const PROGRAM: &str = "public class Path {
    static int choose(int n) {
        switch (n) {
            case 1: return 10;
            case 2: return 20;
            case 3: return 30;
            default: return -1;
        }
    }
    static int look(int n) {
        switch (n) {
            case -5: return 1;
            case 1000: return 2;
            default: return 3;
        }
    }
    static int loop(int n) {
        int sum = 0;
        for (int i = 0; i < n; i++) sum += i;
        return sum;
    }
    static boolean same(Object a, Object b) { return a == b; }
    static boolean none(Object a) { return a == null; }
    public static void main(String[] arguments) {
        choose(2); choose(9); look(1000); look(-5); look(0); loop(2);
        same(\"a\", \"a\"); same(\"a\", \"b\"); none(null); none(\"a\");
    }
}";

/// Returns the instructions that ran in a method of `Path`.
fn path(outcome: &Outcome, method: &str) -> Vec<String> {
    let start = format!("{method}:");
    let instructions = outcome.value("path").split(' ');
    instructions.filter_map(|it| it.strip_prefix(&start)).map(str::to_owned).collect()
}

fn run(options: &str) -> Vec<Outcome> {
    let classes = fixture::compile_text("Path", PROGRAM);
    let mut outcomes = Vec::new();
    jdk::each(|jdk| {
        let run = profiled(jdk, options, "instructions", "").classes(&classes).main("Path");
        let outcome = run.run();
        outcome.assert_success();
        assert_eq!(outcome.number("enabled"), 0);
        outcomes.push(outcome);
    });
    outcomes
}

#[test]
fn each_instruction_has_its_event() {
    // javac's code, as `javap -c` shows it.
    let classes = fixture::compile_text("Path", PROGRAM);
    let javap = jdk::compiler().javac().with_file_name("javap");
    let listing =
        Command::new(javap).args(["-c", "-cp"]).arg(&classes).arg("Path").output().unwrap();
    let listing = String::from_utf8(listing.stdout).unwrap();
    assert!(listing.contains("tableswitch") && listing.contains("lookupswitch"), "{listing}");
    for outcome in run("instructions=y,") {
        assert_eq!(outcome.number("elsewhere"), 1);
        // iload_0, tableswitch of 1 to 3, bipush, ireturn; iload_0, tableswitch, iconst_m1, ireturn
        let expected = [
            "0:0,0,0", "1:2,1,3", "31:0,0,0", "33:0,0,0", "0:0,0,0", "1:9,1,3", "37:0,0,0",
            "38:0,0,0",
        ];
        assert_eq!(path(&outcome, "choose"), expected, "{listing}");
        // iload_0, lookupswitch of two pairs, iconst, ireturn: the second, the first, none
        let expected = [
            "0:0,0,0", "1:1,2,0", "30:0,0,0", "31:0,0,0", "0:0,0,0", "1:0,2,0", "28:0,0,0",
            "29:0,0,0", "0:0,0,0", "1:2,2,0", "32:0,0,0", "33:0,0,0",
        ];
        assert_eq!(path(&outcome, "look"), expected, "{listing}");
        // iconst_0, istore_1, iconst_0, istore_2, then iload_2, iload_0, if_icmpge, iload_1, iload_2,
        // iadd, istore_1, iinc, goto twice, and at last iload_2, iload_0, if_icmpge that jumps, iload_1,
        // ireturn
        let offsets = |text: &str| -> Vec<String> { text.split(' ').map(str::to_owned).collect() };
        let round = "4:0,0,0 5:0,0,0 6:0,0,0 9:0,0,0 10:0,0,0 11:0,0,0 12:0,0,0 13:0,0,0 16:0,0,0";
        let expected = format!(
            "0:0,0,0 1:0,0,0 2:0,0,0 3:0,0,0 {round} {round} 4:0,0,0 5:0,0,0 6:1,0,0 19:0,0,0 20:0,0,0"
        );
        assert_eq!(path(&outcome, "loop"), offsets(&expected), "{listing}");
        // aload_0, aload_1, if_acmpne to 9, iconst_1, goto, iconst_0, ireturn
        let expected = "0:0,0,0 1:0,0,0 2:0,0,0 5:0,0,0 6:0,0,0 10:0,0,0 \
                        0:0,0,0 1:0,0,0 2:1,0,0 9:0,0,0 10:0,0,0";
        assert_eq!(path(&outcome, "same"), offsets(expected), "{listing}");
        // aload_0, ifnonnull to 8, iconst_1, goto, iconst_0, ireturn
        let expected = "0:0,0,0 1:0,0,0 4:0,0,0 5:0,0,0 9:0,0,0 0:0,0,0 1:1,0,0 8:0,0,0 9:0,0,0";
        assert_eq!(path(&outcome, "none"), offsets(expected), "{listing}");
    }
}

#[test]
fn a_lookupswitch_reports_the_default_on_request() {
    for outcome in run("instructions=y,lookupswitch=default,") {
        let path = path(&outcome, "look");
        assert_eq!([&path[1], &path[5], &path[9]], ["1:1,0,0", "1:0,0,0", "1:2,1,0"]);
    }
}

#[test]
fn without_the_option_no_instruction_is_reported() {
    for outcome in run("") {
        assert_eq!((outcome.value("path"), outcome.number("elsewhere")), ("", 0));
    }
}

#[test]
fn the_release_of_a_contended_monitor_is_reported() {
    jdk::each(|jdk| {
        for options in ["", "methods=vm,"] {
            let run = profiled(jdk, options, "exits", "").main("Exits");
            let outcome = run.args([library("exits").display().to_string()]).run();
            outcome.assert_success();
            assert_eq!((outcome.value("done"), outcome.number("enabled")), ("true", 0));
            // Five ways, four times each.
            let counts = ["enters", "entered", "exits", "wrong"].map(|it| outcome.number(it));
            assert_eq!(counts, [20, 20, 20, 0], "{}", outcome.report());
        }
    });
}
