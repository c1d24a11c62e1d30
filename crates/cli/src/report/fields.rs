//! Accesses to the fields of objects.

use std::cmp::Reverse;

use perk_analysis::objects::{self, ObjectsRow};
use perk_profile::units::{percent, plural};
use perk_profile::{AllocationSite, ClassId, Field, FieldAccesses, FieldCounts, Profile, names};
use perk_render::{Cell, Column, Json, Rows, Table};

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
        let fields = objects::by_field(self.accesses);
        let field = |heading: &str, rows| {
            let name = |row: &ObjectsRow<_>| self.field_name(row.key);
            self.numbers(
                Table::of(symbols, heading, rows).column(Column::words().name("field"), name),
            )
        };
        let site = |row: &ObjectsRow<(Option<AllocationSite>, ClassId)>| {
            let (site, class) = row.key;
            let site = site.map_or_else(|| NO_SITE.to_owned(), |site| site.name(symbols));
            format!("{} at {site}", symbols.class_name(class))
        };
        let sites = objects::by_site(self.accesses);
        let sites = Table::of(symbols, "Top allocation sites by objects", sites);
        [
            field("Top shared fields by objects", shared),
            self.classes(),
            field("Top fields by accesses", fields),
            self.numbers(sites.column(Column::words().name("class and site"), site)),
        ]
    }

    /// The classes with most objects.
    fn classes(&self) -> Table<'_> {
        let rows = objects::by_class(self.accesses);
        let classes = Table::of(&self.profile.symbols, "Top classes by objects", rows);
        self.numbers(classes.column(Column::other("class").name("class"), |row| row.key))
    }

    /// The fields of objects of each class, with the accesses to all objects together.
    pub(super) fn fields(&self) -> Table<'_> {
        let text = |id| self.profile.symbols.strings.get(id);
        let rows = Table::of(&self.profile.symbols, "", objects::by_field(self.accesses))
            .column(Column::other("class"), |row| row.key.0)
            .column(Column::other("field_class"), move |row| text(row.key.1.class))
            .column(Column::other("field"), move |row| text(row.key.1.name))
            .column(Column::other("descriptor"), move |row| text(row.key.1.descriptor));
        self.numbers(rows)
    }

    /// Adds the columns of numbers.
    fn numbers<'t, K: 't>(&self, rows: Rows<'t, ObjectsRow<K>>) -> Table<'t> {
        let untouched = |row: &ObjectsRow<K>| row.object_count - row.accessed_count;
        let shared = |row: &ObjectsRow<K>| Cell::Share(row.shared_count, row.object_count);
        rows.column(Column::count("object_count").at(0, "objects"), |row| row.object_count)
            .column(Column::count("accessed_count"), |row| row.accessed_count)
            .column(Column::words().at(1, "untouched"), untouched)
            .column(Column::count("shared_count").at(2, "shared"), |row| row.shared_count)
            .column(Column::words().at(3, "shared %"), shared)
            .columns(counts(), |row| row.counts.numbers().map(Cell::Number))
            .table()
            .ranked()
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
        let site = move |site: AllocationSite| {
            Json::object([
                ("class", text(site.class).into()),
                ("method", text(site.method).into()),
                ("descriptor", text(site.descriptor).into()),
                ("index", Json::Signed(site.index.into())),
            ])
        };
        // The accesses to each field of one object.
        let fields = move |fields: &'a [Field], counts: &'a [FieldCounts]| {
            Table::of(symbols, "", fields.iter().zip(counts))
                .column(Column::other("class"), move |it| text(it.0.class))
                .column(Column::other("name"), move |it| text(it.0.name))
                .column(Column::other("descriptor"), move |it| text(it.0.descriptor))
                .columns(self::counts(), |it| it.1.numbers().map(Cell::Number))
                .table()
        };
        Table::of(symbols, "", self.accesses.rows())
            .column(Column::other("class"), |row| row.class)
            .column(Column::other("site"), move |row| row.site.map(site))
            .column(Column::count("object_count"), |row| row.object_count)
            .column(Column::other("is_shared"), |row| row.is_shared())
            .column(Column::other("fields"), move |row| fields(row.fields, row.counts))
            .table()
    }
}

/// The columns of [`FieldCounts::numbers`].
fn counts() -> [Column; 4] {
    [
        (4, "owner_read_count", "reads"),
        (5, "other_read_count", "by others"),
        (6, "owner_write_count", "writes"),
        (7, "other_write_count", "by others"),
    ]
    .map(|(position, id, heading)| Column::count(id).at(position, heading))
}
