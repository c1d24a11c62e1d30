//! Objects by class, by package and by class loader, and what they retain.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};

use perk_heap::{ObjectId, Package, SetOf, SetSize};
use perk_render::{Column, LazyTable};

use super::names;
use super::table::{DumpContent, HeapTable};

/// Groups of objects, those that retain most first.
pub(super) struct Groups<'c> {
    content: &'c DumpContent<'c>,
    of: GroupKind,
    groups: Vec<Group>,
}

/// What the groups are.
#[derive(Clone, Copy, PartialEq, Eq)]
enum GroupKind {
    Classes,
    Packages,
    Loaders,
}

struct Group {
    name: String,
    /// The number of classes; those of a loader are the ones that it defined.
    class_count: u64,
    /// The address of the loader, of a class and of a loader.
    loader: u64,
    size: SetSize,
}

impl<'c> Groups<'c> {
    /// The instances of each class.
    pub(super) fn classes(content: &'c DumpContent<'c>) -> Self {
        let heap = content.heap;
        let class_names = names::class_names(heap);
        let group = |(class, name): (&perk_heap::Class, String)| Group {
            name,
            class_count: 1,
            loader: class.loader,
            size: SetSize::default(),
        };
        let groups = heap.classes().iter().zip(class_names).map(group).collect();
        Self { content, of: GroupKind::Classes, groups }.with_sizes(heap.class_sizes())
    }

    /// The instances of the classes of each package.
    pub(super) fn packages(content: &'c DumpContent<'c>) -> Self {
        let heap = content.heap;
        let packages = heap.packages();
        let group = |package: &Package| Group {
            name: package.name.clone(),
            class_count: package.class_count,
            loader: 0,
            size: package.size,
        };
        let groups = packages.iter().map(group).collect();
        Self { content, of: GroupKind::Packages, groups }.ranked()
    }

    /// Each loader with its classes and their instances.
    pub(super) fn loaders(content: &'c DumpContent<'c>) -> Self {
        let heap = content.heap;
        let mut numbers: BTreeMap<u64, u32> = BTreeMap::new();
        let mut groups: Vec<Group> = Vec::new();
        let of_class: Vec<u32> = heap
            .classes()
            .iter()
            .map(|class| {
                let next = groups.len() as u32;
                let number = *numbers.entry(class.loader).or_insert(next);
                if number == next {
                    groups.push(Group {
                        name: names::loader(heap, class.loader),
                        class_count: 0,
                        loader: class.loader,
                        size: SetSize::default(),
                    });
                }
                groups[number as usize].class_count += 1;
                number
            })
            .collect();
        let loaders: HashMap<ObjectId, u32> = numbers
            .iter()
            .filter_map(|(&address, &number)| Some((heap.find(address)?, number)))
            .collect();
        let mut is_of_loaders = vec![false; of_class.len()];
        loaders.keys().for_each(|&it| is_of_loaders[heap.class_of(it).0 as usize] = true);
        Self { content, of: GroupKind::Loaders, groups }.sized(&|object| {
            let class = heap.class_of(object).0 as usize;
            let as_loader = loaders.get(&object).filter(|_| is_of_loaders[class]);
            let as_class = || heap.as_class(object).map_or(class, |it| it.0 as usize);
            Some(as_loader.copied().unwrap_or_else(|| of_class[as_class()]))
        })
    }

    /// The same with the sizes of the groups.
    fn sized(self, group_of: &SetOf<'_>) -> Self {
        let sizes = self.content.heap.sets(self.groups.len(), group_of);
        self.with_sizes(&sizes)
    }

    /// The same with these sizes.
    fn with_sizes(mut self, sizes: &[SetSize]) -> Self {
        for (group, size) in self.groups.iter_mut().zip(sizes) {
            group.size = *size;
        }
        self.ranked()
    }

    /// Those that retain most first; those without objects that are held are left out.
    fn ranked(mut self) -> Self {
        self.groups.retain(|group| group.size.count > 0);
        self.groups.sort_by(|a, b| {
            let key = |it: &Group| (Reverse(it.size.least_bytes), Reverse(it.size.shallow_bytes));
            key(a).cmp(&key(b)).then_with(|| a.name.cmp(&b.name))
        });
        self
    }

    /// The table with a heading.
    pub(super) fn headed(&self, heading: &'static str) -> LazyTable<'_> {
        let all = self.content.heap.totals().reachable.bytes;
        let retained = Column::bytes("least_retained_bytes").of(all);
        let retained = retained.share_at(0, "at least %").at(1, "retained").bar_at(2);
        let (name, title) = match self.of {
            GroupKind::Classes => (Column::other("class"), "class"),
            GroupKind::Packages => (Column::other("package"), "package"),
            GroupKind::Loaders => (Column::other("loader"), "class loader"),
        };
        let mut rows = LazyTable::of(&self.content.symbols, heading, &self.groups)
            .column(name.name(title), |it| &*it.name);
        if self.of == GroupKind::Classes {
            rows = rows.column(Column::other("loader"), |it| {
                (it.loader != 0).then(|| format!("0x{:x}", it.loader))
            });
        } else {
            rows = rows.column(Column::count("class_count").at(5, "classes"), |it| it.class_count);
        }
        let table = rows
            .column(Column::count("instance_count").at(4, "objects"), |it| it.size.count)
            .column(Column::bytes("shallow_bytes").at(3, "shallow"), |it| it.size.shallow_bytes)
            .column(retained, |it| it.size.least_bytes)
            .table()
            .ranked();
        let (what, of_all) = match self.of {
            GroupKind::Classes => ("class", "--instances CLASS has it exactly."),
            GroupKind::Packages => ("package", ""),
            GroupKind::Loaders => (
                "class loader",
                "The objects are the loader, its classes and the instances of these; strings, arrays and \
                 collections of all programs are the boot loader's.",
            ),
        };
        let note = format!(
            "What is held by objects of several rows below each other counts in each. Retained is the least: \
             what several objects of a {what} hold together is not in it. {of_all}"
        );
        table.note(note.trim_end())
    }
}

impl HeapTable for Groups<'_> {
    fn key(&self) -> &'static str {
        match self.of {
            GroupKind::Classes => "classes",
            GroupKind::Packages => "packages",
            GroupKind::Loaders => "loaders",
        }
    }

    fn table(&self) -> LazyTable<'_> {
        self.headed(match self.of {
            GroupKind::Classes => "Classes by what their instances retain",
            GroupKind::Packages => "Packages by what the instances of their classes retain",
            GroupKind::Loaders => "Class loaders",
        })
    }
}
