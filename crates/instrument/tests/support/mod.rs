//! A JVM whose java.base has probes, and the classes and numbers of a test. `xtask` uses this, too.

#![allow(dead_code, reason = "each test file uses a part")]

pub(crate) mod image;
pub(crate) mod round_trip;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use perk_classfile::opcode;
use perk_instrument::{ClassFile, MethodName, Methods, SitePlace};
use perk_testkit::jdk;
use round_trip::LeafTable;

/// Numbers of methods, fields and sites, from 1 on, in the order of the requests.
#[derive(Default)]
pub(crate) struct CounterNumbers {
    /// The classes and names of all of these; the index is the number minus one. Of a site, there
    /// is also the number of instructions before it.
    pub(crate) names: Vec<String>,
    /// The places of the sites, in the order of the requests.
    pub(crate) places: Vec<Option<SitePlace>>,
    /// The classes whose calls are counted; all classes if this is empty.
    pub(crate) selected: Vec<&'static str>,
    /// The methods that cannot be counted inside.
    pub(crate) leaves: LeafTable,
}

impl CounterNumbers {
    fn add(&mut self, class: &[u8], name: &[u8], place: &str) -> u32 {
        let class = class.rsplit(|byte| *byte == b'/').next().unwrap();
        let name = [class, b".", name, place.as_bytes()].concat();
        self.names.push(String::from_utf8_lossy(&name).into_owned());
        self.names.len() as u32
    }

    /// Puts the names into lines in which a number follows `#`.
    pub(crate) fn name_all(names: &[String], lines: &str) -> String {
        let named = lines.lines().map(|line| match line.split_once('#') {
            Some((before, rest)) => {
                let (number, rest) = rest.split_once(' ').unwrap_or((rest, ""));
                let name = &names[number.parse::<usize>().unwrap() - 1];
                format!("{before}{name} {rest}\n")
            }
            None => format!("{line}\n"),
        });
        named.collect()
    }
}

impl Methods for CounterNumbers {
    fn number(&mut self, method: &MethodName<'_>) -> u32 {
        self.add(method.class, method.name, "")
    }

    fn leaf(&mut self, owner: &[u8], name: &[u8], descriptor: &[u8], is_virtual: bool) -> bool {
        round_trip::is_leaf(&self.leaves, owner, name, descriptor, is_virtual)
    }

    fn selected(&mut self, class: &[u8], _: &[u8]) -> bool {
        let mut selected = self.selected.iter();
        self.selected.is_empty() || selected.any(|it| class.starts_with(it.as_bytes()))
    }

    fn field(&mut self, owner: &[u8], name: &[u8], _: &[u8]) -> u32 {
        self.add(owner, name, "")
    }

    fn site(&mut self, method: &MethodName<'_>, place: Option<SitePlace>) -> u32 {
        self.places.push(place);
        let place =
            place.map_or(" by reflection".to_owned(), |it| format!(" at {}", it.instruction));
        self.add(method.class, method.name, &place)
    }
}

/// Removes the `dup` and the `pop` of each statement that only makes an object, in methods whose
/// names begin with `dropped`.
pub(crate) fn drop_objects(bytes: &mut [u8]) {
    let class = ClassFile::parse(bytes).unwrap();
    let mut places = Vec::new();
    for method in class.methods().filter(|it| it.name().unwrap().starts_with(b"dropped")) {
        let code = method.code().unwrap().unwrap();
        let start = code.bytes().as_ptr() as usize - bytes.as_ptr() as usize;
        let mut next = opcode::DUP;
        for instruction in code.instructions().map(Result::unwrap) {
            if instruction.opcode == next {
                places.push(start + usize::from(instruction.pc));
                next = if next == opcode::DUP { opcode::POP } else { opcode::DUP };
            }
        }
    }
    places.into_iter().for_each(|at| bytes[at] = opcode::NOP);
}

/// Returns the path of a file of `tests/java`.
pub(crate) fn source(name: &str) -> PathBuf {
    perk_testkit::workspace().join("crates/instrument/tests/java").join(name)
}

/// Puts a helper class that records its calls, by its plain name, into a folder of patched modules.
pub(crate) fn helper(patched: &Path, name: &str) {
    let simple_name = name.rsplit('/').next().unwrap();
    compile_into_base(&patched.join("java.base"), &format!("{simple_name}.java"));
}

/// Compiles a file of `tests/java` whose package is `java.lang`.
pub(crate) fn compile_into_base(classes: &Path, name: &str) {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("java/lang");
    fs::create_dir_all(&place).unwrap();
    fs::copy(source(name), place.join(name)).unwrap();
    let mut javac = Command::new(jdk::compiler().javac());
    javac.arg("--patch-module").arg(format!("java.base={}", folder.path().display()));
    run(javac.arg("-d").arg(classes).arg(place.join(name)));
}

/// Compiles a program that uses the helper class, or other internal classes of the JDK, into a
/// folder.
pub(crate) fn program(patched: &Path, classes: &Path, name: &str) {
    let base = patched.join("java.base");
    let mut javac = Command::new(jdk::compiler().javac());
    javac.arg("--patch-module").arg(format!("java.base={}", base.display()));
    javac.args(EXPORTS).arg("-g").arg("-d").arg(classes).arg(source(name));
    run(&mut javac);
}

/// The internal packages of the JDK that programs use.
pub(crate) const EXPORTS: [&str; 2] = [
    "--add-exports=java.base/jdk.internal.access=ALL-UNNAMED",
    "--add-exports=java.base/jdk.internal.reflect=ALL-UNNAMED",
];

/// Runs a command to its end and returns its output.
fn run(command: &mut Command) -> Vec<u8> {
    for variable in ["JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS"] {
        command.env_remove(variable);
    }
    let output = command.output().unwrap();
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {}\n{text}", output.status);
    output.stdout
}
