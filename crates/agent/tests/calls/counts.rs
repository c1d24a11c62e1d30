//! Every call counts once, whatever happens in between.

use perk_testkit::{JavaRun, jdk};

use crate::tables::{DEPTH, LEAVES, Pairs, expected, pair};
use crate::{
    PAIRS, WHOLE, accounting, assert_pairs, assert_same, by_method, counted, of_parts, own, pairs,
    profile,
};

const DETERMINISTIC: [&str; 3] = ["Language", "Throwing", "Deep"];

#[test]
fn all_means_of_the_language_and_exceptions_of_all_kinds() {
    let own_calls = expected(&DETERMINISTIC);
    jdk::each(|jdk| {
        let plain = of_parts(JavaRun::new(jdk), &DETERMINISTIC).run();
        plain.assert_success();
        for options in [WHOLE, PAIRS] {
            let outcome = of_parts(counted(jdk, options), &DETERMINISTIC).run();
            assert_same(&outcome, &plain);
            let profile = profile(&outcome);
            let all = pairs(&profile);
            assert_pairs(&own(&all), &own_calls, options);
            for (callee, caller, count) in LEAVES {
                assert_eq!(
                    all.get(&pair(callee, caller)),
                    Some(&count),
                    "{options} {callee} <- {caller}"
                );
            }
            assert_eq!(all.values().sum::<u64>(), accounting(&profile).call_count);
            assert_eq!(accounting(&profile).folded_call_count, 0);
        }
    });
}

/// Code of the JDK without probes catches and throws further; the calls below it are counted all
/// the same. The called methods of the JDK are listed, so a lambda's caller is that of its
/// interface.
#[test]
fn exceptions_through_classes_that_are_not_counted() {
    let parts = ["Language", "Throwing"];
    let all = expected(&parts);
    let known = |(callee, _): &(String, String)| {
        callee.starts_with("CallsThrowing") && callee != "CallsThrowing.lambda$fromLambda$0"
    };
    jdk::each(|jdk| {
        let run = |options| {
            let outcome = of_parts(counted(jdk, options), &parts).run();
            outcome.assert_success();
            own(&pairs(&profile(&outcome)))
        };
        let included = run(",depth=2,include=Calls*");
        assert_eq!(by_method(&included), by_method(&all));
        let throwing = |pairs: &Pairs| {
            pairs
                .iter()
                .filter(|(pair, _)| known(pair))
                .map(|(pair, n)| (pair.clone(), *n))
                .collect()
        };
        assert_pairs(&throwing(&included), &throwing(&all), "include");

        // The constructor is counted where it is called, and its five nested calls are one.
        let excluded = run(",depth=2,exclude=CallsThrowing$Chain");
        let mut expected = throwing(&all);
        expected.remove(&pair("CallsThrowing$Chain.<init>", "CallsThrowing$Chain.<init>"));
        assert_pairs(&throwing(&excluded), &expected, "exclude");
    });
}

/// A name, or its end after a dot, is that of a class or of a method.
#[test]
fn methods_and_classes_are_chosen_by_name() {
    let parts = ["Throwing"];
    let all = expected(&parts);
    let all = by_method(&all);
    jdk::each(|jdk| {
        let run = |options: &str| {
            let outcome = of_parts(counted(jdk, options), &parts).run();
            outcome.assert_success();
            (pairs(&profile(&outcome)), outcome.stderr)
        };
        let (found, stderr) = run(",depth=2,include=everyLevel:HashMap.put:Gone,exclude=Never.*");
        let found = by_method(&found);
        let counted = |method| found.get(method).copied();
        assert_eq!(counted("CallsThrowing.everyLevel"), Some(all["CallsThrowing.everyLevel"]));
        assert!(counted("java.util.HashMap.put") > Some(0));
        assert_eq!(counted("CallsThrowing.mutual"), None);
        assert!(found.keys().all(|method| !method.starts_with("java.lang.Class")), "{found:?}");
        let line = "HPROF: no class or method has the name: include=Gone; exclude=Never.*\n";
        assert!(stderr.contains(line), "{stderr}");

        // A nested class is included with its outer class.
        let (found, stderr) = run(",depth=2,include=CallsThrowing,exclude=CallsThrowing.mutual");
        let found = by_method(&found);
        for method in ["CallsThrowing.everyLevel", "CallsThrowing.caught"] {
            assert_eq!(found.get(method), Some(&all[method]), "{method}");
        }
        assert!(
            found.keys().any(|method| method.starts_with("CallsThrowing$Failure.")),
            "{found:?}"
        );
        assert!(!stderr.contains("no class or method"), "{stderr}");
    });
}

#[test]
fn an_overflow_of_the_stack_is_survived() {
    let variable = ["CallsOverflow.down", "CallsOverflow.clean", "CallsOverflow.tidy"];
    jdk::each(|jdk| {
        for options in [WHOLE, PAIRS] {
            let outcome = of_parts(counted(jdk, options), &["Overflow"]).run();
            outcome.assert_success();
            assert_eq!(outcome.stderr.lines().count(), 1, "{}", outcome.report());
            let mut found = own(&pairs(&profile(&outcome)));
            let down = by_method(&found)["CallsOverflow.down"];
            // The last call of a round can overflow in its probe, before or after the count.
            let difference = down.abs_diff(outcome.number("downs"));
            assert!(difference <= outcome.number("rounds"), "{down}: {}", outcome.report());
            found.retain(|(callee, _), _| !variable.contains(&callee.as_str()));
            assert_pairs(&found, &expected(&["Overflow"]), options);
        }
    });
}

#[test]
fn threads_by_the_thousand_and_tasks() {
    let parts = ["Threads", "Virtual"];
    jdk::each(|jdk| {
        let run = |run: JavaRun| {
            of_parts(run.jvm_arg("-Djdk.virtualThreadScheduler.parallelism=4"), &parts).run()
        };
        let plain = run(JavaRun::new(jdk));
        plain.assert_success();
        let has_virtual = jdk.version >= 21;
        let mut own_calls = expected(&parts);
        if !has_virtual {
            own_calls = expected(&parts[..1]);
            for method in ["CallsVirtual.<clinit>", "CallsVirtual.run"] {
                own_calls.insert(pair(method, "Calls.main"), 1);
            }
        }
        for options in [WHOLE, ",depth=2,thread=y"] {
            let outcome = run(counted(jdk, options));
            assert_same(&outcome, &plain);
            if has_virtual {
                assert_eq!(outcome.value("moved"), "yes");
            }
            let profile = profile(&outcome);
            assert_pairs(&own(&pairs(&profile)), &own_calls, options);
            assert!(accounting(&profile).thread_count > 3000);
        }
    });
}

/// The program ends in the innermost of many calls, which never return.
#[test]
fn ends_of_the_program_inside_calls() {
    jdk::each(|jdk| {
        for (how, code) in [("exit", 7), ("halt", 8), ("throw", 0)] {
            let plain = JavaRun::new(jdk).main("CallsDeep").args([how]).run();
            plain.assert_code(code);
            let outcome = counted(jdk, PAIRS).main("CallsDeep").args([how]).run();
            assert_same(&outcome, &plain);
            let all = pairs(&profile(&outcome));
            assert_eq!(by_method(&all)["CallsDeep.end"], DEPTH + 1, "{how}");
            let end = match how {
                "exit" => "java.lang.System.exit",
                "halt" => "java.lang.Runtime.halt",
                _ => "java.lang.IllegalStateException.<init>",
            };
            assert_eq!(all.get(&pair(end, "CallsDeep.end")), Some(&1), "{end}");
        }
    });
}

/// Paths are lost when the tree is full, but calls are not.
#[test]
fn a_full_tree_loses_paths_and_no_calls() {
    let parts = ["Throwing", "Deep"];
    jdk::each(|jdk| {
        let outcome = of_parts(counted(jdk, ",depth=20000,max-nodes=1000"), &parts).run();
        outcome.assert_success();
        let profile = profile(&outcome);
        let (found, all) = (own(&pairs(&profile)), expected(&parts));
        assert_eq!(by_method(&found), by_method(&all));
        let account = accounting(&profile);
        // A bound of the lost paths: the recursion is 10,000 deep, and goes there often.
        assert!(account.folded_call_count >= 10 * (DEPTH - 1000), "{account:?}");
        assert!(account.call_node_count < 10_000, "{account:?}");
    });
}
