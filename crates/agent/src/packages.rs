//! The packages of the class path's folders: the program's own, where it is not run from a jar.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// Limits of what is looked at: folders of the class path, entries of a folder, and packages.
const MOST_FOLDERS: usize = 32;
const MOST_ENTRIES: usize = 1000;
const MOST_PACKAGES: usize = 32;
/// The packages down to which single folders are followed.
const MOST_PARTS: usize = 3;

/// The packages of the folders on a class path as patterns, `com.acme.*`, in order of their names; `*` is
/// the unnamed package. Relative folders are those of the current one.
pub(crate) fn of_class_path(class_path: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let folders = class_path.split(':').filter(|it| !it.ends_with(".jar") && !it.ends_with('*'));
    for folder in folders.take(MOST_FOLDERS) {
        // An empty element is the current folder.
        let folder = if folder.is_empty() { "." } else { folder };
        let (packages, has_classes) = content(Path::new(folder));
        if has_classes {
            found.insert("*".to_owned());
        }
        for package in packages {
            let inside = Path::new(folder).join(&package);
            found.extend(own_package(&inside, package).map(|it| format!("{it}.*")));
        }
    }
    let most = found.iter().nth(MOST_PACKAGES).cloned();
    most.map(|most| found.split_off(&most));
    found
}

/// The package of a folder: that of the folders below it as long as each has one alone. `None` if there
/// are no classes.
fn own_package(folder: &Path, package: String) -> Option<String> {
    let (inner, has_classes) = content(folder);
    let parts = package.matches('.').count() + 1;
    match &inner[..] {
        _ if has_classes => Some(package),
        [] => None,
        [one] if parts < MOST_PARTS => own_package(&folder.join(one), format!("{package}.{one}")),
        // What has several packages below it and is no company's own may be of many.
        several if parts == 1 => {
            several.iter().find_map(|it| own_package(&folder.join(it), format!("{package}.{it}")))
        }
        _ => Some(package),
    }
}

/// The names of a folder's folders that can be packages, and whether it has class files.
fn content(folder: &Path) -> (Vec<String>, bool) {
    let (mut folders, mut has_classes) = (Vec::new(), false);
    for entry in fs::read_dir(folder).into_iter().flatten().flatten().take(MOST_ENTRIES) {
        let Ok(name) = entry.file_name().into_string() else { continue };
        if name.ends_with(".class") {
            has_classes = true;
        } else if is_identifier(&name) && entry.path().is_dir() {
            folders.push(name);
        }
    }
    folders.sort_unstable();
    (folders, has_classes)
}

fn is_identifier(name: &str) -> bool {
    name.starts_with(|c: char| c.is_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_alphanumeric() || c == '_')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_have_packages() {
        let root = std::env::temp_dir().join(format!("perk-packages-{}", std::process::id()));
        let _ = fs::remove_dir_all(&root);
        let class = |path: &str| {
            let path = root.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        };
        class("app/com/acme/shop/Main.class");
        class("app/com/acme/db/Pool.class");
        class("app/META-INF/MANIFEST.MF");
        class("flat/Main.class");
        class("many/a/b/c/d/Deep.class");
        class("many/util/Fast.class");
        class("none/static/x.css");
        let of = |names: &[&str]| {
            let path: Vec<_> =
                names.iter().map(|name| root.join(name).display().to_string()).collect();
            of_class_path(&path.join(":")).into_iter().collect::<Vec<_>>()
        };
        assert_eq!(of(&["app", "lib.jar", "gone", "jars/*"]), ["com.acme.*"]);
        assert_eq!(of(&["flat", "many", "none"]), ["*", "a.b.c.*", "util.*"]);
        fs::remove_dir_all(&root).unwrap();
    }
}
