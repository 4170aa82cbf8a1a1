/* evaluate_free.h: robust evaluation on the free domain, where a ball can be too large. */
#ifndef NADIR_ROBUST_EVALUATE_FREE_H
#define NADIR_ROBUST_EVALUATE_FREE_H

#include "robust/evaluation.h"

/* All `count` radii together, as a nadir_evaluator; NADIR_ERROR_ILL_POSED when any of them is at or past
 * breakdown. *limit: the breakdown radius, where it was found; else infinity. */
nadir_status nadir_free_evaluate_all(nadir_context *context, const nadir_problem *problem,
                                     const nadir_robust_settings *settings, int64_t count,
                                     const double *factors, nadir_evaluation *evaluations, double *limit);

/* The radii that are below breakdown; the others are refused. */
nadir_evaluator nadir_admissible_radii_evaluate;

#endif
