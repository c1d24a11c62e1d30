/* Counts the events of monitors of the objects and threads that the program names. */
#include "known.h"

static jobjectID objects[16];
static JNIEnv *sleepers[16];
static int object_count, sleeper_count, failures;

struct counts { int enter, entered, wait, waited, least, most, limits; JNIEnv *last; };
static struct counts of[16], of_sleep;

static void count(struct counts *counts, JVMPI_Event *event) {
    int timeout = (int)event->u.monitor_wait.timeout;
    switch (event->event_type) {
    case JVMPI_EVENT_MONITOR_CONTENDED_ENTER:
        counts->enter++;
        break;
    case JVMPI_EVENT_MONITOR_CONTENDED_ENTERED:
        counts->entered++;
        break;
    case JVMPI_EVENT_MONITOR_WAIT:
        counts->wait++;
        counts->limits += timeout;
        counts->last = event->env_id;
        break;
    case JVMPI_EVENT_MONITOR_WAITED:
        failures += counts->last != event->env_id;
        if (counts->waited++ == 0)
            counts->least = counts->most = timeout;
        if (timeout < counts->least)
            counts->least = timeout;
        if (timeout > counts->most)
            counts->most = timeout;
        break;
    }
}

static void notify(JVMPI_Event *event) {
    int i;
    know(event);
    if (event->event_type < JVMPI_EVENT_MONITOR_CONTENDED_ENTER
        || event->event_type > JVMPI_EVENT_MONITOR_WAITED)
        return;
    pthread_mutex_lock(&known_lock);
    for (i = 0; i < object_count; i++)
        if (event->u.monitor_wait.object == objects[i])
            count(&of[i], event);
    for (i = 0; i < sleeper_count; i++)
        if (event->u.monitor_wait.object == NULL && event->env_id == sleepers[i])
            count(&of_sleep, event);
    pthread_mutex_unlock(&known_lock);
}

JNIEXPORT void JNICALL Java_Waits_watch(JNIEnv *env, jclass type, jobject object) {
    jobjectID id = jvmpi->jobject2jobjectID(object);
    (void)env; (void)type;
    pthread_mutex_lock(&known_lock);
    objects[object_count++] = id;
    pthread_mutex_unlock(&known_lock);
}

JNIEXPORT void JNICALL Java_Waits_sleeper(JNIEnv *env, jclass type) {
    (void)type;
    pthread_mutex_lock(&known_lock);
    sleepers[sleeper_count++] = env;
    pthread_mutex_unlock(&known_lock);
}

JNIEXPORT jint JNICALL Java_Waits_contending(JNIEnv *env, jclass type) {
    (void)env; (void)type;
    return of[0].enter;
}

JNIEXPORT void JNICALL Java_Waits_enable(JNIEnv *env, jclass type, jboolean on) {
    jint kind;
    (void)env; (void)type;
    for (kind = JVMPI_EVENT_MONITOR_CONTENDED_ENTER; kind <= JVMPI_EVENT_MONITOR_WAITED; kind++)
        if (kind != JVMPI_EVENT_MONITOR_CONTENDED_EXIT)
            failures += (on ? jvmpi->EnableEvent : jvmpi->DisableEvent)(kind, NULL) != 0;
}

/* Leaves MONITOR_WAITED alone on. */
JNIEXPORT void JNICALL Java_Waits_waitedOnly(JNIEnv *env, jclass type) {
    (void)env; (void)type;
    jvmpi->DisableEvent(JVMPI_EVENT_MONITOR_WAIT, NULL);
}

static void report(const char *name, struct counts *it) {
    printf("%s=%d,%d,%d,%d,%d\n", name, it->enter, it->entered, it->wait, it->waited, it->limits);
    printf("%s.least=%d\n%s.most=%d\n", name, it->least, name, it->most);
    memset(it, 0, sizeof *it);
}

JNIEXPORT void JNICALL Java_Waits_report(JNIEnv *env, jclass type, jstring name) {
    char text[64], whole[80];
    int i;
    (void)type;
    (*env)->GetStringUTFRegion(env, name, 0, (*env)->GetStringLength(env, name), text);
    text[(*env)->GetStringLength(env, name)] = 0;
    pthread_mutex_lock(&known_lock);
    for (i = 0; i < object_count; i++) {
        sprintf(whole, "%s.%d", text, i);
        report(whole, &of[i]);
    }
    sprintf(whole, "%s.sleep", text);
    report(whole, &of_sleep);
    printf("%s.failures=%d\n", text, failures);
    pthread_mutex_unlock(&known_lock);
}

JNIEXPORT jint JNICALL JVM_OnLoad(JavaVM *vm, char *options, void *reserved) {
    (void)options; (void)reserved;
    return begin(vm, notify);
}
