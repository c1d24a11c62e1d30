//! CLASS_LOAD_HOOK.

use std::path::{Path, PathBuf};

use perk_testkit::{JavaRun, Outcome, fixture, jdk};

use crate::support::{library, profiled};

fn hooked() -> PathBuf {
    fixture::compile_text(
        "Hooked",
        "public class Hooked {
            static class Target {
                static String text() { return \"before the hook\"; }
            }
            public static void main(String[] arguments) {
                try {
                    System.out.println(\"text=\" + Target.text());
                } catch (LinkageError error) {
                    System.out.println(\"text=\" + error.getClass().getSimpleName());
                }
            }
        }",
    )
}

#[track_caller]
fn check(outcome: &Outcome, mode: &str) {
    outcome.assert_success();
    let text = match mode {
        "constant" | "static" => "after the hook!",
        "garbage" => "ClassFormatError",
        _ => "before the hook",
    };
    assert_eq!(outcome.value("text"), text, "{mode}: {}", outcome.report());
    let hooks = outcome.number("hooks");
    assert_eq!(outcome.number("magic"), hooks);
    assert!(hooks > outcome.number("hooks.init"), "{}", outcome.report());
    if mode != "garbage" {
        assert_eq!(outcome.number("same.thread"), 1, "{}", outcome.report());
    }
}

#[test]
fn the_agents_bytes_run() {
    jdk::each(|jdk| {
        for mode in ["constant", "static", "same", "null", "garbage", "length", "negative"] {
            let run = profiled(jdk, "", "hook", mode).classes(hooked()).main("Hooked");
            let outcome = run.run();
            check(&outcome, mode);
            assert!(outcome.number("hooks.init") > 300, "{}", outcome.report());
        }
    });
}

#[test]
fn a_library_of_xrun_has_the_classes_that_follow() {
    jdk::each(|jdk| {
        let folder = library("hook").parent().map(Path::to_owned).unwrap();
        let run = JavaRun::new(jdk).agent("jvmpi").jvm_arg("-Xrunhook:constant");
        let run = run.env("LD_LIBRARY_PATH", folder).classes(hooked()).main("Hooked");
        let outcome = run.run();
        check(&outcome, "constant");
        assert!(outcome.number("hooks.init") > 20, "{}", outcome.report());
    });
}
