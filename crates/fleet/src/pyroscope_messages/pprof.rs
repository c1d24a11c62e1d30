//! `google.v1.Profile`: pprof as a message.

use prost::Message;
use serde::{Deserialize, Serialize};

use super::{json, messages};

messages! {
    /// `google.v1.Profile`.
    Pprof {
        #[prost(message, repeated, tag = "1")]
        sample_type: Vec<ValueType>,
        #[prost(message, repeated, tag = "2")]
        sample: Vec<Sample>,
        #[prost(message, repeated, tag = "3")]
        mapping: Vec<Mapping>,
        #[prost(message, repeated, tag = "4")]
        location: Vec<Location>,
        #[prost(message, repeated, tag = "5")]
        function: Vec<Function>,
        #[prost(string, repeated, tag = "6")]
        string_table: Vec<String>,
        #[prost(int64, tag = "9")]
        #[serde(with = "json::int64")]
        time_nanos: i64,
        #[prost(int64, tag = "10")]
        #[serde(with = "json::int64")]
        duration_nanos: i64,
        #[prost(message, optional, tag = "11")]
        period_type: Option<ValueType>,
        #[prost(int64, tag = "12")]
        #[serde(with = "json::int64")]
        period: i64,
    }

    /// `google.v1.ValueType`, by indexes of texts.
    ValueType {
        #[prost(int64, tag = "1")]
        #[serde(with = "json::int64")]
        r#type: i64,
        #[prost(int64, tag = "2")]
        #[serde(with = "json::int64")]
        unit: i64,
    }

    /// `google.v1.Sample`.
    Sample {
        #[prost(uint64, repeated, tag = "1")]
        #[serde(with = "json::uint64s")]
        location_id: Vec<u64>,
        #[prost(int64, repeated, tag = "2")]
        #[serde(with = "json::int64s")]
        value: Vec<i64>,
        #[prost(message, repeated, tag = "3")]
        label: Vec<Label>,
    }

    /// `google.v1.Label`.
    Label {
        #[prost(int64, tag = "1")]
        #[serde(with = "json::int64")]
        key: i64,
        #[prost(int64, tag = "2")]
        #[serde(with = "json::int64")]
        str: i64,
        #[prost(int64, tag = "3")]
        #[serde(with = "json::int64")]
        num: i64,
        #[prost(int64, tag = "4")]
        #[serde(with = "json::int64")]
        num_unit: i64,
    }

    /// `google.v1.Mapping`.
    Mapping {
        #[prost(uint64, tag = "1")]
        #[serde(with = "json::uint64")]
        id: u64,
        #[prost(int64, tag = "5")]
        #[serde(with = "json::int64")]
        filename: i64,
        #[prost(bool, tag = "7")]
        has_functions: bool,
        #[prost(bool, tag = "8")]
        has_filenames: bool,
        #[prost(bool, tag = "9")]
        has_line_numbers: bool,
        #[prost(bool, tag = "10")]
        has_inline_frames: bool,
    }

    /// `google.v1.Location`.
    Location {
        #[prost(uint64, tag = "1")]
        #[serde(with = "json::uint64")]
        id: u64,
        #[prost(uint64, tag = "2")]
        #[serde(with = "json::uint64")]
        mapping_id: u64,
        #[prost(uint64, tag = "3")]
        #[serde(with = "json::uint64")]
        address: u64,
        /// The innermost function first.
        #[prost(message, repeated, tag = "4")]
        line: Vec<Line>,
    }

    /// `google.v1.Line`.
    Line {
        #[prost(uint64, tag = "1")]
        #[serde(with = "json::uint64")]
        function_id: u64,
        #[prost(int64, tag = "2")]
        #[serde(with = "json::int64")]
        line: i64,
    }

    /// `google.v1.Function`.
    Function {
        #[prost(uint64, tag = "1")]
        #[serde(with = "json::uint64")]
        id: u64,
        #[prost(int64, tag = "2")]
        #[serde(with = "json::int64")]
        name: i64,
        #[prost(int64, tag = "3")]
        #[serde(with = "json::int64")]
        system_name: i64,
        #[prost(int64, tag = "4")]
        #[serde(with = "json::int64")]
        filename: i64,
    }
}
