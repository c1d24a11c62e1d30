//! Native methods of the program, called in all ways.

use std::collections::BTreeMap;

use perk_testkit::{JavaRun, Jdk, jdk, native_library};

use crate::tables::{Pairs, pair};
use crate::{
    PAIRS, WHOLE, accounting, assert_pairs, assert_same, counted, methods, own, pairs, profile,
};

const N: u64 = 1000;
/// `CallsNatives.TOTAL_LEVELS`, and the call at level 0.
const LEVELS: u64 = 10;

/// Callee, caller (if it is one of the fixture's) and calls. The callers of `Base.bound` through
/// lambdas are the methods that call the lambdas: the classes in between are hidden.
const NATIVE: [(&str, &str, u64); 29] = [
    ("Base.inherited", "virtual", 2 * N),
    ("Base.overridden", "virtual", N),
    ("Base.overridden", "$Sub.overridden", N),
    ("Base.act", "interfaces", 2 * N),
    ("Base.bound", "bound", N),
    ("Base.hidden", "$Base.callsHidden", N),
    ("Base.inherited", "references", N),
    ("Base.bound", "references", N),
    ("Registered.register", "registered", 1),
    ("Registered.act", "registered", N),
    ("called", "main", 1),
    ("Base.inherited", "called", N),
    ("Base.bound", "further", N),
    ("down", "main", 1),
    ("down", "down", LEVELS - 1),
    ("throwing", "thrown", N),
    ("Base.bound", "thrown", N),
    ("mixed", "values", N),
    ("odd", "values", N),
    ("half", "values", N),
    ("negative", "values", N),
    ("isOdd", "values", N),
    ("text", "values", N),
    // Bytecode below and around the native methods.
    ("Sub.overridden", "virtual", N),
    ("Base.callsHidden", "bound", N),
    ("Bytecode.act", "interfaces", N),
    ("back", "called", N),
    ("further", "back", N),
    ("thrown", "main", 1),
];

fn named(name: &str) -> String {
    let separator = if name.starts_with(|first: char| first.is_uppercase()) { "$" } else { "." };
    match name.strip_prefix('$') {
        Some(nested) => format!("CallsNatives${nested}"),
        None => format!("CallsNatives{separator}{name}"),
    }
}

/// Native methods called by the JDK: reflection and method handles have frames of their own, or
/// none.
const INDIRECT: [(&str, u64); 2] = [("Base.inherited", 2 * N), ("Base.bound", 2 * N)];

fn expected() -> Pairs {
    NATIVE.iter().map(|(callee, caller, n)| (pair(&named(callee), &named(caller)), *n)).collect()
}

fn of_library(run: JavaRun, library: &str) -> JavaRun {
    run.main("CallsNatives").args([library, &N.to_string()])
}

fn threaded_count(jdk: &Jdk) -> u64 {
    if jdk.version >= 21 { 2 * N } else { N }
}

#[test]
fn natives_are_counted_however_they_are_called() {
    let folder = tempfile::tempdir().unwrap();
    let library = native_library::compile("crates/agent/tests/calls/library.rs", folder.path());
    jdk::each(|jdk| {
        let plain = of_library(JavaRun::new(jdk), &library).run();
        plain.assert_success();
        for (options, jvm_args) in [
            (PAIRS, &[][..]),
            (WHOLE, &["-Xcheck:jni"]),
            (PAIRS, &["-Xint"]),
            (PAIRS, &["-Xcomp", "-XX:TieredStopAtLevel=1"]),
        ] {
            let run = |run: JavaRun| {
                let run = jvm_args.iter().fold(run, |run, arg| run.jvm_arg(arg));
                of_library(run, &library).run()
            };
            let outcome = run(counted(jdk, options));
            assert_same(&outcome, &plain);
            let profile = profile(&outcome);
            let all = pairs(&profile);
            let mut expected = expected();
            let threaded = pair("CallsNatives$Base.inherited", "CallsNatives.threaded");
            expected.insert(threaded, threaded_count(jdk));
            let mut found = own(&all);
            for (callee, count) in INDIRECT {
                let callee = named(callee);
                let callers = ["", "CallsNatives.reflection", "CallsNatives.handles"];
                let indirect = callers.iter().filter_map(|it| found.remove(&pair(&callee, it)));
                assert_eq!(indirect.sum::<u64>(), count, "{callee} {options} {jvm_args:?}");
            }
            found.retain(|key, _| expected.contains_key(key) || is_native(&key.0));
            assert_pairs(&found, &expected, &format!("{options} {jvm_args:?}"));
            assert_eq!(accounting(&profile).fault_count, 0);
        }
    });
}

fn is_native(method: &str) -> bool {
    NATIVE[..23].iter().any(|(callee, ..)| named(callee) == method)
}

/// The original gives the file of every method whose class has one, and the class that declares the
/// method.
#[test]
fn natives_and_intrinsics_have_their_file() {
    let folder = tempfile::tempdir().unwrap();
    let library = native_library::compile("crates/agent/tests/calls/library.rs", folder.path());
    jdk::each(|jdk| {
        let outcome = of_library(counted(jdk, ",depth=1"), &library).run();
        outcome.assert_success();
        let profile = profile(&outcome);
        let mut files = BTreeMap::new();
        for row in profile.call_times().flat_map(|times| times.rows) {
            let Some(id) = methods(&profile, row.trace).next() else { continue };
            let source = profile.symbols.get_method(id).source;
            let source = source.map(|it| profile.symbols.strings.get(it).to_owned());
            files.insert(profile.symbols.method_name(id), source);
        }
        // Small runtimes do not have files in the JDK's classes.
        let is_full = files.iter().any(|(name, it)| name.starts_with("java.util.") && it.is_some());
        for (method, file) in [
            ("CallsNatives$Base.inherited", "CallsNatives.java"),
            ("CallsNatives$Registered.act", "CallsNatives.java"),
            ("CallsNatives.thrown", "CallsNatives.java"),
            ("java.lang.System.arraycopy", "System.java"),
            ("java.lang.StringBuilder.append", "StringBuilder.java"),
        ] {
            if is_full || !method.starts_with("java.") {
                let found = files.get(method).unwrap_or_else(|| panic!("{method} is not called"));
                assert_eq!(found.as_deref(), Some(file), "{method}");
            }
        }
        // Classes made at run time do not have files.
        let is_made = |name: &str| name.contains("$$") || name.contains("GeneratedMethod");
        let without = files.iter().filter(|(name, file)| {
            file.is_none() && is_full && !is_made(name) && !name.starts_with("java.lang.invoke.")
        });
        let without: Vec<_> = without.collect();
        assert!(without.is_empty(), "{without:?}");
    });
}
