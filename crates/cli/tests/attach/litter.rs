//! What killed processes have left in perk's folders.

use std::fs;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::time::{Duration, SystemTime};

use perk_testkit::jdk;
use rustix::fs::{AtFlags, CWD, Timespec, Timestamps, utimensat};

use super::{assert_unharmed, perk, start, storm};
use crate::util::{Folder, stderr};

/// Makes a file as old as `age`.
fn make_older(path: &Path, age: Duration) {
    let at = (SystemTime::now() - age).duration_since(SystemTime::UNIX_EPOCH).unwrap();
    let at = Timespec { tv_sec: at.as_secs() as i64, tv_nsec: 0 };
    let times = Timestamps { last_access: at, last_modification: at };
    utimensat(CWD, path, &times, AtFlags::SYMLINK_NOFOLLOW).unwrap();
}

#[test]
fn is_removed_if_nobody_uses_it() {
    const DAY: Duration = Duration::from_secs(24 * 3600);
    const MINUTE: Duration = Duration::from_secs(60);
    jdk::on(17, |jdk| {
        let runtime = Folder::new();
        let base = runtime.join("perk");
        fs::create_dir(&base).unwrap();
        fs::set_permissions(&base, std::os::unix::fs::PermissionsExt::from_mode(0o700)).unwrap();
        let recording = |name: &str, age: Duration| {
            let folder = base.join(name);
            fs::create_dir(&folder).unwrap();
            fs::write(folder.join("recording.hprof"), "").unwrap();
            fs::set_permissions(&folder, std::os::unix::fs::PermissionsExt::from_mode(0o700))
                .unwrap();
            make_older(&folder, age);
            folder
        };
        let old = recording("recording-1-1", DAY + MINUTE);
        let fresh = recording("recording-1-2", DAY - MINUTE);
        let used = recording("recording-1-3", DAY + MINUTE);
        let lock = fs::File::open(&used).unwrap();
        lock.lock().unwrap();
        let foreign = base.join("note.txt");
        fs::write(&foreign, "").unwrap();
        make_older(&foreign, 2 * DAY);
        // No process has an id above this limit of the kernel's.
        let socket = |name: &str, age: Duration| {
            let path = base.join(name);
            let listener = UnixListener::bind(&path).unwrap();
            make_older(&path, age);
            (path, listener)
        };
        let (dead, listener) = socket("4194305.sock", 2 * MINUTE);
        drop(listener);
        let (young, listener) = socket("4194306.sock", MINUTE / 2);
        drop(listener);
        let (alive, _listener) = socket("4194307.sock", 2 * MINUTE);
        let (of_process, listener) = socket("1.sock", 2 * MINUTE);
        drop(listener);

        let folder = Folder::new();
        let java = start(&storm(jdk, &["work"]).env("XDG_RUNTIME_DIR", runtime.path()));
        let output =
            perk(&folder, &java, &["attach", "PID", "--duration", "100ms", "-o", "a.hprof"]);
        assert!(output.status.success(), "{}", stderr(&output));
        assert!(!old.exists() && !dead.exists());
        for path in [fresh, used, foreign, young, alive, of_process] {
            assert!(path.exists(), "{}", path.display());
        }
        assert_unharmed(java);
    });
}
