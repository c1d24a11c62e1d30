//! The table of monitors, and their handles.

use std::ffi::{CStr, c_char};
use std::sync::atomic::Ordering;

use super::MonitorHandle;
use super::place::{MonitorSlot, MonitorSnapshot};
use crate::state::STATE;
use perk_jvm::sync::lock;

/// The number of places in the first block; each block has twice as many as the previous one.
const FIRST_BLOCK: usize = 64;
/// The top 16 bits of a handle, which no address of the process has.
const MARK: usize = 0x4d6f;
const MARK_SHIFT: u32 = 48;
/// A handle has the generation above its index, which is above 4 bits that are zero, as of an address.
const GENERATION_SHIFT: u32 = 24;
const GENERATION_MASK: usize = (1 << (MARK_SHIFT - GENERATION_SHIFT)) - 1;
const INDEX_SHIFT: u32 = 4;
const INDEX_MASK: usize = (1 << (GENERATION_SHIFT - INDEX_SHIFT)) - 1;

/// Returns the block of a place, and the place's index in it.
const fn position(index: usize) -> (usize, usize) {
    let block = ((index + FIRST_BLOCK) / FIRST_BLOCK).ilog2();
    (block as usize, index + FIRST_BLOCK - (FIRST_BLOCK << block))
}

fn place(index: usize) -> Option<&'static MonitorSlot> {
    let (block, index) = position(index);
    STATE.raw_monitors.places.get(block)?.get()?.get(index)
}

fn handle(index: usize, generation: u32) -> usize {
    MARK << MARK_SHIFT
        | (generation as usize & GENERATION_MASK) << GENERATION_SHIFT
        | index << INDEX_SHIFT
}

/// Makes a monitor. Returns its handle; 0 if there are too many.
///
/// # Safety
/// The name must end in NUL, or be null.
pub(super) unsafe fn create(name: *const c_char) -> usize {
    let name = match name.is_null() {
        true => c"",
        // SAFETY: the caller's promise.
        false => unsafe { CStr::from_ptr(name) },
    };
    let name = {
        let mut names = lock(&STATE.raw_monitors.names);
        if !names.contains(name) {
            names.insert(name.to_owned());
        }
        names.get(name).map_or(c"".as_ptr(), |name| name.as_ptr()).cast_mut()
    };
    let mut free = lock(&STATE.raw_monitors.free);
    let index = match free.pop() {
        Some(index) => index,
        None => {
            let index = STATE.raw_monitors.used.load(Ordering::Relaxed) as usize;
            let (block, _) = position(index);
            let Some(block_of_places) = STATE.raw_monitors.places.get(block) else { return 0 };
            block_of_places.get_or_init(|| {
                (0..FIRST_BLOCK << block).map(|_| MonitorSlot::default()).collect()
            });
            STATE.raw_monitors.used.store(index as u32 + 1, Ordering::Release);
            index
        }
    };
    place(index).map_or(0, |place| handle(index, place.begin(name)))
}

/// Returns the monitor of a handle, if it exists. Any number may be passed.
#[inline]
pub(super) fn find(handle: usize) -> Option<MonitorHandle> {
    if handle >> MARK_SHIFT != MARK || handle & ((1 << INDEX_SHIFT) - 1) != 0 {
        return None;
    }
    let place = place(handle >> INDEX_SHIFT & INDEX_MASK)?;
    let generation = place.generation();
    let is_it = (handle >> GENERATION_SHIFT ^ generation as usize) & GENERATION_MASK == 0;
    (is_it && generation % 2 == 1).then_some(MonitorHandle { place, generation, handle })
}

/// Lets the place of a monitor that was ended be used again.
pub(super) fn give_back(handle: usize) {
    lock(&STATE.raw_monitors.free).push(handle >> INDEX_SHIFT & INDEX_MASK);
}

/// Returns all monitors at this moment.
pub(crate) fn all() -> Vec<MonitorSnapshot> {
    let places =
        (0..STATE.raw_monitors.used.load(Ordering::Acquire) as usize).filter_map(|index| {
            let place = place(index)?;
            let generation = place.generation();
            let moment = place.moment(handle(index, generation));
            (generation % 2 == 1 && place.is(generation)).then_some(moment)
        });
    places.collect()
}

#[cfg(test)]
mod tests {
    use super::super::place::BLOCKS;
    use super::*;

    #[test]
    fn blocks_follow_each_other() {
        assert_eq!(position(0), (0, 0));
        assert_eq!(position(63), (0, 63));
        assert_eq!(position(64), (1, 0));
        assert_eq!(position(191), (1, 127));
        assert_eq!(position(192), (2, 0));
        assert_eq!(position((1 << 20) - 65), (BLOCKS - 1, (FIRST_BLOCK << (BLOCKS - 1)) - 1));
    }

    #[test]
    fn only_handles_of_living_monitors_are_found() {
        // SAFETY: the name ends in NUL.
        let first = unsafe { create(c"first".as_ptr()) };
        assert!(find(first).is_some());
        for other in
            [0, 1, 16, usize::MAX, first + 1, first ^ 1 << 50, first + (1 << 30), first >> 4]
        {
            assert!(find(other).is_none(), "{other:x}");
        }
        find(first).unwrap().destroy();
        assert!(find(first).is_none());
        // SAFETY: null is allowed.
        let second = unsafe { create(std::ptr::null()) };
        assert_ne!(second, first);
        assert!(find(second).is_some() && find(first).is_none());
        find(second).unwrap().destroy();
    }
}
