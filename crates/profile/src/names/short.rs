//! Names that are shortened to fit on a line.

/// The mark of an omission.
const CUT: char = '…';
const PARAMETERS_CUT: &str = "(…)";
/// The separator of the names of a call.
const ARROW: &str = " → ";
/// Columns that a class needs so that something of it is readable.
const LEAST_CLASS: usize = 4;

/// Returns a name that takes at most `room` characters. A method can have its class, its parameters
/// and facts about the frame. The parameters are left out first. Then the packages become letters,
/// from the outermost on (`o.h.m.MVMap.replacePage(…)`). Then the source file is left out, then the
/// packages, the class and the line. The method's name is cut only if it alone has no room, and at
/// its end. Several names with arrows between share the room. Of other text, the end is kept.
pub fn shorten(text: &str, room: usize) -> String {
    if fits(text, room) {
        return text.to_owned();
    }
    let names: Vec<&str> = text.split(ARROW).collect();
    let arrows = ARROW.chars().count() * (names.len() - 1);
    match room.checked_sub(arrows) {
        Some(room) if arrows > 0 => shorten_all(&names, room).join(ARROW),
        Some(room) => shorten_one(text, room),
        None => keep_end(text, room),
    }
}

/// Divides the room between names: short ones leave more for the others.
fn shorten_all(names: &[&str], mut room: usize) -> Vec<String> {
    let mut by_length: Vec<usize> = (0..names.len()).collect();
    by_length.sort_by_key(|&at| length(names[at]));
    let mut shown = vec![String::new(); names.len()];
    for (done, &at) in by_length.iter().enumerate() {
        shown[at] = match room / (names.len() - done) {
            own if fits(names[at], own) => names[at].to_owned(),
            own => shorten_one(names[at], own),
        };
        room -= length(&shown[at]);
    }
    shown
}

fn shorten_one(text: &str, room: usize) -> String {
    match Name::of(text) {
        Some(name) => name.shortened(room),
        None => keep_end(text, room),
    }
}

/// The parts of the name of a method or class.
struct Name<'a> {
    packages: Vec<&'a str>,
    /// Empty for a name without a class, and for a class.
    class: &'a str,
    /// The method, or the class.
    last: &'a str,
    /// The parameters in brackets and what belongs to them; empty if there are none.
    parameters: &'a str,
    /// What follows: ` (Main.java:12)`, ` × 3`.
    tail: &'a str,
}

impl<'a> Name<'a> {
    /// Splits a name; `None` if it has another syntax.
    fn of(text: &'a str) -> Option<Self> {
        let end = text.find(['(', ' ']).unwrap_or(text.len());
        let (head, rest) = text.split_at(end);
        let parameters = match rest.find(')') {
            Some(close) if rest.starts_with('(') => {
                // The result follows a colon: `(): java.lang.Object`.
                let after = &rest[close + 1..];
                let result = after
                    .strip_prefix(": ")
                    .map_or(0, |result| ": ".len() + result.find(' ').unwrap_or(result.len()));
                &rest[..close + 1 + result]
            }
            _ => "",
        };
        let tail = &rest[parameters.len()..];
        let is_tail = tail.is_empty() || tail.starts_with(" (") || tail.starts_with(" ×");
        let is_name = |part: &str| !part.is_empty() && !part.contains(['/', ':', '\\', '`']);
        let mut parts: Vec<&str> = head.split('.').collect();
        if !is_tail || head.starts_with('[') || !parts.iter().all(|part| is_name(part)) {
            return None;
        }
        let last = parts.pop()?;
        let is_class = |part: &mut &str| part.contains('$') || part.contains(char::is_uppercase);
        let class = parts.pop_if(is_class).unwrap_or_default();
        Some(Self { packages: parts, class, last, parameters, tail })
    }

    fn shortened(&self, room: usize) -> String {
        let Self { class, last, tail, .. } = *self;
        let few = match self.parameters {
            parameters if length(parameters) > length(PARAMETERS_CUT) => PARAMETERS_CUT,
            parameters => parameters,
        };
        let short_tail = self.short_tail();
        let letters = 0..=self.packages.len();
        let stages = [(few, tail), ("", tail), ("", &*short_tail)];
        let mut names = stages.into_iter().flat_map(|(parameters, tail)| {
            letters.clone().map(move |letters| self.with(letters, parameters, tail))
        });
        if let Some(name) = names.find(|name| fits(name, room)) {
            return name;
        }
        if !class.is_empty() {
            let whole = format!("{class}.{last}{short_tail}");
            let left = room.saturating_sub(1 + length(last) + length(&short_tail));
            if fits(&whole, room) {
                return whole;
            }
            if left >= LEAST_CLASS {
                return format!("{}.{last}{short_tail}", cut_class(class, left));
            }
        }
        let whole = format!("{last}{short_tail}");
        if fits(&whole, room) { whole } else { keep_begin(last, room) }
    }

    /// The name with the first `letters` packages as letters.
    fn with(&self, letters: usize, parameters: &str, tail: &str) -> String {
        let mut name = String::new();
        for (index, package) in self.packages.iter().enumerate() {
            match package.chars().next() {
                Some(letter) if index < letters => name.push(letter),
                _ => name.push_str(package),
            }
            name.push('.');
        }
        if !self.class.is_empty() {
            name = name + self.class + ".";
        }
        name + self.last + parameters + tail
    }

    /// The line instead of the source file and the line.
    fn short_tail(&self) -> String {
        let place = self.tail.strip_prefix(" (").and_then(|tail| tail.split_once(')'));
        let line = place.and_then(|(place, rest)| Some((place.rsplit_once(':')?.1, rest)));
        match line {
            Some((line, rest)) => format!(":{line}{rest}"),
            None => self.tail.to_owned(),
        }
    }
}

/// The innermost classes that have room, or else the beginning of the outermost one.
fn cut_class(class: &str, room: usize) -> String {
    let inner = class.match_indices('$').map(|(at, _)| &class[at + 1..]);
    // A number means nothing without the class that it is in.
    let mut inner = inner.filter(|it| it.starts_with(char::is_alphabetic) && length(it) < room);
    match inner.next() {
        Some(inner) => format!("{CUT}{inner}"),
        None => keep_begin(class, room),
    }
}

fn keep_begin(text: &str, room: usize) -> String {
    if fits(text, room) {
        return text.to_owned();
    }
    text.chars().take(room.saturating_sub(1)).chain([CUT]).take(room).collect()
}

/// The end of a text. Parameters at the end are left out before the rest.
fn keep_end(text: &str, room: usize) -> String {
    let mut depth = 0;
    let open = text.char_indices().rev().find(|&(_, c)| {
        depth += i32::from(c == ')') - i32::from(c == '(');
        depth == 0
    });
    let is_call = |at: usize| at > 0 && text.ends_with(')') && !text[..at].ends_with(' ');
    let text = match open.filter(|&(at, _)| is_call(at)) {
        Some((at, _)) if !fits(text, room) => format!("{}{PARAMETERS_CUT}", &text[..at]),
        _ => text.to_owned(),
    };
    let length = length(&text);
    if length <= room {
        return text;
    }
    let kept = text.chars().skip(length - room.saturating_sub(1));
    std::iter::once(CUT).chain(kept).take(room).collect()
}

fn fits(text: &str, room: usize) -> bool {
    length(text) <= room
}

fn length(text: &str) -> usize {
    text.chars().count()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn check(name: &str, shown: &[&str]) {
        for &shown in shown {
            assert_eq!(shorten(name, shown.chars().count()), shown);
        }
    }

    #[test]
    fn methods_keep_their_names() {
        check(
            "org.h2.mvstore.MVMap.replacePage(CursorPos, Page, IntValueHolder)",
            &[
                "org.h2.mvstore.MVMap.replacePage(CursorPos, Page, IntValueHolder)",
                "org.h2.mvstore.MVMap.replacePage(…)",
                "o.h2.mvstore.MVMap.replacePage(…)",
                "o.h.m.MVMap.replacePage(…)",
                "o.h.m.MVMap.replacePage",
                "MVMap.replacePage",
                "MVM….replacePage",
                "replacePage",
                "replac…",
                "…",
                "",
            ],
        );
        check("a.B.get(): java.lang.Object", &["a.B.get(): java.lang.Object", "a.B.get(…)"]);
        check("com.acme.Foo.go()", &["c.a.Foo.go()", "c.a.Foo.go", "Foo.go"]);
    }

    #[test]
    fn lines_stay_longer_than_files() {
        check(
            "org.acme.Main.work (Main.java:12) × 3",
            &[
                "org.acme.Main.work (Main.java:12) × 3",
                "o.a.Main.work (Main.java:12) × 3",
                "org.acme.Main.work:12 × 3",
                "o.a.Main.work:12 × 3",
                "Main.work:12 × 3",
                "work:12 × 3",
                "work",
            ],
        );
        check("jdk.internal.misc.Unsafe.park (native)", &["j.i.m.Unsafe.park (native)"]);
    }

    #[test]
    fn classes_and_their_members() {
        check("java.util.concurrent.ConcurrentHashMap", &["j.u.c.ConcurrentHashMap"]);
        check("java.util.Map$Entry[]", &["j.u.Map$Entry[]", "Map$Entry[]"]);
        check(
            "com.acme.Server$Handlers$User.list",
            &["Server$Handlers$User.list", "…Handlers$User.list", "…User.list", "list"],
        );
        check("com.acme.Main$$Lambda.accept", &["c.a.Main$$Lambda.accept", "…Lambda.accept"]);
        check("com.acme.Resolve$4.accept", &["Resolve$4.accept", "Resol….accept"]);
        check("com.acme.Server.<init>", &["c.a.Server.<init>", "Server.<init>", "<init>"]);
    }

    #[test]
    fn calls_share_the_room() {
        check(
            "org.acme.Parser.parse → org.acme.Lexer.next",
            &["org.acme.Parser.parse → org.acme.Lexer.next", "o.a.Parser.parse → o.a.Lexer.next"],
        );
        check("a.B.c → org.acme.LongClass.method", &["a.B.c → o.a.LongClass.method"]);
    }

    #[test]
    fn other_text_keeps_its_end() {
        check("/usr/lib/x86_64-linux-gnu/libz.so.1.2.13", &["…libz.so.1.2.13"]);
        check("std::vector<int>::push_back(int const&)", &["std::vector<int>::push_back(…)"]);
        check("some words about nothing", &["…nothing"]);
        check("start_thread", &["start_th…"]);
        check("java.nio.HeapByteBuffer: int java.nio.Buffer.limit", &["…java.nio.Buffer.limit"]);
    }

    fn word() -> impl Strategy<Value = String> {
        "[a-zäé][a-zA-Z0-9_é]{0,14}"
    }

    proptest! {
        #[test]
        fn no_method_is_lost_and_no_line_too_wide(
            packages in prop::collection::vec(word(), 0..5),
            class in "[A-Z][a-zA-Z0-9]{0,14}(\\$[A-Z1-9][a-z]{0,9}){0,2}",
            method in "(<init>|[a-z][a-zA-Z0-9$]{0,19})",
            parameters in "(|\\(\\)|\\([a-z]{1,8}(, [A-Z][a-z]{1,8}){0,4}\\))",
            tail in "(| \\([A-Z][a-z]{0,8}\\.java:[1-9][0-9]{0,3}\\)| \\(native\\))( × 3)?",
            room in 0_usize..120,
        ) {
            let name = [&packages[..], &[class, method.clone()]].concat().join(".");
            let name = name + &parameters + &tail;
            let shown = shorten(&name, room);
            prop_assert!(length(&shown) <= room, "{shown}");
            if length(&method) <= room {
                prop_assert!(shown.contains(&method), "{shown}");
            } else {
                prop_assert!(method.starts_with(shown.trim_end_matches(CUT)), "{shown}");
            }
        }

        #[test]
        fn any_text_fits(text in "\\PC{0,60}", room in 0_usize..70) {
            prop_assert!(length(&shorten(&text, room)) <= room);
        }
    }
}
