//! The data of a page.

use serde::{Deserialize, Serialize};

use super::times::TimeColumns;
use crate::Error;

/// The data of the page, from which its scripts draw.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct PageData {
    pub(super) version: u32,
    /// The name of the shown values. Pages of samples omit it, as the first versions did.
    #[serde(default = "samples", skip_serializing_if = "is_samples")]
    pub(super) value: String,
    /// The unit of the numbers, except for samples and calls: `count`, `nanoseconds`, `bytes`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) unit: Option<String>,
    pub(super) title: String,
    /// The name of the profile before, if two are compared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) before: Option<String>,
    /// Milliseconds since 1970, and the seconds by which local time was ahead of UTC.
    pub(super) created: Option<(u64, i32)>,
    pub(super) depth: Option<u32>,
    /// The text of [`Accounting::to_text`].
    pub(super) accounting: Option<String>,
    pub(super) notes: Vec<String>,
    /// The patterns of the program's own code. Empty where it is all that is of no other known owner.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) app: Vec<String>,
    /// What limits the program.
    #[serde(default, skip_serializing_if = "Option::is_none", skip_deserializing)]
    pub(super) limits: Option<LimitColumns>,
    /// The strings. The first is empty.
    pub(super) strings: Vec<String>,
    pub(super) frames: FrameColumns,
    /// The counted calls of the frames' methods, beside samples.
    #[serde(default, skip_serializing_if = "Option::is_none", skip_deserializing)]
    pub(super) calls: Option<CountedCalls>,
    pub(super) nodes: NodeColumns,
    /// The times of the numbers, if the profile has them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) times: Option<TimeColumns>,
    /// The other values that the page can show.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) others: Vec<OtherMetric>,
}

/// Another value of a page. Its frames are among those of the page.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct OtherMetric {
    pub(super) value: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) unit: Option<String>,
    pub(super) nodes: NodeColumns,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) times: Option<TimeColumns>,
}

/// What limits the program, most first.
#[derive(Debug, Serialize)]
pub(super) struct LimitColumns {
    pub(super) summary: String,
    pub(super) rows: Vec<LimitEntry>,
    /// Those of few samples, and what they are.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) more: Vec<LimitEntry>,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) more_title: String,
    /// The calls that are made again and again.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) repeats: Vec<String>,
}

/// A limit: its share, its reason, its method with the line, and what to try.
#[derive(Debug, Serialize)]
pub(super) struct LimitEntry {
    pub(super) share: String,
    pub(super) reason: String,
    pub(super) place: String,
    pub(super) hint: String,
    /// The name of the value that shows it.
    pub(super) value: String,
    /// The frame of its method, if that is on the page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) frame: Option<u32>,
}

/// The distinct frames, one column per property. Names are indexes of strings.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct FrameColumns {
    pub(super) kind: Vec<NodeKind>,
    pub(super) class: Vec<u32>,
    pub(super) name: Vec<u32>,
    pub(super) signature: Vec<u32>,
    /// Whose code it is: 0 the program's own, 1 a library's, 2 the JDK's, 3 the JVM's and other native
    /// code, 4 the kernel's, 5 no code. The first pages had none.
    #[serde(default)]
    pub(super) owner: Vec<u8>,
}

/// Counted calls.
#[derive(Debug, Default, Serialize)]
pub(super) struct CountedCalls {
    /// The calls of each frame's method; 0 where none is known.
    pub(super) count: Vec<u64>,
    /// The frames of callers and callees, and the calls of each pair.
    pub(super) caller: Vec<u32>,
    pub(super) callee: Vec<u32>,
    pub(super) pair_count: Vec<u64>,
    /// How many of these are estimated.
    pub(super) estimated: Vec<u64>,
}

/// The nodes of the tree in preorder.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct NodeColumns {
    /// The level (from 1), minus the level of the previous node.
    pub(super) level: Vec<i64>,
    pub(super) frame: Vec<u32>,
    #[serde(rename = "self")]
    pub(super) self_count: Vec<u64>,
    /// The same numbers in the profile before, if two profiles are compared.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) before: Vec<u64>,
    /// The places of the nodes that are time of threads that do not work.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) idle: Vec<u32>,
}

fn samples() -> String {
    "samples".to_owned()
}

pub(super) fn is_samples(value: &str) -> bool {
    value == "samples"
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "u8", into = "u8")]
pub(crate) enum NodeKind {
    Java,
    Native,
    Thread,
    NoStack,
    BelowCutoff,
    Objects,
    LeftOut,
}

impl From<NodeKind> for u8 {
    fn from(kind: NodeKind) -> Self {
        kind as u8
    }
}

impl TryFrom<u8> for NodeKind {
    type Error = &'static str;

    fn try_from(code: u8) -> Result<Self, Self::Error> {
        const ALL: [NodeKind; 7] = [
            NodeKind::Java,
            NodeKind::Native,
            NodeKind::Thread,
            NodeKind::NoStack,
            NodeKind::BelowCutoff,
            NodeKind::Objects,
            NodeKind::LeftOut,
        ];
        ALL.into_iter().find(|&kind| kind as u8 == code).ok_or("a kind of frame, 0 to 6")
    }
}

pub(super) fn same_length(
    table: &'static str,
    length: usize,
    expected: usize,
) -> Result<(), Error> {
    if length == expected {
        return Ok(());
    }
    let expected = "as many entries as in the table's other columns";
    Err(Error::Entry { table, index: length, expected })
}
