//! Metrics without call paths: what a file tells of the whole program, or of each thread.

use perk_analysis::top;

use super::numbers::View;
use super::table::{Row, Table};
use crate::show::{Screen, number, printable};

/// A row for each of `views`, with its threads where the numbers are theirs; empty where there are
/// no views.
pub(super) fn table(views: &[&View<'_>], top: usize, screen: &Screen) -> String {
    if views.is_empty() {
        return String::new();
    }
    let row = |view: &&View<'_>| {
        let threads = top::threads(view.profile, &view.numbers);
        let thread = |&(thread, count): &(_, u64)| {
            let name = printable(view.profile.thread_name(thread));
            format!("{} of thread {name}", number(count, view.unit()))
        };
        let cells = vec![number(view.numbers.total, view.unit()), printable(view.name())];
        Row { cells, below: threads.iter().take(top).map(thread).collect() }
    };
    let rows = views.iter().map(row).collect();
    let table = Table { titles: vec!["total", "metric"], rows };
    screen.heading("Metrics without call paths") + "\n" + &table.render(screen)
}
