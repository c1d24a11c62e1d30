//! Passes over the references of all objects, on several threads.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use perk_hprof::heap::{FieldType, number};

use crate::batch::{self, Batch, ObjectHead, Objects};
use crate::ids::Ids;
use crate::input::Input;
use crate::model::{Model, RefKind};
use crate::{Error, Value, Watch};

/// The number of recently looked-up classes that are remembered, by the low bits of their ids.
const RECENT: usize = 1 << 8;

/// A receiver of objects and their references.
pub(crate) trait Links {
    /// Whether it takes references: finding their ends costs most.
    const HAS_LINKS: bool = true;

    /// Takes an object: its head, class, and for arrays the length. Its references follow.
    fn object(&mut self, object: u32, class: u32, length: u32, head: ObjectHead);
    /// Takes a reference that holds.
    fn link(&mut self, from: u32, to: u32);
    /// Takes a reference that does not hold.
    fn left_out(&mut self, from: u32, to: u32, kind: RefKind);
    /// Takes a reference to an address at which the dump has no object.
    fn dangling(&mut self, _from: u32, _address: u64) {}
}

/// What the skips a file need.
#[derive(Clone, Copy)]
pub(crate) struct Source<'a> {
    pub(crate) input: &'a Input,
    pub(crate) id_bytes: usize,
    pub(crate) batches: &'a [Batch],
    pub(crate) ids: &'a Ids,
    pub(crate) model: &'a Model,
    /// For each thread that has an object: the object, and the objects that its frames hold.
    pub(crate) locals: &'a [(u32, Vec<u32>)],
    pub(crate) thread_count: usize,
}

impl Source<'_> {
    /// Passes all objects and their references to receivers, one for each thread.
    pub(crate) fn each<L: Links + Send>(
        &self,
        phase: &'static str,
        watch: &mut dyn Watch,
        make: impl Fn() -> L,
    ) -> Result<Vec<L>, Error> {
        let next = AtomicUsize::new(0);
        let failed = AtomicBool::new(false);
        let total: u64 = self.batches.iter().map(|batch| batch.bytes).sum();
        let work = |links: L, progress: &mut dyn FnMut(usize)| -> io::Result<L> {
            let mut walker = Walker::new(*self, links);
            let mut buffer = Vec::new();
            while !failed.load(Ordering::Relaxed) {
                let index = next.fetch_add(1, Ordering::Relaxed);
                let Some(batch) = self.batches.get(index) else { break };
                progress(index);
                let walked =
                    batch::walk(self.input, self.id_bytes, batch, &mut buffer, &mut walker);
                if walked.is_err() {
                    failed.store(true, Ordering::Relaxed);
                }
                walked?;
            }
            Ok(walker.links)
        };
        let mut first = make();
        self.each_special(&mut first);
        let others: Vec<L> = (1..self.thread_count).map(|_| make()).collect();
        let results = thread::scope(|scope| {
            let work = &work;
            let threads: Vec<_> = others
                .into_iter()
                .map(|links| scope.spawn(move || work(links, &mut |_| {})))
                .collect();
            let here = work(first, &mut |index| {
                watch.progress(phase, total / self.batches.len() as u64 * index as u64, total);
            });
            let mut results = vec![here];
            for thread in threads {
                results.push(match thread.join() {
                    Ok(result) => result,
                    Err(panic) => std::panic::resume_unwind(panic),
                });
            }
            results
        });
        Ok(results.into_iter().collect::<io::Result<Vec<L>>>()?)
    }

    /// Passes the objects that represent classes, and the objects that threads hold, to a receiver.
    fn each_special<L: Links>(&self, links: &mut L) {
        for &(object, class) in &self.model.class_objects {
            let head = ObjectHead { content: 0, id: self.ids.address(object), trace: 0 };
            links.object(object, self.model.of_classes, 0, head);
            if L::HAS_LINKS {
                self.of_class(class, &mut |address| self.link(links, object, address));
            }
        }
        for (thread, locals) in self.locals {
            locals.iter().for_each(|&local| links.link(*thread, local));
        }
    }

    /// Calls `each` with the addresses that a class refers to.
    fn of_class(&self, class: u32, each: &mut dyn FnMut(u64)) {
        let refs = &self.model.refs[class as usize];
        for address in [refs.superclass, refs.loader, refs.signers, refs.domain] {
            each(address);
        }
        refs.constants.iter().for_each(|&(_, address)| each(address));
        for field in &self.model.classes[class as usize].statics {
            if let Value::Reference(address) = field.value {
                each(address);
            }
        }
    }

    #[inline]
    fn link(&self, links: &mut impl Links, from: u32, address: u64) {
        if address == 0 {
            return;
        }
        match self.ids.find(address) {
            Some(to) => links.link(from, to),
            None => links.dangling(from, address),
        }
    }
}

/// Finds the references in the objects of batches.
struct Walker<'a, L> {
    source: Source<'a>,
    links: L,
    recent: Box<[(u64, u32); RECENT]>,
    /// The array of references at hand.
    array: u32,
}

impl<'a, L: Links> Walker<'a, L> {
    fn new(source: Source<'a>, links: L) -> Self {
        let recent = Box::new([(u64::MAX, 0); RECENT]);
        Self { source, links, recent, array: 0 }
    }

    #[inline]
    fn class(&mut self, id: u64) -> u32 {
        let slot = (id >> 3 ^ id >> 11) as usize % RECENT;
        let (recent, index) = self.recent[slot];
        if recent == id { index } else { self.find_class(id, slot) }
    }

    #[cold]
    fn find_class(&mut self, id: u64, slot: usize) -> u32 {
        let model = self.source.model;
        let index = model.by_address.get(&id).copied().unwrap_or(model.of_classes);
        self.recent[slot] = (id, index);
        index
    }
}

impl<L: Links> Objects for Walker<'_, L> {
    #[inline]
    fn instance(&mut self, head: ObjectHead, class: u64, values: &[u8]) {
        let Some(object) = self.source.ids.find(head.id) else { return };
        let class = self.class(class);
        self.links.object(object, class, 0, head);
        if !L::HAS_LINKS {
            return;
        }
        let shape = &self.source.model.shapes[class as usize];
        let id_bytes = self.source.id_bytes;
        for &at in &shape.references {
            let Some(id) = values.get(at as usize..at as usize + id_bytes) else { continue };
            self.source.link(&mut self.links, object, number(id));
        }
        if let Some((at, kind)) = shape.referent
            && let Some(id) = values.get(at as usize..at as usize + id_bytes)
        {
            let address = number(id);
            match self.source.ids.find(address) {
                Some(to) => self.links.left_out(object, to, kind),
                None if address == 0 => {}
                None => self.links.dangling(object, address),
            }
        }
        if let Some(to) = shape.class_object {
            self.links.link(object, to);
        }
    }

    fn references(&mut self, head: ObjectHead, class: u64, length: u32) {
        let Some(object) = self.source.ids.find(head.id) else { return };
        let class = self.class(class);
        self.array = object;
        self.links.object(object, class, length, head);
        if let Some(to) = self.source.model.shapes[class as usize].class_object {
            self.links.link(object, to);
        }
    }

    fn elements(&mut self, _first: u64, ids: &[u8]) {
        if !L::HAS_LINKS {
            return;
        }
        for id in ids.chunks_exact(self.source.id_bytes) {
            self.source.link(&mut self.links, self.array, number(id));
        }
    }

    #[inline]
    fn primitives(
        &mut self,
        head: ObjectHead,
        element: FieldType,
        length: u32,
        _has_content: bool,
    ) {
        let Some(object) = self.source.ids.find(head.id) else { return };
        let class = self.source.model.primitives[usize::from(element.to_hprof())];
        self.links.object(object, class, length, head);
    }
}
