//! Typical call stacks, the same ones at each run: from `main`, each method calls some of a few
//! others, and mostly the first of them.

use std::fmt::{self, Display, Formatter};

const PACKAGES: [&str; 8] = [
    "java.util",
    "java.util.concurrent",
    "com.example.shop.order",
    "com.example.shop.billing.internal",
    "org.apache.commons.lang3",
    "org.springframework.beans.factory.support",
    "com.fasterxml.jackson.databind.ser",
    "io.netty.channel",
];
const NOUNS: [&str; 16] = [
    "Order", "Bean", "Channel", "Handler", "Factory", "Context", "Request", "Table", "Queue",
    "Node", "Buffer", "Property", "Session", "Cache", "Entry", "Filter",
];
const VERBS: [&str; 12] = [
    "get",
    "create",
    "resolve",
    "invoke",
    "read",
    "write",
    "apply",
    "do",
    "find",
    "serialize",
    "accept",
    "close",
];
/// The number of methods.
const METHODS: u64 = 6_000;
/// The number of others that a method calls.
const CALLEES: u64 = 5;

/// A place in a method.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::bench) struct Frame {
    method: u64,
    call: u64,
}

/// A generator of one stack after another.
#[derive(Debug)]
pub(in crate::bench) struct Stacks {
    state: u64,
}

impl Stacks {
    pub(in crate::bench) fn new() -> Self {
        Self { state: 0x9E37_79B9_7F4A_7C15 }
    }

    /// Returns a number from 0 to below `limit` (xorshift).
    pub(in crate::bench) fn number(&mut self, limit: u64) -> u64 {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        self.state % limit
    }

    /// Fills `frames` with the next stack, the outermost frame first.
    pub(in crate::bench) fn next(&mut self, frames: &mut Vec<Frame>) {
        frames.clear();
        let depth = 4 + self.number(28);
        let mut method = 0;
        for _ in 0..depth {
            // The result is 0 in three of four cases, 1 in three of four of the others, and so on.
            let call = u64::from(self.number(1 << (2 * CALLEES)).trailing_zeros() / 2);
            let call = call.min(CALLEES - 1);
            frames.push(Frame { method, call });
            method = mix(method * CALLEES + call) % METHODS;
        }
    }

    /// Fills `frames` with a stack of any methods, which shares almost nothing with others.
    pub(in crate::bench) fn any(&mut self, frames: &mut Vec<Frame>) {
        frames.clear();
        let depth = 4 + self.number(28);
        frames.extend((0..depth).map(|_| Frame { method: self.number(METHODS), call: 0 }));
    }
}

fn mix(value: u64) -> u64 {
    let value = (value ^ 0x51_7CC1_B727_220A).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    value ^ (value >> 29)
}

fn pick<'a>(from: &[&'a str], value: u64) -> &'a str {
    from[(value % from.len() as u64) as usize]
}

impl Frame {
    /// Returns the name of the frame's class.
    pub(in crate::bench) fn class(self) -> impl Display {
        Class(self.method / 10)
    }

    /// Returns the name of the frame's method, without the class.
    pub(in crate::bench) fn method(self) -> impl Display {
        let bits = mix(self.method);
        JoinedName(pick(&VERBS, bits), pick(&NOUNS, bits >> 8), self.method % 10)
    }

    /// Returns the name of the frame's source file.
    pub(in crate::bench) fn source(self) -> impl Display {
        let Class(class) = Class(self.method / 10);
        let bits = mix(class);
        Source(JoinedName(pick(&NOUNS, bits >> 4), pick(&NOUNS, bits >> 12), class))
    }

    /// Returns the frame's line.
    pub(in crate::bench) fn line(self) -> u64 {
        20 + mix(self.method) % 900 + self.call * 7
    }
}

struct Class(u64);

impl Display for Class {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let bits = mix(self.0);
        let name = JoinedName(pick(&NOUNS, bits >> 4), pick(&NOUNS, bits >> 12), self.0);
        write!(f, "{}.{name}", pick(&PACKAGES, bits))
    }
}

struct JoinedName<'a>(&'a str, &'a str, u64);

impl Display for JoinedName<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}{}", self.0, self.1, self.2)
    }
}

struct Source<'a>(JoinedName<'a>);

impl Display for Source<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}.java", self.0)
    }
}
