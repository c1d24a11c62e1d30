//! Accesses to the fields of objects, as tables and as JSON.

use perk_analysis::objects::{self, ObjectsRow};
use perk_profile::{AllocationSite, Field, FieldAccesses, FieldCounts, Profile, names};
use serde::Serialize;

use super::table::{Row, Table};
use crate::show::{Screen, percent, plural, printable};

/// Stands for the site of objects whose allocation was not seen.
const NO_SITE: &str = "[site not known]";

/// The field accesses of a profile.
#[derive(Debug)]
pub(super) struct Fields<'a> {
    profile: &'a Profile,
    accesses: &'a FieldAccesses,
}

impl<'a> Fields<'a> {
    /// The accesses of `profile`; `None` where it has none.
    pub(super) fn new(profile: &'a Profile) -> Option<Self> {
        Some(Self { profile, accesses: profile.field_accesses()? })
    }

    /// `2003112 objects, 3210 of them shared between threads (0.16 %)`
    pub(super) fn total(&self) -> String {
        let count = self.accesses.object_count();
        let shared = self.accesses.rows().filter(|row| row.is_shared()).map(|row| row.object_count);
        let shared = shared.fold(0, u64::saturating_add);
        let share = percent(shared, count);
        format!("{}, {shared} of them shared between threads ({share} %)", plural(count, "object"))
    }

    /// The classes with most objects.
    pub(super) fn classes(&self, top: usize, screen: &Screen) -> String {
        let rows = objects::by_class(self.accesses);
        let name = |row: &ObjectsRow<_>| printable(self.profile.symbols.class_name(row.key));
        table("Top classes by objects", &rows, "class", name, top, screen)
    }

    /// The fields with most accesses.
    pub(super) fn fields(&self, top: usize, screen: &Screen) -> String {
        let rows = objects::by_field(self.accesses);
        let name = |row: &ObjectsRow<_>| printable(&self.field_name(row.key));
        table("Top fields by accesses", &rows, "field", name, top, screen)
    }

    /// The fields that other threads accessed in most objects.
    pub(super) fn shared_fields(&self, top: usize, screen: &Screen) -> String {
        let mut rows = objects::by_field(self.accesses);
        rows.retain(|row| row.shared_count > 0);
        rows.sort_by_key(|row| std::cmp::Reverse(row.shared_count));
        let name = |row: &ObjectsRow<_>| printable(&self.field_name(row.key));
        table("Top shared fields by objects", &rows, "field", name, top, screen)
    }

    /// The sites that allocated most objects.
    pub(super) fn sites(&self, top: usize, screen: &Screen) -> String {
        let rows = objects::by_site(self.accesses);
        let symbols = &self.profile.symbols;
        let name = |row: &ObjectsRow<_>| {
            let (site, class): (Option<AllocationSite>, _) = row.key;
            let site = site.map_or_else(|| NO_SITE.to_owned(), |site| site.name(symbols));
            printable(&format!("{} at {site}", symbols.class_name(class)))
        };
        table("Top allocation sites by objects", &rows, "class and site", name, top, screen)
    }

    /// `java.nio.HeapByteBuffer: int java.nio.Buffer.limit`
    fn field_name(&self, (class, field): (perk_profile::ClassId, Field)) -> String {
        let symbols = &self.profile.symbols;
        let text = |id| symbols.strings.get(id);
        let class = symbols.class_name(class);
        let kind = names::from_signature(text(field.descriptor));
        let (owner, name) = (names::from_signature(text(field.class)), text(field.name));
        match (kind.as_str(), owner == class) {
            ("?", _) => format!("{class}: {name}"),
            (kind, true) => format!("{class}: {kind} {name}"),
            (kind, false) => format!("{class}: {kind} {owner}.{name}"),
        }
    }

    /// Everything, row by row.
    pub(super) fn report(&self) -> FieldReport<'a> {
        let (profile, accesses) = (self.profile, self.accesses);
        let text = |id| profile.symbols.strings.get(id);
        let objects = accesses.rows().map(|row| Objects {
            class: profile.symbols.class_name(row.class),
            site: row.site.map(|site| Site {
                class: text(site.class),
                method: text(site.method),
                descriptor: text(site.descriptor),
                index: site.index,
            }),
            object_count: row.object_count,
            is_shared: row.is_shared(),
            fields: row
                .fields
                .iter()
                .zip(row.counts)
                .map(|(field, counts)| Accessed {
                    class: text(field.class),
                    name: text(field.name),
                    descriptor: text(field.descriptor),
                    counts: Counts::of(counts),
                })
                .collect(),
        });
        let classes = objects::by_class(accesses);
        let classes = classes.iter().map(|row| Class {
            class: profile.symbols.class_name(row.key),
            object_count: row.object_count,
            accessed_count: row.accessed_count,
            shared_count: row.shared_count,
            counts: Counts::of(&row.counts),
        });
        FieldReport {
            object_count: accesses.object_count(),
            classes: classes.collect(),
            objects: objects.collect(),
        }
    }
}

fn table<K>(
    title: &str,
    rows: &[ObjectsRow<K>],
    what: &'static str,
    name: impl Fn(&ObjectsRow<K>) -> String,
    top: usize,
    screen: &Screen,
) -> String {
    if rows.is_empty() {
        return String::new();
    }
    let cells = |(index, row): (usize, &ObjectsRow<K>)| {
        let numbers = [
            index as u64 + 1,
            row.object_count,
            row.object_count - row.accessed_count,
            row.shared_count,
        ];
        let mut cells: Vec<_> = numbers.iter().map(u64::to_string).collect();
        cells.push(percent(row.shared_count, row.object_count));
        cells.extend(row.counts.numbers().iter().map(u64::to_string));
        cells.push(name(row));
        Row { cells, below: Vec::new() }
    };
    let rows = rows.iter().take(top).enumerate().map(cells).collect();
    let titles = vec![
        "#",
        "objects",
        "untouched",
        "shared",
        "shared %",
        "reads",
        "by others",
        "writes",
        "by others",
        what,
    ];
    screen.heading(title) + "\n" + &Table { titles, rows }.render(screen)
}

/// Field accesses as JSON. Objects that are alike are one entry.
#[derive(Serialize)]
pub(super) struct FieldReport<'a> {
    object_count: u64,
    classes: Vec<Class<'a>>,
    objects: Vec<Objects<'a>>,
}

#[derive(Serialize)]
struct Class<'a> {
    class: &'a str,
    object_count: u64,
    /// Objects with an access to any field.
    accessed_count: u64,
    /// Objects that another thread than their own accessed.
    shared_count: u64,
    #[serde(flatten)]
    counts: Counts,
}

#[derive(Serialize)]
struct Objects<'a> {
    class: &'a str,
    site: Option<Site<'a>>,
    object_count: u64,
    is_shared: bool,
    /// The accesses to each field of one object.
    fields: Vec<Accessed<'a>>,
}

#[derive(Serialize)]
struct Site<'a> {
    class: &'a str,
    method: &'a str,
    descriptor: &'a str,
    index: i32,
}

#[derive(Serialize)]
struct Accessed<'a> {
    class: &'a str,
    name: &'a str,
    descriptor: &'a str,
    #[serde(flatten)]
    counts: Counts,
}

#[derive(Serialize)]
struct Counts {
    owner_read_count: u64,
    other_read_count: u64,
    owner_write_count: u64,
    other_write_count: u64,
}

impl Counts {
    fn of(counts: &FieldCounts) -> Self {
        let &FieldCounts {
            owner_read_count,
            other_read_count,
            owner_write_count,
            other_write_count,
        } = counts;
        Self { owner_read_count, other_read_count, owner_write_count, other_write_count }
    }
}
