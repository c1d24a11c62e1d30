//! The names of unfinished files: `NAME.perk-k3f9a2.part`. The remains of a killed program are thus
//! found beside the target.

use std::ffi::{OsStr, OsString};
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

const BEGIN: &[u8] = b".perk-";
const END: &[u8] = b".part";
const LETTERS: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";
const LETTER_COUNT: usize = 6;
/// The longest stem of a name, because a name has at most 255 bytes.
const MOST_NAME_BYTES: usize = 255 - BEGIN.len() - LETTER_COUNT - END.len();
/// The number of further attempts if a name exists already.
const TRIES: u32 = 64;

/// Creates an entry with a new name beside `target`; `make` fails if the name exists.
pub(crate) fn beside<T>(
    target: &Path,
    make: impl FnMut(&Path) -> io::Result<T>,
) -> io::Result<(PathBuf, T)> {
    let mut begin = stem(target)?.to_vec();
    begin.extend(BEGIN);
    unique(folder_of(target), &begin, END, make)
}

/// Creates an entry with a new name in a folder.
pub(crate) fn unique<T>(
    folder: &Path,
    begin: &[u8],
    end: &[u8],
    mut make: impl FnMut(&Path) -> io::Result<T>,
) -> io::Result<(PathBuf, T)> {
    let mut tries = 0;
    loop {
        let name = [begin, &random_letters(), end].concat();
        let path = folder.join(OsString::from_vec(name));
        match make(&path) {
            Ok(made) => return Ok((path, made)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && tries < TRIES => {
                tries += 1;
            }
            Err(error) => return Err(error),
        }
    }
}

/// Whether a name has the form that [`beside`] gives to entries for `target`.
pub(crate) fn is_beside(name: &OsStr, target: &Path) -> bool {
    let letters = stem(target).ok().and_then(|stem| {
        name.as_bytes().strip_prefix(stem)?.strip_prefix(BEGIN)?.strip_suffix(END)
    });
    letters.is_some_and(|letters| {
        letters.len() == LETTER_COUNT && letters.iter().all(|letter| LETTERS.contains(letter))
    })
}

/// Returns the folder that contains a path's last name.
pub(crate) fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

fn stem(target: &Path) -> io::Result<&[u8]> {
    let name = target.file_name().ok_or(io::ErrorKind::InvalidFilename)?.as_bytes();
    Ok(&name[..name.len().min(MOST_NAME_BYTES)])
}

/// Returns random letters. They come from the keys of a new hasher, which are random numbers of the
/// system.
fn random_letters() -> [u8; LETTER_COUNT] {
    let mut bits = RandomState::new().hash_one(std::process::id());
    [(); LETTER_COUNT].map(|()| {
        let letter = LETTERS[(bits % LETTERS.len() as u64) as usize];
        bits /= LETTERS.len() as u64;
        letter
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_known_again_and_no_others() {
        let target = Path::new("/x/o.txt");
        let (path, ()) = beside(target, |_| Ok(())).unwrap();
        assert_eq!(path.parent(), Some(Path::new("/x")));
        assert!(is_beside(path.file_name().unwrap(), target), "{}", path.display());
        let (other, ()) = beside(target, |_| Ok(())).unwrap();
        assert_ne!(path, other);
        for name in [
            "o.txt",
            "o.txt.part",
            "o.txt.perk-.part",
            "o.txt.backup.part",
            "o.txt.perk-abcdeF.part",
        ] {
            assert!(!is_beside(OsStr::new(name), target), "{name}");
        }
        assert!(!is_beside(path.file_name().unwrap(), Path::new("/x/p.txt")));
    }

    #[test]
    fn the_longest_names_have_room() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("x".repeat(255));
        let (path, _) = beside(&target, |path| std::fs::File::create_new(path)).unwrap();
        assert!(is_beside(path.file_name().unwrap(), &target));
        for none in ["/", "..", ""] {
            assert!(beside(Path::new(none), |_| Ok(())).is_err(), "{none}");
        }
    }

    #[test]
    fn what_is_there_already_is_not_taken() {
        let mut tried = 0;
        let made = beside(Path::new("a"), |_| {
            tried += 1;
            if tried < 3 { Err(io::ErrorKind::AlreadyExists.into()) } else { Ok(tried) }
        });
        assert_eq!(made.unwrap().1, 3);
        let refused: io::Result<(_, ())> =
            beside(Path::new("a"), |_| Err(io::ErrorKind::AlreadyExists.into()));
        assert!(refused.is_err());
    }
}
