/*
 * free_search.c: the worst kernel of rectangular balls on the free domain; what the searches there share: the
 * kernel and the penalty of a pair (c, k), and Newton's method for x = size(s a - x t b). See free_search.h.
 */
#include "search/free_search.h"

#include "core/round.h"
#include "linalg/distributed.h"
#include "linalg/gstd.h"
#include "linalg/matrix.h"
#include "linalg/root.h"
#include "linalg/vector.h"
#include "proof/rank_one_check.h"

#include <math.h>
#include <string.h>

/* ------------------------------------------------------------- kernel and penalty of a pair (c, k)
 *
 * From a pair (c, k) to the kernel Phat - b k^T and its penalty.
 *
 * Sherman-Morrison with b^pi = W c and g = D W c:
 *
 *     J_P = J - lambda,    lambda = gamma (d . W c) (k . v) / (1 + gamma k . g)
 *
 * Of v only differences count, as k sums to zero: its mean is taken off first, so that large values that
 * differ little keep their digits.
 */

/* x <- x times *factor <= 1 so that |x|_p <= limit, rounding included. */
static nadir_status shrink(nadir_context *context, int64_t count, double p, double limit, double *x,
                           double *factor)
{
    nadir_status status = NADIR_OK;
    double norm;
    if (p == 2) {
        norm = nadir_global_norm_2(context, count, x);
    } else {
        status = nadir_norm_p(context, count, x, p, &norm);
    }
    *factor = 1;
    if (status == NADIR_OK && norm > limit) {
        *factor = nadir_round_down(limit / norm, 4);
        for (int64_t i = 0; i < count; i++) {
            x[i] *= *factor;
        }
    }
    return status;
}

static void subtract_mean(const nadir_context *context, int64_t count, double *x)
{
    const double mean = nadir_global_sum(context, count, x) / (double)nadir_global_count(context, count);
    for (int64_t i = 0; i < count; i++) {
        x[i] -= mean;
    }
}

/* The products in the formula of Sherman and Morrison. */
typedef struct sherman_morrison {
    double strength; /* d . W c */
    double loss;     /* k . v */
    double feedback; /* k . g */
} sherman_morrison;

static sherman_morrison multiply(const nadir_context *context, const nadir_problem *problem, const double *c,
                                 const double *k, const double *g)
{
    const double *W = problem->uncertainty->W;
    const double mean =
        nadir_global_sum(context, problem->states, problem->v) / (double)nadir_model_total(problem->model);
    const double centre = isfinite(mean) ? mean : 0;
    sherman_morrison made = {0};
    for (int64_t s = 0; s < problem->states; s++) {
        made.strength += problem->d[s] * (W[s] * c[s]);
        made.loss += k[s] * (problem->v[s] - centre);
        made.feedback += k[s] * g[s];
    }
    return (sherman_morrison){
        .strength = nadir_allreduce_sum(context, made.strength),
        .loss = nadir_allreduce_sum(context, made.loss),
        .feedback = nadir_allreduce_sum(context, made.feedback),
    };
}

nadir_status nadir_rank_one_candidate_kernel(nadir_context *context, const nadir_problem *problem,
                                             nadir_candidate *candidate)
{
    nadir_status status = NADIR_OK;
    double *b = NULL;
    if (candidate->kernel != NULL) {
        return NADIR_OK;
    }
    if (nadir_blocks_are_zero(context, problem->states, candidate->c) ||
        nadir_blocks_are_zero(context, problem->states, candidate->k)) {
        return nadir_kernel_create(context, problem->model, &candidate->kernel);
    }
    NADIR_NEW(context, b, problem->rows);
    nadir_rank_one_states_expand(problem, candidate->c, b);
    NADIR_CHECK(nadir_kernel_create_rank_one(context, problem->model, b, candidate->k, &candidate->kernel));
cleanup:
    nadir_release(context, b);
    return status;
}

nadir_status nadir_rank_one_candidate_known(nadir_context *context, const nadir_problem *problem, double beta,
                                            const double *c, const double *k, const double *g,
                                            nadir_candidate *candidate)
{
    nadir_status status = NADIR_OK;
    const int64_t n = problem->states;
    const double p = problem->uncertainty->p;
    nadir_candidate made = {0};
    double shrunk;
    double ignored;
    NADIR_NEW(context, made.c, n);
    NADIR_NEW(context, made.k, n);
    memcpy(made.c, c, (size_t)n * sizeof *c);
    memcpy(made.k, k, (size_t)n * sizeof *k);
    NADIR_CHECK(shrink(context, n, p, beta, made.c, &shrunk));
    subtract_mean(context, n, made.k);
    NADIR_CHECK(shrink(context, n, p, 1, made.k, &ignored));
    const sherman_morrison sums = multiply(context, problem, made.c, made.k, g);
    const double denominator = 1 + problem->gamma * sums.feedback * shrunk;
    if (!(denominator > 0)) {
        status = nadir_fail(context, NADIR_ERROR_ILL_POSED,
                            "the radius %.10g is at or past breakdown: a kernel of the ball makes "
                            "I - gamma P singular (denominator %g); choose a smaller radius",
                            beta, denominator);
        goto cleanup;
    }
    made.lambda = problem->gamma * sums.strength / denominator * sums.loss;
    made.J = problem->J - made.lambda;
    if (nadir_occupancy_iterates(problem->occupancy)) {
        NADIR_NEW(context, made.g, n);
        memcpy(made.g, g, (size_t)n * sizeof *g);
    }
    candidate->g = made.g;
    candidate->J = made.J;
    candidate->c = made.c;
    candidate->k = made.k;
    candidate->lambda = made.lambda;
    made = (nadir_candidate){0};
cleanup:
    nadir_candidate_clear(context, &made);
    return status;
}

nadir_status nadir_rank_one_candidate(nadir_context *context, const nadir_problem *problem, double beta,
                                      const double *c, const double *k, nadir_candidate *candidate)
{
    nadir_status status = NADIR_OK;
    double *g = NULL;
    NADIR_NEW(context, g, problem->states);
    for (int64_t s = 0; s < problem->states; s++) {
        g[s] = problem->uncertainty->W[s] * c[s];
    }
    NADIR_CHECK(nadir_occupancy_solve(context, problem->occupancy, 1, g, g, NULL));
    NADIR_CHECK(nadir_rank_one_candidate_known(context, problem, beta, c, k, g, candidate));
    NADIR_CHECK(nadir_rank_one_candidate_kernel(context, problem, candidate));
cleanup:
    if (status != NADIR_OK) {
        nadir_candidate_clear(context, candidate);
    }
    nadir_release(context, g);
    return status;
}

/* -------------------------------------------------------------------------------- scalar Newton */

/* Steps are 3 to 6 as a rule. With q near 1 or huge the right-hand side is nearly made of straight pieces, of
 * which each step leaves at least one behind. */
#define STEPS 200

/* u <- the direction at x; x <- s u . a / (1 + t u . b), written as x + (size - x) / (1 + t u . b): where a
 * and b are nearly constant, s a - x t b loses fewer digits than the products with u would. */
static nadir_status attain(nadir_context *context, const nadir_scalar_newton *equation, double *work,
                           double *u, double *x)
{
    nadir_gstd gstd;
    double size;
    for (int64_t i = 0; i < equation->count; i++) {
        work[i] = equation->s * equation->a[i] - *x * equation->t * equation->b[i];
    }
    if (equation->centred) {
        NADIR_TRY(
            nadir_gstd_compute(context, equation->first, equation->count, work, equation->q, u, u, &gstd));
        size = gstd.sigma;
    } else {
        NADIR_TRY(nadir_norm_dual(context, equation->first, equation->count, work, equation->q, u, &size));
    }
    const double denominator = 1 + equation->t * nadir_blocks_dot(context, equation->count, u, equation->b);
    *x = denominator > 0 ? *x + (size - *x) / denominator : INFINITY;
    return NADIR_OK;
}

nadir_status nadir_scalar_newton_solve(nadir_context *context, const nadir_scalar_newton *equation,
                                       double start, double *work, double *u, double *x)
{
    nadir_newton newton = {.x = start};
    do {
        *x = newton.x;
        NADIR_TRY(attain(context, equation, work, u, x));
    } while (nadir_newton_take(&newton, *x) && newton.steps < STEPS);
    return NADIR_OK;
}

/* ------------------------------------------------------------------------------- rectangular balls
 *
 * The worst kernel of s- and sa-rectangular balls on the free domain.
 *
 * The fixed point of T satisfies v_U = v - gamma sigma_q(v_U) v_b, for T v = v reads (I - gamma Phat^pi) v =
 * R^pi - gamma sigma_q(v) b^pi: along that line x = sigma_q(v_U) is the only unknown. Radii times a factor
 * are b^pi and v_b times the factor, so that one solve serves any number of factors.
 */

/* Of the search for signs that show breakdown: steps from a start, which rarely takes more than four; starts from
 * single rows; up to how many states all signs are tried; the least that a step must gain. */
enum { CLIMB_STEPS = 20, CLIMB_STARTS = 32, ALL_SIGNS_STATES = 8 };
#define CLIMB_LEAST 1e-12

typedef struct rectangle {
    nadir_context *context;
    const nadir_problem *problem;
    double mass;  /* mu . v_b = d . b^pi */
    double *b;    /* [rows] at factor 1 */
    double *b_pi; /* [states] at factor 1 */
    double *v_b;  /* [states] at factor 1: D b^pi */
    double *rows; /* [rows] work */
    double *k;    /* [states] work */
    double *line; /* [states] work */
} rectangle;

/* b(s, a), and b^pi into v_b. */
static void fill_change(const rectangle *self)
{
    const nadir_problem *problem = self->problem;
    const nadir_uncertainty *set = problem->uncertainty;
    const nadir_model *model = problem->model;
    const double *pi = problem->policy->probabilities;
    if (set->set == NADIR_SET_S) {
        for (int64_t s = 0; s < problem->states; s++) {
            self->line[s] = nadir_uncertainty_radius(set, s, model->state_rows[s]);
        }
        nadir_rank_one_states_expand(problem, self->line, self->b);
    }
    for (int64_t s = 0; s < problem->states; s++) {
        double sum = 0;
        for (int64_t row = model->state_rows[s]; row < model->state_rows[s + 1]; row++) {
            if (set->set != NADIR_SET_S) {
                self->b[row] = nadir_uncertainty_scale(set, row) * nadir_uncertainty_radius(set, s, row);
            }
            sum += pi[row] * self->b[row];
        }
        self->v_b[s] = sum;
    }
}

static nadir_status prepare(rectangle *self)
{
    nadir_status status = NADIR_OK;
    nadir_context *context = self->context;
    const nadir_problem *problem = self->problem;
    const int64_t n = problem->states;
    double rounding;
    NADIR_NEW(context, self->b, problem->rows);
    NADIR_NEW(context, self->rows, problem->rows);
    NADIR_NEW(context, self->v_b, n);
    NADIR_NEW(context, self->k, n);
    NADIR_NEW(context, self->line, n);
    NADIR_NEW(context, self->b_pi, n);
    fill_change(self);
    memcpy(self->b_pi, self->v_b, (size_t)n * sizeof *self->b_pi);
    NADIR_CHECK(nadir_occupancy_solve(context, problem->occupancy, 1, self->v_b, self->v_b, NULL));
    self->mass = nadir_global_dot(context, n, problem->mu, self->v_b, &rounding);
cleanup:
    return status;
}

/* From signs e, [states], to others of a larger sigma_q(D e b^pi) as long as there are such: those of D^T u with u =
 * u_q(D e b^pi). *most: the largest. work: [states] */
static nadir_status climb(const rectangle *self, double *e, double *work, double *most)
{
    nadir_context *context = self->context;
    const nadir_problem *problem = self->problem;
    const int64_t n = problem->states;
    double last = 0;
    for (int step = 0; step < CLIMB_STEPS; step++) {
        nadir_gstd gstd;
        for (int64_t s = 0; s < n; s++) {
            work[s] = e[s] * self->b_pi[s];
        }
        NADIR_TRY(nadir_occupancy_solve(context, problem->occupancy, 1, work, work, NULL));
        NADIR_TRY(nadir_gstd_compute(context, nadir_model_first(problem->model), n, work,
                                     problem->uncertainty->q, self->line, e, &gstd));
        *most = fmax(*most, gstd.sigma);
        if (!(gstd.sigma > last * (1 + CLIMB_LEAST))) {
            break;
        }
        last = gstd.sigma;
        NADIR_TRY(nadir_occupancy_solve_transposed(context, problem->occupancy, 1, e, e, NULL));
        for (int64_t s = 0; s < n; s++) {
            e[s] = e[s] < 0 ? -1 : 1;
        }
    }
    return NADIR_OK;
}

/* Rows take up to b^pi(s) sigma_q(v) from v, or give as much. So some kernel of the set has a v = gamma P v that is not
 * 0, and I - gamma P is singular, where gamma sigma_q(D e b^pi) >= 1 for some signs e; without signs |v_b|_q bounds
 * all of these. *most: the largest that is found, from all rows alike, and from single ones or, of few states, all
 * signs. */
static nadir_status find_signs(const rectangle *self, double *most)
{
    nadir_status status = NADIR_OK;
    const nadir_problem *problem = self->problem;
    const int64_t n = problem->states;
    const bool all = n <= ALL_SIGNS_STATES;
    const int64_t single = n < CLIMB_STARTS ? n : CLIMB_STARTS;
    const int64_t starts = problem->model->exchange != NULL ? 0 : all ? (int64_t)1 << (n - 1) : single;
    double *e = NULL;
    NADIR_NEW(self->context, e, 2 * n);
    for (int64_t i = -1; i < starts; i++) {
        for (int64_t s = 0; s < n; s++) {
            e[s] = i < 0 ? 1 : all ? (i >> s & 1 ? -1 : 1) : s == i * n / starts;
        }
        NADIR_CHECK(climb(self, e, e + n, most));
    }
cleanup:
    nadir_release(self->context, e);
    return status;
}

/* gamma sigma_q(D e b^pi) < 1 at each factor, for all signs e that are found. */
static nadir_status check_factors(const rectangle *self, int64_t count, const double *factors)
{
    const nadir_problem *problem = self->problem;
    const double total = (double)nadir_model_total(problem->model);
    const double norm = pow(total, 1 / problem->uncertainty->q) *
                        nadir_global_largest(self->context, problem->states, self->v_b);
    double largest = 0;
    double most = 0;
    for (int64_t i = 0; i < count; i++) {
        largest = fmax(largest, factors[i]);
    }
    if (!(largest * problem->gamma * norm < 1)) {
        NADIR_TRY(find_signs(self, &most));
    }
    const double slope = problem->gamma * most;
    for (int64_t i = 0; i < count; i++) {
        if (!(factors[i] * slope < 1)) {
            return nadir_fail(self->context, NADIR_ERROR_ILL_POSED,
                              "the radii times %.10g are past breakdown: some kernel of the set makes I - "
                              "gamma P singular, unless they are below %.10g times the radii given",
                              factors[i], 1 / slope);
        }
    }
    return NADIR_OK;
}

static nadir_status candidate_at(const rectangle *self, double factor, nadir_candidate *candidate)
{
    nadir_status status = NADIR_OK;
    nadir_context *context = self->context;
    const nadir_problem *problem = self->problem;
    const int64_t n = problem->states;
    const double reach = problem->gamma * factor;
    const nadir_scalar_newton equation = {
        .first = nadir_model_first(problem->model),
        .count = n,
        .a = problem->v,
        .b = self->v_b,
        .s = 1,
        .t = reach,
        .q = problem->uncertainty->q,
        .centred = true,
    };
    nadir_candidate made = {
        .method = "equation", .stop = NADIR_STOP_TOLERANCE, .converged = true, .iterations = 1};
    double x;
    NADIR_CHECK(nadir_scalar_newton_solve(context, &equation, 0, self->line, self->k, &x));
    NADIR_NEW(context, made.k, n);
    NADIR_NEW(context, made.v, n);
    memcpy(made.k, self->k, (size_t)n * sizeof *made.k);
    for (int64_t s = 0; s < n; s++) {
        made.v[s] = problem->v[s] - reach * x * self->v_b[s];
    }
    for (int64_t row = 0; row < problem->rows; row++) {
        self->rows[row] = factor * self->b[row];
    }
    made.lambda = reach * x * self->mass;
    made.J = problem->J - made.lambda;
    NADIR_CHECK(nadir_kernel_create_rank_one(context, problem->model, self->rows, made.k, &made.kernel));
    *candidate = made;
    made = (nadir_candidate){0};
cleanup:
    nadir_candidate_clear(context, &made);
    return status;
}

nadir_status nadir_rectangular_free_solve(nadir_context *context, const nadir_problem *problem, int64_t count,
                                          const double *factors, nadir_candidate *candidates)
{
    nadir_status status = NADIR_OK;
    rectangle self = {.context = context, .problem = problem};
    NADIR_CHECK(prepare(&self));
    NADIR_CHECK(check_factors(&self, count, factors));
    for (int64_t i = 0; i < count; i++) {
        NADIR_CHECK(nadir_progress(context, "searching worst kernels", (double)i / (double)count));
        NADIR_CHECK(candidate_at(&self, factors[i], &candidates[i]));
    }
cleanup:
    nadir_release(context, self.b);
    nadir_release(context, self.rows);
    nadir_release(context, self.v_b);
    nadir_release(context, self.b_pi);
    nadir_release(context, self.k);
    nadir_release(context, self.line);
    return status;
}
