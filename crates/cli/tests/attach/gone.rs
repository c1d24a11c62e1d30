//! JVMs that were killed: their sockets are there, and their process ids may be another's.

use std::fs;
use std::process::Command;

use perk_testkit::jdk;
use perk_testkit::run::Signal;

use super::namespaces::{COVER, can_unshare, set_variables};
use super::{perk, sleeper, start};
use crate::util::{Folder, assert_refused, stderr, stdout, wait_for};

const RECORD: [&str; 7] = ["attach", "PID", "--wall", "--duration", "200ms", "-o", "a.hprof"];

#[test]
fn a_killed_jvm_has_ended() {
    jdk::each(|jdk| {
        let (folder, runtime) = (Folder::new(), Folder::new());
        let mut java = start(&sleeper(jdk).env("XDG_RUNTIME_DIR", runtime.path()));
        let pid = java.pid();
        let output = perk(&folder, &java, &RECORD);
        assert!(output.status.success(), "{}", stderr(&output));
        fs::remove_file(folder.join("a.hprof")).unwrap();
        java.signal(Signal::KILL);
        // Its parent has not asked for its end: it is a process without a program.
        let status = format!("/proc/{pid}/status");
        wait_for("its end", || {
            fs::read_to_string(&status).unwrap().contains("State:\tZ").then_some(())
        });
        for arguments in [&RECORD[..], &["status", "PID"], &["start", "PID"]] {
            let output = perk(&folder, &java, arguments);
            assert_refused(&output, &[&format!("the process {pid} has ended")]);
        }
        drop(java);
        let sockets =
            [runtime.join(&format!("perk/{pid}.sock")), format!("/tmp/.java_pid{pid}").into()];
        assert!(sockets.iter().all(|it| it.exists()), "{sockets:?}");
        for command in ["attach", "status", "start"] {
            let output = folder.run(&[command, &pid.to_string()]);
            assert_refused(&output, &[&format!("there is no process {pid}")]);
        }
        assert_eq!(folder.names(), [""; 0]);
        fs::remove_file(&sockets[1]).unwrap();
    });
}

/// A JVM is attached to and killed; its process id is that of a program, then of another JVM. Of
/// each use of perk, the script prints the exit code and the message.
const SCRIPT: &str = r#"
    cover /tmp; mount -t proc none /proc; cd /tmp; exec 7<&- 8<&- 9<&-
    use_perk() {
        code=0
        "$PERK" "$@" --timeout 20s 2> message > answer || code=$?
        echo "$1: $code, $(grep -a -m 1 '^perk: ' message)"
    }
    next_id_is() { echo $(($1 - 1)) > /proc/sys/kernel/ns_last_pid; }
    "$JAVA" -cp "$CLASSES" Sleeper 3600000 > first & id=$!
    until grep -q ready first; do sleep 0.05; done
    use_perk attach $id --wall --duration 200ms --quiet -o first.hprof
    kill -KILL $id; wait $id || true
    test -S .java_pid$id && test -S perk-0/$id.sock
    next_id_is $id
    sleep 3600 & test $! = $id
    use_perk attach $id
    use_perk status $id
    kill -0 $id && echo "the program runs"
    kill $id; wait $id || true
    test -S .java_pid$id && test -S perk-0/$id.sock
    next_id_is $id
    "$JAVA" -cp "$CLASSES" Sleeper 3600000 > second & test $! = $id
    until grep -q ready second; do sleep 0.05; done
    use_perk status $id
    use_perk attach $id --wall --duration 200ms --quiet -o second.hprof
    use_perk status $id
    ls *.hprof
    kill -KILL $id
"#;

#[test]
fn a_process_id_may_be_anothers_by_then() {
    if !can_unshare() {
        return;
    }
    jdk::each(|jdk| {
        let mut unshare = Command::new("unshare");
        unshare.args(["--pid", "--mount", "--fork", "--kill-child", "sh", "-ec"]);
        unshare.arg(format!("{COVER}{SCRIPT}"));
        set_variables(&mut unshare, jdk);
        unshare.env_remove("JAVA_TOOL_OPTIONS").env_remove("XDG_RUNTIME_DIR");
        let output = unshare.output().unwrap();
        let text = stdout(&output);
        let id = text.split("the process ").nth(1).and_then(|rest| rest.split(' ').next());
        let text = text.replace(&format!(" {} ", id.unwrap_or_default()), " ID ");
        let expected = "\
attach: 0, 
attach: 2, perk: the process ID is no JVM, or perk cannot see it (perk ps lists the JVMs)
status: 2, perk: the process ID is no JVM, or perk cannot see it (perk ps lists the JVMs)
the program runs
status: 2, perk: perk is not in the JVM ID (Sleeper): perk attach ID or perk start ID loads it
attach: 0, 
status: 0, 
first.hprof
second.hprof
";
        assert_eq!(text, expected, "{}", stderr(&output));
    });
}
