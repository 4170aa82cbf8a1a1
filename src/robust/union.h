/* union.h: unions of balls, inside the library; see nadir.h. */
#ifndef NADIR_ROBUST_UNION_H
#define NADIR_ROBUST_UNION_H

#include "robust/robust.h"

/* Whether the models have the same states, actions, names and discount. */
nadir_status nadir_union_check(nadir_context *context, int64_t count, nadir_model *const *models);
/* The same failure with the member's number before it. */
nadir_status nadir_union_name(nadir_context *context, nadir_status status, int64_t member, int64_t count);
/* nadir_union_robust of checked models. worst: [count], of all members, the caller's to free in any case; or NULL. members: each of
 * full size. */
nadir_status nadir_union_worst(nadir_context *context, int64_t count, nadir_model *const *models,
                               const nadir_ball *balls, const nadir_policy *policy,
                               const nadir_solver_settings *solver, const nadir_robust_settings *settings,
                               nadir_robust *members, nadir_robust *result, int64_t *which,
                               nadir_worst **worst);

#endif
