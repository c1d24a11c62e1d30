//! Files that are no dumps, and those that change while they are read.

use std::fs::{self, File};
use std::io::Write;
use std::path::Path;

use perk_heap::{Error, Options};

use super::packed::gzip;
use super::{begin, list, open, open_bytes};
use crate::dump;

#[track_caller]
fn message(bytes: &[u8]) -> String {
    let message = open_bytes(bytes, &Options::default()).unwrap_err().to_string();
    assert_eq!(message.lines().count(), 1, "{message}");
    message
}

#[test]
fn other_files_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let error = open(folder.path()).unwrap_err().to_string();
    assert_eq!(error, "it is a folder; name a dump in it");
    let error = open(&folder.path().join("missing")).unwrap_err();
    assert!(matches!(&error, Error::Io(error) if error.kind() == std::io::ErrorKind::NotFound));
    assert_eq!(message(b""), "it is empty");
    assert_eq!(message(&gzip(b"")), "it is empty");
    let phd = b"\0\x12portable heap dump\0\0\0\x05";
    assert!(message(phd).starts_with("it is a PHD dump"));
    assert!(message(&gzip(phd)).starts_with("it is a PHD dump"));
    assert_eq!(
        message(b"FLR\0\0\x02"),
        r#"it is not a heap dump: it begins with "FLR\x00\x00\x02""#
    );
    let Err(Error::NotDump { head }) = open_bytes(&gzip(b"FLR\0"), &Options::default()) else {
        panic!("no error");
    };
    assert_eq!(head, b"FLR\0");
    let none = "it is an HPROF file without a heap dump; `perk report` shows what it has";
    let testdata = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/hprof");
    for file in ["samples-b-cpu.hprof", "samples-cpu.txt", "sites-b-arrays.hprof"] {
        assert_eq!(message(&fs::read(testdata.join(file)).unwrap()), none, "{file}");
    }
}

#[test]
fn a_core_of_a_real_program_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("core");
    // `gcore` is not everywhere: the first bytes of a core are those of the program, with another
    // type.
    let mut program = fs::read(std::env::current_exe().unwrap()).unwrap();
    program.truncate(1 << 16);
    assert!(message(&program).starts_with(r#"it is not a heap dump: it begins with "\x7fELF"#));
    program[16] = 4;
    File::create(&path).unwrap().write_all(&program).unwrap();
    let error = open(&path).unwrap_err().to_string();
    assert!(error.contains("jhsdb jmap --binaryheap"), "{error}");
}

#[test]
fn a_file_that_changes_meanwhile_is_noted() {
    let mut dump = begin("JAVA PROFILE 1.0.2", 8);
    list(&mut dump, 0..1000);
    let bytes = dump.finish();
    let (_folder, path) = dump::file(&bytes[..bytes.len() - 5000]);
    let input = open(&path).unwrap();
    assert_eq!(input.change().unwrap(), None);
    let identity = input.identity().unwrap();
    let mut file = File::options().append(true).open(&path).unwrap();
    file.write_all(&bytes[bytes.len() - 5000..]).unwrap();
    let note = input.change().unwrap().unwrap();
    assert!(note.contains("its dump was still being written"), "{note}");
    assert_eq!(input.len(), bytes.len() as u64 - 5000);
    file.set_len(100).unwrap();
    let note = input.change().unwrap().unwrap();
    assert!(note.starts_with("the file shrank from "), "{note}");
    // Another file of the name and size.
    fs::remove_file(&path).unwrap();
    fs::write(&path, &bytes[..bytes.len() - 5000]).unwrap();
    let other = open(&path).unwrap().identity().unwrap();
    assert_eq!(other.bytes, identity.bytes);
    assert_ne!(other, identity);
}
