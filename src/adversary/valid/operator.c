/* operator.c: value and occupancy under one kernel after another; see operator.h. */
#include "adversary/valid/operator.h"

#include <string.h>

/* Relative error asked of iterative solves: proofs make their own, and searches correct themselves. */
#define TOLERANCE 1e-11

void nadir_valid_operator_clear(nadir_context *context, nadir_valid_operator *operator)
{
    nadir_occupancy_free(context, operator->occupancy);
    operator->occupancy = NULL;
}

nadir_status nadir_valid_operator_set(nadir_context *context, nadir_valid_operator *operator,
                                      const nadir_kernel * kernel)
{
    nadir_status status = NADIR_OK;
    const nadir_problem *problem = operator->problem;
    const char *backend = nadir_occupancy_backend(problem->occupancy);
    if (strcmp(backend, "krylov") != 0) {
        nadir_valid_operator_clear(context, operator);
        return nadir_occupancy_perturb(context, problem->occupancy, kernel, problem->policy,
                                       &operator->occupancy);
    }
    if (operator->occupancy == NULL) {
        NADIR_CHECK(nadir_occupancy_create(context, kernel, problem->policy, problem->gamma, backend,
                                           TOLERANCE, &operator->occupancy));
    } else {
        NADIR_CHECK(nadir_occupancy_update(context, operator->occupancy, kernel, problem->policy));
    }
cleanup:
    return status;
}

nadir_status nadir_valid_operator_value(nadir_context *context, nadir_valid_operator *operator, double * v,
                                        double *d)
{
    nadir_status status = NADIR_OK;
    const nadir_problem *problem = operator->problem;
    NADIR_CHECK(nadir_occupancy_solve(context, operator->occupancy, 1, problem->R, v, NULL));
    if (d != NULL) {
        NADIR_CHECK(nadir_occupancy_solve_transposed(context, operator->occupancy, 1, problem->mu, d, NULL));
    }
cleanup:
    return status;
}
