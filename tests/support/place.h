/* place.h: a golden instance with its policy and a solver, to evaluate at. Include support.h first. */
#ifndef NADIR_TESTS_PLACE_H
#define NADIR_TESTS_PLACE_H

#include "nadir.h"

typedef struct test_place {
    nadir_context *context;
    nadir_model *model;
    nadir_policy *policy;
    nadir_solver *solver;
} test_place;

/* golden: of test_goldens. */
test_place test_place_make(int golden);
void test_place_clear(test_place *place);

#endif
