//! The flame graph.

use perk_analysis::label_tree::ROOT;
use perk_profile::names;
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::Modifier;
use ratatui::text::Span;
use ratatui::widgets::Paragraph;

use super::theme::Theme;
use crate::App;

pub(super) fn draw_flame(app: &App<'_>, theme: Theme, area: Rect, frame: &mut Frame<'_>) {
    if app.flame.selected == ROOT {
        frame.render_widget(Paragraph::new("the profile has nothing to show here"), area);
        return;
    }
    let (width, height) = (usize::from(area.width), usize::from(area.height));
    let ranked = app.ranked_of_view();
    for block in app.flame.blocks(ranked, width, height) {
        let node = ranked.node(block.node);
        let label = ranked.label(node.label);
        let mut style = theme.block(app.owner_of(label), block.level);
        if app.is_match(label) {
            style = style.add_modifier(Modifier::UNDERLINED | Modifier::BOLD);
        }
        if block.node == app.flame.selected {
            style = theme.selected_block();
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
}
