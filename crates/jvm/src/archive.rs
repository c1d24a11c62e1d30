//! The JVM's archives of its classes: CDS, and the AOT cache.
//!
//! A JVM cannot use an archive if an agent changes its first classes. It tries nevertheless: JDK 25 then
//! says so on the program's stdout, and a JVM that must use an archive (`-Xshare:on`, `-XX:AOTMode=on`)
//! does not start. It runs as without an archive if it does not try.

use crate::{clear_exported_bool, set_bool_flag, text_flag};

/// Makes the JVM run without its archive, before it looks for it: while agents are loaded.
///
/// # Errors
/// The reason why the JVM must not run with changed classes.
pub fn leave() -> Result<(), String> {
    if is_recorded() {
        return Err("this JVM records for an AOT cache (-XX:AOTMode=record or \
                    -XX:AOTCacheOutput) and crashes at its end if an agent changes classes: leave \
                    the option out, or take samples (cpu=samples)"
            .to_owned());
    }
    // Flags in JDK 17. The JVM reads the second one if it finds no archive.
    for flag in [c"UseSharedSpaces", c"RequireSharedSpaces"] {
        set_bool_flag(flag, false);
    }
    // Since JDK 19 a variable, which the JVM exports for debuggers.
    clear_exported_bool(c"UseSharedSpaces");
    Ok(())
}

/// Whether the JVM records what it writes into an AOT cache at its end. Its classes and what it says
/// about them are those of the program.
pub fn is_recorded() -> bool {
    text_flag(c"AOTMode").is_some_and(|mode| mode == "record")
        || text_flag(c"AOTCacheOutput").is_some()
}
