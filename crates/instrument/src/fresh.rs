//! Calls that return objects and arrays which bytecode has not made.

use perk_classfile::{Instruction, MemberRef, opcode};

use crate::helper::Helper;

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

/// Returns the probe after a call whose result is new, or may be new.
pub(crate) fn behind(call: &Instruction<'_>, callee: &MemberRef<'_>) -> Option<Helper> {
    if callee.name == b"clone" && callee.descriptor == b"()Ljava/lang/Object;" {
        // `clone` of an array is `Object.clone`. `clone` of an object may be any method if it is
        // called on the object, or as `super.clone()` on a superclass that may have inherited it.
        let is_array = callee.class.starts_with(b"[");
        return match call.opcode {
            _ if is_array => Some(Helper::MADE),
            opcode::INVOKESPECIAL if callee.class == b"java/lang/Object" => Some(Helper::MADE),
            opcode::INVOKESPECIAL => Some(Helper::CLONED_ABOVE),
            opcode::INVOKEVIRTUAL => Some(Helper::CLONED),
            // `Object.clone` is not public.
            _ => None,
        };
    }
    find(callee.class, callee.name, callee.descriptor)
}

/// Whether a call makes an array that has a probe inside.
pub(crate) fn has_probe_inside(callee: &MemberRef<'_>) -> bool {
    callee.class == b"java/lang/reflect/Array" && callee.name == b"newInstance"
}

/// Whether the objects that a method makes are counted elsewhere: after its calls, or in a
/// constructor.
pub(crate) fn is_counted_elsewhere(class: &[u8], name: &[u8], descriptor: &[u8]) -> bool {
    // Method handles of constructors call constructors on the result of this method.
    let is_of_constructor =
        class == b"java/lang/invoke/DirectMethodHandle" && name == b"allocateInstance";
    is_of_constructor || find(class, name, descriptor).is_some()
}

fn find(class: &[u8], name: &[u8], descriptor: &[u8]) -> Option<Helper> {
    let found = FRESH.iter().find(|(fresh_class, fresh_name, fresh_descriptor, _)| {
        name == fresh_name.as_bytes()
            && class == fresh_class.as_bytes()
            && descriptor == fresh_descriptor.as_bytes()
    });
    found.map(|(.., helper)| *helper)
}
