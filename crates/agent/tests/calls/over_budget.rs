//! With a budget the methods with the most calls give up their paths, and no call is lost.

use perk_profile::{Accounting, OVER_BUDGET, Profile};
use perk_testkit::{JavaRun, Jdk, jdk};

use crate::{WHOLE, accounting, by_method, counted, methods, pairs, profile};

/// The calls of each round, by method.
const ROUND: [(&str, u64); 9] = [
    ("OverBudget.hot", 100_008),
    ("OverBudget.warm", 50_004),
    ("OverBudget.trivial", 50_004),
    ("OverBudget.seldom", 2),
    ("OverBudget.inner", 6),
    ("OverBudget.catching", 4),
    ("OverBudget.throwing", 4),
    ("OverBudget.caught", 4),
    ("OverBudget.descend", 4),
];
const OPTIONS: [&str; 6] = [
    "",
    ",timing=exact",
    ",timing=none",
    ",clock=wall",
    ",thread=y,lineno=y",
    ",include=OverBudget",
];
/// Those of them that are called the most.
const MOST: [&str; 3] = ["OverBudget.hot", "OverBudget.warm", "OverBudget.trivial"];

/// Returns the profile of a run, which has all calls of the rounds that the program prints.
#[track_caller]
fn counted_rounds(jdk: &Jdk, options: &str) -> Profile {
    let outcome = counted(jdk, options).main("OverBudget").run();
    outcome.assert_success();
    let round_count: u64 = outcome.stdout.trim().parse().unwrap();
    let profile = profile(&outcome);
    let counts = pairs(&profile);
    let counts = by_method(&counts);
    for (method, count) in ROUND {
        assert_eq!(counts.get(method), Some(&(count * round_count)), "{options} {method}");
    }
    profile
}

#[test]
fn methods_over_budget_keep_their_counts_and_give_up_their_paths() {
    jdk::each(|jdk| {
        for options in OPTIONS {
            let options = format!("{WHOLE},path-budget=1{options}");
            let profile = counted_rounds(jdk, &options);
            let all = pairs(&profile);
            let Accounting {
                over_budget_call_count: over,
                over_budget_methods,
                call_count,
                folded_call_count,
                ..
            } = accounting(&profile).clone();
            assert_eq!(
                (all.values().sum::<u64>(), folded_call_count),
                (call_count, 0),
                "{options}"
            );
            for method in MOST {
                assert!(over_budget_methods.contains(method), "{options} {over_budget_methods}");
            }
            assert!(over > call_count / 20 && over < call_count, "{options} {over} {call_count}");
            // What a method over budget calls is below its caller, and says so; its own calls have no caller.
            let symbols = &profile.symbols;
            let of = |name: &str| {
                let rows = profile.call_times().flat_map(|times| times.rows);
                let rows = rows.filter(|row| row.count > 0);
                let paths = rows.map(|row| (methods(&profile, row.trace).collect::<Vec<_>>(), row));
                let paths = paths.map(|(path, row)| {
                    let names: Vec<_> = path.iter().map(|it| symbols.method_name(*it)).collect();
                    (names, row.count, row.self_ns)
                });
                paths.filter(|(names, ..)| names[0] == name).collect::<Vec<_>>()
            };
            let mark = format!("{OVER_BUDGET}.{OVER_BUDGET}");
            let below = |names: &[String], caller: &str| names[1] == mark && names[2] == caller;
            let seldom = of("OverBudget.seldom");
            let marked = seldom.iter().filter(|it| below(&it.0, "OverBudget.round"));
            assert!(marked.map(|it| it.1).sum::<u64>() > 0, "{options} {seldom:?}");
            let inner = of("OverBudget.inner");
            let callers = ["OverBudget.seldom", "OverBudget.catching"];
            let is_known = |it: &String| callers.contains(&it.as_str());
            assert!(inner.iter().all(|it| is_known(&it.0[1])), "{options} {inner:?}");
            let hot = of("OverBudget.hot");
            let alone: Vec<_> = hot.iter().filter(|it| it.0[1..] == [mark.clone()]).collect();
            assert!(!alone.is_empty() && alone.iter().all(|it| it.2 == 0), "{options} {alone:?}");
        }
    });
}

/// A budget that nothing exceeds changes nothing.
#[test]
fn a_large_budget_takes_no_path() {
    let jdk = jdk::compiler();
    let profile = counted_rounds(jdk, &format!("{WHOLE},path-budget=1000"));
    let all = pairs(&profile);
    let account = accounting(&profile);
    assert_eq!((account.over_budget_method_count, account.over_budget_call_count), (0, 0));
    assert!(all.keys().all(|(_, caller)| !caller.contains(OVER_BUDGET)));
}

#[test]
fn a_budget_is_for_paths_of_calls() {
    let refused = |options: &str, line: &str| {
        let outcome = JavaRun::new(jdk::compiler()).agent(options).main("Calls").run();
        assert!(outcome.stderr.contains(line), "{}", outcome.report());
    };
    let needs = "cpu=times, without heap=sites, aprof and jamaica";
    refused("cpu=samples,path-budget=1.3", needs);
    refused("cpu=times,heap=sites,path-budget=1.3", needs);
    refused("cpu=old,path-budget=1.3", needs);
    refused("cpu=times,path-budget=0.9", "use a number from 1 on, such as 1.3");
}
