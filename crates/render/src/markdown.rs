//! Sections as Markdown of GitHub's dialect, on few lines: a comment of a pull request.

use crate::table::Table;
use crate::{Part, Section};

/// Stands at the end where lines were cut off.
const CUT: &str = "_There is more; `--top N` shows it._";
/// The lines of a table above its rows.
const TITLES: usize = 2;
/// Rows of a table, or lines of a list, that are worth their place.
const LEAST_ROWS: usize = 1;

/// Lines that belong together; an empty line separates blocks.
#[derive(Debug, Default)]
struct Block {
    lines: Vec<String>,
    /// The lines before those that can be cut off.
    head: usize,
}

/// The sections as Markdown, on at most this many lines where a number is given.
pub fn markdown<'a>(
    sections: impl IntoIterator<Item = &'a Section>,
    most_lines: Option<usize>,
) -> String {
    let blocks = sections.into_iter().flat_map(blocks);
    let mut lines: Vec<String> = Vec::new();
    let most = most_lines.unwrap_or(usize::MAX);
    let mut is_cut = false;
    for mut block in blocks {
        let gap = usize::from(!lines.is_empty());
        let left = most.saturating_sub(lines.len() + gap);
        if block.lines.len() > left {
            is_cut = true;
            // An empty line and the sentence on the rest come after it.
            let left = left.saturating_sub(2);
            if left < block.head + LEAST_ROWS {
                break;
            }
            block.lines.truncate(left);
        }
        lines.extend((gap > 0).then(String::new));
        lines.append(&mut block.lines);
        if is_cut {
            break;
        }
    }
    if is_cut {
        lines.truncate(most.saturating_sub(2));
        lines.extend([String::new(), CUT.to_owned()]);
    }
    lines.into_iter().map(|line| line + "\n").collect()
}

/// The parts of a section; lines that follow each other are one list.
fn blocks(section: &Section) -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::new();
    let mut list = Block::default();
    let paragraph = |text: String| Block { lines: vec![text], head: 0 };
    for part in section {
        let items: Vec<&str> = match part {
            Part::Fact(line) | Part::Line(line, _) => vec![line],
            Part::Names(names) => names.iter().map(String::as_str).collect(),
            _ => Vec::new(),
        };
        if !items.is_empty() {
            list.lines.extend(items.into_iter().map(|item| format!("- {}", escaped(item.trim()))));
            continue;
        }
        blocks.extend((!list.lines.is_empty()).then(|| std::mem::take(&mut list)));
        match part {
            Part::Heading(heading) => blocks.push(paragraph(format!("**{}**", escaped(heading)))),
            Part::Sentence(sentence) => blocks.push(paragraph(escaped(sentence))),
            Part::Remark(heading, sentence) => {
                blocks.push(paragraph(format!("**{}**: {}", escaped(heading), escaped(sentence))));
            }
            Part::Table(table) => blocks.extend(of_table(table)),
            Part::Fact(_) | Part::Line(..) | Part::Names(_) => {}
        }
    }
    blocks.extend((!list.lines.is_empty()).then_some(list));
    blocks
}

/// A table with its heading, names as code, and the first line below each row beside its name.
fn of_table(table: &Table) -> Vec<Block> {
    if table.is_empty() {
        return Vec::new();
    }
    let grid = table.grid(false, true);
    let mut lines = grid.lines.iter();
    let titles = lines.next().map_or(&[][..], |it| &it[..]);
    let row = |cells: Vec<String>| format!("| {} |", cells.join(" | "));
    let head = titles.iter().map(|it| escaped(&it.text)).collect();
    let edges = (0..titles.len()).map(|it| if it + 1 == titles.len() { ":--" } else { "--:" });
    let mut block =
        Block { lines: vec![row(head), row(edges.map(str::to_owned).collect())], head: TITLES };
    for (cells, below) in lines.zip(&grid.below) {
        let Some((name, cells)) = cells.split_last() else { continue };
        let mut name = code(&name.text);
        if let Some(first) = below.first() {
            name += &format!("<br>{}", escaped(first.trim()));
        }
        let cells = cells.iter().map(|it| escaped(&it.text)).chain([name]);
        block.lines.push(row(cells.collect()));
    }
    let heading = &table.look.heading;
    let heading = (!heading.is_empty())
        .then(|| Block { lines: vec![format!("**{}**", escaped(heading))], head: 0 });
    let notes = table.look.notes.iter().map(|note| Block { lines: vec![escaped(note)], head: 0 });
    heading.into_iter().chain([block]).chain(notes).collect()
}

/// The text as itself: what Markdown or HTML take for marks is escaped.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        match c {
            '<' => escaped += "&lt;",
            '&' => escaped += "&amp;",
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '~' | '#' | '@' => escaped.extend(['\\', c]),
            _ => escaped.push(c),
        }
    }
    escaped
}

/// A name as code. In a table `|` ends a cell in code, too.
fn code(name: &str) -> String {
    if name.is_empty() {
        return String::new();
    }
    let name = name.replace('|', "\\|");
    match name.contains('`') {
        true => format!("`` {name} ``"),
        false => format!("`{name}`"),
    }
}

#[cfg(test)]
mod tests {
    use perk_profile::Symbols;

    use super::*;
    use crate::{Column, LazyTable};

    fn table(names: &[&str]) -> Part {
        let symbols = Symbols::default();
        let rows: Vec<_> = names.iter().map(|name| (*name).to_owned()).collect();
        let table = LazyTable::of(&symbols, "Top", rows)
            .column(Column::words().at(0, "n"), |it| it.len().to_string())
            .column(Column::other("name").name("method"), |it| it.clone())
            .table();
        Part::table(table)
    }

    #[test]
    fn tables_are_tables_and_names_are_code() {
        let section = vec![Part::Sentence("a_b <c>".into()), table(&["a.B|c", "d.<init>"])];
        let expected = "a\\_b &lt;c>\n\n**Top**\n\n| n | method |\n| --: | :-- |\n| 5 | `a.B\\|c` |\n\
                        | 8 | `d.<init>` |\n";
        assert_eq!(markdown([&section], None), expected);
    }

    #[test]
    fn what_is_cut_off_is_said_on_the_last_line() {
        let names = ["a"; 40];
        let section = vec![Part::Sentence("first".into()), table(&names), table(&names)];
        for most in [10, 20, 45] {
            let text = markdown([&section], Some(most));
            assert_eq!(text.lines().count(), most, "{text}");
            assert!(text.ends_with(&format!("\n\n{CUT}\n")), "{text}");
        }
        assert!(!markdown([&section], Some(1000)).contains(CUT));
    }

    #[test]
    fn lines_are_a_list() {
        let section = vec![Part::Fact("one".into()), Part::Line("two".into(), 4)];
        assert_eq!(markdown([&section], None), "- one\n- two\n");
    }
}
