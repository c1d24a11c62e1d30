//! Compares a run of perk with the recorded run: its ending, its messages, and the names and
//! contents of its files.

mod costs;
mod heap;
mod monitors;
pub(crate) mod sections;
mod sites;
mod stacks;

use std::collections::BTreeMap;

use perk_testkit::hprof::{Recording, Section};
use perk_testkit::{Jdk, Outcome};

use crate::case::{Case, is_foreign};
use crate::differences::Findings;
use crate::{net, run};

/// Repeats a recorded run and compares.
pub(crate) fn case(jdk: &Jdk, case: &Case, found: &mut Findings<'_>) {
    if case.session.is_some() {
        return net::compare(jdk, case, found);
    }
    let outcome = run::run(case, &run::with_perk(jdk, case));
    let faults_before = found.faults.len();
    ending(jdk, case, &outcome, found);
    files(jdk, case, &outcome, found);
    if found.faults.len() > faults_before {
        found.fault(format!("the run:\n{}", outcome.report()));
    }
}

/// Compares exit code, stdout and stderr.
pub(crate) fn ending(jdk: &Jdk, case: &Case, outcome: &Outcome, found: &mut Findings<'_>) {
    let recorded = &case.command;
    let code = outcome.code().unwrap_or_else(|| -outcome.signal().unwrap_or(0));
    // A JVM that ends by a signal it handles has the exit code 128 plus the signal's number.
    if case.agent_ended_it() && code == 0 {
        found.differs("dump-again", || "the original ends the program".to_owned());
    } else {
        found.equal("exit code", code, recorded.exit_code);
        let mut lines = agents_lines(&outcome.stderr);
        if case.session.is_some() && lines.iter().any(|line| line.starts_with(PERKS_LINE)) {
            found.differs("net-commands", || format!("{lines:?}"));
            lines.retain(|line| !line.starts_with(PERKS_LINE));
        }
        found.equal("the agent's lines on stderr", lines, agents_lines(&recorded.stderr));
    }
    if case.is_help() {
        return help(&outcome.stdout, &recorded.stdout, found);
    }
    if case.quits() > 0 {
        let last = |text: &str| text.lines().last().map(str::to_owned);
        found.equal("last line", last(&outcome.stdout), last(&recorded.stdout));
    } else {
        found.equal("stdout", outcome.stdout.as_str(), recorded.stdout.as_str());
    }
    let others = |text: &str| text.lines().any(|line| !is_agents(line));
    if others(&outcome.stderr) || others(&recorded.stderr) {
        // The JVM's own messages differ from version to version.
        let alone = run::without_agent(jdk, case).run();
        let lines = |text: &str| -> Vec<String> {
            text.lines().filter(|line| !is_agents(line)).map(str::to_owned).collect()
        };
        found.equal("other lines on stderr", lines(&outcome.stderr), lines(&alone.stderr));
    }
}

/// The beginning of lines that the original does not have.
const PERKS_LINE: &str = "HPROF ERROR: perk: ";

fn is_agents(line: &str) -> bool {
    line.starts_with("HPROF ") || line.starts_with("HPROF: ") || line.starts_with("Dumping ")
}

fn agents_lines(stderr: &str) -> Vec<&str> {
    stderr.lines().filter(|line| is_agents(line)).collect()
}

/// Compares the help: perk's has a title and warnings of its own; the option tables are the
/// original's.
fn help(perk: &str, original: &str, found: &mut Findings<'_>) {
    let (mut is_prose, mut rest) = (true, perk.lines());
    for line in original.lines() {
        is_prose |= line == "Warnings";
        is_prose &= !line.starts_with("hprof usage");
        if is_prose {
            if !perk.lines().any(|it| it == line) {
                found.differs("help", || line.to_owned());
            }
        } else if !rest.any(|it| it == line) {
            found.fault(format!("help lacks the line {line:?}, or has it elsewhere"));
        }
    }
}

/// Compares the names of files and their contents.
fn files(jdk: &Jdk, case: &Case, outcome: &Outcome, found: &mut Findings<'_>) {
    let pid = outcome.pid.to_string();
    let perk: BTreeMap<String, &Vec<u8>> =
        outcome.files.iter().map(|(name, bytes)| (name.replace(&pid, "%p"), bytes)).collect();
    let original: BTreeMap<String, &Vec<u8>> =
        case.files.iter().map(|(name, bytes)| (without_pid(name), bytes)).collect();
    for (name, bytes) in &perk {
        match original.get(name) {
            // The data that a killed program had written so far.
            None if recorded_kill(case) && name.ends_with(".part") => {
                found.differs("file-appears", || name.clone());
            }
            None if case.missing_files.contains(name) => match Recording::read(bytes) {
                // The original ended at the second dump; perk makes one at each signal, and one at
                // the end.
                Ok(perk) if case.agent_ended_it() => {
                    found.equal("dumps", perk.sections.len(), case.quits() + 1);
                }
                Ok(_) => {}
                Err(what) => found.fault(format!("{name}: {what}")),
            },
            None => found.fault(format!("the original makes no file {name}")),
            Some(recorded) if is_foreign(recorded) => {
                found.equal(name, *bytes, *recorded);
            }
            Some(recorded) => contents(jdk, case, name, bytes, recorded, found),
        }
    }
    for (name, bytes) in original {
        if perk.contains_key(&name) {
            continue;
        }
        let has_sections = || {
            Recording::read(bytes).is_ok_and(|it| !it.sections.is_empty() || !it.threads.is_empty())
        };
        if name.ends_with(".TMP") {
            found.differs("temporary-file", || name);
        } else if bytes.is_empty() || !has_sections() {
            found.differs("file-appears", || name);
        } else {
            found.fault(format!("perk makes no file {name}"));
        }
    }
}

fn recorded_kill(case: &Case) -> bool {
    case.command.exit_code == -9
}

/// Returns a name with `%p` in place of the process id.
fn without_pid(name: &str) -> String {
    let is_pid = |part: &str| part.len() > 2 && part.bytes().all(|byte| byte.is_ascii_digit());
    let parts = name.split('.').map(|part| if is_pid(part) { "%p" } else { part });
    parts.collect::<Vec<_>>().join(".")
}

/// Compares the contents of a file of the agent.
fn contents(
    jdk: &Jdk,
    case: &Case,
    name: &str,
    perk: &[u8],
    original: &[u8],
    found: &mut Findings<'_>,
) {
    let (perk, original) = match (Recording::read(perk), Recording::read(original)) {
        (Ok(perk), Ok(original)) => (perk, original),
        // The original ended in the middle of it; perk's file is whole.
        (Ok(_), Err(_)) if case.agent_ended_it() => return,
        (Ok(_), Err(what)) => return found.fault(format!("the recorded {name}: {what}")),
        (Err(what), _) => return found.fault(format!("{name}: {what}")),
    };
    let is_cut = |section: &Section| matches!(section, Section::CallTimes(_) | Section::Sites(_));
    if !perk.sections.iter().any(is_cut) {
        return sections::compare(case, &perk, &original, None, found);
    }
    // The rows that are cut off depend on times, and on the JDK's own objects.
    let whole = run::run(case, &run::with_options(jdk, case, "cutoff=0"));
    let file =
        whole.files.iter().find(|(file, _)| file.replace(&whole.pid.to_string(), "%p") == name);
    match file.ok_or("no file".to_owned()).and_then(|(_, bytes)| Recording::read(bytes)) {
        Ok(whole) => sections::compare(case, &perk, &original, Some(&whole), found),
        Err(what) => found.fault(format!("{name} with cutoff=0: {what}")),
    }
}
