//! What the annotations of types and fields say of values: units, and words for people.

use perk_profile::KeyedMap;

/// The unit of a whole number of time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum TimeUnit {
    /// Ticks of the chunk's clock.
    #[default]
    Ticks,
    Nanoseconds,
    Microseconds,
    Milliseconds,
    Seconds,
}

/// The zero of a point in time, and its unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Epoch {
    /// Ticks of the chunk's clock.
    Ticks,
    /// Milliseconds since 1970.
    Milliseconds,
}

/// The meaning of a number as time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Time {
    Span(TimeUnit),
    Stamp(Epoch),
}

/// The unit of a number that is no time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// A size in bytes.
    Bytes,
    /// A size in bits.
    Bits,
    /// A rate in bytes per second.
    BytesPerSecond,
    /// A rate in bits per second.
    BitsPerSecond,
    /// A rate in events per second.
    Hertz,
    /// A part of a whole: 1 is all of it.
    Share,
    /// An address in memory.
    Address,
}

impl Unit {
    /// The unit for people.
    pub fn label(self) -> &'static str {
        match self {
            Unit::Bytes => "bytes",
            Unit::Bits => "bits",
            Unit::BytesPerSecond => "bytes per second",
            Unit::BitsPerSecond => "bits per second",
            Unit::Hertz => "per second",
            Unit::Share => "1 is all",
            Unit::Address => "address",
        }
    }
}

/// What annotations say of a type or a field.
#[derive(Clone, Debug, Default)]
pub(super) struct Facts {
    pub(super) label: String,
    pub(super) description: String,
    pub(super) is_unsigned: bool,
    pub(super) time: Option<Time>,
    pub(super) unit: Option<Unit>,
}

#[derive(Clone, Copy, Debug)]
enum Kind {
    Label,
    Description,
    Unsigned,
    Timespan,
    Timestamp,
    DataAmount,
    Frequency,
    Percentage,
    MemoryAddress,
}

/// The annotations of a chunk that perk knows, by the ids of their types.
#[derive(Debug, Default)]
pub(super) struct Annotations {
    kinds: KeyedMap<i64, Kind>,
}

impl Annotations {
    /// Notes a type of the metadata.
    pub(super) fn add(&mut self, id: i64, name: &str) {
        let kind = match name {
            "jdk.jfr.Label" => Kind::Label,
            "jdk.jfr.Description" => Kind::Description,
            "jdk.jfr.Unsigned" => Kind::Unsigned,
            "jdk.jfr.Timespan" => Kind::Timespan,
            "jdk.jfr.Timestamp" => Kind::Timestamp,
            "jdk.jfr.DataAmount" => Kind::DataAmount,
            "jdk.jfr.Frequency" => Kind::Frequency,
            "jdk.jfr.Percentage" => Kind::Percentage,
            "jdk.jfr.MemoryAddress" => Kind::MemoryAddress,
            _ => return,
        };
        self.kinds.insert(id, kind);
    }

    /// What the annotations of one element say: the ids of their types, and their values.
    pub(super) fn facts<'a>(
        &self,
        annotations: impl Iterator<Item = (Option<i64>, Option<&'a str>)>,
    ) -> Facts {
        let mut facts = Facts::default();
        let mut is_rate = false;
        for (id, value) in annotations {
            let Some(kind) = id.and_then(|id| self.kinds.get(&id)) else { continue };
            let text = || value.unwrap_or_default().to_owned();
            match kind {
                Kind::Label => facts.label = text(),
                Kind::Description => facts.description = text(),
                Kind::Unsigned => facts.is_unsigned = true,
                Kind::Timespan => facts.time = Some(Time::Span(span(value))),
                Kind::Timestamp => facts.time = Some(Time::Stamp(stamp(value))),
                Kind::DataAmount if value == Some("BITS") => facts.unit = Some(Unit::Bits),
                Kind::DataAmount => facts.unit = Some(Unit::Bytes),
                Kind::Frequency => is_rate = true,
                Kind::Percentage => facts.unit = Some(Unit::Share),
                Kind::MemoryAddress => facts.unit = Some(Unit::Address),
            }
        }
        if is_rate {
            facts.unit = Some(match facts.unit {
                Some(Unit::Bytes) => Unit::BytesPerSecond,
                Some(Unit::Bits) => Unit::BitsPerSecond,
                _ => Unit::Hertz,
            });
        }
        facts
    }
}

fn span(value: Option<&str>) -> TimeUnit {
    match value {
        Some("NANOSECONDS") => TimeUnit::Nanoseconds,
        Some("MICROSECONDS") => TimeUnit::Microseconds,
        Some("MILLISECONDS") => TimeUnit::Milliseconds,
        Some("SECONDS") => TimeUnit::Seconds,
        _ => TimeUnit::Ticks,
    }
}

fn stamp(value: Option<&str>) -> Epoch {
    match value {
        Some("MILLISECONDS_SINCE_EPOCH") => Epoch::Milliseconds,
        _ => Epoch::Ticks,
    }
}
