//! `perk heap` on dumps in all forms: packed, on stdin, text, several in a file, and on what is none.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use flate2::Compression;
use flate2::write::GzEncoder;

use super::dump;
use crate::util::{Folder, PERK, assert_refused, stderr, stdout};

pub(super) fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut packer = GzEncoder::new(Vec::new(), Compression::default());
    packer.write_all(bytes).unwrap();
    packer.finish().unwrap()
}

/// A dump in HPROF text.
pub(super) fn text_dump() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/hprof/dump-a-arrays.txt.gz")
}

/// Returns the objects that nothing holds, by class, and the messages.
#[track_caller]
fn unreachable(folder: &Folder, arguments: &[&str]) -> (String, String) {
    let output = folder.run(&[&["heap", "--unreachable", "--csv"], arguments].concat());
    assert_eq!(output.status.code(), Some(0), "{arguments:?}: {}", stderr(&output));
    (stdout(&output), stderr(&output))
}

#[test]
fn a_dump_is_the_same_in_all_forms() {
    let folder = Folder::new();
    folder.file("two.hprof", dump());
    folder.file("two.gz", gzip(&dump()));
    folder.file("two.zst", zstd::encode_all(&dump()[..], 0).unwrap());
    folder.file("twice.hprof", gzip(&gzip(&dump())));
    let (last, messages) = unreachable(&folder, &["two.hprof"]);
    let note = "the file has 2 heap dumps, and this is number 2; --dump N chooses another";
    assert!(messages.contains(note), "{messages}");
    let (first, _) = unreachable(&folder, &["two.hprof", "--dump", "1"]);
    assert!(first.contains("a.B") && !last.contains("a.B"), "{first}\n{last}");
    for file in ["two.gz", "two.zst", "twice.hprof"] {
        assert_eq!(unreachable(&folder, &[file, "--dump", "2"]).0, last, "{file}");
        assert_eq!(unreachable(&folder, &[file, "--dump", "1"]).0, first, "{file}");
    }
    for file in ["two.hprof", "two.gz"] {
        let mut perk = Command::new(PERK);
        perk.current_dir(folder.path());
        perk.args(["heap", "--unreachable", "--csv", "-", "--dump", "1"]).stderr(Stdio::null());
        let redirected = perk.stdin(File::open(folder.join(file)).unwrap()).output().unwrap();
        assert_eq!(stdout(&redirected), first, "{file}");
        let mut child = perk.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let bytes = fs::read(folder.join(file)).unwrap();
        child.stdin.take().unwrap().write_all(&bytes).unwrap();
        assert_eq!(stdout(&child.wait_with_output().unwrap()), first, "{file}");
    }
    let output = folder.run(&["heap", "two.gz", "--dump", "3"]);
    let message = "cannot analyse two.gz: it has 2 heap dumps, so --dump 3 names none";
    assert_refused(&output, &[message]);
    let output = folder.run(&["heap", "two.gz", "--scratch", "missing"]);
    assert_refused(&output, &["no scratch file can be made in missing", "--scratch DIR"]);
}

#[test]
fn packed_dumps_that_are_cut_off_have_their_objects() {
    let folder = Folder::new();
    let whole = super::dumps(1);
    // Not packed any smaller, so that a cut is one of the content.
    let mut packer = GzEncoder::new(Vec::new(), Compression::none());
    packer.write_all(&whole).unwrap();
    let packed = packer.finish().unwrap();
    folder.file("cut.gz", &packed[..packed.len() - 60]);
    let (table, messages) = unreachable(&folder, &["cut.gz"]);
    assert!(table.contains("a.B"), "{table}");
    assert!(messages.contains("cut.gz: the gzip data is cut off: "), "{messages}");
    let output = folder.run(&["report", "cut.gz"]);
    assert!(output.status.success() && stdout(&output).contains("a.B"), "{}", stderr(&output));
}

#[test]
fn text_has_what_retains() {
    let folder = Folder::new();
    let text = text_dump();
    let text = text.to_str().unwrap();
    let output = folder.run(&["heap", "--classes", "--csv", text]);
    let (table, messages) = (stdout(&output), stderr(&output));
    assert!(table.lines().any(|line| line.starts_with("java.lang.String,")), "{table}");
    assert!(messages.contains("HPROF text has no values of primitive types"), "{messages}");
    let output = folder.run(&["heap", text, "--paths", "java.lang.String"]);
    assert!(stdout(&output).contains("static"), "{}", stderr(&output));
}

#[test]
fn what_is_no_heap_dump_is_named() {
    let folder = Folder::new();
    folder.file("a.folded", "Main.main;Lexer.next 60\n");
    folder.file("a.jfr.gz", gzip(b"FLR\0\0\x02\0\0"));
    folder.file("a.phd", b"\0\x12portable heap dump\0");
    folder.file("a.xz", b"\xFD7zXZ\0\0");
    folder.file("a.txt", "");
    folder.file("noise", [7; 100]);
    fs::create_dir(folder.join("folder")).unwrap();
    for (file, parts) in [
        (
            "a.folded",
            &[
                "a.folded: it is not a heap dump but of the form collapsed",
                "`perk report` shows it",
            ][..],
        ),
        (
            "a.jfr.gz",
            &[
                "a.jfr.gz: it is not a heap dump but of the form JFR recording; `perk report` shows it",
            ],
        ),
        ("a.phd", &["a.phd: it is a PHD dump of OpenJ9", "Eclipse MAT"]),
        ("a.xz", &["a.xz: it is packed by xz: unpack it with `xz -d`"]),
        ("a.txt", &["a.txt: it is empty"]),
        ("noise", &["noise: it is not a heap dump: it begins with"]),
        ("folder", &["folder: it is a folder; name a dump in it"]),
        ("missing", &["cannot analyse missing: No such file"]),
    ] {
        assert_refused(&folder.run(&["heap", file]), parts);
    }
}
