/* worst.h: the worst kernel as the user holds it: the kernel, and the witness of its bounds. */
#ifndef NADIR_ADVERSARY_WORST_H
#define NADIR_ADVERSARY_WORST_H

#include "adversary/verdict.h"

/* Takes the kernel and the vectors out of the verdict. result: what was reported; NULL: the kernel is that of
 * a difference, which has no witness. */
nadir_status nadir_worst_make(nadir_context *context, const nadir_problem *problem,
                              const nadir_robust *result, nadir_verdict *verdict, nadir_worst **worst);

/* As long as it lives. */
const nadir_kernel *nadir_worst_kernel(const nadir_worst *worst);

#endif
