//! How messages write values in JSON.

use serde::{Deserialize, Deserializer, Serializer, de::Error};

/// A whole number, as a number or as text.
#[derive(Deserialize)]
#[serde(untagged)]
enum Whole {
    Number(i64),
    Text(String),
}

impl Whole {
    fn get<E: Error>(self) -> Result<i64, E> {
        match self {
            Whole::Number(number) => Ok(number),
            Whole::Text(text) => {
                text.parse().map_err(|_| E::custom(format!("{text:?} is no whole number")))
            }
        }
    }
}

/// A number of 64 bits.
pub(super) mod int64 {
    use super::{Deserialize, Deserializer, Serializer, Whole};

    pub(crate) fn serialize<S: Serializer>(number: &i64, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(number)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<i64, D::Error> {
        Whole::deserialize(from)?.get()
    }
}

/// A number of 64 bits that is at least 0.
pub(super) mod uint64 {
    use super::{Deserialize, Deserializer, Error, Serializer, Whole};

    pub(crate) fn serialize<S: Serializer>(number: &u64, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(number)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<u64, D::Error> {
        let number = Whole::deserialize(from)?.get()?;
        u64::try_from(number).map_err(|_| D::Error::custom(format!("{number} is below 0")))
    }
}

/// Numbers of 64 bits.
pub(super) mod int64s {
    use super::{Deserialize, Deserializer, Serializer, Whole};

    pub(crate) fn serialize<S: Serializer>(numbers: &[i64], to: S) -> Result<S::Ok, S::Error> {
        to.collect_seq(numbers.iter().map(i64::to_string))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<i64>, D::Error> {
        Vec::<Whole>::deserialize(from)?.into_iter().map(Whole::get).collect()
    }
}

/// Numbers of 64 bits that are at least 0.
pub(super) mod uint64s {
    use super::{Deserialize, Deserializer, Error, Serializer, Whole};

    pub(crate) fn serialize<S: Serializer>(numbers: &[u64], to: S) -> Result<S::Ok, S::Error> {
        to.collect_seq(numbers.iter().map(u64::to_string))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<u64>, D::Error> {
        let numbers = Vec::<Whole>::deserialize(from)?.into_iter();
        let number = |it: Whole| {
            let number = it.get()?;
            u64::try_from(number).map_err(|_| D::Error::custom(format!("{number} is below 0")))
        };
        numbers.map(number).collect()
    }
}

/// A number of 64 bits that may be left out.
pub(super) mod optional_int64 {
    use super::{Deserialize, Deserializer, Serializer, Whole};

    #[expect(clippy::ref_option, reason = "serde gives the field")]
    pub(crate) fn serialize<S: Serializer>(number: &Option<i64>, to: S) -> Result<S::Ok, S::Error> {
        match number {
            Some(number) => to.collect_str(number),
            None => to.serialize_none(),
        }
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Option<i64>, D::Error> {
        Option::<Whole>::deserialize(from)?.map(Whole::get).transpose()
    }
}

/// Bytes in base 64.
pub(super) mod bytes {
    use base64::Engine;
    use base64::engine::general_purpose::STANDARD;

    use super::{Deserialize, Deserializer, Error, Serializer};

    pub(crate) fn serialize<S: Serializer>(bytes: &[u8], to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&STANDARD.encode(bytes))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<u8>, D::Error> {
        let text = String::deserialize(from)?;
        STANDARD.decode(text).map_err(|_| D::Error::custom("bytes are not in base 64"))
    }
}

/// The value of an enumeration, by its name or number.
pub(super) mod enumeration {
    use super::{Deserialize, Deserializer, Error, Serializer, Whole};

    /// The names that are not 0.
    const NAMES: [(&str, i32); 3] = [
        ("PROFILE_FORMAT_FLAMEGRAPH", 1),
        ("PROFILE_FORMAT_TREE", 2),
        ("TIME_SERIES_AGGREGATION_TYPE_AVERAGE", 1),
    ];
    const ZEROS: [&str; 2] = ["PROFILE_FORMAT_UNSPECIFIED", "TIME_SERIES_AGGREGATION_TYPE_SUM"];

    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde gives the field")]
    pub(crate) fn serialize<S: Serializer>(number: &i32, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_i32(*number)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<i32, D::Error> {
        let fault = |what: &str| D::Error::custom(format!("{what} is not known"));
        match Option::<Whole>::deserialize(from)? {
            None => Ok(0),
            Some(Whole::Number(number)) => {
                i32::try_from(number).map_err(|_| fault(&number.to_string()))
            }
            Some(Whole::Text(name)) if ZEROS.contains(&&*name) => Ok(0),
            Some(Whole::Text(name)) => {
                let known = NAMES.iter().find(|it| it.0 == name);
                known.map(|it| it.1).ok_or_else(|| fault(&name))
            }
        }
    }
}
