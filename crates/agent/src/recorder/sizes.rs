//! The sizes of objects as the JVM counts them without perk, by the fields that a heap dump tells.

use std::sync::Mutex;

use perk_hotspot::layout::{Fields, Jvm, Layout};
use perk_hotspot::since;
use perk_hprof::heap::{ClassFields, FieldType};
use rustc_hash::FxHashMap;

use crate::jvm::Image;
use crate::sync::lock;

/// See the module.
#[derive(Debug)]
pub(crate) struct DumpedSizes {
    jvm: Jvm,
    /// The class files of the JDK tell of what is laid out in a way of its own.
    image: Option<&'static Image>,
    /// Those of the JDK's classes, by name.
    of_boot_loader: Mutex<FxHashMap<String, Option<Fields>>>,
}

impl DumpedSizes {
    pub(crate) fn new(jvm: Jvm, image: Option<&'static Image>) -> Self {
        Self { jvm, image, of_boot_loader: Mutex::default() }
    }

    /// The size of an instance of the last of these classes, of which each is the next one's
    /// superclass; the first is `java.lang.Object`.
    pub(crate) fn instance_bytes(&self, classes: &[ClassFields<'_>]) -> u64 {
        let mut layout = Layout::object(&self.jvm);
        for class in classes.iter().skip(1) {
            layout = match self.boot_fields(class) {
                Some(fields) => layout.subclass(&self.jvm, &fields),
                None => {
                    layout.subclass(&self.jvm, &class.fields.iter().map(|it| it.kind()).collect())
                }
            };
        }
        layout.instance_bytes()
    }

    /// Whether the JVM tells in its dumps what parked virtual threads refer to.
    pub(crate) fn roots_parked_frames(&self) -> bool {
        self.jvm.feature_version >= since::PARKED_FRAMES_IN_DUMPS
    }

    /// The size of an array.
    pub(crate) fn array_bytes(&self, element: FieldType, length: u32) -> u64 {
        self.jvm.array_bytes(element.kind(), length)
    }

    fn boot_fields(&self, class: &ClassFields<'_>) -> Option<Fields> {
        let image = self.image.filter(|_| class.is_of_boot_loader)?;
        let mut known = lock(&self.of_boot_loader);
        let fields = known
            .entry(class.name.to_owned())
            .or_insert_with(|| image.fields(class.name.replace('.', "/").as_bytes(), &self.jvm));
        fields.clone()
    }
}
