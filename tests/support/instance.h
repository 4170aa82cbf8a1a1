/* instance.h: a golden instance with its policy and a solver, to evaluate at. Include support.h first. */
#ifndef NADIR_TESTS_INSTANCE_H
#define NADIR_TESTS_INSTANCE_H

#include "nadir.h"

typedef struct test_instance {
    nadir_context *context;
    nadir_model *model;
    nadir_policy *policy;
    nadir_solver *solver;
} test_instance;

/* golden: of test_goldens. */
test_instance test_instance_make(int golden);
void test_instance_clear(test_instance *instance);

#endif
