//! Manual pages, made of the help texts: one for perk, and one for each command.

use std::fs;
use std::io::{self, Write};
use std::path::Path;

use anyhow::{Context, bail};
use clap::Command;
use clap_mangen::Man;
use perk_files::Access;

use crate::args::{ManArgs, help};
use crate::output;

/// Prints a page, or writes all pages into a folder.
pub(crate) fn man(args: &ManArgs) -> anyhow::Result<()> {
    let pages = pages();
    if let Some(folder) = &args.folder {
        return write_all(&pages, folder);
    }
    let name = args.command.as_deref().map_or_else(|| "perk".to_owned(), |it| format!("perk-{it}"));
    let Some(page) = pages.iter().find(|page| name_of(page) == name) else {
        let commands = pages.iter().filter_map(|page| name_of(page).strip_prefix("perk-"));
        bail!(
            "perk man {}: unknown command; the commands are {}",
            args.command.as_deref().unwrap_or_default(),
            commands.collect::<Vec<_>>().join(", ")
        );
    };
    let mut out = io::stdout().lock();
    render(page, &mut out)?;
    Ok(out.flush()?)
}

/// perk, and each of its commands.
fn pages() -> Vec<Command> {
    let mut perk = help::command().disable_help_subcommand(true);
    perk.build();
    let commands: Vec<_> =
        perk.get_subcommands().filter(|command| !command.is_hide_set()).cloned().collect();
    let mut pages = vec![perk];
    pages.extend(commands);
    pages
}

/// The name of a page, such as `perk-run`.
fn name_of(page: &Command) -> &str {
    page.get_display_name().unwrap_or(page.get_name())
}

fn write_all(pages: &[Command], folder: &Path) -> anyhow::Result<()> {
    fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    for page in pages {
        let path = folder.join(format!("{}.1", name_of(page)));
        output::write_file(&path, Access::Usual, &|out| render(page, out))?;
    }
    Ok(())
}

fn render(page: &Command, out: &mut dyn Write) -> io::Result<()> {
    let source = concat!("perk ", env!("CARGO_PKG_VERSION"));
    Man::new(page.clone()).source(source).manual("perk").render(&mut { out })
}
