/*
 * lagrangian_search.c: the search for the multiplier tau and the fixed point v_tau = T v_tau of the Lagrangian
 * bound mu . v_tau - tau beta^p; see lagrangian_search.h.
 */
#include "search/lagrangian_search.h"

#include "linalg/vector.h"
#include "search/kernel_solver.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* ------------------------------------------------------------------------------- v_tau for one tau
 *
 * v_tau = T v_tau of the Lagrangian bound for one tau.
 *
 * Policy iteration: the rows X that attain Tv, with their cost c(s) = tau / d_bar(s) x_s, have the value
 *
 *     v <- (I - gamma X^pi)^-1 (R_X^pi + c),
 *
 * which falls from step to step, and v_tau >= v - max (v - Tv)_+ / (1 - gamma) bounds how far it can still
 * fall. The minimisers are smooth in v (p > 1) or vertices (p = 1): 3 to 6 steps. By the envelope theorem
 * `used` is the derivative of mu . v_tau by tau.
 */

/* Policy iteration ends when v can fall by no more than this share of J - mu . v. */
#define TOLERANCE 1e-11
/* On models of more states than this steps are expensive and the bound is some per cent of the penalty wide:
 * that share, and the accuracy of intermediate values, which start from the one before. The last value of a
 * tau is solved to full accuracy: its residual enters the bound. */
#define LARGE              20000
#define TOLERANCE_LARGE    1e-3
#define TOLERANCE_OF_VALUE 1e-9
/* The limit of kernels there, for all tau together; the bound is valid wherever it stops. */
#define KERNELS_LARGE 24
/* Never met: a step squares the error. */
#define ITERATIONS_LIMIT 200

/* What evaluations at several tau share. A struct of zeros holds nothing. */
typedef struct tau_search {
    const nadir_problem *problem;
    double beta;
    nadir_lmo_penalized lmo;
    nadir_kernel_solver solver; /* of the last kernel */
    double *norms;              /* [states] x_s^(1/p) of that kernel */
    double *charged;            /* [states] R_P^pi and the cost of that kernel */
    double *work;               /* [states] */
    bool large; /* low accuracy, on large models: the bound is valid all the same, and wider */
    int64_t evaluations, iterations;
} tau_search;

void nadir_lagrangian_clear(nadir_context *context, nadir_lagrangian *lagrangian)
{
    nadir_release(context, lagrangian->v);
    nadir_release(context, lagrangian->answered);
    nadir_kernel_free(lagrangian->kernel);
    *lagrangian = (nadir_lagrangian){0};
}

/* lmo.rows points into the struct: it must stay where it is. */
static void search_clear(nadir_context *context, tau_search *search)
{
    nadir_lmo_penalized_clear(context, &search->lmo);
    nadir_kernel_solver_clear(context, &search->solver);
    nadir_release(context, search->norms);
    nadir_release(context, search->charged);
    nadir_release(context, search->work);
    *search = (tau_search){0};
}

static nadir_status search_make(nadir_context *context, const nadir_problem *problem, double beta,
                                const double *d_bar, tau_search *search)
{
    nadir_status status = NADIR_OK;
    *search = (tau_search){.problem = problem,
                           .beta = beta,
                           .solver = {.problem = problem},
                           .large = nadir_model_total(problem->model) > LARGE};
    NADIR_CHECK(nadir_lmo_penalized_make(context, problem, beta, d_bar, &search->lmo));
    NADIR_NEW_ZERO(context, search->norms, problem->states);
    NADIR_NEW(context, search->charged, problem->states);
    NADIR_NEW(context, search->work, problem->states);
cleanup:
    if (status != NADIR_OK) {
        search_clear(context, search);
    }
    return status;
}

/* Whether the limit of kernels for a large model is reached; another tau then gets one more. */
static bool is_spent(const tau_search *search)
{
    return search->large && search->iterations >= KERNELS_LARGE;
}

/* The kernel of the minimising rows, its cost and its value. */
static nadir_status evaluate(nadir_context *context, tau_search *search, double tau,
                             nadir_lagrangian *lagrangian)
{
    const nadir_problem *problem = search->problem;
    nadir_lmo_penalized *lmo = &search->lmo;
    memcpy(lagrangian->answered, lagrangian->v, (size_t)problem->states * sizeof *lagrangian->v);
    NADIR_TRY(nadir_lmo_penalized_kernel(context, lmo, tau, &lagrangian->kernel));
    NADIR_TRY(nadir_kernel_solver_set(context, &search->solver, lagrangian->kernel));
    const double *R = nadir_kernel_solver_rewards(&search->solver);
    for (int64_t s = 0; s < problem->states; s++) {
        search->norms[s] = lmo->norms[s];
        search->charged[s] = R[s] + nadir_lmo_penalized_cost(lmo, tau, s, search->norms[s]);
    }
    NADIR_TRY(search->large
                  ? nadir_occupancy_improve(context, search->solver.occupancy, false, 1, search->charged,
                                            TOLERANCE_OF_VALUE, lagrangian->v, NULL)
                  : nadir_occupancy_solve(context, search->solver.occupancy, 1, search->charged,
                                          lagrangian->v, NULL));
    search->iterations++;
    return NADIR_OK;
}

/* The answers to v; *most: max v - Tv. */
static nadir_status respond(nadir_context *context, tau_search *search, double tau, const double *v,
                            double *most)
{
    const nadir_problem *problem = search->problem;
    NADIR_TRY(nadir_lmo_penalized_solve(context, &search->lmo, tau, v));
    nadir_average_multiply(context, nadir_occupancy_average(problem->occupancy), 1, v, search->work);
    *most = 0;
    for (int64_t s = 0; s < problem->states; s++) {
        const double next = problem->R[s] + problem->gamma * search->work[s] - search->lmo.taken[s];
        *most = v[s] - next <= *most ? *most : v[s] - next; /* NaN, of all products or of none, stays */
    }
    return NADIR_OK;
}

/* sum over s of d_tau(s) / d_bar(s) sum_a norm^p. */
static nadir_status add_up_used(nadir_context *context, tau_search *search, double *used)
{
    const nadir_problem *problem = search->problem;
    double *d = search->work;
    NADIR_TRY(nadir_occupancy_solve_transposed(context, search->solver.occupancy, 1, problem->mu, d, NULL));
    *used = 0;
    for (int64_t s = 0; s < problem->states; s++) {
        *used += fmax(0, d[s]) * nadir_lmo_penalized_cost(&search->lmo, 1, s, search->norms[s]);
    }
    return NADIR_OK;
}

/* v_tau, from lagrangian->v, or from the nominal value if that is NULL. */
static nadir_status search_run(nadir_context *context, tau_search *search, double tau,
                               nadir_lagrangian *lagrangian)
{
    nadir_status status = NADIR_OK;
    const nadir_problem *problem = search->problem;
    const int64_t n = problem->states;
    double J = 0;
    double most;
    double error;
    double before = INFINITY; /* sum of v: J alone does not see states that are not visited */
    bool done = false;
    if (lagrangian->v == NULL) {
        NADIR_NEW(context, lagrangian->v, n);
        memcpy(lagrangian->v, problem->v, (size_t)n * sizeof *lagrangian->v);
    }
    if (lagrangian->answered == NULL) {
        NADIR_NEW(context, lagrangian->answered, n);
    }
    NADIR_CHECK(respond(context, search, tau, lagrangian->v, &most));
    for (int i = 0; i < ITERATIONS_LIMIT && !done; i++) {
        NADIR_CHECK(nadir_progress(context, "Lagrangian bound", -1));
        NADIR_CHECK(evaluate(context, search, tau, lagrangian));
        NADIR_CHECK(respond(context, search, tau, lagrangian->v, &most));
        J = nadir_vector_dot(n, problem->mu, lagrangian->v, &error);
        const double sum = nadir_vector_sum(n, lagrangian->v);
        const double share = search->large ? TOLERANCE_LARGE : TOLERANCE;
        done = most <= share * problem->rest * (problem->J - J) ||
               most <= 16 * DBL_EPSILON * nadir_vector_largest(n, lagrangian->v) || sum >= before ||
               is_spent(search);
        before = sum;
    }
    if (search->large) {
        NADIR_CHECK(nadir_occupancy_improve(context, search->solver.occupancy, false, 1, search->charged, 0,
                                            lagrangian->v, NULL));
        J = nadir_vector_dot(n, problem->mu, lagrangian->v, &error);
    }
    NADIR_CHECK(add_up_used(context, search, &lagrangian->used));
    const double charge = tau > 0 ? tau * nadir_power(search->beta, problem->uncertainty->p) : 0;
    lagrangian->tau = tau;
    lagrangian->value = J - charge;
    lagrangian->distance = nadir_norm_short(problem->states, search->norms, problem->uncertainty->p);
    lagrangian->iterations = search->iterations;
    lagrangian->evaluations = ++search->evaluations;
cleanup:
    return status;
}

nadir_status nadir_lagrangian_solve(nadir_context *context, const nadir_problem *problem, double beta,
                                    const double *d_bar, double tau, nadir_lagrangian *lagrangian)
{
    nadir_status status = NADIR_OK;
    tau_search search = {0};
    NADIR_CHECK(search_make(context, problem, beta, d_bar, &search));
    NADIR_CHECK(search_run(context, &search, tau, lagrangian));
cleanup:
    search_clear(context, &search);
    if (status != NADIR_OK) {
        nadir_lagrangian_clear(context, lagrangian);
    }
    return status;
}

/* --------------------------------------------------------------------------- tau of the best bound
 *
 * The tau of the best Lagrangian bound.
 *
 * The bound is concave in tau: at every tau tried it lies below its tangent, of slope used - beta^p, and
 * below J - tau beta^p of the nominal kernel. The crossing of the two tangents next to the best tau bounds
 * what can still be gained. Changes of interior rows are proportional to tau^(1-q), and `used` to tau^-q: the
 * first step is tau (used / beta^p)^(1/q), later ones take the exponent from the last two points on either
 * side. Where that gains little, the crossing itself is tried: for p = 1, where the bound is piecewise
 * linear, this ends exactly.
 */

/* The search ends when the bound cannot rise by more than this share of the penalty. */
#define SHARE       1e-4
#define SHARE_LARGE 1e-2

/* The line value + slope (t - tau), above the bound at every t. */
typedef struct tangent {
    double tau, value, slope;
} tangent;

typedef struct bracket {
    double room; /* beta^p */
    bool rises;  /* left is known */
    bool falls;  /* right is of a tau that was tried */
    tangent left, right;
} bracket;

static double line_at(const tangent *line, double tau)
{
    return line->value + line->slope * (tau - line->tau);
}

/* Where the tangents cross: the bound is largest between them. */
static double crossing(const bracket *between)
{
    const double fall = between->left.slope - between->right.slope;
    if (!between->rises || !(fall > 0)) {
        return 0;
    }
    const double tau =
        between->left.tau + (line_at(&between->right, between->left.tau) - between->left.value) / fall;
    return fmax(tau, 0);
}

/* tau at which `used` is beta^p, if it is a power of tau. */
static double power_step(const bracket *between, double q)
{
    const tangent *left = &between->left;
    const tangent *right = &between->right;
    const double more = left->slope + between->room;
    const double less = right->slope + between->room;
    if (left->tau > 0 && between->falls && less > 0) {
        const double exponent = log(more / less) / log(right->tau / left->tau);
        return left->tau * pow(more / between->room, 1 / exponent);
    }
    return left->tau > 0 ? left->tau * pow(more / between->room, 1 / q)
                         : right->tau * pow(less / between->room, 1 / q);
}

static bool is_inside(const bracket *between, double tau)
{
    return (!between->rises ? tau > 0 : tau > between->left.tau) &&
           (!between->falls || tau < between->right.tau) && tau <= DBL_MAX;
}

/* The tau to try next; negative: there is nothing left to try. */
static double choose(const bracket *between, double q, bool slow)
{
    const double tau = power_step(between, q);
    if (!slow && is_inside(between, tau)) {
        return tau;
    }
    const double middle = crossing(between);
    return is_inside(between, middle) || (!between->rises && middle == 0) ? middle : -1;
}

static void narrow(bracket *between, const nadir_lagrangian *tried)
{
    const tangent line = {tried->tau, tried->value, tried->used - between->room};
    if (line.slope >= 0) {
        between->left = line;
        between->rises = true;
    } else {
        between->right = line;
        between->falls = true;
    }
}

/* The multiplier of the ball in the linear problem at the nominal kernel. */
static nadir_status guess(nadir_context *context, tau_search *search, double *tau)
{
    nadir_status status = NADIR_OK;
    const nadir_problem *problem = search->problem;
    const nadir_lmo_weights weights = {problem->gamma, problem->d, problem->policy->probabilities};
    nadir_lmo_penalized *lmo = &search->lmo;
    nadir_lmo_budget budget = {0};
    nadir_lmo_solution *answers = NULL;
    double *each = NULL;
    nadir_lmo_streamed step;
    bool found = false;
    NADIR_CHECK(nadir_value_order_make(context, problem->states, problem->v, &lmo->order));
    if (nadir_lmo_streamed_applies(&lmo->rows)) {
        NADIR_CHECK(
            nadir_lmo_streamed_solve(context, &lmo->rows, &weights, search->beta, 0, &step, &budget, &found));
    }
    if (!found) {
        NADIR_NEW_ZERO(context, answers, problem->rows);
        NADIR_NEW(context, each, problem->rows);
        nadir_lmo_weights_fill(lmo->rows.model, &weights, each);
        NADIR_CHECK(nadir_lmo_solve_all(context, &lmo->rows, each, search->beta, answers, &budget));
    }
    *tau = fmin(budget.tau, DBL_MAX); /* beta^p underflows for large p */
cleanup:
    nadir_release(context, each);
    nadir_release(context, answers);
    return status;
}

/* Keeps the better one in *best; the next evaluation overwrites the other, from the v of the best. */
static void keep_better(int64_t states, nadir_lagrangian *best, nadir_lagrangian *trial)
{
    if (trial->value > best->value || best->v == NULL) {
        const nadir_lagrangian swap = *best;
        *best = *trial;
        *trial = swap;
    }
    if (trial->v != NULL) {
        memcpy(trial->v, best->v, (size_t)states * sizeof *trial->v);
    }
}

static nadir_status climb(nadir_context *context, tau_search *search, double tau, int64_t evaluations_limit,
                          nadir_lagrangian *best, nadir_lagrangian *trial)
{
    const nadir_problem *problem = search->problem;
    const double room = nadir_power(search->beta, problem->uncertainty->p);
    bracket between = {.room = room, .right = {0, problem->J, -room}};
    const double share = search->large ? SHARE_LARGE : SHARE;
    double before = INFINITY;
    while (tau >= 0 && (search->evaluations < evaluations_limit || search->evaluations == 0)) {
        const nadir_status status = search_run(context, search, tau, trial);
        if (problem->gamma == 1 && status == NADIR_ERROR_ILL_POSED && best->v != NULL) {
            break; /* at this price rows form a kernel that never ends */
        }
        NADIR_TRY(status);
        narrow(&between, trial);
        keep_better(problem->states, best, trial);
        const double still = line_at(&between.right, crossing(&between)) - best->value;
        if (still <= share * (problem->J - best->value) || !isfinite(still) || (tau == 0 && !between.rises) ||
            is_spent(search)) {
            break;
        }
        tau = choose(&between, problem->uncertainty->q, still > before / 4);
        before = still;
    }
    best->evaluations = search->evaluations;
    best->iterations = search->iterations;
    return NADIR_OK;
}

nadir_status nadir_lagrangian_tau_best(nadir_context *context, const nadir_problem *problem, double beta,
                                       const double *d_bar, double tau_start, int64_t evaluations_limit,
                                       nadir_lagrangian *lagrangian)
{
    nadir_status status = NADIR_OK;
    tau_search search = {0};
    nadir_lagrangian best = {0};
    nadir_lagrangian trial = *lagrangian;
    double tau = tau_start;
    *lagrangian = (nadir_lagrangian){0};
    NADIR_CHECK(search_make(context, problem, beta, d_bar, &search));
    if (!(tau > 0)) {
        NADIR_CHECK(guess(context, &search, &tau));
    }
    NADIR_CHECK(climb(context, &search, tau, evaluations_limit, &best, &trial));
    *lagrangian = best;
    best = (nadir_lagrangian){0};
cleanup:
    nadir_lagrangian_clear(context, &best);
    nadir_lagrangian_clear(context, &trial);
    search_clear(context, &search);
    return status;
}

/* --------------------------------------------------------------------------------- tau for a level
 *
 * The tau with the smallest sublevel radius.
 *
 * A kernel with J_P < level is within W(tau) / tau of the answer (lagrangian_bound.h), W = level + tau beta^p
 * - mu . v_tau. W is convex with slope beta^p - used, so that W / tau is least where tau (beta^p - used) = W,
 * that is where the return of the kernel alone, mu . v_tau - tau used, equals the level. It rises with tau,
 * from below the level at the best tau of the bound. The minimum is flat: low accuracy suffices.
 */

/* Accuracy of the return, as a share of W. */
#define LEVEL_SHARE 0.02
/* Without a bracket tau changes by this factor; in one it keeps this share of the width from either end. */
#define LEVEL_FAR  4.0
#define LEVEL_NEAR 0.05

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
    tau_search search = {0};
    const double room = nadir_power(beta, problem->uncertainty->p);
    double low = 0;
    double high = INFINITY;
    double low_above = 0;
    double high_above = 0;
    double tau = tau_start;
    NADIR_CHECK(search_make(context, problem, beta, d_bar, &search));
    while (search.evaluations < evaluations_limit && !is_spent(&search)) {
        NADIR_CHECK(search_run(context, &search, tau, lagrangian));
        const aim tried = look(lagrangian, room, level);
        if (fabs(tried.above) <= LEVEL_SHARE * tried.width || !(tau > 0)) {
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
            const double share = fmin(fmax(low_above / (low_above - high_above), LEVEL_NEAR), 1 - LEVEL_NEAR);
            tau = low * pow(high / low, share);
        } else {
            tau = low > 0 ? low * LEVEL_FAR : high / LEVEL_FAR;
        }
    }
cleanup:
    search_clear(context, &search);
    if (status != NADIR_OK) {
        nadir_lagrangian_clear(context, lagrangian);
    }
    return status;
}

/* ------------------------------------------------------------------------------ kernel in the ball
 *
 * A kernel of the ball from the kernel of a Lagrangian bound.
 *
 * P = Phat + t (P_tau - Phat), t <= 1, has t times the distance of P_tau, and every row is a mixture of two
 * distributions. In this form nominal rows of P_tau stay exactly nominal, and no entry becomes negative.
 */

/* A margin for rounding: the result lies in the ball. */
#define WITHIN (1 - 32 * DBL_EPSILON)

static double mix(double nominal, double share, double other)
{
    return nominal + share * (other - nominal);
}

/* The off-support tail of a row, times share: it must not become negative at its last state, where it is
 * smallest. */
static void shrink_line(const nadir_perturbed *from, int64_t row, double share, nadir_perturbed *to)
{
    to->omega[row] = share * from->omega[row];
    to->slope[row] = share * from->slope[row];
    to->length[row] = from->length[row];
    to->extra[row] = from->extra[row];
    to->amount[row] = share * from->amount[row];
    if (from->length[row] > 0) {
        const double last = to->x[to->order[from->length[row] - 1]];
        while (to->slope[row] > 0 && to->omega[row] - to->slope[row] * last < 0) {
            to->slope[row] = nextafter(to->slope[row], 0);
        }
    }
}

static nadir_status mix_perturbed(nadir_context *context, nadir_model *model, const nadir_perturbed *from,
                                  double share, nadir_kernel **mixed)
{
    NADIR_TRY(nadir_kernel_create_blank(context, model, from->x != NULL, mixed));
    nadir_perturbed *to = nadir_kernel_perturbed(*mixed);
    for (int64_t row = 0; row < model->rows; row++) {
        const nadir_row nominal = nadir_model_row(model, row);
        const int64_t start = model->dense != NULL ? row * model->states : model->row_starts[row];
        to->nominal[row] = from->nominal[row];
        for (int64_t i = 0; i < nominal.count && !from->nominal[row]; i++) {
            to->values[start + i] = mix(nominal.values[i], share, from->values[start + i]);
        }
    }
    if (from->x != NULL) {
        memcpy(to->x, from->x, (size_t)model->states * sizeof *to->x);
        memcpy(to->order, from->order, (size_t)model->states * sizeof *to->order);
        for (int64_t row = 0; row < model->rows; row++) {
            shrink_line(from, row, share, to);
        }
    }
    return NADIR_OK;
}

nadir_status nadir_lagrangian_kernel_in_ball(nadir_context *context, const nadir_problem *problem,
                                             double beta, const nadir_lagrangian *lagrangian,
                                             nadir_kernel **start)
{
    const double distance = lagrangian->distance;
    const double share = distance > beta * WITHIN ? beta * WITHIN / distance : 1;
    const nadir_perturbed *perturbed = nadir_kernel_perturbed(lagrangian->kernel);
    return perturbed != NULL
               ? mix_perturbed(context, problem->model, perturbed, share, start)
               : nadir_kernel_mix(context, problem->model, problem->kernel, lagrangian->kernel, share, start);
}
