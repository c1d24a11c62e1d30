//! The terminal or file that text goes to: its width, and what it can show.

use std::borrow::Cow;
use std::env;
use std::io::{IsTerminal, stderr, stdout};
use std::sync::OnceLock;

use perk_profile::names;

use crate::names::with_letters;

/// The shares, in percent, from which numbers are hot, warm, and of no interest below.
const HOT: f64 = 10.0;
const WARM: f64 = 3.0;
const COLD: f64 = 0.5;

static COLOUR: OnceLock<Colour> = OnceLock::new();

/// When text has colours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Colour {
    /// On terminals that have some, unless `NO_COLOR` is set.
    #[default]
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

impl Colour {
    /// Sets it for all screens of this process; the first call counts.
    pub fn set(self) {
        let _ = COLOUR.set(self);
    }
}

/// The width of a terminal, and whether it shows bold text and colours; a file has neither.
#[derive(Clone, Copy, Debug, Default)]
pub struct Screen {
    /// Columns; `None` where lines may be of any length.
    pub width: Option<usize>,
    /// It shows escape sequences as bold text and colours.
    pub bold: bool,
}

impl Screen {
    /// The screen of stdout.
    pub fn of_stdout() -> Self {
        Self::new(stdout().is_terminal(), terminal_size::terminal_size_of(stdout()))
    }

    /// The screen of stderr.
    pub fn of_stderr() -> Self {
        Self::new(stderr().is_terminal(), terminal_size::terminal_size_of(stderr()))
    }

    fn new(is_terminal: bool, size: Option<(terminal_size::Width, terminal_size::Height)>) -> Self {
        let colourless = env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty())
            || env::var_os("TERM").is_some_and(|term| term == "dumb");
        let bold = match COLOUR.get().copied().unwrap_or_default() {
            Colour::Auto => is_terminal && !colourless,
            Colour::Always => true,
            Colour::Never => false,
        };
        // A terminal that says it has no columns does not know.
        let width = size.map(|(width, _)| usize::from(width.0)).filter(|&width| width > 0);
        Self { width, bold }
    }

    /// A heading.
    pub fn heading(&self, text: &str) -> String {
        if self.bold { format!("\x1b[1m{text}\x1b[0m") } else { text.to_owned() }
    }

    /// Text in the colour of a share, in percent: the larger, the hotter.
    pub fn heat(&self, text: &str, percent: f64) -> String {
        let code = match () {
            () if !self.bold => return text.to_owned(),
            () if percent >= HOT => "31",
            () if percent >= WARM => "33",
            () if percent >= COLD => return text.to_owned(),
            () => "2",
        };
        format!("\x1b[{code}m{text}\x1b[0m")
    }

    /// A name, shortened so that it fits beside `used` columns.
    pub fn cut(&self, name: &str, used: usize) -> String {
        names::shorten(name, self.name_room(used))
    }

    /// A text with names in it, so that it fits beside `used` columns: with letters for packages, of the last
    /// names first, and then as much of its beginning as fits.
    pub fn cut_words(&self, text: &str, used: usize) -> String {
        if !text.contains(' ') {
            return self.cut(text, used);
        }
        let room = self.name_room(used);
        let mut length = text.chars().count();
        if length <= room {
            return text.to_owned();
        }
        let mut words: Vec<Cow<'_, str>> = text.split(' ').map(Cow::from).collect();
        for word in words.iter_mut().rev() {
            let short = with_letters(word);
            length -= word.chars().count() - short.chars().count();
            *word = short.into();
            if length <= room {
                break;
            }
        }
        let text = words.join(" ");
        if length <= room { text } else { text.chars().take(room - 1).chain(['…']).collect() }
    }

    /// The columns for a name beside `used` ones.
    pub(crate) fn name_room(&self, used: usize) -> usize {
        const LONGEST: usize = 1000;
        self.room(used, LONGEST)
    }

    /// As much of a command line's beginning as fits beside `used` columns.
    pub fn cut_end(&self, line: &str, used: usize) -> String {
        const LONGEST: usize = 200;
        let room = self.room(used, LONGEST);
        if line.chars().count() <= room {
            return line.to_owned();
        }
        line.chars().take(room - 1).chain(['…']).collect()
    }

    /// Text as lines that fit, broken at blanks, those after the first by `indent` further in.
    pub fn wrap(&self, text: &str, indent: usize) -> String {
        let Some(width) = self.width else { return text.to_owned() };
        let mut wrapped = String::new();
        let mut column = 0;
        for word in text.split_inclusive(' ') {
            let length = word.trim_end().chars().count();
            if column > indent && column + length > width {
                wrapped.truncate(wrapped.trim_end().len());
                wrapped.push('\n');
                wrapped += &" ".repeat(indent);
                column = indent;
            }
            wrapped += word;
            column += word.chars().count();
        }
        wrapped
    }

    fn room(&self, used: usize, longest: usize) -> usize {
        const LEAST: usize = 12;
        self.width.map_or(longest, |width| width.saturating_sub(used).max(LEAST)).min(longest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_fit() {
        let screen = Screen { width: Some(40), bold: false };
        let cut = screen.cut("org.example.deep.package.Name.method", 10);
        assert_eq!(cut, "o.e.deep.package.Name.method");
        assert_eq!(Screen::default().cut(&"x".repeat(60_000), 0).chars().count(), 1000);
        assert_eq!(screen.cut("short", 39), "short");
        assert_eq!(screen.cut_end("java -jar some/application.jar", 20), "java -jar some/appl…");
        let held = "com.acme.Order 0x18, held by java.util.HashMap 0x20 .table";
        let screen = |width| Screen { width: Some(width), bold: false };
        for (width, cut) in [
            (58, held),
            (57, "com.acme.Order 0x18, held by j.u.HashMap 0x20 .table"),
            (51, "c.a.Order 0x18, held by j.u.HashMap 0x20 .table"),
            (40, "c.a.Order 0x18, held by j.u.HashMap 0x2…"),
        ] {
            assert_eq!(screen(width).cut_words(held, 0), cut, "{width}");
        }
        assert_eq!(
            screen(40).cut_words("org.example.deep.package.Name.method", 10),
            "o.e.deep.package.Name.method"
        );
        let local = "local of com.acme.Worker.run (Worker.java:12) java.lang.Object[] 0x8";
        assert_eq!(
            screen(60).cut_words(local, 0),
            "local of c.a.Worker.run (Worker.java:12) j.l.Object[] 0x8"
        );
    }

    #[test]
    fn shares_have_the_colour_of_their_heat() {
        let screen = Screen { width: None, bold: true };
        for (percent, shown) in [
            (10.0, "\x1b[31mx\x1b[0m"),
            (9.99, "\x1b[33mx\x1b[0m"),
            (2.99, "x"),
            (0.49, "\x1b[2mx\x1b[0m"),
        ] {
            assert_eq!(screen.heat("x", percent), shown);
            assert_eq!(Screen::default().heat("x", percent), "x");
        }
    }

    #[test]
    fn text_is_broken_at_blanks() {
        let screen = Screen { width: Some(20), bold: false };
        let text = "perk      a word and others, averyverylongwordthatfitsnowhere on";
        let lines = "perk      a word and\n          others,\n          \
                     averyverylongwordthatfitsnowhere\n          on";
        assert_eq!(screen.wrap(text, 10), lines);
        assert_eq!(Screen::default().wrap(text, 10), text);
    }
}
