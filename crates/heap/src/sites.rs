//! Allocation sites: what the objects allocated at each call trace retain.

use std::cmp::Reverse;
use std::collections::HashMap;

use rustc_hash::FxHashMap;

use crate::{ClassIndex, Error, Frame, Heap, ObjectId, Reach, SetSize};

/// The objects that were allocated at one call trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Site {
    /// The serial number of the call trace; of equal traces, the least.
    pub trace: u32,
    /// The class that most of the bytes are of.
    pub class: ClassIndex,
    /// The number of classes.
    pub class_count: u64,
    /// What the objects retain.
    pub size: SetSize,
}

/// The allocation sites of a dump.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sites {
    /// The sites that retain most first.
    pub sites: Vec<Site>,
    /// The objects whose site the dump does not give.
    pub unknown: SetSize,
}

/// The set of the objects without a site.
const UNKNOWN: u32 = 0;

impl Heap {
    /// Returns the allocation sites. There are none in dumps that do not give the allocation traces
    /// of objects.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn sites(&self) -> Result<Sites, Error> {
        let mut traces = Traces::default();
        let mut set_of = self.room.column(self.ids.count() as usize, UNKNOWN);
        self.each_trace(&mut |object, trace| {
            set_of.set(object.0 as usize, traces.set(self, trace));
        })?;
        let set = |object: ObjectId| Some(set_of.get(object.0 as usize));
        let sizes = self.sets(traces.serials.len() + 1, &set);
        let mut classes: FxHashMap<(u32, ClassIndex), u64> = FxHashMap::default();
        for object in self.objects().filter(|&it| self.reach(it) == Reach::Held) {
            let key = (set_of.get(object.0 as usize), self.class_of(object));
            *classes.entry(key).or_default() += self.shallow_bytes(object);
        }
        let mut main: FxHashMap<u32, (u64, Reverse<ClassIndex>, u64)> = FxHashMap::default();
        for ((set, class), bytes) in classes {
            let of_set = main.entry(set).or_insert((bytes, Reverse(class), 0));
            of_set.2 += 1;
            if (bytes, Reverse(class)) > (of_set.0, of_set.1) {
                (of_set.0, of_set.1) = (bytes, Reverse(class));
            }
        }
        let site = |(set, &trace): (u32, &u32)| {
            let &(_, Reverse(class), class_count) = main.get(&set)?;
            Some(Site { trace, class, class_count, size: sizes[set as usize] })
        };
        let mut sites: Vec<_> = (1..).zip(&traces.serials).filter_map(site).collect();
        sites.sort_by_key(|site| (Reverse(site.size.least_bytes), site.trace));
        Ok(Sites { sites, unknown: sizes[UNKNOWN as usize] })
    }
}

/// The sets of objects with equal call traces.
#[derive(Default)]
struct Traces {
    by_serial: FxHashMap<u32, u32>,
    by_frames: HashMap<Vec<Frame>, u32>,
    /// The least serial number of each set, from set 1 on.
    serials: Vec<u32>,
}

impl Traces {
    fn set(&mut self, heap: &Heap, serial: u32) -> u32 {
        if let Some(&set) = self.by_serial.get(&serial) {
            return set;
        }
        let set = match heap.trace(serial).filter(|trace| !trace.frames.is_empty()) {
            None => UNKNOWN,
            Some(trace) => {
                let next = self.serials.len() as u32 + 1;
                let set = *self.by_frames.entry(trace.frames.clone()).or_insert(next);
                match self.serials.get_mut(set as usize - 1) {
                    Some(least) => *least = serial.min(*least),
                    None => self.serials.push(serial),
                }
                set
            }
        };
        self.by_serial.insert(serial, set);
        set
    }
}
