/*
 * kernel_descent.h: from one kernel of a set to lower and lower ones, by brute force. Include support/support.h first.
 */
#ifndef NADIR_TESTS_KERNEL_DESCENT_H
#define NADIR_TESTS_KERNEL_DESCENT_H

#include "support/oracle.h"

/* Kernels evaluated by all descents since the program began. */
extern int64_t test_kernel_descent_count;

/* Walks from kernel: [rows * states], in the set, along the gradient and then entry by entry, each step
 * pulled back into the set; kernel is the last one, and its return is the answer. NaN: a step led past
 * breakdown. */
double test_kernel_descent(const test_oracle *oracle, nadir_random *random, double *kernel);

#endif
