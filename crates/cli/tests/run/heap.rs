//! `perk run --heap dump` and `--heap all`: the agent's heap dump becomes the file asked for.

use std::fs;
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use flate2::read::MultiGzDecoder;
use perk_hprof::heap::{Record, Stream};
use perk_testkit::{Jdk, fixture, jdk};

use crate::util::{Folder, PERK, stderr, stdout};

const N: usize = 3000;

/// The contents of a file: the number of dumps, of `HeapObjects.Node`s, and of those with a trace.
#[derive(Debug, PartialEq, Eq)]
struct DumpRun {
    dumps: usize,
    nodes: usize,
    traced: usize,
}

#[track_caller]
fn dumped(folder: &Folder, file: &str) -> DumpRun {
    let bytes = fs::read(folder.join(file)).unwrap();
    let (header, mut stream) = Stream::new(&bytes[..]).unwrap();
    assert_eq!(header.title, "JAVA PROFILE 1.0.2");
    let (mut name, mut node) = (None, None);
    let mut dumped = DumpRun { dumps: 0, nodes: 0, traced: 0 };
    while let Some(record) = stream.next().unwrap() {
        match record {
            Record::Utf8 { id, bytes: b"HeapObjects$Node" } => name = Some(id),
            Record::LoadClass { class, name: its, .. } if Some(its) == name => node = Some(class),
            Record::Instance { class, trace, .. } if Some(class) == node => {
                dumped.nodes += 1;
                dumped.traced += usize::from(trace > 300_000);
            }
            Record::DumpEnd => dumped.dumps += 1,
            // It does not contain a record of perk's own.
            Record::Other { tag, .. } => assert!(tag < 0x80, "tag {tag:#04x}"),
            _ => {}
        }
    }
    dumped
}

/// Returns perk's messages about a run with the options.
#[track_caller]
fn run(folder: &Folder, jdk: &Jdk, options: &[&str]) -> String {
    folder.file("go", "");
    let mut perk = folder.perk();
    perk.arg("run").args(options).arg("--").arg(jdk.java());
    perk.arg("-cp").arg(fixture::fixtures()).args(["HeapObjects", &N.to_string()]);
    let output = perk.output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(stdout(&output).starts_with("ready\nsum="), "{}", stdout(&output));
    stderr(&output)
}

/// The access is the same for any umask, while the program runs and after it has ended.
#[test]
fn nobody_else_can_read_the_heap() {
    let jdk = jdk::compiler();
    let folder = Folder::new();
    let script = folder.program("watch", "#!/bin/sh\nstat -c %a perk-*/ > modes\nexec \"$@\"\n");
    let classes = fixture::fixtures();
    let output = Command::new("sh")
        .args([
            "-c",
            "umask 0; exec \"$@\"",
            "sh",
            PERK,
            "run",
            "--heap",
            "dump",
            "-o",
            "o.hprof",
            "--",
        ])
        .args([script.as_os_str(), jdk.java().as_os_str(), "-cp".as_ref(), classes.as_os_str()])
        .args(["Sleeper", "0"])
        .current_dir(folder.path())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    assert_eq!(fs::read_to_string(folder.join("modes")).unwrap(), "700\n");
    let mode = fs::metadata(folder.join("o.hprof")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[test]
fn the_heap_at_the_end_is_a_file_for_any_tool() {
    jdk::each(|jdk| {
        let folder = Folder::new();
        let said = run(&folder, jdk, &["--heap", "dump", "-o", "o.hprof", "-o", "again.hprof"]);
        assert!(said.contains("\nheap dump: ") && said.contains("written   o.hprof"), "{said}");
        for file in ["o.hprof", "again.hprof"] {
            assert_eq!(dumped(&folder, file), DumpRun { dumps: 1, nodes: N, traced: 0 });
        }
        assert_eq!(folder.names(), ["again.hprof", "go", "o.hprof"]);
    });
}

#[test]
fn a_dump_is_packed_if_its_ending_says_so() {
    let folder = Folder::new();
    let targets = ["--heap", "dump", "-o", "o.hprof.gz", "-o", "o.hprof.zst", "-o", "o.hprof"];
    run(&folder, jdk::compiler(), &targets);
    let plain = fs::read(folder.join("o.hprof")).unwrap();
    let packed = fs::File::open(folder.join("o.hprof.gz")).unwrap();
    let mut unpacked = Vec::new();
    MultiGzDecoder::new(packed).read_to_end(&mut unpacked).unwrap();
    assert_eq!(unpacked, plain);
    let packed = fs::read(folder.join("o.hprof.zst")).unwrap();
    assert_eq!(zstd::decode_all(&packed[..]).unwrap(), plain);
    for file in ["o.hprof.gz", "o.hprof.zst"] {
        let mode = fs::metadata(folder.join(file)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{file}");
        let output = folder.run(&["heap", "--instances", "HeapObjects$Node", "--json", file]);
        let value: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(value["set"]["instance_count"], N, "{file}");
    }
}

#[test]
fn objects_and_where_they_were_allocated_are_in_one_file() {
    let folder = Folder::new();
    let jdk = jdk::compiler();
    let said = run(&folder, jdk, &["--heap", "all", "-o", "o.hprof", "-o", "o.txt"]);
    assert!(said.contains("HeapObjects$Node"), "{said}");
    assert_eq!(dumped(&folder, "o.hprof"), DumpRun { dumps: 1, nodes: N, traced: N });
    assert!(fs::read_to_string(folder.join("o.txt")).unwrap().contains("SITES BEGIN"));
    let default = Folder::new();
    run(&default, jdk, &["-q", "--heap", "dump"]);
    let names = default.names();
    let ["go", file] = names.iter().map(String::as_str).collect::<Vec<_>>()[..] else {
        panic!("{names:?}")
    };
    assert!(file.starts_with("perk-HeapObjects-") && file.ends_with(".hprof"), "{file}");
}
