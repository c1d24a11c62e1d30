//! Flame graphs as one picture: SVG without scripts, fonts or network access, and the same for
//! equal profiles. The page of [`flamegraph`](crate::flamegraph) allows search and zoom.

use std::cmp::Reverse;
use std::io::{self, Write};

use perk_analysis::label_tree::{LevelNode, LevelTree};
use perk_profile::{KeyedMap, Metric, deep, names, units};

use crate::file_format::{
    Depth, Detail, FileFormat, FormatContent, FormatFacts, Metrics, Reading, View,
};
use crate::flamegraph::{FrameLabel, NodeKind};

/// The picture's width, in pixels.
const WIDTH: f64 = 1200.0;
/// The margin around the frames.
const MARGIN: f64 = 10.0;
/// The height of the title.
const HEAD: f64 = 40.0;
/// The height of a level.
const ROW: f64 = 17.0;
/// Frames narrower than this are left out, and counted in the picture's description.
const NARROWEST: f64 = 0.1;
/// The approximate width of a letter of a name.
const LETTER: f64 = 6.6;
/// The hues of the packages by rank. Neighbours in rank are far apart on the colour wheel.
const HUES: [u16; 12] = [220, 40, 140, 320, 190, 15, 95, 280, 165, 350, 65, 250];
/// The colour of frames of packages after the first ones, and of frames that are not methods.
const PLAIN: &str = "#d9dde3";
/// The colours of less, the same and more: blue and orange, which most colour-blind people can
/// distinguish.
const CHANGES: [&str; 7] =
    ["#5b8fd6", "#93b6e6", "#c5d8f1", "#e3e5e8", "#f6d9bd", "#efb27c", "#e2853a"];
/// The share of the whole below which a change does not count.
const LEAST_POINTS: f64 = 0.001;

pub(crate) struct Svg;

impl FileFormat for Svg {
    fn facts(&self) -> &'static FormatFacts {
        &FormatFacts {
            name: "svg",
            title: "flame graph picture",
            about: "Flame graph, one picture",
            endings: &["svg"],
            page: "svg.md",
            keeps: "one metric by call path, as a picture",
            reading: Reading::Never,
            written: Some(FormatContent {
                metrics: Metrics::One,
                detail: Detail::Paths,
                documents: &[],
                accounting: false,
                depth: Depth::Folded,
            }),
        }
    }

    fn holds_interval(&self, _profile: &perk_profile::Profile) -> bool {
        false
    }

    fn write(&self, view: &View<'_>, out: &mut dyn Write) -> io::Result<()> {
        write(view, out)
    }
}

/// Writes the shown part of a profile as a picture. Frames are merged by method, with the callers
/// on top. For two profiles, frames are as wide as their numbers after, and are coloured by the
/// change of their share.
///
/// # Errors
/// As `out` fails; of kind `InvalidInput` if the profile does not have the metric.
pub fn write(view: &View<'_>, out: &mut dyn Write) -> io::Result<()> {
    let mut tree = view.tree(FrameLabel::new)?;
    let colours = match view.before {
        None => Colours::Packages(packages(&tree)),
        Some(_) => Colours::Changes,
    };
    let left_out = tree.fold(deep::levels(&view.profiles()));
    Picture::new(tree, &left_out, &view.metric()?).write(&view.heading(), &colours, out)
}

/// The rule by which frames are coloured.
enum Colours<'a> {
    /// The colours of packages.
    Packages(KeyedMap<&'a str, String>),
    /// The colours of changes of the share.
    Changes,
}

/// A frame with everything below it. There can be many millions.
struct SvgFrame {
    /// The level, from 0. The frame on level 0 represents the whole.
    level: u32,
    /// The index of the label in the picture.
    label: u32,
    before: u64,
    after: u64,
    own: u64,
    /// The offset of its left edge, in numbers after.
    start: u64,
}

struct Picture<'a> {
    metric: Metric,
    /// The labels. The first is that of the whole.
    labels: Vec<FrameLabel<'a>>,
    /// The frames in preorder. The first is the whole.
    frames: Vec<SvgFrame>,
}

impl<'a> Picture<'a> {
    /// Creates the picture of a tree, in which frames named `left_out` represent others.
    fn new(tree: LevelTree<FrameLabel<'a>>, left_out: &'a [String], metric: &Metric) -> Self {
        let mut labels = vec![FrameLabel::named(NodeKind::Thread, "all")];
        labels.extend(tree.labels);
        labels.extend(left_out.iter().map(|text| FrameLabel::named(NodeKind::LeftOut, text)));
        let frame = |level, label, before, after| SvgFrame {
            level,
            label,
            before,
            after,
            own: after,
            start: 0,
        };
        let mut frames = vec![frame(0, 0, 0, 0)];
        let inner =
            |LevelNode { level, label, before, after }| frame(level + 1, label + 1, before, after);
        frames.extend(tree.nodes.into_iter().map(inner));
        let mut path: Vec<u32> = Vec::new();
        let mut parents = vec![0; frames.len()];
        for (index, frame) in frames.iter().enumerate() {
            path.truncate(frame.level as usize);
            parents[index] = path.last().copied().unwrap_or(0);
            path.push(index as u32);
        }
        for index in (1..frames.len()).rev() {
            let (before, after) = (frames[index].before, frames[index].after);
            let parent = &mut frames[parents[index] as usize];
            parent.before = parent.before.saturating_add(before);
            parent.after = parent.after.saturating_add(after);
        }
        let mut free = vec![0_u64; frames.len()];
        for index in 1..frames.len() {
            let parent = parents[index] as usize;
            frames[index].start = free[parent];
            free[index] = free[parent];
            free[parent] = free[parent].saturating_add(frames[index].after);
        }
        Self { metric: metric.clone(), labels, frames }
    }

    fn label(&self, frame: &SvgFrame) -> &FrameLabel<'a> {
        &self.labels[frame.label as usize]
    }

    fn write(&self, title: &str, colours: &Colours<'_>, out: &mut dyn Write) -> io::Result<()> {
        let all = self.frames[0].after;
        let scale = (WIDTH - 2.0 * MARGIN) / all.max(1) as f64;
        let is_drawn = |frame: &&SvgFrame| {
            frame.level == 0 || frame.after > 0 && frame.after as f64 * scale >= NARROWEST
        };
        let drawn = || self.frames.iter().filter(is_drawn);
        let depth = drawn().map(|frame| frame.level + 1).max().unwrap_or(1);
        let height = HEAD + f64::from(depth) * ROW + MARGIN;
        let left_out = self.frames.len() - drawn().count();
        writeln!(
            out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{height}\" \
             viewBox=\"0 0 {WIDTH} {height}\" font-family=\"Verdana, DejaVu Sans, sans-serif\" \
             font-size=\"11\">"
        )?;
        writeln!(out, "<title>{}</title>", escape(title))?;
        writeln!(
            out,
            "<desc>{}: {}; {left_out} frames too narrow to be seen are left out</desc>",
            escape(self.metric.name()),
            units::amount(all, self.metric.unit())
        )?;
        writeln!(out, "<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>")?;
        let middle = WIDTH / 2.0;
        writeln!(
            out,
            "<text x=\"{middle}\" y=\"24\" font-size=\"16\" text-anchor=\"middle\">{}</text>",
            escape(title)
        )?;
        for frame in drawn() {
            let (x, width) = (MARGIN + frame.start as f64 * scale, frame.after as f64 * scale);
            let y = HEAD + f64::from(frame.level) * ROW;
            writeln!(
                out,
                "<g><title>{}</title><rect x=\"{x:.2}\" y=\"{y}\" width=\"{width:.2}\" \
                 height=\"{}\" fill=\"{}\" rx=\"1\"/>{}</g>",
                escape(&self.tip(frame, colours)),
                ROW - 1.0,
                self.colour(frame, colours),
                text(self.label(frame), x, y, width)
            )?;
        }
        writeln!(out, "</svg>")
    }

    /// Returns the text of the frame under the pointer: its name and numbers.
    fn tip(&self, frame: &SvgFrame, colours: &Colours<'_>) -> String {
        let all = &self.frames[0];
        let amount = |count, all| {
            let amount = units::amount(count, self.metric.unit());
            format!("{amount} ({} %)", units::percent(count, all))
        };
        let mut tip = format!(
            "{} — {} {}, self {}",
            full_name(self.label(frame)),
            self.metric.name(),
            amount(frame.after, all.after),
            amount(frame.own, all.after)
        );
        if matches!(colours, Colours::Changes) {
            tip += &format!("; before {}", amount(frame.before, all.before));
        }
        tip
    }

    fn colour<'b>(&self, frame: &SvgFrame, colours: &'b Colours<'_>) -> &'b str {
        match colours {
            Colours::Packages(packages) => {
                let label = self.label(frame);
                let colour = packages.get(names::package(label.class));
                colour.filter(|_| is_method(label)).map_or(PLAIN, String::as_str)
            }
            Colours::Changes => {
                let all = &self.frames[0];
                let share = |count, all: u64| count as f64 / all.max(1) as f64;
                change_colour(share(frame.before, all.before), share(frame.after, all.after))
            }
        }
    }
}

/// Returns the name of a frame, cut to the available width.
fn text(label: &FrameLabel<'_>, x: f64, y: f64, width: f64) -> String {
    let room = ((width - 6.0) / LETTER) as usize;
    if room < 3 {
        return String::new();
    }
    let shown = names::shorten(&full_name(label), room);
    format!("<text x=\"{:.2}\" y=\"{}\">{}</text>", x + 3.0, y + ROW - 5.0, escape(&shown))
}

fn full_name(label: &FrameLabel<'_>) -> String {
    let name = if label.name.is_empty() { "[unknown]" } else { label.name };
    if label.class.is_empty() { name.to_owned() } else { format!("{}.{name}", label.class) }
}

/// Returns the colours of packages. The package with the largest sum on top of the stack comes
/// first.
fn packages<'a>(tree: &LevelTree<FrameLabel<'a>>) -> KeyedMap<&'a str, String> {
    let mut sums: KeyedMap<&str, u64> = KeyedMap::default();
    for node in &tree.nodes {
        let label = tree.labels[node.label as usize];
        if is_method(&label) {
            let sum = sums.entry(names::package(label.class)).or_default();
            *sum = sum.saturating_add(node.after);
        }
    }
    let mut ranked: Vec<_> = sums.into_iter().collect();
    ranked.sort_by_key(|&(package, sum)| (Reverse(sum), package));
    let ranked = ranked.into_iter().zip(HUES);
    ranked.map(|((package, _), hue)| (package, pastel(hue))).collect()
}

/// Returns the colour of a changed share.
fn change_colour(before: f64, after: f64) -> &'static str {
    let points = after - before;
    let relative = points.abs() / before.max(after).max(f64::MIN_POSITIVE);
    let step = match relative {
        _ if points.abs() < LEAST_POINTS => 0,
        ..0.05 => 0,
        0.05..0.25 => 1,
        0.25..0.6 => 2,
        _ => 3,
    };
    CHANGES[if points < 0.0 { 3 - step } else { 3 + step }]
}

fn is_method(label: &FrameLabel<'_>) -> bool {
    matches!(label.kind, NodeKind::Java | NodeKind::Native)
}

/// Returns a light colour with this hue, on which dark text is readable, as `#rrggbb`.
fn pastel(hue: u16) -> String {
    const LIGHT: f64 = 0.8;
    const CHROMA: f64 = 0.28;
    let place = f64::from(hue % 360) / 60.0;
    let second = CHROMA * (1.0 - (place % 2.0 - 1.0).abs());
    let (red, green, blue) = match place as u8 {
        0 => (CHROMA, second, 0.0),
        1 => (second, CHROMA, 0.0),
        2 => (0.0, CHROMA, second),
        3 => (0.0, second, CHROMA),
        4 => (second, 0.0, CHROMA),
        _ => (CHROMA, 0.0, second),
    };
    let byte = |part: f64| ((part + LIGHT - CHROMA / 2.0) * 255.0).round().clamp(0.0, 255.0) as u8;
    format!("#{:02x}{:02x}{:02x}", byte(red), byte(green), byte(blue))
}

/// Escapes text for XML. Characters that XML does not allow become the replacement character.
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\t' | '\n' | '\r' => escaped.push(' '),
            '\0'..='\x1f' | '\u{fffe}' | '\u{ffff}' => escaped.push('\u{fffd}'),
            c if units::is_hidden(c) => escaped.extend(c.escape_unicode()),
            c => escaped.push(c),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use perk_profile::Profile;
    use roxmltree::{Document, Node};

    use super::*;
    use crate::collapsed;

    fn picture(text: &str) -> String {
        let profile = collapsed::read(text.as_bytes()).unwrap();
        let mut out = Vec::new();
        write(&View::new(&profile, "a <b> & c"), &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    /// Returns the frames of a picture: title, x, y and width.
    fn frames(xml: &str) -> Vec<(String, f64, f64, f64)> {
        let document = Document::parse(xml).unwrap();
        let is_frame = |node: &Node<'_, '_>| node.has_tag_name("g");
        let frame = |node: Node<'_, '_>| {
            let part = |name| node.children().find(|it| it.has_tag_name(name)).unwrap();
            let number = |name| part("rect").attribute(name).unwrap().parse::<f64>().unwrap();
            let title = part("title").text().unwrap().to_owned();
            (title, number("x"), number("y"), number("width"))
        };
        document.descendants().filter(is_frame).map(frame).collect()
    }

    #[test]
    fn frames_are_as_wide_as_their_share() {
        let xml = picture("p.T.main;p.T.parse 30\np.T.main;q.L.next 60\nW.run 10\n");
        let frames = frames(&xml);
        let shown: Vec<_> =
            frames.iter().map(|(title, x, y, width)| (title.as_str(), *x, *y, *width)).collect();
        assert_eq!(
            shown,
            [
                ("all — samples 100 (100.00 %), self 0 (0.00 %)", 10.0, 40.0, 1180.0),
                ("W.run — samples 10 (10.00 %), self 10 (10.00 %)", 10.0, 57.0, 118.0),
                ("p.T.main — samples 90 (90.00 %), self 0 (0.00 %)", 128.0, 57.0, 1062.0),
                ("p.T.parse — samples 30 (30.00 %), self 30 (30.00 %)", 128.0, 74.0, 354.0),
                ("q.L.next — samples 60 (60.00 %), self 60 (60.00 %)", 482.0, 74.0, 708.0),
            ]
        );
        assert!(xml.contains("<title>a &lt;b&gt; &amp; c</title>"));
        assert_eq!(xml, picture("W.run 10\np.T.main;q.L.next 60\np.T.main;p.T.parse 30\n"));
    }

    #[test]
    fn names_of_any_kind_make_a_picture() {
        let frames = frames(&picture("a<b>&\"c\u{1}.d;[x] 7\nLongNameWithoutAnyRoom.method 1\n"));
        assert_eq!(frames.len(), 4);
        assert!(frames[2].0.starts_with("a<b>&\"c\u{fffd}.d"), "{}", frames[2].0);
    }

    #[test]
    fn frames_too_narrow_are_counted() {
        let text: String = (0..20_000).map(|index| format!("T.m{index} 1\n")).collect();
        let xml = picture(&text);
        assert_eq!(frames(&xml).len(), 1);
        assert!(xml.contains("; 20000 frames too narrow to be seen are left out"));
        assert_eq!(frames(&picture("T.a 1\n")).len(), 2);
        let mut out = Vec::new();
        write(&View::new(&Profile::default(), "empty"), &mut out).unwrap();
        assert_eq!(frames(&String::from_utf8(out).unwrap()).len(), 1);
    }

    #[test]
    fn two_profiles_are_one_picture() {
        let read = |text: &str| collapsed::read(text.as_bytes()).unwrap();
        let (before, after) = (read("T.a 50\nT.b 50\n"), read("T.a 150\nT.b 50\nT.c 0\n"));
        let mut out = Vec::new();
        let before = View::new(&before, "x");
        let view = View { before: Some(&before), ..View::new(&after, "y") };
        write(&view, &mut out).unwrap();
        let xml = String::from_utf8(out).unwrap();
        let frames = frames(&xml);
        assert_eq!(frames.len(), 3);
        assert!(
            frames[1].0.ends_with("samples 150 (75.00 %), self 150 (75.00 %); before 50 (50.00 %)")
        );
        let colours: Vec<_> =
            xml.match_indices("fill=\"").map(|(at, _)| &xml[at + 6..at + 13]).collect();
        // The page, the whole, the frame that grew by a half, the frame that shrank by a half.
        assert_eq!(colours, ["#ffffff", CHANGES[3], CHANGES[5], CHANGES[1]]);
    }
}
