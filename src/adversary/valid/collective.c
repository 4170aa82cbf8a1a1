/*
 * collective.c: the proof that a kernel is the worst one, from norms; see collective.h and standing.h.
 *
 * For kernels P and X, and m = sum over s of d_P(s) sum_a pi (P - X), whose entries sum to zero,
 *
 *     d_P - d_X = gamma D_X^T m,    |m|_2 <= K |P - X|,    K^2 = sum_s f_s d_P(s)^2,   f_s = sum_a (alpha
 * pi)^2
 *
 * so that |d_P - d_X|_2 <= gamma G K |P - X|, G = |Phi D_X|_2 (mixing.h): all occupancies at once, where
 * bounds of each one add up to sqrt(states) times as much. K itself is at most |sqrt(f) d_X| + F |d_P - d_X|
 * with F^2 = max f, so around the nominal kernel, which no kernel of the set is farther from than beta,
 *
 *     K <= |sqrt(f) d| / (1 - gamma F G beta).
 *
 * Around P* the sum of |rho_t - 1| |Delta_t| |delta_t| is at most |w (d_P - d*)| |delta| <= kappa |delta|^2,
 *
 *     kappa = gamma K |Phi D* W|_2 <= gamma K G* max w,       W = diag(w).
 */
#include "adversary/proof/second_order.h"

#include "adversary/proof/ergodicity_bound.h"
#include "adversary/proof/kkt.h"
#include "linalg/vector.h"

#include <float.h>
#include <math.h>

#define UNIT (DBL_EPSILON / 2)

/* Where kappa is more than this with the least that |Phi D| can be, columns of D do not bring it to 1/2
 * either: on random dense kernels of 20 to 300 states they did at 0.40, 0.30, 0.20, and never above. */
#define HOPELESS 0.55

typedef struct collective {
    nadir_context *context;
    const nadir_problem *problem;
    const nadir_perturbable_rows *live;
    double beta;
    nadir_verified_solver known; /* of the nominal kernel */
    double K;                    /* |sqrt(f) d| of the nominal kernel, at least */
    double F;
    double nominal, star;         /* G of both kernels */
    nadir_expansion_point centre; /* P* */
    nadir_sensitivity sensitivity;
    nadir_kkt standing;
    nadir_pull pull;
    double pull_most; /* max w */
} collective;

static void clear(collective *of)
{
    nadir_sensitivity_clear(of->context, &of->sensitivity);
    nadir_kkt_clear(of->context, &of->standing);
    nadir_displacement_clear(of->context, &of->pull);
    nadir_expansion_point_clear(of->context, &of->centre);
}

/* K and F of the nominal kernel, rounded up; d is known to d_error, and what its rows lack of a sum of one
 * is in the limits of the model. */
static void weigh(const nadir_context *context, collective *of)
{
    const nadir_perturbable_rows *live = of->live;
    const nadir_problem *problem = of->problem;
    const nadir_row_limits *limits = &problem->model->limits;
    double square = 0;
    double most = 0;
    for (int64_t s = 0; s < live->states; s++) {
        double f = 0;
        for (int64_t i = live->first[s]; i < live->first[s + 1]; i++) {
            f += nadir_perturbable_rows_alpha(live, i) * nadir_perturbable_rows_alpha(live, i) * live->pi[i] *
                 live->pi[i];
        }
        square += f * problem->d[s] * problem->d[s];
        most = fmax(most, f);
    }
    const double up = 1 + UNIT * (double)(live->states + live->count + 16);
    const double total = nadir_expansion_point_total(context, problem);
    const double sum_off = fmax(fabs(1 - limits->sum_low), fabs(limits->sum_high - 1));
    of->F = sqrt(most) * up;
    of->K =
        (sqrt(square) * up + of->F * (problem->d_error + problem->gamma * total * sum_off / of->known.gap)) *
        (1 + 8 * UNIT);
}

/* kappa, if the norms of both D are as given. */
static double kappa_of(const collective *of, double nominal, double star)
{
    const double gamma = of->problem->gamma * (1 + 4 * UNIT);
    const double left = 1 - gamma * of->F * nominal * of->beta * (1 + 8 * UNIT) - 2 * UNIT;
    return left > 0 ? gamma * of->K / left * star * of->pull_most * (1 + 16 * UNIT) : INFINITY;
}

/* P* with all that is known of it without columns. */
static nadir_status stand(collective *of, const nadir_occupancy_bounds *visits, const nadir_attack *attack)
{
    nadir_status status = NADIR_OK;
    nadir_context *context = of->context;
    const int64_t n = of->live->states;
    nadir_expansion_point *centre = &of->centre;
    bool *unvisited = NULL;
    NADIR_NEW(context, unvisited, n);
    NADIR_CHECK(nadir_expansion_point_unvisited(context, of->problem, attack->kernel, attack->d, unvisited));
    NADIR_CHECK(nadir_expansion_point_make_near(context, of->problem, of->live, attack, unvisited, centre));
    NADIR_CHECK(nadir_expansion_point_occupancy(context, centre));
    nadir_expansion_point_shift(centre);
    NADIR_CHECK(nadir_sensitivity_make(context, of->live, centre->X, &of->sensitivity));
    NADIR_CHECK(nadir_kkt_make(context, centre, &of->sensitivity, visits, of->beta, attack->tau, unvisited,
                               &of->standing));
    NADIR_CHECK(nadir_displacement_make(context, &of->standing, NULL, &of->pull));
    of->pull_most = nadir_vector_largest(n, of->pull.w);
cleanup:
    nadir_release(context, unvisited);
    return status;
}

/* The norms of both D with ever more work, as long as kappa is too large; that of the nominal one is known
 * with the least. */
static nadir_status measure(collective *of)
{
    nadir_status status = NADIR_OK;
    for (int effort = NADIR_ERGODICITY_EASY;
         effort <= NADIR_ERGODICITY_HARD && !(kappa_of(of, of->nominal, of->star) <= 0.5); effort++) {
        double found;
        if (effort > NADIR_ERGODICITY_EASY) {
            NADIR_CHECK(nadir_ergodicity_bound(of->context, of->problem, &of->known,
                                               (nadir_ergodicity_effort)effort, &found));
            of->nominal = fmin(of->nominal, found);
        }
        NADIR_CHECK(nadir_ergodicity_bound(of->context, &of->centre.problem, &of->centre.known,
                                           (nadir_ergodicity_effort)effort, &found));
        of->star = fmin(of->star, found);
    }
cleanup:
    return status;
}

static void conclude(const collective *of, double kappa, nadir_certificate *proof)
{
    const double level = of->standing.J - of->standing.error - DBL_EPSILON * fabs(of->standing.J);
    proof->kappa = isnan(proof->kappa) ? kappa : fmin(proof->kappa, kappa);
    nadir_certificate_offer(proof, level, NADIR_PROOF_RIGOROUS, "second-order");
}

nadir_status nadir_kappa_by_norms_prove(nadir_context *context, const nadir_problem *problem,
                                        const nadir_perturbable_rows *live,
                                        const nadir_occupancy_bounds *visits, double beta,
                                        const nadir_attack *attack, nadir_certificate *proof)
{
    nadir_status status = NADIR_OK;
    collective of = {.context = context,
                     .problem = problem,
                     .live = live,
                     .beta = beta,
                     .known = nadir_verified_solver_make(context, problem),
                     .star = INFINITY};
    NADIR_CHECK(nadir_ergodicity_bound(context, problem, &of.known, NADIR_ERGODICITY_EASY, &of.nominal));
    if (isinf(of.nominal)) {
        goto cleanup;
    }
    weigh(context, &of);
    if (!(problem->gamma * of.F * beta < 1)) { /* |Phi D| is 1 at least */
        proof->hopeless = true;
        goto cleanup;
    }
    NADIR_CHECK(stand(&of, visits, attack));
    const double least = kappa_of(&of, 1, 1);
    proof->hopeless = least > HOPELESS;
    if (!(least <= 0.5)) {
        goto cleanup;
    }
    NADIR_CHECK(measure(&of));
    const double kappa = kappa_of(&of, of.nominal, of.star);
    if (kappa <= 0.5) {
        conclude(&of, kappa, proof);
    }
cleanup:
    clear(&of);
    return status;
}

/* |Delta| = beta and w = |Delta_s| / d*(s): max w is beta / |d*| at least. */
nadir_status nadir_kappa_foresee(nadir_context *context, const nadir_problem *problem, double beta,
                                 const nadir_attack *attack, bool *hopeless)
{
    nadir_status status = NADIR_OK;
    const nadir_verified_solver known = nadir_verified_solver_make(context, problem);
    const nadir_model *model = problem->model;
    double mixing;
    double nominal = 0;
    double star = 0;
    double most = 0;
    *hopeless = false;
    if (problem->uncertainty->p != 2 || attack->d == NULL || !(attack->tau > 0)) {
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
        star += attack->d[s] * attack->d[s];
        most = fmax(most, f);
    }
    const double left = 1 - problem->gamma * sqrt(most) * beta;
    *hopeless = !(left > 0) || problem->gamma * sqrt(nominal / star) * beta > HOPELESS * left;
cleanup:
    return status;
}
