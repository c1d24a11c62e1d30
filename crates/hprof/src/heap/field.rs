//! The types of fields and of arrays' elements.

use perk_hotspot::layout::FieldKind;

/// A type by HPROF's number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum FieldType {
    /// A reference.
    Object = 2,
    /// `boolean`
    Boolean = 4,
    /// `char`
    Char = 5,
    /// `float`
    Float = 6,
    /// `double`
    Double = 7,
    /// `byte`
    Byte = 8,
    /// `short`
    Short = 9,
    /// `int`
    Int = 10,
    /// `long`
    Long = 11,
}

impl FieldType {
    /// Returns the type with HPROF's number, if there is one.
    pub fn from_hprof(number: u8) -> Option<Self> {
        Some(match number {
            2 => Self::Object,
            4 => Self::Boolean,
            5 => Self::Char,
            6 => Self::Float,
            7 => Self::Double,
            8 => Self::Byte,
            9 => Self::Short,
            10 => Self::Int,
            11 => Self::Long,
            _ => return None,
        })
    }

    /// Returns HPROF's number.
    pub fn to_hprof(self) -> u8 {
        self as u8
    }

    /// Returns the size of a value in bytes, in a file with ids of `id_bytes`.
    pub fn bytes(self, id_bytes: usize) -> usize {
        match self {
            Self::Object => id_bytes,
            Self::Boolean | Self::Byte => 1,
            Self::Char | Self::Short => 2,
            Self::Float | Self::Int => 4,
            Self::Double | Self::Long => 8,
        }
    }

    /// Returns the kind that determines the field's place in an object.
    pub fn kind(self) -> FieldKind {
        match self {
            Self::Object => FieldKind::Reference,
            Self::Boolean | Self::Byte => FieldKind::OneByte,
            Self::Char | Self::Short => FieldKind::TwoBytes,
            Self::Float | Self::Int => FieldKind::FourBytes,
            Self::Double | Self::Long => FieldKind::EightBytes,
        }
    }

    /// Returns Java's name of the type, or `None` for references.
    pub fn name(self) -> Option<&'static str> {
        Some(match self {
            Self::Object => return None,
            Self::Boolean => "boolean",
            Self::Char => "char",
            Self::Float => "float",
            Self::Double => "double",
            Self::Byte => "byte",
            Self::Short => "short",
            Self::Int => "int",
            Self::Long => "long",
        })
    }
}
