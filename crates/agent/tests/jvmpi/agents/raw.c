/* Tries raw monitors before there are threads of Java, and while there are. */
#include "known.h"
#include <time.h>
#include <unistd.h>

#define CROWD 8
#define TURNS 20000

static JVMPI_RawMonitor counted, quiet, loud, inner;
static int counter, entering, entered, exits, without_env, of_loud, nested;
static volatile int in_handlers, is_woken;

static double ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1e3 + now.tv_nsec / 1e6;
}

static void notify(JVMPI_Event *event) {
    know(event);
    switch (event->event_type) {
    case JVMPI_EVENT_RAW_MONITOR_CONTENDED_ENTER:
    case JVMPI_EVENT_RAW_MONITOR_CONTENDED_ENTERED:
    case JVMPI_EVENT_RAW_MONITOR_CONTENDED_EXIT:
        /* All handlers contend for this monitor, which causes no events. */
        jvmpi->RawMonitorEnter(inner);
        if (in_handlers++ != 0)
            nested = 1;
        usleep(2000);
        if (event->event_type == JVMPI_EVENT_RAW_MONITOR_CONTENDED_ENTER)
            entering++;
        else if (event->event_type == JVMPI_EVENT_RAW_MONITOR_CONTENDED_ENTERED)
            entered++;
        else
            exits++;
        without_env += event->env_id == NULL;
        of_loud += event->u.raw_monitor.id == loud
            && strcmp(event->u.raw_monitor.name, "loud lock") == 0;
        in_handlers--;
        jvmpi->RawMonitorExit(inner);
        break;
    }
}

static void *count(void *argument) {
    int i;
    for (i = 0; i < TURNS; i++) {
        jvmpi->RawMonitorEnter(counted);
        jvmpi->RawMonitorEnter(counted);
        counter++;
        jvmpi->RawMonitorExit(counted);
        counter++;
        jvmpi->RawMonitorExit(counted);
    }
    return argument;
}

static void *await(void *argument) {
    jvmpi->RawMonitorEnter(counted);
    jvmpi->RawMonitorEnter(counted);
    counter++;
    while (!is_woken)
        jvmpi->RawMonitorWait(counted, 0);
    counter--;
    jvmpi->RawMonitorExit(counted);
    jvmpi->RawMonitorExit(counted);
    return argument;
}

static void *pass(void *monitor) {
    jvmpi->RawMonitorEnter((JVMPI_RawMonitor)monitor);
    jvmpi->RawMonitorExit((JVMPI_RawMonitor)monitor);
    return NULL;
}

static void crowd(int count, void *(*body)(void *), void *argument, pthread_t *crowd) {
    int i;
    for (i = 0; i < count; i++)
        pthread_create(&crowd[i], NULL, body, argument);
}

static void join(int count, pthread_t *crowd) {
    int i;
    for (i = 0; i < count; i++)
        pthread_join(crowd[i], NULL);
}

static void check_lock(const char *when) {
    pthread_t all[CROWD];
    double begin;
    int seen = 0, i;
    counter = 0;
    crowd(CROWD, count, NULL, all);
    join(CROWD, all);
    printf("%s.counter=%d\n", when, counter);
    counter = 0;
    is_woken = 0;
    crowd(CROWD, await, NULL, all);
    while (seen != CROWD) {
        jvmpi->RawMonitorEnter(counted);
        seen = counter;
        jvmpi->RawMonitorExit(counted);
    }
    jvmpi->RawMonitorNotifyAll(counted);
    usleep(20000);
    printf("%s.asleep=%d\n", when, counter);
    jvmpi->RawMonitorEnter(counted);
    is_woken = 1;
    jvmpi->RawMonitorNotifyAll(counted);
    jvmpi->RawMonitorExit(counted);
    join(CROWD, all);
    printf("%s.awake=%d\n", when, CROWD - counter);
    begin = ms();
    jvmpi->RawMonitorWait(counted, 100000);
    jvmpi->RawMonitorWait(counted, 0);
    printf("%s.owned.by.none=%d\n", when, ms() - begin < 5000);
    jvmpi->RawMonitorEnter(counted);
    begin = ms();
    for (i = 0; i < 3; i++)
        jvmpi->RawMonitorWait(counted, 40);
    printf("%s.limit=%d\n", when, ms() - begin >= 120 && ms() - begin < 10000);
    jvmpi->RawMonitorExit(counted);
}

static void check_events(const char *when) {
    pthread_t all[CROWD];
    entering = entered = exits = without_env = of_loud = 0;
    jvmpi->RawMonitorEnter(loud);
    jvmpi->RawMonitorEnter(quiet);
    crowd(CROWD / 2, pass, loud, all);
    crowd(CROWD / 2, pass, quiet, all + CROWD / 2);
    while (*(volatile int *)&entering != CROWD / 2)
        usleep(1000);
    jvmpi->RawMonitorExit(quiet);
    jvmpi->RawMonitorExit(loud);
    join(CROWD, all);
    printf("%s.events=%d,%d,%d,%d\n", when, entering, entered, exits, of_loud);
    printf("%s.without.env=%d\n", when, without_env);
    printf("%s.nested=%d\n", when, nested);
}

static void check_handles(void) {
    JVMPI_RawMonitor bad[8], first = jvmpi->RawMonitorCreate("first"), second;
    int i, local = 0;
    bad[0] = NULL;
    bad[1] = (JVMPI_RawMonitor)16;
    bad[2] = (JVMPI_RawMonitor)-1;
    bad[3] = (JVMPI_RawMonitor)&local;
    bad[4] = first;
    bad[5] = (JVMPI_RawMonitor)((char *)first + 16);
    bad[6] = (JVMPI_RawMonitor)((char *)counted + 1);
    bad[7] = (JVMPI_RawMonitor)((size_t)counted >> 4);
    jvmpi->RawMonitorDestroy(first);
    second = jvmpi->RawMonitorCreate("second");
    printf("other=%d\n", first != second && first != NULL && second != NULL);
    for (i = 0; i < 8; i++) {
        jvmpi->RawMonitorEnter(bad[i]);
        jvmpi->RawMonitorEnter(bad[i]);
        jvmpi->RawMonitorNotifyAll(bad[i]);
        jvmpi->RawMonitorWait(bad[i], 0);
        jvmpi->RawMonitorExit(bad[i]);
        jvmpi->RawMonitorExit(bad[i]);
        jvmpi->RawMonitorDestroy(bad[i]);
    }
    /* It is not entered by way of the place's old handle. */
    jvmpi->RawMonitorEnter(second);
    jvmpi->RawMonitorExit(second);
    jvmpi->RawMonitorExit(second);
    jvmpi->RawMonitorExit(second);
    jvmpi->RawMonitorDestroy(second);
    jvmpi->RawMonitorDestroy(second);
    first = jvmpi->RawMonitorCreate(NULL);
    jvmpi->RawMonitorEnter(first);
    jvmpi->RawMonitorExit(first);
    jvmpi->RawMonitorDestroy(first);
    for (i = 0; i < 100000; i++) {
        first = jvmpi->RawMonitorCreate("one of many");
        jvmpi->RawMonitorEnter(first);
        jvmpi->RawMonitorDestroy(first);
    }
    printf("handles=1\n");
}

static int is_in_use;

static void *hold(void *monitor) {
    jvmpi->RawMonitorEnter((JVMPI_RawMonitor)monitor);
    is_in_use = 1;
    jvmpi->RawMonitorWait((JVMPI_RawMonitor)monitor, 0);
    is_in_use = 2;
    jvmpi->RawMonitorExit((JVMPI_RawMonitor)monitor);
    return NULL;
}

/* A monitor that others use is not destroyed. */
static void check_use(void) {
    JVMPI_RawMonitor used = jvmpi->RawMonitorCreate("_used");
    pthread_t all[2];
    is_in_use = 0;
    crowd(1, hold, used, all);
    while (*(volatile int *)&is_in_use == 0)
        usleep(1000);
    jvmpi->RawMonitorDestroy(used);
    jvmpi->RawMonitorEnter(used);
    crowd(1, pass, used, all + 1);
    usleep(20000);
    jvmpi->RawMonitorDestroy(used);
    jvmpi->RawMonitorNotifyAll(used);
    jvmpi->RawMonitorExit(used);
    join(2, all);
    printf("in.use=%d\n", is_in_use);
    jvmpi->RawMonitorDestroy(used);
}

static void check(const char *when) {
    check_lock(when);
    check_events(when);
    check_handles();
    check_use();
}

JNIEXPORT void JNICALL Java_Raw_check(JNIEnv *env, jclass type) {
    (void)env; (void)type;
    check("running");
}

/* Lets threads of Java contend: this one has entered until that many others wait. */
JNIEXPORT void JNICALL Java_Raw_hold(JNIEnv *env, jclass type, jint count) {
    (void)env; (void)type;
    while (*(volatile int *)&entering < count)
        usleep(1000);
}

JNIEXPORT void JNICALL Java_Raw_enter(JNIEnv *env, jclass type) {
    (void)env; (void)type;
    jvmpi->RawMonitorEnter(loud);
}

JNIEXPORT void JNICALL Java_Raw_exit(JNIEnv *env, jclass type) {
    (void)env; (void)type;
    jvmpi->RawMonitorExit(loud);
}

JNIEXPORT void JNICALL Java_Raw_reset(JNIEnv *env, jclass type) {
    (void)env; (void)type;
    entering = entered = exits = without_env = 0;
}

JNIEXPORT void JNICALL Java_Raw_report(JNIEnv *env, jclass type) {
    (void)env; (void)type;
    printf("java.events=%d,%d,%d,%d\n", entering, entered, exits, without_env);
}

JNIEXPORT jint JNICALL JVM_OnLoad(JavaVM *vm, char *options, void *reserved) {
    (void)options; (void)reserved;
    if (begin(vm, notify) != JNI_OK)
        return JNI_ERR;
    counted = jvmpi->RawMonitorCreate("_counted");
    quiet = jvmpi->RawMonitorCreate("_quiet lock");
    loud = jvmpi->RawMonitorCreate("loud lock");
    inner = jvmpi->RawMonitorCreate("inner lock");
    printf("created=%d\n", counted != NULL && quiet != NULL && loud != NULL && inner != counted);
    jvmpi->EnableEvent(JVMPI_EVENT_RAW_MONITOR_CONTENDED_ENTER, NULL);
    jvmpi->EnableEvent(JVMPI_EVENT_RAW_MONITOR_CONTENDED_ENTERED, NULL);
    jvmpi->EnableEvent(JVMPI_EVENT_RAW_MONITOR_CONTENDED_EXIT, NULL);
    check("loading");
    return JNI_OK;
}
