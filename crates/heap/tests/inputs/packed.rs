//! Packed dumps, and those that come through a pipe.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::os::fd::AsRawFd;
use std::path::Path;
use std::process::Command;

use flate2::Compression;
use flate2::write::GzEncoder;
use perk_heap::{Error, Input, NoWatch, Options, Watch};

use super::{content, large, open, open_bytes};
use crate::dump;

pub(super) fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut packer = GzEncoder::new(Vec::new(), Compression::fast());
    packer.write_all(bytes).unwrap();
    packer.finish().unwrap()
}

/// Packs as `jcmd PID GC.heap_dump -gz=1` does: each block is a member of its own, and the first has
/// a comment. The blocks need not be full.
fn jdk_gzip(bytes: &[u8], block_bytes: usize) -> Vec<u8> {
    let mut packed = Vec::new();
    for (index, block) in bytes.chunks(block_bytes).enumerate() {
        // The JDK's last segment begins a block.
        let (first, second) = block.split_at(if index == 1 { block.len() / 3 } else { 0 });
        for (part, block) in [first, second].into_iter().enumerate() {
            if block.is_empty() {
                continue;
            }
            let comment = format!("HPROF BLOCKSIZE={block_bytes}");
            let builder = flate2::GzBuilder::new();
            let builder = if index == 0 && part == 1 { builder.comment(comment) } else { builder };
            let mut member = builder.write(Vec::new(), Compression::fast());
            member.write_all(block).unwrap();
            packed.extend(member.finish().unwrap());
        }
    }
    packed
}

/// Keeps the last progress of each phase.
#[derive(Default)]
struct Progress(Vec<(&'static str, u64, u64)>);

impl Watch for Progress {
    fn progress(&mut self, phase: &'static str, done: u64, total: u64) {
        if let Some(last) = self.0.last_mut().filter(|last| last.0 == phase) {
            assert!(last.1 <= done && done <= total);
            *last = (phase, done, total);
        } else {
            self.0.push((phase, done, total));
        }
    }
}

#[test]
fn packed_dumps_are_the_plain_ones() {
    let plain = large();
    let zst = zstd::encode_all(&plain[..], 0).unwrap();
    let jdk = jdk_gzip(&plain, 1 << 20);
    for (name, packed, has_threads) in [
        ("gzip", gzip(&plain), false),
        ("zstd", zst.clone(), false),
        ("members", [gzip(&plain[..3_000_000]), gzip(&plain[3_000_000..])].concat(), false),
        ("the JDK's gzip", jdk.clone(), true),
        ("small blocks", jdk_gzip(&plain, 10_000), true),
        ("gzip of zstd", gzip(&zst), false),
        ("gzip of the JDK's gzip", gzip(&jdk), false),
    ] {
        let (_folder, path) = dump::file(&packed);
        for thread_count in [0, 1, 3] {
            let options = Options { thread_count, ..Options::default() };
            let mut progress = Progress::default();
            let input = Input::open(&path, &options, &mut progress).unwrap();
            assert!(content(&input) == plain, "{name}");
            assert_eq!(input.notes(), &[] as &[String], "{name}");
            assert_eq!(input.identity().unwrap().bytes, packed.len() as u64);
            let total = packed.len() as u64;
            assert_eq!(progress.0, [("unpacking", total, total)], "{name}");
            assert!(!input.is_in_place());
            if !has_threads {
                break;
            }
        }
    }
    let (_folder, path) = dump::file(&plain);
    let input = open(&path).unwrap();
    assert!(content(&input) == plain && input.is_in_place());
}

/// What is there is read, and nothing else.
#[test]
fn packed_dumps_that_are_cut_off_are_read_as_far_as_they_go() {
    let plain = large();
    let packings = [
        ("gzip", gzip(&plain)),
        ("zstd", zstd::encode_all(&plain[..], 0).unwrap()),
        ("gzip", jdk_gzip(&plain, 1 << 20)),
        ("gzip", jdk_gzip(&plain, 30_000)),
    ];
    for (name, packed) in packings {
        let length = packed.len();
        let mut bytes_before = 0;
        for cut in [length / 9, length / 2, length - 100_000, length - 9, length - 1] {
            let input = open_bytes(&packed[..cut], &Options::default()).unwrap();
            let bytes = content(&input);
            assert!(plain.starts_with(&bytes), "{name} {cut}");
            assert!(bytes.len() >= bytes_before && bytes.len() > cut / 4, "{name} {cut}");
            bytes_before = bytes.len();
            let [note] = input.notes() else { panic!("{:?}", input.notes()) };
            let begin = format!("the {name} data is cut off: ");
            assert!(note.starts_with(&begin), "{note}");
        }
        for cut in 4..12 {
            let error = open_bytes(&packed[..cut], &Options::default()).unwrap_err();
            let message = error.to_string();
            assert!(message.contains("cut off: nothing of it can be read"), "{cut}: {message}");
        }
    }
}

#[test]
fn packed_dumps_that_are_damaged_are_read_up_to_there() {
    let plain = large();
    for packed in [gzip(&plain), jdk_gzip(&plain, 1 << 20)] {
        let mut packed = packed;
        let middle = packed.len() / 2;
        packed[middle..middle + 5000].fill(0x55);
        let input = open_bytes(&packed, &Options::default()).unwrap();
        let bytes = content(&input);
        let same = bytes.iter().zip(&plain).take_while(|(a, b)| a == b).count();
        assert!(same > plain.len() / 4, "{same}");
        assert!(input.notes()[0].starts_with("the gzip data is damaged"), "{:?}", input.notes());
    }
    let tail = [jdk_gzip(&plain, 1 << 20), b"something else".to_vec()].concat();
    let input = open_bytes(&tail, &Options::default()).unwrap();
    assert!(content(&input) == plain);
    let note = &input.notes()[0];
    assert!(note.starts_with("no gzip data follows offset "), "{note}");
}

#[test]
fn pipes_are_copied_to_scratch() {
    let plain = large();
    for bytes in [plain.clone(), gzip(&plain), jdk_gzip(&plain, 1 << 20)] {
        let (reader, mut writer) = std::io::pipe().unwrap();
        let thread = std::thread::spawn(move || writer.write_all(&bytes).unwrap());
        let path = format!("/proc/self/fd/{}", reader.as_raw_fd());
        let input = open(Path::new(&path)).unwrap();
        thread.join().unwrap();
        assert!(content(&input) == plain);
        assert_eq!((input.identity(), input.notes().len()), (None, 0));
    }
}

#[test]
fn the_jdk_s_own_packing_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("Sleep.java");
    fs::write(
        &source,
        "class Sleep { public static void main(String[] a) throws Exception {
            byte[] bytes = new byte[3 << 20]; new java.util.Random(1).nextBytes(bytes);
            System.out.println(\"ready\"); System.in.read(); System.out.print(bytes[0]); } }",
    )
    .unwrap();
    let mut java = Command::new("java");
    let java = java.arg(&source).stdin(std::process::Stdio::piped());
    let mut java = java.stdout(std::process::Stdio::piped()).spawn().unwrap();
    java.stdout.as_mut().unwrap().read_exact(&mut [0; 5]).unwrap();
    let path = folder.path().join("dump.hprof.gz");
    let target = path.display().to_string();
    let made = Command::new("jcmd")
        .args([&java.id().to_string(), "GC.heap_dump", "-gz=1", &target])
        .output()
        .unwrap();
    java.kill().unwrap();
    java.wait().unwrap();
    assert!(made.status.success(), "{made:?}");
    let mut plain = Vec::new();
    let packed = File::open(&path).unwrap();
    flate2::read::MultiGzDecoder::new(packed).read_to_end(&mut plain).unwrap();
    let head = fs::read(&path).unwrap();
    assert!(head[10..].starts_with(b"HPROF BLOCKSIZE="));
    let input = open(&path).unwrap();
    assert!(content(&input) == plain && plain.len() > 4 << 20);
    assert!(input.notes().is_empty());
}

/// The file is as large as no disk is, by holes.
#[test]
fn what_does_not_fit_scratch_is_refused_before_it_is_unpacked() {
    let mut zeros = large();
    zeros.resize(64 << 20, 0);
    for packed in [gzip(&zeros), jdk_gzip(&zeros, 1 << 20)] {
        let (_folder, path) = dump::file(&packed);
        File::options().write(true).open(&path).unwrap().set_len(1 << 42).unwrap();
        let error = open(&path).unwrap_err().to_string();
        assert!(error.starts_with("unpacked it has about "), "{error}");
        assert!(error.contains("--scratch DIR"), "{error}");
    }
}

#[test]
fn scratch_is_where_it_is_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let (_other, path) = dump::file(&gzip(&large()));
    let open = |scratch: &Path| {
        let options = Options { scratch: Some(scratch.to_owned()), ..Options::default() };
        Input::open(&path, &options, &mut NoWatch)
    };
    let _input = open(folder.path()).unwrap();
    // The file has no name.
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    let missing = folder.path().join("missing");
    let Err(Error::Refused(message)) = open(&missing) else { panic!("no error") };
    assert!(message.starts_with(&format!("no scratch file can be made in {}", missing.display())));
}
