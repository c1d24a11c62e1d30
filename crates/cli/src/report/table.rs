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
        let widths: Vec<_> = (0..last).map(width).collect();
        let used = widths.iter().map(|width| width + GAP.len()).sum();
        let line = |cells: &mut dyn Iterator<Item = &str>| {
            let mut line = String::new();
            for &width in &widths {
                let cell = cells.next().unwrap_or_default();
                line += &format!("{cell:>width$}{GAP}");
            }
            line + &screen.cut(cells.next().unwrap_or_default(), used)
        };
        let mut text = screen.heading(&line(&mut self.titles.iter().copied())) + "\n";
        for row in &self.rows {
            text += &line(&mut row.cells.iter().map(String::as_str));
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
    fn no_line_is_wider_than_the_screen() {
        let text = table().render(&Screen { width: Some(34), bold: false });
        assert!(text.lines().all(|line| line.chars().count() <= 34), "{text}");
        assert!(text.contains("…mple.Main$Inner.method"), "{text}");
    }
}
