//! What happens outside of the page while it is open.

use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use serde_json::json;
use tempfile::TempDir;

use crate::{Page, testdata};

const NEWS: &str = "return document.getElementById('news').innerText";

/// Writes a file whose times of change differ, however fast the disk.
fn write(path: &Path, text: &str) {
    fs::write(path, text).unwrap();
}

impl Page {
    /// Looks for news at once, as a tab does that is seen again.
    fn wake(&self) {
        self.run("dispatchEvent(new Event('focus'))");
    }

    /// Waits until the news has this text; sources are listed at most every two seconds.
    #[track_caller]
    fn hear(&self, text: &str) {
        let found = format!("dispatchEvent(new Event('focus')); {NEWS}.includes({})", json!(text));
        self.wait_for(&found, &json!(true));
    }

    fn offline(&self, is_offline: bool) {
        let conditions = json!({"offline": is_offline, "latency": 0, "downloadThroughput": -1, "uploadThroughput": -1});
        self.browser.devtools("Network.enable", &json!({}));
        self.browser.devtools("Network.emulateNetworkConditions", &conditions);
    }
}

/// A file of stacks, and the page that shows its methods.
struct OpenFile {
    page: Page,
    file: PathBuf,
    _folder: TempDir,
}

impl OpenFile {
    /// Writes the file and opens it; `None` if there is no browser.
    fn new(stacks: &str) -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a.collapsed");
        write(&file, stacks);
        let page = Page::open(&[&file])?;
        page.go("/s/s1/methods");
        Some(Self { page, file, _folder: folder })
    }
}

#[test]
fn a_file_that_changes_is_loaded_when_the_user_wants_it() {
    let Some(OpenFile { page, file, .. }) = &OpenFile::new("a.A.one 5\n") else { return };
    let names =
        "return document.querySelector('.grid').textContent.match(/A\\.(one|two)/g)?.join()";
    page.wait_for(names, &json!("A.one"));
    write(file, "a.A.one 5\na.A.two 6\n");
    page.hear("a.collapsed has changed since it was read.");
    page.wait_for(names, &json!("A.one"));
    // Another question is about what was read, and has no answer any more.
    page.after(|page| page.browser.keys("4"));
    page.wait_for(
        &format!("{NEWS}.endsWith(' has changed since it was read.\\nLoad it')"),
        &json!(true),
    );
    page.after(|page| {
        page.run("document.querySelector('#news button').click()");
    });
    assert!(page.address().starts_with("/s/s1/tree"), "{}", page.address());
    page.wait_for(
        "return document.querySelector('.grid').innerText.includes('A.two')",
        &json!(true),
    );
    page.wait_for("return document.getElementById('news').hidden", &json!(true));
    // What is gone stays in view.
    fs::remove_file(file).unwrap();
    page.hear("What is shown stays.");
    page.wait_for(
        "return document.querySelector('.grid').innerText.includes('A.two')",
        &json!(true),
    );
}

#[test]
fn a_tab_that_slept_says_what_it_has_lost() {
    let Some(OpenFile { page, .. }) = &OpenFile::new("a.A.one;a.A.two 5\n") else { return };
    // The server is away, and comes back: what failed is shown then.
    page.offline(true);
    page.after(|page| page.browser.keys("4"));
    page.hear("perk serve does not answer");
    page.offline(false);
    page.wake();
    page.wait_for(
        "return document.querySelector('.grid')?.innerText.includes('A.two') ?? false",
        &json!(true),
    );
    page.wait_for("return document.getElementById('news').hidden", &json!(true));
    // The session is gone: what is shown stays, until the address is opened again.
    page.browser.devtools("Network.clearBrowserCookies", &json!({}));
    page.hear("This browser has no session: open the address that perk serve printed");
    page.wait_for(
        "return document.querySelector('.grid').innerText.includes('A.two')",
        &json!(true),
    );
    page.run(&format!(
        "return fetch('/api/session', {{ method: 'POST', body: {} }}).then((it) => it.status)",
        json!(page.token)
    ));
    page.wake();
    page.wait_for("return document.getElementById('news').hidden", &json!(true));
}

#[test]
fn two_tabs_share_the_session() {
    let Some(OpenFile { page, .. }) = &OpenFile::new("a.A.one 5\n") else { return };
    let url = format!("{}/s/s1/tree", page.origin);
    page.browser.devtools("Target.createTarget", &json!({"url": url, "background": true}));
    page.after(|page| page.browser.keys("4"));
    page.wait_for(
        "return document.querySelector('.grid').innerText.includes('A.one')",
        &json!(true),
    );
    page.assert_silent();
}

#[test]
fn hostile_names_are_text_in_every_view() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("<script><b>\u{202e}.collapsed");
    let hostile = "</script><script>x()</script>";
    write(
        &file,
        &format!(
            "x.<img src=x>.M.a\u{202e}b;{hostile}.K.m\u{1b}[31m;y.&lt;.Z.\u{200b} 5\nx.M.c 2\n"
        ),
    );
    let Some(page) = Page::open(&[folder.path()]) else { return };
    let mut all = crate::views(&page);
    all.extend(
        all.clone().iter().filter(|it| it.ends_with("/methods")).map(|it| format!("{it}?at=0")),
    );
    assert!(all.len() > 4, "{all:?}");
    all.iter().for_each(|view| assert_plain(&page, view));
    // Two files, and two parts of one whose names select them.
    let other = folder.path().join("b<i>\u{202e}.collapsed");
    write(&other, &format!("x.M.a\u{202e}b;{hostile}.K.m\u{1b}[31m 9\n"));
    let listed =
        "return fetch('/api/sources').then((it) => it.json()).then((it) => it.sources.length)";
    page.wait_for(listed, &json!(2));
    page.go("/");
    for question in
        ["with=s2&at=0", "before-focus=x.M.c&after-focus=x.M.*", "before-thread=<b>\u{202e}"]
    {
        assert_plain(&page, &format!("/s/s1/compare?{question}"));
    }
}

/// Fails unless what a view shows is text, and none of it hidden.
#[track_caller]
fn assert_plain(page: &Page, view: &str) {
    page.go(view);
    let found = page.run(
        "const texts = [document.title, document.body.textContent, ...[...document.querySelectorAll('*')]
           .flatMap((it) => ['title', 'aria-label', 'placeholder'].map((name) => it.getAttribute(name) ?? ''))];
         const hidden = texts.find((it) => /[\\u0000-\\u0008\\u001b\\u200b\\u202a-\\u202e]/.test(it));
         return [hidden ?? -1, document.querySelectorAll('img, #view b, #view i:not([class]):not(:empty), #side b, #head b, body script').length]",
    );
    assert_eq!(found, json!([-1, 0]), "{view}");
}

/// A real heap dump in which names of classes, fields and threads are replaced by hostile ones of the same length.
#[test]
fn hostile_names_of_a_heap_are_text_in_every_view() {
    let dump = fs::read(testdata("hprof/all-b-alloc.hprof.gz")).unwrap();
    let mut bytes = Vec::new();
    flate2::read::GzDecoder::new(&*dump).read_to_end(&mut bytes).unwrap();
    for (name, hostile) in [
        (&b"AllocSites$Node"[..], "<b>\u{202e}</script>".as_bytes()),
        (b"AllocSites", b"<img\x1b[31m>"),
        (b"textOut", "<i>\u{202e}x".as_bytes()),
        (b"\0F\0i\0n\0a\0l\0i\0z\0e\0r", b"\0<\0b\0>\x20\x2e\0<\0i\0>\0e\0r"),
    ] {
        assert_eq!(name.len(), hostile.len());
        let windows = bytes.windows(name.len()).enumerate();
        let places: Vec<_> = windows.filter(|it| it.1 == name).map(|it| it.0).collect();
        assert!(!places.is_empty(), "{name:?}");
        places.into_iter().for_each(|at| bytes[at..at + name.len()].copy_from_slice(hostile));
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("hostile.hprof");
    fs::write(&file, bytes).unwrap();
    let Some(page) = Page::open(&[&file]) else { return };
    let all = crate::views(&page);
    assert!(all.len() > 8, "{all:?}");
    let mut shown = String::new();
    for view in &all {
        for at in ["", "?at=0"] {
            assert_plain(&page, &format!("{view}{at}"));
            shown += &page.text("return document.body.textContent");
        }
    }
    // A slash in the name of a class is shown as a dot.
    for name in ["<b>\\u{202e}<.script>", "<img\\u{1b}[31m>", "<i>\\u{202e}x"] {
        assert!(shown.contains(name), "{name}");
    }
    // An object with its values, and the threads with their stacks.
    page.go("/s/s1/biggest?at=0");
    let object = page.text("return document.querySelector('#side .links a').getAttribute('href')");
    assert_plain(&page, &object);
    page.go("/s/s1/threads");
    page.run("[...document.querySelectorAll('#view summary')].forEach((it) => it.click())");
    page.wait_for("return document.querySelectorAll('#view .path li').length > 3", &json!(true));
    let found = page.text("return document.getElementById('view').textContent");
    assert!(found.contains("<b>\\u{202e}<i>er") && !found.contains('\u{202e}'), "{found}");
}
