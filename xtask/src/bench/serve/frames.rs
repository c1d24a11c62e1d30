//! How long the page of a server cannot react: the longest block of its main thread, in a browser.

use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use perk_testkit::webdriver::Browser;

use super::server::Server;

/// Measures how long the main thread takes for whatever it does: a message that it sends to itself comes back when
/// nothing else is before it. A frame that takes no longer than the time between two is not late.
const RECORD: &str = "
const channel = new MessageChannel();
let last = performance.now();
window.longest = 0;
channel.port1.onmessage = () => {
  const now = performance.now();
  window.longest = Math.max(window.longest, now - last);
  last = now;
  channel.port2.postMessage(0);
};
channel.port2.postMessage(0);";
/// What the page counts up when it shows another address.
const SHOWN: &str = "return document.body.dataset.shown ?? '0'";
const DOWN: &str = "\u{E015}";
const ENTER: &str = "\u{E007}";
/// The longest that the page may take.
const TIMEOUT: Duration = Duration::from_secs(60);
/// The time after what is shown in which its last frames come.
const REST: Duration = Duration::from_millis(300);

/// The actions whose longest frames are measured.
pub(super) const ACTIONS: [&str; 3] = ["zoom", "sort", "filter"];

/// The view of an action, and what it does there.
type Action<'a> = (&'a str, &'a dyn Fn(&Page));

/// A page that is measured.
struct Page {
    browser: Browser,
}

/// The longest block of each action, in ms.
pub(super) fn longest_ms(server: &Server) -> Result<Vec<f64>> {
    let browser = Browser::start().context("no chromedriver: the page is not measured")?;
    let page = Page { browser };
    page.open(server.url())?;
    let of_actions: [Action<'_>; 3] = [
        ("flame", &|page| {
            page.browser.run("document.querySelector('.chart').focus()");
            page.browser.keys(&format!("{DOWN}{DOWN}{ENTER}"));
        }),
        ("methods", &|page| {
            page.browser.run("document.querySelectorAll('.grid th button')[1].click()");
        }),
        ("flame", &|page| page.follow("/s/s1/flame?focus=com.acme.p1.*")),
    ];
    of_actions.iter().map(|(view, act)| page.measure(&format!("/s/s1/{view}"), act)).collect()
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

    /// Clicks on a link of the page.
    fn follow(&self, address: &str) {
        self.browser.run(&format!(
            "const link = document.createElement('a'); link.href = '{address}'; document.body.append(link); link.click(); link.remove()"
        ));
    }

    fn shown(&self) -> String {
        self.browser.run(SHOWN).as_str().unwrap_or_default().to_owned()
    }

    fn measure(&self, address: &str, act: &dyn Fn(&Self)) -> Result<f64> {
        let before = self.shown();
        self.follow(address);
        self.wait(&before)?;
        let before = self.shown();
        self.browser.run(RECORD);
        act(self);
        self.wait(&before)?;
        self.browser.run("return longest").as_f64().context("nothing was recorded")
    }
}
