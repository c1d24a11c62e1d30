//! Java programs for tests, compiled once by the oldest supported JDK.

use std::env;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::hash::{DefaultHasher, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::{agent, jdk, workspace};

/// The release that programs are compiled for by default.
const OLDEST_RELEASE: u32 = 17;

/// Returns the class folder of the programs in `java/fixtures`.
///
/// # Panics
///
/// Panics if they do not compile, or there is no compiler.
pub fn fixtures() -> PathBuf {
    let folder = workspace().join("java/fixtures");
    let entries = fs::read_dir(&folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
    let mut sources = Vec::new();
    for path in entries.flatten().map(|entry| entry.path()) {
        if path.extension() == Some(OsStr::new("java")) {
            sources.push(Source::read(&path));
        }
    }
    compile(sources, OLDEST_RELEASE, None)
}

/// Returns the class folder of `java` files that need a module of the compiler's JDK which is not
/// part of a release, such as an incubating one.
///
/// # Panics
///
/// Panics if they do not compile, or there is no compiler.
pub fn compile_with_module(module: &str, files: &[&Path]) -> PathBuf {
    compile(files.iter().map(|file| Source::read(file)).collect(), OLDEST_RELEASE, Some(module))
}

/// Returns the class folder of `java` files.
///
/// # Panics
///
/// Panics if they do not compile, or there is no compiler.
pub fn compile_files(files: &[&Path]) -> PathBuf {
    compile_files_for(OLDEST_RELEASE, files)
}

/// Returns the class folder of `java` files for a `release` older than those that perk supports,
/// such as 8.
///
/// # Panics
///
/// Panics if they do not compile, or there is no compiler.
pub fn compile_files_for(release: u32, files: &[&Path]) -> PathBuf {
    compile(files.iter().map(|file| Source::read(file)).collect(), release, None)
}

/// Returns the class folder of one source text whose public class is `class`.
///
/// # Panics
///
/// Panics if it does not compile, or there is no compiler.
pub fn compile_text(class: &str, text: &str) -> PathBuf {
    compile_text_for(OLDEST_RELEASE, class, text)
}

/// Returns the class folder of one source text for an older `release`.
///
/// # Panics
///
/// Panics if it does not compile, or there is no compiler.
pub fn compile_text_for(release: u32, class: &str, text: &str) -> PathBuf {
    let source = Source { file_name: format!("{class}.java"), text: text.to_owned() };
    compile(vec![source], release, None)
}

/// Makes `agent.jar` in a folder, with a manifest that makes a class an agent. The classes are
/// elsewhere: in folders, whose names end with a slash, or in jars. Returns its path.
///
/// # Panics
///
/// Panics if the jar cannot be made.
pub fn agent_jar(folder: &Path, class: &str, class_path: &[PathBuf]) -> String {
    let manifest = folder.join("manifest");
    let (jar, tool) = (folder.join("agent.jar"), jdk::compiler().javac().with_file_name("jar"));
    let mut text = format!("Premain-Class: {class}\n");
    text += "Can-Retransform-Classes: true\nCan-Redefine-Classes: true\n";
    let urls = class_path.iter().map(|path| format!(" file://{}", path.display()));
    let line = format!("Class-Path:{}", urls.collect::<String>());
    // A line has 72 bytes at most, and continues after a blank.
    for (index, part) in line.as_bytes().chunks(70).enumerate() {
        text += if index == 0 { "" } else { " " };
        text += &format!("{}\n", std::str::from_utf8(part).expect("a path in ASCII"));
    }
    fs::write(&manifest, text).expect("a manifest");
    let made = Command::new(tool).arg("cfm").args([&jar, &manifest]).status().expect("jar starts");
    assert!(made.success());
    jar.display().to_string()
}

struct Source {
    file_name: String,
    text: String,
}

impl Source {
    fn read(path: &Path) -> Source {
        let text = fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        let file_name = path.file_name().expect("a file has a name").to_string_lossy();
        Source { file_name: file_name.into_owned(), text }
    }
}

/// Compiles into a folder named after a hash of the content. Of several processes that want the same at
/// once one compiles, and the others wait for it.
fn compile(mut sources: Vec<Source>, release: u32, module: Option<&str>) -> PathBuf {
    sources.sort_by(|a, b| a.file_name.cmp(&b.file_name));
    let compiler = jdk::compiler();
    let cache = cache_folder();
    let classes = cache.join(format!("{:016x}-{release}", fingerprint(&compiler.home, &sources)));
    if classes.is_dir() {
        return classes;
    }

    fs::create_dir_all(&cache).unwrap_or_else(|e| panic!("{}: {e}", cache.display()));
    // Closing the file ends the lock, also that of a process that was killed.
    let turn = File::create(classes.with_extension("lock")).expect("a file to lock");
    turn.lock().expect("a lock");
    if classes.is_dir() {
        return classes;
    }
    let work = tempfile::tempdir_in(&cache).expect("a folder to compile in");
    let out = work.path().join("classes");
    let mut javac = Command::new(compiler.javac());
    // Half the CPU time of the JVM's defaults, which are for longer runs.
    javac.args(["-J-XX:TieredStopAtLevel=1", "-J-XX:+UseSerialGC"]);
    let release = release.to_string();
    match module {
        None => javac.args(["--release", &release]),
        Some(module) => {
            javac.args(["--add-modules", module, "-source", &release, "-target", &release])
        }
    };
    // Releases older than the compiler's own are accepted with a warning.
    javac.args(["-Xlint:-options", "-nowarn"]);
    javac.args(["-g", "-encoding", "UTF-8", "-d"]).arg(&out);
    for source in &sources {
        let path = work.path().join(&source.file_name);
        fs::write(&path, &source.text).expect("a source file");
        javac.arg(path);
    }
    let output = javac.output().expect("javac starts");
    let messages = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "javac: {}\n{messages}", output.status);

    fs::rename(&out, &classes).unwrap_or_else(|e| panic!("{}: {e}", classes.display()));
    classes
}

fn cache_folder() -> PathBuf {
    env::var_os("PERK_FIXTURES")
        .map_or_else(|| agent::target_folder().join("tmp/fixtures"), PathBuf::from)
}

fn fingerprint(compiler: &Path, sources: &[Source]) -> u64 {
    let mut hasher = DefaultHasher::new();
    let texts = sources.iter().flat_map(|source| [source.file_name.as_str(), &source.text]);
    for text in compiler.to_str().into_iter().chain(texts) {
        hasher.write_usize(text.len());
        hasher.write(text.as_bytes());
    }
    hasher.finish()
}
