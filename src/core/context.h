/*
 * context.h: what every part of the library asks of its context: memory, errors, messages, progress, time.
 *
 * The idiom of a fallible function:
 *
 *     nadir_status status = NADIR_OK;
 *     double *work = NULL;
 *     NADIR_NEW(context, work, count);
 *     NADIR_CHECK(fallible_call(...));
 * cleanup:
 *     nadir_release(context, work);
 *     return status;
 *
 * One that has nothing to clean up does with NADIR_TRY(fallible_call(...)).
 */
#ifndef NADIR_CORE_CONTEXT_H
#define NADIR_CORE_CONTEXT_H

#include "core/communication.h"
#include "core/memory.h"
#include "core/random.h"
#include "nadir.h"

/* Runs a fallible call; on failure keeps its status in `status` and goes to the label `cleanup`. */
#define NADIR_CHECK(call)                                                                                    \
    do {                                                                                                     \
        status = (call);                                                                                     \
        if (status != NADIR_OK) {                                                                            \
            goto cleanup;                                                                                    \
        }                                                                                                    \
    } while (0)
/* The same in a function that has nothing to clean up: on failure returns the status. */
#define NADIR_TRY(call)                                                                                      \
    do {                                                                                                     \
        const nadir_status status_of_call = (call);                                                          \
        if (status_of_call != NADIR_OK) {                                                                    \
            return status_of_call;                                                                           \
        }                                                                                                    \
    } while (0)

/* Room for the longest path (4096 bytes) and a sentence about it. */
#define NADIR_ERROR_LENGTH 5120

struct nadir_context {
    nadir_memory *memory;
    nadir_log_function log;
    void *log_user;
    nadir_progress_function progress;
    void *progress_user;
    double progress_time;   /* of the last call, so that calls stay rare */
    double progress_whole;  /* what is told instead of the shares of tasks; < 0: nothing */
    char progress_news[80]; /* told instead of tasks; empty: nothing */
    double progress_share;  /* and instead of their shares */
    const char *estimated;  /* the task whose time was told last; NULL: none */
    double until;           /* nadir_deadline_set; infinity: none */
    bool keeps;             /* there is a deadline: an interruption is one, too */
    bool interrupted;       /* the callback has said so, and no call has failed for it yet */
    nadir_random random;
    int32_t threads;
    const nadir_communication *communication;
    const struct nadir_engine_table *engine; /* NULL: none; models are then whole */
    void *engine_self;
    const struct nadir_device *device; /* NULL: none; device.h */
    void *device_self;
    char error[NADIR_ERROR_LENGTH];
};

/* Keeps the sentence for nadir_context_error and returns `status`, so that one can write
 * `return nadir_fail(...)`. A sentence too long is cut; control characters, which names of files, states and
 * actions may hold, become '?'. The same goes for nadir_log. */
nadir_status nadir_fail(nadir_context *context, nadir_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Sends a message to the log callback; without one it costs nothing. */
void nadir_log(nadir_context *context, nadir_log_level level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Seconds of a clock that never runs backwards and ignores changes of the time of day. Only differences mean
 * anything. */
double nadir_clock_seconds(void);

/* Calls the progress callback if a tenth of a second has passed since the last time; cheap enough for every
 * few thousand steps of a loop. share < 0: unknown. */
nadir_status nadir_progress(nadir_context *context, const char *task, double share);
/* From now on `share` is told, which is that of the whole work, instead of the shares of its tasks; < 0: no longer. */
void nadir_progress_whole(nadir_context *context, double share);
/* From now on this text, of which a copy is kept, and this share are told instead of all tasks; NULL: no longer. */
void nadir_progress_news(nadir_context *context, const char *text, double share);
/* The same with the time that `task` has left at its pace, where a share of it is done since `begun` (nadir_clock_seconds) and
 * there are some seconds to go by; where it is long, a notice says so once for each task. task: a literal. */
void nadir_progress_estimate(nadir_context *context, const char *task, double begun, double share);

/* From now on nadir_progress does not fail where the user interrupts: nadir_time_is_up says so instead, and also from
 * `until` on (nadir_clock_seconds), so that work can stop with what it has. */
void nadir_deadline_set(nadir_context *context, double until);
void nadir_deadline_clear(nadir_context *context);
bool nadir_time_is_up(const nadir_context *context);
/* Whether the user has interrupted while there was a deadline. Once this was asked, nadir_progress does not fail for it. */
bool nadir_interrupt_take(nadir_context *context);

/* Memory of the context. NULL on failure, with the sentence for NADIR_ERROR_MEMORY kept. */
void *nadir_allocate(nadir_context *context, size_t count, size_t size);
void *nadir_allocate_zero(nadir_context *context, size_t count, size_t size);
void *nadir_reallocate(nadir_context *context, void *block, size_t count, size_t size);
void nadir_release(nadir_context *context, void *block);
/* Releases every block that is named. */
#define NADIR_RELEASE(context, ...) NADIR_MEMORY_RELEASE((context)->memory, __VA_ARGS__)

/* A capacity that holds `need` and leaves room to grow by half. */
size_t nadir_grown_capacity(size_t capacity, size_t need);

/* pointer = an array of `count` elements of its type, uninitialised; on failure goes to `cleanup`. */
#define NADIR_NEW(context, pointer, count)                                                                   \
    NADIR_GIVEN(pointer, nadir_allocate(context, (size_t)(count), sizeof *(pointer)))
/* The same, all bytes zero. */
#define NADIR_NEW_ZERO(context, pointer, count)                                                              \
    NADIR_GIVEN(pointer, nadir_allocate_zero(context, (size_t)(count), sizeof *(pointer)))
/* Grows or shrinks the array to `count` elements; on failure leaves it as it was and goes to `cleanup`. */
#define NADIR_RESIZE(context, pointer, count)                                                                \
    NADIR_GIVEN(pointer, nadir_reallocate(context, pointer, (size_t)(count), sizeof *(pointer)))
/* Makes room for `need` elements in an array that has room for `capacity` (a size_t variable). */
#define NADIR_RESERVE(context, pointer, need, capacity)                                                      \
    do {                                                                                                     \
        if ((size_t)(need) > (capacity)) {                                                                   \
            const size_t grown_capacity = nadir_grown_capacity(capacity, (size_t)(need));                    \
            NADIR_RESIZE(context, pointer, grown_capacity);                                                  \
            (capacity) = grown_capacity;                                                                     \
        }                                                                                                    \
    } while (0)
#define NADIR_GIVEN(pointer, block)                                                                          \
    do {                                                                                                     \
        void *given_block = (block);                                                                         \
        if (given_block == NULL) {                                                                           \
            status = NADIR_ERROR_MEMORY;                                                                     \
            goto cleanup;                                                                                    \
        }                                                                                                    \
        (pointer) = given_block;                                                                             \
    } while (0)

/* Gives a caller the struct `from`, [known] bytes, whose first member is its size: no more than the [size]
 * bytes that the caller has, with that size. */
void nadir_settings_give(void *into, size_t size, const void *from, size_t known);

/* Fills the known part of a settings struct from the caller's, whose first member is its size; `into` holds
 * the defaults. False when the size is none that any version of the library had. */
bool nadir_settings_copy(void *into, size_t known, const void *from);

/* Gives the caller as much of a result as their struct, whose first member is its size, has room for. False
 * when that size is not set. */
bool nadir_result_copy(void *into, const void *found, size_t known);

/* Why an iteration ended. */
typedef enum nadir_stop {
    NADIR_STOP_NONE, /* it has not */
    NADIR_STOP_TOLERANCE,
    NADIR_STOP_STABLE, /* what is left is rounding */
    NADIR_STOP_STALLED,
    NADIR_STOP_SLOW,
    NADIR_STOP_ITERATIONS,
    NADIR_STOP_SOLVED, /* nothing had to be iterated */
    NADIR_STOP_GAP,
    NADIR_STOP_STATIONARY,
    NADIR_STOP_EVALUATIONS,
    NADIR_STOP_TIME,
    NADIR_STOP_SAMPLES,
    NADIR_STOP_FAILED,
    NADIR_STOP_INTERRUPTED,
    NADIR_STOP_BREAKDOWN,
    NADIR_STOP_DOMAIN,
} nadir_stop;

/* As results call it; NULL for NADIR_STOP_NONE. */
const char *nadir_stop_name(nadir_stop stop);

#endif
