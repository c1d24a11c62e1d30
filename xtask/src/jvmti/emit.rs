//! The output of a [`Header`] as Rust.

use std::fmt::{self, Write as _};

use super::header::{CType, Function, Header, Record, Slot, Target};

/// Returns the text of `generated.rs`, before rustfmt.
pub(crate) fn rust(header: &Header) -> String {
    let mut out = String::new();
    // Writing to a string cannot fail.
    write(&mut out, header).expect("a string takes any text");
    out
}

fn write(out: &mut String, header: &Header) -> fmt::Result {
    let emitter = Emitter { header };
    writeln!(
        out,
        "// Written by `cargo run -p xtask -- jvmti JAVA_HOME` from the jvmti.h of JDK {}.\n\
         // Change the generator, not this file.\n\n\
         use std::ffi::{{c_char, c_void}};\nuse std::mem::offset_of;\n\n\
         use jni_sys::{{JNIEnv, JNINativeInterface_, jboolean, jchar, jclass, jdouble, jfieldID, jfloat, jint, jlong, jmethodID, jobject, jvalue}};\n\n\
         use crate::{{Capabilities, jrawMonitorID, jvmtiEnv}};\n",
        header.version
    )?;
    for (name, meaning) in &header.aliases {
        writeln!(out, "pub type {name} = {};", emitter.rust_type(meaning))?;
    }
    for (name, value) in &header.constants {
        writeln!(out, "pub const {name}: jint = {value};")?;
    }
    for it in &header.enums {
        emitter.write_enum(out, &it.name, &it.constants)?;
    }
    for function in &header.functions {
        writeln!(out, "\npub type {} = {};", function.name, emitter.function_type(function))?;
    }
    for record in &header.records {
        emitter.write_record(out, record)?;
    }
    emitter.write_capabilities(out)?;
    writeln!(
        out,
        "\n/// The functions an agent registers for events: the slot of event `n` is number `n - 50`."
    )?;
    writeln!(out, "#[repr(C)]\n#[derive(Clone, Copy, Debug, Default)]")?;
    emitter.write_slots(out, "jvmtiEventCallbacks", &header.callbacks)?;
    writeln!(
        out,
        "\n/// The function table. A slot that the running JVM does not have is `None`."
    )?;
    writeln!(out, "#[repr(C)]\n#[derive(Clone, Copy, Debug)]")?;
    emitter.write_slots(out, "jvmtiInterface_1", &header.slots)?;
    write_offsets(out, "CALLBACK_OFFSETS", "jvmtiEventCallbacks", &header.callbacks)?;
    write_offsets(out, "FUNCTION_OFFSETS", "jvmtiInterface_1", &header.slots)
}

struct Emitter<'h> {
    header: &'h Header,
}

impl Emitter<'_> {
    fn write_enum(
        &self,
        out: &mut String,
        name: &str,
        constants: &[(String, String)],
    ) -> fmt::Result {
        writeln!(
            out,
            "\n#[repr(transparent)]\n#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]"
        )?;
        writeln!(out, "pub struct {name}(pub jint);")?;
        for (constant, value) in constants {
            writeln!(out, "pub const {constant}: {name} = {name}({value});")?;
        }
        writeln!(out, "\nimpl {name} {{\n/// The name that `jvmti.h` has for this value.")?;
        writeln!(out, "pub const fn name(self) -> &'static str {{\nmatch self {{")?;
        for (constant, _) in constants.iter().filter(|(constant, _)| !is_bound(constant)) {
            writeln!(out, "{constant} => \"{constant}\",")?;
        }
        writeln!(out, "_ => \"unknown {name}\",\n}}\n}}\n}}")
    }

    fn write_record(&self, out: &mut String, record: &Record) -> fmt::Result {
        let (derives, keyword) = if record.is_union {
            ("Clone, Copy", "union")
        } else if record.fields.iter().all(|(_, meaning)| self.is_function(meaning)) {
            ("Clone, Copy, Debug, Default", "struct")
        } else {
            ("Clone, Copy, Debug", "struct")
        };
        writeln!(out, "\n#[repr(C)]\n#[derive({derives})]\npub {keyword} {} {{", record.name)?;
        for (name, meaning) in &record.fields {
            writeln!(out, "pub {name}: {},", self.rust_type(meaning))?;
        }
        writeln!(out, "}}")
    }

    fn write_capabilities(&self, out: &mut String) -> fmt::Result {
        let all = &self.header.capabilities;
        writeln!(
            out,
            "\n/// A capability that an agent can ask a JVM for; the value is the number of its bit."
        )?;
        writeln!(
            out,
            "#[repr(u32)]\n#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]\npub enum Capability {{"
        )?;
        for (name, bit) in all {
            writeln!(out, "/// `{name}`\n{} = {bit},", camel_case(name))?;
        }
        writeln!(out, "}}\n\nimpl Capability {{\n/// Every capability, in the order of the bits.")?;
        writeln!(out, "pub const ALL: [Self; {}] = [", all.len())?;
        for (name, _) in all {
            writeln!(out, "Self::{},", camel_case(name))?;
        }
        writeln!(out, "];\n\n/// The name that `jvmti.h` has for this capability.")?;
        writeln!(out, "pub const fn name(self) -> &'static str {{\nmatch self {{")?;
        for (name, _) in all {
            writeln!(out, "Self::{} => \"{name}\",", camel_case(name))?;
        }
        writeln!(out, "}}\n}}\n}}")
    }

    fn write_slots(&self, out: &mut String, table: &str, slots: &[Slot]) -> fmt::Result {
        writeln!(out, "pub struct {table} {{")?;
        for (number, slot) in (1..).zip(slots) {
            let meaning = match &slot.target {
                Target::Reserved => "*mut c_void".to_owned(),
                Target::Function(function) => format!("Option<{}>", self.function_type(function)),
                Target::NamedItem(name) => format!("Option<{name}>"),
            };
            let title = if slot.title.is_empty() { "Reserved" } else { &slot.title };
            writeln!(out, "/// Slot {number}: {title}.\npub {}: {meaning},", slot.name)?;
        }
        writeln!(out, "}}")
    }

    fn function_type(&self, function: &Function) -> String {
        // Rust has variadic functions in the C convention only; on the JVM's platforms with
        // 64 bits the two are the same.
        let convention = if function.is_variadic { "C" } else { "system" };
        let mut text = format!("unsafe extern \"{convention}\" fn(");
        for (name, meaning) in &function.parameters {
            text += &format!("{name}: {}, ", self.rust_type(meaning));
        }
        if function.is_variadic {
            text += "...";
        }
        text.push(')');
        if function.result.base != "void" || function.result.pointers > 0 {
            text += &format!(" -> {}", self.rust_type(&function.result));
        }
        text
    }

    fn rust_type(&self, meaning: &CType) -> String {
        let base = match meaning.base.as_str() {
            "void" => "c_void",
            "char" => "c_char",
            "unsigned char" => "u8",
            "jvmtiCapabilities" => "Capabilities",
            "jniNativeInterface" => "JNINativeInterface_",
            other => other,
        };
        let mut text = String::new();
        for level in (1..=meaning.pointers).rev() {
            // `const` in C's `const T **` belongs to T: to the innermost pointer.
            text += if meaning.is_const && level == 1 { "*const " } else { "*mut " };
        }
        text += base;
        if self.is_function(meaning) { format!("Option<{text}>") } else { text }
    }

    /// Whether a value of the type is a pointer to a function, which can be null in C.
    fn is_function(&self, meaning: &CType) -> bool {
        meaning.pointers == 0
            && self.header.functions.iter().any(|function| function.name == meaning.base)
    }
}

/// Writes the offset of each slot according to the compiler, for the comparison with a header.
fn write_offsets(out: &mut String, constant: &str, table: &str, slots: &[Slot]) -> fmt::Result {
    writeln!(out, "\n/// Each slot of [`{table}`] with its place in bytes.")?;
    writeln!(out, "pub const {constant}: [(&str, usize); {}] = [", slots.len())?;
    for slot in slots {
        writeln!(out, "(\"{0}\", offset_of!({table}, {0})),", slot.name)?;
    }
    writeln!(out, "];")
}

/// Whether a constant only marks the end of a range, and its value has a name of its own.
fn is_bound(constant: &str) -> bool {
    constant.ends_with("_TYPE_VAL") || constant == "JVMTI_ERROR_MAX"
}

fn camel_case(name: &str) -> String {
    name.split('_')
        .flat_map(|word| {
            let (first, rest) = word.split_at(1.min(word.len()));
            [first.to_ascii_uppercase(), rest.to_owned()]
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pointer(is_const: bool, base: &str, pointers: usize) -> CType {
        CType { is_const, base: base.to_owned(), pointers }
    }

    #[test]
    fn const_belongs_to_the_innermost_pointer() {
        let header = Header::default();
        let emitter = Emitter { header: &header };
        assert_eq!(emitter.rust_type(&pointer(true, "char", 1)), "*const c_char");
        assert_eq!(emitter.rust_type(&pointer(false, "unsigned char", 2)), "*mut *mut u8");
        assert_eq!(emitter.rust_type(&pointer(true, "jthread", 2)), "*mut *const jthread");
    }

    #[test]
    fn capability_names_become_variants() {
        assert_eq!(camel_case("can_get_thread_cpu_time"), "CanGetThreadCpuTime");
    }
}
