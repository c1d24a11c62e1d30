/* The methods and threads that an agent knows. */
#define _DEFAULT_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <pthread.h>
#include <jvmpi.h>

#define MOST_METHODS 65536
#define MOST_THREADS 1024

static JVMPI_Interface *jvmpi;
static pthread_mutex_t known_lock = PTHREAD_MUTEX_INITIALIZER;
static struct { jmethodID id; char name[64]; } methods[MOST_METHODS];
static int method_count;
static struct { JNIEnv *env; char name[64]; } threads[MOST_THREADS];
static int thread_count;

/* Notes the methods of a class, as Class.method. */
static void know_class(JVMPI_Event *event) {
    int i;
    pthread_mutex_lock(&known_lock);
    for (i = 0; i < event->u.class_load.num_methods && method_count < MOST_METHODS; i++) {
        methods[method_count].id = event->u.class_load.methods[i].method_id;
        strncpy(methods[method_count].name, event->u.class_load.class_name, 40);
        strcat(methods[method_count].name, ".");
        strncat(methods[method_count].name, event->u.class_load.methods[i].method_name, 20);
        method_count++;
    }
    pthread_mutex_unlock(&known_lock);
}

static const char *method_name(jmethodID id) {
    int i;
    for (i = 0; i < method_count; i++)
        if (methods[i].id == id)
            return methods[i].name;
    return "?";
}

static void know_thread(JVMPI_Event *event) {
    pthread_mutex_lock(&known_lock);
    if (thread_count < MOST_THREADS) {
        threads[thread_count].env = event->u.thread_start.thread_env_id;
        strncpy(threads[thread_count].name, event->u.thread_start.thread_name, 60);
        thread_count++;
    }
    pthread_mutex_unlock(&known_lock);
}

static void forget_thread(JNIEnv *env) {
    int i;
    pthread_mutex_lock(&known_lock);
    for (i = 0; i < thread_count; i++)
        if (threads[i].env == env)
            threads[i--] = threads[--thread_count];
    pthread_mutex_unlock(&known_lock);
}

static const char *thread_name(JNIEnv *env) {
    int i;
    const char *name = "?";
    if (env == NULL)
        return "-";
    pthread_mutex_lock(&known_lock);
    for (i = 0; i < thread_count; i++)
        if (threads[i].env == env)
            name = threads[i].name;
    pthread_mutex_unlock(&known_lock);
    return name;
}

/* Handles the events of this file. */
static void know(JVMPI_Event *event) {
    switch (event->event_type) {
    case JVMPI_EVENT_CLASS_LOAD:
        know_class(event);
        break;
    case JVMPI_EVENT_THREAD_START:
        know_thread(event);
        break;
    case JVMPI_EVENT_THREAD_END:
        forget_thread(event->env_id);
        break;
    }
}

/* Begins an agent with these events; handler is NULL for the default. */
static jint begin(JavaVM *vm, void (*handler)(JVMPI_Event *)) {
    (void)thread_name;
    (void)method_name;
    setvbuf(stdout, NULL, _IOLBF, 0);
    if ((*vm)->GetEnv(vm, (void **)&jvmpi, JVMPI_VERSION_1_2) < 0)
        return JNI_ERR;
    jvmpi->NotifyEvent = handler == NULL ? know : handler;
    jvmpi->EnableEvent(JVMPI_EVENT_JVM_INIT_DONE, NULL);
    jvmpi->EnableEvent(JVMPI_EVENT_JVM_SHUT_DOWN, NULL);
    jvmpi->EnableEvent(JVMPI_EVENT_CLASS_LOAD, NULL);
    jvmpi->EnableEvent(JVMPI_EVENT_THREAD_START, NULL);
    jvmpi->EnableEvent(JVMPI_EVENT_THREAD_END, NULL);
    return JNI_OK;
}
