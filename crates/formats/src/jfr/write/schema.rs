//! The types of perk's recordings: those of the JDK that its events need, under the JDK's names and
//! with its annotations, and two of perk. Each chunk describes all of them.

use std::collections::HashMap;

use super::bytes::Bytes;

/// The id of the events that hold constants.
pub(super) const CHECKPOINT: u64 = 1;
const METADATA: u64 = 0;

const BOOLEAN: u64 = 2;
const INT: u64 = 3;
const LONG: u64 = 4;
const STRING: u64 = 5;
pub(super) const THREAD: u64 = 6;
pub(super) const THREAD_GROUP: u64 = 7;
pub(super) const CLASS: u64 = 8;
const CLASS_LOADER: u64 = 9;
pub(super) const PACKAGE: u64 = 10;
pub(super) const METHOD: u64 = 11;
pub(super) const SYMBOL: u64 = 12;
pub(super) const STACK_TRACE: u64 = 13;
const STACK_FRAME: u64 = 14;
pub(super) const FRAME_TYPE: u64 = 15;
pub(super) const THREAD_STATE: u64 = 16;

const LABEL: u64 = 20;
const CATEGORY: u64 = 21;
const CONTENT_TYPE: u64 = 22;
const TIMESTAMP: u64 = 23;
const TIMESPAN: u64 = 24;
const DATA_AMOUNT: u64 = 25;

pub(super) const EXECUTION_SAMPLE: u64 = 100;
pub(super) const NATIVE_SAMPLE: u64 = 101;
pub(super) const ALLOCATION_SAMPLE: u64 = 102;
pub(super) const MONITOR_ENTER: u64 = 103;
pub(super) const MONITOR_WAIT: u64 = 104;
pub(super) const PARK: u64 = 105;
pub(super) const ACTIVE_RECORDING: u64 = 106;
pub(super) const ACTIVE_SETTING: u64 = 107;
pub(super) const JVM_INFORMATION: u64 = 108;
pub(super) const WALL_CLOCK_SAMPLE: u64 = 109;
pub(super) const ACCOUNTING: u64 = 110;

/// A type of values, of events or of annotations.
struct SchemaType {
    id: u64,
    name: &'static str,
    kind: TypeKind,
    label: &'static str,
    fields: &'static [SchemaField],
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum TypeKind {
    Primitive,
    Value,
    /// A value of one field, which represents it.
    Simple,
    Annotation,
    /// An annotation that gives the meaning of a number.
    ContentType,
    /// An event, in these groups.
    Event(&'static [&'static str]),
}

/// A field of a type.
struct SchemaField {
    name: &'static str,
    type_id: u64,
    label: &'static str,
    form: FieldForm,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum FieldForm {
    Inline,
    /// The key of a constant.
    Pooled,
    Array,
    /// A number with a meaning: the annotation and its value.
    Meant(u64, &'static str),
}
use FieldForm::{Array, Inline, Meant, Pooled};

const fn field(
    name: &'static str,
    type_id: u64,
    label: &'static str,
    form: FieldForm,
) -> SchemaField {
    SchemaField { name, type_id, label, form }
}

const START: SchemaField = field("startTime", LONG, "Start Time", Meant(TIMESTAMP, "TICKS"));
const DURATION: SchemaField = field("duration", LONG, "Duration", Meant(TIMESPAN, "TICKS"));
const EVENT_THREAD: SchemaField = field("eventThread", THREAD, "Event Thread", Pooled);
const SAMPLED_THREAD: SchemaField = field("sampledThread", THREAD, "Thread", Pooled);
const STACK: SchemaField = field("stackTrace", STACK_TRACE, "Stack Trace", Pooled);
const STATE: SchemaField = field("state", THREAD_STATE, "Thread State", Pooled);
const ADDRESS: SchemaField = field("address", LONG, "Monitor Address", Inline);
const ANNOTATION_VALUE: SchemaField = field("value", STRING, "", Inline);

const PROFILING: TypeKind = TypeKind::Event(&["Java Virtual Machine", "Profiling"]);
const APPLICATION: TypeKind = TypeKind::Event(&["Java Application"]);
const RECORDER: TypeKind = TypeKind::Event(&["Flight Recorder"]);

const EPOCH_MS: FieldForm = Meant(TIMESTAMP, "MILLISECONDS_SINCE_EPOCH");
const MILLISECONDS: FieldForm = Meant(TIMESPAN, "MILLISECONDS");
const NANOSECONDS: FieldForm = Meant(TIMESPAN, "NANOSECONDS");
const BYTES: FieldForm = Meant(DATA_AMOUNT, "BYTES");

const fn primitive(id: u64, name: &'static str) -> SchemaType {
    SchemaType { id, name, kind: TypeKind::Primitive, label: "", fields: &[] }
}

const fn annotation(
    id: u64,
    name: &'static str,
    kind: TypeKind,
    label: &'static str,
) -> SchemaType {
    SchemaType { id, name, kind, label, fields: &[ANNOTATION_VALUE] }
}

static TYPES: [SchemaType; 32] = [
    primitive(BOOLEAN, "boolean"),
    primitive(INT, "int"),
    primitive(LONG, "long"),
    primitive(STRING, "java.lang.String"),
    SchemaType {
        id: THREAD,
        name: "java.lang.Thread",
        kind: TypeKind::Value,
        label: "Thread",
        fields: &[
            field("osName", STRING, "OS Thread Name", Inline),
            field("osThreadId", LONG, "OS Thread Id", Inline),
            field("javaName", STRING, "Java Thread Name", Inline),
            field("javaThreadId", LONG, "Java Thread Id", Inline),
            field("group", THREAD_GROUP, "Java Thread Group", Pooled),
            field("virtual", BOOLEAN, "Virtual Thread", Inline),
        ],
    },
    SchemaType {
        id: THREAD_GROUP,
        name: "jdk.types.ThreadGroup",
        kind: TypeKind::Value,
        label: "Thread Group",
        fields: &[
            field("parent", THREAD_GROUP, "Parent", Pooled),
            field("name", STRING, "Name", Inline),
        ],
    },
    SchemaType {
        id: CLASS,
        name: "java.lang.Class",
        kind: TypeKind::Value,
        label: "Java Class",
        fields: &[
            field("classLoader", CLASS_LOADER, "Class Loader", Pooled),
            field("name", SYMBOL, "Name", Pooled),
            field("package", PACKAGE, "Package", Pooled),
            field("modifiers", INT, "Access Modifiers", Inline),
            field("hidden", BOOLEAN, "Hidden", Inline),
        ],
    },
    SchemaType {
        id: CLASS_LOADER,
        name: "jdk.types.ClassLoader",
        kind: TypeKind::Value,
        label: "Java Class Loader",
        fields: &[field("type", CLASS, "Type", Pooled), field("name", SYMBOL, "Name", Pooled)],
    },
    SchemaType {
        id: PACKAGE,
        name: "jdk.types.Package",
        kind: TypeKind::Value,
        label: "Package",
        fields: &[field("name", SYMBOL, "Name", Pooled)],
    },
    SchemaType {
        id: METHOD,
        name: "jdk.types.Method",
        kind: TypeKind::Value,
        label: "Java Method",
        fields: &[
            field("type", CLASS, "Type", Pooled),
            field("name", SYMBOL, "Name", Pooled),
            field("descriptor", SYMBOL, "Descriptor", Pooled),
            field("modifiers", INT, "Access Modifiers", Inline),
            field("hidden", BOOLEAN, "Hidden", Inline),
        ],
    },
    SchemaType {
        id: SYMBOL,
        name: "jdk.types.Symbol",
        kind: TypeKind::Simple,
        label: "Symbol",
        fields: &[field("string", STRING, "String", Inline)],
    },
    SchemaType {
        id: STACK_TRACE,
        name: "jdk.types.StackTrace",
        kind: TypeKind::Value,
        label: "Stacktrace",
        fields: &[
            field("truncated", BOOLEAN, "Truncated", Inline),
            field("frames", STACK_FRAME, "Stack Frames", Array),
        ],
    },
    SchemaType {
        id: STACK_FRAME,
        name: "jdk.types.StackFrame",
        kind: TypeKind::Value,
        label: "Stack Frame",
        fields: &[
            field("method", METHOD, "Java Method", Pooled),
            field("lineNumber", INT, "Line Number", Inline),
            field("bytecodeIndex", INT, "Bytecode Index", Inline),
            field("type", FRAME_TYPE, "Frame Type", Pooled),
        ],
    },
    SchemaType {
        id: FRAME_TYPE,
        name: "jdk.types.FrameType",
        kind: TypeKind::Simple,
        label: "Frame type",
        fields: &[field("description", STRING, "Description", Inline)],
    },
    SchemaType {
        id: THREAD_STATE,
        name: "jdk.types.ThreadState",
        kind: TypeKind::Simple,
        label: "Java Thread State",
        fields: &[field("name", STRING, "Name", Inline)],
    },
    annotation(LABEL, "jdk.jfr.Label", TypeKind::Annotation, "Label"),
    SchemaType {
        id: CATEGORY,
        name: "jdk.jfr.Category",
        kind: TypeKind::Annotation,
        label: "Category",
        fields: &[field("value", STRING, "", Array)],
    },
    SchemaType {
        id: CONTENT_TYPE,
        name: "jdk.jfr.ContentType",
        kind: TypeKind::Annotation,
        label: "Content Type",
        fields: &[],
    },
    annotation(TIMESTAMP, "jdk.jfr.Timestamp", TypeKind::ContentType, "Timestamp"),
    annotation(TIMESPAN, "jdk.jfr.Timespan", TypeKind::ContentType, "Timespan"),
    annotation(DATA_AMOUNT, "jdk.jfr.DataAmount", TypeKind::ContentType, "Data Amount"),
    SchemaType {
        id: EXECUTION_SAMPLE,
        name: "jdk.ExecutionSample",
        kind: PROFILING,
        label: "Method Profiling Sample",
        fields: &[START, SAMPLED_THREAD, STACK, STATE],
    },
    SchemaType {
        id: NATIVE_SAMPLE,
        name: "jdk.NativeMethodSample",
        kind: PROFILING,
        label: "Method Profiling Sample Native",
        fields: &[START, SAMPLED_THREAD, STACK, STATE],
    },
    SchemaType {
        id: ALLOCATION_SAMPLE,
        name: "jdk.ObjectAllocationSample",
        kind: APPLICATION,
        label: "Object Allocation Sample",
        fields: &[
            START,
            EVENT_THREAD,
            STACK,
            field("objectClass", CLASS, "Object Class", Pooled),
            field("weight", LONG, "Sample Weight", BYTES),
            field("objectCount", LONG, "Object Count", Inline),
        ],
    },
    SchemaType {
        id: MONITOR_ENTER,
        name: "jdk.JavaMonitorEnter",
        kind: APPLICATION,
        label: "Java Monitor Blocked",
        fields: &[
            START,
            DURATION,
            EVENT_THREAD,
            STACK,
            field("monitorClass", CLASS, "Monitor Class", Pooled),
            field("previousOwner", THREAD, "Previous Monitor Owner", Pooled),
            ADDRESS,
        ],
    },
    SchemaType {
        id: MONITOR_WAIT,
        name: "jdk.JavaMonitorWait",
        kind: APPLICATION,
        label: "Java Monitor Wait",
        fields: &[
            START,
            DURATION,
            EVENT_THREAD,
            STACK,
            field("monitorClass", CLASS, "Monitor Class", Pooled),
            field("notifier", THREAD, "Notifier Thread", Pooled),
            field("timeout", LONG, "Timeout", MILLISECONDS),
            field("timedOut", BOOLEAN, "Timed Out", Inline),
            ADDRESS,
        ],
    },
    SchemaType {
        id: PARK,
        name: "jdk.ThreadPark",
        kind: APPLICATION,
        label: "Java Thread Park",
        fields: &[
            START,
            DURATION,
            EVENT_THREAD,
            STACK,
            field("parkedClass", CLASS, "Class Parked On", Pooled),
            field("timeout", LONG, "Park Timeout", NANOSECONDS),
            field("until", LONG, "Park Until", EPOCH_MS),
            field("address", LONG, "Address of Object Parked", Inline),
            field("forLock", BOOLEAN, "Parked for a Lock", Inline),
        ],
    },
    SchemaType {
        id: ACTIVE_RECORDING,
        name: "jdk.ActiveRecording",
        kind: RECORDER,
        label: "Flight Recording",
        fields: &[
            START,
            field("id", LONG, "Id", Inline),
            field("name", STRING, "Name", Inline),
            field("destination", STRING, "Destination", Inline),
            field("maxAge", LONG, "Max Age", MILLISECONDS),
            field("maxSize", LONG, "Max Size", BYTES),
            field("recordingStart", LONG, "Start Time", EPOCH_MS),
            field("recordingDuration", LONG, "Recording Duration", MILLISECONDS),
        ],
    },
    SchemaType {
        id: ACTIVE_SETTING,
        name: "jdk.ActiveSetting",
        kind: RECORDER,
        label: "Recording Setting",
        fields: &[
            START,
            field("id", LONG, "Event Id", Inline),
            field("name", STRING, "Setting Name", Inline),
            field("value", STRING, "Setting Value", Inline),
        ],
    },
    SchemaType {
        id: JVM_INFORMATION,
        name: "jdk.JVMInformation",
        kind: TypeKind::Event(&["Java Virtual Machine"]),
        label: "JVM Information",
        fields: &[
            START,
            field("jvmName", STRING, "JVM Name", Inline),
            field("jvmVersion", STRING, "JVM Version", Inline),
            field("jvmArguments", STRING, "JVM Command Line Arguments", Inline),
            field("jvmFlags", STRING, "JVM Settings File Arguments", Inline),
            field("javaArguments", STRING, "Java Application Arguments", Inline),
            field("jvmStartTime", LONG, "JVM Start Time", EPOCH_MS),
            field("pid", LONG, "Process Identifier", Inline),
        ],
    },
    SchemaType {
        id: WALL_CLOCK_SAMPLE,
        name: "perk.WallClockSample",
        kind: PROFILING,
        label: "Wall-Clock Sample",
        fields: &[
            START,
            SAMPLED_THREAD,
            STACK,
            STATE,
            field("time", LONG, "Time of the Thread", NANOSECONDS),
        ],
    },
    SchemaType {
        id: ACCOUNTING,
        name: "perk.Accounting",
        kind: RECORDER,
        label: "Accounting of perk",
        fields: &[
            START,
            field("name", STRING, "Name", Inline),
            field("value", STRING, "Value", Inline),
        ],
    },
];

/// Returns the event that describes the types, and the offset of local time.
pub(super) fn metadata(utc_offset_s: i32) -> Bytes {
    let mut tree = ElementTree::default();
    tree.element("root", &[], 2);
    tree.element("metadata", &[], TYPES.len());
    TYPES.iter().for_each(|it| tree.class(it));
    let utc_offset_ms = (i64::from(utc_offset_s) * 1000).to_string();
    tree.element("region", &[("locale", "en"), ("gmtOffset", &utc_offset_ms)], 0);
    let mut fields = Bytes::default();
    // Start, duration and number of the description.
    fields.number(0).number(0).number(1);
    fields.number(tree.strings.len() as u64);
    tree.strings.iter().for_each(|text| {
        fields.text(text);
    });
    fields.raw(&tree.bytes);
    let mut event = Bytes::default();
    event.event(METADATA, &fields);
    event
}

/// The tree of elements of a description, in order from the root, and its strings.
#[derive(Default)]
struct ElementTree {
    strings: Vec<String>,
    places: HashMap<String, u64>,
    bytes: Bytes,
}

impl ElementTree {
    fn string(&mut self, text: &str) {
        let place = match self.places.get(text) {
            Some(&place) => place,
            None => {
                let place = self.strings.len() as u64;
                self.strings.push(text.to_owned());
                self.places.insert(text.to_owned(), place);
                place
            }
        };
        self.bytes.number(place);
    }

    /// Writes an element. Its children are the next elements.
    fn element(&mut self, name: &str, attributes: &[(&str, &str)], child_count: usize) {
        self.string(name);
        self.bytes.number(attributes.len() as u64);
        for (name, value) in attributes {
            self.string(name);
            self.string(value);
        }
        self.bytes.number(child_count as u64);
    }

    fn annotation(&mut self, type_id: u64, values: &[(&str, &str)]) {
        let id = type_id.to_string();
        let class = [("class", id.as_str())];
        self.element("annotation", &[&class, values].concat(), 0);
    }

    fn class(&mut self, it: &SchemaType) {
        let id = it.id.to_string();
        let mut attributes = vec![("name", it.name), ("id", id.as_str())];
        match it.kind {
            TypeKind::Primitive | TypeKind::Value => {}
            TypeKind::Simple => attributes.push(("simpleType", "true")),
            TypeKind::Annotation | TypeKind::ContentType => {
                attributes.push(("superType", "java.lang.annotation.Annotation"));
            }
            TypeKind::Event(_) => attributes.push(("superType", "jdk.jfr.Event")),
        }
        let has_label = !it.label.is_empty();
        let has_more = matches!(it.kind, TypeKind::Event(_) | TypeKind::ContentType);
        let annotation_count = usize::from(has_label) + usize::from(has_more);
        self.element("class", &attributes, it.fields.len() + annotation_count);
        it.fields.iter().for_each(|field| self.field(field));
        if has_label {
            self.annotation(LABEL, &[("value", it.label)]);
        }
        match it.kind {
            TypeKind::Event(groups) => {
                let names: Vec<_> =
                    (0..groups.len()).map(|index| format!("value-{index}")).collect();
                let values: Vec<_> =
                    names.iter().zip(groups).map(|(name, group)| (name.as_str(), *group)).collect();
                self.annotation(CATEGORY, &values);
            }
            TypeKind::ContentType => self.annotation(CONTENT_TYPE, &[]),
            _ => {}
        }
    }

    fn field(&mut self, field: &SchemaField) {
        let id = field.type_id.to_string();
        let mut attributes = vec![("name", field.name), ("class", id.as_str())];
        match field.form {
            Pooled => attributes.push(("constantPool", "true")),
            Array => attributes.push(("dimension", "1")),
            Inline | Meant(..) => {}
        }
        let has_label = !field.label.is_empty();
        let is_meant = matches!(field.form, Meant(..));
        let annotation_count = usize::from(has_label) + usize::from(is_meant);
        self.element("field", &attributes, annotation_count);
        if has_label {
            self.annotation(LABEL, &[("value", field.label)]);
        }
        if let Meant(annotation, value) = field.form {
            self.annotation(annotation, &[("value", value)]);
        }
    }
}
