//! The common parts of the tests: an assembler of class files, and edits of all methods.

#![allow(dead_code, reason = "each test file uses a part")]

use perk_classfile::{
    ClassEdit, ClassEditor, ClassFile, Code, LocalType, MethodEdit, Operands, PoolEditor, Reach,
    opcode, push_access,
};

/// An assembler of a class file.
#[derive(Debug)]
pub(crate) struct Assembler {
    version: u16,
    pool: Vec<u8>,
    count: u16,
    this_class: u16,
    super_class: u16,
    methods: Vec<Vec<u8>>,
}

/// The code of a method.
#[derive(Clone, Debug, Default)]
pub(crate) struct Body {
    pub(crate) max_stack: u16,
    pub(crate) max_locals: u16,
    pub(crate) code: Vec<u8>,
    /// Start, end and handler pc, and the type caught.
    pub(crate) exceptions: Vec<[u16; 4]>,
    pub(crate) attributes: Vec<(&'static str, Vec<u8>)>,
}

impl Assembler {
    /// Makes a public class that extends Object.
    pub(crate) fn new(version: u16, name: &str) -> Self {
        let (pool, methods) = (Vec::new(), Vec::new());
        let mut class = Self { version, pool, count: 1, this_class: 0, super_class: 0, methods };
        class.this_class = class.class(name);
        class.super_class = class.class("java/lang/Object");
        class
    }

    pub(crate) fn utf8(&mut self, text: &str) -> u16 {
        let length = u16::try_from(text.len()).unwrap().to_be_bytes();
        self.constant(&[&[1], &length, text.as_bytes()])
    }

    pub(crate) fn class(&mut self, name: &str) -> u16 {
        let name = self.utf8(name);
        self.constant(&[&[7], &name.to_be_bytes()])
    }

    pub(crate) fn method_ref(&mut self, class: &str, name: &str, descriptor: &str) -> u16 {
        self.member_ref(10, class, name, descriptor)
    }

    pub(crate) fn field_ref(&mut self, class: &str, name: &str, descriptor: &str) -> u16 {
        self.member_ref(9, class, name, descriptor)
    }

    fn member_ref(&mut self, tag: u8, class: &str, name: &str, descriptor: &str) -> u16 {
        let class = self.class(class);
        let name = self.utf8(name);
        let descriptor = self.utf8(descriptor);
        let pair = self.constant(&[&[12], &name.to_be_bytes(), &descriptor.to_be_bytes()]);
        self.constant(&[&[tag], &class.to_be_bytes(), &pair.to_be_bytes()])
    }

    fn constant(&mut self, parts: &[&[u8]]) -> u16 {
        self.pool.extend(parts.concat());
        self.count += 1;
        self.count - 1
    }

    /// Adds a public static method.
    pub(crate) fn method(&mut self, name: &str, descriptor: &str, body: &Body) {
        self.method_with(0x0009, name, descriptor, body);
    }

    pub(crate) fn method_with(&mut self, access: u16, name: &str, descriptor: &str, body: &Body) {
        let mut code = [body.max_stack.to_be_bytes(), body.max_locals.to_be_bytes()].concat();
        code.extend(u32::try_from(body.code.len()).unwrap().to_be_bytes());
        code.extend(&body.code);
        code.extend(u16::try_from(body.exceptions.len()).unwrap().to_be_bytes());
        code.extend(body.exceptions.iter().flatten().flat_map(|it| it.to_be_bytes()));
        code.extend(u16::try_from(body.attributes.len()).unwrap().to_be_bytes());
        for (name, contents) in &body.attributes {
            code.extend(self.attribute(name, contents));
        }
        let mut method = access.to_be_bytes().to_vec();
        method.extend(self.utf8(name).to_be_bytes());
        method.extend(self.utf8(descriptor).to_be_bytes());
        method.extend(1_u16.to_be_bytes());
        method.extend(self.attribute("Code", &code));
        self.methods.push(method);
    }

    fn attribute(&mut self, name: &str, contents: &[u8]) -> Vec<u8> {
        let mut attribute = self.utf8(name).to_be_bytes().to_vec();
        attribute.extend(u32::try_from(contents.len()).unwrap().to_be_bytes());
        attribute.extend(contents);
        attribute
    }

    pub(crate) fn finish(self) -> Vec<u8> {
        let mut bytes = vec![0xca, 0xfe, 0xba, 0xbe, 0, 0];
        bytes.extend(self.version.to_be_bytes());
        bytes.extend(self.count.to_be_bytes());
        bytes.extend(&self.pool);
        for value in [0x0021, self.this_class, self.super_class, 0, 0] {
            bytes.extend(value.to_be_bytes());
        }
        bytes.extend(u16::try_from(self.methods.len()).unwrap().to_be_bytes());
        bytes.extend(self.methods.concat());
        bytes.extend([0, 0]);
        bytes
    }
}

/// A class of version 52 with one method `run`.
pub(crate) fn class_of(body: &Body) -> Vec<u8> {
    let mut class = Assembler::new(52, "Made");
    class.method("run", "()V", body);
    class.finish()
}

/// Returns the bytes of 16-bit values.
pub(crate) fn words(values: &[u16]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_be_bytes()).collect()
}

/// Edits the first method.
pub(crate) fn edit(bytes: &[u8], edit: impl FnOnce(&mut MethodEdit)) -> ClassEdit {
    let class = ClassFile::parse(bytes).unwrap();
    let mut editor = ClassEditor::new(&class);
    let mut method_edit = MethodEdit::new();
    edit(&mut method_edit);
    editor.edit_method(0, &method_edit);
    editor.finish()
}

/// Edits the only method of a class with this body; returns the new body.
#[track_caller]
pub(crate) fn edited(body: &Body, change: impl FnOnce(&mut MethodEdit)) -> Body {
    let edited = edit(&class_of(body), change);
    assert_eq!(edited.skipped, []);
    body_of(&edited.bytes)
}

/// The first method's code.
#[track_caller]
pub(crate) fn body_of(bytes: &[u8]) -> Body {
    let class = ClassFile::parse(bytes).unwrap();
    let code = class.method(0).unwrap().code().unwrap().unwrap();
    let exceptions = code.exception_table();
    Body {
        max_stack: code.max_stack(),
        max_locals: code.max_locals(),
        code: code.bytes().to_vec(),
        exceptions: exceptions
            .map(|it| [it.start_pc, it.end_pc, it.handler_pc, it.catch_type])
            .collect(),
        attributes: code.attributes().map(|it| (known(it.name), it.contents.to_vec())).collect(),
    }
}

fn known(name: &[u8]) -> &'static str {
    const NAMES: [&str; 6] = [
        "StackMapTable",
        "LineNumberTable",
        "LocalVariableTable",
        "LocalVariableTypeTable",
        "RuntimeVisibleTypeAnnotations",
        "RuntimeInvisibleTypeAnnotations",
    ];
    NAMES.into_iter().find(|it| it.as_bytes() == name).unwrap_or("?")
}

/// Puts probes everywhere: entry, returns, unwinding, calls, allocations, handlers and branch
/// targets. They call the methods of the class `Probe`. That of the entry returns an object, which
/// is kept in a local variable with a number from it; both are passed to other probes.
pub(crate) fn probe_all(bytes: &[u8]) -> Result<ClassEdit, Box<dyn std::error::Error>> {
    let class = ClassFile::parse(bytes)?;
    let mut editor = ClassEditor::new(&class);
    let mut edit = MethodEdit::new();
    for (index, method) in class.methods().enumerate() {
        if let Some(code) = method.code()? {
            edit.clear();
            let is_constructor = method.name()? == b"<init>";
            probe(&code, is_constructor, editor.pool(), &mut edit)?;
            editor.edit_method(index, &edit);
        }
    }
    Ok(editor.finish())
}

fn probe(
    code: &Code<'_>,
    is_constructor: bool,
    pool: &mut PoolEditor<'_>,
    edit: &mut MethodEdit,
) -> Result<(), Box<dyn std::error::Error>> {
    let mut call = |name: &str| -> Result<[u8; 3], Box<dyn std::error::Error>> {
        let [high, low] = pool.method_ref("Probe", name, "()V")?.to_be_bytes();
        Ok([opcode::INVOKESTATIC, high, low])
    };
    let (block, before, after) = (call("block")?, call("beforeCall")?, call("afterCall")?);
    let allocate = call("allocate")?;
    let probe = code.max_locals();
    let [high, low] = pool.method_ref("Probe", "enter", "()LProbe;")?.to_be_bytes();
    let mut enter = vec![opcode::INVOKESTATIC, high, low, opcode::DUP];
    push_access(&mut enter, opcode::ASTORE, probe);
    let [high, low] = pool.field_ref("Probe", "call", "J")?.to_be_bytes();
    enter.extend([opcode::GETFIELD, high, low]);
    push_access(&mut enter, opcode::LSTORE, probe + 1);
    edit.insert(0, Reach::FallThrough, &enter);
    edit.add_local(LocalType::Object(pool.class("Probe")?));
    edit.add_local(LocalType::Long);
    edit.need_stack(4);
    let mut with_locals = |name: &str| -> Result<Vec<u8>, Box<dyn std::error::Error>> {
        let [high, low] = pool.method_ref("Probe", name, "(LProbe;J)V")?.to_be_bytes();
        let mut bytes = Vec::new();
        push_access(&mut bytes, opcode::ALOAD, probe);
        push_access(&mut bytes, opcode::LLOAD, probe + 1);
        bytes.extend([opcode::INVOKESTATIC, high, low]);
        Ok(bytes)
    };
    let (exit, caught) = (with_locals("exit")?, with_locals("caught")?);
    for instruction in code.instructions() {
        let instruction = instruction?;
        let mut insert = |target: i32| {
            if let Ok(pc) = u16::try_from(target) {
                edit.insert(pc, Reach::All, &block);
            }
        };
        match instruction.operands() {
            Operands::Branch(target) => insert(target),
            Operands::Switch(switch) => {
                insert(switch.default_target());
                switch.cases().for_each(|(_, target)| insert(target));
            }
            _ => {}
        }
        if instruction.is_return() {
            edit.insert_contained(instruction.pc, &exit);
        }
        if instruction.is_invoke() {
            edit.insert(instruction.pc, Reach::All, &before);
            edit.insert(instruction.next_pc(), Reach::FallThrough, &after);
        }
        if instruction.opcode == opcode::NEW {
            edit.insert(instruction.next_pc(), Reach::FallThrough, &allocate);
        }
    }
    for handler in code.exception_table() {
        edit.insert_contained(handler.handler_pc, &caught);
    }
    let start = if is_constructor { code.after_this_call() } else { Some(0) };
    if let Some(start) = start {
        edit.catch_all_contained(3, &with_locals("unwind")?);
        edit.cover(start..code.end_pc());
    }
    Ok(())
}
