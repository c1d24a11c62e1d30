//! A file of speedscope while it is read. Stacks are kept as a tree, regardless of the number of
//! samples.

use std::fmt;

use perk_profile::Unit;
use serde::de::{DeserializeSeed, Error, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

use crate::stacks::{ROOT, Stacks};

/// A file. Unknown fields are skipped.
#[derive(Debug, Deserialize)]
pub(super) struct SpeedscopeFile {
    pub(super) shared: FrameTable,
    pub(super) profiles: Vec<Profile>,
    pub(super) perk: Option<Run>,
}

/// The data of the run in perk's own files.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Run {
    /// Milliseconds since 1970, and the seconds by which local time was ahead of UTC.
    pub(super) created: Option<(u64, i32)>,
    pub(super) sample_interval_ns: Option<u64>,
    pub(super) sites_interval_bytes: Option<u64>,
    pub(super) accounting: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(super) struct FrameTable {
    pub(super) frames: Vec<FileFrame>,
}

#[derive(Debug, Deserialize)]
pub(super) struct FileFrame {
    pub(super) name: String,
    pub(super) file: Option<String>,
    pub(super) line: Option<f64>,
    #[serde(default)]
    pub(super) perk: FrameMore,
}

/// The additional data of a frame in perk's own files.
#[derive(Debug, Default, Deserialize)]
pub(super) struct FrameMore {
    /// The JVM signature.
    pub(super) signature: Option<String>,
    /// The kind of the frame, if it is not a method of known code.
    #[serde(default)]
    pub(super) kind: FileFrameKind,
    /// The labels that the frame represents.
    #[serde(default)]
    pub(super) labels: Vec<FileLabel>,
}

/// A label: a text, or a number and its unit.
#[derive(Debug, Deserialize)]
pub(super) struct FileLabel {
    pub(super) key: String,
    pub(super) text: Option<String>,
    #[serde(default)]
    pub(super) number: i64,
    pub(super) unit: Option<String>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum FileFrameKind {
    Native,
    Compiled,
    /// The class of the objects that the weights count.
    Objects,
    /// The labels of the weights.
    Labels,
    #[default]
    #[serde(other)]
    Method,
}

#[derive(Debug, Deserialize)]
pub(super) struct Profile {
    #[serde(default)]
    pub(super) name: String,
    #[serde(default)]
    pub(super) unit: String,
    pub(super) samples: Option<Samples>,
    pub(super) weights: Option<Vec<Weight>>,
    pub(super) events: Option<Events>,
    pub(super) perk: Option<ProfileMore>,
}

/// The additional data of a profile in perk's own files.
#[derive(Debug, Deserialize)]
pub(super) struct ProfileMore {
    /// The counted value.
    pub(super) value: String,
    /// The thread of the samples.
    pub(super) thread: Option<String>,
}

impl Profile {
    /// Returns perk's unit of the weights, and the number of these units in one of the file's.
    pub(super) fn unit(&self) -> (Unit, u64) {
        match self.unit.as_str() {
            "nanoseconds" => (Unit::Nanoseconds, 1),
            "microseconds" => (Unit::Nanoseconds, 1_000),
            "milliseconds" => (Unit::Nanoseconds, 1_000_000),
            "seconds" => (Unit::Nanoseconds, 1_000_000_000),
            "bytes" => (Unit::Bytes, 1),
            _ => (Unit::Count, 1),
        }
    }
}

/// A weight: whole numbers are kept exactly.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Weight {
    Whole(u64),
    Other(f64),
}

impl Weight {
    /// Returns the weight in units of which `factor` make one of the file's, rounded; `None` if it
    /// is negative.
    pub(super) fn scaled(self, factor: u64) -> Option<u64> {
        match self {
            Weight::Whole(number) => Some(number.saturating_mul(factor)),
            // The cast saturates, and JSON numbers are never NaN.
            Weight::Other(number) if number >= 0.0 => Some((number * factor as f64).round() as u64),
            Weight::Other(_) => None,
        }
    }
}

impl<'de> Deserialize<'de> for Weight {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct WeightVisitor;
        impl Visitor<'_> for WeightVisitor {
            type Value = Weight;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a number")
            }

            fn visit_u64<E: Error>(self, number: u64) -> Result<Weight, E> {
                Ok(Weight::Whole(number))
            }

            fn visit_i64<E: Error>(self, number: i64) -> Result<Weight, E> {
                Ok(Weight::Other(number as f64))
            }

            fn visit_f64<E: Error>(self, number: f64) -> Result<Weight, E> {
                Ok(Weight::Other(number))
            }
        }
        deserializer.deserialize_any(WeightVisitor)
    }
}

/// The samples of a profile. Each is a node of the tree of stacks, whose frames are places in the
/// table of frames.
#[derive(Debug, Default)]
pub(super) struct Samples {
    pub(super) stacks: Stacks,
    pub(super) nodes: Vec<u32>,
}

impl<'de> Deserialize<'de> for Samples {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct All;
        impl<'de> Visitor<'de> for All {
            type Value = Samples;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a list of stacks")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Samples, A::Error> {
                let mut samples = Samples::default();
                let mut stack = Vec::new();
                while list.next_element_seed(StackSeed(&mut stack))?.is_some() {
                    let node = samples.stacks.node(stack.iter().copied());
                    samples.nodes.push(node);
                }
                Ok(samples)
            }
        }
        deserializer.deserialize_seq(All)
    }
}

/// A vector that is filled anew with a stack.
struct StackSeed<'a>(&'a mut Vec<u64>);

impl<'de> DeserializeSeed<'de> for StackSeed<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for StackSeed<'_> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a stack: a list of indexes of frames")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        self.0.clear();
        while let Some(frame) = list.next_element()? {
            self.0.push(frame);
        }
        Ok(())
    }
}

/// The events of a profile, as the time that each stack was the running one.
#[derive(Debug, Default)]
pub(super) struct Events {
    pub(super) stacks: Stacks,
    /// The time of each node.
    pub(super) own: Vec<f64>,
    /// The number of frames without an end.
    pub(super) open_count: u64,
}

#[derive(Debug, Deserialize)]
struct Event {
    #[serde(rename = "type")]
    kind: Option<EventKind>,
    frame: Option<u64>,
    at: Option<f64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
enum EventKind {
    #[serde(rename = "O")]
    Open,
    #[serde(rename = "C")]
    Close,
}

impl<'de> Deserialize<'de> for Events {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct All;
        impl<'de> Visitor<'de> for All {
            type Value = Events;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a list of events")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Events, A::Error> {
                let mut events = Events::default();
                let (mut node, mut before) = (ROOT, f64::NEG_INFINITY);
                while let Some(event) = list.next_element::<Event>()? {
                    let Event { kind: Some(kind), frame: Some(frame), at: Some(at) } = event else {
                        // An incomplete element is the last one of a file that is cut off.
                        if list.next_element::<Event>()?.is_none() {
                            break;
                        }
                        return Err(A::Error::custom("an event without its type, frame or time"));
                    };
                    if at < before {
                        return Err(A::Error::custom("an event earlier than the one before it"));
                    }
                    if node != ROOT {
                        events.own.resize(events.stacks.len(), 0.0);
                        events.own[node as usize] += at - before;
                    }
                    before = at;
                    let (parent, innermost) = events.stacks.get(node);
                    node = match kind {
                        EventKind::Open => events.stacks.child(node, frame),
                        EventKind::Close if node != ROOT && innermost == frame => parent,
                        EventKind::Close => {
                            let what = "the end of a frame that is not the innermost";
                            return Err(A::Error::custom(what));
                        }
                    };
                }
                while node != ROOT {
                    events.open_count += 1;
                    node = events.stacks.get(node).0;
                }
                events.own.resize(events.stacks.len(), 0.0);
                Ok(events)
            }
        }
        deserializer.deserialize_seq(All)
    }
}
