//! The signal handler: walks the stack of the thread that it interrupts, and writes a record.
//!
//! It may be anywhere in the program, the JVM or the C library. So it does not allocate, lock, panic,
//! or use thread-local variables; it keeps `errno`; foreign memory is read by `os::checked`. It calls
//! only [`Vm::walk`], [`Ring::write`], the kernel's ring of an event, the clock and `gettid`.

use std::ffi::{c_int, c_void};
use std::io;
use std::os::fd::RawFd;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicPtr, AtomicU64, AtomicUsize, Ordering};

use perk_hotspot::vm::{Code, End, Memory, Registers, Vm, VmFrame};

use super::record::{Head, words};
use super::ring::Ring;
use crate::arch;
use crate::memory::{Pages, reserve};
use crate::os::timer::Expiry;
use crate::os::{self, checked, event};

/// A thread's time for each that its walks take.
const REST_SHARE: u64 = 5;
/// The most intervals for which a thread is left alone.
const MOST_REST: u64 = 32;
/// The part of an interval by which an event may come before its end.
const MOST_AHEAD: u64 = 8;
/// The number of walks at the same time: more threads than that hardly run at once.
const BUFFERS: usize = 32;
/// The words of a stack that are kept for its native frames: 8 KiB below Java code, where there are few
/// of them, and 32 KiB in the JVM's own threads, whose compilers have many.
const MOST_STACK_WORDS: usize = 1 << 10;
const MOST_STACK_WORDS_OF_JVM: usize = 1 << 12;

/// The state that handlers share. It is never freed; a later session uses it again.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) vm: Vm,
    pub(super) ring: Ring,
    /// Whether the native frames above Java code are wanted.
    has_native: AtomicBool,
    /// The place of the id in thread objects; 0 if ids are not asked for.
    pub(super) id_offset: AtomicUsize,
    /// Whether samples are taken.
    pub(super) is_on: AtomicBool,
    /// A set bit for each buffer that is used.
    used: AtomicU64,
    buffers: *mut VmFrame,
    /// The frames of each buffer.
    most_frames: usize,
    /// The samples that were lost, as the ring was full or all buffers were used.
    pub(super) lost_count: AtomicU64,
    /// The CPU time of the walks, in nanoseconds.
    pub(super) walk_ns: AtomicU64,
    pub(super) walk_count: AtomicU64,
}

// SAFETY: a buffer is used by the handler alone that has set its bit.
unsafe impl Sync for Shared {}
// SAFETY: as above.
unsafe impl Send for Shared {}

/// A thread that has a timer. The timer's value is its address; it is never freed, but used again.
#[derive(Debug, Default)]
pub(super) struct Watched {
    /// The number of the thread, which is never used again.
    pub(super) number: AtomicU64,
    /// The address of the JVM's thread; 0 for threads that do not run Java code.
    pub(super) java_thread: AtomicUsize,
    /// The intervals that have ended, as far as samples stand for them.
    pub(super) expired_count: AtomicU64,
    /// The CPU time at which the first interval began, which may be before the thread (so sums wrap),
    /// and that of each interval, in nanoseconds.
    pub(super) begin_ns: AtomicU64,
    pub(super) interval_ns: AtomicU64,
    /// The kernel's id of the thread.
    pub(super) tid: AtomicI32,
    /// The intervals that have ended since the last sample, while the thread was left alone.
    passed_count: AtomicU64,
    /// The intervals for which the thread is left alone after a walk.
    rest_count: AtomicU64,
    /// The CPU time of the last walk, in nanoseconds.
    last_walk_ns: AtomicU64,
}

impl Watched {
    /// Makes it that of a thread that starts.
    pub(super) fn reset(&self) {
        let counts =
            [&self.expired_count, &self.passed_count, &self.rest_count, &self.last_walk_ns];
        counts.into_iter().for_each(|count| count.store(0, Ordering::Relaxed));
    }

    /// Counts intervals that have ended. Returns those that a sample now stands for; `None` if the
    /// thread is to be left alone.
    fn pass(&self, count: u64) -> Option<u64> {
        let rest = self.rest_count.load(Ordering::Relaxed).saturating_sub(count);
        let passed = self.passed_count.load(Ordering::Relaxed) + count;
        self.rest_count.store(rest, Ordering::Relaxed);
        if rest > 0 {
            self.passed_count.store(passed, Ordering::Relaxed);
            return None;
        }
        self.passed_count.store(0, Ordering::Relaxed);
        self.expired_count.fetch_add(passed, Ordering::Relaxed);
        Some(passed)
    }

    /// Sets how long the thread is left alone after a walk, so that walks of deep stacks at short
    /// intervals leave it most of its time. One long walk alone may be due to pages that were not there.
    fn rest(&self, walk_ns: u64, interval_ns: u64) {
        let before_ns = self.last_walk_ns.swap(walk_ns, Ordering::Relaxed);
        let rest = walk_ns.min(before_ns) * REST_SHARE / interval_ns.max(1);
        self.rest_count.store(rest.min(MOST_REST), Ordering::Relaxed);
    }
}

static SHARED: AtomicPtr<Shared> = AtomicPtr::new(std::ptr::null_mut());

impl Shared {
    /// Makes it, for walks of at most so many frames.
    ///
    /// # Errors
    /// There is no address space for the buffers.
    pub(super) fn new(
        vm: Vm,
        ring: Ring,
        has_native: bool,
        most_frames: usize,
    ) -> io::Result<Self> {
        let bytes = BUFFERS * most_frames * size_of::<VmFrame>();
        // Pages are used as they are written to.
        let memory: &'static [AtomicU64] = reserve(bytes.div_ceil(8), Pages::Small)?;
        Ok(Self {
            vm,
            ring,
            has_native: AtomicBool::new(has_native),
            id_offset: AtomicUsize::new(0),
            is_on: AtomicBool::new(false),
            used: AtomicU64::new(0),
            buffers: memory.as_ptr().cast_mut().cast(),
            most_frames,
            lost_count: AtomicU64::new(0),
            walk_ns: AtomicU64::new(0),
            walk_count: AtomicU64::new(0),
        })
    }

    /// Returns the state of an earlier session, if its buffers have room for so many frames. No thread
    /// has a timer.
    pub(super) fn again(has_native: bool, most_frames: usize) -> Option<&'static Self> {
        // SAFETY: it is never freed.
        let shared = unsafe { SHARED.load(Ordering::Acquire).as_ref() }?;
        if shared.most_frames < most_frames {
            return None;
        }
        // A late handler may have left a record.
        shared.ring.read(&mut Vec::new(), |_| {});
        shared.has_native.store(has_native, Ordering::Relaxed);
        shared.id_offset.store(0, Ordering::Relaxed);
        for count in [&shared.lost_count, &shared.walk_ns, &shared.walk_count] {
            count.store(0, Ordering::Relaxed);
        }
        Some(shared)
    }

    /// Makes it the state of the handlers.
    pub(super) fn publish(&'static self) {
        SHARED.store(std::ptr::from_ref(self).cast_mut(), Ordering::Release);
    }
}

/// The process's memory.
#[derive(Clone, Copy, Debug)]
pub(super) struct Own;

impl Memory for Own {
    fn word(&self, address: usize) -> Option<usize> {
        checked::word(address)
    }
}

/// The same, for the tables that the JVM exports.
#[derive(Debug, Default)]
pub(super) struct Tables(checked::PageCopies);

impl Memory for Tables {
    fn word(&self, address: usize) -> Option<usize> {
        self.0.word(address)
    }
}

/// The same, for one walk.
struct Walked(checked::Blocks);

impl Memory for Walked {
    fn word(&self, address: usize) -> Option<usize> {
        self.0.word(address)
    }

    fn word_now(&self, address: usize) -> Option<usize> {
        checked::word(address)
    }
}

pub(super) unsafe extern "C" fn on_signal(
    _: c_int,
    info: *mut libc::siginfo_t,
    context: *mut c_void,
) {
    // SAFETY: errno belongs to the thread.
    let errno = unsafe { libc::__errno_location() };
    // SAFETY: as above.
    let before = unsafe { *errno };
    // SAFETY: the kernel passes both; the state is never freed.
    unsafe {
        if let Some(shared) = SHARED.load(Ordering::Acquire).as_ref()
            && shared.is_on.load(Ordering::Relaxed)
        {
            if let Some(Expiry { value, count }) = Expiry::of(info) {
                shared.sample(&*(value as *const Watched), count, context, None);
            } else if let Some((descriptor, value)) = event::sender(info) {
                shared.sample_of_event(&*(value as *const Watched), descriptor, context);
            }
        }
        *errno = before;
    }
}

impl Shared {
    /// Takes a sample of the calling thread, of which an event tells that an interval has ended. More
    /// may have: a delayed event begins its next interval late.
    ///
    /// # Safety
    /// The registers must be those that the kernel passes to a handler.
    unsafe fn sample_of_event(&self, watched: &Watched, descriptor: RawFd, context: *const c_void) {
        // Another event has the descriptor of one that has ended while its signal was on its way.
        if watched.tid.load(Ordering::Relaxed) != os::Tid::current().number() {
            return;
        }
        let counted = watched.expired_count.load(Ordering::Relaxed)
            + watched.passed_count.load(Ordering::Relaxed);
        let cpu_ns = os::thread_cpu_ns().wrapping_sub(watched.begin_ns.load(Ordering::Relaxed));
        let interval_ns = watched.interval_ns.load(Ordering::Relaxed).max(1);
        if counted == 0 {
            event::set_interval(descriptor, interval_ns);
        }
        // The kernel's clock of events is ahead of the thread's, as it runs during interrupts: a little
        // is due to that, and more is an interval that has not ended.
        let ahead_ns = interval_ns / MOST_AHEAD;
        let count = ((cpu_ns + ahead_ns) / interval_ns).saturating_sub(counted);
        if count > 0 {
            // SAFETY: the caller's promise.
            unsafe { self.sample(watched, count, context, Some(descriptor)) };
        }
        event::again(descriptor);
    }

    /// Takes a sample of the calling thread, which stands for so many intervals, at the signal of a timer
    /// or of the event with a descriptor.
    ///
    /// # Safety
    /// The registers must be those that the kernel passes to a handler.
    unsafe fn sample(
        &self,
        watched: &Watched,
        weight: u64,
        context: *const c_void,
        event: Option<RawFd>,
    ) {
        let Some(weight) = watched.pass(weight) else { return };
        let Some(index) = self.take_buffer() else {
            self.lost_count.fetch_add(weight, Ordering::Relaxed);
            return;
        };
        // SAFETY: the buffer is this handler's; the caller's promise.
        let (frames, (registers, interpreter)) = unsafe {
            let first = self.buffers.add(index * self.most_frames);
            (std::slice::from_raw_parts_mut(first, self.most_frames), arch::registers(context))
        };
        let begin_ns = os::thread_cpu_ns();
        let thread = watched.java_thread.load(Ordering::Relaxed);
        let depth = self.most_frames;
        let memory = Walked(checked::Blocks::new());
        let walk = match thread {
            0 => None,
            thread => Some(self.vm.walk(
                &memory,
                thread,
                registers,
                interpreter,
                0..0,
                &mut frames[..depth],
            )),
        };
        let mut kernel = [0; event::MOST_KERNEL_FRAMES];
        let kernel_count = event.map_or(0, |event| event::kernel_frames(event, &mut kernel));
        let kernel = &kernel[..kernel_count];
        let head = Head {
            thread: watched.number.load(Ordering::Relaxed),
            count: weight,
            time_ns: os::nano_time(),
            virtual_id: walk.map_or(0, |walk| {
                let frames = &frames[..walk.count.min(depth)];
                self.virtual_id(&memory, thread, frames).unwrap_or(0)
            }),
            registers,
            is_complete: walk
                .is_some_and(|walk| matches!(walk.end, End::Complete | End::Truncated)),
            frame_count: walk.map_or(0, |walk| walk.count.min(depth)),
            kernel_count,
        };
        let frames = &frames[..head.frame_count];
        let write = |stack: usize| {
            let at = |index| memory.word(registers.sp.wrapping_add(index * size_of::<usize>()));
            let stack_words = (0..stack).map_while(at).map(|word| word as u64);
            let (count, words) = words(&head, frames, kernel, stack, stack_words);
            self.ring.write(count, words)
        };
        let stack = self.stack_words(thread, registers);
        if !write(stack) && (stack == 0 || !write(0)) {
            self.lost_count.fetch_add(weight, Ordering::Relaxed);
        }
        let walk_ns = os::thread_cpu_ns().saturating_sub(begin_ns);
        watched.rest(walk_ns, watched.interval_ns.load(Ordering::Relaxed));
        self.walk_ns.fetch_add(walk_ns, Ordering::Relaxed);
        self.walk_count.fetch_add(u64::from(walk.is_some()), Ordering::Relaxed);
        self.used.fetch_and(!(1 << index), Ordering::Release);
    }

    /// Returns the id of the virtual thread that a thread runs, if ids are asked for.
    fn virtual_id(&self, memory: &Walked, thread: usize, frames: &[VmFrame]) -> Option<u64> {
        let offset = self.id_offset.load(Ordering::Relaxed);
        let is_border =
            |it: &VmFrame| matches!(it.kind, Code::Continuation | Code::FrozenContinuation);
        if offset == 0 || !frames.iter().any(is_border) {
            return None;
        }
        self.vm.current_thread_id(memory, thread, offset)
    }

    /// Returns the words of the stack that are kept, for the native frames: none if the thread runs
    /// generated code, and up to the first Java frame if there is one.
    fn stack_words(&self, thread: usize, registers: Registers) -> usize {
        let is_of_jvm = thread == 0;
        if self.vm.is_generated_code(registers.pc)
            || !(is_of_jvm || self.has_native.load(Ordering::Relaxed))
        {
            return 0;
        }
        if is_of_jvm {
            return MOST_STACK_WORDS_OF_JVM;
        }
        let java = self.vm.anchor(&Own, thread).map_or(0, |anchor| anchor.sp);
        let words = java.checked_sub(registers.sp).filter(|_| java != 0);
        words.map_or(MOST_STACK_WORDS, |bytes| (bytes / size_of::<usize>()).min(MOST_STACK_WORDS))
    }

    fn take_buffer(&self) -> Option<usize> {
        let mut used = self.used.load(Ordering::Relaxed);
        loop {
            let index = used.trailing_ones();
            if index as usize >= BUFFERS {
                return None;
            }
            let (next, acquire) = (used | 1 << index, Ordering::Acquire);
            match self.used.compare_exchange_weak(used, next, acquire, Ordering::Relaxed) {
                Ok(_) => return Some(index as usize),
                Err(now) => used = now,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_walks_leave_the_thread_most_of_its_time() {
        let (watched, interval_ns) = (Watched::default(), 1_000_000);
        let mut samples = Vec::new();
        // Each walk takes 2 ms, in which two more intervals end.
        for _ in 0..100 {
            samples.extend(watched.pass(1).inspect(|_| watched.rest(2_000_000, interval_ns)));
        }
        assert!(samples.len() <= 12, "{samples:?}");
        let open = watched.passed_count.load(Ordering::Relaxed);
        assert_eq!(samples.iter().sum::<u64>() + open, 100);
        watched.reset();
        // One long walk among short ones is no reason.
        for walk_ns in [20_000, 30_000_000, 20_000, 20_000] {
            assert_eq!(watched.pass(1), Some(1));
            watched.rest(walk_ns, interval_ns);
        }
    }
}
