//! Counted calls beside the numbers of a graph.

use perk_profile::{FrameId, KeyedMap, MethodId};

use super::label::HIDDEN;
use super::numbers::FlameGraph;
use crate::MethodTree;
use crate::calls::CallTable;

/// The counted calls of the methods of labels.
#[derive(Debug, Default)]
pub struct LabelCalls {
    of_label: KeyedMap<u32, u64>,
    of_pair: KeyedMap<(u32, u32), PairCalls>,
}

/// The calls of a label by another one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PairCalls {
    /// The number of calls.
    pub count: u64,
    /// How many of them are estimated.
    pub estimated_count: u64,
}

impl LabelCalls {
    /// The calls of a label; 0 where none is known.
    pub fn count(&self, label: u32) -> u64 {
        self.of_label.get(&label).copied().unwrap_or(0)
    }

    /// The calls of a label by another one.
    pub fn by(&self, caller: u32, label: u32) -> PairCalls {
        self.of_pair.get(&(caller, label)).copied().unwrap_or_default()
    }
}

impl FlameGraph {
    /// The counted calls of the labels of the first profile, whose labels are methods.
    pub fn calls(&self, tree: &MethodTree, table: &CallTable) -> LabelCalls {
        let mut calls = LabelCalls::default();
        let Some(side) = self.sides.first() else { return calls };
        let mut labels: KeyedMap<MethodId, u32> = KeyedMap::default();
        for index in 0..side.frame_count() {
            let (frame, label) = (FrameId::new(index), side.label_of(FrameId::new(index)));
            if label != HIDDEN {
                labels.insert(tree.method_of(frame), label);
            }
        }
        for row in &table.methods {
            if let Some(label) = labels.get(&row.method) {
                let sum = calls.of_label.entry(*label).or_default();
                *sum = sum.saturating_add(row.count);
            }
        }
        for edge in &table.edges {
            let label = |method: Option<MethodId>| labels.get(&method?).copied();
            let Some(pair) = label(edge.caller).zip(label(edge.callee)) else { continue };
            let sum = calls.of_pair.entry(pair).or_default();
            sum.count = sum.count.saturating_add(edge.count);
            sum.estimated_count = sum.estimated_count.saturating_add(edge.estimated_count);
        }
        calls
    }
}
