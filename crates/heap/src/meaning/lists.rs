//! Lists, sets and queues by the shapes of their classes, and arrays.

use perk_hprof::heap::FieldType;

use crate::{ClassKind, Meaning, ObjectId, Value};

use super::object_reader::ObjectReader;
use super::reader::{Instance, MeaningReader};
use super::text;

/// Nodes that are counted one by one where the size is nowhere.
const COUNTED: u64 = 10_000;

/// The elements of a collection.
#[derive(Clone, Debug, Default)]
pub(super) struct Sequence {
    /// Their number.
    pub(super) size: u64,
    /// Whether there are more.
    pub(super) is_least: bool,
    /// The first ones.
    pub(super) first: Vec<Value>,
}

impl Sequence {
    fn new(size: u64, first: Vec<Value>, wanted: usize) -> Self {
        let mut sequence = Self { size, is_least: false, first };
        sequence.first.truncate(wanted.min(usize::try_from(size).unwrap_or(usize::MAX)));
        sequence
    }

    pub(super) fn meaning(self, reader: &MeaningReader<'_>) -> Meaning {
        let first = self.first.into_iter().map(|value| reader.item(value)).collect();
        Meaning::Elements { size: self.size, is_least: self.is_least, first }
    }
}

/// An array: those of characters as text.
pub(super) fn array(reader: &MeaningReader<'_>, object: ObjectId) -> Option<Meaning> {
    let heap = reader.heap;
    let address = heap.address(object);
    let kind = heap.class(heap.class_of(object)).kind;
    if let ClassKind::PrimitiveArray(element @ (FieldType::Char | FieldType::Byte)) = kind
        && let Some(text) = text::of_array(reader, address, element)
    {
        return Some(text);
    }
    let (size, wanted) = (reader.length(address)?, reader.element_count());
    Some(Sequence::new(size, some(reader, address, wanted)?, wanted).meaning(reader))
}

/// The first elements of an array, which is not read where none is wanted.
fn some(reader: &MeaningReader<'_>, array: u64, wanted: usize) -> Option<Vec<Value>> {
    if wanted == 0 { Some(Vec::new()) } else { reader.elements(array, wanted as u64) }
}

/// A list that fills an array up to its size.
pub(super) fn sized(
    it: &Instance<'_, '_>,
    array: &str,
    size: &str,
    wanted: usize,
) -> Option<Sequence> {
    let (array, size) = (it.address(array)?, it.size(size)?);
    if array == 0 {
        return (size == 0).then(Sequence::default);
    }
    (size <= it.reader.length(array)?).then_some(())?;
    let first = some(it.reader, array, wanted.min(usize::try_from(size).unwrap_or(wanted)))?;
    Some(Sequence::new(size, first, wanted))
}

/// A list that is an array as a whole.
pub(super) fn whole(it: &Instance<'_, '_>, array: &str, wanted: usize) -> Option<Sequence> {
    let array = it.address(array)?;
    Some(Sequence::new(it.reader.length(array)?, some(it.reader, array, wanted)?, wanted))
}

/// `Set.of` with more than two elements: places of a hash table are null.
pub(super) fn probed(it: &Instance<'_, '_>, wanted: usize) -> Option<Sequence> {
    let size = it.size("size")?;
    let mut first = Vec::new();
    if wanted > 0 {
        first = it.reader.elements(it.address("elements")?, u64::MAX)?;
        first.retain(|value| *value != Value::Reference(0));
    }
    Some(Sequence::new(size, first, wanted))
}

/// `List.of` and `Set.of` with up to two elements.
pub(super) fn one_or_two(it: &Instance<'_, '_>, wanted: usize) -> Option<Sequence> {
    let is_element = |address: &u64| {
        *address != 0 && !it.reader.is_static(*address, "java.util.ImmutableCollections", "EMPTY")
    };
    let elements = ["e0", "e1"].into_iter().filter_map(|name| it.address(name));
    let first: Vec<_> = elements.filter(is_element).map(Value::Reference).collect();
    Some(Sequence::new(first.len() as u64, first, wanted))
}

/// A part of another list.
pub(super) fn part(it: &Instance<'_, '_>, wanted: usize) -> Option<Sequence> {
    let size = it.size("size")?;
    let offset = usize::try_from(it.size("offset")?).ok()?;
    let mut first = Vec::new();
    if wanted > 0 {
        let end = offset.checked_add(wanted)?;
        let of = read(it.reader, it.address("root")?, end)?;
        first = of.first.into_iter().skip(offset).collect();
    }
    Some(Sequence::new(size, first, wanted))
}

/// An array that is used in a ring, from `head` up to `tail`.
pub(super) fn deque(it: &Instance<'_, '_>, wanted: usize) -> Option<Sequence> {
    let (head, tail) = (it.size("head")?, it.size("tail")?);
    let length = it.reader.length(it.address("elements")?)?;
    (head <= length && tail <= length).then_some(())?;
    let size = if tail >= head { tail - head } else { tail + length - head };
    from_ring(it, it.address("elements")?, head, size, wanted)
}

/// An `ArrayBlockingQueue`.
pub(super) fn ring(it: &Instance<'_, '_>, wanted: usize) -> Option<Sequence> {
    from_ring(it, it.address("items")?, it.size("takeIndex")?, it.size("count")?, wanted)
}

fn from_ring(
    it: &Instance<'_, '_>,
    array: u64,
    head: u64,
    size: u64,
    wanted: usize,
) -> Option<Sequence> {
    let length = it.reader.length(array)?;
    (size <= length && head <= length).then_some(())?;
    let shown = size.min(wanted as u64);
    let mut first = Vec::new();
    if shown > 0 {
        first = it.reader.elements(array, length.min(head + shown))?;
        let before: Vec<_> = first.drain(..(head as usize).min(first.len())).collect();
        if head + shown > length {
            let rest = (head + shown - length) as usize;
            first.extend(before.into_iter().take(rest));
        }
    }
    Some(Sequence::new(size, first, wanted))
}

/// A `LinkedList`: today's and those of JDK 6 and old Android, which begin with a node of none.
pub(super) fn linked(it: &Instance<'_, '_>, wanted: usize) -> Option<Sequence> {
    let size = it.size("size");
    if let Some(first) = it.address("first") {
        return chain(it, first, "item", size, wanted);
    }
    let (header, value) = match it.object("header") {
        Some(header) => (header, "element"),
        None => (it.object("voidLink")?, "data"),
    };
    chain(it, header.address("next")?, value, size, wanted)
}

/// A `LinkedBlockingQueue`.
pub(super) fn counted_queue(it: &Instance<'_, '_>, wanted: usize) -> Option<Sequence> {
    let size = it.object("count")?.size("value");
    chain(it, it.address("head")?, "item", size, wanted)
}

/// Nodes one after the other, of which those without a value are not elements.
pub(super) fn chain(
    it: &Instance<'_, '_>,
    first: u64,
    value: &str,
    size: Option<u64>,
    wanted: usize,
) -> Option<Sequence> {
    // `LinkedList` has null elements; the others have nodes of none.
    let takes_null = it.address("first").is_some() || it.object("header").is_some();
    let mut sequence = Sequence { size: size.unwrap_or(0), ..Sequence::default() };
    let mut address = first;
    let mut count = 0;
    for _ in 0..COUNTED {
        let is_enough = sequence.first.len() >= wanted.min(size.unwrap_or(COUNTED) as usize);
        if address == 0 || (is_enough && size.is_some()) {
            break;
        }
        let Some(node) = it.reader.object(address) else { break };
        let Some(element) = node.value(value) else { break };
        if takes_null || element != Value::Reference(0) {
            count += 1;
            if sequence.first.len() < wanted {
                sequence.first.push(element);
            }
        }
        let next = node.address("next").unwrap_or(0);
        // A queue's node that was taken out refers to itself.
        address = if next == address { 0 } else { next };
    }
    if size.is_none() {
        sequence.size = count;
        sequence.is_least = address != 0;
    }
    Some(sequence)
}

/// An `EnumSet`: bits of the enum's constants.
pub(super) fn enum_set(it: &Instance<'_, '_>, wanted: usize) -> Option<Sequence> {
    let words: Vec<u64> = match it.value("elements")? {
        Value::Long(word) => vec![word as u64],
        Value::Reference(array) => {
            let (FieldType::Long, bytes) = it.reader.primitives(array, u64::MAX)? else {
                return None;
            };
            let words = bytes.chunks_exact(8);
            words.map(|word| word.iter().fold(0, |all, &it| all << 8 | u64::from(it))).collect()
        }
        _ => return None,
    };
    let size = words.iter().map(|word| u64::from(word.count_ones())).sum();
    let mut first = Vec::new();
    if wanted > 0 {
        let universe = it.reader.elements(it.address("universe")?, u64::MAX)?;
        let is_in = |at: usize| words.get(at / 64).is_some_and(|word| word >> (at % 64) & 1 == 1);
        let constants = universe.into_iter().enumerate().filter(|(at, _)| is_in(*at));
        first = constants.map(|(_, constant)| constant).collect();
    }
    Some(Sequence::new(size, first, wanted))
}

/// Android's `ArraySet`.
pub(super) fn array_set(it: &Instance<'_, '_>, wanted: usize) -> Option<Sequence> {
    ["mArray", "array", "_array"].into_iter().find_map(|array| {
        ["mSize", "size", "_size"].into_iter().find_map(|size| sized(it, array, size, wanted))
    })
}

/// A number of times the same.
pub(super) fn same(value: Value, count: u64, wanted: usize) -> Option<Sequence> {
    let shown = wanted.min(usize::try_from(count).unwrap_or(wanted));
    Some(Sequence::new(count, vec![value; shown], wanted))
}

/// A collection around another.
pub(super) fn inner(it: &Instance<'_, '_>, field: &str, wanted: usize) -> Option<Sequence> {
    read(it.reader, it.address(field)?, wanted)
}

/// The collection at an address.
fn read(reader: &MeaningReader<'_>, address: u64, wanted: usize) -> Option<Sequence> {
    reader.unwrap(|| {
        let (object, known) = reader.object(address)?.known()?;
        match known {
            ObjectReader::Sequence(read) => read(&object, wanted),
            ObjectReader::Value(_) | ObjectReader::Pairs(_) => None,
        }
    })
}
