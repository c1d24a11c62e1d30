//! The virtual machine of a process, by the libraries that it has mapped.

use std::collections::BTreeSet;
use std::fs;
use std::io::Read;
use std::path::Path;

use perk_control::jdk::{JavaHome, Vm};

use super::Process;

/// The end of the name of a mapped file that was removed or replaced.
const DELETED: &str = " (deleted)";

/// A virtual machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Machine {
    /// Whose it is.
    pub vm: Vm,
    /// The version, if its folder gives it.
    pub version: Option<String>,
    /// The feature version: 17 for `17.0.15`.
    pub feature_version: Option<u32>,
    /// The C library, if it is one of the known ones.
    pub libc: Option<Libc>,
    /// Whether the code is of another processor than perk's.
    pub is_foreign: bool,
    /// Whether an agent of perk's is loaded.
    pub has_perk: bool,
}

/// A C library.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Libc {
    /// That of GNU.
    Glibc,
    /// musl.
    Musl,
}

impl Libc {
    /// The C library of perk and of its agent.
    pub const OWN: Self = if cfg!(target_env = "musl") { Self::Musl } else { Self::Glibc };

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Glibc => "glibc",
            Self::Musl => "musl",
        }
    }
}

impl Machine {
    /// The virtual machine of a process with these `maps`; `None` if it has none.
    pub(super) fn of(process: &Process, maps: &[u8]) -> Option<Self> {
        let maps = String::from_utf8_lossy(maps);
        let files = mapped_files(&maps);
        let named = |test: &dyn Fn(&str) -> bool| {
            files.iter().copied().find(|path| test(path.rsplit('/').next().unwrap_or(path)))
        };
        let library =
            named(&|name| name == "libjvm.so" || name.strip_suffix(DELETED) == Some("libjvm.so"))?;
        let is_j9 = named(&|name| name.starts_with("libj9vm")).is_some();
        let home = match library.ends_with(DELETED) {
            // What lies there now may be another version.
            true => None,
            false => home(process, library),
        };
        let libc = match () {
            () if named(&|name| name.starts_with("ld-musl")).is_some() => Some(Libc::Musl),
            () if named(&|name| name.starts_with("libc.so.6")).is_some() => Some(Libc::Glibc),
            () => None,
        };
        let own = elf_kind(Path::new("/proc/self/exe"));
        let its = elf_kind(&process.path("exe"));
        Some(Self {
            vm: if is_j9 { Vm::OpenJ9 } else { Vm::HotSpot },
            version: home.as_ref().map(|home| home.version.clone()).filter(|it| !it.is_empty()),
            feature_version: home.and_then(|home| home.feature_version),
            libc,
            is_foreign: own.is_some() && its.is_some() && own != its,
            has_perk: named(&|name| name.starts_with("libperk.so")).is_some(),
        })
    }
}

/// The paths of the files that are mapped, of which procfs refuses all if one is not UTF-8.
fn mapped_files(maps: &str) -> BTreeSet<&str> {
    let path = |line: &'_ str| line.find('/').map(|at| at..line.len());
    maps.lines().filter_map(|line| path(line).map(|range| &line[range])).collect()
}

/// The folder of the JVM whose library is `HOME/lib/server/libjvm.so`, in the process's own file
/// system. Up to JDK 8 there is one more folder between.
fn home(process: &Process, library: &str) -> Option<JavaHome> {
    let root = process.path("root");
    let library = process.inner_path(library.into());
    let folders = library.strip_prefix("/").ok()?.ancestors().skip(3).take(2);
    let mut homes = folders.map(|folder| JavaHome::at(&root.join(folder)));
    homes.find(|home| !home.version.is_empty())
}

/// The class and the machine in the head of an ELF file.
fn elf_kind(file: &Path) -> Option<(u8, [u8; 2])> {
    let mut head = [0; 20];
    fs::File::open(file).ok()?.read_exact(&mut head).ok()?;
    head.starts_with(b"\x7fELF").then(|| (head[4], [head[18], head[19]]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mapped_files_are_found() {
        let maps = "7f00-7f01 r-xp 00000000 fe:00 12   /a b/libjvm.so\n\
                    7f01-7f02 rw-p 00000000 00:00 0 \n\
                    7f02-7f03 r--p 00000000 fe:00 12   /a b/libjvm.so\n\
                    7f03-7f04 r--p 00000000 fe:00 13   /x/libperk.so (deleted)\n\
                    7ffe-7fff r-xp 00000000 00:00 0    [vdso]\n";
        let files: Vec<_> = mapped_files(maps).into_iter().collect();
        assert_eq!(files, ["/a b/libjvm.so", "/x/libperk.so (deleted)"]);
    }

    #[test]
    fn this_program_is_of_its_own_kind() {
        assert!(elf_kind(Path::new("/proc/self/exe")).is_some());
        assert_eq!(elf_kind(Path::new("/proc/self/cmdline")), None);
    }
}
