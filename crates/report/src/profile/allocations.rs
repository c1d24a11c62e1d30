//! Allocations by site, class and method.

use perk_analysis::MethodTree;
use perk_analysis::allocations::{self, AllocationColumns};
use perk_profile::units::{bytes, percent, plural};
use perk_profile::{Allocations, Metric, Profile, Sites};
use perk_render::{Cell, Column, Json, LazyTable};

/// The objects that were allocated, for people.
const ALLOCATED: &str = "allocated";
/// Represents the path where it is not known, and that of others is.
const NO_PATH: &str = "[site not known]";

/// The allocations of a profile.
#[derive(Debug)]
pub(super) struct Objects<'a> {
    profile: &'a Profile,
    section: Sites,
    /// By node of the profile's [`MethodTree`].
    pub(super) columns: AllocationColumns,
    /// The call path of some objects' allocation is known.
    pub(super) has_sites: bool,
    /// The objects of the rows.
    listed: Allocations,
    /// The metric of shares and orders.
    by: Metric,
    /// Whether the live objects are those that a garbage collection has left, and not all that none
    /// has removed yet; `None` where that is not known.
    is_collected: Option<bool>,
    /// Which numbers are known: of the allocated objects and of the live ones. Others are left out,
    /// as zeros would be wrong.
    is_allocated_known: bool,
    is_live_known: bool,
}

/// The numbers of some objects as far as they are known: bytes and their number. A file may have
/// either alone.
type Amounts = [Option<u64>; 2];

impl<'a> Objects<'a> {
    /// The allocations of `profile`; `None` where it has none. Shares and orders are by `asked`, if
    /// that is of objects.
    pub(super) fn new(
        profile: &'a Profile,
        tree: &MethodTree,
        asked: Option<&Metric>,
    ) -> Option<Self> {
        let section = profile.sites()?;
        let asked = asked.filter(|metric| metric.is_of_objects());
        let by = asked.cloned().unwrap_or_else(|| section.leading());
        let columns = AllocationColumns::new(profile, tree, &section, &by);
        let accounting = profile.accounting.as_ref().filter(|it| !it.live.is_empty());
        let is_collected = accounting.map(|it| !it.counts_uncollected());
        let has_sites = section.rows.iter().any(|row| profile.frames(row.trace).next().is_some());
        let mut objects = Self {
            profile,
            listed: section.listed(),
            by,
            is_collected,
            section,
            columns,
            has_sites,
            is_allocated_known: true,
            is_live_known: true,
        };
        let all = objects.all();
        // What lives was allocated.
        objects.is_allocated_known =
            (all.allocated_bytes, all.live_bytes) == (0, 0) || all.allocated_bytes > 0;
        // A table by class, or one without numbers of objects, does not say what lives.
        objects.is_live_known = objects.section.known.live
            && (has_sites && all.allocated_count > 0)
            || all.live_count > 0;
        Some(objects)
    }

    /// The live objects, for people: dead ones are among them unless a collection has removed them.
    fn live(&self) -> &'static str {
        if self.is_collected == Some(false) { "uncollected" } else { "live" }
    }

    /// The meaning of uncollected objects, if there are any.
    pub(super) fn uncollected(&self) -> Option<String> {
        let is_shown = self.is_live_known && self.is_collected == Some(false);
        let text = "uncollected objects are those that no garbage collection has removed yet, dead ones \
                    among them (--gc collects first)";
        is_shown.then(|| text.to_owned())
    }

    /// `12.3 MB allocated in 4000 objects, 1.2 MB live in 300 objects`; of sites that are not all
    /// `4 sites with 63.31 % of the live bytes: 1.6 MB allocated …`.
    pub(super) fn total(&self) -> String {
        let mut total = String::new();
        let mut objects = self.all();
        if self.section.rows.is_empty() && objects == Allocations::default() {
            // All sites were below the cutoff, or there are none: the file does not say.
            return "no allocation sites listed".to_owned();
        }
        if let Some(sites) = self.part() {
            total = format!("{sites}: ");
            objects = self.listed;
        }
        let about = if self.section.sample_interval_bytes.is_some() { "about " } else { "" };
        let amount = |(amounts, what): (Amounts, &str)| match amounts {
            [Some(size), Some(count)] if count > 0 || what != ALLOCATED => {
                Some(format!("{} {what} in {}", bytes(size), plural(count, "object")))
            }
            [Some(size), _] => Some(format!("{} {what}", bytes(size))),
            [None, Some(count)] => Some(format!("{} {what}", plural(count, "object"))),
            [None, None] => None,
        };
        let [size, count, live, live_count] = self.known(&objects);
        let amounts = [([size, count], ALLOCATED), ([live, live_count], self.live())];
        let amounts: Vec<_> = amounts.into_iter().filter_map(amount).collect();
        total + about + &amounts.join(", ")
    }

    /// `4 sites with 63.31 % of the live bytes`, where the file leaves out others and has nothing
    /// of them but that.
    pub(super) fn part(&self) -> Option<String> {
        let sites = plural(self.section.rows.len() as u64, "site");
        let share = percent(self.listed.live_bytes, self.all().live_bytes);
        let live = self.live();
        let part = || format!("{sites} with {share} % of the {live} bytes");
        (!self.section.known.all_sites).then(part)
    }

    /// All objects, those of sites that the file does not list among them as far as they are known.
    fn all(&self) -> Allocations {
        let (total, listed) = (self.section.total, self.listed);
        Allocations {
            live_bytes: total.live_bytes.max(listed.live_bytes),
            live_count: total.live_count.max(listed.live_count),
            allocated_bytes: total.allocated_bytes.max(listed.allocated_bytes),
            allocated_count: total.allocated_count.max(listed.allocated_count),
        }
    }

    /// The number that shares are of.
    fn number(&self, objects: &Allocations) -> u64 {
        match self.by {
            Metric::LiveBytes => objects.live_bytes,
            Metric::LiveObjects => objects.live_count,
            Metric::AllocatedObjects => objects.allocated_count,
            _ => objects.allocated_bytes,
        }
    }

    /// Whether shares and orders are of the live objects, or of their bytes.
    fn is_by_live(&self) -> bool {
        matches!(self.by, Metric::LiveBytes | Metric::LiveObjects)
    }

    fn heading(&self, title: &str) -> String {
        match self.section.sample_interval_bytes {
            Some(interval) => format!("{title} (estimates: one sample every {})", bytes(interval)),
            None => title.to_owned(),
        }
    }

    /// `live bytes`: what shares and orders are of.
    fn order(&self) -> String {
        let what = if self.is_by_live() { self.live() } else { "allocated" };
        match self.by {
            Metric::LiveObjects | Metric::AllocatedObjects => format!("{what} objects"),
            _ => format!("{what} bytes"),
        }
    }

    /// The columns of objects.
    fn numbers(&self) -> [Column; 4] {
        let (first, second) = if self.is_by_live() { (3, 1) } else { (1, 3) };
        let [size, count, live, live_count] = self.known(&self.all()).map(|it| it.is_some());
        let headings = match self.live() {
            "live" => ["live", "live objects", "live %"],
            _ => ["uncollected", "objects", "uncollected %"],
        };
        let mut columns = [
            Column::bytes("allocated_bytes").at(first, "allocated").text_if(size),
            Column::count("allocated_count").at(first + 1, "objects").text_if(count),
            Column::bytes("live_bytes").at(second, headings[0]).text_if(live),
            Column::count("live_count").at(second + 1, headings[1]).text_if(live_count),
        ];
        let (index, share) = match self.by {
            Metric::LiveBytes => (2, headings[2]),
            Metric::LiveObjects => (3, headings[2]),
            Metric::AllocatedObjects => (1, "objects %"),
            _ => (0, "alloc %"),
        };
        columns[index] = columns[index].clone().of(self.number(&self.all())).share_at(0, share);
        columns
    }

    /// The numbers of these columns, as far as they are known.
    fn known(&self, objects: &Allocations) -> [Option<u64>; 4] {
        let Allocations { live_bytes, live_count, allocated_bytes, allocated_count } = *objects;
        let [size, count] = amounts(self.is_allocated_known, allocated_bytes, allocated_count);
        let [live, live_count] = amounts(self.is_live_known, live_bytes, live_count);
        [size, count, live, live_count]
    }

    /// The cells of these columns.
    fn cells(&self, objects: &Allocations) -> [Cell; 4] {
        self.known(objects).map(Cell::from)
    }

    /// These columns as members of an object.
    fn members<'t>(
        &self,
        objects: &Allocations,
    ) -> impl Iterator<Item = (&'static str, Json)> + use<'t> {
        let members = self.numbers().into_iter().zip(self.known(objects));
        members.map(|(column, number)| (column.id(), number.into()))
    }

    /// These columns as an object.
    pub(super) fn json(&self, objects: &Allocations) -> Json {
        Json::object(self.members(objects))
    }

    /// The sites with most bytes, each with its call path.
    pub(super) fn sites(&self) -> LazyTable<'_> {
        let order = match self.by {
            Metric::AllocatedBytes => String::new(),
            _ => format!(" by {}", self.order()),
        };
        let callers = match self.profile.caller_sample_count() {
            Some(count) => format!(": counted, callers estimated from {}", plural(count, "sample")),
            None => String::new(),
        };
        let heading = format!("Top allocation sites{order}, innermost frame first{callers}");
        let heading = self.heading(&heading);
        let rows = allocations::sites(self.profile, &self.section, &self.by);
        LazyTable::of(&self.profile.symbols, heading, rows)
            .column(Column::other("class").name("class"), |row| row.class)
            .columns(self.numbers(), |row| self.cells(&row.objects))
            .column(Column::path(NO_PATH), |row| {
                Cell::Path(self.profile.tree.frames(row.node).collect())
            })
            .table()
            .ranked()
    }

    /// The classes with most bytes.
    pub(super) fn classes(&self) -> LazyTable<'_> {
        let heading = self.heading(&format!("Top classes by {}", self.order()));
        let rows = allocations::classes(self.profile, &self.section, &self.by);
        LazyTable::of(&self.profile.symbols, heading, rows)
            .column(Column::other("class").name("class"), |row| row.class)
            .columns(self.numbers(), |row| self.cells(&row.objects))
            .table()
            .ranked()
    }

    /// The methods that allocated most themselves, or most of what lives.
    pub(super) fn methods(&self, tree: &MethodTree) -> LazyTable<'_> {
        let total = self.number(&self.all());
        let number = |position, heading, share| {
            let column = Column::measure("", self.by.unit(), total, None).no_json().no_csv();
            column.share_at(position, share).at(position + 1, heading)
        };
        let count = |own: &Allocations| match self.is_by_live() {
            true => object_count(own.live_count, own.live_bytes),
            false => object_count(own.allocated_count, own.allocated_bytes),
        };
        let heading = self.heading(&format!("Top methods by {}", self.order()));
        LazyTable::of(&self.profile.symbols, heading, self.columns.methods(tree))
            .column(Column::method().name("method"), |row| row.method)
            .column(number(0, "self", "self %"), |row| self.number(&row.own))
            .column(Column::words().at(2, "objects"), move |row| count(&row.own))
            .column(number(3, "total", "total %"), |row| self.number(&row.total))
            .column(Column::other("self").no_csv(), |row| self.json(&row.own))
            .column(Column::other("total").no_csv(), |row| self.json(&row.total))
            .table()
            .ranked()
    }

    /// All allocations; of each list the first `top` rows.
    pub(super) fn report(&self, tree: &MethodTree, top: usize) -> Json {
        let is_partial = self.part().is_some();
        // Of the sites that the file lists.
        let listed = if is_partial { self.listed } else { self.all() };
        let all_live_bytes = self.is_live_known.then_some(self.all().live_bytes);
        let sample_interval_bytes = self.section.sample_interval_bytes;
        let members = [
            ("is_partial", is_partial.into()),
            ("all_live_bytes", all_live_bytes.into()),
            ("is_live_collected", self.is_collected.into()),
            ("is_estimated", sample_interval_bytes.is_some().into()),
            ("sample_interval_bytes", sample_interval_bytes.into()),
            ("classes", self.classes().top(top).into()),
            ("sites", self.sites().top(top).into()),
            ("methods", self.methods(tree).top(top).into()),
        ];
        Json::object(self.members(&listed).chain(members))
    }
}

/// Bytes and number of objects. No object has 0 bytes: one of the numbers alone is not known.
fn amounts(is_known: bool, size: u64, count: u64) -> Amounts {
    let known =
        |number: u64, other: u64| (is_known && (number > 0 || other == 0)).then_some(number);
    [known(size, count), known(count, size)]
}

/// A number of objects; some files have their bytes alone.
fn object_count(count: u64, size: u64) -> Cell {
    if count == 0 && size > 0 { Cell::Worded(0, "-".to_owned()) } else { Cell::Number(count) }
}
