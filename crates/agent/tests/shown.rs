//! The file appears under its name at each dump while the program continues. A large file is not
//! copied for that: it grows under its name.

#![forbid(unsafe_code)]

mod support;

use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use perk_hprof::heap::{Record, Stream};
use perk_testkit::{JavaRun, Jdk, Outcome, RunningJava, Signal, jdk, part_of};

use support::Mount;

const FILE: &str = "o.hprof";
const GO: &str = "go";
/// The number of nodes for a dump of some 30 MB.
const N: u64 = 350_000;

/// The contents of a file that may end anywhere: its dumps, and its end.
#[derive(Debug, PartialEq, Eq)]
struct HeldFile {
    dumps: usize,
    /// Whether all its records are whole.
    is_whole: bool,
}

impl HeldFile {
    #[track_caller]
    fn of(bytes: &[u8]) -> HeldFile {
        let (_, mut stream) = Stream::new(bytes).unwrap();
        let mut dumps = 0;
        loop {
            match stream.next() {
                Ok(Some(Record::DumpEnd)) => dumps += 1,
                Ok(Some(_)) => {}
                Ok(None) => return HeldFile { dumps, is_whole: true },
                Err(error) => {
                    assert_eq!(error.kind(), ErrorKind::InvalidData);
                    assert!(error.to_string().contains("the file is cut off in"), "{error}");
                    return HeldFile { dumps, is_whole: false };
                }
            }
        }
    }
}

fn start(jdk: &Jdk, folder: &Path, options: &str) -> RunningJava {
    let run = JavaRun::new(jdk).agent(&format!("heap=dump,file={FILE},{options}"));
    let run = run.main("HeapObjects").args([N.to_string()]).jvm_arg("-Xmx256m");
    let mut running = run.dir(folder).spawn();
    running.wait_for_stdout("ready");
    running
}

fn inode(file: &Path) -> Option<u64> {
    fs::metadata(file).ok().map(|it| it.ino())
}

fn dump(running: &mut RunningJava) {
    running.signal(Signal::QUIT);
    running.wait_until("a dump", |it| inode(&it.dir().join(FILE)).is_some());
}

fn end(running: RunningJava) -> Outcome {
    let go = running.dir().join(GO);
    fs::write(&go, "").unwrap();
    let outcome = running.wait();
    outcome.assert_success();
    fs::remove_file(go).unwrap();
    outcome
}

#[test]
fn a_large_file_is_shown_without_a_copy() {
    jdk::each(|jdk| {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join(FILE);
        let mut running = start(jdk, folder.path(), "format=b,doe=n");
        let part = part_of(&file).unwrap();
        dump(&mut running);
        assert_eq!(inode(&file), inode(&part));
        assert_eq!(HeldFile::of(&fs::read(&file).unwrap()), HeldFile { dumps: 1, is_whole: true });
        // A user can move the file away, and the next dump appears all the same.
        fs::rename(&file, folder.path().join("mine")).unwrap();
        dump(&mut running);
        assert_eq!(inode(&file), inode(&part));
        assert_eq!(HeldFile::of(&fs::read(&file).unwrap()), HeldFile { dumps: 2, is_whole: true });
        end(running);
        assert_eq!((inode(&part), inode(&file).is_some()), (None, true));
        assert_eq!(HeldFile::of(&fs::read(&file).unwrap()), HeldFile { dumps: 2, is_whole: true });
    });
}

#[test]
fn text_that_is_shown_grows() {
    jdk::each(|jdk| {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join(FILE);
        let mut running = start(jdk, folder.path(), "doe=n");
        dump(&mut running);
        let first = fs::read(&file).unwrap();
        assert!(first.ends_with(b"HEAP DUMP END\n"));
        running.signal(Signal::QUIT);
        running.wait_until("the next", |it| {
            fs::read(it.dir().join(FILE)).is_ok_and(|text| text.len() > first.len())
        });
        end(running);
        let text = fs::read_to_string(&file).unwrap();
        assert!(text.as_bytes().starts_with(&first) && text.ends_with('\n'));
        assert_eq!(text.matches("HEAP DUMP END\n").count(), 2);
    });
}

#[test]
fn a_killed_program_leaves_what_it_has_shown() {
    jdk::each(|jdk| {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join(FILE);
        let mut running = start(jdk, folder.path(), "format=b");
        dump(&mut running);
        let shown_bytes = fs::metadata(&file).unwrap().len();
        running.signal(Signal::QUIT);
        running.wait_until("more", |_| fs::metadata(&file).unwrap().len() > shown_bytes);
        running.signal(Signal::KILL);
        assert_eq!(running.wait().signal(), Some(9));
        let left = fs::read(&file).unwrap();
        assert!(HeldFile::of(&left).dumps >= 1, "{:?}", HeldFile::of(&left));
        assert!(part_of(&file).is_some());
        // The next program begins a file of its own, and does not touch this one.
        let mut running = start(jdk, folder.path(), "format=b");
        assert_ne!(inode(&part_of(&file).unwrap()), inode(&file));
        running.signal(Signal::KILL);
        running.wait();
        assert_eq!(fs::read(&file).unwrap().len(), left.len());
        end(start(jdk, folder.path(), "format=b"));
        assert_eq!(HeldFile::of(&fs::read(&file).unwrap()), HeldFile { dumps: 1, is_whole: true });
        assert_eq!(part_of(&file), None);
    });
}

/// Whether the disk is full in the JVM's dump or in perk's, the data shown before is kept.
#[test]
fn a_disk_that_is_full_in_the_middle_of_a_dump_leaves_whole_records() {
    let folder = tempfile::tempdir().unwrap();
    let Some(_mount) = Mount::new(folder.path(), "size=72m") else { return };
    jdk::each(|jdk| {
        let file = folder.path().join(FILE);
        let mut running = start(jdk, folder.path(), "format=b,doe=n");
        dump(&mut running);
        // The remaining space does not suffice for another dump.
        fs::write(folder.path().join("rest"), vec![1; 25 << 20]).unwrap();
        running.signal(Signal::QUIT);
        // What is written of the dump may be removed again before it can be seen.
        running.wait_until("the error", |it| it.stderr().contains("HPROF ERROR: "));
        end(running);
        let held = HeldFile::of(&fs::read(&file).unwrap());
        assert_eq!(held, HeldFile { dumps: 1, is_whole: true });
        for left in fs::read_dir(folder.path()).unwrap() {
            fs::remove_file(left.unwrap().path()).unwrap();
        }
    });
}
