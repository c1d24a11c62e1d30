//! Call paths as indented blocks, long ones cut in the middle.

use super::View;
use crate::show::Screen;

/// Frames shown at a long path's inner end and at its outer end.
const INNER: usize = 9;
const OUTER: usize = 3;
const INDENT: &str = "      ";

/// The paths with most of their own, each with its number.
pub(super) fn blocks(view: &View<'_>, top: usize, screen: &Screen) -> String {
    let paths = view.paths(top);
    let labels = view.labels(paths.iter().flat_map(|(methods, _)| methods.iter().copied()));
    let mut text = String::new();
    for (index, (methods, number)) in paths.iter().enumerate() {
        text += &format!("{:>3}.  {}\n", index + 1, view.amount(*number));
        if methods.is_empty() {
            text += &format!("{INDENT}[no stack]\n");
        }
        for line in middle_cut(methods, |method| labels[method].clone()) {
            text += &format!("{INDENT}{}\n", screen.cut(&line, INDENT.len()));
        }
    }
    text
}

/// The items as lines, equal ones in a row as one; of many, the first and the last ones and how many
/// are between.
pub(crate) fn middle_cut<T>(items: &[T], line: impl Fn(&T) -> String) -> Vec<String> {
    let mut runs: Vec<(String, usize)> = Vec::new();
    for item in items {
        let line = line(item);
        match runs.last_mut() {
            Some((last, count)) if *last == line => *count += 1,
            _ => runs.push((line, 1)),
        }
    }
    let between = INNER..runs.len().saturating_sub(OUTER).max(INNER);
    // A line that says `1 more frame` would be no shorter than the frame.
    let cut = between.len() > 1;
    let hidden: usize = runs[..between.end.min(runs.len())].iter().skip(INNER).map(|it| it.1).sum();
    let mut lines = Vec::new();
    for (index, (line, count)) in runs.into_iter().enumerate() {
        match count {
            _ if cut && between.contains(&index) => {
                if index == between.start {
                    lines.push(format!("… {hidden} more frames …"));
                }
            }
            1 => lines.push(line),
            _ => lines.push(format!("{line} × {count}")),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_paths_keep_both_ends() {
        let shown = |count: u32| {
            let items: Vec<_> = (0..count).collect();
            middle_cut(&items, u32::to_string)
        };
        assert_eq!(shown(0).len(), 0);
        assert_eq!(shown(13).len(), 13);
        let long = shown(100);
        assert_eq!(long.len(), 13);
        assert_eq!((&*long[0], &*long[9], &*long[12]), ("0", "… 88 more frames …", "99"));
    }

    #[test]
    fn recursion_is_one_line() {
        let frames = ["fib", "fib", "fib", "a", "main"];
        assert_eq!(middle_cut(&frames, |it| it.to_string()), ["fib × 3", "a", "main"]);
    }
}
