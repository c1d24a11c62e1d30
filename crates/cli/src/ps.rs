//! `perk ps`: the list of the JVMs.

use std::io::{self, Write};
use std::process::ExitCode;
use std::time::Duration;

use perk_attach::Control;
use perk_attach::jvms::{Jvm, JvmList, name_of_user, visible};
use perk_control::jdk::Vm;
use perk_control::remote::Request;
use perk_profile::units::{plural, printable};
use rustix::process::geteuid;

use crate::talk::say;

/// The time that an agent has to describe itself.
const PATIENCE: Duration = Duration::from_millis(500);

const TITLES: [&str; 6] = ["PID", "USER", "JAVA", "CONTAINER", "PERK", "PROGRAM"];

/// Prints a line for each JVM. The exit code is 1 if there is none.
pub(crate) fn ps() -> anyhow::Result<ExitCode> {
    let JvmList { jvms, hidden } = visible()?;
    let mut rows = vec![TITLES.map(str::to_owned)];
    rows.extend(jvms.iter().map(row));
    let of_hidden = hidden.iter().map(|it| {
        let unseen = || "?".to_owned();
        let user = name_of_user(it.uid);
        [it.pid.to_string(), user, unseen(), unseen(), unseen(), printable(&it.program)]
    });
    rows.extend(of_hidden);
    let is_empty = rows.len() == 1;
    let mut out = io::stdout().lock();
    if !is_empty {
        out.write_all(table(&rows).as_bytes())?;
        out.flush()?;
    }
    if !hidden.is_empty() {
        let count = plural(hidden.len() as u64, "JVM");
        let root = if geteuid().is_root() { "root with CAP_SYS_PTRACE" } else { "root" };
        say(format_args!(
            "perk cannot look into {count}: run perk ps with their user and group, or as {root}"
        ));
    }
    Ok(if is_empty { ExitCode::from(1) } else { ExitCode::SUCCESS })
}

fn row(jvm: &Jvm) -> [String; 6] {
    let unknown = || "?".to_owned();
    let version = jvm.machine.version.clone().unwrap_or_else(unknown);
    let version = if jvm.machine.vm == Vm::OpenJ9 { version + " (OpenJ9)" } else { version };
    let container = jvm.container.as_ref();
    let container = container.map(|it| it.id.clone().unwrap_or_else(|| "yes".to_owned()));
    let none = || "-".to_owned();
    [
        jvm.process.pid.to_string(),
        name_of_user(jvm.status.uid),
        version,
        container.unwrap_or_else(none),
        perk(jvm).unwrap_or_else(none),
        printable(&jvm.program),
    ]
}

/// The state of perk's agent; `None` if there is none.
fn perk(jvm: &Jvm) -> Option<String> {
    let state = || {
        let answer = Control::of(jvm)?.ask(&Request::Status, PATIENCE).ok()?;
        answer.state().map(|state| state.to_string())
    };
    state().or_else(|| jvm.machine.has_perk.then(|| "loaded".to_owned()))
}

/// Columns with two blanks between; the first is aligned to the right.
fn table(rows: &[[String; 6]]) -> String {
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max();
    let widths: Vec<_> = (0..6).map(|column| width(column).unwrap_or(0)).collect();
    let mut text = String::new();
    for [pid, middle @ .., program] in rows {
        text += &format!("{pid:>0$}", widths[0]);
        for (cell, width) in middle.iter().zip(&widths[1..]) {
            text += &format!("  {cell:<width$}");
        }
        text += &format!("  {program}\n");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_aligned() {
        let row = |words: &str| {
            let words: Vec<_> = words.split_whitespace().map(str::to_owned).collect();
            <[String; 6]>::try_from(words).unwrap()
        };
        let rows = [TITLES.map(str::to_owned), row("4711 ann 21.0.8 - idle org.acme.Main")];
        let text = table(&rows);
        assert_eq!(
            text,
            " PID  USER  JAVA    CONTAINER  PERK  PROGRAM\n\
             4711  ann   21.0.8  -          idle  org.acme.Main\n"
        );
    }
}
