//! The place of the socket, and the options with which `perk attach` loads the agent.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// The option of an agent that is loaded into a running JVM: it opens its control socket and
/// measures nothing. `control=PATH` opens it at `PATH`.
pub const ATTACH_OPTION: &str = "control";

/// The longest path of a Unix socket, in bytes. The address has a NUL after it.
const LONGEST_PATH: usize = 107;
/// The longest name of a socket: that of the largest process id.
const LONGEST_NAME: usize = "4294967295.sock".len();

/// Returns the folders in which a JVM of the user `uid` may have its socket, best first.
/// `runtime_folder` is the value of `XDG_RUNTIME_DIR` in the environment of the JVM. It counts if it
/// is absolute and leaves room for the name of a socket.
pub fn folders(runtime_folder: Option<&OsStr>, uid: u32) -> Vec<PathBuf> {
    let of_runtime = runtime_folder
        .map(Path::new)
        .filter(|folder| folder.is_absolute())
        .map(|folder| folder.join("perk"))
        .filter(|folder| folder.as_os_str().len() + 1 + LONGEST_NAME <= LONGEST_PATH);
    of_runtime.into_iter().chain([PathBuf::from(format!("/tmp/perk-{uid}"))]).collect()
}

/// Returns the name of the socket of the process `pid`, which is its id in its own namespace.
pub fn socket_name(pid: u32) -> String {
    format!("{pid}.sock")
}

/// Whether a socket can have this path.
pub fn is_short_enough(socket: &Path) -> bool {
    socket.as_os_str().len() <= LONGEST_PATH
}

/// Returns the options for an agent that is loaded into a running JVM. `socket` is a path that the
/// agent shall use instead of its own choice.
pub fn attach_options(socket: Option<&str>) -> String {
    match socket {
        None => ATTACH_OPTION.to_owned(),
        Some(path) => format!("{ATTACH_OPTION}={path}"),
    }
}

/// Parses the options of an agent that is loaded into a running JVM: the path that it shall use, if
/// they have one. `None` if they do not ask for the control socket, or have a path that cannot be one.
pub fn attach_socket(options: &[u8]) -> Option<Option<PathBuf>> {
    match options.strip_prefix(ATTACH_OPTION.as_bytes())? {
        [] => Some(None),
        [b'=', path @ ..] => {
            let path = Path::new(OsStr::from_bytes(path));
            (path.is_absolute() && is_short_enough(path)).then(|| Some(path.to_owned()))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_runtime_folder_comes_first() {
        let of = |folder: Option<&str>| folders(folder.map(OsStr::new), 1000);
        let paths = |folders: &[&str]| folders.iter().map(PathBuf::from).collect::<Vec<_>>();
        let fallback = paths(&["/tmp/perk-1000"]);
        assert_eq!(of(None), fallback);
        assert_eq!(of(Some("/run/user/1000")), paths(&["/run/user/1000/perk", "/tmp/perk-1000"]));
        for unusable in ["", "run", &format!("/{}", "x".repeat(90))] {
            assert_eq!(of(Some(unusable)), fallback, "{unusable}");
        }
        let longest = of(Some(&format!("/{}", "x".repeat(85)))).remove(0);
        let socket = longest.join(socket_name(u32::MAX));
        assert_eq!((socket.as_os_str().len(), is_short_enough(&socket)), (LONGEST_PATH, true));
    }

    #[test]
    fn options_that_load_the_agent_are_read_back() {
        for socket in [None, Some("/dev/shm/perk-0/7.sock"), Some("/a=b,c")] {
            let options = attach_options(socket);
            assert_eq!(attach_socket(options.as_bytes()), Some(socket.map(PathBuf::from)));
        }
        let long = format!("control=/{}", "x".repeat(LONGEST_PATH));
        for other in ["", "controls", "control=", "control=a/b", "cpu=samples", &long] {
            assert_eq!(attach_socket(other.as_bytes()), None, "{other}");
        }
    }
}
