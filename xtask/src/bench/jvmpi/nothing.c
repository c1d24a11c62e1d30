/* Takes the table and enables nothing. */
#include <jvmpi.h>

static void notify(JVMPI_Event *event) {
    (void)event;
}

JNIEXPORT jint JNICALL JVM_OnLoad(JavaVM *vm, char *options, void *reserved) {
    JVMPI_Interface *jvmpi;
    (void)options;
    (void)reserved;
    if ((*vm)->GetEnv(vm, (void **)&jvmpi, JVMPI_VERSION_1) < 0)
        return JNI_ERR;
    jvmpi->NotifyEvent = notify;
    return JNI_OK;
}
