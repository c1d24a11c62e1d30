/* Keeps account of objects, classes, references and brackets of collections, and gives a program
 * functions to ask for them. Options: letters, one for each group of events. */
#define _POSIX_C_SOURCE 200809L
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <jvmpi.h>

#define MOST (1 << 24)
#define NAMES 4096
#define SERIAL(id) ((unsigned long)(id) >> 4)

static JVMPI_Interface *jvmpi;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* Of each object: bit 0 allocated, bit 1 freed; and its class's number, to which names belong. */
static unsigned char state[MOST];
static unsigned short class_of[MOST];
static char *names[NAMES];
static long counts[NAMES][12], bytes[NAMES][12], freed[NAMES], unloaded[NAMES];
static long array_counts[12], array_bytes[12];
static int classes = 1;

static long allocs, frees, twice, too_early, again, unloads, unknown_unloads, loads;
static long starts, finishes, nested, outside, foreign, unannounced, held_events, used;
static long refs[4], undefined;
static int in_bracket, is_counting, bracket_env_count, is_held;
static JNIEnv *bracket_env, *counted_env, *envs[1024];
static int env_count;

/* A bracket whose GC_START waits while the handler of a request drops its object: 0 there is none, 1 the next
 * one is to wait, 2 it waits, 3 it continues, 4 it has ended. */
static int gate;
static pthread_cond_t gate_changed = PTHREAD_COND_INITIALIZER;
static jobjectID requested;
static int has_ended_inside;

static void set_gate(int value) {
    gate = value;
    pthread_cond_broadcast(&gate_changed);
}

static void wait_for_gate(int value) {
    while (gate < value)
        pthread_cond_wait(&gate_changed, &lock);
}

/* Drops the object that was requested, and waits for the end of the bracket. */
static void drop(JNIEnv *env) {
    jclass class;
    pthread_mutex_unlock(&lock);
    class = (*env)->FindClass(env, "Heap");
    (*env)->CallStaticVoidMethod(env, class, (*env)->GetStaticMethodID(env, class, "drop", "()V"));
    pthread_mutex_lock(&lock);
    set_gate(3);
    wait_for_gate(4);
    has_ended_inside = state[SERIAL(requested)] & 2;
}

static int is_known(JNIEnv *env) {
    int i;
    for (i = 0; i < env_count; i++)
        if (envs[i] == env)
            return 1;
    return 0;
}

static void allocated(JVMPI_Event *event) {
    unsigned long at = SERIAL(event->u.obj_alloc.obj_id);
    unsigned long class = SERIAL(event->u.obj_alloc.class_id);
    int kind = event->u.obj_alloc.is_array;
    unsigned short number = class < MOST ? class_of[class] : 0;
    allocs++;
    if (at >= MOST)
        return;
    if (state[at] & 1)
        again++;
    if (state[at] & 2)
        too_early++;
    state[at] |= 1;
    if (kind == JVMPI_NORMAL_OBJECT) {
        class_of[at] = number;
        undefined += number == 0 && loads > 0 && class < MOST && classes < NAMES;
    }
    if (number != 0 && names[number] != NULL && kind == JVMPI_NORMAL_OBJECT) {
        size_t length = strlen(names[number]);
        if (length > 6 && strcmp(names[number] + length - 6, "$Begin") == 0) {
            is_counting = 1;
            counted_env = event->env_id;
            return;
        }
        if (length > 4 && strcmp(names[number] + length - 4, "$End") == 0)
            is_counting = 0;
    }
    if (!is_counting || event->env_id != counted_env)
        return;
    if (event->u.obj_alloc.class_id == NULL) {
        array_counts[kind]++;
        array_bytes[kind] += event->u.obj_alloc.size;
    } else {
        counts[number][kind]++;
        bytes[number][kind] += event->u.obj_alloc.size;
    }
}

static void freed_object(unsigned long at) {
    frees++;
    if (at >= MOST)
        return;
    if (state[at] & 2)
        twice++;
    state[at] |= 2;
    freed[class_of[at]]++;
}

static void print_all(void) {
    int i, kind;
    long unloaded_plain = 0;
    for (i = 1; i < classes; i++) {
        for (kind = 0; kind < 12; kind++)
            if (counts[i][kind] != 0)
                printf("alloc.%s.%d=%ld\nbytes.%s.%d=%ld\n", names[i], kind, counts[i][kind],
                       names[i], kind, bytes[i][kind]);
        if (freed[i] != 0)
            printf("freed.%s=%ld\n", names[i], freed[i]);
        if (unloaded[i] != 0)
            printf("unloaded.%s=%ld\n", names[i], unloaded[i]);
        unloaded_plain += unloaded[i] != 0 && strcmp(names[i], "Heap$Plain") == 0;
    }
    for (kind = 0; kind < 12; kind++)
        if (array_counts[kind] != 0)
            printf("array.%d=%ld\narray.bytes.%d=%ld\n", kind, array_counts[kind], kind,
                   array_bytes[kind]);
    printf("allocs=%ld\nfrees=%ld\ntwice=%ld\ntoo.early=%ld\nagain=%ld\n", allocs, frees, twice,
           too_early, again);
    printf("undefined=%ld\ngate=%d\nended.inside=%d\n", undefined, gate, has_ended_inside);
    printf("unloaded.plain=%ld\n", unloaded_plain);
    printf("loads=%ld\nunloads=%ld\nunloads.unknown=%ld\n", loads, unloads, unknown_unloads);
    printf("starts=%ld\nfinishes=%ld\nnested=%ld\noutside=%ld\nforeign=%ld\nunannounced=%ld\n",
           starts, finishes, nested, outside, foreign, unannounced);
    printf("brackets.envs=%d\nheld.events=%ld\nused=%ld\n", bracket_env_count, held_events, used);
    printf("refs=%ld,%ld,%ld,%ld\n", refs[0], refs[1], refs[2], refs[3]);
    fflush(stdout);
}

static void of_bracket(JVMPI_Event *event) {
    if (is_held)
        held_events++;
    if (event->event_type == JVMPI_EVENT_GC_START) {
        starts++;
        nested += in_bracket;
        in_bracket = 1;
        unannounced += !is_known(event->env_id);
        if (bracket_env != event->env_id)
            bracket_env_count++;
        bracket_env = event->env_id;
        if (gate == 1) {
            set_gate(2);
            wait_for_gate(3);
        }
        return;
    }
    if (starts == 0)
        return; /* They are not enabled. */
    outside += !in_bracket;
    foreign += event->env_id != bracket_env;
    if (event->event_type == JVMPI_EVENT_GC_FINISH) {
        finishes++;
        in_bracket = 0;
        if (gate == 3)
            set_gate(4);
        used = event->u.gc_info.used_objects;
        if (event->u.gc_info.used_object_space <= 0 ||
            event->u.gc_info.used_object_space > event->u.gc_info.total_object_space)
            foreign++;
    }
}

static void notify(JVMPI_Event *event) {
    unsigned long at;
    int kind = event->event_type & ~JVMPI_REQUESTED_EVENT;
    pthread_mutex_lock(&lock);
    switch (kind) {
    case JVMPI_EVENT_JVM_SHUT_DOWN:
        print_all();
        break;
    case JVMPI_EVENT_THREAD_START:
        if (env_count < 1024)
            envs[env_count++] = event->u.thread_start.thread_env_id;
        break;
    case JVMPI_EVENT_CLASS_LOAD:
        loads++;
        at = SERIAL(event->u.class_load.class_id);
        if (at < MOST && classes < NAMES) {
            names[classes] = strdup(event->u.class_load.class_name);
            class_of[at] = classes++;
        }
        break;
    case JVMPI_EVENT_CLASS_UNLOAD:
        of_bracket(event);
        at = SERIAL(event->u.class_unload.class_id);
        unloads++;
        if (at >= MOST || class_of[at] == 0)
            unknown_unloads++;
        else
            unloaded[class_of[at]]++;
        break;
    case JVMPI_EVENT_OBJECT_ALLOC:
        if (event->event_type == kind)
            allocated(event);
        break;
    case JVMPI_EVENT_OBJECT_DUMP:
        if (gate == 2)
            drop(event->env_id);
        break;
    case JVMPI_EVENT_OBJECT_FREE:
        of_bracket(event);
        at = SERIAL(event->u.obj_free.obj_id);
        freed_object(at);
        if (jvmpi->RequestEvent(JVMPI_EVENT_OBJECT_ALLOC, event->u.obj_free.obj_id) != JVMPI_FAIL)
            foreign++;
        break;
    case JVMPI_EVENT_GC_START:
    case JVMPI_EVENT_GC_FINISH:
        of_bracket(event);
        break;
    case JVMPI_EVENT_JNI_GLOBALREF_ALLOC:
    case JVMPI_EVENT_JNI_GLOBALREF_FREE:
    case JVMPI_EVENT_JNI_WEAK_GLOBALREF_ALLOC:
    case JVMPI_EVENT_JNI_WEAK_GLOBALREF_FREE:
        if (is_counting)
            refs[kind - JVMPI_EVENT_JNI_GLOBALREF_ALLOC]++;
        break;
    }
    pthread_mutex_unlock(&lock);
}

/* The functions of the program's class Heap. */

JNIEXPORT jlong JNICALL Java_Heap_id(JNIEnv *env, jclass class, jobject object) {
    (void)env; (void)class;
    return (jlong)jvmpi->jobject2jobjectID(object);
}

JNIEXPORT jobject JNICALL Java_Heap_object(JNIEnv *env, jclass class, jlong id) {
    (void)env; (void)class;
    return jvmpi->jobjectID2jobject((jobjectID)id);
}

JNIEXPORT jint JNICALL Java_Heap_request(JNIEnv *env, jclass class, jint kind, jlong id) {
    (void)env; (void)class;
    return jvmpi->RequestEvent(kind, (void *)id);
}

/* Has the GC_START of the next bracket wait; and waits until it does. */
JNIEXPORT void JNICALL Java_Heap_holdBracket(JNIEnv *env, jclass class, jlong id) {
    (void)env; (void)class;
    pthread_mutex_lock(&lock);
    requested = (jobjectID)id;
    set_gate(1);
    pthread_mutex_unlock(&lock);
}

JNIEXPORT void JNICALL Java_Heap_awaitBracket(JNIEnv *env, jclass class) {
    (void)env; (void)class;
    pthread_mutex_lock(&lock);
    wait_for_gate(2);
    pthread_mutex_unlock(&lock);
}

JNIEXPORT void JNICALL Java_Heap_runGC(JNIEnv *env, jclass class) {
    (void)env; (void)class;
    jvmpi->RunGC();
}

JNIEXPORT void JNICALL Java_Heap_disableGC(JNIEnv *env, jclass class) {
    (void)env; (void)class;
    jvmpi->DisableGC();
}

JNIEXPORT void JNICALL Java_Heap_enableGC(JNIEnv *env, jclass class) {
    (void)env; (void)class;
    jvmpi->EnableGC();
}

JNIEXPORT void JNICALL Java_Heap_held(JNIEnv *env, jclass class, jboolean held) {
    (void)env; (void)class;
    pthread_mutex_lock(&lock);
    is_held = held;
    pthread_mutex_unlock(&lock);
}

JNIEXPORT void JNICALL Java_Heap_enable(JNIEnv *env, jclass class, jint kind, jboolean on) {
    (void)env; (void)class;
    if (on)
        jvmpi->EnableEvent(kind, NULL);
    else
        jvmpi->DisableEvent(kind, NULL);
}

/* 0 frees, 1 starts, 2 finishes, 3 unloads, 4 allocations */
JNIEXPORT jlong JNICALL Java_Heap_count(JNIEnv *env, jclass class, jint what) {
    long count = 0;
    (void)env; (void)class;
    pthread_mutex_lock(&lock);
    switch (what) {
    case 0: count = frees; break;
    case 1: count = starts; break;
    case 2: count = finishes; break;
    case 3: count = unloads; break;
    case 4: count = allocs; break;
    }
    pthread_mutex_unlock(&lock);
    return count;
}

/* Makes and deletes references of both kinds; one of each kind less is deleted than made. */
JNIEXPORT void JNICALL Java_Heap_references(JNIEnv *env, jclass class, jobject object, jint count) {
    jobject made[1000];
    jweak weak[1000];
    int i;
    (void)class;
    is_counting = 1;
    for (i = 0; i < count; i++)
        made[i] = (*env)->NewGlobalRef(env, object);
    for (i = 0; i < 2 * count; i++)
        weak[i] = (*env)->NewWeakGlobalRef(env, object);
    for (i = 1; i < count; i++)
        (*env)->DeleteGlobalRef(env, made[i]);
    for (i = 1; i < 2 * count; i++)
        (*env)->DeleteWeakGlobalRef(env, weak[i]);
    (*env)->DeleteGlobalRef(env, NULL);
    (*env)->NewGlobalRef(env, NULL);
    is_counting = 0;
}

JNIEXPORT jint JNICALL JVM_OnLoad(JavaVM *vm, char *options, void *reserved) {
    (void)reserved;
    if ((*vm)->GetEnv(vm, (void **)&jvmpi, JVMPI_VERSION_1_2) < 0)
        return JNI_ERR;
    jvmpi->NotifyEvent = notify;
    jvmpi->EnableEvent(JVMPI_EVENT_JVM_SHUT_DOWN, NULL);
    jvmpi->EnableEvent(JVMPI_EVENT_THREAD_START, NULL);
    for (; options != NULL && *options != 0; options++) {
        switch (*options) {
        case 'a': jvmpi->EnableEvent(JVMPI_EVENT_OBJECT_ALLOC, NULL); break;
        case 'c': jvmpi->EnableEvent(JVMPI_EVENT_CLASS_LOAD, NULL); break;
        case 'f': jvmpi->EnableEvent(JVMPI_EVENT_OBJECT_FREE, NULL); break;
        case 'u': jvmpi->EnableEvent(JVMPI_EVENT_CLASS_UNLOAD, NULL); break;
        case 'g':
            jvmpi->EnableEvent(JVMPI_EVENT_GC_START, NULL);
            jvmpi->EnableEvent(JVMPI_EVENT_GC_FINISH, NULL);
            break;
        case 'r':
            jvmpi->EnableEvent(JVMPI_EVENT_JNI_GLOBALREF_ALLOC, NULL);
            jvmpi->EnableEvent(JVMPI_EVENT_JNI_GLOBALREF_FREE, NULL);
            jvmpi->EnableEvent(JVMPI_EVENT_JNI_WEAK_GLOBALREF_ALLOC, NULL);
            jvmpi->EnableEvent(JVMPI_EVENT_JNI_WEAK_GLOBALREF_FREE, NULL);
            break;
        }
    }
    return JNI_OK;
}
