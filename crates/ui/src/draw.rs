//! Drawing of the browser.

use perk_analysis::label_tree::ROOT;
use perk_profile::{names, units};
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Clear, Paragraph};

use crate::App;
use crate::app::{Mode, Order, Row, View};

const HELP: &str = "\
1-6, Tab     views: methods, tree, callers, one method, threads, flame graph
arrows, hjkl move; right opens, left closes or goes to the parent
PgUp PgDn    a screen up or down;  Home End (g G)  first and last line
Enter        a method's callers and callees; open or close; zoom
Space        open or close
e            open the heaviest path below
m            callers and callees of the selected method
f            only paths through the selected method, or the selected thread
Esc, F       everything again
/ n N        search, next, previous
s            order methods by self, total, name
v V          next, previous metric: samples, time, calls, bytes
?            this help
q            leave";

/// The styles: colours if they are enabled, otherwise bold and reverse.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Theme {
    pub(crate) colours: bool,
}

impl Theme {
    fn colour(self, colour: Color) -> Style {
        if self.colours { Style::new().fg(colour) } else { Style::new() }
    }
}

/// Draws the browser.
pub fn draw(app: &mut App<'_>, colours: bool, frame: &mut Frame<'_>) {
    let theme = Theme { colours };
    let area = frame.area();
    if area.height < 5 || area.width < 20 {
        frame.render_widget(Paragraph::new("too small"), area);
        return;
    }
    let line = |y| Rect { y: area.y + y, height: 1, ..area };
    frame.render_widget(Paragraph::new(header(app, usize::from(area.width))), line(0));
    frame.render_widget(Paragraph::new(tabs(app)), line(1));
    let body = Rect { y: area.y + 2, height: area.height - 3, ..area };
    match app.view {
        View::Flame => draw_flame(app, theme, body, frame),
        _ => draw_lines(app, theme, body, frame),
    }
    frame.render_widget(Paragraph::new(status(app)), line(area.height - 1));
    if app.mode == Mode::Help {
        draw_help(area, frame);
    }
}

fn header(app: &App<'_>, width: usize) -> Line<'static> {
    let metric = app.metric_name().to_owned();
    let shown = app.ranked.total();
    let mut right = format!("{metric}: {}", app.amount(shown));
    if shown != app.whole {
        right += &format!(" of {}", app.amount(app.whole));
    }
    let room = width.saturating_sub(right.chars().count() + 2);
    let title = keep_end(&app.title, room);
    let gap = " ".repeat(room.saturating_sub(title.chars().count()) + 2);
    let bold = Style::new().add_modifier(Modifier::BOLD);
    Line::from(vec![Span::styled(title, bold), Span::raw(gap), Span::raw(right)])
}

fn tabs(app: &App<'_>) -> Line<'static> {
    let mut spans = Vec::new();
    for (index, view) in View::ALL.into_iter().enumerate() {
        let text = format!(" {} {} ", index + 1, view.title());
        let style = match view == app.view {
            true => Style::new().add_modifier(Modifier::REVERSED),
            false => Style::new(),
        };
        spans.push(Span::styled(text, style));
    }
    Line::from(spans)
}

fn status(app: &App<'_>) -> Line<'static> {
    let text = match &app.mode {
        Mode::Search(text) => format!("/{text}█"),
        _ if !app.message.is_empty() => app.message.clone(),
        _ if !app.scope_text().is_empty() => {
            format!("only {} (Esc: everything)", app.scope_text())
        }
        _ => "? help  / search  m method  f focus  v metric  s sort  q leave".to_owned(),
    };
    Line::from(text)
}

fn draw_lines(app: &mut App<'_>, theme: Theme, area: Rect, frame: &mut Frame<'_>) {
    let width = usize::from(area.width);
    let title = |name: &str, order| {
        let mark = if app.view == View::Methods && app.order == order { "▾" } else { " " };
        format!("{name}{mark}")
    };
    let titles = format!(
        "{:>8} {:>10} {:>8} {:>10}  {}",
        "self %",
        title("self", Order::Own),
        "total %",
        title("total", Order::Total),
        title("name", Order::Name)
    );
    let bold = Style::new().add_modifier(Modifier::BOLD);
    let mut lines = vec![Line::styled(titles, bold)];
    let height = usize::from(area.height).saturating_sub(1);
    let count = app.line_count();
    let cursor = app.cursor(height);
    for index in cursor.top..count.min(cursor.top + height) {
        let line = app.line(index);
        let mut text = draw_line(app, theme, &line, width);
        if index == cursor.at {
            text = text.patch_style(Style::new().add_modifier(Modifier::REVERSED));
        }
        lines.push(text);
    }
    if count == 0 {
        let what = match app.view {
            View::Threads => "the profile does not distinguish threads",
            _ => "the profile has nothing to show here",
        };
        lines.push(Line::raw(what));
    }
    frame.render_widget(Paragraph::new(lines), area);
}

fn draw_line(app: &App<'_>, theme: Theme, line: &Row, width: usize) -> Line<'static> {
    if line.is_heading {
        let bold = Style::new().add_modifier(Modifier::BOLD);
        return Line::styled(names::shorten(&line.text, width), bold);
    }
    let unit = app.unit();
    let numbers = format!(
        "{:>8} {:>9}  {:>8} {:>9}   ",
        units::percent(line.own, app.whole),
        units::amount(line.own, unit),
        units::percent(line.total, app.whole),
        units::amount(line.total, unit)
    );
    // Indentation leaves the name at least half of the room.
    let room = width.saturating_sub(numbers.chars().count());
    let indent = (2 * line.level).min(room / 2);
    let mark = match line.is_open {
        Some(true) => "▾ ",
        Some(false) => "▸ ",
        None => "  ",
    };
    let name = names::shorten(&line.text, room.saturating_sub(indent + 2));
    let style = match app.is_match(&line.text) {
        true => theme.colour(Color::Yellow).add_modifier(Modifier::BOLD | Modifier::UNDERLINED),
        false => Style::new(),
    };
    let heat = if app.whole > 0 { line.total as f64 / app.whole as f64 } else { 0.0 };
    let numbers_style = match heat {
        0.2.. => theme.colour(Color::Red),
        0.05.. => theme.colour(Color::Yellow),
        _ => Style::new(),
    };
    Line::from(vec![
        Span::styled(numbers, numbers_style),
        Span::raw(" ".repeat(indent) + mark),
        Span::styled(name, style),
    ])
}

fn draw_flame(app: &mut App<'_>, theme: Theme, area: Rect, frame: &mut Frame<'_>) {
    let (width, height) = (usize::from(area.width), usize::from(area.height));
    const PALETTE: [Color; 5] =
        [Color::Red, Color::Yellow, Color::Green, Color::Cyan, Color::Magenta];
    for block in app.flame.blocks(&app.ranked, width, height.saturating_sub(1)) {
        let node = app.ranked.node(block.node);
        let label = app.ranked.label(node.label);
        let is_selected = block.node == app.flame.selected;
        let colour = PALETTE[label.bytes().map(usize::from).sum::<usize>() % PALETTE.len()];
        let mut style = match (theme.colours, block.level % 2 == 0) {
            (true, _) => Style::new().fg(Color::Black).bg(colour),
            (false, true) => Style::new().add_modifier(Modifier::REVERSED),
            (false, false) => Style::new().add_modifier(Modifier::REVERSED | Modifier::DIM),
        };
        if app.is_match(label) {
            style = style.add_modifier(Modifier::UNDERLINED | Modifier::BOLD);
        }
        if is_selected {
            style = match theme.colours {
                true => Style::new().fg(Color::White).bg(Color::Blue).add_modifier(Modifier::BOLD),
                false => Style::new().add_modifier(Modifier::BOLD | Modifier::UNDERLINED),
            };
        }
        // A bar separates a block from the previous one.
        let text = names::shorten(label, block.width.saturating_sub(1));
        let text = format!("{:<width$}", format!("▏{text}"), width = block.width);
        let place = Rect {
            x: area.x + block.x as u16,
            y: area.y + block.level as u16,
            width: block.width as u16,
            height: 1,
        };
        frame.render_widget(Paragraph::new(Span::styled(text, style)), place);
    }
    let selected = app.flame.selected;
    if selected == ROOT {
        frame.render_widget(Paragraph::new("the profile has nothing to show here"), area);
        return;
    }
    let node = app.ranked.node(selected);
    let mut told = format!(
        "{} % total, {} % self: ",
        units::percent(node.total, app.whole),
        units::percent(node.own, app.whole)
    );
    told += &names::shorten(app.ranked.label(node.label), width.saturating_sub(told.len()));
    let place = Rect { y: area.y + area.height - 1, height: 1, ..area };
    let bold = Style::new().add_modifier(Modifier::BOLD);
    frame.render_widget(Paragraph::new(Span::styled(told, bold)), place);
}

fn draw_help(area: Rect, frame: &mut Frame<'_>) {
    let lines = HELP.lines().count() as u16;
    let height = lines.min(area.height.saturating_sub(2));
    let place = Rect { y: area.y + 2.min(area.height - height), height, ..area };
    frame.render_widget(Clear, place);
    frame.render_widget(Paragraph::new(HELP), place);
}

/// Returns as much of the end of a file's name as there is room for.
fn keep_end(text: &str, room: usize) -> String {
    let length = text.chars().count();
    if length <= room {
        return text.to_owned();
    }
    std::iter::once('…')
        .chain(text.chars().skip(length - room.saturating_sub(1)))
        .take(room)
        .collect()
}
