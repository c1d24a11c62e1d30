//! The numbers of a profile by source file and line, and the lines that never ran.

pub mod excerpt;
mod text;

use std::cmp::Reverse;

use perk_profile::{
    FrameId, KeyedMap, Line, MethodId, Metric, Profile, StrId, Symbols, TraceId, names,
};

use crate::top::MethodMerger;
pub use text::SourceText;

/// The metrics that show which instructions of a line ran. All are by method and line.
#[derive(Clone, Debug)]
pub struct CoverageMetrics {
    /// Executions of the line's most executed instruction.
    pub executions: Metric,
    /// The number of the line's instructions.
    pub instructions: Metric,
    /// The number of those that ran.
    pub run: Metric,
}

/// The executions and instructions of a line, in one method or in all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LineCounts {
    /// Executions of the most executed instruction; over several methods their sum.
    pub executions: u64,
    /// The number of instructions.
    pub instructions: u64,
    /// The number of instructions that ran at least once.
    pub run: u64,
}

/// The part of a line that ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Coverage {
    /// All instructions.
    Whole,
    /// Some instructions.
    Part,
    /// No instruction.
    Never,
}

impl LineCounts {
    /// The part of the line that ran; `None` if it has no instructions, or if they are not known.
    pub fn coverage(&self) -> Option<Coverage> {
        match (self.run, self.instructions) {
            (_, 0) => None,
            (0, _) => Some(Coverage::Never),
            (run, all) if run < all => Some(Coverage::Part),
            _ => Some(Coverage::Whole),
        }
    }

    /// The number of instructions that never ran.
    pub fn never_run(&self) -> u64 {
        self.instructions.saturating_sub(self.run)
    }

    fn add(&mut self, more: Self) {
        self.executions = self.executions.saturating_add(more.executions);
        self.instructions = self.instructions.saturating_add(more.instructions);
        self.run = self.run.saturating_add(more.run);
    }
}

/// The numbers of a line of a source file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SourceLine {
    /// The line, from 1.
    pub line: u32,
    /// The number with the line on top of the stack.
    pub own: u64,
    /// The number with the line anywhere on the stack, with recursion counted once.
    pub total: u64,
    /// The executions and instructions, where the profile has them.
    pub counts: LineCounts,
}

/// The numbers of a source file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SourceFile {
    /// The package as a path: `com/acme`; empty for the unnamed package.
    pub package: String,
    /// The name of the file: `Main.java`.
    pub name: String,
    /// The number with a line of the file on top of the stack.
    pub own: u64,
    /// The methods with instructions.
    pub method_count: u64,
    /// The methods of them that ran.
    pub methods_run: u64,
    /// The lines with numbers or instructions, in order.
    pub lines: Vec<SourceLine>,
}

/// A source file with its text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AnnotatedFile {
    /// The numbers.
    pub file: SourceFile,
    /// The place where it was found.
    pub path: String,
    /// The text.
    pub text: SourceText,
}

/// A number of lines, and of those that ran.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CoveredLines {
    /// The lines with instructions.
    pub all: u64,
    /// The lines of which an instruction ran.
    pub run: u64,
    /// The lines of those of which another instruction never ran.
    pub in_part: u64,
}

impl SourceFile {
    /// The package and the name: `com/acme/Main.java`.
    pub fn path(&self) -> String {
        match self.package.as_str() {
            "" => self.name.clone(),
            package => format!("{package}/{}", self.name),
        }
    }

    /// The lines with instructions, and those that ran.
    pub fn covered_lines(&self) -> CoveredLines {
        let mut covered = CoveredLines::default();
        for coverage in self.lines.iter().filter_map(|it| it.counts.coverage()) {
            covered.all += 1;
            covered.run += u64::from(coverage != Coverage::Never);
            covered.in_part += u64::from(coverage == Coverage::Part);
        }
        covered
    }

    /// The sums of the instructions of all lines.
    pub fn counts(&self) -> LineCounts {
        let mut sum = LineCounts::default();
        self.lines.iter().for_each(|it| sum.add(it.counts));
        sum
    }

    /// The numbers of a line.
    pub fn line(&self, line: u32) -> Option<&SourceLine> {
        let place = self.lines.binary_search_by_key(&line, |it| it.line).ok()?;
        Some(&self.lines[place])
    }
}

impl AnnotatedFile {
    /// The number of lines with numbers that the text cannot have: they are after its end, or
    /// blank. Then it is not the source of the classes. Kotlin gives inlined code of other files
    /// the lines after the end of the file: there only blank lines count.
    pub fn odd_line_count(&self) -> usize {
        let has_inlined = self.file.name.ends_with(".kt");
        let is_odd = |it: &&SourceLine| match self.text.line(it.line) {
            Some(line) => line.trim().is_empty(),
            None => !has_inlined,
        };
        self.file.lines.iter().filter(is_odd).count()
    }
}

/// The executions and instructions by method and line. Of methods that look the same (loaded by
/// several class loaders), the executions add up and the larger numbers of instructions count.
pub(crate) fn line_counts(
    profile: &Profile,
    metrics: &CoverageMetrics,
    merged: &mut MethodMerger<'_>,
) -> KeyedMap<(MethodId, Line), LineCounts> {
    let mut counts: KeyedMap<(MethodId, Line), LineCounts> = KeyedMap::default();
    let mut each = |metric: &Metric, set: fn(&mut LineCounts, u64)| {
        for (trace, number) in metric.rows(profile).by_trace() {
            let Some(frame) = profile.frames(trace).next() else { continue };
            let frame = profile.symbols.get_frame(frame);
            let key = (merged.method(frame.method), frame.line);
            set(counts.entry(key).or_default(), number);
        }
    };
    each(&metrics.executions, |it, number| it.executions = it.executions.saturating_add(number));
    each(&metrics.instructions, |it, number| it.instructions = it.instructions.max(number));
    each(&metrics.run, |it, number| it.run = it.run.max(number));
    counts
}

/// The source files that `rows` (a trace and a number each) lead through, with the coverage of
/// their lines: those with most of their own first.
pub fn files(
    profile: &Profile,
    rows: &[(TraceId, u64)],
    coverage: Option<&CoverageMetrics>,
) -> Vec<SourceFile> {
    let mut places = FileLines::new(profile);
    let frames = (0..profile.symbols.frame_count()).map(FrameId::new);
    let place_of: Vec<usize> = frames.map(|frame| places.of_frame(frame)).collect();
    let own = profile.sums_by_node(rows);
    let totals = profile.tree.totals(&own);
    let place = |frame: FrameId| place_of[frame.index()];
    let place_count = places.lines.len();
    profile.tree.walk(place_count, place, |node, place, is_outermost| {
        let line = &mut places.lines[place].1;
        line.own = line.own.saturating_add(own[node.index()]);
        if is_outermost {
            line.total = line.total.saturating_add(totals[node.index()]);
        }
    });
    if let Some(metrics) = coverage {
        places.cover(line_counts(profile, metrics, &mut MethodMerger::new(profile)));
    }
    places.files()
}

/// The place of frames without a line.
const NOWHERE: usize = 0;

/// The lines of all files, each with its file.
struct FileLines<'a> {
    symbols: &'a Symbols,
    /// The source files of classes, by name.
    sources: KeyedMap<StrId, StrId>,
    files: Vec<SourceFile>,
    file_of_class: KeyedMap<StrId, usize>,
    file_of_path: KeyedMap<String, usize>,
    lines: Vec<(usize, SourceLine)>,
    place_of: KeyedMap<(usize, u32), usize>,
}

impl<'a> FileLines<'a> {
    fn new(profile: &'a Profile) -> Self {
        let symbols = &profile.symbols;
        let mut sources = KeyedMap::default();
        for method in (0..symbols.method_count()).map(|it| symbols.get_method(MethodId::new(it))) {
            // Functions have no class, and are of many files.
            let is_function = symbols.class_name(method.class).is_empty();
            if let Some(source) = method.source.filter(|_| !is_function) {
                sources.entry(symbols.get_class(method.class).name).or_insert(source);
            }
        }
        Self {
            symbols,
            sources,
            files: Vec::new(),
            file_of_class: KeyedMap::default(),
            file_of_path: KeyedMap::default(),
            lines: vec![Default::default()],
            place_of: KeyedMap::default(),
        }
    }

    fn of_frame(&mut self, frame: FrameId) -> usize {
        let frame = self.symbols.get_frame(frame);
        match frame.line {
            Line::Number(line @ 1..) => self.of_line(frame.method, line),
            _ => NOWHERE,
        }
    }

    fn of_line(&mut self, method: MethodId, line: u32) -> usize {
        let file = self.file_of(method);
        *self.place_of.entry((file, line)).or_insert_with(|| {
            self.lines.push((file, SourceLine { line, ..SourceLine::default() }));
            self.lines.len() - 1
        })
    }

    /// The file of a method's class. Where it is not known, it is the one that Java asks for.
    fn file_of(&mut self, method: MethodId) -> usize {
        let symbols = self.symbols;
        let class = symbols.get_class(symbols.get_method(method).class).name;
        if let Some(&file) = self.file_of_class.get(&class) {
            return file;
        }
        let name = symbols.strings.get(class);
        let package = names::package(name);
        let source = match self.sources.get(&class) {
            Some(&source) => symbols.strings.get(source).to_owned(),
            None => format!("{}.java", outermost(&name[package.len()..])),
        };
        let file = SourceFile {
            package: package.replace('.', "/"),
            name: source,
            ..SourceFile::default()
        };
        let files = &mut self.files;
        let file = *self.file_of_path.entry(file.path()).or_insert_with(|| {
            files.push(file);
            files.len() - 1
        });
        self.file_of_class.insert(class, file);
        file
    }

    /// Adds the executions and instructions.
    fn cover(&mut self, counts: KeyedMap<(MethodId, Line), LineCounts>) {
        let mut run: KeyedMap<MethodId, bool> = KeyedMap::default();
        for ((method, line), counts) in counts {
            let Line::Number(line @ 1..) = line else { continue };
            let place = self.of_line(method, line);
            self.lines[place].1.counts.add(counts);
            if counts.instructions > 0 {
                *run.entry(method).or_default() |= counts.run > 0;
            }
        }
        for (method, has_run) in run {
            let file = self.file_of(method);
            self.files[file].method_count += 1;
            self.files[file].methods_run += u64::from(has_run);
        }
    }

    /// The files that have numbers.
    fn files(self) -> Vec<SourceFile> {
        let mut files = self.files;
        for (file, line) in self.lines.into_iter().skip(NOWHERE + 1) {
            if line.total > 0 || line.counts != LineCounts::default() {
                files[file].own = files[file].own.saturating_add(line.own);
                files[file].lines.push(line);
            }
        }
        files.retain(|file| !file.lines.is_empty());
        files.iter_mut().for_each(|file| file.lines.sort_by_key(|line| line.line));
        files.sort_by_cached_key(|file| (Reverse(file.own), file.path()));
        files
    }
}

/// The simple name of the class around all others: `Map` of `.Map$Entry`.
fn outermost(name: &str) -> &str {
    let name = name.trim_start_matches('.');
    match name.find(['$', '/']) {
        Some(end) if end > 0 => &name[..end],
        _ => name,
    }
}

#[cfg(test)]
mod tests {
    use perk_profile::{Frame, Method, Section, Unit};

    use super::*;
    use crate::fixture::samples;

    fn metrics() -> CoverageMetrics {
        let [executions, instructions, run] =
            ["executions", "instructions", "run"].map(|it| Metric::other(it, Unit::Count));
        CoverageMetrics { executions, instructions, run }
    }

    /// A profile of lines: class, method, source file, line, executions, instructions and those that ran.
    fn covered(rows: &[(&str, &str, &str, u32, [u64; 3])]) -> Profile {
        let mut profile = Profile::default();
        let mut traces = Vec::new();
        for &(class, name, source, line, numbers) in rows {
            let symbols = &mut profile.symbols;
            let class = symbols.new_class(class);
            let name = symbols.strings.intern(name);
            let source = (!source.is_empty()).then(|| symbols.strings.intern(source));
            let method = symbols.method(Method { class, name, signature: None, source });
            let frame = symbols.frame(Frame::new(method, Line::Number(line)));
            let node = profile.tree.insert([frame]);
            traces.push((profile.trace(node, None), numbers));
        }
        let CoverageMetrics { executions, instructions, run } = metrics();
        for (index, metric) in [executions, instructions, run].into_iter().enumerate() {
            let rows = traces.iter().map(|(trace, numbers)| (*trace, numbers[index]));
            profile.events.push(Section::of(metric, 0, rows).into());
        }
        profile
    }

    /// A text for each file: its own number, and of each line its own number and its total.
    fn shown(files: &[SourceFile]) -> Vec<String> {
        let line = |it: &SourceLine| format!(" {}: {}/{}", it.line, it.own, it.total);
        let lines = |file: &SourceFile| file.lines.iter().map(line).collect::<String>();
        files.iter().map(|it| format!("{} {}{}", it.path(), it.own, lines(it))).collect()
    }

    #[test]
    fn numbers_are_by_file_and_line() {
        let profile = samples(&[
            ("a.T$In.g:3<a.T.f:4<a.T.f:4<a.T.main:9", 5),
            ("a.T.f:4<a.T.main:9", 2),
            ("b.U.u<b.U.u:7<a.T.main:9", 1),
            ("$P.x:1", 1),
        ]);
        let files = files(&profile, &profile.total_cpu_samples().rows, None);
        assert_eq!(
            shown(&files),
            ["a/T.java 7 3: 5/5 4: 2/7 9: 0/8", "$P.java 1 1: 1/1", "b/U.java 0 7: 0/1"]
        );
        assert_eq!(files[0].line(4).unwrap().own, 2);
        assert_eq!(files[0].line(5), None);
        assert_eq!(files[0].covered_lines(), CoveredLines::default());
    }

    #[test]
    fn methods_on_one_line_add_up() {
        let profile = covered(&[
            ("a.T", "<init>", "T.kt", 3, [2, 4, 4]),
            ("a.T", "f", "T.kt", 3, [1, 6, 0]),
            ("a.T$1", "g", "", 4, [0, 5, 0]),
            ("a.T", "f", "T.kt", 5, [7, 3, 3]),
            ("a.T$1", "h", "T.kt", 9, [0, 2, 0]),
            // Some compilers give code of their own this line.
            ("a.T$1", "h", "T.kt", 0, [0, 2, 0]),
        ]);
        let files = files(&profile, &[], Some(&metrics()));
        assert_eq!(files.len(), 1);
        assert_eq!(files[0].path(), "a/T.kt");
        let counts = |executions, instructions, run| LineCounts { executions, instructions, run };
        let lines: Vec<_> = files[0].lines.iter().map(|it| (it.line, it.counts)).collect();
        assert_eq!(
            lines,
            [
                (3, counts(3, 10, 4)),
                (4, counts(0, 5, 0)),
                (5, counts(7, 3, 3)),
                (9, counts(0, 2, 0))
            ]
        );
        assert_eq!(files[0].counts(), counts(10, 20, 7));
        assert_eq!(files[0].covered_lines(), CoveredLines { all: 4, run: 2, in_part: 1 });
        assert_eq!((files[0].method_count, files[0].methods_run), (4, 2));
        let coverage: Vec<_> = lines.iter().map(|it| it.1.coverage().unwrap()).collect();
        assert_eq!(coverage, [Coverage::Part, Coverage::Never, Coverage::Whole, Coverage::Never]);
        assert_eq!(counts(1, 0, 0).coverage(), None);
    }

    #[test]
    fn copies_of_a_class_are_one() {
        let profile =
            covered(&[("T", "f", "T.java", 3, [2, 4, 3]), ("T", "f", "T.java", 3, [5, 4, 2])]);
        let files = files(&profile, &[], Some(&metrics()));
        let counts = LineCounts { executions: 7, instructions: 4, run: 3 };
        assert_eq!(files[0].lines[0].counts, counts);
        assert_eq!((files[0].method_count, files[0].methods_run), (1, 1));
    }

    #[test]
    fn lines_that_the_text_cannot_have() {
        let odd = |name: &str| {
            let lines = [1, 2, 3, 4, 9].map(|line| SourceLine { line, ..SourceLine::default() });
            let name = name.to_owned();
            let file = SourceFile { name, lines: lines.into(), ..SourceFile::default() };
            let text = SourceText::new(b"a\n  \nb\n");
            AnnotatedFile { file, text, ..AnnotatedFile::default() }.odd_line_count()
        };
        assert_eq!((odd("T.java"), odd("T.kt")), (3, 1));
    }
}
