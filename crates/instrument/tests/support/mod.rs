//! A JVM whose java.base has probes, and the classes and numbers of a test.

#![allow(dead_code, reason = "each test file uses a part")]

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use perk_instrument::{Leaves, MethodName, Methods};
use perk_testkit::{Jdk, jdk};

/// Numbers methods from 1 on, in the order they are asked for.
#[derive(Default)]
pub(crate) struct Numbers {
    /// Class and name, by number less one.
    pub(crate) names: Vec<String>,
    /// The classes whose calls matter; all if it is empty.
    pub(crate) selected: Vec<&'static str>,
    /// By class: what it extends and what cannot be counted inside.
    pub(crate) leaves: HashMap<Vec<u8>, Leaves>,
}

impl Methods for Numbers {
    fn number(&mut self, method: &MethodName<'_>) -> u32 {
        let class = method.class.rsplit(|byte| *byte == b'/').next().unwrap();
        let name = [class, b".", method.name].concat();
        self.names.push(String::from_utf8_lossy(&name).into_owned());
        self.names.len() as u32
    }

    fn leaf(&mut self, owner: &[u8], name: &[u8], descriptor: &[u8], is_virtual: bool) -> bool {
        if (owner, name) == (b"java/lang/Thread", b"currentThread") || name == b"getClass" {
            return false;
        }
        let mut class = self.leaves.get(owner);
        while let Some(leaves) = class {
            let mut methods = leaves.methods.iter();
            if let Some(leaf) = methods.find(|it| it.name == name && it.descriptor == descriptor) {
                return !(is_virtual && leaf.is_virtual);
            }
            class = leaves.super_class.as_ref().and_then(|name| self.leaves.get(name));
        }
        false
    }

    fn selected(&mut self, class: &[u8]) -> bool {
        let mut selected = self.selected.iter();
        self.selected.is_empty() || selected.any(|it| class.starts_with(it.as_bytes()))
    }
}

/// A file of `tests/java`.
pub(crate) fn source(name: &str) -> PathBuf {
    perk_testkit::workspace().join("crates/instrument/tests/java").join(name)
}

/// A folder that can be patched into java.base: it has the helper class.
pub(crate) fn helper(folder: &Path) {
    let place = folder.join("source/java/lang");
    fs::create_dir_all(&place).unwrap();
    fs::copy(source("PerkProbes.java"), place.join("PerkProbes.java")).unwrap();
    let mut javac = Command::new(jdk::compiler().javac());
    javac.arg("--patch-module").arg(format!("java.base={}", folder.join("source").display()));
    javac.arg("-d").arg(folder.join("base")).arg(place.join("PerkProbes.java"));
    run(&mut javac);
}

/// Compiles a program that names the helper class.
pub(crate) fn program(folder: &Path, name: &str) -> PathBuf {
    let classes = folder.join("classes");
    let mut javac = Command::new(jdk::compiler().javac());
    javac.arg("--patch-module").arg(format!("java.base={}", folder.join("base").display()));
    javac.arg("-g").arg("-d").arg(&classes).arg(source(name));
    run(&mut javac);
    classes
}

/// Classes of the JDK's java.base, or all of them if none is named: internal name and bytes.
pub(crate) fn base_classes(jdk: &Jdk, folder: &Path, names: &[&str]) -> Vec<(String, Vec<u8>)> {
    let dumper = perk_testkit::fixture::compile_files(&[&source("DumpBase.java")]);
    let image = folder.join("image");
    let mut java = Command::new(jdk.java());
    run(java.arg("-cp").arg(dumper).arg("DumpBase").arg(&image).args(names));
    let mut classes = Vec::new();
    find_classes(&image, &image, &mut classes);
    classes
}

fn find_classes(root: &Path, folder: &Path, classes: &mut Vec<(String, Vec<u8>)>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            find_classes(root, &path, classes);
        } else {
            let name = path.strip_prefix(root).unwrap().with_extension("");
            classes.push((name.display().to_string(), fs::read(&path).unwrap()));
        }
    }
}

/// Writes a class of java.base to be patched.
pub(crate) fn patch(folder: &Path, class: &str, bytes: &[u8]) {
    let file = folder.join("base").join(class).with_extension("class");
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(file, bytes).unwrap();
}

fn run(command: &mut Command) {
    for variable in ["JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS"] {
        command.env_remove(variable);
    }
    let output = command.output().unwrap();
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {}\n{text}", output.status);
}
