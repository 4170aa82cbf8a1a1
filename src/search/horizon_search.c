/* horizon_search.c: Frank-Wolfe for the worst kernel over H steps; see horizon_search.h. */
#include "search/horizon_search.h"

#include "core/random.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* Of the gain that a linear step promises, a step must keep this share. */
#define ARMIJO 0.1
/* Steps that are shorter do not count. */
#define STEP_LEAST 0x1p-30
/* Gaps below this share of the penalty, and of the return, are rounding. */
#define NOISE 1e-14
/* Random starts, where the products of one search step with entries are at most SMALL. */
enum { RANDOM_STARTS = 4, POLISH_STEPS = 200, LARGER_STEPS = 30, TAU_STEPS = 48 };
/* Linear steps of this length are rounding. */
#define LENGTH_LEAST 1e-16
#define SMALL        1e6
/* Kernels are brought back so far that rounding does not leave the set. */
#define INSIDE (1 - 0x1p-46)

typedef struct search {
    const nadir_horizon *horizon;
    nadir_lmo_row_costs costs;
    nadir_horizon_point current, trial;
    double *G, *X;  /* [entries] */
    double nominal; /* return of the nominal kernel */
    double gap, tau;
    int64_t iterations;
} search;

static void clear(nadir_context *context, search *self)
{
    nadir_lmo_row_costs_clear(context, &self->costs);
    nadir_horizon_point_clear(context, &self->current);
    nadir_horizon_point_clear(context, &self->trial);
    NADIR_RELEASE(context, self->G, self->X);
}

static nadir_status make(nadir_context *context, const nadir_horizon *horizon, search *self)
{
    nadir_status status = NADIR_OK;
    *self = (search){.horizon = horizon};
    NADIR_CHECK(nadir_lmo_row_costs_make(context, horizon->model, horizon->set, &self->costs));
    NADIR_CHECK(nadir_horizon_point_make(context, horizon, &self->current));
    NADIR_CHECK(nadir_horizon_point_make(context, horizon, &self->trial));
    NADIR_NEW(context, self->G, horizon->entries);
    NADIR_NEW(context, self->X, horizon->entries);
    self->nominal = self->current.J;
    if (!isfinite(self->nominal)) {
        NADIR_CHECK(nadir_fail(context, NADIR_ERROR_ILL_POSED,
                               "the return of %lld steps is beyond the range of numbers; multiply all "
                               "rewards by a small number, and divide the returns by it",
                               (long long)horizon->steps));
    }
cleanup:
    return status;
}

/* X <- argmin <G, X> over the set. */
static nadir_status solve_linear(nadir_context *context, search *self)
{
    const nadir_horizon *horizon = self->horizon;
    const nadir_changed_rows *changed = &self->costs.changed.made;
    NADIR_TRY(nadir_lmo_row_costs_give(context, &self->costs, horizon->starts, self->G));
    memcpy(self->X, horizon->nominal, (size_t)horizon->entries * sizeof *self->X);
    self->tau = 0;
    if (!(self->costs.scale > 0)) {
        return NADIR_OK;
    }
    NADIR_TRY(nadir_lmo_row_costs_solve(context, &self->costs));
    self->tau = self->costs.tau;
    for (int64_t k = 0; k < changed->count; k++) {
        int64_t next = changed->starts[k];
        for (int64_t i = horizon->starts[changed->rows[k]]; i < horizon->starts[changed->rows[k] + 1]; i++) {
            const bool has = next < changed->starts[k + 1] && changed->columns[next] == horizon->columns[i];
            self->X[i] = has ? changed->values[next] : 0;
            next += has;
        }
    }
    return NADIR_OK;
}

/* Gradient, linear step and gap at `point`, whose values are there. */
static nadir_status linearise(nadir_context *context, search *self, nadir_horizon_point *point)
{
    nadir_horizon_occupancies(self->horizon, point);
    nadir_horizon_gradient(self->horizon, point, false, self->G);
    NADIR_TRY(solve_linear(context, self));
    self->gap = 0;
    for (int64_t i = 0; i < self->horizon->entries; i++) {
        self->gap += self->G[i] * (point->P[i] - self->X[i]);
    }
    self->iterations++;
    return nadir_progress(context, "worst kernel", -1);
}

/* trial <- current + length (X - current); returns its return. */
static double try_step(search *self, double length)
{
    for (int64_t i = 0; i < self->horizon->entries; i++) {
        const double P = self->current.P[i];
        self->trial.P[i] = length == 1 ? self->X[i] : P + length * (self->X[i] - P);
    }
    nadir_horizon_values(self->horizon, &self->trial);
    return self->trial.J;
}

static void take_trial(search *self)
{
    const nadir_horizon_point last = self->current;
    self->current = self->trial;
    self->trial = last;
}

/* |X - P|_2 */
static double length_of(const search *self, const nadir_horizon_point *point)
{
    double sum = 0;
    for (int64_t i = 0; i < self->horizon->entries; i++) {
        sum += (self->X[i] - point->P[i]) * (self->X[i] - point->P[i]);
    }
    return sqrt(sum);
}

static double noise_of(const search *self)
{
    return NOISE * (fabs(self->nominal - self->current.J) + fabs(self->current.J)) + DBL_MIN;
}

/* From the current kernel, whose values are there. Returns why it stopped in *stop. */
static nadir_status descend(nadir_context *context, search *self, double tolerance, int64_t limit,
                            nadir_stop *stop)
{
    *stop = NADIR_STOP_ITERATIONS;
    for (int64_t i = 0; i < limit; i++) {
        NADIR_TRY(linearise(context, self, &self->current));
        const double penalty = fabs(self->nominal - self->current.J);
        if (!(self->gap > tolerance * penalty + noise_of(self))) {
            *stop = NADIR_STOP_TOLERANCE;
            return NADIR_OK;
        }
        double length = 1;
        double J = try_step(self, length);
        while (!(J <= self->current.J - ARMIJO * length * self->gap) && length > STEP_LEAST) {
            /* the minimum of the parabola through what is known, or half */
            const double bend = J - self->current.J + length * self->gap;
            const double best = bend > 0 ? length * length * self->gap / (2 * bend) : length;
            length = fmin(fmax(best, 0.1 * length), 0.5 * length);
            J = try_step(self, length);
        }
        if (!(J < self->current.J)) {
            *stop = NADIR_STOP_STABLE;
            return NADIR_OK;
        }
        take_trial(self);
    }
    return NADIR_OK;
}

/* Full steps while they become shorter, for proofs that want a stationary kernel: the gap is of second order in their
 * length, and rounding long before the slack of a proof is. Ends with the linear step of `current`. */
static nadir_status polish(nadir_context *context, search *self)
{
    NADIR_TRY(linearise(context, self, &self->current));
    double length = length_of(self, &self->current);
    for (int i = 0; i < POLISH_STEPS && length > LENGTH_LEAST; i++) {
        const double before = length;
        (void)try_step(self, 1);
        NADIR_TRY(linearise(context, self, &self->trial));
        length = length_of(self, &self->trial);
        if (!(length < 0.9 * before) || !(self->trial.J <= self->current.J + noise_of(self))) {
            return linearise(context, self, &self->current);
        }
        take_trial(self);
    }
    return NADIR_OK;
}

static void keep(const search *self, nadir_stop stop, double tolerance, nadir_horizon_found *found)
{
    const nadir_horizon *horizon = self->horizon;
    found->iterations += self->iterations;
    if (found->stop != NADIR_STOP_NONE && !(self->current.J < found->point.J - noise_of(self))) {
        return;
    }
    memcpy(found->point.P, self->current.P, (size_t)horizon->entries * sizeof *found->point.P);
    nadir_horizon_values(horizon, &found->point);
    nadir_horizon_occupancies(horizon, &found->point);
    found->gap = fmax(self->gap, 0);
    found->tau = self->tau;
    found->stop = stop;
    found->converged = self->gap <= tolerance * fabs(self->nominal - self->current.J) + 1e3 * noise_of(self);
}

/* From current.P. */
static nadir_status search_from(nadir_context *context, search *self, double tolerance, int64_t limit,
                                nadir_horizon_found *found)
{
    nadir_stop stop;
    self->iterations = 0;
    nadir_horizon_values(self->horizon, &self->current);
    NADIR_TRY(descend(context, self, tolerance, limit, &stop));
    NADIR_TRY(polish(context, self));
    keep(self, stop, tolerance, found);
    return NADIR_OK;
}

static void start_at(search *self, const double *P)
{
    memcpy(self->current.P, P, (size_t)self->horizon->entries * sizeof *P);
}

/* What a short search in a ball of `factor` times the radius finds, brought back into the set. */
static nadir_status start_larger(nadir_context *context, search *self, double factor)
{
    nadir_status status = NADIR_OK;
    nadir_horizon larger = *self->horizon;
    nadir_uncertainty set = *self->horizon->set;
    search own = {0};
    nadir_stop stop;
    set.radius *= factor;
    larger.set = &set;
    NADIR_CHECK(make(context, &larger, &own));
    NADIR_CHECK(descend(context, &own, 1e-3, LARGER_STEPS, &stop));
    for (int64_t i = 0; i < larger.entries; i++) {
        const double change = own.current.P[i] - larger.nominal[i];
        self->current.P[i] = larger.nominal[i] + change / factor * INSIDE;
    }
cleanup:
    clear(context, &own);
    return status;
}

/* Further starts. */
static nadir_status search_more(nadir_context *context, search *self, double tolerance, int64_t limit,
                                nadir_horizon_found *found)
{
    const nadir_horizon *horizon = self->horizon;
    nadir_random random;
    nadir_random_seed(&random, 1);
    nadir_horizon_gradient(horizon, &found->point, true, self->G);
    NADIR_TRY(solve_linear(context, self));
    start_at(self, self->X);
    NADIR_TRY(search_from(context, self, tolerance, limit, found));
    for (int k = 0; k < 2 && horizon->set->radii == NULL; k++) {
        NADIR_TRY(start_larger(context, self, k == 0 ? 2 : 6));
        NADIR_TRY(search_from(context, self, tolerance, limit, found));
    }
    const bool small = (double)horizon->entries * (double)horizon->steps <= SMALL;
    for (int k = 0; small && k < RANDOM_STARTS; k++) {
        for (int64_t i = 0; i < horizon->entries; i++) {
            self->G[i] = nadir_random_normal(&random);
        }
        NADIR_TRY(solve_linear(context, self));
        start_at(self, self->X);
        NADIR_TRY(search_from(context, self, tolerance, limit, found));
    }
    return NADIR_OK;
}

nadir_status nadir_horizon_search(nadir_context *context, const nadir_horizon *horizon, double tolerance,
                                  int64_t iterations_limit, nadir_horizon_found *found)
{
    nadir_status status = NADIR_OK;
    search self = {0};
    NADIR_CHECK(make(context, horizon, &self));
    NADIR_CHECK(nadir_horizon_point_make(context, horizon, &found->point));
    NADIR_CHECK(search_from(context, &self, tolerance, iterations_limit, found));
    if (!horizon->set->idle && horizon->steps > 1) { /* one step: the return is linear */
        NADIR_CHECK(search_more(context, &self, tolerance, iterations_limit, found));
    }
cleanup:
    clear(context, &self);
    return status;
}

void nadir_horizon_found_clear(nadir_context *context, nadir_horizon_found *found)
{
    nadir_horizon_point_clear(context, &found->point);
    *found = (nadir_horizon_found){0};
}

/* Golden sections in log tau, from where the bound falls on both sides. */
nadir_status nadir_horizon_tau_best(nadir_context *context, const nadir_horizon *horizon, const double *d_bar,
                                    double start, double *tau)
{
    const double ratio = 0.5 * (sqrt(5) - 1);
    double low = log(start) - log(256);
    double high = log(start) + log(256);
    double inner[2] = {high - ratio * (high - low), low + ratio * (high - low)};
    double bound[2];
    for (int i = 0; i < 2; i++) {
        NADIR_TRY(nadir_horizon_bellman(context, horizon, d_bar, exp(inner[i]), &bound[i]));
    }
    for (int i = 0; i < TAU_STEPS && high - low > 1e-9; i++) {
        const int better = bound[1] > bound[0];
        if (better) {
            low = inner[0];
        } else {
            high = inner[1];
        }
        inner[!better] = inner[better];
        bound[!better] = bound[better];
        inner[better] = better ? low + ratio * (high - low) : high - ratio * (high - low);
        NADIR_TRY(nadir_horizon_bellman(context, horizon, d_bar, exp(inner[better]), &bound[better]));
    }
    *tau = exp(inner[bound[1] > bound[0]]);
    return NADIR_OK;
}
