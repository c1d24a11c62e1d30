//! The probes for accesses of fields and components of arrays, and for allocation sites.

use perk_classfile::{
    ClassEditor, ClassFile, Code, Error, Initialization, MemberRef, MethodEdit, Operands, Place,
    PoolEditor, PoolError, Reach, UninitializedObject, opcode, push_access,
};
use rustc_hash::FxHashMap;

use crate::extended::HelperCall;
use crate::helper::{Helper, Uses};
use crate::site::{NEW_BYTES, SitePlaces};
use crate::{MethodName, Methods, Probes};

/// A probe and its place.
#[derive(Clone, Copy, Debug)]
struct AccessProbe<'c> {
    pc: u16,
    reach: Reach,
    object: AccessObject<'c>,
    /// The method to be called with the object, and the number that it takes.
    call: Option<(Helper, Option<u32>)>,
}

impl AccessProbe<'_> {
    /// Duplicates the object on top of the operand stack, for a later probe.
    fn duplicate(pc: u16, reach: Reach) -> Self {
        Self { pc, reach, object: AccessObject::Top, call: None }
    }

    /// Whether it counts an access, and does not report an allocation.
    fn is_access(&self) -> bool {
        if matches!(self.object, AccessObject::Arguments(_) | AccessObject::Kept(_)) {
            return true;
        }
        let is_access = |helper| {
            matches!(
                helper,
                Helper::READ
                    | Helper::WRITE
                    | Helper::READ_COMPONENT
                    | Helper::WRITE_COMPONENT
                    | Helper::READ_LENGTH
            )
        };
        self.call.is_some_and(|(helper, _)| is_access(helper))
    }
}

/// The place of the object that a probe passes.
#[derive(Clone, Copy, Debug)]
enum AccessObject<'c> {
    /// On top of the operand stack.
    Top,
    /// Below one word.
    BelowWord,
    /// Below a `long` or `double`.
    BelowLong,
    /// Below two values of one word.
    BelowTwoWords,
    /// Below a value of one word and a `long` or `double`.
    BelowWordAndLong,
    /// In a local variable.
    Local(u16),
    /// On top of the operand stack, as a duplicate that nothing else uses.
    Spare,
    /// On top of the operand stack, above a duplicate of another object that nothing else uses. Both
    /// are passed.
    AboveSpare,
    /// Among the arguments of a call, on top of the operand stack. They are taken to local variables
    /// for the probe.
    Arguments(HelperCall<'c>),
    /// In those local variables.
    Kept(HelperCall<'c>),
}

impl AccessObject<'_> {
    /// The maximum number of words of the operand stack that a probe needs, with its number.
    const STACK_WORDS: u16 = 2;

    /// Writes the code that pushes the object, or another argument of the probe. Local variables
    /// from `scratch` on are free.
    fn push(self, has_call: bool, scratch: u16, out: &mut Vec<u8>) {
        match self {
            Self::Arguments(call) => {
                call.take(scratch, out);
                if has_call {
                    call.pass(scratch, out);
                }
            }
            Self::Kept(call) => call.pass(scratch, out),
            Self::Top => out.push(opcode::DUP),
            Self::BelowWord => out.extend([opcode::DUP2, opcode::POP]),
            Self::BelowLong => out.extend([opcode::DUP2_X1, opcode::POP2, opcode::DUP_X2]),
            Self::BelowTwoWords => {
                out.extend([opcode::DUP_X2, opcode::POP, opcode::DUP2_X1, opcode::POP]);
            }
            Self::BelowWordAndLong => {
                out.extend([opcode::DUP2_X2, opcode::POP2, opcode::DUP2_X2, opcode::POP]);
            }
            Self::Local(local) => push_access(out, opcode::ALOAD, local),
            Self::Spare => {}
            Self::AboveSpare => out.push(opcode::DUP_X1),
        }
    }

    /// Writes the code that restores the operand stack after the probe.
    fn restore(self, scratch: u16, out: &mut Vec<u8>) {
        if let Self::Arguments(call) = self {
            call.give_back(scratch, out);
        }
    }
}

/// A field that the class names.
#[derive(Clone, Copy, Debug)]
struct AccessField {
    number: u32,
    /// The place of the object when the field is written.
    written: AccessObject<'static>,
}

/// Places the probes in the methods of a class. It reuses its memory from one method to the next.
pub(crate) struct Accesses<'c> {
    class: &'c ClassFile<'c>,
    /// The fields by index in the constant pool.
    fields: FxHashMap<u16, AccessField>,
    probes: Vec<AccessProbe<'c>>,
    is_extended: bool,
    /// The numbers of the places of `new` in the method, by pc.
    sites: Vec<(u16, u32)>,
    /// The maximum number of words that duplicates of new objects hold on the operand stack.
    held_words: u16,
    /// The first local variable that the method does not have, and the number that calls take.
    scratch: (u16, u16),
    uses: Uses,
    edit: MethodEdit,
}

impl<'c> Accesses<'c> {
    pub(crate) fn new(class: &'c ClassFile<'c>, probes: Probes) -> Self {
        Self {
            class,
            fields: FxHashMap::default(),
            probes: Vec::new(),
            is_extended: probes.extended,
            sites: Vec::new(),
            held_words: 0,
            scratch: (0, 0),
            uses: Uses::new(probes.names),
            edit: MethodEdit::new(),
        }
    }

    /// Adds the probes of a method, given by its index and name. Returns whether it has any, and
    /// adds the reasons if some are missing.
    ///
    /// If the method would exceed a limit of the class file format, it only reports allocations.
    pub(crate) fn add(
        &mut self,
        (index, method): (usize, &MethodName<'_>),
        code: &Code<'_>,
        methods: &mut dyn Methods,
        editor: &mut ClassEditor<'_>,
        missing: &mut Vec<String>,
    ) -> Result<bool, Error> {
        self.probes.clear();
        self.sites.clear();
        self.held_words = 0;
        self.scratch = (code.max_locals(), 0);
        if method.class == b"java/lang/Object" && method.name == b"<init>" {
            self.plan(0, AccessObject::Local(0), (Helper::ALLOCATED_OBJECT, None));
        } else {
            self.scan(code, method, methods, missing)?;
        }
        for with_accesses in [true, false] {
            self.probes.retain(|probe| with_accesses || !probe.is_access());
            if self.probes.is_empty() {
                break;
            }
            match self.write(editor.pool()) {
                Ok(()) if editor.edit_method(index, &self.edit) => return Ok(true),
                Ok(()) => {}
                Err(full) => missing.push(full.to_string()),
            }
        }
        Ok(false)
    }

    /// Plans the probes of a method.
    fn scan(
        &mut self,
        code: &Code<'_>,
        method: &MethodName<'_>,
        methods: &mut dyn Methods,
        missing: &mut Vec<String>,
    ) -> Result<(), Error> {
        let reflection = reflection(method);
        let mut places = SitePlaces::new(code);
        let mut has_writes = false;
        for (number, instruction) in code.instructions().enumerate() {
            let instruction = instruction?;
            let pc = instruction.pc;
            match (instruction.opcode, instruction.operands()) {
                (opcode::IALOAD..=opcode::SALOAD, _) => {
                    self.plan(pc, AccessObject::BelowWord, (Helper::READ_COMPONENT, None));
                }
                (opcode::LASTORE | opcode::DASTORE, _) => {
                    self.plan(pc, AccessObject::BelowWordAndLong, (Helper::WRITE_COMPONENT, None));
                }
                (opcode::IASTORE..=opcode::SASTORE, _) => {
                    self.plan(pc, AccessObject::BelowTwoWords, (Helper::WRITE_COMPONENT, None));
                }
                (opcode::ARRAYLENGTH, _) => {
                    self.plan(pc, AccessObject::Top, (Helper::READ_LENGTH, None));
                }
                (opcode::GETFIELD, Operands::Constant(index)) => {
                    let field = self.field(index, methods)?;
                    self.plan(pc, AccessObject::Top, (Helper::READ, Some(field.number)));
                }
                (opcode::PUTFIELD, Operands::Constant(index)) => {
                    has_writes = true;
                    let MemberRef { class, name, descriptor, .. } =
                        self.class.pool().member_ref(index)?;
                    if (method.class, method.name) != (class, b"<init>") {
                        methods.assigned(class, name, descriptor);
                    }
                    let field = self.field(index, methods)?;
                    self.plan(pc, field.written, (Helper::WRITE, Some(field.number)));
                }
                (opcode::NEW, _) => {
                    let site = methods.site(method, Some(places.at(pc, number)?));
                    self.sites.push((pc, site));
                }
                (opcode::NEWARRAY | opcode::ANEWARRAY | opcode::MULTIANEWARRAY, _) => {
                    let site = methods.site(method, Some(places.at(pc, number)?));
                    let helper = match instruction.opcode {
                        opcode::MULTIANEWARRAY => Helper::ARRAYS_AT,
                        _ => Helper::ARRAY_AT,
                    };
                    self.plan_after(instruction.next_pc(), AccessObject::Top, (helper, Some(site)));
                }
                (opcode::INVOKEVIRTUAL | opcode::INVOKESPECIAL, Operands::Constant(index)) => {
                    let callee = self.class.pool().member_ref(index)?;
                    self.plan_call(pc, instruction.next_pc(), callee);
                    if (callee.name, callee.descriptor) == (b"clone", b"()Ljava/lang/Object;") {
                        self.probes.push(AccessProbe::duplicate(pc, Reach::All));
                        if self.is_extended && !callee.class.starts_with(b"[") {
                            self.plan(pc, AccessObject::Top, (Helper::CLONING, None));
                        }
                        let call = (Helper::CLONED_OBJECT, None);
                        self.plan_after(instruction.next_pc(), AccessObject::AboveSpare, call);
                    }
                }
                (opcode::INVOKESTATIC, Operands::Constant(index)) => {
                    let callee = self.class.pool().member_ref(index)?;
                    self.plan_call(pc, instruction.next_pc(), callee);
                }
                (opcode::ARETURN, _) => {
                    if let Some((helper, method)) = &reflection {
                        let site = methods.site(method, None);
                        self.plan(pc, AccessObject::Top, (*helper, Some(site)));
                    }
                }
                _ => {}
            }
        }
        let is_constructor = method.name == b"<init>";
        if !self.sites.is_empty() || is_constructor && has_writes {
            self.plan_initializations(code, is_constructor, missing)?;
        }
        Ok(())
    }

    /// Plans the probes after the calls of constructors. Moves those that pass `this` before it is
    /// initialised to the place after the call of `this(...)` or `super(...)`.
    fn plan_initializations(
        &mut self,
        code: &Code<'_>,
        is_constructor: bool,
        missing: &mut Vec<String>,
    ) -> Result<(), Error> {
        let Some(found) = code.initializations(is_constructor)? else {
            // A probe could pass an object that is not initialised.
            self.probes.clear();
            missing.push("its control flow is too intricate".to_owned());
            return Ok(());
        };
        let (mut lost_writes, mut lost_sites) = (0, 0);
        let mut moved = Vec::new();
        self.probes.retain(|probe| {
            let Some(call @ (Helper::WRITE, _)) = probe.call else { return true };
            let early = found.early_writes.binary_search_by_key(&probe.pc, |it| it.pc);
            match early {
                Ok(index) if found.early_writes[index].is_certain => moved.push(call),
                Ok(_) => lost_writes += 1,
                Err(_) => return true,
            }
            false
        });
        for Initialization { next_pc, object, place } in found.calls {
            let object_after = match place {
                Place::Top => Some(AccessObject::Top),
                Place::Local(local) => Some(AccessObject::Local(local)),
                Place::Dropped { .. } => Some(AccessObject::Spare),
                Place::Unknown => None,
            };
            match (object, object_after) {
                (UninitializedObject::This, Some(place)) => {
                    for call in &moved {
                        self.plan_after(next_pc, place, *call);
                    }
                }
                (UninitializedObject::This, None) => lost_writes += moved.len(),
                (UninitializedObject::New(pc), Some(object)) => {
                    if let Place::Dropped { held } = place {
                        self.held_words = self.held_words.max(held);
                        let after_new = pc.saturating_add(NEW_BYTES);
                        self.probes.push(AccessProbe::duplicate(after_new, Reach::FallThrough));
                    }
                    let site = self.sites.binary_search_by_key(&pc, |(new_pc, _)| *new_pc);
                    let site = site.ok().map(|at| self.sites[at].1);
                    self.plan_after(next_pc, object, (Helper::CREATED, site));
                }
                (UninitializedObject::New(_) | UninitializedObject::Unknown, _) => lost_sites += 1,
            }
        }
        if lost_writes > 0 {
            missing.push(format!("writes before super(...) that are not counted: {lost_writes}"));
        }
        if lost_sites > 0 {
            missing.push(format!("calls of constructors without a site: {lost_sites}"));
        }
        Ok(())
    }

    /// Plans the probes for the accesses of a method that an instruction calls.
    fn plan_call(&mut self, pc: u16, next_pc: u16, callee: MemberRef<'c>) {
        let Some(call) = HelperCall::of(callee).filter(|_| self.is_extended) else { return };
        self.scratch.1 = self.scratch.1.max(call.words());
        let object = AccessObject::Arguments(call);
        let report = Some((call.helper, call.number));
        let call_before = report.filter(|_| !call.is_after);
        self.probes.push(AccessProbe { pc, reach: Reach::All, object, call: call_before });
        if call.is_after {
            let (reach, object) = (Reach::FallThrough, AccessObject::Kept(call));
            self.probes.push(AccessProbe { pc: next_pc, reach, object, call: report });
        }
    }

    /// Plans a probe before an instruction.
    fn plan(&mut self, pc: u16, object: AccessObject<'static>, call: (Helper, Option<u32>)) {
        self.probes.push(AccessProbe { pc, reach: Reach::All, object, call: Some(call) });
    }

    /// Plans a probe after the instruction that ends at a pc.
    fn plan_after(&mut self, pc: u16, object: AccessObject<'static>, call: (Helper, Option<u32>)) {
        self.probes.push(AccessProbe { pc, reach: Reach::FallThrough, object, call: Some(call) });
    }

    /// Returns the field of an instruction. It gets its number at its first use.
    fn field(&mut self, index: u16, methods: &mut dyn Methods) -> Result<AccessField, Error> {
        if let Some(field) = self.fields.get(&index) {
            return Ok(*field);
        }
        let MemberRef { class, name, descriptor, .. } = self.class.pool().member_ref(index)?;
        let number = methods.field(class, name, descriptor);
        let written = match descriptor {
            b"J" | b"D" => AccessObject::BelowLong,
            _ => AccessObject::BelowWord,
        };
        let field = AccessField { number, written };
        self.fields.insert(index, field);
        Ok(field)
    }

    /// Writes the planned probes.
    fn write(&mut self, pool: &mut PoolEditor<'_>) -> Result<(), PoolError> {
        self.edit.clear();
        let (scratch, scratch_words) = self.scratch;
        let passed_words = scratch_words.max(AccessObject::STACK_WORDS);
        self.edit.need_stack(passed_words + self.held_words);
        self.edit.need_scratch(scratch_words);
        let mut bytes = Vec::new();
        for AccessProbe { pc, reach, object, call } in &self.probes {
            bytes.clear();
            object.push(call.is_some(), scratch, &mut bytes);
            if let Some((helper, number)) = call {
                if let Some(number) = number {
                    pool.push_int(&mut bytes, *number as i32)?;
                }
                bytes.extend(self.uses.call(*helper, pool)?);
            }
            object.restore(scratch, &mut bytes);
            self.edit.insert(*pc, *reach, &bytes);
        }
        Ok(())
    }
}

/// Returns the probe for the result of a method that makes objects by reflection, and the method
/// that the objects' site names. `Class.newInstance` does not call `Constructor.newInstance`, but
/// the method that the latter calls.
fn reflection<'m>(method: &MethodName<'m>) -> Option<(Helper, MethodName<'m>)> {
    let MethodName { class, name, descriptor, .. } = *method;
    match (class, name, descriptor) {
        (b"java/lang/reflect/Constructor", b"newInstanceWithCaller", _) => {
            let (name, descriptor) = (b"newInstance", b"([Ljava/lang/Object;)Ljava/lang/Object;");
            Some((Helper::REFLECTED_AT, MethodName { name, descriptor, ..*method }))
        }
        (b"java/lang/reflect/Array", b"newInstance", b"(Ljava/lang/Class;I)Ljava/lang/Object;") => {
            Some((Helper::REFLECTED_AT, *method))
        }
        (b"java/lang/reflect/Array", b"newInstance", _) => {
            Some((Helper::REFLECTED_ARRAYS_AT, *method))
        }
        _ => None,
    }
}
