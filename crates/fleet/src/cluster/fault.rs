//! What a cluster says of a query that fails, in one line.

use datafusion::common::exec_datafusion_err;
use datafusion::error::DataFusionError;
use tonic::{Code, Status};

use super::address::ClusterAddress;

/// What others say of a function that they do not know, before its name.
const NO_FUNCTION: &str = "PhysicalExtensionCodec is not provided for scalar function ";

/// What stands before the errors of a task.
const TASK_FAILED: &str = "Task failed due to runtime execution error: ";
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
    exec_datafusion_err!("{address}: {}", innermost(text))
}

/// What is wrong, of a text that has errors inside each other in the notation of Rust: the quoted text, or else the last name.
fn innermost(text: &str) -> String {
    let Some((_, errors)) = text.split_once(TASK_FAILED) else { return text.to_owned() };
    let quoted = errors.split_once('"').and_then(|(_, rest)| rest.rsplit_once('"'));
    match quoted {
        Some((quoted, _)) => quoted.replace("\\\"", "\"").replace("\\n", " "),
        None => errors.rsplit('(').next().unwrap_or(errors).trim_end_matches(')').to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_are_the_innermost_ones() {
        let address: ClusterAddress = "ballista://h:1".parse().unwrap();
        let task = "Job failed due to stage 1 failed: Task failed due to runtime execution error: ";
        for (errors, fault) in [
            (
                "DataFusionError(Shared(External(DataFusionError(Execution(\"no pattern of names: '\\\"'\")))))",
                "no pattern of names: '\"'",
            ),
            ("DataFusionError(Shared(External(ArrowError(DivideByZero))))", "DivideByZero"),
        ] {
            let said = failed(&address, &format!("{task}{errors}"));
            assert_eq!(said.strip_backtrace(), format!("Execution error: ballista://h:1: {fault}"));
        }
        let said = failed(&address, "Could not parse plan: no").strip_backtrace();
        assert!(said.ends_with(": Could not parse plan: no"), "{said}");
        let said = failed(&address, &format!("{task}X({NO_FUNCTION}leaf)")).strip_backtrace();
        assert!(said.contains("does not know perk's function leaf: start"), "{said}");
    }
}
