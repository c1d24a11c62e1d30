//! Call paths as indented blocks, long ones cut in the middle.

use perk_profile::top;

use super::View;
use crate::show::Screen;

/// Frames shown at a long path's inner end and at its outer end.
const INNER: usize = 9;
const OUTER: usize = 3;
const INDENT: &str = "      ";

/// The paths with most samples, each with its count.
pub(super) fn blocks(view: &View<'_>, top: usize, screen: &Screen) -> String {
    let mut paths = top::paths(view.profile, &view.samples);
    paths.truncate(top);
    let labels = view.labels(paths.iter().flat_map(|path| path.methods.iter().copied()));
    let mut text = String::new();
    for (index, path) in paths.iter().enumerate() {
        text += &format!("{:>3}.  {}\n", index + 1, view.amount(path.count));
        if path.methods.is_empty() {
            text += &format!("{INDENT}(no Java frame)\n");
        }
        for line in middle_cut(&path.methods, |method| labels[method].clone()) {
            text += &format!("{INDENT}{}\n", screen.cut(&line, INDENT.len()));
        }
    }
    text
}

/// The items as lines; of many, the first and the last ones and how many are between.
pub(super) fn middle_cut<T>(
    items: &[T],
    line: impl Fn(&T) -> String,
) -> impl Iterator<Item = String> {
    // A line that says `1 more frame` would be no shorter than the frame.
    let hidden = items.len().saturating_sub(INNER + OUTER);
    let (inner, outer) =
        if hidden > 1 { (INNER, items.len() - OUTER) } else { (items.len(), items.len()) };
    let note = (hidden > 1).then(|| format!("… {hidden} more frames …"));
    let inner: Vec<_> = items[..inner].iter().map(&line).collect();
    let outer: Vec<_> = items[outer..].iter().map(&line).collect();
    inner.into_iter().chain(note).chain(outer)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_paths_keep_both_ends() {
        let shown = |count: u32| {
            let items: Vec<_> = (0..count).collect();
            middle_cut(&items, u32::to_string).collect::<Vec<_>>()
        };
        assert_eq!(shown(0).len(), 0);
        assert_eq!(shown(13).len(), 13);
        let long = shown(100);
        assert_eq!(long.len(), 13);
        assert_eq!((&*long[0], &*long[9], &*long[12]), ("0", "… 88 more frames …", "99"));
    }
}
