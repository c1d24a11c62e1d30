//! The program of a JVM, by its command line.

use std::path::Path;

/// The options of `java` whose value is the next word (`java.c`, `IsWhiteSpaceOption`).
pub(crate) const WITH_VALUE: [&str; 19] = [
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

/// Whether `wanted` is the whole name, or a part of it that identifies the program: the class without
/// its package, the jar without its folder or its ending.
pub(super) fn is_named(name: &str, wanted: &str) -> bool {
    let file = file_name(name);
    let stem = file.strip_suffix(".jar");
    let class = if stem.is_some() { file } else { file.rsplit('.').next().unwrap_or(file) };
    [name, file, stem.unwrap_or(file), class].contains(&wanted)
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
        for (name, wanted, is_it) in [
            ("org.acme.Main", "org.acme.Main", true),
            ("org.acme.Main", "Main", true),
            ("acme/org.acme.Main", "Main", true),
            ("org.acme.Main", "acme.Main", false),
            ("/opt/app-1.2.jar", "app-1.2.jar", true),
            ("/opt/app-1.2.jar", "app-1.2", true),
            ("/opt/app-1.2.jar", "jar", false),
            ("/opt/app.jar", "/opt/app.jar", true),
        ] {
            assert_eq!(is_named(name, wanted), is_it, "{name} {wanted}");
        }
    }
}
