//! What changed, for people and as JSON.

use std::io::{self, BufWriter, Write};

use perk_profile::units::printable;
use serde::Serialize;

use super::args::RegressionsArgs;
use super::compare::Comparison;
use super::shares::ShareChange;

/// A line of the JSON.
#[derive(Serialize)]
struct Row<'a> {
    service: &'a str,
    base: &'a str,
    new: &'a str,
    method: &'a str,
    base_percent: f64,
    new_percent: f64,
    change_percent: f64,
    margin_percent: f64,
    base_samples: u64,
    new_samples: u64,
}

/// Shares in percent, to two digits.
fn percent(share: f64) -> f64 {
    (share * 10_000.0).round() / 100.0
}

/// The changes of a comparison: what grew first, and each by its size.
fn in_order(comparison: &Comparison) -> Vec<&ShareChange> {
    let mut changes: Vec<_> = comparison.changes.iter().collect();
    changes.sort_by(|a, b| b.change().total_cmp(&a.change()));
    let first = changes.iter().position(|it| it.change() < 0.0).unwrap_or(changes.len());
    changes[first..].reverse();
    changes
}

/// Writes all changes as JSON, and to stderr what cannot be compared.
pub(super) fn json(found: &[Comparison]) -> io::Result<()> {
    let rows = found.iter().flat_map(|comparison| {
        in_order(comparison).into_iter().map(|change| Row {
            service: &comparison.service,
            base: &comparison.names[0],
            new: &comparison.names[1],
            method: comparison.method(change),
            base_percent: percent(change.before),
            new_percent: percent(change.after),
            change_percent: percent(change.change()),
            margin_percent: percent(change.margin),
            base_samples: comparison.samples[0],
            new_samples: comparison.samples[1],
        })
    });
    for comparison in found.iter().filter(|it| it.obstacle().is_some()) {
        writeln!(io::stderr(), "{}", printable(&compared(comparison)))?;
    }
    let mut out = BufWriter::new(io::stdout().lock());
    serde_json::to_writer_pretty(&mut out, &rows.collect::<Vec<_>>())?;
    writeln!(out)?;
    out.flush()
}

/// Prints the changes, the largest first, and what was compared.
pub(super) fn text(found: &[Comparison], args: &RegressionsArgs, tested: usize) -> io::Result<()> {
    let mut out = BufWriter::new(io::stdout().lock());
    let mut line = |text: String| writeln!(out, "{}", printable(&text));
    let what = match &*args.metric {
        "samples" => "CPU time",
        other => other,
    };
    line(first_line(found, what))?;
    for comparison in found {
        let Comparison { service, names: [base, new], .. } = comparison;
        let (grew, shrank): (Vec<&ShareChange>, Vec<_>) =
            in_order(comparison).into_iter().partition(|it| it.change() > 0.0);
        if grew.is_empty() {
            continue;
        }
        line(String::new())?;
        line(format!("{service}: {base} → {new}"))?;
        line(format!("{:>7}  {:>7}  {:>8}  {:>6}  method", "before", "after", "change", "±"))?;
        for change in grew {
            let ShareChange { before, after, margin, .. } = *change;
            line(format!(
                "{:>5.1} %  {:>5.1} %  {:>+6.1} %  {:>4.1} %  {}",
                before * 100.0,
                after * 100.0,
                change.change() * 100.0,
                margin * 100.0,
                comparison.method(change)
            ))?;
        }
        if !shrank.is_empty() {
            line(format!("and {} that shrank (--json)", shrank.len()))?;
        }
        let [base, new] = &comparison.patterns;
        line(format!(
            "perk diff {} --service {service} --base {base} --new {new} --normalize shows both",
            args.store.store
        ))?;
    }
    line(String::new())?;
    for comparison in found {
        line(compared(comparison))?;
    }
    line(format!(
        "shares of {what} by the innermost method of your code: {tested}; the chance that even one line is false is below {} %",
        percent(args.false_alarms.0)
    ))?;
    out.flush()
}

/// What grew most.
fn first_line(found: &[Comparison], what: &str) -> String {
    let all = found.iter().flat_map(|of| of.changes.iter().map(move |change| (of, change)));
    let most = all.max_by(|a, b| a.1.change().total_cmp(&b.1.change()));
    match most.filter(|it| it.1.change() > 0.0) {
        Some((of, change)) => format!(
            "{} of {} takes {:.1} % of its {what}, where {} has {:.1} %: {}",
            of.names[1],
            of.service,
            change.after * 100.0,
            of.names[0],
            change.before * 100.0,
            of.method(change)
        ),
        None if found.iter().all(|it| it.obstacle().is_some()) => {
            "nothing can be compared".to_owned()
        }
        None => format!("no method's share of {what} grew beyond chance"),
    }
}

/// What two sides had.
fn compared(comparison: &Comparison) -> String {
    let Comparison { service, names, samples, jvms, hours, .. } = comparison;
    let plural = |count: usize| if count == 1 { "" } else { "s" };
    let side = |at: usize| {
        let (jvms, hours) = (jvms[at], hours[at]);
        let (of, within) = (plural(jvms), plural(hours));
        format!(
            "{} has {} samples of {jvms} JVM{of} in {hours} hour{within}",
            names[at], samples[at]
        )
    };
    let obstacle = comparison.obstacle().map(|it| format!(": {it}")).unwrap_or_default();
    format!("{service}: {}, {}{obstacle}", side(0), side(1))
}
