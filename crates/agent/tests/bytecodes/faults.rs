//! Large methods, old class files, and much of everything, compared with arithmetic and with the single
//! steps of JVMTI.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use perk_testkit::{JavaRun, Jdk, Outcome, fixture, jdk, native_library};

use super::{FILE, MODES, assert_same, counted, run, stepped, with_agent};

const CROWDS: &str = "BytecodeCrowds";

/// Returns the executions of the lines of a method.
#[track_caller]
fn lines(outcome: &Outcome, method: &str) -> BTreeMap<usize, u64> {
    let text = outcome.text(FILE);
    let is_it = |line: &&str| {
        let mut words = line.split(' ');
        words.next() == Some("PROFILE_LINES:") && words.nth(1) == Some(method)
    };
    let line = text.lines().find(is_it).unwrap();
    let numbers = line.split(' ').skip(4).map(|word| {
        let mut numbers = word.split(':');
        let mut next = || numbers.next().unwrap();
        let line = next().parse().unwrap();
        next();
        (line, next().parse().unwrap())
    });
    numbers.collect()
}

/// The classes of methods that are almost as large as the JVM allows.
fn large() -> PathBuf {
    let mut text = "public class Large {\n static int branches(int n) {\n int s = 0;\n".to_owned();
    (1000..5500).for_each(|i| writeln!(text, "if (n > {i}) s += {i};").unwrap());
    text += "return s;\n}\n static int straight(int n) {\n int s = 0;\n";
    (0..8500).for_each(|_| text += "s = s * 31 + n;\n");
    text += "return s;\n}\n static int cases(int n) {\n int s = 0;\n switch (n) {\n";
    for body in 0..500 {
        (0..20).for_each(|label| write!(text, "case {}: ", body * 20 + label).unwrap());
        writeln!(text, "s += {body}; break;").unwrap();
    }
    text += "default: s = -1;\n}\n return s;\n}\n
        public static void main(String[] arguments) {
            long sum = branches(3000) + branches(9) + straight(7);
            for (int i = -1; i <= 10_000; i++)
                for (int j = 0; j <= Math.floorMod(i, 3); j++) sum += cases(i);
            System.out.println(sum);
        }
    }";
    fixture::compile_text("Large", &text)
}

#[test]
fn methods_of_60_kilobytes_are_counted_or_named() {
    let classes = large();
    jdk::each(|jdk| {
        let plain = JavaRun::new(jdk).classes(classes.clone()).main("Large");
        let expected = plain.run().stdout;
        for mode in MODES {
            let outcome = with_agent(jdk, &plain, mode).run();
            outcome.assert_success();
            assert_eq!(outcome.stdout, expected);
            let warnings = outcome.stderr.lines().filter(|line| line.contains("Large.branches"));
            assert_eq!(warnings.count(), 1, "{}", outcome.report());
            assert_eq!(outcome.stderr.lines().count(), 2, "{}", outcome.report());
            let text = outcome.text(FILE);
            assert!(!text.contains("Large.branches(I)I ("), "{text}");
            let straight = format!("PROFILE_LINES: {} Large.straight(I)I ", 4 + 6 * 8500);
            assert!(text.contains(&straight), "{mode} {}", outcome.report());
            let lines = lines(&outcome, "Large.cases(I)I");
            let times = |case: i64| case.rem_euclid(3) as u64 + 1;
            let first = 3 + 4500 + 4 + 8500 + 6;
            for body in 0..500 {
                let executions = (body * 20..body * 20 + 20).map(times).sum::<u64>();
                assert_eq!(lines[&(first + body as usize)], executions, "{mode} {body}");
            }
            assert_eq!(lines[&(first + 500)], times(-1) + times(10_000), "{mode}");
        }
    });
}

/// Writes a class with `static int run(int)`, which calls a subroutine twice: as compilers of Java 1.3
/// did for `finally`.
fn write_subroutine(folder: &Path) {
    let mut class = vec![0xca, 0xfe, 0xba, 0xbe, 0, 0, 0, 48, 0, 8];
    class.extend([7, 0, 2, 1, 0, 4]);
    class.extend(b"Made");
    class.extend([7, 0, 4, 1, 0, 16]);
    class.extend(b"java/lang/Object");
    class.extend([1, 0, 3]);
    class.extend(b"run");
    class.extend([1, 0, 4]);
    class.extend(b"(I)I");
    class.extend([1, 0, 4]);
    class.extend(b"Code");
    // A public class with the superclass Object and one method, which is public and static.
    class.extend([0, 0x21, 0, 1, 0, 3, 0, 0, 0, 0, 0, 1, 0, 9, 0, 5, 0, 6, 0, 1]);
    // 0: jsr 9; 3: jsr 9; 6: iload_0; 7: ireturn; 8: nop; 9: astore_1; 10: iinc 0 10; 13: ret 1
    class.extend([0, 7, 0, 0, 0, 27, 0, 1, 0, 2, 0, 0, 0, 15]);
    class.extend([168, 0, 9, 168, 0, 6, 26, 172, 0, 76, 132, 0, 10, 169, 1]);
    class.extend([0, 0, 0, 0, 0, 0]);
    fs::write(folder.join("Made.class"), class).unwrap();
}

#[test]
fn subroutines_are_counted() {
    let text = "public class Subroutines {
        public static void main(String[] arguments) throws Exception {
            var run = Class.forName(\"Made\").getMethod(\"run\", int.class);
            for (int i = 0; i < 1000; i++) run.invoke(null, i);
            System.out.println(run.invoke(null, 5));
        }
    }";
    let classes = fixture::compile_text("Subroutines", text);
    let folder = tempfile::tempdir().unwrap();
    write_subroutine(folder.path());
    fs::copy(classes.join("Subroutines.class"), folder.path().join("Subroutines.class")).unwrap();
    jdk::each(|jdk| {
        for mode in MODES {
            let run = JavaRun::new(jdk).classes(folder.path()).main("Subroutines");
            let outcome = with_agent(jdk, &run, mode).run();
            assert_eq!(outcome.stdout, "25\n", "{}", outcome.report());
            assert_eq!(counted(&outcome, "Made")["Made.run(I)I"], 10 * 1001);
        }
    });
}

#[test]
fn exceptions_end_blocks_where_only_some_classes_are_counted() {
    let folder = tempfile::tempdir().unwrap();
    let stepper = native_library::compile("crates/agent/tests/bytecodes/stepper.rs", folder.path());
    jdk::each(|jdk| {
        let plain = JavaRun::new(jdk).main("Bytecodes").args(["60"]);
        let steps = stepped(&plain, &stepper, "Bytecodes");
        for mode in MODES {
            for option in ["include=Bytecodes*", "exclude=java.util.*"] {
                let run = with_agent(jdk, &plain, &format!("{mode},{option}"));
                let what = format!("{} {mode} {option}", jdk.version);
                assert_same(&counted(&run.run(), "Bytecodes"), &steps, &what);
            }
        }
    });
}

fn crowds(jdk: &Jdk, mode: &str, arguments: [&str; 2]) -> Outcome {
    let outcome = run(jdk, CROWDS, mode).args(arguments).run();
    outcome.assert_success();
    outcome
}

/// Returns the number of calls of a method of the program, by `jamaica=y`.
fn calls(outcome: &Outcome, method: &str) -> u64 {
    let callee = format!(" -> {CROWDS}.{method}");
    let text = outcome.text(FILE);
    let lines = text.lines().filter(|line| line.ends_with(&callee));
    let count =
        |line: &str| line.strip_prefix("PROFILE_INVOKE: ")?.split(' ').next()?.parse::<u64>().ok();
    lines.filter_map(count).sum::<u64>()
}

#[test]
fn crowds_of_threads_are_counted() {
    jdk::each(|jdk| {
        let kinds = [("platform", 200), ("virtual", 1000)];
        for (kind, count) in kinds.into_iter().filter(|it| it.0 == "platform" || jdk.version >= 21)
        {
            for mode in MODES {
                let outcome = crowds(jdk, mode, [kind, &count.to_string()]);
                let found = counted(&outcome, CROWDS);
                let sum = 10 * (0..count).map(|turns| 9 * turns + 9).sum::<u64>();
                assert_eq!(found[&format!("{CROWDS}.sum(I)I")], sum, "{kind} {mode}");
                if mode == "y" {
                    assert_eq!(calls(&outcome, "sum(I)I"), 10 * count, "{kind}");
                    assert_eq!(calls(&outcome, "hops(I)V"), count, "{kind}");
                }
            }
        }
    });
}

#[test]
fn counters_go_beyond_32_bits() {
    let outcome = crowds(jdk::compiler(), "bytecodes", ["many", "77"]);
    let found = counted(&outcome, CROWDS);
    assert_eq!(found[&format!("{CROWDS}.many(J)J")], 13 * ((1 << 32) + 77) + 10);
    assert_eq!(lines(&outcome, &format!("{CROWDS}.many(J)J"))[&22], (1 << 32) + 77);
}

/// A method is off by a block at most for each overflow.
#[test]
fn stack_overflows_cost_a_block_each() {
    const TIMES: u64 = 20;
    jdk::each(|jdk| {
        for mode in MODES {
            let outcome = crowds(jdk, mode, ["overflow", &TIMES.to_string()]);
            assert_eq!(outcome.value("sink"), (10 * TIMES).to_string());
            let found = counted(&outcome, CROWDS);
            assert_eq!(found[&format!("{CROWDS}.sum(I)I")], 54 * TIMES);
            let down = found[&format!("{CROWDS}.down()V")];
            let expected = outcome.number("downs") * 5;
            assert!(down.abs_diff(expected) <= 6 * TIMES, "{mode} {down} {expected}");
        }
    });
}

/// Other JDKs have no asynchronous exceptions.
#[test]
fn threads_are_stopped_as_without_counts() {
    for mode in MODES {
        let outcome = run(jdk::compiler(), "Stopped", mode).args(["20"]).run();
        assert_eq!(outcome.stdout, "stopped\n", "{}", outcome.report());
        let found = counted(&outcome, "Stopped");
        assert!(found["Stopped.down(I)I"] > 1000, "{found:?}");
    }
}

#[test]
fn old_and_new_versions_of_a_method_count() {
    let text = "import java.lang.instrument.Instrumentation;
    public class Versions {
        static Instrumentation instrumentation;
        public static void premain(String arguments, Instrumentation given) {
            instrumentation = given;
        }
        static class Work {
            static int turn(int turns) throws Exception {
                int sum = 0;
                for (int i = 0; i < turns; i++) sum += i;
                if (turns == 100) instrumentation.retransformClasses(Work.class);
                return sum;
            }
        }
        public static void main(String[] arguments) throws Exception {
            for (int turns = 95; turns < 105; turns++) Work.turn(turns);
        }
    }";
    let classes = fixture::compile_text("Versions", text);
    let folder = tempfile::tempdir().unwrap();
    let jar =
        fixture::agent_jar(folder.path(), "Versions", &[format!("{}/", classes.display()).into()]);
    jdk::each(|jdk| {
        for mode in MODES {
            let plain = JavaRun::new(jdk).classes(classes.clone()).main("Versions");
            let run = with_agent(jdk, &plain, mode).jvm_arg(format!("-javaagent:{jar}"));
            let found = counted(&run.run(), "Versions");
            // 9 for each turn, 12 more, and 8 to retransform.
            let expected = (95..105).map(|turns| 9 * turns + 12).sum::<u64>() + 8;
            assert_eq!(found["Versions$Work.turn(I)I"], expected, "{mode}");
        }
    });
}
