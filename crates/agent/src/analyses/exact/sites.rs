//! Allocation sites: the allocations of each site, counted by the probes, and its live objects.
//!
//! A *site* is a class allocated on a line of a node of a call tree; its counts are a record in
//! native memory ([`records`]), which probes write to. Objects hold the index of their record in a
//! field that perk adds to the class right below `java.lang.Object` ([`fields`]); by this field, a
//! walk of the heap finds the live objects of each site. Arrays and the objects of a few classes do
//! not have such a field. They hold an identity hash that leads to the record ([`identities`]). The
//! few that had another hash or were locked before, and all on a JVM of unknown headers, have weak
//! references, in the tree of the thread that made them.

mod blocks;
mod fields;
mod fillers;
mod identities;
mod live;
mod records;

use std::ffi::CString;
use std::sync::{Arc, Mutex, OnceLock};

use perk_control::options::{Jamaica, Options};
use perk_hotspot::CLASSES_WITH_OWN_SIZES;
use perk_hotspot::layout::FieldKind;
use perk_instrument::fields::{CLASS_RECORDS, OBJECT_RECORD};
use perk_jvm::probes::find_record_field;
use perk_jvm::sync::lock;
use perk_jvm::{
    FOUND, Global, IntField, Jni, Jvmti, LongField, MethodRef, NewObject, Reference, Vm,
};
use perk_jvmti_sys::jni_sys::jvalue;
use perk_profile::{Allocations, ClassId};
use rustc_hash::{FxHashMap, FxHashSet};

use self::blocks::Owner;
use self::fields::RecordFields;
use self::fillers::Fillers;
use self::identities::Identities;
pub(super) use self::live::{Keeper, ObjectRecord};
use self::live::{Sum, Sums, Walk, WalkSource};
pub(super) use self::records::{Key, Records};
use super::budget::Budget;
use super::classes::Classes;
use super::tree::{Tree, TreeNodes};
use crate::analyses::exact::counts::{CountedSite, ObjectCounts, PathSite};
use crate::class_sizes::{ClassSizes, Source};
use crate::recorder::{Calls, Recorder, entry};
use crate::resolve::class_id;

/// The allocation sites; see the module.
#[derive(Debug)]
pub(super) struct AllocationSites {
    jvmti: Jvmti,
    records: Records,
    /// The origins of objects that are counted.
    origins: Origins,
    liveness: Liveness,
    /// Whether a probe counts the JVM's allocations in these methods.
    probed: Mutex<FxHashMap<MethodRef, bool>>,
    sizes: OnceLock<Mutex<ClassSizes>>,
    vm: OnceLock<Vm>,
    /// The field of classes that holds a [`KnownClass`].
    class_field: OnceLock<LongField>,
    /// `None` if the JVM does not have them where perk looks for them.
    identities: OnceLock<Option<Identities>>,
    fields: Mutex<RecordFields>,
    live: Mutex<LiveObjects>,
    /// Locked after the live objects.
    removed: Mutex<RemovedObjects>,
    fillers: Mutex<Fillers>,
}

/// The data about a class, as its field that perk adds holds it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct KnownClass {
    /// The profile's number of the class plus one; 0 means none.
    number: u32,
    /// The offset at which its objects hold the index of their record; 0 if they do not hold it.
    offset: u32,
}

impl KnownClass {
    fn from_field(value: i64) -> Self {
        Self { number: value as u32, offset: (value as u64 >> 32) as u32 }
    }

    fn to_field(self) -> i64 {
        i64::from(self.offset) << 32 | i64::from(self.number)
    }

    fn class(self) -> ClassId {
        ClassId::new(self.number.wrapping_sub(1) as usize)
    }
}

/// The live objects, as of the last check.
#[derive(Debug, Default)]
struct LiveObjects {
    /// The live objects by the index of the record; the size is that of arrays.
    sites: Sums,
    /// The live objects without a site, by class.
    others: Vec<(ClassId, Allocations)>,
}

/// The allocations that do not count, as all was forgotten after them.
#[derive(Debug, Default)]
struct RemovedObjects {
    /// By the index of the record; the size is that of arrays.
    sites: Sums,
    /// Those without a site, by class.
    others: FxHashMap<ClassId, Allocations>,
}

/// The origins of objects that are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Origins {
    /// None but their classes.
    None,
    /// The instructions that make them.
    Instructions,
    /// These, and the call paths to them.
    Paths,
}

/// Whether the live objects are determined; the numbers are those of PerkProbes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Liveness {
    Unknown = 1,
    Known = 2,
}

impl AllocationSites {
    /// Returns the sites' state if the options need it.
    ///
    /// # Errors
    /// The reason why it is not available, in one line.
    pub(super) fn new(
        jvmti: Jvmti,
        options: &Options,
        budget: &Arc<Budget>,
    ) -> Result<Option<Self>, String> {
        let with_sites = options.heap_sites && options.heap_sample_bytes.is_none();
        let by_class = options.aprof || options.jamaica == Some(Jamaica::All);
        if !with_sites && !by_class {
            return Ok(None);
        }
        let origins = match with_sites {
            true if options.paths => Origins::Paths,
            true => Origins::Instructions,
            false => Origins::None,
        };
        let has_live = with_sites && options.live;
        let liveness = if has_live { Liveness::Known } else { Liveness::Unknown };
        let records = Records::new(budget.clone())
            .map_err(|error| format!("perk has no memory for allocation records: {error}"))?;
        Ok(Some(Self {
            jvmti,
            records,
            origins,
            liveness,
            probed: Mutex::default(),
            sizes: OnceLock::new(),
            vm: OnceLock::new(),
            class_field: OnceLock::new(),
            identities: OnceLock::new(),
            fields: Mutex::default(),
            live: Mutex::default(),
            removed: Mutex::default(),
            fillers: Mutex::default(),
        }))
    }

    /// The origins of objects that are counted.
    pub(super) fn origins(&self) -> Origins {
        self.origins
    }

    /// Whether objects hold the index of their record, by which the live objects are found.
    pub(super) fn with_records(&self) -> bool {
        self.liveness == Liveness::Known
    }

    /// Gives the helper class the addresses of the records, before it starts.
    pub(super) fn vm_init(
        &self,
        jni: Jni<'_>,
        helper: &'static Global,
        classes: &Classes,
        recorder: &Mutex<Recorder>,
    ) -> Result<(), String> {
        let jvm = self.jvmti.object_layout(jni).ok_or("the JVM does not report sizes")?;
        let class = jni.find_class(c"java/lang/Class").ok_or("no java.lang.Class")?;
        let name =
            CString::new(classes.names().of(CLASS_RECORDS)).map_err(|error| error.to_string())?;
        let field = jni.long_field(&class, &name);
        let _ = self.class_field.set(field.ok_or("no field in java.lang.Class")?);
        let identities = self.identities.get_or_init(|| {
            let find = || Identities::find(self.jvmti, jni, helper);
            self.with_records().then(find).flatten()
        });
        let arguments = [
            jvalue { j: self.records.address() as i64 },
            jvalue { i: self.liveness as i32 },
            jvalue { i: identities.as_ref().map_or(0, |it| it.shift) },
            jvalue { j: identities.as_ref().map_or(0, |_| self.records.seeds_address()) as i64 },
            jvalue { i: jvm.alignment_bytes as i32 },
            jvalue { i: jvm.array_base_bytes(FieldKind::OneByte) as i32 },
            jvalue { i: jvm.array_base_bytes(FieldKind::EightBytes) as i32 },
            jvalue { i: jvm.oop_bytes as i32 },
        ];
        let (clones, count) = self.records.clones();
        let clones = [jvalue { j: clones as i64 }, jvalue { i: count }];
        // SAFETY: the arguments are those of the helper's method.
        unsafe { jni.call_static_long(helper, c"startClones", c"(JI)J", &clones) }
            .ok_or("the helper class does not count clones")?;
        let signature = c"(JIIJIIII)J";
        // SAFETY: the arguments are those of the helper's method.
        unsafe { jni.call_static_long(helper, c"startSites", signature, &arguments) }
            .ok_or("the helper class does not count allocations")?;
        let _ = self.sizes.set(Mutex::new(ClassSizes::new(jvm)));
        let _ = self.vm.set(jni.vm().ok_or("no JVM")?);
        if self.with_records() {
            let source = Source { jvmti: self.jvmti, jni, recorder };
            *lock(&self.fillers) =
                Fillers::vm_init(&source, jvm.feature_version, identities.as_ref());
        }
        Ok(())
    }

    /// Returns the number of a class: the profile's number plus one, as 0 means none.
    pub(super) fn number(
        &self,
        jni: Jni<'_>,
        helper: &dyn Reference,
        classes: &Classes,
        recorder: &Mutex<Recorder>,
        class: &(impl Reference + ?Sized),
    ) -> u32 {
        let (Some(sizes), Some(&class_field)) = (self.sizes.get(), self.class_field.get()) else {
            return 0;
        };
        let known = self.known(jni, class);
        if known.number != 0 {
            return known.number;
        }
        // This is done before anything is locked: it may make objects, which come here as well.
        let field = self.with_records().then(|| {
            let name = classes.names().of(OBJECT_RECORD);
            find_record_field(self.jvmti, jni, helper, class, &name)
        });
        // The lock is held all the time, so that no class gets two numbers.
        let source = Source { jvmti: self.jvmti, jni, recorder };
        let number = lock(sizes).add(&source, class).index() as u32 + 1;
        let offset = field.flatten().map_or(0, |field| field.offset);
        let known = KnownClass { number, offset };
        lock(&self.fields).add(known.class(), field.flatten());
        // SAFETY: the field is that of java.lang.Class, and this is a class.
        unsafe { jni.set_long(class, class_field, known.to_field()) };
        number
    }

    /// Returns the data about a class that is known so far.
    fn known(&self, jni: Jni<'_>, class: &(impl Reference + ?Sized)) -> KnownClass {
        // SAFETY: the field is that of java.lang.Class, and this is a class.
        let value = |&field| unsafe { jni.get_long(class, field) };
        KnownClass::from_field(self.class_field.get().map_or(0, value))
    }

    /// Returns the field in which an object of a class holds the index of its record.
    fn record_field(&self, jni: Jni<'_>, made: &NewObject<'_>) -> Option<IntField> {
        let known = self.known(jni, &made.class);
        lock(&self.fields).get(known.class(), known.offset)
    }

    /// Returns the index of the record of a site.
    pub(super) fn record(&self, tree: &Tree, key: Key) -> u32 {
        tree.site(&self.records, key)
    }

    /// Returns the index of the record of a site with a number.
    pub(super) fn numbered_record(&self, tree: &Tree, site: u32, key: Key) -> u32 {
        tree.numbered_site(&self.records, site, key)
    }

    /// Gives a record its next block of identity hashes and returns its first seed; 0 if there is
    /// none.
    pub(super) fn next_block(&self, record: u32) -> u32 {
        self.identities().map_or(0, |it| it.blocks.next(record, self.records.seed(record)))
    }

    fn identities(&self) -> Option<&Identities> {
        self.identities.get()?.as_ref()
    }

    /// Returns the nodes of a tree, and the indexes of its records.
    pub(super) fn records_of(&self, tree: &Tree) -> (TreeNodes, Vec<u32>) {
        tree.site_records()
    }

    /// Returns the node and class that a record is for.
    pub(super) fn key(&self, record: u32) -> Key {
        self.records.key(record)
    }

    /// Returns the nodes of a tree, and its records.
    pub(super) fn paths(&self, tree: &Tree) -> (TreeNodes, Vec<PathSite>) {
        tree.site_paths(&self.records)
    }

    /// Whether an object or array that the JVM reports was counted before. When one native method
    /// ends, the JVM reports all objects that it allocated for the thread meanwhile. That includes
    /// the allocations, by Java code and by JNI, of class loaders that it called.
    pub(super) fn is_counted(
        &self,
        jni: Jni<'_>,
        tree: &Tree,
        class: u32,
        made: &NewObject<'_>,
    ) -> bool {
        if !self.with_records() {
            return false;
        }
        if let Some(field) = self.record_field(jni, made) {
            // SAFETY: the field is one of the object's class.
            return unsafe { jni.get_int(&made.object, field) != 0 };
        }
        let owner = self.identities().map(|it| it.owner(jni, &made.object));
        matches!(owner, Some(Owner::Record(record)) if self.records.is_of_class(record, class))
            || tree.sites().keeper.keeps(jni, &made.object, self.kept_bytes(class, made))
    }

    /// Counts an object or array that no probe has seen, for a thread that is at a line of a node.
    pub(super) fn count(&self, jni: Jni<'_>, tree: &Tree, key: Key, made: &NewObject<'_>) {
        let record = self.record(tree, key);
        let bytes = self.kept_bytes(key.class, made);
        self.records.count(record, bytes);
        if !self.with_records() {
            return;
        }
        if let Some(field) = self.record_field(jni, made) {
            // SAFETY: the field is one of the object's class.
            unsafe { jni.set_int(&made.object, field, record as i32) };
        } else if !self.identities().is_some_and(|it| it.identify(jni, &made.object, record)) {
            tree.sites().keeper.keep(jni, &made.object, ObjectRecord::new(record, bytes));
        }
    }

    /// Returns the size of an array; 0 for an object, whose size follows from its class.
    fn kept_bytes(&self, class: u32, made: &NewObject<'_>) -> u64 {
        let class = ClassId::new(class as usize - 1);
        let is_array =
            self.sizes.get().is_some_and(|sizes| lock(sizes).instance_bytes(class).is_none());
        if is_array { made.size_bytes } else { 0 }
    }

    /// Whether a probe counts the objects that the JVM makes in the running method.
    pub(super) fn is_probed(&self, jni: Jni<'_>) -> bool {
        let Some(method) = self.jvmti.current_method() else { return true };
        if let Some(&known) = lock(&self.probed).get(&method) {
            return known;
        }
        let class = self.jvmti.declaring_class(jni, method);
        let class = class.and_then(|class| self.jvmti.class_signature(&class)).unwrap_or_default();
        let (name, _) = self.jvmti.method_name(method).unwrap_or_default();
        let is_probed = match (class.as_str(), name.as_str()) {
            ("Ljava/lang/Object;", "clone") => true,
            ("Ljava/lang/reflect/Array;", "newArray" | "multiNewArray") => true,
            ("Ljdk/internal/misc/Unsafe;", "allocateInstance") => true,
            // The constructor has already run when the JVM reports the object.
            (_, "newInstance0") => true,
            _ => false,
        };
        lock(&self.probed).insert(method, is_probed);
        is_probed
    }

    /// Determines the live objects.
    pub(super) fn settle(
        &self,
        classes: &Classes,
        recorder: &Mutex<Recorder>,
        trees: &[&'static Tree],
    ) {
        let Some(jni) = self.vm.get().and_then(Vm::jni) else { return };
        let Some(sizes) = self.sizes.get() else { return };
        if !self.with_records() {
            return;
        }
        lock(&self.live).sites = Sums::default();
        let source = Source { jvmti: self.jvmti, jni, recorder };
        let loaded = self.jvmti.loaded_classes(jni).unwrap_or_default();
        // The tags identify the classes in the walk.
        let loaded = loaded.iter().map(|class| (class_id(self.jvmti, recorder, class).0, class));
        let loaded: FxHashMap<_, _> = loaded.collect();
        let has_field = lock(&self.fields).by_number();
        let mut walk = Walk::of(self.jvmti, self.walk_source(&has_field, false));
        self.add_locked(&source, &mut walk);
        let mut sites = walk.by_record;
        for tree in trees {
            for kept in tree.sites().keeper.live(jni) {
                sites.add(kept.record as usize, Sum { count: 1, bytes: kept.bytes() });
            }
        }
        let mut others = walk.by_class;
        for record in (1..sites.len()).filter(|record| sites.get(*record).count > 0) {
            let class = self.records.key(record as u32).class;
            entry(&mut others, class as usize).remove(sites.get(record));
        }
        lock(&self.fillers).remove(&source, &mut others, &walk.reserved);
        let mut rest = Vec::new();
        let own = classes.names();
        for (number, sum) in others.iter().enumerate().skip(1).filter(|(_, sum)| sum.count > 0) {
            let class = ClassId::new(number - 1);
            // The states of threads, and arrays of them, are not the program's.
            let is_own =
                |name: &str| own.is_class(name.trim_end_matches("[]").replace('.', "/").as_bytes());
            if is_own(lock(recorder).profile.symbols.class_name(class)) {
                continue;
            }
            let mut sizes = lock(sizes);
            if let Some(object) = loaded.get(&class) {
                sizes.add(&source, *object);
            }
            let live_bytes = match sizes.instance_bytes(class) {
                Some(bytes) if !self.has_own_sizes(class, recorder) => sum.count * bytes,
                _ => sum.bytes,
            };
            let (allocated_bytes, live_count, allocated_count) = (live_bytes, sum.count, sum.count);
            let counts = Allocations { live_bytes, live_count, allocated_bytes, allocated_count };
            rest.push((class, counts));
        }
        *lock(&self.live) = LiveObjects { sites, others: rest };
    }

    fn walk_source<'a>(&'a self, has_field: &'a [bool], with_addresses: bool) -> WalkSource<'a> {
        let (records, identities) = (&self.records, self.identities());
        WalkSource { records, identities, has_field, with_addresses }
    }

    /// Adds the objects that were locked during a walk.
    fn add_locked(&self, source: &Source<'_>, walk: &mut Walk<'_>) {
        let Some(identities) = self.identities() else { return };
        let Source { jvmti, jni, recorder, .. } = *source;
        for object in jvmti.take_tagged(jni, FOUND).unwrap_or_default() {
            let Some(class) = jni.class_of(&object) else { continue };
            let class = class_id(jvmti, recorder, &class).0.index() as u32 + 1;
            let bytes = jvmti.object_bytes(&object).unwrap_or(0);
            match identities.owner(jni, &object) {
                Owner::Record(record) => {
                    walk.add(record, class, Sum { count: 1, bytes });
                }
                Owner::Reserved => entry(&mut walk.reserved, class as usize).add(1, bytes),
                Owner::Nobody => {}
            }
        }
    }

    /// Returns the records of arrays, and of objects without a field, by address. The addresses are
    /// valid until a collection. Those that are locked, or had another identity hash before, are
    /// missing.
    pub(super) fn addresses(&self, jni: Jni<'_>) -> FxHashMap<u64, u32> {
        let has_field = lock(&self.fields).by_number();
        let walk = Walk::of(self.jvmti, self.walk_source(&has_field, true));
        let _ = self.jvmti.take_tagged(jni, FOUND);
        walk.addresses.into_iter().collect()
    }

    fn has_own_sizes(&self, class: ClassId, recorder: &Mutex<Recorder>) -> bool {
        CLASSES_WITH_OWN_SIZES.contains(&lock(recorder).profile.symbols.class_name(class))
    }

    /// Returns all objects up to now, with the live objects of the last check.
    pub(super) fn objects(&self) -> ObjectCounts {
        let sites = self.objects_of(0..self.records.len() as u32).collect();
        ObjectCounts { sites, others: self.others().collect() }
    }

    /// Returns the sites of some records of a tree, with the live objects of the last check if asked for.
    pub(super) fn counted_sites(
        &self,
        nodes: &TreeNodes,
        records: &[u32],
        with_live: bool,
    ) -> Vec<CountedSite> {
        let sites = records.iter().zip(self.objects_of(records.iter().copied()));
        let sites = sites.filter(|(_, objects)| objects.allocated_count > 0);
        let site = |(&record, objects): (&u32, Allocations)| {
            let Key { node, class, line } = self.records.key(record);
            let (node, class) = (nodes.row(node), ClassId::new(class as usize - 1));
            CountedSite { node, line, class, objects: with_or_without_live(objects, with_live) }
        };
        sites.map(site).collect()
    }

    /// Returns the live objects without a site, as sites of which no method is known.
    pub(super) fn other_sites(&self, with_live: bool) -> Vec<CountedSite> {
        let site = |(class, objects)| {
            let objects = with_or_without_live(objects, with_live);
            CountedSite { node: Calls::NO_PARENT, line: 0, class, objects }
        };
        self.others().filter(|(_, objects)| objects.allocated_count > 0).map(site).collect()
    }

    /// Returns the objects of records up to now.
    fn objects_of(&self, records: impl Iterator<Item = u32>) -> impl Iterator<Item = Allocations> {
        let (live, removed) = (lock(&self.live), lock(&self.removed));
        let sizes = self.sizes.get().map(lock);
        records.map(move |record| {
            let (count, bytes) = self.records.counts(record);
            let class = self.records.key(record).class;
            let (mut allocated, mut live) = (Sum { count, bytes }, live.sites.get(record as usize));
            allocated.remove(removed.sites.get(record as usize));
            // It is not known which live objects do not count. At most all of them do.
            live = live.least(allocated);
            let class = ClassId::new(class.wrapping_sub(1) as usize);
            if let Some(bytes) = sizes.as_ref().and_then(|it| it.instance_bytes(class)) {
                (allocated.bytes, live.bytes) = (allocated.count * bytes, live.count * bytes);
            }
            Allocations {
                live_bytes: live.bytes,
                live_count: live.count,
                allocated_bytes: allocated.bytes,
                allocated_count: allocated.count,
            }
        })
    }

    /// Returns the live objects without a site, by class.
    fn others(&self) -> impl Iterator<Item = (ClassId, Allocations)> {
        let (others, removed) = (lock(&self.live).others.clone(), lock(&self.removed));
        others.into_iter().map(move |(class, mut objects)| {
            objects.remove_allocated(removed.others.get(&class).copied().unwrap_or_default());
            objects.live_bytes = objects.live_bytes.min(objects.allocated_bytes);
            objects.live_count = objects.live_count.min(objects.allocated_count);
            (class, objects)
        })
    }

    /// Counts allocations from now on; `with_live`, as if the program had begun with the objects that
    /// live.
    pub(super) fn reset(&self, with_live: bool) {
        let (live, mut removed) = (lock(&self.live), lock(&self.removed));
        let mut sites = Sums::new(self.records.len());
        for record in 1..self.records.len() {
            let (count, bytes) = self.records.counts(record as u32);
            let mut gone = Sum { count, bytes };
            if with_live {
                gone.remove(live.sites.get(record));
            }
            let before = removed.sites.get(record);
            let (count, bytes) = (gone.count.max(before.count), gone.bytes.max(before.bytes));
            sites.add(record, Sum { count, bytes });
        }
        removed.sites = sites;
        if !with_live {
            removed.others = live.others.iter().copied().collect();
        }
    }

    /// Returns the number of objects without a site: the live ones that no probe has seen, and those of
    /// which nothing but the class was counted. Their records are at the roots of these trees.
    pub(super) fn unsited_count(&self, trees: &[&'static Tree]) -> u64 {
        let others: u64 = self.others().map(|(_, objects)| objects.allocated_count).sum();
        if self.origins == Origins::None {
            return others;
        }
        let roots: FxHashSet<_> = trees.iter().map(|tree| tree.root()).collect();
        let records = 1..self.records.len() as u32;
        let of_class = records.filter(|record| roots.contains(&self.records.key(*record).node));
        let counts = self.objects_of(of_class).map(|objects| objects.allocated_count);
        counts.fold(others, u64::saturating_add)
    }

    /// Returns the number of objects that were counted.
    pub(super) fn counted(&self) -> u64 {
        (0..self.records.len()).map(|record| self.records.counts(record as u32).0).sum()
    }

    /// Returns the memory of the records.
    pub(super) fn used_bytes(&self) -> u64 {
        self.records.used_bytes()
    }
}

fn with_or_without_live(objects: Allocations, with_live: bool) -> Allocations {
    match with_live {
        true => objects,
        false => Allocations { live_bytes: 0, live_count: 0, ..objects },
    }
}
