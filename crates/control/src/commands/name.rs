//! The names under which users give commands: `heap-summary`, `alloc-sites+gc=0.01`, `depth=8`.

use std::str::FromStr;

use super::{Command, ThreadId, Threads};

/// The name of a command, the argument that may follow it, and a description of its effect.
struct CommandName {
    name: &'static str,
    argument: &'static str,
    about: &'static str,
}

const fn name(name: &'static str, argument: &'static str, about: &'static str) -> CommandName {
    CommandName { name, argument, about }
}

const NAMES: [CommandName; 15] = [
    name("force-gc", "", "collect garbage"),
    name("dump-heap", "", "write a heap dump"),
    name(
        "alloc-sites",
        "[+changed][+allocated][+gc][=SHARE]",
        "write allocation sites: only those that changed since the last time, ordered by \
         allocated bytes, after a collection, those with a SHARE of the live bytes or more",
    ),
    name("heap-summary", "", "show the number of objects and bytes"),
    name("exit", "", "end the program at once, with exit code 0 and no last dump"),
    name("dump-traces", "", "write the traces that are not written yet"),
    name("cpu-samples", "[=SHARE]", "write the CPU samples so far, those with a SHARE or more"),
    name("alloc-on", "", "count allocations again"),
    name("alloc-off", "", "stop counting allocations"),
    name("cpu-on", "[=THREAD]", "sample all threads, or the one with this id"),
    name("cpu-off", "[=THREAD]", "stop sampling all threads, or the one with this id"),
    name("clear-cpu", "", "forget the CPU samples so far"),
    name("clear-sites", "", "count allocations from now on"),
    name("depth", "=N", "keep N frames of each trace"),
    name("eof", "", "send no more commands"),
];

/// The names of the flags of ALLOC SITES.
const FLAGS: [(&str, u16); 3] = [("changed", 0x1), ("allocated", 0x2), ("gc", 0x4)];

impl Command {
    /// Returns the names of all commands, with the arguments that may follow them, and descriptions
    /// of their effects.
    pub fn names() -> impl Iterator<Item = (String, &'static str)> {
        NAMES.iter().map(|it| (format!("{}{}", it.name, it.argument), it.about))
    }
}

impl FromStr for Command {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (before, argument) = match text.split_once('=') {
            Some((before, argument)) => (before, Some(argument)),
            None => (text, None),
        };
        let (name, flags) = match before.split_once('+') {
            Some((name, flags)) => (name, Some(flags)),
            None => (before, None),
        };
        let known = NAMES.iter().find(|it| it.name == name).ok_or_else(|| unknown(text))?;
        let wrong = || format!("{text:?} should be {name}{}", known.argument);
        if flags.is_some() && name != "alloc-sites"
            || argument.is_some() && !known.argument.contains('=')
        {
            return Err(wrong());
        }
        let share = || match argument {
            None => Ok(0.0),
            Some(text) => {
                let share = text.parse::<f32>().ok().filter(|share| (0.0..=1.0).contains(share));
                share.ok_or_else(|| format!("{text:?} is not a share: use a number from 0 to 1"))
            }
        };
        let threads = || match argument {
            None => Ok(Threads::All),
            Some(text) => thread(text).map(|id| Threads::One(ThreadId::from(id))),
        };
        Ok(match name {
            "force-gc" => Command::ForceGc,
            "dump-heap" => Command::DumpHeap,
            "alloc-sites" => {
                let bit = |name: &str| FLAGS.iter().find(|it| it.0 == name).map(|it| it.1);
                let mut bits = flags.into_iter().flat_map(|it| it.split('+')).map(bit);
                let flags = bits.try_fold(0, |all, it| Some(all | it?)).ok_or_else(wrong)?;
                Command::AllocSites { flags, cutoff: share()? }
            }
            "heap-summary" => Command::HeapSummary,
            "exit" => Command::Exit,
            "dump-traces" => Command::DumpTraces,
            "cpu-samples" => Command::CpuSamples { cutoff: share()? },
            "alloc-on" => Command::AllocOn,
            "alloc-off" => Command::AllocOff,
            "cpu-on" => Command::CpuOn(threads()?),
            "cpu-off" => Command::CpuOff(threads()?),
            "clear-cpu" => Command::ClearCpu,
            "clear-sites" => Command::ClearSites,
            "depth" => Command::Depth(argument.and_then(|it| it.parse().ok()).ok_or_else(wrong)?),
            _ => Command::Eof,
        })
    }
}

fn unknown(text: &str) -> String {
    let names: Vec<_> = NAMES.iter().map(|it| it.name).collect();
    format!("{text:?} is not a command; the commands are {}", names.join(", "))
}

/// Parses a thread's id: the number in its THREAD START line, or the id of its object in
/// hexadecimal.
fn thread(text: &str) -> Result<u64, String> {
    let id = match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16),
        None => text.parse(),
    };
    id.ok().filter(|&id| id != 0).ok_or_else(|| {
        format!("{text:?} is not a thread: use its number or, with 0x, its object's id")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_have_names() {
        let thread = |id: u64| Threads::One(ThreadId::from(id));
        for (text, command) in [
            ("heap-summary", Command::HeapSummary),
            ("alloc-sites", Command::AllocSites { flags: 0, cutoff: 0.0 }),
            ("alloc-sites=0.5", Command::AllocSites { flags: 0, cutoff: 0.5 }),
            ("alloc-sites+gc+changed+gc=0.5", Command::AllocSites { flags: 5, cutoff: 0.5 }),
            ("alloc-sites+allocated", Command::AllocSites { flags: 2, cutoff: 0.0 }),
            ("cpu-on", Command::CpuOn(Threads::All)),
            ("cpu-off=200001", Command::CpuOff(thread(200_001))),
            ("cpu-off=0x500000001", Command::CpuOff(thread(0x5_0000_0001))),
            ("depth=8", Command::Depth(8)),
            ("eof", Command::Eof),
        ] {
            assert_eq!(text.parse(), Ok(command), "{text}");
        }
        for (name, _) in Command::names() {
            let plain = name.split(['[', '=']).next().unwrap_or_default();
            let text = if plain == "depth" { "depth=1" } else { plain };
            assert!(text.parse::<Command>().is_ok(), "{text}");
        }
    }

    #[test]
    fn what_is_no_command_is_reported() {
        for (text, message) in [
            ("heap", "is not a command; the commands are force-gc, dump-heap,"),
            ("", "is not a command"),
            ("depth", "should be depth=N"),
            ("depth=70000", "should be depth=N"),
            ("force-gc=1", "should be force-gc"),
            ("force-gc+gc", "should be force-gc"),
            ("alloc-sites+new", "should be alloc-sites[+changed]"),
            ("alloc-sites=2", "is not a share"),
            ("cpu-samples=NaN", "is not a share"),
            ("cpu-on=0", "is not a thread"),
            ("cpu-on=main", "is not a thread"),
        ] {
            let error = text.parse::<Command>().unwrap_err();
            assert!(error.contains(message), "{text}: {error}");
        }
    }
}
