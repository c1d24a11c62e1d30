//! Objects on the command line: an address, or a class.

pub(crate) mod parse;

use std::cmp::Reverse;

use anyhow::{Context, bail};
use perk_analysis::near;
use perk_heap::{ClassIndex, Heap, ObjectId};
use perk_profile::{NamePattern, WholePattern, names};

use crate::words::no_such_name;

/// The objects that are meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ObjectQuery {
    /// The object at this address.
    Address(u64),
    /// The instances of the classes of this name.
    Class(WholePattern),
    /// The class objects of the classes of this name.
    ClassObject(WholePattern),
}

/// What stands before the name of a class where its class object is meant, as in all views.
const CLASS_OBJECT: &str = "class ";

impl ObjectQuery {
    /// The objects, in the order of addresses.
    pub(crate) fn objects(&self, heap: &Heap) -> anyhow::Result<Vec<ObjectId>> {
        match self {
            ObjectQuery::Address(address) => match heap.find(*address) {
                Some(object) => Ok(vec![object]),
                None => bail!("the dump has no object at 0x{address:x}"),
            },
            ObjectQuery::Class(pattern) => instances(heap, &classes(heap, pattern)?),
            ObjectQuery::ClassObject(pattern) => {
                let classes = classes(heap, pattern)?;
                let mut objects: Vec<_> =
                    classes.iter().filter_map(|&class| heap.class(class).object).collect();
                objects.sort_unstable();
                match objects.is_empty() {
                    true => bail!("the dump has no object for class {}", pattern.as_str()),
                    false => Ok(objects),
                }
            }
        }
    }

    /// The text on the command line.
    pub(crate) fn text(&self) -> String {
        match self {
            ObjectQuery::Address(address) => format!("0x{address:x}"),
            ObjectQuery::Class(pattern) => pattern.as_str().to_owned(),
            ObjectQuery::ClassObject(pattern) => format!("{CLASS_OBJECT}{}", pattern.as_str()),
        }
    }
}

/// The classes of this name: those whose full name it is, otherwise those whose name it is without the
/// package or the class around it.
pub(crate) fn classes(heap: &Heap, pattern: &WholePattern) -> anyhow::Result<Vec<ClassIndex>> {
    let all =
        || heap.classes().iter().zip(0..).map(|(class, index)| (&*class.name, ClassIndex(index)));
    let of = |is_meant: &dyn Fn(&str) -> bool| {
        all().filter(|(name, _)| is_meant(name)).map(|(_, index)| index).collect::<Vec<_>>()
    };
    let mut found = of(&|name| pattern.matches(name));
    if found.is_empty() {
        found = of(&|name| inner_names(name).any(|inner| pattern.matches(inner)));
    }
    if found.is_empty() {
        let text = pattern.as_str();
        let wanted = NamePattern::new(text).context("the name of a class")?;
        match &near::of(&wanted, all().map(|(name, _)| (name, None)))[..] {
            [] => bail!("{text}: the dump has no class of that name"),
            near => bail!("{text}: {}", no_such_name("class", &wanted, near)),
        }
    }
    Ok(found)
}

/// The name without its package, and without each of the classes around it.
fn inner_names(name: &str) -> impl Iterator<Item = &str> {
    let package = names::package(name);
    let simple = name[package.len()..].trim_start_matches('.');
    let inside = simple.match_indices('$').map(move |(at, _)| &simple[at + 1..]);
    std::iter::once(simple).chain(inside)
}

/// The instances that are put in order at once, at least.
const SOME: usize = 1 << 16;

/// The instances of the classes, those of the classes below them left out.
pub(crate) fn instances(heap: &Heap, classes: &[ClassIndex]) -> anyhow::Result<Vec<ObjectId>> {
    let mut objects = Vec::new();
    each_instance(heap, classes, |object| objects.push(object))?;
    Ok(objects)
}

/// The number of instances of the classes, and those of them that retain most, in that order: at most `most`.
pub(crate) fn biggest_instances(
    heap: &Heap,
    classes: &[ClassIndex],
    most: usize,
) -> anyhow::Result<(u64, Vec<ObjectId>)> {
    let mut biggest: Vec<(Reverse<u64>, ObjectId)> = Vec::new();
    let mut count = 0;
    let mut least_bytes = None;
    each_instance(heap, classes, |object| {
        count += 1;
        let bytes = heap.retained_bytes(object);
        // Of those that retain the same the first are listed, which come first.
        if least_bytes.is_some_and(|least_bytes| bytes <= least_bytes) {
            return;
        }
        biggest.push((Reverse(bytes), object));
        if biggest.len() >= most.saturating_mul(2).max(SOME) {
            let (listed, _, _) = biggest.select_nth_unstable(most);
            least_bytes = listed.iter().map(|(Reverse(bytes), _)| *bytes).min();
            biggest.truncate(most);
        }
    })?;
    biggest.sort_unstable();
    biggest.truncate(most);
    Ok((count, biggest.into_iter().map(|(_, object)| object).collect()))
}

/// Calls with each instance.
fn each_instance(
    heap: &Heap,
    classes: &[ClassIndex],
    mut found: impl FnMut(ObjectId),
) -> anyhow::Result<()> {
    let mut is_there = false;
    heap.each_instance(classes, |object| {
        is_there = true;
        found(object);
    });
    if !is_there {
        let name = &heap.class(classes[0]).name;
        bail!("the dump has no instance of {name} ('class {name}' is the class itself)");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::parse::what;
    use super::*;

    #[test]
    fn addresses_and_classes() {
        assert_eq!(what("0x7f2a5b1e8"), Ok(ObjectQuery::Address(0x7_f2a5_b1e8)));
        for text in ["0x", "0x0", "0xg", "0x11112222333344445", ""] {
            assert!(what(text).is_err(), "{text}");
        }
        assert_eq!(what("byte[]").unwrap().text(), "byte[]");
        let class = what("class com.acme.Cache").unwrap();
        assert_eq!(class.text(), "class com.acme.Cache");
        assert!(matches!(class, ObjectQuery::ClassObject(_)));
        assert!(what("class ").is_err());
        let inner: Vec<_> = inner_names("com.acme.Outer$Inner").collect();
        assert_eq!(inner, ["Outer$Inner", "Inner"]);
        assert_eq!(inner_names("int[]").collect::<Vec<_>>(), ["int[]"]);
    }
}
