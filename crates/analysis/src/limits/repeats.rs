//! Calls that are made again and again for one call of their caller, where calls were counted.

use std::cmp::Reverse;

use perk_profile::{KeyedMap, MethodId, Profile};

use crate::calls::CallTable;
use crate::charges;
use crate::{Owner, Owners};

/// Fewer calls than this for one call of the caller are no loop.
const LEAST: u64 = 5;
/// Fewer calls than this are not worth a word.
const FEW: u64 = 20;
/// The kinds of work of which each call costs a message or a system call.
const KINDS: [&str; 5] = ["SQL", "other databases", "network", "messages", "files"];
/// The ends of classes whose objects are names of files: they cost nothing.
const NAMES_OF_FILES: [&str; 2] = ["Path", ".Paths"];

/// A method that one of its callers calls many times for each of its own calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Repeat {
    /// The method of the program that is called.
    pub callee: MethodId,
    /// The method of the program that calls it.
    pub caller: MethodId,
    /// What it does: `SQL`.
    pub kind: &'static str,
    /// Its calls for each call of the caller.
    pub each: u64,
    /// All of its calls by the caller.
    pub count: u64,
}

/// The repeated calls of databases, of the network, of messages and of files; most calls first.
pub fn repeats(profile: &Profile, owners: &Owners, calls: &CallTable) -> Vec<Repeat> {
    let symbols = &profile.symbols;
    let is_yours = |method: MethodId| owners.of(method) == Owner::Yours;
    let kind = |method: MethodId| {
        let id = symbols.get_method(method);
        let class = symbols.class_name(id.class);
        if NAMES_OF_FILES.iter().any(|end| class.ends_with(end)) {
            return None;
        }
        let word = charges::word(class, symbols.strings.get(id.name))?;
        KINDS.iter().position(|kind| word == *kind)
    };
    let counts: KeyedMap<MethodId, u64> =
        calls.methods.iter().map(|row| (row.method, row.count)).collect();
    let calls_of = |method: MethodId| counts.get(&method).copied();
    // What the program's methods call outside of it: the calls and the time of each kind.
    let mut work: KeyedMap<MethodId, [(u64, u64); KINDS.len()]> = KeyedMap::default();
    for edge in &calls.edges {
        let (Some(caller), Some(callee)) = (edge.caller, edge.callee) else { continue };
        if !is_yours(caller) || is_yours(callee) {
            continue;
        }
        let Some(kind) = kind(callee) else { continue };
        let (count, ns) = &mut work.entry(caller).or_default()[kind];
        (*count, *ns) = (count.saturating_add(edge.count), ns.saturating_add(edge.total_ns));
    }
    // The kind with the most time, if most calls of the method do such work. What they do now and then is another
    // object's method, or fills a cache.
    let kind_of = |method: MethodId| {
        let (kind, &(count, _)) =
            work.get(&method)?.iter().enumerate().max_by_key(|(_, (count, ns))| (*ns, *count))?;
        (count >= calls_of(method)? / 2).then_some(KINDS[kind])
    };
    let repeat = |edge: &crate::calls::Edge| {
        let (caller, callee) = (edge.caller?, edge.callee?);
        let kind = kind_of(callee)?;
        let calls = calls_of(caller)?.max(1);
        // Calls that had begun before they were counted are missing on one side alone.
        let each = edge.count.saturating_add(calls / 2) / calls;
        let is_loop = is_yours(caller) && caller != callee && each >= LEAST && edge.count >= FEW;
        is_loop.then_some(Repeat { callee, caller, kind, each, count: edge.count })
    };
    let mut repeats: Vec<_> = calls.edges.iter().filter_map(repeat).collect();
    repeats.sort_by_key(|it| (Reverse(it.count), it.callee, it.caller));
    repeats
}
