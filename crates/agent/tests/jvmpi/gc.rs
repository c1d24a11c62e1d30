//! Brackets of collections: OBJECT_FREE, CLASS_UNLOAD, DisableGC and RunGC.

use perk_testkit::{Jdk, jdk};

use crate::objects::{check_order, classes, heap};

/// Returns the options of the collectors that a JDK has.
fn collectors(jdk: &Jdk) -> Vec<&'static str> {
    let mut all = vec!["-XX:+UseSerialGC", "-XX:+UseParallelGC", "-XX:+UseG1GC"];
    let others = ["-XX:+UseZGC", "-XX:+UseShenandoahGC"];
    let exists = |flag: &&str| {
        let mut command = std::process::Command::new(jdk.java());
        command.args([flag, "-version"]).output().is_ok_and(|output| output.status.success())
    };
    all.extend(others.into_iter().filter(exists));
    all
}

#[test]
fn each_object_ends_once_and_the_living_keep_their_ids() {
    jdk::each(|jdk| {
        for collector in collectors(jdk) {
            let outcome = heap(jdk, "acfug", "frees").jvm_arg(collector).jvm_arg("-Xmx512m").run();
            check_order(&outcome);
            let check = |name: &str, value: &str| {
                assert_eq!(outcome.value(name), value, "{collector}: {name}\n{}", outcome.report());
            };
            check("same", "2000");
            check("found", "20");
            check("freed.Heap$Dead", "220000");
            check("freed.Heap$Kept", "1000");
            check("request.live", "0");
            check("request.freed", "-1");
            check("object.freed", "null");
            check("request.wild", "-1,-1,-1,-1");
            check("class", "true");
            check("thread", "true");
            check("older", "0,0");
            check("kept", "1000");
            check("brackets.envs", "1");
            let (before, after) = outcome.value("after.run").split_once(',').unwrap();
            assert!(before == after && before != "0", "{}", outcome.report());
            assert!(outcome.number("used") > 1000);
        }
    });
}

/// A walk of the heap while ZGC or Shenandoah of JDK 17 marks keeps dead objects with ids alive.
#[test]
fn no_walk_of_the_bridge_keeps_objects_alive() {
    jdk::each(|jdk| {
        for collector in collectors(jdk).into_iter().skip(3) {
            let run = heap(jdk, "fg", "rounds").jvm_arg(collector).jvm_arg("-Xmx512m");
            let outcome = run.run();
            outcome.assert_success();
            assert_eq!(outcome.value("left"), "0 200000", "{} {collector}", jdk.version);
        }
    });
}

#[test]
fn unloaded_classes_are_reported_once_each() {
    jdk::each(|jdk| {
        for events in ["acfug", "u", "cu"] {
            let run = heap(jdk, events, "unload");
            let outcome = run.args([classes()]).run();
            check_order(&outcome);
            assert_eq!(outcome.number("gone"), 25);
            // Hidden classes of the JDK may end, too.
            assert!(outcome.number("unloads") >= 25, "{events}: {}", outcome.report());
            if events != "u" {
                assert_eq!(outcome.number("unloads.unknown"), 0, "{}", outcome.report());
                assert_eq!(outcome.number("unloaded.plain"), 25, "{}", outcome.report());
            }
        }
    });
}

#[test]
fn no_bracket_begins_while_the_agent_has_disabled_the_collection() {
    jdk::each(|jdk| {
        for events in ["acfug", "afu"] {
            let outcome = heap(jdk, events, "hold").run();
            check_order(&outcome);
            assert_eq!(outcome.number("held.events"), 0, "{}", outcome.report());
            assert_eq!(outcome.number("during"), 0);
            let has_starts = events.contains('g');
            assert_eq!(outcome.value("after"), format!("true,{has_starts}"));
            assert_eq!(outcome.value("careless"), has_starts.to_string());
        }
        let outcome = heap(jdk, "acfug", "race").run();
        check_order(&outcome);
        assert_eq!(outcome.number("held.events"), 0, "{}", outcome.report());
        assert_eq!(outcome.number("freed.Heap$Dead"), 120_000, "{}", outcome.report());
        assert_eq!(outcome.value("rounds"), "true");
    });
}

#[test]
fn no_id_of_a_request_ends_inside_its_handler() {
    jdk::each(|jdk| {
        let outcome = heap(jdk, "cfg", "dropped").run();
        check_order(&outcome);
        // The bracket that was under way has ended meanwhile, and the object is gone since.
        let numbers = ["dump", "gate", "ended.inside"].map(|name| outcome.number(name));
        assert_eq!(numbers, [0, 4, 0], "{}", outcome.report());
        assert_eq!(outcome.value("after"), "-1", "{}", outcome.report());
    });
}
