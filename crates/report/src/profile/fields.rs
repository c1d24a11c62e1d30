//! Accesses to the fields of objects.

mod advice;

use std::cmp::Reverse;

use perk_analysis::near;
use perk_analysis::objects::{self, FieldKey, ObjectsRow, SiteKey};
use perk_analysis::sharing::{Kinds, LENGTH, Sharing};
use perk_profile::fields::AlikeObjects;
use perk_profile::units::{percent, plural, printable};
use perk_profile::{
    AccessCounts, AllocationSite, Field, FieldAccesses, FieldCounts, NamePattern, Profile,
};
use perk_render::{Cell, Column, Json, LazyTable, Rows};

use crate::words::no_such_name;

/// Represents the site of objects whose allocation was not seen.
const NO_SITE: &str = "made at a site that is not known";

/// The field accesses of a profile.
#[derive(Debug)]
pub(super) struct Fields<'a> {
    profile: &'a Profile,
    accesses: &'a FieldAccesses,
    sharing: Sharing,
    total: ObjectsRow<()>,
}

impl<'a> Fields<'a> {
    /// The accesses of `profile`; `None` where it has none.
    pub(super) fn new(profile: &'a Profile) -> Option<Self> {
        let accesses = profile.field_accesses().filter(|it| it.rows().len() > 0)?;
        let sharing = Sharing::new(accesses, &profile.symbols);
        Some(Self { profile, accesses, sharing, total: objects::total(accesses) })
    }

    /// `2003112 objects, 3210 of them shared between threads (0.16 %); accesses: 10200311, 9120 of
    /// them by other threads than the owner (0.09 %)`
    pub(super) fn total(&self) -> String {
        let ObjectsRow { object_count, shared_count, counts, .. } = self.total;
        let of_objects = percent(shared_count, self.total.known_count());
        let objects = plural(object_count, "object");
        format!(
            "{objects}, {shared_count} of them shared between threads ({of_objects} %); accesses: \
             {}",
            by_thread(counts.direct)
        )
    }

    /// The accesses by other means, in a line; `None` where they were not counted.
    pub(super) fn extended(&self) -> Option<String> {
        self.accesses.has_extended().then(|| {
            format!(
                "accesses by other means (arraycopy, clone, reflection, VarHandle, Unsafe, JNI): \
                 {}; they have columns of their own; objects and advice are judged by both",
                by_thread(self.total.counts.extended)
            )
        })
    }

    /// The objects that cannot be judged, in a line; `None` where there are none.
    pub(super) fn unknown(&self) -> Option<String> {
        let ObjectsRow { unknown_count, unknown, .. } = self.total;
        (unknown_count > 0).then(|| {
            let objects = plural(unknown_count, "object");
            let them = if unknown_count == 1 { "it" } else { "them" };
            let mut accesses = format!("{} accesses", unknown.direct.total());
            if self.accesses.has_extended() {
                accesses += &format!(" and {} by other means", unknown.extended.total());
            }
            format!(
                "not judged: {objects} of unknown site, with {accesses}: the file does not say \
                 which thread made {them}"
            )
        })
    }

    /// What there is in all, each fact a sentence.
    pub(super) fn facts(&self) -> impl Iterator<Item = String> {
        [Some(self.total()), self.extended(), self.unknown()].into_iter().flatten()
    }

    /// The fields that other threads accessed in most objects, the classes with most objects, and the
    /// fields with most accesses.
    pub(super) fn tables(&self) -> [LazyTable<'_>; 3] {
        let fields = objects::by_field(self.accesses);
        let mut shared = fields.clone();
        // The length of an array never changes.
        let is_length = |field: Field| self.profile.symbols.strings.get(field.name) == LENGTH;
        shared.retain(|row| row.shared_count > 0 && !is_length(row.key.1));
        shared.sort_by_key(|row| Reverse((row.shared_count, row.all().by_others())));
        [
            self.field_table("Top shared fields by objects", shared),
            self.classes(),
            self.field_table("Top fields by accesses", fields),
        ]
    }

    /// The classes with most objects.
    pub(super) fn classes(&self) -> LazyTable<'_> {
        let rows = objects::by_class(self.accesses);
        let shown = self.shown(&rows);
        let rows = LazyTable::of(&self.profile.symbols, "Top classes by objects", rows)
            .column(Column::other("class").name("class"), |row| row.key);
        numbers(rows, shown, |&class| self.sharing.of_class(class))
    }

    /// The sites that allocated most objects.
    pub(super) fn sites(&self) -> LazyTable<'_> {
        let symbols = &self.profile.symbols;
        let rows = objects::by_site(self.accesses);
        let shown = self.shown(&rows);
        let rows = LazyTable::of(symbols, "Top allocation sites by objects", rows)
            .column(Column::other("class").name("class"), |row: &ObjectsRow<SiteKey>| row.key.1)
            .column(Column::other("site"), |row| Some(row.key.0?.name(symbols)))
            .each(|row, shown| shown.below.push(self.place(row.key.0)));
        numbers(rows, shown, |&key| self.sharing.of_site(key))
    }

    /// The fields of objects of each class, with the accesses to all objects together.
    pub(super) fn fields(&self) -> LazyTable<'_> {
        self.field_table("Fields by accesses", objects::by_field(self.accesses))
    }

    fn shown<K>(&self, rows: &[ObjectsRow<K>]) -> ColumnChoice {
        let unknown = rows.iter().any(|row| row.unknown_count > 0);
        ColumnChoice { extended: self.accesses.has_extended(), unknown }
    }

    fn field_table(&self, heading: &str, rows: Vec<ObjectsRow<FieldKey>>) -> LazyTable<'_> {
        let shown = self.shown(&rows);
        let rows =
            self.field_columns(LazyTable::of(&self.profile.symbols, heading, rows), |&key| key);
        numbers(rows, shown, |&key| self.sharing.of_field(key))
    }

    /// The fields that `pattern` matches, by allocation site; those of a class if it matches
    /// one.
    pub(super) fn fields_by_site(&self, pattern: &NamePattern) -> LazyTable<'_> {
        let symbols = &self.profile.symbols;
        let is_meant = |(class, field): FieldKey| field.is_meant(pattern, class, symbols);
        let rows = objects::by_field_and_site(self.accesses, is_meant);
        let shown = self.shown(&rows);
        let rows = LazyTable::of(symbols, "Fields by allocation site", rows);
        let rows = self
            .field_columns(rows, |key: &(FieldKey, _)| key.0)
            .column(Column::other("site"), |row| Some(row.key.1?.name(symbols)))
            .each(|row, shown| shown.below.push(self.place(row.key.1)));
        numbers(rows, shown, |&(key, _)| self.sharing.of_field(key))
    }

    /// Says that no field has the name `pattern`; nothing where one has.
    pub(super) fn no_such_field(&self, pattern: &NamePattern) -> Option<String> {
        let symbols = &self.profile.symbols;
        let fields = objects::by_field(self.accesses).into_iter().map(|row| row.key);
        let fields: Vec<_> = fields.collect();
        if fields.iter().any(|(class, field)| field.is_meant(pattern, *class, symbols)) {
            return None;
        }
        let names = fields.iter().flat_map(|(class, field)| {
            let name = symbols.strings.get(field.name);
            [symbols.class_name(*class).to_owned(), field.declaring_class(symbols)]
                .map(|class| (class, name))
        });
        let names: Vec<_> = names.collect();
        let near = near::of(pattern, names.iter().map(|(class, name)| (&**class, Some(*name))));
        Some(no_such_name("class or field", pattern, &near))
    }

    /// Adds the columns of a field's name.
    fn field_columns<'t, K: 't>(
        &'t self,
        rows: Rows<'t, ObjectsRow<K>>,
        key: impl Fn(&K) -> FieldKey + Copy + 't,
    ) -> Rows<'t, ObjectsRow<K>> {
        let text = |id| self.profile.symbols.strings.get(id);
        rows.column(Column::other("class"), move |row| key(&row.key).0)
            .column(Column::other("field_class"), move |row| text(key(&row.key).1.class))
            .column(Column::other("field"), move |row| text(key(&row.key).1.name))
            .column(Column::other("descriptor"), move |row| text(key(&row.key).1.descriptor))
            .column(Column::words().name("field"), move |row| {
                let (class, field) = key(&row.key);
                field.name(class, &self.profile.symbols)
            })
    }

    /// The line of an allocation site.
    fn place(&self, site: Option<AllocationSite>) -> String {
        site.map_or_else(
            || NO_SITE.to_owned(),
            |site| printable(&format!("made at {}", site.name(&self.profile.symbols))),
        )
    }

    /// Everything, row by row; of each list the first `top` rows. Objects that are alike are one
    /// entry.
    pub(super) fn report(&self, top: usize) -> Json {
        let total = &self.total;
        let (AccessCounts { direct, extended }, unknown) = (total.counts, total.unknown);
        let of_extended = [
            ("extended_access_count", extended.total()),
            ("extended_other_access_count", extended.by_others()),
            ("extended_unknown_access_count", unknown.extended.total()),
        ];
        let of_extended = of_extended.into_iter().filter(|_| self.accesses.has_extended());
        let numbers = [
            ("object_count", total.object_count),
            ("unknown_count", total.unknown_count),
            ("shared_count", total.shared_count),
            ("access_count", direct.total()),
            ("other_access_count", direct.by_others()),
            ("unknown_access_count", unknown.direct.total()),
        ];
        let numbers = numbers.into_iter().chain(of_extended).map(|(key, it)| (key, it.into()));
        Json::object(numbers.chain([
            ("advice", self.advice(self.sharing.advice.iter()).top(top).into()),
            ("classes", self.classes().top(top).into()),
            ("fields", self.fields().top(top).into()),
            ("sites", self.sites().top(top).into()),
            ("objects", self.objects().top(top).into()),
        ]))
    }

    fn objects(&self) -> LazyTable<'_> {
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
        let has_extended = self.accesses.has_extended();
        let fields = move |objects: &AlikeObjects<'a>| {
            let rows = LazyTable::of(symbols, "", objects.fields.iter().zip(objects.accesses()))
                .column(Column::other("field_class"), move |it| text(it.0.class))
                .column(Column::other("field"), move |it| text(it.0.name))
                .column(Column::other("descriptor"), move |it| text(it.0.descriptor));
            counts(rows, has_extended, |it| it.1).table()
        };
        LazyTable::of(symbols, "", self.accesses.rows())
            .column(Column::other("class"), |row| row.class)
            .column(Column::other("site"), move |row| row.site.map(site))
            .column(Column::count("object_count"), |row| row.object_count)
            .column(Column::other("is_shared"), |row| row.is_shared())
            .column(Column::other("fields"), move |row| fields(row))
            .table()
    }
}

/// `10200311, 9120 of them by other threads than the owner (0.09 %)`
fn by_thread(counts: FieldCounts) -> String {
    let (all, by_others) = (counts.total(), counts.by_others());
    let share = percent(by_others, all);
    format!("{all}, {by_others} of them by other threads than the owner ({share} %)")
}

/// The columns that not every table has.
#[derive(Clone, Copy)]
struct ColumnChoice {
    /// Accesses by other means.
    extended: bool,
    /// In text: accesses to objects of unknown site.
    unknown: bool,
}

/// Adds what to do and the columns of numbers. Text has a column of the objects of unknown site only
/// if there are any.
fn numbers<'t, K: 't>(
    rows: Rows<'t, ObjectsRow<K>>,
    shown: ColumnChoice,
    advice: impl Fn(&K) -> Kinds + 't,
) -> LazyTable<'t> {
    let share = |part: fn(&ObjectsRow<K>) -> u64| {
        move |row: &ObjectsRow<K>| Cell::Share(part(row), row.known_count())
    };
    let advice = move |row: &ObjectsRow<K>| advice(&row.key).to_string();
    let unknown = Column::count("unknown_access_count").at(10, "not judged");
    let unknown = unknown.text_if(shown.unknown);
    let rows = rows
        .column(Column::other("advice").at(11, "to do"), advice)
        .column(Column::count("object_count").at(0, "objects"), |row| row.object_count)
        .column(Column::count("unknown_count"), |row| row.unknown_count)
        .column(Column::count("accessed_count"), |row| row.accessed_count)
        .column(Column::count("shared_count"), |row| row.shared_count)
        .column(Column::words().at(1, "shared %"), share(|row| row.shared_count))
        .column(Column::count("other_written_count"), |row| row.other_written_count)
        .column(Column::words().at(2, "others write %"), share(|row| row.other_written_count))
        .column(Column::count("read_only_count"), |row| row.read_only_count)
        .column(Column::words().at(3, "read only %"), share(|row| row.read_only_count));
    let rows = counts(rows, shown.extended, |row| row.counts);
    let rows = rows.column(unknown, |row| row.unknown.direct.total());
    let rows = match shown.extended {
        true => rows.column(Column::count("extended_unknown_access_count"), |row| {
            row.unknown.extended.total()
        }),
        false => rows,
    };
    rows.table().ranked()
}

/// Adds the columns of accesses. Text has one for all by other means, and one for those of others
/// among them.
fn counts<'t, T: 't>(
    rows: Rows<'t, T>,
    has_extended: bool,
    counts: impl Fn(&T) -> AccessCounts + Copy + 't,
) -> Rows<'t, T> {
    let direct = [
        (4, "owner_read_count", "reads"),
        (5, "other_read_count", "by others"),
        (6, "owner_write_count", "writes"),
        (7, "other_write_count", "by others"),
    ]
    .map(|(position, id, heading)| Column::count(id).at(position, heading));
    let rows = rows.columns(direct, move |it| counts(it).direct.numbers().map(Cell::Number));
    if !has_extended {
        return rows;
    }
    let extended = [
        "extended_owner_read_count",
        "extended_other_read_count",
        "extended_owner_write_count",
        "extended_other_write_count",
    ]
    .map(Column::count);
    rows.columns(extended, move |it| counts(it).extended.numbers().map(Cell::Number))
        .column(Column::words().at(8, "by other means"), move |it| {
            Cell::Number(counts(it).extended.total())
        })
        .column(Column::words().at(9, "by others"), move |it| {
            Cell::Number(counts(it).extended.by_others())
        })
}
