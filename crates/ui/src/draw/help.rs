//! The keys: all of them, and those that matter in a view.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::widgets::{Clear, Paragraph};

use crate::App;
use crate::view::View;

const HELP: &str = "\
1-8, Tab     views, as they are numbered above
arrows, hjkl move; right opens, left closes or goes to the parent
PgUp PgDn    a screen up or down;  Home End (g G)  first and last line
Enter        a method's callers and callees; open or close; zoom
Space        open or close
e            open the heaviest path below
o            whole stacks and idle threads, or from your code on (Tree, Flame)
m            callers and callees of the selected method
f            only paths through the selected method, or the selected thread
/ n N        search, next, previous
& \\          only rows with a text: methods, threads, classes
Esc, F       everything again
s            order methods by self, total, name; classes by bytes, objects
v V          next, previous metric, or heap dump
Ctrl-L       draw the screen again
?            this help
q            leave";

/// The keys that matter in the view, the most important first.
pub(super) fn keys(app: &App<'_>) -> Vec<(&'static str, &'static str)> {
    let mut keys = vec![("?", "help"), ("q", "leave"), ("/", "find")];
    keys.extend(app.view.is_list().then_some(("&", "only")));
    keys.extend_from_slice(match app.view {
        View::Methods => &[("Enter", "callers"), ("f", "focus"), ("s", "sort")],
        View::Tree | View::Callers | View::Method => {
            &[("Space", "open"), ("e", "heaviest"), ("m", "method"), ("f", "focus")]
        }
        View::Threads => &[("Enter", "only this")],
        View::Flame => &[("Enter", "zoom"), ("m", "method"), ("f", "focus"), ("o", "whole stacks")],
        View::Locks => &[("Enter", "open")],
        View::Heap => &[("s", "sort")],
    });
    let has_more = app.view.is_by_metric() && app.metrics.len() > 1;
    keys.extend(has_more.then_some(("v", "metric")));
    keys.extend((app.view == View::Heap && app.heap.has_more()).then_some(("v", "dump")));
    keys
}

pub(super) fn draw_help(area: Rect, frame: &mut Frame<'_>) {
    let lines = HELP.lines().count() as u16;
    let height = lines.min(area.height.saturating_sub(2));
    let place = Rect { y: area.y + 2.min(area.height - height), height, ..area };
    frame.render_widget(Clear, place);
    frame.render_widget(Paragraph::new(HELP), place);
}
