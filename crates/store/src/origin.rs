//! What is known of a recording besides its content.

/// Where a recording comes from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Origin {
    /// The name of its file.
    pub file: String,
    /// Labels that it gets; its own of the same keys have precedence.
    pub labels: Vec<(String, String)>,
    /// Its start in milliseconds since 1970, if the file has no date.
    pub created_ms: Option<i64>,
}
