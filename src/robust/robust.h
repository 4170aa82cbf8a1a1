/* robust.h: robust evaluation, with the families of sets that this folder knows or with one of the caller's.
 */
#ifndef NADIR_ROBUST_ROBUST_H
#define NADIR_ROBUST_ROBUST_H

#include "robust/evaluation.h"

/* Who answers questions about this set. */
nadir_evaluator *nadir_robust_evaluator(const nadir_uncertainty *set);

/* nadir_solver_robust and nadir_solver_robust_many; family NULL: that of the set, and the methods that it
 * has. */
nadir_status nadir_robust_run(nadir_context *context, nadir_solver *solver, const nadir_ball *ball,
                              const nadir_robust_settings *settings, nadir_evaluator *evaluator,
                              nadir_robust *result, nadir_worst **worst);
nadir_status nadir_robust_run_many(nadir_context *context, nadir_solver *solver, const nadir_ball *ball,
                                   const nadir_robust_settings *settings, nadir_evaluator *evaluator,
                                   int64_t count, const double *factors, nadir_robust *results);

/* NADIR_ERROR_UNSUPPORTED where the model is spread over processes and nothing is known of such sets yet. */
nadir_status nadir_robust_check_distributed(nadir_context *context, const nadir_model *model,
                                            const nadir_uncertainty *set);

#endif
