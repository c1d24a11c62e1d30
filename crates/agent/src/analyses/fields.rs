//! The Shared Fields Analysis: which fields of which objects are read and written by the thread
//! that allocated the object, and by others.
//!
//! 1. Probes at the instructions that access fields and components, and at those that allocate,
//!    call the helper class ([`natives`]).
//! 2. The helper counts in native memory, where each object has a record ([`records`]). It knows
//!    where the counters of a field are from its class ([`classes`]), and the owner from the state
//!    of the thread ([`threads`]).
//! 3. A thread of the agent finds the records of dead objects ([`sweep`]) and writes them
//!    ([`writer`]), so that their memory is used again; all others are written at the end.

mod classes;
mod extended;
mod interception;
mod natives;
mod records;
mod sweep;
mod threads;
mod writer;

use std::collections::hash_map::Entry;
use std::ffi::c_void;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Condvar, Mutex, OnceLock};
use std::time::Duration;

use perk_control::intrinsics::CodeMetric;
use perk_control::options::SiteIndex;
use perk_instrument::fields::CLASS_RECORDS;
use perk_instrument::{ClassFile, MethodName, Methods, Names, Probes, SitePlace, instrument};
use perk_jvm::guard::{Feature, contain, uncounted};
use perk_jvm::hook;
use perk_jvm::memory;
use perk_jvm::os;
use perk_jvm::probes;
use perk_jvm::sync::lock;
use perk_jvm::{Global, Headers, Jni, Local, LongField, MethodRef, ObjectRef};
use perk_jvmti_sys::jni_sys::{JNIEnv, jvalue};
use perk_jvmti_sys::{Capability, JvmtiEnv};
use perk_profile::mutf8;
use rustc_hash::FxHashMap;

use self::classes::{Classes, ExtendedUnits};
use self::extended::ExtendedFields;
use self::records::{Record, Records, TAGGED};
use self::threads::States;
use self::writer::{Site, Writer};
use super::{Analysis, Event, Needs};
use crate::common::Common;
use crate::intrinsics;
use crate::output::Output;
use crate::random;
use crate::selection::{self, Selection};
use crate::threads::LiveThread;

/// The time for which a thread without room for a record waits for a sweep.
const LONGEST_WAIT: Duration = Duration::from_secs(10);
/// The number of sweeps that it asks for.
const MOST_AWAITED: usize = 3;
/// The time for which the end of the program waits for the last sweep.
const LONGEST_END: Duration = Duration::from_secs(60);

/// The analysis; see the module.
#[derive(Debug)]
pub(crate) struct SharedFields {
    common: &'static Common,
    probes: Probes,
    selection: Selection,
    records: Records,
    classes: Classes,
    sites: Mutex<Sites>,
    writer: Mutex<Writer>,
    /// The accesses without an instruction, if they are counted.
    extended: Option<ExtendedFields>,
    helper: OnceLock<&'static Global>,
    states: OnceLock<States>,
    class_field: OnceLock<LongField>,
    headers: OnceLock<Option<Headers>>,
    sweeper: Sweeper,
    /// The methods that lack probes, each with the reason.
    skipped: Mutex<Vec<String>>,
    /// The accesses to fields that the JVM does not show to agents.
    hidden_count: AtomicU64,
    is_over: AtomicBool,
}

/// The sites by their numbers, which begin with 1.
#[derive(Debug, Default)]
struct Sites {
    all: Vec<Site>,
    numbers: FxHashMap<Site, u32>,
}

/// The requests to the thread that sweeps.
#[derive(Debug, Default)]
struct Sweeper {
    state: Mutex<SweeperState>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct SweeperState {
    is_wanted: bool,
    /// Whether garbage is collected before.
    collects: bool,
    is_sweeping: bool,
    is_stopped: bool,
    /// The number of sweeps so far.
    count: u64,
}

impl SharedFields {
    /// Makes the analysis, which writes to this file.
    ///
    /// # Errors
    /// A fault, in one line.
    pub(crate) fn new(common: &'static Common, output: Output) -> Result<Self, String> {
        let options = &common.options;
        let names = random::names();
        Ok(Self {
            common,
            probes: Probes {
                object_record: true,
                accesses: true,
                extended: options.extended_accesses,
                ..Probes::least(names)
            },
            selection: Selection::new(&options.include, &options.exclude),
            records: Records::new(options.record_limit_bytes()).map_err(|error| {
                format!("perk has no memory for the records of objects: {error}")
            })?,
            classes: Classes::new(common, names)?,
            sites: Mutex::default(),
            writer: Mutex::new(Writer::new(output, options.aggregate)),
            extended: options.extended_accesses.then(ExtendedFields::new).transpose()?,
            helper: OnceLock::new(),
            states: OnceLock::new(),
            class_field: OnceLock::new(),
            headers: OnceLock::new(),
            sweeper: Sweeper::default(),
            skipped: Mutex::default(),
            hidden_count: AtomicU64::new(0),
            is_over: AtomicBool::new(false),
        })
    }

    fn names(&self) -> Names {
        self.probes.names
    }

    fn helper(&self) -> Option<&'static Global> {
        self.helper.get().copied()
    }

    /// Returns the unit of the counters of the field at an offset in objects of a class.
    fn unit_at(&self, jni: Jni<'_>, class: &ObjectRef<'_>, offset: u64) -> Option<u32> {
        let (extended, helper) = (self.extended.as_ref()?, self.helper()?);
        let find = |units: &ExtendedUnits| units.by_offset.get(&offset).copied();
        extended.unit(jni, &self.classes, helper, class, find)
    }

    /// Returns the unit of the counters of the field with an id of the JVM.
    fn unit_of(&self, jni: Jni<'_>, class: &ObjectRef<'_>, id: usize) -> Option<u32> {
        let (extended, helper) = (self.extended.as_ref()?, self.helper()?);
        let find = |units: &ExtendedUnits| units.by_id.get(&id).copied();
        extended.unit(jni, &self.classes, helper, class, find)
    }

    /// Returns the way to read headers; `None` if the JVM's are not known.
    fn headers(&self) -> Option<Headers> {
        *self.headers.get()?
    }

    /// Starts the probes' counting; the program is about to begin.
    fn start(&'static self, jni: Jni<'_>) -> Result<(), String> {
        let helper = self.helper().ok_or("no helper class")?;
        if !probes::is_bound() {
            return Err("its native methods could not be bound".to_owned());
        }
        let states = States::new(jni, helper, self.names());
        let _ = self.states.set(states.ok_or("no fields for the state of threads")?);
        let class = jni.find_class(c"java/lang/Class").ok_or("no java.lang.Class")?;
        let field = std::ffi::CString::new(self.names().of(CLASS_RECORDS));
        let field = field.ok().and_then(|field| jni.long_field(&class, &field));
        let _ = self.class_field.set(field.ok_or("no field in java.lang.Class")?);
        // SAFETY: the method does not have arguments.
        let shift = unsafe { jni.call_static_long(helper, c"hashShift", c"()J", &[]) };
        let shift = shift.and_then(|shift| u32::try_from(shift).ok()).unwrap_or(0);
        let _ = self.headers.set(Headers::find(self.common.jvmti, jni, shift));
        let thread = self.common.threads.new_own(jni, c"perk fields")?;
        let started = self.common.jvmti.run_agent_thread(&*thread, sweeper_main, self);
        started.map_err(|error| format!("RunAgentThread: {error}"))?;
        hook::overtaken();
        if self.common.options.extended_accesses {
            intrinsics::warn(self.common.jvmti, CodeMetric::Accesses);
        }
        let arguments = [
            jvalue { j: self.records.address() as i64 },
            jvalue { j: self.classes.places() as i64 },
            jvalue { j: self.extended.as_ref().map_or(0, ExtendedFields::address) as i64 },
            jvalue { i: shift as i32 },
        ];
        // SAFETY: the arguments are those of the helper's method.
        let started = unsafe { jni.call_static_long(helper, c"start", c"(JJJI)J", &arguments) };
        started.ok_or("the helper class does not start")?;
        match self.extended {
            Some(_) => interception::begin(jni, self),
            None => Ok(()),
        }
    }

    /// Begins the calling thread. Returns its state.
    fn begin_thread<'a>(&self, jni: Jni<'a>, thread: &ObjectRef<'_>) -> Option<Local<'a>> {
        self.states.get()?.begin(jni, thread)
    }

    /// Gives a thread a new slab and takes a record of it. Returns its index; 0 if there is no room.
    fn refill(&self, jni: Jni<'_>, state: &ObjectRef<'_>, units: u32) -> u32 {
        let Some(states) = self.states.get() else { return 0 };
        let mut last = states.slab(jni, state);
        let mut awaited_count = 0;
        while awaited_count < MOST_AWAITED {
            let (slab, should_sweep) = self.records.refill(last, units);
            if let Some(mut slab) = slab {
                if should_sweep {
                    self.sweeper.want();
                }
                // A sweep that is running may have begun without a garbage collection.
                for _ in 0..MOST_AWAITED {
                    if !self.records.is_overtaken() {
                        break;
                    }
                    self.sweeper.wait(LONGEST_WAIT);
                }
                slab.free += units;
                states.set_slab(jni, state, slab);
                return slab.begin;
            }
            last = Default::default();
            states.set_slab(jni, state, last);
            let waited = should_sweep.then(|| self.sweeper.wait(LONGEST_WAIT));
            let Some(is_new) = waited.flatten() else { return 0 };
            awaited_count += usize::from(is_new);
        }
        self.records.set_full();
        0
    }

    /// Gives a class its data.
    fn class_data(&self, jni: Jni<'_>, class: &ObjectRef<'_>) -> i64 {
        let (Some(helper), Some(field)) = (self.helper(), self.class_field.get()) else { return 0 };
        let data = self.classes.data(jni, helper, class);
        // SAFETY: the field is java.lang.Class's, and this is a class.
        unsafe { jni.set_long(class, *field, data) };
        data
    }

    /// Returns a class with probes; `None` leaves it as it is.
    fn change(&self, bytes: &[u8], probes: Probes, is_hidden: bool) -> Option<Vec<u8>> {
        let hidden = is_hidden.then(|| ClassFile::parse(bytes).ok()).flatten();
        let hidden = hidden.as_ref().and_then(|class| class.name().ok());
        let mut view = View { fields: self, hidden, named: FxHashMap::default() };
        match instrument(bytes, probes, &mut view) {
            Ok(done) => {
                lock(&self.skipped).extend(probes::skipped_methods(bytes, &done.skipped));
                done.bytes
            }
            // The JVM will say what is wrong with it.
            Err(error) => {
                lock(&self.skipped).push(format!("a class file: {error}"));
                None
            }
        }
    }

    fn resolve(&self, jni: Jni<'_>, object: &ObjectRef<'_>, field: u32) -> u64 {
        let resolved = self.helper().map(|it| self.classes.resolve(jni, it, object, field));
        let place = resolved.unwrap_or(0);
        if place == 0 {
            self.hidden_count.fetch_add(1, Relaxed);
        }
        place
    }

    /// Returns the record that an object has by its tag: the given one, if it has none yet.
    fn tag(&self, object: &ObjectRef<'_>, index: u32) -> u32 {
        // Two threads may do this at once.
        let _alone = lock(&self.sites);
        let tag = self.common.jvmti.tag(object);
        if tag & TAGGED != 0 && tag > 0 {
            return tag as u32;
        }
        if index != 0 && tag == 0 {
            self.common.jvmti.set_tag(object, TAGGED | i64::from(index));
        }
        index
    }

    /// Adds a record to those that are written next.
    fn write(&self, record: Record<'_>) {
        if lock(&self.writer).add(record) {
            self.flush();
        }
    }

    /// Writes the records that were added.
    fn flush(&self) {
        let (classes, sites) = (&self.classes, lock(&self.sites).all.clone());
        let site = |number: u32| sites.get((number as usize).checked_sub(1)?).map(Site::text);
        lock(&self.writer).flush(classes, site);
    }

    /// Writes all records that are left, and ends the file.
    fn finish(&self) {
        if self.is_over.swap(true, Relaxed) {
            return;
        }
        self.sweeper.stop();
        let (settled, in_use) = self.records.all();
        for range in settled.into_iter().chain(in_use) {
            self.records.of(range).for_each(|record| self.write(record));
        }
        self.flush();
        lock(&self.writer).finish();
        selection::warn_of_missing("accesses", &lock(&self.skipped), &self.selection);
        let no_room = match memory::is_short() {
            false => "the records of objects have reached memlimit",
            true => "there is no address space for more records of objects",
        };
        for (count, reason) in [
            (self.records.lost_count(), no_room),
            (self.hidden_count.load(Relaxed), "the JVM does not show these fields to agents"),
        ] {
            if count > 0 {
                os::say(&format!(
                    "HPROF WARNING: {count} accesses to fields are not in the file: {reason}\n"
                ));
            }
        }
    }
}

impl Sweeper {
    /// Asks for a sweep.
    fn want(&self) {
        lock(&self.state).is_wanted = true;
        self.changed.notify_all();
    }

    /// Asks for a sweep, unless one is running, and waits until it has ended. Returns whether it is a
    /// new one; `None` if it has not ended.
    fn wait(&self, longest: Duration) -> Option<bool> {
        let mut state = lock(&self.state);
        let is_new = !state.is_sweeping;
        state.is_wanted |= is_new;
        state.collects |= is_new;
        self.changed.notify_all();
        let count = state.count;
        let goes_on = |state: &mut SweeperState| state.count == count && !state.is_stopped;
        let waited = self.changed.wait_timeout_while(state, longest, goes_on);
        waited.is_ok_and(|(state, _)| state.count != count).then_some(is_new)
    }

    /// Ends the sweeps. Waits for the one that is running.
    fn stop(&self) {
        let mut state = lock(&self.state);
        state.is_stopped = true;
        self.changed.notify_all();
        let is_sweeping = |state: &mut SweeperState| state.is_sweeping;
        let _ = self.changed.wait_timeout_while(state, LONGEST_END, is_sweeping);
    }

    /// Runs `sweep` whenever it is wanted, until it is stopped. It is passed whether to collect
    /// garbage before.
    fn run(&self, sweep: impl Fn(bool)) {
        loop {
            let state = lock(&self.state);
            let waits = |state: &mut SweeperState| !state.is_wanted && !state.is_stopped;
            let Ok(mut state) = self.changed.wait_while(state, waits) else { return };
            if state.is_stopped {
                return;
            }
            (state.is_wanted, state.is_sweeping) = (false, true);
            let collects = std::mem::take(&mut state.collects);
            drop(state);
            sweep(collects);
            state = lock(&self.state);
            state.count += 1;
            state.is_sweeping = false;
            drop(state);
            self.changed.notify_all();
        }
    }
}

/// The sweeping thread's entry.
unsafe extern "system" fn sweeper_main(_: JvmtiEnv, env: *mut JNIEnv, fields: *mut c_void) {
    // SAFETY: `start` passed a reference that lives as long as the process.
    let fields: &'static SharedFields = unsafe { &*fields.cast_const().cast() };
    // SAFETY: the JVM gives the agent thread its own environment, valid until we return.
    let jni = unsafe { Jni::from_raw(env) };
    let sweep = |collects| {
        // A walk of the heap also reaches dead objects that the JVM has not collected yet.
        if collects {
            fields.common.jvmti.force_garbage_collection();
        }
        fields.sweep(jni);
        if collects {
            fields.records.collected();
        }
    };
    uncounted(|| contain(Feature::Probes, || fields.sweeper.run(sweep)));
}

/// The view of one class file on the analysis.
struct View<'a> {
    fields: &'a SharedFields,
    /// The name of the class if it is hidden, as its own instructions have it.
    hidden: Option<&'a [u8]>,
    /// The numbers of the fields that the class names.
    named: FxHashMap<[Vec<u8>; 3], u32>,
}

impl Methods for View<'_> {
    fn number(&mut self, _: &MethodName<'_>) -> u32 {
        0
    }

    fn leaf(&mut self, _: &[u8], _: &[u8], _: &[u8], _: bool) -> bool {
        false
    }

    fn selected(&mut self, class: &[u8], method: &[u8]) -> bool {
        self.fields.selection.selects(class, method)
    }

    fn field(&mut self, owner: &[u8], name: &[u8], descriptor: &[u8]) -> u32 {
        // No other class can name a hidden class, so the object is of the class itself.
        let owner = if self.hidden == Some(owner) { Classes::OF_OBJECT } else { owner };
        let key = [owner, name, descriptor].map(<[u8]>::to_vec);
        let classes = &self.fields.classes;
        *self.named.entry(key).or_insert_with(|| classes.name_field(owner, name, descriptor))
    }

    fn assigned(&mut self, owner: &[u8], name: &[u8], descriptor: &[u8]) {
        self.fields.classes.assigned(owner, name, descriptor);
    }

    fn site(&mut self, method: &MethodName<'_>, place: Option<SitePlace>) -> u32 {
        let index = place.map_or(-1, |place| match self.fields.common.options.site_index {
            SiteIndex::Instruction => place.instruction as i32,
            SiteIndex::Bci => place.bci as i32,
            SiteIndex::Disl2012 => place.disl2012 as i32,
        });
        let text = |text: &[u8]| mutf8::decode(text).into_owned();
        let site = Site {
            class: text(method.class),
            method: text(method.name),
            descriptor: text(method.descriptor),
            index,
        };
        let Sites { all, numbers } = &mut *lock(&self.fields.sites);
        match numbers.entry(site) {
            Entry::Occupied(known) => *known.get(),
            Entry::Vacant(free) => {
                all.push(free.key().clone());
                *free.insert(all.len() as u32)
            }
        }
    }
}

impl Analysis for SharedFields {
    fn name(&self) -> Option<&'static str> {
        Some("fields")
    }

    fn feature(&self) -> Feature {
        Feature::Probes
    }

    fn task(&self) -> &'static str {
        "count accesses to fields"
    }

    fn needs(&self) -> Needs {
        Needs {
            events: vec![
                Event::VmStart,
                Event::ClassFile,
                Event::VirtualThreadEnd,
                Event::NativeBind,
            ],
            capabilities: vec![Capability::CanGenerateEarlyVmstart],
            ..Needs::default()
        }
    }

    fn vm_started(&'static self, jni: Jni<'_>) -> Result<(), String> {
        let helpers = vec![natives::helper(self)];
        for helper in probes::define_helpers(self.common.jvmti, jni, self.names(), helpers)? {
            let _ = self.helper.set(helper);
        }
        Ok(())
    }

    fn prepare(&'static self, _: Jni<'_>) {
        if let Some(helper) = self.helper() {
            self.common.set_helpers([helper]);
        }
    }

    fn begin(&'static self, jni: Jni<'_>) -> Result<(), String> {
        self.start(jni)
    }

    fn thread_ended(&self, jni: Jni<'_>, thread: ObjectRef<'_>, _: Option<&LiveThread>) {
        if let Some(slab) = self.states.get().and_then(|states| states.end(jni, &thread)) {
            self.records.leave(slab);
        }
    }

    fn virtual_thread_ended(&self, jni: Jni<'_>, thread: ObjectRef<'_>) {
        self.thread_ended(jni, thread, None);
    }

    fn class_file(&self, bytes: &[u8], redefined: Option<ObjectRef<'_>>) -> Option<Vec<u8>> {
        if hook::is_done(bytes) {
            return None;
        }
        let has_record = probes::kept_record(self.common.jvmti, self.names(), redefined);
        let probes = Probes { object_record: has_record.unwrap_or(true), ..self.probes };
        self.change(bytes, probes, false)
    }

    fn native_bound(
        &'static self,
        jni: Jni<'_>,
        method: MethodRef,
        function: *mut c_void,
    ) -> Option<*mut c_void> {
        let change = |class: &[u8]| self.change(class, self.probes, true);
        // SAFETY: `native_method_bind` passes the function that the JVM is about to bind to the method.
        unsafe { probes::bind_makers(self.common.jvmti, jni, method, function, change) }
    }

    fn finish(&self) {
        SharedFields::finish(self);
    }
}
