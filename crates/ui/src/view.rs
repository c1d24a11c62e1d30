//! The views, their columns and their rows.

use perk_analysis::Owner;
use perk_profile::Unit;

/// A view of a profile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum View {
    Methods,
    Tree,
    Callers,
    Method,
    Threads,
    Flame,
    Locks,
    Heap,
}

impl View {
    pub(crate) const ALL: [View; 8] = [
        View::Methods,
        View::Tree,
        View::Callers,
        View::Method,
        View::Threads,
        View::Flame,
        View::Locks,
        View::Heap,
    ];

    pub(crate) fn title(self) -> &'static str {
        match self {
            View::Methods => "Methods",
            View::Tree => "Tree",
            View::Callers => "Callers",
            View::Method => "Method",
            View::Threads => "Threads",
            View::Flame => "Flame",
            View::Locks => "Locks",
            View::Heap => "Heap",
        }
    }

    /// Whether its rows are a list, of which a filter shows a part.
    pub(crate) fn is_list(self) -> bool {
        matches!(self, View::Methods | View::Threads | View::Heap)
    }

    /// Whether its stacks begin at the program's own code.
    pub(crate) fn is_folded(self) -> bool {
        matches!(self, View::Tree | View::Flame)
    }

    /// Whether it shows numbers of the metric.
    pub(crate) fn is_by_metric(self) -> bool {
        !matches!(self, View::Locks | View::Heap)
    }
}

/// The column by which a list is ordered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Order {
    #[default]
    First,
    Second,
    Name,
}

impl Order {
    pub(crate) fn next(self) -> Self {
        match self {
            Order::First => Order::Second,
            Order::Second => Order::Name,
            Order::Name => Order::First,
        }
    }
}

/// A column of numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Column {
    /// Empty if the view does not have it.
    pub(crate) title: &'static str,
    pub(crate) unit: Unit,
    /// The number that is 100 %.
    pub(crate) whole: u64,
}

/// The columns of a view.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Columns {
    pub(crate) numbers: [Column; 2],
    pub(crate) name: &'static str,
    /// The order of the rows, if the user can change it.
    pub(crate) order: Option<Order>,
    /// The column that the bars show.
    pub(crate) bar: usize,
}

/// A row of a list or tree, as it is drawn.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ViewRow {
    /// Whether it is a heading between lines; the cursor skips it.
    pub(crate) is_heading: bool,
    /// Whether its text has the room of the numbers, too.
    pub(crate) is_text: bool,
    pub(crate) numbers: [Option<u64>; 2],
    pub(crate) level: usize,
    /// Whether it is open; `None` if it cannot be opened.
    pub(crate) is_open: Option<bool>,
    /// The words before the name.
    pub(crate) prefix: &'static str,
    pub(crate) text: String,
    /// Whose code it is; `None` if it is not code.
    pub(crate) owner: Option<Owner>,
}

/// The selected row in whole.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct RowDetail {
    pub(crate) name: String,
    /// The numbers, with their units.
    pub(crate) numbers: String,
    pub(crate) owner: Option<Owner>,
}
