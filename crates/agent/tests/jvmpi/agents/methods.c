/* Counts the methods that each thread executes, as JVMPI's document shows, and holds the entries and exits
   of each thread to brackets. The options are the letters of events: e for METHOD_ENTRY, 2 for
   METHOD_ENTRY2, x for METHOD_EXIT; l leaves them to the program to enable; c forgets what is open when it
   disables them. After a comma comes the beginning of the names of the classes whose methods are counted one by one. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <jvmpi.h>

#define METHODS 4096
#define THREADS 256
#define SLOTS 65536

typedef struct {
    jmethodID id;
    char name[200];
} Method;

typedef struct {
    char name[64];
    long counts[METHODS], exits[METHODS];
    long entries, all_exits, bad, unknown;
    jmethodID *open;
    size_t depth, room, deepest;
} Thread;

static JVMPI_Interface *jvmpi;
static const char *prefix = "";
static int with_entry, with_entry2, with_exit, forgets;
static Method methods[METHODS];
static int method_count;
static volatile jmethodID keys[SLOTS];
static int values[SLOTS];
static Thread *threads[THREADS];
static int thread_count;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static long objects_null, objects_some, objects_wrong;
static jobjectID expected_object;
static jmethodID expected_method;

static size_t slot_of(jmethodID id) {
    size_t slot = ((size_t)id >> 3) * 2654435761u % SLOTS;
    while (keys[slot] != NULL && keys[slot] != id)
        slot = (slot + 1) % SLOTS;
    return slot;
}

static int index_of(jmethodID id) {
    size_t slot = slot_of(id);
    return keys[slot] == id ? values[slot] : -1;
}

static void add_class(JVMPI_Event *event) {
    int i;
    const char *name = event->u.class_load.class_name;
    if (strstr(name, "PerkEvents") != NULL)
        printf("own.class=%s\n", name);
    if (strncmp(name, prefix, strlen(prefix)) != 0)
        return;
    pthread_mutex_lock(&lock);
    for (i = 0; i < event->u.class_load.num_methods && method_count < METHODS; i++) {
        JVMPI_Method *method = &event->u.class_load.methods[i];
        size_t slot = slot_of(method->method_id);
        Method *known = &methods[method_count];
        known->id = method->method_id;
        sprintf(known->name, "%.90s.%.90s", name, method->method_name);
        values[slot] = method_count++;
        keys[slot] = method->method_id;
        if (strcmp(method->method_name, "expectedReceiver") == 0)
            expected_method = method->method_id;
    }
    pthread_mutex_unlock(&lock);
}

static void begin(JVMPI_Event *event) {
    Thread *thread = calloc(1, sizeof(Thread));
    sprintf(thread->name, "%.60s", event->u.thread_start.thread_name);
    pthread_mutex_lock(&lock);
    if (thread_count < THREADS)
        threads[thread_count++] = thread;
    pthread_mutex_unlock(&lock);
    jvmpi->SetThreadLocalStorage(event->u.thread_start.thread_env_id, thread);
}

static void enter(JNIEnv *env, jmethodID method) {
    Thread *thread = jvmpi->GetThreadLocalStorage(env);
    int index = index_of(method);
    if (thread == NULL)
        return;
    thread->entries++;
    if (index >= 0)
        thread->counts[index]++;
    if (!with_exit)
        return;
    if (thread->depth == thread->room) {
        thread->room = thread->room * 2 + 64;
        thread->open = realloc(thread->open, thread->room * sizeof(jmethodID));
    }
    thread->open[thread->depth++] = method;
    if (thread->depth > thread->deepest)
        thread->deepest = thread->depth;
}

static void leave(JNIEnv *env, jmethodID method) {
    Thread *thread = jvmpi->GetThreadLocalStorage(env);
    int index = index_of(method);
    if (thread == NULL)
        return;
    thread->all_exits++;
    if (index >= 0)
        thread->exits[index]++;
    if (!with_entry && !with_entry2)
        return;
    if (thread->depth == 0 || thread->open[thread->depth - 1] != method)
        thread->bad++;
    else
        thread->depth--;
}

static void check_object(JVMPI_Event *event) {
    jobjectID object = event->u.method_entry2.obj_id;
    if (event->u.method_entry2.method_id == expected_method) {
        if (object == expected_object)
            objects_some++;
        else
            objects_wrong++;
    } else if (object == NULL) {
        objects_null++;
    }
}

static void report(void) {
    int i, j;
    for (i = 0; i < thread_count; i++) {
        Thread *thread = threads[i];
        for (j = 0; j < method_count; j++)
            if (thread->counts[j] != 0 || thread->exits[j] != 0)
                printf("%s:%s=%ld,%ld\n", thread->name, methods[j].name, thread->counts[j],
                       thread->exits[j]);
        printf("entries.%s=%ld\n", thread->name, thread->entries);
        printf("exits.%s=%ld\n", thread->name, thread->all_exits);
        printf("bad.%s=%ld\n", thread->name, thread->bad);
        printf("open.%s=%ld\n", thread->name, (long)thread->depth);
        printf("deepest.%s=%ld\n", thread->name, (long)thread->deepest);
    }
    printf("objects.null=%ld\nobjects.some=%ld\nobjects.wrong=%ld\n", objects_null, objects_some,
           objects_wrong);
    fflush(stdout);
}

static void notify(JVMPI_Event *event) {
    switch (event->event_type) {
    case JVMPI_EVENT_METHOD_ENTRY:
        enter(event->env_id, event->u.method.method_id);
        break;
    case JVMPI_EVENT_METHOD_ENTRY2:
        if (!with_entry)
            enter(event->env_id, event->u.method_entry2.method_id);
        check_object(event);
        break;
    case JVMPI_EVENT_METHOD_EXIT:
        leave(event->env_id, event->u.method.method_id);
        break;
    case JVMPI_EVENT_CLASS_LOAD:
        add_class(event);
        break;
    case JVMPI_EVENT_THREAD_START:
        begin(event);
        break;
    case JVMPI_EVENT_JVM_SHUT_DOWN:
        report();
        break;
    }
}

static void switch_methods(jint (*change)(jint, void *)) {
    if (with_entry)
        change(JVMPI_EVENT_METHOD_ENTRY, NULL);
    if (with_entry2)
        change(JVMPI_EVENT_METHOD_ENTRY2, NULL);
    if (with_exit)
        change(JVMPI_EVENT_METHOD_EXIT, NULL);
}

/* What programs call. */

JNIEXPORT void JNICALL Java_Natives_nothing(JNIEnv *env, jclass class) {
    (void)env;
    (void)class;
}

JNIEXPORT void JNICALL Java_Natives_expect(JNIEnv *env, jclass class, jobject object) {
    (void)env;
    (void)class;
    expected_object = jvmpi->jobject2jobjectID(object);
}

JNIEXPORT void JNICALL Java_Natives_enable(JNIEnv *env, jclass class) {
    (void)env;
    (void)class;
    switch_methods(jvmpi->EnableEvent);
}

JNIEXPORT void JNICALL Java_Natives_disable(JNIEnv *env, jclass class) {
    Thread *thread = jvmpi->GetThreadLocalStorage(env);
    (void)class;
    switch_methods(jvmpi->DisableEvent);
    if (forgets)
        thread->depth = 0;
}

JNIEXPORT jint JNICALL JVM_OnLoad(JavaVM *vm, char *options, void *reserved) {
    static char all[256];
    char *comma;
    (void)reserved;
    sprintf(all, "%.250s", options == NULL ? "" : options);
    comma = strchr(all, ',');
    if (comma != NULL) {
        *comma = 0;
        prefix = comma + 1;
    }
    with_entry = strchr(all, 'e') != NULL;
    with_entry2 = strchr(all, '2') != NULL;
    with_exit = strchr(all, 'x') != NULL;
    forgets = strchr(all, 'c') != NULL;
    if ((*vm)->GetEnv(vm, (void **)&jvmpi, JVMPI_VERSION_1_1) < 0)
        return JNI_ERR;
    jvmpi->NotifyEvent = notify;
    jvmpi->EnableEvent(JVMPI_EVENT_JVM_SHUT_DOWN, NULL);
    jvmpi->EnableEvent(JVMPI_EVENT_THREAD_START, NULL);
    jvmpi->EnableEvent(JVMPI_EVENT_CLASS_LOAD, NULL);
    if (strchr(all, 'l') == NULL)
        switch_methods(jvmpi->EnableEvent);
    return JNI_OK;
}
