//! The functions of a store's tables: here, and on other machines.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use anyhow::{Context, Result};
use datafusion::arrow::datatypes::DataType;
use datafusion::error::Result as QueryResult;
use datafusion::logical_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature,
};
use futures::FutureExt;
use futures::future::BoxFuture;
use perk_tables::{Recording, stack_functions};
use serde::{Deserialize, Serialize};

use crate::hour::Hour;
use crate::label_function::LabelFunction;
use crate::layout::{Slot, Table};
use crate::load::Sources;
use crate::objects::StoreAddress;
use crate::read_dates::{OfReadDates, ReadDates};
use crate::selection::HourPieces;
use crate::stacks::StackPaths;
use crate::store::{Store, StoreSource};

/// A function of a store's tables. It reads the store itself, and can be made anew on another machine.
#[derive(Clone, Debug)]
pub struct StoreFunction {
    function: ScalarUDF,
    source: StoreSource,
    read: ReadDates,
    /// What it was made of, on another machine.
    data: Option<FunctionData>,
}

/// What functions read: the store, the dates, and an id of the pieces that the query has read, as these become more.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct FunctionData {
    store: String,
    /// Services, and the begins of dates in milliseconds since 1970.
    dates: Vec<(String, i64)>,
    pieces: String,
}

/// The functions for these dates of a store.
pub(crate) fn of(source: &StoreSource, read: &ReadDates) -> Vec<ScalarUDF> {
    made(source, read, None)
}

/// The functions that the data of one make ([`StoreFunction::data`]).
///
/// # Errors
/// They are of another version of perk, in one line.
pub fn store_functions(data: &[u8]) -> Result<Vec<ScalarUDF>> {
    let data: FunctionData =
        serde_json::from_slice(data).context("a function of another version of perk")?;
    let source = StoreSource::At(StoreAddress::parse(&data.store)?);
    let dates = data
        .dates
        .iter()
        .map(|(service, begin_ms)| Slot { service: service.clone(), hour: Hour::of(*begin_ms) });
    let read = ReadDates::of(dates.collect());
    Ok(made(&source, &read, Some(data)))
}

fn made(source: &StoreSource, read: &ReadDates, data: Option<FunctionData>) -> Vec<ScalarUDF> {
    let labels = LabelFunction::new(OfReadDates::new(source, read, load_sources));
    let stacks = OfReadDates::new(source, read, load_stacks);
    let mut functions = stack_functions(move || Ok(Arc::clone(&*stacks.get()?)));
    functions.push(ScalarUDF::new_from_impl(labels));
    let function = |function: ScalarUDF| {
        ScalarUDF::new_from_impl(StoreFunction {
            function,
            source: source.clone(),
            read: read.clone(),
            data: data.clone(),
        })
    };
    functions.into_iter().map(function).collect()
}

/// The stacks of pieces, as a recording without numbers.
fn load_stacks(store: &Store, pieces: Vec<HourPieces>) -> BoxFuture<'_, Result<Arc<[Recording]>>> {
    async move {
        let files = store.files(&pieces, Table::Stacks).await?;
        let StackPaths { profile, .. } = store.stack_rows(files).paths(|_| true).await?;
        Ok(Arc::from([Recording::new(1, store.to_string(), profile, None)]))
    }
    .boxed()
}

/// The labels of the recordings of pieces.
fn load_sources(store: &Store, pieces: Vec<HourPieces>) -> BoxFuture<'_, Result<Sources>> {
    async move { store.sources(&pieces).await }.boxed()
}

impl StoreFunction {
    /// What another machine makes this function of, after the query has been planned.
    ///
    /// # Errors
    /// The folder of the store is not there, or its name is no text, in one line.
    pub fn data(&self) -> Result<Vec<u8>> {
        let data = match &self.data {
            Some(data) => data.clone(),
            None => {
                let begin = |it: Slot| (it.service, it.hour.begin_ms());
                FunctionData {
                    store: self.source.open()?.address().whole()?.as_text()?.to_owned(),
                    dates: self.read.all().into_iter().map(begin).collect(),
                    pieces: self.read.id().to_string(),
                }
            }
        };
        Ok(serde_json::to_vec(&data)?)
    }
}

impl PartialEq for StoreFunction {
    fn eq(&self, other: &Self) -> bool {
        self.function == other.function && self.data == other.data
    }
}

impl Eq for StoreFunction {}

impl Hash for StoreFunction {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.function.name().hash(state);
    }
}

impl ScalarUDFImpl for StoreFunction {
    fn name(&self) -> &str {
        self.function.name()
    }

    fn signature(&self) -> &Signature {
        self.function.signature()
    }

    fn return_type(&self, arguments: &[DataType]) -> QueryResult<DataType> {
        self.function.return_type(arguments)
    }

    fn invoke_with_args(&self, arguments: ScalarFunctionArgs) -> QueryResult<ColumnarValue> {
        self.function.invoke_with_args(arguments)
    }
}
