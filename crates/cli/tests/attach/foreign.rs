//! JVMs that perk's agent is not made for. A program with libraries of their names stands in for them.

use std::fs;
use std::process::{Child, Command};

use perk_testkit::agent;

use crate::util::{Folder, assert_refused, stdout, wait_for};

/// A program that has mapped libraries of these names. It is killed when this is dropped.
struct Stranger(Child);

impl Drop for Stranger {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Starts a program with `libjvm.so` of a JDK of this version, and with other libraries.
fn start(folder: &Folder, version: &str, others: &[&str]) -> Stranger {
    folder.file("jdk/release", format!("JAVA_VERSION=\"{version}\"\n"));
    let server = folder.join("jdk/lib/server");
    fs::create_dir_all(&server).unwrap();
    let libraries = [&["libjvm.so"], others].concat();
    let paths = libraries.iter().map(|name| {
        let path = server.join(name);
        fs::copy(agent::agent_so(), &path).unwrap();
        path.to_str().unwrap().to_owned()
    });
    let preload = paths.collect::<Vec<_>>().join(":");
    let child = Command::new("sleep").arg("3600").env("LD_PRELOAD", preload).spawn().unwrap();
    let stranger = Stranger(child);
    wait_for("the libraries", || {
        let maps = fs::read_to_string(format!("/proc/{}/maps", stranger.0.id())).unwrap();
        libraries.iter().all(|name| maps.contains(&format!("/{name}\n"))).then_some(())
    });
    stranger
}

#[test]
fn each_has_a_line_and_gets_no_signal() {
    for (version, others, words) in [
        ("11.0.2", &[][..], &["is Java 11: perk needs Java 17 or later"][..]),
        ("1.8.0_504", &[], &["is Java 8: perk needs Java 17 or later"]),
        ("17.0.2", &["libj9vm29.so"], &["is an OpenJ9 JVM: perk needs HotSpot"]),
        ("21.0.2", &["ld-musl-x86_64.so.1"], &["runs on musl, and this perk needs glibc"]),
        // A library of that name is no JVM yet.
        ("21.0.2", &[], &["does not handle SIGQUIT"]),
    ] {
        let folder = Folder::new();
        let mut stranger = start(&folder, version, others);
        let pid = stranger.0.id().to_string();
        let list = stdout(&folder.run(&["ps"]));
        let line = list.lines().find(|line| line.trim_start().starts_with(&pid)).unwrap();
        assert!(line.contains(version) && line.ends_with(" sleep"), "{line}");
        assert_refused(&folder.run(&["attach", &pid, "--timeout", "6s"]), words);
        assert_eq!(stranger.0.try_wait().unwrap(), None);
        fs::remove_dir_all(folder.join("jdk")).unwrap();
        assert_eq!(folder.names(), [""; 0]);
    }
}
