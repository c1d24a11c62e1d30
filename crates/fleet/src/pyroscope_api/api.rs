//! What all requests of the API share.

use perk_store::Store;
use perk_tables::Limits;

use super::limits::{LabelSets, Places, PushLimits, PushRate};

/// Who may ask, and how much may be pushed.
#[derive(Clone, Debug, Default)]
pub(crate) struct Options {
    /// The token that each request has to have; without one, requests of this machine alone are answered.
    pub(crate) token: Option<String>,
    /// How much may be pushed.
    pub(crate) push: PushLimits,
}

/// What all requests share.
pub(super) struct Api {
    pub(super) store: Store,
    /// What a query may take.
    pub(super) limits: Limits,
    pub(super) token: Option<String>,
    pub(super) queries: Places,
    pub(super) pushes: Places,
    pub(super) rate: PushRate,
    pub(super) label_sets: LabelSets,
}

impl Api {
    pub(super) fn new(store: Store, limits: Limits, options: Options) -> Self {
        let Options { token, push } = options;
        Self {
            store,
            limits,
            token,
            queries: Places::of_queries(),
            pushes: Places::of_pushes(),
            rate: PushRate::new(push.per_second),
            label_sets: LabelSets::new(push.label_sets),
        }
    }
}
