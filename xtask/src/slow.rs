//! The slowest tests of a run, from the file that cargo-nextest writes of it.

use std::cmp::Reverse;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use roxmltree::Document;

use crate::workspace;

/// The tests that are listed.
const LISTED: usize = 30;

/// A test of a run.
#[derive(Debug, PartialEq, Eq)]
struct TimedTest {
    /// The test's program and name.
    name: String,
    millis: u64,
}

/// Prints the slowest tests of a file in JUnit's format, and their share of all.
pub(crate) fn run(file: Option<&Path>) -> Result<()> {
    let last = workspace::root().join("target/nextest/default/junit.xml");
    let file = file.unwrap_or(&last);
    let name = file.display();
    let text = fs::read_to_string(file)
        .with_context(|| format!("{name}: no run of cargo-nextest has written it"))?;
    let tests = read(&text).with_context(|| format!("{name} is not JUnit's XML"))?;
    ensure!(!tests.is_empty(), "{name} has no tests");
    let seconds = |tests: &[TimedTest]| tests.iter().map(|it| it.millis).sum::<u64>() as f64 / 1e3;
    let listed = &tests[..LISTED.min(tests.len())];
    for test in listed {
        eprintln!("{:8.1} s  {}", test.millis as f64 / 1e3, test.name);
    }
    let (part, all) = (seconds(listed), seconds(&tests));
    eprintln!(
        "{part:8.1} s  these {} of {} tests, which took {all:.1} s",
        listed.len(),
        tests.len()
    );
    Ok(())
}

/// Returns the tests of a run, the slowest first.
fn read(text: &str) -> Result<Vec<TimedTest>> {
    let document = Document::parse(text)?;
    let cases = document.descendants().filter(|node| node.has_tag_name("testcase"));
    let mut tests = Vec::new();
    for case in cases {
        let attribute =
            |name| case.attribute(name).with_context(|| format!("a test has no {name}"));
        let seconds: f64 = attribute("time")?.parse()?;
        let name = format!("{} {}", attribute("classname")?, attribute("name")?);
        tests.push(TimedTest { name, millis: (seconds * 1e3) as u64 });
    }
    tests.sort_by_key(|test| Reverse(test.millis));
    Ok(tests)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_slowest_test_is_the_first() {
        let text = r#"<?xml version="1.0" encoding="UTF-8"?>
<testsuites name="nextest-run" tests="2" failures="0" time="3.5">
    <testsuite name="perk-agent::calls" tests="2">
        <testcase name="a::quick" classname="perk-agent::calls" time="0.250"></testcase>
        <testcase name="b::slow" classname="perk-agent::calls" time="2.125"></testcase>
    </testsuite>
</testsuites>"#;
        let test = |name: &str, millis| TimedTest { name: name.to_owned(), millis };
        let expected =
            [test("perk-agent::calls b::slow", 2125), test("perk-agent::calls a::quick", 250)];
        assert_eq!(read(text).unwrap(), expected);
        assert!(read("<testcase>").is_err());
        assert!(read("<testcase name='x'/>").is_err());
    }
}
