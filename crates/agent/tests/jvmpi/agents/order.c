/* Every id in an event was defined by an event before: threads, classes and methods. With the option
 * "dump", no request at the JVM's end prepares a class. */
#include "known.h"

#define MOST_IDS (1 << 18)
#define KINDS 64

static JavaVM *jvm;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void *ids[MOST_IDS];
static int early[KINDS], twice, unknown_classes, unknown_methods, unknown_frames, unknown_compiled;
static int null_classes, classes, before_main, before_others = -1, entries, compiled, addresses;
static int wants_dump, is_in_request, loads_in_request;
static jmethodID inner;
static jobjectID main_id, handler_id;
static char asked[300];

static int slot_of(void *id) {
    unsigned slot = (unsigned)(((unsigned long)id >> 3) * 2654435761u) % MOST_IDS;
    while (ids[slot] != NULL && ids[slot] != id)
        slot = (slot + 1) % MOST_IDS;
    return slot;
}

/* Notes an id. Returns whether it was there. */
static int add(void *id) {
    int slot, was_there;
    pthread_mutex_lock(&lock);
    slot = slot_of(id);
    was_there = ids[slot] != NULL;
    ids[slot] = id;
    pthread_mutex_unlock(&lock);
    return was_there;
}

static int has(void *id) {
    int found;
    pthread_mutex_lock(&lock);
    found = ids[slot_of(id)] != NULL;
    pthread_mutex_unlock(&lock);
    return found;
}

static void trace(JNIEnv *env) {
    JVMPI_CallFrame frames[64];
    JVMPI_CallTrace trace;
    int i;
    trace.env_id = env;
    trace.num_frames = 0;
    trace.frames = frames;
    jvmpi->GetCallTrace(&trace, 64);
    for (i = 0; i < trace.num_frames; i++)
        if (!has((void *)frames[i].method_id))
            unknown_frames++;
}

static void loaded(JVMPI_Event *event) {
    const char *name = event->u.class_load.class_name;
    int i;
    if (add((void *)event->u.class_load.class_id)) {
        twice++;
        printf("class.twice=%s\n", name);
    }
    classes++;
    if (is_in_request && name[0] != '[') {
        loads_in_request++;
        printf("class.in.request=%s\n", name);
    }
    for (i = 0; i < event->u.class_load.num_methods; i++) {
        JVMPI_Method *method = &event->u.class_load.methods[i];
        add((void *)method->method_id);
        if (strcmp(name, "Order") == 0 && strcmp(method->method_name, "inner") == 0)
            inner = method->method_id;
    }
}

static void dump(void) {
    JVMPI_HeapDumpArg level;
    int i, failed = 0;
    is_in_request = 1;
    jvmpi->DisableGC();
    for (i = 0; i < 3; i++) {
        level.heap_dump_level = i;
        failed += jvmpi->RequestEvent(JVMPI_EVENT_HEAP_DUMP, &level) != JVMPI_SUCCESS;
    }
    failed += jvmpi->RequestEvent(JVMPI_EVENT_MONITOR_DUMP, NULL) != JVMPI_SUCCESS;
    failed += jvmpi->RequestEvent(JVMPI_EVENT_OBJECT_DUMP, handler_id) != JVMPI_SUCCESS;
    failed += jvmpi->RequestEvent(JVMPI_EVENT_OBJECT_ALLOC, handler_id) != JVMPI_SUCCESS;
    failed += jvmpi->RequestEvent(JVMPI_EVENT_THREAD_START, handler_id) != JVMPI_SUCCESS;
    jvmpi->EnableGC();
    printf("failed=%d\nloads.in.request=%d\n", failed, loads_in_request);
}

static void report(void) {
    int i, sum = 0;
    for (i = 0; i < KINDS; i++) {
        if (early[i] > 0)
            printf("early.%d=%d\n", i, early[i]);
        sum += early[i];
    }
    printf("early=%d\ntwice=%d\nunknown.classes=%d\nunknown.methods=%d\n", sum, twice, unknown_classes,
           unknown_methods);
    printf("unknown.frames=%d\nunknown.compiled=%d\nnull.classes=%d\nentries=%d\n", unknown_frames,
           unknown_compiled, null_classes, entries);
    printf("before.main=%d\nbefore.others=%d\ncompiled=%d\nunknown.addresses=%d\n", before_main,
           before_others, compiled, addresses);
}

static void on_event(JVMPI_Event *event) {
    static int allocations;
    int kind = event->event_type;
    /* The thread that ends the JVM ends just before. */
    if (kind < KINDS && kind != JVMPI_EVENT_THREAD_START && kind != JVMPI_EVENT_JVM_SHUT_DOWN
        && event->env_id != NULL && strcmp(thread_name(event->env_id), "?") == 0)
        __sync_fetch_and_add(&early[kind], 1);
    switch (kind) {
    case JVMPI_EVENT_CLASS_LOAD:
        loaded(event);
        break;
    case JVMPI_EVENT_CLASS_LOAD | JVMPI_REQUESTED_EVENT:
        sprintf(asked, "%.200s,%d,%d", event->u.class_load.class_name,
                event->u.class_load.num_interfaces, event->u.class_load.num_instance_fields);
        break;
    case JVMPI_EVENT_THREAD_START:
        if (main_id == NULL) {
            main_id = event->u.thread_start.thread_id;
            before_main = classes;
        } else if (before_others < 0 && strcmp(event->u.thread_start.thread_name, "perk GC") != 0) {
            before_others = classes;
        }
        if (strcmp(event->u.thread_start.thread_name, "Reference Handler") == 0)
            handler_id = event->u.thread_start.thread_id;
        know_thread(event);
        trace(event->u.thread_start.thread_env_id);
        break;
    case JVMPI_EVENT_THREAD_END:
        forget_thread(event->env_id);
        break;
    case JVMPI_EVENT_METHOD_ENTRY:
        if (!has((void *)event->u.method.method_id) && unknown_methods++ < 5) {
            jvmpi->RequestEvent(JVMPI_EVENT_CLASS_LOAD, jvmpi->GetMethodClass(event->u.method.method_id));
            printf("class.of.unknown.method=%s\n", asked);
        }
        if (event->u.method.method_id == inner)
            __sync_fetch_and_add(&entries, 1);
        break;
    case JVMPI_EVENT_OBJECT_ALLOC:
        if (event->u.obj_alloc.class_id == NULL)
            null_classes += event->u.obj_alloc.is_array == JVMPI_CLASS;
        else if (!has((void *)event->u.obj_alloc.class_id))
            unknown_classes++;
        if (__sync_fetch_and_add(&allocations, 1) % 64 == 0)
            trace(event->env_id);
        break;
    case JVMPI_EVENT_COMPILED_METHOD_LOAD:
        compiled++;
        add(event->u.compiled_method_load.code_addr);
        if (!has((void *)event->u.compiled_method_load.method_id))
            unknown_compiled++;
        break;
    case JVMPI_EVENT_COMPILED_METHOD_UNLOAD:
        if (!has(event->u.compiled_method_load.code_addr))
            addresses++;
        break;
    case JVMPI_EVENT_JVM_SHUT_DOWN:
        if (wants_dump)
            dump();
        else
            report();
        break;
    }
}

static jclass order;

static void *attached(void *argument) {
    JNIEnv *env;
    JavaVMAttachArgs arguments;
    int i;
    arguments.version = JNI_VERSION_1_6;
    arguments.name = (char *)"native";
    arguments.group = NULL;
    for (i = 0; i < 2; i++) {
        jobject reference;
        if (argument != NULL)
            (*jvm)->AttachCurrentThreadAsDaemon(jvm, (void **)&env, &arguments);
        else
            (*jvm)->AttachCurrentThread(jvm, (void **)&env, &arguments);
        reference = (*env)->NewGlobalRef(env, order);
        (*env)->CallStaticVoidMethod(env, order, (*env)->GetStaticMethodID(env, order, "step", "()V"));
        (*env)->DeleteGlobalRef(env, reference);
        (*jvm)->DetachCurrentThread(jvm);
    }
    return NULL;
}

JNIEXPORT void JNICALL Java_Order_attach(JNIEnv *env, jclass class, jint times, jboolean is_daemon) {
    pthread_t threads[2];
    (void)env, (void)class;
    while (times-- > 0) {
        pthread_create(&threads[0], NULL, attached, is_daemon ? &threads : NULL);
        pthread_create(&threads[1], NULL, attached, is_daemon ? &threads : NULL);
        pthread_join(threads[0], NULL);
        pthread_join(threads[1], NULL);
    }
}

JNIEXPORT jstring JNICALL Java_Order_request(JNIEnv *env, jclass class, jobject type) {
    (void)class;
    strcpy(asked, "no event");
    if (jvmpi->RequestEvent(JVMPI_EVENT_CLASS_LOAD, jvmpi->jobject2jobjectID(type)) != JVMPI_SUCCESS)
        strcpy(asked, "failed");
    return (*env)->NewStringUTF(env, asked);
}

JNIEXPORT jint JNICALL JNI_OnLoad(JavaVM *vm, void *reserved) {
    JNIEnv *env;
    pthread_t thread;
    (void)reserved;
    jvm = vm;
    (*vm)->GetEnv(vm, (void **)&env, JNI_VERSION_1_6);
    order = (*env)->NewGlobalRef(env, (*env)->FindClass(env, "Order"));
    pthread_create(&thread, NULL, attached, NULL);
    pthread_join(thread, NULL);
    return JNI_VERSION_1_6;
}

JNIEXPORT jint JNICALL JVM_OnLoad(JavaVM *vm, char *options, void *reserved) {
    static const int kinds[] = {
        JVMPI_EVENT_METHOD_ENTRY, JVMPI_EVENT_METHOD_EXIT, JVMPI_EVENT_OBJECT_ALLOC,
        JVMPI_EVENT_COMPILED_METHOD_LOAD, JVMPI_EVENT_COMPILED_METHOD_UNLOAD, JVMPI_EVENT_OBJECT_FREE,
        JVMPI_EVENT_JNI_GLOBALREF_ALLOC, JVMPI_EVENT_JNI_GLOBALREF_FREE, JVMPI_EVENT_GC_START,
        JVMPI_EVENT_MONITOR_CONTENDED_ENTER, JVMPI_EVENT_MONITOR_CONTENDED_ENTERED,
        JVMPI_EVENT_MONITOR_CONTENDED_EXIT, JVMPI_EVENT_MONITOR_WAIT, JVMPI_EVENT_MONITOR_WAITED
    };
    unsigned i;
    (void)reserved;
    if (begin(vm, on_event) != JNI_OK)
        return JNI_ERR;
    if (strcmp(options, "dump") == 0)
        wants_dump = 1;
    else
        for (i = 0; i < sizeof kinds / sizeof *kinds; i++)
            jvmpi->EnableEvent(kinds[i], NULL);
    return JNI_OK;
}
