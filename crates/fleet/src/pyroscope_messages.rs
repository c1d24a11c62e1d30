//! Pyroscope's messages, as protocol buffers and as their JSON: whole numbers of 64 bits are text there.
//!
//! Sources: `querier.proto`, `types.proto`, `push.proto` and `google/v1/profile.proto` of Pyroscope.

mod json;
mod pprof;

use prost::Message;
use serde::{Deserialize, Serialize};

pub(crate) use pprof::{Function, Label, Line, Location, Mapping, Pprof, Sample, ValueType};

/// Declares messages with the names of their fields in JSON.
macro_rules! messages {
    ($($(#[$doc:meta])* $name:ident { $($(#[$field:meta])* $value:ident: $type:ty,)* })*) => {
        $($(#[$doc])*
        #[derive(Clone, PartialEq, Message, Serialize, Deserialize)]
        #[serde(rename_all = "camelCase", default)]
        pub(crate) struct $name { $($(#[$field])* pub(crate) $value: $type,)* })*
    };
}
use messages;

messages! {
    /// `types.v1.LabelPair`.
    LabelPair {
        #[prost(string, tag = "1")]
        name: String,
        #[prost(string, tag = "2")]
        value: String,
    }

    /// `push.v1.PushRequest`.
    PushRequest {
        #[prost(message, repeated, tag = "1")]
        series: Vec<RawProfileSeries>,
    }

    /// `push.v1.RawProfileSeries`.
    RawProfileSeries {
        #[prost(message, repeated, tag = "1")]
        labels: Vec<LabelPair>,
        #[prost(message, repeated, tag = "2")]
        samples: Vec<RawSample>,
    }

    /// `push.v1.RawSample`.
    RawSample {
        #[prost(bytes = "vec", tag = "1")]
        #[serde(alias = "raw_profile", with = "json::bytes")]
        raw_profile: Vec<u8>,
        /// A UUID.
        #[prost(string, tag = "2")]
        #[serde(rename = "ID")]
        id: String,
    }

    /// `push.v1.PushResponse`.
    PushResponse {}

    /// `types.v1.ProfileType`.
    ProfileType {
        #[prost(string, tag = "1")]
        #[serde(rename = "ID")]
        id: String,
        #[prost(string, tag = "2")]
        name: String,
        #[prost(string, tag = "4")]
        sample_type: String,
        #[prost(string, tag = "5")]
        sample_unit: String,
        #[prost(string, tag = "6")]
        period_type: String,
        #[prost(string, tag = "7")]
        period_unit: String,
    }

    /// `querier.v1.ProfileTypesRequest`.
    ProfileTypesRequest {
        #[prost(int64, tag = "1")]
        #[serde(with = "json::int64")]
        start: i64,
        #[prost(int64, tag = "2")]
        #[serde(with = "json::int64")]
        end: i64,
    }

    /// `querier.v1.ProfileTypesResponse`.
    ProfileTypesResponse {
        #[prost(message, repeated, tag = "1")]
        profile_types: Vec<ProfileType>,
    }

    /// `types.v1.LabelNamesRequest`.
    LabelNamesRequest {
        #[prost(string, repeated, tag = "1")]
        matchers: Vec<String>,
        #[prost(int64, tag = "2")]
        #[serde(with = "json::int64")]
        start: i64,
        #[prost(int64, tag = "3")]
        #[serde(with = "json::int64")]
        end: i64,
    }

    /// `types.v1.LabelNamesResponse`.
    LabelNamesResponse {
        #[prost(string, repeated, tag = "1")]
        names: Vec<String>,
    }

    /// `types.v1.LabelValuesRequest`.
    LabelValuesRequest {
        #[prost(string, tag = "1")]
        name: String,
        #[prost(string, repeated, tag = "2")]
        matchers: Vec<String>,
        #[prost(int64, tag = "3")]
        #[serde(with = "json::int64")]
        start: i64,
        #[prost(int64, tag = "4")]
        #[serde(with = "json::int64")]
        end: i64,
    }

    /// `types.v1.LabelValuesResponse`.
    LabelValuesResponse {
        #[prost(string, repeated, tag = "1")]
        names: Vec<String>,
    }

    /// `querier.v1.SeriesRequest`.
    SeriesRequest {
        #[prost(string, repeated, tag = "1")]
        matchers: Vec<String>,
        #[prost(string, repeated, tag = "2")]
        #[serde(alias = "label_names")]
        label_names: Vec<String>,
        #[prost(int64, tag = "3")]
        #[serde(with = "json::int64")]
        start: i64,
        #[prost(int64, tag = "4")]
        #[serde(with = "json::int64")]
        end: i64,
    }

    /// `types.v1.Labels`.
    Labels {
        #[prost(message, repeated, tag = "1")]
        labels: Vec<LabelPair>,
    }

    /// `querier.v1.SeriesResponse`.
    SeriesResponse {
        #[prost(message, repeated, tag = "2")]
        labels_set: Vec<Labels>,
    }

    /// `types.v1.Location`.
    CallSite {
        #[prost(string, tag = "1")]
        name: String,
    }

    /// `types.v1.GoPGO`. perk does not read its fields.
    GoPgo {}

    /// `types.v1.StackTraceSelector`.
    StackTraceSelector {
        #[prost(message, repeated, tag = "1")]
        #[serde(alias = "call_site")]
        call_site: Vec<CallSite>,
        #[prost(message, optional, tag = "2")]
        #[serde(rename = "goPgo", alias = "go_pgo")]
        go_pgo: Option<GoPgo>,
    }

    /// `querier.v1.SelectMergeStacktracesRequest`.
    SelectMergeStacktracesRequest {
        #[prost(string, tag = "1")]
        #[serde(rename = "profileTypeID", alias = "profile_typeID")]
        profile_type_id: String,
        #[prost(string, tag = "2")]
        #[serde(alias = "label_selector")]
        label_selector: String,
        #[prost(int64, tag = "3")]
        #[serde(with = "json::int64")]
        start: i64,
        #[prost(int64, tag = "4")]
        #[serde(with = "json::int64")]
        end: i64,
        #[prost(int64, optional, tag = "5")]
        #[serde(alias = "max_nodes", with = "json::optional_int64")]
        max_nodes: Option<i64>,
        /// `ProfileFormat`.
        #[prost(int32, tag = "6")]
        #[serde(with = "json::enumeration")]
        format: i32,
        #[prost(message, optional, tag = "7")]
        #[serde(alias = "stack_trace_selector")]
        stack_trace_selector: Option<StackTraceSelector>,
        #[prost(string, repeated, tag = "8")]
        #[serde(alias = "profile_id_selector")]
        profile_id_selector: Vec<String>,
    }

    /// `querier.v1.SelectMergeSpanProfileRequest`.
    SelectMergeSpanProfileRequest {
        #[prost(string, tag = "1")]
        #[serde(rename = "profileTypeID", alias = "profile_typeID")]
        profile_type_id: String,
        #[prost(string, tag = "2")]
        #[serde(alias = "label_selector")]
        label_selector: String,
        #[prost(string, repeated, tag = "3")]
        #[serde(alias = "span_selector")]
        span_selector: Vec<String>,
        #[prost(int64, tag = "4")]
        #[serde(with = "json::int64")]
        start: i64,
        #[prost(int64, tag = "5")]
        #[serde(with = "json::int64")]
        end: i64,
        #[prost(int64, optional, tag = "6")]
        #[serde(alias = "max_nodes", with = "json::optional_int64")]
        max_nodes: Option<i64>,
        /// `ProfileFormat`.
        #[prost(int32, tag = "7")]
        #[serde(with = "json::enumeration")]
        format: i32,
    }

    /// `querier.v1.SelectMergeStacktracesResponse`, and that of spans.
    SelectMergeStacktracesResponse {
        #[prost(message, optional, tag = "1")]
        flamegraph: Option<FlameGraph>,
    }

    /// `querier.v1.FlameGraph`.
    FlameGraph {
        #[prost(string, repeated, tag = "1")]
        names: Vec<String>,
        #[prost(message, repeated, tag = "2")]
        levels: Vec<Level>,
        #[prost(int64, tag = "3")]
        #[serde(with = "json::int64")]
        total: i64,
        #[prost(int64, tag = "4")]
        #[serde(with = "json::int64")]
        max_self: i64,
    }

    /// `querier.v1.Level`: of each node the distance from the end of the one before, its total, its own number, and
    /// the index of its name.
    Level {
        #[prost(int64, repeated, tag = "1")]
        #[serde(with = "json::int64s")]
        values: Vec<i64>,
    }

    /// `querier.v1.SelectMergeProfileRequest`.
    SelectMergeProfileRequest {
        #[prost(string, tag = "1")]
        #[serde(rename = "profileTypeID", alias = "profile_typeID")]
        profile_type_id: String,
        #[prost(string, tag = "2")]
        #[serde(alias = "label_selector")]
        label_selector: String,
        #[prost(int64, tag = "3")]
        #[serde(with = "json::int64")]
        start: i64,
        #[prost(int64, tag = "4")]
        #[serde(with = "json::int64")]
        end: i64,
        #[prost(message, optional, tag = "6")]
        #[serde(alias = "stack_trace_selector")]
        stack_trace_selector: Option<StackTraceSelector>,
        #[prost(string, repeated, tag = "7")]
        #[serde(alias = "profile_id_selector")]
        profile_id_selector: Vec<String>,
    }

    /// `querier.v1.SelectSeriesRequest`.
    SelectSeriesRequest {
        #[prost(string, tag = "1")]
        #[serde(rename = "profileTypeID", alias = "profile_typeID")]
        profile_type_id: String,
        #[prost(string, tag = "2")]
        #[serde(alias = "label_selector")]
        label_selector: String,
        #[prost(int64, tag = "3")]
        #[serde(with = "json::int64")]
        start: i64,
        #[prost(int64, tag = "4")]
        #[serde(with = "json::int64")]
        end: i64,
        #[prost(string, repeated, tag = "5")]
        #[serde(alias = "group_by")]
        group_by: Vec<String>,
        /// In seconds.
        #[prost(double, tag = "6")]
        step: f64,
        /// `TimeSeriesAggregationType`.
        #[prost(int32, tag = "7")]
        #[serde(with = "json::enumeration")]
        aggregation: i32,
        #[prost(message, optional, tag = "8")]
        #[serde(alias = "stack_trace_selector")]
        stack_trace_selector: Option<StackTraceSelector>,
        #[prost(int64, optional, tag = "9")]
        #[serde(with = "json::optional_int64")]
        limit: Option<i64>,
    }

    /// `querier.v1.SelectSeriesResponse`.
    SelectSeriesResponse {
        #[prost(message, repeated, tag = "1")]
        series: Vec<Series>,
    }

    /// `types.v1.Series`.
    Series {
        #[prost(message, repeated, tag = "1")]
        labels: Vec<LabelPair>,
        #[prost(message, repeated, tag = "2")]
        points: Vec<Point>,
    }

    /// `types.v1.Point`.
    Point {
        #[prost(double, tag = "1")]
        value: f64,
        /// Milliseconds since 1970.
        #[prost(int64, tag = "2")]
        #[serde(with = "json::int64")]
        timestamp: i64,
    }
}
