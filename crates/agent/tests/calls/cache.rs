//! The cache of changed classes: calls are the same with it, and a fault of it is never the
//! program's.

use std::collections::BTreeSet;
use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use perk_testkit::{JavaRun, Jdk, Outcome, jdk};
use tempfile::TempDir;

use crate::tables::expected;
use crate::{PAIRS, accounting, assert_pairs, counted, of_parts, own, pairs, profile};

const PARTS: [&str; 2] = ["Language", "Throwing"];

/// Returns a run with the cache in a folder.
fn run(jdk: &Jdk, cache: &Path, options: &str) -> JavaRun {
    let run = counted(jdk, &format!("{PAIRS}{options}")).env("XDG_CACHE_HOME", cache);
    of_parts(run, &PARTS)
}

/// Checks the calls of a run, and returns the number of classes that it took from the cache.
#[track_caller]
fn cached_classes(outcome: &Outcome) -> u64 {
    outcome.assert_success();
    let profile = profile(outcome);
    assert_pairs(&own(&pairs(&profile)), &expected(&PARTS), "with a cache");
    let account = accounting(&profile);
    assert_eq!(account.fault_count, 0);
    assert!(account.instrumented_class_count > 300, "{account:?}");
    account.cached_class_count
}

/// Returns the called methods: name, signature, source file.
fn methods(outcome: &Outcome) -> BTreeSet<(String, Option<String>, Option<String>)> {
    let profile = profile(outcome);
    let symbols = &profile.symbols;
    let traces = profile.call_times().flat_map(|times| times.rows).map(|row| row.trace);
    let ids = traces.filter_map(|trace| crate::methods(&profile, trace).next());
    let method = |id| {
        let its = symbols.get_method(id);
        let text = |id| symbols.strings.get(id).to_owned();
        (symbols.method_name(id), its.signature.map(text), its.source.map(text))
    };
    ids.map(method).collect()
}

/// Returns the lines about the cache.
fn lines(outcome: &Outcome) -> Vec<&str> {
    outcome.stderr.lines().filter(|line| line.starts_with("perk: no class is kept in ")).collect()
}

fn folder_of(cache: &Path) -> PathBuf {
    cache.join("perk/classes")
}

/// Returns the paths in the folder of kept classes.
fn files(cache: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder_of(cache)).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).collect()
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

/// Returns a cache that a run has filled, its file, and that run.
fn filled(jdk: &Jdk) -> (TempDir, PathBuf, Outcome) {
    let cache = tempfile::tempdir().unwrap();
    let first = run(jdk, cache.path(), "").run();
    assert_eq!(cached_classes(&first), 0);
    let [file] = &files(cache.path())[..] else { panic!("{:?}", files(cache.path())) };
    let file = file.clone();
    (cache, file, first)
}

#[test]
fn a_second_run_takes_the_classes_of_the_first() {
    jdk::each(|jdk| {
        let (cache, file, first) = filled(jdk);
        assert_eq!((mode(&folder_of(cache.path())), mode(&file)), (0o700, 0o600));
        let bytes = fs::read(&file).unwrap();
        let second = run(jdk, cache.path(), "").run();
        assert!(cached_classes(&second) > 300);
        assert!(lines(&second).is_empty(), "{}", second.report());
        assert_eq!(fs::read(&file).unwrap(), bytes, "a file that fits is not written again");

        // The methods of the JDK have their names and files. Some calls are chance.
        let (first, second) = (methods(&first), methods(&second));
        let both = first.intersection(&second).count();
        assert!(both > 200 && both * 10 > first.len() * 9, "{both} of {}", first.len());
        assert!(first.iter().any(|(name, ..)| name == "java.lang.StringBuilder.toString"));

        // Other probes are other classes.
        let other = JavaRun::new(jdk).agent("heap=sites,file=o.txt").main("Calls").args(PARTS);
        other.env("XDG_CACHE_HOME", cache.path()).run().assert_success();
        assert_eq!(files(cache.path()).len(), 2);
    });
}

#[test]
fn a_damaged_file_is_replaced() {
    let jdk = jdk::compiler();
    let (cache, file, _) = filled(jdk);
    let whole = fs::read(&file).unwrap();
    let with = |place: usize| {
        let mut bytes = whole.clone();
        bytes[place] ^= 0x10;
        bytes
    };
    let half = whole.len() / 2;
    for bytes in [with(3), with(12), with(25), with(50_000), whole[..1000].to_vec(), Vec::new()] {
        fs::write(&file, bytes).unwrap();
        let outcome = run(jdk, cache.path(), "").run();
        assert_eq!(cached_classes(&outcome), 0);
        assert!(lines(&outcome).is_empty(), "{}", outcome.report());
        assert_eq!(fs::metadata(&file).unwrap().len(), whole.len() as u64);
    }
    // A class that is damaged ends the use of the others.
    for bytes in [with(half), with(whole.len() - 1), whole[..half].to_vec()] {
        fs::write(&file, bytes).unwrap();
        let outcome = run(jdk, cache.path(), "").run();
        assert!((0..300).contains(&cached_classes(&outcome)));
        assert!(lines(&outcome).is_empty() && !file.exists(), "{}", outcome.report());
    }
    assert_eq!(cached_classes(&run(jdk, cache.path(), "").run()), 0);
    assert!(cached_classes(&run(jdk, cache.path(), "").run()) > 300);
}

#[test]
fn what_others_can_write_to_is_not_used() {
    let jdk = jdk::compiler();
    let (cache, file, _) = filled(jdk);
    let folder = folder_of(cache.path());
    let refused = |path: &Path, reason: &str| {
        let before = fs::read(&file).unwrap();
        let outcome = run(jdk, cache.path(), "").run();
        assert_eq!(cached_classes(&outcome), 0);
        let line = format!("perk: no class is kept in {}: {reason}", path.display());
        assert_eq!(lines(&outcome), [line]);
        assert_eq!(fs::read(&file).unwrap(), before);
    };
    for (path, usual) in [(&folder, 0o700), (&cache.path().join("perk"), 0o700)] {
        set_mode(path, 0o720);
        refused(path, "other users can write to it");
        set_mode(path, usual);
    }
    // Only root can give a folder away.
    if chown(&folder, Some(1), None).is_ok() {
        refused(&folder, "it belongs to another user");
        chown(&folder, Some(0), None).unwrap();
    }
    let elsewhere = cache.path().join("elsewhere");
    fs::rename(&folder, &elsewhere).unwrap();
    symlink(&elsewhere, &folder).unwrap();
    refused(&folder, "it is a link or of another kind");
    fs::remove_file(&folder).unwrap();
    fs::rename(&elsewhere, &folder).unwrap();
    assert!(cached_classes(&run(jdk, cache.path(), "").run()) > 300);

    // A file that others could have written is replaced.
    set_mode(&file, 0o602);
    let outcome = run(jdk, cache.path(), "").run();
    assert_eq!((cached_classes(&outcome), lines(&outcome).len()), (0, 1));
    assert_eq!(mode(&file), 0o600);
}

#[test]
fn jvms_that_start_at_once_fill_one_cache() {
    let jdk = jdk::compiler();
    let cache = tempfile::tempdir().unwrap();
    let running: Vec<_> = (0..4).map(|_| run(jdk, cache.path(), "").spawn()).collect();
    for jvm in running {
        cached_classes(&jvm.wait());
    }
    assert_eq!(files(cache.path()).len(), 1, "{:?}", files(cache.path()));
    assert!(cached_classes(&run(jdk, cache.path(), "").run()) > 300);
}

/// A JVM with other classes of the JDK takes the ones that it has in common with the first, and
/// keeps none itself.
#[test]
fn a_jvm_with_patched_classes_keeps_none() {
    let jdk = jdk::compiler();
    let patched = tempfile::tempdir().unwrap();
    let source = patched.path().join("Runnable.java");
    let text = "package java.lang; public interface Runnable { int PATCHED = 1; void run(); }";
    fs::write(&source, text).unwrap();
    let mut javac = Command::new(jdk.javac());
    javac.arg("--patch-module").arg(format!("java.base={}", patched.path().display()));
    assert!(javac.arg("-d").arg(patched.path()).arg(&source).status().unwrap().success());
    let option = format!("--patch-module=java.base={}", patched.path().display());
    let with_patch = |cache: &Path| run(jdk, cache, "").jvm_arg(&option).run();

    let cache = tempfile::tempdir().unwrap();
    assert_eq!(cached_classes(&with_patch(cache.path())), 0);
    assert!(files(cache.path()).is_empty());
    let (cache, ..) = filled(jdk);
    let all = cached_classes(&run(jdk, cache.path(), "").run());
    let common = cached_classes(&with_patch(cache.path()));
    assert!((300..all).contains(&common), "{common} of {all}");
}

#[test]
fn old_files_are_removed() {
    let jdk = jdk::compiler();
    let cache = tempfile::tempdir().unwrap();
    fs::create_dir_all(folder_of(cache.path())).unwrap();
    for number in 0..40 {
        fs::write(folder_of(cache.path()).join(format!("{number}.classes")), "old").unwrap();
    }
    cached_classes(&run(jdk, cache.path(), "").run());
    assert_eq!(files(cache.path()).len(), 12);
    assert!(cached_classes(&run(jdk, cache.path(), "").run()) > 300);
}

#[test]
fn without_a_cache_nothing_is_written() {
    let jdk = jdk::compiler();
    let cache = tempfile::tempdir().unwrap();
    for options in [",cache=n", ",exclude=no.such.Class"] {
        assert_eq!(cached_classes(&run(jdk, cache.path(), options).run()), 0);
        assert_eq!(fs::read_dir(cache.path()).unwrap().count(), 0, "{options}");
    }
    // Nothing can be made there, which concerns nobody.
    let blocked = cache.path().join("file");
    fs::write(&blocked, "").unwrap();
    for place in [blocked.as_path(), Path::new("/proc/none"), Path::new("relative")] {
        let outcome = run(jdk, place, "").env("HOME", "/proc/none").run();
        assert_eq!((cached_classes(&outcome), lines(&outcome).len()), (0, 0), "{place:?}");
    }
}
