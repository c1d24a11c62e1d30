//! The user's browser.

use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::{env, fs, thread};

use anyhow::Context;
use perk_files::PrivateFolder;

/// The program that opens a page in the user's browser.
const OPENER: &str = "xdg-open";

/// Opens the page in the browser. All users see the arguments of a process, so the browser gets the name of a file
/// with the address, which only its owner can read. The file goes with the folder that is returned.
///
/// # Errors
/// There is no browser, or the file cannot be written: a line that says what to do.
pub fn open_page(url: &str) -> anyhow::Result<PrivateFolder> {
    open(url).map_err(|error| {
        anyhow::anyhow!("cannot open a browser ({error:#}): open the address yourself")
    })
}

fn open(url: &str) -> anyhow::Result<PrivateFolder> {
    let (folder, file) = redirection(url)?;
    let mut opener = Command::new(OPENER);
    opener.arg(file).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut opener = opener.spawn().with_context(|| format!("cannot start {OPENER}"))?;
    thread::spawn(move || opener.wait());
    Ok(folder)
}

/// A file that leads to the address.
fn redirection(url: &str) -> anyhow::Result<(PrivateFolder, PathBuf)> {
    let folder = PrivateFolder::create(&env::temp_dir(), "perk-serve-")?;
    let file = folder.path().join("perk.html");
    // The address has digits, letters and signs that mean nothing in HTML.
    let text = format!(
        "<!DOCTYPE html>\n<meta charset=\"utf-8\">\n<title>perk</title>\n\
         <meta http-equiv=\"refresh\" content=\"0; url={url}\">\n<a href=\"{url}\">perk</a>\n"
    );
    fs::write(&file, text).with_context(|| format!("cannot write {}", file.display()))?;
    Ok((folder, file))
}
