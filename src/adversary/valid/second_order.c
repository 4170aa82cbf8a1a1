/*
 * second_order.c: the proof that a kernel is the worst one; see second_order.h.
 *
 * Suppose some P of the set has J_P < J* - error. For all such P, |delta| <= r (nadir_displacement_radius), so
 * that their occupancies are near those of P* (visits.h), which makes r smaller, and so on. What is left of
 * them cannot exist if kappa <= 1/2 on it (curvature.h). Otherwise
 *
 *     J_P >= J* - error - 2 tau (kappa - 1/2) r^2,    and always    J_P >= J* - error - tau r^2 / 4,
 *
 * the minimum of tau x^2 - tau r x over x = |delta|. Where that is not enough, the Lagrangian bound for such
 * P alone is one on its own, and holds them near its answer (tether.h): their occupancies are bounded around
 * that, and all of it is done again.
 *
 * Where norms alone prove it (collective.h), no column is asked for.
 *
 * A pass over the occupancies shows |d_P(t) - d(t)| <= slope_t |delta|, and so kappa <= |(slope_t w_t)_t|:
 * most proofs end there, before any matrix is made. They start from what little is known without the nominal
 * kernel's columns, and ask for more only if that does not do.
 */
#include "adversary/search/second_order_search.h"

#include "adversary/proof/kappa_cholesky.h"
#include "adversary/proof/lagrangian_bound.h"
#include "adversary/proof/second_order.h"
#include "adversary/search/lagrangian_tau.h"
#include "linalg/vector.h"

#include <float.h>
#include <math.h>
#include <string.h>

enum { TIGHTENINGS = 12, PASSES = 3, EVALUATIONS = 12, ROUNDS = 4, ROUNDS_STRICT = 8 };
#define SETTLED 1e-5  /* bounds that move by less, as a share of all visits, stay */
#define MANY    0.125 /* of all entries that are zero: worth weights */
#define WORTH   0.01  /* the largest bound must fall by this for another round */
#define HOPE    2.0   /* a kappa by slopes from which the form may still come to 1/2 */

typedef struct trial {
    const nadir_problem *problem;
    const nadir_perturbable_rows *live;
    const nadir_attack *attack;
    double beta;
    double level;                  /* J* - error: kernels below it are looked for */
    nadir_occupancy_bounds visits; /* of the kernels that would do worse */
    nadir_expansion_point star;
    nadir_sensitivity at_star;
    nadir_kkt standing;
    nadir_pull pull;
    nadir_pull plain;      /* without weights */
    bool *unvisited;       /* [states] by P* */
    bool brief;            /* any kappa of 1/2 at most will do */
    bool nominal;          /* the visits have been bounded around the nominal kernel */
    double kappa;          /* the least by slopes */
    double before[2];      /* the same, two passes ago and one */
    double *slope;         /* [states] */
    double *up, *down;     /* [states * states] at P*; down NULL: as up */
    bool weighted;         /* the slack of zeros is made use of */
    double *inverse;       /* [entries] then */
    double *up_weighted;   /* [states * states] */
    double *down_weighted; /* [states * states] */
    double radius;         /* at least |delta| */
    double radius_weighted;
    nadir_lagrangian lagrangian;
} trial;

static void clear(nadir_context *context, trial *of)
{
    nadir_occupancy_bounds_clear(context, &of->visits);
    nadir_sensitivity_clear(context, &of->at_star);
    nadir_kkt_clear(context, &of->standing);
    nadir_displacement_clear(context, &of->pull);
    nadir_displacement_clear(context, &of->plain);
    nadir_expansion_point_clear(context, &of->star);
    nadir_lagrangian_clear(context, &of->lagrangian);
    nadir_release(context, of->unvisited);
    nadir_release(context, of->slope);
    nadir_release(context, of->up);
    nadir_release(context, of->down);
    nadir_release(context, of->inverse);
    nadir_release(context, of->up_weighted);
    nadir_release(context, of->down_weighted);
}

/* Everything about P*, but how it stands. */
static nadir_status start(nadir_context *context, trial *of)
{
    nadir_status status = NADIR_OK;
    const int64_t n = of->live->states;
    NADIR_NEW(context, of->unvisited, n);
    NADIR_NEW(context, of->slope, n);
    NADIR_CHECK(
        nadir_expansion_point_unvisited(context, of->problem, of->attack->kernel, NULL, of->unvisited));
    NADIR_CHECK(nadir_expansion_point_make(context, of->problem, of->live, of->attack->kernel, of->unvisited,
                                           &of->star));
    NADIR_CHECK(nadir_expansion_point_columns(context, &of->star));
    NADIR_CHECK(nadir_sensitivity_make(context, of->live, of->star.X, &of->at_star));
    NADIR_NEW(context, of->up, n * n);
cleanup:
    return status;
}

/* What rows of P* can do. */
static nadir_status fill_tables(nadir_context *context, trial *of)
{
    nadir_status status = NADIR_OK;
    const int64_t n = of->live->states;
    if (!of->at_star.symmetric) {
        NADIR_NEW(context, of->down, n * n);
    }
    NADIR_CHECK(nadir_sensitivity_tables(context, &of->at_star, n, of->star.D, of->up, of->down));
cleanup:
    return status;
}

/* How P* stands, and which kernels are looked for, given visits of all. */
static nadir_status stand(nadir_context *context, const nadir_occupancy_bounds *visits, trial *of)
{
    nadir_status status = NADIR_OK;
    nadir_occupancy_bounds_clear(context, &of->visits);
    nadir_kkt_clear(context, &of->standing);
    NADIR_CHECK(nadir_occupancy_bounds_copy(context, visits, &of->visits));
    NADIR_CHECK(nadir_kkt_make(context, &of->star, &of->at_star, visits, of->beta, of->attack->tau,
                               of->unvisited, &of->standing));
    NADIR_CHECK(nadir_displacement_make(context, &of->standing, NULL, &of->plain));
    of->level = of->standing.J - of->standing.error - DBL_EPSILON * fabs(of->standing.J);
    of->radius = 2 * of->beta * (1 + 1e-12);
    of->kappa = INFINITY;
    of->before[0] = INFINITY;
    of->before[1] = INFINITY;
cleanup:
    return status;
}

/* From now on with weights. */
static nadir_status use_weights(nadir_context *context, trial *of)
{
    nadir_status status = NADIR_OK;
    const int64_t n = of->live->states;
    NADIR_NEW(context, of->inverse, of->live->entries);
    NADIR_NEW(context, of->up_weighted, n * n);
    if (of->down != NULL) {
        NADIR_NEW(context, of->down_weighted, n * n);
    }
    of->weighted = true;
cleanup:
    return status;
}

static bool has_many_zeros(const trial *of)
{
    int64_t count = 0;
    for (int64_t e = 0; e < of->live->entries; e++) {
        count += of->standing.slack[e] > 0;
    }
    return (double)count >= MANY * (double)of->live->entries && count > 0;
}

/* Weights, pull and radius from the visits. */
static nadir_status measure(nadir_context *context, trial *of)
{
    nadir_status status = NADIR_OK;
    if (of->weighted) {
        nadir_kkt_weigh(&of->standing, &of->visits, of->radius, of->inverse);
    }
    NADIR_CHECK(nadir_displacement_make(context, &of->standing, of->inverse, &of->pull));
    of->radius_weighted = nadir_displacement_radius(context, &of->standing, &of->pull, &of->visits);
    of->radius =
        fmin(of->radius, of->radius_weighted * (1 + 1e-12)); /* weights are 1 up to rounding, or more */
cleanup:
    return status;
}

/* kappa by the slopes of one pass, in the norm of a pull. */
static void use_slopes(trial *of, const nadir_pull *pull)
{
    double square = 0;
    for (int64_t t = 0; t < of->live->states; t++) {
        const double part = of->slope[t] * pull->w[t];
        square += part * part;
    }
    of->kappa = fmin(of->kappa, sqrt(square) * (1 + 1e-12));
}

/* Whether slopes show all that is needed. */
static bool is_proven(const trial *of)
{
    return of->brief && of->kappa <= 0.5;
}

/* Whether passes around P* alone do not come to it: while they cannot make the radius smaller, kappa falls
 * about as a geometric series does. */
static bool is_stuck(const trial *of)
{
    const double first = of->before[1] - of->before[0];
    const double second = of->kappa - of->before[1];
    if (of->nominal || !of->brief || !isfinite(of->before[0]) || of->radius < 1.99 * of->beta) {
        return false;
    }
    return !(second < 0) || of->kappa - second * second / (second - first) > 0.5;
}

/* A few passes around P*. */
static nadir_status pass(nadir_context *context, trial *of, double *most)
{
    nadir_status status = NADIR_OK;
    const int64_t n = of->live->states;
    double moved = 0;
    *most = 0;
    if (of->weighted) {
        NADIR_CHECK(
            nadir_sensitivity_weighted(context, of->live, of->inverse, n, of->star.D, of->up_weighted));
        for (int64_t i = 0; i < n * n && of->down != NULL; i++) {
            of->down_weighted[i] = fmin(of->down[i], of->up_weighted[i]);
        }
        for (int64_t i = 0; i < n * n; i++) {
            of->up_weighted[i] = fmin(of->up[i], of->up_weighted[i]);
        }
    }
    for (int i = 0; i < PASSES && !is_proven(of) && !is_stuck(of); i++) {
        of->before[0] = of->before[1];
        of->before[1] = of->kappa;
        NADIR_CHECK(nadir_occupancy_bounds_narrow(context, &of->visits, &of->star, of->up, of->down, NULL,
                                                  of->radius, of->slope, &moved));
        *most = fmax(*most, moved);
        use_slopes(of, &of->plain);
        if (of->weighted && of->radius_weighted < 8 * of->beta) {
            NADIR_CHECK(nadir_occupancy_bounds_narrow(context, &of->visits, &of->star, of->up_weighted,
                                                      of->down_weighted, NULL, of->radius_weighted, of->slope,
                                                      &moved));
            *most = fmax(*most, moved);
            use_slopes(of, &of->pull);
        }
        if (moved < SETTLED) {
            break;
        }
    }
cleanup:
    return status;
}

/* Radius and visits in turn, until they stay. */
static nadir_status tighten(nadir_context *context, trial *of)
{
    nadir_status status = NADIR_OK;
    for (int i = 0; i < TIGHTENINGS && !of->visits.empty && !is_proven(of); i++) {
        const double before = of->radius;
        double moved;
        NADIR_CHECK(nadir_progress(context, "occupancies of worse kernels", -1));
        NADIR_CHECK(measure(context, of));
        NADIR_CHECK(pass(context, of, &moved));
        if ((of->radius > 0.99 * before && moved < SETTLED) || is_stuck(of)) {
            break;
        }
    }
    NADIR_CHECK(measure(context, of));
cleanup:
    return status;
}

/* What kappa with a bound on |delta| says, and what the radius alone does. */
static void conclude(const trial *of, double kappa, double size, double radius, nadir_certificate *proof)
{
    const double tau = of->standing.tau;
    const double by_kappa = kappa <= 0.5 ? 0 : 2 * tau * (kappa - 0.5) * size * size;
    const double loss = fmin(by_kappa, tau * radius * radius / 4) * (1 + 1e-12);
    proof->kappa = isnan(proof->kappa) ? kappa : fmin(proof->kappa, kappa);
    nadir_certificate_offer(proof, of->level - loss, NADIR_PROOF_RIGOROUS, "second-order");
}

static nadir_status test(nadir_context *context, trial *of, nadir_certificate *proof)
{
    nadir_status status = NADIR_OK;
    double kappa;
    if (of->visits.empty || is_proven(of)) {
        proof->kappa = of->visits.empty ? proof->kappa : of->kappa;
        nadir_certificate_offer(proof, of->level, NADIR_PROOF_RIGOROUS, "second-order");
        return NADIR_OK;
    }
    NADIR_CHECK(nadir_kappa_cholesky_find(context, &of->standing, &of->visits, &of->pull, of->inverse, false,
                                          !of->brief, &kappa));
    conclude(of, kappa, of->radius_weighted, of->radius_weighted, proof);
    if (kappa > 0.5 && of->live->columns == NULL) {
        NADIR_CHECK(nadir_kappa_cholesky_find(context, &of->standing, &of->visits, &of->plain, NULL, true,
                                              !of->brief, &kappa));
        conclude(of, kappa, of->radius,
                 nadir_displacement_radius(context, &of->standing, &of->plain, &of->visits), proof);
    }
cleanup:
    return status;
}

static nadir_status keep(nadir_context *context, const nadir_lagrangian *found, int64_t states,
                         nadir_certificate *proof)
{
    nadir_status status = NADIR_OK;
    if (proof->v_tau == NULL) {
        NADIR_NEW(context, proof->v_tau, states);
    }
    memcpy(proof->v_tau, found->v, (size_t)states * sizeof *proof->v_tau);
    proof->tau = found->tau;
cleanup:
    return status;
}

/* The Lagrangian bound of the kernels in question; *useful: it has an answer of tau > 0 to hold them by. */
static nadir_status bound_by_lagrangian(nadir_context *context, trial *of, nadir_certificate *proof,
                                        bool *useful)
{
    nadir_status status = NADIR_OK;
    const double *high = of->visits.high;
    nadir_lagrangian *found = &of->lagrangian;
    double lower;
    *useful = false;
    NADIR_CHECK(nadir_lagrangian_tau_best(context, of->problem, of->beta, high, of->standing.tau, EVALUATIONS,
                                          found));
    NADIR_CHECK(nadir_lagrangian_bound(context, of->problem, of->beta, high, found->tau, found->v, &lower));
    if (lower >= of->level) { /* none of them exists */
        of->visits.empty = true;
        goto cleanup;
    }
    if (lower > proof->lower) {
        NADIR_CHECK(keep(context, found, of->problem->states, proof));
        nadir_certificate_offer(proof, lower, NADIR_PROOF_RIGOROUS, "lagrangian");
    }
    const double tau = fmax(found->tau, of->standing.tau);
    NADIR_CHECK(nadir_lagrangian_tau_for_level(context, of->problem, of->beta, high, of->level, tau,
                                               EVALUATIONS, found));
    *useful = found->tau > 0;
cleanup:
    return status;
}

/* Passes around the answer to the Lagrangian bound. */
static nadir_status pass_around_answer(nadir_context *context, trial *of)
{
    nadir_status status = NADIR_OK;
    const int64_t n = of->live->states;
    nadir_expansion_point centre = {0};
    nadir_sensitivity sensitivity = {0};
    double *up = NULL;
    double *down = NULL;
    double *high = NULL;
    double radius;
    double moved;
    NADIR_NEW(context, high, n);
    NADIR_CHECK(
        nadir_expansion_point_make(context, of->problem, of->live, of->lagrangian.kernel, NULL, &centre));
    NADIR_CHECK(nadir_sublevel_radius(context, &centre, &of->visits, of->beta, of->lagrangian.tau,
                                      of->lagrangian.v, of->level, &radius));
    of->visits.empty = radius < 0;
    NADIR_CHECK(nadir_expansion_point_columns(context, &centre));
    NADIR_CHECK(nadir_sensitivity_make(context, of->live, centre.X, &sensitivity));
    NADIR_NEW(context, up, n * n);
    if (!sensitivity.symmetric) {
        NADIR_NEW(context, down, n * n);
    }
    NADIR_CHECK(nadir_sensitivity_tables(context, &sensitivity, n, centre.D, up, down));
    memcpy(high, of->visits.high, (size_t)n * sizeof *high); /* the radius is about these */
    for (int i = 0; i < PASSES && !of->visits.empty; i++) {
        NADIR_CHECK(nadir_occupancy_bounds_narrow(context, &of->visits, &centre, up, down, high, radius, NULL,
                                                  &moved));
    }
cleanup:
    nadir_sensitivity_clear(context, &sensitivity);
    nadir_expansion_point_clear(context, &centre);
    nadir_release(context, up);
    nadir_release(context, down);
    nadir_release(context, high);
    return status;
}

static double largest_high(const nadir_occupancy_bounds *visits)
{
    return nadir_vector_largest(visits->states, visits->high);
}

/* One round: bound, passes, radius, test. *again: it is worth another. */
static nadir_status run_round(nadir_context *context, trial *of, nadir_certificate *proof, bool *again)
{
    nadir_status status = NADIR_OK;
    const double before = largest_high(&of->visits);
    bool useful;
    NADIR_CHECK(bound_by_lagrangian(context, of, proof, &useful));
    if (useful) {
        NADIR_CHECK(pass_around_answer(context, of));
    }
    NADIR_CHECK(tighten(context, of));
    NADIR_CHECK(test(context, of, proof));
    *again = !of->visits.empty && largest_high(&of->visits) < (1 - WORTH) * before;
cleanup:
    return status;
}

/* Tests only what may well be proven. */
static nadir_status tighten_and_test(nadir_context *context, trial *of, nadir_certificate *proof)
{
    nadir_status status = NADIR_OK;
    NADIR_CHECK(tighten(context, of));
    if (of->visits.empty || of->kappa < HOPE) {
        NADIR_CHECK(test(context, of, proof));
    }
cleanup:
    return status;
}

/* With as little as may do: first, where the tables are expensive, without them. */
static nadir_status prove_briefly(nadir_context *context, trial *of, const nadir_occupancy_bounds *visits,
                                  double wanted, nadir_certificate *proof)
{
    nadir_status status = NADIR_OK;
    NADIR_CHECK(stand(context, visits, of));
    if (of->live->columns == NULL && !of->at_star.symmetric) {
        nadir_sensitivity_coarse(of->live, of->live->states, of->star.D, of->up);
        NADIR_CHECK(tighten_and_test(context, of, proof));
        if (proof->lower >= wanted) {
            goto cleanup;
        }
        NADIR_CHECK(stand(context, visits, of));
    }
    NADIR_CHECK(fill_tables(context, of));
    if (has_many_zeros(of)) {
        NADIR_CHECK(use_weights(context, of));
    }
    NADIR_CHECK(tighten_and_test(context, of, proof));
cleanup:
    return status;
}

static nadir_status prove(nadir_context *context, trial *of, int rounds, double wanted,
                          nadir_certificate *proof)
{
    nadir_status status = NADIR_OK;
    bool again = true;
    if (!of->weighted && has_many_zeros(of)) {
        NADIR_CHECK(use_weights(context, of));
    }
    NADIR_CHECK(tighten(context, of));
    NADIR_CHECK(test(context, of, proof));
    if (!of->weighted && of->standing.bounded && proof->lower < wanted) {
        NADIR_CHECK(use_weights(context, of));
        NADIR_CHECK(tighten(context, of));
        NADIR_CHECK(test(context, of, proof));
    }
    for (int i = 0; i < rounds && again && proof->lower < wanted; i++) {
        NADIR_CHECK(run_round(context, of, proof, &again));
    }
cleanup:
    return status;
}

nadir_status nadir_second_order_search(nadir_context *context, const nadir_problem *problem,
                                       const nadir_perturbable_rows *live, nadir_occupancy_bounds *visits,
                                       double beta, const nadir_attack *attack, nadir_certify effort,
                                       double wanted, nadir_certificate *proof)
{
    nadir_status status = NADIR_OK;
    const size_t bytes = (size_t)problem->states * sizeof *proof->d_bar;
    const bool strict = effort == NADIR_CERTIFY_STRICT;
    trial of = {.problem = problem, .live = live, .attack = attack, .beta = beta, .brief = !strict};
    memcpy(proof->d_bar, visits->high, bytes);
    if (!strict) {
        NADIR_CHECK(nadir_kappa_by_norms_prove(context, problem, live, visits, beta, attack, proof));
        if (proof->lower >= wanted) {
            goto cleanup;
        }
    }
    NADIR_CHECK(start(context, &of));
    NADIR_CHECK(strict ? fill_tables(context, &of) : prove_briefly(context, &of, visits, wanted, proof));
    if (proof->lower < wanted) {
        NADIR_CHECK(nadir_occupancy_bounds_bound(context, problem, live, beta, visits));
        memcpy(proof->d_bar, visits->high, bytes);
        of.nominal = true;
        NADIR_CHECK(stand(context, visits, &of));
        NADIR_CHECK(prove(context, &of, strict ? ROUNDS_STRICT : ROUNDS, wanted, proof));
    }
cleanup:
    clear(context, &of);
    return status;
}
