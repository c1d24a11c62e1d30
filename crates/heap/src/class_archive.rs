//! The array in which HotSpot keeps what its archive of classes has (class data sharing).
//!
//! Of an archived class that the program has not loaded, the array has the class object, and a dump does not: it
//! has only loaded classes. JDK 17 with G1 and JDK 25 have about a thousand such references in each dump.

use crate::model::Model;
use crate::referrers::{DanglingFrom, ReferrerPass};
use crate::scan::Scan;
use crate::space::Space;
use crate::{Root, RootKind};

const ARRAY: &str = "java.lang.Object[]";

/// Whether all references to nothing are from that array: the dump is whole, and they are all from one array
/// that only the JVM itself holds.
pub(crate) fn has_all_dangling<S: Space>(
    found: &ReferrerPass<S>,
    scan: &Scan,
    model: &Model,
    roots: &[Root],
) -> bool {
    let DanglingFrom::One(object) = found.dangling_from else { return false };
    let mut classes = found.dangling.keys();
    let is_array = classes.all(|&class| model.classes[class as usize].name == ARRAY);
    let mut of_array = roots.iter().filter(|root| root.object.0 == object).peekable();
    let is_whole = !scan.is_cut && scan.notes.is_empty();
    is_whole
        && is_array
        && of_array.peek().is_some()
        && of_array.all(|root| root.kind == RootKind::JniGlobal)
}
