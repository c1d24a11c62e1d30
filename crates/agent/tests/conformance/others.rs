//! Differences from the original without a recorded run or another test.

use perk_testkit::hprof::{Recording, Section};
use perk_testkit::{JavaRun, fixture, jdk};

const FILE: &str = "o.txt";

/// The original left out a thread for as long as its interrupt flag was set.
#[test]
fn interrupted_threads_are_sampled() {
    let classes = fixture::compile_text(
        "Interrupted",
        "public class Interrupted {
             static int burn(int x) {
                 long end = System.nanoTime() + 400_000_000L;
                 while (System.nanoTime() < end) { x = x * 31 + 7; }
                 return x;
             }
             public static void main(String[] args) {
                 Thread.currentThread().interrupt();
                 System.out.println(burn(args.length) != 1 && Thread.interrupted());
             }
         }",
    );
    jdk::each(|jdk| {
        let run = JavaRun::new(jdk).agent(&format!("cpu=samples,interval=1,file={FILE}"));
        let outcome = run.classes(&classes).main("Interrupted").run();
        outcome.assert_success();
        assert_eq!(outcome.stdout, "true\n");
        let recording = Recording::read(outcome.bytes(FILE)).unwrap();
        let [Section::CpuSamples(samples)] = &recording.sections[..] else { panic!() };
        let is_burning =
            |trace| recording.frames(trace).iter().any(|frame| frame.method == "Interrupted.burn");
        let rows = samples.rows.iter().filter(|row| is_burning(row.trace));
        assert!(rows.map(|row| row.count).sum::<u64>() > 10, "{samples:?}");
    });
}

/// The original printed `nan` if the total was 0.
#[test]
fn shares_of_nothing_are_nothing() {
    jdk::each(|jdk| {
        let run = JavaRun::new(jdk).agent(&format!("cpu=times,timing=none,cutoff=0,file={FILE}"));
        let outcome = run.main("Work").run();
        let recording = Recording::read(outcome.bytes(FILE)).unwrap();
        let [Section::CallTimes(times)] = &recording.sections[..] else { panic!() };
        assert_eq!(times.total, 0);
        assert!(times.rows.len() > 100);
        assert!(times.rows.iter().all(|row| row.percent == 0.0 && row.count > 0));
    });
}
