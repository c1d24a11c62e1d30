/* Causes events that are not sent: handlers make references and call methods, and that of JVM_SHUT_DOWN waits for a
 * thread of the program that continues. Prints how many there were after it. */
#include <sched.h>
#include <stdio.h>
#include <jvmpi.h>

static JVMPI_Interface *jvmpi;
static long late;
static int is_done, has_called;
static jclass math;
static jmethodID function;
static volatile long ticks;
static volatile int is_down;

/* Waits until the program's thread has continued, if there is one. */
static void wait_for_ticks(void) {
    long begin = ticks;
    while (begin > 0 && ticks < begin + 3)
        sched_yield();
}

JNIEXPORT void JNICALL Java_Account_tick(JNIEnv *env, jclass class) {
    (void)env; (void)class;
    ticks++;
}

static void notify(JVMPI_Event *event) {
    JNIEnv *env = event->env_id;
    int i;
    late += is_down;
    switch (event->event_type) {
    case JVMPI_EVENT_JVM_INIT_DONE:
        math = (*env)->FindClass(env, "java/lang/Math");
        function = (*env)->GetStaticMethodID(env, math, "abs", "(I)I");
        math = (*env)->NewGlobalRef(env, math);
        is_done = 1;
        break;
    case JVMPI_EVENT_JNI_GLOBALREF_ALLOC:
        for (i = 0; i < 7 && !is_done; i++)
            (*env)->NewGlobalRef(env, event->u.jni_globalref_alloc.ref_id);
        break;
    case JVMPI_EVENT_METHOD_ENTRY:
        if (is_done && !__sync_lock_test_and_set(&has_called, 1))
            for (i = 0; i < 5; i++)
                (*env)->CallStaticIntMethod(env, math, function, -i);
        break;
    case JVMPI_EVENT_JVM_SHUT_DOWN:
        /* An event of that thread may be under way. */
        wait_for_ticks();
        is_down = 1;
        wait_for_ticks();
        printf("late=%ld\n", late);
        fflush(stdout);
        break;
    }
}

JNIEXPORT jint JNICALL JVM_OnLoad(JavaVM *vm, char *options, void *reserved) {
    (void)options; (void)reserved;
    if ((*vm)->GetEnv(vm, (void **)&jvmpi, JVMPI_VERSION_1_2) < 0)
        return JNI_ERR;
    jvmpi->NotifyEvent = notify;
    jvmpi->EnableEvent(JVMPI_EVENT_JVM_INIT_DONE, NULL);
    jvmpi->EnableEvent(JVMPI_EVENT_JNI_GLOBALREF_ALLOC, NULL);
    jvmpi->EnableEvent(JVMPI_EVENT_OBJECT_ALLOC, NULL);
    jvmpi->EnableEvent(JVMPI_EVENT_OBJECT_FREE, NULL);
    jvmpi->EnableEvent(JVMPI_EVENT_METHOD_ENTRY, NULL);
    jvmpi->EnableEvent(JVMPI_EVENT_METHOD_EXIT, NULL);
    jvmpi->EnableEvent(JVMPI_EVENT_MONITOR_WAIT, NULL);
    jvmpi->EnableEvent(JVMPI_EVENT_JVM_SHUT_DOWN, NULL);
    return JNI_OK;
}
