//! The types of classes that were loaded before the recording began. Only those near the counted methods matter: a
//! call can run a counted method where its class, or one that inherits from it, is among the types that the call
//! names.

use perk_jvm::{Jni, Jvmti, Local};
use rustc_hash::{FxHashMap, FxHashSet};

use super::graph::CallGraph;
use crate::selection::Selection;

/// A loaded class, by internal names.
struct LoadedType<'j> {
    class: Local<'j>,
    name: String,
    /// The classes and interfaces that it names as those above it.
    super_type: Option<String>,
    interfaces: Vec<String>,
}

impl LoadedType<'_> {
    fn above(&self) -> impl Iterator<Item = &str> {
        self.super_type
            .iter()
            .chain(&self.interfaces)
            .map(String::as_str)
            .filter(|it| *it != OBJECT)
    }
}

const OBJECT: &str = "java/lang/Object";

/// Adds the types of the classes that get probes, of those above them, and of all that inherit from these.
pub(super) fn add_types(jvmti: Jvmti, jni: Jni<'_>, selection: &Selection, graph: &mut CallGraph) {
    jni.with_room(u16::MAX, || {
        let classes = jvmti.loaded_classes(jni).unwrap_or_default().into_iter();
        let types: Vec<_> = classes.filter_map(|class| loaded_type(jvmti, jni, class)).collect();
        for it in related(jvmti, selection, &types) {
            let methods = methods(jvmti, &it.class);
            let methods: Vec<_> = methods
                .iter()
                .map(|((name, descriptor), flags)| (name.as_bytes(), descriptor.as_bytes(), *flags))
                .collect();
            let interfaces: Vec<_> = it.interfaces.iter().map(String::as_bytes).collect();
            let super_type = it.super_type.as_deref().map(str::as_bytes);
            graph.add_type(it.name.as_bytes(), super_type, &interfaces, &methods);
        }
    });
}

fn methods(jvmti: Jvmti, class: &Local<'_>) -> Vec<((String, String), u16)> {
    let methods = jvmti.class_methods(class).unwrap_or_default().into_iter();
    let method = |it| Some((jvmti.method_name(it).ok()?, jvmti.method_modifiers(it).ok()?));
    methods.filter_map(method).collect()
}

/// Returns a class with its names; `None` for arrays and primitive types.
fn loaded_type<'j>(jvmti: Jvmti, jni: Jni<'j>, class: Local<'j>) -> Option<LoadedType<'j>> {
    let name = name(jvmti, &class)?;
    let super_type = jni.superclass(&class).and_then(|it| self::name(jvmti, &it));
    let interfaces = jvmti.interfaces(jni, &class).unwrap_or_default();
    let interfaces = interfaces.iter().filter_map(|it| self::name(jvmti, it)).collect();
    Some(LoadedType { class, name, super_type, interfaces })
}

fn name(jvmti: Jvmti, class: &Local<'_>) -> Option<String> {
    let signature = jvmti.class_signature(class).ok()?;
    Some(signature.strip_prefix('L')?.strip_suffix(';')?.to_owned())
}

/// Returns the types that a call of a counted method can name, and all that inherit from these.
fn related<'t, 'j>(
    jvmti: Jvmti,
    selection: &Selection,
    types: &'t [LoadedType<'j>],
) -> Vec<&'t LoadedType<'j>> {
    let mut by_name: FxHashMap<&str, Vec<usize>> = FxHashMap::default();
    let mut below: FxHashMap<&str, Vec<usize>> = FxHashMap::default();
    for (index, it) in types.iter().enumerate() {
        by_name.entry(&it.name).or_default().push(index);
        it.above().for_each(|name| below.entry(name).or_default().push(index));
    }
    let is_selected = |it: &LoadedType<'_>| {
        let names = || methods(jvmti, &it.class).into_iter().map(|(names, _)| names.0).collect();
        selection.selects_any(&it.name.replace('/', "."), names)
    };
    let reached = |mut waiting: Vec<usize>, next: &dyn Fn(usize) -> Vec<usize>| {
        let mut reached: FxHashSet<usize> = waiting.iter().copied().collect();
        while let Some(index) = waiting.pop() {
            waiting.extend(next(index).into_iter().filter(|it| reached.insert(*it)));
        }
        reached.into_iter().collect::<Vec<_>>()
    };
    let selected = (0..types.len()).filter(|index| is_selected(&types[*index])).collect();
    let above = reached(selected, &|index| {
        let names = types[index].above().filter_map(|name| by_name.get(name));
        names.flatten().copied().collect()
    });
    let mut all =
        reached(above, &|index| below.get(&*types[index].name).cloned().unwrap_or_default());
    all.sort_unstable();
    all.into_iter().map(|index| &types[index]).collect()
}
