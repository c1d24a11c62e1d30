//! Objects on the command line: an address, or a class.

use anyhow::{Context, bail};
use perk_analysis::near;
use perk_heap::{ClassIndex, Heap, ObjectId};
use perk_profile::{NamePattern, WholePattern, names};

use crate::words::no_such_name;

/// The objects that are meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What {
    /// The object at this address.
    Address(u64),
    /// The instances of the classes of this name.
    Class(WholePattern),
    /// The class objects of the classes of this name.
    ClassObject(WholePattern),
}

/// What stands before the name of a class where its class object is meant, as in all views.
const CLASS_OBJECT: &str = "class ";

/// Readers of what people write.
pub mod parse {
    use perk_profile::{ObjectLayout, WholePattern};

    use super::{CLASS_OBJECT, What};

    /// An address, `0x` before it, or the name of a class.
    pub fn what(text: &str) -> Result<What, String> {
        match hexadecimal(text) {
            Some(address) => address.map(What::Address),
            None => match text.strip_prefix(CLASS_OBJECT) {
                Some(name) => class(name.trim_start()).map(What::ClassObject),
                None => class(text).map(What::Class),
            },
        }
    }

    /// An address, `0x` before it.
    pub fn address(text: &str) -> Result<u64, String> {
        hexadecimal(text).unwrap_or_else(|| Err("use an address such as 0x7f2a5b1e8".to_owned()))
    }

    /// The address, if the text begins as one.
    fn hexadecimal(text: &str) -> Option<Result<u64, String>> {
        let digits = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X"))?;
        Some(match u64::from_str_radix(digits, 16) {
            Ok(address) if address > 0 => Ok(address),
            _ => Err("use an address such as 0x7f2a5b1e8, or the name of a class".to_owned()),
        })
    }

    /// The name of a class in source form; `*` stands for any part of it.
    pub fn class(text: &str) -> Result<WholePattern, String> {
        WholePattern::new(text)
            .ok_or_else(|| "use the name of a class, such as java.util.HashMap".into())
    }

    /// `12,16,4,8`: header, array header, reference, alignment.
    pub fn layout(text: &str) -> Result<ObjectLayout, String> {
        let parts: Result<Vec<u32>, _> = text.split(',').map(str::parse).collect();
        match parts.as_deref() {
            Ok(&[header_bytes, array_header_bytes, reference_bytes @ (4 | 8), alignment_bytes])
                if alignment_bytes.is_power_of_two()
                    && (8..=256).contains(&alignment_bytes)
                    && header_bytes <= 64
                    && array_header_bytes <= 64 =>
            {
                let is_inferred = false;
                Ok(ObjectLayout {
                    header_bytes,
                    array_header_bytes,
                    reference_bytes,
                    alignment_bytes,
                    is_inferred,
                })
            }
            _ => Err("use the bytes of an object's header, of an array's, of a reference (4 or 8) and of the \
                      alignment (8 to 256), such as 12,16,4,8"
                .to_owned()),
        }
    }
}

impl What {
    /// The objects, in the order of addresses.
    pub(crate) fn objects(&self, heap: &Heap) -> anyhow::Result<Vec<ObjectId>> {
        match self {
            What::Address(address) => match heap.find(*address) {
                Some(object) => Ok(vec![object]),
                None => bail!("the dump has no object at 0x{address:x}"),
            },
            What::Class(pattern) => instances(heap, &classes(heap, pattern)?),
            What::ClassObject(pattern) => {
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
            What::Address(address) => format!("0x{address:x}"),
            What::Class(pattern) => pattern.as_str().to_owned(),
            What::ClassObject(pattern) => format!("{CLASS_OBJECT}{}", pattern.as_str()),
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

/// The instances of the classes, those of the classes below them left out.
pub(crate) fn instances(heap: &Heap, classes: &[ClassIndex]) -> anyhow::Result<Vec<ObjectId>> {
    let mut is_meant = vec![false; heap.classes().len()];
    classes.iter().for_each(|class| is_meant[class.0 as usize] = true);
    let objects: Vec<_> =
        heap.objects().filter(|&it| is_meant[heap.class_of(it).0 as usize]).collect();
    if objects.is_empty() {
        let name = &heap.class(classes[0]).name;
        bail!("the dump has no instance of {name} ('class {name}' is the class itself)");
    }
    Ok(objects)
}

#[cfg(test)]
mod tests {
    use super::parse::*;
    use super::*;

    #[test]
    fn addresses_and_classes() {
        assert_eq!(what("0x7f2a5b1e8"), Ok(What::Address(0x7_f2a5_b1e8)));
        for text in ["0x", "0x0", "0xg", "0x11112222333344445", ""] {
            assert!(what(text).is_err(), "{text}");
        }
        assert_eq!(what("byte[]").unwrap().text(), "byte[]");
        let class = what("class com.acme.Cache").unwrap();
        assert_eq!(class.text(), "class com.acme.Cache");
        assert!(matches!(class, What::ClassObject(_)));
        assert!(what("class ").is_err());
        let inner: Vec<_> = inner_names("com.acme.Outer$Inner").collect();
        assert_eq!(inner, ["Outer$Inner", "Inner"]);
        assert_eq!(inner_names("int[]").collect::<Vec<_>>(), ["int[]"]);
    }

    #[test]
    fn layouts() {
        let read = layout("8,12,4,8").unwrap();
        assert_eq!((read.header_bytes, read.array_header_bytes), (8, 12));
        assert_eq!((read.reference_bytes, read.alignment_bytes), (4, 8));
        for text in ["", "12", "12,16,4", "12,16,5,8", "12,16,4,12", "-1,16,4,8", "12,16,4,8,1"] {
            assert!(layout(text).is_err(), "{text}");
        }
    }
}
