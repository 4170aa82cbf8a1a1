/* termination.c: how long kernels of a set last; see termination.h. */
#include "proof/termination.h"

#include "core/round.h"
#include "linalg/distributed.h"
#include "linalg/vector.h"
#include "model/terminal.h"
#include "sets/lmo_by_state.h"
#include "solve/value.h"

#include <math.h>
#include <string.h>

/* Steps of the iteration; a rise of w below this share of a step ends it. */
enum { STEPS = 200 };
#define SETTLED 1e-7

/* Where durations may be so many times the nominal one, the other bounds are tried; splits for so many states. Caps form
 * columns of D: with more than a few states that takes longer than an evaluation. */
enum { SPLIT_STATES_MOST = 100, CAP_STATES_FEW = 100 };
#define CAP_ABOVE      1.25
#define CAP_ABOVE_MANY 8
#define SPLIT_ABOVE    16

typedef struct longest {
    nadir_problem problem; /* with a rectangular set */
    nadir_uncertainty set;
    nadir_lmo_rectangular lmo;
    nadir_occupancy *occupancy; /* of the longest kernel so far */
    double *w;                  /* [states] */
    double *v;                  /* [states] -w */
    double *next;               /* [states] 1 + max P^pi w */
    double *ones;               /* [states] */
    double gap, most;           /* of nadir_problem: gap and longest of this set; 0: not known */
} longest;

/* split: this state has the whole radius, others 2^(-1/p) of it; -1: all have the whole one. */
static nadir_status begin(nadir_context *context, const nadir_problem *problem, double factor, int64_t split,
                          longest *self)
{
    nadir_status status = NADIR_OK;
    const int64_t n = problem->states;
    self->problem = *problem;
    self->set = *problem->uncertainty;
    self->problem.uncertainty = &self->set;
    self->problem.landing = 0;
    if (self->set.set == NADIR_SET_NONRECT) {
        self->set.set = NADIR_SET_S;
        self->set.radii = NULL;
    }
    NADIR_NEW(context, self->w, 5 * n);
    self->v = self->w + n;
    self->next = self->w + 2 * n;
    self->ones = self->w + 3 * n;
    double *radii = self->w + 4 * n;
    for (int64_t s = 0; s < n; s++) {
        self->ones[s] = 1;
        radii[s] =
            s == split ? self->set.radius : nadir_round_up(self->set.radius * pow(2, -1 / self->set.p), 8);
    }
    if (split >= 0) {
        self->set.radii = radii;
    }
    NADIR_CHECK(nadir_lmo_rectangular_make(context, &self->problem, factor, &self->lmo));
    NADIR_CHECK(nadir_occupancy_solve(context, problem->occupancy, 1, self->ones, self->w, NULL));
cleanup:
    return status;
}

static void finish(nadir_context *context, longest *self)
{
    nadir_lmo_rectangular_clear(context, &self->lmo);
    nadir_occupancy_free(context, self->occupancy);
    nadir_release(context, self->w);
}

/* The rows that keep longest; returns the largest rise of w. */
static nadir_status respond(nadir_context *context, longest *self, double *rise)
{
    const int64_t n = self->problem.states;
    for (int64_t s = 0; s < n; s++) {
        self->v[s] = -self->w[s];
    }
    NADIR_TRY(nadir_lmo_rectangular_solve(context, &self->lmo, self->v));
    nadir_average_multiply(context, nadir_occupancy_average(self->problem.occupancy), 1, self->w, self->next);
    *rise = 0;
    for (int64_t s = 0; s < n; s++) {
        self->next[s] += 1 + self->lmo.gain[s];
        *rise = fmax(*rise, self->next[s] - self->w[s]);
    }
    return NADIR_OK;
}

/* w of the kernel of these rows. *ends: false where it does not seem to end. */
static nadir_status evaluate(nadir_context *context, longest *self, bool *ends)
{
    nadir_status status = NADIR_OK;
    nadir_kernel *kernel = NULL;
    nadir_occupancy_free(context, self->occupancy);
    self->occupancy = NULL;
    NADIR_CHECK(nadir_lmo_rectangular_kernel(context, &self->lmo, &kernel));
    NADIR_CHECK(nadir_occupancy_perturb(context, self->problem.occupancy, kernel, self->problem.policy,
                                        &self->occupancy));
    NADIR_CHECK(nadir_occupancy_solve(context, self->occupancy, 1, self->ones, self->next, NULL));
    *ends = true;
    for (int64_t s = 0; s < self->problem.states; s++) { /* durations do not fall from step to step */
        *ends = *ends && self->next[s] >= self->w[s] * (1 - 1e-6);
        self->w[s] = self->next[s];
    }
cleanup:
    nadir_kernel_free(kernel);
    if (status == NADIR_ERROR_ILL_POSED || status == NADIR_ERROR_NOT_CONVERGED) {
        *ends = false;
        status = NADIR_OK;
    }
    return status;
}

/* What rows of all kernels add to w is proven by weak duality; the rest is one pass over the nominal rows. */
static nadir_status conclude(nadir_context *context, longest *self)
{
    nadir_status status = NADIR_OK;
    const nadir_problem *problem = &self->problem;
    const nadir_model *model = problem->model;
    const double *pi = problem->policy->probabilities;
    double *products = NULL;
    double error;
    double least = INFINITY;
    nadir_kernel_size size;
    NADIR_NEW(context, products, problem->rows);
    NADIR_CHECK(nadir_lmo_rectangular_bound(context, &self->lmo, self->next));
    nadir_kernel_multiply(context, problem->kernel, self->w, products);
    nadir_kernel_measure(context, problem->kernel, &size);
    const double largest = nadir_vector_largest(problem->states, self->w);
    const double off = fmax(fabs(1 - size.sum_low), fabs(size.sum_high - 1)); /* rows of the set sum to one */
    const double rounding =
        nadir_bellman_rounding(&size, 1, nadir_model_most_actions(model), 0, 2 * largest) + off * largest;
    for (int64_t s = 0; s < problem->states; s++) {
        double product = self->next[s];
        for (int64_t row = model->state_rows[s]; row < model->state_rows[s + 1]; row++) {
            product += pi[row] * products[row];
        }
        least = fmin(least, self->w[s] > 0 ? self->w[s] - product : -INFINITY);
    }
    const double rest = least - rounding; /* w - P^pi w is at least this */
    const double mean = nadir_vector_dot(problem->states, problem->mu, self->w, &error);
    if (rest > 0.5 && isfinite(mean)) {
        self->gap = nadir_round_down(rest / (mean + error), 16);
        self->most = nadir_round_up(largest / rest, 8);
    }
cleanup:
    nadir_release(context, products);
    return status;
}

/* *gap and *most of one rectangular set. */
static nadir_status prove(nadir_context *context, const nadir_problem *problem, double factor, int64_t split,
                          double *gap, double *most)
{
    nadir_status status = NADIR_OK;
    longest self = {.most = INFINITY};
    bool ends = true;
    double rise = INFINITY;
    NADIR_CHECK(begin(context, problem, factor, split, &self));
    NADIR_CHECK(respond(context, &self, &rise));
    for (int step = 0; step < STEPS && ends && rise > SETTLED; step++) {
        NADIR_CHECK(evaluate(context, &self, &ends));
        if (ends) {
            NADIR_CHECK(respond(context, &self, &rise));
        }
    }
    if (ends && rise < 0.25) {
        NADIR_CHECK(conclude(context, &self));
    }
    *gap = self.gap;
    *most = self.most;
cleanup:
    finish(context, &self);
    return status;
}

/* The non-rectangular ball lies in the union over all states: the worst of them. */
static nadir_status prove_split(nadir_context *context, nadir_problem *problem, double factor)
{
    double least = INFINITY;
    double most = 0;
    for (int64_t s = 0; s < problem->states && least > problem->gap; s++) {
        double gap;
        double all;
        if (!nadir_model_ends(problem->model, s)) {
            NADIR_TRY(prove(context, problem, factor, s, &gap, &all));
            least = fmin(least, gap);
            most = fmax(most, all);
        }
    }
    if (least > problem->gap) {
        problem->gap = least;
        problem->longest = fmin(problem->longest, most);
    }
    return NADIR_OK;
}

/* Of a rectangular set of domain free, kernels without negative entries. */
static nadir_status prove_valid(nadir_context *context, nadir_problem *problem, double factor)
{
    nadir_uncertainty valid = *problem->uncertainty;
    nadir_problem of = *problem;
    valid.domain = NADIR_DOMAIN_SIMPLEX;
    of.uncertainty = &valid;
    return prove(context, &of, factor, -1, &problem->gap, &problem->longest);
}

void nadir_termination_clear(nadir_context *context, nadir_problem *problem)
{
    nadir_release(context, problem->most);
    problem->most = NULL;
}

nadir_status nadir_termination_prove(nadir_context *context, nadir_problem *problem, double factor)
{
    const nadir_uncertainty *set = problem->uncertainty;
    if (problem->gamma != 1) {
        return NADIR_OK;
    }
    nadir_termination_clear(context, problem);
    problem->gap = 0;
    problem->longest = INFINITY;
    if (set->domain == NADIR_DOMAIN_FREE) {
        return set->set == NADIR_SET_NONRECT ? NADIR_OK : prove_valid(context, problem, factor);
    }
    NADIR_TRY(prove(context, problem, factor, -1, &problem->gap, &problem->longest));
    const double nominal = 1 / nadir_vector_sum(problem->states, problem->d);
    const double above = problem->states <= CAP_STATES_FEW ? CAP_ABOVE : CAP_ABOVE_MANY;
    if (set->set == NADIR_SET_NONRECT && problem->gap * above < nominal) {
        NADIR_TRY(nadir_duration_cap(context, problem, factor));
    }
    if (set->set == NADIR_SET_NONRECT && problem->gap * SPLIT_ABOVE < nominal &&
        problem->states <= SPLIT_STATES_MOST) {
        NADIR_TRY(prove_split(context, problem, factor));
    }
    return NADIR_OK;
}
