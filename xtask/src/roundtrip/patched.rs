//! A JVM whose own classes are replaced by instrumented ones.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};
use perk_classfile::{ClassEditor, ClassFile, MethodEdit, Reach, opcode};
use perk_testkit::Jdk;

use super::modules::{self, Module};
use super::probes::{self, Counts, Kinds};
use crate::workspace;

/// A class that must not link, to see that such a class is found.
const BROKEN: &str = "java/lang/PerkBroken";

/// Module and class of everything that [`Patched::link_all`] is to link.
const LIST: &str = "classes.txt";

/// Instrumented classes, by module, and the programs that run with them.
pub(super) struct Patched<'a> {
    jdk: &'a Jdk,
    work: &'a Path,
    modules: Vec<String>,
    /// How many classes are to be linked, without the broken one.
    class_count: usize,
}

impl<'a> Patched<'a> {
    /// Writes all classes with probes of all kinds, and compiles what is needed to try them. Also
    /// returns the methods without probes.
    pub(super) fn write(
        jdk: &'a Jdk,
        modules: &[Module],
        work: &'a Path,
    ) -> Result<(Self, Vec<String>)> {
        let names = modules.iter().map(|module| module.name.clone()).collect();
        let mut patched = Self { jdk, work, modules: names, class_count: 0 };
        let mut list = String::new();
        let mut counts = Counts::default();
        for module in modules {
            for class in module.classes.iter().filter(|class| class.name != "module-info") {
                let bytes = probes::instrument(&class.bytes, Kinds::All, &mut counts)?;
                write(&patched.class_file(&module.name, &class.name), &bytes)?;
                list += &format!("{} {}\n", module.name, class.name.replace('/', "."));
                patched.class_count += 1;
            }
        }
        list += &format!("java.base {}\n", BROKEN.replace('/', "."));
        write(&work.join(LIST), list.as_bytes())?;
        patched.compile_helpers()?;
        patched.break_class()?;
        Ok((patched, counts.skipped))
    }

    /// Has every class linked; returns how many were.
    pub(super) fn link_all(&self) -> Result<usize> {
        let output = modules::run(self.java("LinkAll").arg(self.work.join(LIST)))?;
        let broken = format!("failed {}: java.lang.VerifyError", BROKEN.replace('/', "."));
        let failed: Vec<_> = output.lines().filter(|line| line.starts_with("failed ")).collect();
        let is_found = failed.iter().any(|line| line.starts_with(&broken));
        ensure!(is_found, "{BROKEN} was broken and not found:\n{output}");
        ensure!(failed.len() == 1, "classes do not link:\n{output}");
        let linked = format!("linked={}\n", self.class_count);
        ensure!(output.ends_with(&linked), "{} classes, but:\n{output}", self.class_count);
        Ok(self.class_count)
    }

    /// Runs javac with the instrumented classes, and compares what it writes with what it writes
    /// without them; returns what the probes have counted.
    pub(super) fn compile(&self) -> Result<String> {
        let source = workspace::root().join("java/linkall/LinkAll.java");
        let (with, without) = (self.work.join("with"), self.work.join("without"));
        let output = modules::run(self.java("CompileOne").arg("-d").arg(&with).arg(&source))?;
        modules::run(Command::new(self.jdk.javac()).arg("-d").arg(&without).arg(&source))?;
        let read = |folder: &Path| fs::read(folder.join("LinkAll.class")).context("no class");
        ensure!(read(&with)? == read(&without)?, "javac works differently with probes");
        let counts: BTreeMap<_, _> =
            output.lines().filter_map(|line| line.split_once('=')).collect();
        ensure!(!counts.is_empty(), "no counts:\n{output}");
        for (name, count) in counts {
            let count: u64 = count.parse().context("a count is not a number")?;
            ensure!(count > 0, "{name} is 0:\n{output}");
        }
        Ok(output.trim().replace('\n', ", "))
    }

    fn class_file(&self, module: &str, class: &str) -> PathBuf {
        self.work.join("patched").join(module).join(class).with_extension("class")
    }

    /// A JVM with the instrumented classes that runs a program of `java/linkall`.
    fn java(&self, main: &str) -> Command {
        let mut java = Command::new(self.jdk.java());
        java.args(["-Xverify:all", "-Xshare:off", "--add-modules"]).arg(self.modules.join(","));
        for module in &self.modules {
            let folder = self.work.join("patched").join(module);
            java.arg("--patch-module").arg(format!("{module}={}", folder.display()));
        }
        java.arg("-cp").arg(self.work.join("programs")).arg(main);
        java
    }

    /// Compiles the class that the probes call, into java.base, and the programs.
    fn compile_helpers(&self) -> Result<()> {
        let root = workspace::root();
        let base = self.work.join("patched/java.base");
        let sources = root.join("java/probe");
        let mut javac = Command::new(self.jdk.javac());
        javac.arg("--patch-module").arg(format!("java.base={}", sources.display()));
        javac.arg("-d").arg(&base);
        for class in [probes::PROBE, BROKEN] {
            javac.arg(sources.join(class).with_extension("java"));
        }
        modules::run(&mut javac)?;
        let mut javac = Command::new(self.jdk.javac());
        javac.arg("--patch-module").arg(format!("java.base={}", base.display()));
        javac.arg("-d").arg(self.work.join("programs"));
        for program in ["LinkAll", "CompileOne"] {
            javac.arg(root.join("java/linkall").join(program).with_extension("java"));
        }
        modules::run(&mut javac).map(drop)
    }

    /// Takes a word from an empty operand stack.
    fn break_class(&self) -> Result<()> {
        let file = self.class_file("java.base", BROKEN);
        let bytes = fs::read(&file).with_context(|| file.display().to_string())?;
        let class = ClassFile::parse(&bytes)?;
        let mut editor = ClassEditor::new(&class);
        let mut edit = MethodEdit::new();
        edit.insert(0, Reach::All, &[opcode::POP]);
        let index = class.methods().position(|method| method.name() == Ok(b"answer"));
        if !editor.edit_method(index.context("no method to break")?, &edit) {
            bail!("a class cannot be broken");
        }
        write(&file, &editor.finish().bytes)
    }
}

fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    let folder = path.parent().context("a file has a folder")?;
    fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
    fs::write(path, bytes).with_context(|| path.display().to_string())
}
