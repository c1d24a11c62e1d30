//! Dumps made for tests.

use std::collections::HashMap;

use perk_heap::{Heap, ObjectId};
use perk_hprof::heap::FieldType;

/// A value of a field.
#[derive(Clone, Copy)]
pub(crate) enum DumpField {
    Object(u64),
    Boolean(bool),
    Byte(i8),
    Int(i32),
    Long(i64),
}

impl DumpField {
    fn bytes(self) -> Vec<u8> {
        match self {
            Self::Object(it) => it.to_be_bytes().to_vec(),
            Self::Boolean(it) => vec![u8::from(it)],
            Self::Byte(it) => it.to_be_bytes().to_vec(),
            Self::Int(it) => it.to_be_bytes().to_vec(),
            Self::Long(it) => it.to_be_bytes().to_vec(),
        }
    }

    fn number(self) -> u8 {
        let field_type = match self {
            Self::Object(_) => FieldType::Object,
            Self::Boolean(_) => FieldType::Boolean,
            Self::Byte(_) => FieldType::Byte,
            Self::Int(_) => FieldType::Int,
            Self::Long(_) => FieldType::Long,
        };
        field_type.to_hprof()
    }
}

/// A dump that is being made. Its classes are made with their first instance.
pub(crate) struct Dump {
    names: Vec<u8>,
    heap: Vec<u8>,
    name_ids: HashMap<String, u64>,
    classes: HashMap<String, u64>,
    next: u64,
}

impl Dump {
    pub(crate) fn new() -> Self {
        let mut dump = Self {
            names: Vec::new(),
            heap: Vec::new(),
            name_ids: HashMap::new(),
            classes: HashMap::new(),
            next: 0x10_0000,
        };
        dump.class("java.lang.Object", "", &[], &[]);
        dump
    }

    /// An address for an object that comes later.
    pub(crate) fn reserve(&mut self) -> u64 {
        self.next += 0x100;
        self.next
    }

    fn record(&mut self, tag: u8, body: &[u8]) {
        self.names.extend([&[tag][..], &[0; 4], &(body.len() as u32).to_be_bytes(), body].concat());
    }

    fn name(&mut self, name: &str) -> [u8; 8] {
        let id = match self.name_ids.get(name) {
            Some(&id) => id,
            None => {
                let id = 0x100 + self.name_ids.len() as u64;
                self.name_ids.insert(name.to_owned(), id);
                self.record(0x01, &[&id.to_be_bytes(), name.as_bytes()].concat());
                id
            }
        };
        id.to_be_bytes()
    }

    /// A class below another of this name, which may come later, with static and instance fields.
    pub(crate) fn class(
        &mut self,
        name: &str,
        above: &str,
        statics: &[(&str, DumpField)],
        fields: &[(&str, DumpField)],
    ) -> u64 {
        if let Some(&class) = self.classes.get(name) {
            return class;
        }
        let class = self.reserve();
        self.classes.insert(name.to_owned(), class);
        let above = if above.is_empty() { 0 } else { self.classes[above] };
        let name_id = self.name(&name.replace('.', "/"));
        let id = class.to_be_bytes();
        self.record(0x02, &[&[0, 0, 0, 1][..], &id, &[0; 4], &name_id].concat());
        let mut body = [&[0x20][..], &id, &[0; 4], &above.to_be_bytes(), &[0; 40]].concat();
        let bytes: usize = fields.iter().map(|it| it.1.bytes().len()).sum();
        body.extend((bytes as u32).to_be_bytes());
        body.extend([0, 0]);
        body.extend((statics.len() as u16).to_be_bytes());
        for (name, value) in statics {
            body.extend(self.name(name));
            body.push(value.number());
            body.extend(value.bytes());
        }
        body.extend((fields.len() as u16).to_be_bytes());
        for (name, value) in fields {
            body.extend(self.name(name));
            body.push(value.number());
        }
        self.heap.extend(body);
        self.heap.extend([&[0x05][..], &id].concat());
        class
    }

    /// An instance of a class right below `Object` with these fields, at a reserved address.
    pub(crate) fn put(&mut self, address: u64, class: &str, fields: &[(&str, DumpField)]) -> u64 {
        let class = self.class(class, "java.lang.Object", &[], fields);
        let values: Vec<u8> = fields.iter().flat_map(|it| it.1.bytes()).collect();
        let head = [&[0x21][..], &address.to_be_bytes(), &[0; 4], &class.to_be_bytes()].concat();
        self.heap.extend([&head[..], &(values.len() as u32).to_be_bytes(), &values].concat());
        self.heap.extend([&[0x05][..], &address.to_be_bytes()].concat());
        address
    }

    pub(crate) fn instance(&mut self, class: &str, fields: &[(&str, DumpField)]) -> u64 {
        let address = self.reserve();
        self.put(address, class, fields)
    }

    pub(crate) fn objects(&mut self, elements: &[u64]) -> u64 {
        let class = self.class("[Ljava.lang.Object;", "java.lang.Object", &[], &[]);
        let address = self.reserve();
        self.next += 8 * elements.len() as u64;
        let length = (elements.len() as u32).to_be_bytes();
        let head = [&[0x22][..], &address.to_be_bytes(), &[0; 4], &length].concat();
        self.heap.extend([&head[..], &class.to_be_bytes()].concat());
        self.heap.extend(elements.iter().flat_map(|it| it.to_be_bytes()));
        address
    }

    /// An array of primitive values from its bytes.
    pub(crate) fn array(&mut self, element: FieldType, bytes: &[u8]) -> u64 {
        let address = self.reserve();
        self.next += bytes.len() as u64;
        let length = (bytes.len() / element.bytes(8)) as u32;
        let head = [&[0x23][..], &address.to_be_bytes(), &[0; 4], &length.to_be_bytes()].concat();
        self.heap.extend([&head[..], &[element.to_hprof()], bytes].concat());
        address
    }

    pub(crate) fn chars(&mut self, text: &str) -> u64 {
        let chars: Vec<u8> = text.encode_utf16().flat_map(u16::to_be_bytes).collect();
        self.array(FieldType::Char, &chars)
    }

    pub(crate) fn ints(&mut self, ints: &[i32]) -> u64 {
        let bytes: Vec<u8> = ints.iter().flat_map(|it| it.to_be_bytes()).collect();
        self.array(FieldType::Int, &bytes)
    }

    /// A `String` of JDK 8.
    pub(crate) fn string(&mut self, text: &str) -> u64 {
        let chars = self.chars(text);
        self.instance(
            "java.lang.String",
            &[("value", DumpField::Object(chars)), ("hash", DumpField::Int(0))],
        )
    }

    pub(crate) fn open(&self) -> TestHeap {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("made.hprof");
        let mut file = b"JAVA PROFILE 1.0.2\0\0\0\0\x08\0\0\0\0\0\0\0\0".to_vec();
        file.extend(&self.names);
        file.extend([0x1C, 0, 0, 0, 0]);
        file.extend((self.heap.len() as u32).to_be_bytes());
        file.extend(&self.heap);
        file.extend([0x2C, 0, 0, 0, 0, 0, 0, 0, 0]);
        std::fs::write(&path, file).unwrap();
        TestHeap { heap: crate::open(&path), _folder: folder }
    }
}

/// An analysed dump.
pub(crate) struct TestHeap {
    pub(crate) heap: Heap,
    _folder: tempfile::TempDir,
}

impl TestHeap {
    /// The meaning of the object at an address.
    pub(crate) fn meaning(&self, address: u64) -> Option<String> {
        crate::meaning(&self.heap, self.at(address))
    }

    pub(crate) fn at(&self, address: u64) -> ObjectId {
        self.heap.find(address).unwrap()
    }
}
