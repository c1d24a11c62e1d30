//! The packages of classes, and what their instances retain.

use std::collections::BTreeMap;

use perk_profile::names;

use crate::{Class, Heap, Package, SetSize};

impl Heap {
    /// Returns the packages, in the order of their first classes. The heap keeps them.
    pub fn packages(&self) -> &[Package] {
        self.findings.packages.get_or_init(|| {
            let mut numbers: BTreeMap<&str, u32> = BTreeMap::new();
            let mut packages: Vec<Package> = Vec::new();
            let of_class = self.classes().iter().map(|class| {
                let name = package(class);
                let number = *numbers.entry(name).or_insert(packages.len() as u32);
                if number as usize == packages.len() {
                    let size = SetSize::default();
                    packages.push(Package { name: name.to_owned(), class_count: 0, size });
                }
                packages[number as usize].class_count += 1;
                number
            });
            let of_class: Vec<u32> = of_class.collect();
            let set_of = |object| Some(of_class[self.class_of(object).0 as usize]);
            let sizes = self.sets(packages.len(), &set_of);
            packages.iter_mut().zip(sizes).for_each(|(package, size)| package.size = size);
            packages
        })
    }
}

/// The package of a class.
fn package(class: &Class) -> &str {
    let element = class.name.trim_end_matches("[]");
    let is_primitive = || names::primitive_code(element).is_some();
    match names::package(element) {
        "" if element.len() < class.name.len() && is_primitive() => "[arrays of primitive types]",
        "" => "[no package]",
        package => package,
    }
}
