//! Sections of tables and lines as text, no wider than the screen.

use perk_profile::units::{amount, duration, percent, printable};
use perk_profile::{FrameId, Symbols, Unit};

use crate::table::{Aspect, ColumnKind, CutRule, Labels};
use crate::{Cell, Column, LazyTable, Screen, Table, TableRow};

/// A terminal has this much room for the last column, if it can be had by leaving out shares: all of
/// them but the first stand beside the numbers they are of.
const NAME: usize = 28;
/// The same where it has several names.
const WORDS: usize = 45;
/// The width of a terminal from which on words beside a row of several names are not in a line of their own.
const BESIDE: usize = 140;
const GAP: &str = "  ";
/// Columns of a bar.
const BAR: usize = 8;
/// Columns by which lines below a row are indented.
const INDENT: &str = "        ";
/// Columns by which names in lines of their own are.
const NAMES_INDENT: &str = "      ";
/// Columns by which the lines of a sentence after the first are.
const SENTENCE_INDENT: usize = 4;
/// Levels of a tree shown by blanks, as far as half of the room for names; from there on a number
/// shows the depth of a row.
const INDENTED: usize = 24;
/// Frames shown at a long path's inner end and at its outer end.
const INNER: usize = 9;
const OUTER: usize = 3;

/// Parts that belong together: an empty line separates sections.
pub type Section = Vec<Part>;

/// A part of a section.
#[derive(Debug)]
pub enum Part {
    /// A heading.
    Heading(String),
    /// A table; nothing where it has no rows.
    Table(Table),
    /// A sentence, broken at blanks.
    Sentence(String),
    /// A line, broken at blanks; what follows stands this many columns further in.
    Line(String, usize),
    /// A line that is never broken.
    Fact(String),
    /// A heading and a sentence in the same lines.
    Remark(&'static str, &'static str),
    /// Names, further in, each shortened where it must be.
    Names(Vec<String>),
}

/// The sections as text; empty where there is nothing in them.
pub fn text<'a>(sections: impl IntoIterator<Item = &'a Section>, screen: &Screen) -> String {
    let sections = sections
        .into_iter()
        .map(|section| section.iter().map(|part| part.text(screen)).collect::<String>());
    let sections: Vec<_> = sections.filter(|section| !section.is_empty()).collect();
    sections.join("\n")
}

impl From<LazyTable<'_>> for Part {
    fn from(table: LazyTable<'_>) -> Self {
        Part::Table(table.into())
    }
}

impl Part {
    /// A table.
    pub fn table(table: impl Into<Table>) -> Self {
        Part::Table(table.into())
    }

    fn text(&self, screen: &Screen) -> String {
        match self {
            Part::Heading(heading) => screen.heading(heading) + "\n",
            Part::Table(table) => table.text(screen),
            Part::Sentence(sentence) => screen.wrap(sentence, SENTENCE_INDENT) + "\n",
            Part::Line(line, indent) => screen.wrap(line, *indent) + "\n",
            Part::Fact(line) => format!("{line}\n"),
            Part::Remark(heading, sentence) => {
                let text = format!("{}: {sentence}", screen.heading(heading));
                screen.wrap(&text, SENTENCE_INDENT) + "\n"
            }
            Part::Names(names) => indented(names, NAMES_INDENT, screen, CutRule::Name),
        }
    }
}

fn indented(names: &[String], indent: &str, screen: &Screen, cut: CutRule) -> String {
    let line = |name: &String| format!("{indent}{}\n", cut.cut(screen, name, indent.len()));
    names.iter().map(line).collect()
}

/// A column as text shows it.
struct TextColumn<'t> {
    heading: &'t str,
    column: &'t Column,
    index: usize,
    aspect: Aspect,
}

impl Table {
    /// All columns at their right edge, the name last and at its left.
    fn text(&self, screen: &Screen) -> String {
        if self.is_empty() {
            return String::new();
        }
        let is_narrow = screen.width.is_some_and(|width| width < BESIDE);
        let has_room_beside = self.look.cut != CutRule::Words || !is_narrow;
        // In a file a number does what a bar does.
        let grid = self.grid(screen.width.is_some(), has_room_beside);
        let mut text = String::new();
        if !self.look.heading.is_empty() {
            text += &(screen.heading(&self.look.heading) + "\n");
        }
        if let Some(legend) = self.look.legend {
            text += &(screen.cut_end(legend, 0) + "\n");
        }
        let mut lines = grid.aligned(screen, self.look.cut).into_iter();
        let titles = lines.next().unwrap_or_default();
        text += &(screen.heading(&titles) + "\n");
        for (line, below) in lines.zip(grid.below) {
            text += &(line + "\n");
            text += &indented(&below, INDENT, screen, self.look.cut.below());
        }
        for note in &self.look.notes {
            text += &(screen.wrap(note, 0) + "\n");
        }
        text
    }

    /// The cells as text, the name last, and what is below each row: also the words beside a name
    /// for which there is no room.
    pub(crate) fn grid(&self, with_bars: bool, has_room_beside: bool) -> Grid {
        let labels = self.labels();
        let mut shown: Vec<_> = self
            .columns
            .iter()
            .enumerate()
            .flat_map(|(index, column)| {
                column.shown.iter().map(move |(position, heading, aspect)| {
                    (*position, TextColumn { heading, column, index, aspect: *aspect })
                })
            })
            .collect();
        shown.sort_by_key(|it| it.0);
        shown.retain(|it| it.1.aspect != Aspect::Bar || with_bars);
        let (names, shown): (Vec<_>, Vec<_>) =
            shown.into_iter().map(|it| it.1).partition(|it| it.aspect == Aspect::Name);
        let show = |row: &TableRow, it: &TextColumn<'_>| {
            it.text(&row.cells[it.index], self.names(), &labels)
        };
        let join = |names: Vec<String>| names.join(" → ");
        let rank = self.look.is_ranked.then(|| TextCell::from("#".to_owned()));
        let headings = shown.iter().map(|it| TextCell::from(it.heading.to_owned()));
        let name = join(names.iter().map(|it| it.heading.to_owned()).collect());
        // The titles are at none.
        let mut depths = vec![0];
        let mut lines: Vec<Vec<TextCell>> =
            vec![rank.into_iter().chain(headings).chain([name.into()]).collect()];
        let mut below = Vec::new();
        for (index, row) in self.rows.iter().enumerate() {
            let rank = self.look.is_ranked.then(|| TextCell::from((index + 1).to_string()));
            let cells = shown.iter().map(|it| {
                let percent = it.percent(&row.cells[it.index]);
                TextCell { text: show(row, it), percent }
            });
            let name = join(names.iter().map(|it| show(row, it)).collect());
            depths.push(row.depth);
            let (suffix, next) = match row.suffix.strip_prefix(", ") {
                Some(words) if !has_room_beside => ("", Some(words.to_owned())),
                _ => (&*row.suffix, None),
            };
            lines.push(rank.into_iter().chain(cells).chain([(name + suffix).into()]).collect());
            let paths = self.columns.iter().zip(&row.cells);
            let paths = paths.filter_map(|(column, cell)| self.path(column, cell)).flatten();
            below.push(
                next.into_iter().chain(paths).chain(row.below.iter().cloned()).collect::<Vec<_>>(),
            );
        }
        let bars = usize::from(self.look.is_ranked)..;
        let bars = bars.zip(&shown).filter(|it| it.1.aspect == Aspect::Bar).map(|it| it.0);
        Grid { lines, depths, below, bars: bars.collect() }
    }

    /// The frames of a path as lines.
    fn path(&self, column: &Column, cell: &Cell) -> Option<Vec<String>> {
        let (ColumnKind::Path(unknown), Cell::Path(frames)) = (column.kind, cell) else {
            return None;
        };
        let lines = middle_cut(frames, |&id: &FrameId| crate::frame(self.names(), id));
        Some(if frames.is_empty() && !unknown.is_empty() {
            vec![unknown.to_owned()]
        } else {
            lines
        })
    }
}

/// The cells of a table as text.
pub(crate) struct Grid {
    /// The titles, then the rows; in each the name is last.
    pub(crate) lines: Vec<Vec<TextCell>>,
    /// The level of each line in a tree.
    depths: Vec<usize>,
    /// The lines below each row.
    pub(crate) below: Vec<Vec<String>>,
    /// The columns that are bars.
    bars: Vec<usize>,
}

/// A cell of text, and the share that its colour shows.
pub(crate) struct TextCell {
    pub(crate) text: String,
    percent: Option<f64>,
}

impl From<String> for TextCell {
    fn from(text: String) -> Self {
        Self { text, percent: None }
    }
}

impl TextColumn<'_> {
    /// The share that a cell shows, in percent.
    fn percent(&self, cell: &Cell) -> Option<f64> {
        let (part, total) = self.share(cell)?;
        (total > 0).then(|| part as f64 * 100.0 / total as f64)
    }

    fn share(&self, cell: &Cell) -> Option<(u64, u64)> {
        match (cell, self.aspect) {
            (Cell::Share(part, total), _) => Some((*part, *total)),
            (Cell::Number(number) | Cell::Worded(number, _), Aspect::Share | Aspect::Bar) => {
                Some((*number, self.column.total))
            }
            _ => None,
        }
    }

    fn text(&self, cell: &Cell, symbols: &Symbols, labels: &Labels) -> String {
        let (unit, each_ns) = match self.column.kind {
            ColumnKind::Measure { unit, each_ns } => (unit, each_ns),
            ColumnKind::Number(unit) => (unit, None),
            _ => (Unit::Count, None),
        };
        if self.aspect == Aspect::Bar {
            let bar = self.share(cell).map(|(part, total)| crate::bar(part, total, BAR));
            return format!("{:<BAR$}", bar.unwrap_or_default());
        }
        match (cell, self.aspect) {
            (Cell::Missing(words), _) => (*words).to_owned(),
            (Cell::Number(number) | Cell::Worded(number, _), Aspect::Share) => {
                percent(*number, self.column.total)
            }
            (Cell::Number(number), Aspect::Time) => match each_ns {
                Some(each) => duration(number.saturating_mul(each)),
                None => amount(*number, unit),
            },
            (Cell::Number(number), _) => amount(*number, unit),
            (Cell::Worded(_, words), _) => words.clone(),
            (Cell::Share(part, total), _) => percent(*part, *total),
            (Cell::Bool(is_so), _) => is_so.to_string(),
            (Cell::Text(text), _) => printable(text),
            (Cell::Method(method), _) => labels[method].clone(),
            (Cell::Class(class), _) => crate::class(symbols, *class),
            (Cell::Path(_) | Cell::Methods(..) | Cell::Json(_), _) => String::new(),
        }
    }
}

impl Grid {
    /// The lines of a table, the first of them its titles, no wider than the screen. First bars, then shares
    /// make room for names, and so does indentation.
    fn aligned(&self, screen: &Screen, cut: CutRule) -> Vec<String> {
        let Self { lines, depths, bars, .. } = self;
        let last = lines[0].len() - 1;
        let width =
            |column: usize| lines.iter().map(|cells| cells[column].text.chars().count()).max();
        let mut shown: Vec<_> =
            (0..last).map(|column| (column, width(column).unwrap_or(0))).collect();
        let used = |shown: &[(usize, usize)]| -> usize {
            shown.iter().map(|(_, width)| width + GAP.len()).sum()
        };
        let least = if cut == CutRule::Words { WORDS } else { NAME };
        while screen.width.is_some_and(|width| used(&shown) + least > width) {
            let is_share = |&(column, _): &(usize, usize)| lines[0][column].text.ends_with('%');
            let bar = shown.iter().rposition(|(column, _)| bars.contains(column));
            let first = shown.iter().position(is_share);
            let share = || shown.iter().rposition(is_share).filter(|&it| Some(it) != first);
            let Some(spare) = bar.or_else(share) else { break };
            shown.remove(spare);
        }
        let used = used(&shown);
        let indented = INDENTED.min(screen.name_room(used) / 2);
        let line = |(cells, &depth): (&Vec<TextCell>, &usize)| {
            let mut line = String::new();
            for &(column, width) in &shown {
                let TextCell { text, percent } = &cells[column];
                let text = format!("{text:>width$}");
                line +=
                    &percent.map_or_else(|| text.clone(), |percent| screen.heat(&text, percent));
                line += GAP;
            }
            let indent = match depth {
                _ if depth <= indented => " ".repeat(depth),
                _ => format!("{}{depth}: ", " ".repeat(indented)),
            };
            let name = cut.cut(screen, &cells[last].text, used + indent.len());
            line + &indent + &name
        };
        lines.iter().zip(depths).map(line).collect()
    }
}

/// The items as lines, equal ones in a row as one; of many, the first and the last ones and how many
/// are between.
pub fn middle_cut<T>(items: &[T], line: impl Fn(&T) -> String) -> Vec<String> {
    let mut runs: Vec<(String, usize)> = Vec::new();
    for item in items {
        let line = line(item);
        match runs.last_mut() {
            Some((last, count)) if *last == line => *count += 1,
            _ => runs.push((line, 1)),
        }
    }
    let between = INNER..runs.len().saturating_sub(OUTER).max(INNER);
    // A line that says `1 more frame` would be no shorter than the frame.
    let cut = between.len() > 1;
    let hidden: usize = runs[..between.end.min(runs.len())].iter().skip(INNER).map(|it| it.1).sum();
    let mut lines = Vec::new();
    for (index, (line, count)) in runs.into_iter().enumerate() {
        match count {
            _ if cut && between.contains(&index) => {
                if index == between.start {
                    lines.push(format!("… {hidden} more frames …"));
                }
            }
            1 => lines.push(line),
            _ => lines.push(format!("{line} × {count}")),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(titles: &[&'static str], rows: &[(&[&str], &[&str])], width: Option<usize>) -> String {
        let symbols = Symbols::default();
        let mut table = LazyTable::of(&symbols, "", rows);
        let last = titles.len() - 1;
        for (index, &title) in titles.iter().enumerate() {
            let column = match index == last {
                true => Column::words().name(title),
                false => Column::words().at(index as u8, title),
            };
            table = table.column(column, move |row| row.0[index]);
        }
        let lines = |lines: &[&str]| lines.iter().map(|&it| it.to_owned()).collect();
        let table = table.each(move |item, row| row.below = lines(item.1)).table().ranked();
        text([&vec![table.into()]], &Screen { width, bold: false })
    }

    const ROWS: [(&[&str], &[&str]); 2] =
        [(&["12345", "a.B.c"], &["5 samples"]), (&["1", "org.example.Main$Inner.method"], &[])];

    /// Rows of several names: what is beside them has a line of its own on narrow terminals.
    #[test]
    fn rows_of_words_keep_their_beginning() {
        let symbols = Symbols::default();
        let names = [
            ("com.acme.cache.Order 0x18", ", held by java.util.HashMap 0x20 .table"),
            ("a.B", " (2)"),
        ];
        let table = || {
            LazyTable::of(&symbols, String::new(), &names)
                .column(Column::words().name("object"), |it| it.0)
                .each(|it, row| it.1.clone_into(&mut row.suffix))
                .table()
        };
        let shown = |width| {
            text(
                [&vec![Part::Table(Table::from(table()).of_words())]],
                &Screen { width: Some(width), bold: false },
            )
        };
        assert_eq!(
            shown(200),
            "object\ncom.acme.cache.Order 0x18, held by java.util.HashMap 0x20 .table\na.B (2)\n"
        );
        let narrow = "object\ncom.acme.cache.Order 0x18\n        held by j.u.HashMap 0…\na.B (2)\n";
        assert_eq!(shown(30), narrow);
    }

    #[test]
    fn numbers_stand_at_their_right_edge() {
        assert_eq!(
            shown(&["self", "method"], &ROWS, None),
            concat!(
                "#   self  method\n",
                "1  12345  a.B.c\n",
                "        5 samples\n",
                "2      1  org.example.Main$Inner.method\n",
            )
        );
    }

    #[test]
    fn shares_make_room_for_names() {
        let titles = ["self %", "self", "total %", "total", "calls %", "calls", "method"];
        let cells = ["1.00", "12 ms", "2.00", "24 ms", "3.00", "36", "org.example.Main.method"];
        let text = |width| shown(&titles, &[(&cells, &[])], width);
        let shares = |width| text(width).lines().next().unwrap().matches('%').count();
        assert_eq!([shares(None), shares(Some(78)), shares(Some(77))], [3, 3, 2]);
        assert_eq!([shares(Some(69)), shares(Some(68)), shares(Some(20))], [2, 1, 1]);
        assert!(text(Some(69)).contains(cells[6]));
    }

    #[test]
    fn bars_are_on_wide_terminals_alone() {
        let symbols = Symbols::default();
        let text = |width, bold| {
            let table = LazyTable::of(&symbols, "", [7_u64, 1])
                .column(Column::count("n").of(8).share_at(0, "%").bar_at(1), |&it| it)
                .column(Column::words().name("name"), |_| "org.example.Main.method")
                .table();
            text([&vec![table.into()]], &Screen { width, bold })
        };
        let bars = "87.50  ███████   org.example.Main.method";
        assert_eq!(text(Some(80), false).lines().nth(1), Some(bars));
        let plain = "87.50  org.example.Main.method";
        assert_eq!(text(None, false).lines().nth(1), Some(plain));
        assert_eq!(text(Some(40), false).lines().nth(1), Some(plain));
        let hot = "\x1b[31m87.50\x1b[0m  \x1b[31m███████ \x1b[0m  org.example.Main.method";
        assert_eq!(text(Some(80), true).lines().nth(1), Some(hot));
    }

    #[test]
    fn no_line_is_wider_than_the_screen() {
        let text = shown(&["self", "method"], &ROWS, Some(33));
        assert!(text.lines().all(|line| line.chars().count() <= 33), "{text}");
        assert!(text.contains("o.e.Main$Inner.method"), "{text}");
    }

    #[test]
    fn tables_without_rows_and_empty_sections_are_left_out() {
        assert_eq!(shown(&["self", "method"], &[], None), "");
        let sections = [vec![], vec![Part::Sentence("one".into())], vec![Part::Names(vec![])]];
        assert_eq!(text(&sections, &Screen::default()), "one\n");
    }

    #[test]
    fn long_paths_keep_both_ends() {
        let shown = |count: u32| {
            let items: Vec<_> = (0..count).collect();
            middle_cut(&items, u32::to_string)
        };
        assert_eq!(shown(0).len(), 0);
        assert_eq!(shown(13).len(), 13);
        let long = shown(100);
        assert_eq!(long.len(), 13);
        assert_eq!((&*long[0], &*long[9], &*long[12]), ("0", "… 88 more frames …", "99"));
    }

    #[test]
    fn recursion_is_one_line() {
        let frames = ["fib", "fib", "fib", "a", "main"];
        assert_eq!(middle_cut(&frames, |it| it.to_string()), ["fib × 3", "a", "main"]);
    }
}
