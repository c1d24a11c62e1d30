//! Common ids for the names of two profiles.

use perk_profile::{
    ClassId, Field, Frame, FrameId, Line, Method, MethodId, Profile, StrId, Symbols, names,
};

/// The symbols of both profiles.
#[derive(Debug)]
pub(super) struct Names {
    pub(super) symbols: Symbols,
    /// Without, methods of one name are one.
    pub(super) has_signatures: bool,
}

/// The ids of the comparison for the ids of a profile.
#[derive(Debug)]
pub(super) struct Side {
    pub(super) classes: Vec<ClassId>,
    pub(super) methods: Vec<MethodId>,
    pub(super) frames: Vec<FrameId>,
}

impl Names {
    /// The field by its names, without the parts that differ from run to run.
    pub(super) fn field(&mut self, from: &Symbols, field: Field) -> Field {
        let strings = &mut self.symbols.strings;
        let mut text = |id| strings.intern(&names::stable(from.strings.get(id)));
        let [class, descriptor] = [field.class, field.descriptor].map(&mut text);
        let name = strings.intern(from.strings.get(field.name));
        Field { class, name, descriptor }
    }

    /// Adds the names of a profile.
    pub(super) fn side(&mut self, profile: &Profile) -> Side {
        let from = &profile.symbols;
        let classes: Vec<_> =
            from.classes().map(|(id, _)| self.symbols.class(from.class_name(id))).collect();
        let text = |symbols: &mut Symbols, id: StrId| symbols.strings.intern(from.strings.get(id));
        let methods: Vec<_> = (0..from.method_count())
            .map(|index| {
                let method = from.get_method(MethodId::new(index));
                let class = classes[method.class.index()];
                let name = text(&mut self.symbols, method.name);
                let signature = method.signature.filter(|_| self.has_signatures);
                let signature = signature.map(|id| text(&mut self.symbols, id));
                self.symbols.method(Method { class, name, signature, source: None })
            })
            .collect();
        let frames = (0..from.frame_count())
            .map(|index| {
                let frame = from.get_frame(FrameId::new(index));
                let line = match frame.line {
                    // The way in which a method is compiled differs from run to run.
                    Line::Compiled => Line::Unknown,
                    line => line,
                };
                let method = methods[frame.method.index()];
                self.symbols.frame(Frame::new(method, line))
            })
            .collect();
        Side { classes, methods, frames }
    }
}
