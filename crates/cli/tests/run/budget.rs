//! `--cpu times --budget`: methods whose calls take too much give up their paths.

use perk_testkit::{fixture, jdk};

use super::perk_run;
use crate::util::{Folder, stderr, stdout};

/// Each file has the calls of the program, and its report says what has become of the paths.
#[test]
fn calls_over_budget_are_counted_and_reported() {
    jdk::each_of(&[17, 25], |jdk| {
        let folder = Folder::new();
        let [java, classes] =
            [jdk.java(), fixture::fixtures()].map(|it| it.to_str().unwrap().to_owned());
        let line = [&*java, "-cp", &*classes, "OverBudget"].map(str::to_owned);
        let files = ["o.hprof", "o.txt", "o.pb.gz"];
        let outputs = files.iter().flat_map(|file| ["-o", file]);
        let options: Vec<&str> =
            ["--cpu", "times", "--budget", "1"].into_iter().chain(outputs).collect();
        let output = perk_run(&folder, &options, &line);
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        let rounds: u64 = stdout(&output).lines().next().unwrap().parse().unwrap();
        for (method, count) in [("hot", 100_008), ("warm", 50_004), ("seldom", 2)] {
            let calls = format!("OverBudget.{method}: {} calls", rounds * count);
            for file in ["o.hprof", "o.txt"] {
                let name = format!("OverBudget.{method}");
                let report = stdout(&folder.run(&["report", "--method", &name, file]));
                assert!(report.contains(&calls), "{file}: {calls}\n{report}");
            }
        }
        let first = stdout(&folder.run(&["report", "o.hprof"]));
        assert!(first.contains("\nover budget: "), "{first}");
        // Nobody can call it less in a frame that is no method.
        let callers = ["call it less in: ", "fewer in: ", "called by: "];
        let is_of_callers = |line: &&str| callers.iter().any(|it| line.contains(it));
        let mut of_callers = first.lines().filter(is_of_callers);
        assert!(of_callers.all(|line| !line.contains("<over budget>")), "{first}");
        let all = stdout(&folder.run(&["report", "--all", "o.hprof"]));
        assert!(all.contains(" of them without their callers: of 3 methods over budget"), "{all}");
        let pprof = stdout(&folder.run(&["report", "--method", "OverBudget.seldom", "o.pb.gz"]));
        assert!(pprof.contains("<over budget>"), "{pprof}");
    });
}
