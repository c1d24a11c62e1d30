//! Functions that are tables: `flame('samples')` and `diff('version=1.4.1', 'version=1.4.2')`.

use std::sync::Arc;

use datafusion::catalog::{TableFunctionArgs, TableFunctionImpl, TableProvider};
use datafusion::common::{ScalarValue, plan_err};
use datafusion::error::Result;
use datafusion::logical_expr::Expr;
use datafusion::prelude::SessionContext;
use perk_analysis::LabelPattern;
use perk_profile::WholePattern;
use perk_tables::{Limits, RecordingTable};
use tokio::sync::Semaphore;

use super::{ProfileTable, RowSource};
use crate::store::Store;

/// A function of a store.
#[derive(Debug)]
pub(crate) struct TableFunction {
    kind: Kind,
    store: Store,
    limits: Limits,
    places: Arc<Semaphore>,
}

#[derive(Clone, Copy, Debug)]
enum Kind {
    Flame,
    Diff,
}

impl TableFunction {
    /// Makes the functions known to a session.
    pub(crate) fn register(
        context: &SessionContext,
        store: &Store,
        limits: &Limits,
        places: &Arc<Semaphore>,
    ) {
        for (name, kind) in [("flame", Kind::Flame), ("diff", Kind::Diff)] {
            let (store, limits, places) = (store.clone(), limits.clone(), Arc::clone(places));
            context.register_udtf(name, Arc::new(Self { kind, store, limits, places }));
        }
    }
}

impl TableFunctionImpl for TableFunction {
    fn call_with_args(
        &self,
        arguments: TableFunctionArgs<'_, '_>,
    ) -> Result<Arc<dyn TableProvider>> {
        let source = match (self.kind, arguments.exprs()) {
            (Kind::Flame, [Expr::Literal(ScalarValue::Utf8(Some(metric)), _)]) => {
                RowSource::Of(RecordingTable::flame(metric))
            }
            (Kind::Flame, _) => {
                return plan_err!("flame takes the name of a metric: flame('samples')");
            }
            (Kind::Diff, [before, after]) => RowSource::Diff(side(before)?, side(after)?),
            (Kind::Diff, _) => {
                return plan_err!(
                    "diff takes two labels of a store: diff('version=1.4.1', 'version=1.4.2')"
                );
            }
        };
        Ok(Arc::new(ProfileTable::new(&self.store, &self.limits, &self.places, source)))
    }
}

/// A side of a comparison.
fn side(argument: &Expr) -> Result<LabelPattern> {
    let Expr::Literal(ScalarValue::Utf8(Some(label)), _) = argument else {
        return plan_err!("diff takes labels of a store: diff('version=1.4.1', 'version=1.4.2')");
    };
    match label.parse() {
        Ok(label) => Ok(label),
        Err(_) => plan_err!("{label} is no label: diff('version=1.4.1', 'version=1.4.2')"),
    }
}

/// The functions with arguments, for people.
pub(super) fn examples() -> Vec<RowSource> {
    let version = |text: &str| {
        let value = WholePattern::new(text)?;
        Some(LabelPattern { key: "version".to_owned(), value })
    };
    let diff = version("1.4.1").zip(version("1.4.2")).map(|(a, b)| RowSource::Diff(a, b));
    let flame = RowSource::Of(RecordingTable::flame("samples"));
    diff.into_iter().chain([flame]).collect()
}
