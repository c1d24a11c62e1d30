//! Builds the agent, so that the tool can carry it inside: `OUT_DIR/libperk.so`, and its hash in
//! `PERK_AGENT_HASH`.
//!
//! The agent is built by a `cargo` of its own, in a target folder of its own: `cargo install`
//! builds binaries only, and two cargos must not wait for each other's lock. `PERK_AGENT_SO` names
//! a library that is taken instead.

use std::collections::BTreeSet;
use std::hash::{DefaultHasher, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

const LIBRARY: &str = "libperk.so";

fn main() {
    println!("cargo::rerun-if-env-changed=PERK_AGENT_SO");
    let out = PathBuf::from(variable("OUT_DIR"));
    let built = match env::var_os("PERK_AGENT_SO").filter(|path| !path.is_empty()) {
        Some(path) => {
            println!("cargo::rerun-if-changed={}", path.display());
            PathBuf::from(path)
        }
        None => build_agent(&out.join("agent")),
    };
    let bytes = fs::read(&built)
        .unwrap_or_else(|error| fail(&format!("cannot read {}: {error}", built.display())));
    let library = out.join(LIBRARY);
    if let Err(error) = fs::write(&library, &bytes) {
        fail(&format!("cannot write {}: {error}", library.display()));
    }
    let mut hasher = DefaultHasher::new();
    hasher.write(&bytes);
    println!("cargo::rustc-env=PERK_AGENT_HASH={:016x}", hasher.finish());
}

/// Builds the agent below `target` and gives the library's path.
fn build_agent(target: &Path) -> PathBuf {
    let workspace = Path::new(&variable("CARGO_MANIFEST_DIR")).join("../..");
    let triple = variable("TARGET");
    let mut cargo = Command::new(variable("CARGO"));
    cargo
        .args(["build", "--profile", "agent", "--locked", "--package", "perk-agent"])
        .args(["--target", &triple, "--jobs", &variable("NUM_JOBS")])
        .arg("--target-dir")
        .arg(target)
        .arg("--manifest-path")
        .arg(workspace.join("Cargo.toml"));
    // What the outer cargo tells its compiler and its build scripts is not meant for the inner one.
    for (name, _) in env::vars_os() {
        if name.to_str().is_some_and(is_of_the_outer_build) {
            cargo.env_remove(name);
        }
    }
    match cargo.status() {
        Ok(status) if status.success() => {}
        Ok(status) => fail(&format!(
            "building the agent (perk-agent) failed: {status}; its messages are above"
        )),
        Err(error) => fail(&format!("cannot start cargo to build the agent: {error}")),
    }
    let built = target.join(triple).join("agent");
    watch_sources(&workspace, &built.join("libperk.d"));
    built.join(LIBRARY)
}

fn is_of_the_outer_build(name: &str) -> bool {
    let kept = ["CARGO_HOME", "CARGO_NET_", "CARGO_HTTP_", "CARGO_REGISTR", "CARGO_SOURCE_"];
    let compiler = ["RUSTFLAGS", "RUSTC", "RUSTC_WRAPPER", "RUSTC_WORKSPACE_WRAPPER"];
    let script = ["TARGET", "HOST", "PROFILE", "OPT_LEVEL", "DEBUG", "NUM_JOBS", "OUT_DIR"];
    name.starts_with("CARGO") && !kept.iter().any(|kept| name.starts_with(kept))
        || compiler.contains(&name)
        || script.contains(&name)
}

/// Asks cargo to run this script again when a source file of the agent or of a crate it is made
/// of changes: cargo's own list of them is in `dep_info`.
fn watch_sources(workspace: &Path, dep_info: &Path) {
    let text = fs::read_to_string(dep_info)
        .unwrap_or_else(|error| fail(&format!("cannot read {}: {error}", dep_info.display())));
    let sources = text.split_once(": ").map_or("", |(_, sources)| sources);
    let mut watched = BTreeSet::from([workspace.join("Cargo.toml"), workspace.join("Cargo.lock")]);
    // A blank inside a path is written as `\ `.
    for source in sources.trim().replace("\\ ", "\0").split(' ') {
        let source = source.replace('\0', " ");
        if let Some((krate, _)) = source.rsplit_once("/src/") {
            watched.insert(PathBuf::from(format!("{krate}/src")));
            watched.insert(PathBuf::from(format!("{krate}/Cargo.toml")));
        }
    }
    for path in watched {
        println!("cargo::rerun-if-changed={}", path.display());
    }
}

fn variable(name: &str) -> String {
    env::var(name).unwrap_or_else(|_| fail(&format!("cargo did not set {name}")))
}

fn fail(message: &str) -> ! {
    println!("cargo::error={message}");
    std::process::exit(1);
}
