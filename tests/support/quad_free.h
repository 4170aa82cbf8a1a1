/* quad_free.h: one ball on the free domain in quadruple precision; see quad.h. */
#ifndef NADIR_TESTS_QUAD_FREE_H
#define NADIR_TESTS_QUAD_FREE_H

#include "support/quad.h"

/* false: at or past breakdown, or singular. p = 1 or 2. */
bool test_quad_free_worst(const test_oracle *oracle, test_quad *J);

#endif
