//! The profile of a page's data.

use perk_profile::{Accounting, Event, FrameId, Line, NodeId, Profile, ThreadId, Timestamp};

use super::data::{FrameColumns, NodeKind, PageData, same_length};
use crate::Error;
use crate::builder::ProfileBuilder;
use crate::memory;

impl PageData {
    pub(super) fn into_profile(self) -> Result<Profile, Error> {
        let mut builder = ProfileBuilder::default();
        let steps = self.steps(&mut builder)?;
        let nodes = self.nodes;
        same_length("nodes.frame", nodes.frame.len(), nodes.level.len())?;
        same_length("nodes.self", nodes.self_count.len(), nodes.level.len())?;

        let mut level = 0_i64;
        // The path to the node: its thread, if it has one, and the nodes of the call tree down to
        // it.
        let mut thread: Option<ThreadId> = None;
        let mut path: Vec<NodeId> = Vec::new();
        // The thread and the node of the call tree of each node with a number.
        let mut ends: Vec<Option<(Option<ThreadId>, NodeId)>> = vec![None; nodes.level.len()];
        for (index, &delta) in nodes.level.iter().enumerate() {
            if memory::is_full(1) {
                break;
            }
            let error = |table, expected| Error::Entry { table, index, expected };
            level = level.saturating_add(delta);
            let above = usize::try_from(level.saturating_sub(1))
                .ok()
                .filter(|&above| above <= path.len() + usize::from(thread.is_some()))
                .ok_or(error("nodes.level", "a level from 1 to one below the node before"))?;
            if above == 0 {
                thread = None;
            }
            path.truncate(above - usize::from(thread.is_some()));
            let step = steps
                .get(nodes.frame[index] as usize)
                .ok_or(error("nodes.frame", "an index of frames"))?;
            match *step {
                PathStep::Thread(id) if above == 0 => thread = Some(id),
                PathStep::Thread(_) => return Err(error("nodes.frame", "threads on level 1 only")),
                PathStep::Frame(frame) => {
                    let tree = &mut builder.profile.tree;
                    let parent = path.last().copied().unwrap_or(tree.root());
                    path.push(tree.insert_below(parent, [frame]));
                }
                PathStep::NoStack | PathStep::BelowCutoff => {}
            }
            match (step, nodes.self_count[index]) {
                (_, 0) => {}
                (PathStep::BelowCutoff, count) => builder.add_unlisted(count),
                (_, count) => {
                    let node = path.last().copied().unwrap_or(builder.profile.tree.root());
                    builder.add(thread, node, count);
                    ends[index] = Some((thread, node));
                }
            }
        }
        let timeline = match &self.times {
            Some(times) => Some(times.timeline(&mut builder, &ends)?),
            None => None,
        };
        let mut profile = builder.finish();
        profile.events.extend(timeline.map(Event::Timeline));
        let stamp = |(unix_ms, utc_offset_s)| Timestamp { unix_ms, utc_offset_s };
        profile.created = self.created.map(stamp);
        profile.depth = self.depth;
        profile.accounting = self.accounting.as_deref().map(Accounting::from_text);
        profile.notes = self.notes;
        if !self.others.is_empty() {
            let names: Vec<_> = self.others.iter().map(|other| other.value.as_str()).collect();
            let names = names.join(", ");
            profile.notes.push(format!("values of the page that are not read back: {names}"));
        }
        Ok(profile)
    }

    /// Returns the meaning of each entry of `frames` in the profile that `builder` makes. Those that only
    /// other values have mean nothing.
    fn steps(&self, builder: &mut ProfileBuilder) -> Result<Vec<PathStep>, Error> {
        let FrameColumns { kind, class, name, signature, .. } = &self.frames;
        same_length("frames.class", class.len(), kind.len())?;
        same_length("frames.name", name.len(), kind.len())?;
        same_length("frames.signature", signature.len(), kind.len())?;
        let string = |table, index: usize, column: &[u32]| {
            let expected = "an index of strings";
            let string = self.strings.get(column[index] as usize).map(String::as_str);
            string.ok_or(Error::Entry { table, index, expected })
        };
        let mut is_used = vec![false; kind.len()];
        for &frame in &self.nodes.frame {
            if let Some(is_used) = is_used.get_mut(frame as usize) {
                *is_used = true;
            }
        }
        let mut steps = Vec::with_capacity(kind.len());
        for (index, &kind) in kind.iter().enumerate() {
            if !is_used[index] {
                steps.push(PathStep::NoStack);
                continue;
            }
            let class = string("frames.class", index, class)?;
            let name = string("frames.name", index, name)?;
            let signature = string("frames.signature", index, signature)?;
            steps.push(match kind {
                NodeKind::Java | NodeKind::LeftOut => {
                    PathStep::Frame(builder.frame(class, name, signature, Line::Unknown))
                }
                NodeKind::Native => {
                    PathStep::Frame(builder.frame(class, name, signature, Line::Native))
                }
                NodeKind::Thread => PathStep::Thread(builder.thread(name)),
                NodeKind::NoStack => PathStep::NoStack,
                NodeKind::BelowCutoff => PathStep::BelowCutoff,
                NodeKind::Objects => {
                    let expected = "a kind of frame that samples have: not 5";
                    return Err(Error::Entry { table: "frames.kind", index, expected });
                }
            });
        }
        Ok(steps)
    }
}

/// The step that a node adds to the path above it when it is read back.
#[derive(Clone, Copy, Debug)]
enum PathStep {
    Thread(ThreadId),
    Frame(FrameId),
    NoStack,
    BelowCutoff,
}
