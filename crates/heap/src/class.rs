//! Classes.

use perk_hprof::heap::FieldType;
use serde::{Deserialize, Serialize};

use crate::{ObjectId, Value};

/// The number of a class of a [`Heap`](crate::Heap).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ClassIndex(pub u32);

/// A class.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Class {
    /// The name in source form (`java.lang.String`, `int[]`).
    pub name: String,
    /// The address of the class object, or 0 where the dump has none (arrays of primitive types in
    /// some dumps).
    pub address: u64,
    /// The class object.
    pub object: Option<ObjectId>,
    /// The class above.
    pub superclass: Option<ClassIndex>,
    /// The address of the class loader; 0 is the boot loader.
    pub loader: u64,
    /// The kind of the objects.
    pub kind: ClassKind,
    /// The instance fields that the class declares, in the file's order.
    pub fields: Vec<Field>,
    /// The static fields.
    pub statics: Vec<Static>,
    /// The serial number of the trace in CLASS DUMP.
    pub trace: u32,
    /// The size of an instance in the heap, with header and padding; 0 for arrays.
    pub instance_bytes: u64,
    /// The number of its instances, without those of classes below it, reachable or not.
    pub instance_count: u64,
    /// Their shallow size.
    pub shallow_bytes: u64,
}

/// The kind of a class.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ClassKind {
    /// A class with fields.
    Instance,
    /// An array of references.
    ObjectArray,
    /// An array of this primitive type.
    PrimitiveArray(#[serde(with = "field_type")] FieldType),
}

/// A declared instance field.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Field {
    /// The name.
    pub name: String,
    /// The type.
    #[serde(with = "field_type")]
    pub field_type: FieldType,
}

/// A static field.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Static {
    /// The name.
    pub name: String,
    /// The value.
    pub value: Value,
}

/// Types as HPROF's numbers.
mod field_type {
    use perk_hprof::heap::FieldType;
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(
        field: &FieldType,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.serialize_u8(field.to_hprof())
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<FieldType, D::Error> {
        let number = u8::deserialize(deserializer)?;
        FieldType::from_hprof(number).ok_or_else(|| D::Error::custom("no type has this number"))
    }
}
