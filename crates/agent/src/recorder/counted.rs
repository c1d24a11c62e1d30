//! The nodes of call trees, in the form in which books read them.

/// The counts of a node since the last dump.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Calls {
    pub(crate) count: u64,
    /// The time of the calls without their callees.
    pub(crate) self_ns: u64,
    /// The time of the calls with all their callees; a recursive call counts again in the call
    /// around it.
    pub(crate) total_ns: u64,
    /// The number of calls made from the node of methods that were entered: those that are only counted
    /// have hardly a cost.
    pub(crate) entered_count: u64,
    /// The number of the method; [`Calls::LOST`] for the node of unknown paths.
    pub(crate) method: u32,
    /// The parent's index among the nodes of the tree, in which parents precede their children;
    /// [`Calls::NO_PARENT`] for a thread's first methods.
    pub(crate) parent: u32,
    /// The caller's line; 0 if it is not given.
    pub(crate) line: u16,
}

impl Calls {
    pub(crate) const NO_PARENT: u32 = u32::MAX;
    pub(crate) const LOST: u32 = u32::MAX >> 1;
    /// The number of the nodes that represent methods over budget. Those between are of methods of the helper.
    pub(crate) const OVER_BUDGET: u32 = Self::LOST - 32;

    /// Whether the node represents unknown paths.
    pub(crate) fn is_lost(&self) -> bool {
        self.method == Self::LOST
    }

    /// Returns the node.
    pub(crate) fn node(&self) -> PathNode {
        PathNode { method: self.method, parent: self.parent, line: self.line }
    }
}

/// The nodes of a tree, in which parents precede their children. They are read one by one, where they are:
/// a copy of all would take as much memory as the tree.
pub(crate) trait PathNodes {
    /// Returns the number of nodes.
    fn count(&self) -> usize;

    /// Returns a node; `None` for [`Calls::NO_PARENT`].
    fn get(&self, index: u32) -> Option<PathNode>;
}

/// Nodes with their counts.
pub(crate) trait CallNodes: PathNodes {
    /// Returns the counts of a node since the last dump. Each node is read once.
    fn take(&mut self, index: usize) -> Calls;
}

/// A method in its calling context.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PathNode {
    /// The number of the method, as in [`Calls`].
    pub(crate) method: u32,
    /// The parent's index; [`Calls::NO_PARENT`] for a thread's first methods.
    pub(crate) parent: u32,
    /// The line from which the parent calls the method; 0 if it is not given.
    pub(crate) line: u16,
}

impl PathNode {
    /// Whether the node represents unknown paths.
    pub(crate) fn is_lost(&self) -> bool {
        self.method == Calls::LOST
    }
}
