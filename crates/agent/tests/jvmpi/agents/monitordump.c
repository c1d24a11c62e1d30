/* Decodes MONITOR_DUMP, with nothing but the names of objects and threads. */
#include "known.h"

static JVMPI_RawMonitor first, second;
static struct { jobjectID id; char name[32]; } objects[32];
static int object_count;
static volatile int step;

static unsigned char *at, *end;

static unsigned u1(void) {
    return at < end ? *at++ : 0;
}

static unsigned u4(void) {
    unsigned value = u1() << 24;
    value |= u1() << 16;
    value |= u1() << 8;
    return value | u1();
}

static void *word(void) {
    void *value;
    memcpy(&value, at, sizeof value);
    at += sizeof value;
    return value;
}

static const char *object_name(jobjectID id) {
    int i;
    for (i = 0; i < object_count; i++)
        if (objects[i].id == id)
            return objects[i].name;
    return NULL;
}

static int order(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static int unknown;

static const char *env_name(JVMPI_Event *event, JNIEnv *env) {
    int i, is_in = env == NULL;
    for (i = 0; i < event->u.monitor_dump.num_traces; i++)
        is_in |= event->u.monitor_dump.traces[i].env_id == env;
    unknown += !is_in;
    return thread_name(env);
}

static void append_threads(JVMPI_Event *event, char *text) {
    const char *names[64];
    unsigned count = u4(), i;
    for (i = 0; i < count && i < 64; i++)
        names[i] = env_name(event, (JNIEnv *)word());
    qsort(names, count, sizeof *names, order);
    for (i = 0; i < count; i++)
        sprintf(text + strlen(text), "%s%s", i == 0 ? "" : "+", names[i]);
}

static void append_monitor(JVMPI_Event *event, char *text) {
    const char *owner = env_name(event, (JNIEnv *)word());
    sprintf(text + strlen(text), "%s,%u,", owner, u4());
    append_threads(event, text);
    strcat(text, ",");
    append_threads(event, text);
}

static void decode(JVMPI_Event *event) {
    int i, frames = 0, bad = 0;
    at = (unsigned char *)event->u.monitor_dump.begin;
    end = (unsigned char *)event->u.monitor_dump.end;
    while (at < end) {
        char text[1024] = "";
        unsigned kind = u1();
        if (kind == JVMPI_MONITOR_JAVA) {
            const char *name = object_name((jobjectID)word());
            append_monitor(event, text);
            if (name != NULL)
                printf("java.%s=%s\n", name, text);
        } else if (kind == JVMPI_MONITOR_RAW) {
            const char *name = (const char *)word();
            JVMPI_RawMonitor id = (JVMPI_RawMonitor)word();
            append_monitor(event, text);
            printf("raw.%s=%s\n", name, text);
            bad += id != (strcmp(name, "first") == 0 ? first : second);
        } else {
            bad++;
            break;
        }
    }
    printf("whole=%d\nbad=%d\nunknown=%d\n", at == end, bad, unknown);
    printf("type=%x\n", (unsigned)event->event_type);
    for (i = 0; i < event->u.monitor_dump.num_traces; i++) {
        JVMPI_CallTrace *trace = &event->u.monitor_dump.traces[i];
        const char *name = thread_name(trace->env_id);
        frames += trace->num_frames;
        printf("status.%s=%d\n", name, (int)event->u.monitor_dump.threads_status[i]);
        printf("depth.%s=%d\n", name, (int)trace->num_frames);
        if (trace->num_frames > 0)
            printf("top.%s=%s:%d\n", name, method_name(trace->frames[0].method_id),
                   (int)trace->frames[0].lineno);
    }
    printf("threads=%d\n", event->u.monitor_dump.num_traces == thread_count);
}

static void notify(JVMPI_Event *event) {
    know(event);
    if ((event->event_type & ~JVMPI_REQUESTED_EVENT) == JVMPI_EVENT_MONITOR_DUMP)
        decode(event);
}

static void own_raw(void *argument) {
    (void)argument;
    jvmpi->RawMonitorEnter(first);
    jvmpi->RawMonitorEnter(first);
    jvmpi->RawMonitorEnter(second);
    step = 1;
    jvmpi->RawMonitorWait(second, 0);
}

static void enter_raw(void *argument) {
    (void)argument;
    step = 2;
    jvmpi->RawMonitorEnter(first);
}

JNIEXPORT void JNICALL Java_Known_name(JNIEnv *env, jclass type, jobject object, jstring name) {
    jsize length = (*env)->GetStringLength(env, name);
    (void)type;
    (*env)->GetStringUTFRegion(env, name, 0, length, objects[object_count].name);
    objects[object_count++].id = jvmpi->jobject2jobjectID(object);
}

JNIEXPORT void JNICALL Java_Known_enterByNative(JNIEnv *env, jclass type, jobject object) {
    (void)type;
    (*env)->MonitorEnter(env, object);
}

JNIEXPORT void JNICALL Java_Known_dump(JNIEnv *env, jclass type) {
    (void)env; (void)type;
    jvmpi->CreateSystemThread("raw owner", JVMPI_NORMAL_PRIORITY, own_raw);
    while (step < 1 || jvmpi->GetThreadStatus(threads[thread_count - 1].env) != 3)
        continue;
    jvmpi->CreateSystemThread("raw entering", JVMPI_NORMAL_PRIORITY, enter_raw);
    while (step < 2 || jvmpi->GetThreadStatus(threads[thread_count - 1].env) != 2)
        continue;
    printf("enable=%d\n", (int)jvmpi->EnableEvent(JVMPI_EVENT_MONITOR_DUMP, NULL));
    printf("request=%d\n", (int)jvmpi->RequestEvent(JVMPI_EVENT_MONITOR_DUMP, NULL));
}

JNIEXPORT jint JNICALL JVM_OnLoad(JavaVM *vm, char *options, void *reserved) {
    (void)options; (void)reserved;
    if (begin(vm, notify) != JNI_OK)
        return JNI_ERR;
    first = jvmpi->RawMonitorCreate("first");
    second = jvmpi->RawMonitorCreate("second");
    printf("early=%d\n", (int)jvmpi->RequestEvent(JVMPI_EVENT_MONITOR_DUMP, NULL));
    return JNI_OK;
}
