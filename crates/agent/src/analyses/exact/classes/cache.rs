//! The cache of changed classes: those of the JDK that every program loads before it begins are the
//! same in each run, but for the suffix of perk's names.
//!
//! The first JVM of a kind keeps them in a file, whose key names the build of the JDK, that of perk
//! and the kind of probes. The later ones take them from there. The numbers of methods in them are
//! those of the first JVM: its table of methods is in the file, too
//! ([`KeptMethods`](crate::recorder::KeptMethods)).

mod file;
mod folder;

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use perk_instrument::{ClassFile, Names, Probes};
use perk_jvm::Image;
use perk_jvm::os;
use perk_jvm::sync::lock;

use self::file::{DamageError, KeptClasses, NewClasses, fingerprint};
use self::folder::Place;
use crate::recorder::{KeptMethods, Recorder};

/// The cache; see the module.
#[derive(Debug)]
pub(super) struct ClassCache {
    state: Mutex<State>,
    /// Whether the state is other than [`State::Closed`].
    is_open: AtomicBool,
    image: Option<&'static Image>,
}

#[derive(Debug)]
enum State {
    /// Classes are taken from a file.
    Used(Place, KeptClasses),
    /// There is no file. The classes are kept for one.
    Filled { place: Place, key: String, classes: NewClasses },
    /// The program runs, or nothing is kept.
    Closed,
}

/// A class from the cache.
#[derive(Debug)]
pub(super) struct CacheHit {
    /// The changed file; `None` if it stays as it is.
    pub(super) bytes: Option<Vec<u8>>,
    /// The number of methods with probes.
    pub(super) method_count: usize,
}

impl ClassCache {
    /// Returns a cache of nothing.
    pub(super) fn closed() -> Self {
        Self { state: Mutex::new(State::Closed), is_open: AtomicBool::new(false), image: None }
    }

    /// Opens the cache for this JVM and these probes. The methods of its classes get their numbers.
    pub(super) fn open(
        image: &'static Image,
        probes: Probes,
        with_calls: bool,
        recorder: &Mutex<Recorder>,
    ) -> Self {
        let state = state(image, probes, with_calls, recorder).unwrap_or(State::Closed);
        let is_open = !matches!(state, State::Closed);
        Self { state: Mutex::new(state), is_open: AtomicBool::new(is_open), image: Some(image) }
    }

    /// Returns a class as it was kept.
    pub(super) fn find(&self, bytes: &[u8], names: Names) -> Option<CacheHit> {
        if !self.is_open.load(Relaxed) {
            return None;
        }
        let mut state = lock(&self.state);
        let State::Used(place, classes) = &*state else { return None };
        match classes.find(fingerprint(bytes), bytes.len())? {
            Ok(class) => {
                let changed = class.with_suffix(names.of("").as_bytes());
                Some(CacheHit { bytes: changed, method_count: class.method_count })
            }
            Err(DamageError) => {
                place.remove();
                self.close(&mut state);
                None
            }
        }
    }

    /// Keeps a class with its probes; `changed` is `None` if it stays as it is. After the start, the
    /// first class of another module than java.base ends the work of the cache: the program's or a
    /// tool's.
    pub(super) fn keep(
        &self,
        recorder: &Mutex<Recorder>,
        names: Names,
        original: &[u8],
        (changed, method_count): (Option<&[u8]>, usize),
    ) {
        if !self.is_open.load(Relaxed) {
            return;
        }
        let class = ClassFile::parse(original);
        let name = class.as_ref().ok().and_then(|class| class.name().ok());
        let Some((image, name)) = self.image.zip(name) else { return };
        let has_begun = lock(recorder).has_begun();
        let mut state = lock(&self.state);
        if has_begun && !image.is_of_base(name) {
            if let State::Filled { place, key, classes } = &*state {
                let methods = lock(recorder).methods_to_keep();
                place.write(&classes.file(key, &methods, names.of("").as_bytes()));
            }
            self.close(&mut state);
        } else if let State::Filled { classes, .. } = &mut *state {
            match image.class(name) {
                Some(of_jdk) if of_jdk == original => classes.add(original, changed, method_count),
                // The JVM's classes are not those of the JDK, and callers may depend on that.
                Some(_) => self.close(&mut state),
                None => {}
            }
        }
    }

    fn close(&self, state: &mut State) {
        *state = State::Closed;
        self.is_open.store(false, Relaxed);
    }
}

fn state(
    image: &Image,
    probes: Probes,
    with_calls: bool,
    recorder: &Mutex<Recorder>,
) -> Option<State> {
    if !lock(recorder).may_keep_methods() {
        return None;
    }
    let key = key(image, probes, with_calls)?;
    let [first, second] = fingerprint(key.as_bytes());
    let place = Place::find(&format!("{first:016x}{second:016x}"))?;
    let kept = place.read().and_then(|bytes| {
        let (classes, methods) = KeptClasses::read(bytes, &key)?;
        Some((classes, KeptMethods::new(methods)?))
    });
    Some(match kept {
        Some((classes, methods)) => {
            lock(recorder).keep_methods(methods);
            State::Used(place, classes)
        }
        None => State::Filled { place, key, classes: NewClasses::default() },
    })
}

/// Returns all that the changed classes depend on.
fn key(image: &Image, probes: Probes, with_calls: bool) -> Option<String> {
    let agent = os::build_of(&os::own_library()?)?;
    let (version, jdk) = (env!("CARGO_PKG_VERSION"), image.build());
    let probes = Probes { names: Names::PLAIN, ..probes };
    Some(format!("{version} {agent}\n{jdk}\n{probes:?} {with_calls}"))
}
