//! The first screen: the methods to begin with, what each can bring, and what there is to know of it.

use std::collections::HashMap;

use perk_analysis::advice::{self, Advice, Caller};
use perk_profile::units::{amount, bytes, duration, plural};
use perk_profile::{MethodId, Metric, Profile, Unit};
use perk_render::{Cell, Column, Json, Screen, Table};

use super::Content;
use super::metric::MetricView;
use crate::metric::is_of_jamaica;

/// The lines of the smallest terminal: the table and what is before it fit there.
const LINES: usize = 24;
/// Methods that are always shown, and the most that are.
const LEAST: usize = 5;
pub(super) const MOST: usize = 10;
/// A method after the first ones with less of everything than this brings next to nothing.
const WORTH: f64 = 0.01;
/// Lines of hints under a method.
const HINTS: usize = 2;
/// Columns by which hints are indented, and how long they are where lines have no limit.
const INDENT: usize = 8;
const WIDTH: usize = 120;

/// The methods to begin with.
#[derive(Debug)]
pub(super) struct Head<'a> {
    profile: &'a Profile,
    /// The numbers that order them; `None` where a file has callers and callees and no paths.
    view: Option<&'a MetricView<'a>>,
    unit: Unit,
    /// Of everything.
    total: u64,
    advice: Vec<Advice>,
    labels: HashMap<MethodId, String>,
}

impl<'a> Head<'a> {
    /// The first `count` methods; `None` where there is none.
    pub(super) fn new(content: &'a Content<'_>, count: usize) -> Option<Self> {
        let profile = content.profile;
        let table = content.calls.as_ref().map(|calls| &calls.table);
        // The counts of methods without their callers say nothing of what fewer calls would save.
        if content.main_view().is_some_and(|view| is_of_jamaica(&view.metric)) {
            return None;
        }
        // A method that waits is not where it could go on sooner, and one that allocates an
        // object is not where its fields are accessed.
        let is_elsewhere = |metric: &Metric| {
            metric.is_of_locks() || metric.is_of_fields() || *metric == Metric::WallTime
        };
        if content.main_view().is_some_and(|view| is_elsewhere(&view.metric)) {
            return None;
        }
        let (view, unit, total, advice) = match (content.main_view(), table) {
            (Some(view), table) => {
                let advice = advice::of_numbers(
                    profile,
                    content.tree,
                    view.columns(),
                    &view.numbers,
                    content.joined,
                    table,
                    count,
                );
                (Some(view), view.unit(), view.numbers.total, advice)
            }
            (None, Some(table)) => {
                let (unit, total) = match table.self_ns {
                    0 => (Unit::Count, table.count),
                    ns => (Unit::Nanoseconds, ns),
                };
                (None, unit, total, advice::of_calls(table, count))
            }
            (None, None) => return None,
        };
        let methods = advice.iter().flat_map(|advice| {
            let callers = advice.callers.iter().filter_map(|caller| caller.method);
            callers.chain([advice.method])
        });
        let labels = perk_render::labels(&profile.symbols, methods);
        (!advice.is_empty()).then_some(Self { profile, view, unit, total, advice, labels })
    }

    /// The metric that orders the methods.
    fn metric(&self) -> &str {
        match (self.view, self.unit) {
            (Some(view), _) => view.name(),
            (None, Unit::Nanoseconds) => "time",
            (None, _) => "calls",
        }
    }

    /// The table: `top` rows, or as many as fit below `used` lines.
    pub(super) fn section(&self, top: Option<usize>, used: usize, screen: &Screen) -> Table<'_> {
        let mut left = LINES.saturating_sub(used + 3);
        let mut rows = Vec::new();
        for (index, advice) in self.advice.iter().enumerate().take(top.unwrap_or(MOST)) {
            let below = self.hints(advice, screen);
            let lines = 1 + below.len();
            let is_worth_it = lines <= left && advice.own as f64 >= WORTH * self.total as f64;
            if top.is_none() && index >= LEAST && !is_worth_it {
                break;
            }
            left = left.saturating_sub(lines);
            rows.push((advice, below));
        }
        self.table(rows).legend(self.legend())
    }

    /// The metric, and the methods, as many as there are.
    pub(super) fn report(&self) -> Json<'_> {
        Json::object([
            ("metric", self.metric().into()),
            ("unit", self.unit.name().into()),
            ("total", self.total.into()),
            ("methods", self.table(self.advice.iter().map(|it| (it, Vec::new()))).into()),
        ])
    }

    /// The methods, each with lines below it.
    fn table<'t>(
        &'t self,
        rows: impl IntoIterator<Item = (&'t Advice, Vec<String>), IntoIter: 't>,
    ) -> Table<'t> {
        let symbols = &self.profile.symbols;
        let callers = |it: &Advice| {
            Table::of(symbols, "", it.callers.clone())
                .column(Column::method_name("name"), |it| it.method)
                .column(Column::other("number"), |it| it.number)
                .column(Column::other("inferred"), |it| it.inferred)
                .table()
        };
        let allocated = |it: &Advice| {
            Table::of(symbols, "", it.allocated_bytes.clone())
                .column(Column::other("class"), |it| it.0)
                .column(Column::bytes("allocated_bytes"), |it| it.1)
                .table()
        };
        let lines = |it: &Advice| {
            Table::of(symbols, "", it.lines.clone())
                .column(Column::other("line"), |it| u64::from(it.0))
                .column(Column::other("number"), |it| it.1)
                .table()
        };
        let own = |it: &Advice| Cell::Worded(it.own, self.number(it.own));
        let half = |it: &Advice| Cell::Worded(it.half(), self.half(it));
        let average = |it: &Advice| Some(it.calls.filter(|it| it.self_ns > 0)?.average_ns());
        let share = |number| Cell::Share(number, self.total);
        // Not of the half that is shown, which may be rounded.
        let half_share = |it: &Advice| Cell::Share(it.own, self.total.saturating_mul(2));
        Table::of(symbols, "Where to begin", rows)
            .column(Column::method(), |it| it.0.method)
            .column(Column::other("label").name("method"), |it| &*self.labels[&it.0.method])
            // The most that making it faster can save.
            .column(Column::other("self").at(1, "self"), move |it| own(it.0))
            .column(Column::other("self_percent").at(0, "self %"), move |it| share(it.0.own))
            // What making it twice as fast saves.
            .column(Column::other("halved").at(3, "halved"), move |it| half(it.0))
            .column(Column::other("halved_percent").at(2, "halved %"), move |it| half_share(it.0))
            // The most that not calling it can save.
            .column(Column::other("total"), |it| it.0.total)
            .column(Column::other("total_percent").at(4, "total %"), move |it| share(it.0.total))
            .column(Column::other("is_leaf"), |it| it.0.is_leaf())
            // Its calls are so many and so small that only fewer of them can help.
            .column(Column::other("is_chatty"), |it| it.0.is_chatty)
            .column(Column::count("call_count"), |it| it.0.calls.map(|calls| calls.count))
            .column(Column::ns("average_self_ns"), move |it| average(it.0))
            .column(Column::other("callers"), move |it| callers(it.0))
            .column(Column::other("allocated"), move |it| allocated(it.0))
            .column(Column::other("lines"), move |it| lines(it.0))
            .each(|it, row| row.below = it.1.clone())
            .table()
            .ranked()
    }

    /// The meaning of the columns.
    fn legend(&self) -> &'static str {
        let is_samples = self.view.is_some_and(|view| view.metric == Metric::Samples);
        let is_of_objects = self.view.is_some_and(|view| view.metric.is_of_objects());
        match self.unit {
            _ if is_of_objects => {
                "Saved: halved if the method allocates half as much, total if nothing calls it."
            }
            Unit::Count if !is_samples => {
                "Saved: halved if the method causes half as many, total if nothing calls it."
            }
            _ => "Saved: halved if the method runs twice as fast, total if nothing calls it.",
        }
    }

    fn number(&self, number: u64) -> String {
        self.view.map_or_else(|| amount(number, self.unit), |view| view.number(number))
    }

    /// The saving of half of a method's own work.
    fn half(&self, advice: &Advice) -> String {
        match self.view.and_then(|view| view.cpu_ns(advice.own)) {
            // Half a sample is still a time.
            Some(ns) => duration(ns / 2),
            None if self.unit == Unit::Count && advice.own % 2 == 1 => {
                format!("{}.5", advice.half())
            }
            None => self.number(advice.half()),
        }
    }

    fn hints(&self, advice: &Advice, screen: &Screen) -> Vec<String> {
        let hints = [
            self.callers(advice, screen),
            self.allocated(advice, screen),
            self.lines(advice, screen),
        ];
        hints.into_iter().flatten().take(HINTS).collect()
    }

    /// The callers of a method, and the number of calls where it is known.
    fn callers(&self, advice: &Advice, screen: &Screen) -> Option<String> {
        let known: Vec<_> = advice.callers.iter().filter(|it| it.method.is_some()).collect();
        // Where calls are what is shown, their number stands above.
        let calls = advice.calls.filter(|_| self.metric() != "calls");
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
            let inferred = match caller.inferred {
                0 => String::new(),
                inferred if inferred == caller.number => " [inferred]".to_owned(),
                inferred => format!(" [{:.0} % inferred]", part(inferred, caller.number)),
            };
            (label.to_owned(), share(caller.number, all) + &inferred)
        };
        fit(&prefix, known.iter().map(caller), screen)
    }

    /// `allocates below: 1.2 MB of byte[], 300 kB of java.lang.String`
    fn allocated(&self, advice: &Advice, screen: &Screen) -> Option<String> {
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

    /// The lines, where the file has no signatures: methods of one name may be several.
    fn lines(&self, advice: &Advice, screen: &Screen) -> Option<String> {
        let method = self.profile.symbols.get_method(advice.method);
        if method.signature.is_some() || advice.lines.len() < 2 {
            return None;
        }
        let line = |&(line, number): &(u32, u64)| (line.to_string(), share(number, advice.own));
        fit("lines: ", advice.lines.iter().map(line), screen)
    }
}

/// ` (85 %)`; nothing where it is all.
fn share(number: u64, all: u64) -> String {
    if number == all { String::new() } else { format!(" ({:.0} %)", part(number, all)) }
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
        let expected = "by …plication.service.Caller.call (5 %), …";
        assert_eq!(fit("by ", items(&long), &screen).as_deref(), Some(expected));
        assert_eq!(expected.chars().count() + INDENT, 50);
    }
}
