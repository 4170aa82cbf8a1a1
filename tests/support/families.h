/*
 * families.h: small models of every shape that the engine must cope with, kernels near them and policies on
 * them. Include support/support.h first. Everything made is the caller's to free.
 */
#ifndef NADIR_TESTS_FAMILIES_H
#define NADIR_TESTS_FAMILIES_H

#include "core/random.h"
#include "model/kernel.h"
#include "nadir.h"

typedef struct test_family {
    const char *name;
    nadir_model *(*make)(nadir_context *context, nadir_random *random);
} test_family;

#define TEST_FAMILIES 10
extern const test_family test_families[TEST_FAMILIES];

typedef enum test_change {
    TEST_NOMINAL,
    TEST_RANK_ONE,        /* rows may have small negative entries; (1 - gamma) decides how small */
    TEST_RANK_ONE_STRONG, /* rows with entries of both signs, as far from a distribution as can be */
    TEST_FEW_ROWS,        /* some rows mixed with others of another support */
    TEST_ALL_ROWS,        /* all rows replaced */
    TEST_TILTED,          /* other numbers on the nominal successors */
    TEST_SPREAD           /* and lines over others */
} test_change;

#define TEST_CHANGES 7
extern const char *const test_change_names[TEST_CHANGES];

/* The changed kernel, and the same as numbers: dense [rows * states], to be freed; NULL: not wanted. */
nadir_kernel *test_kernel(nadir_context *context, nadir_model *model, test_change change, double gamma,
                          nadir_random *random, double **dense);

typedef enum test_choice { TEST_UNIFORM, TEST_DETERMINISTIC, TEST_RANDOM } test_choice;

#define TEST_CHOICES 3
extern const char *const test_choice_names[TEST_CHOICES];

/* TEST_RANDOM gives some actions the probability zero. */
nadir_policy *test_policy(nadir_context *context, const nadir_model *model, test_choice choice,
                          nadir_random *random);

/* Other probabilities for the same actions. */
nadir_policy *test_policy_same_support(nadir_context *context, const nadir_model *model,
                                       const nadir_policy *policy, nadir_random *random);

#endif
