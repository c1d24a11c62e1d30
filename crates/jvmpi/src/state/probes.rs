//! The probes of methods.

use std::collections::BTreeSet;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::{Mutex, OnceLock};

use perk_instrument::Names;
use perk_jvm::Global;
use rustc_hash::FxHashMap;

/// The state of the probes.
#[derive(Debug)]
pub(crate) struct Probes {
    pub(crate) names: Names,
    pub(crate) helper: OnceLock<&'static Global>,
    /// What the class files had, for the account.
    pub(crate) found: Mutex<ProbeCounts>,
}

/// What the class files had. A class may come several times.
#[derive(Debug, Default)]
pub(crate) struct ProbeCounts {
    /// The numbers of methods with probes, and of native methods, by the hashes of the classes' names.
    pub(crate) classes: FxHashMap<u64, (usize, usize)>,
    /// The methods that lack probes, each with the reason.
    pub(crate) skipped: BTreeSet<String>,
    /// The methods that are to have none, each with the reason.
    pub(crate) exempt: BTreeSet<String>,
    /// The classes without probes as they cannot be read, or the JVM refuses them with probes.
    pub(crate) refused: BTreeSet<String>,
}

impl Default for Probes {
    fn default() -> Self {
        let names = Names::numbered(RandomState::new().build_hasher().finish());
        Self { names, helper: OnceLock::new(), found: Mutex::default() }
    }
}
