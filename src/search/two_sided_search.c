/*
 * two_sided_search.c: multipliers of the two-sided Lagrangian bound by cutting planes in a trust box; see
 * two_sided_search.h.
 */
#include "search/two_sided_search.h"

#include "linalg/vector.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* Policies that are kept, and those of them that a search starts with. */
enum { POOL = 160, FIRST = 20 };
/* Policies that tell which ends matter. */
enum { RECENT = 8 };
/* Policy iteration ends when v can fall by no more than this share of its size. */
#define TOLERANCE 1e-12
#define LARGEST   1e150 /* of v */
enum { POLICIES = 60 };
/* Cuts of known policies that are added before one more process is solved. */
enum { ADDED = 2 };
/* By how much processes have wider boxes: ten times the room of an end (proof/derivation.c). */
#define WIDER 1e-8
/* Accuracy of a step, as a share of what it promises. */
#define LOOSE 0.15
/* The trust box at first, as a share of the multipliers: 0.5 takes up to twice as many processes, most of them to make it
 * smaller (machine replacement and gridworld, p = 1.5). */
#define REACH 0.25
/* After so many processes that raise the bound by less than SOME of the accuracy it must promise MUCH of it to go on. */
enum { PATIENCE = 3 };
#define SOME 0.25
#define MUCH 5
/* A multiplier k that is small may grow to this share of tau beta^p in one step. */
#define LEAST 0.03

nadir_status nadir_two_sided_search_make(nadir_context *context, const nadir_problem *problem, double beta,
                                         const nadir_occupancy_bounds *box, nadir_two_sided_search *self)
{
    nadir_status status = NADIR_OK;
    const int64_t n = problem->states;
    const int64_t size = n + NADIR_MULTIPLIERS;
    *self = (nadir_two_sided_search){
        .problem = problem, .box = box, .beta = beta, .solver = {.problem = problem}};
    self->until = INFINITY;
    self->power = nadir_power(beta, problem->uncertainty->p);
    NADIR_NEW_ZERO(context, self->owned,
                   9 * n + POOL * (2 * n + 1) + NADIR_CUTS_MOST * (size + 1) + 3 * size);
    double *next = self->owned;
    double **const arrays[] = {&self->low_end, &self->end, &self->charged, &self->work, &self->v,
                               &self->d,       &self->x,   &self->least,   &self->most};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++, next += n) {
        *arrays[i] = next;
    }
    self->pool = next;
    self->cuts = self->pool + POOL * (2 * n + 1);
    self->centre = self->cuts + NADIR_CUTS_MOST * (size + 1);
    self->trial = self->centre + size;
    self->scale = self->trial + size;
    NADIR_NEW(context, self->variables, size);
    NADIR_CHECK(nadir_cutting_planes_make(context, size, &self->planes));
    NADIR_CHECK(nadir_lmo_penalized_make(context, problem, beta, self->most, &self->high));
    NADIR_CHECK(nadir_lmo_penalized_make(context, problem, beta, self->low_end, &self->low));
    NADIR_CHECK(nadir_lmo_penalized_make(context, problem, beta, self->end, &self->mixed));
cleanup:
    if (status != NADIR_OK) {
        nadir_two_sided_search_clear(context, self);
    }
    return status;
}

void nadir_two_sided_search_clear(nadir_context *context, nadir_two_sided_search *self)
{
    nadir_lmo_penalized_clear(context, &self->high);
    nadir_lmo_penalized_clear(context, &self->low);
    nadir_lmo_penalized_clear(context, &self->mixed);
    nadir_kernel_solver_clear(context, &self->solver);
    nadir_kernel_free(self->kernel);
    nadir_cutting_planes_clear(context, &self->planes);
    nadir_release(context, self->owned);
    nadir_release(context, self->variables);
    *self = (nadir_two_sided_search){0};
}

/* ------------------------------------------------------------------ the process of some multipliers */

/* v of a wider box proves as much of any box inside: of those that other backends come to. */
static void widen(nadir_two_sided_search *self)
{
    const double room = 4 * self->problem->d_error;
    const double *caps = self->box->least != NULL ? self->box->least + self->problem->states : NULL;
    self->high.caps = caps;
    self->low.caps = caps;
    self->mixed.caps = caps;
    for (int64_t s = 0; s < self->problem->states; s++) {
        const double high = self->box->high[s];
        self->most[s] = high > 0 ? (1 + WIDER) * high + room : 0;
        self->least[s] = fmax(0, (1 - WIDER) * self->box->low[s] - room);
    }
}

/* Rows that answer to v with rewards zeta R. */
static nadir_status respond(nadir_context *context, nadir_lmo_penalized *lmo, double zeta, double tau,
                            const double *v)
{
    const nadir_model *model = lmo->problem->model;
    lmo->rows.landing = zeta * lmo->problem->landing;
    lmo->order.spread = lmo->problem->landing != 0
                            ? fabs(lmo->rows.landing) * (model->landing.e_high - model->landing.e_low)
                            : 0;
    return nadir_lmo_penalized_solve(context, lmo, tau, v);
}

/* The answers to self->v: the rows of `mixed` and the ends that they are charged at. *most: max v - Tv. */
static nadir_status choose(nadir_context *context, nadir_two_sided_search *self,
                           const nadir_two_sided_goal *goal, const double *multipliers, double *most)
{
    const nadir_problem *problem = self->problem;
    const int64_t n = problem->states;
    const double tau = multipliers[NADIR_AT_TAU];
    const double zeta = multipliers[NADIR_AT_ZETA];
    const double *k = multipliers + NADIR_MULTIPLIERS;
    const int64_t *rows = problem->model->state_rows;
    NADIR_TRY(respond(context, &self->high, zeta, tau, self->v));
    NADIR_TRY(respond(context, &self->low, zeta, tau, self->v));
    self->mixed.rows.landing = self->high.rows.landing;
    self->mixed.order.spread = self->high.order.spread;
    NADIR_TRY(nadir_value_order_make(context, n, self->v, &self->mixed.order));
    nadir_average_multiply(context, nadir_occupancy_average(problem->occupancy), 1, self->v, self->work);
    *most = 0;
    for (int64_t s = 0; s < n; s++) {
        const double high = self->most[s];
        const double at_high = self->high.taken[s] + (k[s] > 0 ? k[s] / high : 0);
        const double at_low = k[s] > 0 ? self->low.taken[s] + k[s] / self->least[s] : -INFINITY;
        const nadir_lmo_penalized *used = at_low > at_high ? &self->low : &self->high;
        const double next = zeta * problem->R[s] + (s == goal->t ? goal->theta : 0) +
                            problem->gamma * self->work[s] - fmax(at_high, at_low);
        *most = self->v[s] - next <= *most ? *most : self->v[s] - next;
        self->end[s] = at_low > at_high ? self->least[s] : high;
        self->mixed.norms[s] = used->norms[s];
        for (int64_t row = rows[s]; row < rows[s + 1] && used->solutions != NULL; row++) {
            self->mixed.solutions[row] = used->solutions[row];
        }
    }
    return NADIR_OK;
}

/* v of the rows and ends that were chosen; infinity somewhere: there is none in the range of numbers. */
static nadir_status evaluate(nadir_context *context, nadir_two_sided_search *self,
                             const nadir_two_sided_goal *goal, const double *multipliers)
{
    const double tau = multipliers[NADIR_AT_TAU];
    const double zeta = multipliers[NADIR_AT_ZETA];
    const double *k = multipliers + NADIR_MULTIPLIERS;
    NADIR_TRY(nadir_lmo_penalized_kernel(context, &self->mixed, tau, &self->kernel));
    NADIR_TRY(nadir_kernel_solver_set(context, &self->solver, self->kernel));
    const double *R = nadir_kernel_solver_rewards(&self->solver);
    bool finite = true;
    for (int64_t s = 0; s < self->problem->states; s++) {
        self->x[s] = nadir_power(self->mixed.norms[s], self->problem->uncertainty->p);
        self->charged[s] = zeta * R[s] + (s == goal->t ? goal->theta : 0) +
                           nadir_lmo_penalized_cost(&self->mixed, tau, s, self->mixed.norms[s]) -
                           (k[s] > 0 ? k[s] / self->end[s] : 0);
        finite = finite && isfinite(self->charged[s]);
    }
    if (!finite) {
        self->v[0] = INFINITY;
        return NADIR_OK;
    }
    return nadir_occupancy_solve(context, self->solver.occupancy, 1, self->charged, self->v, NULL);
}

/* v = Tv from self->v, and what its policy does; *value: the bound. */
static nadir_status solve_process(nadir_context *context, nadir_two_sided_search *self,
                                  const nadir_two_sided_goal *goal, const double *multipliers, double *value)
{
    const nadir_problem *problem = self->problem;
    const int64_t n = problem->states;
    const double *k = multipliers + NADIR_MULTIPLIERS;
    double most;
    double error;
    double before = INFINITY;
    bool done = false;
    for (int64_t s = 0; s < n; s++) {
        self->low_end[s] = k[s] > 0 ? self->least[s] : 0;
    }
    *value = -INFINITY;
    NADIR_TRY(choose(context, self, goal, multipliers, &most));
    for (int i = 0; i < POLICIES && !done; i++) {
        const nadir_status status = evaluate(context, self, goal, multipliers);
        if (problem->gamma == 1 && (status == NADIR_ERROR_ILL_POSED || status == NADIR_ERROR_NOT_CONVERGED)) {
            self->v[0] = INFINITY; /* kernels that never end */
        } else {
            NADIR_TRY(status);
        }
        if (!(nadir_vector_largest(n, self->v) <= LARGEST)) { /* numbers that lead nowhere */
            memset(self->v, 0, (size_t)n * sizeof *self->v);
            return NADIR_OK;
        }
        NADIR_TRY(choose(context, self, goal, multipliers, &most));
        const double sum = nadir_vector_sum(n, self->v);
        done = most <= TOLERANCE * problem->rest * nadir_vector_largest(n, self->v) || sum >= before;
        before = sum;
    }
    NADIR_TRY(
        nadir_occupancy_solve_transposed(context, self->solver.occupancy, 1, problem->mu, self->d, NULL));
    self->paid = nadir_vector_dot(n, self->d, nadir_kernel_solver_rewards(&self->solver), &error);
    self->solves++;
    *value = nadir_vector_dot(n, problem->mu, self->v, &error) - multipliers[NADIR_AT_TAU] * self->power +
             nadir_vector_sum(n, k) - multipliers[NADIR_AT_ZETA] * self->level - most / problem->rest;
    return NADIR_OK;
}

/* ------------------------------------------------------------------------------------------ cuts */

typedef struct policy {
    const double *d, *x;
    double paid;
} policy;

static policy policy_at(const nadir_two_sided_search *self, int64_t i)
{
    const double *at = self->pool + i * (2 * self->problem->states + 1);
    return (policy){at, at + self->problem->states, at[2 * self->problem->states]};
}

static void keep_policy(nadir_two_sided_search *self)
{
    const int64_t n = self->problem->states;
    double *at = self->pool + self->pool_next * (2 * n + 1);
    memcpy(at, self->d, (size_t)n * sizeof *at);
    memcpy(at + n, self->x, (size_t)n * sizeof *at);
    at[2 * n] = self->paid;
    self->pool_next = (self->pool_next + 1) % POOL;
    self->pool_count = self->pool_count < POOL ? self->pool_count + 1 : POOL;
}

/* What a policy costs in a state, at its dearer end. *end: that one. */
static double cost_of(const nadir_two_sided_search *self, const policy *by, const double *multipliers,
                      int64_t s, double *end)
{
    const double k = self->least[s] > 0 ? multipliers[NADIR_MULTIPLIERS + s] : 0;
    const double charge = multipliers[NADIR_AT_TAU] * by->x[s] - k;
    *end = charge < 0 ? self->least[s] : self->most[s];
    return *end > 0 ? by->d[s] * charge / *end : 0;
}

/* The value of a policy: at least the bound. */
static double value_of(const nadir_two_sided_search *self, const nadir_two_sided_goal *goal, const policy *by,
                       const double *multipliers)
{
    double value = goal->theta * by->d[goal->t] + multipliers[NADIR_AT_ZETA] * (by->paid - self->level) -
                   multipliers[NADIR_AT_TAU] * self->power;
    double end;
    for (int64_t s = 0; s < self->problem->states; s++) {
        value += multipliers[NADIR_MULTIPLIERS + s] + cost_of(self, by, multipliers, s, &end);
    }
    return value;
}

/* Where its ends stay those at `multipliers` it is affine: value at zero, and slopes. */
static void cut_of(const nadir_two_sided_search *self, const nadir_two_sided_goal *goal, const policy *by,
                   const double *multipliers, double *cut)
{
    const int64_t n = self->problem->states;
    double *slopes = cut + 1;
    double end;
    cut[0] = goal->theta * by->d[goal->t];
    slopes[NADIR_AT_ZETA] = by->paid - self->level;
    slopes[NADIR_AT_TAU] = -self->power;
    for (int64_t s = 0; s < n; s++) {
        (void)cost_of(self, by, multipliers, s, &end);
        slopes[NADIR_AT_TAU] += end > 0 ? by->d[s] * by->x[s] / end : 0;
        slopes[NADIR_MULTIPLIERS + s] = end > 0 ? 1 - by->d[s] / end : 1;
    }
}

static double *cut_at(const nadir_two_sided_search *self, int64_t i)
{
    return self->cuts + i * (self->problem->states + NADIR_MULTIPLIERS + 1);
}

static double cut_value(const nadir_two_sided_search *self, int64_t i, const double *multipliers)
{
    const double *cut = cut_at(self, i);
    double value = cut[0];
    for (int64_t j = 0; j < self->problem->states + NADIR_MULTIPLIERS; j++) {
        value += cut[1 + j] * multipliers[j];
    }
    return value;
}

/* In place of the cut that is farthest from mattering at the centre, where there is no room. */
static void add_cut(nadir_two_sided_search *self, const nadir_two_sided_goal *goal, const policy *by,
                    const double *multipliers)
{
    int64_t place = self->planes.count;
    if (place == NADIR_CUTS_MOST) {
        double most = -INFINITY;
        for (int64_t i = 0; i < NADIR_CUTS_MOST; i++) {
            const double value = cut_value(self, i, self->centre);
            if (value > most) {
                most = value;
                place = i;
            }
        }
    } else {
        self->planes.count++;
    }
    cut_of(self, goal, by, multipliers, cut_at(self, place));
}

/* The policies of the lowest value at the centre. */
static void add_first(nadir_two_sided_search *self, const nadir_two_sided_goal *goal)
{
    double values[POOL] = {0};
    self->planes.count = 0;
    for (int64_t i = 0; i < self->pool_count; i++) {
        const policy by = policy_at(self, i);
        values[i] = value_of(self, goal, &by, self->centre);
    }
    for (int64_t count = 0; count < FIRST && count < self->pool_count; count++) {
        int64_t least = 0;
        for (int64_t i = 1; i < self->pool_count; i++) {
            least = values[i] < values[least] ? i : least;
        }
        const policy by = policy_at(self, least);
        add_cut(self, goal, &by, self->centre);
        values[least] = INFINITY;
    }
}

/* Which multipliers may change, and by how much in a step of size 1. */
static void set_variables(nadir_two_sided_search *self, const nadir_two_sided_goal *goal)
{
    const int64_t n = self->problem->states;
    const double *at = self->centre;
    self->variables_count = 0;
    self->variables[self->variables_count++] = NADIR_AT_TAU;
    self->scale[NADIR_AT_TAU] = at[NADIR_AT_TAU];
    if (goal->theta != 0) {
        self->variables[self->variables_count++] = NADIR_AT_ZETA;
        self->scale[NADIR_AT_ZETA] = at[NADIR_AT_ZETA];
    }
    for (int64_t s = 0; s < n; s++) {
        const int64_t j = NADIR_MULTIPLIERS + s;
        if (self->least[s] > 0) {
            self->variables[self->variables_count++] = j;
            self->scale[j] = fmax(at[j], LEAST * at[NADIR_AT_TAU] * self->power);
        }
    }
}

/* The best multipliers for the cuts within `reach` of the centre, in self->trial; *bounded: the box holds them back.
 * Returns their value. */
static double step(nadir_two_sided_search *self, double reach, double best, double accuracy, bool *bounded)
{
    nadir_cutting_planes *planes = &self->planes;
    const int64_t n = self->variables_count;
    const int64_t size = self->problem->states + NADIR_MULTIPLIERS;
    memcpy(self->trial, self->centre, (size_t)size * sizeof *self->trial);
    *bounded = false;
    planes->size = n;
    for (int64_t j = 0; j < n; j++) {
        const int64_t at = self->variables[j];
        const bool positive = at < NADIR_MULTIPLIERS; /* stays so */
        planes->right[j] = reach;
        planes->left[j] = fmin(reach, self->centre[at] / self->scale[at] * (positive ? 0.9 : 1));
    }
    for (int64_t i = 0; i < planes->count; i++) {
        const double *cut = cut_at(self, i);
        planes->values[i] = cut_value(self, i, self->centre) - best;
        for (int64_t j = 0; j < n; j++) {
            planes->slopes[i * n + j] = cut[1 + self->variables[j]] * self->scale[self->variables[j]];
        }
    }
    const double value = nadir_cutting_planes_solve(planes, 0, LOOSE, 0.2 * accuracy);
    if (!isfinite(value) || !isfinite(nadir_vector_largest(n, planes->y))) {
        return best;
    }
    for (int64_t j = 0; j < n; j++) {
        self->trial[self->variables[j]] += planes->y[j] * self->scale[self->variables[j]];
        *bounded = *bounded || planes->y[j] > 0.8 * reach ||
                   (planes->y[j] < -0.8 * reach && planes->left[j] >= reach);
    }
    for (int64_t s = 0; s < self->problem->states; s++) {
        self->trial[NADIR_MULTIPLIERS + s] = fmax(self->trial[NADIR_MULTIPLIERS + s], 0);
    }
    return best + value;
}

/* The same, with the policies that are known counted at the answer. */
static double step_known(nadir_two_sided_search *self, const nadir_two_sided_goal *goal, double reach,
                         double best, bool *bounded)
{
    double promised = 0;
    for (int i = 0; i < ADDED; i++) {
        double least = INFINITY;
        int64_t which = 0;
        promised = step(self, reach, best, goal->accuracy, bounded);
        for (int64_t j = 0; j < self->pool_count; j++) {
            const policy by = policy_at(self, j);
            const double value = value_of(self, goal, &by, self->trial);
            which = value < least ? j : which;
            least = fmin(least, value);
        }
        if (least >= promised - fmax(LOOSE * (promised - best), 0.2 * goal->accuracy)) {
            break;
        }
        const policy by = policy_at(self, which);
        add_cut(self, goal, &by, self->trial);
    }
    return promised;
}

nadir_status nadir_two_sided_maximise(nadir_context *context, nadir_two_sided_search *self,
                                      const nadir_two_sided_goal *goal, double *multipliers, double *v,
                                      double *best)
{
    const int64_t n = self->problem->states;
    const size_t size = (size_t)(n + NADIR_MULTIPLIERS) * sizeof *multipliers;
    double reach = REACH;
    double value;
    int since = 0; /* so many processes without a rise */
    widen(self);
    for (int64_t s = 0; s < n; s++) {
        multipliers[NADIR_MULTIPLIERS + s] = self->least[s] > 0 ? multipliers[NADIR_MULTIPLIERS + s] : 0;
    }
    memcpy(self->centre, multipliers, size);
    memcpy(self->v, v, (size_t)n * sizeof *v);
    NADIR_TRY(solve_process(context, self, goal, self->centre, best));
    memcpy(v, self->v, (size_t)n * sizeof *v);
    if (*best == -INFINITY) {
        return NADIR_OK;
    }
    keep_policy(self);
    add_first(self, goal);
    set_variables(self, goal);
    for (int64_t i = 1; i < goal->limit && *best < goal->enough && nadir_clock_seconds() < self->until; i++) {
        bool bounded;
        const double promised = step_known(self, goal, reach, *best, &bounded);
        if (!(promised - *best > (since >= PATIENCE ? MUCH : 1) * goal->accuracy)) {
            if (bounded && reach < 2) {
                reach *= 4;
                continue;
            }
            break;
        }
        NADIR_TRY(solve_process(context, self, goal, self->trial, &value));
        if (value == -INFINITY) {
            break;
        }
        since = value > *best + SOME * goal->accuracy ? 0 : since + 1;
        const policy by = {self->d, self->x, self->paid};
        add_cut(self, goal, &by, self->trial);
        keep_policy(self);
        const double share = (value - *best) / (promised - *best);
        if (value > *best) {
            *best = value;
            memcpy(self->centre, self->trial, size);
            memcpy(v, self->v, (size_t)n * sizeof *v);
            set_variables(self, goal);
        }
        reach = share > 0.5 && bounded ? fmin(2 * reach, 4) : share < -1 ? 0.5 * reach : reach;
    }
    memcpy(multipliers, self->centre, size);
    return NADIR_OK;
}

void nadir_two_sided_gains(const nadir_two_sided_search *self, const double *multipliers, const double *about,
                           double *gains)
{
    const int64_t n = self->problem->states;
    const int64_t count = self->pool_count < RECENT ? self->pool_count : RECENT;
    memset(gains, 0, (size_t)(2 * n) * sizeof *gains);
    for (int64_t i = 1; i <= count; i++) {
        const policy by = policy_at(self, (self->pool_next + POOL - i) % POOL);
        for (int64_t s = 0; s < n; s++) {
            const double low = self->box->low[s];
            const double high = self->box->high[s];
            const double to = fmin(fmax(about[s], low), high);
            double end;
            const double cost = cost_of(self, &by, multipliers, s, &end);
            if (cost < 0 && low > 0) {
                gains[s] -= cost * (to - low) / low;
            } else if (cost > 0 && high > 0) {
                gains[n + s] += cost * (high - to) / high;
            }
        }
    }
}

nadir_status nadir_two_sided_widest(nadir_context *context, nadir_two_sided_search *self,
                                    const double *multipliers, const double *v, int64_t *state, double *cost)
{
    const nadir_two_sided_goal goal = {0};
    const int64_t n = self->problem->states;
    double value;
    widen(self);
    memcpy(self->v, v, (size_t)n * sizeof *v);
    NADIR_TRY(solve_process(context, self, &goal, multipliers, &value));
    *cost = -1;
    for (int64_t s = 0; s < n; s++) {
        const double charge = multipliers[NADIR_AT_TAU] * self->x[s] - multipliers[NADIR_MULTIPLIERS + s];
        const double to = fmin(fmax(self->d[s], self->box->low[s]), self->box->high[s]);
        const double here = self->end[s] > 0 ? fabs(charge * (to / self->end[s] - 1)) : 0;
        if (here > *cost && self->box->high[s] > self->box->low[s]) {
            *cost = here;
            *state = s;
        }
    }
    return NADIR_OK;
}

nadir_status nadir_two_sided_dearest(nadir_context *context, nadir_two_sided_search *self,
                                     const double *least, int64_t *state, double *at)
{
    const double p = self->problem->uncertainty->p;
    const double *caps = least + self->problem->states;
    NADIR_TRY(respond(context, &self->high, 1, 0, self->v));
    double most = 0;
    *at = 0;
    for (int64_t s = 0; s < self->problem->states; s++) {
        /* what rows take is about as the root of their part */
        const double share = 1 - fmin(nadir_power(least[s], 1 / p) / caps[s], 1);
        const double here = self->d[s] * self->high.taken[s] * share;
        if (here > most) {
            most = here;
            *state = s;
            *at = 0.5 * (least[s] + nadir_power(caps[s], p));
        }
    }
    return NADIR_OK;
}
