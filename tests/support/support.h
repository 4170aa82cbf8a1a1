/*
 * support.h: what the unit tests share. Every test runs in a fresh working directory, so files may be made
 * under any name.
 */
#ifndef NADIR_TESTS_SUPPORT_H
#define NADIR_TESTS_SUPPORT_H

/* cmocka wants these before it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/random.h"
#include "nadir.h"

/* A context whose messages are kept; see test_messages. Fails the test if there is none. */
nadir_context *test_context(void);

/* A test that finds such a context in *state: it is made before the test, and freed after it; a note ends with
 * the test, too. */
#define test_with_context(test)                                                                              \
    cmocka_unit_test_setup_teardown(test, test_context_setup, test_context_teardown)
int test_context_setup(void **state);
int test_context_teardown(void **state);

/* Contexts without a device: so many threads, the same with a seed, at most so many bytes, a progress function. */
nadir_context *test_context_threads(int32_t threads);
nadir_context *test_context_seed(uint64_t seed, int32_t threads);
nadir_context *test_context_memory(size_t bytes);
nadir_context *test_context_progress(nadir_progress_function progress, void *user);

/* Gives the context the device of the engine that NADIR_TEST_ENGINE names, if it names one: the engine is
 * opened once, and stays. test_context does it. */
void test_use_engine(nadir_context *context);
/* All messages of level warning or notice since the last call of test_context or test_messages_clear, one a
 * line. */
const char *test_messages(void);
void test_messages_clear(void);

/* Makes a file in the working directory. */
void test_write_file(const char *name, const char *text);
void test_write_bytes(const char *name, const void *bytes, size_t count);

/* Whether the test runs under memcheck, where everything takes some thirty times as long, or under a
   sanitizer, five times, and is to be brief there (NADIR_BRIEF=1); and how often to do a thing that is done
   `often` times elsewhere: a tenth, a third, at least once. */
bool test_memcheck(void);
bool test_brief(void);
int test_often(int often);
/* How many problems to attack: the usual number times what the variable NADIR_ATTACKS says; under memcheck a
 * twentieth of it, under sanitizers that are to be brief a quarter. */
int test_attack_count(int usual);
/* The seed of attacks: that of the variable NADIR_ATTACK_SEED, `usual` where it is not set. Where problem i is drawn from the
 * seed plus i, seeds that are less than the number of problems apart have problems in common. */
int test_attack_seed(int usual);
/* The number in the variable `name`, `usual` where it is not set; anything but a number of `least` or more
 * fails the test. */
int test_variable(const char *name, int least, int usual);

/* Which case of a table is being tested: the assertions below print it when they fail. It stands until the
 * next note, or until test_note_clear. */
void test_note(const char *format, ...) __attribute__((format(printf, 1, 2)));
void test_note_clear(void);

/* Fails with the sentence, which names what was found, and the note. */
#define assert_that(condition, ...) ((condition) ? (void)0 : test_fail(__FILE__, __LINE__, __VA_ARGS__))
void test_fail(const char *file, int line, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* |a - b| <= tolerance * max(1, |b|), both finite, or equal bits. */
#define assert_close(a, b, tolerance) test_assert_close(a, b, tolerance, #a, __FILE__, __LINE__)
void test_assert_close(double a, double b, double tolerance, const char *what, const char *file, int line);

/* `status` is `expected` and the context's error contains `words`; prints the error otherwise. */
#define assert_fails(context, status, expected, words)                                                       \
    test_assert_fails(context, status, expected, words, __FILE__, __LINE__)
void test_assert_fails(nadir_context *context, nadir_status status, nadir_status expected, const char *words,
                       const char *file, int line);

/* The call succeeded; prints the error otherwise. */
#define assert_ok(context, call) test_assert_ok(context, call, __FILE__, __LINE__)
void test_assert_ok(nadir_context *context, nadir_status status, const char *file, int line);

/* What two models may differ in. */
enum {
    TEST_IGNORE_DISCOUNT = 1 << 0,
    TEST_IGNORE_INITIAL = 1 << 1,
    TEST_IGNORE_SCALES = 1 << 2,
    TEST_IGNORE_NAMES = 1 << 3,
    TEST_IGNORE_ACTION_NUMBERS = 1 << 4,
    TEST_IGNORE_BALL = 1 << 5,
    TEST_IGNORE_TRANSITION_REWARDS = 1 << 6
};

/* Same shape and the same bits everywhere, whichever way the kernel is stored. */
#define assert_models_equal(a, b, ignore) test_assert_models_equal(a, b, ignore, __FILE__, __LINE__)
void test_assert_models_equal(const nadir_model *a, const nadir_model *b, unsigned ignore, const char *file,
                              int line);

/* The generator with this seed. */
nadir_random test_random(uint64_t seed);

/* Settings and data with nothing set. */
nadir_model_data test_model_data(void);
nadir_generate_settings test_generate_settings(void);
nadir_solver_settings test_solver_settings(void);
nadir_optimum_settings test_optimum_settings(void);
nadir_robust_settings test_robust_settings(void);
nadir_robust_optimum_settings test_robust_optimum_settings(void);

/* The arrays of a model. */
nadir_model_data test_view(const nadir_model *model);

/* Set-up that must succeed. To be freed. */
nadir_model *test_create_model(nadir_context *context, const nadir_model_data *data);
nadir_policy *test_uniform_policy(nadir_context *context, const nadir_model *model);

/* P(successor | row), whichever way the kernel is stored. */
double test_probability(const nadir_model *model, int64_t row, int64_t successor);

/* A small model with everything in it: 4 states, ragged and gappy action numbers, transition rewards, names,
 * initial distribution, scales, discount 0.9, and numbers that need all 17 digits. To be freed. */
nadir_model *test_rich_model(nadir_context *context);

#endif
