//! SITES: the objects of the program's own classes, and the objects that its own methods make.

use std::collections::BTreeMap;

use perk_testkit::hprof::{Recording, Site, Sites};

use super::stacks::{self, Detail};
use crate::case::Case;
use crate::differences::Findings;

/// Live bytes and objects, allocated bytes and objects.
type Numbers = [u64; 4];

/// The classes of the JDK that make lambdas and reflection work; they differ between versions.
const MACHINERY: [&str; 4] = ["java.lang.invoke.", "jdk.internal.", "sun.", "java.lang.reflect."];

/// Compares all rows that both would list; `whole` are perk's without a cutoff.
pub(super) fn compare(
    case: &Case,
    (perk, perk_sites): (&Recording, &Sites),
    (original, original_sites): (&Recording, &Sites),
    (whole, whole_sites): (&Recording, &Sites),
    found: &mut Findings<'_>,
) {
    found.equal("order of sites", perk_sites.by_allocated, original_sites.by_allocated);
    let [mine, theirs, all] =
        [(perk, perk_sites), (original, original_sites), (whole, whole_sites)]
            .map(|(recording, sites)| rows(case, recording, sites));
    let class_bytes = class_object_bytes(original_sites);
    // Rows below the cutoff of either are not compared.
    let limit = least(perk_sites).max(least(original_sites));
    for (site, numbers) in &theirs {
        // The array classes of binary files that were never written.
        if site.starts_with("<unknown>") {
            continue;
        }
        let is_cut = |uncut: Option<&Numbers>| uncut.is_none_or(|uncut| uncut[0] < limit);
        match (mine.get(site), all.get(site)) {
            // The numbers of a program that was dumped in the middle of its run are chance.
            (Some(_), _) if case.is_timed() => {}
            (None, uncut) if is_class_object(*numbers, class_bytes) && is_cut(uncut) => {
                found.differs("sites-class", || format!("{site}: {numbers:?}"));
            }
            (Some(mine), _) => numbers_of(site, *mine, *numbers, class_bytes, found),
            (None, Some(uncut)) if uncut[0] < limit => {
                numbers_of(site, *uncut, *numbers, class_bytes, found);
            }
            // Objects that the original first met in a heap dump do not have a stack.
            _ if site.ends_with(" at ") && has_class(&all, site) => {
                found.differs("sites-seen", || format!("{site}: {numbers:?}"));
            }
            _ => found.fault(format!("no site {site}, the original has {numbers:?}")),
        }
    }
    for (site, numbers) in &mine {
        if !theirs.contains_key(site) && numbers[0] >= limit {
            unseen(site, *numbers, found);
        }
    }
}

/// Returns the numbers of all rows that belong to the program itself, by class and stack.
fn rows(case: &Case, recording: &Recording, sites: &Sites) -> BTreeMap<String, Numbers> {
    let rows = sites.rows.iter().filter_map(|row| {
        let is_own = case.is_own(&row.class);
        let is_made = stacks::begins_own(case, recording, row.trace);
        let is_machinery = MACHINERY.iter().any(|start| row.class.starts_with(start));
        if !is_own && (!is_made || is_machinery) {
            return None;
        }
        let class = stacks::class_name(&row.class);
        // The methods through which a lambda is made differ between JDKs.
        if class.contains("$$Lambda") {
            return Some((class, row.numbers));
        }
        let stack = stacks::own(case, recording, row.trace, Detail::Lines);
        Some((format!("{class} at {stack}"), row.numbers))
    });
    stacks::sums(rows)
}

/// Whether objects of a site's class are counted at another stack.
fn has_class(rows: &BTreeMap<String, Numbers>, site: &str) -> bool {
    let class = site.trim_end();
    rows.keys().any(|row| row.starts_with(class))
}

/// Notes a site that only perk lists, although the original would list a site of that size: it
/// holds objects that the original did not count.
fn unseen(site: &str, numbers: Numbers, found: &mut Findings<'_>) {
    let is_array = site.split(" at ").next().is_some_and(|class| class.ends_with("[]"));
    // A clone, or an object made by native code, has the JDK's frames on top, or none.
    let is_native = site.contains(" at ...") || site.contains("] < ...") || site.ends_with(" at ");
    if is_array || is_native {
        found.differs("sites-seen", || format!("{site}: {numbers:?}"));
    } else {
        found.fault(format!("the original has no site {site}: {numbers:?}"));
    }
}

/// Compares the numbers of a site, with and without the object of a class that the original may
/// have counted with them.
fn numbers_of(
    site: &str,
    perk: Numbers,
    original: Numbers,
    class_bytes: u64,
    found: &mut Findings<'_>,
) {
    let what = || format!("{site}: {perk:?}, {original:?}");
    let without_class = without_class_object(original, class_bytes);
    if perk == original {
        return;
    }
    if Some(perk) == without_class {
        return found.differs("sites-class", what);
    }
    for candidate in [Some(original), without_class].into_iter().flatten() {
        let (mine, theirs) = (bytes_of_each(perk), bytes_of_each(candidate));
        let more = |at: usize| perk[at] > candidate[at];
        if mine.is_none() || theirs.is_none() {
            continue;
        } else if perk[2..] == candidate[2..] {
            return found.differs("sites-live", what);
        } else if (perk[1], perk[3]) == (candidate[1], candidate[3]) {
            return found.differs("object-size", what);
        } else if mine == theirs && more(3) && perk[1] >= candidate[1] {
            return unseen(site, perk, found);
        }
    }
    found.equal(site, perk, original);
}

/// Returns the size of each of a site's objects, if they all have the same size.
fn bytes_of_each([_, _, bytes, count]: Numbers) -> Option<u64> {
    (count > 0 && bytes % count == 0).then(|| bytes / count)
}

/// Whether the only object of a site is that of a class.
fn is_class_object(numbers: Numbers, class_bytes: u64) -> bool {
    numbers == [class_bytes, 1, class_bytes, 1]
}

/// Returns the least live bytes of all rows; 0 without rows.
fn least(sites: &Sites) -> u64 {
    let least = sites.rows.iter().map(|row| row.numbers[0]).min();
    least.unwrap_or(u64::MAX)
}

/// Returns the size that the original gives to the objects of classes: that of most rows of one
/// object.
fn class_object_bytes(sites: &Sites) -> u64 {
    let mut sizes: BTreeMap<u64, u64> = BTreeMap::new();
    for row in sites.rows.iter().filter(|row: &&Site| row.numbers[1] == 1) {
        *sizes.entry(row.numbers[0]).or_default() += 1;
    }
    let commonest = sizes.iter().max_by_key(|(_, count)| **count);
    commonest.map_or(0, |(size, _)| *size)
}

/// Returns numbers without those of one object of a class, if it can be among them.
fn without_class_object(numbers: Numbers, class_bytes: u64) -> Option<Numbers> {
    let class = [class_bytes, 1, class_bytes, 1];
    let mut rest = numbers;
    for (number, part) in rest.iter_mut().zip(class) {
        *number = number.checked_sub(part)?;
    }
    Some(rest)
}
