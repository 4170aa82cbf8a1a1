/*
 * frank_wolfe_polish.c: full steps after a search, P <- argmin over the set of <G, X>, until the sum over states
 * of e_s is small (frank_wolfe.h).
 *
 * A search ends when its gap is small; a proof needs the sum over rows of what each lacks of optimality to be
 * small. Near the end full steps contract, even where the return does not fall. Where they overshoot, shorter ones
 * contract: at a minimum a step multiplies what is left by eigenvalues below 1, which may be below -1.
 */
#include "linalg/distributed.h"
#include "linalg/threads.h"
#include "model/kernel.h"
#include "model/kernel_device.h"
#include "model/landing.h"
#include "search/frank_wolfe.h"

#include <math.h>
#include <string.h>

/* Steps that make it worse, in a row but for some that do not improve on the best, end it; and the relative change that
 * counts as none. */
enum { WORSE = 3 };
#define STILL 1e-3

/* g_sa . P_sa - min g_sa over the allowed successors of a row, g = weight (v + landing e) + 2 tau Delta /
 * alpha^2; `p`: [states] and ghosts, zeros, left so. */
static double row_slack(const nadir_frank_wolfe *self, nadir_explicit *kernel, int64_t row, double weight,
                        double tau, double *p)
{
    const nadir_problem *problem = self->problem;
    const nadir_row own = nadir_explicit_row(kernel, row);
    const nadir_row nominal = nadir_model_row(problem->model, row);
    const double scale = nadir_uncertainty_scale(problem->uncertainty, row);
    const double pull = weight * problem->landing;
    const double unit = pull != 0 ? 2 * tau / (scale * scale) : 1; /* e is none of Delta's multiples */
    const double hold = pull != 0 ? 1 : 2 * tau / (scale * scale);
    const bool all = problem->uncertainty->domain == NADIR_DOMAIN_SIMPLEX;
    const double *x = self->order.x;
    const double force = weight * self->order.range;
    double smallest = INFINITY;
    double mean = 0;
    for (int64_t i = 0; i < own.count; i++) {
        p[own.columns[i]] += unit * own.values[i];
    }
    for (int64_t i = 0; i < nominal.count; i++) { /* hold p becomes 2 tau Delta / alpha^2 + pull e */
        p[nadir_row_column(&nominal, i)] -= unit * nominal.values[i];
    }
    if (pull != 0) {
        nadir_landing_add(problem->model, row, pull, false, p);
    }
    for (int64_t i = 0; i < own.count; i++) {
        mean += own.values[i] * (force * x[own.columns[i]] + hold * p[own.columns[i]]);
    }
    /* of the states that neither row lists the first one has the smallest g = force x */
    const int32_t *order = self->order.unsorted ? NULL : self->order.order;
    const int64_t some = order != NULL ? own.count + nominal.count + 1 : problem->states;
    for (int64_t i = 0; all && i < some && i < problem->states; i++) {
        const int64_t t = order != NULL ? order[i] : i;
        smallest = fmin(smallest, force * x[t] + hold * p[t]);
    }
    for (int64_t i = 0; i < own.count && all; i++) {
        smallest = fmin(smallest, force * x[own.columns[i]] + hold * p[own.columns[i]]);
    }
    for (int64_t i = 0; i < nominal.count; i++) {
        const int64_t t = nadir_row_column(&nominal, i);
        if (all || nominal.values[i] > 0) {
            smallest = fmin(smallest, force * x[t] + hold * p[t]);
        }
        p[t] = 0;
    }
    for (int64_t i = 0; i < own.count; i++) {
        p[own.columns[i]] = 0;
    }
    return mean - smallest;
}

/* The same of a row that is stored at the entries of the nominal one. own: its values there; all: entries that
 * are nominally zero are allowed, too; general: landing is not 0. */
static inline double stored_slack_of(const nadir_frank_wolfe *self, const double *own, bool all, int64_t row,
                                     double weight, double tau, bool general)
{
    const nadir_problem *problem = self->problem;
    const int64_t start = nadir_landing_entry(problem->model, row);
    const nadir_row nominal = nadir_model_row(problem->model, row);
    const double scale = nadir_uncertainty_scale(problem->uncertainty, row);
    const double hold = 2 * tau / (scale * scale);
    const double force = weight * self->order.range;
    const double pull = weight * problem->landing;
    const double *weights = problem->uncertainty->weights;
    double smallest = INFINITY;
    double mean = 0;
    double mass = weights != NULL ? 0 : 1; /* of entries that move */
    for (int64_t i = 0; i < nominal.count; i++) {
        const int64_t t = nadir_row_column(&nominal, i);
        const double weight_here = weights != NULL ? weights[start + i] : 1;
        if (weight_here == 0) {
            continue;
        }
        const double change = hold * (own[i] - nominal.values[i]) / (weight_here * weight_here);
        const double paid = general ? nadir_landing_e(problem->model, row, start + i, t) : 0;
        const double g = force * self->order.x[t] + change + (general ? pull * paid : 0);
        const double allowed = all || nominal.values[i] > 0 ? g : INFINITY;
        mean += own[i] * g;
        mass += weights != NULL ? own[i] : 0;
        smallest = allowed < smallest ? allowed : smallest;
    }
    return mean - mass * smallest;
}

static double stored_slack(const nadir_frank_wolfe *self, const double *own, bool all, int64_t row,
                           double weight, double tau)
{
    return self->problem->landing != 0 ? stored_slack_of(self, own, all, row, weight, tau, true)
                                       : stored_slack_of(self, own, all, row, weight, tau, false);
}

/* The same in a box. g: [entries] work space. */
static double box_slack(const nadir_frank_wolfe *self, const double *own, int64_t row, double weight,
                        double tau, double *g)
{
    const nadir_problem *problem = self->problem;
    const int64_t start = problem->model->row_starts[row];
    const nadir_row nominal = nadir_model_row(problem->model, row);
    const double *lower = problem->uncertainty->lower + start;
    const double *upper = problem->uncertainty->upper + start;
    const double scale = nadir_uncertainty_scale(problem->uncertainty, row);
    const double hold = 2 * tau / (scale * scale);
    double slack = 0;
    for (int64_t i = 0; i < nominal.count; i++) {
        const int64_t t = nadir_row_column(&nominal, i);
        const double paid = problem->landing != 0 ? nadir_landing_e(problem->model, row, start + i, t) : 0;
        g[i] = weight * (self->order.range * self->order.x[t] + problem->landing * paid) +
               hold * (own[i] - nominal.values[i]);
    }
    const double omega = nadir_lmo_box_level(nominal.count, g, own, lower, upper);
    for (int64_t i = 0; i < nominal.count; i++) {
        slack += fabs(g[i] - omega) * (g[i] > omega ? own[i] - lower[i] : upper[i] - own[i]);
    }
    return slack;
}

/* The sum of e_s of a kernel whose value and occupancy are those of `current`, with the multiplier tau. */
static nadir_status total_slack(nadir_context *context, nadir_frank_wolfe *self, nadir_kernel *own,
                                double tau, double *total)
{
    nadir_status status = NADIR_OK;
    const bool support = self->problem->uncertainty->domain == NADIR_DOMAIN_SUPPORT;
    const nadir_model *model = self->problem->model;
    const nadir_lmo_weights weights = nadir_frank_wolfe_weights(self);
    nadir_explicit kernel = {0};
    double *p = NULL;
    bool done = false;
    *total = 0;
    if (self->on_device) {
        NADIR_CHECK(
            nadir_lmo_device_slack(context, &self->device_lmo, own, self->order.range, tau, total, &done));
        if (done) {
            goto cleanup;
        }
    }
    NADIR_CHECK(nadir_kernel_device_fetch(context, own));
    NADIR_NEW_ZERO(context, p, nadir_model_width(self->problem->model));
    NADIR_CHECK(nadir_explicit_make(context, own, &kernel));
    for (int64_t s = 0; s < model->states; s++) {
        for (int64_t row = model->state_rows[s]; row < model->state_rows[s + 1]; row++) {
            const double weight = nadir_lmo_weight(&weights, s, row);
            if (nadir_uncertainty_scale(self->problem->uncertainty, row) == 0 || weight == 0) {
                continue;
            }
            const double *stored = support                ? nadir_kernel_on_support(own, row)
                                   : model->dense != NULL ? nadir_explicit_dense_row(&kernel, row)
                                                          : NULL;
            *total += stored == NULL ? row_slack(self, &kernel, row, weight, tau, p)
                      : self->problem->uncertainty->lower != NULL
                          ? box_slack(self, stored, row, weight, tau, p)
                          : stored_slack(self, stored, !support, row, weight, tau);
        }
    }
    *total = nadir_allreduce_sum(context, *total);
cleanup:
    nadir_explicit_clear(context, &kernel);
    nadir_release(context, p);
    return status;
}

/* A full step, even where the return does not fall. *tau: the multiplier of its kernel. */
static nadir_status full_step(nadir_context *context, nadir_frank_wolfe *self, double *tau)
{
    *tau = self->budget.tau;
    if (self->next.kernel == NULL) { /* solutions are of v and d, and what they came from is written over */
        self->next.kernel = self->current.kernel;
        self->current.kernel = NULL;
    }
    NADIR_TRY(nadir_frank_wolfe_write(context, self, &self->next.kernel));
    NADIR_TRY(nadir_frank_wolfe_evaluate(context, self, &self->current, &self->next));
    nadir_frank_wolfe_point_swap(&self->current, &self->next);
    return nadir_frank_wolfe_lmo(context, self, false);
}

/* Goes on from a point between the one that the last step started from, `from`, and the one that it led to. from:
 * [2 states] v and d, replaced. */
static nadir_status shorten(nadir_context *context, nadir_frank_wolfe *self, double share, double *from)
{
    const int64_t n = self->problem->states;
    for (int64_t s = 0; s < n; s++) {
        from[s] += share * (self->current.v[s] - from[s]);
        from[n + s] += share * (self->current.d[s] - from[n + s]);
    }
    if (share == 1) {
        return NADIR_OK;
    }
    NADIR_TRY(nadir_frank_wolfe_place(context, &self->current, n, from, from + n));
    return nadir_frank_wolfe_lmo(context, self, false);
}

/* The candidate becomes `current` and takes its kernel: the next step needs row solutions, v and d alone. */
static void take_point(nadir_frank_wolfe *self, double tau, nadir_candidate *candidate)
{
    const size_t bytes = (size_t)self->problem->states * sizeof *candidate->v;
    nadir_kernel *before = candidate->kernel;
    candidate->kernel = self->current.kernel;
    self->current.kernel = before;
    memcpy(candidate->v, self->current.v, bytes);
    memcpy(candidate->d, self->current.d, bytes);
    candidate->J = self->current.J;
    candidate->tau = tau;
}

/* The gap of the candidate. passed: it is not `current`. */
static nadir_status measure(nadir_context *context, nadir_frank_wolfe *self, bool passed,
                            nadir_candidate *candidate)
{
    if (passed) {
        NADIR_TRY(nadir_frank_wolfe_place(context, &self->current, self->problem->states, candidate->v,
                                          candidate->d));
        NADIR_TRY(nadir_frank_wolfe_lmo(context, self, false));
    }
    NADIR_TRY(nadir_frank_wolfe_gap(context, self, candidate->kernel));
    candidate->gap = self->gap;
    return NADIR_OK;
}

nadir_status nadir_frank_wolfe_polish(nadir_context *context, const nadir_problem *problem, double beta,
                                      nadir_frank_wolfe *search, double wanted, nadir_candidate *candidate)
{
    nadir_status status = NADIR_OK;
    nadir_frank_wolfe *own = NULL;
    nadir_frank_wolfe *self = search;
    const int64_t n = problem->states;
    double least;
    double tau = candidate->tau;
    double share = 1;
    double *from = NULL;
    bool taken = false;
    bool passed = false;
    if (problem->uncertainty->p != 2) {
        return NADIR_OK;
    }
    NADIR_NEW(context, from, 2 * n);
    memcpy(from, candidate->v, (size_t)n * sizeof *from);
    memcpy(from + n, candidate->d, (size_t)n * sizeof *from);
    if (search == NULL) {
        NADIR_CHECK(nadir_frank_wolfe_create(context, problem, &own));
        self = own;
        self->beta = beta;
    }
    NADIR_CHECK(nadir_frank_wolfe_place(context, &self->current, n, candidate->v, candidate->d));
    if (search == NULL) {
        NADIR_CHECK(nadir_frank_wolfe_lmo(context, self, false));
    }
    NADIR_CHECK(total_slack(context, self, candidate->kernel, tau, &least));
    double before = least;
    for (int worse = 0; worse < WORSE && least > wanted;) {
        double slack;
        NADIR_CHECK(nadir_progress(context, "worst kernel", -1));
        self->rough = problem->model->dense != NULL; /* steps make v and d better than one solve does */
        NADIR_CHECK(full_step(context, self, &tau));
        NADIR_CHECK(total_slack(context, self, self->current.kernel, tau, &slack));
        /* the error of the solves does not change from step to step */
        const bool still = fabs(slack - least) <= STILL * least;
        const bool falls = slack < before;
        passed = !(slack < least);
        worse = still ? WORSE : !passed ? 0 : falls ? worse : worse + 1;
        before = slack;
        if (!passed) {
            least = slack;
            taken = true;
            take_point(self, tau, candidate);
        }
        share = falls ? share : 0.5 * share;
        if (worse < WORSE && least > wanted) {
            NADIR_CHECK(shorten(context, self, share, from));
            passed = passed || share < 1;
        }
        candidate->iterations++;
    }
    NADIR_CHECK(taken ? measure(context, self, passed, candidate) : NADIR_OK);
    NADIR_CHECK(nadir_kernel_device_fetch(context, candidate->kernel));
cleanup:
    nadir_frank_wolfe_free(context, own);
    nadir_release(context, from);
    return status;
}

/* -------------------------------------- one inexact response, for an optimisation of the policy */

/* x . y */
static double dot(int64_t count, const double *x, const double *y)
{
    double sum = 0;
    for (int64_t i = 0; i < count; i++) {
        sum += x[i] * y[i];
    }
    return sum;
}

static void subtract_mean(int64_t count, double *x)
{
    double mean = 0;
    for (int64_t i = 0; i < count; i++) {
        mean += x[i];
    }
    mean /= (double)count;
    for (int64_t i = 0; i < count; i++) {
        x[i] -= mean;
    }
}

/* |moved (v' + landing e) + d (v' - v)|^2 of a row less the same without e, `after` and `change` centred. e need
 * not be: that makes it larger. */
static double landing_square(const nadir_problem *problem, int64_t row, double moved, double d,
                             const double *after, const double *change)
{
    const nadir_row nominal = nadir_model_row(problem->model, row);
    const int64_t start = nadir_landing_entry(problem->model, row);
    double sum = 0;
    for (int64_t i = 0; i < nominal.count; i++) {
        const int64_t t = nadir_row_column(&nominal, i);
        const double e = moved * problem->landing * nadir_landing_e(problem->model, row, start + i, t);
        sum += e * (e + 2 * (moved * after[t] + d * change[t]));
    }
    return sum;
}

/* Sum over rows of alpha^2 |w' c' - w c|^2 / (4 tau), c = v + landing e, all values centred, from w' c' - w c =
 * (w' - w) c' + w (v' - v), which avoids cancellation. */
static double bound_gap(const nadir_frank_wolfe *self)
{
    const nadir_problem *problem = self->problem;
    const nadir_model *model = problem->model;
    const double *before = self->current.v;
    double *change = self->work;
    double *after = self->work + problem->states;
    for (int64_t s = 0; s < problem->states; s++) {
        after[s] = self->next.v[s];
        change[s] = after[s] - before[s];
    }
    subtract_mean(problem->states, after);
    subtract_mean(problem->states, change);
    const double v_v = dot(problem->states, after, after);
    const double v_c = dot(problem->states, after, change);
    const double c_c = dot(problem->states, change, change);
    double sum = 0;
    for (int64_t s = 0; s < problem->states; s++) {
        const double d = fmax(self->current.d[s], 0);
        const double moved = fmax(self->next.d[s], 0) - d;
        const double state = moved * moved * v_v + 2 * moved * d * v_c + d * d * c_c;
        double square = 0;
        for (int64_t row = model->state_rows[s]; row < model->state_rows[s + 1]; row++) {
            const double share = nadir_uncertainty_scale(problem->uncertainty, row) * problem->gamma *
                                 problem->policy->probabilities[row];
            square += share * share;
            if (problem->landing != 0) {
                sum += share * share * landing_square(problem, row, moved, d, after, change);
            }
        }
        sum += square * fmax(state, 0);
    }
    return self->budget.tau > 0 ? sum / (4 * self->budget.tau) : INFINITY;
}

nadir_status nadir_frank_wolfe_inexact(nadir_context *context, nadir_frank_wolfe *frank_wolfe, double beta,
                                       const double *v, const double *d, nadir_candidate *candidate)
{
    const int64_t states = frank_wolfe->problem->states;
    nadir_frank_wolfe_point *current = &frank_wolfe->current;
    nadir_frank_wolfe_point *next = &frank_wolfe->next;
    frank_wolfe->beta = beta;
    NADIR_TRY(nadir_frank_wolfe_place(context, current, states, v, d));
    NADIR_TRY(nadir_frank_wolfe_place(context, next, states, v, d));
    NADIR_TRY(nadir_frank_wolfe_lmo(context, frank_wolfe, false));
    NADIR_TRY(nadir_frank_wolfe_write(context, frank_wolfe, &next->kernel));
    NADIR_TRY(nadir_kernel_solver_set(context, &frank_wolfe->solver, next->kernel));
    NADIR_TRY(nadir_kernel_device_fetch(context, next->kernel));
    NADIR_TRY(nadir_kernel_solver_approach(context, &frank_wolfe->solver, next->v, next->d, &next->J));
    *candidate = (nadir_candidate){
        .kernel = next->kernel,
        .J = next->J,
        .method = "conditional-gradient",
        .stop = NADIR_STOP_ITERATIONS,
        .iterations = 1,
        .v = next->v,
        .d = next->d,
        .tau = frank_wolfe->budget.tau,
        .gap = bound_gap(frank_wolfe),
        .lambda = frank_wolfe->budget.gain,
    };
    next->kernel = NULL;
    next->v = NULL;
    next->d = NULL;
    return NADIR_OK;
}
