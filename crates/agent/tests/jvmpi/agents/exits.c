/* Counts the ends of contention by the threads that send them, for objects of one class. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <jvmpi.h>

static JVMPI_Interface *jvmpi;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static jobjectID monitor;
static JNIEnv *owner;
static long enters, entered, exits, others, wrong;

static void notify(JVMPI_Event *event) {
    pthread_mutex_lock(&lock);
    switch (event->event_type) {
    case JVMPI_EVENT_MONITOR_CONTENDED_ENTER:
        if (event->u.monitor.object == monitor)
            enters++;
        break;
    case JVMPI_EVENT_MONITOR_CONTENDED_ENTERED:
        if (event->u.monitor.object == monitor)
            entered++;
        break;
    case JVMPI_EVENT_MONITOR_CONTENDED_EXIT:
        if (event->u.monitor.object != monitor)
            others++;
        else if (event->env_id == owner)
            exits++;
        else
            wrong++;
        break;
    }
    pthread_mutex_unlock(&lock);
    if (event->event_type == JVMPI_EVENT_JVM_SHUT_DOWN) {
        printf("enters=%ld\nentered=%ld\nexits=%ld\nothers=%ld\nwrong=%ld\n", enters, entered, exits,
               others, wrong);
        fflush(stdout);
    }
}

/* The thread that calls owns the object's monitor; how many wait is answered. */

JNIEXPORT void JNICALL Java_Exits_watch(JNIEnv *env, jclass class, jobject object) {
    jobjectID id = jvmpi->jobject2jobjectID(object);
    (void)class;
    pthread_mutex_lock(&lock);
    monitor = id;
    owner = env;
    pthread_mutex_unlock(&lock);
}

JNIEXPORT jlong JNICALL Java_Exits_enters(JNIEnv *env, jclass class) {
    jlong count;
    (void)env;
    (void)class;
    pthread_mutex_lock(&lock);
    count = enters;
    pthread_mutex_unlock(&lock);
    return count;
}

JNIEXPORT jint JNICALL JVM_OnLoad(JavaVM *vm, char *options, void *reserved) {
    (void)options;
    (void)reserved;
    if ((*vm)->GetEnv(vm, (void **)&jvmpi, JVMPI_VERSION_1_1) < 0)
        return JNI_ERR;
    jvmpi->NotifyEvent = notify;
    jvmpi->EnableEvent(JVMPI_EVENT_JVM_SHUT_DOWN, NULL);
    jvmpi->EnableEvent(JVMPI_EVENT_MONITOR_CONTENDED_ENTER, NULL);
    jvmpi->EnableEvent(JVMPI_EVENT_MONITOR_CONTENDED_ENTERED, NULL);
    printf("enabled=%d\n", (int)jvmpi->EnableEvent(JVMPI_EVENT_MONITOR_CONTENDED_EXIT, NULL));
    return JNI_OK;
}
