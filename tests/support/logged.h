/*
 * logged.h: random logs of episodes, written in every form that data may have, and counted without the
 * library. Include support/support.h first.
 */
#ifndef NADIR_TESTS_LOGGED_H
#define NADIR_TESTS_LOGGED_H

#include <stdbool.h>
#include <stdint.h>

typedef struct test_step {
    int episode, step;
    int state, action, successor;
    double reward; /* a multiple of 1/8: sums are exact in any order */
    bool last;     /* of its episode */
} test_step;

typedef struct test_log {
    int states, actions, episodes;
    int count;
    test_step *steps; /* [count] */
} test_log;

/* The largest state and the largest action occur. To be cleared. */
test_log test_log_make(uint64_t seed);
void test_log_clear(test_log *log);

typedef enum test_log_form {
    TEST_LOG_TRANSITIONS,
    TEST_LOG_SHUFFLED, /* other names, columns in another order, quotes, comments */
    TEST_LOG_COUNTS,   /* every transition once, in two lines where it was seen more than once */
    TEST_LOG_EPISODES, /* the next state is that of the next line */
    TEST_LOG_EPISODES_NEXT,
    TEST_LOG_RECORDS, /* .npy from here on */
    TEST_LOG_RECORDS_SWAPPED,
    TEST_LOG_RECORDS_COUNTS,
    TEST_LOG_RECORDS_EPISODES,
    TEST_LOG_RECORDS_EPISODES_NEXT,
    TEST_LOG_PLAIN, /* (N, 4) floats */
    TEST_LOG_PLAIN_FORTRAN,
    TEST_LOG_PLAIN_INTEGERS, /* (N, 3): no rewards */
    TEST_LOG_FORMS
} test_log_form;

/* Writes the file and gives its name, which is the same for all logs. */
const char *test_log_write(const test_log *log, test_log_form form);

static inline bool test_log_form_has_episodes(test_log_form form)
{
    return form == TEST_LOG_EPISODES || form == TEST_LOG_EPISODES_NEXT || form == TEST_LOG_RECORDS_EPISODES ||
           form == TEST_LOG_RECORDS_EPISODES_NEXT;
}

#endif
