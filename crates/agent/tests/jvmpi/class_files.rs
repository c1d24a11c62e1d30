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
        "garbage" | "random" => "ClassFormatError",
        _ => "before the hook",
    };
    assert_eq!(outcome.value("text"), text, "{mode}: {}", outcome.report());
    let hooks = outcome.number("hooks");
    assert_eq!(outcome.number("magic"), hooks);
    assert!(hooks > outcome.number("hooks.init"), "{}", outcome.report());
    if text != "ClassFormatError" {
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
            let numbers = ["unhooked", "own"].map(|name| outcome.number(name));
            assert_eq!(numbers, [0, 0], "{}", outcome.report());
        }
    });
}

#[test]
fn garbage_is_an_error_of_the_jvm_or_ignored() {
    jdk::each(|jdk| {
        for mode in ["random", "pointer", "empty"] {
            let run = profiled(jdk, "", "hook", mode).classes(hooked()).main("Hooked");
            check(&run.run(), mode);
        }
    });
}

const LATE: &str = r#"
public class HookedLate {
    public static class Target {
        public static String hooked() { return "before the hook"; }
    }

    static class Late { static int value = 1; }

    static class Loader extends ClassLoader {
        @Override
        protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
            if (!name.equals("HookedLate$Target")) return super.loadClass(name, resolve);
            try (var in = HookedLate.class.getResourceAsStream("HookedLate$Target.class")) {
                byte[] bytes = in.readAllBytes();
                return defineClass(name, bytes, 0, bytes.length);
            } catch (java.io.IOException e) {
                throw new ClassNotFoundException(name, e);
            }
        }
    }

    public static void main(String[] arguments) throws Exception {
        java.lang.reflect.Method[] targets = new java.lang.reflect.Method[2];
        for (int i = 0; i < targets.length; i++)
            targets[i] = new Loader().loadClass("HookedLate$Target").getMethod("hooked");
        for (var target : targets) System.out.println("early=" + target.invoke(null));
        System.out.println("late=" + Late.value);
        for (var target : targets) System.out.println("again=" + target.invoke(null));
    }
}
"#;

#[test]
fn the_agents_bytes_stay_when_methods_are_reported_later() {
    let classes = fixture::compile_text("HookedLate", LATE);
    jdk::each(|jdk| {
        let run = profiled(jdk, "", "hook", "late").classes(&classes).main("HookedLate");
        let outcome = run.run();
        outcome.assert_success();
        // The agent makes other bytes for each of the loaders.
        for when in ["early", "again"] {
            let expected = format!("{when}=after the hook1\n{when}=after the hook2\n");
            assert!(outcome.stdout.contains(&expected), "{}", outcome.report());
        }
        assert_eq!(outcome.number("target.entries"), 2, "{}", outcome.report());
    });
}

#[test]
fn a_library_of_xrun_has_the_classes_that_follow() {
    jdk::each(|jdk| {
        let folder = library("hook").parent().map(Path::to_owned).unwrap();
        let run = JavaRun::new(jdk).agent("jvmpi").jvm_arg("-Xrunhook:constant");
        let run = run.env("LD_LIBRARY_PATH", folder).classes(hooked()).main("Hooked");
        // The JVM ends if it cannot use its archive of classes, which JDK 21 does not have here.
        let has_archive = jdk.home.join("lib/server/classes.jsa").is_file();
        let run = if has_archive { run.jvm_arg("-Xshare:on") } else { run };
        let outcome = run.run();
        check(&outcome, "constant");
        assert!(outcome.number("hooks.init") > 20, "{}", outcome.report());
    });
}
