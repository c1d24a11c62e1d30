/* The Java Virtual Machine Profiler Interface (JVMPI) of JDK 1.2 to 5, for x86-64.
 * Written by `cargo run -p xtask -- jvmpi`: change the table, not this file. */
#ifndef PERK_JVMPI_H
#define PERK_JVMPI_H

#include <jni.h>

#ifdef __cplusplus
extern "C" {
#endif

/* versions, for GetEnv */
#define JVMPI_VERSION_1 ((jint)0x10000001)
#define JVMPI_VERSION_1_1 ((jint)0x10000002)
#define JVMPI_VERSION_1_2 ((jint)0x10000003)

/* results */
#define JVMPI_SUCCESS ((jint)0)
#define JVMPI_NOT_AVAILABLE ((jint)1)
#define JVMPI_FAIL ((jint)(-1))

/* events */
#define JVMPI_EVENT_METHOD_ENTRY ((jint)1)
#define JVMPI_EVENT_METHOD_ENTRY2 ((jint)2)
#define JVMPI_EVENT_METHOD_EXIT ((jint)3)
#define JVMPI_EVENT_OBJECT_ALLOC ((jint)4)
#define JVMPI_EVENT_OBJECT_FREE ((jint)5)
#define JVMPI_EVENT_OBJECT_MOVE ((jint)6)
#define JVMPI_EVENT_COMPILED_METHOD_LOAD ((jint)7)
#define JVMPI_EVENT_COMPILED_METHOD_UNLOAD ((jint)8)
#define JVMPI_EVENT_INSTRUCTION_START ((jint)9)
#define JVMPI_EVENT_THREAD_START ((jint)33)
#define JVMPI_EVENT_THREAD_END ((jint)34)
#define JVMPI_EVENT_CLASS_LOAD_HOOK ((jint)35)
#define JVMPI_EVENT_HEAP_DUMP ((jint)37)
#define JVMPI_EVENT_JNI_GLOBALREF_ALLOC ((jint)38)
#define JVMPI_EVENT_JNI_GLOBALREF_FREE ((jint)39)
#define JVMPI_EVENT_JNI_WEAK_GLOBALREF_ALLOC ((jint)40)
#define JVMPI_EVENT_JNI_WEAK_GLOBALREF_FREE ((jint)41)
#define JVMPI_EVENT_CLASS_LOAD ((jint)42)
#define JVMPI_EVENT_CLASS_UNLOAD ((jint)43)
#define JVMPI_EVENT_DATA_DUMP_REQUEST ((jint)44)
#define JVMPI_EVENT_DATA_RESET_REQUEST ((jint)45)
#define JVMPI_EVENT_JVM_INIT_DONE ((jint)46)
#define JVMPI_EVENT_JVM_SHUT_DOWN ((jint)47)
#define JVMPI_EVENT_ARENA_NEW ((jint)48)
#define JVMPI_EVENT_ARENA_DELETE ((jint)49)
#define JVMPI_EVENT_OBJECT_DUMP ((jint)50)
#define JVMPI_EVENT_RAW_MONITOR_CONTENDED_ENTER ((jint)51)
#define JVMPI_EVENT_RAW_MONITOR_CONTENDED_ENTERED ((jint)52)
#define JVMPI_EVENT_RAW_MONITOR_CONTENDED_EXIT ((jint)53)
#define JVMPI_EVENT_MONITOR_CONTENDED_ENTER ((jint)54)
#define JVMPI_EVENT_MONITOR_CONTENDED_ENTERED ((jint)55)
#define JVMPI_EVENT_MONITOR_CONTENDED_EXIT ((jint)56)
#define JVMPI_EVENT_MONITOR_WAIT ((jint)57)
#define JVMPI_EVENT_MONITOR_WAITED ((jint)58)
#define JVMPI_EVENT_MONITOR_DUMP ((jint)59)
#define JVMPI_EVENT_GC_START ((jint)60)
#define JVMPI_EVENT_GC_FINISH ((jint)61)
#define JVMPI_MAX_EVENT_TYPE_VAL ((jint)61)

/* names of events that older agents use */
#define JVMPI_EVENT_OBJ_ALLOC ((jint)4)
#define JVMPI_EVENT_OBJ_FREE ((jint)5)
#define JVMPI_EVENT_OBJ_MOVE ((jint)6)
#define JVMPI_EVENT_LOAD_COMPILED_METHOD ((jint)7)
#define JVMPI_EVENT_UNLOAD_COMPILED_METHOD ((jint)8)
#define JVMPI_EVENT_DUMP_DATA_REQUEST ((jint)44)
#define JVMPI_EVENT_RESET_DATA_REQUEST ((jint)45)
#define JVMPI_EVENT_NEW_ARENA ((jint)48)
#define JVMPI_EVENT_DELETE_ARENA ((jint)49)

/* the bit of an event's type that says it was requested */
#define JVMPI_REQUESTED_EVENT ((jint)0x10000000)

/* states of a thread */
#define JVMPI_THREAD_RUNNABLE ((jint)1)
#define JVMPI_THREAD_MONITOR_WAIT ((jint)2)
#define JVMPI_THREAD_CONDVAR_WAIT ((jint)3)

/* bits of a thread's state */
#define JVMPI_THREAD_SUSPENDED ((jint)0x8000)
#define JVMPI_THREAD_INTERRUPTED ((jint)0x4000)

/* priorities of a thread */
#define JVMPI_MINIMUM_PRIORITY ((jint)1)
#define JVMPI_NORMAL_PRIORITY ((jint)5)
#define JVMPI_MAXIMUM_PRIORITY ((jint)10)

/* types of objects and values */
#define JVMPI_NORMAL_OBJECT ((jint)0)
#define JVMPI_CLASS ((jint)2)
#define JVMPI_BOOLEAN ((jint)4)
#define JVMPI_CHAR ((jint)5)
#define JVMPI_FLOAT ((jint)6)
#define JVMPI_DOUBLE ((jint)7)
#define JVMPI_BYTE ((jint)8)
#define JVMPI_SHORT ((jint)9)
#define JVMPI_INT ((jint)10)
#define JVMPI_LONG ((jint)11)

/* levels of a heap dump */
#define JVMPI_DUMP_LEVEL_0 ((jint)0)
#define JVMPI_DUMP_LEVEL_1 ((jint)1)
#define JVMPI_DUMP_LEVEL_2 ((jint)2)

/* records of heap and object dumps */
#define JVMPI_GC_ROOT_UNKNOWN ((jint)0xff)
#define JVMPI_GC_ROOT_JNI_GLOBAL ((jint)0x1)
#define JVMPI_GC_ROOT_JNI_LOCAL ((jint)0x2)
#define JVMPI_GC_ROOT_JAVA_FRAME ((jint)0x3)
#define JVMPI_GC_ROOT_NATIVE_STACK ((jint)0x4)
#define JVMPI_GC_ROOT_STICKY_CLASS ((jint)0x5)
#define JVMPI_GC_ROOT_THREAD_BLOCK ((jint)0x6)
#define JVMPI_GC_ROOT_MONITOR_USED ((jint)0x7)
#define JVMPI_GC_ROOT_THREAD_OBJ ((jint)0x8)
#define JVMPI_GC_CLASS_DUMP ((jint)0x20)
#define JVMPI_GC_INSTANCE_DUMP ((jint)0x21)
#define JVMPI_GC_OBJ_ARRAY_DUMP ((jint)0x22)
#define JVMPI_GC_PRIM_ARRAY_DUMP ((jint)0x23)

/* records of monitor dumps */
#define JVMPI_MONITOR_JAVA ((jint)0x1)
#define JVMPI_MONITOR_RAW ((jint)0x2)

struct _jobjectID;
typedef struct _jobjectID *jobjectID;

struct _JVMPI_RawMonitor;
typedef struct _JVMPI_RawMonitor *JVMPI_RawMonitor;

/* a method; the lines are -1 for native and abstract ones */
typedef struct {
    char *method_name;
    char *method_signature;
    jint start_lineno;
    jint end_lineno;
    jmethodID method_id;
} JVMPI_Method;

/* a field */
typedef struct {
    char *field_name;
    char *field_signature;
} JVMPI_Field;

/* the line of the code from an offset on */
typedef struct {
    jint offset;
    jint lineno;
} JVMPI_Lineno;

/* what a heap dump shall have */
typedef struct {
    jint heap_dump_level;
} JVMPI_HeapDumpArg;

/* a method being executed; the line is -1 if not known, -3 in native methods */
typedef struct {
    jint lineno;
    jmethodID method_id;
} JVMPI_CallFrame;

/* a thread's frames, callees before their callers */
typedef struct {
    JNIEnv *env_id;
    jint num_frames;
    JVMPI_CallFrame *frames;
} JVMPI_CallTrace;

/* an event; the member of the union depends on its type */
typedef struct {
    jint event_type;
    JNIEnv *env_id;
    union {
        /* CLASS_LOAD */
        struct {
            char *class_name;
            char *source_name;
            jint num_interfaces;
            jint num_methods;
            JVMPI_Method *methods;
            jint num_static_fields;
            JVMPI_Field *statics;
            jint num_instance_fields;
            JVMPI_Field *instances;
            jobjectID class_id;
        } class_load;
        /* CLASS_UNLOAD */
        struct {
            jobjectID class_id;
        } class_unload;
        /* CLASS_LOAD_HOOK */
        struct {
            unsigned char *class_data;
            jint class_data_len;
            unsigned char *new_class_data;
            jint new_class_data_len;
            void *(*malloc_f)(unsigned int);
        } class_load_hook;
        /* OBJECT_ALLOC */
        struct {
            jint arena_id;
            jobjectID class_id;
            jint is_array;
            jint size;
            jobjectID obj_id;
        } obj_alloc;
        /* OBJECT_FREE */
        struct {
            jobjectID obj_id;
        } obj_free;
        /* OBJECT_MOVE */
        struct {
            jint arena_id;
            jobjectID obj_id;
            jint new_arena_id;
            jobjectID new_obj_id;
        } obj_move;
        /* ARENA_NEW */
        struct {
            jint arena_id;
            char *arena_name;
        } new_arena;
        /* ARENA_DELETE */
        struct {
            jint arena_id;
        } delete_arena;
        /* THREAD_START */
        struct {
            char *thread_name;
            char *group_name;
            char *parent_name;
            jobjectID thread_id;
            JNIEnv *thread_env_id;
        } thread_start;
        /* HEAP_DUMP */
        struct {
            int dump_level;
            char *begin;
            char *end;
            jint num_traces;
            JVMPI_CallTrace *traces;
        } heap_dump;
        /* MONITOR_DUMP */
        struct {
            char *begin;
            char *end;
            jint num_traces;
            JVMPI_CallTrace *traces;
            jint *threads_status;
        } monitor_dump;
        /* OBJECT_DUMP */
        struct {
            jint data_len;
            char *data;
        } object_dump;
        /* JNI_GLOBALREF_ALLOC, JNI_WEAK_GLOBALREF_ALLOC */
        struct {
            jobjectID obj_id;
            jobject ref_id;
        } jni_globalref_alloc;
        /* JNI_GLOBALREF_FREE, JNI_WEAK_GLOBALREF_FREE */
        struct {
            jobject ref_id;
        } jni_globalref_free;
        /* METHOD_ENTRY, METHOD_EXIT */
        struct {
            jmethodID method_id;
        } method;
        /* METHOD_ENTRY2 */
        struct {
            jmethodID method_id;
            jobjectID obj_id;
        } method_entry2;
        /* COMPILED_METHOD_LOAD */
        struct {
            jmethodID method_id;
            void *code_addr;
            jint code_size;
            jint lineno_table_size;
            JVMPI_Lineno *lineno_table;
        } compiled_method_load;
        /* COMPILED_METHOD_UNLOAD */
        struct {
            jmethodID method_id;
        } compiled_method_unload;
        /* RAW_MONITOR_CONTENDED_ENTER, _ENTERED, _EXIT */
        struct {
            char *name;
            JVMPI_RawMonitor id;
        } raw_monitor;
        /* MONITOR_CONTENDED_ENTER, _ENTERED, _EXIT */
        struct {
            jobjectID object;
        } monitor;
        /* MONITOR_WAIT, MONITOR_WAITED */
        struct {
            jobjectID object;
            jlong timeout;
        } monitor_wait;
        /* GC_FINISH */
        struct {
            jlong used_objects;
            jlong used_object_space;
            jlong total_object_space;
        } gc_info;
        /* INSTRUCTION_START */
        struct {
            jmethodID method_id;
            jint offset;
            union {
                /* a conditional branch */
                struct {
                    jboolean is_true;
                } if_info;
                /* a tableswitch */
                struct {
                    jint key;
                    jint low;
                    jint hi;
                } tableswitch_info;
                /* a lookupswitch; its default was taken if both are equal */
                struct {
                    jint chosen_pair_index;
#ifdef JVMPI_DOCUMENT_LOOKUPSWITCH
                    jboolean is_default;
#else
                    jint pairs_total;
#endif
                } lookupswitch_info;
            } u;
        } instruction;
    } u;
} JVMPI_Event;

/* the functions; the agent sets NotifyEvent */
typedef struct {
    jint version;
    void (*NotifyEvent)(JVMPI_Event *event);
    jint (*EnableEvent)(jint event_type, void *arg);
    jint (*DisableEvent)(jint event_type, void *arg);
    jint (*RequestEvent)(jint event_type, void *arg);
    void (*GetCallTrace)(JVMPI_CallTrace *trace, jint depth);
    void (*ProfilerExit)(jint err_code);
    JVMPI_RawMonitor (*RawMonitorCreate)(char *lock_name);
    void (*RawMonitorEnter)(JVMPI_RawMonitor lock_id);
    void (*RawMonitorExit)(JVMPI_RawMonitor lock_id);
    void (*RawMonitorWait)(JVMPI_RawMonitor lock_id, jlong ms);
    void (*RawMonitorNotifyAll)(JVMPI_RawMonitor lock_id);
    void (*RawMonitorDestroy)(JVMPI_RawMonitor lock_id);
    jlong (*GetCurrentThreadCpuTime)(void);
    void (*SuspendThread)(JNIEnv *env);
    void (*ResumeThread)(JNIEnv *env);
    jint (*GetThreadStatus)(JNIEnv *env);
    jboolean (*ThreadHasRun)(JNIEnv *env);
    jint (*CreateSystemThread)(char *name, jint priority, void (*f)(void *));
    void (*SetThreadLocalStorage)(JNIEnv *env_id, void *ptr);
    void *(*GetThreadLocalStorage)(JNIEnv *env_id);
    void (*DisableGC)(void);
    void (*EnableGC)(void);
    void (*RunGC)(void);
    jobjectID (*GetThreadObject)(JNIEnv *env);
    jobjectID (*GetMethodClass)(jmethodID mid);
    jobject (*jobjectID2jobject)(jobjectID jid);
    jobjectID (*jobject2jobjectID)(jobject j);
    void (*SuspendThreadList)(jint reqCount, JNIEnv **reqList, jint *results);
    void (*ResumeThreadList)(jint reqCount, JNIEnv **reqList, jint *results);
} JVMPI_Interface;

#ifdef __cplusplus
}
#endif

#endif
