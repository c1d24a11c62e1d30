/* Takes a raw monitor in the handlers of brackets and of others, while threads hold it in RunGC and around
   DisableGC. */
#include <stdio.h>
#include <string.h>
#include <jvmpi.h>

static JVMPI_Interface *jvmpi;
static JVMPI_RawMonitor lock;
static int inside, overlaps, open, unbalanced;
static long starts, finishes, others, frees;

/* Runs under the raw monitor. */
static void count(long *number) {
    jvmpi->RawMonitorEnter(lock);
    if (inside++ != 0)
        overlaps++;
    ++*number;
    inside--;
    jvmpi->RawMonitorExit(lock);
}

static void notify(JVMPI_Event *event) {
    switch (event->event_type) {
    case JVMPI_EVENT_GC_START:
        unbalanced += open++ != 0;
        count(&starts);
        break;
    case JVMPI_EVENT_OBJECT_FREE:
        unbalanced += open != 1;
        count(&frees);
        break;
    case JVMPI_EVENT_GC_FINISH:
        unbalanced += open-- != 1;
        count(&finishes);
        break;
    case JVMPI_EVENT_OBJECT_ALLOC:
    case JVMPI_EVENT_THREAD_START:
    case JVMPI_EVENT_THREAD_END:
    case JVMPI_EVENT_CLASS_LOAD:
    case JVMPI_EVENT_MONITOR_WAIT:
    case JVMPI_EVENT_MONITOR_WAITED:
        count(&others);
        break;
    case JVMPI_EVENT_JVM_SHUT_DOWN:
        jvmpi->RunGC();
        printf("overlaps=%d\nunbalanced=%d\nopen=%d\n", overlaps, unbalanced, open);
        printf("brackets=%d\nfrees=%d\nothers=%d\n", starts == finishes && starts > 3, frees > 1000,
               others > 1000);
        fflush(stdout);
        break;
    }
}

/* What the program calls. */

JNIEXPORT void JNICALL Java_Holds_collect(JNIEnv *env, jclass type, jboolean holds) {
    (void)env; (void)type;
    if (holds)
        jvmpi->RawMonitorEnter(lock);
    jvmpi->RunGC();
    if (holds)
        jvmpi->RawMonitorExit(lock);
}

JNIEXPORT void JNICALL Java_Holds_disable(JNIEnv *env, jclass type, jboolean is_first) {
    (void)env; (void)type;
    if (!is_first)
        jvmpi->RawMonitorEnter(lock);
    jvmpi->DisableGC();
    if (is_first)
        jvmpi->RawMonitorEnter(lock);
    jvmpi->RawMonitorWait(lock, 1);
    if (is_first)
        jvmpi->RawMonitorExit(lock);
    jvmpi->EnableGC();
    if (!is_first)
        jvmpi->RawMonitorExit(lock);
}

JNIEXPORT jint JNICALL JVM_OnLoad(JavaVM *vm, char *options, void *reserved) {
    static const int kinds[] = {
        JVMPI_EVENT_JVM_SHUT_DOWN, JVMPI_EVENT_GC_START, JVMPI_EVENT_GC_FINISH,
        JVMPI_EVENT_OBJECT_FREE, JVMPI_EVENT_OBJECT_ALLOC, JVMPI_EVENT_THREAD_START,
        JVMPI_EVENT_THREAD_END, JVMPI_EVENT_CLASS_LOAD, JVMPI_EVENT_MONITOR_WAIT,
        JVMPI_EVENT_MONITOR_WAITED
    };
    int i;
    (void)options; (void)reserved;
    if ((*vm)->GetEnv(vm, (void **)&jvmpi, JVMPI_VERSION_1_2) < 0)
        return JNI_ERR;
    lock = jvmpi->RawMonitorCreate("_held");
    jvmpi->NotifyEvent = notify;
    for (i = 0; i < (int)(sizeof kinds / sizeof kinds[0]); i++)
        jvmpi->EnableEvent(kinds[i], NULL);
    return JNI_OK;
}
