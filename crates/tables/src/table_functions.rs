//! Functions that are tables: `flame('samples')` and `diff(1, 2)`.

use std::sync::Arc;

use datafusion::catalog::{TableFunctionArgs, TableFunctionImpl, TableProvider};
use datafusion::common::{ScalarValue, plan_err};
use datafusion::error::Result;
use datafusion::logical_expr::Expr;
use datafusion::prelude::SessionContext;
use perk_profile::Metric;

use crate::fault::fault;
use crate::profile::{diff, flame};
use crate::provider::Provider;
use crate::recording::Recording;
use crate::recordings::Recordings;

/// Makes the functions known to a session.
pub(crate) fn register(context: &SessionContext, recordings: &Arc<Recordings>) {
    for kind in [Kind::Flame, Kind::Diff] {
        let function = TableFunction { kind, recordings: Arc::clone(recordings) };
        context.register_udtf(kind.name(), Arc::new(function));
    }
}

#[derive(Clone, Copy, Debug)]
enum Kind {
    Flame,
    Diff,
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Kind::Flame => "flame",
            Kind::Diff => "diff",
        }
    }
}

struct TableFunction {
    kind: Kind,
    recordings: Arc<Recordings>,
}

impl std::fmt::Debug for TableFunction {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("TableFunction").field(&self.kind).finish()
    }
}

impl TableFunctionImpl for TableFunction {
    fn call_with_args(
        &self,
        arguments: TableFunctionArgs<'_, '_>,
    ) -> Result<Arc<dyn TableProvider>> {
        let recordings = Arc::clone(&self.recordings);
        let known = recordings.get().map_err(fault)?;
        match (self.kind, arguments.exprs()) {
            (Kind::Flame, [metric]) => {
                let table = flame::flame(find_metric(&known, metric)?);
                Ok(Arc::new(Provider::new(Arc::new(table), recordings)))
            }
            (Kind::Flame, _) => plan_err!("flame takes a metric: flame('samples')"),
            (Kind::Diff, [before, after]) => {
                let (before, after) = (find(&known, before)?, find(&known, after)?);
                let table = diff::diff(known, after);
                Ok(Arc::new(Provider::of_one(Arc::new(table), recordings, before)))
            }
            (Kind::Diff, _) => plan_err!("diff takes two recordings by their numbers: diff(1, 2)"),
        }
    }
}

/// The name of a metric that a recording has.
fn find_metric(recordings: &[Recording], argument: &Expr) -> Result<String> {
    let Expr::Literal(ScalarValue::Utf8(Some(name)), _) = argument else {
        return plan_err!("flame takes the name of a metric: flame('samples')");
    };
    match recordings.iter().any(|it| Metric::find(&it.profile, name).is_some()) {
        true => Ok(name.clone()),
        false => {
            plan_err!("no recording has the metric {name}: SELECT DISTINCT metric FROM samples")
        }
    }
}

/// The position of a recording.
fn find(recordings: &[Recording], argument: &Expr) -> Result<usize> {
    let Expr::Literal(ScalarValue::Int64(Some(number)), _) = argument else {
        return plan_err!("diff takes recordings by their numbers: diff(1, 2)");
    };
    let found = recordings.iter().position(|it| i64::try_from(it.number) == Ok(*number));
    match found {
        Some(at) => Ok(at),
        None => {
            plan_err!("there is no recording {number}: SELECT recording, file FROM recordings")
        }
    }
}
