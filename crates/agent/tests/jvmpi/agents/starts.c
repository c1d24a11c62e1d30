/* Prints the events of the program's start and end, in one line each. */
#include <stdio.h>
#include <string.h>
#include <jvmpi.h>

static JVMPI_Interface *jvmpi;
static int threads_started, threads_ended, classes, is_done;

static void notify(JVMPI_Event *event) {
    switch (event->event_type) {
    case JVMPI_EVENT_JVM_INIT_DONE:
        is_done = 1;
        printf("init.done=%d\n", event->env_id != NULL);
        printf("threads.before=%d\n", threads_started);
        printf("classes.before=%d\n", classes);
        break;
    case JVMPI_EVENT_JVM_SHUT_DOWN:
        printf("classes.total=%d\n", classes);
        printf("shut.down=1\n");
        fflush(stdout);
        break;
    case JVMPI_EVENT_THREAD_START:
        if (threads_started == 0)
            printf("first.thread=%s\n", event->u.thread_start.thread_name);
        threads_started++;
        if (is_done)
            printf("thread.%s=%s,%s\n", event->u.thread_start.thread_name,
                   event->u.thread_start.group_name, event->u.thread_start.parent_name);
        break;
    case JVMPI_EVENT_DATA_DUMP_REQUEST:
        printf("dump.request=%d\n", event->env_id != NULL);
        fflush(stdout);
        break;
    case JVMPI_EVENT_DATA_RESET_REQUEST:
        printf("reset.request=%d\n", event->env_id != NULL);
        fflush(stdout);
        break;
    case JVMPI_EVENT_THREAD_END:
        threads_ended++;
        break;
    case JVMPI_EVENT_CLASS_LOAD:
        classes++;
        if (strcmp(event->u.class_load.class_name, "java.lang.Object") == 0)
            printf("object.methods=%d\n", event->u.class_load.num_methods);
        break;
    }
}

JNIEXPORT jint JNICALL JVM_OnLoad(JavaVM *vm, char *options, void *reserved) {
    (void)reserved;
    printf("options=%s\n", options == NULL ? "(none)" : options);
    if ((*vm)->GetEnv(vm, (void **)&jvmpi, JVMPI_VERSION_1) < 0)
        return JNI_ERR;
    printf("version=%x\n", (unsigned)jvmpi->version);
    jvmpi->NotifyEvent = notify;
    jvmpi->EnableEvent(JVMPI_EVENT_JVM_INIT_DONE, NULL);
    jvmpi->EnableEvent(JVMPI_EVENT_JVM_SHUT_DOWN, NULL);
    jvmpi->EnableEvent(JVMPI_EVENT_THREAD_START, NULL);
    jvmpi->EnableEvent(JVMPI_EVENT_THREAD_END, NULL);
    jvmpi->EnableEvent(JVMPI_EVENT_CLASS_LOAD, NULL);
    jvmpi->EnableEvent(JVMPI_EVENT_DATA_DUMP_REQUEST, NULL);
    jvmpi->EnableEvent(JVMPI_EVENT_DATA_RESET_REQUEST, NULL);
    printf("dump=%d\n", (int)jvmpi->EnableEvent(JVMPI_EVENT_HEAP_DUMP, NULL));
    printf("move=%d\n", (int)jvmpi->EnableEvent(JVMPI_EVENT_OBJECT_MOVE, NULL));
    return JNI_OK;
}
