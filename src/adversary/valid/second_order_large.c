/*
 * second_order_large.c: the proof of second_order.h where columns of D cannot be had.
 *
 * Occupancies are bounded by the mass that can be moved (nadir_visits_limit), and kappa is the norm of
 *
 *     (K delta)_t = w_t gamma sum_i high alpha_i pi_i delta_i . De_t,     delta_i centred in row i,
 *
 * whose square is the largest eigenvalue of W D^T B D W, B z = sum_i (gamma high alpha pi)^2 (z centred in
 * row i): two solves a product. Lanczos finds it from below, to a tolerance: a proof by it is `numerical`.
 * What the radius alone proves (nadir_standing_radius) is rigorous.
 */
#include "adversary/valid/second_order.h"

#include "adversary/valid/standing.h"
#include "linalg/lanczos.h"

#include <float.h>
#include <math.h>
#include <string.h>

enum { LIMITS = 20, PRODUCTS = 40, PRODUCTS_FIRST = 4 };
#define TOLERANCE 1e-3 /* of the residual of Lanczos, relative to kappa^2 */
#define SAFETY    1.01 /* kappa above what converged Lanczos says */
#define CHANCE    1e-9

typedef struct large {
    const nadir_problem *problem;
    const nadir_live *live;
    double beta;
    nadir_visits visits;
    nadir_centre star;
    nadir_sensitivity at_star;
    nadir_standing standing;
    nadir_pull pull;
    double radius;
    double *work; /* [2 * states] */
} large;

static void clear(nadir_context *context, large *of)
{
    nadir_visits_clear(context, &of->visits);
    nadir_sensitivity_clear(context, &of->at_star);
    nadir_standing_clear(context, &of->standing);
    nadir_pull_clear(context, &of->pull);
    nadir_centre_clear(context, &of->star);
    nadir_release(context, of->work);
}

static nadir_status start(nadir_context *context, const nadir_visits *visits, const nadir_attack *attack,
                          large *of)
{
    nadir_status status = NADIR_OK;
    const int64_t n = of->live->states;
    bool *unvisited = NULL;
    NADIR_NEW(context, unvisited, n);
    NADIR_NEW(context, of->work, 2 * n);
    NADIR_CHECK(nadir_visits_copy(context, visits, &of->visits));
    NADIR_CHECK(nadir_centre_unvisited(context, of->problem, attack->kernel, unvisited));
    NADIR_CHECK(nadir_centre_make(context, of->problem, of->live, attack->kernel, unvisited, &of->star));
    NADIR_CHECK(nadir_centre_visits(context, &of->star));
    NADIR_CHECK(nadir_sensitivity_make(context, of->live, of->star.X, &of->at_star));
    NADIR_CHECK(nadir_standing_make(context, &of->star, &of->at_star, visits, of->beta, attack->tau,
                                    unvisited, &of->standing));
    NADIR_CHECK(nadir_standing_pull(context, &of->standing, NULL, &of->pull));
    of->radius = 2 * of->beta * (1 + 1e-12);
cleanup:
    nadir_release(context, unvisited);
    return status;
}

/* Radius and visits in turn. */
static void tighten(large *of)
{
    for (int i = 0; i < LIMITS && !of->visits.empty; i++) {
        const double before = of->radius;
        nadir_visits_limit_around(&of->star, of->radius, &of->visits);
        of->radius = fmin(of->radius, nadir_standing_radius(&of->standing, &of->pull, &of->visits));
        if (of->radius > 0.99 * before) {
            break;
        }
    }
}

/* y = B z, z: [states]. */
static void apply_rows(const large *of, const double *z, double *y)
{
    const nadir_live *live = of->live;
    memset(y, 0, (size_t)live->states * sizeof *y);
    for (int64_t s = 0; s < live->states; s++) {
        for (int64_t i = live->first[s]; i < live->first[s + 1]; i++) {
            const double q = of->problem->gamma * of->visits.high[s] * live->alpha[i] * live->pi[i];
            const int64_t length = nadir_live_length(live, i);
            double mean = 0;
            for (int64_t j = 0; j < length; j++) {
                mean += z[nadir_live_column(live, i, j)];
            }
            mean /= (double)length;
            for (int64_t j = 0; j < length; j++) {
                const int64_t t = nadir_live_column(live, i, j);
                y[t] += q * q * (z[t] - mean);
            }
        }
    }
}

/* y = W D^T B D W x. */
static nadir_status apply(nadir_context *context, void *user, const double *x, double *y)
{
    nadir_status status = NADIR_OK;
    const large *of = user;
    const int64_t n = of->live->states;
    double *z = of->work;
    double *r = of->work + n;
    for (int64_t t = 0; t < n; t++) {
        r[t] = of->pull.w[t] * x[t];
    }
    NADIR_CHECK(nadir_occupancy_solve(context, of->star.problem.occupancy, 1, r, z, NULL));
    apply_rows(of, z, r);
    NADIR_CHECK(nadir_occupancy_solve_transposed(context, of->star.problem.occupancy, 1, r, y, NULL));
    for (int64_t t = 0; t < n; t++) {
        y[t] *= of->pull.w[t];
    }
cleanup:
    return status;
}

/* By how much kappa may be above the root of what Lanczos found. */
static double safety(const nadir_triple *triple, int64_t states)
{
    const double steps = floor((double)triple->products / 2);
    const double root = (log(1.65 * sqrt((double)states)) - log(CHANCE)) / (2 * steps - 1);
    return triple->converged ? SAFETY : root < 1 ? SAFETY * pow(1 - root * root, -0.25) : INFINITY;
}

/* At least kappa, as far as Lanczos can tell. A few products show whether there is any hope. */
static nadir_status estimate_kappa(nadir_context *context, large *of, double *kappa)
{
    nadir_status status = NADIR_OK;
    const int64_t n = of->live->states;
    const nadir_operator product = {n, n, apply, apply, of};
    nadir_random random = context->random;
    nadir_triple triple;
    double *vectors = NULL;
    NADIR_NEW(context, vectors, 2 * n);
    NADIR_CHECK(nadir_lanczos_top(context, &product, NULL, &random, TOLERANCE, PRODUCTS_FIRST, vectors,
                                  vectors + n, &triple));
    if (!triple.converged && sqrt(triple.sigma) <= 0.5) {
        NADIR_CHECK(nadir_lanczos_top(context, &product, NULL, &random, TOLERANCE, PRODUCTS, vectors,
                                      vectors + n, &triple));
    }
    *kappa = sqrt(triple.sigma) * safety(&triple, n);
cleanup:
    nadir_release(context, vectors);
    return status;
}

nadir_status nadir_second_order_prove_large(nadir_context *context, const nadir_problem *problem,
                                            const nadir_live *live, const nadir_visits *visits, double beta,
                                            const nadir_attack *attack, nadir_valid_proof *proof)
{
    nadir_status status = NADIR_OK;
    large of = {.problem = problem, .live = live, .beta = beta};
    double kappa;
    NADIR_CHECK(start(context, visits, attack, &of));
    tighten(&of);
    const double level = of.standing.J - of.standing.error - DBL_EPSILON * fabs(of.standing.J);
    const double far = nadir_standing_radius(&of.standing, &of.pull, &of.visits);
    const double loss = of.visits.empty ? 0 : of.standing.tau * far * far / 4 * (1 + 1e-12);
    nadir_valid_proof_offer(proof, level - loss, NADIR_PROOF_RIGOROUS, "second-order");
    if (of.visits.empty || !(level - loss < level)) {
        goto cleanup;
    }
    NADIR_CHECK(estimate_kappa(context, &of, &kappa));
    if (isfinite(kappa)) {
        const double lost = kappa <= 0.5 ? 0 : 2 * of.standing.tau * (kappa - 0.5) * of.radius * of.radius;
        proof->kappa = kappa;
        nadir_valid_proof_offer(proof, level - lost, NADIR_PROOF_NUMERICAL, "second-order");
    }
cleanup:
    clear(context, &of);
    return status;
}
