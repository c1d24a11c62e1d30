//! The tick clock: a thread that writes the time into words of memory, which probes read instead of
//! asking the kernel. The difference of two reads is wrong by up to a tick either way, but right in
//! the sum over many calls, as ticks do not depend on the actions of the program.
//!
//! Each tree has a word for CPU time. A platform thread's time goes to its own tree, or, while it
//! carries a virtual thread, to the tree in which that is counted.

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, OnceLock};
use std::time::{Duration, Instant};

use super::tree::Tree;
use crate::os::{self, Tid};
use crate::sync::lock;

/// The time between two ticks.
const TICK: Duration = Duration::from_micros(250);
/// The limit of the interval between reads, in ticks: a thread without CPU time is read less and
/// less often.
const MAX_IDLE_TICKS: u32 = 31;
const STACK_BYTES: usize = 128 << 10;

/// The clock; see the module.
#[derive(Debug)]
pub(super) struct Clock {
    begun: Instant,
    /// The time since the clock was made; never 0.
    wall_ns: AtomicU64,
    carriers: Mutex<Vec<&'static Carrier>>,
    stopped: AtomicBool,
    cpu_ns: AtomicU64,
}

/// A platform thread that has trees.
#[derive(Debug)]
pub(super) struct Carrier {
    tid: Tid,
    /// The thread's own tree, once it has reached a probe.
    own: OnceLock<&'static Tree>,
    /// The tree of the virtual threads that it carries, once it has carried one.
    guests: OnceLock<&'static Tree>,
    /// The tree of the virtual thread that it carries now, or 0.
    carried: AtomicU64,
    pace: Mutex<Pace>,
}

#[derive(Debug)]
struct Pace {
    read_ns: u64,
    idle_ticks: u32,
    wait_ticks: u32,
}

thread_local! {
    static CARRIER: Cell<Option<&'static Carrier>> = const { Cell::new(None) };
}

impl Clock {
    pub(super) fn new() -> Self {
        Self {
            begun: Instant::now(),
            wall_ns: AtomicU64::new(1),
            carriers: Mutex::default(),
            stopped: AtomicBool::new(false),
            cpu_ns: AtomicU64::new(0),
        }
    }

    /// Returns the address of the word that holds the wall time.
    pub(super) fn wall_word(&'static self) -> u64 {
        std::ptr::from_ref(&self.wall_ns) as u64
    }

    /// Returns the wall time as of the last tick.
    pub(super) fn wall_ns(&self) -> u64 {
        self.wall_ns.load(Relaxed)
    }

    /// Returns the CPU time of the clock's thread.
    pub(super) fn own_cpu_ns(&self) -> u64 {
        self.cpu_ns.load(Relaxed)
    }

    /// Starts the thread; with `cpu` it reads the threads' clocks, too.
    pub(super) fn start(&'static self, cpu: bool) -> std::io::Result<()> {
        let builder = std::thread::Builder::new().name("perk clock".to_owned());
        os::without_signals(|| builder.stack_size(STACK_BYTES).spawn(move || self.run(cpu)))?;
        Ok(())
    }

    fn run(&self, cpu: bool) {
        while !self.stopped.load(Relaxed) {
            std::thread::sleep(TICK);
            self.tick();
            if cpu {
                lock(&self.carriers).iter().for_each(|carrier| carrier.tick());
            }
            self.cpu_ns.store(os::thread_cpu_ns(), Relaxed);
        }
    }

    fn tick(&self) {
        self.wall_ns.store(self.begun.elapsed().as_nanos() as u64 + 1, Relaxed);
    }

    /// Updates all words to the current time.
    pub(super) fn refresh(&self) {
        self.tick();
        lock(&self.carriers).iter().for_each(|carrier| carrier.read());
    }

    pub(super) fn stop(&self) {
        self.stopped.store(true, Relaxed);
    }

    /// Notes that the calling platform thread has received a tree.
    pub(super) fn thread_began(&self, tree: &'static Tree) {
        let _ = self.carrier().own.set(tree);
    }

    fn carrier(&self) -> &'static Carrier {
        CARRIER.get().unwrap_or_else(|| {
            let pace = Pace { read_ns: os::thread_cpu_ns(), idle_ticks: 0, wait_ticks: 0 };
            let carrier: &'static Carrier = Box::leak(Box::new(Carrier {
                tid: Tid::current(),
                own: OnceLock::new(),
                guests: OnceLock::new(),
                carried: AtomicU64::new(0),
                pace: Mutex::new(pace),
            }));
            CARRIER.set(Some(carrier));
            lock(&self.carriers).push(carrier);
            carrier
        })
    }

    /// Ends the calling platform thread. Returns the trees it had: its own, and that of the virtual
    /// threads that it carried.
    pub(super) fn thread_ended(&self) -> (Option<&'static Tree>, Option<&'static Tree>) {
        let Some(carrier) = CARRIER.replace(None) else { return (None, None) };
        carrier.read();
        lock(&self.carriers).retain(|it| !std::ptr::eq(*it, carrier));
        let trees = (carrier.own.get().copied(), carrier.guests.get().copied());
        // SAFETY: `carrier` made it from a box, and it has been removed from the only list that had
        // it.
        drop(unsafe { Box::from_raw(std::ptr::from_ref(carrier).cast_mut()) });
        trees
    }

    /// Returns the tree of the virtual threads that the calling platform thread carries.
    pub(super) fn guests(&self, acquire: impl FnOnce() -> &'static Tree) -> &'static Tree {
        self.carrier().guests.get_or_init(acquire)
    }

    /// Notes that the calling platform thread now carries the virtual thread with this tree: its
    /// time goes to that tree.
    pub(super) fn carry(&self, tree: &'static Tree) {
        self.carrier().carried.store(tree.address(), Relaxed);
    }

    /// Notes that it carries none any more. Returns whether it has a tree of its own; if not, it
    /// may exist for that virtual thread alone.
    pub(super) fn put_down(&self) -> bool {
        let carrier = CARRIER.get();
        if let Some(carrier) = carrier {
            carrier.carried.store(0, Relaxed);
        }
        carrier.is_some_and(|carrier| carrier.own.get().is_some())
    }

    /// Returns the platform threads and their trees.
    pub(super) fn threads(&self) -> Vec<(Tid, &'static Tree)> {
        let carriers = lock(&self.carriers);
        carriers.iter().filter_map(|it| Some((it.tid, *it.own.get()?))).collect()
    }
}

impl Carrier {
    fn tick(&self) {
        let mut pace = lock(&self.pace);
        if pace.wait_ticks > 0 {
            pace.wait_ticks -= 1;
        } else if self.advance(&mut pace) {
            pace.idle_ticks = 0;
        } else {
            pace.idle_ticks = (pace.idle_ticks * 2 + 1).min(MAX_IDLE_TICKS);
            pace.wait_ticks = pace.idle_ticks;
        }
    }

    fn read(&self) {
        self.advance(&mut lock(&self.pace));
    }

    /// Books the CPU time since the last time; `false` if there was none.
    fn advance(&self, pace: &mut Pace) -> bool {
        let cpu_ns = self.tid.cpu_ns().unwrap_or(pace.read_ns);
        let spent_ns = cpu_ns.saturating_sub(pace.read_ns);
        pace.read_ns = cpu_ns;
        let tree = match self.carried.load(Relaxed) {
            0 => self.own.get().copied(),
            // SAFETY: `carry` has stored it.
            carried => Some(unsafe { Tree::at(carried) }),
        };
        if let Some(tree) = tree {
            tree.cpu_ns.fetch_add(spent_ns, Relaxed);
        }
        spent_ns > 0
    }
}
