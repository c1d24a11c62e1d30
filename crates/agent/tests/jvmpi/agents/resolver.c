/* Enables nothing but METHOD_ENTRY, and requests what defines the methods that it meets. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <jvmpi.h>

#define SLOTS 65536

static JVMPI_Interface *jvmpi;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static jmethodID known[SLOTS];
static jmethodID wanted;
static int resolved, unresolved, refused, is_found, is_done;

static void resolve(jmethodID method) {
    jobjectID class = jvmpi->GetMethodClass(method);
    is_found = 0;
    wanted = method;
    if (class == NULL || jvmpi->RequestEvent(JVMPI_EVENT_CLASS_LOAD, class) != JVMPI_SUCCESS)
        refused++;
    if (is_found)
        resolved++;
    else
        unresolved++;
}

static void enter(jmethodID method) {
    size_t slot = ((size_t)method >> 3) * 2654435761u % SLOTS;
    while (known[slot] != NULL && known[slot] != method)
        slot = (slot + 1) % SLOTS;
    if (known[slot] == NULL) {
        known[slot] = method;
        resolve(method);
    }
}

static void describe(JVMPI_Event *event) {
    int i;
    const char *class = event->u.class_load.class_name;
    for (i = 0; i < event->u.class_load.num_methods; i++) {
        JVMPI_Method *method = &event->u.class_load.methods[i];
        if (method->method_id != wanted)
            continue;
        is_found = 1;
        if (strncmp(class, "Resolved", 8) == 0)
            printf("%s.%s%s=%d\n", class, method->method_name, method->method_signature,
                   (int)method->start_lineno);
        if (strcmp(class, "Resolved") == 0 && strcmp(method->method_name, "last") == 0) {
            is_done = 1;
            printf("resolved=%d\nunresolved=%d\nrefused=%d\n", resolved > 100, unresolved, refused);
            fflush(stdout);
        }
    }
}

static void notify(JVMPI_Event *event) {
    if (event->event_type == (JVMPI_EVENT_CLASS_LOAD | JVMPI_REQUESTED_EVENT)) {
        describe(event);
    } else if (event->event_type != JVMPI_EVENT_METHOD_ENTRY) {
        printf("other=%d\n", (int)event->event_type);
    } else if (!is_done) {
        pthread_mutex_lock(&lock);
        enter(event->u.method.method_id);
        pthread_mutex_unlock(&lock);
    }
}

JNIEXPORT jint JNICALL JVM_OnLoad(JavaVM *vm, char *options, void *reserved) {
    (void)options;
    (void)reserved;
    if ((*vm)->GetEnv(vm, (void **)&jvmpi, JVMPI_VERSION_1) < 0)
        return JNI_ERR;
    jvmpi->NotifyEvent = notify;
    return jvmpi->EnableEvent(JVMPI_EVENT_METHOD_ENTRY, NULL) == JVMPI_SUCCESS ? JNI_OK : JNI_ERR;
}
