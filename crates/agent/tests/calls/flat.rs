//! `cpu=counts`: each method and call site counts exactly, without paths.

use std::collections::BTreeMap;

use perk_profile::{Metric, Profile};
use perk_testkit::{JavaRun, Jdk, jdk};

use crate::tables::{DEPTH, LEAVES, Pairs, expected, pair};
use crate::{
    FILE, accounting, assert_pairs, assert_same, by_method, methods, of_parts, own, pairs, profile,
};

const DETERMINISTIC: [&str; 3] = ["Language", "Throwing", "Deep"];

/// Alone, and beside the objects of each line, for which the same classes get other probes.
const WAYS: [&str; 2] = ["cpu=counts", "cpu=counts,heap=sites,paths=n"];

fn counted(jdk: &Jdk, way: &str) -> JavaRun {
    JavaRun::new(jdk).agent(&format!("{way},verbose=n,format=p,cutoff=0,file={FILE}"))
}

/// Returns the calls by estimated callers, by the names of callee and caller.
fn estimated(profile: &Profile) -> Pairs {
    let mut pairs = Pairs::new();
    for section in profile.sections() {
        let rows = section.of_metrics([Metric::EstimatedCalls]);
        for (key, [count]) in rows.filter(|row| row.1[0] > 0) {
            let mut names = methods(profile, key.trace).map(|it| profile.symbols.method_name(it));
            let pair = (names.next().unwrap_or_default(), names.next().unwrap_or_default());
            *pairs.entry(pair).or_default() += count;
        }
    }
    pairs
}

/// The lambdas' classes are hidden, and call what `cpu=times` has their callers call.
#[test]
fn each_method_has_its_calls_and_callers_without_a_choice_are_exact() {
    let by_arithmetic = expected(&DETERMINISTIC);
    jdk::each(|jdk| {
        let plain = of_parts(JavaRun::new(jdk), &DETERMINISTIC).run();
        plain.assert_success();
        for way in WAYS {
            let outcome = of_parts(counted(jdk, way), &DETERMINISTIC).run();
            assert_same(&outcome, &plain);
            assert_calls(&profile(&outcome), &by_arithmetic);
        }
    });
}

fn assert_calls(profile: &Profile, by_arithmetic: &Pairs) {
    let (all, estimated) = (pairs(profile), estimated(profile));
    let (found, expected) = (own(&all), by_arithmetic);
    let hidden = |name: &str| name.contains("$$Lambda") || name.contains("$$InjectedInvoker");
    let of_methods: BTreeMap<_, _> =
        by_method(&found).into_iter().filter(|(name, _)| !hidden(name)).collect();
    assert_eq!(of_methods, by_method(expected));
    // Where no call depends on the object, callers are those of the arithmetic.
    for part in ["CallsThrowing", "CallsDeep"] {
        let exact = |pairs: &Pairs| -> Pairs {
            let is_exact = |(callee, caller): &(String, String)| {
                callee.starts_with(part)
                    && !callee.contains("lambda$")
                    && caller.starts_with(part)
                    && !hidden(caller)
                    && !estimated.contains_key(&pair(callee, caller))
            };
            let chosen = pairs.iter().filter(|(key, _)| is_exact(key));
            chosen.map(|(key, count)| (key.clone(), *count)).collect()
        };
        let (found, expected) = (exact(&found), exact(expected));
        assert!(found.len() > 10, "{found:?}");
        assert_pairs(&found, &expected, part);
    }
    for (callee, caller, count) in LEAVES {
        assert_eq!(all.get(&pair(callee, caller)), Some(&count), "{callee} <- {caller}");
    }
    assert_eq!(all.values().sum::<u64>(), accounting(profile).call_count);
    assert_eq!(accounting(profile).call_node_count, 0);
    assert_eq!(all[&pair("CallsDeep.down", "CallsDeep.down")], 10 * DEPTH);
}

#[test]
fn threads_and_virtual_threads_that_change_carriers() {
    let parts = ["Threads", "Virtual"];
    jdk::each(|jdk| {
        let run = |run: JavaRun| {
            of_parts(run.jvm_arg("-Djdk.virtualThreadScheduler.parallelism=4"), &parts).run()
        };
        let plain = run(JavaRun::new(jdk));
        plain.assert_success();
        let expected = expected(if jdk.version >= 21 { &parts } else { &parts[..1] });
        for way in WAYS {
            let outcome = run(counted(jdk, way));
            assert_same(&outcome, &plain);
            let found = own(&pairs(&profile(&outcome)));
            let found = by_method(&found);
            for (method, count) in by_method(&expected) {
                assert_eq!(found.get(method), Some(&count), "{way}: {method}");
            }
        }
    });
}
