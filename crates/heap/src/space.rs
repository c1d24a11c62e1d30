//! Where the numbers of an analysis are kept: in memory, or in a scratch file of which the pages in
//! use are in memory. The analysis is written once, for both.

use std::fmt::Debug;
use std::ops::Range;

use crate::Error;
use crate::column::{Column, ColumnPlace};
pub(crate) use crate::number::{Number, Width, filled, split};
use crate::workers::in_threads;

/// A place for arrays.
pub(crate) trait Space: Send + Sized {
    type Array<T: Number>: Debug + Send + Sync;

    /// Makes an array of equal numbers.
    fn array<T: Number>(&mut self, count: usize, value: T) -> Self::Array<T>;

    fn count<T: Number>(array: &Self::Array<T>) -> usize;

    fn get<T: Number>(&mut self, array: &Self::Array<T>, index: usize) -> Result<T, Error>;

    fn set<T: Number>(
        &mut self,
        array: &mut Self::Array<T>,
        index: usize,
        value: T,
    ) -> Result<(), Error>;

    /// Gives back the room of an array.
    fn free<T: Number>(&mut self, array: Self::Array<T>);

    /// Returns these parts of an array for several threads, each with a space for other arrays; `None`
    /// if only one thread can read and write.
    fn parts<'a, T: Number>(
        array: &'a mut Self::Array<T>,
        ranges: &[Range<usize>],
    ) -> Option<Vec<(Self, &'a mut [T])>>;

    /// Replaces each number by what a function returns for its index and itself.
    fn update<T: Number>(
        &mut self,
        array: &mut Self::Array<T>,
        thread_count: usize,
        update: impl Fn(&mut Self, usize, T) -> Result<T, Error> + Sync,
    ) -> Result<(), Error> {
        let ranges = split(Self::count(array), thread_count);
        let Some(parts) = Self::parts(array, &ranges) else {
            for index in 0..Self::count(array) {
                let before = self.get(array, index)?;
                let after = update(self, index, before)?;
                self.set(array, index, after)?;
            }
            return Ok(());
        };
        in_threads(ranges.into_iter().zip(parts), |(range, (mut space, part))| {
            for (index, number) in range.zip(part) {
                *number = update(&mut space, index, *number)?;
            }
            Ok(())
        })?;
        Ok(())
    }

    /// Calls `each` with all numbers in their order.
    fn each<T: Number>(
        &mut self,
        array: &Self::Array<T>,
        mut each: impl FnMut(usize, T),
    ) -> Result<(), Error> {
        for index in 0..Self::count(array) {
            each(index, self.get(array, index)?);
        }
        Ok(())
    }

    /// Adds to a number, by a function.
    #[inline]
    fn change<T: Number>(
        &mut self,
        array: &mut Self::Array<T>,
        index: usize,
        change: impl FnOnce(T) -> T,
    ) -> Result<T, Error> {
        let before = self.get(array, index)?;
        self.set(array, index, change(before))?;
        Ok(before)
    }

    /// Ends the analysis: what is left is read by questions.
    fn room(self) -> ColumnPlace;

    /// Makes an array one that questions read; `lost` represents a number that cannot be read.
    fn column<T: Number>(room: &ColumnPlace, array: Self::Array<T>, lost: T) -> Column<T>;
}

/// Arrays in memory.
#[derive(Debug)]
pub(crate) struct Memory;

impl Space for Memory {
    type Array<T: Number> = Vec<T>;

    fn array<T: Number>(&mut self, count: usize, value: T) -> Vec<T> {
        filled(count, value)
    }

    #[inline]
    fn count<T: Number>(array: &Vec<T>) -> usize {
        array.len()
    }

    #[inline]
    fn get<T: Number>(&mut self, array: &Vec<T>, index: usize) -> Result<T, Error> {
        Ok(array[index])
    }

    #[inline]
    fn set<T: Number>(&mut self, array: &mut Vec<T>, index: usize, value: T) -> Result<(), Error> {
        array[index] = value;
        Ok(())
    }

    fn free<T: Number>(&mut self, array: Vec<T>) {
        drop(array);
    }

    fn parts<'a, T: Number>(
        array: &'a mut Vec<T>,
        ranges: &[Range<usize>],
    ) -> Option<Vec<(Self, &'a mut [T])>> {
        let mut rest = array.as_mut_slice();
        let mut first = 0;
        let mut parts = Vec::new();
        for range in ranges {
            let (part, tail) = rest.split_at_mut(range.end - first);
            parts.push((Self, &mut part[range.start - first..]));
            (rest, first) = (tail, range.end);
        }
        Some(parts)
    }

    fn room(self) -> ColumnPlace {
        ColumnPlace::Memory
    }

    fn column<T: Number>(_room: &ColumnPlace, array: Vec<T>, _lost: T) -> Column<T> {
        Column::Memory(array)
    }
}
