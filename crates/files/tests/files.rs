//! Tests of entries that exist under the names of output files beforehand. Some are put there by a
//! malicious user, others on purpose.

#![forbid(unsafe_code)]

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;

use perk_files::{Access, Destination, Part, PrivateFolder, give, nameless};
use tempfile::TempDir;

/// A user other than the one that runs the tests.
const STRANGER: u32 = 54_321;

fn folder() -> TempDir {
    tempfile::tempdir().unwrap()
}

#[track_caller]
fn part(target: &Path, access: Access) -> Part {
    match Destination::open(target, access).unwrap() {
        Destination::File(part) => part,
        Destination::Stream(_) => panic!("{} is a file", target.display()),
    }
}

#[track_caller]
fn write(target: &Path, text: &str) {
    let mut part = part(target, Access::Usual);
    part.file().write_all(text.as_bytes()).unwrap();
    part.finish().unwrap();
}

#[track_caller]
fn refused(target: &Path) -> io::Error {
    Destination::check(target).unwrap_err();
    Destination::open(target, Access::Usual).unwrap_err()
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<_> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

fn pipe(folder: &Path) -> PathBuf {
    let pipe = folder.join("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    pipe
}

/// Creates a folder that all users may write to, like /tmp.
fn shared() -> TempDir {
    let folder = folder();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o1777)).unwrap();
    folder
}

/// Gives a file to another user. Returns whether this user can do that.
fn given_away(path: &Path) -> bool {
    let given = std::os::unix::fs::lchown(path, Some(STRANGER), None).is_ok();
    if !given {
        eprintln!("*** NOT TESTED: only root can give files to other users ***");
    }
    given
}

#[test]
fn a_file_has_its_name_when_it_is_whole() {
    let folder = folder();
    let target = folder.path().join("o.txt");
    fs::write(&target, "old").unwrap();
    let mut new = part(&target, Access::Usual);
    new.file().write_all(b"new").unwrap();
    assert_eq!(fs::read_to_string(&target).unwrap(), "old");
    new.finish().unwrap();
    assert_eq!(fs::read_to_string(&target).unwrap(), "new");
    drop(new);
    drop(part(&target, Access::Usual));
    assert_eq!(names(folder.path()), ["o.txt"]);
}

#[test]
fn what_is_kept_stays_until_the_next() {
    let folder = folder();
    let target = folder.path().join("o.txt");
    let mut left = part(&target, Access::Usual);
    left.keep();
    let (other, path) = (part(&target, Access::Usual), left.path().to_owned());
    assert!(path.exists(), "it is locked");
    drop((left, other));
    assert!(path.exists());
    // A part of another target, and a file that is not a part of any program.
    let foreign = [folder.path().join("p.txt.perk-aaaaaa.part"), folder.path().join("o.txt.part")];
    foreign.iter().for_each(|path| fs::write(path, "").unwrap());
    write(&target, "new");
    assert!(!path.exists() && foreign.iter().all(|path| path.exists()));
}

#[test]
fn links_and_pipes_under_the_names_of_parts_are_left_alone() {
    let folder = folder();
    let target = folder.path().join("o.txt");
    let victim = folder.path().join("victim");
    fs::write(&victim, "precious").unwrap();
    let link = folder.path().join("o.txt.perk-aaaaaa.part");
    symlink(&victim, &link).unwrap();
    fs::rename(pipe(folder.path()), folder.path().join("o.txt.perk-bbbbbb.part")).unwrap();
    write(&target, "new");
    assert_eq!(fs::read_to_string(&victim).unwrap(), "precious");
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
}

#[test]
fn links_lead_to_the_file_that_is_replaced() {
    let folder = folder();
    fs::create_dir(folder.path().join("sub")).unwrap();
    let (link, second) = (folder.path().join("link"), folder.path().join("second"));
    symlink("sub/real", &second).unwrap();
    symlink(&second, &link).unwrap();
    for text in ["new", "newer"] {
        write(&link, text);
        assert_eq!(fs::read_to_string(folder.path().join("sub/real")).unwrap(), text);
    }
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    symlink("loop", folder.path().join("loop")).unwrap();
    refused(&folder.path().join("loop"));
}

#[test]
fn links_and_pipes_of_others_are_not_trusted() {
    let folder = shared();
    let victim = folder.path().join("victim");
    fs::write(&victim, "precious").unwrap();
    let link = folder.path().join("link");
    symlink(&victim, &link).unwrap();
    let pipe = pipe(folder.path());
    let owner = [&link, &pipe].map(|path| given_away(path));
    if owner != [true; 2] {
        return;
    }
    // The folder's owner is trusted: root in the first case, the stranger in the other.
    assert_eq!(refused(&link).to_string(), "it is a link of another user's");
    assert_eq!(refused(&pipe).to_string(), "it is a pipe of another user's");
    chown(folder.path(), Some(STRANGER), None).unwrap();
    Destination::check(&link).unwrap();
    Destination::check(&pipe).unwrap();
}

#[test]
fn what_is_no_file_is_refused_or_written_to() {
    let folder = folder();
    let socket = folder.path().join("socket");
    let _listener = UnixListener::bind(&socket).unwrap();
    assert_eq!(refused(&socket).to_string(), "it is a socket, not a file");
    assert_eq!(refused(folder.path()).to_string(), "it is a folder");
    for none in ["/", ".", "..", ""] {
        refused(Path::new(none));
    }
    refused(&folder.path().join("none/o.txt"));
    for device in ["/dev/null", "/dev/stdout", "/dev/fd/2"] {
        let opened = Destination::open(Path::new(device), Access::Usual).unwrap();
        assert!(matches!(opened, Destination::Stream(_)), "{device}");
    }
    let mut file = File::create(folder.path().join("open")).unwrap();
    file.write_all(b"first ").unwrap();
    let name = format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&file));
    let opened = Destination::open(Path::new(&name), Access::Usual).unwrap();
    opened.file().write_all(b"second").unwrap();
    assert_eq!(fs::read_to_string(folder.path().join("open")).unwrap(), "first second");
}

#[test]
fn a_pipe_is_written_to_whole() {
    let folder = folder();
    let pipe = pipe(folder.path());
    Destination::check(&pipe).unwrap();
    let source = folder.path().join("source");
    // More than fits into a pipe, so that writing waits for the reader.
    fs::write(&source, vec![7; 1 << 20]).unwrap();
    thread::scope(|scope| {
        let reader = scope.spawn(|| fs::read(&pipe).unwrap());
        give(&source, &pipe).unwrap();
        assert_eq!(reader.join().unwrap(), vec![7; 1 << 20]);
    });
}

#[test]
fn what_may_not_be_written_is_not_replaced() {
    let folder = folder();
    let target = folder.path().join("o.txt");
    fs::write(&target, "old").unwrap();
    fs::set_permissions(&target, fs::Permissions::from_mode(0o400)).unwrap();
    if File::options().write(true).open(&target).is_err() {
        assert_eq!(refused(&target).kind(), io::ErrorKind::PermissionDenied);
    }
    assert_eq!(fs::read_to_string(&target).unwrap(), "old");
}

#[test]
fn a_heap_is_its_owners_alone() {
    let folder = folder();
    let target = folder.path().join("o.hprof");
    fs::write(&target, "old").unwrap();
    let mut part = part(&target, Access::Owner);
    assert_eq!(mode(part.path()), 0o600);
    let copy = part.show_copy().unwrap();
    assert_eq!(mode(&target), 0o600);
    drop(copy);
    part.show().unwrap();
    part.finish().unwrap();
    assert_eq!(mode(&target), 0o600);
    let given = folder.path().join("given");
    give(&target, &given).unwrap();
    assert_eq!(mode(&given), 0o600);
    assert_eq!(names(folder.path()), ["given", "o.hprof"]);
    let private = PrivateFolder::create(folder.path(), "perk-").unwrap();
    assert_eq!(mode(private.path()), 0o700);
    let mut nameless = nameless(private.path()).unwrap();
    nameless.write_all(b"x").unwrap();
    assert!(names(private.path()).is_empty());
    drop(private);
    assert_eq!(nameless.read(&mut [0; 1]).unwrap(), 0);
    assert_eq!(names(folder.path()), ["given", "o.hprof"]);
}
