//! Two tools that attach to one JVM at once.

use std::time::Duration;
use std::{fs, thread};

use perk_testkit::jdk;

use super::{assert_unharmed, attach, start, storm};
use crate::util::{Folder, stderr};

/// One gets the recording, and the other a line. The agent is in the JVM once.
#[test]
fn one_of_two_records() {
    jdk::each(|jdk| {
        let folder = Folder::new();
        let java = start(&storm(jdk, &["work"]));
        let both = ["a.txt", "b.txt"]
            .map(|name| attach(&folder, &java, &["--quiet", "--duration", "2s", "-o", name]));
        let outputs = both.map(|child| child.wait_with_output().unwrap());
        let texts = outputs.each_ref().map(stderr);
        let mut codes = outputs.each_ref().map(|output| output.status.code());
        codes.sort_unstable();
        assert_eq!(codes, [Some(0), Some(2)], "{texts:?}");
        let line = texts.into_iter().find(|text| text.starts_with("perk: ")).unwrap();
        assert!(line.contains("a recording is under way (") && line.contains("): stop it first"));
        assert_eq!(line.lines().count(), 1, "{line}");
        assert_eq!(folder.names().len(), 1);
        assert_unharmed(java);
    });
}

/// The file by which a tool asks for the JVM's socket may be gone before the JVM has seen it.
#[test]
fn one_that_gives_up_is_no_obstacle() {
    jdk::each(|jdk| {
        let folder = Folder::new();
        let java = start(&storm(jdk, &["work"]));
        let file = java.dir().join(format!(".attach_pid{}", java.pid()));
        fs::write(&file, "").unwrap();
        let child = attach(&folder, &java, &["--quiet", "--duration", "200ms", "-o", "a.txt"]);
        thread::sleep(Duration::from_millis(500));
        fs::remove_file(&file).unwrap();
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{}", stderr(&output));
        assert!(!java.stdout().contains("Full thread dump"), "{}", java.stdout());
        assert_unharmed(java);
    });
}
