//! Parking: the locks and queues of `java.util.concurrent` do not have monitors, their threads
//! park.
//!
//! A platform thread parks in the native method `Unsafe.park`. The JVM reports when this method is
//! bound, so a function of perk takes its place and calls it. In a program that runs already, the
//! function is bound to the method anew, and the JVM's own at the end. A virtual thread unmounts instead,
//! which HotSpot reports by an event (JDK 21 and later). The object for which a thread parks is in
//! the field that `LockSupport` sets for such tools. No class is changed, and threads that do not
//! park have no cost.

use std::cell::OnceCell;
use std::collections::hash_map::Entry;
use std::ffi::c_void;
use std::ptr::{from_ref, null_mut};
use std::sync::atomic::{AtomicPtr, Ordering::Relaxed, Ordering::SeqCst};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use perk_jvm::binder;
use perk_jvm::guard::{Feature, brief};
use perk_jvm::sync::lock;
use perk_jvm::{Global, IntField, Jni, Local, MethodRef, ObjectField, ObjectRef, Reference};
use perk_jvmti_sys::jni_sys::{JNIEnv, JNINativeMethod, jboolean, jlong, jobject};
use perk_jvmti_sys::{JVMTI_EVENT_NATIVE_METHOD_BIND, JvmtiEnv};
use perk_profile::{ClassId, LockKind};

use super::sampled::ParkStart;
use super::wait::ThreadWait;
use super::{Monitors, WaitGoal};
use crate::common::Life;
use crate::roster::Slot;

/// `Unsafe.park(boolean isAbsolute, long time)`
type Park = unsafe extern "system" fn(*mut JNIEnv, jobject, jboolean, jlong);

/// The time for which a thread parks while the JVM's own function is not known yet.
const UNKNOWN_PAUSE: Duration = Duration::from_millis(1);

/// The JVM's own function, once that is known.
static PARK: OnceLock<Park> = OnceLock::new();
/// The analysis that parking is measured for.
static MONITORS: AtomicPtr<Monitors> = AtomicPtr::new(null_mut());

fn current() -> Option<&'static Monitors> {
    // SAFETY: analyses are never freed.
    unsafe { MONITORS.load(SeqCst).as_ref() }
}

/// Binds `Unsafe.park` to a function, in a program that runs already.
fn bind(jni: Jni<'_>, function: Park) {
    // A local reference is not good in the frame below.
    let class = jni.find_class(c"jdk/internal/misc/Unsafe").and_then(|class| jni.global(&class));
    let Some(class) = class else { return };
    let native = JNINativeMethod {
        name: c"park".as_ptr().cast_mut(),
        signature: c"(ZJ)V".as_ptr().cast_mut(),
        fnPtr: function as *mut c_void,
    };
    // The JVM prints a warning for a caller that is not of the class's loader.
    binder::call(jni, &mut |jni| {
        // SAFETY: the function is for this method, and this library is never unloaded.
        let _ = unsafe { jni.register_natives(&class, &[native]) };
        if PARK.get().is_none() {
            // The class binds its native methods again: the JVM reports the one that it has for this.
            jni.call_static(&class, c"registerNatives");
        }
    });
    jni.delete(class);
}

/// The fields and classes of the JDK that are used.
#[derive(Debug)]
pub(crate) struct Parking {
    /// `Thread.parkBlocker`
    blocker: ObjectField,
    /// `AbstractOwnableSynchronizer.exclusiveOwnerThread`
    owner: ObjectField,
    /// Blockers of these classes are locks.
    ownable: Global,
    stamped: Option<Global>,
    /// The counts of a lock's entries by its owner, if the JDK has these classes.
    entries: Option<Entries>,
    /// The placeholder for an unknown blocker.
    unknown: Global,
    /// The states of virtual threads, if there are any.
    states: Option<States>,
}

/// The states of virtual threads that park.
#[derive(Debug)]
struct States {
    /// `VirtualThread`
    class: Global,
    /// `VirtualThread.state`
    state: IntField,
    /// Its values, which differ between JDKs.
    parking: [Option<i32>; 2],
}

impl States {
    fn find(jni: Jni<'_>) -> Option<Self> {
        let class = jni.find_class(c"java/lang/VirtualThread")?;
        let parking = [c"PARKING", c"TIMED_PARKING"].map(|name| jni.static_int(&class, name));
        let (state, class) = (jni.int_field(&class, c"state")?, jni.global(&class)?);
        Some(Self { class, state, parking })
    }

    /// Returns whether a thread parks. One that ends, yields or waits for a monitor also leaves its
    /// carrier.
    fn is_parking(&self, jni: Jni<'_>, thread: &(impl Reference + ?Sized)) -> bool {
        // SAFETY: the thread is checked to be of the field's class.
        let state = || unsafe { jni.get_int(thread, self.state) };
        jni.is_instance(thread, &self.class) && self.parking.contains(&Some(state()))
    }
}

/// The entry counts of the JDK's reentrant locks.
#[derive(Debug)]
struct Entries {
    /// `AbstractQueuedSynchronizer.state`
    state: IntField,
    /// `ReentrantLock.Sync`: the state is the count.
    lock: Global,
    /// `ReentrantReadWriteLock.Sync`: the lower half of the state is the writer's count.
    read_write_lock: Global,
}

/// How the parking of a thread that keeps its carrier is measured.
enum ParkingMode {
    /// It is one of the threads that wait.
    Noted,
    /// It is a sample, or not, when it has ended.
    Sampled(Slot, ParkStart),
}

impl Entries {
    fn find(jni: Jni<'_>) -> Option<Self> {
        let queued = jni.find_class(c"java/util/concurrent/locks/AbstractQueuedSynchronizer")?;
        let of = |name| jni.find_class(name).and_then(|class| jni.global(&class));
        Some(Self {
            state: jni.int_field(&queued, c"state")?,
            lock: of(c"java/util/concurrent/locks/ReentrantLock$Sync")?,
            read_write_lock: of(c"java/util/concurrent/locks/ReentrantReadWriteLock$Sync")?,
        })
    }

    fn count(&self, jni: Jni<'_>, lock: &(impl Reference + ?Sized)) -> Option<u32> {
        // SAFETY: the object is checked to be of the field's class or a subclass.
        let state = || unsafe { jni.get_int(lock, self.state) }.cast_unsigned();
        if jni.is_instance(lock, &self.lock) {
            Some(state())
        } else if jni.is_instance(lock, &self.read_write_lock) {
            Some(state() & 0xFFFF)
        } else {
            None
        }
    }
}

impl Parking {
    fn find(jni: Jni<'_>) -> Option<Self> {
        let thread = jni.find_class(c"java/lang/Thread")?;
        let ownable = jni.find_class(c"java/util/concurrent/locks/AbstractOwnableSynchronizer")?;
        let stamped = jni.find_class(c"java/util/concurrent/locks/StampedLock");
        let unknown = jni.find_class(c"java/util/concurrent/locks/LockSupport")?;
        let owner = c"exclusiveOwnerThread";
        Some(Self {
            blocker: jni.object_field(&thread, c"parkBlocker", c"Ljava/lang/Object;")?,
            owner: jni.object_field(&ownable, owner, c"Ljava/lang/Thread;")?,
            ownable: jni.global(&ownable)?,
            stamped: stamped.and_then(|stamped| jni.global(&stamped)),
            entries: Entries::find(jni),
            unknown: jni.global(&unknown)?,
            states: States::find(jni),
        })
    }

    /// Returns the object for which a thread parks, as far as that is known.
    pub(super) fn blocker<'a>(
        &self,
        jni: Jni<'a>,
        thread: &(impl Reference + ?Sized),
    ) -> Option<Local<'a>> {
        // SAFETY: the field is java.lang.Thread's.
        unsafe { jni.get_object(thread, self.blocker) }
    }

    /// Returns the owner of a lock that threads park for; `None` if no thread has it exclusively.
    pub(super) fn owner<'a>(
        &self,
        jni: Jni<'a>,
        lock: &(impl Reference + ?Sized),
    ) -> Option<Local<'a>> {
        // SAFETY: the object is checked to be of the field's class.
        let owner = || unsafe { jni.get_object(lock, self.owner) };
        jni.is_instance(lock, &self.ownable).then(owner).flatten()
    }

    /// Returns how often the owner of a lock has entered it; 0 if its class does not say.
    pub(super) fn entry_count(&self, jni: Jni<'_>, lock: &(impl Reference + ?Sized)) -> u32 {
        self.entries.as_ref().and_then(|entries| entries.count(jni, lock)).unwrap_or(0)
    }

    /// Returns whether a thread parks to acquire a lock or to be notified.
    pub(super) fn what(&self, jni: Jni<'_>, blocker: &(impl Reference + ?Sized)) -> WaitGoal {
        let is_of = |class: &Global| jni.is_instance(blocker, class);
        if is_of(&self.ownable) || self.stamped.as_ref().is_some_and(is_of) {
            WaitGoal::Lock
        } else {
            WaitGoal::Notice
        }
    }
}

impl Monitors {
    /// Begins to measure parking. The JVM must have reported the function of `Unsafe.park`.
    ///
    /// # Errors
    /// The reason why that is not possible, in one line.
    pub(super) fn begin_parking(&self, jni: Jni<'_>) -> Result<(), String> {
        if self.common.life == Life::Attached {
            bind(jni, park);
            MONITORS.store(from_ref(self).cast_mut(), SeqCst);
        }
        if PARK.get().is_none() {
            return Err("this JVM does not report where Unsafe.park is".to_owned());
        }
        let parking = Parking::find(jni).ok_or("this JDK's LockSupport is not as perk knows it")?;
        let _ = self.parking.set(parking);
        let jvmti = self.common.jvmti;
        if jvmti.has_virtual_threads() {
            // SAFETY: the functions are as HotSpot calls them for these events.
            let set = unsafe { jvmti.set_mount_events(virtual_mount, virtual_unmount) };
            set.ok_or("this JVM does not report when virtual threads park")?;
        }
        Ok(())
    }

    /// Measures parking no more: the JVM's own function takes its place again.
    pub(super) fn end_parking(&self, jni: Jni<'_>) {
        let _ = self.common.jvmti.disable(JVMTI_EVENT_NATIVE_METHOD_BIND);
        if let Some(original) = PARK.get() {
            bind(jni, *original);
        }
        MONITORS.store(null_mut(), SeqCst);
    }

    /// Notes that the calling thread parks. Returns how that is measured, if it is.
    fn parks(&self, jni: Jni<'_>) -> Option<ParkingMode> {
        if self.is_paused.load(Relaxed) {
            return None;
        }
        let threads = &self.common.threads;
        let known = self.sampled.as_ref().and_then(|_| threads.slot_of_caller());
        if let Some(slot) = known {
            return self.parks_sampled(slot);
        }
        let parking = self.parking.get()?;
        let thread = self.common.jvmti.current_thread(jni)?;
        if self.sampled.is_some() && !jni.is_virtual(&thread) {
            return self.parks_sampled(threads.slot(jni, &thread)?);
        }
        match parking.blocker(jni, &thread) {
            Some(blocker) => self.parks_for(jni, &thread, &blocker),
            None => self.parks_for_unknown(jni, &thread),
        }
        .map(|_| ParkingMode::Noted)
    }

    /// Notes that the calling thread continues.
    fn parked(&self, jni: Jni<'_>, parked: ParkingMode) {
        match parked {
            ParkingMode::Noted => {
                if let Some(thread) = self.common.jvmti.current_thread(jni) {
                    self.end(jni, &thread, LockKind::Parking, || None);
                }
            }
            ParkingMode::Sampled(slot, begun) => self.parked_sampled(jni, slot, begun),
        }
    }

    /// Notes that the calling virtual thread leaves its carrier, to park if its state or a blocker says so.
    fn unmounts(&self, jni: Jni<'_>, thread: ObjectRef<'_>) {
        let Some(parking) = self.parking.get() else { return };
        if let Some(blocker) = parking.blocker(jni, &thread) {
            self.parks_for(jni, &thread, &blocker);
        } else if parking.states.as_ref().is_some_and(|it| it.is_parking(jni, &thread)) {
            self.parks_for_unknown(jni, &thread);
        }
    }

    /// Notes that the calling thread parks, and nothing says for what: it sleeps, or waits for a socket.
    fn parks_for_unknown(
        &self,
        jni: Jni<'_>,
        thread: &(impl Reference + ?Sized),
    ) -> Option<(Slot, Option<ClassId>)> {
        let unknown = &self.parking.get()?.unknown;
        let lock = (Some(unknown as &dyn Reference), None);
        self.begin(
            jni,
            (thread, jni.is_virtual(thread)),
            lock,
            (LockKind::Parking, WaitGoal::Notice),
        )
    }

    /// Notes that the calling thread parks for an object. Returns its slot and the object's class.
    fn parks_for(
        &self,
        jni: Jni<'_>,
        thread: &(impl Reference + ?Sized),
        blocker: &Local<'_>,
    ) -> Option<(Slot, Option<ClassId>)> {
        let what = self.parking.get()?.what(jni, blocker);
        let class = jni.class_of(blocker)?;
        let lock = (what == WaitGoal::Lock).then_some(blocker as &dyn Reference);
        let class = Some(&class as &dyn Reference);
        self.begin(jni, (thread, jni.is_virtual(thread)), (class, lock), (LockKind::Parking, what))
    }

    /// Returns the function to bind in place of `Unsafe.park`, if that is the native method being
    /// bound.
    pub(super) fn park_bound(
        &'static self,
        jni: Jni<'_>,
        method: MethodRef,
        function: *mut c_void,
    ) -> Option<*mut c_void> {
        let jvmti = self.common.jvmti;
        let (name, signature) = jvmti.method_name(method).ok()?;
        if (name.as_str(), signature.as_str()) != ("park", "(ZJ)V") {
            return None;
        }
        let class = jvmti.declaring_class(jni, method).ok()?;
        if jvmti.class_signature(&class).ok()? != "Ljdk/internal/misc/Unsafe;" {
            return None;
        }
        if function == park as Park as *mut c_void {
            return None;
        }
        // SAFETY: it is the function of the method that has this name and signature.
        let function = unsafe { std::mem::transmute::<*mut c_void, Park>(function) };
        // Another agent may have bound it in between: then the first one is the JVM's.
        PARK.get_or_init(|| function);
        MONITORS.store(from_ref(self).cast_mut(), SeqCst);
        Some(park as Park as *mut c_void)
    }

    /// Notes that the calling platform thread parks, for what is asked later.
    fn parks_sampled(&self, slot: Slot) -> Option<ParkingMode> {
        let begun = self.sampled.as_ref()?.begin_park();
        self.parked.begins(slot, begun.notice.at);
        self.holders.wait_begins();
        Some(ParkingMode::Sampled(slot, begun))
    }

    /// Notes that the calling platform thread continues.
    fn parked_sampled(&self, jni: Jni<'_>, slot: Slot, begun: ParkStart) {
        let now = Instant::now();
        let is_noted = self.parked.ends(slot);
        let waiting = is_noted.then(|| lock(&self.waiting).remove(&slot)).flatten();
        if let Some(waiting) = waiting {
            let is_booked = waiting.row.is_some();
            waiting.end(jni, &self.common.series, now);
            if is_booked {
                return;
            }
        }
        let (Some(sampled), Some(parking)) = (&self.sampled, self.parking.get()) else { return };
        // Its blocker is there until the method has returned.
        let found = OnceCell::new();
        let find = || {
            let thread = self.common.jvmti.current_thread(jni)?;
            let blocker = parking.blocker(jni, &thread);
            Some((thread, blocker))
        };
        let goal = || match found.get_or_init(find) {
            Some((_, Some(blocker))) => parking.what(jni, blocker),
            _ => WaitGoal::Notice,
        };
        let end = sampled.end_park(begun, now, goal);
        if let (Some((what, weight)), Some(Some((thread, blocker)))) = (end, found.get()) {
            let class = match blocker {
                Some(blocker) => self.class_of(jni, blocker),
                None => Some(self.common.class(&parking.unknown)),
            };
            let wait = (what, weight, now - begun.notice.at);
            self.sample(jni, (thread, slot), wait, || Some((class?, LockKind::Parking)));
        }
    }

    /// Adds the platform threads that park for locks to those that wait.
    pub(super) fn note_parked(&self, jni: Jni<'_>) {
        let (Some(sampled), Some(parking)) = (&self.sampled, self.parking.get()) else { return };
        for park in self.parked.new_parks() {
            let Some(thread) = self.common.threads.find(park.slot) else { continue };
            let Some(blocker) = parking.blocker(jni, &*thread) else { continue };
            if parking.what(jni, &blocker) != WaitGoal::Lock {
                continue;
            }
            let (class, object) = (self.class_of(jni, &blocker), jni.global(&blocker));
            let begun = sampled.begin_at(WaitGoal::Lock, park.begun);
            let lock_class = (class, LockKind::Parking);
            let object = object.map(Arc::new);
            let waiting = ThreadWait::new(lock_class, WaitGoal::Lock, begun, object);
            let mut threads = lock(&self.waiting);
            // The thread may have continued, and wait for something else.
            let ended = match threads.entry(park.slot) {
                Entry::Occupied(_) => Some(waiting),
                Entry::Vacant(place) => {
                    place.insert(waiting);
                    if self.parked.note(park) { None } else { threads.remove(&park.slot) }
                }
            };
            drop(threads);
            if let Some(ended) = ended {
                ended.delete(jni);
            }
        }
    }
}

unsafe extern "system" fn park(
    env: *mut JNIEnv,
    this: jobject,
    is_absolute: jboolean,
    time: jlong,
) {
    let Some(original) = PARK.get() else {
        // It will be known in a moment. A thread may always return from this method for no reason.
        return std::thread::sleep(UNKNOWN_PAUSE);
    };
    // SAFETY: this function replaces the JVM's function, and so it is called like that.
    let jni = unsafe { Jni::from_raw(env) };
    let mut begun = None;
    brief(Feature::Monitors, || {
        begun = current().and_then(|monitors| Some((monitors, monitors.parks(jni)?)));
    });
    // SAFETY: the caller's arguments.
    unsafe { original(env, this, is_absolute, time) };
    if let Some((monitors, parked)) = begun {
        brief(Feature::Monitors, || {
            // A session in a running program may have ended meanwhile.
            if MONITORS.load(SeqCst) == from_ref(monitors).cast_mut() {
                monitors.parked(jni, parked);
            }
        });
    }
}

unsafe extern "C" fn virtual_unmount(_: JvmtiEnv, env: *mut JNIEnv, thread: jobject) {
    brief(Feature::Monitors, || {
        // SAFETY: the JVM passes the calling thread's environment and a valid reference.
        let (jni, thread) = unsafe { (Jni::from_raw(env), ObjectRef::from_raw(thread)) };
        if let (Some(monitors), Some(thread)) = (current(), thread) {
            monitors.common.threads.carries();
            monitors.unmounts(jni, thread);
        }
    });
}

unsafe extern "C" fn virtual_mount(_: JvmtiEnv, env: *mut JNIEnv, thread: jobject) {
    brief(Feature::Monitors, || {
        // SAFETY: the JVM passes the calling thread's environment and a valid reference.
        let (jni, thread) = unsafe { (Jni::from_raw(env), ObjectRef::from_raw(thread)) };
        if let (Some(monitors), Some(thread)) = (current(), thread) {
            monitors.common.threads.carries();
            monitors.end(jni, &thread, LockKind::Parking, || None);
        }
    });
}
