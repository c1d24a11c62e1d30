//! The processor cycles of methods themselves, where the cycles of methods with all that they called
//! give them.

use perk_profile::{KeyedMap, MethodId};

use crate::calls::CallTable;

/// Of the cycles of a method, at most one part of this many may be those of the methods called.
const OTHERS_PART: u64 = 5;

/// The cycles of a method, most of them its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OwnCycles {
    /// The method.
    pub method: MethodId,
    /// The least cycles of its own that it can have: all, without all cycles of each method that it
    /// calls.
    pub least: u64,
    /// All, with those of the methods called.
    pub most: u64,
}

/// The methods of which four fifths of the cycles or more are their own. `cycles` has for each
/// method its cycles with all that it called; methods without cycles have none if they are `known`:
/// the clock did not meet them, or they are native, and their cycles those of their callers. How
/// many of a method's cycles belong to which of its callers is not known.
pub fn own(
    cycles: &[(MethodId, u64)],
    calls: &CallTable,
    known: impl Fn(MethodId) -> bool,
) -> Vec<OwnCycles> {
    let of_method: KeyedMap<MethodId, u64> = cycles.iter().copied().collect();
    // Of the methods called, by caller; `None` if those of one of them are not known.
    let mut called: KeyedMap<MethodId, Option<u64>> = KeyedMap::default();
    for edge in &calls.edges {
        let Some((caller, callee)) = edge.caller.zip(edge.callee) else { continue };
        if caller == callee {
            continue;
        }
        let sum = called.entry(caller).or_insert(Some(0));
        let more = of_method.get(&callee).copied().or_else(|| known(callee).then_some(0));
        *sum = sum.zip(more).map(|(sum, more)| sum.saturating_add(more));
    }
    let own = |&(method, most): &(MethodId, u64)| {
        let others = called.get(&method).copied().unwrap_or(Some(0))?;
        let least = most.checked_sub(others)?;
        (others <= most / OTHERS_PART).then_some(OwnCycles { method, least, most })
    };
    cycles.iter().filter_map(own).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::calls::Edge;

    #[test]
    fn cycles_are_own_where_callees_have_few() {
        let [main, loop_, leaf, small, native, lost] = [0, 1, 2, 3, 4, 5].map(MethodId::new);
        let edge = |caller, callee| Edge {
            caller: Some(caller),
            callee: Some(callee),
            count: 1,
            estimated_count: 0,
            total_ns: 0,
        };
        let edges = vec![
            edge(main, loop_),
            edge(main, leaf),
            edge(loop_, small),
            edge(loop_, loop_),
            edge(leaf, native),
            edge(small, lost),
            Edge { caller: None, ..edge(main, main) },
        ];
        let calls = CallTable { edges, ..CallTable::default() };
        let cycles = [(main, 1000), (loop_, 500), (leaf, 400), (small, 100)];
        let own = own(&cycles, &calls, |method| method == native);
        let row = |method, least, most| OwnCycles { method, least, most };
        assert_eq!(own, [row(loop_, 400, 500), row(leaf, 400, 400)]);
    }
}
