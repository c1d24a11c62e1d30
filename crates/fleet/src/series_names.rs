//! The names that systems for continuous profiling have for numbers and labels, for what perk sends to them and for what
//! it answers in their place.

use std::fmt;
use std::str::FromStr;

use perk_profile::{Metric, Unit};

/// The label that names a series.
pub(crate) const NAME: &str = "__name__";
/// Pyroscope's label of the service.
pub(crate) const SERVICE_NAME: &str = "service_name";
/// perk's label of the service.
pub(crate) const SERVICE: &str = "service";
/// The labels of a span. Each span has others.
pub(crate) const TRACE_ID: &str = "trace_id";
pub(crate) const SPAN_ID: &str = "span_id";

/// The names that OpenTelemetry has for perk's labels of a JVM.
pub(crate) const RESOURCE: [(&str, &str); 7] = [
    (SERVICE, "service.name"),
    ("version", "service.version"),
    ("instance", "service.instance.id"),
    ("host", "host.name"),
    ("container", "container.id"),
    ("pod", "k8s.pod.name"),
    ("namespace", "k8s.namespace.name"),
];

/// The names of the series, as far as there are some those that these systems know, and their metrics.
pub(crate) const SERIES: [(&str, &[Metric]); 7] = [
    (PROCESS_CPU, &[Metric::Samples]),
    ("memory", &Metric::OF_OBJECTS),
    ("mutex", &[Metric::BlockedCount, Metric::BlockedTime]),
    ("wait", &[Metric::WaitCount, Metric::WaitedTime]),
    ("wall", &[Metric::WallTime]),
    ("lock_holder", &Metric::OF_HOLDERS),
    ("calls", &[Metric::Calls, Metric::SelfTime]),
];
const PROCESS_CPU: &str = "process_cpu";
/// The type of CPU samples as time.
const CPU: (&str, &str) = ("cpu", "nanoseconds");

/// A key as Pyroscope takes it: letters of ASCII, digits and underscores.
pub(crate) fn label_name(key: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric();
    let name: String = key.chars().map(|c| if is_plain(c) { c } else { '_' }).collect();
    match name.starts_with(|c: char| c.is_ascii_digit()) {
        true => format!("_{name}"),
        false => name,
    }
}

/// The name of the series of a metric of another tool.
pub(crate) fn name_of_other(metric: &str) -> String {
    label_name(metric)
}

/// The type of a profile as Pyroscope names it: `process_cpu:cpu:nanoseconds:cpu:nanoseconds`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ProfileTypeId {
    /// The name of the series.
    pub(crate) series: String,
    pub(crate) sample_type: String,
    pub(crate) sample_unit: String,
    pub(crate) period_type: String,
    pub(crate) period_unit: String,
}

impl ProfileTypeId {
    /// The metric, and whether its numbers are CPU time in place of samples. `None` if no series has this type.
    pub(crate) fn metric(&self) -> Option<(Metric, bool)> {
        let Self { series, sample_type, sample_unit, .. } = self;
        let is_asked =
            |it: &&Metric| it.file_name() == sample_type && it.unit().name() == sample_unit;
        let known = SERIES.iter().find(|it| it.0 == series);
        if let Some(metric) = known.and_then(|it| it.1.iter().find(is_asked)) {
            return Some((metric.clone(), false));
        }
        if series == PROCESS_CPU && (&**sample_type, &**sample_unit) == CPU {
            return Some((Metric::Samples, true));
        }
        let units = [Unit::Count, Unit::Nanoseconds, Unit::Bytes];
        let unit = units.into_iter().find(|it| it.name() == sample_unit)?;
        let is_other = *series == name_of_other(sample_type) && known.is_none();
        is_other.then(|| (Metric::other(sample_type, unit), false))
    }
}

impl fmt::Display for ProfileTypeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { series, sample_type, sample_unit, period_type, period_unit } = self;
        write!(f, "{series}:{sample_type}:{sample_unit}:{period_type}:{period_unit}")
    }
}

impl FromStr for ProfileTypeId {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parts: Vec<_> = text.split(':').collect();
        // The last part of delta profiles says that they are.
        let ([series, sample_type, sample_unit, period_type, period_unit]
        | [series, sample_type, sample_unit, period_type, period_unit, "delta"]) = parts[..]
        else {
            return Err(format!(
                "{text:?} is no type of profiles: use one such as process_cpu:cpu:nanoseconds:cpu:nanoseconds"
            ));
        };
        let [series, sample_type, sample_unit, period_type, period_unit] =
            [series, sample_type, sample_unit, period_type, period_unit].map(str::to_owned);
        Ok(Self { series, sample_type, sample_unit, period_type, period_unit })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_have_names_that_pyroscope_takes() {
        for (key, name) in [("team", "team"), ("my-team.x", "my_team_x"), ("1a", "_1a"), ("ü", "_")]
        {
            assert_eq!(label_name(key), name);
        }
    }

    #[test]
    fn types_are_of_metrics() {
        for (text, metric) in [
            ("process_cpu:cpu:nanoseconds:cpu:nanoseconds", Some((Metric::Samples, true))),
            ("process_cpu:samples:count:cpu:nanoseconds", Some((Metric::Samples, false))),
            ("memory:alloc_space:bytes:space:bytes", Some((Metric::AllocatedBytes, false))),
            ("memory:alloc_space:bytes::", Some((Metric::AllocatedBytes, false))),
            ("mutex:delay:nanoseconds:contentions:count", Some((Metric::BlockedTime, false))),
            ("memory:samples:count:cpu:nanoseconds", None),
            ("goroutine:goroutine:count::", Some((Metric::other("goroutine", Unit::Count), false))),
            ("memory:cpu:parsecs::", None),
        ] {
            let id: ProfileTypeId = text.parse().unwrap();
            assert_eq!((id.metric(), &*id.to_string()), (metric, text));
        }
        for text in ["", "cpu", "a:b:c:d", "a:b:c:d:e:f"] {
            assert!(text.parse::<ProfileTypeId>().is_err(), "{text}");
        }
    }
}
