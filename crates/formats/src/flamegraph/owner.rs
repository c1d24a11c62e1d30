//! Whose code the frames of a page are.

use perk_analysis::owners::{Owner, Owners};
use perk_profile::{FrameId, FrameKind, KeyedMap, MethodId, Profile};

use super::data::NodeKind;
use super::label::FrameLabel;

/// The number of a frame that is no code: a thread, a class of objects.
const NONE: u8 = 5;

/// The owners of the frames of one profile, or of two that are compared.
pub(super) struct Ownership<'a> {
    /// The owner's number by class, name and signature.
    owners: KeyedMap<[&'a str; 3], u8>,
    /// The patterns of the program's own code.
    pub(super) app: Vec<String>,
}

impl<'a> Ownership<'a> {
    /// Finds the owners of all methods. A method that is the program's own in one profile is so in both.
    pub(super) fn new(profiles: &[&'a Profile]) -> Self {
        let mut this = Self { owners: KeyedMap::default(), app: Vec::new() };
        for profile in profiles {
            let owners = Owners::new(profile);
            let is_kernel = kernel_methods(profile);
            for (index, &is_kernel) in is_kernel.iter().enumerate() {
                let method = MethodId::new(index);
                let owner = number(owners.of(method), is_kernel);
                let known = this.owners.entry(key(profile, method)).or_insert(owner);
                *known = owner.min(*known);
            }
            let more = owners.app().iter().filter(|it| !this.app.contains(it));
            let more: Vec<_> = more.cloned().collect();
            this.app.extend(more);
        }
        this
    }

    /// Returns the number of the owner of a frame.
    pub(super) fn of(&self, label: &FrameLabel<'a>) -> u8 {
        match label.kind {
            NodeKind::Java | NodeKind::Native => {
                let key = [label.class, label.name, label.signature];
                self.owners.get(&key).copied().unwrap_or(NONE)
            }
            _ => NONE,
        }
    }
}

fn key(profile: &Profile, id: MethodId) -> [&str; 3] {
    let symbols = &profile.symbols;
    let method = symbols.get_method(id);
    let signature = method.signature.map_or("", |it| symbols.strings.get(it));
    [symbols.class_name(method.class), symbols.strings.get(method.name), signature]
}

fn number(owner: Owner, is_kernel: bool) -> u8 {
    match owner {
        Owner::Yours => 0,
        Owner::Library => 1,
        Owner::Jdk => 2,
        Owner::Jvm if is_kernel => 4,
        Owner::Jvm => 3,
    }
}

/// Whether each method is a function of the kernel.
fn kernel_methods(profile: &Profile) -> Vec<bool> {
    let symbols = &profile.symbols;
    let mut is_kernel = vec![false; symbols.method_count()];
    for index in 0..symbols.frame_count() {
        let frame = symbols.get_frame(FrameId::new(index));
        is_kernel[frame.method.index()] |= frame.kind == FrameKind::Kernel;
    }
    is_kernel
}
