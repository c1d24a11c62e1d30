//! The order of events: what defines an id comes before what names it.

use perk_testkit::{fixture, jdk};

use crate::support::{library, profiled};

#[test]
fn every_id_is_defined_before_it_is_named() {
    let classes = fixture::compile_text("Order", include_str!("programs/Order.java"));
    let path = library("order").display().to_string();
    jdk::each(|jdk| {
        for methods in ["probes", "vm"] {
            let run = profiled(jdk, &format!("methods={methods},"), "order", "");
            let run = run.jvm_arg("-XX:+UseSerialGC").classes(&classes).main("Order");
            let outcome = run.args([&path]).run();
            outcome.assert_success();
            let report = format!("JDK {}, {methods}: {}", jdk.version, outcome.report());
            for name in ["early", "twice", "classes", "methods", "frames", "compiled", "addresses"]
            {
                let name =
                    if name.len() <= 5 { name.to_owned() } else { format!("unknown.{name}") };
                assert_eq!(outcome.number(&name), 0, "{name}: {report}");
            }
            // The calls of threads that attach are counted from the first one on.
            assert_eq!(outcome.number("entries"), outcome.number("calls"), "{report}");
            assert!(outcome.number("calls") >= 100_000 + 22_000, "{report}");
            // main, the classes, and then the threads whose stacks have them.
            assert_eq!(outcome.number("before.main"), 0, "{report}");
            assert!(outcome.number("before.others") > 200, "{report}");
            assert!(outcome.number("compiled") > 0 || methods == "vm", "{report}");
            // Arrays of a class that is not prepared yet have none.
            assert!((3..100).contains(&outcome.number("null.classes")), "{report}");
            let asked = [
                ("asked", "Order$Asked,1,1"),
                ("asked.row", "Order$Row,0,0"),
                ("asked.array", "[LOrder$Asked;,0,0"),
                ("asked.primitive", "I,0,0"),
                ("asked.object", "failed"),
            ];
            for (name, expected) in asked {
                assert_eq!(outcome.value(name), expected, "{report}");
            }
        }
    });
}

#[test]
fn requests_prepare_no_class() {
    let classes = fixture::compile_text(
        "Empty",
        "public class Empty { public static void main(String[] arguments) {} }",
    );
    jdk::each(|jdk| {
        let run = profiled(jdk, "", "order", "dump").jvm_arg("-XX:+UseSerialGC");
        let outcome = run.classes(&classes).main("Empty").run();
        outcome.assert_success();
        let numbers = ["failed", "loads.in.request"].map(|name| outcome.number(name));
        assert_eq!(numbers, [0, 0], "JDK {}: {}", jdk.version, outcome.report());
    });
}

#[test]
fn an_event_that_is_not_sent_has_a_line() {
    let classes = fixture::compile_text(
        "Empty",
        "public class Empty { public static void main(String[] arguments) {} }",
    );
    jdk::each(|jdk| {
        for (options, count) in [("", 1), ("instructions=y,", 0)] {
            let run = profiled(jdk, options, "instructions", "").classes(&classes).main("Empty");
            let outcome = run.run();
            let warnings = outcome.stderr.matches("without perk's option instructions=y").count();
            assert_eq!(warnings, count, "{}", outcome.report());
        }
    });
}
