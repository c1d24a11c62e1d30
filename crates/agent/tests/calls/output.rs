//! The forms of the result: depths, threads, dumps in between, and the table of `cpu=old`.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use perk_profile::{MethodId, Profile, TraceId};
use perk_testkit::{JavaRun, Signal, jdk};

use crate::tables::{Pairs, expected, pair};
use crate::{
    FILE, PAIRS, accounting, assert_pairs, assert_same, by_method, counted, methods, of_parts, own,
    pairs, profile, read,
};

const TEXT: &str = "o.txt";

fn names(profile: &Profile, trace: TraceId) -> Vec<String> {
    methods(profile, trace).map(|method| profile.symbols.method_name(method)).collect()
}

/// Returns the traces of the chain that ends in `CallsDeep.g`, with their calls.
fn chains(profile: &Profile) -> BTreeMap<String, u64> {
    let mut chains = BTreeMap::new();
    for row in profile.call_times().flat_map(|times| times.rows) {
        let names = names(profile, row.trace);
        if names.first().is_some_and(|name| name == "CallsDeep.g") {
            *chains.entry(names.join(" ").replace("CallsDeep.", "")).or_default() += row.count;
        }
    }
    chains
}

/// Traces are cut as HPROF cuts them: traces that are equal up to the depth are one.
#[test]
fn depths_cut_traces_and_add_up_their_calls() {
    const CHAIN: [&str; 7] = ["g", "f", "e", "d", "c", "b", "a"];
    for depth in 1..=9 {
        let options = format!("cpu=times,cutoff=0,file={TEXT},depth={depth}");
        let run = JavaRun::new(jdk::compiler()).agent(&options);
        let outcome = of_parts(run, &["Deep"]).run();
        outcome.assert_success();
        let profile = read(&outcome, TEXT);
        let mut expected = BTreeMap::new();
        if depth <= CHAIN.len() {
            expected.insert(CHAIN[..depth].join(" "), 3000);
        } else {
            let outer = if depth == 9 { " calls" } else { "" };
            for (way, count) in [("x", 1000), ("y", 2000)] {
                expected.insert(format!("{} {way}{outer}", CHAIN.join(" ")), count);
            }
        }
        assert_eq!(chains(&profile), expected, "depth {depth}");
        let deepest = profile.call_times().flat_map(|times| times.rows);
        let deepest = deepest.map(|row| names(&profile, row.trace).len()).max();
        assert_eq!(deepest, Some(depth));
        assert_eq!(by_method(&pairs(&profile))["CallsDeep.down"], 100_010);
    }
}

#[test]
fn text_has_the_same_calls() {
    let parts = ["Language", "Throwing"];
    jdk::each(|jdk| {
        let options = format!("cpu=times,cutoff=0,file={TEXT}{PAIRS}");
        let outcome = of_parts(JavaRun::new(jdk).agent(&options), &parts).run();
        outcome.assert_success();
        assert_pairs(&own(&pairs(&read(&outcome, TEXT))), &expected(&parts), "text");
    });
}

#[test]
fn threads_have_calls_of_their_own() {
    jdk::each(|jdk| {
        let options = format!("cpu=times,cutoff=0,thread=y,file={TEXT}{PAIRS}");
        let outcome = of_parts(JavaRun::new(jdk).agent(&options), &["Threads"]).run();
        outcome.assert_success();
        let profile = read(&outcome, TEXT);
        let mut calls: BTreeMap<String, u64> = BTreeMap::new();
        let mut deaths = BTreeSet::new();
        for row in profile.call_times().flat_map(|times| times.rows) {
            let thread = profile.get_trace(row.trace).thread;
            let thread = thread.map_or(String::new(), |id| profile.thread_name(id).to_owned());
            match names(&profile, row.trace).first().map(String::as_str) {
                Some("CallsThreads.call") => *calls.entry(thread).or_default() += row.count,
                Some("CallsThreads.died") => assert!(deaths.insert(thread) && row.count == 1),
                _ => {}
            }
        }
        let all = 0..3000;
        let thread = |number| format!("counted-{number}");
        assert_eq!(calls, all.clone().map(|number| (thread(number), 10)).collect());
        assert_eq!(deaths, all.step_by(3).map(thread).collect());
    });
}

/// The calls made while a dump was written are in the next one.
#[test]
fn dumps_add_up() {
    jdk::each(|jdk| {
        let table = "cpu=old,file=o.old";
        let options = format!("cpu=times,format=p,cutoff=0,file={FILE}{PAIRS}");
        for (options, file) in [(options.as_str(), FILE), (table, "o.old")] {
            let mut running = JavaRun::new(jdk).agent(options).main("CallsUntilStop").spawn();
            running.wait_for_stdout("ready");
            for _ in 0..10 {
                running.signal(Signal::QUIT);
                std::thread::sleep(Duration::from_millis(30));
            }
            std::fs::write(running.dir().join("stop"), "").unwrap();
            let outcome = running.wait();
            outcome.assert_success();
            let profile = read(&outcome, file);
            let (ticks, others) = (outcome.number("ticks"), outcome.number("others"));
            let expected = [
                ("CallsUntilStop.tick", "CallsUntilStop.main", ticks),
                ("CallsUntilStop.tick", "CallsUntilStop.tick", 3 * ticks),
                ("CallsUntilStop.raises", "CallsUntilStop.others", others),
                ("CallsUntilStop.raise", "CallsUntilStop.raises", others),
            ];
            let (found, sections) = if file == FILE {
                assert_eq!(accounting(&profile).fault_count, 0);
                (pairs(&profile), profile.call_times().count())
            } else {
                (edges(&profile), profile.call_edges().count())
            };
            assert!((3..=11).contains(&sections), "{sections}");
            for (callee, caller, count) in expected {
                assert_eq!(found.get(&pair(callee, caller)), Some(&count), "{callee} <- {caller}");
            }
        }
    });
}

/// Returns the pairs of the tables of `cpu=old`.
fn edges(profile: &Profile) -> Pairs {
    let name = |method: Option<MethodId>| {
        method.map_or(String::new(), |id| profile.symbols.method_name(id))
    };
    let mut pairs = Pairs::new();
    for row in profile.call_edges().flat_map(|edges| edges.rows) {
        *pairs.entry((name(row.callee), name(row.caller))).or_default() += row.count;
    }
    pairs
}

#[test]
fn the_table_of_old_has_every_pair() {
    let parts = ["Language", "Throwing", "Deep"];
    jdk::each(|jdk| {
        let run = of_parts(JavaRun::new(jdk).agent("cpu=old,file=o.old"), &parts);
        let outcome = run.run();
        assert_same(&outcome, &of_parts(JavaRun::new(jdk), &parts).run());
        assert_pairs(&own(&edges(&read(&outcome, "o.old"))), &expected(&parts), "old");
        let text = outcome.text("o.old");
        let mut lines = text.lines();
        assert_eq!(lines.next(), Some("count callee caller time"));
        // Each pair appears once, with the most calls first.
        let rows: Vec<_> = lines.map(|line| line.rsplit_once(' ').unwrap().0).collect();
        assert_eq!(rows.len(), rows.iter().collect::<BTreeSet<_>>().len());
        let counts = rows.iter().map(|row| row.split_once(' ').unwrap().0.parse::<u64>().unwrap());
        assert!(counts.is_sorted_by(|one, next| one >= next));
        let row = "100000 CallsDeep.down(I)I CallsDeep.down(I)I";
        assert!(rows.contains(&row), "{row}");
    });
}

/// Each run has the same calls: all of the program's methods, and those of the JDK's methods that
/// they call.
#[test]
fn two_runs_are_the_same() {
    jdk::each(|jdk| {
        let run = || {
            let outcome = of_parts(counted(jdk, PAIRS), &["Throwing"]).run();
            outcome.assert_success();
            let mut found = pairs(&profile(&outcome));
            // The JVM asks the loader for a class again when compiled code meets it first: that
            // depends on the progress of its compilers.
            found.retain(|(callee, caller), _| {
                (callee.starts_with("Calls") || caller.starts_with("Calls"))
                    && callee != "java.lang.ClassLoader.loadClass"
            });
            found
        };
        assert_pairs(&run(), &run(), "two runs");
    });
}
