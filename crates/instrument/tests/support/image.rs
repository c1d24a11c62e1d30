//! Class files: read from the image of a JDK, and written into folders that replace them.

use std::ffi::OsStr;
use std::fs;
use std::path::Path;
use std::process::Command;

use perk_testkit::{Jdk, fixture};

/// A class file of a JDK.
#[derive(Clone, Debug)]
pub(crate) struct ImageClass {
    /// Its module, as `java.base`.
    pub(crate) module: String,
    /// Its internal name.
    pub(crate) name: String,
    pub(crate) bytes: Vec<u8>,
}

impl ImageClass {
    /// Writes it into a folder of patched modules.
    pub(crate) fn write(&self, patched: &Path) {
        let file = patched.join(&self.module).join(&self.name).with_extension("class");
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, &self.bytes).unwrap();
    }
}

/// Returns the class files of a JDK that the paths name, as `java.base` or
/// `java.base/java/lang/Object.class`, or all of them if there are no paths.
pub(crate) fn read(jdk: &Jdk, paths: &[impl AsRef<OsStr>]) -> Vec<ImageClass> {
    let dumper = fixture::compile_files(&[&super::source("DumpClasses.java")]);
    let mut java = Command::new(jdk.java());
    let output = super::run(java.arg("-cp").arg(dumper).arg("DumpClasses").args(paths));
    let mut rest = &output[..];
    let mut classes = Vec::new();
    while !rest.is_empty() {
        let path = str::from_utf8(take(&mut rest)).unwrap();
        let (module, name) = path.strip_suffix(".class").unwrap().split_once('/').unwrap();
        let bytes = take(&mut rest).to_vec();
        classes.push(ImageClass { module: module.into(), name: name.into(), bytes });
    }
    classes
}

/// Takes the data that follows its length.
fn take<'a>(rest: &mut &'a [u8]) -> &'a [u8] {
    let (length, behind) = rest.split_first_chunk().unwrap();
    let (taken, behind) = behind.split_at(u32::from_be_bytes(*length) as usize);
    *rest = behind;
    taken
}
