//! The limits of a comparison as test cases, in the format that JUnit's reports have in CI systems.

use std::path::Path;

use perk_report::Answer;
use quick_junit::{NonSuccessKind, Report, TestCase, TestCaseStatus, TestSuite};

use perk_files::Access;

use crate::output::write_file;

/// Writes a test case for each limit of `answer`; one that is exceeded has failed.
pub(super) fn write(path: &Path, answer: &Answer, names: [&str; 2]) -> anyhow::Result<()> {
    let mut suite = TestSuite::new(format!("perk diff {} {}", names[0], names[1]));
    for check in &answer.checks {
        let status = match check.is_kept {
            true => TestCaseStatus::success(),
            false => {
                let mut status = TestCaseStatus::non_success(NonSuccessKind::Failure);
                status.set_message(&check.text);
                status
            }
        };
        let mut case = TestCase::new(&check.limit, status);
        case.set_classname("perk diff").set_system_out(&check.text);
        suite.add_test_case(case);
    }
    let mut report = Report::new("perk diff");
    report.add_test_suite(suite);
    let mut text = report.to_string()?;
    text.push('\n');
    write_file(path, Access::Usual, &|out| out.write_all(text.as_bytes()))
}
