//! The comparison of the tables of `perk-jvmti-sys` with the headers of the JDKs on this machine.

use std::path::Path;

use perk_testkit::jdk;

use super::header::Header;

/// A table of names, each with its place: the number of a slot or of a bit.
type Table = Vec<(String, usize)>;

/// Returns the entries of the compiled tables that a header contradicts, one line each.
///
/// An older header may lack entries at the end of a table, and have gaps for functions that newer
/// ones have. Everything that it does name must be at the same place.
fn contradictions(header: &Table, tables: &Table) -> Vec<String> {
    let mut found = Vec::new();
    for (name, place) in header {
        match tables.iter().find(|(_, it)| it == place) {
            Some((ours, _)) if ours == name || name.starts_with("reserved") => {}
            Some((ours, _)) => found.push(format!("{place} is {name}, the table has {ours}")),
            None => found.push(format!("{place} is {name}, the table has nothing")),
        }
    }
    found
}

/// Returns the entries that only the tables have. There are none for the header from which the
/// tables were made.
fn additions(header: &Table, tables: &Table) -> Vec<String> {
    let additions = tables.iter().filter(|entry| !header.contains(entry));
    additions.map(|(name, place)| format!("{place} is {name} in the table only")).collect()
}

fn slots(header: &Header) -> Table {
    header.slots.iter().map(|slot| slot.name.clone()).zip(0..).collect()
}

fn callbacks(header: &Header) -> Table {
    header.callbacks.iter().map(|slot| slot.name.clone()).zip(0..).collect()
}

fn capabilities(header: &Header) -> Table {
    header.capabilities.iter().map(|(name, bit)| (name.clone(), *bit as usize)).collect()
}

/// The compiled tables. The places of slots are those that the compiler gave them.
mod compiled {
    use perk_jvmti_sys::{CALLBACK_OFFSETS, Capability, FUNCTION_OFFSETS};

    use super::Table;

    fn by_offset(offsets: &[(&str, usize)]) -> Table {
        offsets
            .iter()
            .map(|&(name, offset)| (name.to_owned(), offset / size_of::<usize>()))
            .collect()
    }

    pub(super) fn slots() -> Table {
        by_offset(&FUNCTION_OFFSETS)
    }

    pub(super) fn callbacks() -> Table {
        by_offset(&CALLBACK_OFFSETS)
    }

    pub(super) fn capabilities() -> Table {
        Capability::ALL.iter().map(|it| (it.name().to_owned(), *it as usize)).collect()
    }
}

/// Returns the headers of the JDKs on this machine, with the JDKs' folders.
fn headers() -> impl Iterator<Item = (&'static Path, Header)> {
    let homes = jdk::all().iter().map(|jdk| jdk.home.as_path());
    let homes = homes.filter(|home| home.join("include/jvmti.h").is_file());
    homes.map(|home| (home, Header::of_jdk(home).unwrap()))
}

fn table(names: &[&str]) -> Table {
    names.iter().map(|&name| name.to_owned()).zip(0..).collect()
}

#[test]
fn a_swapped_pair_is_found() {
    let mut swapped = compiled::slots();
    let (name, other) = (swapped[3].0.clone(), swapped[4].0.clone());
    (swapped[3].0, swapped[4].0) = (other, name);
    assert_eq!(
        contradictions(&compiled::slots(), &swapped),
        [
            "3 is GetAllThreads, the table has SuspendThread",
            "4 is SuspendThread, the table has GetAllThreads"
        ]
    );
}

#[test]
fn an_older_header_may_have_gaps_and_end_early() {
    let tables = table(&["reserved1", "GetPhase", "ClearAllFramePops", "New"]);
    let older = table(&["reserved1", "GetPhase", "reserved3"]);
    assert_eq!(contradictions(&older, &tables), [""; 0]);
    assert_eq!(
        additions(&older, &tables),
        ["2 is ClearAllFramePops in the table only", "3 is New in the table only"]
    );
}

#[test]
fn a_missing_slot_is_found() {
    let header = table(&["reserved1", "GetPhase", "Newer"]);
    let tables = table(&["reserved1", "reserved2"]);
    assert_eq!(
        contradictions(&header, &tables),
        ["1 is GetPhase, the table has reserved2", "2 is Newer, the table has nothing"]
    );
}

#[test]
fn the_tables_agree_with_the_headers_of_all_jdks() {
    let headers: Vec<_> = headers().collect();
    assert!(!headers.is_empty(), "no JDK with include/jvmti.h: run tools/setup.sh jdk");
    for (home, header) in headers {
        eprintln!("JDK {} at {}", header.version, home.display());
        for (what, theirs, ours) in [
            ("slot", slots(&header), compiled::slots()),
            ("callback", callbacks(&header), compiled::callbacks()),
            ("capability", capabilities(&header), compiled::capabilities()),
        ] {
            let found = contradictions(&theirs, &ours);
            assert_eq!(found, [""; 0], "{what} of {}", home.display());
        }
        assert_eq!(header.capability_bits, 8 * size_of::<perk_jvmti_sys::Capabilities>() as u32);
    }
}

/// A C compiler shares nothing with this reader of headers.
#[test]
fn a_c_compiler_puts_the_slots_at_the_same_places() {
    use perk_jvmti_sys as ours;

    let newest = jdk::all().iter().rev().find(|jdk| jdk.home.join("include/jvmti.h").is_file());
    let jdk = newest.expect("no JDK with include/jvmti.h: run tools/setup.sh jdk");
    let mut text = "#include <stddef.h>\n#include <jvmti.h>\n".to_owned();
    let mut assert = |claim: String| text += &format!("_Static_assert({claim}, \"{claim}\");\n");
    let tables = [
        ("jvmtiInterface_1", &ours::FUNCTION_OFFSETS[..]),
        ("jvmtiEventCallbacks", &ours::CALLBACK_OFFSETS[..]),
    ];
    for (table, offsets) in tables {
        let names = std::fs::read_to_string(jdk.home.join("include/jvmti.h")).unwrap();
        // An older header lacks the last slots, and names its gaps.
        for (name, offset) in offsets.iter().filter(|(name, _)| names.contains(name)) {
            assert(format!("offsetof({table}, {name}) == {offset}"));
        }
    }
    for (record, bytes) in [
        ("jvmtiCapabilities", size_of::<ours::Capabilities>()),
        ("jvmtiHeapCallbacks", size_of::<ours::jvmtiHeapCallbacks>()),
        ("jvmtiHeapReferenceInfo", size_of::<ours::jvmtiHeapReferenceInfo>()),
        ("jvmtiLineNumberEntry", size_of::<ours::jvmtiLineNumberEntry>()),
        ("jvmtiStackInfo", size_of::<ours::jvmtiStackInfo>()),
        ("jvmtiThreadInfo", size_of::<ours::jvmtiThreadInfo>()),
    ] {
        assert(format!("sizeof({record}) == {bytes}"));
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("tables.c");
    std::fs::write(&file, text).unwrap();
    let include = jdk.home.join("include");
    let output = std::process::Command::new("cc")
        .args(["-std=c11", "-fsyntax-only", "-I"])
        .arg(&include)
        .arg("-I")
        .arg(include.join("linux"))
        .arg(&file)
        .output()
        .expect("no C compiler");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn the_tables_are_what_the_generator_writes() {
    let committed = include_str!("../../../crates/jvmti-sys/src/generated.rs");
    for (home, header) in headers() {
        let written = super::formatted(&super::emit::rust(&header)).unwrap();
        if written.lines().next() == committed.lines().next() {
            assert!(written == committed, "run `cargo run -p xtask -- jvmti {}`", home.display());
            assert_eq!(additions(&slots(&header), &compiled::slots()), [""; 0]);
            return;
        }
    }
    eprintln!("skipped: the tables' own JDK is not here ({})", committed.lines().next().unwrap());
}
