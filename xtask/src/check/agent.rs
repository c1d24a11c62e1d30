//! The agent's effect on the program that it profiles: its dependencies, size and symbols.

use std::collections::BTreeSet;
use std::fs;

use anyhow::{Context, Result, ensure};
use object::Object as _;

use crate::workspace::{self, Metadata, Package, Role};

const AGENT: &str = "perk-agent";

/// The committed list of the agent's dependencies, from the workspace's folder.
const LIST: &str = "xtask/agent-deps.txt";

const MAX_BYTES: u64 = 4 * 1024 * 1024;

/// The symbols that a JVM looks for. All other symbols are not exported, so that they cannot clash.
const ENTRY_POINTS: &[&str] = &["Agent_OnLoad", "Agent_OnAttach", "Agent_OnUnload"];

/// Crates, and prefixes of crate names, that do not belong in another program's process.
const REFUSED: &[(&str, &str)] = &[
    ("tokio", "an async runtime"),
    ("async-", "an async runtime"),
    ("futures", "an async runtime"),
    ("serde", "serialization by derive"),
    ("clap", "a command-line parser"),
];

/// Crates that build C, C++ or bindings to them.
const C_BUILDERS: &[&str] = &["cc", "cmake", "bindgen", "autotools", "pkg-config"];

/// Compares the agent's dependencies with the committed list.
pub(super) fn check_deps(metadata: &Metadata) -> Result<Vec<String>> {
    let tree = linked(metadata, metadata.member(AGENT)?);
    let path = workspace::root().join(LIST);
    let text =
        fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    let listed = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    let names = tree.iter().map(|package| package.name.as_str());
    let mut found = differences(&names.collect(), &listed.collect());
    found.extend(tree.iter().filter_map(|package| refusal(metadata, package)));
    Ok(found)
}

/// Builds the agent as it is shipped, and checks its size and its exported symbols.
pub(super) fn check_size(metadata: &Metadata) -> Result<Vec<String>> {
    let status = workspace::cargo()
        .args(["build", "--quiet", "--profile", "agent", "--package", AGENT])
        .status()
        .context("cannot start cargo build")?;
    ensure!(status.success(), "the agent does not build");
    let path = metadata.target_directory.join("agent/libperk.so");
    let bytes = fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
    eprintln!("{}: {} KiB", path.display(), bytes.len().div_ceil(1024));
    let mut found = wrong_exports(&exports(&bytes)?);
    found.extend(too_large(bytes.len() as u64));
    Ok(found)
}

/// Returns the packages that are linked into a package. A procedural macro is part of the compiler,
/// and so is everything that it needs.
fn linked<'m>(metadata: &'m Metadata, package: &'m Package) -> Vec<&'m Package> {
    let mut seen = BTreeSet::new();
    let mut tree = Vec::new();
    let mut open = vec![package];
    while let Some(package) = open.pop() {
        for (id, role) in &package.dependencies {
            let dependency = &metadata.packages[id];
            if *role == Role::Normal && !dependency.is_proc_macro && seen.insert(id) {
                tree.push(dependency);
                open.push(dependency);
            }
        }
    }
    tree
}

fn differences(tree: &BTreeSet<&str>, listed: &BTreeSet<&str>) -> Vec<String> {
    let added = tree.difference(listed).map(|name| {
        format!("the agent now links {name}: do without, or add the line `{name}` to {LIST}")
    });
    let gone = listed.difference(tree).map(|name| {
        format!("the agent no longer links {name}: remove the line `{name}` from {LIST}")
    });
    added.chain(gone).collect()
}

fn refusal(metadata: &Metadata, package: &Package) -> Option<String> {
    let name = &package.name;
    if let Some((_, why)) = REFUSED.iter().find(|(start, _)| name.starts_with(start)) {
        return Some(format!("the agent links {name}, {why}: do without"));
    }
    let builds_c = package.dependencies.iter().any(|(id, role)| {
        *role == Role::Build && C_BUILDERS.contains(&metadata.packages[id].name.as_str())
    });
    (builds_c || package.links.is_some())
        .then(|| format!("the agent links {name}, which brings C code: do without"))
}

fn exports(library: &[u8]) -> Result<BTreeSet<String>> {
    let file = object::File::parse(library).context("the agent is not an object file")?;
    let exports = file.exports().context("cannot read the agent's symbols")?;
    Ok(exports.iter().map(|it| String::from_utf8_lossy(it.name()).into_owned()).collect())
}

fn wrong_exports(names: &BTreeSet<String>) -> Vec<String> {
    let mut found: Vec<_> = names
        .iter()
        .filter(|name| !ENTRY_POINTS.contains(&name.as_str()))
        .map(|name| format!("the agent exports {name}: remove its #[unsafe(no_mangle)]"))
        .collect();
    if !names.contains(ENTRY_POINTS[0]) {
        found.push(format!("the agent does not export {}: no JVM can load it", ENTRY_POINTS[0]));
    }
    found
}

fn too_large(bytes: u64) -> Option<String> {
    (bytes > MAX_BYTES).then(|| {
        format!(
            "the agent has {bytes} bytes, {} more than it may: see what grew",
            bytes - MAX_BYTES
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn package(name: &str, dependencies: &[(&str, Role)]) -> (String, Package) {
        let dependencies = dependencies.iter().map(|(id, role)| ((*id).to_owned(), *role));
        let name = name.to_owned();
        (name.clone(), Package { name, dependencies: dependencies.collect(), ..Package::default() })
    }

    fn sample() -> Metadata {
        let mut metadata = Metadata::default();
        metadata.packages.extend([
            package("agent", &[("libc", Role::Normal), ("m", Role::Normal), ("kit", Role::Dev)]),
            package("libc", &[("zlib", Role::Normal)]),
            package("zlib", &[("cc", Role::Build)]),
            package("m", &[("syn", Role::Normal)]),
            package("syn", &[]),
            package("kit", &[]),
            package("cc", &[]),
            package("serde_core", &[]),
        ]);
        metadata.packages.get_mut("m").unwrap().is_proc_macro = true;
        metadata
    }

    #[test]
    fn only_what_is_linked_counts() {
        let metadata = sample();
        let tree = linked(&metadata, &metadata.packages["agent"]);
        let names: Vec<_> = tree.iter().map(|package| package.name.as_str()).collect();
        assert_eq!(names, ["libc", "zlib"]);
    }

    #[test]
    fn a_new_and_a_lost_dependency_are_found() {
        let found = differences(&BTreeSet::from(["a", "new"]), &BTreeSet::from(["a", "old"]));
        assert!(found[0].contains("add the line `new`"), "{found:?}");
        assert!(found[1].contains("remove the line `old`"), "{found:?}");
    }

    #[test]
    fn c_code_and_heavy_crates_are_refused() {
        let metadata = sample();
        let refused = |name: &str| refusal(&metadata, &metadata.packages[name]);
        assert!(refused("zlib").unwrap().contains("C code"));
        assert!(refused("serde_core").unwrap().contains("serialization"));
        assert_eq!(refused("libc"), None);
    }

    #[test]
    fn exports_are_the_entry_points_and_one_must_be_there() {
        let names = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
        assert_eq!(wrong_exports(&names(&["Agent_OnLoad", "Agent_OnUnload"])), [""; 0]);
        assert_eq!(wrong_exports(&names(&["malloc"])).len(), 2);
    }

    #[test]
    fn the_exports_of_an_agent_are_read() {
        // The JDK's own agent has the same three entry points, and exports more.
        let jdk = perk_testkit::jdk::compiler();
        let library = fs::read(jdk.home.join("lib/libinstrument.so")).unwrap();
        let exports = exports(&library).unwrap();
        assert!(ENTRY_POINTS.iter().all(|&name| exports.contains(name)), "{exports:?}");
        assert!(wrong_exports(&exports).iter().any(|it| it.contains("exports Java_")));
    }

    #[test]
    fn the_limit_itself_is_not_too_large() {
        assert_eq!(too_large(MAX_BYTES), None);
        assert!(too_large(MAX_BYTES + 1).is_some());
    }
}
