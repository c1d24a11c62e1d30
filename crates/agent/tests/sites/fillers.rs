//! The fillers of heap gaps belong to no site.

use perk_hotspot::layout::FieldKind::FourBytes;
use perk_testkit::{JavaRun, Jdk, jdk};

use crate::Kind::Array;
use crate::{FILE, read, usual};

const THREADS: u64 = 20;
const ARRAYS: u64 = 1000;
/// The unused part of a thread's buffer is larger than all objects that it keeps.
const BUFFER_BYTES: u64 = 1 << 18;

fn run(jdk: &Jdk, options: &str, flags: &[&str]) -> JavaRun {
    let mut run = JavaRun::new(jdk).agent(options).main("KeptByThreads");
    for flag in flags {
        run = run.jvm_arg(flag);
    }
    let buffers = format!("-XX:TLABSize={BUFFER_BYTES}");
    run.jvm_arg("-Xms512m").jvm_arg("-XX:-ResizeTLAB").jvm_arg(buffers).args([THREADS.to_string()])
}

/// Whether a class is one that fillers have.
fn is_of_fillers(class: &str) -> bool {
    class == "int[]" || class == "java.lang.Object" || class.contains("Filler")
}

#[test]
fn they_are_no_rows_with_any_collector() {
    jdk::each(|jdk| {
        for collector in ["Serial", "Parallel", "G1", "Z", "Shenandoah"] {
            let flag = format!("-XX:+Use{collector}GC");
            if JavaRun::new(jdk)
                .jvm_arg(&flag)
                .main("ExitBySystemExit")
                .run()
                .stderr
                .contains("VM option")
            {
                continue;
            }
            let what = format!("{} {collector}", jdk.version);
            let options = format!("heap=sites,cutoff=0,format=p,file={FILE}");
            let profile = read(&run(jdk, &options, &[&flag]).run());
            let section = profile.sites().unwrap();
            let name = |site: &perk_profile::Site| profile.symbols.class_name(site.class);
            let of_program = |site: &&perk_profile::Site| {
                let mut frames = crate::frames(&profile, site).into_iter();
                frames.any(|(name, _)| name == "KeptByThreads.fill")
            };

            let kept = section.rows.iter().filter(of_program).find(|it| name(it) == "int[]");
            let kept = kept.expect("the program's arrays").objects;
            let bytes = THREADS * ARRAYS * Array(FourBytes, 4).bytes(&usual(jdk));
            assert_eq!((kept.live_count, kept.live_bytes), (THREADS * ARRAYS, bytes), "{what}");

            let others = section.rows.iter().filter(|site| is_of_fillers(name(site)));
            let others: u64 = others.map(|site| site.objects.live_bytes).sum();
            assert!(others - bytes < BUFFER_BYTES / 2, "{what}: {} more", others - bytes);
            assert!(section.total.live_bytes < 4 * bytes, "{what}: {}", section.total.live_bytes);
            assert!(profile.accounting.as_ref().unwrap().unsited_object_count > 0, "{what}");
        }
    });
}

#[test]
fn they_are_not_in_the_table_by_class() {
    jdk::each(|jdk| {
        let options = format!("heap=sites,aprof=y,cutoff=0,file={FILE}");
        let outcome = run(jdk, &options, &[]).run();
        outcome.assert_success();
        let table = outcome.stdout.split_once("kept=").expect("the program's line").1;
        let table = table.split_once('\n').unwrap().1;
        let table = perk_hprof::aprof::tables(table.as_bytes()).unwrap().remove(0);
        let bytes = THREADS * ARRAYS * Array(FourBytes, 4).bytes(&usual(jdk));
        let found: u64 =
            table.rows.iter().filter(|row| is_of_fillers(&row.class)).map(|row| row.bytes).sum();
        assert!(found >= bytes, "{}", jdk.version);
        assert!(found - bytes < BUFFER_BYTES, "{}: {} more", jdk.version, found - bytes);
    });
}
