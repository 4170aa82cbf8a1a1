/*
 * descent.c: conditional gradient over the kernels of a non-rectangular ball; see descent.h.
 *
 * At a kernel P with value v and occupancy d the return falls, to first order, by <G, P - X> for a step to X,
 *
 *     G_sa = gamma d(s) pi(a|s) v,
 *
 * and the X of the set where that is largest has a cheap exact solution (rows.h). Its promise is the
 * stationarity gap: zero exactly where no direction leads downhill. Steps are full ones, P <- X, unless the
 * return does not fall by a small share of the promise; then P goes to the lowest point of the way to X.
 */
#include "adversary/valid/descent.h"

#include "adversary/rows/rows.h"
#include "adversary/valid/kernel_mix.h"
#include "adversary/valid/operator.h"
#include "kernel/explicit.h"
#include "linalg/vector.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* The share of its promise that a step must keep. */
#define ARMIJO 1e-4
/* Steps shorter than this are not tried. */
#define SHORTEST 1e-9
/* A slope this small, as a share of the first, is none. */
#define FLAT 1e-4
enum { SECANTS = 20 };

/* A kernel with what the search needs to know of it. */
typedef struct point {
    nadir_kernel *kernel;
    double *v; /* [states] */
    double *d; /* [states] */
    double J;
} point;

typedef struct search {
    const nadir_problem *problem;
    double beta;
    nadir_valid_operator operator;
    point here;
    point there;       /* the next one; its kernel is filled anew for every step */
    nadir_order order; /* of here.v */
    nadir_rows rows;
    nadir_row_answer *answers; /* [rows] the linear step from here */
    nadir_row_budget budget;
    double *weights; /* [rows] gamma d pi */
    double *product; /* [rows] P_r . v, [rows] Phat_r . v */
    double gap;
    nadir_kernel *before; /* where the last step came from, if it went part of the way; NULL otherwise */
    double share;         /* of it in here */
} search;

static nadir_status new_point(nadir_context *context, int64_t states, point *made)
{
    nadir_status status = NADIR_OK;
    NADIR_NEW(context, made->v, states);
    NADIR_NEW(context, made->d, states);
cleanup:
    return status;
}

static void clear_point(nadir_context *context, point *made)
{
    nadir_kernel_free(made->kernel);
    nadir_release(context, made->v);
    nadir_release(context, made->d);
    *made = (point){0};
}

static nadir_status begin(nadir_context *context, const nadir_problem *problem, double beta, search *find)
{
    nadir_status status = NADIR_OK;
    const nadir_uncertainty *set = problem->uncertainty;
    find->problem = problem;
    find->beta = beta;
    find->operator=(nadir_valid_operator){.problem = problem};
    find->rows = (nadir_rows){
        .model = problem->model,
        .order = &find->order,
        .scales = set->scales,
        .domain = set->domain,
        .p = set->p,
        .q = set->q,
    };
    NADIR_CHECK(new_point(context, problem->states, &find->here));
    NADIR_CHECK(new_point(context, problem->states, &find->there));
    NADIR_NEW_ZERO(context, find->answers, problem->rows);
    NADIR_NEW(context, find->weights, problem->rows);
    NADIR_NEW(context, find->product, 2 * problem->rows);
cleanup:
    return status;
}

static void finish(nadir_context *context, search *find)
{
    nadir_valid_operator_clear(context, &find->operator);
    clear_point(context, &find->here);
    clear_point(context, &find->there);
    nadir_order_clear(context, &find->order);
    nadir_kernel_free(find->before);
    nadir_release(context, find->answers);
    nadir_release(context, find->weights);
    nadir_release(context, find->product);
}

/* v, d and J of a point's kernel. */
static nadir_status evaluate(nadir_context *context, search *find, point *at)
{
    nadir_status status = NADIR_OK;
    double error;
    NADIR_CHECK(nadir_valid_operator_set(context, &find->operator, at->kernel));
    NADIR_CHECK(nadir_valid_operator_value(context, &find->operator, at->v, at->d));
    at->J = nadir_vector_dot(find->problem->states, find->problem->mu, at->v, &error);
cleanup:
    return status;
}

/* The linear step from here: answers, budget and gap. Values are taken from their smallest on, so that
 * nothing of the gap is lost to their common part. */
static nadir_status look_down(nadir_context *context, search *find)
{
    nadir_status status = NADIR_OK;
    const nadir_problem *problem = find->problem;
    const nadir_model *model = problem->model;
    double *own = find->product;
    double *nominal = find->product + problem->rows;
    for (int64_t s = 0; s < problem->states; s++) {
        const double d = find->here.d[s] > 0 ? find->here.d[s] : 0;
        for (int64_t row = model->state_rows[s]; row < model->state_rows[s + 1]; row++) {
            find->weights[row] = problem->gamma * d * problem->policy->probabilities[row];
        }
    }
    NADIR_CHECK(nadir_order_make(context, problem->states, find->here.v, &find->order));
    NADIR_CHECK(
        nadir_rows_share_all(context, &find->rows, find->weights, find->beta, find->answers, &find->budget));
    nadir_kernel_multiply(context, find->here.kernel, find->order.x, own);
    nadir_kernel_multiply(context, problem->kernel, find->order.x, nominal);
    double gap = 0;
    for (int64_t row = 0; row < problem->rows; row++) {
        const double moved = (own[row] - nominal[row]) * find->order.range;
        gap += find->weights[row] * (moved + find->answers[row].gain);
    }
    find->gap = gap > 0 ? gap : 0;
cleanup:
    return status;
}

static void swap_points(point *a, point *b)
{
    const point kept = *a;
    *a = *b;
    *b = kept;
}

/* d/dt of the return at a point of the way from here to `full`. */
static double slope(nadir_context *context, search *find, const point *at, const nadir_kernel *full)
{
    const nadir_problem *problem = find->problem;
    const nadir_model *model = problem->model;
    double *from = find->product;
    double *to = find->product + problem->rows;
    double sum = 0;
    nadir_kernel_multiply(context, find->here.kernel, at->v, from);
    nadir_kernel_multiply(context, full, at->v, to);
    for (int64_t s = 0; s < problem->states; s++) {
        for (int64_t row = model->state_rows[s]; row < model->state_rows[s + 1]; row++) {
            sum += at->d[s] * problem->policy->probabilities[row] * (to[row] - from[row]);
        }
    }
    return problem->gamma * sum;
}

/* There <- here + t (full - here). */
static nadir_status go_part_of_the_way(nadir_context *context, search *find, const nadir_kernel *full,
                                       double t)
{
    nadir_status status = NADIR_OK;
    nadir_kernel_free(find->there.kernel);
    find->there.kernel = NULL;
    NADIR_CHECK(
        nadir_kernel_mix(context, find->problem->model, find->here.kernel, full, t, &find->there.kernel));
    NADIR_CHECK(evaluate(context, find, &find->there));
cleanup:
    return status;
}

/*
 * The lowest point of the way to `full`, where `there` is now: a zero of the slope, by secants that keep it
 * between two points of different sign (Illinois). fall: how steep the way begins.
 */
static nadir_status find_lowest(nadir_context *context, search *find, const nadir_kernel *full, double fall,
                                double *t)
{
    nadir_status status = NADIR_OK;
    double low = 0;
    double high = 1;
    double slope_low = -fall;
    double slope_high = slope(context, find, &find->there, full);
    *t = 1;
    for (int i = 0; i < SECANTS && slope_high > 0; i++) {
        *t = fmin(fmax(low - slope_low * (high - low) / (slope_high - slope_low), low + 0.01 * (high - low)),
                  high - 0.01 * (high - low));
        NADIR_CHECK(go_part_of_the_way(context, find, full, *t));
        const double here = slope(context, find, &find->there, full);
        if (fabs(here) <= FLAT * fall) {
            break;
        }
        if (here < 0) {
            low = *t;
            slope_low = here;
            slope_high *= i > 0 ? 0.5 : 1;
        } else {
            high = *t;
            slope_high = here;
            slope_low *= i > 0 ? 0.5 : 1;
        }
    }
cleanup:
    return status;
}

/*
 * After two steps part of the way, from A to B to here: the lowest point of the line from A through here.
 * Steps between the same few kernels make it to and fro for ever; A's share in here, (1 - t)(1 - t'), can be
 * taken out altogether without leaving the set (parallel tangents). t: of the last step; `there` is B.
 */
static nadir_status go_on(nadir_context *context, search *find, double t)
{
    nadir_status status = NADIR_OK;
    nadir_kernel *far = NULL;
    if (find->before == NULL) {
        find->before = find->there.kernel;
        find->there.kernel = NULL;
        find->share = 1 - t;
        return NADIR_OK;
    }
    const double share = find->share * (1 - t);
    NADIR_CHECK(nadir_kernel_mix(context, find->problem->model, find->here.kernel, find->before,
                                 -share / (1 - share), &far));
    nadir_kernel_free(find->before);
    find->before = NULL;
    const double fall = -slope(context, find, &find->here, far);
    if (fall > 0) {
        double ignored;
        NADIR_CHECK(go_part_of_the_way(context, find, far, 1));
        NADIR_CHECK(find_lowest(context, find, far, fall, &ignored));
        if (find->there.J < find->here.J) {
            swap_points(&find->here, &find->there);
        }
    }
cleanup:
    nadir_kernel_free(far);
    return status;
}

/* P <- X, or part of the way. *moved: false when no step helps. */
static nadir_status step(nadir_context *context, search *find, bool *moved)
{
    nadir_status status = NADIR_OK;
    point *there = &find->there;
    nadir_kernel *full = NULL;
    double t = 1;
    NADIR_CHECK(nadir_rows_kernel(context, &find->rows, find->answers, &there->kernel));
    NADIR_CHECK(evaluate(context, find, there));
    *moved = there->J <= find->here.J - ARMIJO * find->gap;
    if (!*moved) {
        full = there->kernel;
        there->kernel = NULL;
        NADIR_CHECK(find_lowest(context, find, full, find->gap, &t));
        *moved = there->J <= find->here.J - ARMIJO * t * find->gap;
    }
    while (!*moved && t > SHORTEST) {
        t /= 2;
        NADIR_CHECK(go_part_of_the_way(context, find, full, t));
        *moved = there->J <= find->here.J - ARMIJO * t * find->gap;
    }
    if (*moved) {
        swap_points(&find->here, &find->there);
    }
    if (*moved && t < 1) {
        NADIR_CHECK(go_on(context, find, t));
    } else {
        nadir_kernel_free(find->before);
        find->before = NULL;
    }
cleanup:
    nadir_kernel_free(full);
    return status;
}

/* Whether nothing is left to gain, and why. */
static const char *reason_to_stop(const search *find, double tolerance)
{
    const nadir_problem *problem = find->problem;
    const double penalty = problem->J - find->here.J;
    if (find->gap <= tolerance * penalty) {
        return "tolerance";
    }
    const double largest = nadir_vector_largest(problem->states, find->here.v);
    return find->gap <= 16 * DBL_EPSILON * (largest + fabs(penalty) / (1 - problem->gamma)) ? "stable" : NULL;
}

static void hand_over(search *find, nadir_attack *attack)
{
    attack->kernel = find->here.kernel;
    attack->v = find->here.v;
    attack->d = find->here.d;
    attack->J = find->here.J;
    attack->tau = find->budget.tau;
    attack->gap = find->gap;
    find->here.kernel = NULL;
    find->here.v = NULL;
    find->here.d = NULL;
}

nadir_status nadir_descent_run(nadir_context *context, const nadir_problem *problem, double beta,
                               const nadir_kernel *start, double tolerance, int64_t iterations_limit,
                               nadir_attack *attack)
{
    nadir_status status = NADIR_OK;
    search find = {0};
    const char *reason = NULL;
    bool moved = true;
    NADIR_CHECK(begin(context, problem, beta, &find));
    if (start != NULL) {
        NADIR_CHECK(nadir_kernel_mix(context, problem->model, start, start, 0, &find.here.kernel));
        NADIR_CHECK(evaluate(context, &find, &find.here));
    } else {
        NADIR_CHECK(nadir_kernel_create(context, problem->model, &find.here.kernel));
        memcpy(find.here.v, problem->v, (size_t)problem->states * sizeof *find.here.v);
        memcpy(find.here.d, problem->d, (size_t)problem->states * sizeof *find.here.d);
        find.here.J = problem->J;
    }
    NADIR_CHECK(look_down(context, &find));
    while ((reason = reason_to_stop(&find, tolerance)) == NULL && moved &&
           attack->iterations < iterations_limit) {
        NADIR_CHECK(nadir_progress(context, "worst kernel", -1));
        NADIR_CHECK(step(context, &find, &moved));
        attack->iterations++;
        if (moved) {
            NADIR_CHECK(look_down(context, &find));
        }
    }
    attack->converged = reason != NULL || !moved;
    attack->stop_reason = reason != NULL ? reason : moved ? "iterations" : "stable";
    attack->method = "conditional-gradient";
    hand_over(&find, attack);
cleanup:
    finish(context, &find);
    if (status != NADIR_OK) {
        nadir_attack_clear(context, attack);
    }
    return status;
}

/* ------------------------------------------------------------------------------------------------ */

/* g_sa . P_sa - min g_sa over the allowed successors of a row, g = weight v + 2 tau Delta / alpha^2; `p`:
 * [states] of zeros, left so. */
static double row_slack(const search *find, nadir_explicit *kernel, int64_t row, double tau, double *p)
{
    const nadir_problem *problem = find->problem;
    const nadir_row own = nadir_explicit_row(kernel, row);
    const nadir_row nominal = nadir_model_row(problem->model, row);
    const double scale = nadir_uncertainty_scale(problem->uncertainty, row);
    const double pull = 2 * tau / (scale * scale);
    const bool all = problem->uncertainty->domain == NADIR_DOMAIN_SIMPLEX;
    const double *x = find->order.x;
    const double weight = find->weights[row] * find->order.range;
    double smallest = INFINITY;
    double mean = 0;
    for (int64_t i = 0; i < own.count; i++) {
        p[own.columns[i]] += own.values[i];
    }
    for (int64_t i = 0; i < nominal.count; i++) { /* p becomes Delta */
        p[nadir_row_column(&nominal, i)] -= nominal.values[i];
    }
    for (int64_t i = 0; i < own.count; i++) {
        mean += own.values[i] * (weight * x[own.columns[i]] + pull * p[own.columns[i]]);
    }
    for (int64_t t = 0; t < problem->states && all; t++) {
        smallest = fmin(smallest, weight * x[t] + pull * p[t]);
    }
    for (int64_t i = 0; i < nominal.count; i++) {
        const int64_t t = nadir_row_column(&nominal, i);
        if (nominal.values[i] > 0) {
            smallest = fmin(smallest, weight * x[t] + pull * p[t]);
        }
        p[t] = 0;
    }
    for (int64_t i = 0; i < own.count; i++) {
        p[own.columns[i]] = 0;
    }
    return mean - smallest;
}

/* The sum of e_s here, with the multiplier tau; the weights are those of here. */
static nadir_status total_slack(nadir_context *context, search *find, double tau, double *total)
{
    nadir_status status = NADIR_OK;
    nadir_explicit kernel = {0};
    double *p = NULL;
    *total = 0;
    NADIR_NEW_ZERO(context, p, find->problem->states);
    NADIR_CHECK(nadir_explicit_make(context, find->here.kernel, &kernel));
    for (int64_t row = 0; row < find->problem->rows; row++) {
        const bool held = nadir_uncertainty_scale(find->problem->uncertainty, row) == 0;
        *total += held || find->weights[row] == 0 ? 0 : row_slack(find, &kernel, row, tau, p);
    }
cleanup:
    nadir_explicit_clear(context, &kernel);
    nadir_release(context, p);
    return status;
}

/* The point of an attack, and the first linear step from it. */
static nadir_status resume(nadir_context *context, search *find, const nadir_attack *attack)
{
    nadir_status status = NADIR_OK;
    const nadir_problem *problem = find->problem;
    NADIR_CHECK(
        nadir_kernel_mix(context, problem->model, attack->kernel, attack->kernel, 0, &find->here.kernel));
    NADIR_CHECK(evaluate(context, find, &find->here));
    NADIR_CHECK(look_down(context, find));
cleanup:
    return status;
}

/* A full step, whatever it does to the return. *tau: of the kernel that it makes. */
static nadir_status full_step(nadir_context *context, search *find, double *tau)
{
    nadir_status status = NADIR_OK;
    *tau = find->budget.tau;
    NADIR_CHECK(nadir_rows_kernel(context, &find->rows, find->answers, &find->there.kernel));
    NADIR_CHECK(evaluate(context, find, &find->there));
    swap_points(&find->here, &find->there);
    NADIR_CHECK(look_down(context, find));
cleanup:
    return status;
}

nadir_status nadir_descent_polish(nadir_context *context, const nadir_problem *problem, double beta,
                                  double wanted, nadir_attack *attack)
{
    nadir_status status = NADIR_OK;
    search find = {0};
    point best = {0};
    double least = INFINITY;
    double tau = attack->tau;
    if (problem->uncertainty->p != 2) {
        return NADIR_OK;
    }
    NADIR_CHECK(begin(context, problem, beta, &find));
    NADIR_CHECK(new_point(context, problem->states, &best));
    NADIR_CHECK(resume(context, &find, attack));
    for (int worse = 0; worse < 3 && least > wanted;) {
        double slack;
        NADIR_CHECK(nadir_progress(context, "worst kernel", -1));
        NADIR_CHECK(full_step(context, &find, &tau));
        NADIR_CHECK(total_slack(context, &find, tau, &slack));
        worse = slack < least ? 0 : worse + 1;
        if (slack < least) {
            least = slack;
            attack->tau = tau;
            attack->gap = find.gap;
            swap_points(&find.here, &best); /* the next step needs the answers only */
        }
        attack->iterations++;
    }
    nadir_kernel_free(attack->kernel);
    attack->kernel = best.kernel;
    best.kernel = NULL;
    memcpy(attack->v, best.v, (size_t)problem->states * sizeof *attack->v);
    memcpy(attack->d, best.d, (size_t)problem->states * sizeof *attack->d);
    attack->J = best.J;
cleanup:
    clear_point(context, &best);
    finish(context, &find);
    return status;
}
