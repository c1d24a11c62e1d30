//! The sizes of objects as the JVM counts them without perk, computed from the fields in a heap
//! dump.

use std::sync::Mutex;

use perk_hotspot::layout::{Fields, Jvm, Layout};
use perk_hotspot::since;
use perk_hprof::heap::{ClassFields, FieldType};
use perk_jvm::Image;
use perk_jvm::sync::lock;
use rustc_hash::FxHashMap;

/// The sizes; see the module.
#[derive(Debug)]
pub(super) struct DumpSizes {
    jvm: Jvm,
    /// The JDK's image; its class files show which classes have a special layout.
    image: Option<&'static Image>,
    /// The fields of the JDK's classes, by class name.
    of_boot_loader: Mutex<FxHashMap<String, Option<Fields>>>,
}

impl DumpSizes {
    pub(super) fn new(jvm: Jvm, image: Option<&'static Image>) -> Self {
        Self { jvm, image, of_boot_loader: Mutex::default() }
    }

    /// Returns the size of an instance of the last of these classes. Each class is the superclass
    /// of the next; the first is `java.lang.Object`.
    pub(super) fn instance_bytes(&self, classes: &[ClassFields<'_>]) -> u64 {
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

    /// Whether the JVM's dumps contain the references of parked virtual threads.
    pub(super) fn roots_parked_frames(&self) -> bool {
        self.jvm.feature_version >= since::PARKED_FRAMES_IN_DUMPS
    }

    /// Returns the size of an array.
    pub(super) fn array_bytes(&self, element: FieldType, length: u32) -> u64 {
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
