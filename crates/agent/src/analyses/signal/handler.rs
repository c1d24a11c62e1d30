//! The signal handler: walks the stack of the thread that it interrupts, and writes a record.
//!
//! It may be anywhere in the program, the JVM or the C library. So it does not allocate, lock, panic,
//! or use thread-local variables; it keeps `errno`; foreign memory is read by `os::checked`. It calls
//! only [`Vm::walk`], [`Ring::write`], the kernel's ring of an event, the clocks, and what sets the next point.

use std::ffi::{c_int, c_void};
use std::io;
use std::os::fd::RawFd;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicPtr, AtomicU64, AtomicUsize, Ordering};

use perk_hotspot::vm::{Code, End, Memory, Registers, Vm, VmFrame};
use perk_jvm::memory::reserve;
use perk_jvm::os::timer::{self, Expiry};
use perk_jvm::os::{self, checked, event};
use perk_jvm::{ProcessMemory, arch};

use super::record::{Head, words};
use super::ring::Ring;
use crate::points::Points;

/// A thread's time for each that its walks take.
const REST_SHARE: u64 = 5;
/// The most intervals for which a thread is left alone beside the one that a sample always has.
const MOST_REST: u64 = 32;
/// The part of an interval by which a signal may come before its point: the kernel's clock of events also
/// runs during interrupts, which the thread's does not.
const MOST_AHEAD: u64 = 32;
/// The least CPU time from a signal's end to the next one.
const LEAST_NS: u64 = 20_000;
/// The number of walks at the same time: more threads than that hardly run at once.
const BUFFERS: usize = 32;
/// The words of a stack that are kept for its native frames: 8 KiB below Java code, where there are few
/// of them, and 32 KiB in the JVM's own threads, whose compilers have many.
const MOST_STACK_WORDS: usize = 1 << 10;
const MOST_STACK_WORDS_OF_JVM: usize = 1 << 12;

/// The state that handlers share. It is never freed; a later session uses it again.
#[derive(Debug)]
pub(super) struct HandlerState {
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
unsafe impl Sync for HandlerState {}
// SAFETY: a buffer is used by the handler alone that has set its bit.
unsafe impl Send for HandlerState {}

/// A thread that has a timer. The timer's value is its address; it is never freed, but used again.
#[derive(Debug, Default)]
pub(super) struct TimerThread {
    /// The number of the thread, which is never used again.
    pub(super) number: AtomicU64,
    /// The address of the JVM's thread; 0 for threads that do not run Java code.
    pub(super) java_thread: AtomicUsize,
    /// The intervals that samples represent.
    pub(super) expired_count: AtomicU64,
    /// The length of an interval, in nanoseconds.
    pub(super) interval_ns: AtomicU64,
    /// The kernel's id of the thread.
    pub(super) tid: AtomicI32,
    /// The words of the [`Points`] of its CPU time without that of the handler. The handler's comes after
    /// points, so points are not anywhere in it with equal chances: it is counted by itself.
    points: [AtomicU64; 4],
    /// The CPU time of the handler, and what of it no sample represents yet, in nanoseconds.
    handled_ns: AtomicU64,
    unbooked_ns: AtomicU64,
    /// The intervals for which the thread is left alone after a walk.
    rest_count: AtomicU64,
    /// The CPU time of the last walk, in nanoseconds.
    last_walk_ns: AtomicU64,
}

/// What has sent a signal: a timer with an id, or an event with a descriptor.
#[derive(Clone, Copy, Debug)]
enum Sender {
    Timer(c_int),
    Event(RawFd),
}

impl TimerThread {
    /// Makes it that of a thread that starts. A random part of an interval makes the expected number of
    /// samples exact.
    pub(super) fn reset(&self, points: Points, random_ns: u64) {
        let counts = [&self.expired_count, &self.handled_ns, &self.rest_count, &self.last_walk_ns];
        counts.into_iter().for_each(|count| count.store(0, Ordering::Relaxed));
        self.unbooked_ns.store(random_ns, Ordering::Relaxed);
        self.set_points(points);
    }

    /// Returns the CPU time of the next point.
    pub(super) fn next_ns(&self) -> u64 {
        self.points().next_ns() + self.handled_ns.load(Ordering::Relaxed)
    }

    fn points(&self) -> Points {
        Points::of_words(self.points.each_ref().map(|word| word.load(Ordering::Relaxed)))
    }

    fn set_points(&self, points: Points) {
        let words = self.points.iter().zip(points.words());
        words.for_each(|(it, word)| it.store(word, Ordering::Relaxed));
    }

    /// Passes the points up to a CPU time. Returns the intervals that they represent.
    pub(super) fn pass(&self, cpu_ns: u64) -> u64 {
        let mut points = self.points();
        let program_ns = cpu_ns.saturating_sub(self.handled_ns.load(Ordering::Relaxed));
        let intervals = 1 + self.rest_count.load(Ordering::Relaxed);
        let passed = points.pass(program_ns, self.interval_ns(), intervals);
        self.set_points(points);
        self.expired_count.fetch_add(passed, Ordering::Relaxed);
        passed
    }

    /// Adds CPU time of the handler. Returns the intervals that end with it.
    fn handle(&self, ns: u64) -> u64 {
        let interval_ns = self.interval_ns();
        let unbooked_ns = self.unbooked_ns.load(Ordering::Relaxed) + ns;
        self.unbooked_ns.store(unbooked_ns % interval_ns, Ordering::Relaxed);
        self.expired_count.fetch_add(unbooked_ns / interval_ns, Ordering::Relaxed);
        unbooked_ns / interval_ns
    }

    fn interval_ns(&self) -> u64 {
        self.interval_ns.load(Ordering::Relaxed).max(1)
    }

    /// Sets how long the thread is left alone after a walk, so that walks of deep stacks at short
    /// intervals leave it most of its time. One long walk alone may be due to pages that were not there.
    fn rest(&self, walk_ns: u64) {
        let before_ns = self.last_walk_ns.swap(walk_ns, Ordering::Relaxed);
        let rest = walk_ns.min(before_ns) * REST_SHARE / self.interval_ns();
        self.rest_count.store(rest.min(MOST_REST), Ordering::Relaxed);
    }
}

static SHARED: AtomicPtr<HandlerState> = AtomicPtr::new(std::ptr::null_mut());

impl HandlerState {
    /// Makes it, for walks of at most this number of frames.
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
        let memory: &'static [AtomicU64] = reserve(bytes.div_ceil(8))?;
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

    /// Returns the state of an earlier session, if its buffers have room for this number of frames.
    /// No thread has a timer.
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

/// The process's memory, for one walk.
struct WalkMemory(checked::Blocks);

impl Memory for WalkMemory {
    fn word(&self, address: usize) -> Option<usize> {
        self.0.word(address)
    }

    fn word_now(&self, address: usize) -> Option<usize> {
        checked::word(address)
    }
}

pub(super) unsafe extern "C" fn on_signal(
    _: c_int,
    info: *mut os::SignalInfo,
    context: *mut c_void,
) {
    // SAFETY: the kernel passes both; the state is never freed.
    os::keeping_errno(|| unsafe {
        if let Some(shared) = SHARED.load(Ordering::Acquire).as_ref()
            && shared.is_on.load(Ordering::Relaxed)
        {
            let timer = Expiry::of(info).map(|it| (Sender::Timer(it.timer), it.value));
            let event = || event::sender(info).map(|(it, value)| (Sender::Event(it), value));
            if let Some((sender, value)) = timer.or_else(event) {
                shared.on_point(&*(value as *const TimerThread), sender, context);
            }
        }
    });
}

impl HandlerState {
    /// Takes a sample of the calling thread if its next point has come, and has its timer or event send a
    /// signal at the one after.
    ///
    /// # Safety
    /// The registers must be those that the kernel passes to a handler.
    unsafe fn on_point(&self, watched: &TimerThread, sender: Sender, context: *const c_void) {
        // Another event has the descriptor of one that has ended while its signal was on its way.
        if watched.tid.load(Ordering::Relaxed) != os::Tid::current().number() {
            return;
        }
        let begin_ns = os::thread_cpu_ns();
        let mut now_ns = begin_ns;
        if watched.next_ns() <= begin_ns + watched.interval_ns() / MOST_AHEAD {
            // SAFETY: the caller's promise.
            let booked_ns = unsafe { self.sample(watched, begin_ns, sender, context) };
            now_ns = os::thread_cpu_ns();
            let handled_ns = now_ns.saturating_sub(begin_ns);
            watched.handled_ns.fetch_add(handled_ns, Ordering::Relaxed);
            // What follows the walk is left for the next sample.
            let rest_ns = handled_ns.saturating_sub(booked_ns);
            watched.unbooked_ns.fetch_add(rest_ns, Ordering::Relaxed);
            self.walk_ns.fetch_add(handled_ns, Ordering::Relaxed);
        }
        // The thread must come to do something in between.
        let next_ns = watched.next_ns().max(now_ns + LEAST_NS);
        match sender {
            Sender::Timer(timer) => _ = timer::again(timer, next_ns),
            Sender::Event(descriptor) => event::again(descriptor, next_ns - now_ns),
        }
    }

    /// Takes a sample of the calling thread, whose CPU time was `begin_ns` as the handler began. It
    /// represents the points that have passed, and the time of the walk: that is part of the thread's CPU
    /// time, at the same place. Returns that time.
    ///
    /// # Safety
    /// The registers must be those that the kernel passes to a handler.
    unsafe fn sample(
        &self,
        watched: &TimerThread,
        begin_ns: u64,
        sender: Sender,
        context: *const c_void,
    ) -> u64 {
        let begin_ns = begin_ns.max(watched.next_ns());
        let Some(index) = self.take_buffer() else {
            let count = watched.pass(begin_ns);
            self.lost_count.fetch_add(count, Ordering::Relaxed);
            return 0;
        };
        // SAFETY: the buffer is this handler's; the caller's promise.
        let (frames, (registers, interpreter)) = unsafe {
            let first = self.buffers.add(index * self.most_frames);
            (std::slice::from_raw_parts_mut(first, self.most_frames), arch::registers(context))
        };
        // A read that fails is an answer only while perk's handler is there.
        checked::verify();
        let thread = watched.java_thread.load(Ordering::Relaxed);
        let depth = self.most_frames;
        let memory = WalkMemory(checked::Blocks::default());
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
        let kernel_count = match sender {
            Sender::Timer(_) => 0,
            Sender::Event(event) => event::kernel_frames(event, &mut kernel),
        };
        let kernel = &kernel[..kernel_count];
        let walk_ns = os::thread_cpu_ns().saturating_sub(begin_ns);
        watched.rest(walk_ns);
        let weight = watched.pass(begin_ns) + watched.handle(walk_ns);
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
        self.walk_count.fetch_add(u64::from(walk.is_some()), Ordering::Relaxed);
        self.used.fetch_and(!(1 << index), Ordering::Release);
        walk_ns
    }

    /// Returns the id of the virtual thread that a thread runs, if ids are asked for.
    fn virtual_id(&self, memory: &WalkMemory, thread: usize, frames: &[VmFrame]) -> Option<u64> {
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
        let java = self.vm.anchor(&ProcessMemory, thread).map_or(0, |anchor| anchor.sp);
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
    use crate::random::Random;

    /// The program is at one of two places, of which one has walks of 2 ms and the other of nothing.
    #[test]
    fn long_walks_leave_the_thread_most_of_its_time_and_each_place_its_share() {
        const INTERVAL_NS: u64 = 1_000_000;
        const WALK_NS: u64 = 2_000_000;
        let watched = TimerThread::default();
        watched.interval_ns.store(INTERVAL_NS, Ordering::Relaxed);
        watched.reset(Points::new(0, INTERVAL_NS, Random::default()), 0);
        // How much the program has done; each turn has 7 and 13 ms.
        let (mut cpu_ns, mut done_ns, mut walks) = (0, 0, 0);
        let (mut clocks, mut samples) = ([0, 0], [0, 0]);
        let place = |done_ns: u64| usize::from(done_ns % 20_000_000 >= 7_000_000);
        while cpu_ns < 60_000 * INTERVAL_NS {
            while cpu_ns < watched.next_ns() {
                let end_ns = if place(done_ns) == 0 { 7_000_000 } else { 20_000_000 };
                let step_ns = (end_ns - done_ns % 20_000_000).min(watched.next_ns() - cpu_ns);
                clocks[place(done_ns)] += step_ns;
                (cpu_ns, done_ns) = (cpu_ns + step_ns, done_ns + step_ns);
            }
            let place = place(done_ns);
            let walk_ns = if place == 0 { WALK_NS } else { 0 };
            watched.rest(walk_ns);
            samples[place] += watched.pass(cpu_ns) + watched.handle(walk_ns);
            watched.handled_ns.fetch_add(walk_ns, Ordering::Relaxed);
            cpu_ns += walk_ns;
            clocks[place] += walk_ns;
            walks += walk_ns;
        }
        assert!(walks * 5 <= cpu_ns, "{walks} of {cpu_ns}");
        assert_eq!(watched.expired_count.load(Ordering::Relaxed), samples[0] + samples[1]);
        assert!((samples[0] + samples[1]).abs_diff(cpu_ns / INTERVAL_NS) <= 40, "{samples:?}");
        let share = |of: [u64; 2]| of[0] * 1000 / (of[0] + of[1]);
        assert!(share(samples).abs_diff(share(clocks)) <= 12, "{samples:?} of {clocks:?}");
        watched.reset(watched.points(), 0);
        // One long walk among short ones is no reason.
        for walk_ns in [20_000, 30_000_000, 20_000, 20_000] {
            watched.rest(walk_ns);
            assert_eq!(watched.rest_count.load(Ordering::Relaxed), 0);
        }
    }
}
