//! The views of flame graphs, compared with trees that are made in another way.

use perk_profile::{NamePattern, Profile};

use super::*;
use crate::fixture::samples;
use crate::label_tree::StartFold;
use crate::{Columns, Filter, MethodTree, Owners};

const WHOLE: usize = 1000;

fn profile() -> Profile {
    samples(&[
        ("T.leaf<T.a<T.main", 5),
        ("T.leaf<T.b<T.main", 3),
        ("T.a<T.main", 1),
        ("T.leaf<T.leaf<T.b<T.main", 2),
        ("U.x<T.a<U.y<T.a<V.run", 7),
        ("", 9),
    ])
}

struct Fixture {
    tree: MethodTree,
    graph: FlameGraph,
}

impl Fixture {
    fn new(question: Question) -> Self {
        Self::of(&profile(), question)
    }

    fn of(profile: &Profile, question: Question) -> Self {
        let (tree, owners) = (MethodTree::new(profile), Owners::new(profile));
        let start = StartFold::new(profile, &tree, &owners);
        let columns = Columns::new(profile, &tree, &question.metric, None);
        let (start, columns) = (Some(&start), Some(&columns));
        let subject = Subject { profile, tree: &tree, owners: &owners, start, columns };
        let graph = FlameGraph::new(&[(subject, &question)]);
        Self { tree, graph }
    }

    fn view(&self, place: &Place) -> FlameView {
        let place = Place { levels: WHOLE, width: place.width.max(1), ..place.clone() };
        let width = if place.width == 1 { 1_000_000 } else { place.width };
        let place = Place { width, ..place };
        self.graph.view(&[&self.tree], &place).unwrap()
    }

    /// Level, label, own and total of each node, and the children that are not seen.
    fn shown(&self, place: &Place) -> Vec<String> {
        let text = |node: &FlameNode| {
            let label = self.graph.label(node.label).map_or("all", |it| &it.text);
            let indent = "-".repeat(node.level as usize);
            let left_out =
                if node.left_out > 0 { format!(" +{}", node.left_out) } else { String::new() };
            format!("{indent}{label} {} {}{left_out}", node.own[0], node.total[0])
        };
        self.view(place).nodes.iter().map(text).collect()
    }

    fn id(&self, text: &str) -> u32 {
        (0..).find(|&id| self.graph.label(id).unwrap().text == text).unwrap()
    }
}

fn patterns(names: &[&str]) -> Vec<NamePattern> {
    names.iter().map(|name| NamePattern::new(name).unwrap()).collect()
}

#[test]
fn callees_are_below_their_callers() {
    let it = Fixture::new(Question::default());
    let all = [
        "all 0 27",
        "-T.main 0 11",
        "--T.a 1 6",
        "---T.leaf 5 5",
        "--T.b 0 5",
        "---T.leaf 3 5",
        "----T.leaf 2 2",
        "-[no stack] 9 9",
        "-V.run 0 7",
        "--T.a 0 7",
        "---U.y 0 7",
        "----T.a 0 7",
        "-----U.x 7 7",
    ];
    assert_eq!(it.shown(&Place::default()), all);
    // Nodes of less than a fifth of all are left out, and counted.
    let wide = [
        "all 0 27",
        "-T.main 0 11 +1",
        "--T.a 1 6 +1",
        "-[no stack] 9 9",
        "-V.run 0 7",
        "--T.a 0 7",
        "---U.y 0 7",
        "----T.a 0 7",
        "-----U.x 7 7",
    ];
    assert_eq!(it.shown(&Place { width: 5, ..Place::default() }), wide);
    // A place is the labels on the way to it.
    let path = ["T.main", "T.b"].map(|text| it.id(text)).to_vec();
    let view = it.view(&Place { path: path.clone(), ..Place::default() });
    assert_eq!(view.above, [[27, 0], [11, 0]]);
    let below = it.shown(&Place { path, ..Place::default() });
    assert_eq!(below, ["T.b 0 5", "-T.leaf 3 5", "--T.leaf 2 2"]);
    let nowhere = Place { path: vec![it.id("T.leaf")], levels: 9, width: 9, ..Place::default() };
    assert!(it.graph.view(&[&it.tree], &nowhere).is_none());
}

#[test]
fn callers_are_below_their_callees() {
    let it = Fixture::new(Question::default());
    let bottom_up = Place { direction: Direction::BottomUp, ..Place::default() };
    let all = [
        "all 0 27",
        "-T.leaf 0 10",
        "--T.a 0 5",
        "---T.main 5 5",
        "--T.b 0 3",
        "---T.main 3 3",
        "--T.leaf 0 2",
        "---T.b 0 2",
        "----T.main 2 2",
        "-[no stack] 9 9",
        "-U.x 0 7",
        "--T.a 0 7",
        "---U.y 0 7",
        "----T.a 0 7",
        "-----V.run 7 7",
        "-T.a 0 1",
        "--T.main 1 1",
    ];
    assert_eq!(it.shown(&bottom_up), all);
}

#[test]
fn a_method_has_callers_and_callees() {
    let it = Fixture::new(Question::default());
    let around = |direction| {
        let around = NamePattern::new("T.a");
        it.shown(&Place { around, direction, ..Place::default() })
    };
    let callees = ["T.a 1 13", "-U.y 0 7", "--T.a 0 7", "---U.x 7 7", "-T.leaf 5 5"];
    assert_eq!(around(Direction::TopDown), callees);
    assert_eq!(around(Direction::BottomUp), ["T.a 0 13", "-V.run 7 7", "-T.main 6 6"]);
}

#[test]
fn a_filter_is_that_of_reports() {
    for (focus, ignore, hide) in [
        (&["T.a"][..], &[][..], &[][..]),
        (&[], &["leaf"], &[]),
        (&["T.*"], &["U.x"], &["T.leaf"]),
        (&[], &[], &["T.main", "T.b"]),
        (&["nothing"], &[], &[]),
        (&[], &[], &["T.*"]),
    ] {
        let filter = Filter {
            focus: patterns(focus),
            ignore: patterns(ignore),
            hide: patterns(hide),
            ..Filter::default()
        };
        let it = Fixture::new(Question { filter: filter.clone(), ..Question::default() });
        let filtered = filter.apply(profile());
        let of_report = Fixture::of(&filtered, Question::default());
        for direction in [Direction::TopDown, Direction::BottomUp] {
            let place = Place { direction, ..Place::default() };
            let sorted = |mut lines: Vec<String>| {
                lines.sort();
                lines
            };
            assert_eq!(sorted(it.shown(&place)), sorted(of_report.shown(&place)), "{filter:?}");
        }
    }
}

#[test]
fn a_search_sums_up_the_outermost() {
    let it = Fixture::new(Question::default());
    let search = |text| it.graph.search(&[&it.tree], text);
    assert_eq!(search("T.A"), (vec![it.id("T.a")], [13, 0]));
    assert_eq!(search("leaf").1, [10, 0]);
    assert_eq!(search("U.").0.len(), 2);
    assert_eq!(search("nothing"), (Vec::new(), [0, 0]));
}

#[test]
fn classes_merge_the_calls_inside_them() {
    let it = Fixture::new(Question { level: Level::Class, ..Question::default() });
    let all = [
        "all 0 27",
        "-T 11 11",
        "-[no stack] 9 9",
        "-V 0 7",
        "--T 0 7",
        "---U 0 7",
        "----T 0 7",
        "-----U 7 7",
    ];
    assert_eq!(it.shown(&Place::default()), all);
    let bottom_up = Place { direction: Direction::BottomUp, ..Place::default() };
    let all = [
        "all 0 27",
        "-T 11 11",
        "-[no stack] 9 9",
        "-U 0 7",
        "--T 0 7",
        "---U 0 7",
        "----T 0 7",
        "-----V 7 7",
    ];
    assert_eq!(it.shown(&bottom_up), all);
}

#[test]
fn two_profiles_are_two_sides() {
    let before = profile();
    let after = samples(&[("T.leaf<T.a<T.main", 8), ("T.new<T.main", 1)]);
    let trees = [&before, &after].map(MethodTree::new);
    let owners = [&before, &after].map(Owners::new);
    let question = Question::default();
    let side = |profile, at: usize| {
        let subject =
            Subject { profile, tree: &trees[at], owners: &owners[at], start: None, columns: None };
        (subject, &question)
    };
    let graph = FlameGraph::new(&[side(&before, 0), side(&after, 1)]);
    let place = Place { levels: WHOLE, width: 1_000_000, ..Place::default() };
    let view = graph.view(&[&trees[0], &trees[1]], &place).unwrap();
    let total = |name: &str, level| {
        let is_it = |node: &&FlameNode| {
            node.level == level && graph.label(node.label).is_some_and(|it| it.text == name)
        };
        view.nodes.iter().find(is_it).unwrap().total
    };
    assert_eq!(view.nodes[0].total, [27, 9]);
    assert_eq!(total("T.main", 1), [11, 9]);
    assert_eq!(total("T.a", 2), [6, 8]);
    assert_eq!(total("T.new", 2), [0, 1]);
    assert_eq!(total("V.run", 1), [7, 0]);
}

/// The frames above the program's own code are one node, which has what is below it as its children.
#[test]
fn a_graph_starts_at_the_programs_own_code() {
    let profile = samples(&[
        ("com.acme.A.leaf<com.acme.A.main<java.lang.Thread.run", 5),
        ("com.acme.A.b<java.util.X.call<java.lang.Thread.run", 3),
        ("java.util.X.wait<java.lang.Thread.run", 2),
        ("com.acme.A.main", 1),
    ]);
    let folded = Question { folds_frames: true, ..Question::default() };
    let it = Fixture::of(&profile, folded);
    let all = [
        "all 0 11",
        "-[above your code] 0 8",
        "--com.acme.A.main 0 5",
        "---com.acme.A.leaf 5 5",
        "--com.acme.A.b 3 3",
        "-java.lang.Thread.run 0 2",
        "--java.util.X.wait 2 2",
        "-com.acme.A.main 1 1",
    ];
    assert_eq!(it.shown(&Place::default()), all);
    let path = ["[above your code]", "com.acme.A.main"].map(|text| it.id(text)).to_vec();
    let view = it.view(&Place { path: path.clone(), ..Place::default() });
    assert_eq!((view.nodes[0].total, &*view.above), ([5, 0], &[[11, 0], [8, 0]][..]));
    assert_eq!(it.graph.search(&[&it.tree], "Thread.run").1, [10, 0]);
    // From the top of stacks on nothing is above anything.
    let bottom_up = Place { direction: Direction::BottomUp, ..Place::default() };
    let plain = Fixture::of(&profile, Question::default());
    assert_eq!(it.shown(&bottom_up), plain.shown(&bottom_up));
}

/// The stacks of a random program, the numbers of some of which are 0 for a filter.
fn random_profile(seed: u64) -> Profile {
    let mut state = seed;
    let mut random = move |below: u64| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    let mut stack = || {
        let frames = (0..1 + random(12)).map(|_| format!("p{}.C.m{}", random(3), random(4)));
        frames.collect::<Vec<_>>().join("<")
    };
    let stacks: Vec<_> = (0..200).map(|_| stack()).collect();
    let stacks: Vec<_> = stacks.iter().zip(1..).map(|(stack, count)| (&**stack, count)).collect();
    samples(&stacks)
}

/// The nodes below one: the stacks, innermost frame last, their numbers by what comes next, the names of what is shown.
fn expected(stacks: &[(Vec<String>, u64)], level: usize, lines: &mut Vec<String>) {
    let mut below: std::collections::BTreeMap<&str, Vec<(Vec<String>, u64)>> = Default::default();
    for (stack, count) in stacks {
        if let Some((first, rest)) = stack.split_first() {
            below.entry(first).or_default().push((rest.to_vec(), *count));
        }
    }
    for (label, stacks) in below {
        let total: u64 = stacks.iter().map(|it| it.1).sum();
        let own: u64 = stacks.iter().filter(|it| it.0.is_empty()).map(|it| it.1).sum();
        lines.push(format!("{level} {label} {own} {total}"));
        expected(&stacks, level + 1, lines);
    }
}

/// Graphs of random stacks are those that adding up stack by stack makes.
#[test]
fn graphs_are_the_sums_of_their_stacks() {
    for seed in 0..40 {
        let profile = random_profile(seed);
        let names = |frame| profile.symbols.method_name(profile.symbols.get_frame(frame).method);
        let by_package = seed % 2 == 1;
        let hide = if seed % 4 < 2 { &["m2"][..] } else { &[] };
        let focus = if seed % 8 < 4 { &["p1.C.m1"][..] } else { &[] };
        let filter = Filter { hide: patterns(hide), focus: patterns(focus), ..Filter::default() };
        let level = if by_package { Level::Package } else { Level::Method };
        let it = Fixture::of(&profile, Question { filter, level, ..Question::default() });
        for direction in [Direction::TopDown, Direction::BottomUp] {
            let stacks =
                profile.total_cpu_samples().rows.into_iter().filter_map(|(trace, count)| {
                    let mut stack: Vec<String> = profile.frames(trace).map(names).collect();
                    if !focus.is_empty() && !stack.iter().any(|it| it == "p1.C.m1") {
                        return None;
                    }
                    stack.retain(|it| hide.is_empty() || !it.ends_with(".m2"));
                    if by_package {
                        stack.iter_mut().for_each(|it| it.truncate(2));
                        stack.dedup();
                    }
                    if stack.is_empty() {
                        stack.push("[no stack]".to_owned());
                    }
                    if direction == Direction::TopDown {
                        stack.reverse();
                    }
                    Some((stack, count))
                });
            let mut lines = Vec::new();
            expected(&stacks.collect::<Vec<_>>(), 1, &mut lines);
            let line = |node: &FlameNode| {
                let label = it.graph.label(node.label).map_or("all", |it| &it.text);
                format!("{} {label} {} {}", node.level, node.own[0], node.total[0])
            };
            let view = it.view(&Place { direction, ..Place::default() });
            let mut shown: Vec<_> = view.nodes.iter().skip(1).map(line).collect();
            shown.sort();
            lines.sort();
            assert_eq!(shown, lines, "{seed} {direction:?}");
        }
        let found = it.graph.search(&[&it.tree], if by_package { "p2" } else { "p2.c.m" }).1[0];
        let around = |direction| {
            let around = NamePattern::new("p2.C.*");
            it.view(&Place { around, direction, ..Place::default() }).nodes[0].total[0]
        };
        if !by_package {
            assert_eq!(around(Direction::TopDown), found, "{seed}");
            assert_eq!(around(Direction::BottomUp), found, "{seed}");
        }
        let is_through = |trace| {
            profile
                .frames(trace)
                .map(names)
                .any(|it| it.starts_with("p2.") && (hide.is_empty() || !it.ends_with(".m2")))
        };
        let is_kept =
            |trace| focus.is_empty() || profile.frames(trace).map(names).any(|it| it == "p1.C.m1");
        let rows = profile.total_cpu_samples().rows.into_iter();
        let rows = rows.filter(|row| is_through(row.0) && is_kept(row.0));
        assert_eq!(found, rows.map(|row| row.1).sum::<u64>(), "{seed}");
    }
}
