//! JVMs in namespaces of their own, as in containers: `unshare` stands in for a container runtime.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use perk_testkit::{Jdk, fixture, jdk};
use rustix::process::{Signal, geteuid};

use crate::serve::Server;
use crate::util::{Folder, PERK, assert_refused, stderr, stdout, wait_for};

/// A JVM in namespaces. It is killed when this is dropped.
struct Container {
    unshare: Child,
    /// The process id of the JVM here.
    pid: u32,
}

impl Drop for Container {
    fn drop(&mut self) {
        // The kernel kills what is in the namespace of a process that was its first.
        if let Some(pid) = rustix::process::Pid::from_raw(self.pid as i32) {
            let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
        }
        let _ = self.unshare.kill();
        let _ = self.unshare.wait();
    }
}

/// Whether namespaces can be made here. If not, the test says so.
pub(super) fn can_unshare() -> bool {
    let is_root = geteuid().is_root();
    let made = Command::new("unshare").args(["-p", "-m", "-f", "true"]).output();
    let can = is_root && made.is_ok_and(|output| output.status.success());
    if !can {
        eprintln!("*** NOT TESTED: no namespaces can be made here ***");
    }
    can
}

/// A function of the shell, `cover FOLDER OPTIONS`: it puts an empty file system over a folder. What the JVM
/// needs from below the folder stays where it is, as the workspace and its JDKs can be anywhere.
pub(super) const COVER: &str = r#"
exec 7< "$JDK" 8< "$CLASSES" 9< "$PERK_FOLDER"
keep() {
    case $2 in "$at"/*) mkdir -p "$ROOT$2"; mount --no-canonicalize --bind /proc/self/fd/$1 "$ROOT$2" ;; esac
}
cover() {
    at=$1
    mount -t tmpfs ${3:+-o "$3"} none "$ROOT$at"
    keep 7 "$JDK"; keep 8 "$CLASSES"; keep 9 "$PERK_FOLDER"
    test -z "${2:-}" || mount -o "remount,$2" "$ROOT$at"
}
"#;

/// Sets the variables that [`COVER`] and the command of a JVM have.
pub(super) fn set_variables(command: &mut Command, jdk: &Jdk) {
    command.env("ROOT", "").env("JDK", &jdk.home).env("JAVA", jdk.java());
    command.env("CLASSES", fixture::fixtures()).env("PERK", PERK);
    command.env("PERK_FOLDER", Path::new(PERK).parent().unwrap());
}

/// Starts a JVM as the first process of a process namespace, in a mount namespace that `prepare`, a
/// script, has changed.
fn start(folder: &Folder, jdk: &Jdk, options: &[&str], prepare: &str, as_user: &str) -> Container {
    let output = folder.join("output");
    let script = format!(
        "set -e\n{COVER}{prepare}\n\
         exec {as_user} \"$JAVA\" -cp \"$CLASSES\" Sleeper 3600000 7<&- 8<&- 9<&-\n"
    );
    let mut unshare = Command::new("unshare");
    unshare.args(["--pid", "--mount", "--fork", "--kill-child"]).args(options);
    if options.contains(&"--user") {
        // The rights over the namespace come with the user of its own that `map_users` gives it.
        unshare.args(["sh", "-c", WAIT_FOR_USERS, &script]);
    } else {
        unshare.args(["sh", "-c", &script]);
    }
    set_variables(&mut unshare, jdk);
    unshare.current_dir("/").env_remove("JAVA_TOOL_OPTIONS").env_remove("XDG_RUNTIME_DIR");
    unshare.stdout(fs::File::create(&output).unwrap()).stderr(Stdio::null());
    let mut java = Container { unshare: unshare.spawn().unwrap(), pid: 0 };
    let children = format!("/proc/{0}/task/{0}/children", java.unshare.id());
    java.pid = wait_for("the first process", || {
        fs::read_to_string(&children).ok()?.split_whitespace().next()?.parse().ok()
    });
    if options.contains(&"--user") {
        map_users(java.pid);
    }
    wait_for("the JVM", || fs::read_to_string(&output).ok()?.contains("ready").then_some(()));
    java
}

const WAIT_FOR_USERS: &str = "until grep -q . /proc/self/uid_map; do :; done; \
                              exec setpriv --reuid 0 --regid 0 --clear-groups sh -c \"$0\"";

/// Makes the users 100000 and up those of the user namespace.
fn map_users(pid: u32) {
    for map in ["uid_map", "gid_map"] {
        fs::write(format!("/proc/{pid}/{map}"), "0 100000 65536").unwrap();
    }
}

const OWN_TMP: &str = "cover /tmp; mount -t proc none /proc";
const NOBODY: &str = "setpriv --reuid 65534 --regid 65534 --clear-groups";

/// Loads the agent and asks it for its state.
fn assert_attachable(folder: &Folder, java: &Container) {
    let pid = java.pid.to_string();
    let output = folder.run(&["attach", &pid, "--wall", "--duration", "200ms", "-o", "a.hprof"]);
    assert!(output.status.success(), "{}", stderr(&output));
    let status = stdout(&folder.run(&["status", &pid]));
    assert!(status.contains("pid=1\n"), "{status}");
    // Nothing but the agent is left in the container's /tmp.
    let root = format!("/proc/{pid}/root/tmp");
    let left = fs::read_dir(Path::new(&root)).unwrap().flatten();
    let folders: Vec<_> = left
        .filter(|entry| entry.file_name().to_string_lossy().starts_with("perk-"))
        .flat_map(|entry| fs::read_dir(entry.path()).unwrap().flatten())
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .filter(|name| name.starts_with("recording-"))
        .collect();
    assert_eq!(folders, [""; 0]);
}

#[test]
fn a_jvm_in_a_container_is_attached_to_from_its_host() {
    if !can_unshare() {
        return;
    }
    jdk::each(|jdk| {
        let folder = Folder::new();
        let java = start(&folder, jdk, &[], OWN_TMP, "");
        let list = stdout(&folder.run(&["ps"]));
        let line = list.lines().find(|line| line.contains(&format!("{} ", java.pid))).unwrap();
        assert_eq!(line.split_whitespace().nth(3), Some("yes"), "{line}");
        assert_attachable(&folder, &java);
    });
}

#[test]
fn a_jvm_of_another_user_in_a_container() {
    if !can_unshare() {
        return;
    }
    jdk::on(17, |jdk| {
        let folder = Folder::new();
        // The folders above the classes may be private.
        let classes = "cp \"$CLASSES\"/Sleeper.class \"$CLASSES\"/Work*.class /tmp; CLASSES=/tmp; \
                       chmod 644 /tmp/*.class";
        let prepare = format!("{OWN_TMP}; chmod 1777 /tmp; {classes}");
        let java = start(&folder, jdk, &[], &prepare, NOBODY);
        assert_attachable(&folder, &java);
        let library = format!("/proc/{}/root/tmp/perk-65534", java.pid);
        let owner = std::os::unix::fs::MetadataExt::uid(&fs::metadata(library).unwrap());
        assert_eq!(owner, 65534);
    });
}

#[test]
fn a_folder_without_execution_is_skipped() {
    if !can_unshare() {
        return;
    }
    jdk::on(17, |jdk| {
        let folder = Folder::new();
        let prepare = "cover /tmp noexec; cover /dev/shm; mount -t proc none /proc";
        let java = start(&folder, jdk, &[], prepare, "");
        assert_attachable(&folder, &java);
        assert!(Path::new(&format!("/proc/{}/root/dev/shm/perk-0", java.pid)).exists());
    });
}

#[test]
fn a_container_without_a_place_for_the_library() {
    if !can_unshare() {
        return;
    }
    jdk::on(17, |jdk| {
        let folder = Folder::new();
        let prepare = "for at in /tmp /dev/shm /var/tmp; do cover $at noexec; done; \
                       mount -t proc none /proc; cover /mnt noexec; cd /mnt";
        let java = start(&folder, jdk, &[], prepare, "");
        let output = folder.run(&["attach", &java.pid.to_string()]);
        assert_refused(&output, &["/tmp/perk-0: mounted noexec", "/dev/shm", "mount a folder"]);
        let names = fs::read_dir(format!("/proc/{}/root/mnt", java.pid)).unwrap();
        let mut names = names.map(|entry| entry.unwrap().file_name());
        assert!(!names.any(|name| name == "perk-0"));
    });
}

/// The folders in `/proc` begin with the one that is the JVM's root.
#[test]
fn a_jvm_whose_root_was_changed_gets_the_library_in_its_working_folder() {
    if !can_unshare() {
        return;
    }
    jdk::on(17, |jdk| {
        let folder = Folder::new();
        let prepare = "mount --rbind / /mnt; ROOT=/mnt; for at in /tmp /dev/shm /var/tmp; do \
                       cover $at noexec; done; mount -t proc none /mnt/proc; cover /media";
        let chroot = "chroot /mnt env --chdir /media";
        let java = start(&folder, jdk, &[], prepare, chroot);
        assert_attachable(&folder, &java);
        assert!(Path::new(&format!("/proc/{}/root/media/perk-0", java.pid)).exists());
    });
}

#[test]
fn a_container_whose_tmp_is_read_only() {
    if !can_unshare() {
        return;
    }
    jdk::on(17, |jdk| {
        let folder = Folder::new();
        let prepare = "cover /tmp ro; cover /dev/shm; mount -t proc none /proc";
        let java = start(&folder, jdk, &[], prepare, "");
        let output = folder.run(&["attach", &java.pid.to_string()]);
        assert_refused(&output, &["/tmp of the JVM", "is read-only", "-agentpath"]);
    });
}

#[test]
fn a_container_whose_tmp_is_full() {
    if !can_unshare() {
        return;
    }
    jdk::on(17, |jdk| {
        let folder = Folder::new();
        let prepare = "cover /tmp '' size=64k; cover /dev/shm; mount -t proc none /proc";
        let java = start(&folder, jdk, &[], prepare, "");
        // The library does not fit there; the socket does.
        let pid = java.pid.to_string();
        let output = folder.run(&["start", &pid, "cpu=samples,file=/dev/shm/a.txt"]);
        assert!(output.status.success(), "{}", stderr(&output));
        assert!(Path::new(&format!("/proc/{pid}/root/dev/shm/perk-0")).exists());
        assert!(folder.run(&["stop", &pid]).status.success());
        // What is watched needs no file.
        let server = Server::new(&folder, &[&pid]);
        assert_eq!(
            server.end(Signal::INT),
            (Some(0), format!("perk: recording the JVM {pid} (Sleeper) until Ctrl-C\n"))
        );
    });
}

/// To the JVM, root of the host is nobody.
#[test]
fn a_jvm_in_a_user_namespace() {
    if !can_unshare() {
        return;
    }
    jdk::on(17, |jdk| {
        let folder = Folder::new();
        let java = start(&folder, jdk, &["--user", "--keep-caps"], OWN_TMP, "");
        assert_attachable(&folder, &java);
        assert!(Path::new(&format!("/proc/{}/root/tmp/perk-0", java.pid)).exists());
    });
}
