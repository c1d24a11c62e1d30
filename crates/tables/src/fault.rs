//! Errors of perk as DataFusion's.

use datafusion::error::DataFusionError;

/// An error of a table or a function, as queries give it.
pub fn fault(error: anyhow::Error) -> DataFusionError {
    DataFusionError::Execution(format!("{error:#}"))
}
