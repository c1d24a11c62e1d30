//! The targets of `xtask fuzz`, by name.

#[path = "../../xtask/src/fuzz/class.rs"]
mod class;
#[path = "../../xtask/src/fuzz/targets.rs"]
mod targets;

/// Runs a target. Panics where there is a fault, and where there is no such target.
pub fn run(name: &str, bytes: &[u8]) {
    let target = targets::Target::all().find(|target| target.name() == name);
    target.expect("a target of the list").run(bytes);
}
