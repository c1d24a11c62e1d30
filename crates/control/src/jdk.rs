//! The JVM that a `java` command would start: its home, its version and its VM.
//!
//! The command is not run: the facts come from the folder's layout and its `release` file.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

/// The oldest version that the agent works with.
pub const OLDEST_VERSION: u32 = 17;

/// The folder of a JVM and the facts that its files give about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JavaHome {
    /// The folder that holds `bin` and `release`, without symbolic links.
    pub home: PathBuf,
    /// The feature version: 8 for `1.8.0_504`, 17 for `17.0.15`; `None` if no `release` file gives
    /// it.
    pub feature_version: Option<u32>,
    /// The version as the `release` file gives it; empty if it does not.
    pub version: String,
    /// The vendor of the build, if the `release` file gives it.
    pub implementor: Option<String>,
    /// The virtual machine.
    pub vm: Vm,
}

/// The kind of virtual machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Vm {
    /// OpenJDK's own.
    HotSpot,
    /// Eclipse OpenJ9 (IBM Semeru).
    OpenJ9,
    /// Neither was found: the file is a launcher script, or belongs to a VM that perk does not
    /// know.
    Unknown,
}

/// The reason that no JVM was found.
#[derive(Debug, thiserror::Error)]
pub enum JdkError {
    /// The path does not lead to a file.
    #[error("cannot find {}: {source}", path.display())]
    NotFound {
        /// The path of the command.
        path: PathBuf,
        /// The error from the operating system.
        source: io::Error,
    },
    /// The file is not `bin/java` of a folder.
    #[error("{} is not in the bin folder of a JDK", path.display())]
    NoHome {
        /// The path, without symbolic links.
        path: PathBuf,
    },
}

impl JavaHome {
    /// Examines the JVM that `java_executable` starts. Symbolic links are followed.
    pub fn of(java_executable: &Path) -> Result<JavaHome, JdkError> {
        let path = fs::canonicalize(java_executable)
            .map_err(|source| JdkError::NotFound { path: java_executable.to_owned(), source })?;
        let bin = path.parent().filter(|bin| bin.file_name() == Some(OsStr::new("bin")));
        match bin.and_then(Path::parent) {
            Some(home) => Ok(JavaHome::at(home)),
            None => Err(JdkError::NoHome { path }),
        }
    }

    /// Examines the JVM in the folder `home`, the one that has `bin` or `lib`.
    pub fn at(home: &Path) -> JavaHome {
        // JDK 8 has `release` beside `jre`, and `java` may lead into `jre/bin`.
        let outer = home.parent().filter(|_| home.file_name() == Some(OsStr::new("jre")));
        let home = outer.filter(|outer| outer.join("release").is_file()).unwrap_or(home);

        let release = fs::read_to_string(home.join("release")).unwrap_or_default();
        let version = release_value(&release, "JAVA_VERSION").unwrap_or_default();
        JavaHome {
            home: home.to_owned(),
            feature_version: feature_version(version),
            version: version.to_owned(),
            implementor: release_value(&release, "IMPLEMENTOR").map(str::to_owned),
            vm: vm_in(home),
        }
    }
}

/// Returns the first executable file with the name `name` in the folders of `path`, a value of
/// `PATH`. A `name` with a slash stays unchanged.
pub fn find_in_path(name: &OsStr, path: &OsStr) -> Option<PathBuf> {
    if Path::new(name).components().count() > 1 {
        return Some(PathBuf::from(name)).filter(|file| is_executable(file));
    }
    env::split_paths(path).map(|folder| folder.join(name)).find(|file| is_executable(file))
}

fn is_executable(file: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    fs::metadata(file).is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
}

fn release_value<'a>(release: &'a str, key: &str) -> Option<&'a str> {
    let mut entries = release.lines().filter_map(|line| line.split_once('='));
    entries.find(|(name, _)| name.trim() == key).map(|(_, value)| value.trim().trim_matches('"'))
}

fn feature_version(version: &str) -> Option<u32> {
    let version = version.strip_prefix("1.").unwrap_or(version);
    let digits = version.bytes().take_while(u8::is_ascii_digit).count();
    version[..digits].parse().ok()
}

fn vm_in(home: &Path) -> Vm {
    let libraries = ["lib", "jre/lib"].into_iter().flat_map(|lib| {
        ["", "amd64", "aarch64", "i386"].map(|architecture| home.join(lib).join(architecture))
    });
    let mut vm = Vm::Unknown;
    for folder in libraries {
        // OpenJ9 also has a `server/libjvm.so`, so its own names come first.
        if ["j9vm", "default", "compressedrefs"].iter().any(|kind| holds_j9(&folder.join(kind))) {
            return Vm::OpenJ9;
        }
        if ["server", "client"].iter().any(|kind| folder.join(kind).join("libjvm.so").exists()) {
            vm = Vm::HotSpot;
        }
    }
    vm
}

fn holds_j9(folder: &Path) -> bool {
    let is_j9 = |name: &str| name.starts_with("libj9") || name == "libjvm.so";
    fs::read_dir(folder)
        .into_iter()
        .flatten()
        .flatten()
        .any(|entry| entry.file_name().to_str().is_some_and(is_j9))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, symlink};

    /// A folder that is removed when the test ends.
    struct Folder(PathBuf);

    impl Folder {
        fn new(test: &str) -> Folder {
            let path = env::temp_dir().join(format!("perk-jdk-{test}-{}", std::process::id()));
            let _ = fs::remove_dir_all(&path);
            fs::create_dir_all(&path).unwrap();
            Folder(fs::canonicalize(path).unwrap())
        }

        fn file(&self, name: &str, text: &str) -> PathBuf {
            let path = self.0.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, text).unwrap();
            let mode = if name.ends_with("bin/java") { 0o755 } else { 0o644 };
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            path
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn feature_versions() {
        for (text, version) in [
            ("1.8.0_504", Some(8)),
            ("17.0.15", Some(17)),
            ("25", Some(25)),
            ("26-ea", Some(26)),
            ("", None),
            ("unknown", None),
        ] {
            assert_eq!(feature_version(text), version, "{text}");
        }
    }

    #[test]
    fn a_hotspot_jdk_behind_a_link() {
        let folder = Folder::new("hotspot");
        let java = folder.file("jdk/bin/java", "");
        folder.file("jdk/lib/server/libjvm.so", "");
        folder.file("jdk/release", "IMPLEMENTOR=\"Debian\"\nJAVA_VERSION=\"17.0.15\"\n");
        let link = folder.0.join("java");
        symlink(java, &link).unwrap();

        let found = JavaHome::of(&link).unwrap();
        assert_eq!(found.home, folder.0.join("jdk"));
        assert_eq!((found.feature_version, found.version.as_str()), (Some(17), "17.0.15"));
        assert_eq!(found.implementor.as_deref(), Some("Debian"));
        assert_eq!(found.vm, Vm::HotSpot);
    }

    #[test]
    fn jdk_8_has_its_vm_in_jre() {
        let folder = Folder::new("eight");
        folder.file("release", "JAVA_VERSION=\"1.8.0_504\"\n");
        folder.file("jre/lib/amd64/server/libjvm.so", "");
        for java in ["bin/java", "jre/bin/java"] {
            let found = JavaHome::of(&folder.file(java, "")).unwrap();
            assert_eq!(found.home, folder.0, "{java}");
            assert_eq!((found.feature_version, found.vm), (Some(8), Vm::HotSpot));
        }
    }

    #[test]
    fn openj9_is_not_hotspot() {
        let folder = Folder::new("openj9");
        let java = folder.file("bin/java", "");
        folder.file("lib/server/libjvm.so", "");
        folder.file("lib/default/libj9vm29.so", "");
        assert_eq!(JavaHome::of(&java).unwrap().vm, Vm::OpenJ9);
    }

    #[test]
    fn what_is_not_a_jdk() {
        let folder = Folder::new("none");
        assert!(matches!(JavaHome::of(&folder.0.join("java")), Err(JdkError::NotFound { .. })));
        let file = folder.file("java", "");
        assert!(matches!(JavaHome::of(&file), Err(JdkError::NoHome { .. })));
        let shim = JavaHome::of(&folder.file("bin/java", "#!/bin/sh\n")).unwrap();
        assert_eq!((shim.feature_version, shim.vm), (None, Vm::Unknown));
    }

    #[test]
    fn path_is_searched_in_order() {
        let folder = Folder::new("path");
        folder.file("a/java", "not executable");
        let java = folder.file("b/bin/java", "");
        let path = env::join_paths([folder.0.join("a"), folder.0.join("b/bin")]).unwrap();
        assert_eq!(find_in_path(OsStr::new("java"), &path), Some(java.clone()));
        assert_eq!(find_in_path(OsStr::new("javac"), &path), None);
        assert_eq!(find_in_path(java.as_os_str(), OsStr::new("")), Some(java));
    }
}
