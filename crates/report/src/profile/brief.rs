//! Plain facts in ten lines, for a chat or a language model: full names, units, no tables.

use perk_profile::units::{bytes, percent, printable};

use super::content::Content;
use super::head::Head;
use super::process::WholeProcess;

/// The most lines.
const LINES: usize = 10;
/// Methods or classes named where there is no advice.
const NAMED: usize = 5;

/// The facts, each a line. `title` is the file's, and `file` the file as a word of a command line.
pub(super) fn lines(
    content: &Content<'_>,
    head: Option<&Head<'_>>,
    title: String,
    file: &str,
) -> Vec<String> {
    let mut lines = vec![format!("profile: {title}")];
    let accounting = content.profile.accounting.as_ref();
    if let Some(accounting) = accounting {
        let (program, jvm) = (printable(&accounting.program), printable(&accounting.jvm));
        lines.push(format!("program: {program} (pid {}, {jvm})", accounting.pid));
    }
    let conditions = content.conditions();
    if !conditions.is_empty() {
        lines.push(format!("note: {}", conditions.join("; ")));
    }
    lines.extend(WholeProcess::of(content).map(|it| it.sentences()).into_iter().flatten());
    lines.extend(content.losses().map(|losses| format!("lost: {losses}")));
    let left = LINES.saturating_sub(lines.len() + 1);
    let limits = content.limits().filter(|it| it.is_list());
    match head {
        _ if limits.is_some() => {
            let of_limits = limits.map(|it| it.sentences(left.saturating_sub(1), file));
            lines.extend(of_limits.unwrap_or_default());
            let covers = |metric: &str| limits.is_some_and(|it| it.covers(metric));
            let others = head.map(|head| head.sentences(left, &covers)).unwrap_or_default();
            lines.extend(others);
            lines.truncate(LINES - 1);
        }
        Some(head) => lines.extend(head.sentences(left, &|_| false).into_iter().take(left)),
        None => lines.extend(others(content).into_iter().take(left)),
    }
    lines.push(format!(
        "more: perk report {file} --all | --tree | --method NAME | --json (of every number)"
    ));
    lines
}

/// The first methods, or the first classes of the last heap dump.
fn others(content: &Content<'_>) -> Vec<String> {
    let symbols = &content.profile.symbols;
    if let Some(view) = content.main_view() {
        let name = view.metric.title();
        let methods = view.methods().iter().filter(|row| row.own > 0).take(NAMED);
        let line = methods.map(|row| {
            let share = percent(row.own, view.all);
            let method = printable(&symbols.method_name(row.method));
            format!("{name}: {share} %, {}, in {method}", view.number(row.own))
        });
        return line.collect();
    }
    let Some(mut heap) = content.profile.heaps().last().cloned() else { return Vec::new() };
    heap.rank();
    let all = heap.object_bytes();
    let line = heap.rows.iter().take(NAMED).map(|row| {
        let class = perk_render::class(symbols, row.class);
        let (share, size) = (percent(row.shallow_bytes, all), bytes(row.shallow_bytes));
        format!("heap: {share} %, {size} in {} objects of {class}", row.instance_count)
    });
    line.collect()
}
