//! Drawing of the browser.

mod bottom;
mod flame;
mod help;
mod theme;

use perk_profile::{names, units};
use perk_render::bar;
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::{Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;

use self::bottom::Bottom;
use self::theme::{Theme, bold};
use crate::App;
use crate::app::Mode;
use crate::view::{Columns, Order, View, ViewRow};

/// The columns of a screen that has room for absolute numbers in each row.
const WIDE: usize = 100;
/// The columns of an absolute number.
const AMOUNT: usize = 11;

/// Draws the browser.
pub fn draw(app: &mut App<'_>, colours: bool, frame: &mut Frame<'_>) {
    draw_in(app, colours, frame.area(), frame);
}

/// Draws the browser in a part of the screen.
pub(crate) fn draw_in(app: &mut App<'_>, colours: bool, area: Rect, frame: &mut Frame<'_>) {
    let theme = Theme { colours };
    if area.height < 5 || area.width < 20 {
        frame.render_widget(Paragraph::new("too small"), area);
        return;
    }
    let width = usize::from(area.width);
    let line = |y| Rect { y: area.y + y, height: 1, ..area };
    frame.render_widget(Paragraph::new(header(app, width)), line(0));
    frame.render_widget(Paragraph::new(tabs(app)), line(1));
    let scope = app.scope_text();
    let top = if scope.is_empty() || area.height < 8 { 2 } else { 3 };
    if top > 2 {
        let text = format!("only {scope} (Esc: everything)");
        frame.render_widget(Paragraph::new(Line::styled(text, bold())), line(2));
    }
    let bottom = Bottom::new(app, width, usize::from(area.height));
    let used = top + bottom.height();
    let body = Rect { y: area.y + top, height: area.height.saturating_sub(used), ..area };
    match app.view {
        View::Flame => flame::draw_flame(app, theme, body, frame),
        _ => draw_lines(app, theme, body, frame),
    }
    let place = Rect { y: body.y + body.height, height: area.height - top - body.height, ..area };
    frame.render_widget(Paragraph::new(bottom.lines(app, theme)), place);
    if app.mode == Mode::Help {
        help::draw_help(area, frame);
    }
}

/// The file on the left and the totals on the right, which have the room first.
fn header(app: &App<'_>, width: usize) -> Line<'static> {
    let right = app.totals();
    let room = width.saturating_sub(right.chars().count() + 2);
    let title = keep_end(&app.title, room);
    let gap = " ".repeat(room.saturating_sub(title.chars().count()) + 2);
    Line::from(vec![Span::styled(title, bold()), Span::raw(gap), Span::raw(right)])
}

fn tabs(app: &App<'_>) -> Line<'static> {
    let tab = |(index, view): (usize, &View)| {
        let text = format!(" {} {} ", index + 1, view.title());
        let is_shown = *view == app.view;
        let style = Style::new().add_modifier(Modifier::REVERSED);
        Span::styled(text, if is_shown { style } else { Style::new() })
    };
    app.views.iter().enumerate().map(tab).collect::<Vec<_>>().into()
}

/// The widths of the parts of a row.
#[derive(Clone, Copy)]
struct Layout {
    columns: Columns,
    /// The widths of the shares; 0 for a column that is not shown.
    shares: [usize; 2],
    /// Whether there are absolute numbers.
    is_wide: bool,
    bar: usize,
    name: usize,
}

impl Layout {
    fn new(columns: Columns, width: usize) -> Self {
        let share = |index: usize| match columns.numbers[index].title {
            "" => 0,
            _ if index == 0 && width < 40 => 0,
            title => title.len() + 3,
        };
        let shares = [share(0), share(1)];
        let is_wide = width >= WIDE;
        let bar = match width {
            ..60 => 0,
            60..WIDE => 6,
            _ => 10,
        };
        let amount = if is_wide { AMOUNT } else { 0 };
        let numbers = shares.iter().filter(|&&it| it > 0).map(|share| share + 1 + amount);
        let used = numbers.sum::<usize>() + if bar > 0 { bar + 1 } else { 0 };
        Self { columns, shares, is_wide, bar, name: width.saturating_sub(used) }
    }

    fn titles(&self) -> String {
        let mark = |order| if self.columns.order == Some(order) { "▾" } else { " " };
        let mut titles = String::new();
        for (index, order) in [Order::First, Order::Second].into_iter().enumerate() {
            let (share, title) = (self.shares[index], self.columns.numbers[index].title);
            if share > 0 {
                titles += &format!("{:>share$}{}", format!("{title} %"), mark(order));
                if self.is_wide {
                    titles += &format!("{title:>width$}  ", width = AMOUNT - 2);
                }
            }
        }
        if self.bar > 0 {
            titles += &" ".repeat(self.bar + 1);
        }
        titles + "  " + self.columns.name + mark(Order::Name)
    }

    /// The numbers of a row, and the bar.
    fn numbers(&self, theme: Theme, row: &ViewRow) -> Vec<Span<'static>> {
        let mut spans = Vec::new();
        for (index, number) in row.numbers.into_iter().enumerate() {
            let (share, column) = (self.shares[index], self.columns.numbers[index]);
            let amount = if self.is_wide { AMOUNT } else { 0 };
            match number {
                _ if share == 0 => {}
                Some(number) => {
                    let mut text = format!("{:>share$} ", units::percent(number, column.whole));
                    if self.is_wide {
                        let number = units::amount(number, column.unit);
                        text += &format!("{number:>width$}  ", width = AMOUNT - 2);
                    }
                    spans.push(Span::styled(text, theme.heat(number, column.whole)));
                }
                None => spans.push(Span::raw(" ".repeat(share + 1 + amount))),
            }
        }
        if self.bar > 0 {
            let (number, column) = (row.numbers[self.columns.bar], self.columns.numbers);
            let whole = column[self.columns.bar].whole;
            let number = number.unwrap_or(0);
            let text = format!("{:<width$} ", bar(number, whole, self.bar), width = self.bar);
            spans.push(Span::styled(text, theme.heat(number, whole)));
        }
        spans
    }
}

fn draw_lines(app: &mut App<'_>, theme: Theme, area: Rect, frame: &mut Frame<'_>) {
    let width = usize::from(area.width);
    let layout = Layout::new(app.columns(), width);
    let titles = format!("{:<width$}", layout.titles());
    let mut lines = vec![Line::styled(titles, theme.titles())];
    let height = usize::from(area.height).saturating_sub(1);
    let count = app.line_count();
    let cursor = app.cursor(height);
    for index in cursor.top..count.min(cursor.top + height) {
        let mut text = draw_line(app, theme, layout, &app.line(index), width);
        if index == cursor.at {
            text.push_span(" ".repeat(width.saturating_sub(text.width())));
            text = text.patch_style(theme.cursor());
        }
        lines.push(text);
    }
    if count == 0 {
        let missing = app.missing_method();
        let what = match app.view {
            View::Method if missing.is_some() => missing.as_deref().unwrap_or_default(),
            _ if !app.scope_text().is_empty() => "no rows here (Esc: everything)",
            View::Threads => "the profile does not distinguish threads",
            _ => "the profile has nothing to show here",
        };
        lines.push(Line::raw(what.to_owned()));
    }
    frame.render_widget(Paragraph::new(lines), area);
}

fn draw_line(
    app: &App<'_>,
    theme: Theme,
    layout: Layout,
    line: &ViewRow,
    width: usize,
) -> Line<'static> {
    if line.is_heading {
        return Line::styled(names::shorten(&line.text, width), bold());
    }
    // Indentation leaves the name at least half of the room.
    let room = if line.is_text { width } else { layout.name };
    let indent = (2 * line.level).min(room / 2);
    let mark = match line.is_open {
        Some(true) => "▾ ",
        Some(false) => "▸ ",
        None => "  ",
    };
    let prefix = line.prefix.chars().count();
    let name = names::shorten(&line.text, room.saturating_sub(indent + 2 + prefix));
    let style = match app.is_match(&line.text) {
        true => theme.found(),
        false => theme.name(line.owner, app.has_others()),
    };
    let mut spans = if line.is_text { Vec::new() } else { layout.numbers(theme, line) };
    let before = " ".repeat(indent) + mark + line.prefix;
    spans.extend([Span::raw(before), Span::styled(name, style)]);
    spans.into()
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
