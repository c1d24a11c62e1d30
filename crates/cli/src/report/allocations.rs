//! Allocations as tables.

use perk_analysis::MethodTree;
use perk_analysis::allocations::{self, AllocationColumns};
use perk_profile::{Allocations, FrameId, Profile, Sites};

use super::paths;
use super::table::{Row, Table};
use crate::show::{self, Screen, bytes, percent, plural};

/// Stands for the path where it is not known, and that of others is.
const NO_PATH: &str = "[site not known]";

/// The allocations of a profile.
#[derive(Debug)]
pub(super) struct Objects<'a> {
    profile: &'a Profile,
    pub(super) section: &'a Sites,
    /// By node of the profile's [`MethodTree`].
    pub(super) columns: AllocationColumns,
    /// Whether it is known of some objects where they were made.
    has_sites: bool,
    /// The objects of the rows.
    listed: Allocations,
    /// Whether shares are of the live bytes, and lists in their order: see [`Sites::is_by_live`].
    is_by_live: bool,
    /// Whether it is known what was allocated, and what of it lives.
    pub(super) known: Known,
}

/// Which numbers are known: others are left out, as zeros would be wrong.
#[derive(Clone, Copy, Debug)]
pub(super) struct Known {
    pub(super) allocated: bool,
    pub(super) live: bool,
}

impl<'a> Objects<'a> {
    /// The allocations of `profile`; `None` where it has none.
    pub(super) fn new(profile: &'a Profile, tree: &MethodTree) -> Option<Self> {
        let section = profile.sites()?;
        let columns = AllocationColumns::new(profile, tree, section);
        let has_sites = section.rows.iter().any(|row| profile.frames(row.trace).next().is_some());
        let listed = section.listed();
        let known = Known { allocated: true, live: true };
        let is_by_live = section.is_by_live();
        let mut objects = Self { profile, section, columns, has_sites, listed, is_by_live, known };
        let all = objects.all();
        objects.known = Known {
            // What lives was allocated.
            allocated: (all.allocated_bytes, all.live_bytes) == (0, 0) || all.allocated_bytes > 0,
            // A table by class, or one without numbers of objects, does not tell what lives.
            live: section.known.live && (has_sites && all.allocated_count > 0)
                || all.live_count > 0,
        };
        Some(objects)
    }

    /// `12.3 MB allocated in 4000 objects, 1.2 MB live in 300 objects`; of sites that are not all
    /// `4 sites with 63.31 % of the live bytes: 1.6 MB allocated …`.
    pub(super) fn total(&self) -> String {
        let mut total = String::new();
        let mut objects = self.all();
        if self.section.rows.is_empty() && objects == Allocations::default() {
            // All sites were below the cutoff, or there are none: the file does not tell.
            return "no allocation sites listed".to_owned();
        }
        if let Some(sites) = self.part() {
            total = format!("{sites}: ");
            objects = self.listed;
        }
        let about = if self.section.sample_interval_bytes.is_some() { "about " } else { "" };
        let amount = |size, count, what| match count {
            0 => format!("{} {what}", bytes(size)),
            count => format!("{} {what} in {}", bytes(size), plural(count, "object")),
        };
        let mut amounts = Vec::new();
        if self.known.allocated {
            amounts.push(amount(objects.allocated_bytes, objects.allocated_count, "allocated"));
        }
        if self.known.live {
            let objects_live = plural(objects.live_count, "object");
            amounts.push(format!("{} live in {objects_live}", bytes(objects.live_bytes)));
        }
        total + about + &amounts.join(", ")
    }

    /// `4 sites with 63.31 % of the live bytes`, where the file leaves out others and tells nothing
    /// of them but that.
    pub(super) fn part(&self) -> Option<String> {
        let sites = plural(self.section.rows.len() as u64, "site");
        let share = percent(self.listed.live_bytes, self.all().live_bytes);
        (!self.section.known.all_sites).then(|| format!("{sites} with {share} % of the live bytes"))
    }

    /// All objects, those of sites that the file does not list among them as far as they are known.
    pub(super) fn all(&self) -> Allocations {
        let (total, listed) = (self.section.total, self.listed);
        Allocations {
            live_bytes: total.live_bytes.max(listed.live_bytes),
            live_count: total.live_count.max(listed.live_count),
            allocated_bytes: total.allocated_bytes.max(listed.allocated_bytes),
            allocated_count: total.allocated_count.max(listed.allocated_count),
        }
    }

    /// The objects of the rows.
    pub(super) fn listed(&self) -> Allocations {
        self.listed
    }

    /// The bytes that shares are of.
    fn size(&self, objects: &Allocations) -> u64 {
        if self.is_by_live { objects.live_bytes } else { objects.allocated_bytes }
    }

    /// What part of all these objects are.
    fn share(&self, objects: &Allocations) -> String {
        percent(self.size(objects), self.size(&self.all()))
    }

    fn order(&self) -> &'static str {
        if self.is_by_live { "live" } else { "allocated" }
    }

    fn heading(&self, title: &str, screen: &Screen) -> String {
        let mut title = title.to_owned();
        if let Some(interval) = self.section.sample_interval_bytes {
            title += &format!(" (estimates: one sample every {})", bytes(interval));
        }
        screen.heading(&title) + "\n"
    }

    /// The sites with most bytes, each with its call path; nothing where none is known.
    pub(super) fn sites(&self, top: usize, screen: &Screen) -> String {
        if !self.has_sites {
            return String::new();
        }
        let rows = allocations::sites(self.profile, self.section);
        let symbols = &self.profile.symbols;
        let rows = rows.iter().take(top).enumerate().map(|(index, row)| {
            let class = show::class(symbols, row.class);
            let frames: Vec<_> = self.profile.tree.frames(row.node).collect();
            let mut below = paths::middle_cut(&frames, |&id: &FrameId| show::frame(symbols, id));
            if below.is_empty() {
                below.push(NO_PATH.to_owned());
            }
            Row { cells: self.cells(index, &row.objects, class), below }
        });
        let table = Table { titles: self.titles("class"), rows: rows.collect() };
        self.heading("Top allocation sites, innermost frame first", screen) + &table.render(screen)
    }

    /// The classes with most bytes.
    pub(super) fn classes(&self, top: usize, screen: &Screen) -> String {
        let rows = allocations::classes(self.profile, self.section);
        if rows.is_empty() {
            return String::new();
        }
        let rows = rows.iter().take(top).enumerate().map(|(index, row)| {
            let class = show::class(&self.profile.symbols, row.class);
            Row { cells: self.cells(index, &row.objects, class), below: Vec::new() }
        });
        let table = Table { titles: self.titles("class"), rows: rows.collect() };
        let title = format!("Top classes by {} bytes", self.order());
        self.heading(&title, screen) + &table.render(screen)
    }

    /// The methods that allocated most themselves, or most of what lives; nothing where none is known.
    pub(super) fn methods(&self, tree: &MethodTree, top: usize, screen: &Screen) -> String {
        if !self.has_sites {
            return String::new();
        }
        let rows = self.columns.methods(tree);
        let rows = &rows[..rows.len().min(top)];
        let labels = show::labels(&self.profile.symbols, rows.iter().map(|row| row.method));
        let rows = rows.iter().enumerate().map(|(index, row)| {
            let cells = vec![
                (index + 1).to_string(),
                self.share(&row.own),
                bytes(self.size(&row.own)),
                match self.is_by_live {
                    true => object_count(row.own.live_count, row.own.live_bytes),
                    false => object_count(row.own.allocated_count, row.own.allocated_bytes),
                },
                self.share(&row.total),
                bytes(self.size(&row.total)),
                labels[&row.method].clone(),
            ];
            Row { cells, below: Vec::new() }
        });
        let titles = vec!["#", "self %", "self", "objects", "total %", "total", "method"];
        let table = Table { titles, rows: rows.collect() };
        let title = format!("Top methods by {} bytes", self.order());
        self.heading(&title, screen) + &table.render(screen)
    }

    fn titles(&self, last: &'static str) -> Vec<&'static str> {
        let allocated: &[_] = if self.known.allocated { &["allocated", "objects"] } else { &[] };
        let live: &[_] = if self.known.live { &["live", "live objects"] } else { &[] };
        match self.is_by_live {
            true => [&["#", "live %"], live, allocated, &[last]].concat(),
            false => [&["#", "alloc %"], allocated, live, &[last]].concat(),
        }
    }

    fn cells(&self, index: usize, objects: &Allocations, name: String) -> Vec<String> {
        let columns = |is_known: bool, size: u64, count: u64| match is_known {
            true => vec![bytes(size), object_count(count, size)],
            false => Vec::new(),
        };
        let Allocations { live_bytes, live_count, allocated_bytes, allocated_count } = *objects;
        let allocated = columns(self.known.allocated, allocated_bytes, allocated_count);
        let live = columns(self.known.live, live_bytes, live_count);
        let (first, second) = if self.is_by_live { (live, allocated) } else { (allocated, live) };
        let head = vec![(index + 1).to_string(), self.share(objects)];
        [head, first, second, vec![name]].concat()
    }
}

/// How many objects there are; some files tell their bytes alone.
fn object_count(count: u64, size: u64) -> String {
    if count == 0 && size > 0 { "-".to_owned() } else { count.to_string() }
}
