//! Live objects are those that live: the garbage is collected before they are counted.

use perk_profile::{LIVE_COLLECTED, LIVE_UNCOLLECTED};
use perk_testkit::{JavaRun, Jdk, jdk};

use super::exact::{allocated, read, run};
use crate::util::Folder;

/// The objects that `AllocationCounts` keeps; it drops many more.
const KEPT: u64 = 100;
/// A filler is as large as what is left of a thread's buffer, and these are larger than all arrays
/// of `int` whose site is not known.
const BUFFER: &str = "-XX:TLABSize=256k";
const UNKNOWN_BYTES: u64 = 64 << 10;

fn collectors(jdk: &Jdk) -> impl Iterator<Item = String> {
    let flags = ["Serial", "Parallel", "G1", "Z", "Shenandoah"].map(|it| format!("-XX:+Use{it}GC"));
    let is_there =
        |flag: &String| JavaRun::new(jdk).jvm_arg(flag).jvm_arg("-version").run().code() == Some(0);
    flags.into_iter().filter(is_there)
}

#[test]
fn kept_objects_alone_live() {
    jdk::each(|jdk| {
        for collector in collectors(jdk) {
            // With a sample of each byte an estimate is exact.
            for options in [
                &["--heap", "sites"][..],
                &["--heap", "sites", "--paths"],
                &["--alloc=1", "--depth", "100"],
            ] {
                let what = format!("{} {collector} {options:?}", jdk.version);
                let folder = Folder::new();
                let options = [options, &["-o", "o.hprof"]].concat();
                let kept = KEPT.to_string();
                let program = [&*collector, BUFFER, "-XX:-ResizeTLAB", "AllocationCounts", &kept];
                let text = run(&folder, jdk, &options, &program);
                assert!(text.contains(" live: ") && !text.contains("uncollected"), "{text}");
                let profile = read(&folder, "o.hprof");
                assert_eq!(profile.accounting.as_ref().unwrap().live, LIVE_COLLECTED);
                for (method, class, allocated_count, live_count) in [
                    ("keep", "AllocationCounts$Kept", KEPT, KEPT),
                    ("drop", "AllocationCounts$Dropped", 2 * KEPT, 0),
                    ("arrays", "int[]", KEPT, 0),
                    ("nested", "byte[]", 3 * KEPT, 0),
                ] {
                    let objects = allocated(&profile, method, class);
                    let counts = (objects.allocated_count, objects.live_count);
                    assert_eq!(counts, (allocated_count, live_count), "{what} {class}");
                }
                let unknown = profile.sites().unwrap().rows.into_iter().filter(|site| {
                    let class = profile.symbols.class_name(site.class);
                    profile.frames(site.trace).next().is_none()
                        && (class == "int[]" || class.contains("Filler"))
                });
                let bytes: u64 = unknown.map(|site| site.objects.allocated_bytes).sum();
                assert!(bytes < UNKNOWN_BYTES, "{what}: {bytes} bytes of fillers");
            }
        }
    });
}

#[test]
fn without_a_collection_they_have_another_name() {
    let folder = Folder::new();
    let options = ["--heap", "sites", "--no-gc", "-o", "o.hprof"];
    let text = run(&folder, jdk::compiler(), &options, &["AllocationCounts", "100"]);
    assert!(text.contains(" uncollected: ") && !text.contains(" live: "), "{text}");
    let profile = read(&folder, "o.hprof");
    assert_eq!(profile.accounting.as_ref().unwrap().live, LIVE_UNCOLLECTED);
    let dropped = allocated(&profile, "drop", "AllocationCounts$Dropped");
    assert_eq!(dropped.allocated_count, 200);
    // Nothing was collected in so short a run, so they are all there.
    assert_eq!(dropped.live_count, 200);
}
