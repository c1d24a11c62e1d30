//! Accesses to the fields of objects.

use std::cmp::Reverse;

use perk_analysis::objects::{self, ObjectsRow};
use perk_profile::units::{percent, plural};
use perk_profile::{AllocationSite, ClassId, Field, FieldAccesses, Profile, Unit, names};
use perk_render::{Cell, Column, Json, Row, Table};

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

    /// The classes with most objects, the fields that other threads accessed in most objects, the
    /// fields with most accesses, and the sites that allocated most objects.
    pub(super) fn tables(&self) -> [Table<'_>; 4] {
        let symbols = &self.profile.symbols;
        let mut shared = objects::by_field(self.accesses);
        shared.retain(|row| row.shared_count > 0);
        shared.sort_by_key(|row| Reverse(row.shared_count));
        let field = |row: &ObjectsRow<_>| vec![Cell::text(self.field_name(row.key))];
        let site = |row: &ObjectsRow<(Option<AllocationSite>, ClassId)>| {
            let (site, class) = row.key;
            let site = site.map_or_else(|| NO_SITE.to_owned(), |site| site.name(symbols));
            vec![Cell::text(format!("{} at {site}", symbols.class_name(class)))]
        };
        let name = |heading| vec![Column::words().name(heading)];
        let fields = objects::by_field(self.accesses);
        let sites = objects::by_site(self.accesses);
        [
            self.table("Top shared fields by objects", name("field"), shared, field),
            self.classes(),
            self.table("Top fields by accesses", name("field"), fields, field),
            self.table("Top allocation sites by objects", name("class and site"), sites, site),
        ]
    }

    /// The classes with most objects.
    fn classes(&self) -> Table<'_> {
        let class = |row: &ObjectsRow<ClassId>| vec![Cell::Class(row.key)];
        let columns = vec![Column::other("class").name("class")];
        self.table("Top classes by objects", columns, objects::by_class(self.accesses), class)
    }

    /// The fields of objects of each class, with the accesses to all objects together.
    pub(super) fn fields(&self) -> Table<'_> {
        let symbols = &self.profile.symbols;
        let field = |row: &ObjectsRow<(ClassId, Field)>| {
            let (class, field) = row.key;
            let names = [field.class, field.name, field.descriptor];
            let names = names.map(|id| Cell::text(symbols.strings.get(id)));
            [Cell::Class(class)].into_iter().chain(names).collect()
        };
        let columns = ["class", "field_class", "field", "descriptor"].map(Column::other).to_vec();
        self.table("", columns, objects::by_field(self.accesses), field)
    }

    /// A table of objects, whose first columns are `columns` with the cells of `names`.
    fn table<'t, K: 't>(
        &'t self,
        heading: &str,
        mut columns: Vec<Column>,
        rows: Vec<ObjectsRow<K>>,
        names: impl Fn(&ObjectsRow<K>) -> Vec<Cell<'t>> + 't,
    ) -> Table<'t> {
        columns.extend([
            Column::number("object_count", Unit::Count).at(0, "objects"),
            Column::number("accessed_count", Unit::Count),
            Column::words().at(1, "untouched"),
            Column::number("shared_count", Unit::Count).at(2, "shared"),
            Column::words().at(3, "shared %"),
        ]);
        columns.extend(counts());
        let rows = rows.into_iter().map(move |row| {
            let mut cells = names(&row);
            cells.extend([
                Cell::Number(row.object_count),
                Cell::Number(row.accessed_count),
                Cell::Number(row.object_count - row.accessed_count),
                Cell::Number(row.shared_count),
                Cell::Share(row.shared_count, row.object_count),
            ]);
            cells.extend(row.counts.numbers().map(Cell::Number));
            Row::new(cells)
        });
        Table::new(&self.profile.symbols, heading, columns, rows).ranked()
    }

    /// `java.nio.HeapByteBuffer: int java.nio.Buffer.limit`
    fn field_name(&self, (class, field): (ClassId, Field)) -> String {
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

    /// Everything, row by row. Objects that are alike are one entry.
    pub(super) fn report(&self) -> Json<'_> {
        Json::object([
            ("object_count", self.accesses.object_count().into()),
            ("classes", self.classes().into()),
            ("objects", self.objects().into()),
        ])
    }

    fn objects(&self) -> Table<'_> {
        let symbols = &self.profile.symbols;
        let text = |id| symbols.strings.get(id);
        let rows = self.accesses.rows().map(move |row| {
            let site = row.site.map(|site| {
                Json::object([
                    ("class", text(site.class).into()),
                    ("method", text(site.method).into()),
                    ("descriptor", text(site.descriptor).into()),
                    ("index", Json::Signed(site.index.into())),
                ])
            });
            // The accesses to each field of one object.
            let accesses = row.fields.iter().zip(row.counts).map(move |(field, counts)| {
                let names = [field.class, field.name, field.descriptor];
                let names = names.map(|id| Cell::text(text(id)));
                Row::new(names.into_iter().chain(counts.numbers().map(Cell::Number)).collect())
            });
            let names = ["class", "name", "descriptor"].map(Column::other).into_iter();
            let fields = Table::new(symbols, "", names.chain(counts()).collect(), accesses);
            Row::new(vec![
                Cell::Class(row.class),
                Cell::Json(site.into()),
                Cell::Number(row.object_count),
                Cell::Bool(row.is_shared()),
                Cell::Json(fields.into()),
            ])
        });
        let keys = ["class", "site", "object_count", "is_shared", "fields"];
        Table::new(symbols, "", keys.map(Column::other).to_vec(), rows)
    }
}

/// The columns of [`FieldCounts::numbers`](perk_profile::FieldCounts::numbers).
fn counts() -> [Column; 4] {
    [
        (4, "owner_read_count", "reads"),
        (5, "other_read_count", "by others"),
        (6, "owner_write_count", "writes"),
        (7, "other_write_count", "by others"),
    ]
    .map(|(position, id, heading)| Column::number(id, Unit::Count).at(position, heading))
}
