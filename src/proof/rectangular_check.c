/*
 * rectangular_check.c: a lower bound on the return of every kernel of a rectangular set; see
 * rectangular_check.h: what rows can take from v, by weak duality, in the Bellman bound.
 */
#include "proof/bellman_bound.h"

#include "proof/bellman_bound.h"
#include "sets/lmo_by_state.h"

nadir_status nadir_rectangular_check(nadir_context *context, const nadir_problem *problem, double factor,
                                     const double *v, double *lower)
{
    nadir_status status = NADIR_OK;
    nadir_lmo_rectangular lmo = {0};
    double *taken = NULL;
    NADIR_NEW(context, taken, problem->states);
    NADIR_CHECK(nadir_lmo_rectangular_make(context, problem, factor, &lmo));
    NADIR_CHECK(nadir_lmo_rectangular_solve(context, &lmo, v));
    NADIR_CHECK(nadir_lmo_rectangular_bound(context, &lmo, taken));
    for (int64_t s = 0; s < problem->states; s++) {
        taken[s] *= problem->gamma;
    }
    NADIR_CHECK(nadir_bellman_bound(context, problem, v, taken, lower));
cleanup:
    nadir_lmo_rectangular_clear(context, &lmo);
    nadir_release(context, taken);
    return status;
}
