//! The answers of each kind.

pub(crate) mod diff;
pub(crate) mod export;
pub(crate) mod flame;
pub(crate) mod heap;
pub(crate) mod history;
pub(crate) mod lanes;
pub(crate) mod live;
pub(crate) mod report;
pub(crate) mod times;
