//! Annotated source files: the numbers of each line beside its text, and the lines that never ran.

mod find;

use std::io::{self, Write};
use std::path::PathBuf;

use perk_analysis::source::excerpt::{self, Piece};
use perk_analysis::source::{
    self, AnnotatedFile, CoverageMetrics, CoveredLines, LineCounts, SourceFile, SourceLine,
};
use perk_formats::source_page::SourcePage;
use perk_jamaica::metric;
use perk_profile::units::{percent, plural, printable};
use perk_profile::{Metric, Profile, Unit};
use perk_render::{Cell, Column, Json, LazyTable, Part, Rows, Section};

use super::metric::MetricView;
use super::source_part::SourcePart;
use find::SourceMatches;

/// Columns that a tab represents, up to the next multiple of it.
const TAB: usize = 4;
/// Stands above a file that cannot be the source.
const ODD: &str =
    "Not the source of these classes: lines with numbers are blank in it or after its end.";
/// Names in a sentence, at most.
const NAMES: usize = 3;

/// The source files of a profile.
#[derive(Debug)]
pub(super) struct Sources {
    /// The metric of the numbers.
    metric: Metric,
    found: Vec<AnnotatedFile>,
    missing: Vec<SourceFile>,
    /// The files of [`Sources::found`] that others could be as well.
    ambiguous: Vec<String>,
    has_totals: bool,
    has_coverage: bool,
    /// The largest number of a line, of all files.
    hottest: u64,
    /// Show the whole files.
    is_whole: bool,
}

/// The metrics of coverage, where the profile has them.
pub(super) fn coverage_metrics(profile: &Profile) -> Option<CoverageMetrics> {
    let instructions = Metric::find(profile, metric::LINE_INSTRUCTIONS)?;
    let [executions, run] = [metric::LINE_EXECUTIONS, metric::LINE_INSTRUCTIONS_RUN]
        .map(|name| Metric::other(name, Unit::Count));
    Some(CoverageMetrics { executions, instructions, run })
}

/// Whether a metric is one of [`coverage_metrics`].
pub(super) fn is_of_coverage(it: &Metric) -> bool {
    let names = [metric::LINE_EXECUTIONS, metric::LINE_INSTRUCTIONS, metric::LINE_INSTRUCTIONS_RUN];
    it.is_other() && names.contains(&it.name())
}

/// The metric of executed bytecodes.
pub(super) fn bytecodes() -> Metric {
    Metric::other(metric::BYTECODES, Unit::Count)
}

impl Sources {
    /// Looks for the sources of the numbers of `view` below `folders`; of one file alone if `only` names it.
    ///
    /// # Errors
    /// One of `folders` cannot be read, or is not a folder.
    pub(super) fn find(
        view: &MetricView<'_>,
        folders: &[PathBuf],
        (only, is_whole): (Option<&str>, bool),
        notes: &mut Vec<String>,
    ) -> anyhow::Result<Self> {
        let coverage = coverage_metrics(view.profile);
        let mut files = source::files(view.profile, &view.numbers().rows, coverage.as_ref());
        let lines = || files.iter().flat_map(|file| &file.lines);
        let has_totals = lines().any(|line| line.total != line.own);
        let hottest = lines().map(|line| line.own).max().unwrap_or(0);
        files.retain(|file| only.is_none_or(|path| file.path() == path));
        let SourceMatches { found, missing, ambiguous } = find::find(folders, files, notes)?;
        let metric = view.metric.clone();
        let has_coverage = coverage.is_some();
        Ok(Self { metric, found, missing, ambiguous, has_totals, has_coverage, hottest, is_whole })
    }

    /// The metric of the numbers.
    pub(super) fn metric(&self) -> &Metric {
        &self.metric
    }

    /// Why there is nothing to show, if that is so.
    pub(super) fn nothing(&self) -> Option<String> {
        match (self.found.is_empty(), self.missing.len() as u64) {
            (true, 0) => Some("no line numbers of source files".to_owned()),
            (true, count) => Some(format!(
                "{}, and --source has none of them: {}",
                plural(count, "source file"),
                self.missing_names()
            )),
            (false, _) => None,
        }
    }

    fn missing_names(&self) -> String {
        names(&self.missing.iter().map(SourceFile::path).collect::<Vec<_>>())
    }

    /// The numbers of all files, and what there is to know about them, in sentences.
    pub(super) fn facts(&self, view: &MetricView<'_>) -> Vec<String> {
        let total = view.all;
        let metric = self.metric.title();
        let share = |number| format!("{} % of {metric}", percent(number, total));
        let found = self.found.iter().map(|it| it.file.own).fold(0, u64::saturating_add);
        let missing = self.missing.iter().map(|it| it.own).fold(0, u64::saturating_add);
        let mut all = format!("{} with {}", plural(self.found.len() as u64, "file"), share(found));
        if self.has_coverage {
            let mut lines = CoveredLines::default();
            let (mut methods, mut methods_run) = (0, 0);
            for AnnotatedFile { file, .. } in &self.found {
                let CoveredLines { all, run, in_part } = file.covered_lines();
                lines.all += all;
                lines.run += run;
                lines.in_part += in_part;
                methods += file.method_count;
                methods_run += file.methods_run;
            }
            all += &format!(
                ": {}, {} of them in part; {methods_run} of {} run ({} %)",
                covered(lines),
                lines.in_part,
                plural(methods, "method"),
                percent(methods_run, methods)
            );
        }
        let mut facts = vec![all];
        if !self.missing.is_empty() {
            let files = plural(self.missing.len() as u64, "file");
            facts.push(format!(
                "no source of {files} with {}: {}",
                share(missing),
                self.missing_names()
            ));
        }
        let lineless = total.saturating_sub(found.saturating_add(missing));
        if percent(lineless, total) != percent(0, total) {
            facts.push(format!("{} have no source line", share(lineless)));
        }
        if !self.ambiguous.is_empty() {
            facts.push(format!(
                "several sources fit, the first by path is taken: {} ({})",
                names(&self.ambiguous),
                plural(self.ambiguous.len() as u64, "file")
            ));
        }
        let odd = self.found.iter().filter(|it| it.odd_line_count() > 0);
        let odd: Vec<_> = odd.map(|it| it.path.clone()).collect();
        if !odd.is_empty() {
            facts.push(format!(
                "not the source of these classes, as lines with numbers are blank or after the end: {} ({})",
                names(&odd),
                plural(odd.len() as u64, "file")
            ));
        }
        facts
    }

    /// The files for people: all, and the first `blocks` of them line by line.
    pub(super) fn sections<'t>(
        &'t self,
        view: &'t MetricView<'_>,
        top: usize,
        blocks: usize,
    ) -> Vec<Section> {
        let mut files = vec![Part::Heading(view.title("Source files"))];
        files.extend(self.facts(view).into_iter().map(Part::Sentence));
        files.push(Part::table(self.files(view).top(top)));
        let mut all = vec![files];
        for file in self.found.iter().take(blocks) {
            let count = file.text.len();
            let pieces = match self.is_whole {
                true => excerpt::whole(count),
                false => excerpt::excerpt(&file.file, count, view.all),
            };
            let lines = self.lines(view, pieces.into_iter().flat_map(|it| rows(file, it)));
            let mut table = lines.headed(self.heading(view, file));
            if file.odd_line_count() > 0 {
                table = table.legend(ODD);
            }
            all.push(vec![Part::table(table)]);
        }
        if self.found.len() > blocks {
            let more = plural((self.found.len() - blocks) as u64, "more file");
            all.push(vec![Part::Sentence(format!("and {more} (--top)"))]);
        }
        all
    }

    /// A part of a page of source files, as its modules read it; `None` where there are none.
    pub(super) fn data(
        &self,
        view: &MetricView<'_>,
        part: &SourcePart,
    ) -> io::Result<Option<Vec<u8>>> {
        let missing = match part {
            SourcePart::List => &*self.missing,
            SourcePart::File(_) => &[],
        };
        if self.found.is_empty() && missing.is_empty() {
            return Ok(None);
        }
        let mut data = Vec::new();
        let facts = self.facts(view);
        self.page(view, "", &facts).write_data(*part == SourcePart::List, missing, &mut data)?;
        Ok(Some(data))
    }

    /// Writes all files as an HTML page.
    pub(super) fn write_page(
        &self,
        view: &MetricView<'_>,
        title: &str,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        self.page(view, title, &self.facts(view)).write(out)
    }

    fn page<'p>(
        &'p self,
        view: &'p MetricView<'_>,
        title: &'p str,
        facts: &'p [String],
    ) -> SourcePage<'p> {
        SourcePage {
            title,
            metric: self.metric.title(),
            facts,
            files: &self.found,
            total: view.all,
            hottest: self.hottest,
            amount: Box::new(|number| view.number(number)),
            has_totals: self.has_totals,
            has_coverage: self.has_coverage,
        }
    }

    /// `src/Main.java: 12.50 % of bytecodes, 3 of 4 lines run (75.00 %)`
    fn heading(
        &self,
        view: &MetricView<'_>,
        AnnotatedFile { file, path, .. }: &AnnotatedFile,
    ) -> String {
        let share = percent(file.own, view.all);
        let metric = self.metric.title();
        let lines = match self.has_coverage {
            true => format!(", {}", covered(file.covered_lines())),
            false => String::new(),
        };
        format!("{}: {share} % of {metric}{lines}", printable(path))
    }

    /// A row for each file.
    fn files<'t>(&'t self, view: &'t MetricView<'_>) -> LazyTable<'t> {
        let symbols = &view.profile.symbols;
        let own = view.measure("self").share_at(0, "self %").time_at(1, "self");
        let rows = LazyTable::of(symbols, "", &self.found).column(own, |it| it.file.own);
        let rows = match self.has_coverage {
            false => rows,
            true => {
                rows.column(Column::words().at(2, "lines run %"), |it| {
                    let lines = it.file.covered_lines();
                    Cell::Share(lines.run, lines.all)
                })
                .columns(
                    [
                        Column::count("line_count").at(3, "lines"),
                        Column::count("line_run_count").at(4, "run"),
                        Column::count("line_run_in_part_count").at(5, "in part"),
                    ],
                    |it| {
                        let lines = it.file.covered_lines();
                        [lines.all, lines.run, lines.in_part].map(Cell::Number)
                    },
                )
                .column(Column::words().at(6, "never run"), |it| {
                    let lines = it.file.covered_lines();
                    lines.all - lines.run
                })
                .columns(
                    [Column::count("instruction_count"), Column::count("instruction_run_count")],
                    |it| [it.file.counts().instructions, it.file.counts().run].map(Cell::Number),
                )
                .columns([Column::count("method_count"), Column::count("method_run_count")], |it| {
                    [it.file.method_count, it.file.methods_run].map(Cell::Number)
                })
            }
        };
        rows.column(Column::other("path").name("file"), |it| &*it.path)
            .column(Column::other("file"), |it| it.file.path())
            .column(Column::count("odd_line_count"), |it| it.odd_line_count() as u64)
            .column(Column::other("lines"), |it| self.lines(view, code(it)))
            .table()
            .ranked()
    }

    /// A row for each line with numbers of each file.
    pub(super) fn table<'t>(&'t self, view: &'t MetricView<'_>) -> LazyTable<'t> {
        self.lines(view, self.found.iter().flat_map(code))
    }

    fn lines<'t>(
        &'t self,
        view: &'t MetricView<'_>,
        rows: impl IntoIterator<Item = LineRow<'t>>,
    ) -> LazyTable<'t> {
        let symbols = &view.profile.symbols;
        let own = view.measure("self").share_at(0, "self %").time_at(1, "self");
        let total = view.measure("total").share_at(2, "total %").time_at(3, "total");
        let total = total.text_if(self.has_totals);
        let rows = LazyTable::of(symbols, "", rows)
            .column(MetricView::metric_column(), |_| view.name())
            .column(Column::other("path").no_json(), |row| &*row.file.path)
            .column(Column::other("file").no_json(), |row| row.file.file.path())
            .column(Column::other("line").at(6, "line"), |row| row.line())
            .column(own, |row| row.number(row.numbers()?.own))
            .column(total, |row| row.number(row.numbers()?.total));
        let rows = match self.has_coverage {
            false => rows,
            true => coverage_columns(rows, LineRow::counts, 4),
        };
        rows.column(Column::other("source"), |row| row.text())
            .column(Column::words().name("source"), |row| row.shown())
            .table()
            .cut_at_end()
    }

    /// Everything, row by row; the first `top` files.
    pub(super) fn report<'t>(&'t self, view: &'t MetricView<'_>, top: usize) -> Json {
        let missing = LazyTable::of(&view.profile.symbols, "", &self.missing)
            .column(view.measure("self"), |it| it.own)
            .column(Column::other("file"), |it| it.path())
            .table();
        Json::object([
            ("metric", view.name().into()),
            ("unit", view.unit().name().into()),
            ("total", view.all.into()),
            ("files", self.files(view).top(top).into()),
            ("missing", missing.top(top).into()),
        ])
    }
}

/// `A.java, B.java, …`
fn names(all: &[String]) -> String {
    let more = if all.len() > NAMES { ", …" } else { "" };
    printable(&(all[..all.len().min(NAMES)].join(", ") + more))
}

/// `3 of 4 lines run (75.00 %)`
fn covered(lines: CoveredLines) -> String {
    let CoveredLines { all, run, .. } = lines;
    format!("{run} of {} run ({} %)", plural(all, "line"), percent(run, all))
}

/// Adds the columns of executions and instructions; text has them from column number `position` on.
pub(super) fn coverage_columns<'t, T: 't>(
    rows: Rows<'t, T>,
    counts: impl Fn(&T) -> Option<LineCounts> + Copy + 't,
    position: u8,
) -> Rows<'t, T> {
    let counts = move |row: &T| counts(row).filter(|it| it.instructions > 0);
    rows.column(Column::count("execution_count").at(position, "executions"), move |row| {
        Some(counts(row)?.executions)
    })
    .column(Column::words().at(position + 1, "never run"), move |row| {
        let counts = counts(row)?;
        never_run(counts.never_run(), counts.instructions)
    })
    .column(Column::count("instruction_count"), move |row| Some(counts(row)?.instructions))
    .column(Column::count("instruction_run_count"), move |row| Some(counts(row)?.run))
}

/// `all 5`, `2 of 7`; `None` where all ran.
fn never_run(count: u64, all: u64) -> Option<String> {
    match count {
        0 => None,
        count if count == all => Some(format!("all {all}")),
        count => Some(format!("{count} of {all}")),
    }
}

/// A row of a file.
struct LineRow<'a> {
    file: &'a AnnotatedFile,
    /// The line, or the first one that is left out.
    line: u32,
    kind: RowKind,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum RowKind {
    /// A line with numbers, for programs.
    Code,
    /// Any line, for people: a number of 0 is left out.
    Shown,
    /// The lines up to this one are left out.
    Gap(u32),
}

/// The lines with numbers.
fn code(file: &AnnotatedFile) -> impl Iterator<Item = LineRow<'_>> {
    file.file.lines.iter().map(move |it| LineRow { file, line: it.line, kind: RowKind::Code })
}

/// The rows of a part of a file.
fn rows(file: &AnnotatedFile, piece: Piece) -> impl Iterator<Item = LineRow<'_>> {
    let (lines, kind) = match piece {
        Piece::Lines(lines) => (lines, RowKind::Shown),
        Piece::Gap(lines) => (*lines.start()..=*lines.start(), RowKind::Gap(*lines.end())),
    };
    lines.map(move |line| LineRow { file, line, kind })
}

impl<'a> LineRow<'a> {
    fn is_line(&self) -> bool {
        !matches!(self.kind, RowKind::Gap(_))
    }

    fn line(&self) -> Option<u64> {
        self.is_line().then_some(self.line.into())
    }

    fn numbers(&self) -> Option<&'a SourceLine> {
        self.file.file.line(self.line).filter(|_| self.is_line())
    }

    fn number(&self, number: u64) -> Option<u64> {
        (number > 0 || self.kind == RowKind::Code).then_some(number)
    }

    fn counts(&self) -> Option<LineCounts> {
        self.numbers().map(|it| it.counts)
    }

    fn text(&self) -> Option<&'a str> {
        self.file.text.line(self.line)
    }

    /// The line as a terminal shows it: tabs are blanks. For lines that are left out, how many
    /// they are.
    fn shown(&self) -> String {
        let RowKind::Gap(end) = self.kind else {
            return expand_tabs(self.text().unwrap_or_default());
        };
        let is_left_out = |it: &&SourceLine| (self.line..=end).contains(&it.line);
        let never = |it: &&SourceLine| it.counts.coverage() == Some(source::Coverage::Never);
        let never = self.file.file.lines.iter().filter(is_left_out).filter(never).count();
        let mut text = format!("… {}", plural(u64::from(end - self.line) + 1, "line"));
        if never > 0 {
            text += &format!(", {never} of them never run");
        }
        text
    }
}

fn expand_tabs(line: &str) -> String {
    let mut text = String::with_capacity(line.len());
    let mut column = 0;
    for c in line.chars() {
        let width = if c == '\t' { TAB - column % TAB } else { 1 };
        if c == '\t' {
            text.extend(std::iter::repeat_n(' ', width))
        } else {
            text.push(c)
        }
        column += width;
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tabs_are_blanks() {
        assert_eq!(expand_tabs("\t\ta\tbc\td"), "        a   bc  d");
        assert_eq!(expand_tabs("a b"), "a b");
    }
}
