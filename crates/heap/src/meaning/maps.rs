//! Maps by the shapes of their classes, and the sets that are made of them.

use crate::{Meaning, Value};

use super::lists::Sequence;
use super::numbers;
use super::object_reader::ObjectReader;
use super::reader::{Instance, MeaningReader};

/// The places of a table that are looked at: first few, as most tables are small or full.
const PLACES: [u64; 2] = [1 << 10, 1 << 17];
/// The levels of a tree.
const LEVELS: usize = 128;
/// Nodes that are counted one by one where the size is nowhere.
const COUNTED: u64 = 10_000;
const NULL: Value = Value::Reference(0);

/// The entries of a map.
#[derive(Clone, Debug, Default)]
pub(super) struct Pairs {
    /// Their number.
    pub(super) size: u64,
    /// Whether there are more.
    pub(super) is_least: bool,
    /// The first keys and values.
    pub(super) first: Vec<(Value, Value)>,
}

impl Pairs {
    fn new(size: u64, first: Vec<(Value, Value)>, wanted: usize) -> Self {
        let mut pairs = Self { size, is_least: false, first };
        pairs.first.truncate(wanted.min(usize::try_from(size).unwrap_or(usize::MAX)));
        pairs
    }

    pub(super) fn meaning(self, reader: &MeaningReader<'_>) -> Meaning {
        let item = |(key, value)| (reader.item(key), reader.item(value));
        let first = self.first.into_iter().map(item).collect();
        Meaning::Entries { size: self.size, is_least: self.is_least, first }
    }
}

/// The keys of the map in a field.
pub(super) fn keys(it: &Instance<'_, '_>, field: &str, wanted: usize) -> Option<Sequence> {
    let Pairs { size, is_least, first } = inner(it, field, wanted)?;
    Some(Sequence { size, is_least, first: first.into_iter().map(|it| it.0).collect() })
}

/// The values of the map in a field.
pub(super) fn values(it: &Instance<'_, '_>, field: &str, wanted: usize) -> Option<Sequence> {
    let Pairs { size, is_least, first } = inner(it, field, wanted)?;
    Some(Sequence { size, is_least, first: first.into_iter().map(|it| it.1).collect() })
}

/// The map in a field.
pub(super) fn inner(it: &Instance<'_, '_>, field: &str, wanted: usize) -> Option<Pairs> {
    it.reader.unwrap(|| {
        let (object, known) = it.object(field)?.known()?;
        match known {
            ObjectReader::Pairs(read) => read(&object, wanted),
            ObjectReader::Value(_) | ObjectReader::Sequence(_) => None,
        }
    })
}

/// A map of one entry.
pub(super) fn single(
    it: &Instance<'_, '_>,
    key: &str,
    value: &str,
    wanted: usize,
) -> Option<Pairs> {
    Some(Pairs::new(1, vec![(it.value(key)?, it.value(value)?)], wanted))
}

/// A map whose table has chains of entries.
pub(super) fn chained(it: &Instance<'_, '_>, size: &str, wanted: usize) -> Option<Pairs> {
    let size = it.size(size)?;
    let mut first = from_table(it, it.address("table")?, shown(size, wanted), &|node| {
        Some((node.value("key")?, node.value("value")?))
    });
    // Android once kept the entry of null apart.
    if let Some(entry) = it.object("entryForNullKey") {
        first.push((NULL, entry.value("value")?));
    }
    Some(Pairs::new(size, first, wanted))
}

/// A `LinkedHashMap`, in its order.
pub(super) fn linked(it: &Instance<'_, '_>, wanted: usize) -> Option<Pairs> {
    let Some(mut address) = it.address("head") else { return chained(it, "size", wanted) };
    let size = it.size("size")?;
    let mut first = Vec::new();
    while first.len() < shown(size, wanted) {
        let Some(entry) = it.reader.object(address) else { break };
        let (Some(key), Some(value)) = (entry.value("key"), entry.value("value")) else { break };
        first.push((key, value));
        address = entry.address("after").unwrap_or(0);
    }
    Some(Pairs::new(size, first, wanted))
}

/// `Properties`: from JDK 9 on they have a map within.
pub(super) fn properties(it: &Instance<'_, '_>, wanted: usize) -> Option<Pairs> {
    inner(it, "map", wanted).or_else(|| chained(it, "count", wanted))
}

/// A `WeakHashMap`, whose entries are references to their keys.
pub(super) fn weak(it: &Instance<'_, '_>, wanted: usize) -> Option<Pairs> {
    let size = it.size("size")?;
    let first = from_table(it, it.address("table")?, shown(size, wanted), &|node| {
        let key = node.address("referent")?;
        let is_null = it.reader.is_static(key, "java.util.WeakHashMap", "NULL_KEY");
        Some((if is_null { NULL } else { Value::Reference(key) }, node.value("value")?))
    });
    Some(Pairs::new(size, first, wanted))
}

/// A `ConcurrentHashMap`, whose size is spread over counters.
pub(super) fn concurrent(it: &Instance<'_, '_>, wanted: usize) -> Option<Pairs> {
    let size = numbers::sum(it, "baseCount", "counterCells")?.max(0) as u64;
    let entry = |node: &Instance<'_, '_>| Some((node.value("key")?, node.value("val")?));
    let mut first = Vec::new();
    // While the table grows, a part of the entries is in the next one.
    for table in ["table", "nextTable"] {
        let missing = shown(size, wanted).saturating_sub(first.len());
        if let Some(table) = it.address(table) {
            first.extend(from_table(it, table, missing, &entry));
        }
    }
    Some(Pairs::new(size, first, wanted))
}

/// The first entries of a table of chains.
fn from_table(
    it: &Instance<'_, '_>,
    table: u64,
    wanted: usize,
    entry: &dyn Fn(&Instance<'_, '_>) -> Option<(Value, Value)>,
) -> Vec<(Value, Value)> {
    let mut first = Vec::new();
    if wanted == 0 || table == 0 {
        return first;
    }
    for places in PLACES {
        first.clear();
        let Some(chains) = it.reader.references(table, places) else { break };
        let is_whole = (chains.len() as u64) < places;
        for mut address in chains {
            while address != 0 && first.len() < wanted {
                let Some(mut node) = it.reader.object(address) else { break };
                // The chain of a tree begins at its first node.
                if node.class_name() == "java.util.concurrent.ConcurrentHashMap$TreeBin" {
                    let Some(tree) = node.object("first") else { break };
                    node = tree;
                }
                let is_moved =
                    node.class_name() == "java.util.concurrent.ConcurrentHashMap$ForwardingNode";
                let Some(pair) = entry(&node).filter(|_| !is_moved) else { break };
                first.push(pair);
                address = node.address("next").unwrap_or(0);
            }
        }
        if is_whole || first.len() >= wanted {
            break;
        }
    }
    first
}

/// A `TreeMap`, in the order of its keys.
pub(super) fn tree(it: &Instance<'_, '_>, wanted: usize) -> Option<Pairs> {
    let size = it.size("size")?;
    let mut first = Vec::new();
    let mut above = Vec::new();
    let mut address = it.address("root")?;
    while first.len() < shown(size, wanted) {
        while address != 0 && above.len() < LEVELS {
            let Some(node) = it.reader.object(address) else { break };
            address = node.address("left").unwrap_or(0);
            above.push(node);
        }
        let Some(node) = above.pop() else { break };
        let (Some(key), Some(value)) = (node.value("key"), node.value("value")) else { break };
        first.push((key, value));
        address = node.address("right").unwrap_or(0);
    }
    Some(Pairs::new(size, first, wanted))
}

/// A `ConcurrentSkipListMap`: its lowest level is a list.
pub(super) fn skip_list(it: &Instance<'_, '_>, wanted: usize) -> Option<Pairs> {
    // From JDK 9 on it counts its entries.
    let size = match it.address("adder") {
        Some(0) => Some(0),
        Some(adder) => {
            let sum = numbers::sum(&it.reader.object(adder)?, "base", "cells")?;
            Some(sum.max(0) as u64)
        }
        None => None,
    };
    let mut pairs = Pairs { size: size.unwrap_or(0), ..Pairs::default() };
    let mut count = 0;
    let head = it.object("head");
    let mut address = head.and_then(|head| head.address("node")).unwrap_or(0);
    for _ in 0..COUNTED {
        let is_enough = pairs.first.len() >= shown(size.unwrap_or(COUNTED), wanted);
        if address == 0 || (is_enough && size.is_some()) {
            break;
        }
        let Some(node) = it.reader.object(address) else { break };
        let value = node.value("val").or_else(|| node.value("value"));
        let (Some(key), Some(value)) = (node.value("key"), value) else { break };
        // Nodes without a key or value are marks, or entries that are being removed.
        if key != NULL && value != NULL {
            count += 1;
            if pairs.first.len() < wanted {
                pairs.first.push((key, value));
            }
        }
        address = node.address("next").unwrap_or(0);
    }
    if size.is_none() {
        pairs.size = count;
        pairs.is_least = address != 0;
    }
    Some(pairs)
}

/// An `IdentityHashMap`: keys and values by turns.
pub(super) fn identity(it: &Instance<'_, '_>, wanted: usize) -> Option<Pairs> {
    let is_null = |key: u64| it.reader.is_static(key, "java.util.IdentityHashMap", "NULL_KEY");
    let unmask = |(key, value): (u64, Value)| match is_null(key) {
        true => (NULL, value),
        false => (Value::Reference(key), value),
    };
    let size = it.size("size")?;
    let first = by_turns(it, "table", shown(size, wanted))?;
    Some(Pairs::new(size, first.into_iter().map(unmask).collect(), wanted))
}

/// `Map.of` with more than one entry.
pub(super) fn probed(it: &Instance<'_, '_>, wanted: usize) -> Option<Pairs> {
    let size = it.size("size")?;
    let first = by_turns(it, "table", shown(size, wanted))?;
    let first = first.into_iter().map(|(key, value)| (Value::Reference(key), value)).collect();
    Some(Pairs::new(size, first, wanted))
}

/// The entries of an array with keys and values by turns, and nulls where there is none.
fn by_turns(it: &Instance<'_, '_>, array: &str, wanted: usize) -> Option<Vec<(u64, Value)>> {
    if wanted == 0 {
        return Some(Vec::new());
    }
    let places = it.reader.references(it.address(array)?, u64::MAX)?;
    let pairs = places.chunks_exact(2).filter(|pair| pair[0] != 0);
    Some(pairs.take(wanted).map(|pair| (pair[0], Value::Reference(pair[1]))).collect())
}

/// An `EnumMap`: a place for each constant of the enum.
pub(super) fn enum_map(it: &Instance<'_, '_>, wanted: usize) -> Option<Pairs> {
    let size = it.size("size")?;
    let mut first = Vec::new();
    if wanted > 0 {
        let keys = it.reader.references(it.address("keyUniverse")?, u64::MAX)?;
        let values = it.reader.references(it.address("vals")?, u64::MAX)?;
        let pairs = keys.into_iter().zip(values).filter(|(_, value)| *value != 0);
        let pair = |(key, value)| {
            let is_null = it.reader.is_static(value, "java.util.EnumMap", "NULL");
            (Value::Reference(key), if is_null { NULL } else { Value::Reference(value) })
        };
        first = pairs.take(wanted).map(pair).collect();
    }
    Some(Pairs::new(size, first, wanted))
}

/// Android's `ArrayMap`: keys and values by turns, without gaps.
pub(super) fn array_map(it: &Instance<'_, '_>, wanted: usize) -> Option<Pairs> {
    let size = either(&["mSize", "size"], |name| it.size(name))?;
    let array = either(&["mArray", "array"], |name| it.address(name))?;
    let mut first = Vec::new();
    if shown(size, wanted) > 0 {
        let places = it.reader.references(array, 2 * shown(size, wanted) as u64)?;
        let pair = |pair: &[u64]| (Value::Reference(pair[0]), Value::Reference(pair[1]));
        first = places.chunks_exact(2).map(pair).collect();
    }
    Some(Pairs::new(size, first, wanted))
}

/// Android's `SparseArray` and its like: an array of keys and one of values. Deleted entries have a
/// mark until they are swept away.
pub(super) fn sparse_array(it: &Instance<'_, '_>, wanted: usize) -> Option<Pairs> {
    let size = either(&["mSize", "size"], |name| it.size(name))?;
    let keys = either(&["mKeys", "keys"], |name| it.address(name))?;
    let values = either(&["mValues", "values"], |name| it.address(name))?;
    let mut first = Vec::new();
    if shown(size, wanted) > 0 {
        let shown = shown(size, wanted) as u64;
        let keys = it.reader.elements(keys, shown)?;
        let values = it.reader.elements(values, shown)?;
        let class = it.class_name();
        let is_deleted = |value: &Value| match value {
            Value::Reference(address) => it.reader.is_static(*address, class, "DELETED"),
            _ => false,
        };
        first = keys.into_iter().zip(values).filter(|(_, value)| !is_deleted(value)).collect();
    }
    Some(Pairs::new(size, first, wanted))
}

/// What `read` returns for the first of the names that has something.
fn either<T>(names: &[&str], read: impl Fn(&str) -> Option<T>) -> Option<T> {
    names.iter().find_map(|name| read(name))
}

/// The number of entries that are read.
fn shown(size: u64, wanted: usize) -> usize {
    wanted.min(usize::try_from(size).unwrap_or(usize::MAX))
}
