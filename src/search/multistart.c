/* multistart.c: Frank-Wolfe from several starts; see multistart.h. */
#include "search/frank_wolfe.h"

#include "linalg/distributed.h"
#include "linalg/vector.h"
#include "proof/perturbable_rows.h"

#include <float.h>
#include <math.h>

/* Multipliers tried where no bound on occupancies is at hand, as shares of the one at which the rows of a
 * state with all of the occupancy would use up the ball. */
static const double prices[] = {0.3, 0.03, 0.003};

/* Whether some kernel of the set reaches a state of occupancy zero. */
static nadir_status misses_states(nadir_context *context, const nadir_problem *problem, const double *d,
                                  bool *misses)
{
    nadir_status status = NADIR_OK;
    const double nothing = DBL_EPSILON * DBL_EPSILON / (1 - problem->gamma);
    bool *reach = NULL;
    bool visited = true;
    NADIR_NEW(context, reach, problem->states);
    NADIR_CHECK(nadir_reachable_states(context, problem, reach));
    for (int64_t s = 0; s < problem->states; s++) {
        visited = visited && (d[s] > nothing || !reach[s]);
    }
    *misses = !nadir_allreduce_and(context, visited);
cleanup:
    nadir_release(context, reach);
    return status;
}

nadir_status nadir_multistart_again(nadir_context *context, const nadir_problem *problem, double beta,
                                    const nadir_frank_wolfe *warm_start, const nadir_lagrangian *lagrangian,
                                    double tolerance, int64_t iterations_limit, nadir_candidate *candidate,
                                    bool *better)
{
    nadir_status status = NADIR_OK;
    nadir_kernel *start = NULL;
    nadir_candidate other = {0};
    NADIR_CHECK(nadir_lagrangian_kernel_in_ball(context, problem, beta, lagrangian, &start));
    NADIR_CHECK(nadir_frank_wolfe_run(context, problem, beta, start, warm_start, tolerance, iterations_limit,
                                      &other));
    const double rounding = 64 * DBL_EPSILON * nadir_vector_largest(problem->states, other.v);
    *better = other.J < candidate->J - tolerance * (problem->J - candidate->J) - rounding;
    other.iterations += candidate->iterations;
    candidate->iterations = other.iterations;
    if (*better) {
        nadir_candidate_clear(context, candidate);
        *candidate = other;
        other = (nadir_candidate){0};
    }
cleanup:
    nadir_candidate_clear(context, &other);
    nadir_kernel_free(start);
    return status;
}

/* The multiplier at which moving a row by beta gains what it costs, in a state with all of the occupancy. */
static double price_scale(const nadir_problem *problem, double beta)
{
    const double p = problem->uncertainty->p;
    double low = INFINITY;
    double high = -INFINITY;
    for (int64_t s = 0; s < problem->states; s++) {
        low = fmin(low, problem->v[s]);
        high = fmax(high, problem->v[s]);
    }
    return problem->gamma * (high - low) / (1 - problem->gamma) / (p * pow(beta, p - 1));
}

nadir_status nadir_multistart_run(nadir_context *context, const nadir_problem *problem, double beta,
                                  const nadir_frank_wolfe *warm_start, double tolerance,
                                  int64_t iterations_limit, nadir_candidate *candidate)
{
    nadir_status status = NADIR_OK;
    double *d_bar = NULL;
    bool misses;
    bool better;
    NADIR_CHECK(nadir_frank_wolfe_run(context, problem, beta, NULL, warm_start, tolerance, iterations_limit,
                                      candidate));
    NADIR_CHECK(misses_states(context, problem, candidate->d, &misses));
    if (!misses) {
        goto cleanup;
    }
    NADIR_CHECK(nadir_model_check_one_process(
        context, problem->model, "models with states that the ball can reach and the worst kernel does not"));
    NADIR_NEW(context, d_bar, problem->states);
    for (int64_t s = 0; s < problem->states; s++) {
        d_bar[s] = 1 / (1 - problem->gamma);
    }
    const double scale = price_scale(problem, beta);
    for (size_t i = 0; i < sizeof prices / sizeof *prices && scale > 0 && isfinite(scale); i++) {
        nadir_lagrangian lagrangian = {0};
        status = nadir_lagrangian_solve(context, problem, beta, d_bar, prices[i] * scale, &lagrangian);
        if (status == NADIR_OK) {
            status = nadir_multistart_again(context, problem, beta, warm_start, &lagrangian, tolerance,
                                            iterations_limit, candidate, &better);
        }
        nadir_lagrangian_clear(context, &lagrangian);
        NADIR_CHECK(status);
    }
cleanup:
    nadir_release(context, d_bar);
    return status;
}
