/* Ends the program in a handler. The options are what it does, a comma and the kind of event in whose
   handler: "exit" is System.exit(7) by JNI, "profiler" is ProfilerExit(9), "crash" writes to address 0,
   "fork" makes processes in handlers of all kinds. Counts what is sent when that is done. */
#define _DEFAULT_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <jvmpi.h>

#define KINDS (JVMPI_MAX_EVENT_TYPE_VAL + 1)
#define FORKS 6

static JVMPI_Interface *jvmpi;
static char action[16];
static int kind;
static volatile int is_armed, is_over, is_late;
static int has_acted, handled, shut_downs, after, returned, forks[KINDS], bad_children;
static JVMPI_RawMonitor lock;
static volatile int *nowhere;

/* Exit handlers of the process. What was on its way is over after a moment. */
static void ended(void) {
    char text[128];
    usleep(30000);
    is_late = 1;
    usleep(30000);
    sprintf(text, "handled=%d\nshut.downs=%d\nafter=%d\nreturned=%d\n", handled, shut_downs, after,
            returned);
    if (write(1, text, strlen(text)) < 0)
        _exit(99);
}

static void exit_java(JNIEnv *env) {
    jclass system = (*env)->FindClass(env, "java/lang/System");
    jmethodID method = (*env)->GetStaticMethodID(env, system, "exit", "(I)V");
    (*env)->CallStaticVoidMethod(env, system, method, 7);
    (*env)->ExceptionClear(env);
}

/* The child does nothing of Java's. */
static void make_process(int number) {
    int status = -1;
    pid_t child = fork();
    if (child == 0) {
        if (number % 2 == 0)
            execl("/bin/sh", "sh", "-c", "exit 5", (char *)NULL);
        _exit(5);
    }
    if (child < 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status) ||
        WEXITSTATUS(status) != 5)
        __sync_fetch_and_add(&bad_children, 1);
}

static void act(JVMPI_Event *event, int of) {
    if (strcmp(action, "fork") == 0) {
        int number = __sync_add_and_fetch(&forks[of], 1);
        if (number <= FORKS)
            make_process(number);
        return;
    }
    if (of != kind || !__sync_bool_compare_and_swap(&has_acted, 0, 1))
        return;
    handled = of;
    if (strcmp(action, "exit") == 0)
        exit_java(event->env_id);
    else if (strcmp(action, "profiler") == 0)
        jvmpi->ProfilerExit(9);
    else
        *nowhere = 1;
    returned = 1;
}

/* Requests what comes only so. */
static void request(JNIEnv *env) {
    JVMPI_HeapDumpArg level;
    level.heap_dump_level = JVMPI_DUMP_LEVEL_0;
    if (kind == JVMPI_EVENT_HEAP_DUMP)
        jvmpi->RequestEvent(kind, &level);
    else if (kind == JVMPI_EVENT_MONITOR_DUMP)
        jvmpi->RequestEvent(kind, NULL);
    else if (kind == JVMPI_EVENT_OBJECT_DUMP)
        jvmpi->RequestEvent(kind, jvmpi->GetThreadObject(env));
}

static void notify(JVMPI_Event *event) {
    int of = event->event_type & ~JVMPI_REQUESTED_EVENT;
    if (is_late || is_over)
        __sync_fetch_and_add(&after, 1);
    if (of == JVMPI_EVENT_JVM_SHUT_DOWN) {
        shut_downs++;
        if (strcmp(action, "fork") == 0) {
            int i, count = 0;
            for (i = 0; i < KINDS; i++)
                count += forks[i] > 0;
            printf("kinds=%d\nbad.children=%d\n", count, bad_children);
            fflush(stdout);
        }
    }
    if (is_armed)
        act(event, of);
    if (of == JVMPI_EVENT_JVM_SHUT_DOWN && strcmp(action, "profiler") != 0) {
        usleep(30000);
        is_over = 1;
    }
}

/* What the program calls. */

JNIEXPORT void JNICALL Java_Ends_arm(JNIEnv *env, jclass type) {
    (void)type;
    is_armed = 1;
    request(env);
}

JNIEXPORT void JNICALL Java_Ends_natives(JNIEnv *env, jclass type, jobject object) {
    jobject global = (*env)->NewGlobalRef(env, object), weak = (*env)->NewWeakGlobalRef(env, object);
    (void)type;
    (*env)->DeleteGlobalRef(env, global);
    (*env)->DeleteWeakGlobalRef(env, weak);
    jvmpi->RawMonitorEnter(lock);
    usleep(1000);
    jvmpi->RawMonitorExit(lock);
}

JNIEXPORT jint JNICALL JVM_OnLoad(JavaVM *vm, char *options, void *reserved) {
    char *comma = strchr(options, ',');
    jint of;
    (void)reserved;
    if (comma == NULL || (*vm)->GetEnv(vm, (void **)&jvmpi, JVMPI_VERSION_1_2) < 0)
        return JNI_ERR;
    memcpy(action, options, comma - options);
    kind = atoi(comma + 1);
    jvmpi->NotifyEvent = notify;
    lock = jvmpi->RawMonitorCreate("lock");
    for (of = 1; of < KINDS; of++)
        jvmpi->EnableEvent(of, NULL);
    atexit(ended);
    return JNI_OK;
}
