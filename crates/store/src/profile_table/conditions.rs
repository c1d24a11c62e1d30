//! The conditions of a query that the reading of a store can keep to.

use datafusion::arrow::datatypes::{DataType, TimeUnit};
use datafusion::common::ScalarValue;
use datafusion::logical_expr::{BinaryExpr, Expr, Operator, TableProviderFilterPushDown};
use perk_analysis::LabelPattern;
use perk_profile::WholePattern;

use super::{DATE, LABELS, METRIC, TIME};
use crate::hour::HOUR_MS;
use crate::rows::TICK_MS;

const DAY_MS: i64 = 24 * HOUR_MS;
/// DataFusion's name of `labels['key']`.
const FIELD: &str = "get_field";

/// What conditions leave of a store.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Conditions {
    /// The first time, in milliseconds since 1970.
    pub(super) from_ms: Option<i64>,
    /// The first time after it.
    pub(super) to_ms: Option<i64>,
    /// One label of each key.
    pub(super) labels: Vec<LabelPattern>,
    /// The metric; all if `None`.
    pub(super) metric: Option<String>,
    /// Whether they leave nothing.
    pub(super) is_nothing: bool,
}

/// A condition that reading can keep to.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Condition {
    /// Numbers of these times, in milliseconds since 1970, as far as there are bounds.
    Times(Option<i64>, Option<i64>),
    Label(LabelPattern),
    Metric(String),
}

impl Conditions {
    /// The part of a query's conditions that can be kept to.
    pub(super) fn of(filters: &[Expr]) -> Self {
        let mut this = Self::default();
        for condition in filters.iter().filter_map(Condition::of) {
            this.add(condition);
        }
        this.is_nothing |=
            matches!((this.from_ms, this.to_ms), (Some(from), Some(to)) if from >= to);
        this
    }

    fn add(&mut self, condition: Condition) {
        match condition {
            Condition::Times(from_ms, to_ms) => {
                self.from_ms = self.from_ms.max(from_ms);
                self.to_ms = [self.to_ms, to_ms].into_iter().flatten().min();
            }
            Condition::Label(label) => {
                // A number has one label of a key.
                match self.labels.iter().find(|it| it.key == label.key) {
                    Some(known) => self.is_nothing |= *known != label,
                    None => self.labels.push(label),
                }
            }
            Condition::Metric(metric) => match &self.metric {
                Some(known) => self.is_nothing |= *known != metric,
                None => self.metric = Some(metric),
            },
        }
    }
}

/// How far reading keeps to a condition. Metrics that are measured together are read together.
pub(super) fn pushdown(filter: &Expr) -> TableProviderFilterPushDown {
    match Condition::of(filter) {
        Some(Condition::Times(..) | Condition::Label(_)) => TableProviderFilterPushDown::Exact,
        // All select services and hours.
        Some(Condition::Metric(_)) | None => TableProviderFilterPushDown::Inexact,
    }
}

impl Condition {
    fn of(filter: &Expr) -> Option<Self> {
        let Expr::BinaryExpr(BinaryExpr { left, op, right }) = filter else { return None };
        match (&**left, &**right) {
            (place, Expr::Literal(value, _)) => Self::compared(place, *op, value),
            (Expr::Literal(value, _), place) => Self::compared(place, op.swap()?, value),
            _ => None,
        }
    }

    fn compared(place: &Expr, op: Operator, value: &ScalarValue) -> Option<Self> {
        if let Some(key) = label_key(place) {
            let value = (op == Operator::Eq).then(|| value.try_as_str())??;
            // In patterns this sign is any text.
            let value = value.filter(|it| !it.contains('*'))?;
            let value = WholePattern::new(value)?;
            return Some(Self::Label(LabelPattern { key: key.to_owned(), value }));
        }
        match column(place)? {
            METRIC if op == Operator::Eq => Some(Self::Metric(value.try_as_str()??.to_owned())),
            TIME => {
                let time_ns = unix_ns(value)?;
                let tick_ns = i128::from(TICK_MS) * 1_000_000;
                // The first time of a store that is not before it, and the first that is after it.
                let not_before = i64::try_from((time_ns + tick_ns - 1).div_euclid(tick_ns)).ok()?;
                let after = i64::try_from(time_ns.div_euclid(tick_ns)).ok()?.checked_add(1)?;
                Self::between(op, not_before.checked_mul(TICK_MS)?, after.checked_mul(TICK_MS)?)
            }
            DATE => {
                let ScalarValue::Date32(Some(days)) = value else { return None };
                let begin_ms = i64::from(*days) * DAY_MS;
                Self::between(op, begin_ms, begin_ms + DAY_MS)
            }
            _ => None,
        }
    }

    /// The times that are compared with a moment: those not before it, and those after it, have these beginnings.
    fn between(op: Operator, not_before_ms: i64, after_ms: i64) -> Option<Self> {
        let (from_ms, to_ms) = match op {
            Operator::Eq => (Some(not_before_ms), Some(after_ms)),
            Operator::GtEq => (Some(not_before_ms), None),
            Operator::Gt => (Some(after_ms), None),
            Operator::Lt => (None, Some(not_before_ms)),
            Operator::LtEq => (None, Some(after_ms)),
            _ => return None,
        };
        Some(Self::Times(from_ms, to_ms))
    }
}

/// The key of `labels['key']`.
fn label_key(place: &Expr) -> Option<&str> {
    let Expr::ScalarFunction(call) = place else { return None };
    match (&call.args[..], call.func.name()) {
        ([Expr::Column(column), Expr::Literal(key, _)], FIELD) if column.name == LABELS => {
            key.try_as_str()?
        }
        _ => None,
    }
}

/// The name of a column, also where it was made a finer time.
fn column(place: &Expr) -> Option<&str> {
    match place {
        Expr::Column(column) => Some(&column.name),
        Expr::Cast(cast) if is_fine_time(cast.field.data_type()) => column(&cast.expr),
        _ => None,
    }
}

fn is_fine_time(of: &DataType) -> bool {
    use TimeUnit::{Microsecond, Millisecond, Nanosecond};
    matches!(of, DataType::Timestamp(Millisecond | Microsecond | Nanosecond, _))
}

/// A moment, in nanoseconds since 1970.
fn unix_ns(value: &ScalarValue) -> Option<i128> {
    let (number, unit_ns) = match value {
        ScalarValue::TimestampSecond(it, _) => (*it, 1_000_000_000),
        ScalarValue::TimestampMillisecond(it, _) => (*it, 1_000_000),
        ScalarValue::TimestampMicrosecond(it, _) => (*it, 1000),
        ScalarValue::TimestampNanosecond(it, _) => (*it, 1),
        _ => return None,
    };
    Some(i128::from(number?) * unit_ns)
}

#[cfg(test)]
mod tests {
    use datafusion::functions::core::expr_fn::get_field;
    use datafusion::prelude::{col, lit};

    use super::*;

    fn time(ms: i64) -> Expr {
        Expr::Literal(ScalarValue::TimestampMillisecond(Some(ms), Some("UTC".into())), None)
    }

    fn label(key: &str, value: &str) -> Expr {
        get_field(col("labels"), key.to_owned()).eq(lit(value))
    }

    #[test]
    fn times_are_those_of_a_store() {
        let times = |filters: &[Expr]| {
            let found = Conditions::of(filters);
            (found.from_ms, found.to_ms, found.is_nothing)
        };
        let column = || col("time");
        for (filter, expected) in [
            (column().gt_eq(time(10_000)), (Some(10_000), None, false)),
            (column().gt_eq(time(10_001)), (Some(20_000), None, false)),
            (column().gt(time(10_000)), (Some(20_000), None, false)),
            (column().lt(time(10_000)), (None, Some(10_000), false)),
            (column().lt(time(10_001)), (None, Some(20_000), false)),
            (column().lt_eq(time(10_000)), (None, Some(20_000), false)),
            (time(10_000).lt_eq(column()), (Some(10_000), None, false)),
            (column().eq(time(20_000)), (Some(20_000), Some(30_000), false)),
            (column().eq(time(20_001)), (Some(30_000), Some(30_000), true)),
            (column().gt(time(-1)), (Some(0), None, false)),
            (
                col("date").eq(Expr::Literal(ScalarValue::Date32(Some(2)), None)),
                (Some(2 * DAY_MS), Some(3 * DAY_MS), false),
            ),
        ] {
            assert_eq!(times(std::slice::from_ref(&filter)), expected, "{filter}");
            assert!(matches!(pushdown(&filter), TableProviderFilterPushDown::Exact), "{filter}");
        }
        let both =
            [column().gt_eq(time(10_000)), column().gt(time(30_000)), column().lt(time(60_000))];
        assert_eq!(times(&both), (Some(40_000), Some(60_000), false));
        assert!(times(&[column().gt(time(50_000)), column().lt(time(10_000))]).2);
    }

    #[test]
    fn labels_and_the_metric_have_one_value() {
        let found =
            Conditions::of(&[label("version", "1.4"), label("version", "1.4"), label("a", "b=c")]);
        let labels: Vec<_> = found.labels.iter().map(ToString::to_string).collect();
        assert_eq!(
            (labels, found.is_nothing),
            (vec!["version=1.4".to_owned(), "a=b=c".to_owned()], false)
        );
        assert!(Conditions::of(&[label("version", "1"), label("version", "2")]).is_nothing);
        let metric = |name: &str| col("metric").eq(lit(name));
        assert_eq!(Conditions::of(&[metric("wall")]).metric.as_deref(), Some("wall"));
        assert!(Conditions::of(&[metric("wall"), metric("samples")]).is_nothing);
    }

    #[test]
    fn what_reading_cannot_keep_to_is_left_to_the_query() {
        for filter in [
            label("version", "1.*"),
            get_field(col("labels"), "version").not_eq(lit("1")),
            col("time").gt(time(1)).or(col("hour").eq(lit(3))),
            col("time").not_eq(time(1)),
            col("metric").eq(lit("wall")),
            col("service").eq(lit("shop")),
            col("self").gt(lit(3)),
        ] {
            assert!(matches!(pushdown(&filter), TableProviderFilterPushDown::Inexact), "{filter}");
        }
    }
}
