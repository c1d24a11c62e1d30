//! Where to begin: the program's methods with the highest numbers of each kind, what is done for them
//! there, and what there is to know of them.

mod kinds;

use std::collections::HashMap;

use perk_analysis::Work;
use perk_analysis::advice::{Advice, Caller};
use perk_profile::names::package;
use perk_profile::units::{bytes, plural, short_percent};
use perk_profile::{ClassId, MethodId, Metric, Profile, Unit};
use perk_render::{Cell, Column, LazyTable, Part, Screen, Section};

use super::content::Content;
use kinds::{Kind, kinds};

/// Methods of a kind: always, as many as there are of the first of several, and of the others.
const FIRST: usize = 5;
const OTHERS: usize = 3;
/// The callers of a method in the overview of a page.
const CALLERS: usize = 10;
/// The most methods of a kind.
pub(super) const MOST: usize = 10;
/// A method after the first ones with less of everything than this brings next to nothing.
const WORTH: f64 = 0.01;
/// Parts of a method's number with less of everything than this have no name.
const PART: f64 = 0.005;
/// Lines of hints under a method.
const HINTS: usize = 3;
/// Columns by which hints are indented, and how long they are where lines have no limit.
const INDENT: usize = 8;
const WIDTH: usize = 120;
/// The same in a list, and its heading.
pub(super) const LIST_INDENT: usize = 13;
pub(super) const TITLE: &str = "What limits the program";
/// The heading of the methods alone.
const BEGIN: &str = "Where to begin";
/// Stands before the calls that are not in a method's number.
const CALLED: &str = "calls made for it: ";
/// Represents the code of the method itself.
const OWN: &str = "its own code";
/// Represents what a thread waits for in a method itself.
const MONITOR: &str = "a monitor";
const LEGEND: &str =
    "Fixing a method saves at most its share; making it twice as fast, half of it.";

/// The methods to begin with, by kind.
#[derive(Debug)]
pub(super) struct Head<'a> {
    profile: &'a Profile,
    kinds: Vec<Kind>,
    labels: HashMap<MethodId, String>,
}

/// How classes are named.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Names {
    Full,
    /// Without their packages.
    Short,
}

/// How much of the advice is shown.
#[derive(Clone, Copy, Debug)]
pub(super) struct Extent {
    /// Methods of each kind; as many as are worth it if nobody says.
    pub(super) top: Option<usize>,
    /// Lines of text; as many as it takes if nobody says.
    pub(super) lines: Option<usize>,
    /// Lines of hints under each method.
    pub(super) hints: usize,
}

impl Extent {
    /// All that is worth it.
    pub(super) fn long(top: Option<usize>) -> Self {
        Self { top, lines: None, hints: HINTS }
    }

    /// What fits on some lines, with what a method does alone.
    pub(super) fn short(top: Option<usize>, lines: usize) -> Self {
        Self { top, lines: Some(lines), hints: 1 }
    }
}

/// A row of a list: its share, what that is of, the method, and lines below.
pub(super) struct ListRow {
    text: String,
    below: Vec<String>,
}

impl ListRow {
    pub(super) fn lines(&self) -> usize {
        1 + self.below.len()
    }

    pub(super) fn section(&self, rank: usize) -> Section {
        let first = Part::Line(format!("{rank:>2} {}", self.text), LIST_INDENT);
        let below = self.below.iter();
        let below = below.map(|line| Part::Line(" ".repeat(LIST_INDENT) + line, LIST_INDENT));
        [first].into_iter().chain(below).collect()
    }
}

impl<'a> Head<'a> {
    /// The first `count` methods of each kind; `None` where there is none.
    pub(super) fn new(content: &Content<'a>, count: usize) -> Option<Self> {
        let profile = content.profile;
        let kinds = kinds(content, count);
        let methods = kinds.iter().flat_map(|kind| &kind.advice).flat_map(|advice| {
            let callers = advice.callers.iter().filter_map(|caller| caller.method);
            callers.chain([advice.method])
        });
        let labels = perk_render::labels(&profile.symbols, methods);
        (!kinds.is_empty()).then_some(Self { profile, kinds, labels })
    }

    /// Whether there are methods by this metric.
    pub(super) fn has(&self, metric: &Metric) -> bool {
        self.kinds.iter().any(|kind| kind.metric == metric.name())
    }

    /// The methods, as many as the extent has: a table of the numbers of one kind, or a list where the
    /// shares are of several.
    pub(super) fn section(&self, extent: Extent, screen: &Screen) -> Section {
        if self.kinds.len() > 1 {
            return self.list(BEGIN, extent, screen);
        }
        let rows = self.rows(extent, screen);
        vec![Part::table(self.table(rows, usize::MAX).ranked().legend(LEGEND))]
    }

    /// The methods as rows of a list.
    pub(super) fn list(&self, title: &str, extent: Extent, screen: &Screen) -> Section {
        let mut section = vec![Part::Heading(title.to_owned())];
        let rows = self.rows(extent, screen);
        let rows = rows
            .into_iter()
            .zip(1..)
            .map(|((kind, advice, below), rank)| self.list_row(kind, advice, below).section(rank));
        section.extend(rows.flatten());
        section
    }

    /// The first methods by the numbers of metrics that a list does not have.
    pub(super) fn rows_of_others(
        &self,
        covers: &dyn Fn(&str) -> bool,
        top: Option<usize>,
        screen: &Screen,
    ) -> Vec<ListRow> {
        let kinds = self.kinds.iter().filter(|kind| !covers(&kind.metric));
        let rows = kinds.flat_map(|kind| {
            let is_worth_it =
                |it: &&Advice| it.number as f64 >= WORTH * kind.total as f64 || top.is_some();
            let advice = kind.advice.iter().take(top.unwrap_or(OTHERS)).filter(is_worth_it);
            advice.map(move |advice| {
                let mut below = self.hints(kind, advice, screen);
                below.truncate(1);
                self.list_row(kind, advice, below)
            })
        });
        rows.collect()
    }

    fn list_row(&self, kind: &Kind, advice: &Advice, below: Vec<String>) -> ListRow {
        let share = short_percent(advice.number, kind.total);
        let of = format!("of {} {}", kind.number(kind.total), kind.whole);
        let of = of.trim_end();
        let name = &self.labels[&advice.method];
        let inferred = inferred(advice.inferred, advice.number);
        ListRow { text: format!("{share:>6} %  {of}: {name}{inferred}"), below }
    }

    /// All methods, for other programs.
    pub(super) fn report(&self) -> LazyTable<'_> {
        self.with_callers(usize::MAX)
    }

    /// The same with the first callers of each alone, as there can be thousands.
    pub(super) fn overview(&self) -> LazyTable<'_> {
        self.with_callers(CALLERS)
    }

    fn with_callers(&self, most: usize) -> LazyTable<'_> {
        let rows = self
            .kinds
            .iter()
            .flat_map(|kind| kind.advice.iter().map(move |advice| (kind, advice, Vec::new())));
        self.table(rows, most)
    }

    /// The methods in sentences, most of each kind first: kind, and sentence.
    pub(super) fn sentences(&self, count: usize, covers: &dyn Fn(&str) -> bool) -> Vec<String> {
        let chosen = self.chosen(Extent { top: None, lines: Some(count), hints: 0 }, |_, _| 1);
        let chosen = chosen.into_iter().filter(|(kind, _)| !covers(&kind.metric));
        let sentence = |(kind, advice): (&Kind, &Advice)| {
            let share = short_percent(advice.number, kind.total);
            let number = kind.number(advice.number);
            let mut text =
                format!("{}: {share} %, {number}, in {}", kind.title, self.labels[&advice.method]);
            let parts = self.parts_in_words(kind, advice);
            if !parts.is_empty() {
                text += &format!(" ({parts})");
            }
            let callers = advice.callers.iter().filter_map(|it| it.method).take(2);
            let callers: Vec<_> = callers.map(|it| self.labels[&it].as_str()).collect();
            if !callers.is_empty() {
                text += &format!(", called by {}", callers.join(" and "));
            }
            text
        };
        chosen.map(sentence).collect()
    }

    /// The methods of each kind that are shown, and the lines below each.
    fn rows(&self, extent: Extent, screen: &Screen) -> Vec<(&Kind, &Advice, Vec<String>)> {
        let below = |kind: &Kind, advice: &Advice| {
            let mut hints = self.hints(kind, advice, screen);
            hints.truncate(extent.hints);
            hints
        };
        let chosen = self.chosen(extent, |kind, advice| 1 + below(kind, advice).len());
        chosen.into_iter().map(|(kind, advice)| (kind, advice, below(kind, advice))).collect()
    }

    /// The methods that are shown: the first of each kind, then those after it, as long as they are
    /// worth it and their lines fit.
    fn chosen(
        &self,
        extent: Extent,
        lines: impl Fn(&Kind, &Advice) -> usize,
    ) -> Vec<(&Kind, &Advice)> {
        let most = |place: usize| match (extent.top, self.kinds.len()) {
            (Some(top), _) => top,
            (None, 1) => MOST,
            (None, _) if place == 0 => FIRST,
            (None, _) => OTHERS,
        };
        let mut left = extent.lines.unwrap_or(usize::MAX);
        let mut counts = vec![0; self.kinds.len()];
        for rank in 0..MOST.max(extent.top.unwrap_or(0)) {
            for (place, kind) in self.kinds.iter().enumerate() {
                let is_next = counts[place] == rank && rank < most(place);
                let Some(advice) = kind.advice.get(rank).filter(|_| is_next) else { continue };
                let lines = lines(kind, advice);
                let is_worth_it = advice.number as f64 >= WORTH * kind.total as f64;
                let is_asked = extent.top.is_some();
                if is_asked || rank == 0 || lines <= left && is_worth_it {
                    left = left.saturating_sub(lines);
                    counts[place] += 1;
                }
            }
        }
        let kinds = self.kinds.iter().zip(counts);
        kinds
            .flat_map(|(kind, count)| kind.advice.iter().take(count).map(move |it| (kind, it)))
            .collect()
    }

    /// The methods, each with lines below it.
    fn table<'t>(
        &'t self,
        rows: impl IntoIterator<Item = (&'t Kind, &'t Advice, Vec<String>), IntoIter: 't>,
        most_callers: usize,
    ) -> LazyTable<'t> {
        let symbols = &self.profile.symbols;
        let callers = move |it: &Advice| {
            LazyTable::of(symbols, "", it.callers.iter().take(most_callers).cloned())
                .column(Column::method_name("name"), |it| it.method)
                .column(Column::other("number"), |it| it.number)
                .column(Column::other("inferred"), |it| it.inferred)
                .table()
        };
        let works = move |kind: &'t Kind, it: &Advice| {
            let total = kind.total;
            LazyTable::of(symbols, "", it.works.clone())
                .column(Column::other("what"), move |it| self.work(kind, it.0))
                .column(Column::method_name("callee"), |it| match it.0 {
                    Work::Called(method) => Some(method),
                    _ => None,
                })
                .column(Column::other("number"), |it| it.1)
                .column(Column::other("percent"), move |it| Cell::Share(it.1, total))
                .table()
        };
        let classes = |it: &[(ClassId, u64)], id| {
            LazyTable::of(symbols, "", it.to_vec())
                .column(Column::other("class"), |it| it.0)
                .column(Column::other(id), |it| it.1)
                .table()
        };
        let lines = |it: &Advice| {
            LazyTable::of(symbols, "", it.lines.clone())
                .column(Column::other("line"), |it| u64::from(it.0))
                .column(Column::other("number"), |it| it.1)
                .table()
        };
        let average = |it: &Advice| Some(it.calls.filter(|it| it.self_ns > 0)?.average_ns());
        LazyTable::of(symbols, BEGIN, rows)
            .column(Column::other("kind").at(0, "kind"), |it| &*it.0.title)
            .column(Column::other("metric"), |it| &*it.0.metric)
            .column(Column::other("unit"), |it| it.0.unit.name())
            .column(Column::other("all"), |it| it.0.total)
            .column(Column::method(), |it| it.1.method)
            .column(Column::other("label").name("method"), |it| &*self.labels[&it.1.method])
            // Its own code, and all that the JDK and libraries do for it.
            .column(Column::other("number").at(2, "number"), |it| {
                Cell::Worded(it.1.number, it.0.number(it.1.number))
            })
            .column(Column::other("percent").at(1, "%").bar_at(3), |it| {
                Cell::Share(it.1.number, it.0.total)
            })
            .column(Column::other("inferred"), |it| it.1.inferred)
            .column(Column::other("self"), |it| it.1.own)
            .column(Column::other("self_percent"), |it| Cell::Share(it.1.own, it.0.total))
            .column(Column::other("total"), |it| it.1.total)
            .column(Column::other("total_percent"), |it| Cell::Share(it.1.total, it.0.total))
            .column(Column::other("is_leaf"), |it| it.1.is_leaf())
            // Its calls are many and small: only fewer of them can help.
            .column(Column::other("is_chatty"), |it| it.1.is_chatty)
            .column(Column::count("call_count"), |it| it.1.calls.map(|calls| calls.count))
            .column(Column::ns("average_self_ns"), move |it| average(it.1))
            .column(Column::other("parts").no_json(), move |it| self.parts_in_words(it.0, it.1))
            .column(Column::other("works").no_csv(), move |it| works(it.0, it.1))
            .column(Column::other("classes").no_csv(), move |it| classes(&it.1.classes, "number"))
            .column(Column::other("callers").no_csv(), move |it| callers(it.1))
            .column(Column::other("allocated").no_csv(), move |it| {
                classes(&it.1.allocated_bytes, "allocated_bytes")
            })
            .column(Column::other("lines").no_csv(), move |it| lines(it.1))
            .each(|it, row| {
                row.below = it.2.clone();
                row.suffix = inferred(it.1.inferred, it.1.number);
            })
            .table()
    }

    fn hints(&self, kind: &Kind, advice: &Advice, screen: &Screen) -> Vec<String> {
        let parts = self.parts(kind, advice, Names::Short);
        let hints = [
            fit(if kind.is_of_calls { CALLED } else { "" }, parts.into_iter(), screen),
            self.callers(kind, advice, screen),
            self.allocated(kind, advice, screen),
            self.lines(advice, screen),
        ];
        hints.into_iter().flatten().collect()
    }

    /// What a method's number is of, each with its share of everything: `sorting 12 %`. Nothing if all
    /// is its own code. Of calls, those of others that are made for the method.
    fn parts(&self, kind: &Kind, advice: &Advice, names: Names) -> Vec<(String, String)> {
        let is_worth_it = |number: u64| number as f64 >= PART * kind.total as f64;
        let share = |number| format!(" {} %", short_percent(number, kind.total));
        if !advice.classes.is_empty() {
            let classes = advice.classes.iter().filter(|it| is_worth_it(it.1));
            let name = |class| {
                let name = perk_render::class(&self.profile.symbols, class);
                match names {
                    Names::Full => name,
                    Names::Short => name[package(&name).len()..].trim_start_matches('.').to_owned(),
                }
            };
            return classes.map(|&(class, number)| (name(class), share(number))).collect();
        }
        if advice.own == advice.number && !kind.is_of_calls && !kind.is_of_waits {
            return Vec::new();
        }
        let is_shown = |work: Work| work != Work::Own || !kind.is_of_calls;
        let works = advice.works.iter().filter(|it| is_shown(it.0) && is_worth_it(it.1));
        works.map(|&(work, number)| (self.work(kind, work), share(number))).collect()
    }

    /// `sorting 12 %, JSON 6 %`
    fn parts_in_words(&self, kind: &Kind, advice: &Advice) -> String {
        let parts = self.parts(kind, advice, Names::Full).into_iter();
        let parts = parts.map(|(name, share)| name + &share).collect::<Vec<_>>().join(", ");
        if kind.is_of_calls && !parts.is_empty() { CALLED.to_owned() + &parts } else { parts }
    }

    fn work(&self, kind: &Kind, work: Work) -> String {
        match work {
            Work::Own if kind.is_of_waits => MONITOR.to_owned(),
            Work::Own => OWN.to_owned(),
            Work::Named(words) => words.to_owned(),
            Work::Called(method) => perk_render::short_method(&self.profile.symbols, method),
        }
    }

    /// The callers of a method, and the number of calls where it is known.
    fn callers(&self, kind: &Kind, advice: &Advice, screen: &Screen) -> Option<String> {
        let known: Vec<_> = advice.callers.iter().filter(|it| it.method.is_some()).collect();
        let calls = advice.calls.filter(|_| kind.has_calls);
        let calls = calls.map(|calls| match calls.self_ns {
            0 => plural(calls.count, "call"),
            _ => {
                format!("{} of {}", plural(calls.count, "call"), super::calls::average_text(&calls))
            }
        });
        // Where the calls are what costs, callers are the place to save.
        let is_saved_above = advice.is_chatty || (advice.is_leaf() && known.len() > 1);
        let by = if is_saved_above { "call it less in: " } else { "called by: " };
        let prefix = match &calls {
            Some(calls) if known.is_empty() => return Some(calls.clone()),
            Some(calls) if is_saved_above => format!("{calls}, fewer in: "),
            Some(calls) => format!("{calls}, {by}"),
            None => by.to_owned(),
        };
        let all = advice.callers.iter().map(|it| it.number).fold(0, u64::saturating_add);
        let caller = |caller: &&Caller| {
            let label = caller.method.map_or("", |method| &self.labels[&method]);
            let inferred = inferred(caller.inferred, caller.number);
            (label.to_owned(), share(caller.number, all) + &inferred)
        };
        fit(&prefix, known.iter().map(caller), screen)
    }

    /// `allocates below: 1.2 MB of byte[], 300 kB of java.lang.String`
    fn allocated(&self, kind: &Kind, advice: &Advice, screen: &Screen) -> Option<String> {
        if kind.unit == Unit::Bytes {
            return None;
        }
        let class = |&(class, size): &(_, u64)| {
            (
                format!("{} of {}", bytes(size), perk_render::class(&self.profile.symbols, class)),
                String::new(),
            )
        };
        let is_estimated = Metric::AllocatedBytes.period(self.profile).is_some();
        let prefix = if is_estimated { "allocates below: about " } else { "allocates below: " };
        fit(prefix, advice.allocated_bytes.iter().map(class), screen)
    }

    /// The lines of the method itself, and the part of its number at each.
    fn lines(&self, advice: &Advice, screen: &Screen) -> Option<String> {
        let line = |&(line, number): &(u32, u64)| (line.to_string(), share(number, advice.number));
        let prefix = if advice.lines.len() == 1 { "line: " } else { "lines: " };
        fit(prefix, advice.lines.iter().map(line), screen)
    }
}

/// ` (85 %)`; nothing where it is all.
fn share(number: u64, all: u64) -> String {
    if number == all { String::new() } else { format!(" ({:.0} %)", part(number, all)) }
}

/// ` [15 % inferred]`; nothing where nothing is.
fn inferred(inferred: u64, number: u64) -> String {
    match inferred {
        0 => String::new(),
        inferred if inferred == number => " [inferred]".to_owned(),
        inferred => format!(" [{:.0} % inferred]", part(inferred, number)),
    }
}

fn part(number: u64, all: u64) -> f64 {
    if all == 0 { 0.0 } else { number as f64 * 100.0 / all as f64 }
}

/// As many of `items`, names and the text after each, as fit on a line; the first in any case,
/// cut where it must be. `None` where there is none.
fn fit(
    prefix: &str,
    items: impl Iterator<Item = (String, String)>,
    screen: &Screen,
) -> Option<String> {
    const MORE: &str = ", …";
    let room = screen.width.map_or(WIDTH, |width| width.saturating_sub(INDENT));
    let length = |text: &str| text.chars().count();
    let mut items = items.peekable();
    let (name, rest) = items.next()?;
    let more = if items.peek().is_some() { length(MORE) } else { 0 };
    let name = screen.cut(&name, INDENT + length(prefix) + length(&rest) + more);
    let mut line = format!("{prefix}{name}{rest}");
    while let Some((name, rest)) = items.next() {
        let item = format!(", {name}{rest}");
        let more = if items.peek().is_some() { length(MORE) } else { 0 };
        if length(&line) + length(&item) + more > room {
            line += MORE;
            break;
        }
        line += &item;
    }
    Some(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_takes_what_fits() {
        let screen = Screen { width: Some(30), bold: false };
        let items = |names: &[&str]| {
            let items = names.iter().map(|name| ((*name).to_owned(), " (5 %)".to_owned()));
            items.collect::<Vec<_>>().into_iter()
        };
        let names = ["one", "two", "three"];
        assert_eq!(fit("by ", items(&names), &screen).as_deref(), Some("by one (5 %), …"));
        let all = "by one (5 %), two (5 %), three (5 %)";
        assert_eq!(fit("by ", items(&names), &Screen::default()).as_deref(), Some(all));
        assert_eq!(fit("by ", items(&[]), &screen), None);
        let screen = Screen { width: Some(50), bold: false };
        let long = ["org.example.application.service.Caller.call", "x"];
        let expected = "by o.e.a.service.Caller.call (5 %), …";
        assert_eq!(fit("by ", items(&long), &screen).as_deref(), Some(expected));
        assert!(expected.chars().count() + INDENT <= 50);
    }
}
