//! The permitted dependencies between the crates of the workspace, and the crates that may use
//! `unsafe`.

use std::fs;

use anyhow::{Context, Result};

use crate::workspace::{Metadata, Package, Role};

/// The crates of the workspace that each crate may use. Arrows point down only.
const LAYERS: &[(&str, &[&str])] = &[
    ("perk-profile", &[]),
    ("perk-analysis", &["perk-profile"]),
    ("perk-classfile", &[]),
    ("perk-hotspot", &["perk-classfile"]),
    ("perk-instrument", &["perk-classfile", "perk-hotspot"]),
    ("perk-jvmti-sys", &[]),
    ("perk-control", &["perk-profile"]),
    ("perk-jvm", &["perk-jvmti-sys", "perk-instrument", "perk-hotspot", "perk-profile"]),
    (
        "perk-jvmpi",
        &["perk-jvm", "perk-jvmti-sys", "perk-instrument", "perk-profile", "perk-control"],
    ),
    ("perk-files", &[]),
    ("perk-unpack", &[]),
    ("perk-hprof", &["perk-files", "perk-hotspot", "perk-profile"]),
    ("perk-heap", &["perk-files", "perk-hotspot", "perk-hprof", "perk-profile", "perk-unpack"]),
    ("perk-jamaica", &["perk-hprof", "perk-profile"]),
    ("perk-page", &[]),
    ("perk-formats", &["perk-analysis", "perk-hprof", "perk-jamaica", "perk-page", "perk-profile"]),
    (
        "perk-agent",
        &[
            "perk-jvm",
            "perk-jvmpi",
            "perk-jvmti-sys",
            "perk-instrument",
            "perk-hotspot",
            "perk-hprof",
            "perk-jamaica",
            "perk-profile",
            "perk-control",
            "perk-files",
        ],
    ),
    ("perk-live", &["perk-hprof", "perk-profile"]),
    ("perk-tables", &["perk-analysis", "perk-formats", "perk-heap", "perk-open", "perk-profile"]),
    ("perk-store", &["perk-analysis", "perk-profile", "perk-tables"]),
    ("perk-open", &["perk-formats", "perk-heap", "perk-profile", "perk-unpack"]),
    ("perk-render", &["perk-profile"]),
    (
        "perk-ui",
        &[
            "perk-live",
            "perk-render",
            "perk-analysis",
            "perk-formats",
            "perk-hprof",
            "perk-profile",
        ],
    ),
    (
        "perk-report",
        &[
            "perk-analysis",
            "perk-control",
            "perk-formats",
            "perk-heap",
            "perk-hprof",
            "perk-jamaica",
            "perk-open",
            "perk-profile",
            "perk-render",
        ],
    ),
    (
        "perk-web",
        &[
            "perk-report",
            "perk-open",
            "perk-render",
            "perk-analysis",
            "perk-files",
            "perk-formats",
            "perk-heap",
            "perk-live",
            "perk-page",
            "perk-profile",
        ],
    ),
    (
        "perk-attach",
        &[
            "perk-analysis",
            "perk-control",
            "perk-files",
            "perk-live",
            "perk-profile",
            "perk-report",
        ],
    ),
    (
        "perk-cli",
        &[
            "perk-attach",
            "perk-ui",
            "perk-web",
            "perk-live",
            "perk-report",
            "perk-open",
            "perk-render",
            "perk-analysis",
            "perk-formats",
            "perk-heap",
            "perk-hprof",
            "perk-jamaica",
            "perk-profile",
            "perk-control",
            "perk-files",
            "perk-unpack",
        ],
    ),
    (
        "perk-fleet",
        &[
            "perk-analysis",
            "perk-attach",
            "perk-control",
            "perk-files",
            "perk-formats",
            "perk-heap",
            "perk-hprof",
            "perk-open",
            "perk-profile",
            "perk-report",
            "perk-store",
            "perk-tables",
            "perk-web",
        ],
    ),
    ("perk-testkit", &["perk-control"]),
    (
        "xtask",
        &[
            "perk-testkit",
            "perk-control",
            "perk-instrument",
            "perk-jvmti-sys",
            "perk-classfile",
            "perk-formats",
            "perk-heap",
            "perk-hprof",
            "perk-profile",
        ],
    ),
];

/// The crates that the tests of every crate may use.
const TEST_ONLY: &[&str] = &["perk-testkit", "perk-jvmti-sys", "perk-classfile"];

/// The crates at the border to the JVM.
pub(super) const MAY_BE_UNSAFE: &[&str] =
    &["perk-jvmti-sys", "perk-jvm", "perk-jvmpi", "perk-agent"];

const FORBID: &str = "#![forbid(unsafe_code)]";

/// Compares the workspace with [`LAYERS`], and looks for [`FORBID`] in the crates' root files.
pub(super) fn check(metadata: &Metadata) -> Result<Vec<String>> {
    let mut found = Vec::new();
    for id in &metadata.members {
        let package = &metadata.packages[id];
        found.extend(wrong_arrows(metadata, package));
        if MAY_BE_UNSAFE.contains(&package.name.as_str()) {
            continue;
        }
        for root in &package.roots {
            let text = fs::read_to_string(root)
                .with_context(|| format!("cannot read {}", root.display()))?;
            if !text.lines().any(|line| line == FORBID) {
                found.push(format!("add {FORBID} to {}", root.display()));
            }
        }
    }
    Ok(found)
}

fn wrong_arrows(metadata: &Metadata, package: &Package) -> Vec<String> {
    let Some((name, allowed)) = LAYERS.iter().find(|(name, _)| *name == package.name) else {
        let name = &package.name;
        return vec![format!("give {name} a line in LAYERS of xtask/src/check/layers.rs")];
    };
    let mut found = Vec::new();
    for (id, role) in &package.dependencies {
        if !metadata.members.contains(id) {
            continue;
        }
        let used = metadata.packages[id].name.as_str();
        let is_test_only = *role == Role::Dev && TEST_ONLY.contains(&used);
        if !allowed.contains(&used) && !is_test_only {
            found.push(format!("{name} must not depend on {used}: move the code, or the arrow"));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn workspace(arrows: &[(&str, &str, Role)]) -> Metadata {
        let mut metadata = Metadata::default();
        for name in arrows.iter().flat_map(|(from, to, _)| [from, to]) {
            let package = metadata.packages.entry((*name).to_owned()).or_default();
            package.name = (*name).to_owned();
        }
        for (from, to, role) in arrows {
            let package = metadata.packages.get_mut(*from).unwrap();
            package.dependencies.push(((*to).to_owned(), *role));
        }
        metadata.members = metadata.packages.keys().cloned().collect();
        metadata
    }

    #[test]
    fn an_arrow_upwards_is_found() {
        let arrows = [("perk-profile", "perk-hprof", Role::Normal)];
        assert_eq!(
            check(&workspace(&arrows)).unwrap(),
            ["perk-profile must not depend on perk-hprof: move the code, or the arrow"]
        );
    }

    #[test]
    fn tests_may_use_the_testkit_and_nothing_else_may() {
        let arrows = [("perk-cli", "perk-testkit", Role::Dev)];
        assert_eq!(check(&workspace(&arrows)).unwrap(), [""; 0]);
        let arrows = [("perk-cli", "perk-testkit", Role::Normal)];
        assert_eq!(check(&workspace(&arrows)).unwrap().len(), 1);
        let arrows = [("perk-profile", "perk-hprof", Role::Dev)];
        assert_eq!(check(&workspace(&arrows)).unwrap().len(), 1);
    }

    #[test]
    fn a_crate_without_a_layer_is_found() {
        let arrows = [("perk-new", "perk-profile", Role::Normal)];
        assert_eq!(
            check(&workspace(&arrows)).unwrap(),
            ["give perk-new a line in LAYERS of xtask/src/check/layers.rs"]
        );
    }

    #[test]
    fn a_root_that_allows_unsafe_code_is_found() {
        let mut metadata = workspace(&[("perk-hprof", "perk-profile", Role::Normal)]);
        let root = std::path::PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml");
        metadata.packages.get_mut("perk-hprof").unwrap().roots.push(root);
        let found = check(&metadata).unwrap();
        assert!(found[0].starts_with("add #![forbid(unsafe_code)] to "), "{found:?}");
    }
}
