//! The views of a profile.

mod allocations;
mod blocks;
mod brief;
mod calls;
mod column_store;
mod content;
mod fields;
mod head;
mod heap;
mod jamaica;
mod json;
mod limits;
mod metric;
mod monitors;
mod overview;
mod process;
mod request;
mod selection;
mod source;
mod source_part;
mod summary;
mod tree;
mod views;
mod wall;

#[cfg(test)]
mod fixture;

use std::path::PathBuf;

use perk_analysis::{InferredCallers, MethodTree};
use perk_formats::Lead;
use perk_open::Input;
use perk_profile::units::printable;
use perk_profile::{Metric, Profile};
use perk_render::{LazyTable, Part, Screen, Section};

use crate::{Answer, NamedItem, View, accounting};
use content::Content;
use fields::Fields;
pub use heap::classes as heap_classes;
pub use request::{Extent, ProfileRequest};
pub use selection::Selection;
pub use source_part::SourcePart;
pub use views::{ProfileView, TreeOrder};

/// Columns by which the lines of the accounting continue further in.
const ACCOUNTS: usize = 10;

/// What limits the program of a profile, for the head of a page; `file` is its name in commands. `None` if the
/// profile does not show it.
pub fn lead(profile: &Profile, file: &str) -> Option<Lead> {
    if ![Metric::WallTime, Metric::Calls].iter().any(|metric| metric.is_in(profile)) {
        return None;
    }
    let (tree, joined) = (MethodTree::new(profile), InferredCallers::default());
    let content = Content::of_metric(profile, &tree, &joined, None);
    content.limits().map(|limits| limits.lead(file))
}

impl View<NamedItem<Input>> for ProfileRequest {
    fn answer(&self, subject: NamedItem<Input>) -> anyhow::Result<Answer> {
        self.check()?;
        self.answer(&self.select(subject)?)
    }
}

/// The part of it that the request selects must have been selected: see [`ProfileRequest::select`].
impl View<&Selection> for ProfileRequest {
    fn answer(&self, selection: &Selection) -> anyhow::Result<Answer> {
        self.check()?;
        let Selection { name, format, profile, joined, .. } = selection;
        let mut answer = Answer { notes: selection.notes.clone(), ..Answer::default() };
        let metric = self.metric.as_deref().map(|it| selection.metric(it)).transpose()?;
        let mut content = Content::of_metric(profile, selection.tree(), joined, metric);
        if let Some(store) = &selection.columns {
            content.keep_in(store);
        }
        content.filtered.clone_from(&selection.filtered);
        content.window.clone_from(&selection.window);
        if let Some(part) = &self.source_part {
            let only = match part {
                SourcePart::List => None,
                SourcePart::File(path) => Some(&**path),
            };
            let lacks = content.find_sources(&self.sources, (only, true), &mut answer.notes)?;
            let data = match content.sources() {
                Some((sources, view)) => sources.data(view, part)?,
                None => None,
            };
            if data.is_none() {
                answer.missing = vec![match part {
                    SourcePart::File(path) => format!("{name} has no source file {path}"),
                    SourcePart::List => {
                        format!("{name} has {}", lacks.as_deref().unwrap_or("no line numbers"))
                    }
                }];
            }
            answer.page = data;
            return Ok(answer);
        }
        if !self.sources.is_empty()
            && !self.want.overview
            && !content.is_empty()
            && let Some(nothing) = content.find_sources(
                &self.sources,
                (None, self.whole_sources),
                &mut answer.notes,
            )?
        {
            answer.missing = vec![format!("{name} has {nothing}")];
            return Ok(answer);
        }
        if let Some((sources, view)) = content.sources().filter(|_| self.want.page) {
            let mut page = Vec::new();
            sources.write_page(view, name, &mut page)?;
            answer.page = Some(page);
            return Ok(answer);
        }
        let mut missing = Vec::new();
        if self.want.text {
            // The first screen has the other numbers further down.
            let is_short =
                self.views().is_empty() && !self.is_long() && self.extent == Extent::Summary;
            let total = if is_short { content.totals().swap_remove(0) } else { content.total() };
            let mut lines = vec![format!("{name}: {}, {total}", format.title())];
            lines.extend(content.conditions());
            answer.sections = sections(&content, self, lines, &mut missing);
        }
        if self.want.table {
            answer.notes.extend(content.conditions().iter().map(|line| format!("{name}: {line}")));
            let view = self.table_view();
            let table = view.table(&content, self, &mut answer.notes);
            let table = table.filter(|table| !table.is_empty());
            let table = table.map(|it| it.top(self.top.unwrap_or(usize::MAX)));
            if let Some(count) =
                table.as_ref().map(LazyTable::len).filter(|it| *it > self.most_rows)
            {
                let most = self.most_rows;
                answer.notes.push(format!(
                    "{name}: the first {most} of {count} rows; a filter leaves fewer"
                ));
            }
            answer.table = table.map(|it| it.top(self.most_rows).into());
            missing.extend(answer.table.is_none().then(|| view.missing(&content)));
        }
        if self.want.document {
            content.add_metrics_of_fields();
            let head = content.head(self.methods());
            let top = self.top.unwrap_or(usize::MAX);
            let file = (&**name, format.ending());
            answer.document = Some(json::report(&content, file, head, top, self.min_percent));
        }
        if self.want.overview {
            let file = (&**name, format.ending());
            answer.document = Some(overview::overview(
                &content,
                file,
                (self.methods(), !self.sources.is_empty()),
            ));
        }
        if content.is_empty() {
            let what = if content.window.is_some() {
                "no samples in the window"
            } else if content.filtered.is_none() {
                "nothing to report: no samples, calls, allocation sites, monitors, heap dumps or field accesses"
            } else {
                "no numbers that pass the filter"
            };
            missing = vec![what.to_owned()];
        }
        answer.missing = missing.iter().map(|what| format!("{name} has {what}")).collect();
        Ok(answer)
    }
}

/// The views asked for, or everything, below these lines; adds to `missing` what is not there.
fn sections(
    content: &Content<'_>,
    request: &ProfileRequest,
    mut lines: Vec<String>,
    missing: &mut Vec<String>,
) -> Vec<Section> {
    let screen = &request.screen;
    if request.extent == Extent::Facts {
        let head = content.head(head::MOST);
        let title = lines.swap_remove(0);
        let lines = brief::lines(content, head, title, &request.words());
        return vec![lines.into_iter().map(Part::Fact).collect()];
    }
    let first = |lines: Vec<String>| -> Section { lines.into_iter().map(Part::Sentence).collect() };
    let views = request.views();
    if !views.is_empty() {
        let mut all = vec![first(lines)];
        for view in &*views {
            let sections = view.sections(content, request);
            match perk_render::text(&sections, screen).is_empty() {
                true => missing.push(view.missing(content)),
                false => all.extend(sections),
            }
        }
        return all;
    }
    let accounting = content.profile.accounting.as_ref();
    if let Some(accounting) = accounting {
        let jvm = format!(" (pid {}, {})", accounting.pid, printable(&accounting.jvm));
        let program = screen.cut_end(&printable(&accounting.program), jvm.chars().count());
        lines.insert(1, format!("{program}{jvm}"));
    }
    let head = content.head(request.methods());
    if !request.is_long() {
        lines.extend(content.losses().map(|losses| format!("lost: {losses}")));
        let first = first(lines);
        let used = perk_render::text([&first], screen).lines().count() + 1;
        let mut all = vec![first];
        all.extend(summary::of_report(content, head, request, used));
        return all;
    }
    let mut all = vec![first(lines)];
    all.extend(views::everything(content, head, request));
    if let Some(accounting) = accounting {
        let of_run = if content.window.is_some() { " of the whole run" } else { "" };
        let heading = Part::Heading(format!("Accounting{of_run}"));
        let lines = accounting::lines(accounting).into_iter();
        let lines = lines.map(|line| Part::Line(line, ACCOUNTS));
        all.push([heading].into_iter().chain(lines).collect());
    }
    all
}

/// What matters of a profile at the end of its run.
#[derive(Clone, Debug, Default)]
pub struct EndOfRun {
    /// The file that holds the profile, if one does.
    pub path: Option<PathBuf>,
    /// Rows of each table; `None` for as many as fit.
    pub top: Option<usize>,
    /// The screen that text is for.
    pub screen: Screen,
}

impl View<&Profile> for EndOfRun {
    fn answer(&self, profile: &Profile) -> anyhow::Result<Answer> {
        let mut answer = Answer::default();
        let joined = InferredCallers::default();
        let tree = MethodTree::new(profile);
        let content = Content::of_metric(profile, &tree, &joined, None);
        if content.is_empty() {
            return Ok(answer);
        }
        let head = content.head(self.top.unwrap_or(head::MOST));
        let facts = content.fields.iter().flat_map(Fields::facts).map(Part::Sentence);
        answer.sections.push(facts.collect());
        let request = ProfileRequest {
            top: self.top,
            paths: vec![self.path.clone().unwrap_or_else(|| "FILE".into())],
            screen: self.screen,
            ..ProfileRequest::default()
        };
        answer.sections.extend(summary::of_run(&content, head, &request, summary::LINES));
        Ok(answer)
    }
}

#[cfg(test)]
mod tests {
    use perk_profile::{Frame, Line, Method, Metric, Section, Unit};

    use super::*;

    /// A profile of what another tool measured, on one frame.
    fn measured() -> Profile {
        let mut profile = Profile::default();
        let class = profile.symbols.class("T");
        let name = profile.symbols.strings.intern("f");
        let method = profile.symbols.method(Method { class, name, signature: None, source: None });
        let frame = profile.symbols.frame(Frame::new(method, Line::Number(3)));
        let node = profile.tree.insert([frame]);
        let trace = profile.trace(node, None);
        for (name, unit, number) in
            [("delay", Unit::Nanoseconds, 5_000_000), ("misses", Unit::Count, 7)]
        {
            let metric = Metric::other(name, unit);
            profile.events.push(Section::of(metric, 2 * number, [(trace, number)]).into());
        }
        profile
    }

    fn input(profile: &Profile) -> NamedItem<Input> {
        let format = perk_formats::by_name("collapsed").unwrap();
        NamedItem::new("file", Input { format, profile: profile.clone() })
    }

    fn shown(request: &ProfileRequest) -> String {
        request.answer(input(&measured())).unwrap().text(&Screen::default())
    }

    #[test]
    fn what_other_tools_measured_is_shown() {
        let everything = ProfileRequest { extent: Extent::Everything, ..ProfileRequest::default() };
        let text = shown(&everything);
        let first = "file: collapsed stacks, 10 ms of delay, 5 ms of them below the file's cutoff; \
                     14 misses, 7 of them below the file's cutoff\n";
        assert!(text.starts_with(first), "{text}");
        assert!(text.contains(" 1     50 %  of 10 ms of delay: T.f\n"), "{text}");
        assert!(text.contains(" 2     50 %  of 14 misses: T.f\n"), "{text}");
        assert!(text.contains("\nTop methods by self: delay\n"), "{text}");
        assert!(text.contains("\nTop methods by total: misses\n"), "{text}");
        let text = shown(&ProfileRequest { metric: Some("misses".into()), ..everything });
        assert!(text.contains("1  misses  50.00       7  T.f\n"), "{text}");
        assert!(!text.contains("by self: delay"), "{text}");
    }

    #[test]
    fn the_end_of_a_run_says_what_to_do_about_fields() {
        let file = "A\x1cb\x1c()V\x1c1\tp.T\np.T\x1cx\x1cI\t1\t2\t1\t0\n\n";
        let profile = perk_formats::shared_fields::read(file.as_bytes()).unwrap();
        let shown = |path: Option<&str>| {
            let request = EndOfRun { path: path.map(PathBuf::from), ..EndOfRun::default() };
            request.answer(&profile).unwrap().text(&Screen::default())
        };
        let text = shown(None);
        assert!(
            text.starts_with("1 object, 1 of them shared between threads (100.00 %);"),
            "{text}"
        );
        assert!(text.contains("\nWhat to do\n1 to make final (1 of them shared).\n"), "{text}");
        assert!(text.ends_with("        perk report FILE --field p.T.x\n"), "{text}");
        let text = shown(Some("a b.tsv"));
        assert!(text.ends_with("        perk report 'a b.tsv' --field p.T.x\n"), "{text}");
    }

    #[test]
    fn titles_of_csv_have_units() {
        for (value, row) in [
            ("delay", "self_ns,self_percent,total_ns,total_percent\ndelay,T.f,T,f,,,5000000,50.00"),
            ("misses", "self_count,self_percent,total_count,total_percent\nmisses,T.f,T,f,,,7"),
        ] {
            let metric = Some(value.to_owned());
            let request =
                ProfileRequest { metric, want: crate::Want::TABLE, ..ProfileRequest::default() };
            let mut text = Vec::new();
            let table = request.answer(input(&measured())).unwrap().table.unwrap();
            table.csv(&mut text).unwrap();
            let text = String::from_utf8(text).unwrap();
            assert!(text.contains(row), "{text}");
        }
    }
}
