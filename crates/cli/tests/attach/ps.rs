//! `perk ps`, and the search for a JVM by its name.

use perk_testkit::jdk;

use super::{perk, sleeper, start};
use crate::util::{Folder, assert_refused, stderr, stdout};

/// Returns the columns of a JVM in the list.
fn row(list: &str, pid: u32) -> Vec<String> {
    let rows = list.lines().map(|line| line.split_whitespace().map(str::to_owned));
    let mut rows = rows.map(|row| row.collect::<Vec<_>>());
    rows.find(|row| row[0] == pid.to_string()).unwrap_or_else(|| panic!("no {pid} in\n{list}"))
}

#[test]
fn each_jvm_has_a_line() {
    let folder = Folder::new();
    jdk::each(|jdk| {
        let java = start(&sleeper(jdk));
        let output = folder.run(&["ps"]);
        assert!(output.status.success(), "{}", stderr(&output));
        let list = stdout(&output);
        let titles: Vec<_> = list.lines().next().unwrap().split_whitespace().collect();
        assert_eq!(titles, ["PID", "USER", "JAVA", "CONTAINER", "PERK", "PROGRAM"]);
        let row = row(&list, java.pid());
        assert!(row[2].starts_with(&format!("{}.", jdk.version)), "{row:?}");
        assert_eq!(row[3..], ["-", "-", "Sleeper"]);
    });
}

#[test]
fn another_program_is_no_jvm() {
    let folder = Folder::new();
    let pid = std::process::id().to_string();
    let list = stdout(&folder.run(&["ps"]));
    assert!(list.lines().all(|line| line.split_whitespace().next() != Some(&pid)), "{list}");
    assert_refused(&folder.run(&["attach", &pid]), &["is no JVM"]);
}

#[test]
fn a_name_that_several_jvms_have_is_refused_with_their_ids() {
    let folder = Folder::new();
    jdk::on(17, |jdk| {
        let (a, b) = (start(&sleeper(jdk)), start(&sleeper(jdk)));
        let ids = [&a, &b].map(|java| format!("{} Sleeper (", java.pid()));
        let output = perk(&folder, &a, &["status", "Sleeper"]);
        assert_refused(
            &output,
            &["Sleeper: ", " JVMs have this name; give the process id, or the whole name"],
        );
        // Other tests have such programs as well, and a message lists ten of them.
        let text = stderr(&output);
        assert!(text.contains('…') || ids.iter().all(|id| text.contains(id)), "{text}");
        assert_refused(&perk(&folder, &a, &["status", "PID"]), &["perk is not in the JVM"]);
        let output = perk(&folder, &a, &["status", "no.such.Program"]);
        assert_refused(&output, &["no.such.Program: no JVM has this name (perk ps lists them)"]);
    });
}
