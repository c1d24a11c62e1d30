//! The function that makes the labels of a number: those of its recording, and its own.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use datafusion::arrow::array::{Array, AsArray};
use datafusion::arrow::datatypes::DataType;
use datafusion::common::plan_err;
use datafusion::error::Result;
use datafusion::logical_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDFImpl, Signature, TypeSignature, Volatility,
};
use perk_tables::{STACK_ID_BYTES, fault, map_type};

use crate::columns::map;
use crate::encode;
use crate::load::{Sources, all_labels};
use crate::read_dates::OfReadDates;

/// `all_labels(source, labels)`.
pub(crate) struct LabelFunction {
    signature: Signature,
    sources: OfReadDates<Sources>,
}

impl LabelFunction {
    /// Its name in views.
    pub(crate) const NAME: &str = "all_labels";

    pub(crate) fn new(sources: OfReadDates<Sources>) -> Self {
        let arguments = vec![DataType::FixedSizeBinary(STACK_ID_BYTES), map_type()];
        let signature = Signature::new(TypeSignature::Exact(arguments), Volatility::Stable);
        Self { signature, sources }
    }
}

impl std::fmt::Debug for LabelFunction {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("LabelFunction")
    }
}

// A session has one.
impl PartialEq for LabelFunction {
    fn eq(&self, _other: &Self) -> bool {
        true
    }
}

impl Eq for LabelFunction {}

impl Hash for LabelFunction {
    fn hash<H: Hasher>(&self, state: &mut H) {
        Self::NAME.hash(state);
    }
}

impl ScalarUDFImpl for LabelFunction {
    fn name(&self) -> &str {
        Self::NAME
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _arguments: &[DataType]) -> Result<DataType> {
        Ok(map_type())
    }

    fn invoke_with_args(&self, arguments: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let sources = self.sources.get().map_err(fault)?;
        let arrays = ColumnarValue::values_to_arrays(&arguments.args)?;
        let [ids, own] = &arrays[..] else { return plan_err!("two columns are taken") };
        let (Some(ids), Some(own)) = (ids.as_fixed_size_binary_opt(), own.as_map_opt()) else {
            return plan_err!("columns of a store are taken");
        };
        let mut labels = encode::map_builder();
        for row in 0..ids.len() {
            let own = map(own, row);
            let source = ids.value(row).try_into().unwrap_or_default();
            for (key, value) in all_labels(&sources, &source, &own) {
                labels.keys().append_value(key);
                labels.values().append_value(value);
            }
            labels.append(true)?;
        }
        Ok(ColumnarValue::Array(Arc::new(labels.finish())))
    }
}
