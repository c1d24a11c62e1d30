//! The first screen of recordings of programs with a planted limit.

use perk_testkit::jdk;

use super::{attach, start};
use crate::util::Folder;
use perk_testkit::fixture::fixtures;
use perk_testkit::{JavaRun, native_library};

/// Its waits are those of virtual threads, which have no carrier meanwhile.
const VIRTUAL: &str = "virtual:20";
/// The kinds of a program, and the kind, the method and what is said of the first row.
const PLANTED: [(&[&str], &str, &str, &str); 5] = [
    (&["monitor"], "monitor", "Planted$Journal.write", "which sleeps (Thread.sleep, line "),
    (
        &["pool", "cron"],
        "semaphore",
        "Planted$Connections.query",
        "Planted$Connections.select sleeps",
    ),
    (&["executor"], "other_thread", "Planted$Reports.order", "2 threads of report-* busy"),
    (&["network", "idle"], "network", "Planted$Rates.ask", "ask less often"),
    (&[VIRTUAL], "network", "Planted$Rates.askOnce", "ask less often"),
];

fn recorded(jdk: &perk_testkit::Jdk, kinds: &[&str]) -> serde_json::Value {
    let folder = Folder::new();
    let run = JavaRun::new(jdk).jvm_arg("-XX:+EnableDynamicAgentLoading").main("Planted");
    let java = start(&run.args([&["60"], kinds].concat()));
    let options = ["--cpu", "samples", "--wall", "--lock", "--duration", "3s", "-o", "o.hprof"];
    let output = attach(&folder, &java, &options).wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", crate::util::stderr(&output));
    let output = folder.run(&["report", "--json", "o.hprof"]);
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn the_first_row_is_the_planted_limit() {
    jdk::each(|jdk| {
        for (kinds, kind, method, what) in PLANTED {
            if kinds == [VIRTUAL] && jdk.version < 21 {
                continue;
            }
            let json = recorded(jdk, kinds);
            let first = &json["limits"][0];
            let begins = |key: &str, with: &str| first[key].as_str().unwrap().contains(with);
            assert_eq!(first["kind"], kind, "{kinds:?}: {}", json["limits"]);
            assert!(begins("method", method) && begins("advice", what), "{kinds:?}: {first}");
            assert_eq!(json["working"]["verdict"], "clear", "{kinds:?}: {}", json["working"]);
        }
        let json = recorded(jdk, &["idle", "cron"]);
        assert_ne!(json["working"]["verdict"], "clear", "{}", json["limits"]);
        assert!(json["working"]["summary"].as_str().unwrap().starts_with("Nothing stands out: "));
    });
}

/// The others are measured, and one line says what is not, and why.
#[test]
fn what_another_agent_has_taken_is_left_out() {
    let folder = Folder::new();
    let library = native_library::compile("crates/cli/tests/attach/rival.rs", folder.path());
    let run = JavaRun::new(jdk::compiler()).jvm_arg("-XX:+EnableDynamicAgentLoading");
    let run = run.jvm_arg(format!("-agentpath:{library}")).main("Planted");
    let java = start(&run.args(["60", "cpu:1"]));
    let options = ["--duration", "1s", "-o", "o.hprof"];
    let output = attach(&folder, &java, &options).wait_with_output().unwrap();
    let text = crate::util::stderr(&output);
    assert_eq!(output.status.code(), Some(0), "{text}");
    let said: Vec<_> = text.lines().filter(|line| line.contains("are measured: ")).collect();
    assert!(
        said.len() == 1 && said[0].starts_with("perk: no allocations are measured: "),
        "{text}"
    );
    assert!(said[0].contains("JVMTI_ERROR_NOT_AVAILABLE"), "{text}");
    assert!(text.contains("\nWhat limits the program\n"), "{text}");
}

/// The program starts, whichever agent comes first, and one line says what is not measured.
#[test]
fn a_run_continues_without_what_another_agent_has_taken() {
    let folder = Folder::new();
    let library = native_library::compile("crates/cli/tests/attach/rival.rs", folder.path());
    let rival = format!("-agentpath:{library}");
    // That of JAVA_TOOL_OPTIONS comes before perk's agent, that of the command line after it.
    for (variable, options) in [(rival.as_str(), &[][..]), ("", &[rival.as_str()])] {
        let mut command = folder.perk();
        command.args(["run", "-o", "o.hprof", "--"]).arg(jdk::compiler().java()).args(options);
        command.arg("-cp").arg(fixtures()).args(["Planted", "1", "cpu:1"]);
        let output = command.env("JAVA_TOOL_OPTIONS", variable).output().unwrap();
        let text = crate::util::stderr(&output);
        assert_eq!(output.status.code(), Some(0), "{text}");
        let line = "perk cannot sample allocations: the JVM gives them to one agent";
        assert_eq!(text.matches(line).count(), 1, "{text}");
        assert!(text.contains("\nWhat limits the program\n"), "{text}");
    }
}
