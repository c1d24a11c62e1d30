//! The classes of the objects, with their fields; and the fields that instructions name, which are
//! looked up when they are accessed first.

use std::collections::hash_map::Entry;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

use perk_instrument::Names;
use perk_instrument::fields::OBJECT_RECORD;
use perk_jvm::memory::{Pages, Region};
use perk_jvm::probes::find_record_field;
use perk_jvm::sync::lock;
use perk_jvm::{DeclaredField, Jni, Reference};
use perk_jvmti_sys::jni_sys::jvalue;
use perk_profile::{FieldModifier, mutf8};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::common::Common;

/// The separator of the components of a name.
pub(super) const SEPARATOR: char = '\x1c';
const SEPARATOR_TEXT: &str = "\x1c";

/// The number of fields that instructions can name.
const MOST_FIELDS: usize = 1 << 24;

/// The bits of a class's data, as PerkFields reads them.
const NUMBER_BITS: u32 = 24;
const UNITS_BITS: u32 = 20;
/// Represents the offset of the record's field in objects that are found by their header.
const BY_HEADER: u32 = 1;

/// The classes; see the module.
#[derive(Debug)]
pub(super) struct Classes {
    common: &'static Common,
    names: Names,
    layouts: Mutex<FxHashMap<u32, Arc<Layout>>>,
    named: Mutex<NamedFields>,
    /// The fields that are written outside of constructors, as instructions name them.
    assigned: Mutex<FxHashSet<String>>,
    /// The place of each field that an instruction names; 0 if it is not looked up yet.
    places: Region<AtomicU64>,
}

/// A class of objects.
#[derive(Debug)]
pub(super) struct Layout {
    /// The name, as `Class.getName()` returns it.
    pub(super) name: String,
    /// The fields of the superclasses, then its own.
    pub(super) fields: Vec<LayoutField>,
    /// The number of those of the superclasses.
    inherited_count: usize,
    /// The offset of the field for the record; 0 if objects do not have it.
    pub(super) offset: u32,
}

/// A field of a class's objects.
#[derive(Clone, Debug)]
pub(super) struct LayoutField {
    /// The declaring class, the name and the descriptor.
    pub(super) text: String,
    pub(super) modifier: FieldModifier,
}

/// The units of the counters of a class's fields for accesses without an instruction, in records.
#[derive(Clone, Debug, Default)]
pub(super) struct ExtendedUnits {
    /// By the offset in objects, in bytes.
    pub(super) by_offset: FxHashMap<u64, u32>,
    /// By the number of the JVM's id.
    pub(super) by_id: FxHashMap<usize, u32>,
}

/// The fields that instructions name. Each class has its own, because names mean different classes
/// to different loaders.
#[derive(Debug, Default)]
struct NamedFields {
    all: Vec<[u32; 3]>,
    texts: Vec<Arc<[u8]>>,
    numbers: FxHashMap<Arc<[u8]>, u32>,
}

impl Classes {
    /// In place of the name of a class: the class of the object.
    pub(super) const OF_OBJECT: &[u8] = b"";

    pub(super) fn new(common: &'static Common, names: Names) -> Result<Self, String> {
        let places = Region::new(MOST_FIELDS, Pages::Small)
            .map_err(|error| format!("perk has no memory for fields: {error}"))?;
        // No instruction has the number 0.
        let named = NamedFields { all: vec![[0; 3]], ..NamedFields::default() };
        let (layouts, named, assigned) = (Mutex::default(), Mutex::new(named), Mutex::default());
        Ok(Self { common, names, layouts, named, assigned, places })
    }

    /// Returns the address of the fields' places.
    pub(super) fn places(&self) -> u64 {
        self.places.address()
    }

    /// Returns a number for a field that an instruction of a class names; 0 if there are too many.
    pub(super) fn name_field(&self, owner: &[u8], name: &[u8], descriptor: &[u8]) -> u32 {
        let mut named = lock(&self.named);
        let number = named.all.len();
        if number >= MOST_FIELDS || !self.places.grow(number + 1) {
            return 0;
        }
        let field = [owner, name, descriptor].map(|text| named.text(text));
        named.all.push(field);
        number as u32
    }

    /// Notes that an instruction writes a field outside of the constructors of the class that it
    /// names.
    pub(super) fn assigned(&self, owner: &[u8], name: &[u8], descriptor: &[u8]) {
        let [owner, name, kind] = [owner, name, descriptor].map(mutf8::decode);
        let field = [&*owner.replace('/', "."), &*name, &*kind].join(SEPARATOR_TEXT);
        lock(&self.assigned).insert(field);
    }

    /// Returns the word for the modifier of a field of a class, as far as it is known by now. The
    /// instructions of a hidden class name it without its suffix.
    pub(super) fn modifier(&self, layout: &Layout, field: &LayoutField) -> Option<&'static str> {
        let is_assigned = || {
            // Instructions may name a subclass of the class that declares it.
            let (declaring, rest) = field.text.split_once(SEPARATOR)?;
            let assigned = lock(&self.assigned);
            Some([declaring, &layout.name].into_iter().any(|class| {
                let class = class.split('/').next().unwrap_or(class);
                assigned.contains(&[class, rest].join(SEPARATOR_TEXT))
            }))
        };
        match field.modifier {
            FieldModifier::None if is_assigned() == Some(true) => FieldModifier::Assigned,
            modifier => modifier,
        }
        .word()
    }

    /// Returns the number of a class.
    pub(super) fn number(&self, class: &(impl Reference + ?Sized)) -> u32 {
        self.common.class(class).index() as u32 + 1
    }

    /// Returns the class with a number.
    pub(super) fn with_number(&self, number: u32) -> Option<Arc<Layout>> {
        lock(&self.layouts).get(&number).cloned()
    }

    /// Returns the offsets of the record's field by the number of the class.
    pub(super) fn offsets(&self) -> Vec<u32> {
        let layouts = lock(&self.layouts);
        let mut offsets = vec![0; layouts.keys().max().map_or(0, |it| *it as usize + 1)];
        layouts.iter().for_each(|(number, layout)| offsets[*number as usize] = layout.offset);
        offsets
    }

    /// Returns the layout of a class.
    pub(super) fn layout(
        &self,
        jni: Jni<'_>,
        helper: &dyn Reference,
        class: &(impl Reference + ?Sized),
    ) -> Arc<Layout> {
        let number = self.number(class);
        if let Some(known) = self.with_number(number) {
            return known;
        }
        let layout = Arc::new(self.find(jni, helper, class));
        match lock(&self.layouts).entry(number) {
            Entry::Occupied(known) => known.get().clone(),
            Entry::Vacant(free) => free.insert(layout).clone(),
        }
    }

    fn find(
        &self,
        jni: Jni<'_>,
        helper: &dyn Reference,
        class: &(impl Reference + ?Sized),
    ) -> Layout {
        let jvmti = self.common.jvmti;
        let signature = jvmti.class_signature(class).unwrap_or_default();
        let name = name_of(&signature);
        if name.starts_with('[') {
            let fields = [("$arraylength", "I"), ("$components", "?")]
                .map(|(field, kind)| LayoutField::new([&name, field, kind], FieldModifier::None));
            return Layout { name, fields: fields.into(), inherited_count: 0, offset: 0 };
        }
        let name = name.strip_prefix('L').and_then(|it| it.strip_suffix(';')).unwrap_or(&name);
        let above = jni.superclass(class).map(|above| self.layout(jni, helper, &above));
        let mut fields = above.map_or_else(Vec::new, |above| above.fields.clone());
        let inherited_count = fields.len();
        fields.extend(self.own_fields(class).iter().map(|field| {
            let modifier = match () {
                () if field.is_final => FieldModifier::Final,
                () if field.is_volatile => FieldModifier::Volatile,
                () => FieldModifier::None,
            };
            LayoutField::new([name, &field.name, &field.descriptor], modifier)
        }));
        let record = self.names.of(OBJECT_RECORD);
        let offset = find_record_field(jvmti, jni, helper, class, &record);
        let offset = offset.map_or(0, |it| it.offset);
        Layout { name: name.to_owned(), fields, inherited_count, offset }
    }

    /// Returns the fields that a class declares for its objects, in the order of the original: from
    /// the last to the first.
    fn own_fields(&self, class: &(impl Reference + ?Sized)) -> Vec<DeclaredField> {
        let mut own = self.common.jvmti.declared_fields(class).unwrap_or_default();
        own.retain(|field| !self.names.is_field(&field.name));
        own.reverse();
        own
    }

    /// Returns the unit of the counters of each field for accesses without an instruction, in the
    /// records of a class's objects.
    pub(super) fn extended_units(
        &self,
        jni: Jni<'_>,
        helper: &dyn Reference,
        class: &(impl Reference + ?Sized),
    ) -> ExtendedUnits {
        let mut units = ExtendedUnits::default();
        let first = 1 + self.layout(jni, helper, class).fields.len();
        self.add_extended_units(jni, helper, class, first, &mut units);
        units
    }

    fn add_extended_units(
        &self,
        jni: Jni<'_>,
        helper: &dyn Reference,
        class: &(impl Reference + ?Sized),
        first: usize,
        units: &mut ExtendedUnits,
    ) {
        let first_own = first + self.layout(jni, helper, class).inherited_count;
        for (unit, field) in (first_own..).zip(&self.own_fields(class)) {
            units.by_id.insert(field.id_number(), unit as u32);
            let Some(reflected) = jni.reflected_field(class, field) else { continue };
            let (signature, arguments) =
                (c"(Ljava/lang/reflect/Field;)J", [jvalue { l: reflected.raw() }]);
            // SAFETY: the arguments are those of the helper's method.
            let offset = unsafe { jni.call_static_long(helper, c"offset", signature, &arguments) };
            units.by_offset.extend(offset.map(|offset| (offset as u64, unit as u32)));
        }
        if let Some(above) = jni.superclass(class) {
            self.add_extended_units(jni, helper, &above, first, units);
        }
    }

    /// Returns the data about a class for its field, as PerkFields reads it.
    pub(super) fn data(
        &self,
        jni: Jni<'_>,
        helper: &dyn Reference,
        class: &(impl Reference + ?Sized),
    ) -> i64 {
        let layout = self.layout(jni, helper, class);
        let units_per_field = 1 + u64::from(self.common.options.extended_accesses);
        let units = 1 + layout.fields.len() as u64 * units_per_field;
        let data = u64::from(self.number(class))
            | units << NUMBER_BITS
            | u64::from(layout.offset) << (NUMBER_BITS + UNITS_BITS);
        data as i64
    }

    /// Looks up a field that an instruction names, by an object that has it. Returns its place, as
    /// PerkFields reads it; 0 if the object's class does not have such a field.
    pub(super) fn resolve(
        &self,
        jni: Jni<'_>,
        helper: &dyn Reference,
        object: &(impl Reference + ?Sized),
        field: u32,
    ) -> u64 {
        let Some([owner, name, descriptor]) = lock(&self.named).field(field) else { return 0 };
        let mut class = jni.class_of(object);
        let offset = class.as_ref().map_or(0, |class| self.layout(jni, helper, class).offset);
        // First the class that the instruction names, then the one that declares the field.
        let owner = mutf8::decode(&owner).replace('/', ".");
        while !owner.is_empty()
            && let Some(at) = &class
            && self.layout(jni, helper, at).name != owner
        {
            class = jni.superclass(at);
        }
        let suffix =
            format!("{SEPARATOR}{}{SEPARATOR}{}", mutf8::decode(&name), mutf8::decode(&descriptor));
        while let Some(at) = &class {
            let layout = self.layout(jni, helper, at);
            let own = &layout.fields[layout.inherited_count..];
            if let Some(place) = own.iter().position(|it| it.text.ends_with(&suffix)) {
                let counters = (layout.inherited_count + place + 1) as u64 * 16;
                let offset = if offset == 0 { BY_HEADER } else { offset };
                let place = u64::from(offset) << 32 | counters;
                self.places.all()[field as usize].store(place, Relaxed);
                return place;
            }
            class = jni.superclass(at);
        }
        0
    }
}

/// Returns the name of a class, as `Class.getName()` does. Only the signatures of hidden classes have
/// a `.`, where the name has a `/`.
fn name_of(signature: &str) -> String {
    let swapped = signature.chars().map(|c| match c {
        '/' => '.',
        '.' => '/',
        c => c,
    });
    swapped.collect()
}

impl LayoutField {
    fn new(names: [&str; 3], modifier: FieldModifier) -> Self {
        Self { text: names.join(SEPARATOR_TEXT), modifier }
    }
}

impl NamedFields {
    fn text(&mut self, text: &[u8]) -> u32 {
        if let Some(&known) = self.numbers.get(text) {
            return known;
        }
        let text: Arc<[u8]> = text.into();
        let number = self.texts.len() as u32;
        self.texts.push(text.clone());
        self.numbers.insert(text, number);
        number
    }

    fn field(&self, number: u32) -> Option<[Arc<[u8]>; 3]> {
        let field = self.all.get(number as usize).filter(|_| number != 0)?;
        Some(field.map(|text| self.texts[text as usize].clone()))
    }
}
