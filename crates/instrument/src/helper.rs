//! The methods that probes call.

use perk_classfile::{PoolEditor, PoolError, opcode};

use crate::Names;
use crate::class::VIRTUAL_THREAD;

/// The plain internal name of the class that contains the methods of the probes for calls and
/// allocations.
pub const HELPER: &str = "java/lang/PerkProbes";

/// The plain internal name of the class that contains the methods of the probes for accesses. An
/// object of the class is the state of a thread.
pub const FIELDS_HELPER: &str = "java/lang/PerkFields";

/// The plain internal name of the class that contains the methods of the probes for bytecodes.
pub const COUNTS_HELPER: &str = "java/lang/PerkCounts";

/// The plain internal name of the class that contains the methods of the probes for events.
pub const EVENTS_HELPER: &str = "java/lang/PerkEvents";

/// The plain internal name of the superclass of the helper classes.
pub const HELPER_BASE: &str = "java/lang/PerkHeaders";

/// The name and descriptor of every method of [`HELPER`] that probes call. All are static.
pub const METHODS: [(&str, &str); 41] = [
    ("enter", "(I)Ljava/lang/PerkProbes;"),
    ("leave", "(Ljava/lang/PerkProbes;J)V"),
    ("enterLeaf", "(I)V"),
    ("touch", "(I)V"),
    ("allocated", "(Ljava/lang/Object;)V"),
    ("array", "([Z)V"),
    ("array", "([C)V"),
    ("array", "([F)V"),
    ("array", "([D)V"),
    ("array", "([B)V"),
    ("array", "([S)V"),
    ("array", "([I)V"),
    ("array", "([J)V"),
    ("array", "([Ljava/lang/Object;)V"),
    ("arrays", "(Ljava/lang/Object;)V"),
    ("made", "(Ljava/lang/Object;)V"),
    ("reflected", "(Ljava/lang/Object;)V"),
    ("withhold", "()V"),
    ("cloned", "(Ljava/lang/Object;Ljava/lang/Object;)V"),
    ("clonedAbove", "(Ljava/lang/Object;Ljava/lang/Class;)V"),
    ("traced", "(Ljava/lang/Throwable;)V"),
    ("mounted", "(Ljava/lang/Thread;)V"),
    ("unmounted", "(Ljava/lang/Thread;)V"),
    ("array", "([ZI)V"),
    ("array", "([CI)V"),
    ("array", "([FI)V"),
    ("array", "([DI)V"),
    ("array", "([BI)V"),
    ("array", "([SI)V"),
    ("array", "([II)V"),
    ("array", "([JI)V"),
    ("array", "([Ljava/lang/Object;I)V"),
    ("arrays", "(Ljava/lang/Object;I)V"),
    ("made", "(Ljava/lang/Object;I)V"),
    ("reflected", "(Ljava/lang/Object;I)V"),
    ("cloned", "(Ljava/lang/Object;Ljava/lang/Object;I)V"),
    ("clonedAbove", "(Ljava/lang/Object;Ljava/lang/Class;I)V"),
    ("traced", "(Ljava/lang/Throwable;I)V"),
    ("created", "(Ljava/lang/Object;I)V"),
    ("captured", "(Ljava/lang/Object;I)V"),
    ("constructed", "(Ljava/lang/Object;I)V"),
];

/// The name and descriptor of every method of [`FIELDS_HELPER`] that probes call. All are static.
pub const FIELDS_METHODS: [(&str, &str); 18] = [
    ("allocated", "(Ljava/lang/Object;)V"),
    ("read", "(Ljava/lang/Object;I)V"),
    ("write", "(Ljava/lang/Object;I)V"),
    ("readComponent", "(Ljava/lang/Object;)V"),
    ("writeComponent", "(Ljava/lang/Object;)V"),
    ("readLength", "(Ljava/lang/Object;)V"),
    ("created", "(Ljava/lang/Object;I)V"),
    ("array", "(Ljava/lang/Object;I)V"),
    ("arrays", "(Ljava/lang/Object;I)V"),
    ("reflected", "(Ljava/lang/Object;I)V"),
    ("reflectedArrays", "(Ljava/lang/Object;I)V"),
    ("cloned", "(Ljava/lang/Object;Ljava/lang/Object;)V"),
    ("cloning", "(Ljava/lang/Object;)V"),
    ("accessedAt", "(Ljava/lang/Object;JI)V"),
    ("accessedArray", "(Ljava/lang/Object;I)V"),
    ("copiedArray", "(Ljava/lang/Object;Ljava/lang/Object;I)V"),
    ("copiedMemory", "(Ljava/lang/Object;JLjava/lang/Object;JJ)V"),
    ("filledMemory", "(Ljava/lang/Object;JJ)V"),
];

/// The name and descriptor of every method of [`COUNTS_HELPER`] that probes call. All are static.
pub const COUNTS_METHODS: [(&str, &str); 4] = [
    ("count", "(I)V"),
    ("countMoving", "(I)V"),
    ("mounting", "(Ljava/lang/Thread;)V"),
    ("countShared", "(I)V"),
];

/// The name and descriptor of every method of [`EVENTS_HELPER`] that probes call. All are static.
pub const EVENTS_METHODS: [(&str, &str); 9] = [
    ("enter", "(I)J"),
    ("enter", "(ILjava/lang/Object;)J"),
    ("leave", "(J)V"),
    ("caught", "(J)V"),
    ("step", "(II)V"),
    ("branch", "(IIIII)V"),
    ("branch", "(Ljava/lang/Object;Ljava/lang/Object;III)V"),
    ("choose", "(IIIIII)V"),
    ("releasing", "(Ljava/lang/Object;)V"),
];

/// The name and descriptor of every field of [`HELPER`] that probes read and write. An object of the
/// class is the state of a thread.
pub const STATE_FIELDS: [(&str, &str); 3] = [("context", "J"), ("caller", "J"), ("fence", "I")];

/// The number of methods of all helpers.
const COUNT: usize =
    METHODS.len() + FIELDS_METHODS.len() + COUNTS_METHODS.len() + EVENTS_METHODS.len();

/// A method of a helper, as an index into [`METHODS`], then into [`FIELDS_METHODS`], then into
/// [`COUNTS_METHODS`], then into [`EVENTS_METHODS`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Helper(u8);

impl Helper {
    pub(crate) const ENTER: Self = Self(0);
    pub(crate) const LEAVE: Self = Self(1);
    pub(crate) const ENTER_LEAF: Self = Self(2);
    pub(crate) const TOUCH: Self = Self(3);
    pub(crate) const ALLOCATED: Self = Self(4);
    pub(crate) const REFERENCE_ARRAY: Self = Self(13);
    pub(crate) const ARRAYS: Self = Self(14);
    pub(crate) const MADE: Self = Self(15);
    pub(crate) const REFLECTED: Self = Self(16);
    pub(crate) const WITHHOLD: Self = Self(17);
    pub(crate) const CLONED: Self = Self(18);
    pub(crate) const CLONED_ABOVE: Self = Self(19);
    pub(crate) const TRACED: Self = Self(20);
    pub(crate) const MOUNTED: Self = Self(21);
    pub(crate) const UNMOUNTED: Self = Self(22);

    /// The methods that also take the number of a site.
    pub(crate) const CLONED_AT: Self = Self(35);
    pub(crate) const CLONED_ABOVE_AT: Self = Self(36);
    pub(crate) const CREATED_AT: Self = Self(38);
    pub(crate) const CAPTURED_AT: Self = Self(39);
    pub(crate) const CONSTRUCTED_AT: Self = Self(40);

    pub(crate) const ALLOCATED_OBJECT: Self = Self::of_fields(0);
    pub(crate) const READ: Self = Self::of_fields(1);
    pub(crate) const WRITE: Self = Self::of_fields(2);
    pub(crate) const READ_COMPONENT: Self = Self::of_fields(3);
    pub(crate) const WRITE_COMPONENT: Self = Self::of_fields(4);
    pub(crate) const READ_LENGTH: Self = Self::of_fields(5);
    pub(crate) const CREATED: Self = Self::of_fields(6);
    pub(crate) const ARRAY_AT: Self = Self::of_fields(7);
    pub(crate) const ARRAYS_AT: Self = Self::of_fields(8);
    pub(crate) const REFLECTED_AT: Self = Self::of_fields(9);
    pub(crate) const REFLECTED_ARRAYS_AT: Self = Self::of_fields(10);
    pub(crate) const CLONED_OBJECT: Self = Self::of_fields(11);
    pub(crate) const CLONING: Self = Self::of_fields(12);
    pub(crate) const ACCESSED_AT: Self = Self::of_fields(13);
    pub(crate) const ACCESSED_ARRAY: Self = Self::of_fields(14);
    pub(crate) const COPIED_ARRAY: Self = Self::of_fields(15);
    pub(crate) const COPIED_MEMORY: Self = Self::of_fields(16);
    pub(crate) const FILLED_MEMORY: Self = Self::of_fields(17);

    pub(crate) const COUNT: Self = Self::of_counts(0);
    pub(crate) const COUNT_MOVING: Self = Self::of_counts(1);
    pub(crate) const MOUNTING: Self = Self::of_counts(2);
    pub(crate) const COUNT_SHARED: Self = Self::of_counts(3);

    pub(crate) const ENTER_EVENT: Self = Self::of_events(0);
    pub(crate) const ENTER_EVENT_OF_OBJECT: Self = Self::of_events(1);
    pub(crate) const LEAVE_EVENT: Self = Self::of_events(2);
    pub(crate) const CAUGHT_EVENT: Self = Self::of_events(3);
    pub(crate) const STEP_EVENT: Self = Self::of_events(4);
    pub(crate) const BRANCH_EVENT: Self = Self::of_events(5);
    pub(crate) const BRANCH_EVENT_OF_REFERENCES: Self = Self::of_events(6);
    pub(crate) const SWITCH_EVENT: Self = Self::of_events(7);
    pub(crate) const RELEASING_EVENT: Self = Self::of_events(8);

    /// Returns the method with an index in [`FIELDS_METHODS`].
    const fn of_fields(index: u8) -> Self {
        Self(METHODS.len() as u8 + index)
    }

    /// Returns the method with an index in [`COUNTS_METHODS`].
    const fn of_counts(index: u8) -> Self {
        Self((METHODS.len() + FIELDS_METHODS.len()) as u8 + index)
    }

    /// Returns the method that counts in a class's methods. Those of virtual threads move them from one
    /// carrier to another.
    pub(crate) fn counting(class: &[u8]) -> Self {
        if class.starts_with(VIRTUAL_THREAD) { Self::COUNT_MOVING } else { Self::COUNT }
    }

    /// Returns the method with an index in [`EVENTS_METHODS`].
    const fn of_events(index: u8) -> Self {
        Self((METHODS.len() + FIELDS_METHODS.len() + COUNTS_METHODS.len()) as u8 + index)
    }

    /// Returns the method that does the same for a new object or array, and takes the number of its site.
    pub(crate) fn at_site(self) -> Self {
        match self {
            Self::TRACED => Self(37),
            Self(index) => Self(index + 18),
        }
    }

    /// Returns the plain name of its class, its name and its descriptor.
    fn text(self) -> (&'static str, &'static str, &'static str) {
        let mut index = usize::from(self.0);
        let helpers: [(_, &[_]); 4] = [
            (HELPER, &METHODS),
            (FIELDS_HELPER, &FIELDS_METHODS),
            (COUNTS_HELPER, &COUNTS_METHODS),
            (EVENTS_HELPER, &EVENTS_METHODS),
        ];
        for (class, methods) in helpers {
            match methods.get(index) {
                Some((name, descriptor)) => return (class, name, descriptor),
                None => index -= methods.len(),
            }
        }
        unreachable!("a method of a helper")
    }

    /// Returns the method for the array that `newarray` makes of a type (JVM specification table
    /// 6.5.newarray-A).
    pub(crate) fn of_array_type(array_type: u8) -> Option<Self> {
        matches!(array_type, 4..=11).then(|| Self(array_type + 1))
    }
}

/// A field of the helper, as an index into [`STATE_FIELDS`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct StateField(u8);

impl StateField {
    /// The position of the thread: the context, and above its address the line.
    pub(crate) const CONTEXT: Self = Self(0);
    /// The position before the method that was entered last.
    pub(crate) const CALLER: Self = Self(1);
    /// A volatile field, whose read keeps the store of a position before it in its place.
    pub(crate) const FENCE: Self = Self(2);
}

/// The instructions that use the helpers. The class gets the constants of those that are used.
#[derive(Clone, Debug)]
pub(crate) struct Uses {
    names: Names,
    methods: [Option<[u8; 2]>; COUNT],
    fields: [Option<[u8; 2]>; STATE_FIELDS.len()],
}

impl Uses {
    /// Creates an empty set of uses, of the helpers with these names.
    pub(crate) fn new(names: Names) -> Self {
        Self { names, methods: [None; COUNT], fields: [None; STATE_FIELDS.len()] }
    }

    /// Returns the constant of a helper, given by its plain name.
    pub(crate) fn class(&self, plain: &str, pool: &mut PoolEditor<'_>) -> Result<u16, PoolError> {
        pool.class(self.names.of(plain))
    }

    /// Returns the instruction that calls a method.
    pub(crate) fn call(
        &mut self,
        helper: Helper,
        pool: &mut PoolEditor<'_>,
    ) -> Result<[u8; 3], PoolError> {
        let at = usize::from(helper.0);
        let [high, low] = match self.methods[at] {
            Some(known) => known,
            None => {
                let (plain, name, descriptor) = helper.text();
                let class = self.names.of(plain);
                let descriptor = descriptor.replace(plain, &class);
                *self.methods[at].insert(pool.method_ref(class, name, descriptor)?.to_be_bytes())
            }
        };
        Ok([opcode::INVOKESTATIC, high, low])
    }

    /// Returns the instruction that reads or writes a field of a thread's state.
    pub(crate) fn field(
        &mut self,
        opcode: u8,
        field: StateField,
        pool: &mut PoolEditor<'_>,
    ) -> Result<[u8; 3], PoolError> {
        let at = usize::from(field.0);
        let [high, low] = match self.fields[at] {
            Some(known) => known,
            None => {
                let (name, descriptor) = STATE_FIELDS[at];
                let index = pool.field_ref(self.names.of(HELPER), name, descriptor)?;
                *self.fields[at].insert(index.to_be_bytes())
            }
        };
        Ok([opcode, high, low])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_name_is_that_of_its_place() {
        let name = |helper: Helper| {
            let (_, name, descriptor) = helper.text();
            (name, descriptor)
        };
        let object = "(Ljava/lang/Object;)V";
        let thread = "(Ljava/lang/Thread;)V";
        assert_eq!(name(Helper::ENTER).0, "enter");
        assert_eq!(name(Helper::LEAVE).0, "leave");
        assert_eq!(name(Helper::TOUCH), ("touch", "(I)V"));
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
        for (helper, expected) in [
            (Helper::ALLOCATED_OBJECT, "allocated"),
            (Helper::READ, "read"),
            (Helper::WRITE, "write"),
            (Helper::READ_COMPONENT, "readComponent"),
            (Helper::WRITE_COMPONENT, "writeComponent"),
            (Helper::READ_LENGTH, "readLength"),
            (Helper::CREATED, "created"),
            (Helper::ARRAY_AT, "array"),
            (Helper::ARRAYS_AT, "arrays"),
            (Helper::REFLECTED_AT, "reflected"),
            (Helper::REFLECTED_ARRAYS_AT, "reflectedArrays"),
            (Helper::CLONED_OBJECT, "cloned"),
            (Helper::CLONING, "cloning"),
            (Helper::ACCESSED_AT, "accessedAt"),
            (Helper::ACCESSED_ARRAY, "accessedArray"),
            (Helper::COPIED_ARRAY, "copiedArray"),
            (Helper::COPIED_MEMORY, "copiedMemory"),
            (Helper::FILLED_MEMORY, "filledMemory"),
        ] {
            let (class, name, descriptor) = helper.text();
            assert_eq!((class, name), (FIELDS_HELPER, expected));
            assert!(descriptor.starts_with("(Ljava/lang/Object;"), "{name}");
        }
        assert_eq!(Helper::COUNT.text().1, "count");
        assert_eq!(Helper::MOUNTING.text().1, "mounting");
        assert_eq!(Helper::ENTER_EVENT.text(), (EVENTS_HELPER, "enter", "(I)J"));
        assert_eq!(name(Helper::ENTER_EVENT_OF_OBJECT), ("enter", "(ILjava/lang/Object;)J"));
        assert_eq!(Helper::LEAVE_EVENT.text(), (EVENTS_HELPER, "leave", "(J)V"));
        assert_eq!(name(Helper::CAUGHT_EVENT), ("caught", "(J)V"));
        assert_eq!(name(Helper::STEP_EVENT), ("step", "(II)V"));
        assert_eq!(name(Helper::BRANCH_EVENT), ("branch", "(IIIII)V"));
        assert_eq!(name(Helper::BRANCH_EVENT_OF_REFERENCES).0, "branch");
        assert_eq!(name(Helper::SWITCH_EVENT), ("choose", "(IIIIII)V"));
        assert_eq!(name(Helper::RELEASING_EVENT), ("releasing", object));
        let field = |field: StateField| STATE_FIELDS[usize::from(field.0)];
        assert_eq!(field(StateField::CONTEXT), ("context", "J"));
        assert_eq!(field(StateField::CALLER), ("caller", "J"));
        assert_eq!(field(StateField::FENCE), ("fence", "I"));
    }
}
