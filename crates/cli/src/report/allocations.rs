//! Allocations as tables.

use perk_profile::allocations::{self, AllocationColumns};
use perk_profile::{Allocations, FrameId, MethodTree, Profile, Sites};

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
    /// Whether it is known of some objects where they were made. A table by class, which tells nothing
    /// of that, does not tell either what lives.
    has_sites: bool,
}

impl<'a> Objects<'a> {
    /// The allocations of `profile`; `None` where it has none.
    pub(super) fn new(profile: &'a Profile, tree: &MethodTree) -> Option<Self> {
        let section = profile.sites()?;
        let columns = AllocationColumns::new(profile, tree, section);
        let has_sites = section.rows.iter().any(|row| profile.frames(row.trace).next().is_some());
        Some(Self { profile, section, columns, has_sites })
    }

    /// `12.3 MB allocated in 4000 objects, 1.2 MB live in 300 objects`
    pub(super) fn total(&self) -> String {
        let all = self.all();
        let about = if self.section.sample_interval_bytes.is_some() { "about " } else { "" };
        let mut total = format!("{about}{} allocated", bytes(all.allocated_bytes));
        if all.allocated_count > 0 {
            total += &format!(" in {}", plural(all.allocated_count, "object"));
        }
        if self.tells_live() {
            let objects = plural(all.live_count, "object");
            total += &format!(", {} live in {objects}", bytes(all.live_bytes));
        }
        total
    }

    /// Whether it is known what lives. Files that tell no number of objects do not tell it either.
    fn tells_live(&self) -> bool {
        self.has_sites && self.all().allocated_count > 0 || self.all().live_count > 0
    }

    /// All objects, those of sites that the file does not list among them.
    pub(super) fn all(&self) -> Allocations {
        let mut listed = Allocations::default();
        self.section.rows.iter().for_each(|row| listed.add(row.objects));
        let total = self.section.total;
        Allocations {
            live_bytes: total.live_bytes.max(listed.live_bytes),
            live_count: total.live_count.max(listed.live_count),
            allocated_bytes: total.allocated_bytes.max(listed.allocated_bytes),
            allocated_count: total.allocated_count.max(listed.allocated_count),
        }
    }

    fn heading(&self, title: &str, screen: &Screen) -> String {
        let mut title = title.to_owned();
        if let Some(interval) = self.section.sample_interval_bytes {
            title += &format!(" (estimates: one sample every {})", bytes(interval));
        }
        screen.heading(&title) + "\n"
    }

    /// The sites with most allocated bytes, each with its call path; nothing where none is known.
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

    /// The classes with most allocated bytes.
    pub(super) fn classes(&self, top: usize, screen: &Screen) -> String {
        let rows = allocations::classes(self.profile, self.section);
        let rows = rows.iter().take(top).enumerate().map(|(index, row)| {
            let class = show::class(&self.profile.symbols, row.class);
            Row { cells: self.cells(index, &row.objects, class), below: Vec::new() }
        });
        let table = Table { titles: self.titles("class"), rows: rows.collect() };
        self.heading("Top classes by allocated bytes", screen) + &table.render(screen)
    }

    /// The methods that allocated most themselves; nothing where none is known.
    pub(super) fn methods(&self, tree: &MethodTree, top: usize, screen: &Screen) -> String {
        if !self.has_sites {
            return String::new();
        }
        let rows = self.columns.methods(tree);
        let rows = &rows[..rows.len().min(top)];
        let labels = show::labels(&self.profile.symbols, rows.iter().map(|row| row.method));
        let all = self.all().allocated_bytes;
        let rows = rows.iter().enumerate().map(|(index, row)| {
            let cells = vec![
                (index + 1).to_string(),
                percent(row.own.allocated_bytes, all),
                bytes(row.own.allocated_bytes),
                object_count(&row.own),
                percent(row.total.allocated_bytes, all),
                bytes(row.total.allocated_bytes),
                labels[&row.method].clone(),
            ];
            Row { cells, below: Vec::new() }
        });
        let titles = vec!["#", "self %", "self", "objects", "total %", "total", "method"];
        let table = Table { titles, rows: rows.collect() };
        self.heading("Top methods by allocated bytes", screen) + &table.render(screen)
    }

    fn titles(&self, last: &'static str) -> Vec<&'static str> {
        let live: &[_] = if self.tells_live() { &["live", "live objects"] } else { &[] };
        [&["#", "alloc %", "allocated", "objects"], live, &[last]].concat()
    }

    fn cells(&self, index: usize, objects: &Allocations, name: String) -> Vec<String> {
        let mut cells = vec![
            (index + 1).to_string(),
            percent(objects.allocated_bytes, self.all().allocated_bytes),
            bytes(objects.allocated_bytes),
            object_count(objects),
        ];
        if self.tells_live() {
            cells.extend([bytes(objects.live_bytes), objects.live_count.to_string()]);
        }
        cells.push(name);
        cells
    }
}

/// How many objects there are; some files tell their bytes alone.
fn object_count(objects: &Allocations) -> String {
    match objects.allocated_count {
        0 if objects.allocated_bytes > 0 => "-".to_owned(),
        count => count.to_string(),
    }
}
