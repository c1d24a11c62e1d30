/* Looks for the code of the method "hot", and holds unloaded code to what was loaded. */
#include <stdio.h>
#include <string.h>
#include <jvmpi.h>

#define MOST_METHODS 16384
#define MOST_UNLOADABLE 16

static JVMPI_Interface *jvmpi;
static jmethodID hot;
static JNIEnv *envs[1024], *env;
static int env_count, unannounced, threads, hot_loads, hot_line_count, bad_lines, min_line, max_line;
static int first_line, last_line;
static long loads, unloads, empty;
/* The methods with code, and how many codes each has. */
static struct { jmethodID id; int codes; } methods[MOST_METHODS];
static int method_count, without_load;
/* The methods of classes that the program lets go, and the code of theirs that was unloaded. */
static jmethodID unloadable[MOST_UNLOADABLE];
static int unloadable_count;
static volatile int unloaded;

/* The code that was loaded and not unloaded, by its address. */
static struct { void *address; jmethodID method; } codes[MOST_METHODS];
static int code_count, wrong_addresses;

static int code_of(void *address, jmethodID method) {
    int i;
    for (i = 0; i < code_count; i++)
        if (codes[i].address == address && codes[i].method == method)
            return i;
    return -1;
}

static int index_of(jmethodID id) {
    int i;
    for (i = 0; i < method_count && methods[i].id != id; i++)
        ;
    if (i == method_count && method_count < MOST_METHODS - 1)
        methods[method_count++].id = id;
    return i;
}

static void loaded(JVMPI_Event *event) {
    int i, is_known = 0;
    for (i = 0; i < env_count; i++)
        is_known |= envs[i] == event->env_id;
    unannounced += !is_known;
    threads += env != event->env_id;
    env = event->env_id;
    if (event->event_type == JVMPI_EVENT_COMPILED_METHOD_UNLOAD) {
        jmethodID id = event->u.compiled_method_unload.method_id;
        int code = code_of(event->u.compiled_method_load.code_addr, id);
        wrong_addresses += code < 0;
        if (code >= 0)
            codes[code] = codes[--code_count];
        unloads++;
        without_load += methods[index_of(id)].codes-- <= 0;
        for (i = 0; i < unloadable_count; i++)
            unloaded += id == unloadable[i];
        return;
    }
    loads++;
    if (code_count < MOST_METHODS) {
        codes[code_count].address = event->u.compiled_method_load.code_addr;
        codes[code_count++].method = event->u.compiled_method_load.method_id;
    }
    methods[index_of(event->u.compiled_method_load.method_id)].codes++;
    empty += event->u.compiled_method_load.code_addr == NULL ||
             event->u.compiled_method_load.code_size <= 0;
    if (event->u.compiled_method_load.method_id != hot)
        return;
    hot_loads++;
    for (i = 0; i < event->u.compiled_method_load.lineno_table_size; i++) {
        JVMPI_Lineno line = event->u.compiled_method_load.lineno_table[i];
        hot_line_count++;
        bad_lines += line.offset < 0 || line.offset > event->u.compiled_method_load.code_size ||
                     line.lineno < first_line || line.lineno > last_line;
        if (min_line == 0 || line.lineno < min_line)
            min_line = line.lineno;
        if (line.lineno > max_line)
            max_line = line.lineno;
    }
}

static void notify(JVMPI_Event *event) {
    int i;
    switch (event->event_type) {
    case JVMPI_EVENT_THREAD_START:
        if (env_count < 1024)
            envs[env_count++] = event->u.thread_start.thread_env_id;
        break;
    case JVMPI_EVENT_CLASS_LOAD:
        if (strcmp(event->u.class_load.class_name, "Hot") == 0)
            for (i = 0; i < event->u.class_load.num_methods; i++)
                if (strcmp(event->u.class_load.methods[i].method_name, "hot") == 0) {
                    hot = event->u.class_load.methods[i].method_id;
                    first_line = event->u.class_load.methods[i].start_lineno;
                    last_line = event->u.class_load.methods[i].end_lineno;
                }
        if (strcmp(event->u.class_load.class_name, "Unloads$Hot") == 0)
            for (i = 0; i < event->u.class_load.num_methods; i++)
                if (unloadable_count < MOST_UNLOADABLE)
                    unloadable[unloadable_count++] = event->u.class_load.methods[i].method_id;
        break;
    case JVMPI_EVENT_COMPILED_METHOD_LOAD:
    case JVMPI_EVENT_COMPILED_METHOD_UNLOAD:
        loaded(event);
        break;
    case JVMPI_EVENT_JVM_SHUT_DOWN:
        printf("loads=%ld\nunloads=%ld\nempty=%ld\nunannounced=%d\nthreads=%d\n", loads, unloads,
               empty, unannounced, threads);
        printf("hot=%d\nlines=%d\nbad.lines=%d\nleast=%d\nmost=%d\n", hot_loads, hot_line_count,
               bad_lines, min_line - first_line, max_line - first_line);
        printf("without.load=%d\nwrong.addresses=%d\n", without_load, wrong_addresses);
        fflush(stdout);
        break;
    }
}

JNIEXPORT jint JNICALL Java_Unloads_unloaded(JNIEnv *jni, jclass class) {
    (void)jni; (void)class;
    return unloaded;
}

JNIEXPORT void JNICALL Java_Hot_enable(JNIEnv *jni, jclass class) {
    (void)jni; (void)class;
    jvmpi->EnableEvent(JVMPI_EVENT_COMPILED_METHOD_LOAD, NULL);
}

JNIEXPORT jint JNICALL JVM_OnLoad(JavaVM *vm, char *options, void *reserved) {
    (void)reserved;
    if ((*vm)->GetEnv(vm, (void **)&jvmpi, JVMPI_VERSION_1) < 0)
        return JNI_ERR;
    jvmpi->NotifyEvent = notify;
    jvmpi->EnableEvent(JVMPI_EVENT_JVM_SHUT_DOWN, NULL);
    jvmpi->EnableEvent(JVMPI_EVENT_THREAD_START, NULL);
    jvmpi->EnableEvent(JVMPI_EVENT_CLASS_LOAD, NULL);
    if (options == NULL || strcmp(options, "late") != 0)
        jvmpi->EnableEvent(JVMPI_EVENT_COMPILED_METHOD_LOAD, NULL);
    jvmpi->EnableEvent(JVMPI_EVENT_COMPILED_METHOD_UNLOAD, NULL);
    return JNI_OK;
}
