//! Arrays in a scratch file, of which the pages in use are in memory.
//!
//! All arrays share the memory: the page that was not used for the longest time, roughly, goes to the
//! file. A page that was never written is not there, and has the value that its array began with.

use std::fs::File;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use crate::column::{Column, ColumnPlace};
use crate::edges::EdgeFile;
use crate::scratch::{self, Scratch};
use crate::space::{Number, Space};
use crate::{Error, Options};

/// The size of a page.
pub(crate) const PAGE_BYTES: usize = 4096;
/// The least number of pages in memory.
pub(crate) const LEAST_FRAMES: usize = 16;

/// A page that was never written, and one that is in the file; less is the number of a frame.
const ABSENT: u32 = u32::MAX;
const STORED: u32 = u32::MAX - 1;

/// A frame was used since the hand passed it.
const USED: u8 = 1;
/// Its page differs from what the file has.
const CHANGED: u8 = 2;
/// The file has its page.
const KNOWN: u8 = 4;

/// The pages of all arrays.
#[derive(Debug)]
pub(crate) struct Pool {
    file: File,
    folder: PathBuf,
    /// Of each page the number of its frame, [`STORED`] or [`ABSENT`].
    pages: Vec<u32>,
    /// Runs of pages that no array has: the first, and the number.
    gaps: Vec<(u32, u32)>,
    frames: Vec<PoolFrame>,
    most_frames: usize,
    /// Frames without a page.
    free: Vec<u32>,
    /// The frame that is looked at next when one is needed.
    hand: usize,
    /// The first failure of a question.
    pub(crate) fault: Option<Error>,
}

#[derive(Debug)]
struct PoolFrame {
    page: u32,
    marks: u8,
    bytes: Box<[u8; PAGE_BYTES]>,
}

/// An array of a pool.
#[derive(Debug)]
pub(crate) struct PagedArray<T> {
    first_page: u32,
    count: usize,
    value: T,
}

impl Pool {
    /// Makes a pool that takes this much memory, for arrays of about as many bytes in all.
    pub(crate) fn new(memory_bytes: u64, all_bytes: u64, options: &Options) -> Result<Self, Error> {
        let scratch = Scratch::create(options)?;
        scratch.check_room(all_bytes, "the scratch files have")?;
        let (file, folder) = scratch.into_parts()?;
        let most_frames = (memory_bytes / PAGE_BYTES as u64).min(u64::from(STORED)) as usize;
        Ok(Self {
            file,
            folder,
            pages: Vec::new(),
            gaps: Vec::new(),
            frames: Vec::new(),
            most_frames: most_frames.max(LEAST_FRAMES),
            free: Vec::new(),
            hand: 0,
            fault: None,
        })
    }

    /// The folder of the file.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Makes a file for references beside that of the pool.
    pub(crate) fn edge_file(&self) -> Result<EdgeFile, Error> {
        EdgeFile::create_in(self.folder.clone())
    }

    /// Notes the failure of a question. Returns the value that it continues with.
    #[cold]
    pub(crate) fn lost<T>(&mut self, fault: Error, value: T) -> T {
        self.fault.get_or_insert(fault);
        value
    }

    /// Gives back the room of an array, which is not used any more.
    pub(crate) fn discard<T: Number>(&mut self, array: &mut PagedArray<T>) {
        let page_count = (std::mem::take(&mut array.count) * T::BYTES).div_ceil(PAGE_BYTES) as u32;
        for page in array.first_page..array.first_page + page_count {
            let frame = std::mem::replace(&mut self.pages[page as usize], ABSENT);
            if frame < STORED {
                self.free.push(frame);
            }
        }
        self.gaps.push((array.first_page, page_count));
        self.gaps.sort_unstable();
        self.gaps.dedup_by(|next, gap| {
            let is_adjacent = gap.0 + gap.1 == next.0;
            if is_adjacent {
                gap.1 += next.1;
            }
            is_adjacent
        });
    }

    /// Returns the frame with a page of an array.
    #[inline]
    fn frame<T: Number>(
        &mut self,
        array: &PagedArray<T>,
        at: usize,
    ) -> Result<&mut PoolFrame, Error> {
        let page = array.first_page + (at / PAGE_BYTES) as u32;
        let mut frame = self.pages[page as usize];
        if frame >= STORED {
            frame = self.bring(page, array.value)?;
        }
        Ok(&mut self.frames[frame as usize])
    }

    /// Brings a page into memory.
    #[cold]
    fn bring<T: Number>(&mut self, page: u32, value: T) -> Result<u32, Error> {
        let at = self.vacate()?;
        let is_known = self.pages[page as usize] == STORED;
        let frame = &mut self.frames[at as usize];
        if is_known {
            let read = self.file.read_exact_at(&mut frame.bytes[..], offset(page));
            if let Err(error) = read {
                self.free.push(at);
                return Err(scratch::unreadable(&self.folder, &error));
            }
        } else {
            frame.bytes.chunks_exact_mut(T::BYTES).for_each(|bytes| value.put(bytes));
        }
        frame.page = page;
        frame.marks = USED | if is_known { KNOWN } else { 0 };
        self.pages[page as usize] = at;
        Ok(at)
    }

    /// Returns a frame without a page.
    fn vacate(&mut self) -> Result<u32, Error> {
        if let Some(frame) = self.free.pop() {
            return Ok(frame);
        }
        if self.frames.len() < self.most_frames {
            let bytes = Box::new([0; PAGE_BYTES]);
            self.frames.push(PoolFrame { page: 0, marks: 0, bytes });
            return Ok(self.frames.len() as u32 - 1);
        }
        loop {
            let at = self.hand;
            self.hand = (at + 1) % self.frames.len();
            let frame = &mut self.frames[at];
            if frame.marks & USED != 0 {
                frame.marks &= !USED;
                continue;
            }
            if frame.marks & CHANGED != 0 {
                let written = self.file.write_all_at(&frame.bytes[..], offset(frame.page));
                written.map_err(|error| {
                    scratch::unwritable(&self.folder, offset(frame.page), &error)
                })?;
                frame.marks |= KNOWN;
            }
            let is_known = frame.marks & KNOWN != 0;
            self.pages[frame.page as usize] = if is_known { STORED } else { ABSENT };
            return Ok(at as u32);
        }
    }
}

fn offset(page: u32) -> u64 {
    u64::from(page) * PAGE_BYTES as u64
}

impl Space for Pool {
    type Array<T: Number> = PagedArray<T>;

    fn array<T: Number>(&mut self, count: usize, value: T) -> PagedArray<T> {
        let page_count = (count * T::BYTES).div_ceil(PAGE_BYTES) as u32;
        let gap = self.gaps.iter().position(|gap| gap.1 >= page_count);
        let first_page = match gap {
            Some(at) => {
                let gap = &mut self.gaps[at];
                let first = gap.0;
                (gap.0, gap.1) = (gap.0 + page_count, gap.1 - page_count);
                first
            }
            None => {
                let first = self.pages.len() as u32;
                self.pages.resize(self.pages.len() + page_count as usize, ABSENT);
                first
            }
        };
        self.gaps.retain(|gap| gap.1 > 0);
        PagedArray { first_page, count, value }
    }

    #[inline]
    fn count<T: Number>(array: &PagedArray<T>) -> usize {
        array.count
    }

    #[inline]
    fn get<T: Number>(&mut self, array: &PagedArray<T>, index: usize) -> Result<T, Error> {
        assert!(index < array.count);
        let at = index * T::BYTES;
        let frame = self.frame(array, at)?;
        frame.marks |= USED;
        Ok(T::take(&frame.bytes[at % PAGE_BYTES..]))
    }

    #[inline]
    fn set<T: Number>(
        &mut self,
        array: &mut PagedArray<T>,
        index: usize,
        value: T,
    ) -> Result<(), Error> {
        assert!(index < array.count);
        let at = index * T::BYTES;
        let frame = self.frame(array, at)?;
        frame.marks |= USED | CHANGED;
        value.put(&mut frame.bytes[at % PAGE_BYTES..]);
        Ok(())
    }

    fn free<T: Number>(&mut self, mut array: PagedArray<T>) {
        self.discard(&mut array);
    }

    fn parts<'a, T: Number>(
        _array: &'a mut PagedArray<T>,
        _ranges: &[Range<usize>],
    ) -> Option<Vec<(Self, &'a mut [T])>> {
        None
    }

    fn room(self) -> ColumnPlace {
        ColumnPlace::Scratch(Arc::new(Mutex::new(self)))
    }

    fn column<T: Number>(room: &ColumnPlace, array: PagedArray<T>, lost: T) -> Column<T> {
        match room {
            ColumnPlace::Scratch(pool) => Column::Scratch(array, Arc::clone(pool), lost),
            ColumnPlace::Memory => unreachable!("the array is in a pool"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_outlive_their_pages() {
        let mut pool = Pool::new(0, 0, &Options::default()).unwrap();
        let count = 40 * PAGE_BYTES;
        let mut words = pool.array(count, 7_u32);
        let mut bytes = pool.array(count, 1_u8);
        for index in (0..count).step_by(3) {
            pool.set(&mut words, index, index as u32).unwrap();
            pool.set(&mut bytes, count - 1 - index, index as u8).unwrap();
        }
        for index in 0..count {
            let is_set = index % 3 == 0;
            let expected = if is_set { index as u32 } else { 7 };
            assert_eq!(pool.get(&words, index).unwrap(), expected);
            let expected = if is_set { index as u8 } else { 1 };
            assert_eq!(pool.get(&bytes, count - 1 - index).unwrap(), expected);
        }
        assert_eq!(pool.frames.len(), LEAST_FRAMES);
        // What is given back begins anew, and takes no more room in the file.
        let page_count = pool.pages.len();
        pool.free(words);
        let again = pool.array(count, 9_u16);
        assert!((0..count).all(|index| pool.get(&again, index).unwrap() == 9));
        let rest = pool.array(count / 2, 5_u32);
        assert!((0..count / 2).all(|index| pool.get(&rest, index).unwrap() == 5));
        assert_eq!(pool.pages.len(), page_count);
        assert_eq!(pool.get(&bytes, count - 1).unwrap(), 0);
    }

    #[test]
    fn what_cannot_be_read_is_lost_and_said() {
        let mut pool = Pool::new(0, 0, &Options::default()).unwrap();
        let count = 8 * LEAST_FRAMES * PAGE_BYTES;
        let mut array = pool.array(count, 0_u8);
        (0..count).for_each(|index| pool.set(&mut array, index, 5).unwrap());
        // After that the pages in memory are as in the file, and none is written any more.
        assert!((0..LEAST_FRAMES * PAGE_BYTES).all(|index| pool.get(&array, index).unwrap() == 5));
        pool.file.set_len(0).unwrap();
        let room = pool.room();
        let column = Pool::column(&room, array, 77);
        assert_eq!(column.get(0), 5);
        assert_eq!(column.get(count - 1), 77);
        // After the first failure all are lost.
        assert_eq!(column.get(0), 77);
        let fault = room.fault().unwrap().to_string();
        assert!(
            fault.starts_with("the scratch file in ") && fault.contains("cannot be read"),
            "{fault}"
        );
        assert!(room.fault().is_none());
    }
}
