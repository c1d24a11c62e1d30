//! What JVMPI consists of. Names, types and the order of members are those of the specification of
//! JDK 1.4.2; numbers are those of the headers of its time.
//!
//! A type is written as in C.

/// Constants that belong together.
#[derive(Debug)]
pub struct Group {
    /// What they are, in a few words.
    pub about: &'static str,
    /// Whether the header has them as hexadecimal numbers.
    pub is_hex: bool,
    /// Names and values.
    pub constants: &'static [(&'static str, i64)],
}

/// A structure that is passed in or out.
#[derive(Debug)]
pub struct Struct {
    /// The name of its type, or that of a member of a union.
    pub name: &'static str,
    /// What it is, in a few words.
    pub about: &'static str,
    /// The types and names of its members.
    pub members: &'static [(&'static str, &'static str)],
}

/// A function of the table.
#[derive(Debug)]
pub struct Function {
    /// Its name.
    pub name: &'static str,
    /// The type of its result.
    pub result: &'static str,
    /// The types and names of its arguments.
    pub arguments: &'static [(&'static str, &'static str)],
    /// The first version that has it.
    pub since: &'static str,
}

const fn group(
    about: &'static str,
    is_hex: bool,
    constants: &'static [(&'static str, i64)],
) -> Group {
    Group { about, is_hex, constants }
}

/// All constants.
pub const CONSTANTS: &[Group] = &[
    group(
        "versions, for GetEnv",
        true,
        &[
            ("JVMPI_VERSION_1", 0x1000_0001),
            ("JVMPI_VERSION_1_1", 0x1000_0002),
            ("JVMPI_VERSION_1_2", 0x1000_0003),
        ],
    ),
    group(
        "results",
        false,
        &[("JVMPI_SUCCESS", 0), ("JVMPI_NOT_AVAILABLE", 1), ("JVMPI_FAIL", -1)],
    ),
    group(
        "events",
        false,
        &[
            ("JVMPI_EVENT_METHOD_ENTRY", 1),
            ("JVMPI_EVENT_METHOD_ENTRY2", 2),
            ("JVMPI_EVENT_METHOD_EXIT", 3),
            ("JVMPI_EVENT_OBJECT_ALLOC", 4),
            ("JVMPI_EVENT_OBJECT_FREE", 5),
            ("JVMPI_EVENT_OBJECT_MOVE", 6),
            ("JVMPI_EVENT_COMPILED_METHOD_LOAD", 7),
            ("JVMPI_EVENT_COMPILED_METHOD_UNLOAD", 8),
            ("JVMPI_EVENT_INSTRUCTION_START", 9),
            ("JVMPI_EVENT_THREAD_START", 33),
            ("JVMPI_EVENT_THREAD_END", 34),
            ("JVMPI_EVENT_CLASS_LOAD_HOOK", 35),
            ("JVMPI_EVENT_HEAP_DUMP", 37),
            ("JVMPI_EVENT_JNI_GLOBALREF_ALLOC", 38),
            ("JVMPI_EVENT_JNI_GLOBALREF_FREE", 39),
            ("JVMPI_EVENT_JNI_WEAK_GLOBALREF_ALLOC", 40),
            ("JVMPI_EVENT_JNI_WEAK_GLOBALREF_FREE", 41),
            ("JVMPI_EVENT_CLASS_LOAD", 42),
            ("JVMPI_EVENT_CLASS_UNLOAD", 43),
            ("JVMPI_EVENT_DATA_DUMP_REQUEST", 44),
            ("JVMPI_EVENT_DATA_RESET_REQUEST", 45),
            ("JVMPI_EVENT_JVM_INIT_DONE", 46),
            ("JVMPI_EVENT_JVM_SHUT_DOWN", 47),
            ("JVMPI_EVENT_ARENA_NEW", 48),
            ("JVMPI_EVENT_ARENA_DELETE", 49),
            ("JVMPI_EVENT_OBJECT_DUMP", 50),
            ("JVMPI_EVENT_RAW_MONITOR_CONTENDED_ENTER", 51),
            ("JVMPI_EVENT_RAW_MONITOR_CONTENDED_ENTERED", 52),
            ("JVMPI_EVENT_RAW_MONITOR_CONTENDED_EXIT", 53),
            ("JVMPI_EVENT_MONITOR_CONTENDED_ENTER", 54),
            ("JVMPI_EVENT_MONITOR_CONTENDED_ENTERED", 55),
            ("JVMPI_EVENT_MONITOR_CONTENDED_EXIT", 56),
            ("JVMPI_EVENT_MONITOR_WAIT", 57),
            ("JVMPI_EVENT_MONITOR_WAITED", 58),
            ("JVMPI_EVENT_MONITOR_DUMP", 59),
            ("JVMPI_EVENT_GC_START", 60),
            ("JVMPI_EVENT_GC_FINISH", 61),
            ("JVMPI_MAX_EVENT_TYPE_VAL", 61),
        ],
    ),
    group(
        "names of events that older agents use",
        false,
        &[
            ("JVMPI_EVENT_OBJ_ALLOC", 4),
            ("JVMPI_EVENT_OBJ_FREE", 5),
            ("JVMPI_EVENT_OBJ_MOVE", 6),
            ("JVMPI_EVENT_LOAD_COMPILED_METHOD", 7),
            ("JVMPI_EVENT_UNLOAD_COMPILED_METHOD", 8),
            ("JVMPI_EVENT_DUMP_DATA_REQUEST", 44),
            ("JVMPI_EVENT_RESET_DATA_REQUEST", 45),
            ("JVMPI_EVENT_NEW_ARENA", 48),
            ("JVMPI_EVENT_DELETE_ARENA", 49),
        ],
    ),
    group(
        "the bit of an event's type that says it was requested",
        true,
        &[("JVMPI_REQUESTED_EVENT", 0x1000_0000)],
    ),
    group(
        "states of a thread",
        false,
        &[
            ("JVMPI_THREAD_RUNNABLE", 1),
            ("JVMPI_THREAD_MONITOR_WAIT", 2),
            ("JVMPI_THREAD_CONDVAR_WAIT", 3),
        ],
    ),
    group(
        "bits of a thread's state",
        true,
        &[("JVMPI_THREAD_SUSPENDED", 0x8000), ("JVMPI_THREAD_INTERRUPTED", 0x4000)],
    ),
    group(
        "priorities of a thread",
        false,
        &[
            ("JVMPI_MINIMUM_PRIORITY", 1),
            ("JVMPI_NORMAL_PRIORITY", 5),
            ("JVMPI_MAXIMUM_PRIORITY", 10),
        ],
    ),
    group(
        "types of objects and values",
        false,
        &[
            ("JVMPI_NORMAL_OBJECT", 0),
            ("JVMPI_CLASS", 2),
            ("JVMPI_BOOLEAN", 4),
            ("JVMPI_CHAR", 5),
            ("JVMPI_FLOAT", 6),
            ("JVMPI_DOUBLE", 7),
            ("JVMPI_BYTE", 8),
            ("JVMPI_SHORT", 9),
            ("JVMPI_INT", 10),
            ("JVMPI_LONG", 11),
        ],
    ),
    group(
        "levels of a heap dump",
        false,
        &[("JVMPI_DUMP_LEVEL_0", 0), ("JVMPI_DUMP_LEVEL_1", 1), ("JVMPI_DUMP_LEVEL_2", 2)],
    ),
    group(
        "records of heap and object dumps",
        true,
        &[
            ("JVMPI_GC_ROOT_UNKNOWN", 0xff),
            ("JVMPI_GC_ROOT_JNI_GLOBAL", 0x01),
            ("JVMPI_GC_ROOT_JNI_LOCAL", 0x02),
            ("JVMPI_GC_ROOT_JAVA_FRAME", 0x03),
            ("JVMPI_GC_ROOT_NATIVE_STACK", 0x04),
            ("JVMPI_GC_ROOT_STICKY_CLASS", 0x05),
            ("JVMPI_GC_ROOT_THREAD_BLOCK", 0x06),
            ("JVMPI_GC_ROOT_MONITOR_USED", 0x07),
            ("JVMPI_GC_ROOT_THREAD_OBJ", 0x08),
            ("JVMPI_GC_CLASS_DUMP", 0x20),
            ("JVMPI_GC_INSTANCE_DUMP", 0x21),
            ("JVMPI_GC_OBJ_ARRAY_DUMP", 0x22),
            ("JVMPI_GC_PRIM_ARRAY_DUMP", 0x23),
        ],
    ),
    group(
        "records of monitor dumps",
        true,
        &[("JVMPI_MONITOR_JAVA", 0x01), ("JVMPI_MONITOR_RAW", 0x02)],
    ),
];

const fn of(
    name: &'static str,
    about: &'static str,
    members: &'static [(&'static str, &'static str)],
) -> Struct {
    Struct { name, about, members }
}

/// The structures that stand by themselves.
pub const STRUCTS: &[Struct] = &[
    of(
        "JVMPI_Method",
        "a method; the lines are -1 for native and abstract ones",
        &[
            ("char *", "method_name"),
            ("char *", "method_signature"),
            ("jint", "start_lineno"),
            ("jint", "end_lineno"),
            ("jmethodID", "method_id"),
        ],
    ),
    of("JVMPI_Field", "a field", &[("char *", "field_name"), ("char *", "field_signature")]),
    of(
        "JVMPI_Lineno",
        "the line of the code from an offset on",
        &[("jint", "offset"), ("jint", "lineno")],
    ),
    of("JVMPI_HeapDumpArg", "what a heap dump shall have", &[("jint", "heap_dump_level")]),
    of(
        "JVMPI_CallFrame",
        "a method being executed; the line is -1 if not known, -3 in native methods",
        &[("jint", "lineno"), ("jmethodID", "method_id")],
    ),
    of(
        "JVMPI_CallTrace",
        "a thread's frames, callees before their callers",
        &[("JNIEnv *", "env_id"), ("jint", "num_frames"), ("JVMPI_CallFrame *", "frames")],
    ),
];

/// The members of the union of an event.
pub const EVENT: &[Struct] = &[
    of(
        "class_load",
        "CLASS_LOAD",
        &[
            ("char *", "class_name"),
            ("char *", "source_name"),
            ("jint", "num_interfaces"),
            ("jint", "num_methods"),
            ("JVMPI_Method *", "methods"),
            ("jint", "num_static_fields"),
            ("JVMPI_Field *", "statics"),
            ("jint", "num_instance_fields"),
            ("JVMPI_Field *", "instances"),
            ("jobjectID", "class_id"),
        ],
    ),
    of("class_unload", "CLASS_UNLOAD", &[("jobjectID", "class_id")]),
    of(
        "class_load_hook",
        "CLASS_LOAD_HOOK",
        &[
            ("unsigned char *", "class_data"),
            ("jint", "class_data_len"),
            ("unsigned char *", "new_class_data"),
            ("jint", "new_class_data_len"),
            ("void *(unsigned int)", "malloc_f"),
        ],
    ),
    of(
        "obj_alloc",
        "OBJECT_ALLOC",
        &[
            ("jint", "arena_id"),
            ("jobjectID", "class_id"),
            ("jint", "is_array"),
            ("jint", "size"),
            ("jobjectID", "obj_id"),
        ],
    ),
    of("obj_free", "OBJECT_FREE", &[("jobjectID", "obj_id")]),
    of(
        "obj_move",
        "OBJECT_MOVE",
        &[
            ("jint", "arena_id"),
            ("jobjectID", "obj_id"),
            ("jint", "new_arena_id"),
            ("jobjectID", "new_obj_id"),
        ],
    ),
    of("new_arena", "ARENA_NEW", &[("jint", "arena_id"), ("char *", "arena_name")]),
    of("delete_arena", "ARENA_DELETE", &[("jint", "arena_id")]),
    of(
        "thread_start",
        "THREAD_START",
        &[
            ("char *", "thread_name"),
            ("char *", "group_name"),
            ("char *", "parent_name"),
            ("jobjectID", "thread_id"),
            ("JNIEnv *", "thread_env_id"),
        ],
    ),
    of(
        "heap_dump",
        "HEAP_DUMP",
        &[
            ("int", "dump_level"),
            ("char *", "begin"),
            ("char *", "end"),
            ("jint", "num_traces"),
            ("JVMPI_CallTrace *", "traces"),
        ],
    ),
    of(
        "monitor_dump",
        "MONITOR_DUMP",
        &[
            ("char *", "begin"),
            ("char *", "end"),
            ("jint", "num_traces"),
            ("JVMPI_CallTrace *", "traces"),
            ("jint *", "threads_status"),
        ],
    ),
    of("object_dump", "OBJECT_DUMP", &[("jint", "data_len"), ("char *", "data")]),
    of(
        "jni_globalref_alloc",
        "JNI_GLOBALREF_ALLOC, JNI_WEAK_GLOBALREF_ALLOC",
        &[("jobjectID", "obj_id"), ("jobject", "ref_id")],
    ),
    of(
        "jni_globalref_free",
        "JNI_GLOBALREF_FREE, JNI_WEAK_GLOBALREF_FREE",
        &[("jobject", "ref_id")],
    ),
    of("method", "METHOD_ENTRY, METHOD_EXIT", &[("jmethodID", "method_id")]),
    of("method_entry2", "METHOD_ENTRY2", &[("jmethodID", "method_id"), ("jobjectID", "obj_id")]),
    of(
        "compiled_method_load",
        "COMPILED_METHOD_LOAD",
        &[
            ("jmethodID", "method_id"),
            ("void *", "code_addr"),
            ("jint", "code_size"),
            ("jint", "lineno_table_size"),
            ("JVMPI_Lineno *", "lineno_table"),
        ],
    ),
    of("compiled_method_unload", "COMPILED_METHOD_UNLOAD", &[("jmethodID", "method_id")]),
    of(
        "raw_monitor",
        "RAW_MONITOR_CONTENDED_ENTER, _ENTERED, _EXIT",
        &[("char *", "name"), ("JVMPI_RawMonitor", "id")],
    ),
    of("monitor", "MONITOR_CONTENDED_ENTER, _ENTERED, _EXIT", &[("jobjectID", "object")]),
    of(
        "monitor_wait",
        "MONITOR_WAIT, MONITOR_WAITED",
        &[("jobjectID", "object"), ("jlong", "timeout")],
    ),
    of(
        "gc_info",
        "GC_FINISH",
        &[
            ("jlong", "used_objects"),
            ("jlong", "used_object_space"),
            ("jlong", "total_object_space"),
        ],
    ),
    of("instruction", "INSTRUCTION_START", &[("jmethodID", "method_id"), ("jint", "offset")]),
];

/// The members of the union at the end of `instruction`.
pub const BRANCHES: &[Struct] = &[
    of("if_info", "a conditional branch", &[("jboolean", "is_true")]),
    of("tableswitch_info", "a tableswitch", &[("jint", "key"), ("jint", "low"), ("jint", "hi")]),
    of(
        "lookupswitch_info",
        "a lookupswitch; its default was taken if both are equal",
        &[("jint", "chosen_pair_index"), ("jint", "pairs_total")],
    ),
];

/// The second member of `lookupswitch_info` as the specification has it; binaries were compiled with
/// the other.
pub const DOCUMENT_PAIR: (&str, &str) = ("jboolean", "is_default");

const fn function(
    result: &'static str,
    name: &'static str,
    arguments: &'static [(&'static str, &'static str)],
) -> Function {
    Function { name, result, arguments, since: "JVMPI_VERSION_1" }
}

const fn since(since: &'static str, function: Function) -> Function {
    Function { since, ..function }
}

/// The functions, in the order of the table.
pub const FUNCTIONS: &[Function] = &[
    function("void", "NotifyEvent", &[("JVMPI_Event *", "event")]),
    function("jint", "EnableEvent", &[("jint", "event_type"), ("void *", "arg")]),
    function("jint", "DisableEvent", &[("jint", "event_type"), ("void *", "arg")]),
    function("jint", "RequestEvent", &[("jint", "event_type"), ("void *", "arg")]),
    function("void", "GetCallTrace", &[("JVMPI_CallTrace *", "trace"), ("jint", "depth")]),
    function("void", "ProfilerExit", &[("jint", "err_code")]),
    function("JVMPI_RawMonitor", "RawMonitorCreate", &[("char *", "lock_name")]),
    function("void", "RawMonitorEnter", &[("JVMPI_RawMonitor", "lock_id")]),
    function("void", "RawMonitorExit", &[("JVMPI_RawMonitor", "lock_id")]),
    function("void", "RawMonitorWait", &[("JVMPI_RawMonitor", "lock_id"), ("jlong", "ms")]),
    function("void", "RawMonitorNotifyAll", &[("JVMPI_RawMonitor", "lock_id")]),
    function("void", "RawMonitorDestroy", &[("JVMPI_RawMonitor", "lock_id")]),
    function("jlong", "GetCurrentThreadCpuTime", &[]),
    function("void", "SuspendThread", &[("JNIEnv *", "env")]),
    function("void", "ResumeThread", &[("JNIEnv *", "env")]),
    function("jint", "GetThreadStatus", &[("JNIEnv *", "env")]),
    function("jboolean", "ThreadHasRun", &[("JNIEnv *", "env")]),
    function(
        "jint",
        "CreateSystemThread",
        &[("char *", "name"), ("jint", "priority"), ("void (void *)", "f")],
    ),
    function("void", "SetThreadLocalStorage", &[("JNIEnv *", "env_id"), ("void *", "ptr")]),
    function("void *", "GetThreadLocalStorage", &[("JNIEnv *", "env_id")]),
    function("void", "DisableGC", &[]),
    function("void", "EnableGC", &[]),
    function("void", "RunGC", &[]),
    function("jobjectID", "GetThreadObject", &[("JNIEnv *", "env")]),
    function("jobjectID", "GetMethodClass", &[("jmethodID", "mid")]),
    since("JVMPI_VERSION_1_1", function("jobject", "jobjectID2jobject", &[("jobjectID", "jid")])),
    since("JVMPI_VERSION_1_1", function("jobjectID", "jobject2jobjectID", &[("jobject", "j")])),
    since(
        "JVMPI_VERSION_1_2",
        function(
            "void",
            "SuspendThreadList",
            &[("jint", "reqCount"), ("JNIEnv **", "reqList"), ("jint *", "results")],
        ),
    ),
    since(
        "JVMPI_VERSION_1_2",
        function(
            "void",
            "ResumeThreadList",
            &[("jint", "reqCount"), ("JNIEnv **", "reqList"), ("jint *", "results")],
        ),
    ),
];
