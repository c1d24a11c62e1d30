//! Colours and other styles. A colour means whose code something is, as on the pages; blue is what is selected or found.

use perk_analysis::Owner;
use ratatui::style::{Color, Modifier, Style};

/// The shares, in percent, from which numbers are hot, and of no interest below.
const HOT: f64 = 10.0;
const COLD: f64 = 0.5;

/// The styles: colours if they are enabled, otherwise bold, dim and reverse.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Theme {
    pub(crate) colours: bool,
}

impl Theme {
    fn or(self, colours: Style, plain: Style) -> Style {
        if self.colours { colours } else { plain }
    }

    /// A line with the titles of columns.
    pub(crate) fn titles(self) -> Style {
        let colours = Style::new().fg(Color::Black).bg(Color::Gray);
        self.or(colours, bold())
    }

    /// The line between the rows and the selected one in whole.
    pub(crate) fn bar(self) -> Style {
        let colours = Style::new().fg(Color::Black).bg(Color::Gray);
        self.or(colours, Style::new().add_modifier(Modifier::REVERSED))
    }

    /// The row of the cursor.
    pub(crate) fn cursor(self) -> Style {
        Style::new().add_modifier(Modifier::REVERSED)
    }

    /// A number that is this part of a whole.
    pub(crate) fn heat(self, part: u64, whole: u64) -> Style {
        let percent = if whole > 0 { part as f64 * 100.0 / whole as f64 } else { 0.0 };
        match () {
            () if percent >= HOT => bold(),
            () if percent >= COLD => Style::new(),
            () => Style::new().add_modifier(Modifier::DIM),
        }
    }

    /// A name that the search has found.
    pub(crate) fn found(self) -> Style {
        let style = bold().add_modifier(Modifier::UNDERLINED);
        self.or(style.fg(Color::Blue), style)
    }

    /// The name of a row: the program's own code stands out among that of others.
    pub(crate) fn name(self, owner: Option<Owner>, has_others: bool) -> Style {
        match owner {
            Some(Owner::Yours) if has_others => bold(),
            Some(Owner::Jdk | Owner::Jvm) => Style::new().add_modifier(Modifier::DIM),
            _ => Style::new(),
        }
    }

    /// A block of the flame graph.
    pub(crate) fn block(self, owner: Option<Owner>, level: usize) -> Style {
        let shades = match owner {
            Some(Owner::Yours) => [Color::Yellow, Color::LightYellow],
            Some(Owner::Library) => [Color::Green, Color::LightGreen],
            Some(Owner::Jdk) => [Color::Cyan, Color::LightCyan],
            Some(Owner::Jvm) => [Color::Magenta, Color::LightMagenta],
            None => [Color::Gray, Color::White],
        };
        let colours = Style::new().fg(Color::Black).bg(shades[level % 2]);
        let plain = Style::new().add_modifier(Modifier::REVERSED);
        self.or(
            colours,
            if level.is_multiple_of(2) { plain } else { plain.add_modifier(Modifier::DIM) },
        )
    }

    /// The selected block of the flame graph.
    pub(crate) fn selected_block(self) -> Style {
        let colours = bold().fg(Color::White).bg(Color::Blue);
        self.or(colours, bold().add_modifier(Modifier::UNDERLINED))
    }
}

pub(crate) fn bold() -> Style {
    Style::new().add_modifier(Modifier::BOLD)
}
