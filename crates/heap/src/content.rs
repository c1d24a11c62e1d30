//! The contents of objects.

use perk_hprof::heap::FieldType;
use serde::{Deserialize, Serialize};

use crate::ClassIndex;

/// The content of an object, as the file has it.
#[derive(Clone, Debug, PartialEq)]
pub enum Content {
    /// The fields of an instance: those that its class declares first, then those of the class
    /// above, and so on.
    Instance(Vec<FieldValue>),
    /// The elements of an array of references, as addresses; 0 is null.
    Objects(Vec<u64>),
    /// The elements of an array of primitive values, big endian.
    Primitives(FieldType, Vec<u8>),
    /// The object represents this class.
    Class(ClassIndex),
}

/// A field and its value.
#[derive(Clone, Debug, PartialEq)]
pub struct FieldValue {
    /// The class that declares it.
    pub class: ClassIndex,
    /// Its number among the fields of that class ([`Class::fields`](crate::Class::fields)).
    pub index: usize,
    /// Its value.
    pub value: Value,
}

/// A value.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum Value {
    /// The address of an object; 0 is null.
    Reference(u64),
    /// `boolean`
    Boolean(bool),
    /// `char`
    Char(u16),
    /// `float`
    Float(f32),
    /// `double`
    Double(f64),
    /// `byte`
    Byte(i8),
    /// `short`
    Short(i16),
    /// `int`
    Int(i32),
    /// `long`
    Long(i64),
}

impl Value {
    /// Returns the value with these bits.
    pub(crate) fn of_bits(field: FieldType, bits: u64) -> Self {
        match field {
            FieldType::Object => Self::Reference(bits),
            FieldType::Boolean => Self::Boolean(bits != 0),
            FieldType::Char => Self::Char(bits as u16),
            FieldType::Float => Self::Float(f32::from_bits(bits as u32)),
            FieldType::Double => Self::Double(f64::from_bits(bits)),
            FieldType::Byte => Self::Byte(bits as i8),
            FieldType::Short => Self::Short(bits as i16),
            FieldType::Int => Self::Int(bits as i32),
            FieldType::Long => Self::Long(bits as i64),
        }
    }
}
