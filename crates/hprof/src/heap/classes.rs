//! The classes of the JVM's dump, and the offsets of the fields of their instances in it.

use std::cmp::Reverse;
use std::ops::Range;

use perk_hotspot::FILLER_CLASSES;
use perk_profile::{KeyedMap, Profile, StrId, mutf8, names};

use super::fillers::STACK_CHUNK;
use super::{ClassDump, ClassFields, Context, FieldType, InjectedFields};

/// The bytes of an id in the JVM's dump: its ids are addresses.
pub(super) const ID_BYTES: usize = 8;
/// The classes of arrays that can hold an `int[]`.
const HOLDERS_OF_INT_ARRAYS: [&str; 4] =
    ["int[][]", "java.lang.Object[]", "java.lang.Cloneable[]", "java.io.Serializable[]"];
/// The static pseudo field that holds an `Object[]` with the objects of the class's constant pool.
const RESOLVED_REFERENCES: &str = "<resolved_references>";

/// The names of a file by their ids. A dump of the JVM has the names of all symbols, of which few
/// are used.
#[derive(Debug, Default)]
pub(crate) struct DumpNames {
    bytes: Vec<u8>,
    spans: KeyedMap<u64, Range<usize>>,
    interned: KeyedMap<u64, StrId>,
}

impl DumpNames {
    /// Adds a name. A name that had its id before is forgotten.
    pub(crate) fn insert(&mut self, id: u64, name: &[u8]) {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(name);
        if self.spans.insert(id, start..self.bytes.len()).is_some() {
            self.interned.remove(&id);
        }
    }

    /// Returns a name in the spelling of the file.
    pub(crate) fn get(&self, id: u64) -> Option<&[u8]> {
        Some(&self.bytes[self.spans.get(&id)?.clone()])
    }

    /// Returns the profile's id of a name.
    pub(crate) fn intern(&mut self, profile: &mut Profile, id: u64) -> Option<StrId> {
        if let Some(&name) = self.interned.get(&id) {
            return Some(name);
        }
        let name = profile.symbols.strings.intern(&mutf8::decode(self.get(id)?));
        self.interned.insert(id, name);
        Some(name)
    }
}

/// A class of the dump.
#[derive(Debug)]
pub(crate) struct HeapClass {
    /// The address of its class object.
    pub(crate) id: u64,
    /// Its name in source form.
    pub(crate) name: StrId,
    /// Whether its instances are fillers.
    pub(super) is_filler: bool,
    /// Whether it is a class of arrays that can hold an `int[]`.
    pub(super) holds_int_arrays: bool,
    /// The data of CLASS DUMP, all 0 until it has come.
    pub(crate) superclass: u64,
    pub(crate) loader: u64,
    pub(crate) signers: u64,
    pub(crate) domain: u64,
    /// The static fields, with their values as bits.
    pub(crate) statics: Vec<(StrId, FieldType, u64)>,
    /// The fields of instances, perk's among them.
    fields: Vec<ClassField>,
    /// Whether CLASS DUMP has come.
    is_dumped: bool,
    layout: Option<InstanceLayout>,
    /// The size of an instance as the context counts it, or 0 before it was asked.
    pub(crate) object_bytes: u64,
}

#[derive(Clone, Copy, Debug)]
struct ClassField {
    name: StrId,
    field: FieldType,
    /// Whether perk gave the field to the class.
    is_own: bool,
}

impl HeapClass {
    /// Returns the names and types of the instance fields that the class declares, without perk's.
    pub(crate) fn fields(&self) -> impl Iterator<Item = (StrId, FieldType)> {
        let fields = self.fields.iter().filter(|field| !field.is_own);
        fields.map(|field| (field.name, field.field))
    }

    fn to_context<'a>(&self, profile: &'a Profile) -> ClassFields<'a> {
        ClassFields {
            name: profile.symbols.strings.get(self.name),
            is_of_boot_loader: self.loader == 0,
            fields: self.fields().map(|(_, field)| field).collect(),
        }
    }
}

/// The offsets of an instance's fields among its values, and the parts that are written.
#[derive(Clone, Debug, Default)]
pub(crate) struct InstanceLayout {
    /// The size of the values in the JVM's dump, in bytes.
    pub(super) stream_bytes: usize,
    /// The parts of them that are written: all except perk's fields.
    pub(crate) kept: Vec<Range<usize>>,
    /// The size of the parts that are written, in bytes.
    pub(crate) kept_bytes: usize,
    /// The fields that are written, in their order.
    pub(crate) fields: Vec<FieldPlace>,
    /// The indexes of the references among them, those of the topmost class first.
    references: Vec<usize>,
    /// The offset of the number of the object's record.
    pub(super) record_at: Option<usize>,
    /// The offset of the `tid` of a `java.lang.Thread`.
    pub(super) tid_at: Option<usize>,
    /// Whether the instance holds frames of a virtual thread.
    pub(super) is_stack_chunk: bool,
}

/// A field among the values of an instance.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FieldPlace {
    pub(crate) name: StrId,
    pub(crate) field: FieldType,
    /// The offset in the JVM's dump, in bytes.
    pub(crate) at: usize,
    /// The number of steps from the instance's class up to the class that declares the field.
    pub(crate) level: usize,
}

/// All classes.
#[derive(Debug)]
pub(crate) struct HeapClasses {
    own_fields: InjectedFields,
    all: Vec<HeapClass>,
    by_id: KeyedMap<u64, u32>,
    /// The class that was looked up last. Objects of a class are often together.
    last: (u64, u32),
}

impl HeapClasses {
    /// Returns an empty set of classes.
    pub(super) fn new(own_fields: InjectedFields) -> Self {
        Self { own_fields, all: Vec::new(), by_id: KeyedMap::default(), last: (0, 0) }
    }

    /// Returns all classes that are dumped. (Classes that are not linked yet have only LOAD CLASS.)
    pub(crate) fn dumped(&self) -> impl Iterator<Item = &HeapClass> {
        self.all.iter().filter(|class| class.is_dumped)
    }

    /// Returns the class with the address.
    #[inline]
    pub(crate) fn get(&mut self, id: u64) -> Option<&HeapClass> {
        let index = self.index(id)?;
        Some(&self.all[index])
    }

    /// As [`HeapClasses::get`], for callers that do not look up classes often.
    pub(crate) fn peek(&self, id: u64) -> Option<&HeapClass> {
        self.by_id.get(&id).map(|&index| &self.all[index as usize])
    }

    #[inline]
    fn index(&mut self, id: u64) -> Option<usize> {
        if self.last.0 != id || id == 0 {
            self.last = (id, *self.by_id.get(&id)?);
        }
        Some(self.last.1 as usize)
    }

    /// Takes LOAD CLASS. Returns false if the class was known already.
    pub(super) fn load(&mut self, profile: &Profile, id: u64, name: StrId) -> bool {
        let index = self.all.len() as u32;
        let is_new = *self.by_id.entry(id).or_insert(index) == index;
        if is_new {
            let text = profile.symbols.strings.get(name);
            self.all.push(HeapClass {
                id,
                name,
                is_filler: FILLER_CLASSES.contains(&text),
                holds_int_arrays: HOLDERS_OF_INT_ARRAYS.contains(&text),
                superclass: 0,
                loader: 0,
                signers: 0,
                domain: 0,
                statics: Vec::new(),
                fields: Vec::new(),
                is_dumped: false,
                layout: None,
                object_bytes: 0,
            });
        }
        is_new
    }

    /// Takes CLASS DUMP.
    pub(super) fn dump(
        &mut self,
        profile: &mut Profile,
        names: &mut DumpNames,
        dump: &ClassDump<'_>,
    ) -> Result<(), String> {
        let Some(index) = self.index(dump.id) else {
            return Err(format!("no LOAD CLASS gives the name of class {:#x}", dump.id));
        };
        let own_fields = self.own_fields;
        let class = &mut self.all[index];
        if class.is_dumped {
            return Err(format!("a second CLASS DUMP of class {:#x}", dump.id));
        }
        class.is_dumped = true;
        class.superclass = dump.superclass;
        (class.loader, class.signers, class.domain) = (dump.loader, dump.signers, dump.domain);
        let mut name = |id| {
            let name = names.intern(profile, id);
            name.ok_or_else(|| format!("no UTF8 record gives the name of a field, id {id:#x}"))
        };
        for field in dump.statics() {
            class.statics.push((name(field.name)?, field.value.field, field.value.bits()));
        }
        for (id, field) in dump.fields() {
            class.fields.push(ClassField { name: name(id)?, field, is_own: false });
        }
        let strings = &profile.symbols.strings;
        let is_own = |name| strings.get(name).starts_with(own_fields.prefix);
        class.statics.retain(|&(name, ..)| !is_own(name));
        for field in &mut class.fields {
            field.is_own = is_own(field.name);
        }
        Ok(())
    }

    /// Forgets the static fields of a class, which are not worth keeping once they are written.
    pub(super) fn forget_statics(&mut self, id: u64) {
        if let Some(index) = self.index(id) {
            self.all[index].statics = Vec::new();
        }
    }

    /// Returns a class and the layout of its instances.
    pub(super) fn with_layout(
        &mut self,
        profile: &Profile,
        id: u64,
    ) -> Result<(&HeapClass, &InstanceLayout), String> {
        let index = self.index(id).ok_or_else(|| unknown(id))?;
        if self.all[index].layout.is_none() {
            self.all[index].layout = Some(self.layout(profile, index)?);
        }
        self.known(index, id)
    }

    /// As [`HeapClasses::with_layout`], with the size of an instance.
    #[inline]
    pub(super) fn of_instance(
        &mut self,
        profile: &Profile,
        context: &mut dyn Context,
        id: u64,
    ) -> Result<(&HeapClass, &InstanceLayout), String> {
        let index = self.index(id).ok_or_else(|| unknown(id))?;
        if self.all[index].object_bytes == 0 {
            let fields = self.above(profile, index)?;
            let fields: Vec<_> =
                fields.iter().rev().map(|class| class.to_context(profile)).collect();
            self.all[index].object_bytes = context.instance_bytes(&fields).max(1);
            self.with_layout(profile, id)?;
        }
        self.known(index, id)
    }

    #[inline]
    fn known(&self, index: usize, id: u64) -> Result<(&HeapClass, &InstanceLayout), String> {
        let class = &self.all[index];
        class.layout.as_ref().map(|layout| (class, layout)).ok_or_else(|| unknown(id))
    }

    /// Returns the class and those above it, up to `java.lang.Object`.
    fn above(&self, profile: &Profile, index: usize) -> Result<Vec<&HeapClass>, String> {
        let mut above = Vec::new();
        let mut next = Some(&self.all[index]);
        while let Some(class) = next {
            if !class.is_dumped || above.len() > self.all.len() {
                let name = profile.symbols.strings.get(class.name);
                return Err(format!("no CLASS DUMP gives the fields of {name}"));
            }
            above.push(class);
            next = match class.superclass {
                0 => None,
                id => {
                    let class = self.peek(id);
                    Some(class.ok_or_else(|| {
                        format!("class {id:#x} is above others, and no record gives it")
                    })?)
                }
            };
        }
        Ok(above)
    }

    #[cold]
    fn layout(&self, profile: &Profile, index: usize) -> Result<InstanceLayout, String> {
        let mut layout = InstanceLayout::default();
        for (level, class) in self.above(profile, index)?.into_iter().enumerate() {
            let text = |name| profile.symbols.strings.get(name);
            let is_thread = class.loader == 0 && text(class.name) == "java.lang.Thread";
            layout.is_stack_chunk |= text(class.name) == STACK_CHUNK;
            for field in &class.fields {
                match (text(field.name), field.field) {
                    (name, FieldType::Int) if name.starts_with(self.own_fields.record) => {
                        layout.record_at = Some(layout.stream_bytes);
                    }
                    ("tid", FieldType::Long) if is_thread => {
                        layout.tid_at = Some(layout.stream_bytes);
                    }
                    _ => {}
                }
                if !field.is_own {
                    layout.keep(field, level);
                }
                layout.stream_bytes += field.field.bytes(ID_BYTES);
            }
        }
        let fields = &layout.fields;
        let is_reference = |&index: &usize| fields[index].field == FieldType::Object;
        layout.references = (0..fields.len()).filter(is_reference).collect();
        layout.references.sort_by_key(|&index| Reverse(fields[index].level));
        Ok(layout)
    }
}

impl InstanceLayout {
    /// Returns the references, those that the topmost class declares first.
    pub(crate) fn references(&self) -> impl ExactSizeIterator<Item = &FieldPlace> {
        self.references.iter().map(|&index| &self.fields[index])
    }

    /// Adds a field that is written, after all others.
    fn keep(&mut self, field: &ClassField, level: usize) {
        let (at, bytes) = (self.stream_bytes, field.field.bytes(ID_BYTES));
        self.fields.push(FieldPlace { name: field.name, field: field.field, at, level });
        self.kept_bytes += bytes;
        match self.kept.last_mut() {
            Some(part) if part.end == at => part.end += bytes,
            _ => self.kept.push(at..at + bytes),
        }
    }
}

#[cold]
fn unknown(class: u64) -> String {
    format!("an instance of class {class:#x}, which no record gives")
}

/// Whether a static field is the pseudo field of the constant pool's objects.
pub(crate) fn is_resolved_references(name: &str) -> bool {
    name == RESOLVED_REFERENCES
}

/// Returns the source form of a name of the dump: `java/lang/String`, `[I`. The suffix of hidden
/// classes is set off by a `.` as in JVMTI, and not by the JVM's own `+`.
pub fn source_form(name: &str) -> String {
    let mut name = match name.starts_with('[') {
        true => names::from_signature(name),
        false => name.replace('/', "."),
    };
    if let Some(at) = name.rfind("+0x") {
        let suffix = name[at + 3..].trim_end_matches("[]");
        if !suffix.is_empty() && suffix.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            name.replace_range(at..at + 1, ".");
        }
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_come_in_source_form() {
        for (name, source) in [
            ("java/lang/String", "java.lang.String"),
            ("[[I", "int[][]"),
            ("[Lmy/Type$In;", "my.Type$In[]"),
            ("Main", "Main"),
            ("a/B$$Lambda$2+0x00007f387c001a20", "a.B$$Lambda$2.0x00007f387c001a20"),
            ("[La/B$$Lambda+0x00007f387c001a20;", "a.B$$Lambda.0x00007f387c001a20[]"),
            ("odd+0xname", "odd+0xname"),
        ] {
            assert_eq!(source_form(name), source);
        }
    }
}
