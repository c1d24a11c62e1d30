//! Tables of numbers with a name in the last column.

use crate::show::Screen;

/// A table: all columns stand at their right edge, the last one at its left.
#[derive(Debug)]
pub(crate) struct Table {
    pub(crate) titles: Vec<&'static str>,
    pub(crate) rows: Vec<Row>,
}

/// A row, and lines that explain it.
#[derive(Debug)]
pub(crate) struct Row {
    pub(crate) cells: Vec<String>,
    pub(crate) below: Vec<String>,
}

/// A terminal has this much room for the last column, if it can be had by leaving out shares: all of
/// them but the first stand beside the numbers they are of.
const NAME: usize = 28;
const GAP: &str = "  ";
const INDENT: &str = "        ";

impl Table {
    /// The table as text, no line wider than the screen.
    pub(crate) fn render(&self, screen: &Screen) -> String {
        let last = self.titles.len() - 1;
        let width = |column: usize| {
            let cells = self.rows.iter().map(|row| row.cells[column].chars().count());
            cells.chain([self.titles[column].len()]).max().unwrap_or(0)
        };
        let mut shown: Vec<_> = (0..last).map(|column| (column, width(column))).collect();
        let used = |shown: &[(usize, usize)]| -> usize {
            shown.iter().map(|(_, width)| width + GAP.len()).sum()
        };
        while screen.width.is_some_and(|width| used(&shown) + NAME > width) {
            let is_share = |&(column, _): &(usize, usize)| self.titles[column].ends_with('%');
            let first = shown.iter().position(is_share);
            let Some(spare) = shown.iter().rposition(is_share).filter(|&it| Some(it) != first)
            else {
                break;
            };
            shown.remove(spare);
        }
        let line = |cells: &[&str]| {
            let mut line = String::new();
            for &(column, width) in &shown {
                line += &format!("{:>width$}{GAP}", cells[column]);
            }
            line + &screen.cut(cells[last], used(&shown))
        };
        let mut text = screen.heading(&line(&self.titles)) + "\n";
        for row in &self.rows {
            let cells: Vec<_> = row.cells.iter().map(String::as_str).collect();
            text += &line(&cells);
            text.push('\n');
            for below in &row.below {
                text += INDENT;
                text += &screen.cut(below, INDENT.len());
                text.push('\n');
            }
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Table {
        let row = |cells: [&str; 3], below: &[&str]| Row {
            cells: cells.map(str::to_owned).to_vec(),
            below: below.iter().map(|&line| line.to_owned()).collect(),
        };
        Table {
            titles: vec!["#", "self", "method"],
            rows: vec![
                row(["1", "12345", "a.B.c"], &["5 samples"]),
                row(["10", "1", "org.example.Main$Inner.method"], &[]),
            ],
        }
    }

    #[test]
    fn numbers_stand_at_their_right_edge() {
        assert_eq!(
            table().render(&Screen::default()),
            concat!(
                " #   self  method\n",
                " 1  12345  a.B.c\n",
                "        5 samples\n",
                "10      1  org.example.Main$Inner.method\n",
            )
        );
    }

    #[test]
    fn shares_make_room_for_names() {
        let titles = vec!["self %", "self", "total %", "total", "calls %", "calls", "method"];
        let name = "org.example.Main.method";
        let cells = ["1.00", "12 ms", "2.00", "24 ms", "3.00", "36", name];
        let row = Row { cells: cells.map(str::to_owned).to_vec(), below: Vec::new() };
        let table = Table { titles, rows: vec![row] };
        let shown = |width| {
            let text = table.render(&Screen { width, bold: false });
            text.lines().next().unwrap().matches('%').count()
        };
        assert_eq!([shown(None), shown(Some(75)), shown(Some(74))], [3, 3, 2]);
        assert_eq!([shown(Some(66)), shown(Some(65)), shown(Some(20))], [2, 1, 1]);
        assert!(table.render(&Screen { width: Some(66), bold: false }).contains(name));
    }

    #[test]
    fn no_line_is_wider_than_the_screen() {
        let text = table().render(&Screen { width: Some(34), bold: false });
        assert!(text.lines().all(|line| line.chars().count() <= 34), "{text}");
        assert!(text.contains("…mple.Main$Inner.method"), "{text}");
    }
}
