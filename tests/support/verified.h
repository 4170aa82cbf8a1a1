/*
 * verified.h: evaluations whose files, worst.npz and worst.json, are verified. Include support.h first.
 */
#ifndef NADIR_TESTS_VERIFIED_H
#define NADIR_TESTS_VERIFIED_H

#include "io/result_files.h"
#include "support/instance.h"

/* Evaluates, and writes the files. */
nadir_robust test_verified_evaluate(const test_instance *instance, const nadir_ball *ball,
                                    const nadir_robust_settings *settings);

/* witness may be NULL. */
nadir_status test_verified_verify(const test_instance *instance, const char *kernel, const char *witness,
                                  nadir_verify_result *result, nadir_verification **made);

/* The verification fails, and the check of this name is among those that do. */
void assert_check_fails(const test_instance *instance, const char *kernel, const char *witness,
                        const char *name);

#endif
