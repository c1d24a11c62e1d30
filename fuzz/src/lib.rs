//! The targets by name. The tests of `xtask` include them, so that the workspace's build and lints see them.

mod class;
mod targets;

/// Runs a target. Panics where there is a fault, and where there is no such target.
pub fn run(name: &str, bytes: &[u8]) {
    let target = targets::Target::all().find(|target| target.name() == name);
    target.expect("a target of the list").run(bytes);
}
