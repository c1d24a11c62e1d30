//! Any bytes as a class file: they parse, or are an error. A class that parses can be edited,
//! parses again, and takes each kind of probe or is an error.

use perk_classfile::{
    ClassEditor, ClassFile, Code, Error, LocalType, MethodEdit, Operands, PoolError, Reach, access,
    opcode,
};
use perk_instrument::{Events, MethodName, Methods, Names, Places, Probes, SitePlace, instrument};

/// Panics if an edited class is not valid.
pub(super) fn edit_and_probe(bytes: &[u8]) {
    let Ok(class) = ClassFile::parse(bytes) else { return };
    assert_eq!(ClassEditor::new(&class).finish().bytes, bytes);
    // Calls, allocations, both with everything else, accesses, blocks with and without calls, entries.
    for (calls, heap, accesses, blocks, entries) in [
        (true, false, false, false, false),
        (false, true, false, false, false),
        (true, true, false, false, false),
        (true, false, true, false, false),
        (true, true, false, true, false),
        (false, false, false, true, false),
        (false, false, false, false, true),
        (false, false, false, false, false),
    ] {
        let [unwinding, timed, leaving, object_record] = [calls && heap; 4];
        let places = match (unwinding, blocks) {
            (false, _) => Places::None,
            (true, false) => Places::Lines,
            (true, true) => Places::Positions,
        };
        // Without any others.
        let all = !(calls || heap || accesses || blocks || entries);
        let events = Events { brackets: all, steps: all, monitors: all };
        let names = Names::PLAIN;
        let probes = Probes {
            unwinding,
            timed,
            leaving,
            places,
            heap,
            sites: heap && !calls,
            object_record,
            accesses,
            extended: accesses,
            calls: calls || heap || accesses,
            blocks,
            entries,
            path_budget: calls && !blocks && !entries,
            events,
            late: false,
            names,
        };
        let probed =
            instrument(bytes, probes, &mut EveryMethod { calls: calls || blocks || entries });
        if let Ok(Some(probed)) = probed.map(|it| it.bytes) {
            ClassFile::parse(&probed).expect("a class with probes parses");
        }
    }
    let Ok(edited) = edit_all(&class) else { return };
    let again = ClassFile::parse(&edited).expect("an edited class parses");
    assert_eq!(again.methods().len(), class.methods().len());
    assert_eq!(again.fields().len(), class.fields().len() + 1);
    for (before, after) in class.methods().zip(again.methods()) {
        if let Ok(Some(_)) = before.code() {
            after.code().expect("edited code parses").expect("edited code is there");
        }
    }
}

/// Counts the calls of all methods or of none, inside them and at their call sites.
struct EveryMethod {
    calls: bool,
}

impl Methods for EveryMethod {
    fn number(&mut self, _: &MethodName<'_>) -> u32 {
        1
    }

    fn leaf(&mut self, _: &[u8], _: &[u8], _: &[u8], _: bool) -> bool {
        self.calls
    }

    fn selected(&mut self, _: &[u8], _: &[u8]) -> bool {
        self.calls
    }

    fn field(&mut self, _: &[u8], _: &[u8], _: &[u8]) -> u32 {
        1
    }

    fn counters(&mut self, _: &MethodName<'_>, _: usize) -> Option<u32> {
        Some(0)
    }

    fn site(&mut self, _: &MethodName<'_>, _: Option<SitePlace>) -> u32 {
        1
    }
}

/// Inserts code at the places of probes, and adds a field.
fn edit_all(class: &ClassFile<'_>) -> Result<Vec<u8>, PoolError> {
    let mut editor = ClassEditor::new(class);
    editor.add_field(access::TRANSIENT | access::SYNTHETIC, "added", "I")?;
    let [high, low] = editor.pool().method_ref("Probe", "probe", "()V")?.to_be_bytes();
    let call = [opcode::INVOKESTATIC, high, low];
    let mut edit = MethodEdit::new();
    for (index, method) in class.methods().enumerate() {
        let Ok(Some(code)) = method.code() else { continue };
        edit.clear();
        let is_constructor = method.name() == Ok(b"<init>");
        if plan(&code, is_constructor, call, &mut edit).is_ok() {
            editor.edit_method(index, &edit);
        }
    }
    Ok(editor.finish().bytes)
}

fn plan(
    code: &Code<'_>,
    is_constructor: bool,
    call: [u8; 3],
    edit: &mut MethodEdit,
) -> Result<(), Error> {
    edit.insert(0, Reach::FallThrough, &call);
    for instruction in code.instructions() {
        let instruction = instruction?;
        let mut insert_at = |target: i32| {
            if let Ok(pc) = u16::try_from(target) {
                edit.insert(pc, Reach::All, &call);
            }
        };
        match instruction.operands() {
            Operands::Branch(target) => insert_at(target),
            Operands::Switch(switch) => {
                insert_at(switch.default_target());
                switch.cases().for_each(|(_, target)| insert_at(target));
            }
            _ => {}
        }
        if instruction.is_return() {
            edit.insert_contained(instruction.pc, &call);
        }
        if instruction.is_invoke() {
            edit.insert(instruction.pc, Reach::All, &call);
        }
        if instruction.is_invoke() || instruction.opcode == opcode::NEW {
            edit.insert(instruction.next_pc(), Reach::FallThrough, &call);
        }
    }
    for handler in code.exception_table() {
        edit.insert_contained(handler.handler_pc, &call);
    }
    for line in code.line_numbers()? {
        edit.insert(line.start_pc, Reach::All, &call);
    }
    let start = if is_constructor { code.after_this_call() } else { Some(0) };
    if let Some(start) = start {
        edit.catch_all(0, &call);
        edit.cover(start..code.end_pc());
    }
    edit.need_stack(2);
    edit.add_local(LocalType::Long);
    edit.add_local(LocalType::Object(1));
    Ok(())
}
