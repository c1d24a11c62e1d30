//! Profiles for tests.

use perk_profile::{Frame, Line, Method, Profile, ThreadId, TraceId};

/// Adds a trace, whose outermost method stands first.
pub(super) fn trace(profile: &mut Profile, stack: &[&str], thread: Option<ThreadId>) -> TraceId {
    let frames = stack.iter().map(|name| {
        let (class, name) = name.rsplit_once('.').unwrap();
        let class = profile.symbols.class(class);
        let name = profile.symbols.strings.intern(name);
        let method = Method { class, name, signature: None, source: None };
        let method = profile.symbols.method(method);
        profile.symbols.frame(Frame::new(method, Line::Unknown))
    });
    let frames: Vec<_> = frames.collect();
    let node = profile.tree.insert(frames);
    profile.trace(node, thread)
}
