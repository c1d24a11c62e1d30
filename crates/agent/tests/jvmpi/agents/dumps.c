/* Dumps that the program requests by native methods, which are here: read, shown, counted, compared with
 * dumps of their objects alone. */
#define _GNU_SOURCE
#include <time.h>
#include "heapreader.h"

static __thread const char *mode = "";
static __thread unsigned char *copy;
static __thread size_t copy_bytes;
static __thread Map *alloc_counts;
static __thread int dumps_seen;
static __thread double handler_seconds;
static __thread long handler_peak;
static int late_class_loads;

static void show(Dump *dump, jobjectID id, jobjectID *path, int depth);

static void show_primitive(char type, Bytes value) {
    unsigned long bits = big_endian(value, type_bytes(type));
    switch (type) {
    case 'Z': case JVMPI_BOOLEAN:
        printf(bits == 1 ? "true" : bits == 0 ? "false" : "bad");
        break;
    case 'B': case JVMPI_BYTE:
        printf("%d", (signed char)bits);
        break;
    case 'S': case JVMPI_SHORT:
        printf("%d", (short)bits);
        break;
    case 'I': case JVMPI_INT:
        printf("%d", (int)bits);
        break;
    case 'J': case JVMPI_LONG:
        printf("%ld", (long)bits);
        break;
    case 'C': case JVMPI_CHAR:
        printf("%lu", bits);
        break;
    default:
        printf("0x%lx", bits);
    }
}

static void show(Dump *dump, jobjectID id, jobjectID *path, int depth) {
    Bytes it = record(dump, id);
    unsigned long i, count;
    int at;
    if (id == NULL) {
        printf("null");
        return;
    }
    for (at = 0; at < depth; at++)
        if (path[at] == id) {
            printf("(cycle)");
            return;
        }
    path[depth] = id;
    switch (*it) {
    case JVMPI_GC_CLASS_DUMP:
        printf("class %s", class_of(id)->name);
        break;
    case JVMPI_GC_INSTANCE_DUMP:
        if (strcmp(class_name(dump, word(it + 9)), "java.lang.String") == 0)
            printf("\"%s\"", text_of(dump, it));
        else if (strcmp(class_name(dump, word(it + 9)), "java.lang.Class") == 0)
            printf("class %s", class_name(dump, id));
        else
            printf("%s", class_name(dump, word(it + 9)));
        break;
    case JVMPI_GC_OBJ_ARRAY_DUMP:
        printf("[");
        count = big_endian(it + 9, 4);
        for (i = 0; i < count; i++) {
            printf(i > 0 ? "," : "");
            show(dump, word(it + 21 + 8 * i), path, depth + 1);
        }
        printf("]");
        break;
    default:
        printf("[");
        count = big_endian(it + 9, 4);
        for (i = 0; i < count; i++) {
            printf(i > 0 ? "," : "");
            show_primitive(it[13], it + 14 + type_bytes(it[13]) * i);
        }
        printf("]");
    }
}

static void show_value(Dump *dump, const Class *class, const char *name, char type, Bytes value,
                       void *data) {
    jobjectID path[300];
    printf("shown.%s.%s.%s=", (const char *)data, class->name, name);
    if (type == 'L' || type == '[')
        show(dump, word(value), path, 0);
    else
        show_primitive(type, value);
    printf("\n");
}

static int is_shown(const char *name) {
    return strncmp(name, "Dumps$Show", 10) == 0;
}

/* Checks a record against all others, and counts it. */
static void check_record(Dump *dump, Bytes at, Map *counts) {
    const JVMPI_CallTrace *trace;
    unsigned long i, count;
    jint frame;
    jobjectID id = word(at + 1);
    dump->counts[*at]++;
    check_id(dump, id, "a root refers to nothing");
    switch (*at) {
    case JVMPI_GC_ROOT_JNI_GLOBAL:
        if (dump->is_shown && *(Bytes)record(dump, id) == JVMPI_GC_INSTANCE_DUMP) {
            const char *name = class_name(dump, word((Bytes)record(dump, id) + 9));
            if (strncmp(name, "Dumps$Rooted", 12) == 0)
                printf("root.1.%s=1\n", name);
        }
        break;
    case JVMPI_GC_ROOT_STICKY_CLASS:
        if (class_of(id) == NULL)
            fail("a sticky class without CLASS_LOAD");
        break;
    case JVMPI_GC_ROOT_THREAD_BLOCK:
        if (trace_of(dump, word(at + 9)) == NULL)
            fail("a thread block's environment");
        /* Where threads end the JVM may use an environment again. */
        if (dump->is_shown && jvmpi->GetThreadObject(word(at + 9)) != id)
            fail("a thread block's thread");
        break;
    case JVMPI_GC_ROOT_JAVA_FRAME:
    case JVMPI_GC_ROOT_JNI_LOCAL:
        trace = trace_of(dump, word(at + 9));
        if (trace == NULL)
            fail("a root's thread");
        frame = (jint)big_endian(at + 17, 4);
        if (frame < -1 || frame >= trace->num_frames)
            fail("a root's frame");
        if (dump->is_shown && *(Bytes)record(dump, id) == JVMPI_GC_INSTANCE_DUMP) {
            const char *name = class_name(dump, word((Bytes)record(dump, id) + 9));
            if (strncmp(name, "Dumps$Rooted", 12) == 0 && frame >= 0)
                printf("root.%d.%s=%s:%d\n", (int)*at, name,
                       method_name(trace->frames[frame].method_id),
                       (int)trace->frames[frame].lineno);
        }
        break;
    case JVMPI_GC_CLASS_DUMP:
        for (i = 0; i < 5; i++)
            check_id(dump, word(at + 9 + 8 * i), "a class refers to nothing");
        if (word(at + 9) != NULL)
            super_of(dump, word(at + 9));
        count = class_of(id)->interfaces;
        for (i = 0; i < count; i++)
            super_of(dump, word(at + 61 + 8 * i));
        at += 61 + 8 * count;
        count = big_endian(at, 2);
        for (i = 0; i < count; i++) {
            if (at[4 + 11 * i] != JVMPI_CLASS || word(at + 5 + 11 * i) == NULL)
                fail("an entry of a constant pool");
            check_id(dump, word(at + 5 + 11 * i), "a constant refers to nothing");
        }
        static_values(dump, record(dump, id), check_value, NULL);
        break;
    case JVMPI_GC_INSTANCE_DUMP:
        if (class_of(id) != NULL)
            fail("a class is an instance");
        map_put(counts, word(at + 9), (char *)map_get(counts, word(at + 9)) + 1);
        instance_values(dump, at, check_value, NULL);
        break;
    case JVMPI_GC_OBJ_ARRAY_DUMP:
        class_name(dump, word(at + 13));
        count = big_endian(at + 9, 4);
        for (i = 0; i < count; i++)
            check_id(dump, word(at + 21 + 8 * i), "an element refers to nothing");
        /* Beside the count of the element class's instances. */
        map_put(counts, (char *)word(at + 13) + 1,
                (char *)map_get(counts, (char *)word(at + 13) + 1) + 1);
        break;
    }
}

static void show_record(Dump *dump, Bytes at) {
    const char *name;
    if (*at == JVMPI_GC_CLASS_DUMP && is_shown(class_of(word(at + 1))->name)) {
        name = class_of(word(at + 1))->name;
        printf("class.%s.super=%s\n", name,
               word(at + 9) == NULL ? "null" : class_of(word(at + 9))->name);
        printf("class.%s.loader=%s\n", name,
               word(at + 17) == NULL
                   ? "null"
                   : class_name(dump, word((Bytes)record(dump, word(at + 17)) + 9)));
        printf("class.%s.domain=%d\n", name, word(at + 33) != NULL);
        printf("class.%s.size=%ld\n", name, big_endian(at + 57, 4));
        static_values(dump, at, show_value, "static");
    }
    if (*at == JVMPI_GC_INSTANCE_DUMP && is_shown(class_name(dump, word(at + 9))))
        instance_values(dump, at, show_value, (void *)class_name(dump, word(at + 9)));
}

/* Requests the same record from inside or outside the handler. Returns whether it is equal. */
static int is_dumped(Bytes at, size_t bytes) {
    free(copy);
    copy = NULL;
    if (jvmpi->RequestEvent(JVMPI_EVENT_OBJECT_DUMP, word(at + 1)) != JVMPI_SUCCESS)
        return 0;
    return copy != NULL && copy_bytes == bytes && memcmp(copy, at, bytes) == 0;
}

static unsigned long sum(Bytes begin, Bytes end) {
    unsigned long value = 0;
    while (begin < end)
        value = value * 31 + *begin++;
    return value;
}

static void request_each(Dump *dump, const char *where) {
    long classes_equal = 0, classes_different = 0, equal[4], different = 0;
    unsigned long before = sum(dump->begin, dump->end);
    Bytes at;
    memset(equal, 0, sizeof equal);
    for (at = dump->begin; at < dump->end; at = end_of(dump, at)) {
        size_t bytes = end_of(dump, at) - at;
        const char *of = NULL;
        if (*at == JVMPI_GC_CLASS_DUMP) {
            if (strcmp(where, "inside") != 0 && !is_shown(class_of(word(at + 1))->name))
                continue;
            if (is_dumped(at, bytes))
                classes_equal++;
            else if (strncmp(class_of(word(at + 1))->name, "java.lang.", 10) != 0)
                classes_different++;
            continue;
        }
        if (*at == JVMPI_GC_INSTANCE_DUMP)
            of = class_name(dump, word(at + 9));
        if (*at == JVMPI_GC_OBJ_ARRAY_DUMP)
            of = class_name(dump, word(at + 13));
        if (*at == JVMPI_GC_PRIM_ARRAY_DUMP && at[13] != JVMPI_BYTE && equal[3] < 20)
            of = "Dumps$Primitives";
        if (of == NULL || strncmp(of, "Dumps$", 6) != 0)
            continue;
        if (is_dumped(at, bytes))
            equal[*at - JVMPI_GC_CLASS_DUMP]++;
        else
            different++;
    }
    printf("%s.classes=%ld\n%s.classes.different=%ld\n", where, classes_equal, where,
           classes_different);
    printf("%s.instances=%ld\n%s.arrays=%ld\n%s.primitives=%ld\n%s.different=%ld\n", where, equal[1],
           where, equal[2], where, equal[3], where, different);
    printf("%s.untouched=%d\n", where, before == sum(dump->begin, dump->end));
}

static void print_counts(Dump *dump, Map *counts) {
    size_t at;
    for (at = 0; at < counts->size; at++) {
        jobjectID id = (jobjectID)counts->keys[at];
        int is_array = (size_t)id & 1;
        const char *name;
        if (id == NULL)
            continue;
        id = (jobjectID)((size_t)id & ~1UL);
        name = dump == NULL ? (class_of(id) == NULL ? "?" : class_of(id)->name)
                            : class_name(dump, id);
        if (strstr(name, "Dumps") != NULL)
            printf("%s%d.%s=%ld\n", is_array ? "arrays" : "count", dump == NULL ? 0 : dump->level,
                   name, (long)counts->values[at]);
    }
}

static void read_dump(Dump *dump) {
    Bytes at;
    int is_past_roots = 0;
    Map counts;
    memset(&counts, 0, sizeof counts);
    for (at = dump->begin; at < dump->end; at = end_of(dump, at)) {
        if (is_object(at)) {
            if (map_get(&dump->records, word(at + 1)) != NULL)
                fail("two records of one object");
            map_put(&dump->records, word(at + 1), at);
            is_past_roots = 1;
        } else if (is_past_roots || word(at + 1) == NULL) {
            fail("a root among the objects, or a null one");
        }
    }
    if (at != dump->end)
        fail("the end of the dump");
    for (at = dump->begin; at < dump->end; at = end_of(dump, at))
        check_record(dump, at, &counts);
    for (at = dump->begin; dump->is_shown && at < dump->end; at = end_of(dump, at))
        show_record(dump, at);
    if (dump->is_shown)
        print_counts(dump, &counts);
    map_free(&counts);
}

/* A dump that outlives its event. */
static Dump *kept;

static void heap_dump(const JVMPI_Event *event) {
    Dump dump;
    int i;
    memset(&dump, 0, sizeof dump);
    dump.level = event->u.heap_dump.dump_level;
    dump.begin = (Bytes)event->u.heap_dump.begin;
    dump.end = (Bytes)event->u.heap_dump.end;
    dump.trace_count = event->u.heap_dump.num_traces;
    dump.traces = event->u.heap_dump.traces;
    dump.is_shown = strcmp(mode, "show") == 0 || strcmp(mode, "each") == 0;
    if (dump.level == JVMPI_DUMP_LEVEL_0)
        fail("level 0 is read elsewhere");
    read_dump(&dump);
    for (i = 0; dump.is_shown && i < 256; i++)
        if (dump.counts[i] > 0)
            printf("records%d.%x=%ld\n", dump.level, (unsigned)i, dump.counts[i]);
    if (dump.is_shown)
        printf("traces%d=%d\n", dump.level, (int)dump.trace_count);
    if (strcmp(mode, "each") == 0) {
        request_each(&dump, "inside");
        kept = malloc(sizeof dump);
        *kept = dump;
        kept->begin = malloc(dump.end - dump.begin);
        memcpy((void *)kept->begin, dump.begin, dump.end - dump.begin);
        kept->end = kept->begin + (dump.end - dump.begin);
        memset(&kept->records, 0, sizeof kept->records);
    }
    map_free(&dump.records);
}

static void level_0(const JVMPI_Event *event) {
    Bytes at = (Bytes)event->u.heap_dump.begin, end = (Bytes)event->u.heap_dump.end;
    Map ids, counts;
    long kinds[16], others = 0;
    int i;
    memset(&ids, 0, sizeof ids);
    memset(&counts, 0, sizeof counts);
    memset(kinds, 0, sizeof kinds);
    if (event->u.heap_dump.num_traces != 0 || (end - at) % 9 != 0)
        fail("level 0");
    alloc_counts = &counts;
    for (; at < end; at += 9) {
        jobjectID id = word(at + 1);
        if (id == NULL || map_get(&ids, id) != NULL || *at > JVMPI_LONG)
            fail("an object of level 0");
        map_put(&ids, id, at);
        kinds[*at]++;
        if (strcmp(mode, "show") == 0
            && jvmpi->RequestEvent(JVMPI_EVENT_OBJECT_ALLOC, id) != JVMPI_SUCCESS)
            others++;
    }
    alloc_counts = NULL;
    if (strcmp(mode, "show") == 0) {
        for (i = 0; i < 16; i++)
            if (kinds[i] > 0)
                printf("kinds.%d=%ld\n", i, kinds[i]);
        printf("unknown=%ld\n", others);
        print_counts(NULL, &counts);
    }
    map_free(&ids);
    map_free(&counts);
}

static double seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return now.tv_sec + now.tv_nsec / 1e9;
}

/* Returns a number of /proc/self/status. */
static long status_kib(const char *name) {
    char line[256];
    long kib = -1;
    FILE *file = fopen("/proc/self/status", "r");
    while (fgets(line, sizeof line, file) != NULL)
        if (strncmp(line, name, strlen(name)) == 0)
            kib = atol(line + strlen(name));
    fclose(file);
    if (kib < 0)
        fail("status");
    return kib;
}

/* Has the peak of the resident memory begin at what is resident now. Returns that. */
static long begin_peak_kib(void) {
    FILE *file = fopen("/proc/self/clear_refs", "w");
    fputs("5", file);
    if (fclose(file) != 0)
        fail("clear_refs");
    return status_kib("VmRSS:");
}

static void notify(JVMPI_Event *event) {
    switch (event->event_type) {
    case JVMPI_EVENT_CLASS_LOAD:
        late_class_loads++;
        class_load(event);
        break;
    case JVMPI_EVENT_HEAP_DUMP | JVMPI_REQUESTED_EVENT:
        if (strcmp(mode, "time") == 0) {
            handler_peak = status_kib("VmHWM:");
            handler_seconds = seconds();
            printf("bytes%d=%ld\n", event->u.heap_dump.dump_level,
                   (long)(event->u.heap_dump.end - event->u.heap_dump.begin));
            break;
        }
        dumps_seen++;
        if (dumps_seen == 1 && strcmp(mode, "nested") == 0) {
            unsigned long before =
                sum((Bytes)event->u.heap_dump.begin, (Bytes)event->u.heap_dump.end);
            JVMPI_HeapDumpArg level;
            for (level.heap_dump_level = 0; level.heap_dump_level < 3; level.heap_dump_level++)
                if (jvmpi->RequestEvent(JVMPI_EVENT_HEAP_DUMP, &level) != JVMPI_SUCCESS)
                    fail("a nested dump");
            printf("nested=%d\n", dumps_seen);
            if (before != sum((Bytes)event->u.heap_dump.begin, (Bytes)event->u.heap_dump.end))
                fail("the outer dump has changed");
        }
        if (event->u.heap_dump.dump_level == JVMPI_DUMP_LEVEL_0)
            level_0(event);
        else
            heap_dump(event);
        break;
    case JVMPI_EVENT_OBJECT_DUMP | JVMPI_REQUESTED_EVENT:
        copy_bytes = event->u.object_dump.data_len;
        copy = malloc(copy_bytes);
        memcpy(copy, event->u.object_dump.data, copy_bytes);
        break;
    case JVMPI_EVENT_OBJECT_ALLOC | JVMPI_REQUESTED_EVENT:
        if (alloc_counts != NULL) {
            char *class = (char *)event->u.obj_alloc.class_id;
            class += event->u.obj_alloc.is_array == JVMPI_CLASS;
            if (class != NULL)
                map_put(alloc_counts, class, (char *)map_get(alloc_counts, class) + 1);
        }
        break;
    }
}

JNIEXPORT jint JNICALL Java_Dumps_dump(JNIEnv *env, jclass class, jint level, jstring how) {
    const char *text = (*env)->GetStringUTFChars(env, how, NULL);
    JVMPI_HeapDumpArg argument;
    double began = seconds();
    long rss = strcmp(text, "time") == 0 ? begin_peak_kib() : 0;
    jint result;
    (void)class;
    argument.heap_dump_level = level;
    mode = text;
    dumps_seen = 0;
    if (strcmp(mode, "show") == 0) {
        jobject local = (*env)->AllocObject(env, (*env)->FindClass(env, "Dumps$RootedLocally"));
        (*env)->NewGlobalRef(env, local);
    }
    result = jvmpi->RequestEvent(JVMPI_EVENT_HEAP_DUMP, level == 99 ? NULL : &argument);
    if (strcmp(mode, "time") == 0)
        printf("ns%d=%.0f\ngrown.kib%d=%ld\n", (int)level, (handler_seconds - began) * 1e9,
               (int)level, handler_peak - rss);
    if (strcmp(mode, "each") == 0) {
        Bytes at;
        for (at = kept->begin; at < kept->end; at = end_of(kept, at))
            if (is_object(at))
                map_put(&kept->records, word(at + 1), at);
        request_each(kept, "outside");
    }
    mode = "";
    (*env)->ReleaseStringUTFChars(env, how, text);
    fflush(stdout);
    return result;
}

/* Requests OBJECT_DUMP of what is no id, or no more. */
JNIEXPORT jint JNICALL Java_Dumps_failures(JNIEnv *env, jclass class, jlong freed) {
    long ids[] = {0, 1, 8, 16 * 1000000000L, -1, -16};
    jint count = 0;
    size_t i;
    (void)env;
    (void)class;
    for (i = 0; i < sizeof ids / sizeof ids[0]; i++)
        count += jvmpi->RequestEvent(JVMPI_EVENT_OBJECT_DUMP, (void *)ids[i]) == JVMPI_FAIL;
    return count + (jvmpi->RequestEvent(JVMPI_EVENT_OBJECT_DUMP, (void *)freed) == JVMPI_FAIL);
}

JNIEXPORT jlong JNICALL Java_Dumps_id(JNIEnv *env, jclass class, jobject object) {
    (void)env;
    (void)class;
    return (jlong)jvmpi->jobject2jobjectID(object);
}

/* Enables CLASS_LOAD. Returns the number of those seen. */
JNIEXPORT jint JNICALL Java_Dumps_classLoads(JNIEnv *env, jclass class, jboolean on) {
    (void)env;
    (void)class;
    if (on)
        jvmpi->EnableEvent(JVMPI_EVENT_CLASS_LOAD, NULL);
    return late_class_loads;
}

JNIEXPORT jint JNICALL JVM_OnLoad(JavaVM *vm, char *options, void *reserved) {
    (void)reserved;
    if ((*vm)->GetEnv(vm, (void **)&jvmpi, JVMPI_VERSION_1_2) < 0)
        return JNI_ERR;
    jvmpi->NotifyEvent = notify;
    if (strcmp(options, "late") != 0)
        jvmpi->EnableEvent(JVMPI_EVENT_CLASS_LOAD, NULL);
    return JNI_OK;
}
