//! The arguments that several commands take.

use std::ops::RangeFrom;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use clap::Args;
use clap::builder::RangedU64ValueParser;
use perk_testkit::{Jdk, jdk};

/// The parser of numbers that are at least 1.
pub(crate) fn positive() -> RangedU64ValueParser<usize> {
    const POSITIVE: RangeFrom<u64> = 1..;
    RangedU64ValueParser::new().range(POSITIVE)
}

/// The JDKs of a command that measures several.
#[derive(Args, Debug, Default)]
pub(crate) struct JdkList {
    /// A JDK by its version or folder; repeat the option for more [default: all of this machine]
    #[arg(long = "jdk", value_name = "VERSION|HOME", value_parser = jdk)]
    chosen: Vec<Jdk>,
}

impl JdkList {
    /// Returns the chosen JDKs, or all of this machine.
    pub(crate) fn or_all(&self) -> Result<&[Jdk]> {
        let jdks = if self.chosen.is_empty() { jdk::all() } else { &self.chosen };
        ensure!(!jdks.is_empty(), "no JDK: set PERK_JDKS");
        Ok(jdks)
    }
}

/// The JDK of a command that uses one.
#[derive(Args, Debug, Default)]
pub(crate) struct JdkChoice {
    /// A JDK by its version or folder [default: the one that compiles the tests' programs]
    #[arg(long = "jdk", value_name = "VERSION|HOME", value_parser = jdk)]
    chosen: Option<Jdk>,
}

impl JdkChoice {
    /// Returns the chosen JDK, or the one that compiles the tests' programs.
    pub(crate) fn or_compiler(&self) -> &Jdk {
        self.chosen.as_ref().unwrap_or_else(|| jdk::compiler())
    }
}

/// Returns the JDK of a version, or the one in a folder.
pub(crate) fn jdk(text: &str) -> Result<Jdk> {
    match text.parse() {
        Ok(version) => {
            let missing = || format!("no JDK {version} on this machine: set PERK_JDKS");
            jdk::version(version).cloned().with_context(missing)
        }
        Err(_) => Jdk::at(Path::new(text)).with_context(|| format!("no JDK in {text}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_jdk_is_a_version_or_a_folder() {
        let compiler = jdk::compiler();
        assert_eq!(jdk(&compiler.home.display().to_string()).unwrap(), *compiler);
        assert_eq!(jdk(&compiler.version.to_string()).unwrap().version, compiler.version);
        let refusal = |text| jdk(text).unwrap_err().to_string();
        assert_eq!(refusal("3"), "no JDK 3 on this machine: set PERK_JDKS");
        assert_eq!(refusal("/no/such/jdk"), "no JDK in /no/such/jdk");
    }
}
