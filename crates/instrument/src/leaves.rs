//! The methods of a class whose calls can only be counted at the call.

use perk_classfile::{ClassFile, Error, access};

use crate::annotations::Marks;

/// Access flags after which a method cannot be overridden (JVM specification table 4.6-A).
const PRIVATE: u16 = 0x0002;
const FINAL: u16 = 0x0010;

/// A class's methods that cannot be counted inside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leaves {
    /// The class's internal name.
    pub class: Vec<u8>,
    /// That of its superclass; none for `java/lang/Object`.
    pub super_class: Option<Vec<u8>>,
    /// The methods, in the class file's order.
    pub methods: Vec<Leaf>,
}

/// A method that is native, or whose code a JIT may replace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leaf {
    /// Its name, in modified UTF-8.
    pub name: Vec<u8>,
    /// Its descriptor.
    pub descriptor: Vec<u8>,
    /// Whether it is native.
    pub is_native: bool,
    /// Whether it can be overridden, so that a call of it may be a call of another method.
    pub is_virtual: bool,
}

/// Finds the methods of a class that are native or annotated `@IntrinsicCandidate`.
///
/// # Errors
///
/// If the bytes are not a class file.
pub fn leaves(bytes: &[u8]) -> Result<Leaves, Error> {
    let class = ClassFile::parse(bytes)?;
    let is_final = class.access_flags() & FINAL != 0;
    let mut methods = Vec::new();
    for method in class.methods() {
        let flags = method.access_flags();
        let is_native = flags & access::NATIVE != 0;
        if !is_native && !Marks::of(&class, &method).is_intrinsic {
            continue;
        }
        let (name, descriptor) = (method.name()?.to_vec(), method.descriptor()?.to_vec());
        let is_bound = flags & (access::STATIC | PRIVATE | FINAL) != 0 || name == b"<init>";
        let is_virtual = !is_final && !is_bound;
        methods.push(Leaf { name, descriptor, is_native, is_virtual });
    }
    let super_class = class.super_name()?.map(<[u8]>::to_vec);
    Ok(Leaves { class: class.name()?.to_vec(), super_class, methods })
}
