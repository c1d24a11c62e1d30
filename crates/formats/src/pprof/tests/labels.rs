//! What labels say: threads, classes, and all else.

use perk_profile::{LabelSetId, Thread};

use super::*;

/// All labels of a profile.
fn labels(profile: &Profile) -> Vec<String> {
    let symbols = &profile.symbols;
    let sets = (0..profile.labels.len()).map(LabelSetId::new);
    let text = |label: &perk_profile::Label| {
        format!("{}={}", symbols.strings.get(label.key), label.value_text(symbols))
    };
    let mut labels: Vec<_> = sets.flat_map(|set| profile.labels.get(set)).map(text).collect();
    labels.sort();
    labels.dedup();
    labels
}

#[test]
fn allocations_are_sites_and_contentions_locks() {
    let strings = [
        "main.f",
        "alloc_objects",
        "count",
        "alloc_space",
        "bytes",
        "inuse_space",
        "contentions",
        "delay",
        "us",
        "bytes",
        "thread",
        "w\u{f6}rker",
        "class",
        "byte[]",
        "space",
    ];
    let bytes = file(&strings, |file| {
        for (name, unit) in [(2, 3), (4, 5), (6, 5), (7, 3), (8, 9)] {
            value_type(file, name, unit);
        }
        file.message(2, |sample| {
            sample.packed(1, [1]);
            sample.packed(2, [2, 96, 48, 5, 7]);
            for (key, text, number) in [(10, 0, 48), (11, 12, 0), (13, 14, 0), (1, 1, 0)] {
                sample.message(3, |label| {
                    label.number(1, key);
                    label.number(2, text);
                    label.number(3, number);
                });
            }
        });
        sample(file, &[1], &[1, 8, 0, -5, 0]);
        function(file, 1);
        file.message(11, |period| {
            period.number(1, 15);
            period.number(2, 5);
        });
        file.number(12, 524_288);
        file.number(99, 1);
    });
    let profile = read(&bytes[..]).unwrap();
    let expected = "# allocated Bytes\n[w\u{f6}rker];main.f;byte[] 96\nmain.f;[unknown] 8\n\
        # live Bytes\n[w\u{f6}rker];main.f;byte[] 48\n\
        # objects Count\n[w\u{f6}rker];main.f;byte[] 2\nmain.f;[unknown] 1\n\
        # blocked Nanoseconds\n[w\u{f6}rker];main.f;byte[] 7000\n\
        # contentions Count\n[w\u{f6}rker];main.f;byte[] 5\n";
    assert_eq!(fixture::text(&profile), expected);
    let sites = profile.sites().unwrap();
    assert_eq!((sites.total.allocated_count, sites.total.live_count), (3, 0));
    assert_eq!(sites.sample_interval_bytes, Some(524_288));
    let notes = ["1 negative values counted as 0", "1 fields of unknown kinds skipped"];
    assert_eq!(profile.notes, notes);
    assert_eq!(fixture::text(&read(&written(&profile)[..]).unwrap()), expected);
}

#[test]
fn threads_of_one_name_are_distinguished_by_their_ids() {
    let strings = ["main.f", "samples", "count", "thread", "w", "thread_id", "v", "bytes"];
    let bytes = file(&strings, |file| {
        value_type(file, 2, 3);
        for (name, id, bytes) in [(5, 7, 1), (5, 8, 1), (5, 7, 2), (7, 7, 1), (0, 9, 1), (5, 0, 1)]
        {
            file.message(2, |sample| {
                sample.packed(1, [1]);
                sample.packed(2, [1]);
                for (key, text, number) in [(4, name, 0), (6, 0, id), (8, 0, bytes)] {
                    if text > 0 || number > 0 {
                        sample.message(3, |label| {
                            label.number(1, key);
                            label.number(2, text);
                            label.number(3, number);
                        });
                    }
                }
            });
        }
        function(file, 1);
    });
    let profile = read(&bytes[..]).unwrap();
    let threads = |profile: &Profile| -> Vec<_> {
        let rows = profile.total_cpu_samples().rows;
        let thread = |&(trace, count): &(TraceId, u64)| {
            let thread = profile.get_trace(trace).thread.map(|thread| {
                (profile.thread_name(thread).to_owned(), profile.get_thread(thread).serial)
            });
            (thread, count)
        };
        let mut rows: Vec<_> = rows.iter().map(thread).collect();
        rows.sort();
        rows
    };
    let named = |name: &str, serial, count| (Some((name.to_owned(), serial)), count);
    // The id of `v` is another thread's, and one sample has no id.
    let serials: Vec<u32> = profile.threads.iter().map(|thread| thread.serial).collect();
    assert_eq!(serials, [7, 8, 200_003, 9, 200_005]);
    // The sample without a name has a number of its own.
    let expected = [
        named("", 9, 1),
        named("v", 200_003, 1),
        named("w", 7, 2),
        named("w", 8, 1),
        named("w", 200_005, 1),
    ];
    assert_eq!(threads(&profile), expected);
    assert_eq!(labels(&profile), ["bytes=1", "bytes=2"]);
    let again = read(&written(&profile)[..]).unwrap();
    assert_eq!(threads(&again), expected);
    assert_eq!(labels(&again), ["bytes=1", "bytes=2"]);
    assert_eq!(again.notes, [""; 0]);
}

#[test]
fn threads_without_a_name_keep_their_numbers() {
    let mut profile = Profile::default();
    let mut rows = Vec::new();
    for (serial, name) in [(1, "main"), (2, ""), (3, "")] {
        let name = profile.symbols.strings.intern(name);
        let thread = Thread { serial, object_id: 0, name, group: None, parent_group: None };
        let thread = profile.push_thread(thread);
        let root = profile.tree.root();
        rows.push((profile.trace(root, Some(thread)), u64::from(serial)));
    }
    profile.events.push(CpuSamples { total: 6, rows, ..CpuSamples::default() }.into());
    let again = read(&written(&profile)[..]).unwrap();
    assert_eq!(again.notes, [""; 0]);
    let threads: Vec<_> =
        again.threads.iter().map(|it| (it.serial, again.symbols.strings.get(it.name))).collect();
    assert_eq!(threads, [(1, "main"), (2, ""), (3, "")]);
}

#[test]
fn numbers_that_differ_with_each_sample_do_not_keep_them_apart() {
    let count = 100_000;
    let bytes = file(&["main.f", "samples", "count", "time"], |file| {
        value_type(file, 2, 3);
        for number in 1..=count {
            file.message(2, |sample| {
                sample.packed(1, [1]);
                sample.packed(2, [1]);
                sample.message(3, |label| {
                    label.number(1, 4);
                    label.number(3, number);
                });
            });
        }
        function(file, 1);
    });
    let profile = read(&bytes[..]).unwrap();
    assert_eq!(profile.notes, [format!("labels skipped: time (of {count} samples)")]);
    assert_eq!(profile.total_cpu_samples().rows.len(), 1);
}
