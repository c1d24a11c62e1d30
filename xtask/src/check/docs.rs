//! The pages of documentation: their links, and what the page on architecture says of the workspace.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Component, Path, PathBuf};

use anyhow::{Context, Result};
use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

use super::layers::MAY_BE_UNSAFE;
use crate::workspace::{Metadata, root};

/// The page that begins with the map of the workspace.
const ARCHITECTURE: &str = "docs/architecture.md";
/// The most lines of that page.
const MOST_LINES: usize = 350;

/// Checks all pages of the workspace.
pub(super) fn check(_: &Metadata) -> Result<Vec<String>> {
    let mut found = Vec::new();
    for path in pages(root())? {
        let text = read(&path)?;
        let shown = path.strip_prefix(root()).unwrap_or(&path).display();
        for link in Page::of(&text).links {
            if let Some(fault) = fault(&path, &link)? {
                found.push(format!("{shown}: {link}: {fault}"));
            }
        }
    }
    found.extend(of_architecture(&read(&root().join(ARCHITECTURE))?));
    Ok(found)
}

fn read(path: &Path) -> Result<String> {
    fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))
}

/// Returns the pages below a folder, without what is built or fetched.
fn pages(folder: &Path) -> Result<Vec<PathBuf>> {
    let cannot_read = || format!("cannot read {}", folder.display());
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).with_context(cannot_read)? {
        let path = entry.with_context(cannot_read)?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if name == "target" || name.starts_with('.') || path.is_symlink() {
            continue;
        }
        if path.is_dir() {
            found.extend(pages(&path)?);
        } else if name.ends_with(".md") {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

/// What others can link to on a page, and where it leads itself.
#[derive(Debug, Default)]
struct Page {
    anchors: BTreeSet<String>,
    links: Vec<String>,
}

impl Page {
    fn of(text: &str) -> Self {
        let mut page = Self::default();
        let mut heading: Option<String> = None;
        for event in Parser::new_ext(text, Options::ENABLE_TABLES) {
            match event {
                Event::Start(Tag::Heading { .. }) => heading = Some(String::new()),
                Event::End(TagEnd::Heading(_)) => {
                    let anchor = anchor(&heading.take().unwrap_or_default());
                    let is_new = page.anchors.insert(anchor.clone());
                    if !is_new {
                        let numbers = (1..).map(|number| format!("{anchor}-{number}"));
                        let free = numbers.into_iter().find(|it| !page.anchors.contains(it));
                        page.anchors.extend(free);
                    }
                }
                Event::Text(text) | Event::Code(text) => {
                    if let Some(heading) = &mut heading {
                        heading.push_str(&text);
                    }
                }
                Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
                    page.links.push(dest_url.into_string());
                }
                Event::InlineHtml(html) | Event::Html(html) => {
                    let id = html.split_once("id=\"").and_then(|(_, rest)| rest.split_once('"'));
                    page.anchors.extend(id.map(|(id, _)| id.to_owned()));
                }
                _ => {}
            }
        }
        page
    }
}

/// Returns the anchor that GitHub gives a heading.
fn anchor(heading: &str) -> String {
    let kept = heading.trim().chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c));
    kept.flat_map(char::to_lowercase).map(|c| if c == ' ' { '-' } else { c }).collect()
}

/// Returns what is wrong with a link of the page at `path`.
fn fault(path: &Path, link: &str) -> Result<Option<String>> {
    if link.contains("://") || link.starts_with("mailto:") {
        return Ok(None);
    }
    let (file, anchor) = link.split_once('#').map_or((link, None), |(a, b)| (a, Some(b)));
    let target = match file {
        "" => path.to_owned(),
        file => normal(&path.parent().unwrap_or(path).join(file)),
    };
    if !target.exists() {
        return Ok(Some("no such file: correct the link".to_owned()));
    }
    let Some(anchor) = anchor.filter(|_| target.extension().is_some_and(|it| it == "md")) else {
        return Ok(None);
    };
    let has_anchor = Page::of(&read(&target)?).anchors.contains(anchor);
    Ok((!has_anchor).then(|| "no such heading: correct the link".to_owned()))
}

/// Returns a path without `..`.
fn normal(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => drop(normal.pop()),
            part => normal.push(part),
        }
    }
    normal
}

/// Compares the page on architecture with the workspace.
fn of_architecture(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let lines = text.lines().count();
    if lines > MOST_LINES {
        found.push(format!(
            "{ARCHITECTURE} has {lines} lines: move what is not map, model, flow or invariant, so that \
             {MOST_LINES} are left"
        ));
    }
    let names = MAY_BE_UNSAFE.iter().map(|name| format!("`{}`", name.trim_start_matches("perk-")));
    let mut names: Vec<_> = names.collect();
    let last = names.pop().unwrap_or_default();
    let sentence = format!("`unsafe` is in {} and {last}.", names.join(", "));
    if !text.split_whitespace().collect::<Vec<_>>().join(" ").contains(&sentence) {
        found.push(format!("write in {ARCHITECTURE}: {sentence}"));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headings_have_the_anchors_of_github() {
        let page = Page::of(
            "# The JVM's own `-Xprof`: *one*\n\n## Twice\n\n## Twice\n\n<a id=\"here\"></a>**Here.**\n\n```\n\
             # no heading [x](y)\n```\n[a](b.md#c) `[no](link)`\n\n| a |\n|---|\n| [d](e) |\n",
        );
        let anchors = ["here", "the-jvms-own--xprof-one", "twice", "twice-1"];
        assert!(page.anchors.iter().eq(anchors), "{:?}", page.anchors);
        assert_eq!(page.links, ["b.md#c", "e"]);
    }

    #[test]
    fn links_that_lead_nowhere_are_found() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("docs")).unwrap();
        let page = folder.path().join("docs/a.md");
        fs::write(&page, "# Here\n").unwrap();
        fs::write(folder.path().join("b.md"), "## There\n").unwrap();
        let is_wrong = |link: &str| fault(&page, link).unwrap().is_some();
        for link in ["../b.md", "../b.md#there", "#here", "a.md", "https://x.y/z", "../docs"] {
            assert!(!is_wrong(link), "{link}");
        }
        for link in ["b.md", "../b.md#here", "#there", "../../docs/no.md"] {
            assert!(is_wrong(link), "{link}");
        }
    }

    #[test]
    fn the_page_on_architecture_is_held_to_its_word() {
        let sentence = "**`unsafe` is in `jvmti-sys`, `jvm`,\n`jvmpi` and `agent`.**\n";
        assert_eq!(of_architecture(sentence), [""; 0]);
        assert_eq!(of_architecture("").len(), 1);
        assert_eq!(of_architecture(&(sentence.to_owned() + &"\n".repeat(400))).len(), 1);
    }
}
