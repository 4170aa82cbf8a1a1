/* logged.c: random logs in every form; see logged.h. */
#include "support/support.h"

#include "support/logged.h"
#include "support/numpy.h"

#include "core/random.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

test_log test_log_make(uint64_t seed)
{
    nadir_random random = test_random(seed);
    test_log log = {.states = 1 + (int)nadir_random_below(&random, 12),
                    .actions = 1 + (int)nadir_random_below(&random, 4),
                    .episodes = 1 + (int)nadir_random_below(&random, 9)};
    log.steps = calloc((size_t)log.episodes * 40, sizeof *log.steps);
    assert_non_null(log.steps);
    int number = 0;
    for (int episode = 0; episode < log.episodes; episode++) {
        const int length = 1 + (int)nadir_random_below(&random, 40);
        const int first = (int)nadir_random_below(&random, 2);
        int state = (int)nadir_random_below(&random, (uint64_t)log.states);
        for (int i = 0; i < length; i++) {
            test_step *step = &log.steps[log.count++];
            *step = (test_step){.episode = number,
                                .step = first + i,
                                .state = state,
                                .action = (int)nadir_random_below(&random, (uint64_t)log.actions),
                                .successor = (int)nadir_random_below(&random, (uint64_t)log.states),
                                .reward = ((double)nadir_random_below(&random, 64) - 20) / 8,
                                .last = i + 1 == length};
            state = step->successor;
        }
        number += 1 + (int)nadir_random_below(&random, 3);
    }
    log.steps[log.count - 1].successor = log.states - 1;
    log.steps[log.count - 1].action = log.actions - 1;
    return log;
}

void test_log_clear(test_log *log)
{
    free(log->steps);
    *log = (test_log){0};
}

static bool same(const test_step *a, const test_step *b)
{
    return a->state == b->state && a->action == b->action && a->successor == b->successor &&
           a->reward == b->reward;
}

/* How often step i was seen; 0 unless it is the first of its like. */
static int times_seen(const test_log *log, int i)
{
    int times = 0;
    for (int k = 0; k < log->count; k++) {
        if (same(&log->steps[i], &log->steps[k])) {
            if (k < i) {
                return 0;
            }
            times++;
        }
    }
    return times;
}

static void write_text_step(FILE *file, const test_log *log, int i, test_log_form form)
{
    const test_step *at = &log->steps[i];
    const int times = form == TEST_LOG_COUNTS ? times_seen(log, i) : 1;
    switch (form) {
    case TEST_LOG_TRANSITIONS:
        (void)fprintf(file, "%d,%d,%d,%.3f\n", at->state, at->action, at->successor, at->reward);
        break;
    case TEST_LOG_SHUFFLED:
        (void)fprintf(file, "%s %.17g , \"%d\",%d.0,%d\r\n", i % 3 == 0 ? "# a comment\n\n" : "", at->reward,
                      at->successor, at->state, at->action);
        break;
    case TEST_LOG_COUNTS:
        if (times > 0) {
            (void)fprintf(file, "%d,%d,%d,%g,%d\n", at->state, at->action, at->successor, at->reward, 1);
            (void)fprintf(file, "%d,%d,%d,%g,%de0\n", at->state, at->action, at->successor, at->reward,
                          times - 1);
        }
        break;
    case TEST_LOG_EPISODES:
        (void)fprintf(file, "%d,%d,%d,%d,%g\n", at->episode, at->step, at->state, at->action, at->reward);
        if (at->last) {
            (void)fprintf(file, "%d,%d,%d,,\n", at->episode, at->step + 1, at->successor);
        }
        break;
    default:
        (void)fprintf(file, "%d,%d,%d,%d,%d,%g\n", at->episode, at->step, at->state, at->action,
                      at->successor, at->reward);
        break;
    }
}

static void write_text(const test_log *log, test_log_form form)
{
    static const char *const headers[] = {
        [TEST_LOG_TRANSITIONS] = "idstatefrom,idaction,idstateto,reward\n",
        [TEST_LOG_SHUFFLED] = "\xEF\xBB\xBF# logged\n\"Reward\", NEXT_STATE,\"state\",action\n",
        [TEST_LOG_COUNTS] = "state,action,next_state,reward,count\n",
        [TEST_LOG_EPISODES] = "episode,step,state,action,reward\n",
        [TEST_LOG_EPISODES_NEXT] = "episode,step,state,action,next_state,reward\n",
    };
    FILE *file = fopen("log.csv", "wb");
    assert_non_null(file);
    (void)fputs(headers[form], file);
    for (int i = 0; i < log->count; i++) {
        write_text_step(file, log, i, form);
    }
    assert_int_equal(fclose(file), 0);
}

/* The items of an array in the making. */
typedef struct items {
    unsigned char *bytes;
    size_t used;
} items;

static void put(items *into, const void *value, size_t size, bool swapped)
{
    for (size_t i = 0; i < size; i++) {
        into->bytes[into->used++] = ((const unsigned char *)value)[swapped ? size - 1 - i : i];
    }
}

static void put_i8(items *into, int64_t value, bool swapped)
{
    put(into, &value, sizeof value, swapped);
}

static void put_i4(items *into, int32_t value, bool swapped)
{
    put(into, &value, sizeof value, swapped);
}

static void put_i2(items *into, int value, bool swapped)
{
    const int16_t narrow = (int16_t)value;
    put(into, &narrow, sizeof narrow, swapped);
}

static void put_f8(items *into, double value, bool swapped)
{
    put(into, &value, sizeof value, swapped);
}

static void put_f4(items *into, double value, bool swapped)
{
    const float narrow = (float)value;
    put(into, &narrow, sizeof narrow, swapped);
}

/* Puts the records of step i; returns how many these are. */
static int put_records(items *into, const test_log *log, int i, test_log_form form)
{
    const test_step *at = &log->steps[i];
    const bool swapped = form == TEST_LOG_RECORDS_SWAPPED;
    const int times = form == TEST_LOG_RECORDS_COUNTS ? times_seen(log, i) : 1;
    switch (form) {
    case TEST_LOG_RECORDS:
    case TEST_LOG_RECORDS_SWAPPED:
        put_i8(into, at->state, swapped);
        put_i2(into, at->action, swapped);
        put_i2(into, -7, swapped); /* between the fields */
        put_i4(into, at->successor, swapped);
        put_f4(into, at->reward, swapped);
        return 1;
    case TEST_LOG_RECORDS_COUNTS:
        if (times > 0) {
            put_f8(into, at->state, false);
            put_i4(into, at->action, false);
            put_i4(into, at->successor, false);
            put_i8(into, times, false);
            put_f8(into, at->reward, false);
        }
        return times > 0;
    case TEST_LOG_RECORDS_EPISODES:
    case TEST_LOG_RECORDS_EPISODES_NEXT:
        for (int k = 0; k < 1 + at->last; k++) {
            put_i8(into, at->episode, false);
            put_i4(into, at->step + k, false);
            put_i4(into, k == 0 ? at->state : at->successor, false);
            put_i2(into, k == 0 ? at->action : -1, false);
            if (form == TEST_LOG_RECORDS_EPISODES_NEXT) {
                put_i4(into, k == 0 ? at->successor : -1, false);
            }
            put_f8(into, k == 0 ? at->reward : (double)NAN, false);
        }
        return 1 + at->last;
    default:
        return 0;
    }
}

static void write_records(const test_log *log, test_log_form form)
{
    static const char *const types[] = {
        [TEST_LOG_RECORDS] =
            "('state', '=i8'), ('action', '=i2'), ('', '|V2'), ('next_state', '=i4'), ('reward', "
            "'=f4')",
        [TEST_LOG_RECORDS_SWAPPED] =
            "('idstatefrom', '~i8'), ('idaction', '~i2'), ('', '|V2'), ('idstateto', "
            "'~i4'), ('Reward', '~f4')",
        [TEST_LOG_RECORDS_COUNTS] =
            "('state', '=f8'), ('action', '=i4'), ('next_state', '=i4'), ('count', '=i8'), "
            "('reward', '=f8')",
        [TEST_LOG_RECORDS_EPISODES] =
            "('episode', '=i8'), ('step', '=i4'), ('state', '=u4'), ('action', '=i2'), "
            "('reward', '=f8'),",
        [TEST_LOG_RECORDS_EPISODES_NEXT] =
            "('episode', '=i8'), ('step', '=u4'), ('state', '=u4'), ('action', "
            "'=i2'), ('next_state', '=i4'), ('reward', '=f8')",
    };
    items into = {calloc((size_t)log->count * 2, 64), 0};
    assert_non_null(into.bytes);
    int count = 0;
    for (int i = 0; i < log->count; i++) {
        count += put_records(&into, log, i, form);
    }
    char header[512];
    (void)snprintf(header, sizeof header, "{'descr': [%s], 'fortran_order': False, 'shape': (%d,), }\n",
                   types[form], count);
    const bool big = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__;
    for (char *at = header; *at != '\0'; at++) {
        if (*at == '=' || *at == '~') {
            const bool to_big = (*at == '=') == big;
            *at = to_big ? '>' : '<';
        }
    }
    test_write_npy_header("log.npy", header, into.bytes, into.used);
    free(into.bytes);
}

static void write_plain(const test_log *log, test_log_form form)
{
    const size_t width = form == TEST_LOG_PLAIN_INTEGERS ? 3 : 4;
    const size_t count = (size_t)log->count;
    items into = {calloc(count * width, 8), 0};
    assert_non_null(into.bytes);
    for (size_t k = 0; k < count * width; k++) {
        const bool fortran = form == TEST_LOG_PLAIN_FORTRAN;
        const test_step *at = &log->steps[fortran ? k % count : k / width];
        const double values[] = {at->state, at->action, at->successor, at->reward};
        const double value = values[fortran ? k / count : k % width];
        if (form == TEST_LOG_PLAIN_INTEGERS) {
            put_i8(&into, (int64_t)value, false);
        } else {
            put_f8(&into, value, false);
        }
    }
    char shape[64];
    (void)snprintf(shape, sizeof shape, "(%d, %zu)", log->count, width);
    test_write_npy("log.npy", &(test_array){"", form == TEST_LOG_PLAIN_INTEGERS ? "=i8" : "=f8", shape,
                                            into.bytes, into.used, form == TEST_LOG_PLAIN_FORTRAN});
    free(into.bytes);
}

const char *test_log_write(const test_log *log, test_log_form form)
{
    if (form < TEST_LOG_RECORDS) {
        write_text(log, form);
        return "log.csv";
    }
    if (form < TEST_LOG_PLAIN) {
        write_records(log, form);
    } else {
        write_plain(log, form);
    }
    return "log.npy";
}
