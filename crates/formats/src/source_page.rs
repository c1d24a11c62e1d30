//! Annotated source files as one HTML page: the numbers of each line beside its text, and the lines
//! that never ran. It needs no network.

use std::fmt;
use std::io::{self, Write};

use perk_analysis::source::{AnnotatedFile, SourceFile, SourceLine};
use perk_profile::units::printable;
use serde::Serialize;

use crate::page::{HtmlPage, Number};

const PAGE: HtmlPage = HtmlPage {
    html: "source/page.html",
    styles: &["tables.css", "source/lines.css", "source/page.css"],
    module: "source/page.js",
    data_begin: "<script type=\"application/json\" id=\"perk-source\">",
};

/// A page of annotated source files.
pub struct SourcePage<'a> {
    /// The heading.
    pub title: &'a str,
    /// The name of the metric, for people.
    pub metric: String,
    /// Sentences about all files.
    pub facts: &'a [String],
    /// The files, in the order of the table.
    pub files: &'a [AnnotatedFile],
    /// The number that shares are of.
    pub total: u64,
    /// The largest number of a line, of which shades are.
    pub hottest: u64,
    /// The text of a number of the metric.
    pub amount: Box<dyn Fn(u64) -> String + 'a>,
    /// Whether lines have totals other than their own numbers.
    pub has_totals: bool,
    /// Whether it is known which instructions ran.
    pub has_coverage: bool,
}

impl fmt::Debug for SourcePage<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SourcePage").field("title", &self.title).finish_non_exhaustive()
    }
}

impl SourcePage<'_> {
    /// Writes the page.
    ///
    /// # Errors
    /// `out` does not take it.
    pub fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        PAGE.write(self.title, &self.data(self.files.iter().map(|it| self.file(it)).collect()), out)
    }

    /// Writes the data alone; of a list without the lines and with the files whose source is missing.
    ///
    /// # Errors
    /// `out` does not take it.
    pub fn write_data(
        &self,
        is_list: bool,
        missing: &[SourceFile],
        out: &mut dyn Write,
    ) -> io::Result<()> {
        let files = self.files.iter().map(|it| match is_list {
            true => self.summary(&it.file, &it.path, it.odd_line_count() > 0),
            false => self.file(it),
        });
        let missing = missing
            .iter()
            .map(|it| PageFile { is_missing: true, ..self.summary(it, &it.path(), false) });
        serde_json::to_writer(out, &self.data(files.chain(missing).collect()))?;
        Ok(())
    }

    fn data(&self, files: Vec<PageFile>) -> PageData {
        PageData {
            metric: printable(&self.metric),
            facts: self.facts.iter().map(|it| printable(it)).collect(),
            has_totals: self.has_totals,
            has_coverage: self.has_coverage,
            hottest: self.share(self.hottest),
            files,
        }
    }

    fn share(&self, number: u64) -> f64 {
        if self.total == 0 { 0.0 } else { number as f64 * 100.0 / self.total as f64 }
    }

    fn file(&self, annotated: &AnnotatedFile) -> PageFile {
        let AnnotatedFile { file, path, text } = annotated;
        let column = |number: fn(&SourceLine) -> u64| {
            file.lines.iter().map(|it| Number(number(it))).collect::<Vec<_>>()
        };
        let amounts = |number: fn(&SourceLine) -> u64| Amounts {
            share: file.lines.iter().map(|it| self.share(number(it))).collect(),
            text: file.lines.iter().map(|it| (self.amount)(number(it))).collect(),
        };
        PageFile {
            // A tab is no character that hides others.
            text: text
                .lines()
                .map(|line| line.split('\t').map(printable).collect::<Vec<_>>().join("\t"))
                .collect(),
            numbers: Some(LineColumns {
                line: file.lines.iter().map(|it| it.line).collect(),
                own: amounts(|it| it.own),
                total: self.has_totals.then(|| amounts(|it| it.total)),
                executions: column(|it| it.counts.executions),
                instructions: column(|it| it.counts.instructions),
                run: column(|it| it.counts.run),
            }),
            ..self.summary(file, path, annotated.odd_line_count() > 0)
        }
    }

    /// A file without its lines.
    fn summary(&self, file: &SourceFile, path: &str, is_odd: bool) -> PageFile {
        let lines = file.covered_lines();
        PageFile {
            path: printable(path),
            name: printable(&file.path()),
            share: self.share(file.own),
            own: (self.amount)(file.own),
            lines: [lines.all, lines.run, lines.in_part],
            is_odd,
            is_missing: false,
            methods: [file.method_count, file.methods_run],
            text: Vec::new(),
            numbers: None,
        }
    }
}

/// The data of the page.
#[derive(Serialize)]
struct PageData {
    metric: String,
    facts: Vec<String>,
    has_totals: bool,
    has_coverage: bool,
    /// The largest share of a line, in percent.
    hottest: f64,
    files: Vec<PageFile>,
}

#[derive(Serialize)]
struct PageFile {
    path: String,
    /// The package and the name that the class files give.
    name: String,
    /// Of all, in percent.
    share: f64,
    own: String,
    /// All with instructions, those that ran, those of them that ran in part.
    lines: [u64; 3],
    /// All with instructions, those that ran.
    methods: [u64; 2],
    /// It cannot be the source of the classes.
    is_odd: bool,
    /// Its text was not found.
    is_missing: bool,
    text: Vec<String>,
    /// `None` in a list of files.
    numbers: Option<LineColumns>,
}

/// The columns of the lines with numbers.
#[derive(Serialize)]
struct LineColumns {
    line: Vec<u32>,
    own: Amounts,
    total: Option<Amounts>,
    executions: Vec<Number>,
    instructions: Vec<Number>,
    run: Vec<Number>,
}

/// Shares in percent, and the numbers as text.
#[derive(Serialize)]
struct Amounts {
    share: Vec<f64>,
    text: Vec<String>,
}

#[cfg(test)]
mod tests {
    use perk_analysis::source::{SourceFile, SourceText};

    use super::*;

    fn page(title: &str, text: &str) -> String {
        let line = SourceLine { line: 1, own: 3, ..SourceLine::default() };
        let file = SourceFile { own: 3, lines: vec![line], ..SourceFile::default() };
        let text = SourceText::new(text.as_bytes());
        let page = SourcePage {
            title,
            metric: "bytecodes".to_owned(),
            facts: &[],
            files: &[AnnotatedFile { file, path: "A.java".to_owned(), text }],
            total: 3,
            hottest: 3,
            amount: Box::new(|number| number.to_string()),
            has_totals: false,
            has_coverage: true,
        };
        let mut out = Vec::new();
        page.write(&mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn the_page_asks_nothing_of_the_network() {
        let html = page("x", "class A {}");
        for word in ["http:", "https:", "src=", "@import", "url(", "fetch(", "{{"] {
            assert!(!html.contains(word), "{word}");
        }
    }

    #[test]
    fn sources_are_text() {
        let script = "</script><script>alert(1)</script>\u{202e}";
        let html = page(script, &format!("\t// {script}\tx"));
        assert!(!html.contains("alert(1)</script>") && !html.contains('\u{202e}'), "{html:.300}");
        assert_eq!(html.matches("</script>").count(), 2);
        assert!(html.contains("\\t// \\u003c/script>"), "{html}");
        assert!(html.contains("\\\\u{202e}\\tx"), "{html}");
    }
}
