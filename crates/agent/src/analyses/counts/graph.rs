//! The methods of the program, what they call, and which method runs where a call depends on the object.
//!
//! Class files give the types and the calls, counters the numbers. A call that is bound when it is compiled
//! has one target. One that depends on the object has those of all subtypes; where only one of them was ever
//! entered, all calls went there. Where there are several, the numbers of the call's instruction and of the entries of
//! each target are exact, and how they belong together is estimated.

use std::sync::Arc;

use perk_instrument::{ClassFile, Error, MethodCalls, MethodName, access};
use rustc_hash::{FxHashMap, FxHashSet};

/// A name or descriptor, as in class files.
type Name = Arc<[u8]>;

/// Returns the number of a thing, from 0 on; a new one gets the next number.
fn number<K: Eq + std::hash::Hash>(known: &mut FxHashMap<K, u32>, key: K) -> u32 {
    let next = known.len() as u32;
    *known.entry(key).or_insert(next)
}

/// A method by its number in [`CallGraph::methods`].
pub(super) type MethodNumber = u32;

/// The graph; see the module.
#[derive(Debug, Default)]
pub(super) struct CallGraph {
    names: FxHashSet<Name>,
    types: Vec<Type>,
    /// The type of a name that was defined last.
    types_by_name: FxHashMap<Name, u32>,
    /// The types that extend or implement one of this name.
    subtypes: FxHashMap<Name, Vec<u32>>,
    methods: Vec<Method>,
    methods_by_name: FxHashMap<(Name, Name, Name), MethodNumber>,
    /// The methods with counters; one that is redefined is there several times.
    counted: Vec<MethodCounters>,
    counter_count: u32,
}

/// A class or interface.
#[derive(Debug)]
struct Type {
    name: Name,
    super_type: Option<Name>,
    interfaces: Vec<Name>,
    /// The methods that it declares, by name and descriptor.
    methods: FxHashMap<(Name, Name), Declaration>,
}

#[derive(Clone, Copy, Debug)]
struct Declaration {
    method: MethodNumber,
    /// Whether it has code, or is native.
    has_body: bool,
    /// Whether calls through objects can run it.
    is_dispatched: bool,
}

/// The names of a method.
#[derive(Clone, Debug)]
pub(super) struct Method {
    pub(super) class: Name,
    pub(super) name: Name,
    pub(super) descriptor: Name,
    /// The source file; `None` if it is not known.
    pub(super) source: Option<Name>,
    /// Whether its entries have a counter.
    is_counted: bool,
}

/// The counters of a method.
#[derive(Debug)]
struct MethodCounters {
    method: MethodNumber,
    entries: u32,
    calls: Box<[Call]>,
}

/// A call of a method's code.
#[derive(Clone, Copy, Debug)]
struct Call {
    counter: u32,
    line: u16,
    /// Whether the method that runs depends on the object.
    is_virtual: bool,
    /// The method that the instruction names.
    named: MethodNumber,
}

/// The callee, or the method that a call names, with the caller and its line.
type CallKey = (MethodNumber, MethodNumber, u16);

/// Calls of a method.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Edge {
    pub(super) callee: MethodNumber,
    /// The caller and its line, 0 if it is not known; `None` for calls that no counted call has made.
    pub(super) caller: Option<(MethodNumber, u16)>,
    pub(super) count: u64,
    /// Whether the count is estimated.
    pub(super) is_estimate: bool,
}

impl CallGraph {
    fn name(&mut self, text: &[u8]) -> Name {
        if let Some(known) = self.names.get(text) {
            return Arc::clone(known);
        }
        let name: Name = text.into();
        self.names.insert(Arc::clone(&name));
        name
    }

    fn method(&mut self, class: &[u8], name: &[u8], descriptor: &[u8]) -> MethodNumber {
        let key = (self.name(class), self.name(name), self.name(descriptor));
        let number = number(&mut self.methods_by_name, key.clone());
        if number as usize == self.methods.len() {
            let (class, name, descriptor) = key;
            let method = Method { class, name, descriptor, source: None, is_counted: false };
            self.methods.push(method);
        }
        number
    }

    /// Returns the names of a method.
    pub(super) fn names(&self, method: MethodNumber) -> &Method {
        &self.methods[method as usize]
    }

    /// Returns the number of counters.
    pub(super) fn counter_count(&self) -> usize {
        self.counter_count as usize
    }

    /// Returns the first of new counters; `None` if there are more than `most` of them then.
    pub(super) fn counters(&mut self, count: usize, most: usize) -> Option<u32> {
        let first = self.counter_count;
        let end = (first as usize).checked_add(count).filter(|end| *end <= most)?;
        self.counter_count = end as u32;
        Some(first)
    }

    /// Adds the type of a class file.
    ///
    /// # Errors
    /// What is wrong with the file.
    pub(super) fn add_file(&mut self, file: &ClassFile<'_>) -> Result<(), Error> {
        let mut methods = Vec::new();
        for method in file.methods() {
            methods.push((method.name()?, method.descriptor()?, method.access_flags()));
        }
        let interfaces = file.interfaces().collect::<Result<Vec<_>, _>>()?;
        self.add_type(file.name()?, file.super_name()?, &interfaces, &methods);
        Ok(())
    }

    /// Adds a type, with the names, descriptors and access flags of its methods.
    pub(super) fn add_type(
        &mut self,
        class: &[u8],
        super_type: Option<&[u8]>,
        interfaces: &[&[u8]],
        methods: &[(&[u8], &[u8], u16)],
    ) {
        let methods = methods.iter().map(|&(name, descriptor, flags)| {
            let declared = Declaration {
                method: self.method(class, name, descriptor),
                has_body: flags & access::ABSTRACT == 0,
                is_dispatched: flags & (access::STATIC | access::PRIVATE) == 0
                    && !name.starts_with(b"<"),
            };
            ((self.name(name), self.name(descriptor)), declared)
        });
        let methods = methods.collect();
        let super_type = super_type.map(|it| self.name(it));
        let interfaces: Vec<_> = interfaces.iter().map(|it| self.name(it)).collect();
        let number = self.types.len() as u32;
        for above in super_type.iter().chain(&interfaces) {
            self.subtypes.entry(Arc::clone(above)).or_default().push(number);
        }
        let name = self.name(class);
        self.types_by_name.insert(Arc::clone(&name), number);
        self.types.push(Type { name, super_type, interfaces, methods });
    }

    /// Adds the counters of a method.
    pub(super) fn add_counted(&mut self, name: &MethodName<'_>, calls: MethodCalls<'_>) {
        let method = self.method(name.class, name.name, name.descriptor);
        let source = name.source.map(|source| self.name(source));
        let known = &mut self.methods[method as usize];
        (known.source, known.is_counted) = (source, true);
        let entries = calls.entries;
        let calls = calls.calls.into_iter().map(|call| Call {
            counter: call.counter,
            line: call.line,
            is_virtual: call.is_virtual,
            named: self.method(call.class, call.name, call.descriptor),
        });
        let calls = calls.collect();
        self.counted.push(MethodCounters { method, entries, calls });
    }

    /// Returns the calls that these counts of all counters are.
    pub(super) fn edges(&self, counts: &[u64]) -> Vec<Edge> {
        let count = |counter: u32| counts.get(counter as usize).copied().unwrap_or(0);
        let mut entries = vec![0_u64; self.methods.len()];
        for counted in &self.counted {
            entries[counted.method as usize] += count(counted.entries);
        }
        let mut resolution =
            Resolution { graph: self, entries: &entries, known: FxHashMap::default() };
        let mut exact: FxHashMap<CallKey, u64> = FxHashMap::default();
        let mut open: FxHashMap<CallKey, u64> = FxHashMap::default();
        for counted in &self.counted {
            for call in counted.calls.iter().filter(|call| count(call.counter) > 0) {
                let caller = (counted.method, call.line);
                let targets = resolution.targets(call.named, call.is_virtual);
                let (known, callee) = match *targets {
                    [target] => (&mut exact, target),
                    _ => (&mut open, call.named),
                };
                *known.entry((callee, caller.0, caller.1)).or_default() += count(call.counter);
            }
        }
        let edge = |(callee, caller, line), count, is_estimate| Edge {
            callee,
            caller: Some((caller, line)),
            count,
            is_estimate,
        };
        // What is left of the entries of each method.
        let mut rest = entries.clone();
        let mut edges = Vec::with_capacity(exact.len() + open.len());
        let mut exact: Vec<_> = exact.into_iter().collect();
        exact.sort_unstable();
        for (key, count) in exact {
            let left = &mut rest[key.0 as usize];
            // A call on null, or one whose class cannot be initialized, enters nothing.
            let is_counted = self.methods[key.0 as usize].is_counted;
            let count = if is_counted { count.min(*left) } else { count };
            *left -= count.min(*left);
            edges.push(edge(key, count, false));
        }
        let mut open: Vec<_> = open.into_iter().collect();
        open.sort_unstable();
        for (key, count) in self.shared(open, &mut resolution, &mut rest) {
            edges.push(edge(key, count, true));
        }
        let others = (0..).zip(rest).filter(|(_, count)| *count > 0);
        edges.extend(others.map(|(callee, count)| Edge {
            callee,
            caller: None,
            count,
            is_estimate: false,
        }));
        edges.retain(|edge| edge.count > 0);
        edges
    }

    /// Divides calls that have several targets among them, by what is left of the entries of each. The keys
    /// are the named method or the callee, the caller and its line.
    fn shared(
        &self,
        open: Vec<(CallKey, u64)>,
        resolution: &mut Resolution<'_>,
        rest: &mut [u64],
    ) -> Vec<(CallKey, u64)> {
        let mut shares = Vec::new();
        // All calls that could have entered each method.
        let mut asked = vec![0_f64; rest.len()];
        let mut parts: Vec<(usize, MethodNumber, f64)> = Vec::new();
        for (index, &((named, ..), count)) in open.iter().enumerate() {
            let targets = resolution.targets(named, true);
            let total: u64 = targets.iter().map(|target| rest[*target as usize]).sum();
            for &target in targets.iter().filter(|_| total > 0) {
                let part = count as f64 * rest[target as usize] as f64 / total as f64;
                asked[target as usize] += part;
                parts.push((index, target, part));
            }
        }
        let before = rest.to_vec();
        let mut left: Vec<u64> = open.iter().map(|(_, count)| *count).collect();
        for (index, target, part) in parts {
            let ((_, caller, line), _) = open[index];
            let (all, entered) = (asked[target as usize], before[target as usize] as f64);
            let fitted = if all > entered { part * entered / all } else { part };
            let count = (fitted.round() as u64).min(rest[target as usize]).min(left[index]);
            rest[target as usize] -= count;
            left[index] -= count;
            shares.push(((target, caller, line), count));
        }
        // What is left went to a method without a counter, if one can have run.
        for (&((named, caller, line), _), count) in open.iter().zip(left) {
            let targets = resolution.targets(named, true);
            let leaf = targets.iter().find(|target| !self.names(**target).is_counted);
            shares.extend(leaf.map(|leaf| ((*leaf, caller, line), count)));
        }
        shares
    }
}

/// The targets of calls, by the method that they name.
struct Resolution<'g> {
    graph: &'g CallGraph,
    /// The entries of all methods.
    entries: &'g [u64],
    known: FxHashMap<(MethodNumber, bool), Arc<[MethodNumber]>>,
}

impl<'g> Resolution<'g> {
    /// Returns the methods that a call can have run: the named one if nothing else is known.
    fn targets(&mut self, named: MethodNumber, is_virtual: bool) -> Arc<[MethodNumber]> {
        if let Some(known) = self.known.get(&(named, is_virtual)) {
            return Arc::clone(known);
        }
        let mut found = match is_virtual {
            true => self.implementations(named),
            false => self.declared(named).into_iter().collect(),
        };
        if found.is_empty() {
            found.push(named);
        }
        let targets: Arc<[MethodNumber]> = found.into();
        self.known.insert((named, is_virtual), Arc::clone(&targets));
        targets
    }

    fn type_of(&self, name: &Name) -> Option<&'g Type> {
        let graph = self.graph;
        graph.types_by_name.get(name).map(|number| &graph.types[*number as usize])
    }

    /// Returns the method that a class has by these names, its own or an inherited one.
    fn declared(&self, named: MethodNumber) -> Option<MethodNumber> {
        let Method { class, name, descriptor, .. } = self.graph.names(named);
        let signature = (Arc::clone(name), Arc::clone(descriptor));
        let of_type = self.type_of(class)?;
        self.inherited(of_type, &signature, |_| true).map(|declared| declared.method)
    }

    /// Returns the method that objects of a type run, or that a type declares.
    fn inherited(
        &self,
        of_type: &'g Type,
        signature: &(Name, Name),
        is_meant: impl Fn(&Declaration) -> bool,
    ) -> Option<Declaration> {
        let mut above = Some(of_type);
        let mut chain = Vec::new();
        // A cycle of names of several loaders would have no end.
        while let Some(it) = above.filter(|_| chain.len() < 1 << 10) {
            if let Some(found) = it.methods.get(signature).filter(|it| is_meant(it) && it.has_body)
            {
                return Some(*found);
            }
            chain.push(it);
            above = it.super_type.as_ref().and_then(|name| self.type_of(name));
        }
        // The default methods of interfaces.
        let mut waiting: Vec<&Name> = chain.iter().flat_map(|it| &it.interfaces).collect();
        let mut seen: FxHashSet<&Name> = FxHashSet::default();
        while let Some(name) = waiting.pop() {
            let Some(it) = self.type_of(name).filter(|_| seen.insert(name)) else { continue };
            if let Some(found) = it.methods.get(signature).filter(|it| is_meant(it) && it.has_body)
            {
                return Some(*found);
            }
            waiting.extend(&it.interfaces);
        }
        None
    }

    /// Returns the methods that objects of a type and its subtypes run, and that were entered or have no
    /// counter.
    fn implementations(&self, named: MethodNumber) -> Vec<MethodNumber> {
        let graph = self.graph;
        let Method { class, name, descriptor, .. } = graph.names(named);
        let signature = (Arc::clone(name), Arc::clone(descriptor));
        let mut waiting: Vec<&Type> = self.type_of(class).into_iter().collect();
        let mut seen: FxHashSet<*const Type> = FxHashSet::default();
        let mut found: Vec<MethodNumber> = Vec::new();
        while let Some(it) = waiting.pop() {
            if !seen.insert(it) {
                continue;
            }
            if let Some(declared) = self.inherited(it, &signature, |it| it.is_dispatched) {
                found.push(declared.method);
            }
            let below = graph.subtypes.get(&it.name).into_iter().flatten();
            waiting.extend(below.map(|number| &graph.types[*number as usize]));
        }
        found.sort_unstable();
        found.dedup();
        let is_possible = |method: &MethodNumber| {
            self.entries[*method as usize] > 0 || !graph.names(*method).is_counted
        };
        found.retain(is_possible);
        found
    }
}
