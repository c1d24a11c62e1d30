//! The tick clock: a thread that writes the time into words of memory, which probes read instead of
//! asking the kernel. The difference of two reads is wrong by up to a tick either way, and right in
//! the sum over many calls, as ticks come regardless of what the program does.
//!
//! CPU time has a word in each tree. A platform thread's time goes to its own tree, or to that of
//! the virtual thread which it carries.

use std::cell::Cell;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use super::tree::Tree;
use crate::os::{self, Tid};
use crate::session::lock;

/// The time between two ticks.
const TICK: Duration = Duration::from_micros(250);
/// A thread that burns no CPU time is asked less and less often, down to once in so many ticks.
const MAX_IDLE_TICKS: u32 = 31;
const STACK_BYTES: usize = 128 << 10;

/// See the module.
#[derive(Debug)]
pub(super) struct Clock {
    begun: Instant,
    /// Time since the clock was made; never 0.
    wall_ns: AtomicU64,
    carriers: Mutex<Vec<&'static Carrier>>,
    stopped: AtomicBool,
    cpu_ns: AtomicU64,
}

/// A platform thread that has a tree.
#[derive(Debug)]
pub(super) struct Carrier {
    tid: Tid,
    own: &'static Tree,
    /// The tree of the virtual thread that it carries, or 0.
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

    /// The word that holds the wall time.
    pub(super) fn wall_word(&'static self) -> u64 {
        std::ptr::from_ref(&self.wall_ns) as u64
    }

    /// The wall time as of the last tick.
    pub(super) fn wall_ns(&self) -> u64 {
        self.wall_ns.load(Relaxed)
    }

    /// The CPU time of the clock's thread.
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

    /// Brings all words up to now.
    pub(super) fn refresh(&self) {
        self.tick();
        lock(&self.carriers).iter().for_each(|carrier| carrier.read());
    }

    pub(super) fn stop(&self) {
        self.stopped.store(true, Relaxed);
    }

    /// The calling platform thread has got a tree.
    pub(super) fn thread_began(&self, tree: &'static Tree) {
        let pace = Pace { read_ns: os::thread_cpu_ns(), idle_ticks: 0, wait_ticks: 0 };
        let carrier: &'static Carrier = Box::leak(Box::new(Carrier {
            tid: Tid::current(),
            own: tree,
            carried: AtomicU64::new(0),
            pace: Mutex::new(pace),
        }));
        CARRIER.set(Some(carrier));
        lock(&self.carriers).push(carrier);
    }

    /// The calling platform thread ends; answers the tree it had.
    pub(super) fn thread_ended(&self) -> Option<&'static Tree> {
        let carrier = CARRIER.replace(None)?;
        carrier.read();
        lock(&self.carriers).retain(|it| !std::ptr::eq(*it, carrier));
        let tree = carrier.own;
        // SAFETY: it was made by `thread_began` out of a box, and the only list that knew it does no
        // longer.
        drop(unsafe { Box::from_raw(std::ptr::from_ref(carrier).cast_mut()) });
        Some(tree)
    }

    /// Has the calling platform thread's time go to a tree for a while.
    pub(super) fn lend(&self, tree: &'static Tree) {
        if CARRIER.get().is_none() {
            self.thread_began(tree);
        }
        Self::carries(tree.address());
    }

    /// Ends what [`Clock::lend`] began.
    pub(super) fn take_back(&self) {
        let lent = CARRIER.get().map(|carrier| carrier.carried.swap(0, Relaxed));
        if CARRIER.get().map(|carrier| carrier.own.address()) == lent {
            self.thread_ended();
        }
    }

    /// The calling platform thread now carries the virtual thread with this tree; 0 for none.
    pub(super) fn carries(tree: u64) {
        if let Some(carrier) = CARRIER.get() {
            carrier.carried.store(tree, Relaxed);
        }
    }

    /// The platform threads and their trees.
    pub(super) fn threads(&self) -> Vec<(Tid, &'static Tree)> {
        lock(&self.carriers).iter().map(|carrier| (carrier.tid, carrier.own)).collect()
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

    /// Books the CPU time since the last time; false if there was none.
    fn advance(&self, pace: &mut Pace) -> bool {
        let cpu_ns = self.tid.cpu_ns().unwrap_or(pace.read_ns);
        let spent_ns = cpu_ns.saturating_sub(pace.read_ns);
        pace.read_ns = cpu_ns;
        let tree = match self.carried.load(Relaxed) {
            0 => self.own,
            // SAFETY: Java code keeps the address of the tree that `begin` gave it.
            carried => unsafe { Tree::at(carried) },
        };
        tree.cpu_ns.fetch_add(spent_ns, Relaxed);
        spent_ns > 0
    }
}
