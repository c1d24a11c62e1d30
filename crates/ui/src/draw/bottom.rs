//! The lines below the rows: the selected row in whole, and the keys.

use ratatui::style::Style;
use ratatui::text::{Line, Span};

use super::help;
use super::theme::{Theme, bold};
use crate::App;
use crate::app::Mode;
use crate::view::RowDetail;

/// The lines of a screen that has room for the selected row in whole.
const TALL: usize = 12;
/// The most lines of a name.
const NAME_LINES: usize = 3;

/// What is below the rows.
pub(super) struct Bottom {
    width: usize,
    detail: Option<RowDetail>,
    /// The whole name, in lines.
    name: Vec<String>,
}

impl Bottom {
    pub(super) fn new(app: &App<'_>, width: usize, height: usize) -> Self {
        let detail = app.detail().filter(|_| height >= TALL);
        let name: Vec<char> = detail.iter().flat_map(|detail| detail.name.chars()).collect();
        let lines = name.chunks(width.max(1)).take(NAME_LINES);
        Self { width, detail, name: lines.map(|line| line.iter().collect()).collect() }
    }

    pub(super) fn height(&self) -> u16 {
        let detail = if self.detail.is_some() { 1 + self.name.len() as u16 } else { 0 };
        detail + 1
    }

    pub(super) fn lines(&self, app: &App<'_>, theme: Theme) -> Vec<Line<'static>> {
        let mut lines = Vec::new();
        if let Some(detail) = &self.detail {
            let owner = detail.owner.map_or("", |owner| owner.label());
            // The owner is on the right, where there is room.
            let used = detail.numbers.chars().count() + owner.chars().count();
            let text = match self.width.checked_sub(used) {
                Some(room @ 2..) => format!("{}{}{owner}", detail.numbers, " ".repeat(room)),
                _ => format!("{:<width$}", detail.numbers, width = self.width),
            };
            lines.push(Line::styled(text, theme.bar()));
            lines.extend(self.name.iter().map(|line| Line::styled(line.clone(), bold())));
        }
        lines.push(self.last_line(app));
        lines
    }

    /// What is typed, a message, or the keys.
    fn last_line(&self, app: &App<'_>) -> Line<'static> {
        match &app.mode {
            Mode::Search(text) => return Line::from(format!("/{text}█")),
            Mode::Filter(text) => return Line::from(format!("&{text}█")),
            _ if !app.message.is_empty() => return Line::from(app.message.clone()),
            _ => {}
        }
        let mut spans = Vec::new();
        let mut used = 0;
        for (key, action) in help::keys(app) {
            used += key.len() + action.len() + 3;
            if used > self.width + 2 {
                break;
            }
            spans.push(Span::styled(key, bold()));
            spans.push(Span::styled(format!(" {action}  "), Style::new()));
        }
        spans.into()
    }
}
