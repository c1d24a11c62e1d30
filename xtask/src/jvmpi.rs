//! `xtask jvmpi`: writes `include/jvmpi.h` and the Rust types of JVMPI from the table in
//! `perk-jvmti-sys`.

use std::fmt::Write as _;
use std::fs;

use anyhow::{Context, Result, bail};
use perk_jvmti_sys::jvmpi::table::{
    BRANCHES, CONSTANTS, DOCUMENT_PAIR, EVENT, FUNCTIONS, Function, Group, STRUCTS, Struct,
};

use crate::jvmti::formatted;
use crate::workspace;

/// The header and the Rust types, relative to the workspace.
const HEADER: &str = "include/jvmpi.h";
const TYPES: &str = "crates/jvmti-sys/src/jvmpi/generated.rs";

/// The macro that has an agent see `lookupswitch_info` as the specification declares it.
const AS_DOCUMENTED: &str = "JVMPI_DOCUMENT_LOOKUPSWITCH";

/// Writes both files.
pub(crate) fn generate() -> Result<()> {
    for (name, text) in [(HEADER, header()), (TYPES, types()?)] {
        let path = workspace::root().join(name);
        fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(())
}

/// Returns a member as C declares it.
fn declared(kind: &str, name: &str) -> String {
    match kind.split_once('(') {
        Some((result, arguments)) => {
            format!("{}{}(*{name})({arguments};", result.trim_end(), gap(result))
        }
        None => format!("{kind}{}{name};", gap(kind)),
    }
}

/// A star stands at the name.
fn gap(kind: &str) -> &'static str {
    if kind.trim_end().ends_with('*') { "" } else { " " }
}

fn members(members: &[(&str, &str)], indent: &str, text: &mut String) {
    for (kind, name) in members {
        let _ = writeln!(text, "{indent}{}", declared(kind, name));
    }
}

fn header() -> String {
    let mut text = String::from(
        "/* The Java Virtual Machine Profiler Interface (JVMPI) of JDK 1.2 to 5, for x86-64.\n \
         * Written by `cargo run -p xtask -- jvmpi`: change the table, not this file. */\n\
         #ifndef PERK_JVMPI_H\n#define PERK_JVMPI_H\n\n#include <jni.h>\n\n\
         #ifdef __cplusplus\nextern \"C\" {\n#endif\n",
    );
    for Group { about, is_hex, constants } in CONSTANTS {
        let _ = writeln!(text, "\n/* {about} */");
        for (name, value) in *constants {
            let _ = match (is_hex, value) {
                (true, _) => writeln!(text, "#define {name} ((jint)0x{value:x})"),
                (false, ..0) => writeln!(text, "#define {name} ((jint)({value}))"),
                (false, _) => writeln!(text, "#define {name} ((jint){value})"),
            };
        }
    }
    text.push_str(
        "\nstruct _jobjectID;\ntypedef struct _jobjectID *jobjectID;\n\n\
         struct _JVMPI_RawMonitor;\ntypedef struct _JVMPI_RawMonitor *JVMPI_RawMonitor;\n",
    );
    for Struct { name, about, members: list } in STRUCTS {
        let _ = writeln!(text, "\n/* {about} */\ntypedef struct {{");
        members(list, "    ", &mut text);
        let _ = writeln!(text, "}} {name};");
    }
    text.push_str(
        "\n/* an event; the member of the union depends on its type */\ntypedef struct {\n    \
         jint event_type;\n    JNIEnv *env_id;\n    union {\n",
    );
    for Struct { name, about, members: list } in EVENT {
        let _ = writeln!(text, "        /* {about} */\n        struct {{");
        members(list, "            ", &mut text);
        if *name == "instruction" {
            branches(&mut text);
        }
        let _ = writeln!(text, "        }} {name};");
    }
    text.push_str("    } u;\n} JVMPI_Event;\n\n/* the functions; the agent sets NotifyEvent */\n");
    text.push_str("typedef struct {\n    jint version;\n");
    for function in FUNCTIONS {
        let _ = writeln!(text, "    {}", pointer(function));
    }
    text.push_str("} JVMPI_Interface;\n\n#ifdef __cplusplus\n}\n#endif\n\n#endif\n");
    text
}

/// The union at the end of `instruction`.
fn branches(text: &mut String) {
    text.push_str("            union {\n");
    for Struct { name, about, members: list } in BRANCHES {
        let _ = writeln!(text, "                /* {about} */\n                struct {{");
        let indent = "                    ";
        match (*name, list) {
            ("lookupswitch_info", [first, second]) => {
                members(&[*first], indent, text);
                let _ = writeln!(text, "#ifdef {AS_DOCUMENTED}");
                members(&[DOCUMENT_PAIR], indent, text);
                text.push_str("#else\n");
                members(&[*second], indent, text);
                text.push_str("#endif\n");
            }
            _ => members(list, indent, text),
        }
        let _ = writeln!(text, "                }} {name};");
    }
    text.push_str("            } u;\n");
}

/// Returns a function as a member of the table.
fn pointer(Function { name, result, arguments, .. }: &Function) -> String {
    let arguments: Vec<String> = arguments
        .iter()
        .map(|(kind, name)| declared(kind, name).trim_end_matches(';').to_owned())
        .collect();
    let arguments = if arguments.is_empty() { "void".into() } else { arguments.join(", ") };
    format!("{result}{}(*{name})({arguments});", gap(result))
}

/// Returns the Rust type of a type of C.
fn rust(kind: &str) -> Result<String> {
    if let Some((result, arguments)) = kind.split_once('(') {
        let (result, argument) = (result.trim_end(), arguments.trim_end_matches(')'));
        let returned = returned(result)?;
        return Ok(format!("Option<unsafe extern \"C\" fn({}){returned}>", rust(argument)?));
    }
    if let Some(target) = kind.strip_suffix('*') {
        return Ok(format!("*mut {}", rust(target.trim_end())?));
    }
    Ok(match kind {
        "char" => "c_char",
        "unsigned char" => "u8",
        "int" => "c_int",
        "unsigned int" => "c_uint",
        "void" => "c_void",
        "jint" | "jlong" | "jboolean" | "jobject" | "jmethodID" | "JNIEnv" | "jobjectID"
        | "JVMPI_RawMonitor" | "JVMPI_Event" => kind,
        _ if STRUCTS.iter().any(|it| it.name == kind) => kind,
        _ => bail!("no Rust type for {kind}"),
    }
    .to_owned())
}

fn returned(result: &str) -> Result<String> {
    Ok(if result == "void" { String::new() } else { format!(" -> {}", rust(result)?) })
}

fn types() -> Result<String> {
    let mut text = String::from(
        "// Written by `cargo run -p xtask -- jvmpi` from the table beside it.\n\
         // Change the table, not this file.\n\n\
         use std::ffi::{c_char, c_int, c_uint, c_void};\n\
         use std::mem::offset_of;\n\n\
         use jni_sys::{JNIEnv, jboolean, jint, jlong, jmethodID, jobject};\n\n\
         use super::{JVMPI_RawMonitor, jobjectID};\n\n",
    );
    for Group { is_hex, constants, .. } in CONSTANTS {
        for (name, value) in *constants {
            let _ = match is_hex {
                true => writeln!(text, "pub const {name}: jint = 0x{value:x};"),
                false => writeln!(text, "pub const {name}: jint = {value};"),
            };
        }
    }
    for Struct { name, members, .. } in STRUCTS {
        structure(name, members, &[], &mut text)?;
    }
    for Struct { name, members, .. } in EVENT {
        let more: &[_] = match *name {
            "instruction" => &[("u", "JVMPI_Event_instruction_u")],
            _ => &[],
        };
        structure(&format!("JVMPI_Event_{name}"), members, more, &mut text)?;
    }
    for Struct { name, members, .. } in BRANCHES {
        structure(&format!("JVMPI_Event_instruction_{name}"), members, &[], &mut text)?;
    }
    union("JVMPI_Event_instruction", BRANCHES, &mut text);
    union("JVMPI_Event", EVENT, &mut text);
    let event = [("event_type", "jint"), ("env_id", "*mut JNIEnv"), ("u", "JVMPI_Event_u")];
    structure("JVMPI_Event", &[], &event, &mut text)?;
    text.push_str("\n#[repr(C)]\n#[derive(Debug)]\npub struct JVMPI_Interface {\n");
    text.push_str("pub version: jint,\n");
    for Function { name, result, arguments, .. } in FUNCTIONS {
        let arguments: Result<Vec<_>> =
            arguments.iter().map(|(kind, name)| Ok(format!("{name}: {}", rust(kind)?))).collect();
        let (arguments, returned) = (arguments?.join(", "), returned(result)?);
        let _ =
            writeln!(text, "pub {name}: Option<unsafe extern \"C\" fn({arguments}){returned}>,");
    }
    text.push_str("}\n");
    layout(&mut text);
    formatted(&text)
}

/// A list of all sizes and offsets, named as in C.
fn layout(text: &mut String) {
    text.push_str("\npub const LAYOUT: &[(&str, usize)] = &[\n");
    let mut row = |name: &str, value: &str| {
        let _ = writeln!(text, "(\"{name}\", {value}),");
    };
    for Struct { name, members, .. } in STRUCTS {
        row(name, &format!("size_of::<{name}>()"));
        for (_, member) in *members {
            row(&format!("{name}.{member}"), &format!("offset_of!({name}, {member})"));
        }
    }
    row("JVMPI_Event", "size_of::<JVMPI_Event>()");
    row("JVMPI_Event.event_type", "offset_of!(JVMPI_Event, event_type)");
    row("JVMPI_Event.env_id", "offset_of!(JVMPI_Event, env_id)");
    let within = "offset_of!(JVMPI_Event, u)";
    for Struct { name, members, .. } in EVENT {
        for (_, member) in *members {
            let offset = format!("{within} + offset_of!(JVMPI_Event_{name}, {member})");
            row(&format!("JVMPI_Event.u.{name}.{member}"), &offset);
        }
    }
    let within = format!("{within} + offset_of!(JVMPI_Event_instruction, u)");
    for Struct { name, members, .. } in BRANCHES {
        for (_, member) in *members {
            let offset = format!("{within} + offset_of!(JVMPI_Event_instruction_{name}, {member})");
            row(&format!("JVMPI_Event.u.instruction.u.{name}.{member}"), &offset);
        }
    }
    row("JVMPI_Interface", "size_of::<JVMPI_Interface>()");
    row("JVMPI_Interface.version", "offset_of!(JVMPI_Interface, version)");
    for Function { name, .. } in FUNCTIONS {
        row(&format!("JVMPI_Interface.{name}"), &format!("offset_of!(JVMPI_Interface, {name})"));
    }
    text.push_str("];\n");
}

fn structure(
    name: &str,
    members: &[(&str, &str)],
    more: &[(&str, &str)],
    text: &mut String,
) -> Result<()> {
    let debug = if more.is_empty() { ", Debug" } else { "" };
    let _ = writeln!(text, "\n#[repr(C)]\n#[derive(Clone, Copy{debug})]\npub struct {name} {{");
    for (kind, name) in members {
        let _ = writeln!(text, "pub {name}: {},", rust(kind)?);
    }
    for (name, kind) in more {
        let _ = writeln!(text, "pub {name}: {kind},");
    }
    text.push_str("}\n");
    Ok(())
}

/// A union whose members have the types `OWNER_MEMBER`.
fn union(owner: &str, members: &[Struct], text: &mut String) {
    let _ = writeln!(text, "\n#[repr(C)]\n#[derive(Clone, Copy)]\npub union {owner}_u {{");
    for Struct { name, .. } in members {
        let _ = writeln!(text, "pub {name}: {owner}_{name},");
    }
    text.push_str("}\n");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_files_are_those_of_the_table() {
        for (name, text) in [(HEADER, header()), (TYPES, types().unwrap())] {
            let written = fs::read_to_string(workspace::root().join(name)).unwrap();
            assert!(written == text, "{name} differs: run `cargo run -p xtask -- jvmpi`");
        }
    }

    #[test]
    fn members_are_declared_as_in_c() {
        assert_eq!(declared("char *", "name"), "char *name;");
        assert_eq!(declared("jint", "offset"), "jint offset;");
        assert_eq!(
            declared("void *(unsigned int)", "malloc_f"),
            "void *(*malloc_f)(unsigned int);"
        );
        assert_eq!(declared("void (void *)", "f"), "void (*f)(void *);");
    }
}
