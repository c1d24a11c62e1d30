//! The classes of a dump, and where their instances have references.

use perk_hprof::heap::{FieldType, ObjectSizes};
use perk_profile::KeyedMap;
use serde::{Deserialize, Serialize};

use crate::class::{Class, ClassIndex, ClassKind, Field, Static};
use crate::scan::{RawClass, Scan};
use crate::{ObjectId, Refs, Value};

const CLASS: &str = "java.lang.Class";
/// The class that declares [`REFERENT`] and [`DISCOVERED`].
pub(crate) const REFERENCE: &str = "java.lang.ref.Reference";
pub(crate) const REFERENT: &str = "referent";
/// The collector's own link, which holds nothing.
pub(crate) const DISCOVERED: &str = "discovered";
/// The number of classes above each other that are searched one by one.
const SHORT_CHAIN: usize = 32;
/// The primitive types by HPROF's numbers.
const PRIMITIVES: std::ops::Range<u8> = 4..12;

/// The kind of a `java.lang.ref.Reference`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) enum RefKind {
    Soft,
    Weak,
    Final,
    Phantom,
}

impl RefKind {
    /// Returns the kind of the references of a class, by the class or one above it.
    fn of_class(name: &str) -> Option<Self> {
        Some(match name {
            "java.lang.ref.SoftReference" => Self::Soft,
            "java.lang.ref.WeakReference" => Self::Weak,
            "java.lang.ref.FinalReference" | "java.lang.ref.FinalizerReference" => Self::Final,
            "java.lang.ref.PhantomReference" => Self::Phantom,
            _ => return None,
        })
    }

    /// Whether such references hold their referents.
    pub(crate) fn holds(self, refs: Refs) -> bool {
        match refs {
            Refs::Strong => false,
            Refs::Soft => self == Self::Soft,
            Refs::All => true,
        }
    }
}

/// The places of references in the instances of a class.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Shape {
    /// The offsets of the references that hold.
    pub(crate) references: Box<[u32]>,
    /// The offset of a referent that does not hold, and the kind of the reference.
    pub(crate) referent: Option<(u32, RefKind)>,
    /// The class object, if its instances are what keeps it: no root does.
    pub(crate) class_object: Option<u32>,
    /// The size of the values of all fields.
    pub(crate) value_bytes: u32,
}

/// What a class refers to, apart from its static fields.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct ClassRefs {
    pub(crate) superclass: u64,
    pub(crate) loader: u64,
    pub(crate) signers: u64,
    pub(crate) domain: u64,
    /// References in the constant pool.
    pub(crate) constants: Vec<(u16, u64)>,
}

/// The classes.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Model {
    pub(crate) classes: Vec<Class>,
    pub(crate) shapes: Vec<Shape>,
    pub(crate) refs: Vec<ClassRefs>,
    pub(crate) by_address: KeyedMap<u64, u32>,
    /// The objects that represent classes, in their order, and the classes.
    pub(crate) class_objects: Vec<(u32, u32)>,
    /// The classes of arrays of primitive types, by HPROF's number of the type.
    pub(crate) primitives: [u32; 12],
    /// `java.lang.Class`.
    pub(crate) of_classes: u32,
    id_bytes: usize,
}

impl Model {
    /// Makes the classes.
    pub(crate) fn new(scan: &mut Scan, sizes: &ObjectSizes) -> Self {
        let mut raw: KeyedMap<u64, RawClass> = KeyedMap::default();
        for class in std::mem::take(&mut scan.classes) {
            raw.entry(class.id).or_insert(class);
        }
        let mut model = Self {
            classes: Vec::new(),
            shapes: Vec::new(),
            refs: Vec::new(),
            by_address: KeyedMap::default(),
            class_objects: Vec::new(),
            primitives: [u32::MAX; 12],
            of_classes: u32::MAX,
            id_bytes: scan.id_bytes,
        };
        let mut addresses: Vec<u64> = scan.tally.class_ids().collect();
        addresses.sort_unstable();
        for address in addresses {
            let raw = raw.remove(&address);
            let name = match scan.loaded.get(&address) {
                Some(&name) => perk_hprof::heap::source_form(&scan.names.get(name)),
                None => format!("<class {address:#x}>"),
            };
            model.add(scan, sizes, name, address, raw);
        }
        for number in PRIMITIVES {
            let Some(name) = FieldType::from_hprof(number).and_then(FieldType::name) else {
                continue;
            };
            if model.primitives[usize::from(number)] == u32::MAX {
                model.add(scan, sizes, format!("{name}[]"), 0, None);
            }
        }
        if model.of_classes == u32::MAX {
            model.add(scan, sizes, CLASS.to_owned(), 0, None);
        }
        for (index, class) in model.classes.iter().enumerate() {
            if let Some(object) = class.object {
                model.class_objects.push((object.0, index as u32));
            }
        }
        model.class_objects.sort_unstable();
        model.link();
        model
    }

    fn add(
        &mut self,
        scan: &Scan,
        sizes: &ObjectSizes,
        name: String,
        address: u64,
        raw: Option<RawClass>,
    ) {
        let index = self.classes.len() as u32;
        let kind = kind_of(&name);
        if let ClassKind::PrimitiveArray(element) = kind {
            self.primitives[usize::from(element.to_hprof())] = index;
        }
        if name == CLASS && self.of_classes == u32::MAX {
            self.of_classes = index;
        }
        if address != 0 {
            self.by_address.insert(address, index);
        }
        let (fields, statics) = match &raw {
            Some(raw) => (
                raw.fields
                    .iter()
                    .map(|&(name, field_type)| Field { name: scan.names.get(name), field_type })
                    .collect(),
                raw.statics
                    .iter()
                    .map(|&(name, field, bits)| Static {
                        name: scan.names.get(name),
                        value: Value::of_bits(field, bits),
                    })
                    .collect(),
            ),
            None => (Vec::new(), Vec::new()),
        };
        self.classes.push(Class {
            name,
            address,
            object: raw.as_ref().and_then(|raw| scan.ids.find(raw.id)).map(ObjectId),
            superclass: None,
            loader: raw.as_ref().map_or(0, |raw| raw.refs.loader),
            kind,
            fields,
            statics,
            trace: raw.as_ref().map_or(0, |raw| raw.trace),
            instance_bytes: match kind {
                ClassKind::Instance => sizes.instance_bytes(address).unwrap_or(0),
                _ => 0,
            },
            instance_count: 0,
            shallow_bytes: 0,
        });
        self.refs.push(raw.map(|raw| raw.refs).unwrap_or_default());
    }

    /// Finds the classes above, and the references of instances.
    fn link(&mut self) {
        for index in 0..self.classes.len() {
            let above = self.by_address.get(&self.refs[index].superclass).copied();
            self.classes[index].superclass = above.map(ClassIndex);
        }
        self.shapes = (0..self.classes.len()).map(|index| self.shape(index as u32)).collect();
    }

    /// Returns the class and those above it. A cycle ends where it begins again.
    pub(crate) fn above(&self, class: u32) -> Vec<u32> {
        let mut chain = vec![class];
        let mut seen = KeyedMap::default();
        let mut next = self.classes[class as usize].superclass;
        while let Some(ClassIndex(class)) = next {
            let is_seen = if chain.len() <= SHORT_CHAIN {
                chain.contains(&class)
            } else {
                if seen.is_empty() {
                    seen.extend(chain.iter().map(|&class| (class, ())));
                }
                seen.insert(class, ()).is_some()
            };
            if is_seen {
                break;
            }
            chain.push(class);
            next = self.classes[class as usize].superclass;
        }
        chain
    }

    fn shape(&self, class: u32) -> Shape {
        let chain = self.above(class);
        let kind =
            chain.iter().find_map(|&class| RefKind::of_class(&self.classes[class as usize].name));
        let mut shape = Shape::default();
        let mut references = Vec::new();
        for &class in &chain {
            let class = &self.classes[class as usize];
            let is_reference = class.name == REFERENCE;
            for field in &class.fields {
                let at = shape.value_bytes;
                shape.value_bytes = at.saturating_add(field.field_type.bytes(self.id_bytes) as u32);
                match (field.field_type, kind, field.name.as_str()) {
                    (FieldType::Object, Some(kind), REFERENT) if is_reference => {
                        shape.referent = Some((at, kind));
                    }
                    (FieldType::Object, _, DISCOVERED) if is_reference => {}
                    (FieldType::Object, ..) => references.push(at),
                    _ => {}
                }
            }
        }
        shape.references = references.into();
        shape
    }

    /// Makes referents that hold ordinary references, and notes the class objects that no root holds.
    pub(crate) fn settle(&mut self, refs: Refs, is_root: impl Fn(u32) -> bool) {
        for (shape, class) in self.shapes.iter_mut().zip(&self.classes) {
            if let Some((at, _)) = shape.referent.filter(|(_, kind)| kind.holds(refs)) {
                let mut references = shape.references.to_vec();
                references.push(at);
                shape.references = references.into();
                shape.referent = None;
            }
            shape.class_object =
                class.object.map(|object| object.0).filter(|&object| !is_root(object));
        }
    }

    /// Returns the class that an object represents.
    pub(crate) fn as_class(&self, object: u32) -> Option<u32> {
        let at = self.class_objects.binary_search_by_key(&object, |&(object, _)| object).ok()?;
        Some(self.class_objects[at].1)
    }

    /// Returns the classes by name.
    pub(crate) fn named(&self, name: &str) -> Vec<ClassIndex> {
        let all = (0..).map(ClassIndex).zip(&self.classes);
        all.filter(|(_, class)| class.name == name).map(|(index, _)| index).collect()
    }
}

/// Returns the kind of a class by its name in source form.
fn kind_of(name: &str) -> ClassKind {
    let Some(element) = name.strip_suffix("[]") else { return ClassKind::Instance };
    let primitive =
        PRIMITIVES.filter_map(FieldType::from_hprof).find(|field| field.name() == Some(element));
    primitive.map_or(ClassKind::ObjectArray, ClassKind::PrimitiveArray)
}
