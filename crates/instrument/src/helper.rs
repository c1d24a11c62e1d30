//! The methods that probes call.

use perk_classfile::{PoolEditor, PoolError, opcode};

use crate::Names;

/// The plain internal name of the class that contains the methods of all probes.
pub const HELPER: &str = "java/lang/PerkProbes";

/// The name and descriptor of every method of [`HELPER`] that probes call. All are static.
pub const METHODS: [(&str, &str); 25] = [
    ("enter", "(I)V"),
    ("exit", "(I)V"),
    ("caught", "(I)V"),
    ("line", "(I)V"),
    ("enterLeaf", "(I)V"),
    ("allocated", "(Ljava/lang/Object;)V"),
    ("made", "(Ljava/lang/Object;)V"),
    ("arrays", "(Ljava/lang/Object;)V"),
    ("array", "([Ljava/lang/Object;)V"),
    ("array", "([Z)V"),
    ("array", "([C)V"),
    ("array", "([F)V"),
    ("array", "([D)V"),
    ("array", "([B)V"),
    ("array", "([S)V"),
    ("array", "([I)V"),
    ("array", "([J)V"),
    ("mounted", "(Ljava/lang/Thread;)V"),
    ("unmounted", "(Ljava/lang/Thread;)V"),
    ("touch", "(I)V"),
    ("traced", "(Ljava/lang/Throwable;)V"),
    ("withhold", "()V"),
    ("reflected", "(Ljava/lang/Object;)V"),
    ("cloned", "(Ljava/lang/Object;Ljava/lang/Object;)V"),
    ("clonedAbove", "(Ljava/lang/Object;Ljava/lang/Class;)V"),
];

/// A method of the helper, as an index into [`METHODS`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Helper(u8);

impl Helper {
    pub(crate) const ENTER: Self = Self(0);
    pub(crate) const EXIT: Self = Self(1);
    pub(crate) const CAUGHT: Self = Self(2);
    pub(crate) const LINE: Self = Self(3);
    pub(crate) const ENTER_LEAF: Self = Self(4);
    pub(crate) const ALLOCATED: Self = Self(5);
    pub(crate) const MADE: Self = Self(6);
    pub(crate) const ARRAYS: Self = Self(7);
    pub(crate) const REFERENCE_ARRAY: Self = Self(8);
    pub(crate) const MOUNTED: Self = Self(17);
    pub(crate) const UNMOUNTED: Self = Self(18);
    pub(crate) const TOUCH: Self = Self(19);
    pub(crate) const TRACED: Self = Self(20);
    pub(crate) const WITHHOLD: Self = Self(21);
    pub(crate) const REFLECTED: Self = Self(22);
    pub(crate) const CLONED: Self = Self(23);
    pub(crate) const CLONED_ABOVE: Self = Self(24);

    /// Returns the method for the array that `newarray` makes of a type (JVM specification table
    /// 6.5.newarray-A).
    pub(crate) fn of_array_type(array_type: u8) -> Option<Self> {
        matches!(array_type, 4..=11).then(|| Self(array_type + 5))
    }
}

/// The calls of the helper's methods. The class gets the constants of those that are used.
#[derive(Clone, Debug)]
pub(crate) struct Calls {
    names: Names,
    known: [Option<[u8; 3]>; METHODS.len()],
}

impl Calls {
    /// Creates an empty set of calls, of the helper with these names.
    pub(crate) fn new(names: Names) -> Self {
        Self { names, known: [None; METHODS.len()] }
    }

    /// Returns the instruction that calls a method.
    pub(crate) fn get(
        &mut self,
        helper: Helper,
        pool: &mut PoolEditor<'_>,
    ) -> Result<[u8; 3], PoolError> {
        let at = usize::from(helper.0);
        if let Some(call) = self.known[at] {
            return Ok(call);
        }
        let (name, descriptor) = METHODS[at];
        let helper = self.names.of(HELPER);
        let [high, low] = pool.method_ref(helper, name, descriptor)?.to_be_bytes();
        Ok(*self.known[at].insert([opcode::INVOKESTATIC, high, low]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_name_is_that_of_its_place() {
        let name = |helper: Helper| METHODS[usize::from(helper.0)];
        let object = "(Ljava/lang/Object;)V";
        let thread = "(Ljava/lang/Thread;)V";
        assert_eq!(name(Helper::ENTER), ("enter", "(I)V"));
        assert_eq!(name(Helper::EXIT), ("exit", "(I)V"));
        assert_eq!(name(Helper::CAUGHT), ("caught", "(I)V"));
        assert_eq!(name(Helper::LINE), ("line", "(I)V"));
        assert_eq!(name(Helper::ENTER_LEAF), ("enterLeaf", "(I)V"));
        assert_eq!(name(Helper::ALLOCATED), ("allocated", object));
        assert_eq!(name(Helper::MADE), ("made", object));
        assert_eq!(name(Helper::ARRAYS), ("arrays", object));
        assert_eq!(name(Helper::REFERENCE_ARRAY), ("array", "([Ljava/lang/Object;)V"));
        assert_eq!(name(Helper::MOUNTED), ("mounted", thread));
        assert_eq!(name(Helper::UNMOUNTED), ("unmounted", thread));
        assert_eq!(name(Helper::TRACED), ("traced", "(Ljava/lang/Throwable;)V"));
        assert_eq!(name(Helper::WITHHOLD), ("withhold", "()V"));
        assert_eq!(name(Helper::REFLECTED), ("reflected", object));
        assert_eq!(name(Helper::CLONED).0, "cloned");
        assert_eq!(name(Helper::CLONED_ABOVE).0, "clonedAbove");
        let arrays = (4..=11).map(|it| name(Helper::of_array_type(it).unwrap()).1);
        let types = arrays.map(|descriptor| &descriptor[2..3]);
        assert_eq!(types.collect::<String>(), "ZCFDBSIJ");
        assert_eq!([3, 12].map(Helper::of_array_type), [None, None]);
    }
}
