//! Heap dumps by class: small ones made here, with wrong records and lengths, and those of real
//! JVMs, compared with the JVM's own counts.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Read};

use perk_hprof::binary;
use perk_profile::{HeapHistogram, HeapRoot, Profile};
use perk_testkit::{JavaRun, Jdk, fixture, jdk};
use proptest::prelude::*;

use crate::made::{Trickle, dump_of};
use crate::real::PROGRAM;
use crate::support::{class_histogram, jcmd};

fn read(bytes: &[u8]) -> Profile {
    binary::read(bytes).unwrap()
}

/// Returns objects and bytes by class.
fn rows(profile: &Profile, heap: &HeapHistogram) -> Vec<(String, u64, u64)> {
    let row = |row: &perk_profile::HeapClassRow| {
        let name = profile.symbols.class_name(row.class).to_owned();
        (name, row.instance_count, row.shallow_bytes)
    };
    heap.rows.iter().map(row).collect()
}

fn only(profile: &Profile) -> &HeapHistogram {
    assert_eq!(profile.heaps().count(), 1);
    profile.heaps().next().unwrap()
}

#[test]
fn objects_and_roots_are_counted() {
    for large_bytes in [100, 3 << 20] {
        let bytes = dump_of(large_bytes);
        let profile = read(&bytes);
        assert_eq!(profile.notes, Vec::<String>::new());
        let heap = only(&profile);
        let expected = [
            ("byte[]", 1, (16 + large_bytes as u64).next_multiple_of(8)),
            ("my.Point$Child", 1, 40),
            ("java.lang.Thread", 1, 48),
            ("java.lang.Object[]", 1, 32),
        ];
        let mut expected = expected.map(|(name, count, bytes)| (name.to_owned(), count, bytes));
        let mut found = rows(&profile, heap);
        expected.sort();
        found.sort();
        assert_eq!(found, expected);
        let roots: Vec<_> = HeapRoot::ALL.into_iter().map(|kind| (kind, 1)).collect();
        let mut roots = roots;
        roots[HeapRoot::JavaFrame as usize].1 = 2;
        assert_eq!(heap.roots, roots);
        assert!(!heap.is_cut && heap.written.is_some());

        let trickled = binary::read(Trickle(&bytes, 0)).unwrap();
        assert_eq!(rows(&trickled, only(&trickled)), rows(&profile, heap));
    }
}

#[test]
fn a_cut_dump_is_counted_as_far_as_it_goes() {
    let bytes = dump_of(100);
    let mut counts = Vec::new();
    for end in 0..bytes.len() {
        match binary::read(&bytes[..end]) {
            // The file ends in the head or in the first record.
            Err(error) => assert!(end < 31 + 9 + 8 + "java/lang/Object".len(), "{end}: {error}"),
            Ok(profile) => {
                let heap = profile.heaps().next();
                assert!(heap.is_none_or(|heap| heap.is_cut), "{end}");
                assert!(heap.is_none() || !profile.notes.is_empty(), "{end}");
                counts.push(heap.map_or(0, HeapHistogram::object_count));
            }
        }
    }
    assert!(counts.is_sorted());
    assert_eq!((counts[0], counts[counts.len() - 1]), (0, 4));
}

/// A packed file that ends too soon is one that is cut off.
#[test]
fn input_that_fails_at_its_end_is_cut_off() {
    struct FailingInput<'a>(&'a [u8]);
    impl Read for FailingInput<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            match self.0.read(buffer)? {
                0 => Err(io::Error::new(io::ErrorKind::UnexpectedEof, "corrupt gzip stream")),
                count => Ok(count),
            }
        }
    }
    let bytes = dump_of(100);
    let profile = binary::read(FailingInput(&bytes)).unwrap();
    assert_eq!(only(&profile).object_count(), 4);
    assert!(profile.notes[0].ends_with("the input ends there: corrupt gzip stream"));
    let profile = binary::read(FailingInput(&bytes[..bytes.len() - 250])).unwrap();
    assert!(only(&profile).is_cut);
}

const ID_BYTES: u32 = 4;

/// Returns a file with one record HEAP DUMP that has `length` as its length.
fn whole(length: u32, body: &[u8], behind: &[u8]) -> Vec<u8> {
    let mut bytes = b"JAVA PROFILE 1.0.1\0".to_vec();
    bytes.extend(ID_BYTES.to_be_bytes());
    bytes.extend([0; 8]);
    bytes.extend([0x0C, 0, 0, 0, 0]);
    bytes.extend(length.to_be_bytes());
    bytes.extend(body);
    bytes.extend(behind);
    bytes
}

fn bytes_array(id: u32, length: u32) -> Vec<u8> {
    let mut bytes = vec![0x23];
    bytes.extend(id.to_be_bytes());
    bytes.extend([0; 4]);
    bytes.extend(length.to_be_bytes());
    bytes.push(8);
    bytes.resize(bytes.len() + length as usize, 7);
    bytes
}

/// Ids of any size, and titles of all ages.
#[test]
fn every_size_of_ids_and_every_version_is_read() {
    for version in ["1.0", "1.0.1", "1.0.2", "1.0.3"] {
        for id_bytes in 1..=8_usize {
            let id = |id: u64| id.to_be_bytes()[8 - id_bytes..].to_vec();
            let record = |tag: u8, body: &[u8]| {
                [&[tag, 0, 0, 0, 0][..], &(body.len() as u32).to_be_bytes(), body].concat()
            };
            let mut bytes = format!("JAVA PROFILE {version}\0").into_bytes();
            bytes.extend((id_bytes as u32).to_be_bytes());
            bytes.extend([0; 8]);
            bytes.extend(record(0x01, &[&id(9)[..], b"[La/B;"].concat()));
            bytes.extend(record(0x02, &[&[0, 0, 0, 1][..], &id(7), &[0; 4], &id(9)].concat()));
            let class = [&[0x20][..], &id(7), &[0; 4], &[0; 6 * 8][..6 * id_bytes], &[0; 10]];
            let array = [&[0x22][..], &id(10), &[0; 4], &[0, 0, 0, 2], &id(7), &id(1), &id(0)];
            let instance = [&[0x21][..], &id(11), &[0; 4], &id(8), &[0, 0, 0, 3, 1, 2, 3]];
            let root = [&[0x01][..], &id(10), &id(3)];
            let body = [class.concat(), array.concat(), instance.concat(), root.concat()].concat();
            bytes.extend(record(0x0C, &body));
            let profile = read(&bytes);
            assert_eq!(profile.notes, Vec::<String>::new());
            let heap = only(&profile);
            let expected = [("a.B[]".to_owned(), 1, 24), ("<class 0x8>".to_owned(), 1, 16)];
            assert_eq!(rows(&profile, heap), expected, "{version}, {id_bytes}");
            assert_eq!(heap.roots, [(HeapRoot::JniGlobal, 1)]);
            for end in 0..bytes.len() {
                let _ = binary::read(&bytes[..end]);
            }
        }
    }
}

/// Classes that are above each other, and classes whose superclass is missing.
#[test]
fn classes_without_an_end_have_sizes() {
    let class = |id: u8, superclass: u8| {
        let ids = [&[0x20, 0, 0, 0, id, 0, 0, 0, 0, 0, 0, 0, superclass][..], &[0; 20 + 4 + 6]];
        ids.concat()
    };
    let instance = |class: u8| {
        let head = [0x21, 0, 0, 0, 99, 0, 0, 0, 0, 0, 0, 0, class, 0, 0, 0, 9];
        [&head[..], &[0; 9]].concat()
    };
    let classes = [class(1, 2), class(2, 3), class(3, 1), class(4, 5), class(6, 4), class(7, 0)];
    let instances = [1, 2, 3, 4, 6, 7].map(instance);
    let body = [classes.concat(), instances.concat()].concat();
    let profile = read(&whole(body.len() as u32, &body, &[]));
    let bytes: Vec<_> = only(&profile).rows.iter().map(|row| row.shallow_bytes).collect();
    assert_eq!(bytes, [24, 24, 24, 24, 24, 16]);
}

/// Old writers could not go back to set the length, or it did not fit.
#[test]
fn dumps_longer_than_their_records_say_are_whole() {
    let body = [bytes_array(1, 3), bytes_array(2, 100_000), bytes_array(3, 5)].concat();
    for length in [0, 1, 20, body.len() as u32 - 1] {
        let profile = read(&whole(length, &body, &[]));
        assert_eq!(rows(&profile, only(&profile)), [("byte[]".to_owned(), 3, 24 + 100_016 + 24)]);
        assert_eq!(profile.notes, ["1 records HEAP DUMP are longer than they say"], "{length}");
        assert!(!only(&profile).is_cut);
    }
    let sample = [0x0D, 0, 0, 0, 0, 0, 0, 0, 8, 0, 0, 0, 9, 0, 0, 0, 0];
    let profile = read(&whole(body.len() as u32, &body, &sample));
    assert_eq!(profile.notes, Vec::<String>::new());
    assert_eq!((only(&profile).object_count(), profile.total_cpu_samples().total), (3, 9));
}

#[test]
fn lengths_that_lie_are_the_end_of_the_file() {
    for length in [u32::MAX, 1 << 31, 100] {
        let profile = read(&whole(length, &bytes_array(1, 3), &[]));
        let note = &profile.notes[0];
        assert!(note.starts_with("offset "), "{note}");
        assert!(note.contains("the file is cut off in"), "{note}");
        assert_eq!(only(&profile).object_count(), 1);
        assert!(only(&profile).is_cut);
    }
    for tag in [0x01, 0x02, 0x04, 0x05, 0x06, 0x0A, 0x0D, 0x0E, 0x44, 0xF1, 0x7F] {
        for length in [u32::MAX, 1 << 31, 1 << 27] {
            let head =
                [&[0x2C, 0, 0, 0, 0, 0, 0, 0, 0, tag, 0, 0, 0, 0], &length.to_be_bytes()[..]];
            let bytes = whole(0, &[], &[&head.concat()[..], &[0; 40]].concat());
            match binary::read(&bytes[..]) {
                Ok(profile) => assert!(profile.notes[0].contains("the file is cut off in")),
                Err(error) => assert!(error.to_string().starts_with("offset "), "{error}"),
            }
        }
    }
}

/// A segment that cannot be understood is skipped from that point on, and the next one is read.
#[test]
fn a_segment_that_makes_no_sense_is_skipped() {
    let segment = |body: &[u8]| {
        let mut bytes = vec![0x1C, 0, 0, 0, 0];
        bytes.extend((body.len() as u32).to_be_bytes());
        bytes.extend(body);
        bytes
    };
    let mut bytes = whole(0, &[], &[]);
    bytes.truncate(bytes.len() - 9);
    bytes.extend(segment(&bytes_array(1, 3)));
    bytes.extend(segment(&[bytes_array(2, 3), vec![0x66; 30]].concat()));
    // An array that runs beyond the segment.
    let mut long = bytes_array(3, 3);
    long[12] = 200;
    bytes.extend(segment(&long));
    bytes.extend(segment(&bytes_array(4, 3)));
    bytes.extend([0x2C, 0, 0, 0, 0, 0, 0, 0, 0]);
    let profile = read(&bytes);
    assert_eq!(only(&profile).object_count(), 3);
    assert!(!only(&profile).is_cut);
    assert_eq!(profile.notes.len(), 2, "{:?}", profile.notes);
    assert!(profile.notes[0].ends_with("has tag 0x66; 30 bytes of a heap dump skipped"));
    assert!(profile.notes[1].contains("runs beyond its segment; 17 bytes"));
}

fn record(tag: u8, body: &[u8]) -> Vec<u8> {
    let length = (body.len() as u32).to_be_bytes();
    [&[tag, 0, 0, 0, 0][..], &length, body].concat()
}

/// Returns a dump as Android writes it, with ids of four bytes, and with `last` as its last
/// sub-records.
fn android(last: &[u8]) -> Vec<u8> {
    let u4 = u32::to_be_bytes;
    let mut bytes = b"JAVA PROFILE 1.0.3\0\0\0\0\x04\0\0\0\0\0\0\0\0".to_vec();
    let names = ["java.lang.Object", "java.lang.String", "a.Node", "a.Node[]", "app", "zygote"];
    for (at, name) in names.iter().enumerate() {
        bytes.extend(record(0x01, &[&u4(0x70 + at as u32), name.as_bytes()].concat()));
    }
    for class in 0..4 {
        bytes.extend(record(
            0x02,
            &[1 + class, 0x1000 + 8 * class, 0, 0x70 + class].map(u4).concat(),
        ));
    }
    bytes.extend(record(0x05, &[0; 12]));
    let instance = |id: u32, class: u32, values: &[u8]| {
        [&[0x21][..], &[id, 0, class, values.len() as u32].map(u4).concat(), values].concat()
    };
    let class = |id: u32, superclass: u32, instance_bytes: u32| {
        let ids = [id, 0, superclass, 0, 0, 0, 0, 0, instance_bytes].map(u4).concat();
        [&[0x20][..], &ids, &[0; 6]].concat()
    };
    let array = |tag: u8, id: u32, length: u32, element: &[u8], bytes: &[u8]| {
        [&[tag][..], &[id, 0, length].map(u4).concat(), element, bytes].concat()
    };
    let mut dump = Vec::new();
    // Roots, with JNI MONITOR last. Each of the others has only its id.
    for tag in [0x89, 0x8A, 0x8B, 0x8C, 0x8D, 0x90] {
        dump.extend([&[tag][..], &u4(0x2000)].concat());
    }
    dump.extend([&[0x8E][..], &[0x2000, 1, u32::MAX].map(u4).concat()].concat());
    dump.extend([&[0xFE][..], &[b'A'.into(), 0x74].map(u4).concat()].concat());
    // Classes follow their instances.
    dump.extend(instance(0x2000, 0x1010, &[0; 4]));
    dump.extend(instance(0x2010, 0x1010, &[0; 4]));
    dump.extend(class(0x1010, 0x1000, 12));
    dump.extend(array(0x22, 0x2020, 3, &u4(0x1018), &[0; 12]));
    dump.extend(array(0x23, 0x2040, 5, &[8], &[0; 5]));
    dump.extend([&[0xFE][..], &[b'Z'.into(), 0x75].map(u4).concat()].concat());
    dump.extend(instance(0x3000, 0x1008, &[0; 8]));
    dump.extend(array(0xC3, 0x3010, 1_000_000, &[10], &[]));
    dump.extend(class(0x1000, 0, 8));
    dump.extend(class(0x1008, 0x1000, 16));
    dump.extend(class(0x1018, 0x1000, 0));
    bytes.extend(record(0x1C, &[&dump[..], last].concat()));
    bytes.extend(record(0x2C, &[]));
    bytes
}

/// This follows the format's description, as no Android was available.
#[test]
fn a_dump_of_android_is_counted() {
    let bytes = android(&[]);
    for profile in [read(&bytes), binary::read(Trickle(&bytes, 0)).unwrap()] {
        let heap = only(&profile);
        let expected = [
            ("int[]", 1, 4_000_016),
            // Header and fields, as the class gives them.
            ("a.Node", 2, 32),
            ("a.Node[]", 1, 24),
            ("byte[]", 1, 24),
            ("java.lang.String", 1, 16),
        ];
        let expected = expected.map(|(name, count, bytes)| (name.to_owned(), count, bytes));
        let mut found = rows(&profile, heap);
        found.sort_by_key(|row| (std::cmp::Reverse(row.2), row.0.clone()));
        assert_eq!(found, expected);
        // The object that the runtime marks as unreachable has no root.
        assert_eq!(heap.roots, [(HeapRoot::Unknown, 5), (HeapRoot::Monitor, 1)]);
        assert_eq!(profile.notes, ["objects of the heaps app, zygote are counted together"]);
    }
    // In files of other writers these tags are unknown.
    let mut plain = bytes;
    plain[17] = b'2';
    let error = binary::read(&plain[..]).unwrap_err().to_string();
    assert!(error.contains("offset 294: no sub-record of a heap dump has tag 0x89"), "{error}");
}

/// A dump of which nothing is understood is an error and not an empty dump.
#[test]
fn an_unknown_sub_record_is_an_error_or_a_note() {
    let profile = read(&android(&[0x91; 20]));
    assert_eq!(only(&profile).object_count(), 6);
    assert!(profile.notes[0].ends_with("has tag 0x91; 20 bytes of a heap dump skipped"));
    let mut nothing = b"JAVA PROFILE 1.0.3\0\0\0\0\x04\0\0\0\0\0\0\0\0".to_vec();
    nothing.extend(record(0x1C, &[0x91; 20]));
    nothing.extend(record(0x2C, &[]));
    let error = binary::read(&nothing[..]).unwrap_err().to_string();
    assert!(error.contains("offset 40: no sub-record of a heap dump has tag 0x91"), "{error}");
    // If another dump is whole, there is something to show.
    let both = [&android(&[])[..], &nothing].concat();
    assert_eq!(read(&both).heaps().next().unwrap().object_count(), 6);
}

#[test]
fn files_one_behind_the_other_are_read_as_one() {
    // The second file has ids of another size, and the same ids for other objects.
    let (first, second) = (dump_of(100), android(&[]));
    // The third has a head of another length, and is longer than a buffer.
    let mut third = b"JAVA PROFILE 1.0".to_vec();
    third.extend(&dump_of(3 << 20)[18..]);
    for files in [[&first, &second], [&second, &first], [&first, &first], [&third, &second]] {
        let profile = read(&files.map(Vec::as_slice).concat());
        let sorted = |profile: &Profile, heap: &HeapHistogram| {
            rows(profile, heap).into_iter().collect::<BTreeSet<_>>()
        };
        let each = files.map(|file| {
            let profile = read(file);
            sorted(&profile, only(&profile))
        });
        let found: Vec<_> = profile.heaps().map(|heap| sorted(&profile, heap)).collect();
        assert_eq!(found, each);
        let note = format!("offset {}: another file begins, and is read, too", files[0].len());
        assert!(profile.notes.contains(&note), "{:?}", profile.notes);
    }
    // HEAP DUMP does not have an end of its own.
    let old = whole(17, &bytes_array(1, 3), &[]);
    assert_eq!(read(&[&old[..], &old].concat()).heaps().count(), 2);
    // The times are those of each file.
    let mut later = first.clone();
    later[23..31].copy_from_slice(&(1_700_000_000_000_u64 + 5000).to_be_bytes());
    let profile = read(&[first, later].concat());
    let times: Vec<_> = profile.heaps().map(|heap| heap.written.unwrap().unix_ms).collect();
    assert_eq!(times[1] - times[0], 5000);
}

#[test]
fn the_clock_of_records_goes_on_after_71_minutes() {
    let mut bytes = whole(0, &[], &[]);
    bytes.truncate(bytes.len() - 9);
    for elapsed_us in [3_000_000_000_u32, 4_200_000_000, 100_000_000, 90_000_000, 4_000_000_000] {
        bytes.push(0x0D);
        bytes.extend(elapsed_us.to_be_bytes());
        bytes.extend([0, 0, 0, 8, 0, 0, 0, 1, 0, 0, 0, 0]);
    }
    let profile = read(&bytes);
    let written = profile.cpu_samples().map(|section| section.written.unwrap().unix_ms);
    let round_ms = (1_u64 << 32) / 1000;
    let expected = [3_000_000, 4_200_000, 100_000 + round_ms, 90_000 + round_ms];
    let times: Vec<_> = written.collect();
    assert_eq!(times[..4], expected);
    assert_eq!(times[4], 4_000_000 + round_ms);
}

proptest! {
    #[test]
    fn flipped_bits_are_an_error_or_less(
        flips in prop::collection::vec((any::<prop::sample::Index>(), 0..8), 1..6),
        cut in any::<prop::sample::Index>(),
    ) {
        let mut dump = dump_of(100);
        for (at, bit) in flips {
            let at = at.index(dump.len());
            dump[at] ^= 1_u8 << bit;
        }
        let _ = binary::read(&dump[..]);
        if let Ok(profile) = binary::read(&dump[..cut.index(dump.len())]) {
            for heap in profile.heaps() {
                prop_assert!(heap.object_count() <= dump.len() as u64);
            }
        }
    }
}

/// Checks the sizes of objects in a JVM with a header and references of these sizes, in bytes.
fn check_sizes(jdk: &Jdk, arguments: &[&str], header_bytes: u32, reference_bytes: u32) {
    let classes = fixture::compile_text("HeapShape", PROGRAM);
    let run = JavaRun::new(jdk).classes(classes).jvm_arg("-Xmx128m").jvm_arg("-Xshare:off");
    let run = arguments.iter().fold(run, |run, argument| run.jvm_arg(*argument));
    let mut java = run.main("HeapShape").spawn();
    java.wait_for_stdout("ready");
    let jcmd = |command: &[&str]| jcmd(jdk, java.pid(), command);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("jvm.hprof");
    jcmd(&["VM.version"]);
    let before = class_histogram(&jcmd(&["GC.class_histogram", "-all"]));
    jcmd(&["GC.heap_dump", "-all", path.to_str().unwrap()]);
    let after = class_histogram(&jcmd(&["GC.class_histogram", "-all"]));
    let profile = binary::read(std::fs::File::open(&path).unwrap()).unwrap();
    let heap = only(&profile);
    let layout = heap.layout.unwrap();
    assert!(layout.is_inferred, "{arguments:?}");
    assert_eq!((layout.header_bytes, layout.reference_bytes), (header_bytes, reference_bytes));
    let mut totals = BTreeMap::<_, (u64, u64)>::new();
    for (name, count, bytes) in rows(&profile, heap) {
        let class = totals.entry(name).or_default();
        (class.0, class.1) = (class.0 + count, class.1 + bytes);
    }
    let mut equal = 0;
    for (name, numbers) in &totals {
        // The JVM's code that answers commands makes objects. The JVM fills holes with arrays of
        // int, and counts objects that represent classes which are not loaded.
        let is_noisy = match name.as_str() {
            "int[]" => true,
            "java.lang.Class" => before[name].0 != numbers.0,
            _ => before.get(name) != after.get(name),
        };
        if !is_noisy && before.contains_key(name) {
            assert_eq!(Some(numbers), before.get(name), "{name} with {arguments:?}");
            equal += 1;
        } else if let Some(one) = before.get(name)
            && !name.ends_with("[]")
            && name != "java.lang.Class"
        {
            assert_eq!(numbers.1 * one.0, one.1 * numbers.0, "{name} with {arguments:?}");
        }
    }
    assert!(equal * 10 >= totals.len() * 9, "{equal} of {} classes are quiet", totals.len());
    assert_eq!(totals["HeapShape$Child"].0, 100);
    assert_eq!(totals["HeapShape$Point"].0, 900);
}

#[test]
fn classes_have_the_bytes_that_the_jvm_counts() {
    for jdk in jdk::all().iter().filter(|jdk| jdk.has_javac) {
        check_sizes(jdk, &["-XX:+UseSerialGC"], 12, 4);
        check_sizes(jdk, &["-XX:+UseParallelGC", "-XX:-UseCompressedOops"], 12, 8);
        check_sizes(jdk, &["-XX:+UseParallelGC", "-XX:ObjectAlignmentInBytes=16"], 12, 4);
        if jdk.version < 25 {
            check_sizes(jdk, &["-XX:+UseSerialGC", "-XX:-UseCompressedClassPointers"], 16, 4);
        } else {
            check_sizes(jdk, &["-XX:+UseG1GC", "-XX:+UseCompactObjectHeaders"], 8, 4);
        }
    }
}
