//! The classes of a JDK, taken out of its image.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use perk_testkit::Jdk;

/// A module of a JDK.
#[derive(Clone, Debug)]
pub(super) struct Module {
    /// Its name, as `java.base`.
    pub(super) name: String,
    pub(super) classes: Vec<Class>,
}

/// A class of a module.
#[derive(Clone, Debug)]
pub(super) struct Class {
    /// Its file, from the module's folder, without the ending: the internal name.
    pub(super) name: String,
    pub(super) bytes: Vec<u8>,
}

/// Takes the classes of a module, or of all, out of the image into `folder`, and reads them.
pub(super) fn extract(jdk: &Jdk, module: Option<&str>, folder: &Path) -> Result<Vec<Module>> {
    let mut jimage = Command::new(jdk.home.join("bin/jimage"));
    jimage.arg("extract").arg("--dir").arg(folder);
    if let Some(module) = module {
        jimage.arg("--include").arg(format!("regex:/{module}/.*"));
    }
    jimage.arg(jdk.home.join("lib/modules"));
    run(&mut jimage)?;
    let mut modules = Vec::new();
    for path in sorted(folder)? {
        let mut classes = Vec::new();
        find_classes(&path, &path, &mut classes)?;
        let name = file_name(&path);
        ensure!(!classes.is_empty(), "{name} has no classes");
        modules.push(Module { name, classes });
    }
    ensure!(!modules.is_empty(), "no module {}", module.unwrap_or_default());
    Ok(modules)
}

fn find_classes(module: &Path, folder: &Path, classes: &mut Vec<Class>) -> Result<()> {
    for path in sorted(folder)? {
        if path.is_dir() {
            find_classes(module, &path, classes)?;
        } else if path.extension().is_some_and(|it| it == "class") {
            let name = path.strip_prefix(module)?.with_extension("").display().to_string();
            let bytes = fs::read(&path).with_context(|| path.display().to_string())?;
            classes.push(Class { name, bytes });
        }
    }
    Ok(())
}

fn sorted(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = fs::read_dir(folder).with_context(|| folder.display().to_string())?;
    let mut paths = entries.map(|it| Ok(it?.path())).collect::<Result<Vec<_>>>()?;
    paths.sort();
    Ok(paths)
}

fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// Runs a command to its end; what it prints is told if it fails.
pub(super) fn run(command: &mut Command) -> Result<String> {
    for variable in ["JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS"] {
        command.env_remove(variable);
    }
    let program = command.get_program().to_string_lossy().into_owned();
    let output = command.output().with_context(|| format!("cannot start {program}"))?;
    let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
    let stderr = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{program}: {}\n{stdout}{stderr}", output.status);
    Ok(stdout)
}
