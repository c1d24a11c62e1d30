//! The classes of a text, with the fields that their instances show.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use super::lines::{Line, TextArray};
use crate::Error;

/// The class that declares [`OF_REFERENCE`]. It has no instances, so that none shows its fields.
const REFERENCE: &[u8] = b"java.lang.ref.Reference";
const OF_REFERENCE: [&[u8]; 4] = [b"referent", b"queue", b"next", b"discovered"];
/// Ids of classes that the text does not have are made from here on.
const MADE_IDS: u64 = 0xFFFF_FFFF_0000_0000;
/// The most fields that a class can have in a file.
const MOST_FIELDS: usize = u16::MAX as usize;

/// A class.
#[derive(Debug, Default)]
pub(super) struct TextClass {
    pub(super) id: u64,
    pub(super) name: Vec<u8>,
    pub(super) trace: u32,
    pub(super) superclass: u64,
    pub(super) loader: u64,
    pub(super) signers: u64,
    pub(super) domain: u64,
    pub(super) constants: Vec<(u16, u64)>,
    pub(super) statics: Vec<(Vec<u8>, u64)>,
    /// The size of an instance, or 0.
    pub(super) bytes: u64,
    /// The fields that it declares.
    pub(super) declared: Vec<TextField>,
    /// The fields that instances have shown, those of classes above among them.
    seen: Vec<TextField>,
    /// The places of these fields among the values of an instance.
    slots: Vec<usize>,
    slot_count: usize,
}

/// A field: its name, and the number of fields of that name before it in an instance. (A class may
/// declare one that a class above has, too.)
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TextField {
    pub(super) name: Box<[u8]>,
    number: usize,
}

/// The classes of a text.
#[derive(Debug, Default)]
pub(super) struct TextClasses {
    all: Vec<TextClass>,
    by_id: HashMap<u64, usize>,
    /// The made ids of the classes of arrays, by the id of the class of their elements.
    arrays: HashMap<u64, u64>,
    /// The object or class whose lines are being read.
    open: Option<OpenClass>,
}

#[derive(Debug)]
enum OpenClass {
    Instance { class: usize, used: Vec<usize> },
    Class(usize),
}

impl TextClasses {
    /// Takes a line of the first pass.
    pub(super) fn line(&mut self, line: Line<'_>) -> Result<(), Error> {
        match line {
            Line::Member { name, id } => return self.member(name, id),
            Line::Object(object) => {
                let class = self.class(object.class_id, object.class);
                self.all[class].bytes = object.bytes;
                self.open = Some(OpenClass::Instance { class, used: Vec::new() });
                return Ok(());
            }
            Line::Array(array) if array.class_id != 0 => self.array(&array),
            Line::Class { id, name, trace } => {
                let class = self.class(id, name);
                self.all[class].trace = trace;
                self.open = Some(OpenClass::Class(class));
                return Ok(());
            }
            Line::Array(_) | Line::Root { .. } => {}
        }
        self.open = None;
        Ok(())
    }

    fn member(&mut self, name: &[u8], id: u64) -> Result<(), Error> {
        match &mut self.open {
            Some(OpenClass::Instance { class, used }) => {
                let class = &mut self.all[*class];
                let index = class.seen_index(name, used).unwrap_or_else(|number| {
                    class.seen.push(TextField { name: name.into(), number });
                    class.seen.len() - 1
                });
                used.push(index);
                if class.seen.len() > MOST_FIELDS {
                    let name = String::from_utf8_lossy(&class.name).escape_debug().to_string();
                    let what = format!("instances of {name} have more than {MOST_FIELDS} fields");
                    return Err(Error::Refused(what));
                }
            }
            Some(OpenClass::Class(class)) => self.all[*class].reference(name, id),
            None => {}
        }
        Ok(())
    }

    fn array(&mut self, array: &TextArray<'_>) {
        if array.has_own_class() {
            self.class(array.class_id, array.class);
        } else if let Entry::Vacant(entry) = self.arrays.entry(array.class_id) {
            let id = MADE_IDS + self.all.len() as u64;
            entry.insert(id);
            self.class(id, &[array.class, b"[]"].concat());
        }
    }

    /// Returns the class with this id.
    fn class(&mut self, id: u64, name: &[u8]) -> usize {
        *self.by_id.entry(id).or_insert_with(|| {
            self.all.push(TextClass { id, name: name.to_vec(), ..TextClass::default() });
            self.all.len() - 1
        })
    }

    /// Determines which class declares each field: the topmost one whose instances show it.
    pub(super) fn place_fields(&mut self) {
        for index in 0..self.all.len() {
            let above = self.above(index);
            for field in self.all[index].seen.clone() {
                let declares = |&class: &usize| {
                    let class = &self.all[class];
                    class.seen.contains(&field)
                        || class.name == REFERENCE && OF_REFERENCE.contains(&&*field.name)
                };
                let declarer = above.iter().copied().rfind(declares).unwrap_or(index);
                let declared = &mut self.all[declarer].declared;
                if !declared.contains(&field) {
                    declared.push(field);
                }
            }
        }
        for index in 0..self.all.len() {
            let above = self.above(index);
            let fields = above.iter().flat_map(|&class| &self.all[class].declared);
            let fields: Vec<_> = fields.collect();
            let slot = |field| fields.iter().position(|&it| it == field).unwrap_or_default();
            let slots = self.all[index].seen.iter().map(slot).collect();
            let slot_count = fields.len();
            let class = &mut self.all[index];
            (class.slots, class.slot_count) = (slots, slot_count);
        }
    }

    /// Returns a class and those above it. A text may say that a class is above itself.
    fn above(&self, index: usize) -> Vec<usize> {
        let mut above = vec![index];
        while let Some(&class) = self.by_id.get(&self.all[above[above.len() - 1]].superclass)
            && !above.contains(&class)
        {
            above.push(class);
        }
        above
    }

    /// Returns the classes.
    pub(super) fn all(&self) -> &[TextClass] {
        &self.all
    }

    pub(super) fn find(&self, id: u64) -> Option<usize> {
        self.by_id.get(&id).copied()
    }

    pub(super) fn id(&self, class: usize) -> u64 {
        self.all[class].id
    }

    /// Returns the id of the class of an array of references.
    pub(super) fn array_id(&self, array: &TextArray<'_>) -> u64 {
        match self.arrays.get(&array.class_id) {
            Some(&id) if !array.has_own_class() => id,
            _ => array.class_id,
        }
    }

    /// Returns the number of values of an instance.
    pub(super) fn slot_count(&self, class: usize) -> usize {
        self.all[class].slot_count
    }

    /// Returns the place of the next field of this name among the values of an instance. `used` are
    /// the fields that have come.
    pub(super) fn slot(&self, class: usize, name: &[u8], used: &mut Vec<usize>) -> Option<usize> {
        let class = &self.all[class];
        let index = class.seen_index(name, used).ok()?;
        used.push(index);
        class.slots.get(index).copied()
    }
}

impl TextClass {
    /// Returns the number of the next field of this name among those seen, or the number of those
    /// that have the name.
    fn seen_index(&self, name: &[u8], used: &[usize]) -> Result<usize, usize> {
        let mut number = 0;
        for (index, field) in self.seen.iter().enumerate() {
            if *field.name == *name {
                if !used.contains(&index) {
                    return Ok(index);
                }
                number += 1;
            }
        }
        Err(number)
    }

    /// Takes a reference of the class itself.
    fn reference(&mut self, name: &[u8], id: u64) {
        const CONSTANT: &[u8] = b"constant pool entry ";
        match name {
            b"super" => self.superclass = id,
            b"loader" => self.loader = id,
            b"signers" => self.signers = id,
            b"domain" => self.domain = id,
            _ => {
                if let Some(name) = name.strip_prefix(b"static ") {
                    self.statics.push((name.to_vec(), id));
                } else if let Some(index) = name.strip_prefix(CONSTANT) {
                    let index = std::str::from_utf8(index).ok().and_then(|it| it.parse().ok());
                    self.constants.extend(index.map(|index| (index, id)));
                }
            }
        }
    }
}
