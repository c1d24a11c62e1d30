//! The program of a JVM, by its command line.

use std::path::Path;

/// The options of `java` whose value is the next word (`java.c`, `IsWhiteSpaceOption`).
pub const WITH_VALUE: [&str; 19] = [
    "-cp",
    "-classpath",
    "--class-path",
    "-p",
    "--module-path",
    "--upgrade-module-path",
    "--add-modules",
    "--limit-modules",
    "--add-reads",
    "--add-exports",
    "--add-opens",
    "--patch-module",
    "--enable-native-access",
    "--illegal-native-access",
    "--sun-misc-unsafe-memory-access",
    "--finalization",
    "--source",
    "-d",
    "--describe-module",
];

/// The name of a JVM's program: its main class with the package, the path of its jar, `module/class`,
/// or the command itself if that is not `java`.
pub(super) fn name(command_line: &[String]) -> String {
    let Some((command, arguments)) = command_line.split_first() else { return String::new() };
    let file = file_name(command);
    if file != "java" {
        return file.to_owned();
    }
    let mut words = arguments.iter().map(String::as_str);
    while let Some(word) = words.next() {
        match word {
            "-jar" | "-m" | "--module" => return words.next().unwrap_or(file).to_owned(),
            _ if WITH_VALUE.contains(&word) => drop(words.next()),
            _ => match word.strip_prefix("--module=") {
                Some(module) => return module.to_owned(),
                None if word.starts_with('-') => {}
                // The options of a file may have the main class.
                None if word.starts_with('@') => {}
                None => return word.to_owned(),
            },
        }
    }
    file.to_owned()
}

/// The way in which a text means a program; the first is the surest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Likeness {
    /// It is the whole name.
    Whole,
    /// It is the class without its package or its module, or the jar without its folder or its ending.
    Short,
    /// It is in the name.
    Part,
}

/// The way in which `wanted` means the program `name`, if it does.
pub(super) fn likeness(name: &str, wanted: &str) -> Option<Likeness> {
    let file = file_name(name);
    let stem = file.strip_suffix(".jar");
    match () {
        () if name == wanted => Some(Likeness::Whole),
        () if [file, stem.unwrap_or(file), short_name(name)].contains(&wanted) => {
            Some(Likeness::Short)
        }
        () if name.contains(wanted) => Some(Likeness::Part),
        () => None,
    }
}

/// The class without its package or its module, or the jar without its folder.
pub(super) fn short_name(name: &str) -> &str {
    let file = file_name(name);
    if file.ends_with(".jar") { file } else { file.rsplit('.').next().unwrap_or(file) }
}

fn file_name(path: &str) -> &str {
    Path::new(path).file_name().and_then(|name| name.to_str()).unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_found_after_the_options() {
        for (line, expected) in [
            ("java -Xmx1g -cp a:b org.acme.Main x y", "org.acme.Main"),
            ("/usr/bin/java -jar /opt/app.jar -cp", "/opt/app.jar"),
            ("java --module-path m -m acme/org.acme.Main", "acme/org.acme.Main"),
            ("java --module=acme/org.acme.Main x", "acme/org.acme.Main"),
            ("java @options Main", "Main"),
            ("java --source 21 Main.java", "Main.java"),
            ("java @everything", "java"),
            ("java -jar", "java"),
            ("/jdk/bin/javac -d out A.java", "javac"),
            ("./server --port 1", "server"),
            ("", ""),
        ] {
            let words: Vec<_> = line.split_whitespace().map(str::to_owned).collect();
            assert_eq!(name(&words), expected, "{line}");
        }
    }

    #[test]
    fn programs_have_short_names() {
        use Likeness::{Part, Short, Whole};
        for (name, wanted, expected) in [
            ("Main", "Main", Some(Whole)),
            ("org.acme.Main", "org.acme.Main", Some(Whole)),
            ("org.acme.Main", "Main", Some(Short)),
            ("jdk.compiler/com.sun.tools.javac.Main", "Main", Some(Short)),
            ("org.acme.Main", "acme.Main", Some(Part)),
            ("org.acme.Main", "main", None),
            ("/opt/app-1.2.jar", "app-1.2.jar", Some(Short)),
            ("/opt/app-1.2.jar", "app-1.2", Some(Short)),
            ("/opt/app-1.2.jar", "jar", Some(Part)),
            ("/opt/app.jar", "/opt/app.jar", Some(Whole)),
        ] {
            assert_eq!(likeness(name, wanted), expected, "{name} {wanted}");
        }
    }
}
