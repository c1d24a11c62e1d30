//! The sizes of objects as the JVM counts them without perk: they follow from the layout of a
//! class's fields.

use std::sync::Mutex;

use perk_hotspot::layout::{FieldKind, Fields, Jvm, Layout};
use perk_instrument::fields::PREFIX;
use perk_jvm::{Image, Jni, Jvmti, Reference};
use perk_profile::ClassId;
use rustc_hash::FxHashMap;

use crate::recorder::Recorder;
use crate::resolve::class_id;

/// The layouts of the known classes.
#[derive(Debug)]
pub(crate) struct ClassSizes {
    jvm: Jvm,
    /// The layout of each class; `None` for arrays.
    layouts: FxHashMap<ClassId, Option<Layout>>,
}

/// The sources of data about classes.
#[derive(Clone, Copy)]
pub(crate) struct Source<'a> {
    pub(crate) jvmti: Jvmti,
    pub(crate) jni: Jni<'a>,
    pub(crate) recorder: &'a Mutex<Recorder>,
}

impl ClassSizes {
    pub(crate) fn new(jvm: Jvm) -> Self {
        Self { jvm, layouts: FxHashMap::default() }
    }

    /// Returns the size of an instance of a class that was added; `None` for arrays.
    pub(crate) fn instance_bytes(&self, class: ClassId) -> Option<u64> {
        self.get(class).map(Layout::instance_bytes)
    }

    /// Returns the layout of the instances of a class that was added; `None` for arrays.
    pub(crate) fn get(&self, class: ClassId) -> Option<&Layout> {
        self.layouts.get(&class)?.as_ref()
    }

    /// Adds a class and its superclasses. Returns the profile's number of the class.
    pub(crate) fn add(
        &mut self,
        source: &Source<'_>,
        class: &(impl Reference + ?Sized),
    ) -> ClassId {
        let id = class_id(source.jvmti, source.recorder, class).0;
        if !self.layouts.contains_key(&id) {
            let layout = self.layout(source, class);
            self.layouts.insert(id, layout);
        }
        id
    }

    fn layout(&mut self, source: &Source<'_>, class: &(impl Reference + ?Sized)) -> Option<Layout> {
        let signature = source.jvmti.class_signature(class).ok()?;
        let name = signature.strip_prefix('L')?.strip_suffix(';')?;
        let Some(superclass) = source.jni.superclass(class) else {
            return Some(Layout::object(&self.jvm));
        };
        let superclass = self.add(source, &superclass);
        let fields = match source.jvmti.is_of_boot_loader(source.jni, class) {
            // The class file shows special layouts.
            true => Image::of(source.jvmti).and_then(|it| it.fields(name.as_bytes(), &self.jvm)),
            false => None,
        };
        let fields = fields.unwrap_or_else(|| fields_by_jvmti(source.jvmti, class));
        Some(self.layouts.get(&superclass)?.as_ref()?.subclass(&self.jvm, &fields))
    }
}

/// Returns the fields that a class declares for its instances, as far as the JVM reports them.
fn fields_by_jvmti(jvmti: Jvmti, class: &(impl Reference + ?Sized)) -> Fields {
    let fields = jvmti.instance_fields(class).unwrap_or_default();
    let fields = fields.iter().filter(|(name, _)| !name.starts_with(PREFIX));
    fields.filter_map(|(_, it)| FieldKind::of_descriptor(it.as_bytes())).collect()
}
