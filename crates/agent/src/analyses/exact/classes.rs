//! The class files that the JVM loads: the numbers of their methods, and the callees that must be
//! counted at the call.

mod cache;

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, OnceLock};

use perk_instrument::{
    ClassFile, CountedCode, Error, Leaves, MethodCalls, MethodName, Methods, Names, Probes,
    SitePlace, instrument, leaves,
};
use perk_jvm::Image;
use perk_jvm::os;
use perk_jvm::probes::skipped_methods;
use perk_jvm::sync::lock;
use perk_profile::mutf8;
use rustc_hash::{FxHashMap, FxHashSet};

use self::cache::{CacheHit, ClassCache};
use super::companion::Companion;
use super::path_budget::PathBudget;
use super::tree::NUMBERED_SITES;
use crate::analyses::skipped::SkippedMethods;
use crate::recorder::{MethodText, Recorder};
use crate::selection::Selection;

/// Methods that are called everywhere, and are compiled to one instruction or are part of the
/// probes themselves.
const NEVER_LEAVES: [(&[u8], &[u8]); 2] =
    [(b"java/lang/Thread", b"currentThread"), (b"java/lang/Object", b"getClass")];

/// The known classes; see the module.
#[derive(Debug)]
pub(super) struct Classes {
    probes: Probes,
    /// Whether calls are counted, and not only allocations.
    with_calls: bool,
    /// The analysis whose counters the classes get, too.
    companion: Option<Companion>,
    selection: Selection,
    path_budget: Option<&'static PathBudget>,
    image: Option<&'static Image>,
    /// The numbers of the native methods that are called.
    natives: Mutex<FxHashSet<u32>>,
    /// The method and the line of each site, by its number less 1. Sites beyond the places for them have the number 0.
    sites: Mutex<Vec<(u32, u16)>>,
    cache: OnceLock<ClassCache>,
    /// The leaves of the JDK's classes and of the loaded classes; `None` for a class whose leaves
    /// cannot be known.
    leaves: Mutex<FxHashMap<Vec<u8>, Option<LeafClass>>>,
    pub(super) counts: Counts,
}

/// The counts that the accounting shows.
#[derive(Debug, Default)]
pub(super) struct Counts {
    pub(super) classes: AtomicU64,
    pub(super) methods: AtomicU64,
    skipped: Mutex<SkippedMethods>,
    pub(super) excluded_classes: AtomicU64,
    pub(super) cpu_ns: AtomicU64,
}

#[derive(Debug)]
struct LeafClass {
    super_class: Option<Vec<u8>>,
    source: Option<Vec<u8>>,
    /// The methods by name with descriptor; `None` for those that are counted inside, or by a
    /// trampoline.
    methods: FxHashMap<Vec<u8>, Option<Leaf>>,
}

#[derive(Clone, Copy, Debug)]
struct Leaf {
    is_virtual: bool,
    is_native: bool,
}

impl Classes {
    pub(super) fn new(
        probes: Probes,
        with_calls: bool,
        companion: Option<Companion>,
        selection: Selection,
        path_budget: Option<&'static PathBudget>,
        image: Option<&'static Image>,
    ) -> Self {
        Self {
            probes,
            with_calls,
            companion,
            selection,
            path_budget,
            image,
            natives: Mutex::default(),
            sites: Mutex::default(),
            cache: OnceLock::new(),
            leaves: Mutex::default(),
            counts: Counts::default(),
        }
    }

    /// Returns the names of the additions.
    pub(super) fn names(&self) -> Names {
        self.probes.names
    }

    /// Returns the class with its probes; `None` leaves it as it is. A class that is redefined must
    /// keep its fields: `has_record` then says whether that for records is among them.
    pub(super) fn transform(
        &self,
        recorder: &Mutex<Recorder>,
        bytes: &[u8],
        has_record: Option<bool>,
    ) -> Option<Vec<u8>> {
        let is_new = has_record.is_none();
        let begin_ns = os::thread_cpu_ns();
        let find = || self.cache(recorder).find(bytes, self.names());
        let changed = match is_new.then(find).flatten() {
            Some(found) => self.count_kept(recorder, found),
            None => self.change(recorder, bytes, has_record),
        };
        self.counts.cpu_ns.fetch_add(os::thread_cpu_ns().saturating_sub(begin_ns), Relaxed);
        changed
    }

    /// Returns the cache, which is opened for the JVM's first class.
    fn cache(&self, recorder: &Mutex<Recorder>) -> &ClassCache {
        // The patterns of a selection match the classes that are changed in this JVM, and the
        // counters of blocks and the numbers of sites are those of this JVM.
        let is_cached =
            self.selection.is_everything() && self.companion.is_none() && !self.probes.sites;
        let open = || match self.image.filter(|_| is_cached) {
            Some(image) => ClassCache::open(image, self.probes, self.with_calls, recorder),
            None => ClassCache::closed(),
        };
        self.cache.get_or_init(open)
    }

    /// Counts a class from the cache, and returns its new file if it has one.
    fn count_kept(&self, recorder: &Mutex<Recorder>, class: CacheHit) -> Option<Vec<u8>> {
        lock(recorder).count_kept_class();
        let counts = &self.counts;
        counts.methods.fetch_add(class.method_count as u64, Relaxed);
        counts.classes.fetch_add((class.method_count > 0).into(), Relaxed);
        class.bytes
    }

    /// Returns the class with its probes, as [`transform`](Self::transform) does without the cache.
    fn change(
        &self,
        recorder: &Mutex<Recorder>,
        bytes: &[u8],
        has_record: Option<bool>,
    ) -> Option<Vec<u8>> {
        let mut is_new = has_record.is_none();
        if self.with_calls
            && let Ok(found) = leaves(bytes)
        {
            let class = found.class.clone();
            let counts_natives = self.counts_natives_of(&class);
            let is_chosen = |name: &[u8]| counts_natives && self.selects(&class, name);
            let natives = found.methods.iter().filter(|it| it.is_native && is_chosen(&it.name));
            let natives: Vec<_> = natives.map(|it| mutf8::decode(&it.name).into_owned()).collect();
            let found = LeafClass::new(found, is_chosen);
            let before = lock(&self.leaves).insert(class.clone(), Some(found)).flatten();
            if self.probes.late {
                is_new = before.is_none();
                let class = mutf8::decode(&class).replace('/', ".");
                for name in natives.iter().filter(|_| is_new) {
                    self.skip(format!(
                        "{class}.{name}: natives count from the program's start alone"
                    ));
                }
            }
        }
        let mut view =
            View { classes: self, recorder, class: None, has_selected: false, has_excluded: false };
        let object_record = self.probes.object_record && has_record.unwrap_or(true);
        let probes = Probes { object_record, ..self.probes };
        let result = instrument(bytes, probes, &mut view);
        let counts = &self.counts;
        counts.excluded_classes.fetch_add((is_new && view.is_excluded()).into(), Relaxed);
        match result {
            Ok(done) if !is_new => done.bytes,
            Ok(done) => {
                if done.skipped.is_empty() {
                    let result = (done.bytes.as_deref(), done.method_count);
                    self.cache(recorder).keep(recorder, self.names(), bytes, result);
                } else {
                    skipped_methods(bytes, &done.skipped).into_iter().for_each(|it| self.skip(it));
                }
                counts.methods.fetch_add(done.method_count as u64, Relaxed);
                counts.classes.fetch_add((done.method_count > 0).into(), Relaxed);
                done.bytes
            }
            // The JVM will say what is wrong with it.
            Err(error) => {
                self.skip(format!("a class file: {error}"));
                None
            }
        }
    }

    /// Returns the method and the line of a site.
    pub(super) fn site(&self, number: u32) -> Option<(u32, u16)> {
        lock(&self.sites).get((number as usize).checked_sub(1)?).copied()
    }

    /// Notes a method that does not have probes, given with the reason.
    pub(super) fn skip(&self, method: String) {
        lock(&self.counts.skipped).add(method);
    }

    /// Returns the methods that do not have probes.
    pub(super) fn skipped(&self) -> SkippedMethods {
        lock(&self.counts.skipped).clone()
    }

    /// Returns the patterns of `include` and `exclude` that matched no class or method.
    pub(super) fn unmatched_patterns(&self) -> Vec<String> {
        self.selection.unmatched()
    }

    /// Whether the native methods of a class can have trampolines: only those of the program's
    /// classes can.
    pub(super) fn counts_natives_of(&self, class: &[u8]) -> bool {
        self.with_calls
            && !class.starts_with(b"java/")
            && self.image.is_some_and(|image| !image.has(class))
    }

    /// Whether the calls of a method are to be counted.
    pub(super) fn selects(&self, class: &[u8], method: &[u8]) -> bool {
        self.selection.selects(class, method)
    }

    /// Returns the methods that are to be counted.
    pub(super) fn selection(&self) -> &Selection {
        &self.selection
    }

    /// Forgets the classes.
    pub(super) fn release(&self) {
        *lock(&self.leaves) = FxHashMap::default();
        *lock(&self.natives) = FxHashSet::default();
        *lock(&self.sites) = Vec::new();
    }

    /// Returns the number of a native method; the class's name is an internal one.
    pub(super) fn native_number(
        &self,
        recorder: &Mutex<Recorder>,
        class: &str,
        name: &str,
        signature: &str,
    ) -> u32 {
        let source = self.source(class.as_bytes());
        let source = source.as_deref().map(mutf8::decode);
        let number = lock(recorder).method_number(&MethodText {
            class: &class.replace('/', "."),
            name,
            signature: Some(signature),
            source: source.as_deref(),
        });
        lock(&self.natives).insert(number);
        number
    }

    /// Returns the class that declares a method, which is `owner` or one of its superclasses, and
    /// the method's leaf if it is one.
    fn declaration(
        &self,
        owner: &[u8],
        name: &[u8],
        descriptor: &[u8],
    ) -> Option<(Vec<u8>, Option<Leaf>)> {
        let method = [name, descriptor].concat();
        let is_inherited = name != b"<init>";
        let mut class = owner.to_vec();
        loop {
            let super_class =
                self.with_known(&class, |known| match known.methods.get(&method) {
                    Some(leaf) => Err(*leaf),
                    None => Ok(known.super_class.clone().filter(|_| is_inherited)),
                })?;
            match super_class {
                Err(leaf) => return Some((class, leaf)),
                Ok(super_class) => class = super_class?,
            }
        }
    }

    /// Returns the numbers of the native methods that are called.
    pub(super) fn natives(&self) -> MutexGuard<'_, FxHashSet<u32>> {
        lock(&self.natives)
    }

    /// Returns the class that declares a method, its file, and whether it is native.
    fn of_leaf(&self, method: &MethodName<'_>) -> Option<(Vec<u8>, Option<Vec<u8>>, bool)> {
        let &MethodName { class, name, descriptor, .. } = method;
        // For other classes that are left out, the result would depend on which is loaded first.
        let is_known =
            self.selection.selects(class, name) || self.image.is_some_and(|it| it.has(class));
        let declared = is_known.then(|| self.declaration(class, name, descriptor)).flatten();
        let (class, leaf) = declared?;
        let source = self.source(&class);
        Some((class, source, leaf.is_some_and(|leaf| leaf.is_native)))
    }

    /// Returns the file that a class was compiled from, if it is known.
    fn source(&self, class: &[u8]) -> Option<Vec<u8>> {
        self.with_known(class, |known| known.source.clone())?
    }

    /// Returns the result of `body` for a known class; `None` if the class is not known.
    fn with_known<T>(&self, class: &[u8], body: impl FnOnce(&LeafClass) -> T) -> Option<T> {
        let mut leaves = lock(&self.leaves);
        if let Some(known) = leaves.get(class) {
            return known.as_ref().map(body);
        }
        let read = || {
            let bytes = self.image?.class(class)?;
            self::leaves(&bytes).ok().map(|it| LeafClass::new(it, |_| false))
        };
        leaves.entry(class.to_vec()).or_insert_with(read).as_ref().map(body)
    }
}

impl LeafClass {
    /// Makes it from the leaves of a class; some of its native methods, by name, have trampolines.
    fn new(leaves: Leaves, has_trampoline: impl Fn(&[u8]) -> bool) -> Self {
        let methods = leaves.methods.into_iter().map(|it| {
            let leaf = Leaf { is_virtual: it.is_virtual, is_native: it.is_native };
            let is_leaf = !(it.is_native && has_trampoline(&it.name));
            ([it.name, it.descriptor].concat(), is_leaf.then_some(leaf))
        });
        let others = leaves.others.into_iter().map(|it| (it, None));
        Self {
            super_class: leaves.super_class,
            source: leaves.source,
            methods: methods.chain(others).collect(),
        }
    }
}

/// The view of one class file on all classes.
struct View<'a> {
    classes: &'a Classes,
    recorder: &'a Mutex<Recorder>,
    /// The class of the last method that got a number, and its name in the profile.
    class: Option<(Vec<u8>, String)>,
    /// Whether some of its methods are counted and others are not.
    has_selected: bool,
    has_excluded: bool,
}

impl View<'_> {
    /// Whether none of the class's methods is counted.
    fn is_excluded(&self) -> bool {
        self.has_excluded && !self.has_selected
    }
}

impl Methods for View<'_> {
    fn class(&mut self, file: &ClassFile<'_>) -> Result<(), Error> {
        self.classes.companion.map_or(Ok(()), |it| it.class(file))
    }

    fn number(&mut self, method: &MethodName<'_>) -> u32 {
        // A leaf is named by the class in the call, without a file.
        let of_leaf = method.source.is_none().then(|| self.classes.of_leaf(method)).flatten();
        let (class_name, source) = match &of_leaf {
            Some((class, source, _)) => (class.as_slice(), source.as_deref()),
            None => (method.class, method.source),
        };
        if self.class.as_ref().is_none_or(|(name, _)| name != class_name) {
            let text = mutf8::decode(class_name).replace('/', ".");
            self.class = Some((class_name.to_vec(), text));
        }
        let class = self.class.as_ref().map_or("", |(_, text)| text);
        let (name, signature) = (mutf8::decode(method.name), mutf8::decode(method.descriptor));
        let source = source.map(mutf8::decode);
        let number = lock(self.recorder).method_number(&MethodText {
            class,
            name: &name,
            signature: Some(&signature),
            source: source.as_deref(),
        });
        if of_leaf.is_some_and(|(.., is_native)| is_native) {
            lock(&self.classes.natives).insert(number);
        }
        number
    }

    fn leaf(&mut self, owner: &[u8], name: &[u8], descriptor: &[u8], is_virtual: bool) -> bool {
        if !self.classes.with_calls {
            return false;
        }
        if NEVER_LEAVES.contains(&(owner, name)) || owner == b"jdk/internal/misc/Unsafe" {
            return false;
        }
        if !owner.starts_with(b"[") && !self.classes.selects(owner, name) {
            return true;
        }
        let declared = self.classes.declaration(owner, name, descriptor);
        let leaf = declared.and_then(|(_, leaf)| leaf);
        leaf.is_some_and(|leaf| !is_virtual || !leaf.is_virtual)
    }

    fn is_over_budget(&mut self, number: u32) -> bool {
        self.classes.path_budget.is_some_and(|it| it.is_over(number))
    }

    fn gave_up_position(&mut self, number: u32) {
        if let Some(budget) = self.classes.path_budget {
            budget.gave_up(number);
        }
    }

    fn counter(&mut self, number: u32) -> Option<u32> {
        self.classes.path_budget?.counter(number)
    }

    fn selected(&mut self, class: &[u8], method: &[u8]) -> bool {
        if !self.classes.with_calls && !self.classes.probes.entries {
            return false;
        }
        let selected = self.classes.selects(class, method);
        self.has_selected |= selected;
        self.has_excluded |= !selected;
        selected
    }

    fn field(&mut self, _: &[u8], _: &[u8], _: &[u8]) -> u32 {
        // The engine does not place probes for accesses.
        0
    }

    fn site(&mut self, _: &MethodName<'_>, _: Option<SitePlace>) -> u32 {
        0
    }

    fn allocation(&mut self, method: &MethodName<'_>, line: u16) -> u32 {
        let number = self.number(method);
        let mut sites = lock(&self.classes.sites);
        if sites.len() + 1 >= NUMBERED_SITES {
            // Its objects are counted by class alone.
            return 0;
        }
        sites.push((number, line));
        sites.len() as u32
    }

    fn counters(&mut self, _: &MethodName<'_>, count: usize) -> Option<u32> {
        self.classes.companion?.new_counters(count)
    }

    fn counted(&mut self, method: &MethodName<'_>, code: CountedCode<'_>) {
        if let Some(companion) = self.classes.companion {
            companion.counted(method, code);
        }
    }

    fn entered(&mut self, method: &MethodName<'_>, calls: MethodCalls<'_>) {
        if let Some(companion) = self.classes.companion {
            companion.entered(method, calls);
        }
    }
}
