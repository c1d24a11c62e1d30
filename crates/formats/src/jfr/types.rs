//! The types of a chunk's events and constants, as its metadata describes them.

use std::borrow::Cow;
use std::rc::Rc;

use perk_profile::KeyedMap;

use super::annotations::{Annotations, Facts, Time, TimeUnit};
use super::cursor::{Cursor, Fault, NumberRun, Text};
use crate::memory;

/// The limit of nesting, of structs inside structs and of elements of metadata inside elements.
const MAX_DEPTH: usize = 32;

/// The key of a constant.
const KEY: NumberRun = NumberRun { count: 1, plain_bytes: 8 };

/// The encoding of a field's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ValueKind {
    Boolean,
    Byte,
    Short,
    Char,
    Int,
    Long,
    Float,
    Double,
    String,
    /// A struct. Its fields are those of the type at this place of the table.
    Struct(usize),
    /// A type that the metadata does not describe.
    Unknown,
}

impl ValueKind {
    pub(super) fn is_struct(self) -> bool {
        matches!(self, ValueKind::Struct(_))
    }
}

#[derive(Clone, Debug)]
pub(super) struct TypeField {
    pub(super) name: String,
    pub(super) kind: ValueKind,
    /// The id of its type.
    pub(super) type_id: i64,
    /// Whether the field holds the key of a constant.
    pub(super) is_pooled: bool,
    pub(super) is_array: bool,
    pub(super) facts: Facts,
}

impl TypeField {
    /// The unit of the field as a span of time.
    pub(super) fn time_unit(&self) -> TimeUnit {
        match self.facts.time {
            Some(Time::Span(unit)) => unit,
            _ => TimeUnit::default(),
        }
    }
}

#[derive(Clone, Debug)]
pub(super) struct Type {
    pub(super) id: i64,
    pub(super) name: String,
    /// Whether it is a type of events.
    pub(super) is_event: bool,
    /// Whether a value is that of its only field.
    pub(super) is_simple: bool,
    pub(super) facts: Facts,
    pub(super) fields: Vec<TypeField>,
    /// The steps that skip a value.
    steps: Vec<Step>,
}

/// One or more fields of a type that are skipped at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    Numbers(NumberRun),
    Bytes(usize),
    /// The field at this place. Its length depends on its value.
    Field(usize),
}

impl Step {
    fn of(place: usize, field: &TypeField) -> Self {
        let number = |plain_bytes| Step::Numbers(NumberRun { count: 1, plain_bytes });
        match field.kind {
            _ if field.is_array => Step::Field(place),
            _ if field.is_pooled => Step::Numbers(KEY),
            ValueKind::Boolean | ValueKind::Byte => Step::Bytes(1),
            ValueKind::Short | ValueKind::Char => number(2),
            ValueKind::Int => number(4),
            ValueKind::Long => number(8),
            ValueKind::Float => Step::Bytes(4),
            ValueKind::Double => Step::Bytes(8),
            ValueKind::String | ValueKind::Struct(_) | ValueKind::Unknown => Step::Field(place),
        }
    }

    /// Returns the steps that skip these fields.
    fn all(fields: &[TypeField]) -> Vec<Self> {
        let mut steps = Vec::new();
        for (place, field) in fields.iter().enumerate() {
            match (steps.last_mut(), Step::of(place, field)) {
                (Some(Step::Numbers(sum)), Step::Numbers(more)) => {
                    sum.count += more.count;
                    sum.plain_bytes += more.plain_bytes;
                }
                (Some(Step::Bytes(sum)), Step::Bytes(more)) => *sum += more,
                (_, step) => steps.push(step),
            }
        }
        steps
    }
}

/// The types of a chunk.
#[derive(Clone, Debug, Default)]
pub(super) struct Types {
    /// The local time minus UTC at the place of the JVM, in seconds.
    pub(super) utc_offset_s: i32,
    types: Vec<Type>,
    by_id: KeyedMap<i64, usize>,
}

/// Returns the name that version 2 of the format gives a type. Version 1 (JDK 9 and 10) has other
/// prefixes.
fn name_of_version_2(name: &str) -> String {
    const PREFIXES: [(&str, &str); 3] = [
        ("com.oracle.jdk.", "jdk."),
        ("com.oracle.jfr.types.", "jdk.types."),
        ("com.oracle.jfr.", "jdk.jfr."),
    ];
    let renamed = |(old, new): (&str, &str)| Some(format!("{new}{}", name.strip_prefix(old)?));
    PREFIXES.into_iter().find_map(renamed).unwrap_or_else(|| name.to_owned())
}

/// The types of the previous chunk, which the next one mostly repeats.
#[derive(Debug, Default)]
pub(super) struct LastTypes {
    types: Rc<Types>,
    /// The bytes from which they were read.
    bytes: Vec<u8>,
    is_compressed: bool,
}

/// The part of an element of the metadata's tree that perk uses.
#[derive(Default)]
struct Element<'a> {
    name: &'a str,
    attributes: Vec<(&'a str, &'a str)>,
    children: Vec<Element<'a>>,
}

impl<'a> Element<'a> {
    fn attribute(&self, name: &str) -> Option<&'a str> {
        self.attributes.iter().find(|(key, _)| *key == name).map(|&(_, value)| value)
    }

    fn children<'b>(&'b self, name: &'b str) -> impl Iterator<Item = &'b Element<'a>> {
        self.children.iter().filter(move |child| child.name == name)
    }

    fn id(&self, name: &str) -> Option<i64> {
        self.attribute(name)?.parse().ok()
    }

    /// What the annotations of the element say.
    fn facts(&self, annotations: &Annotations) -> Facts {
        let value = |it: &Element<'a>| it.attribute("value").or(it.attribute("value-0"));
        annotations.facts(self.children("annotation").map(|it| (it.id("class"), value(it))))
    }

    fn read(strings: &'a [Cow<'a, str>], cursor: &mut Cursor<'_>) -> Result<Self, Fault> {
        Self::read_at(strings, cursor, 0)
    }

    fn read_at(
        strings: &'a [Cow<'a, str>],
        cursor: &mut Cursor<'_>,
        depth: usize,
    ) -> Result<Self, Fault> {
        if depth > MAX_DEPTH {
            return Err(cursor.fault("metadata of less depth"));
        }
        let string = |cursor: &mut Cursor<'_>| {
            let fault = cursor.fault("the number of a string of the metadata");
            strings.get(cursor.count()?).map(|text| &**text).ok_or(fault)
        };
        if memory::is_full(1) {
            return Err(cursor.fault("metadata of less memory"));
        }
        let mut element = Element { name: string(cursor)?, ..Element::default() };
        for _ in 0..cursor.count()? {
            element.attributes.push((string(cursor)?, string(cursor)?));
        }
        for _ in 0..cursor.count()? {
            element.children.push(Self::read_at(strings, cursor, depth + 1)?);
        }
        Ok(element)
    }
}

impl LastTypes {
    /// Returns the types of a metadata event; `cursor` is at its fields.
    pub(super) fn read(&mut self, cursor: &mut Cursor<'_>) -> Result<Rc<Types>, Fault> {
        // The time of writing, its duration, and the number of the event.
        cursor.skip_numbers(NumberRun { count: 3, plain_bytes: 24 })?;
        let is_same = self.is_compressed == cursor.is_compressed()
            && cursor.ahead().starts_with(&self.bytes)
            && !self.bytes.is_empty();
        if !is_same {
            let (start, ahead) = (cursor.at, cursor.ahead());
            self.types = Rc::new(Types::read(cursor)?);
            self.bytes = ahead[..cursor.at - start].to_vec();
            self.is_compressed = cursor.is_compressed();
        }
        Ok(Rc::clone(&self.types))
    }
}

impl Types {
    /// Reads a metadata event; `cursor` is after its head.
    fn read(cursor: &mut Cursor<'_>) -> Result<Self, Fault> {
        let mut strings = Vec::new();
        let fault = cursor.fault("metadata of less memory");
        for _ in 0..cursor.count()? {
            if memory::is_full(1) {
                return Err(fault);
            }
            strings.push(match cursor.text()? {
                Text::Inline(text) => text,
                Text::Null | Text::Pooled(_) => Cow::Borrowed(""),
            });
        }
        let fault = cursor.fault("the metadata's classes");
        let root = Element::read(&strings, cursor)?;
        let metadata = root.children("metadata").next().ok_or(fault)?;
        let mut types = Self::default();
        let mut annotations = Annotations::default();
        let classes = || metadata.children("class").filter_map(|it| Some((it, it.id("id")?)));
        for (class, id) in classes() {
            let place = types.types.len();
            let name = name_of_version_2(class.attribute("name").unwrap_or_default());
            annotations.add(id, &name);
            let super_type = class.attribute("superType").map(name_of_version_2);
            types.types.push(Type {
                id,
                name,
                is_event: super_type.as_deref() == Some("jdk.jfr.Event"),
                is_simple: class.attribute("simpleType") == Some("true"),
                facts: Facts::default(),
                fields: Vec::new(),
                steps: Vec::new(),
            });
            types.by_id.insert(id, place);
        }
        let region = root.children("region").next();
        let offset_ms = region.and_then(|region| region.id("gmtOffset"));
        types.utc_offset_s = offset_ms.and_then(|ms| (ms / 1000).try_into().ok()).unwrap_or(0);
        for (place, (class, _)) in classes().enumerate() {
            let fields = class.children("field").map(|field| types.field(field, &annotations));
            let fields: Vec<TypeField> = fields.collect();
            let it = &mut types.types[place];
            it.facts = class.facts(&annotations);
            it.steps = Step::all(&fields);
            it.fields = fields;
        }
        Ok(types)
    }

    fn field(&self, field: &Element<'_>, annotations: &Annotations) -> TypeField {
        // A field without a known type cannot be read, and neither can any data after it.
        let type_id = field.id("class").unwrap_or(-1);
        TypeField {
            name: field.attribute("name").unwrap_or_default().to_owned(),
            kind: self.kind(type_id),
            type_id,
            is_pooled: field.attribute("constantPool") == Some("true"),
            is_array: field.id("dimension").is_some_and(|dimension| dimension > 0),
            facts: field.facts(annotations),
        }
    }

    /// Returns the encoding of values of the type with this id.
    pub(super) fn kind(&self, id: i64) -> ValueKind {
        let Some(&place) = self.by_id.get(&id) else { return ValueKind::Unknown };
        match self.types[place].name.as_str() {
            "boolean" => ValueKind::Boolean,
            "byte" => ValueKind::Byte,
            "short" => ValueKind::Short,
            "char" => ValueKind::Char,
            "int" => ValueKind::Int,
            "long" => ValueKind::Long,
            "float" => ValueKind::Float,
            "double" => ValueKind::Double,
            "java.lang.String" => ValueKind::String,
            _ => ValueKind::Struct(place),
        }
    }

    pub(super) fn get(&self, place: usize) -> &Type {
        &self.types[place]
    }

    /// Returns the place of the type with this id.
    pub(super) fn place(&self, id: i64) -> Option<usize> {
        self.by_id.get(&id).copied()
    }

    /// Returns the name of the type with this id; empty if it is not known.
    pub(super) fn name_of(&self, id: i64) -> &str {
        self.place(id).map_or("", |place| &self.types[place].name)
    }

    /// Returns all types, in the order of their places.
    pub(super) fn all(&self) -> &[Type] {
        &self.types
    }

    /// Returns the id of the type with this name.
    pub(super) fn id_of(&self, name: &str) -> Option<i64> {
        self.types.iter().find(|it| it.name == name).map(|it| it.id)
    }

    /// Skips the fields of a type.
    pub(super) fn skip_fields(&self, place: usize, cursor: &mut Cursor<'_>) -> Result<(), Fault> {
        self.skip_struct(place, cursor, 0)
    }

    /// Skips the value of a field.
    pub(super) fn skip_field(
        &self,
        field: &TypeField,
        cursor: &mut Cursor<'_>,
    ) -> Result<(), Fault> {
        self.skip_field_at(field, cursor, 0)
    }

    fn skip_field_at(
        &self,
        field: &TypeField,
        cursor: &mut Cursor<'_>,
        depth: usize,
    ) -> Result<(), Fault> {
        let count = if field.is_array { cursor.count()? } else { 1 };
        if let Some(numbers) =
            self.numbers_of(field).filter(|_| field.is_pooled || depth < MAX_DEPTH)
        {
            let all = numbers.times(count).ok_or(cursor.fault("more bytes"))?;
            return cursor.skip_numbers(all);
        }
        for _ in 0..count {
            self.skip(field.kind, cursor, depth)?;
        }
        Ok(())
    }

    /// Returns the numbers that make up a single value of a field, if it consists of numbers only.
    pub(super) fn numbers_of(&self, field: &TypeField) -> Option<NumberRun> {
        match field.kind {
            _ if field.is_pooled => Some(KEY),
            ValueKind::Struct(place) => match *self.types[place].steps {
                [Step::Numbers(numbers)] => Some(numbers),
                _ => None,
            },
            _ => None,
        }
    }

    fn skip_struct(
        &self,
        place: usize,
        cursor: &mut Cursor<'_>,
        depth: usize,
    ) -> Result<(), Fault> {
        let Type { steps, fields, .. } = &self.types[place];
        steps.iter().try_for_each(|step| match *step {
            Step::Numbers(numbers) => cursor.skip_numbers(numbers),
            Step::Bytes(count) => cursor.take(count).map(|_| ()),
            Step::Field(place) => self.skip_field_at(&fields[place], cursor, depth),
        })
    }

    /// Skips one value.
    pub(super) fn skip(
        &self,
        kind: ValueKind,
        cursor: &mut Cursor<'_>,
        depth: usize,
    ) -> Result<(), Fault> {
        match kind {
            ValueKind::Boolean | ValueKind::Byte => cursor.take(1).map(|_| ()),
            ValueKind::Short | ValueKind::Char => cursor.short().map(|_| ()),
            ValueKind::Int => cursor.int().map(|_| ()),
            ValueKind::Long => cursor.long().map(|_| ()),
            ValueKind::Float => cursor.take(4).map(|_| ()),
            ValueKind::Double => cursor.take(8).map(|_| ()),
            ValueKind::String => cursor.skip_text(),
            ValueKind::Struct(_) if depth >= MAX_DEPTH => {
                Err(cursor.fault("a type that does not hold itself"))
            }
            ValueKind::Struct(place) => {
                let start = cursor.at;
                self.skip_struct(place, cursor, depth + 1)?;
                // Otherwise a few bytes of metadata would cause endless work without any data.
                if cursor.at > start { Ok(()) } else { Err(cursor.fault("a type with fields")) }
            }
            ValueKind::Unknown => {
                Err(cursor.fault("a value of a type that the metadata describes"))
            }
        }
    }
}
