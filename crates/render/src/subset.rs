//! The names that the rows of a table have, out of all names of a profile.

use std::collections::HashMap;

use perk_profile::{ClassId, Frame, FrameId, Method, MethodId, StrId, Symbols};

use crate::Cell;
use crate::table::Labels;

/// Some of the names of `from`, with ids of their own.
pub(crate) struct Subset<'a> {
    from: &'a Symbols,
    to: Symbols,
    classes: HashMap<ClassId, ClassId>,
    methods: HashMap<MethodId, MethodId>,
    frames: HashMap<FrameId, FrameId>,
}

impl<'a> Subset<'a> {
    pub(crate) fn new(from: &'a Symbols) -> Self {
        let (classes, methods, frames) = Default::default();
        Self { from, to: Symbols::default(), classes, methods, frames }
    }

    /// The names; `None` if there is none.
    pub(crate) fn symbols(self) -> Option<Box<Symbols>> {
        let is_empty = self.classes.is_empty() && self.methods.is_empty();
        (!is_empty).then(|| Box::new(self.to))
    }

    /// Gives the cell the ids of the subset.
    pub(crate) fn take(&mut self, cell: &mut Cell) {
        match cell {
            Cell::Method(id) => *id = self.method(*id),
            Cell::Class(id) => *id = self.class(*id),
            Cell::Path(frames) => frames.iter_mut().for_each(|id| *id = self.frame(*id)),
            Cell::Methods(methods, _) => methods.iter_mut().for_each(|id| *id = self.method(*id)),
            Cell::Missing(_)
            | Cell::Number(_)
            | Cell::Worded(..)
            | Cell::Share(..)
            | Cell::Bool(_)
            | Cell::Text(_)
            | Cell::Json(_) => {}
        }
    }

    /// The labels of the methods that are part of it.
    pub(crate) fn labels(&self, labels: &Labels) -> Labels {
        let methods = self.methods.iter();
        methods.filter_map(|(from, to)| Some((*to, labels.get(from)?.clone()))).collect()
    }

    fn class(&mut self, id: ClassId) -> ClassId {
        // Classes of several loaders have one name and are not the same.
        let name = self.from.class_name(id);
        *self.classes.entry(id).or_insert_with(|| self.to.new_class(name))
    }

    fn method(&mut self, id: MethodId) -> MethodId {
        if let Some(&method) = self.methods.get(&id) {
            return method;
        }
        let Method { class, name, signature, source } = self.from.get_method(id);
        let class = self.class(class);
        let mut text = |id: StrId| self.to.strings.intern(self.from.strings.get(id));
        let [signature, source] = [signature, source].map(|id| id.map(&mut text));
        let name = text(name);
        let method = self.to.method(Method { class, name, signature, source });
        self.methods.insert(id, method);
        method
    }

    fn frame(&mut self, id: FrameId) -> FrameId {
        if let Some(&frame) = self.frames.get(&id) {
            return frame;
        }
        let frame = self.from.get_frame(id);
        let method = self.method(frame.method);
        let frame = self.to.frame(Frame { method, ..frame });
        self.frames.insert(id, frame);
        frame
    }
}
