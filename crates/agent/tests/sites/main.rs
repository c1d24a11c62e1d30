//! Exact allocation sites of programs whose allocations are known by arithmetic: in every way that
//! objects are made, by every collector and compiler, with the sizes of the JVM without perk.

#![forbid(unsafe_code)]

mod clones;
mod fillers;
mod identities;
mod instructions;
mod kinds;
mod natives;
mod totals;

use perk_hotspot::layout::{FieldKind, Fields, Jvm, Layout};
use perk_profile::{Allocations, Line, Profile, Site};
use perk_testkit::{JavaRun, Jdk, Outcome};

const N: u64 = 300;
const FILE: &str = "o.hprof";

/// The kind of a new object.
#[derive(Clone, Copy)]
enum Kind {
    /// An object with these fields.
    Object(&'static [FieldKind]),
    /// An array of that many elements.
    Array(FieldKind, u32),
}

use Kind::{Array, Object};

impl Kind {
    fn bytes(self, jvm: &Jvm) -> u64 {
        match self {
            Object(fields) => {
                let fields = Fields::from_iter(fields.iter().copied());
                Layout::object(jvm).subclass(jvm, &fields).instance_bytes()
            }
            Array(element, length) => jvm.array_bytes(element, length),
        }
    }
}

/// Returns a run that writes [`FILE`] with `heap=sites` and more options, which begin with a comma.
fn counted(jdk: &Jdk, options: &str) -> JavaRun {
    let options = format!("heap=sites,depth=64,cutoff=0,gc=y,format=p,file={FILE}{options}");
    JavaRun::new(jdk).agent(&options)
}

#[track_caller]
fn read(outcome: &Outcome) -> Profile {
    outcome.assert_success();
    assert!(!outcome.stderr.contains("ERROR"), "{}", outcome.report());
    perk_hprof::read(outcome.bytes(FILE)).unwrap_or_else(|error| panic!("{error}"))
}

/// Returns the method names of a site's trace, the innermost first, with their lines.
fn frames(profile: &Profile, site: &Site) -> Vec<(String, Line)> {
    let frames = profile.frames(site.trace).map(|id| profile.symbols.get_frame(id));
    frames.map(|frame| (profile.symbols.method_name(frame.method), frame.line)).collect()
}

fn sites(profile: &Profile) -> Vec<Site> {
    profile.sites().expect("a section of sites").rows
}

/// Returns the objects of a class made below a method of a program. Classes of the program begin
/// with `$`.
fn made(profile: &Profile, program: &str, method: &str, class: &str) -> Allocations {
    let class = if class.starts_with('$') { format!("{program}{class}") } else { class.to_owned() };
    // The name of a lambda's class ends in a number.
    let is_lambda = class.ends_with("$$Lambda");
    let method = format!("{program}.{method}");
    let mut sum = Allocations::default();
    for site in &sites(profile) {
        let name = profile.symbols.class_name(site.class);
        let is_of_class = name == class || is_lambda && name.starts_with(&class);
        if is_of_class && frames(profile, site).iter().any(|(name, _)| *name == method) {
            sum.add(site.objects);
        }
    }
    sum
}

fn usual(jdk: &Jdk) -> Jvm {
    Jvm::new(jdk.version, 12, 4, 8)
}
