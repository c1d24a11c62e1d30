//! Profiles are read as they were written, whatever the names, and readers accept any bytes.

#![forbid(unsafe_code)]

mod contents;
mod plan;

use std::fs;
use std::path::Path;

use perk_hprof::{Error, Format};
use perk_profile::{
    CallEdge, CallEdges, Event, Frame, Line, Method, Metric, Profile, Section, Site, Sites, Thread,
    Timeline, TimelineHead, TimelineRow,
};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};

use contents::{contents, numbers};
use plan::{allocations, build, plan};

const FORMATS: [Format; 4] = [Format::Ascii, Format::Binary, Format::Extended, Format::Old];

fn written(profile: &Profile, format: Format) -> Vec<u8> {
    let mut bytes = Vec::new();
    perk_hprof::write(profile, format, &mut bytes).unwrap();
    bytes
}

fn packed(profile: &Profile) -> Vec<u8> {
    let mut bytes = Vec::new();
    perk_hprof::write_packed(profile, &mut bytes).unwrap();
    bytes
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..Default::default() })]

    /// Text is written with the same bytes after one reading. (Line ends in names are written as
    /// `\n`.)
    #[test]
    fn text_is_written_as_it_was_read(plan in plan()) {
        let profile = build(&plan, Format::Ascii);
        let first = written(&profile, Format::Ascii);
        let read = perk_hprof::read(&first[..]).map_err(|e| TestCaseError::fail(e.to_string()))?;
        prop_assert_eq!(numbers(&read), numbers(&profile));
        let second = written(&read, Format::Ascii);
        prop_assert_eq!(String::from_utf8_lossy(&second), String::from_utf8_lossy(&first));
    }

    /// Records lose nothing. After one reading their ids are in the order of first use, and stay
    /// so.
    #[test]
    fn records_are_written_as_they_were_read(
        plan in plan(),
        format in select(vec![Format::Binary, Format::Extended]),
    ) {
        let profile = build(&plan, format);
        let first = written(&profile, format);
        prop_assert_eq!(perk_hprof::recognise(&first), Some(format));
        let read = perk_hprof::read(&first[..]).map_err(|e| TestCaseError::fail(e.to_string()))?;
        prop_assert_eq!(read.created, profile.created);
        prop_assert_eq!(read.depth, profile.depth);
        prop_assert_eq!(contents(&read), contents(&profile));
        let classes = |profile: &Profile| -> Vec<String> {
            let symbols = &profile.symbols;
            symbols.classes().map(|(id, _)| symbols.class_name(id).to_owned()).collect()
        };
        prop_assert_eq!(classes(&read), classes(&profile));
        prop_assert_eq!(read.notes.len(), 0);

        if format == Format::Extended {
            let packed = packed(&profile);
            let unpacked = perk_hprof::read(&packed[..]).map_err(|e| TestCaseError::fail(e.to_string()))?;
            prop_assert_eq!(contents(&unpacked), contents(&profile));
            prop_assert_eq!(classes(&unpacked), classes(&profile));
            prop_assert_eq!(unpacked.notes.len(), 0);
        }

        let second = written(&read, format);
        let third = written(&perk_hprof::read(&second[..]).unwrap(), format);
        prop_assert!(second == third, "{:?}", plan);
        prop_assert_eq!(second.len(), first.len());
    }

    #[test]
    fn what_is_cut_or_broken_is_an_error_or_less(
        plan in plan(),
        cuts in vec(any::<Index>(), 20),
        flips in vec((any::<Index>(), 0..8_u8), 1..20),
    ) {
        for format in FORMATS {
            let profile = build(&plan, format);
            if format.holds(&profile).is_err() {
                continue;
            }
            let mut files = vec![written(&profile, format)];
            if format == Format::Extended {
                files.push(packed(&profile));
            }
            for bytes in files {
                for cut in &cuts {
                    survives(&bytes[..cut.index(bytes.len())])?;
                }
                let mut broken = bytes;
                for (at, bit) in &flips {
                    let at = at.index(broken.len());
                    broken[at] ^= 1 << bit;
                    survives(&broken)?;
                }
            }
        }
    }

    #[test]
    fn any_bytes_are_an_error_or_a_profile(
        header in select(vec![
            &b"JAVA PROFILE 1.0.1, created Fri Nov 20 19:00:31 2026\n\n--------\n\n"[..],
            &b"JAVA PROFILE 1.0.2\0\0\0\0\x08\0\0\0\0\0\0\0\0"[..],
            &b"JAVA PROFILE 1.0.1\0\0\0\0\x04\0\0\0\0\0\0\0\0"[..],
            &b"JAVA PROFILE 1.0.2\0\0\0\0\x08\0\0\0\0\0\0\0\0\xF0\0\0\0\0\0\0\0\x04\0\0\0\x01"[..],
            &b"count callee caller time\n"[..],
            &b"JAVA PROFILE 1.0"[..],
            &b""[..],
        ]),
        bytes in vec(any::<u8>(), 0..400),
    ) {
        survives(&[header, &bytes].concat())?;
    }

    /// Records of any tag and length, with bytes that are meaningful more often than random ones.
    #[test]
    fn any_records_are_an_error_or_a_profile(
        id_bytes in 0..10_u8,
        extended in any::<bool>(),
        records in vec((prop_oneof![0..0x30_u8, 0xEB..=0xFF_u8], 0..40_u32, vec(0..4_u8, 0..40)), 0..10),
    ) {
        let mut bytes = b"JAVA PROFILE 1.0.1\0\0\0\0".to_vec();
        bytes.push(id_bytes);
        bytes.extend([0; 8]);
        if extended {
            bytes.extend([0xF0, 0, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0, 1]);
        }
        for (tag, length, body) in records {
            bytes.push(tag);
            bytes.extend([0; 4]);
            bytes.extend(length.to_be_bytes());
            bytes.extend(body);
        }
        survives(&bytes)?;
    }
}

/// Reads the bytes, which must not panic. The place of an error lies inside the file.
fn survives(bytes: &[u8]) -> Result<(), TestCaseError> {
    match perk_hprof::read(bytes) {
        Ok(profile) => {
            // A profile that was read can be written.
            for format in FORMATS {
                let whole = perk_hprof::write(&profile, format, std::io::sink()).is_ok();
                prop_assert_eq!(whole, format.holds(&profile).is_ok(), "{:?}", format);
            }
        }
        Err(Error::Binary { offset, .. } | Error::Cut { offset, .. }) => {
            prop_assert!(offset <= bytes.len())
        }
        Err(Error::Ascii { line, .. }) => {
            let lines = bytes.split(|byte| *byte == b'\n').count();
            prop_assert!((1..=lines).contains(&line), "line {} of {}", line, lines);
        }
        Err(_) => {}
    }
    Ok(())
}

/// Flipped bits in the original's files, at regular steps: small ones in small files, larger ones
/// in large files.
#[test]
fn golden_files_with_a_bit_flipped_do_no_harm() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/hprof");
    for (name, step) in [
        ("samples-cpu.txt", 13),
        ("samples-b-cpu.hprof", 61),
        ("times-cpu.txt", 997),
        ("sites-alloc-depth1.txt", 20_011),
        ("sites-b-arrays.hprof", 15_013),
        ("old-cpu.txt", 31_013),
    ] {
        let bytes = fs::read(folder.join(name)).unwrap();
        for bit in (0..bytes.len() * 8).step_by(step) {
            let mut broken = bytes.clone();
            broken[bit / 8] ^= 1 << (bit % 8);
            survives(&broken).unwrap_or_else(|e| panic!("{name}, bit {bit}: {e}"));
        }
    }
}

/// A small file in each format is cut at every byte.
#[test]
fn small_files_cut_anywhere_do_no_harm() {
    let bytes = fs::read(
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/hprof/times-cpu-depth0.txt"),
    );
    let mut profile = perk_hprof::read(&bytes.unwrap()[..]).unwrap();
    let class = profile.symbols.new_class("int[]");
    let name = profile.symbols.strings.intern("clone");
    let method = profile.symbols.method(Method { class, name, signature: None, source: None });
    let frame = profile.symbols.frame(Frame::new(method, Line::Unknown));
    let node = profile.tree.insert([frame, frame]);
    let trace = profile.trace(node, None);
    let objects = allocations([1, 2, 3, 4]);
    let site = Site { class, trace, objects };
    let edge = CallEdge {
        callee: Some(method),
        caller: None,
        thread: None,
        count: 7,
        total_ns: 5_000_000,
    };
    let sites = Event::from(Sites {
        total: objects,
        rows: vec![site],
        sample_interval_bytes: Some(1024),
        ..Sites::default()
    });
    let edges = CallEdges { rows: vec![edge], written: None };
    let edges = Event::from(edges.section(&mut profile));
    let times = profile.events.clone();
    for (format, events) in [
        (Format::Ascii, [times.clone(), vec![sites.clone()]].concat()),
        (Format::Binary, vec![sites.clone()]),
        (Format::Extended, [times, vec![sites, edges.clone()]].concat()),
        (Format::Old, vec![edges]),
    ] {
        profile.events = events;
        let whole = written(&profile, format);
        let mut taken = 0;
        for end in 0..=whole.len() {
            survives(&whole[..end]).unwrap_or_else(|e| panic!("{format:?} cut at {end}: {e}"));
            taken += usize::from(perk_hprof::read(&whole[..end]).is_ok());
        }
        let is_as_expected = match format {
            // Text is read as far as it goes.
            Format::Ascii | Format::Old => (1..whole.len()).contains(&taken),
            // Whole records are read.
            _ => taken > whole.len() / 2,
        };
        assert!(is_as_expected, "{format:?}: {taken} of {} cuts were taken", whole.len());
    }
}

/// A file has the stacks of its timelines at once, and those of a second process begin later.
#[test]
fn a_thread_that_starts_after_its_stacks_keeps_its_name() {
    let mut profile = Profile::default();
    let thread = |profile: &mut Profile, serial, name: &str| {
        let name = profile.symbols.strings.intern(name);
        let (group, parent_group) = (Some(name), None);
        let thread = Thread { serial, object_id: 7, name, group, parent_group };
        profile.push_thread(thread)
    };
    let threads = [thread(&mut profile, 200_001, "A"), thread(&mut profile, 200_002, "B")];
    let class = profile.symbols.class("T");
    let name = profile.symbols.strings.intern("main");
    let method = profile.symbols.method(Method { class, name, signature: None, source: None });
    let frame = profile.symbols.frame(Frame::new(method, Line::Unknown));
    let node = profile.tree.insert([frame]);
    for id in threads {
        let trace = profile.trace(node, Some(id));
        let row = TimelineRow { tick: 0, thread: Some(id), trace, count: 1 };
        let head = TimelineHead { metric: Metric::Samples, tick_ns: 10, begin_ns: 0, end_ns: 10 };
        profile.events.push(Event::ThreadStart(id));
        profile.events.push(Event::Timeline(Timeline { head, rows: vec![row].into() }));
    }
    let traces = threads.map(|id| profile.trace(node, Some(id)));
    let section = Section::of(Metric::Samples, 2, traces.map(|trace| (trace, 1)));
    profile.events.push(section.into());
    let read = perk_hprof::read(&written(&profile, Format::Extended)[..]).unwrap();
    let names: Vec<_> =
        read.threads.iter().map(|thread| read.symbols.strings.get(thread.name)).collect();
    assert_eq!(names, ["A", "B"]);
    let rows = Metric::Samples.rows(&read).rows;
    let of_rows: Vec<_> =
        rows.iter().filter_map(|row| read.get_trace(row.0.trace).thread).collect();
    assert_eq!(of_rows.iter().map(|&id| read.thread_name(id)).collect::<Vec<_>>(), ["A", "B"]);
}
