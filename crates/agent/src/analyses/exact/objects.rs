//! Exact allocation sites: the objects that no probe sees, and the booking of all objects at each
//! dump.

pub(super) mod book;
mod callers;
pub(super) mod stream;

use std::io;
use std::time::Instant;

use perk_hotspot::PLAIN_ADDRESS_FLAGS;
use perk_jvm::guard::Feature;
use perk_jvm::sync::lock;
use perk_jvm::{Jni, MethodRef, NewObject, ObjectRef, Reference, bool_flag};
use perk_profile::Accounting;
use rustc_hash::FxHashMap;

use self::stream::{SiteCallers, SiteStream};
use super::ExactEngine;
use super::sites::{AllocationSites, Key};
use super::tree::Tree;
use crate::analyses::allocations::AllocationSampler;
use crate::analyses::books::sites::SiteBook;
use crate::analyses::heap_dump::{ObjectRecords, RecordSite};
use crate::analyses::{Analysis, Event, Needs, Order};
use crate::common::Common;
use crate::recorder::{Book, Flush};
use crate::roster::Slot;

/// The sites that are written at once: some hundred KB.
const SITES_AT_ONCE: usize = 1 << 13;

/// The analysis of exact allocation sites; see the module.
pub(crate) struct ExactSites {
    engine: &'static ExactEngine,
    /// The source of the callers of sites that are instructions.
    samples: Option<&'static AllocationSampler>,
}

impl Analysis for ExactSites {
    fn name(&self) -> Option<&'static str> {
        None
    }

    fn feature(&self) -> Feature {
        Feature::Probes
    }

    fn task(&self) -> &'static str {
        "count allocations"
    }

    fn needs(&self) -> Needs {
        Needs { events: vec![Event::ObjectMade], ..Needs::default() }
    }

    fn books(&'static self) -> Vec<&'static dyn Book> {
        vec![&self.engine.object_book]
    }

    fn obey(&'static self, _: Jni<'_>, order: Order) -> Result<(), String> {
        if let Order::Depth(depth) = order {
            self.engine.object_book.set_depth(depth.min(self.engine.common.options.depth));
        }
        Ok(())
    }

    /// Ignores objects that were made by Java code that the JVM called.
    fn object_made(&self, jni: Jni<'_>, made: &NewObject<'_>) {
        let Some(sites) = &self.engine.sites else { return };
        if sites.is_probed(jni) {
            return;
        }
        self.engine.at_place(jni, made, |tree, key| {
            if !sites.is_counted(jni, tree, key.class, made) {
                sites.count(jni, tree, key, made);
            }
        });
    }

    fn survey(&self) {
        if let Some(sites) = &self.engine.sites {
            sites.settle(
                &self.engine.classes,
                self.engine.common.recorder,
                &self.engine.pool.trees(),
            );
        }
    }

    fn settle(&self, _: bool) {
        if self.direct().is_none() {
            self.book();
        }
    }

    fn reset(&self, with_live: bool) {
        if let (Some(sites), Some(_)) = (&self.engine.sites, self.direct()) {
            sites.reset(with_live);
        }
    }

    fn dump(&self, _: Option<Jni<'_>>, _: bool) {
        let Some(book) = self.direct() else { return };
        match self.writes_trees() {
            // The recorder reports the errors of its file.
            true => {
                drop(self.write(SiteStream::of_dump(self.engine.common.recorder, book), &|| true))
            }
            false => self.book(),
        }
    }

    /// Sites are booked anew each time.
    fn show(&self) {
        if self.direct().is_none() || !self.writes_trees() {
            self.book();
        }
    }

    fn show_more(&self, flush: &mut Flush, is_wanted: &dyn Fn() -> bool) -> io::Result<()> {
        match self.direct().filter(|book| !book.is_shown()) {
            Some(book) => {
                let stream = SiteStream::of_flush(self.engine.common.recorder, book, flush);
                self.write(stream, is_wanted)
            }
            None => Ok(()),
        }
    }

    fn account(&self, accounting: &mut Accounting) {
        if let Some(sites) = &self.engine.sites {
            accounting.unsited_object_count = sites.unsited_count(&self.engine.pool.trees());
            accounting.perk_peak_bytes += sites.used_bytes();
        }
    }
}

impl ExactSites {
    pub(crate) fn new(
        engine: &'static ExactEngine,
        samples: Option<&'static AllocationSampler>,
    ) -> Self {
        Self { engine, samples }
    }

    /// Returns the book of sites if sites go to the file from their records.
    fn direct(&self) -> Option<&'static SiteBook> {
        self.engine.object_book.direct()
    }

    /// Whether those of the trees do as they are now: of deeper ones, the paths are cut.
    fn writes_trees(&self) -> bool {
        let depth = self.engine.object_book.depth();
        !self.engine.pool.trees().iter().any(|tree| tree.is_deeper(depth))
    }

    /// Books all sites.
    fn book(&self) {
        // Taken before the paths: the paths of objects made in between would not be known.
        let objects = self.engine.sites.as_ref().map(AllocationSites::objects);
        let moment = Instant::now();
        for (thread, tree) in self.engine.trees() {
            self.engine.book_paths(thread, tree);
        }
        if let Some(objects) = objects {
            let samples = self.samples.map(AllocationSampler::weights);
            let recorder = &mut lock(self.engine.common.recorder);
            self.engine.object_book.book(recorder, &objects, samples, moment);
        }
    }

    /// Writes all sites from their records, as long as that `is_wanted`.
    fn write(&self, mut stream: SiteStream<'_>, is_wanted: &dyn Fn() -> bool) -> io::Result<()> {
        let Some(sites) = &self.engine.sites else { return Ok(()) };
        for tree in self.engine.pool.trees() {
            let (nodes, records) = sites.records_of(tree);
            let wanted = records.iter().map(|&record| nodes.row(sites.key(record).node));
            let mut callers = SiteCallers::of(&nodes, wanted);
            while !callers.are_written() && is_wanted() {
                stream.callers(&mut callers)?;
            }
            for records in records.chunks(SITES_AT_ONCE).take_while(|_| is_wanted()) {
                let part = sites.counted_sites(&nodes, records, stream.has_live());
                stream.sites(Some(&callers), &part)?;
            }
        }
        stream.sites(None, &sites.other_sites(stream.has_live()))?;
        stream.end()
    }
}

impl ObjectRecords for ExactSites {
    /// Empty unless objects stay at their addresses between collections.
    fn array_records(&self, jni: Jni<'_>) -> FxHashMap<u64, u32> {
        if !PLAIN_ADDRESS_FLAGS.iter().any(|flag| bool_flag(flag) == Some(true)) {
            return FxHashMap::default();
        }
        self.engine.sites.as_ref().map(|sites| sites.addresses(jni)).unwrap_or_default()
    }

    fn with_sites(&self, body: &mut dyn FnMut(&[RecordSite])) {
        self.engine.object_book.with_records(body);
    }
}

impl ExactEngine {
    /// Books the paths to the sites of a tree, if allocations are counted.
    pub(super) fn book_paths(&self, thread: Option<Slot>, tree: &Tree) {
        if let Some(sites) = &self.sites {
            let (nodes, paths) = sites.paths(tree);
            let recorder = &mut lock(self.common.recorder);
            self.object_book.book_paths(recorder, thread, &nodes, &paths);
        }
    }

    /// Returns the index of the record for objects of a class that a site makes; 0 if there is no room.
    pub(super) fn record_of_site(&self, tree: &Tree, site: u32, class: u32) -> u32 {
        let Some(sites) = &self.sites else { return 0 };
        let (node, line) = match self.classes.site(site) {
            Some((method, line)) => (tree.method(&self.pool, method), line),
            None => (tree.root(), 0),
        };
        sites.numbered_record(tree, site, Key { node, class, line })
    }

    /// Returns the number of a class; 0 if it gets none.
    pub(super) fn class_number(&self, jni: Jni<'_>, class: &ObjectRef<'_>) -> u32 {
        match (&self.sites, self.helper.get()) {
            (Some(sites), Some(&helper)) => {
                sites.number(jni, helper, &self.classes, self.common.recorder, class)
            }
            _ => 0,
        }
    }

    /// Whether the `clone` of a class is that of `java.lang.Object`. The class does not need to be
    /// initialised: another thread may be at it, and wait for the calling one.
    pub(super) fn inherits_clone(&self, jni: Jni<'_>, class: &ObjectRef<'_>) -> bool {
        let jvmti = self.common.jvmti;
        let is_clone = |method: &MethodRef| {
            let name = jvmti.method_name(*method);
            name.is_ok_and(|(name, of)| name == "clone" && of == "()Ljava/lang/Object;")
        };
        let declares = |class: &dyn Reference| {
            jvmti.class_methods(class).is_ok_and(|methods| methods.iter().any(is_clone))
        };
        let mut above = jni.superclass(class);
        let mut is_overridden = above.is_some() && declares(class);
        while let (false, Some(at)) = (is_overridden, &above) {
            let next = jni.superclass(at);
            is_overridden = next.is_some() && declares(at);
            above = next;
        }
        !is_overridden
    }

    /// Counts an object that native code has made by JNI.
    pub(super) fn made_by_jni(&self, jni: Jni<'_>, object: ObjectRef<'_>) {
        let (thread, class) = (self.common.jvmti.current_thread(jni), jni.class_of(&object));
        let size_bytes = self.common.jvmti.object_bytes(&object);
        if let (Some(thread), Some(class), Some(size_bytes), Some(sites)) =
            (thread, class, size_bytes, &self.sites)
        {
            let (thread, class) = (thread.borrowed(), class.borrowed());
            let made = NewObject { thread, object, class, size_bytes };
            self.at_place(jni, &made, |tree, key| sites.count(jni, tree, key, &made));
        }
    }

    /// Returns the number of the native method that the calling thread runs.
    fn running_native(&self, jni: Jni<'_>) -> Option<u32> {
        let Common { jvmti, recorder, .. } = *self.common;
        let method = jvmti.current_method()?;
        if let Some(&known) = lock(&self.running_natives).get(&method) {
            return Some(known);
        }
        let class = jvmti.declaring_class(jni, method).ok()?;
        let class = jvmti.class_signature(&class).ok()?;
        let (name, signature) = jvmti.method_name(method).ok()?;
        let class = class.strip_prefix('L')?.strip_suffix(';')?;
        let number = self.classes.native_number(recorder, class, &name, &signature);
        lock(&self.running_natives).insert(method, number);
        Some(number)
    }

    /// Runs `body` with the site at which the calling thread has received an object.
    fn at_place(&self, jni: Jni<'_>, made: &NewObject<'_>, body: impl FnOnce(&Tree, Key)) {
        let Some(current) = self.current(jni) else { return };
        let class = self.class_number(jni, &made.class);
        if class == 0 {
            return;
        }
        if self.has_numbered_sites() {
            // It is a native method, which does not have lines.
            let method = self.running_native(jni);
            let of = |method| current.tree.method(&self.pool, method);
            let node = method.map_or(current.tree.root(), of);
            body(current.tree, Key { node, class, line: 0 });
        } else {
            let position = current.position(jni);
            let node = current.node(self, position);
            body(current.tree, Key { node, class, line: position.line() });
        }
    }
}
