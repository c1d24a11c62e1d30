//! The leaves of a class: methods whose calls can only be counted at the call.

use perk_classfile::{ClassFile, Error, access};
use perk_hotspot::annotations::Marks;

use crate::class::source_file;

/// The access flags that prevent a method from being overridden (JVM specification table 4.6-A).
const PRIVATE: u16 = 0x0002;
const FINAL: u16 = 0x0010;

/// The methods of a class, divided into those that can be counted inside and those that cannot.
///
/// A leaf is native, or a JIT may replace its code, so that a probe inside would not run. All other
/// methods are counted inside. (A profiler may count natives where they are bound. Such natives are
/// not leaves, which [`Methods::leaf`](crate::Methods::leaf) decides.) At a call, it is certain
/// that the leaf itself is called, and not an overriding method, in two cases:
///
/// - the call is bound: it calls a static method, a constructor, or `super.method()`; or
/// - the leaf is bound: it is private or final, or its class is final.
///
/// Only such calls are counted. A virtual call of a leaf that can be overridden is not counted,
/// even if no class overrides it: with `object.hashCode()`, the method may be one that is counted
/// inside.
///
/// The target of a bound call is found as in the JVM: first in the class that the call names, then
/// in its superclasses, the nearest first. The first class that declares the method is the one. So
/// all declarations of a class must be known: `super.clone()` in a subclass of `ArrayList` is not a
/// call of `Object.clone`. Constructors are not inherited.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leaves {
    /// The class's internal name.
    pub class: Vec<u8>,
    /// The internal name of the superclass; `None` for `java/lang/Object`.
    pub super_class: Option<Vec<u8>>,
    /// The source file of the class, if it is known.
    pub source: Option<Vec<u8>>,
    /// The methods that cannot be counted inside, in the class file's order.
    pub methods: Vec<Leaf>,
    /// The names, each followed by the descriptor, of the methods that can be counted inside,
    /// without constructors. A call of such a method does not mean the method that it overrides or
    /// hides.
    pub others: Vec<Vec<u8>>,
}

/// A method that is native, or whose code a JIT may replace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leaf {
    /// The method's name, in modified UTF-8.
    pub name: Vec<u8>,
    /// The method's descriptor.
    pub descriptor: Vec<u8>,
    /// Whether the method is native.
    pub is_native: bool,
    /// Whether the method can be overridden, so that a call of it may be a call of another method.
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
            // Constructors and class initialisers do not hide any method.
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
