//! What a cluster says of a query that fails, in one line.

use datafusion::common::exec_datafusion_err;
use datafusion::error::DataFusionError;
use tonic::{Code, Status};

use super::ClusterAddress;

/// What others say of a function that they do not know, before its name.
const NO_FUNCTION: &str = "PhysicalExtensionCodec is not provided for scalar function ";

/// What is said of a connection that broke.
const NO_CONNECTION: &str = "h2 protocol error";

/// The fault of a query that the scheduler does not take, or does not answer.
pub(super) fn refused(address: &ClusterAddress, status: &Status) -> DataFusionError {
    let is_lost = match status.code() {
        Code::Unavailable | Code::Unknown | Code::Cancelled => true,
        Code::Internal => status.message().contains(NO_CONNECTION),
        _ => false,
    };
    match is_lost {
        true => exec_datafusion_err!("{address}: the scheduler was lost during the query"),
        false => failed(address, status.message()),
    }
}

/// The fault of a query that failed on the cluster.
pub(super) fn failed(address: &ClusterAddress, text: &str) -> DataFusionError {
    if let Some((_, name)) = text.split_once(NO_FUNCTION) {
        let name =
            name.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or_default();
        return exec_datafusion_err!(
            "{address} does not know perk's function {name}: start its scheduler and its executors with perk-fleet"
        );
    }
    exec_datafusion_err!("{address}: {text}")
}
