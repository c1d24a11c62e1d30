//! The place of the workspace, and cargo's information about it.

use std::collections::BTreeMap;
use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde::Deserialize;

/// The platform whose dependencies count: the agent is built for Linux.
const PLATFORM: &str = "x86_64-unknown-linux-gnu";

/// Returns the folder of the workspace's `Cargo.toml`.
pub(crate) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask lies in the workspace")
}

/// Returns the cargo that runs this program, in the workspace's folder.
pub(crate) fn cargo() -> Command {
    let mut cargo = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.current_dir(root());
    cargo
}

/// The role of a package for the one that depends on it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Role {
    /// Part of the package itself.
    #[default]
    Normal,
    /// Part of its build script.
    Build,
    /// Part of its tests.
    Dev,
}

/// A package of the workspace or of a registry.
#[derive(Debug, Default)]
pub(crate) struct Package {
    /// The package's name.
    pub(crate) name: String,
    /// Whether the compiler loads the package, which keeps it out of the build's results.
    pub(crate) is_proc_macro: bool,
    /// The C library that the package declares to link.
    pub(crate) links: Option<String>,
    /// The root files of the package's libraries and programs.
    pub(crate) roots: Vec<PathBuf>,
    /// The direct dependencies on [`PLATFORM`]: identifier and role.
    pub(crate) dependencies: Vec<(String, Role)>,
}

/// The packages of the workspace, and what they depend on.
#[derive(Debug, Default)]
pub(crate) struct Metadata {
    /// All packages by cargo's identifier.
    pub(crate) packages: BTreeMap<String, Package>,
    /// The identifiers of the workspace's own packages.
    pub(crate) members: Vec<String>,
    /// The folder for cargo's build results.
    pub(crate) target_directory: PathBuf,
}

impl Metadata {
    /// Runs `cargo metadata`.
    pub(crate) fn load() -> Result<Self> {
        let output = cargo()
            .args(["metadata", "--format-version", "1", "--filter-platform", PLATFORM])
            .output()
            .context("cannot start cargo metadata")?;
        let stderr = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "cargo metadata failed: {}", stderr.trim());
        let answer: answer::Metadata =
            serde_json::from_slice(&output.stdout).context("cannot read cargo metadata")?;
        Ok(answer.into())
    }

    /// Returns the package of the workspace that has this name.
    pub(crate) fn member(&self, name: &str) -> Result<&Package> {
        self.members
            .iter()
            .map(|id| &self.packages[id])
            .find(|package| package.name == name)
            .with_context(|| format!("no package {name} in the workspace"))
    }
}

/// The answer of `cargo metadata`.
mod answer {
    use std::path::PathBuf;

    use serde::Deserialize;

    use super::Role;

    #[derive(Deserialize)]
    pub(super) struct Metadata {
        packages: Vec<Package>,
        resolve: Resolve,
        workspace_members: Vec<String>,
        target_directory: PathBuf,
    }

    #[derive(Deserialize)]
    struct Package {
        id: String,
        name: String,
        links: Option<String>,
        targets: Vec<Target>,
    }

    #[derive(Deserialize)]
    struct Target {
        kind: Vec<String>,
        src_path: PathBuf,
    }

    impl Target {
        fn is_any(&self, kinds: &[&str]) -> bool {
            self.kind.iter().any(|kind| kinds.contains(&kind.as_str()))
        }
    }

    #[derive(Deserialize)]
    struct Resolve {
        nodes: Vec<Node>,
    }

    #[derive(Deserialize)]
    struct Node {
        id: String,
        deps: Vec<Dependency>,
    }

    #[derive(Deserialize)]
    struct Dependency {
        pkg: String,
        dep_kinds: Vec<DependencyKind>,
    }

    #[derive(Deserialize)]
    struct DependencyKind {
        /// `null` for a part of the package itself.
        kind: Option<Role>,
    }

    impl From<Metadata> for super::Metadata {
        fn from(answer: Metadata) -> Self {
            let packages = answer.packages.into_iter().map(|it| (it.id.clone(), it.into()));
            let mut packages: std::collections::BTreeMap<String, super::Package> =
                packages.collect();
            for node in answer.resolve.nodes {
                let Some(package) = packages.get_mut(&node.id) else { continue };
                for Dependency { pkg, dep_kinds } in node.deps {
                    let roles = dep_kinds.iter().map(|it| it.kind.unwrap_or_default());
                    package.dependencies.extend(roles.map(|role| (pkg.clone(), role)));
                }
            }
            Self {
                packages,
                members: answer.workspace_members,
                target_directory: answer.target_directory,
            }
        }
    }

    impl From<Package> for super::Package {
        fn from(package: Package) -> Self {
            let is_root = |target: &Target| target.is_any(&["lib", "cdylib", "bin"]);
            Self {
                is_proc_macro: package.targets.iter().any(|it| it.is_any(&["proc-macro"])),
                roots: package.targets.into_iter().filter(is_root).map(|it| it.src_path).collect(),
                name: package.name,
                links: package.links,
                dependencies: Vec::new(),
            }
        }
    }
}
