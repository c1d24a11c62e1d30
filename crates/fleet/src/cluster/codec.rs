//! How perk's functions travel in plans.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use ballista_core::serde::BallistaPhysicalExtensionCodec;
use datafusion::common::plan_datafusion_err;
use datafusion::error::Result;
use datafusion::execution::TaskContext;
use datafusion::logical_expr::ScalarUDF;
use datafusion::physical_plan::ExecutionPlan;
use datafusion_proto::physical_plan::{PhysicalExtensionCodec, PhysicalProtoConverterExtension};
use perk_store::{StoreFunction, store_functions};
use perk_tables::fault;

use crate::lock::lock;

/// The queries whose functions are kept: their stacks and labels are in memory.
const MOST_QUERIES: usize = 4;

/// The functions of a query, which share what they have read.
type Functions = Arc<[Arc<ScalarUDF>]>;

/// Ballista's own plans, and the functions of stores.
#[derive(Debug, Default)]
pub(super) struct StoreCodec {
    ballista: BallistaPhysicalExtensionCodec,
    /// Those of the last queries, by their data.
    known: Mutex<VecDeque<(Vec<u8>, Functions)>>,
}

impl StoreCodec {
    /// The functions of data.
    fn functions(&self, data: &[u8]) -> Result<Functions> {
        let mut known = lock(&self.known);
        if let Some((_, functions)) = known.iter().find(|it| it.0 == data) {
            return Ok(Arc::clone(functions));
        }
        let functions = store_functions(data).map_err(fault)?;
        let functions: Functions = functions.into_iter().map(Arc::new).collect();
        known.truncate(MOST_QUERIES - 1);
        known.push_front((data.to_vec(), Arc::clone(&functions)));
        Ok(functions)
    }
}

impl PhysicalExtensionCodec for StoreCodec {
    fn try_decode(
        &self,
        bytes: &[u8],
        inputs: &[Arc<dyn ExecutionPlan>],
        context: &TaskContext,
        converter: &dyn PhysicalProtoConverterExtension,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        self.ballista.try_decode(bytes, inputs, context, converter)
    }

    fn try_encode(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        bytes: &mut Vec<u8>,
        converter: &dyn PhysicalProtoConverterExtension,
    ) -> Result<()> {
        self.ballista.try_encode(plan, bytes, converter)
    }

    fn try_decode_udf(&self, name: &str, bytes: &[u8]) -> Result<Arc<ScalarUDF>> {
        let functions = self.functions(bytes)?;
        let found = functions.iter().find(|it| it.name() == name);
        found.cloned().ok_or_else(|| plan_datafusion_err!("no function {name} is of a store"))
    }

    fn try_encode_udf(&self, function: &ScalarUDF, bytes: &mut Vec<u8>) -> Result<()> {
        if let Some(function) = function.inner().downcast_ref::<StoreFunction>() {
            bytes.extend(function.data().map_err(fault)?);
        }
        Ok(())
    }
}
