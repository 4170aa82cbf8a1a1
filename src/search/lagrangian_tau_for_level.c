/*
 * lagrangian_tau_for_level.c: the tau with the smallest sublevel radius; see lagrangian_tau.h.
 *
 * A kernel with J_P < level is within W(tau) / tau of the answer (lagrangian_bound.h), W = level + tau beta^p
 * - mu . v_tau. W is convex with slope beta^p - used, so that W / tau is least where tau (beta^p - used) = W,
 * that is where the return of the kernel alone, mu . v_tau - tau used, equals the level. It rises with tau,
 * from below the level at the best tau of the bound. The minimum is flat: low accuracy suffices.
 */
#include "search/lagrangian_search.h"

#include "linalg/norm.h"

#include <math.h>

/* Accuracy of the return, as a share of W. */
#define SHARE 0.02
/* Without a bracket tau changes by this factor; in one it keeps this share of the width from either end. */
#define FAR  4.0
#define NEAR 0.05

/* Return of the kernel less the level, and W. */
typedef struct aim {
    double above, width;
} aim;

static aim look(const nadir_lagrangian *tried, double room, double level)
{
    return (aim){tried->value + tried->tau * (room - tried->used) - level, level - tried->value};
}

nadir_status nadir_lagrangian_tau_for_level(nadir_context *context, const nadir_problem *problem, double beta,
                                            const double *d_bar, double level, double tau_start,
                                            int64_t evaluations_limit, nadir_lagrangian *lagrangian)
{
    nadir_status status = NADIR_OK;
    nadir_lagrangian_search search = {0};
    const double room = nadir_power(beta, problem->uncertainty->p);
    double low = 0;
    double high = INFINITY;
    double low_above = 0;
    double high_above = 0;
    double tau = tau_start;
    NADIR_CHECK(nadir_lagrangian_search_make(context, problem, beta, d_bar, &search));
    while (search.evaluations < evaluations_limit && !nadir_lagrangian_search_is_spent(&search)) {
        NADIR_CHECK(nadir_lagrangian_search_run(context, &search, tau, lagrangian));
        const aim tried = look(lagrangian, room, level);
        if (fabs(tried.above) <= SHARE * tried.width || !(tau > 0)) {
            break;
        }
        if (tried.above < 0) {
            low = tau;
            low_above = tried.above;
        } else {
            high = tau;
            high_above = tried.above;
        }
        if (low > 0 && isfinite(high)) {
            const double share = fmin(fmax(low_above / (low_above - high_above), NEAR), 1 - NEAR);
            tau = low * pow(high / low, share);
        } else {
            tau = low > 0 ? low * FAR : high / FAR;
        }
    }
cleanup:
    nadir_lagrangian_search_clear(context, &search);
    if (status != NADIR_OK) {
        nadir_lagrangian_clear(context, lagrangian);
    }
    return status;
}
