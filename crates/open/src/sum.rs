//! Several profiles as one.

use anyhow::bail;
use perk_profile::{Process, Profile};

use crate::Input;

/// Adds up the profiles of several inputs, which have names. Their threads keep the name of their input
/// before their own.
///
/// # Errors
/// Their formats differ: the numbers of one may have no place in another.
///
/// # Panics
/// There is no input.
pub fn sum(inputs: Vec<(String, Input)>) -> anyhow::Result<Input> {
    let (first, format) = (inputs[0].0.clone(), inputs[0].1.format);
    let mut processes = Vec::with_capacity(inputs.len());
    let (mut app, mut notes) = (Vec::new(), Vec::new());
    for (name, input) in inputs {
        if input.format.name() != format.name() {
            let (one, other) = (format.title(), input.format.title());
            bail!("{first} is {one}, {name} is {other}: files of one format add up");
        }
        let Input { mut profile, .. } = input;
        if profile.heaps().next().is_some() {
            notes.push(format!("{name}: the heap dump is left out: dumps do not add up"));
        }
        // They were said of the file.
        profile.notes.clear();
        app.clone_from(&profile.app);
        processes.push(Process { name, profile });
    }
    let mut profile = Profile::of_processes(processes);
    (profile.app, profile.notes) = (app, notes);
    Ok(Input { format, profile })
}
