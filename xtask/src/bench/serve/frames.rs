//! Whether the page of a server is late with a frame, in a browser.

use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use perk_testkit::webdriver::Browser;

use super::server::Server;

/// Does what is asked, and measures the longest time between two frames until the last frame of what is shown then. The
/// driver's own scripts are tasks of the page, too, so it is let alone meanwhile.
const RECORD: &str = "
const before = document.body.dataset.shown;
let end = Infinity;
let last = 0;
window.longest = 0;
window.isOver = false;
const look = (now) => {
  if (last > 0) window.longest = Math.max(window.longest, now - last);
  last = now;
  // What is shown is drawn in the frames that follow.
  if (end === Infinity && document.body.dataset.shown !== before) end = now + 300;
  window.isOver = now >= end;
  if (!window.isOver) requestAnimationFrame(look);
};
setTimeout(() => {
  requestAnimationFrame(look);
  setTimeout(() => { ACTION });
}, 300);";
/// What the page counts up when it shows another address.
const SHOWN: &str = "return document.body.dataset.shown ?? '0'";
/// The longest that the page may take.
const TIMEOUT: Duration = Duration::from_secs(60);
/// The time after what is shown in which its last frames come.
const REST: Duration = Duration::from_millis(300);
/// The time between two looks whether an action is over.
const LOOK: Duration = Duration::from_millis(1300);

/// The actions whose frames are measured.
pub(super) const ACTIONS: [&str; 3] = ["zoom", "sort", "filter"];

/// The view of each action, and what it does there.
const SCRIPTS: [(&str, &str); 3] = [
    (
        "flame",
        "const chart = document.querySelector('.chart'); chart.focus();
        for (const key of ['ArrowDown', 'ArrowDown', 'Enter']) chart.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true }))",
    ),
    ("methods", "document.querySelectorAll('.grid th button')[1].click()"),
    (
        "flame",
        "const link = document.createElement('a'); link.href = '/s/s1/flame?focus=com.acme.p1.*';
        document.body.append(link); link.click(); link.remove()",
    ),
];

/// A page that is measured.
struct Page {
    browser: Browser,
}

/// The longest time between two frames of each action, in ms.
pub(super) fn longest_ms(server: &Server) -> Result<Vec<f64>> {
    let browser = Browser::start().context("no chromedriver: the page is not measured")?;
    let page = Page { browser };
    page.open(server.url())?;
    SCRIPTS.iter().map(|(view, act)| page.measure(&format!("/s/s1/{view}"), act)).collect()
}

impl Page {
    fn open(&self, url: &str) -> Result<()> {
        self.browser.open(url);
        self.wait("0")
    }

    /// Waits until the page shows another address than at `before`.
    fn wait(&self, before: &str) -> Result<()> {
        let begin = Instant::now();
        while self.browser.run(SHOWN) == before {
            ensure!(begin.elapsed() < TIMEOUT, "the page shows nothing");
            thread::sleep(Duration::from_millis(20));
        }
        thread::sleep(REST);
        Ok(())
    }

    fn shown(&self) -> String {
        self.browser.run(SHOWN).as_str().unwrap_or_default().to_owned()
    }

    fn measure(&self, address: &str, act: &str) -> Result<f64> {
        let before = self.shown();
        self.browser.run(&format!(
            "history.pushState(null, '', '{address}'); dispatchEvent(new PopStateEvent('popstate'))"
        ));
        self.wait(&before)?;
        self.browser.run(&RECORD.replace("ACTION", act));
        let begin = Instant::now();
        loop {
            thread::sleep(LOOK);
            if self.browser.run("return isOver") == true {
                break;
            }
            ensure!(begin.elapsed() < TIMEOUT, "the page does not show what {act:?} asks for");
        }
        self.browser.run("return longest").as_f64().context("the page drew nothing")
    }
}
