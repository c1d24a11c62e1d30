//! Events of threads' CPU time (`perf_event_open`, Linux): their signals come when an interval ends,
//! where those of timers wait for the kernel's next tick. An event may also record the kernel's part of
//! the stack, in a ring that the kernel fills backward and without an end: its head is the last record.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::sync::atomic::{AtomicUsize, Ordering};

use super::checked;
use super::file::most_descriptors;
use super::pages::page_bytes;
use super::thread::Tid;

/// The first version of `struct perf_event_attr`, which all kernels accept.
#[repr(C)]
#[derive(Default)]
struct Attributes {
    kind: u32,
    size: u32,
    config: u64,
    sample_period: u64,
    sample_type: u64,
    read_format: u64,
    flags: u64,
    wakeup_events: u32,
    breakpoint: u32,
    config1: u64,
}

/// Whether an error is that too many descriptors are in use.
pub fn is_out_of_descriptors(error: &io::Error) -> bool {
    error.raw_os_error() == Some(libc::EMFILE)
}

/// Whether an error is that the thread has ended.
pub fn has_thread_ended(error: &io::Error) -> bool {
    error.raw_os_error() == Some(libc::ESRCH)
}

/// `struct f_owner_ex`.
#[repr(C)]
struct Owner {
    kind: libc::c_int,
    id: libc::pid_t,
}

/// The part of `siginfo_t` about a file, in the kernel's layout.
#[repr(C)]
struct FileInfo {
    signal: libc::c_int,
    error: libc::c_int,
    code: libc::c_int,
    padding: libc::c_int,
    band: libc::c_long,
    descriptor: libc::c_int,
}

const SOFTWARE: u32 = 1;
const CPU_CLOCK: u64 = 0;
const DISABLED: u64 = 1;
/// Records have the addresses of the kernel's callers.
const CALL_CHAIN: u64 = 1 << 5;
const NO_USER_CHAIN: u64 = 1 << 22;
const WRITE_BACKWARD: u64 = 1 << 27;
const CLOSE_ON_EXEC: libc::c_ulong = 8;
const REFRESH: libc::c_ulong = 0x2402;
const PERIOD: libc::c_ulong = 0x4008_2404;
const F_SETSIG: libc::c_int = 10;
const F_SETOWN_EX: libc::c_int = 15;
const F_OWNER_TID: libc::c_int = 0;

/// The places in the first page of a ring (`struct perf_event_mmap_page`): of the head, of the distance
/// to the records, and of the bytes for them, a power of two.
const HEAD: usize = 1024;
const DATA_OFFSET: usize = 1040;
const DATA_BYTES: usize = 1048;
/// The type of a record of a sample, in the lower half of its first word.
const SAMPLE: usize = 9;
/// The mark before the kernel's addresses, and the first of such marks.
const KERNEL_MARK: usize = -128_isize as usize;
const FIRST_MARK: usize = -4095_isize as usize;

/// The most addresses of the kernel that are taken of a stack.
pub const MOST_KERNEL_FRAMES: usize = 64;

/// The number of descriptors that events may have: an event with a larger one is refused.
const DESCRIPTORS: usize = 1 << 16;
/// The events, by descriptor. Pages that are not written to are not in memory.
static EVENTS: [EventData; DESCRIPTORS] = [const { EventData::none() }; DESCRIPTORS];

/// What a handler must know of an event.
#[derive(Debug)]
struct EventData {
    /// 0 without an event.
    value: AtomicUsize,
    /// The address of its ring; 0 without.
    ring: AtomicUsize,
    /// The ring's head at the signal before.
    head: AtomicUsize,
}

impl EventData {
    const fn none() -> Self {
        let [value, ring, head] = [const { AtomicUsize::new(0) }; 3];
        Self { value, ring, head }
    }

    fn set(&self, value: usize, ring: usize) {
        self.ring.store(ring, Ordering::Relaxed);
        self.head.store(0, Ordering::Relaxed);
        self.value.store(value, Ordering::Release);
    }

    /// Returns the address of the ring and its head.
    fn ring(&self) -> Option<(usize, usize)> {
        let ring = self.ring.load(Ordering::Relaxed);
        Some((ring, checked::word(ring.checked_add(HEAD)?)?)).filter(|_| ring != 0)
    }
}

/// An event that sends its thread a signal when it has used an interval of CPU time, once. See
/// [`again`].
#[derive(Debug)]
pub struct CpuEvent {
    descriptor: OwnedFd,
    ring: Option<Ring>,
}

/// The mapped ring of an event.
#[derive(Debug)]
struct Ring {
    address: usize,
    bytes: usize,
}

impl Ring {
    /// Maps the ring; `None` if the system does not permit it, such as by the limit of locked memory.
    fn of(event: &OwnedFd) -> Option<Self> {
        // SAFETY: the kernel chooses the place. The pages are read only, so that the kernel continues
        // over old records.
        let (address, bytes) = unsafe {
            let bytes = 2 * page_bytes();
            let (access, shared) = (libc::PROT_READ, libc::MAP_SHARED);
            (libc::mmap(std::ptr::null_mut(), bytes, access, shared, event.as_raw_fd(), 0), bytes)
        };
        (address != libc::MAP_FAILED).then(|| Self { address: address.addr(), bytes })
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        // SAFETY: the pages are this ring's. A handler that reads them meanwhile survives.
        unsafe { libc::munmap(self.address as *mut libc::c_void, self.bytes) };
    }
}

impl CpuEvent {
    /// Makes an event for a thread of this process. `value`, which is not 0, comes with its signals, the
    /// first of which comes after `first_ns` of CPU time.
    /// With `has_kernel` there is a ring for the [`kernel_frames`], if the system permits it.
    ///
    /// # Errors
    /// The kernel's: events are not permitted, or the thread has ended. Half of the descriptors that
    /// the process may have are left for the program.
    pub fn new(
        tid: Tid,
        signal: libc::c_int,
        value: usize,
        first_ns: u64,
        has_kernel: bool,
    ) -> io::Result<Self> {
        let (sample_type, flags) = match has_kernel {
            true => (CALL_CHAIN, DISABLED | NO_USER_CHAIN | WRITE_BACKWARD),
            false => (0, DISABLED),
        };
        let attributes = Attributes {
            kind: SOFTWARE,
            size: size_of::<Attributes>() as u32,
            config: CPU_CLOCK,
            sample_period: first_ns.max(1),
            sample_type,
            flags,
            wakeup_events: 1,
            ..Attributes::default()
        };
        let owner = Owner { kind: F_OWNER_TID, id: tid.number() };
        // SAFETY: the kernel reads the structs, which live until the calls return.
        unsafe {
            let (any_cpu, no_group) = (-1, -1);
            let opened = libc::syscall(
                libc::SYS_perf_event_open,
                &raw const attributes,
                tid.number(),
                any_cpu,
                no_group,
                CLOSE_ON_EXEC,
            );
            if opened < 0 {
                return Err(io::Error::last_os_error());
            }
            let mut this = Self { descriptor: OwnedFd::from_raw_fd(opened as RawFd), ring: None };
            let descriptor = this.descriptor.as_raw_fd();
            if descriptor as usize >= most_descriptors().min(DESCRIPTORS) {
                return Err(io::Error::from_raw_os_error(libc::EMFILE));
            }
            let check = |result: libc::c_int| match result {
                -1 => Err(io::Error::last_os_error()),
                _ => Ok(()),
            };
            this.ring = has_kernel.then(|| Ring::of(&this.descriptor)).flatten();
            EVENTS[descriptor as usize].set(value, this.ring.as_ref().map_or(0, |it| it.address));
            check(libc::fcntl(descriptor, F_SETSIG, signal))?;
            check(libc::fcntl(descriptor, F_SETOWN_EX, &raw const owner))?;
            check(libc::fcntl(descriptor, libc::F_SETFL, libc::O_ASYNC))?;
            check(libc::ioctl(descriptor, REFRESH, 1))?;
            Ok(this)
        }
    }
}

impl Drop for CpuEvent {
    fn drop(&mut self) {
        // A signal that is on its way finds no value, or that of the next event of this descriptor.
        if let Some(known) = EVENTS.get(self.descriptor.as_raw_fd() as usize) {
            known.set(0, 0);
        }
    }
}

/// Returns the descriptor and the value of an event that has sent a signal; `None` if something else
/// has sent it, or the event is no more. May be called in a signal handler.
///
/// # Safety
/// `info` must be what the kernel passes to a signal handler.
pub unsafe fn sender(info: *const libc::siginfo_t) -> Option<(RawFd, usize)> {
    // SAFETY: the caller's promise; the kernel fills these places for a file.
    let info = unsafe { &*info.cast::<FileInfo>() };
    if info.code <= 0 || info.code >= libc::SI_KERNEL {
        return None;
    }
    let index = usize::try_from(info.descriptor).ok()?;
    let value = EVENTS.get(index)?.value.load(Ordering::Acquire);
    (value != 0).then_some((info.descriptor, value))
}

/// Finds where the kernel was as the event that has sent a signal came, the innermost first: the
/// address of an instruction, and those to which its callers return. Returns the number of addresses:
/// 0 if the thread was not in the kernel, or that is not known. (Kernels refuse to copy words of rings,
/// so there are none where [`checked`] has the kernel copy.) May be called in the handler of the signal,
/// before [`again`].
pub fn kernel_frames(descriptor: RawFd, found: &mut [u64; MOST_KERNEL_FRAMES]) -> usize {
    kernel_chain(descriptor, found).unwrap_or(0)
}

fn kernel_chain(descriptor: RawFd, found: &mut [u64; MOST_KERNEL_FRAMES]) -> Option<usize> {
    let known = EVENTS.get(usize::try_from(descriptor).ok()?)?;
    let (ring, head) = known.ring()?;
    // The kernel may have had no room for a record.
    (head != known.head.load(Ordering::Relaxed)).then_some(())?;
    let data = ring.checked_add(checked::word(ring + DATA_OFFSET)?)?;
    let mask = checked::word(ring + DATA_BYTES)?.checked_sub(1)?;
    let word = |index: usize| {
        let at = head.wrapping_add(index * size_of::<u64>()) & mask;
        checked::word(data.checked_add(at)?)
    };
    (word(0)? as u32 as usize == SAMPLE).then_some(())?;
    let (mut count, mut is_kernel) = (0, false);
    for index in 0..word(1)?.min(mask / size_of::<u64>()) {
        let address = word(2 + index)?;
        if address >= FIRST_MARK {
            is_kernel = address == KERNEL_MARK;
        } else if is_kernel {
            let Some(place) = found.get_mut(count) else { break };
            *place = address as u64;
            count += 1;
        }
    }
    Some(count)
}

/// Has an event send a signal after this CPU time. May be called in a signal handler.
pub fn again(descriptor: RawFd, after_ns: u64) {
    let known = usize::try_from(descriptor).ok().and_then(|index| EVENTS.get(index));
    if let Some((known, (_, head))) = known.and_then(|known| Some((known, known.ring()?))) {
        known.head.store(head, Ordering::Relaxed);
    }
    // SAFETY: the kernel reads the number; a descriptor that is not an event's is an error.
    unsafe {
        libc::ioctl(descriptor, PERIOD, &raw const after_ns);
        libc::ioctl(descriptor, REFRESH, 1);
    }
}

/// Returns the time between the kernel's ticks, in nanoseconds.
pub fn tick_ns() -> u64 {
    // SAFETY: the kernel fills the time.
    unsafe {
        let mut time: libc::timespec = std::mem::zeroed();
        libc::clock_getres(libc::CLOCK_REALTIME_COARSE, &mut time);
        time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
    }
}

extern "C" fn ignore(_: libc::c_int) {}

/// Has the process survive `SIGIO`, which the kernel sends if it has no memory for the signal of an
/// event, unless the program handles it.
pub fn survive_overflows() {
    // SAFETY: the actions are plain data; the handler does nothing.
    unsafe {
        let mut its: libc::sigaction = std::mem::zeroed();
        let read = libc::sigaction(libc::SIGIO, std::ptr::null(), &mut its) == 0;
        if read && its.sa_sigaction == libc::SIG_DFL {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = ignore as *const () as usize;
            action.sa_flags = libc::SA_RESTART;
            libc::sigaction(libc::SIGIO, &action, std::ptr::null_mut());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::os::{thread_cpu_ns, timer};
    use std::ffi::c_void;
    use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

    static COUNT: AtomicU64 = AtomicU64::new(0);
    static WITH_KERNEL: AtomicU64 = AtomicU64::new(0);

    unsafe extern "C" fn count(_: libc::c_int, info: *mut libc::siginfo_t, _: *mut c_void) {
        // SAFETY: the kernel passes the place.
        if let Some((descriptor, 77)) = unsafe { sender(info) } {
            COUNT.fetch_add(1, Relaxed);
            let mut found = [0; MOST_KERNEL_FRAMES];
            let count = kernel_frames(descriptor, &mut found);
            let frames = &found[..count];
            // The kernel has the upper half of the addresses.
            let is_whole = frames.len() > 1 && frames.iter().all(|it| it.cast_signed() < 0);
            WITH_KERNEL.fetch_add(u64::from(is_whole), Relaxed);
            again(descriptor, 1_000_000);
        }
    }

    /// Sends signals while `body` runs. Returns the number of those, and of the ones with frames of the
    /// kernel.
    fn signals(has_kernel: bool, body: impl Fn()) -> Option<(u64, u64)> {
        let signal = timer::free_signal(count).unwrap();
        // SAFETY: the handler adds to numbers and calls the kernel.
        unsafe { timer::handle(signal, count).unwrap() };
        let event = CpuEvent::new(Tid::current(), signal, 77, 500_000, has_kernel);
        let Ok(event) = event else {
            eprintln!("NOT TESTED: this system does not permit events");
            return None;
        };
        COUNT.store(0, Relaxed);
        WITH_KERNEL.store(0, Relaxed);
        let begin = thread_cpu_ns();
        while thread_cpu_ns() - begin < 200_000_000 {
            body();
        }
        let has_ring = event.ring.is_some();
        drop(event);
        if has_kernel && !has_ring {
            eprintln!("NOT TESTED: this system does not permit rings of events");
            return None;
        }
        Some((COUNT.load(Relaxed), WITH_KERNEL.load(Relaxed)))
    }

    // One test, as the numbers are the process's.
    #[test]
    fn each_interval_sends_a_signal() {
        checked::install();
        let count = || {
            for number in 0..1000_u64 {
                std::hint::black_box(number);
            }
        };
        let read = || _ = std::hint::black_box(std::fs::read("/proc/self/maps"));
        // Intervals begin again after each signal.
        if let Some((all, with_kernel)) = signals(false, count) {
            assert!((120..=202).contains(&all), "{all}");
            assert_eq!(with_kernel, 0);
        }
        if let Some((all, with_kernel)) = signals(true, read) {
            assert!((60..=202).contains(&all), "{all}");
            assert!(with_kernel * 2 > all && with_kernel <= all, "{with_kernel} of {all}");
        }
    }
}
