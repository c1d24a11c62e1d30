//! The state of a thread: an object of the helper class, to which the field refers that perk adds to
//! `java.lang.Thread`, or a table of the helper's. Probes read and write it; its position is where the
//! thread is in its tree.

use std::ffi::CString;
use std::sync::Mutex;

use perk_instrument::fields::THREAD_STATE;
use perk_instrument::{HELPER, Names, PLACE_SHIFT};
use perk_jvm::guard::uncounted;
use perk_jvm::sync::lock;
use perk_jvm::{Global, Jni, Local, LongField, ObjectField, Reference};
use perk_jvmti_sys::jni_sys::jvalue;

use super::tree::Tree;

/// The position of a thread: a node, and the line of its method.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Position(pub(super) u64);

impl Position {
    /// Returns the address of the node.
    pub(super) fn node(self) -> u64 {
        self.0 & ((1 << PLACE_SHIFT) - 1)
    }

    /// Returns the line; 0 if it is not known.
    pub(super) fn line(self) -> u16 {
        (self.0 >> PLACE_SHIFT) as u16
    }
}

/// The access to the states of threads.
#[derive(Debug)]
pub(super) struct States {
    helper: &'static Global,
    /// The state of threads that are not counted.
    ended: Global,
    place: Place,
    context: LongField,
    key: LongField,
    tree: LongField,
    since: LongField,
    guest: ObjectField,
    parked: LongField,
}

/// The place of the states.
#[derive(Debug)]
enum Place {
    /// A field of `java.lang.Thread`.
    Field(ObjectField),
    /// A table of the helper's, as the threads were there first.
    Table(Table),
}

/// The helper's table. One thread at a time changes it.
#[derive(Debug)]
struct Table {
    change: Mutex<()>,
    /// The signatures of the helper's methods `held`, and of `hold` and `drop`.
    held: CString,
    hold: CString,
}

impl States {
    /// Finds the fields. In a program that runs already, the states are in a table.
    pub(super) fn new(
        jni: Jni<'_>,
        helper: &'static Global,
        names: Names,
        is_late: bool,
    ) -> Option<Self> {
        let signature = CString::new(format!("L{};", names.of(HELPER))).ok()?;
        let place = if is_late {
            let text = |text: String| CString::new(text).ok();
            let state = names.of(HELPER);
            Place::Table(Table {
                change: Mutex::new(()),
                held: text(format!("(Ljava/lang/Thread;)L{state};"))?,
                hold: text(format!("(Ljava/lang/Thread;L{state};)J"))?,
            })
        } else {
            let thread = jni.find_class(c"java/lang/Thread")?;
            let field = CString::new(names.of(THREAD_STATE)).ok()?;
            Place::Field(jni.object_field(&thread, &field, &signature)?)
        };
        let ended = jni.static_object(helper, c"ENDED", &signature)?;
        Some(Self {
            helper,
            ended: jni.global(&ended)?,
            place,
            context: jni.long_field(helper, c"context")?,
            key: jni.long_field(helper, c"key")?,
            tree: jni.long_field(helper, c"tree")?,
            since: jni.long_field(helper, c"since")?,
            guest: jni.object_field(helper, c"guest", &signature)?,
            parked: jni.long_field(helper, c"parked")?,
        })
    }

    /// Returns a new state.
    pub(super) fn make<'a>(&self, jni: Jni<'a>) -> Option<Local<'a>> {
        uncounted(|| jni.allocate(self.helper))
    }

    /// Gives up the reference to the state of threads that are not counted, which nobody uses any more.
    pub(super) fn release(&self, jni: Jni<'_>) {
        // SAFETY: the caller's promise.
        jni.delete(unsafe { self.ended.alias() });
    }

    /// Returns the state of threads that are not counted.
    pub(super) fn ended(&self) -> &Global {
        &self.ended
    }

    /// Returns the state of a thread; `None` if it does not have one yet.
    pub(super) fn of<'a>(
        &self,
        jni: Jni<'a>,
        thread: &(impl Reference + ?Sized),
    ) -> Option<Local<'a>> {
        match &self.place {
            // SAFETY: the field is java.lang.Thread's, and this is a thread.
            Place::Field(field) => unsafe { jni.get_object(thread, *field) },
            Place::Table(table) => {
                let arguments = [jvalue { l: thread.raw() }];
                // SAFETY: the arguments are those of the helper's method.
                unsafe { jni.call_static_object(self.helper, c"held", &table.held, &arguments) }
            }
        }
    }

    /// Gives a thread that has none a state.
    pub(super) fn give(
        &self,
        jni: Jni<'_>,
        thread: &(impl Reference + ?Sized),
        state: &dyn Reference,
    ) {
        match &self.place {
            // SAFETY: the field is java.lang.Thread's, and this is a thread; a state is of its type.
            Place::Field(field) => unsafe { jni.set_object(thread, *field, Some(state)) },
            Place::Table(table) => {
                let arguments = [jvalue { l: thread.raw() }, jvalue { l: state.raw() }];
                let _change = lock(&table.change);
                // SAFETY: the arguments are those of the helper's method.
                unsafe { jni.call_static_long(self.helper, c"hold", &table.hold, &arguments) };
            }
        }
    }

    /// Takes the state of the calling thread, which ends: it is not counted any more.
    pub(super) fn take(&self, jni: Jni<'_>, thread: &(impl Reference + ?Sized)) {
        match &self.place {
            Place::Field(_) => self.give(jni, thread, &self.ended),
            Place::Table(table) => {
                let arguments = [jvalue { l: thread.raw() }];
                let _change = lock(&table.change);
                let signature = c"(Ljava/lang/Thread;)J";
                // SAFETY: the arguments are those of the helper's method.
                unsafe { jni.call_static_long(self.helper, c"drop", signature, &arguments) };
            }
        }
    }

    /// Takes all states of a table: no thread is counted any more.
    pub(super) fn take_all(&self, jni: Jni<'_>) {
        if let Place::Table(table) = &self.place {
            let _change = lock(&table.change);
            // SAFETY: the helper's method has no arguments.
            unsafe { jni.call_static_long(self.helper, c"end", c"()J", &[]) };
        }
    }

    /// Whether threads with this state are not counted.
    pub(super) fn is_ended(&self, jni: Jni<'_>, state: &(impl Reference + ?Sized)) -> bool {
        jni.same(state, &self.ended)
    }

    pub(super) fn position(&self, jni: Jni<'_>, state: &(impl Reference + ?Sized)) -> Position {
        Position(self.get(jni, state, self.context))
    }

    pub(super) fn set_position(
        &self,
        jni: Jni<'_>,
        state: &(impl Reference + ?Sized),
        position: Position,
    ) {
        self.set(jni, state, self.context, position.0);
    }

    /// Returns the tree in which the thread counts.
    pub(super) fn tree(
        &self,
        jni: Jni<'_>,
        state: &(impl Reference + ?Sized),
    ) -> Option<&'static Tree> {
        let tree = self.get(jni, state, self.tree);
        // SAFETY: `set_tree` has stored it.
        (tree != 0).then(|| unsafe { Tree::at(tree) })
    }

    pub(super) fn set_tree(
        &self,
        jni: Jni<'_>,
        state: &(impl Reference + ?Sized),
        tree: &'static Tree,
    ) {
        self.set(jni, state, self.tree, tree.address());
        self.set(jni, state, self.key, tree.number());
    }

    /// Returns the time up to which the time of a thread is booked, with an exact clock.
    pub(super) fn since_ns(&self, jni: Jni<'_>, state: &(impl Reference + ?Sized)) -> u64 {
        self.get(jni, state, self.since)
    }

    pub(super) fn set_since_ns(&self, jni: Jni<'_>, state: &(impl Reference + ?Sized), ns: u64) {
        self.set(jni, state, self.since, ns);
    }

    /// Returns the address of what is known of a thread without a carrier; 0 if nothing is.
    pub(super) fn parked(&self, jni: Jni<'_>, state: &(impl Reference + ?Sized)) -> u64 {
        self.get(jni, state, self.parked)
    }

    pub(super) fn set_parked(&self, jni: Jni<'_>, state: &(impl Reference + ?Sized), parked: u64) {
        self.set(jni, state, self.parked, parked);
    }

    /// Returns the state of the virtual thread that a platform thread carries.
    pub(super) fn guest<'a>(
        &self,
        jni: Jni<'a>,
        carrier: &(impl Reference + ?Sized),
    ) -> Option<Local<'a>> {
        // SAFETY: the field is the helper's, and this is a state.
        unsafe { jni.get_object(carrier, self.guest) }
    }

    pub(super) fn set_guest(
        &self,
        jni: Jni<'_>,
        carrier: &(impl Reference + ?Sized),
        guest: Option<&dyn Reference>,
    ) {
        // SAFETY: the field is the helper's, and both are states.
        unsafe { jni.set_object(carrier, self.guest, guest) }
    }

    fn get(&self, jni: Jni<'_>, state: &(impl Reference + ?Sized), field: LongField) -> u64 {
        // SAFETY: the field is the helper's, and this is a state.
        unsafe { jni.get_long(state, field) as u64 }
    }

    fn set(&self, jni: Jni<'_>, state: &(impl Reference + ?Sized), field: LongField, value: u64) {
        // SAFETY: the field is the helper's, and this is a state.
        unsafe { jni.set_long(state, field, value as i64) }
    }
}
