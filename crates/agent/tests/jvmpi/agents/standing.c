/* Asks on a thread without frames of Java, while main stands still with a lock of its class loader. */
#include <stdio.h>
#include <string.h>
#include <jvmpi.h>

static JVMPI_Interface *jvmpi;
static JVMPI_RawMonitor lock;
static JNIEnv *main_env;
static int is_asked, is_answered, classes, dumps;

static void ask(void *unused) {
    JVMPI_CallFrame frames[8];
    JVMPI_CallTrace trace;
    JVMPI_HeapDumpArg level;
    (void)unused;
    jvmpi->RawMonitorEnter(lock);
    while (!is_asked)
        jvmpi->RawMonitorWait(lock, 0);
    jvmpi->RawMonitorExit(lock);
    jvmpi->SuspendThread(main_env);
    trace.env_id = main_env;
    trace.frames = frames;
    jvmpi->GetCallTrace(&trace, 8);
    if (trace.num_frames > 0)
        classes += jvmpi->GetMethodClass(frames[0].method_id) != NULL;
    for (level.heap_dump_level = 0; level.heap_dump_level <= 2; level.heap_dump_level++)
        jvmpi->RequestEvent(JVMPI_EVENT_HEAP_DUMP, &level);
    jvmpi->RunGC();
    jvmpi->ResumeThread(main_env);
    jvmpi->RawMonitorEnter(lock);
    is_answered = 1;
    jvmpi->RawMonitorNotifyAll(lock);
    jvmpi->RawMonitorExit(lock);
}

static void notify(JVMPI_Event *event) {
    switch (event->event_type) {
    case JVMPI_EVENT_THREAD_START:
        if (strcmp(event->u.thread_start.thread_name, "main") == 0)
            main_env = event->u.thread_start.thread_env_id;
        break;
    case JVMPI_EVENT_JVM_INIT_DONE:
        jvmpi->CreateSystemThread("ask", JVMPI_NORMAL_PRIORITY, ask);
        break;
    case JVMPI_EVENT_MONITOR_WAIT:
        if (event->env_id != main_env || is_asked)
            break;
        jvmpi->RawMonitorEnter(lock);
        is_asked = 1;
        jvmpi->RawMonitorNotifyAll(lock);
        while (!is_answered)
            jvmpi->RawMonitorWait(lock, 0);
        jvmpi->RawMonitorExit(lock);
        break;
    case JVMPI_EVENT_HEAP_DUMP | JVMPI_REQUESTED_EVENT:
        dumps++;
        break;
    case JVMPI_EVENT_JVM_SHUT_DOWN:
        printf("classes=%d\ndumps=%d\n", classes, dumps);
        fflush(stdout);
        break;
    }
}

JNIEXPORT jint JNICALL JVM_OnLoad(JavaVM *vm, char *options, void *reserved) {
    (void)options;
    (void)reserved;
    if ((*vm)->GetEnv(vm, (void **)&jvmpi, JVMPI_VERSION_1) < 0)
        return JNI_ERR;
    lock = jvmpi->RawMonitorCreate("standing");
    jvmpi->NotifyEvent = notify;
    jvmpi->EnableEvent(JVMPI_EVENT_JVM_INIT_DONE, NULL);
    jvmpi->EnableEvent(JVMPI_EVENT_THREAD_START, NULL);
    jvmpi->EnableEvent(JVMPI_EVENT_MONITOR_WAIT, NULL);
    jvmpi->EnableEvent(JVMPI_EVENT_GC_START, NULL);
    jvmpi->EnableEvent(JVMPI_EVENT_JVM_SHUT_DOWN, NULL);
    return JNI_OK;
}
