//! The probes for events: at the entry and the exits of methods, before each instruction, and where
//! monitors are released.

use perk_classfile::{
    ClassEditor, Code, Error, Instruction, LocalType, MethodEdit, Operands, PoolEditor, PoolError,
    Reach, opcode, push_access,
};

use crate::class::OBJECT;
use crate::helper::{Helper, Uses};
use crate::{Events, MethodName, Methods, Probes};

/// The words of the operand stack that a probe needs: the key of a switch, and the reported facts
/// of it.
const MOST_WORDS: u16 = 6;
/// Those of the probe at an exit.
const EXIT_WORDS: u16 = 2;

/// The first version of class files with constants of classes that can be loaded.
const FIRST_WITH_CLASS_CONSTANTS: u16 = 49;

/// A method that gets probes.
pub(crate) struct Subject<'m> {
    pub(crate) index: usize,
    pub(crate) name: MethodName<'m>,
    pub(crate) is_static: bool,
    pub(crate) is_synchronized: bool,
    /// The version of its class file.
    pub(crate) version: u16,
    pub(crate) number: u32,
}

/// Places the probes in the methods of a class.
pub(crate) struct EventProbes {
    events: Events,
    uses: Uses,
    edit: MethodEdit,
    codes: Codes,
    /// The code of a probe at one place.
    bytes: Vec<u8>,
}

/// The code of the probes that are the same at several places of a method.
#[derive(Default)]
struct Codes {
    entry: Vec<u8>,
    exit: Vec<u8>,
    caught: Vec<u8>,
}

impl EventProbes {
    pub(crate) fn new(probes: Probes) -> Self {
        Self {
            events: probes.events,
            uses: Uses::new(probes.names),
            edit: MethodEdit::new(),
            codes: Codes::default(),
            bytes: Vec::new(),
        }
    }

    /// Adds the probes of a method. Returns whether it has any.
    pub(crate) fn add(
        &mut self,
        subject: &Subject<'_>,
        code: &Code<'_>,
        methods: &mut dyn Methods,
        editor: &mut ClassEditor<'_>,
    ) -> Result<Result<bool, PoolError>, Error> {
        let Subject { name: method, .. } = subject;
        // HotSpot's C2 fails at an exception handler in the constructor of Object, whose returns are not
        // like others: they register objects that must be finalised. Nothing there throws an exception.
        let is_root = method.name == b"<init>" && method.class == OBJECT;
        let is_constructor = method.name == b"<init>" && !is_root;
        self.edit.clear();
        self.edit.need_stack(MOST_WORDS);
        if let Err(full) = self.write_codes(subject, is_constructor, code, editor.pool()) {
            return Ok(Err(full));
        }
        if !self.codes.entry.is_empty() {
            self.edit.insert(0, Reach::FallThrough, &self.codes.entry);
        }
        let handlers = handlers(code)?;
        let mut has_any = !self.codes.entry.is_empty() || !self.codes.exit.is_empty();
        for instruction in code.instructions() {
            let instruction = instruction?;
            if handlers.contains(&instruction.pc) && !is_root && !self.codes.caught.is_empty() {
                self.edit.insert_contained(instruction.pc, &self.codes.caught);
            }
            match self.before(subject, &instruction, code, methods, editor.pool()) {
                Ok(has_more) => has_any |= has_more,
                Err(full) => return Ok(Err(full)),
            }
            if instruction.is_return() && !self.codes.exit.is_empty() {
                match is_root {
                    true => self.edit.insert(instruction.pc, Reach::All, &self.codes.exit),
                    false => self.edit.insert_contained(instruction.pc, &self.codes.exit),
                }
            }
        }
        let start = if is_constructor { code.after_this_call() } else { Some(0) };
        if let Some(start) = start.filter(|_| !is_root && !self.codes.exit.is_empty()) {
            self.edit.catch_all_contained(EXIT_WORDS, &self.codes.exit);
            self.edit.cover(start..code.end_pc());
        }
        Ok(Ok(has_any && editor.edit_method(subject.index, &self.edit)))
    }

    /// Writes the code for the entry and the exits, and adds the local variables that it needs.
    fn write_codes(
        &mut self,
        subject: &Subject<'_>,
        is_constructor: bool,
        code: &Code<'_>,
        pool: &mut PoolEditor<'_>,
    ) -> Result<(), PoolError> {
        let codes = &mut self.codes;
        codes.entry.clear();
        codes.exit.clear();
        codes.caught.clear();
        let mut local = code.max_locals();
        if self.events.brackets {
            self.edit.add_local(LocalType::Long);
            pool.push_int(&mut codes.entry, subject.number as i32)?;
            // A constructor cannot pass its object before it is initialised.
            let helper = match subject.is_static || is_constructor {
                true => Helper::ENTER_EVENT,
                false => {
                    codes.entry.push(opcode::ALOAD_0);
                    Helper::ENTER_EVENT_OF_OBJECT
                }
            };
            codes.entry.extend(self.uses.call(helper, pool)?);
            push_access(&mut codes.entry, opcode::LSTORE, local);
            push_access(&mut codes.exit, opcode::LLOAD, local);
            codes.caught.clone_from(&codes.exit);
            codes.exit.extend(self.uses.call(Helper::LEAVE_EVENT, pool)?);
            codes.caught.extend(self.uses.call(Helper::CAUGHT_EVENT, pool)?);
            local += 2;
        }
        if self.events.monitors && subject.is_synchronized {
            let class = pool.class(subject.name.class)?;
            if !subject.is_static {
                // The method may store something else to its variable of `this`.
                self.edit.add_local(LocalType::Object(class));
                codes.entry.push(opcode::ALOAD_0);
                push_access(&mut codes.entry, opcode::ASTORE, local);
                push_access(&mut codes.exit, opcode::ALOAD, local);
                codes.exit.extend(self.uses.call(Helper::RELEASING_EVENT, pool)?);
            } else if subject.version >= FIRST_WITH_CLASS_CONSTANTS {
                let [high, low] = class.to_be_bytes();
                codes.exit.extend([opcode::LDC_W, high, low]);
                codes.exit.extend(self.uses.call(Helper::RELEASING_EVENT, pool)?);
            }
        }
        Ok(())
    }

    /// Adds the probes before an instruction. Returns whether there are any.
    fn before(
        &mut self,
        subject: &Subject<'_>,
        instruction: &Instruction<'_>,
        code: &Code<'_>,
        methods: &mut dyn Methods,
        pool: &mut PoolEditor<'_>,
    ) -> Result<bool, PoolError> {
        self.bytes.clear();
        let mut is_elsewhere = false;
        if self.events.steps {
            self.step(subject.number, instruction, methods, pool)?;
        }
        if self.events.monitors && instruction.opcode == opcode::MONITOREXIT {
            match releasing_handler(code, instruction.pc) {
                Release::Here => {
                    self.bytes.push(opcode::DUP);
                    self.bytes.extend(self.uses.call(Helper::RELEASING_EVENT, pool)?);
                }
                Release::AtHandler { pc, local } => {
                    let mut at_handler = Vec::new();
                    push_access(&mut at_handler, opcode::ALOAD, local);
                    at_handler.extend(self.uses.call(Helper::RELEASING_EVENT, pool)?);
                    self.edit.insert_contained(pc, &at_handler);
                    is_elsewhere = true;
                }
                Release::Nowhere => {}
            }
        }
        if !self.bytes.is_empty() {
            self.edit.insert(instruction.pc, Reach::All, &self.bytes);
        }
        Ok(is_elsewhere || !self.bytes.is_empty())
    }

    /// Writes the probe that reports an instruction, with the operands that decide where it goes.
    fn step(
        &mut self,
        number: u32,
        instruction: &Instruction<'_>,
        methods: &mut dyn Methods,
        pool: &mut PoolEditor<'_>,
    ) -> Result<(), PoolError> {
        let out = &mut self.bytes;
        let of = instruction.opcode;
        let (operands, helper): (&[u8], _) = match of {
            opcode::IFEQ..=opcode::IFLE => (&[opcode::DUP, opcode::ICONST_0], Helper::BRANCH_EVENT),
            opcode::IF_ICMPEQ..=opcode::IF_ICMPLE => (&[opcode::DUP2], Helper::BRANCH_EVENT),
            opcode::IF_ACMPEQ | opcode::IF_ACMPNE => {
                (&[opcode::DUP2], Helper::BRANCH_EVENT_OF_REFERENCES)
            }
            opcode::IFNULL | opcode::IFNONNULL => {
                (&[opcode::DUP, opcode::ACONST_NULL], Helper::BRANCH_EVENT_OF_REFERENCES)
            }
            opcode::TABLESWITCH | opcode::LOOKUPSWITCH => (&[opcode::DUP], Helper::SWITCH_EVENT),
            _ => (&[], Helper::STEP_EVENT),
        };
        out.extend_from_slice(operands);
        pool.push_int(out, number as i32)?;
        pool.push_int(out, instruction.pc.into())?;
        if helper != Helper::STEP_EVENT {
            pool.push_int(out, of.into())?;
        }
        if let Operands::Switch(switch) = instruction.operands() {
            let keys: Vec<i32> = switch.cases().map(|(key, _)| key).collect();
            let (first, last) = match of {
                opcode::LOOKUPSWITCH => (methods.keys(keys) as i32, 0),
                _ => (keys.first().copied().unwrap_or(0), keys.last().copied().unwrap_or(0)),
            };
            pool.push_int(out, first)?;
            pool.push_int(out, last)?;
        }
        out.extend(self.uses.call(helper, pool)?);
        Ok(())
    }
}

/// Returns the handlers of code that calls.
fn handlers(code: &Code<'_>) -> Result<Vec<u16>, Error> {
    let mut calls = Vec::new();
    if code.exception_table().len() > 0 {
        for instruction in code.instructions() {
            let instruction = instruction?;
            if instruction.is_invoke() {
                calls.push(instruction.pc);
            }
        }
    }
    let covers_calls = |start: u16, end: u16| calls.iter().any(|pc| (start..end).contains(pc));
    let table = code.exception_table();
    Ok(table.filter(|it| covers_calls(it.start_pc, it.end_pc)).map(|it| it.handler_pc).collect())
}

/// The place of the probe for a `monitorexit`.
enum Release {
    /// Before it.
    Here,
    /// At the exception handler that it belongs to, which loads the object from a local variable.
    AtHandler { pc: u16, local: u16 },
    /// There is none.
    Nowhere,
}

/// Finds the place of the probe for the `monitorexit` at a pc. javac writes handlers that cover
/// themselves, so that they are repeated until the monitor is released. An exception of a probe there
/// would never end this.
fn releasing_handler(code: &Code<'_>, pc: u16) -> Release {
    let mut own = code.exception_table().filter(|it| {
        let covered = it.start_pc..it.end_pc;
        covered.contains(&it.handler_pc) && covered.contains(&pc) && it.handler_pc <= pc
    });
    let Some(handler) = own.next() else { return Release::Here };
    let mut instructions = code
        .instructions()
        .filter_map(Result::ok)
        .skip_while(|it| it.pc < handler.handler_pc)
        .take(3);
    let [Some(store), Some(load), Some(exit)] = [(); 3].map(|()| instructions.next()) else {
        return Release::Nowhere;
    };
    let is_store = matches!(store.opcode, opcode::ASTORE | opcode::ASTORE_0..=opcode::ASTORE_3);
    let is_load = matches!(load.opcode, opcode::ALOAD | opcode::ALOAD_0..=opcode::ALOAD_3);
    match load.operands() {
        Operands::Local(local) if is_store && is_load && exit.pc == pc => {
            Release::AtHandler { pc: handler.handler_pc, local }
        }
        _ => Release::Nowhere,
    }
}
