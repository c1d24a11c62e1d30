//! The methods of a class whose calls can only be counted at the call.

use perk_classfile::{ClassFile, Error, access};
use perk_hotspot::annotations::Marks;

use crate::class::source_file;

/// Access flags after which a method cannot be overridden (JVM specification table 4.6-A).
const PRIVATE: u16 = 0x0002;
const FINAL: u16 = 0x0010;

/// A class's methods, by whether they can be counted inside.
///
/// A leaf is native, or a JIT may replace its code, so that no probe inside would be met; all others
/// are counted inside. (Natives that a profiler counts where they are bound are not leaves to it:
/// that is for [`Methods::leaf`](crate::Methods::leaf) to say.) At a call, it is known that a leaf
/// is called, and not what overrides it, if
///
/// - the call is bound: of a static method, a constructor, or `super.method()`; or
/// - the leaf is: it is private or final, or its class is final.
///
/// Only such calls are counted. A virtual call of a leaf that can be overridden is not, even if no
/// class overrides it: with `object.hashCode()`, the method may be one that is counted inside.
///
/// Which method a bound call means is found as the JVM does it: in the class that the call names,
/// else in those it extends, the nearest first. The first that declares it is the one, so all that a
/// class declares has to be known: `super.clone()` in what extends `ArrayList` is no call of
/// `Object.clone`. Constructors are not inherited.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leaves {
    /// The class's internal name.
    pub class: Vec<u8>,
    /// That of its superclass; none for `java/lang/Object`.
    pub super_class: Option<Vec<u8>>,
    /// The file that it was compiled from, where it is known.
    pub source: Option<Vec<u8>>,
    /// The methods that cannot, in the class file's order.
    pub methods: Vec<Leaf>,
    /// Name and descriptor, one after the other, of those that can, without constructors. What they
    /// override or hide is not what a call of the class's method means.
    pub others: Vec<Vec<u8>>,
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

/// Finds the methods of a class that are native or annotated `@IntrinsicCandidate`, and the others.
///
/// # Errors
///
/// If the bytes are not a class file.
pub fn leaves(bytes: &[u8]) -> Result<Leaves, Error> {
    let class = ClassFile::parse(bytes)?;
    let is_final = class.access_flags() & FINAL != 0;
    let (mut methods, mut others) = (Vec::new(), Vec::new());
    for method in class.methods() {
        let flags = method.access_flags();
        let is_native = flags & access::NATIVE != 0;
        let (name, descriptor) = (method.name()?.to_vec(), method.descriptor()?.to_vec());
        if !is_native && !Marks::of(&class, &method).is_intrinsic {
            // Constructors and class initialisers hide nothing.
            if !name.starts_with(b"<") {
                others.push([name, descriptor].concat());
            }
            continue;
        }
        let is_bound = flags & (access::STATIC | PRIVATE | FINAL) != 0 || name == b"<init>";
        let is_virtual = !is_final && !is_bound;
        methods.push(Leaf { name, descriptor, is_native, is_virtual });
    }
    let super_class = class.super_name()?.map(<[u8]>::to_vec);
    let source = source_file(&class).map(<[u8]>::to_vec);
    Ok(Leaves { class: class.name()?.to_vec(), super_class, source, methods, others })
}
