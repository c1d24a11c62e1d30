//! The options of JVMPI: `-agentpath:libperk.so=[methods=…,…]jvmpi[=LIB[=options]]`.
//!
//! `jvmpi=` takes the rest of the string: the library, up to the next `=` or `,`, and its own options,
//! with all their commas. Options of perk stand before it. Without a library, `-Xrun` loads one.

use std::fmt;

/// The name of the option that begins them.
const NAME: &str = "jvmpi";

/// Longest value that an error repeats, in characters.
const SHOWN: usize = 80;

/// The options of JVMPI.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Jvmpi {
    /// The library to load; `None` if the JVM loads it.
    pub library: Option<Library>,
    /// The source of the events of methods.
    pub methods: Methods,
    /// Send INSTRUCTION_START (`instructions=y`).
    pub instructions: bool,
    /// Class names have slashes (`names=slash`), as in JDK 1.2, not dots.
    pub has_slashes: bool,
    /// `lookupswitch_info` has `is_default` (`lookupswitch=default`), not the number of pairs.
    pub reports_default: bool,
    /// Print the accounting when the JVM ends (`verbose=y`).
    pub verbose: bool,
}

/// A profiler library.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Library {
    /// Its path, or its name without `lib` and `.so`.
    pub name: String,
    /// Its options; `None` if there are none.
    pub options: Option<String>,
}

/// The source of the events of methods.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Methods {
    /// `methods=probes`: instructions that perk puts into the methods.
    #[default]
    Probes,
    /// `methods=vm`: the JVM's own events, for which it only interprets.
    Vm,
}

/// A mistake in the options, as a line for stderr.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JvmpiError(String);

impl fmt::Display for JvmpiError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "HPROF ERROR: {}", self.0)
    }
}

impl std::error::Error for JvmpiError {}

impl Jvmpi {
    /// Parses the agent's options; `None` if they do not ask for JVMPI.
    ///
    /// # Errors
    /// An option beside `jvmpi` is unknown, such as one of an analysis, or has a wrong value.
    pub fn parse(options: &str) -> Option<Result<Self, JvmpiError>> {
        let mut rest = options;
        let mut before = Vec::new();
        loop {
            let (item, next) =
                rest.split_once(',').map_or((rest, None), |(it, rest)| (it, Some(rest)));
            if item == NAME {
                let after = next.into_iter().flat_map(|next| next.split(','));
                return Some(Self::of(before.into_iter().chain(after), None));
            }
            if item.strip_prefix(NAME).is_some_and(|it| it.starts_with('=')) {
                return Some(Self::of(before.into_iter(), Some(&rest[NAME.len() + 1..])));
            }
            before.push(item);
            rest = next?;
        }
    }

    fn of<'a>(
        options: impl Iterator<Item = &'a str>,
        library: Option<&str>,
    ) -> Result<Self, JvmpiError> {
        let mut parsed = Self::default();
        options.into_iter().try_for_each(|option| parsed.set(option))?;
        parsed.library = library.map(Library::parse).transpose()?;
        Ok(parsed)
    }

    fn set(&mut self, option: &str) -> Result<(), JvmpiError> {
        let (name, value) = option.split_once('=').unwrap_or((option, ""));
        let yes = || match value {
            "y" => Ok(true),
            "n" => Ok(false),
            _ => Err(wrong(name, value, "y or n")),
        };
        match name {
            "methods" => {
                self.methods = match value {
                    "probes" => Methods::Probes,
                    "vm" => Methods::Vm,
                    _ => return Err(wrong(name, value, "probes or vm")),
                }
            }
            "names" => {
                self.has_slashes = match value {
                    "dots" => false,
                    "slash" => true,
                    _ => return Err(wrong(name, value, "dots or slash")),
                }
            }
            "lookupswitch" => {
                self.reports_default = match value {
                    "pairs" => false,
                    "default" => true,
                    _ => return Err(wrong(name, value, "pairs or default")),
                }
            }
            "instructions" => self.instructions = yes()?,
            "verbose" => self.verbose = yes()?,
            _ => {
                return Err(JvmpiError(format!(
                    "jvmpi cannot be combined with {}: beside it are methods=probes|vm, \
                     names=dots|slash, lookupswitch=pairs|default, instructions=y and verbose=y",
                    shown(option)
                )));
            }
        }
        Ok(())
    }
}

impl Library {
    /// Parses `LIB[=options]`; also `LIB,options`, and `LIB:options` as `-Xrun` has it.
    ///
    /// # Errors
    /// There is no name.
    pub fn parse(text: &str) -> Result<Self, JvmpiError> {
        let end = text.find(['=', ',']).unwrap_or(text.len());
        let (name, options) = text.split_at(end);
        if name.is_empty() {
            return Err(JvmpiError("jvmpi= needs the name of a library".to_owned()));
        }
        Ok(Self { name: name.to_owned(), options: options.get(1..).map(str::to_owned) })
    }
}

fn wrong(name: &str, value: &str, known: &str) -> JvmpiError {
    JvmpiError(format!("{name}={} is unknown: give {known}", shown(value)))
}

fn shown(text: &str) -> String {
    text.chars().take(SHOWN).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(options: &str) -> Jvmpi {
        Jvmpi::parse(options).expect("it asks for JVMPI").expect("it is right")
    }

    fn error(options: &str) -> String {
        Jvmpi::parse(options).expect("it asks for JVMPI").unwrap_err().to_string()
    }

    fn library(name: &str, options: Option<&str>) -> Option<Library> {
        Some(Library { name: name.to_owned(), options: options.map(str::to_owned) })
    }

    #[test]
    fn a_library_has_the_rest_of_the_string() {
        assert_eq!(parsed("jvmpi=foo").library, library("foo", None));
        assert_eq!(parsed("jvmpi=./libfoo.so=").library, library("./libfoo.so", Some("")));
        let found = parsed("verbose=y,methods=vm,jvmpi=foo=a=1,jvmpi,methods=b");
        assert_eq!(found.library, library("foo", Some("a=1,jvmpi,methods=b")));
        assert!(found.verbose && found.methods == Methods::Vm);
        assert_eq!(parsed("jvmpi=foo,a=1").library, library("foo", Some("a=1")));
    }

    #[test]
    fn without_a_library_options_may_follow() {
        let found = parsed("jvmpi,instructions=y,names=slash,lookupswitch=default");
        assert!(found.instructions && found.has_slashes && found.reports_default);
        assert_eq!(found.library, None);
        assert_eq!(parsed("jvmpi"), Jvmpi::default());
    }

    #[test]
    fn others_do_not_ask_for_it() {
        for options in ["", "cpu=samples", "file=jvmpi", "jvmpix", "help", "cpu=samples,file=a,b"] {
            assert_eq!(Jvmpi::parse(options), None, "{options}");
        }
    }

    #[test]
    fn mistakes_are_named() {
        assert!(error("cpu=times,jvmpi=foo").contains("cannot be combined with cpu=times:"));
        assert!(error("jvmpi,heap=sites").contains("cannot be combined with heap=sites:"));
        assert!(error("methods=all,jvmpi").contains("methods=all is unknown: give probes or vm"));
        assert!(error("verbose,jvmpi").contains("verbose= is unknown: give y or n"));
        assert!(error("jvmpi=").contains("needs the name of a library"));
        assert!(error("jvmpi==a").contains("needs the name of a library"));
    }
}
