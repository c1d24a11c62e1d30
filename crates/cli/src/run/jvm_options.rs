//! The options that a JVM will take: from variables, the command line, and the files that these name.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::{fs, mem};

use perk_attach::jvms::WITH_VALUE;

/// The variables from which every JVM takes options, before and after those of its command line, and the
/// one that belongs to the `java` launcher.
const TOOL_OPTIONS: &str = "JAVA_TOOL_OPTIONS";
const LAST_OPTIONS: &str = "_JAVA_OPTIONS";
const LAUNCHER_OPTIONS: &str = "JDK_JAVA_OPTIONS";

/// The options behind which the program's arguments begin, after one word.
const WITH_PROGRAM: [&str; 3] = ["-jar", "-m", "--module"];

/// The largest file of options that is read.
const MOST_BYTES: u64 = 1 << 20;

/// The options of a `java` command, in the order in which the JVM reads them.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct JvmOptions {
    /// The options.
    pub(super) words: Vec<String>,
    /// The number of arguments before the one that has the program: options may be put there.
    pub(super) end: usize,
}

/// The sources of options that a JVM reads besides its command line.
pub(super) struct Sources<'s> {
    /// The value of a variable.
    pub(super) variable: &'s dyn Fn(&str) -> Option<OsString>,
    /// The text of a file.
    pub(super) file: &'s dyn Fn(&Path) -> Option<Vec<u8>>,
}

impl Sources<'static> {
    /// Those of this process.
    pub(super) fn new() -> Self {
        Self { variable: &|name| std::env::var_os(name), file: &read }
    }
}

/// Returns the text of a file, unless it is no file of options.
fn read(path: &Path) -> Option<Vec<u8>> {
    let metadata = fs::metadata(path).ok()?;
    let is_small = metadata.is_file() && metadata.len() <= MOST_BYTES;
    is_small.then(|| fs::read(path).ok()).flatten()
}

impl JvmOptions {
    /// Returns the options of `java` with these arguments.
    pub(super) fn of_java(arguments: &[OsString], sources: &Sources<'_>) -> Self {
        let launcher = (sources.variable)(LAUNCHER_OPTIONS).unwrap_or_default();
        let mut line = CommandLine::default();
        for word in words(launcher.as_bytes(), Quoting::Plain) {
            line.add(&word, sources);
        }
        // The variable cannot name the program.
        let mut end = 0;
        for argument in arguments {
            let is_behind_option = line.is_program;
            line.add(argument.as_bytes(), sources);
            if line.has_program {
                end -= usize::from(is_behind_option);
                break;
            }
            end += 1;
        }
        Self { words: with_variables(line.options, sources), end }
    }
}

/// Returns the options of a command line between those of the variables, with those of files.
fn with_variables(line: Vec<Vec<u8>>, sources: &Sources<'_>) -> Vec<String> {
    let of = |name| words((sources.variable)(name).unwrap_or_default().as_bytes(), Quoting::Plain);
    let all = of(TOOL_OPTIONS).into_iter().chain(line).chain(of(LAST_OPTIONS));
    let mut flags = Vec::new();
    let mut options = Vec::new();
    let of_file = |path: &[u8]| (sources.file)(Path::new(OsStr::from_bytes(path)));
    for word in all {
        if let Some(path) = word.strip_prefix(b"-XX:Flags=") {
            // The JVM reads this file first: `+Name`, `-Name` or `Name=value`.
            let text = of_file(path).unwrap_or_default();
            flags.extend(
                words(&text, Quoting::Comments).iter().map(|it| [b"-XX:", &it[..]].concat()),
            );
        } else if let Some(path) = word.strip_prefix(b"-XX:VMOptionsFile=") {
            options.extend(words(&of_file(path).unwrap_or_default(), Quoting::Plain));
        } else {
            options.push(word);
        }
    }
    let all = flags.into_iter().chain(options);
    all.map(|word| String::from_utf8_lossy(&word).into_owned()).collect()
}

/// The options of the launcher, as they are read.
#[derive(Debug, Default)]
struct CommandLine {
    options: Vec<Vec<u8>>,
    /// Whether the next word is the value of an option.
    is_value: bool,
    /// Whether the next word is the program.
    is_program: bool,
    has_program: bool,
    /// Whether `--disable-@files` was read.
    is_literal: bool,
}

impl CommandLine {
    /// Adds an argument, which may be the name of a file with arguments.
    fn add(&mut self, argument: &[u8], sources: &Sources<'_>) {
        match argument.strip_prefix(b"@").filter(|_| !self.is_literal) {
            Some(name) if !name.starts_with(b"@") => {
                let text = (sources.file)(Path::new(OsStr::from_bytes(name))).unwrap_or_default();
                words(&text, Quoting::Argument).iter().for_each(|word| self.add_word(word));
            }
            // `@@name` is the argument `@name`.
            Some(escaped) => self.add_word(escaped),
            None => self.add_word(argument),
        }
    }

    fn add_word(&mut self, word: &[u8]) {
        let is = |names: &[&str]| names.iter().any(|name| name.as_bytes() == word);
        if self.has_program {
            return;
        }
        if mem::take(&mut self.is_value) {
            return;
        }
        if self.is_program {
            self.has_program = true;
        } else if word == b"--disable-@files" {
            self.is_literal = true;
        } else if is(&WITH_PROGRAM) {
            self.is_program = true;
        } else if is(&WITH_VALUE) {
            self.is_value = true;
        } else if word.starts_with(b"-") {
            self.options.push(word.to_vec());
            self.has_program = word.starts_with(b"--module=");
        } else {
            self.has_program = true;
        }
    }
}

/// The way in which words are quoted.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Quoting {
    /// Quotes of either kind keep the text between them together.
    Plain,
    /// The same, and the rest of a line behind `#` is a comment.
    Comments,
    /// The same, and in quotes a backslash escapes.
    Argument,
}

/// Returns the words of a text.
fn words(text: &[u8], quoting: Quoting) -> Vec<Vec<u8>> {
    let (mut all, mut word, mut quote) = (Vec::new(), None::<Vec<u8>>, None);
    let mut bytes = text.iter().copied();
    while let Some(byte) = bytes.next() {
        match (byte, quote) {
            (_, Some(of)) if byte == of => quote = None,
            (b'\\', Some(_)) if quoting == Quoting::Argument => {
                let escaped = match bytes.next() {
                    Some(b'n') => Some(b'\n'),
                    Some(b'r') => Some(b'\r'),
                    Some(b't') => Some(b'\t'),
                    Some(b'f') => Some(0x0c),
                    // The line continues.
                    Some(b'\n') | None => None,
                    other => other,
                };
                word.get_or_insert_default().extend(escaped);
            }
            (_, Some(_)) => word.get_or_insert_default().push(byte),
            (b'"' | b'\'', None) => {
                quote = Some(byte);
                word.get_or_insert_default();
            }
            (b'#', None) if quoting != Quoting::Plain && word.is_none() => {
                bytes.by_ref().find(|it| *it == b'\n');
            }
            (_, None) if byte.is_ascii_whitespace() || byte == 0x0b => all.extend(word.take()),
            (_, None) => word.get_or_insert_default().push(byte),
        }
    }
    all.extend(word);
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the options of `java` with these variables and files.
    fn of(arguments: &[&str], named: &[(&str, &str)]) -> JvmOptions {
        let find = |name: &str| named.iter().find(|it| it.0 == name).map(|it| it.1);
        let sources = Sources {
            variable: &|name| find(name).map(OsString::from),
            file: &|path| find(path.to_str()?).map(|text| text.as_bytes().to_vec()),
        };
        let arguments: Vec<_> = arguments.iter().map(OsString::from).collect();
        JvmOptions::of_java(&arguments, &sources)
    }

    #[track_caller]
    fn assert_options(arguments: &[&str], named: &[(&str, &str)], words: &[&str], end: usize) {
        let found = of(arguments, named);
        assert_eq!(found.words, words);
        assert_eq!(found.end, end);
    }

    #[test]
    fn options_end_at_the_program() {
        assert_options(&["-Xint", "Main", "-Xcomp"], &[], &["-Xint"], 1);
        assert_options(&["-cp", "-x", "-Xint", "-jar", "a.jar", "-y"], &[], &["-Xint"], 3);
        assert_options(&["-m", "a/b", "-Xint"], &[], &[], 0);
        assert_options(&["--module=a/b", "-Xint"], &[], &["--module=a/b"], 0);
        assert_options(&["-version"], &[], &["-version"], 1);
        assert_options(&["-jar"], &[], &[], 1);
        assert_options(&[], &[], &[], 0);
    }

    #[test]
    fn files_of_arguments_are_read() {
        let files = [
            ("a", "-cp \"x y\" -Xa # no -Xb\n-Xc 'it\\'s' -Xd"),
            ("b", "-Xe\n-jar x.jar -Xf"),
            ("c", "-Xg"),
        ];
        assert_options(&["@c", "@@c", "-Xh"], &files, &["-Xg"], 1);
        assert_options(&["@b", "-Xh"], &files, &["-Xe"], 0);
        assert_options(&["@a", "-Xh"], &files, &["-Xa", "-Xc"], 0);
        assert_options(&["--disable-@files", "@c", "-Xh"], &files, &[], 1);
        assert_options(&["@none", "-Xh", "Main"], &files, &["-Xh"], 2);
    }

    #[test]
    fn variables_and_files_have_their_order() {
        let named = [
            ("JAVA_TOOL_OPTIONS", "-X1 '-X 2'"),
            ("JDK_JAVA_OPTIONS", "-X3 @c"),
            ("_JAVA_OPTIONS", "-X9"),
            ("c", "-X4"),
            ("v", "-X6 \"-X7\""),
            ("f", "# one\n+A\nB=c -D"),
        ];
        let line = ["-X5", "-XX:VMOptionsFile=v", "-X8", "-XX:Flags=f", "Main"];
        let expected = "-XX:+A,-XX:B=c,-XX:-D,-X1,-X 2,-X3,-X4,-X5,-X6,-X7,-X8,-X9";
        let expected: Vec<_> = expected.split(',').collect();
        assert_options(&line, &named, &expected, 4);
    }
}
