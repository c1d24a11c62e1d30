//! The results of an analysis, as questions read them.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::Error;
use crate::csr::Csr;
use crate::edges::EdgeFile;
use crate::heap::Reachability;
use crate::pool::{PagedArray, Pool};
use crate::space::{Memory, Number, Space, filled};

/// The place of arrays.
#[derive(Debug)]
pub(crate) enum ColumnPlace {
    Memory,
    Scratch(Arc<Mutex<Pool>>),
}

/// An array.
#[derive(Debug)]
pub(crate) enum Column<T: Number> {
    Memory(Vec<T>),
    /// With the value that represents one that cannot be read.
    Scratch(PagedArray<T>, Arc<Mutex<Pool>>, T),
}

/// A graph, as questions read it.
#[derive(Debug)]
pub(crate) struct Rows {
    /// The place of the first target of each node, and the number of all.
    starts: Column<u32>,
    targets: Column<u32>,
}

/// Makes graphs of what questions read.
pub(crate) trait RowSource {
    /// Makes one of arrays that are in this room.
    fn build<S: Space>(
        &self,
        space: &mut S,
        holder: &S::Array<u32>,
        reach: &S::Array<Reachability>,
    ) -> Result<Csr<u32, S>, Error>;
}

fn lock(pool: &Mutex<Pool>) -> MutexGuard<'_, Pool> {
    pool.lock().unwrap_or_else(PoisonError::into_inner)
}

impl ColumnPlace {
    /// Makes an array of equal numbers.
    pub(crate) fn column<T: Number>(&self, count: usize, value: T) -> Column<T> {
        match self {
            Self::Memory => Column::Memory(filled(count, value)),
            Self::Scratch(pool) => {
                Column::Scratch(lock(pool).array(count, value), Arc::clone(pool), value)
            }
        }
    }

    /// Whether arrays are in memory, where several threads can read them at once.
    pub(crate) fn is_memory(&self) -> bool {
        matches!(self, Self::Memory)
    }

    /// Returns the file for references, if they do not stay in memory.
    pub(crate) fn edge_file(&self) -> Result<Option<Arc<EdgeFile>>, Error> {
        match self {
            Self::Memory => Ok(None),
            Self::Scratch(pool) => Ok(Some(Arc::new(lock(pool).edge_file()?))),
        }
    }

    /// Returns a graph without nodes in place of one that could not be made.
    pub(crate) fn empty(&self, fault: Error) -> Rows {
        if let Self::Scratch(pool) = self {
            lock(pool).lost(fault, ());
        }
        Rows::none()
    }

    /// Returns the first failure of a scratch file since the last call.
    pub(crate) fn fault(&self) -> Option<Error> {
        match self {
            Self::Memory => None,
            Self::Scratch(pool) => lock(pool).fault.take(),
        }
    }
}

impl<T: Number> Column<T> {
    pub(crate) fn count(&self) -> usize {
        match self {
            Self::Memory(array) => array.len(),
            Self::Scratch(array, ..) => Pool::count(array),
        }
    }

    /// Returns a number. If one cannot be read, the pool has the fault.
    #[inline]
    pub(crate) fn get(&self, index: usize) -> T {
        match self {
            Self::Memory(array) => array[index],
            Self::Scratch(array, pool, lost) => read(array, pool, index, *lost),
        }
    }

    /// Calls with the index of each number that is meant.
    pub(crate) fn each_of(&self, is_meant: impl Fn(T) -> bool, mut found: impl FnMut(usize)) {
        let array = match self {
            Self::Memory(array) => array,
            Self::Scratch(..) => {
                let all = 0..self.count();
                return all.filter(|&index| is_meant(self.get(index))).for_each(found);
            }
        };
        // What is meant has no order: a processor cannot guess it, and is not asked for each number.
        for (place, numbers) in array.chunks(64).enumerate() {
            let bits = numbers.iter().rev();
            let mut bits = bits.fold(0_u64, |bits, &it| bits << 1 | u64::from(is_meant(it)));
            while bits != 0 {
                found(64 * place + bits.trailing_zeros() as usize);
                bits &= bits - 1;
            }
        }
    }

    #[inline]
    pub(crate) fn set(&mut self, index: usize, value: T) {
        match self {
            Self::Memory(array) => array[index] = value,
            Self::Scratch(array, pool, _) => write(array, pool, index, value),
        }
    }
}

/// Reads from a pool. It is separate, so that reading from memory stays short. After a fault all
/// numbers are lost, so that a walk from number to number ends.
#[inline(never)]
fn read<T: Number>(array: &PagedArray<T>, pool: &Mutex<Pool>, index: usize, lost: T) -> T {
    let mut pool = lock(pool);
    if pool.fault.is_some() {
        return lost;
    }
    let got = pool.get(array, index);
    got.unwrap_or_else(|fault| pool.lost(fault, lost))
}

#[inline(never)]
fn write<T: Number>(array: &mut PagedArray<T>, pool: &Mutex<Pool>, index: usize, value: T) {
    let mut pool = lock(pool);
    let put = pool.set(array, index, value);
    put.unwrap_or_else(|fault| pool.lost(fault, ()));
}

impl<T: Number> Drop for Column<T> {
    fn drop(&mut self) {
        if let Self::Scratch(array, pool, _) = self {
            lock(pool).discard(array);
        }
    }
}

impl Rows {
    /// Returns a graph without nodes.
    pub(crate) fn none() -> Self {
        Self { starts: Column::Memory(Vec::new()), targets: Column::Memory(Vec::new()) }
    }

    /// Makes a graph, of the holders and of how objects are reachable.
    pub(crate) fn build(
        source: &impl RowSource,
        holder: &Column<u32>,
        reach: &Column<Reachability>,
    ) -> Result<Self, Error> {
        match (holder, reach) {
            (Column::Memory(holder), Column::Memory(reach)) => {
                let csr = source.build(&mut Memory, holder, reach)?;
                Ok(Self {
                    starts: Column::Memory(csr.starts),
                    targets: Column::Memory(csr.targets),
                })
            }
            (Column::Scratch(holder, pool, _), Column::Scratch(reach, ..)) => {
                let csr = source.build(&mut *lock(pool), holder, reach)?;
                let column = |array| Column::Scratch(array, Arc::clone(pool), 0);
                Ok(Self { starts: column(csr.starts), targets: column(csr.targets) })
            }
            _ => unreachable!("all arrays are in one place"),
        }
    }

    /// Returns the places of what a node leads to.
    #[inline]
    pub(crate) fn range(&self, node: u32) -> (u32, u32) {
        match &self.starts {
            Column::Memory(starts) if starts.is_empty() => (0, 0),
            starts => {
                let (start, end) = (starts.get(node as usize), starts.get(node as usize + 1));
                // The second one can be lost.
                (start.min(end), end)
            }
        }
    }

    /// Returns what lies at a place.
    #[inline]
    pub(crate) fn target(&self, place: u32) -> u32 {
        self.targets.get(place as usize)
    }

    /// Returns what a node leads to.
    pub(crate) fn of(&self, node: u32) -> impl Iterator<Item = u32> {
        let (start, end) = self.range(node);
        (start..end).map(|place| self.target(place))
    }
}
