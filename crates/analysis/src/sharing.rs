//! What the accesses to objects suggest: fields to guard, to make final or to keep apart, objects
//! that other threads take over, classes that need no lock. `docs/shared-fields.md` defines each.
//!
//! The numbers of accesses have no order, so each is a candidate. Objects of unknown site have no
//! known owner: none is ever called shared. Accesses of all means are judged together, as far as they
//! are known.

use std::cmp::Reverse;
use std::fmt;
use std::hash::Hash;

use perk_profile::fields::AlikeObjects;
use perk_profile::{
    AccessCounts, AllocationSite, ClassId, Field, FieldAccesses, FieldCounts, FieldModifier,
    KeyedMap, StrId, Symbols,
};

use crate::objects::{FieldKey, OrderedMap, SiteKey};

/// The beginnings of the names of the JDK's classes, which a program cannot change.
const JDK: [&str; 5] = ["java.", "javax.", "jdk.", "sun.", "com.sun."];

/// Classes of the JDK that lock at each call: a program can use others instead.
const LOCKING: [&str; 4] =
    ["java.lang.StringBuffer", "java.util.Hashtable", "java.util.Stack", "java.util.Vector"];

/// The name of the field that represents the length of an array, which never changes.
pub const LENGTH: &str = "$arraylength";

/// What to do. The first one that applies is the most urgent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum AdviceKind {
    /// A field that the owner and others write; components of an array that the owner reads and
    /// others write.
    Lock,
    /// A field that one side writes and the other reads.
    Volatile,
    /// A field that the owner writes beside one that others write.
    Pad,
    /// Objects that other threads write and read, and their owner never uses.
    Confine,
    /// A field that was written at most once in each object, by the owner.
    Final,
    /// Objects that no other thread accessed.
    NoLock,
}

impl AdviceKind {
    /// All kinds, the most urgent first.
    pub const ALL: [AdviceKind; 6] = [
        AdviceKind::Lock,
        AdviceKind::Volatile,
        AdviceKind::Pad,
        AdviceKind::Confine,
        AdviceKind::Final,
        AdviceKind::NoLock,
    ];

    /// Its name in tables.
    pub fn name(self) -> &'static str {
        match self {
            AdviceKind::Lock => "lock",
            AdviceKind::Volatile => "volatile",
            AdviceKind::Pad => "pad",
            AdviceKind::Confine => "confine",
            AdviceKind::Final => "final",
            AdviceKind::NoLock => "no lock",
        }
    }

    /// What was found, and what to do.
    pub fn meaning(self) -> &'static str {
        match self {
            AdviceKind::Lock => "the owner and other threads write it; guard it by a lock",
            AdviceKind::Volatile => {
                "one side writes it and the other reads it; make it volatile, or guard it, unless \
                 all writes come before the other thread has the object"
            }
            AdviceKind::Pad => {
                "in one object the owner writes a field and others write another; keep the two on \
                 separate cache lines"
            }
            AdviceKind::Confine => {
                "others alone use and write what the owner made; make it in the thread that uses \
                 it, or hand it over without locks"
            }
            AdviceKind::Final => "written at most once in each object, by its owner; make it final",
            AdviceKind::NoLock => "no other thread touched the objects; locks on them are needless",
        }
    }
}

/// Several kinds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Kinds(u8);

impl Kinds {
    /// A bit for each, that of the most urgent kind first.
    pub fn bits(self) -> u8 {
        self.0
    }

    fn with(self, others: Self) -> Self {
        Self(self.0 | others.0)
    }

    fn without(self, kind: AdviceKind) -> Self {
        Self(self.0 & !Self::from(kind).0)
    }
}

impl From<AdviceKind> for Kinds {
    fn from(kind: AdviceKind) -> Self {
        Self(1 << kind as u8)
    }
}

impl fmt::Display for Kinds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let is_in = |kind: &AdviceKind| self.0 & Self::from(*kind).0 != 0;
        let names: Vec<_> =
            AdviceKind::ALL.into_iter().filter(is_in).map(AdviceKind::name).collect();
        f.write_str(&names.join(", "))
    }
}

/// The thing that an advice is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Subject {
    /// A field, in the objects of all classes that have it.
    Field(Field),
    /// The objects of a class.
    Class(ClassId),
    /// The objects of a class that were allocated at one site.
    Site(ClassId, AllocationSite),
}

impl Subject {
    /// Its name: a field with the class that declares it, a class, a class with its site.
    pub fn name(self, symbols: &Symbols) -> String {
        match self {
            Subject::Field(_) | Subject::Class(_) => self.pattern(symbols),
            Subject::Site(class, site) => {
                format!("{} at {}", symbols.class_name(class), site.name(symbols))
            }
        }
    }

    /// The pattern of names that finds the fields.
    pub fn pattern(self, symbols: &Symbols) -> String {
        let text = |id| symbols.strings.get(id);
        match self {
            Subject::Field(field) => format!("{}.{}", text(field.class), text(field.name)),
            Subject::Class(class) | Subject::Site(class, _) => symbols.class_name(class).to_owned(),
        }
    }

    /// Whether it is of the JDK's own classes, which a program cannot change.
    fn is_of_jdk(self, symbols: &Symbols) -> bool {
        let class = match self {
            Subject::Class(class) if LOCKING.contains(&symbols.class_name(class)) => return false,
            Subject::Field(field) => symbols.strings.get(field.class).to_owned(),
            Subject::Class(class) => symbols.class_name(class).to_owned(),
            Subject::Site(_, site) => symbols.strings.get(site.class).replace('/', "."),
        };
        JDK.iter().any(|begin| class.starts_with(begin))
    }
}

/// An advice: what to do with what.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Advice {
    /// What to do.
    pub kind: AdviceKind,
    /// What it is about.
    pub subject: Subject,
    /// The number of objects in which it was found.
    pub object_count: u64,
    /// The number of objects that could have it: those of the subject whose site is known.
    pub known_count: u64,
    /// The accesses in the objects in which it was found.
    pub counts: AccessCounts,
    /// Whether it is of the JDK's own classes, which a program cannot change.
    pub is_of_jdk: bool,
    /// The field that the owner writes and the one that others write, of [`AdviceKind::Pad`].
    pub apart: Option<[Field; 2]>,
}

impl Advice {
    /// The number by which those of one kind are ordered: accesses by others where sharing is the
    /// matter, or all.
    fn weight(&self) -> (u64, u64) {
        let all = self.counts.all();
        match self.kind {
            AdviceKind::Pad => (all.owner_write_count.min(all.other_write_count), all.total()),
            _ => (all.by_others(), all.total()),
        }
    }
}

/// All advice on the accesses to objects.
#[derive(Clone, Debug, Default)]
pub struct Sharing {
    /// By kind; of each kind, what the program can change before what is the JDK's, and the most
    /// accessed by other threads first.
    pub advice: Vec<Advice>,
    fields: KeyedMap<Field, Kinds>,
    /// The fields to keep apart.
    apart: KeyedMap<FieldKey, Kinds>,
    /// Of the objects of a class, and of those of one of its sites.
    classes: KeyedMap<ClassId, Kinds>,
    sites: KeyedMap<(AllocationSite, ClassId), Kinds>,
    /// The id of [`LENGTH`].
    length: Option<StrId>,
}

impl Sharing {
    /// Judges `accesses`, whose names are in `symbols`.
    pub fn new(accesses: &FieldAccesses, symbols: &Symbols) -> Self {
        let length = symbols.strings.lookup(LENGTH);
        let tallies = Tallies::new(accesses, symbols, length);
        let mut sharing = Self { length, ..Self::default() };
        let fields = tallies.fields.values.iter();
        let fields = fields.filter_map(|it| it.advice(accesses.modifier(it.field)));
        let classes = tallies.classes.values.iter().flat_map(ClassTally::advice);
        let sites = tallies.sites.values.iter().filter_map(SiteTally::advice);
        sharing.advice = fields.chain(classes).chain(sites).collect();
        for advice in &mut sharing.advice {
            advice.is_of_jdk = advice.subject.is_of_jdk(symbols);
        }
        sharing.advice.sort_by_cached_key(|it| {
            (it.kind, it.is_of_jdk, Reverse(it.weight()), it.subject.name(symbols))
        });
        for &Advice { kind, subject, apart, .. } in &sharing.advice {
            match subject {
                Subject::Field(field) => add(&mut sharing.fields, field, kind),
                Subject::Class(class) => {
                    add(&mut sharing.classes, class, kind);
                    for field in apart.into_iter().flatten() {
                        add(&mut sharing.apart, (class, field), kind);
                    }
                }
                Subject::Site(class, site) => {
                    add(&mut sharing.classes, class, kind);
                    add(&mut sharing.sites, (site, class), kind);
                }
            }
        }
        sharing
    }

    /// The advice of this kind on what the program can change.
    pub fn of_kind(&self, kind: AdviceKind) -> impl Iterator<Item = &Advice> {
        self.advice.iter().filter(move |it| it.kind == kind && !it.is_of_jdk)
    }

    /// What to do about a field of the objects of a class, and about these objects.
    pub fn of_field(&self, key: FieldKey) -> Kinds {
        let (class, field) = key;
        if Some(field.name) == self.length {
            return Kinds::default();
        }
        let [of_field, apart] = [self.fields.get(&field), self.apart.get(&key)]
            .map(|kinds| kinds.copied().unwrap_or_default());
        of_field.with(apart).with(self.of_class(class).without(AdviceKind::Pad))
    }

    /// What to do about the objects of a class, or about those of one of its sites.
    pub fn of_class(&self, class: ClassId) -> Kinds {
        self.classes.get(&class).copied().unwrap_or_default()
    }

    /// What to do about the objects of a class and site.
    pub fn of_site(&self, (site, class): SiteKey) -> Kinds {
        let kinds = site.and_then(|site| self.sites.get(&(site, class)));
        kinds.copied().unwrap_or_default()
    }
}

fn add<K: Eq + Hash>(kinds: &mut KeyedMap<K, Kinds>, key: K, kind: AdviceKind) {
    let kinds = kinds.entry(key).or_default();
    *kinds = kinds.with(kind.into());
}

/// The part of objects in which something was found.
#[derive(Clone, Copy, Debug, Default)]
struct PartTally {
    object_count: u64,
    counts: AccessCounts,
}

impl PartTally {
    fn add(&mut self, object_count: u64, counts: &AccessCounts) {
        self.object_count = self.object_count.saturating_add(object_count);
        self.counts.add(counts, object_count);
    }

    fn advice(&self, kind: AdviceKind, subject: Subject, known_count: u64) -> Advice {
        let &Self { object_count, counts } = self;
        let is_of_jdk = false;
        Advice { kind, subject, object_count, known_count, counts, is_of_jdk, apart: None }
    }
}

/// A field of objects of all classes.
#[derive(Debug)]
struct FieldTally {
    field: Field,
    known_count: u64,
    /// Both sides write it.
    both: PartTally,
    /// One side writes it and the other reads it.
    one: PartTally,
    /// The owner wrote it once and nobody else wrote it.
    once: PartTally,
    /// An object was written twice, or by another thread than its owner.
    is_rewritten: bool,
}

impl FieldTally {
    fn new(field: Field) -> Self {
        let [both, one, once] = [PartTally::default(); 3];
        Self { field, known_count: 0, both, one, once, is_rewritten: false }
    }

    fn add(&mut self, object_count: u64, counts: &AccessCounts) {
        self.known_count = self.known_count.saturating_add(object_count);
        let all = counts.all();
        if all.is_initialised_only() {
            if all.owner_write_count > 0 {
                self.once.add(object_count, counts);
            }
            return;
        }
        self.is_rewritten = true;
        match (all.owner_write_count > 1, all.other_write_count > 0) {
            (true, true) => self.both.add(object_count, counts),
            (true, false) if all.other_read_count > 0 => self.one.add(object_count, counts),
            (false, true) if all.owner_read_count > 0 => self.one.add(object_count, counts),
            _ => {}
        }
    }

    /// Adds an object whose owner is not known: one write may be that of the constructor.
    fn add_unknown(&mut self, all: FieldCounts) {
        self.is_rewritten |= all.other_write_count > 1;
    }

    fn advice(&self, modifier: FieldModifier) -> Option<Advice> {
        let (kind, found) = match () {
            () if self.both.object_count > 0 => (AdviceKind::Lock, &self.both),
            () if self.one.object_count > 0 => (AdviceKind::Volatile, &self.one),
            () if self.once.object_count > 0 && !self.is_rewritten => {
                (AdviceKind::Final, &self.once)
            }
            () => return None,
        };
        // The program does it already, or cannot do it.
        let is_needless = match kind {
            AdviceKind::Final => modifier != FieldModifier::None,
            AdviceKind::Volatile => modifier == FieldModifier::Volatile,
            _ => false,
        };
        if is_needless {
            return None;
        }
        Some(found.advice(kind, Subject::Field(self.field), self.known_count))
    }
}

/// The objects of a class.
#[derive(Debug)]
struct ClassTally {
    class: ClassId,
    is_array: bool,
    known_count: u64,
    accessed: PartTally,
    /// Another thread accessed an object, or may have, as the owner is not known.
    may_be_shared: bool,
    /// The owner writes a field, others another. The pair with most writes, and its writes by the
    /// side that has fewer.
    pad: PartTally,
    apart: Option<([Field; 2], u64)>,
}

impl ClassTally {
    fn new(class: ClassId, is_array: bool) -> Self {
        let [accessed, pad] = [PartTally::default(); 2];
        let (known_count, may_be_shared, apart) = (0, false, None);
        Self { class, is_array, known_count, accessed, may_be_shared, pad, apart }
    }

    fn add(&mut self, objects: &AlikeObjects<'_>) {
        self.known_count = self.known_count.saturating_add(objects.object_count);
        let mut sum = AccessCounts::default();
        objects.accesses().for_each(|counts| sum.add(&counts, 1));
        if sum.all().is_accessed() {
            self.accessed.add(objects.object_count, &sum);
        }
        if sum.all().by_others() == 0 {
            return;
        }
        self.may_be_shared = true;
        // Owners write more than once, as the first write may be the constructor's.
        let fields = || objects.fields.iter().zip(objects.accesses()).map(|it| (it, it.1.all()));
        let of_owner = fields()
            .filter(|(_, all)| all.owner_write_count > 1 && all.other_write_count == 0)
            .max_by_key(|(_, all)| all.owner_write_count);
        let of_others = fields()
            .filter(|(_, all)| all.other_write_count > 1 && all.owner_write_count <= 1)
            .max_by_key(|(_, all)| all.other_write_count);
        if let (Some((owners, all)), Some((others, all_others))) = (of_owner, of_others) {
            let ((first, mut both), (second, counts)) = (owners, others);
            let weight = all.owner_write_count.min(all_others.other_write_count);
            let weight = weight.saturating_mul(objects.object_count);
            both.add(&counts, 1);
            self.pad.add(objects.object_count, &both);
            if self.apart.is_none_or(|(_, heaviest)| heaviest < weight) {
                self.apart = Some(([*first, *second], weight));
            }
        }
    }

    fn advice(&self) -> Option<Advice> {
        let subject = Subject::Class(self.class);
        if let Some((apart, _)) = self.apart {
            let pad = self.pad.advice(AdviceKind::Pad, subject, self.known_count);
            return Some(Advice { apart: Some(apart), ..pad });
        }
        // Nobody locks arrays.
        let is_own = !self.may_be_shared && self.accessed.object_count > 0 && !self.is_array;
        is_own.then(|| self.accessed.advice(AdviceKind::NoLock, subject, self.known_count))
    }
}

/// The objects of a class that one site allocated.
#[derive(Debug)]
struct SiteTally {
    class: ClassId,
    site: AllocationSite,
    known_count: u64,
    /// Arrays whose owner reads what others write.
    lock: PartTally,
    /// Other threads accessed them.
    taken: PartTally,
    is_written_by_others: bool,
    is_used_by_owner: bool,
}

impl SiteTally {
    fn new(class: ClassId, site: AllocationSite) -> Self {
        let [lock, taken] = [PartTally::default(); 2];
        let (is_written_by_others, is_used_by_owner) = (false, false);
        Self { class, site, known_count: 0, lock, taken, is_written_by_others, is_used_by_owner }
    }

    fn add(&mut self, objects: &AlikeObjects<'_>, length: Option<StrId>, is_array: bool) {
        let object_count = objects.object_count;
        self.known_count = self.known_count.saturating_add(object_count);
        let mut sum = AccessCounts::default();
        for (field, counts) in objects.fields.iter().zip(objects.accesses()) {
            if Some(field.name) == length {
                continue;
            }
            sum.add(&counts, 1);
            let all = counts.all();
            self.is_used_by_owner |= all.owner_read_count > 0;
            // All components of an array have one number of writes: as many may fill it.
            self.is_used_by_owner |= all.owner_write_count > 1 && !is_array;
            self.is_written_by_others |= all.other_write_count > 0;
        }
        let all = sum.all();
        if all.by_others() > 0 {
            self.taken.add(object_count, &sum);
        }
        if is_array && all.other_write_count > 0 && all.owner_read_count > 0 {
            self.lock.add(object_count, &sum);
        }
    }

    fn advice(&self) -> Option<Advice> {
        let (kind, found) = match () {
            () if self.lock.object_count > 0 => (AdviceKind::Lock, &self.lock),
            () if self.is_written_by_others && !self.is_used_by_owner => {
                (AdviceKind::Confine, &self.taken)
            }
            () => return None,
        };
        Some(found.advice(kind, Subject::Site(self.class, self.site), self.known_count))
    }
}

/// Everything that the advice is made of, added up in one pass.
#[derive(Debug, Default)]
struct Tallies {
    fields: OrderedMap<Field, FieldTally>,
    classes: OrderedMap<ClassId, ClassTally>,
    sites: OrderedMap<(AllocationSite, ClassId), SiteTally>,
}

/// Where the objects of a layout are added.
#[derive(Clone, Debug)]
struct LayoutPlaces {
    is_array: bool,
    class: usize,
    /// Of each field; none for arrays.
    fields: Vec<usize>,
}

impl Tallies {
    fn new(accesses: &FieldAccesses, symbols: &Symbols, length: Option<StrId>) -> Self {
        let mut tallies = Self::default();
        let mut places = vec![None; accesses.layout_count()];
        for objects in accesses.rows() {
            let places =
                places[objects.layout].get_or_insert_with(|| tallies.places(&objects, symbols));
            tallies.add(&objects, places, length);
        }
        tallies
    }

    fn places(&mut self, objects: &AlikeObjects<'_>, symbols: &Symbols) -> LayoutPlaces {
        let class = objects.class;
        let is_array = symbols.class_name(class).ends_with("[]");
        let fields = if is_array { &[] } else { objects.fields };
        LayoutPlaces {
            is_array,
            class: self.classes.place(class, |class| ClassTally::new(class, is_array)),
            fields: fields.iter().map(|&field| self.fields.place(field, FieldTally::new)).collect(),
        }
    }

    fn add(&mut self, objects: &AlikeObjects<'_>, places: &LayoutPlaces, length: Option<StrId>) {
        let class = &mut self.classes.values[places.class];
        let fields = places.fields.iter().zip(objects.accesses());
        let Some(site) = objects.site else {
            class.may_be_shared |= objects.accesses().any(|it| it.all().is_accessed());
            fields.for_each(|(&place, it)| self.fields.values[place].add_unknown(it.all()));
            return;
        };
        class.add(objects);
        for (&place, counts) in fields {
            self.fields.values[place].add(objects.object_count, &counts);
        }
        self.sites.at((site, objects.class), |(site, class)| SiteTally::new(class, site)).add(
            objects,
            length,
            places.is_array,
        );
    }
}
