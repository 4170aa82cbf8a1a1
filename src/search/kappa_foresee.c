/* kappa_foresee.c: whether norms leave hope for kappa <= 1/2; see second_order_search.h. */
#include "proof/ergodicity_bound.h"
#include "proof/second_order.h"
#include "search/second_order_search.h"

#include <math.h>

/* |Delta| = beta and w = |Delta_s| / d*(s): max w is beta / |d*| at least. */
nadir_status nadir_kappa_foresee(nadir_context *context, const nadir_problem *problem, double beta,
                                 const nadir_candidate *candidate, bool *hopeless)
{
    nadir_status status = NADIR_OK;
    const nadir_verified_solver known = nadir_verified_solver_make(context, problem);
    const nadir_model *model = problem->model;
    double mixing;
    double nominal = 0;
    double star = 0;
    double most = 0;
    *hopeless = false;
    if (problem->uncertainty->p != 2 || candidate->d == NULL || !(candidate->tau > 0)) {
        return NADIR_OK;
    }
    NADIR_CHECK(nadir_ergodicity_bound(context, problem, &known, NADIR_ERGODICITY_EASY, &mixing));
    if (isinf(mixing)) {
        goto cleanup;
    }
    for (int64_t s = 0; s < problem->states; s++) {
        double f = 0;
        for (int64_t row = model->state_rows[s]; row < model->state_rows[s + 1]; row++) {
            const double x =
                nadir_uncertainty_scale(problem->uncertainty, row) * problem->policy->probabilities[row];
            f += x * x;
        }
        nominal += f * problem->d[s] * problem->d[s];
        star += candidate->d[s] * candidate->d[s];
        most = fmax(most, f);
    }
    const double left = 1 - problem->gamma * sqrt(most) * beta;
    *hopeless = !(left > 0) || problem->gamma * sqrt(nominal / star) * beta > NADIR_KAPPA_HOPELESS * left;
cleanup:
    return status;
}
