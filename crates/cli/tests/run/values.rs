//! Several values in one run: `--cpu samples --wall --alloc --lock`.

use perk_testkit::{fixture, jdk};

use super::perk_run;
use crate::util::{Folder, stderr};

const MS: u64 = 1500;
/// What each value says of one method of the program, the option that measures it alone, and what the
/// program did: nanoseconds or bytes. Samples represent 10 ms.
const VALUES: [(&str, &str, &str, u64, u64); 4] = [
    ("samples", "--cpu=samples", "FourValues.burns", 10_000_000, MS * 1_000_000),
    ("wall", "--wall", "FourValues.sleeps", 1, 2 * MS * 1_000_000),
    ("allocated", "--alloc=64k", "FourValues.allocates", 1, 65_536 * 1040),
    ("blocked", "--lock", "FourValues.enters", 1, MS * 1_000_000),
];

/// The number of a value at a method and what it called.
fn number(folder: &Folder, file: &str, value: &str, method: &str) -> u64 {
    let args = ["convert", file, "--value", value, "--output-format", "collapsed", "-o", "-"];
    let output = folder.run(&args);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let text = String::from_utf8(output.stdout).unwrap();
    let rows = text.lines().filter_map(|line| line.rsplit_once(' '));
    let rows = rows.filter(|(stack, _)| stack.split(';').any(|frame| frame == method));
    rows.map(|(_, number)| number.parse::<u64>().unwrap()).sum()
}

/// The numbers of one run with everything are those of four runs, and what the program did.
#[test]
fn values_do_not_disturb_each_other() {
    jdk::each_of(&[17, 25], |jdk| {
        let folder = Folder::new();
        let [java, classes] =
            [jdk.java(), fixture::fixtures()].map(|it| it.to_str().unwrap().to_owned());
        let line = [&*java, "-cp", &*classes, "FourValues", &MS.to_string()].map(str::to_owned);
        let run = |options: &[&str], file: &str| {
            let output = perk_run(&folder, &[options, &["-o", file]].concat(), &line);
            assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        };
        let options = VALUES.map(|it| it.1);
        run(&options, "all.pb.gz");
        run(&[&options[..], &["--threads", "-o", "all.hprof"]].concat(), "threads.pb.gz");
        run(&[&options[..], &["--engine", "signal"]].concat(), "signal.pb.gz");
        for (value, option, method, weight, expected) in VALUES {
            run(&[option], "alone.pb.gz");
            let files = ["all.pb.gz", "threads.pb.gz", "all.hprof", "signal.pb.gz", "alone.pb.gz"];
            let numbers = files.map(|file| number(&folder, file, value, method) * weight);
            for number in numbers {
                assert!(
                    number.abs_diff(expected) <= expected / 5,
                    "{jdk:?}: {value}: {numbers:?}, not {expected}"
                );
            }
            assert_eq!(numbers[1], numbers[2], "{value}");
        }
    });
}
