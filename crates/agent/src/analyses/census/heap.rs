//! The objects that the program can reach, by class, and the references in their fields.
//!
//! The JVM counts the objects: its command `GC.class_histogram` collects garbage and walks the heap
//! at once, in less time than a collection and a walk by JVMTI. The sizes and the fields follow from
//! the layouts of the classes, without the fields that perk adds.

use std::ffi::CStr;

use perk_hotspot::layout::Jvm;
use perk_hotspot::{CLASSES_WITH_OWN_SIZES, FILLER_CLASSES};
use perk_instrument::{COUNTS_HELPER, HELPER, HELPER_BASE};
use perk_jvm::sync::lock;
use perk_jvm::{Commands, Jni, Local, bool_flag};
use perk_profile::{ClassId, names};
use rustc_hash::FxHashMap;

use crate::class_sizes::{ClassSizes, Source};
use crate::common::Common;

/// The flags of the collectors whose walks follow references, and so reach live objects only. The
/// JVM has stopped these collectors when it dies, and would wait for a collection for ever.
const MARKING_WALKS: [&CStr; 2] = [c"UseZGC", c"UseShenandoahGC"];

/// The objects that can be reached; see the module.
#[derive(Debug, Default)]
pub(super) struct HeapUse {
    pub(super) classes: Vec<ClassUse>,
    /// The fields that hold references, or null, in all objects.
    pub(super) reference_count: u64,
    /// The words that the fields of all objects take; a word is as large as a reference.
    pub(super) word_count: u64,
    /// The name of each loaded class, and of its loader.
    pub(super) loaders: Vec<(String, String)>,
}

/// The objects of a class.
#[derive(Clone, Copy, Debug)]
pub(super) struct ClassUse {
    pub(super) class: ClassId,
    pub(super) count: u64,
    pub(super) bytes: u64,
}

/// The source of [`HeapUse`].
#[derive(Debug)]
pub(super) struct HeapCensus {
    commands: Commands,
    jvm: Jvm,
    sizes: ClassSizes,
}

impl HeapCensus {
    /// Returns `None` if this JVM cannot be asked.
    pub(super) fn new(common: &Common, jni: Jni<'_>) -> Option<Self> {
        let jvm = common.jvmti.object_layout(jni)?;
        Some(Self { commands: Commands::find(jni)?, jvm, sizes: ClassSizes::new(jvm) })
    }

    /// Counts the objects that can be reached now.
    ///
    /// # Errors
    /// The reason why that is not possible, in one line.
    pub(super) fn take(&mut self, common: &Common, jni: Jni<'_>) -> Result<HeapUse, String> {
        let marks = MARKING_WALKS.iter().any(|flag| bool_flag(flag) == Some(true));
        let command = if marks { c"GC.class_histogram -all" } else { c"GC.class_histogram" };
        let printed = self.commands.execute(jni, command)?;
        let loaded = common.jvmti.loaded_classes(jni).map_err(|error| error.to_string())?;
        let mut by_name: FxHashMap<String, Vec<Local<'_>>> = FxHashMap::default();
        let mut loaders = Vec::with_capacity(loaded.len());
        for class in loaded {
            let signature = common.jvmti.class_signature(&class).unwrap_or_default();
            loaders.push((names::from_signature(&signature), loader_name(common, jni, &class)));
            by_name.entry(printed_name(&signature)).or_default().push(class);
        }
        let source = Source { jvmti: common.jvmti, jni, recorder: common.recorder };
        let mut heap = HeapUse { loaders, ..HeapUse::default() };
        for row in printed.lines().filter_map(Row::parse).filter(Row::is_of_program) {
            let namesakes = by_name.get_mut(row.name);
            let class = match namesakes.and_then(|them| self.take_class(&source, them, row)) {
                Some(class) => class,
                // It was unloaded a moment ago.
                None => {
                    let name = names::from_signature(&signature(row.name));
                    lock(common.recorder).profile.symbols.class(&name)
                }
            };
            heap.add(
                row,
                class,
                self.sizes.get(class).map(|layout| {
                    let words = layout.field_bytes().div_ceil(self.jvm.oop_bytes.into());
                    (layout.instance_bytes(), layout.reference_count(), words)
                }),
            );
        }
        Ok(heap)
    }

    /// Takes the class of a row from the classes of its name. If loaders have defined several, it
    /// is one whose objects are of the size.
    fn take_class(
        &mut self,
        source: &Source<'_>,
        namesakes: &mut Vec<Local<'_>>,
        row: Row<'_>,
    ) -> Option<ClassId> {
        let ids: Vec<_> = namesakes.iter().map(|class| self.sizes.add(source, class)).collect();
        let fits = |id: &ClassId| {
            self.sizes.instance_bytes(*id).is_some_and(|bytes| bytes * row.count == row.bytes)
        };
        let place = ids.iter().position(fits).or(ids.len().checked_sub(1))?;
        namesakes.swap_remove(place);
        Some(ids[place])
    }
}

impl HeapUse {
    /// Adds the objects of a class; their size, references and words are known unless they are
    /// arrays.
    fn add(&mut self, row: Row<'_>, class: ClassId, known: Option<(u64, u64, u64)>) {
        let Row { name, count, bytes } = row;
        let has_own_size = CLASSES_WITH_OWN_SIZES.contains(&name);
        let bytes = match known {
            Some((instance_bytes, references, words)) => {
                self.reference_count += count * references;
                self.word_count += count * words;
                if has_own_size { bytes } else { count * instance_bytes }
            }
            None => bytes,
        };
        self.classes.push(ClassUse { class, count, bytes });
    }
}

/// A row of the JVM's histogram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Row<'a> {
    name: &'a str,
    count: u64,
    bytes: u64,
}

impl<'a> Row<'a> {
    /// Reads a line: `   1:       6001362      192043584  java.util.HashMap$Node (java.base@17.0.15)`.
    fn parse(line: &'a str) -> Option<Self> {
        let (rank, rest) = line.trim_start().split_once(':')?;
        rank.parse::<u64>().ok()?;
        let (count, rest) = rest.trim_start().split_once(' ')?;
        let (bytes, name) = rest.trim_start().split_once(' ')?;
        let name = name.trim();
        // Classes of named modules have the module.
        let name = match name.strip_suffix(')').and_then(|name| name.rsplit_once(" (")) {
            Some((name, _)) => name,
            None => name,
        };
        Some(Self { name, count: count.parse().ok()?, bytes: bytes.parse().ok()? })
    }

    /// Whether these are objects of the program: neither perk's own nor gaps in the heap.
    fn is_of_program(&self) -> bool {
        let signature = signature(self.name);
        let is_perks = |helper: &&str| {
            signature
                .trim_start_matches('[')
                .strip_prefix('L')
                .is_some_and(|it| it.starts_with(*helper))
        };
        ![HELPER, COUNTS_HELPER, HELPER_BASE].iter().any(is_perks)
            && !FILLER_CLASSES.contains(&names::from_signature(&signature).as_str())
    }
}

/// Returns the name of a class's loader: that of the JDK's own loaders, or the loader's class.
fn loader_name(common: &Common, jni: Jni<'_>, class: &Local<'_>) -> String {
    let Ok(loader) = common.jvmti.class_loader(jni, class) else { return "unknown".to_owned() };
    let Some(loader) = loader else { return "bootstrap".to_owned() };
    let class = jni.class_of(&loader);
    let signature = class.and_then(|class| common.jvmti.class_signature(&class).ok());
    match signature.as_deref() {
        Some("Ljdk/internal/loader/ClassLoaders$AppClassLoader;") => "app".to_owned(),
        Some("Ljdk/internal/loader/ClassLoaders$PlatformClassLoader;") => "platform".to_owned(),
        signature => printed_name(signature.unwrap_or_default()).replace('.', "/"),
    }
}

/// Returns the name that the histogram has for a class with this signature: dots are slashes and,
/// in the suffix of a hidden class, the reverse.
fn printed_name(signature: &str) -> String {
    let name = match signature.strip_prefix('L').and_then(|name| name.strip_suffix(';')) {
        Some(name) => name,
        None => signature,
    };
    swapped(name)
}

/// Returns the signature of the class with this name in the histogram.
fn signature(name: &str) -> String {
    if name.starts_with('[') { swapped(name) } else { format!("L{};", swapped(name)) }
}

fn swapped(name: &str) -> String {
    let swap = |letter| match letter {
        '/' => '.',
        '.' => '/',
        other => other,
    };
    name.chars().map(swap).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_read() {
        let row = |line| Row::parse(line).map(|row| (row.name, row.count, row.bytes));
        assert_eq!(
            row("   1:       6001362      192043584  java.util.HashMap$Node (java.base@17.0.15)"),
            Some(("java.util.HashMap$Node", 6_001_362, 192_043_584))
        );
        assert_eq!(row(" 12:  1  16  [LMain$In;"), Some(("[LMain$In;", 1, 16)));
        assert_eq!(row(" 13:  1  16  A$$Lambda/0x01 (m)"), Some(("A$$Lambda/0x01", 1, 16)));
        for other in [
            " num     #instances         #bytes  class name (module)",
            "-------",
            "Total  5  6",
            "",
        ] {
            assert_eq!(row(other), None, "{other}");
        }
    }

    #[test]
    fn names_and_signatures_are_each_others_reverse() {
        for (signature_text, name) in [
            ("Ljava/lang/String;", "java.lang.String"),
            ("[[I", "[[I"),
            ("[Lp/A;", "[Lp.A;"),
            ("Lp/A$$Lambda.0x0001;", "p.A$$Lambda/0x0001"),
        ] {
            assert_eq!(printed_name(signature_text), name);
            assert_eq!(signature(name), signature_text);
        }
        let is_of_program = |name| Row { name, count: 1, bytes: 16 }.is_of_program();
        assert!(is_of_program("java.lang.String") && is_of_program("PerkCounts"));
        assert!(!is_of_program("java.lang.PerkCounts0123456789abcdef"));
        assert!(!is_of_program("[Ljdk.internal.vm.FillerElement;"));
        assert!(!is_of_program("jdk.internal.vm.FillerObject"));
    }
}
