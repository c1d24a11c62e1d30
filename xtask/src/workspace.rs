//! The place of the workspace, and cargo's information about it.

use std::collections::BTreeMap;
use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

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
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Part of the package itself.
    Normal,
    /// Part of its build script.
    Build,
    /// Part of its tests.
    Dev,
}

impl Kind {
    fn from_json(kind: &Value) -> Self {
        match kind.as_str() {
            Some("build") => Self::Build,
            Some("dev") => Self::Dev,
            _ => Self::Normal,
        }
    }
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
    /// The direct dependencies on [`PLATFORM`]: identifier and kind.
    pub(crate) dependencies: Vec<(String, Kind)>,
}

/// The answer of `cargo metadata`.
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
        let json = serde_json::from_slice(&output.stdout).context("cargo metadata is not JSON")?;
        Ok(Self::from_json(&json))
    }

    /// Returns the package of the workspace that has this name.
    pub(crate) fn member(&self, name: &str) -> Result<&Package> {
        self.members
            .iter()
            .map(|id| &self.packages[id])
            .find(|package| package.name == name)
            .with_context(|| format!("no package {name} in the workspace"))
    }

    fn from_json(json: &Value) -> Self {
        let mut packages = BTreeMap::new();
        for package in array(&json["packages"]) {
            packages.insert(text(&package["id"]), package_from_json(package));
        }
        for node in array(&json["resolve"]["nodes"]) {
            if let Some(package) = packages.get_mut(&text(&node["id"])) {
                for dependency in array(&node["deps"]) {
                    for kind in array(&dependency["dep_kinds"]) {
                        let kind = Kind::from_json(&kind["kind"]);
                        package.dependencies.push((text(&dependency["pkg"]), kind));
                    }
                }
            }
        }
        Self {
            packages,
            members: array(&json["workspace_members"]).map(text).collect(),
            target_directory: text(&json["target_directory"]).into(),
        }
    }
}

fn package_from_json(package: &Value) -> Package {
    let targets = |kinds: &'static [&str]| {
        array(&package["targets"]).filter(move |target| {
            array(&target["kind"]).any(|kind| kinds.contains(&text(kind).as_str()))
        })
    };
    Package {
        name: text(&package["name"]),
        is_proc_macro: targets(&["proc-macro"]).next().is_some(),
        links: package["links"].as_str().map(str::to_owned),
        roots: targets(&["lib", "cdylib", "bin"]).map(|it| text(&it["src_path"]).into()).collect(),
        dependencies: Vec::new(),
    }
}

fn array(json: &Value) -> impl Iterator<Item = &Value> {
    json.as_array().into_iter().flatten()
}

fn text(json: &Value) -> String {
    json.as_str().unwrap_or_default().to_owned()
}
