//! The text of a source file.

/// The lines of a source file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SourceText {
    lines: Vec<String>,
}

impl SourceText {
    /// The lines of `bytes`. They end with a line feed, a carriage return, or both, as in Java.
    /// Bytes that are not UTF-8 become U+FFFD.
    pub fn new(bytes: &[u8]) -> Self {
        let text = String::from_utf8_lossy(bytes);
        let text = text.trim_start_matches('\u{feff}');
        let mut lines = Vec::new();
        let mut rest = text;
        while !rest.is_empty() {
            let end = rest.find(['\n', '\r']).unwrap_or(rest.len());
            lines.push(rest[..end].to_owned());
            rest = &rest[end..];
            rest = rest.strip_prefix("\r\n").or_else(|| rest.get(1..)).unwrap_or_default();
        }
        Self { lines }
    }

    /// The number of lines.
    pub fn len(&self) -> u32 {
        u32::try_from(self.lines.len()).unwrap_or(u32::MAX)
    }

    /// Whether there is no line.
    pub fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    /// A line, from 1; `None` after the end.
    pub fn line(&self, line: u32) -> Option<&str> {
        self.lines.get((line as usize).checked_sub(1)?).map(String::as_str)
    }

    /// The lines, in order.
    pub fn lines(&self) -> impl ExactSizeIterator<Item = &str> {
        self.lines.iter().map(String::as_str)
    }

    /// The package that the file declares, as a path: `com/acme`; empty where it declares none.
    pub fn package(&self) -> String {
        let mut is_comment = false;
        for line in self.lines() {
            let mut code = String::new();
            let mut rest = line;
            // Comments before, in or after the declaration are left out.
            while !rest.is_empty() {
                if is_comment {
                    let Some((_, after)) = rest.split_once("*/") else { break };
                    (is_comment, rest) = (false, after);
                    continue;
                }
                let end = rest
                    .find("/*")
                    .unwrap_or(rest.len())
                    .min(rest.find("//").unwrap_or(rest.len()));
                code += &rest[..end];
                is_comment = rest[end..].starts_with("/*");
                rest = if is_comment { &rest[end + 2..] } else { "" };
            }
            if let Some(name) = code.trim_start().strip_prefix("package")
                && name.starts_with(char::is_whitespace)
            {
                let name = name.split(';').next().unwrap_or_default();
                return name
                    .split_whitespace()
                    .collect::<String>()
                    .replace('.', "/")
                    .replace('`', "");
            }
        }
        String::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_end_as_in_java() {
        let text = SourceText::new(b"\xef\xbb\xbfa\r\n\tb\rc\n\n\xffd");
        assert_eq!(text.lines().collect::<Vec<_>>(), ["a", "\tb", "c", "", "\u{fffd}d"]);
        assert_eq!((text.len(), text.line(5), text.line(6)), (5, Some("\u{fffd}d"), None));
        assert_eq!(text.line(0), None);
        assert_eq!(SourceText::new(b"a\r\n").len(), 1);
        assert_eq!(SourceText::new(b"\n\n").len(), 2);
        assert!(SourceText::new(b"").is_empty());
    }

    #[test]
    fn the_package_is_declared_outside_of_comments() {
        for (text, package) in [
            ("package com.acme;\nclass A {}", "com/acme"),
            ("/* package a;\n package b; */ package c . d ; // e\n", "c/d"),
            ("// package a\n@file:JvmName(\"X\")\npackage com.`in`.b\n", "com/in/b"),
            ("packages a;\nimport b;", ""),
            ("/* package a;", ""),
            ("", ""),
        ] {
            assert_eq!(SourceText::new(text.as_bytes()).package(), package, "{text}");
        }
    }
}
