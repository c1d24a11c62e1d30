//! Calls that return objects and arrays which bytecode has not made.

use perk_classfile::{ClassFile, Error, Instruction, MemberRef, opcode};

use crate::MethodName;
use crate::class::OBJECT;
use crate::helper::Helper;

/// The first class file version in which `ldc` takes classes (JVM specification 4.4.1).
const FIRST_WITH_CLASS_CONSTANTS: u16 = 49;

const CLONE_DESCRIPTOR: &[u8] = b"()Ljava/lang/Object;";

/// The class, name and descriptor of methods whose result is a new object or array, and the probe
/// after their calls. Allocations in these methods themselves do not have probes.
///
/// Bytecode makes objects by constructors and arrays by three instructions. These have probes. All
/// other new objects are counted at the calls that return them:
/// - native methods, and the methods of `Unsafe`, which does not have any probes;
/// - methods with bytecode whose calls C2 replaces by an allocation of its own: a probe inside
///   would count only as long as they are interpreted;
/// - methods that those call to allocate (`newInstance`, `newBytesFor`): a probe inside would count
///   twice.
///
/// Constructors called by reflection or deserialisation do not need a probe here, because
/// `Object.<init>` runs. Calls of these methods and of `clone()` are not seen if they come through
/// reflection, method handles or hidden classes (which agents never get to see). Programs call
/// `Array.newInstance` in these ways, so it has its probe inside.
const FRESH: &[(&str, &str, &str, Helper)] = &[
    (
        "java/lang/reflect/Array",
        "newArray",
        "(Ljava/lang/Class;I)Ljava/lang/Object;",
        Helper::REFLECTED,
    ),
    // This also makes the arrays in the array, as `multianewarray` does.
    (
        "java/lang/reflect/Array",
        "multiNewArray",
        "(Ljava/lang/Class;[I)Ljava/lang/Object;",
        Helper::ARRAYS,
    ),
    (
        "java/util/Arrays",
        "copyOf",
        "([Ljava/lang/Object;ILjava/lang/Class;)[Ljava/lang/Object;",
        Helper::MADE,
    ),
    (
        "java/util/Arrays",
        "copyOfRange",
        "([Ljava/lang/Object;IILjava/lang/Class;)[Ljava/lang/Object;",
        Helper::MADE,
    ),
    ("java/lang/StringUTF16", "newBytesFor", "(I)[B", Helper::MADE),
    ("java/lang/StringUTF16", "toBytes", "([CII)[B", Helper::MADE),
    (
        "jdk/internal/misc/Unsafe",
        "allocateInstance",
        "(Ljava/lang/Class;)Ljava/lang/Object;",
        Helper::MADE,
    ),
    (
        "jdk/internal/misc/Unsafe",
        "allocateUninitializedArray",
        "(Ljava/lang/Class;I)Ljava/lang/Object;",
        Helper::MADE,
    ),
    ("java/lang/Throwable", "fillInStackTrace", "(I)Ljava/lang/Throwable;", Helper::TRACED),
];

/// Returns the probe after a call in a class whose result is new, or may be new.
pub(crate) fn behind(
    class: &ClassFile<'_>,
    call: &Instruction<'_>,
    callee: &MemberRef<'_>,
) -> Result<Option<Helper>, Error> {
    if !is_clone(callee) {
        return Ok(find(callee.class, callee.name, callee.descriptor));
    }
    Ok(match call.opcode {
        // A `clone` of an interface has code in which the objects are counted.
        _ if callee.is_interface => None,
        // `clone` of an array is `Object.clone`.
        _ if callee.class.starts_with(b"[") => Some(Helper::MADE),
        // It may be any method.
        opcode::INVOKEVIRTUAL => Some(Helper::CLONED),
        opcode::INVOKESPECIAL => above(class, callee)?,
        _ => None,
    })
}

/// Whether a call names `clone` as `java/lang/Object` declares it. There it is not public: interfaces
/// do not inherit it.
pub(crate) fn is_clone(callee: &MemberRef<'_>) -> bool {
    callee.name == b"clone" && callee.descriptor == CLONE_DESCRIPTOR
}

/// Returns the probe after a call of a superclass's `clone`.
fn above(class: &ClassFile<'_>, callee: &MemberRef<'_>) -> Result<Option<Helper>, Error> {
    let declares = || {
        class.methods().any(|it| {
            it.name() == Ok(b"clone".as_slice()) && it.descriptor() == Ok(CLONE_DESCRIPTOR)
        })
    };
    // The JVM looks in the direct superclass, whichever superclass the call names, but in the class
    // itself if it names that. The superclass of an interface is Object.
    Ok(match class.super_name()? {
        _ if callee.class == class.name()? && declares() => None,
        Some(OBJECT) => Some(Helper::MADE),
        _ if class.version().0 >= FIRST_WITH_CLASS_CONSTANTS => Some(Helper::CLONED_ABOVE),
        _ => (callee.class == OBJECT).then_some(Helper::MADE),
    })
}

/// Whether a call makes an array that has a probe inside.
pub(crate) fn has_probe_inside(callee: &MemberRef<'_>) -> bool {
    callee.class == b"java/lang/reflect/Array" && callee.name == b"newInstance"
}

/// Whether the objects that a method makes are counted elsewhere: after its calls, or in a
/// constructor.
pub(crate) fn is_counted_elsewhere(class: &[u8], name: &[u8], descriptor: &[u8]) -> bool {
    is_for_constructor(class, name) || is_counted_at_calls(class, name, descriptor)
}

/// Whether method handles of constructors call constructors on the result of a method.
fn is_for_constructor(class: &[u8], name: &[u8]) -> bool {
    class == b"java/lang/invoke/DirectMethodHandle" && name == b"allocateInstance"
}

/// Whether constructors are called on the objects that a method makes.
pub(crate) fn makes_for_constructor(method: &MethodName<'_>) -> bool {
    is_for_constructor(method.class, method.name)
}

/// Whether the objects that a method makes are counted after its calls.
pub(crate) fn is_counted_at_calls(class: &[u8], name: &[u8], descriptor: &[u8]) -> bool {
    find(class, name, descriptor).is_some()
}

/// Whether a call of reflection returns the object of a constructor that the JVM has called.
pub(crate) fn is_construction(callee: &MemberRef<'_>) -> bool {
    callee.name == b"newInstance0" && callee.class.starts_with(b"jdk/internal/reflect/")
}

fn find(class: &[u8], name: &[u8], descriptor: &[u8]) -> Option<Helper> {
    let found = FRESH.iter().find(|(fresh_class, fresh_name, fresh_descriptor, _)| {
        name == fresh_name.as_bytes()
            && class == fresh_class.as_bytes()
            && descriptor == fresh_descriptor.as_bytes()
    });
    found.map(|(.., helper)| *helper)
}
