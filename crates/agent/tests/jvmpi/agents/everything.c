/* Enables every event, and uses every function from handlers and from a thread of its own. Writes the
   number of events of each kind into the file that its options name. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <jvmpi.h>

#define KINDS (JVMPI_MAX_EVENT_TYPE_VAL + 1)
#define FRAMES 8
#define THREADS 512

static JVMPI_Interface *jvmpi;
static JVMPI_RawMonitor lock, pause_lock;
static long counts[62];
static long requested, dumps, refused;
static JNIEnv *threads[THREADS];
static int thread_count, is_over;
static char file[1024];

static void count(long *number) {
    __sync_fetch_and_add(number, 1);
}

static void trace_of(JNIEnv *env) {
    JVMPI_CallTrace trace;
    JVMPI_CallFrame frames[FRAMES];
    trace.env_id = env;
    trace.frames = frames;
    trace.num_frames = 0;
    jvmpi->GetCallTrace(&trace, FRAMES);
    if (trace.num_frames > 0)
        jvmpi->GetMethodClass(frames[0].method_id);
}

static void keep(JNIEnv *env) {
    jvmpi->RawMonitorEnter(lock);
    if (thread_count < THREADS)
        threads[thread_count++] = env;
    jvmpi->RawMonitorExit(lock);
}

static void drop(JNIEnv *env) {
    int i;
    jvmpi->RawMonitorEnter(lock);
    for (i = 0; i < thread_count; i++)
        if (threads[i] == env)
            threads[i--] = threads[--thread_count];
    jvmpi->RawMonitorExit(lock);
}

/* Stops each thread for a moment, and has dumps made. */
static void watch(void *unused) {
    JVMPI_HeapDumpArg level;
    int round, i;
    (void)unused;
    for (round = 0; !is_over; round++) {
        jvmpi->RawMonitorEnter(pause_lock);
        jvmpi->RawMonitorWait(pause_lock, 20);
        jvmpi->RawMonitorExit(pause_lock);
        for (i = 0; i < THREADS && !is_over; i++) {
            JNIEnv *env;
            jvmpi->RawMonitorEnter(lock);
            env = i < thread_count ? threads[i] : NULL;
            jvmpi->RawMonitorExit(lock);
            if (env == NULL)
                break;
            jvmpi->DisableGC();
            jvmpi->SuspendThread(env);
            trace_of(env);
            jvmpi->ThreadHasRun(env);
            jvmpi->GetThreadStatus(env);
            jvmpi->GetThreadObject(env);
            jvmpi->ResumeThread(env);
            jvmpi->EnableGC();
        }
        if (round % 50 == 49) {
            level.heap_dump_level = round / 50 % 3;
            if (jvmpi->RequestEvent(JVMPI_EVENT_HEAP_DUMP, &level) != JVMPI_SUCCESS)
                count(&refused);
            jvmpi->RequestEvent(JVMPI_EVENT_MONITOR_DUMP, NULL);
            jvmpi->RunGC();
        }
    }
}

static void notify(JVMPI_Event *event) {
    jint kind = event->event_type & ~JVMPI_REQUESTED_EVENT;
    long number;
    if (event->event_type & JVMPI_REQUESTED_EVENT)
        count(&requested);
    number = __sync_add_and_fetch(&counts[kind], 1);
    switch (kind) {
    case JVMPI_EVENT_THREAD_START:
        if (!(event->event_type & JVMPI_REQUESTED_EVENT))
            keep(event->u.thread_start.thread_env_id);
        break;
    case JVMPI_EVENT_THREAD_END:
        drop(event->env_id);
        break;
    case JVMPI_EVENT_CLASS_LOAD_HOOK:
        event->u.class_load_hook.new_class_data = event->u.class_load_hook.class_data;
        event->u.class_load_hook.new_class_data_len = event->u.class_load_hook.class_data_len;
        break;
    case JVMPI_EVENT_JVM_INIT_DONE:
        if (jvmpi->CreateSystemThread("watch", JVMPI_NORMAL_PRIORITY, watch) != JNI_OK)
            count(&refused);
        break;
    case JVMPI_EVENT_METHOD_ENTRY2:
    case JVMPI_EVENT_MONITOR_CONTENDED_ENTER:
        if (number % 4096 == 0)
            trace_of(event->env_id);
        break;
    case JVMPI_EVENT_OBJECT_ALLOC:
        if (!(event->event_type & JVMPI_REQUESTED_EVENT) && number % 4096 == 0) {
            jvmpi->RequestEvent(JVMPI_EVENT_OBJECT_ALLOC, event->u.obj_alloc.obj_id);
            jvmpi->RequestEvent(JVMPI_EVENT_OBJECT_DUMP, event->u.obj_alloc.obj_id);
            jvmpi->RequestEvent(JVMPI_EVENT_CLASS_LOAD, event->u.obj_alloc.class_id);
        }
        break;
    case JVMPI_EVENT_HEAP_DUMP:
    case JVMPI_EVENT_MONITOR_DUMP:
        count(&dumps);
        break;
    case JVMPI_EVENT_JVM_SHUT_DOWN: {
        FILE *out = fopen(file, "w");
        int i;
        is_over = 1;
        for (i = 1; i < KINDS && out != NULL; i++)
            fprintf(out, "event.%d=%ld\n", i, counts[i]);
        if (out != NULL) {
            fprintf(out, "requested=%ld\ndumps=%ld\nrefused=%ld\n", requested, dumps, refused);
            fclose(out);
        }
        break;
    }
    }
}

JNIEXPORT jint JNICALL JVM_OnLoad(JavaVM *vm, char *options, void *reserved) {
    int kind;
    (void)reserved;
    if ((*vm)->GetEnv(vm, (void **)&jvmpi, JVMPI_VERSION_1_2) < 0)
        return JNI_ERR;
    strncpy(file, options, sizeof file - 1);
    lock = jvmpi->RawMonitorCreate("threads");
    pause_lock = jvmpi->RawMonitorCreate("_pause");
    jvmpi->NotifyEvent = notify;
    for (kind = 1; kind < KINDS; kind++)
        jvmpi->EnableEvent(kind, NULL);
    return JNI_OK;
}
