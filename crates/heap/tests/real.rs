//! Dumps of JVMs: each object against a solver that folds nothing.

use std::path::{Path, PathBuf};
use std::process::Command;

use perk_heap::{Heap, NoWatch, Options, Refs};
use perk_testkit::{JavaRun, Jdk, RunningJava, fixture, jdk, workspace};

use crate::plain::Plain;

/// A JVM that waits, and a dump of it in its working folder.
pub(crate) struct ProgramDump {
    pub(crate) java: RunningJava,
    pub(crate) path: PathBuf,
}

impl ProgramDump {
    /// Starts a program, waits until it prints `ready`, and dumps all its objects.
    pub(crate) fn new(run: JavaRun, ready: &str) -> Self {
        let mut java = run.spawn();
        java.wait_for_stdout(ready);
        let path = java.dir().join("jvm.hprof");
        let dumped = Self { java, path };
        dumped.dump(&dumped.path);
        dumped
    }

    pub(crate) fn dump(&self, path: &Path) {
        self.jcmd(&["GC.heap_dump", "-all", path.to_str().unwrap()]);
    }

    /// Returns the JVM's answer to a command.
    pub(crate) fn jcmd(&self, command: &[&str]) -> String {
        let mut jcmd = Command::new(jdk::compiler().jcmd());
        let output = jcmd.arg(self.java.pid().to_string()).args(command).output().unwrap();
        assert!(output.status.success(), "jcmd {command:?}: {output:?}");
        String::from_utf8(output.stdout).unwrap()
    }
}

/// Compares all objects of a dump.
fn compare(path: &Path, refs: Refs) {
    let options = Options { refs, ..Options::default() };
    let heap = Heap::open(path, &options, &mut NoWatch).unwrap();
    let held_count = Plain::read(path, refs).compare(&heap);
    assert!(held_count > 0);
    eprintln!("{}, {refs:?}: {held_count} objects are held", path.display());
}

fn mix(jdk: &Jdk, flags: &[&str]) -> ProgramDump {
    let source = workspace().join("java/bench/HeapMix.java");
    let run = JavaRun::new(jdk).classes(fixture::compile_files(&[&source])).jvm_arg("-Xmx256m");
    let run = flags.iter().fold(run, |run, flag| run.jvm_arg(*flag));
    ProgramDump::new(run.main("HeapMix").args(["4"]), "READY")
}

#[test]
fn holders_are_those_of_a_plain_solver() {
    jdk::each(|jdk| {
        let dumped = mix(jdk, &[]);
        let choices = [Refs::Soft, Refs::Strong, Refs::All];
        let count = if jdk.version == 17 { choices.len() } else { 1 };
        choices[..count].iter().for_each(|&refs| compare(&dumped.path, refs));
    });
}

#[test]
fn the_class_archive_of_a_whole_dump_is_no_fault() {
    let is_meant =
        |note: &String| note.contains("references to objects that the dump does not have");
    jdk::each_of(&[17, 25], |jdk| {
        let dumped = mix(jdk, &["-XX:+UseG1GC"]);
        let heap = Heap::open(&dumped.path, &Options::default(), &mut NoWatch).unwrap();
        let count = heap.totals().dangling_count;
        assert!(count > 50, "JDK {} has {count}", jdk.version);
        assert!(!heap.notes().iter().any(is_meant), "{:?}", heap.notes());
        let bytes = std::fs::read(&dumped.path).unwrap();
        std::fs::write(&dumped.path, &bytes[..bytes.len() / 2]).unwrap();
        let heap = Heap::open(&dumped.path, &Options::default(), &mut NoWatch).unwrap();
        assert!(heap.notes().iter().any(is_meant), "{:?}", heap.notes());
    });
}

#[test]
fn collectors_that_move_objects_make_no_difference() {
    jdk::on(25, |jdk| {
        let flags = ["-XX:+UseZGC", "-XX:+UseCompactObjectHeaders"];
        compare(&mix(jdk, &flags).path, Refs::Soft);
        let run = JavaRun::new(jdk).jvm_arg("-XX:+UseParallelGC");
        let run = run.main("VirtualParked").args(["200", "until stop"]);
        compare(&ProgramDump::new(run, "waiting").path, Refs::Soft);
    });
}

/// Compares a dump that is made by hand: `PERK_HEAP_DUMP=FILE`, and `PERK_HEAP_REFS` one of strong,
/// soft and all.
#[test]
#[ignore = "needs a dump"]
fn holders_of_a_named_dump() {
    let path = std::env::var_os("PERK_HEAP_DUMP").expect("PERK_HEAP_DUMP names a dump");
    let refs = match std::env::var("PERK_HEAP_REFS").as_deref() {
        Ok("strong") => Refs::Strong,
        Ok("all") => Refs::All,
        _ => Refs::Soft,
    };
    compare(Path::new(&path), refs);
}
