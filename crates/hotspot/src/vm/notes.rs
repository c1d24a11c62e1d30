//! Descriptions that C2 gives to instructions of which it does not know the method.
//!
//! C2 notes for each node the scope in which it parses. Nodes that it makes later, as it unrolls loops
//! and spills registers, keep the scope that it parsed last, wherever they are: that of a call that it
//! inlined late, such as of `Long.valueOf`. So this one scope describes instructions all over the code,
//! among others also most of an unrolled loop. It is recognised by what is around its descriptions, and
//! the instructions belong to what is before or after them.

use super::nmethod::Scope;

/// The descriptions that are looked at in each direction.
const REACH: usize = 32;
/// The most methods inlined in each other that are compared; C2 inlines to 15, lambdas' helpers further.
const MOST_DEPTH: usize = 32;
/// The least number of descriptions with the scope.
const LEAST_COUNT: usize = 4;
/// The part of all of them that the scope has at least, as a divisor.
const LEAST_SHARE: usize = 7;
/// How many times as often as any other it is.
const LEAST_RATIO: usize = 2;
/// Other scopes as often as this part of it, as a divisor, do not say where instructions are.
const OTHERS_SHARE: usize = 4;
/// Scopes that are as rare do in any case.
const FEW: usize = 3;
/// The places in other methods that prove it.
const PROOFS: usize = 2;
/// The places that are looked at for them.
const MOST_TRIED: usize = 8;
/// The bytes of code that are longer than any sequence without a loop in which the scope is found.
const LONG_CODE: i64 = 200;

/// The descriptions of a compiled method.
pub(super) trait Descriptions {
    /// How many there are.
    fn count(&self) -> usize;
    /// The offset of the end of the code that a description describes.
    fn end(&self, index: usize) -> Option<i64>;
    /// The offset of its scope; equal scopes have the same, and a missing one is not above 0.
    fn scope(&self, index: usize) -> Option<i64>;
    /// Its scopes.
    fn path(&self, index: usize) -> Option<Path>;
}

/// The methods inlined in each other, the innermost first.
#[derive(Clone, Copy, Debug)]
pub(super) struct Path {
    scopes: [(usize, i32); MOST_DEPTH],
    count: usize,
}

impl Path {
    /// Reads it; `None` if it is too long.
    pub(super) fn new(mut next: impl FnMut() -> Option<Scope>) -> Option<Path> {
        let mut path = Path { scopes: [(0, 0); MOST_DEPTH], count: 0 };
        loop {
            let scope = next()?;
            *path.scopes.get_mut(path.count)? = (scope.method, scope.bci);
            path.count = path.count.wrapping_add(1);
            if !scope.is_inlined {
                return Some(path);
            }
        }
    }

    /// The scope inside of this number of others.
    fn at(&self, depth: usize) -> Option<(usize, i32)> {
        let index = self.count.checked_sub(depth)?.checked_sub(1)?;
        self.scopes.get(index).copied()
    }

    /// Whether another has the same callers, and the same method in them or one that it has inlined.
    fn is_around(&self, other: &Path) -> bool {
        let own = self.count.wrapping_sub(1);
        self.has_callers_of(other)
            && matches!((self.at(own), other.at(own)), (Some(own), Some(its)) if own.0 == its.0)
    }

    /// Whether the callers of the innermost method are the outermost ones of another.
    fn has_callers_of(&self, other: &Path) -> bool {
        self.count <= other.count
            && (0..self.count.wrapping_sub(1)).all(|depth| self.at(depth) == other.at(depth))
    }
}

/// Returns the description that says where the instructions of another one are. Async-signal-safe.
pub(super) fn better(descs: &impl Descriptions, index: usize) -> Option<usize> {
    let first = index.saturating_sub(REACH);
    let last = index.wrapping_add(REACH).min(descs.count().checked_sub(1)?);
    let mut scopes = [0; 2 * REACH + 1];
    for (slot, at) in scopes.iter_mut().zip(first..=last) {
        *slot = descs.scope(at)?;
    }
    let total = last.wrapping_sub(first).wrapping_add(1);
    let scopes = scopes.get(..total)?;
    let scope =
        |at: usize| at.checked_sub(first).and_then(|at| scopes.get(at)).copied().unwrap_or(0);
    let times = |wanted: i64| scopes.iter().filter(|it| **it == wanted).count();
    let own = scope(index);
    let count = times(own);
    if own <= 0 || count < LEAST_COUNT || count.wrapping_mul(LEAST_SHARE) < total {
        return None;
    }
    let is_rival =
        |it: &&i64| **it > 0 && **it != own && times(**it).wrapping_mul(LEAST_RATIO) > count;
    if scopes.iter().find(is_rival).is_some() {
        return None;
    }
    let path = descs.path(index)?;
    if !is_proved(descs, index, (first, last), &path, &scope) {
        return None;
    }
    let most = (count / OTHERS_SHARE).max(FEW);
    let is_place = |at: &usize| scope(*at) > 0 && times(scope(*at)) <= most;
    let before = (first..index).rev().find(is_place);
    let after = (index.wrapping_add(1)..=last).find(is_place);
    let (Some(before), Some(after)) = (before, after) else { return before.or(after) };
    let (before_path, after_path) = (descs.path(before)?, descs.path(after)?);
    let begin = index.checked_sub(1).and_then(|at| descs.end(at)).unwrap_or(0);
    let is_long = descs.end(index)?.wrapping_sub(begin) > LONG_CODE;
    let is_entered =
        before_path.count < after_path.count && before_path.has_callers_of(&after_path);
    let is_left = is_long && after_path.count > 1 && path.is_around(&before_path);
    Some(if (is_entered || is_left) && !path.is_around(&after_path) { after } else { before })
}

/// Whether descriptions with the scope are among those of other methods, on both sides.
fn is_proved(
    descs: &impl Descriptions,
    index: usize,
    (first, last): (usize, usize),
    path: &Path,
    scope: &impl Fn(usize) -> i64,
) -> bool {
    let is_other = |at: usize| {
        first <= at
            && at <= last
            && scope(at) > 0
            && descs.path(at).is_some_and(|its| !path.is_around(&its))
    };
    let mut proofs = 0usize;
    let mut tried = 0usize;
    for distance in 0..=REACH {
        let places = [index.checked_sub(distance), index.checked_add(distance)];
        let places = places.into_iter().flatten().take(if distance == 0 { 1 } else { 2 });
        for at in places.filter(|at| (first..=last).contains(at) && scope(*at) == scope(index)) {
            tried = tried.wrapping_add(1);
            let is_between = is_other(at.wrapping_sub(1)) && is_other(at.wrapping_add(1));
            proofs = proofs.wrapping_add(usize::from(is_between));
        }
        if proofs >= PROOFS || tried >= MOST_TRIED {
            break;
        }
    }
    proofs >= PROOFS
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Methods: the root 0, which has inlined others at the index of bytecode 10 times their number.
    const LATE: &[(usize, i32)] = &[(0, 10), (1, 26)];

    /// Ends and scopes, the outermost first.
    struct Table(Vec<(i64, &'static [(usize, i32)])>);

    impl Descriptions for Table {
        fn count(&self) -> usize {
            self.0.len()
        }

        fn end(&self, index: usize) -> Option<i64> {
            self.0.get(index).map(|it| it.0)
        }

        fn scope(&self, index: usize) -> Option<i64> {
            let number =
                |scope: i64, it: &(usize, i32)| scope * 1000 + it.0 as i64 * 50 + i64::from(it.1);
            Some(1 + self.0.get(index)?.1.iter().fold(0, number))
        }

        fn path(&self, index: usize) -> Option<Path> {
            let scopes = self.0.get(index)?.1;
            let mut rest = scopes.iter().enumerate().rev();
            Path::new(|| {
                let (depth, &(method, bci)) = rest.next()?;
                Some(Scope { method, bci, is_inlined: depth > 0 })
            })
        }
    }

    /// The end of the description that says where that with an end is.
    fn better_at(table: &Table, end: i64) -> Option<i64> {
        let index = table.0.iter().position(|it| it.0 == end)?;
        better(table, index).and_then(|index| table.end(index))
    }

    #[test]
    fn the_last_scope_is_recognised_among_others() {
        let table = Table(vec![
            (10, &[(0, 2)]),
            (20, LATE),
            (30, &[(0, 20), (2, 5)]),
            (40, LATE),
            (50, &[(0, 20), (2, 7)]),
            (60, LATE),
            (70, &[(0, 20), (2, 9)]),
            (400, LATE),
            (420, &[(0, 30), (3, 4)]),
            (430, LATE),
            (440, &[(0, 30), (3, 8)]),
            (450, &[(0, 1)]),
            (800, LATE),
            (810, &[(0, 40), (4, 4)]),
            (820, &[(0, 10), (1, 30)]),
            (830, LATE),
            (840, &[(0, 10), (1, 38)]),
            (850, &[(0, 10), (1, 40)]),
            (1200, LATE),
            (1210, &[(0, 50), (5, 6)]),
        ]);
        // Inside of a method, and a loop after the last place of one that has descriptions.
        assert_eq!(better_at(&table, 40), Some(30));
        assert_eq!(better_at(&table, 400), Some(70));
        // After the root's own code and after that of the scope's own method the loop is that of what follows.
        assert_eq!(better_at(&table, 800), Some(810));
        assert_eq!(better_at(&table, 1200), Some(1210));
        assert_eq!(better_at(&table, 830), Some(820), "in its own method it stays there");
        // The others are right.
        for end in [10, 30, 420, 450, 840] {
            assert_eq!(better_at(&table, end), None);
        }
    }

    /// An unrolled loop that calls two inlined methods in turn: its own scope is the most frequent.
    #[test]
    fn what_is_frequent_in_its_own_method_is_right() {
        let own: &'static [(usize, i32)] = &[(0, 10), (1, 16)];
        let callees: [&'static [(usize, i32)]; 2] =
            [&[(0, 10), (1, 16), (2, 5)], &[(0, 10), (1, 16), (3, 5)]];
        let unrolled = (0..16)
            .flat_map(|index| [(index * 20, own), (index * 20 + 10, callees[index as usize % 2])]);
        let table = Table(unrolled.collect());
        for (end, _) in &table.0 {
            assert_eq!(better_at(&table, *end), None);
        }
    }
}
