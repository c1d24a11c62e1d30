//! The numbers at the ends of paths, and a sum for each path of a tree.

use perk_profile::{PathId, add_up_rows};

use crate::MethodTree;

/// Rows are few below this part of the paths.
const SPARSE: usize = 16;

/// A number of a path.
pub(crate) type Row = (PathId, u64);

/// Numbers in half of the memory where they fit.
#[derive(Clone, Debug)]
pub(crate) enum Numbers {
    Small(Vec<u32>),
    Large(Vec<u64>),
}

/// The numbers at the ends of paths: in the order of the paths, each path once.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ends {
    paths: Vec<PathId>,
    numbers: Numbers,
}

/// A sum for each path.
#[derive(Clone, Debug)]
pub(crate) struct Sums(Numbers);

impl Default for Numbers {
    fn default() -> Self {
        Self::Small(Vec::new())
    }
}

impl Numbers {
    fn push(&mut self, number: u64) {
        match (&mut *self, u32::try_from(number)) {
            (Self::Small(numbers), Ok(number)) => numbers.push(number),
            (Self::Large(numbers), _) => numbers.push(number),
            (Self::Small(numbers), Err(_)) => {
                let numbers = numbers.iter().map(|&it| it.into()).chain([number]);
                *self = Self::Large(numbers.collect());
            }
        }
    }

    #[inline]
    fn get(&self, index: usize) -> u64 {
        match self {
            Self::Small(numbers) => numbers[index].into(),
            Self::Large(numbers) => numbers[index],
        }
    }

    fn bytes(&self) -> usize {
        match self {
            Self::Small(numbers) => size_of_val(&**numbers),
            Self::Large(numbers) => size_of_val(&**numbers),
        }
    }
}

impl Ends {
    /// Those of rows in any order; a path can have several.
    pub(crate) fn new(rows: impl IntoIterator<Item = Row>) -> Self {
        let mut ends = Self::default();
        rows.into_iter().for_each(|(path, number)| ends.push(path, number));
        ends.finish()
    }

    pub(crate) fn push(&mut self, path: PathId, number: u64) {
        self.paths.push(path);
        self.numbers.push(number);
    }

    /// Orders what was pushed, and makes one of the numbers of a path.
    pub(crate) fn finish(mut self) -> Self {
        // Traces are in the order of their paths where each has a path of its own.
        if self.paths.is_sorted_by(|one, next| one < next) {
            self.paths.shrink_to_fit();
            match &mut self.numbers {
                Numbers::Small(numbers) => numbers.shrink_to_fit(),
                Numbers::Large(numbers) => numbers.shrink_to_fit(),
            }
            return self;
        }
        let mut rows: Vec<Row> = self.iter().collect();
        drop(self);
        add_up_rows(&mut rows);
        let mut ends = Self::default();
        ends.paths.reserve_exact(rows.len());
        rows.into_iter().for_each(|(path, number)| ends.push(path, number));
        ends
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = Row> + Clone + '_ {
        self.paths.iter().enumerate().map(|(place, &path)| (path, self.numbers.get(place)))
    }

    /// The number at the end of a path.
    pub(crate) fn get(&self, path: PathId) -> u64 {
        self.paths.binary_search(&path).map_or(0, |place| self.numbers.get(place))
    }

    pub(crate) fn sum(&self) -> u64 {
        self.iter().map(|row| row.1).fold(0, u64::saturating_add)
    }

    /// The memory that it takes.
    pub(crate) fn bytes(&self) -> usize {
        size_of_val(&*self.paths) + self.numbers.bytes()
    }
}

impl Sums {
    /// The sums of the numbers of each path and of all below it; `sum` is that of all numbers.
    pub(crate) fn new(
        tree: &MethodTree,
        rows: impl Iterator<Item = Row> + Clone,
        sum: u64,
    ) -> Self {
        // Memory that nothing is written to costs nothing.
        Self(match u32::try_from(sum) {
            Ok(_) => Numbers::Small(add_up(tree, rows, vec![0; tree.len()], |it| it as u32)),
            Err(_) => Numbers::Large(add_up(tree, rows, vec![0; tree.len()], |it| it)),
        })
    }

    #[inline]
    pub(crate) fn get(&self, path: PathId) -> u64 {
        self.0.get(path.index())
    }

    /// Visits the sums other than 0, in the order of the paths.
    pub(crate) fn visit(&self, mut visit: impl FnMut(PathId, u64)) {
        match &self.0 {
            Numbers::Small(sums) => {
                let sums = sums.iter().enumerate().filter(|it| *it.1 > 0);
                sums.for_each(|(index, sum)| visit(PathId::new(index), (*sum).into()));
            }
            Numbers::Large(sums) => {
                let sums = sums.iter().enumerate().filter(|it| *it.1 > 0);
                sums.for_each(|(index, sum)| visit(PathId::new(index), *sum));
            }
        }
    }

    /// The memory that it takes.
    pub(crate) fn bytes(&self) -> usize {
        self.0.bytes()
    }
}

/// A number that is added without going past its end.
trait Number: Copy + Default + PartialEq {
    fn plus(self, other: Self) -> Self;
}

impl Number for u32 {
    fn plus(self, other: Self) -> Self {
        self.saturating_add(other)
    }
}

impl Number for u64 {
    fn plus(self, other: Self) -> Self {
        self.saturating_add(other)
    }
}

fn add_up<T: Number>(
    tree: &MethodTree,
    rows: impl Iterator<Item = Row> + Clone,
    mut sums: Vec<T>,
    number_of: impl Fn(u64) -> T,
) -> Vec<T> {
    let add = |sums: &mut [T], path: PathId, number: T| {
        let sum = &mut sums[path.index()];
        *sum = sum.plus(number);
    };
    // With few rows the paths above them are looked up, with many all paths are visited.
    let is_sparse = rows.clone().nth(tree.len() / SPARSE).is_none();
    if is_sparse {
        let mut order = Vec::new();
        let mut is_met = vec![0_u64; tree.len().div_ceil(64)];
        is_met[0] = 1;
        for (path, number) in rows {
            add(&mut sums, path, number_of(number));
            let begin = order.len();
            let mut at = path;
            while is_met[at.index() / 64] >> (at.index() % 64) & 1 == 0 {
                is_met[at.index() / 64] |= 1 << (at.index() % 64);
                order.push(at);
                at = tree.parent(at);
            }
            order[begin..].reverse();
        }
        // What was met later is below what was met before.
        for path in order.into_iter().rev() {
            let number = sums[path.index()];
            add(&mut sums, tree.parent(path), number);
        }
        return sums;
    }
    rows.for_each(|(path, number)| add(&mut sums, path, number_of(number)));
    for index in (1..sums.len()).rev() {
        let number = sums[index];
        if number != T::default() {
            add(&mut sums, tree.parent(PathId::new(index)), number);
        }
    }
    sums
}
