/*
 * bellman_bound.c: lower bounds by w <= T w (docs/theory.md, "Kernels that are kernels"): the rectangular
 * bound, the Lagrangian bound, and the bound by rewards alone; see bellman_bound.h.
 */
#include "proof/bellman_bound.h"

#include "core/round.h"
#include "linalg/distributed.h"
#include "linalg/vector.h"
#include "model/landing.h"
#include "model/terminal.h"
#include "sets/lmo_by_state.h"
#include "solve/value.h"

#include <float.h>
#include <math.h>

/* The largest product of values and occupancies on the free domain. */
#define PRODUCT_MOST 1e290

/* The range of sum over a of pi(a|s), and the most actions. */
typedef struct policy_size {
    double low, high;
    int64_t actions;
} policy_size;

static policy_size measure_policy(const nadir_context *context, const nadir_model *model,
                                  const nadir_policy *policy)
{
    policy_size size = {.low = INFINITY};
    for (int64_t s = 0; s < model->states; s++) {
        const int64_t first = model->state_rows[s];
        const int64_t count = model->state_rows[s + 1] - first;
        const double sum = nadir_vector_sum(count, policy->probabilities + first);
        size.low = fmin(size.low, sum);
        size.high = fmax(size.high, sum);
        size.actions = count > size.actions ? count : size.actions;
    }
    size.low = nadir_allreduce_minimum(context, size.low) * (1 - 4 * NADIR_ROUND_UNIT);
    size.high = nadir_allreduce_maximum(context, size.high) * (1 + 4 * NADIR_ROUND_UNIT);
    size.actions = (int64_t)nadir_allreduce_maximum(context, (double)size.actions);
    return size;
}

/* At least |R_P| of all rows of distributions, computed without landing. */
static double reward_size(const nadir_context *context, const nadir_problem *problem)
{
    const double rewards = nadir_global_largest(context, problem->rows, problem->rewards);
    return problem->landing != 0 ? nadir_round_up(rewards + 2 * nadir_landing_largest(problem->model), 4)
                                 : rewards;
}

/* max_s of v - Lv without rounding; infinite where that is no number. products: [rows] Phat v. */
static double largest_fall(const nadir_context *context, const nadir_problem *problem, const double *v,
                           const double *products, const double *taken)
{
    const nadir_model *model = problem->model;
    const double *pi = problem->policy->probabilities;
    double most = -INFINITY;
    for (int64_t s = 0; s < model->states; s++) {
        double next = 0;
        for (int64_t row = model->state_rows[s]; row < model->state_rows[s + 1]; row++) {
            next += pi[row] * (problem->rewards[row] + problem->gamma * products[row]);
        }
        const double fall = v[s] - (next - taken[s]);
        most = fmax(most, isnan(fall) ? INFINITY : fall);
    }
    return nadir_allreduce_maximum(context, most);
}

nadir_status nadir_bellman_bound(nadir_context *context, const nadir_problem *problem, const double *v,
                                 const double *taken, double *lower)
{
    nadir_status status = NADIR_OK;
    double *products = NULL;
    double error;
    nadir_kernel_size size;
    NADIR_NEW(context, products, problem->rows);
    nadir_kernel_multiply(context, problem->kernel, v, products);
    nadir_kernel_measure(context, problem->kernel, &size);
    const policy_size pi = measure_policy(context, problem->model, problem->policy);
    const double largest = nadir_global_largest(context, problem->states, v);
    const double rewards = reward_size(context, problem);
    const double most = nadir_global_largest(context, problem->states, taken);
    const double landing = problem->landing != 0 ? nadir_landing_largest(problem->model) : 0;
    /* products; differences; rows of the set that sum to one where the nominal ones do so up to rounding: the
     * costs gamma v + e of rows are known up to a constant */
    const double off = fmax(fabs(1 - size.sum_low), fabs(size.sum_high - 1));
    const double rounding = nadir_bellman_rounding(&size, problem->gamma, pi.actions, rewards, largest) +
                            4 * NADIR_ROUND_UNIT * (most + largest + rewards) +
                            off * (problem->gamma * largest + landing);
    const double fall = largest_fall(context, problem, v, products, taken) + rounding;
    const double c = nadir_check_offset(fall, problem->gamma, pi.low * fmin(1, size.sum_low),
                                        pi.high * fmax(1, size.sum_high), problem->gap);
    const double mean = nadir_global_dot(context, problem->states, problem->mu, v, &error);
    /* without a discount the gap has the mass of mu already */
    const double mass = problem->gamma == 1 ? 1 : nadir_global_sum(context, problem->states, problem->mu);
    const double bound = mean - c * mass - error - 8 * NADIR_ROUND_UNIT * (fabs(c) + fabs(mean));
    *lower = isfinite(bound) ? bound : -INFINITY;
cleanup:
    nadir_release(context, products);
    return status;
}

/*
 * A lower bound on the return of every kernel of a rectangular set: what rows can take from v, by weak
 * duality, in the Bellman bound.
 */

nadir_status nadir_rectangular_check(nadir_context *context, const nadir_problem *problem, double factor,
                                     const double *v, double *lower)
{
    nadir_status status = NADIR_OK;
    nadir_lmo_rectangular lmo = {0};
    double *taken = NULL;
    NADIR_NEW(context, taken, problem->states);
    NADIR_CHECK(nadir_lmo_rectangular_make(context, problem, factor, &lmo));
    NADIR_CHECK(nadir_lmo_rectangular_solve(context, &lmo, v));
    NADIR_CHECK(nadir_lmo_rectangular_bound(context, &lmo, taken));
    for (int64_t s = 0; s < problem->states; s++) {
        taken[s] *= problem->gamma;
    }
    NADIR_CHECK(nadir_bellman_bound(context, problem, v, taken, lower));
cleanup:
    nadir_lmo_rectangular_clear(context, &lmo);
    nadir_release(context, taken);
    return status;
}

/*
 * The Lagrangian bound from any v and tau.
 *
 * For w = v - c <= Tw, T of bellman_bound.h, and every P of the set
 *
 *     mu . w <= J_P + tau sum_s d_P(s) / d_bar(s) x_s <= J_P + tau beta^p,
 *
 * since P is among the rows that T minimises over; states that are not entered, d_bar = 0, add nothing.
 * Solutions of row problems are used as multipliers of weak duality alone.
 */

static nadir_status check_prices(nadir_context *context, int64_t states, const double *d_bar, double tau)
{
    if (!(tau >= 0 && tau <= DBL_MAX)) {
        return nadir_fail(context, NADIR_ERROR_ARGUMENT, "tau is %g; expected a finite number, 0 or more",
                          tau);
    }
    for (int64_t s = 0; s < states; s++) {
        if (!(d_bar[s] >= 0)) {
            return nadir_fail(context, NADIR_ERROR_ARGUMENT, "d_bar is %g in state %lld; expected 0 or more",
                              d_bar[s], (long long)s);
        }
    }
    return NADIR_OK;
}

nadir_status nadir_lagrangian_bound(nadir_context *context, const nadir_problem *problem, double beta,
                                    const double *d_bar, double tau, const double *v, double *lower)
{
    nadir_status status = NADIR_OK;
    nadir_lmo_penalized lmo = {0};
    double *taken = NULL;
    double bound;
    NADIR_CHECK(check_prices(context, problem->states, d_bar, tau));
    NADIR_NEW(context, taken, problem->states);
    NADIR_CHECK(nadir_lmo_penalized_make(context, problem, beta, d_bar, &lmo));
    NADIR_CHECK(nadir_lmo_penalized_solve(context, &lmo, tau, v));
    nadir_lmo_penalized_bound(&lmo, tau, taken);
    NADIR_CHECK(nadir_bellman_bound(context, problem, v, taken, &bound));
    /* a power and two products, which may underflow */
    const double power = nadir_round_up(pow(beta, problem->uncertainty->p), 8);
    double charge = 0;
    if (tau > 0 && beta > 0) {
        charge = nadir_round_up(tau * (power + 4 * DBL_TRUE_MIN), 8) + DBL_MIN;
    }
    /* the difference is rounded down */
    bound = nadir_round_below(bound - charge, fabs(bound) + charge, 2);
    *lower = isfinite(bound) ? bound : -INFINITY;
cleanup:
    nadir_lmo_penalized_clear(context, &lmo);
    nadir_release(context, taken);
    return status;
}

/*
 * How far kernels of a low return can be from the Lagrangian answer.
 */

/* e_s and tau / high |X_s - Phat_s|^2 of the perturbable rows of one state, with the roundings of both; rows sum to one, but
 * for entries of weight 0, which do not count. */
typedef struct state_cost {
    double lack, cost;
} state_cost;

static state_cost cost_of_state(const nadir_expansion_point *point, int64_t s, double price, const double *v,
                                double range)
{
    const nadir_perturbable_rows *perturbable = point->perturbable;
    state_cost sum = {0, 0};
    for (int64_t i = perturbable->first[s]; i < perturbable->first[s + 1]; i++) {
        const double force = point->problem.gamma * perturbable->pi[i];
        const double hold = 2 * price / nadir_perturbable_rows_alpha(perturbable, i) /
                            nadir_perturbable_rows_alpha(perturbable, i);
        double lowest = INFINITY;
        double widest = 0;
        double square = 0;
        double mean = 0;
        double mass = perturbable->squares != NULL ? 0 : 1;
        for (int64_t j = 0; j < nadir_perturbable_rows_length(perturbable, i); j++) {
            const int64_t e = perturbable->starts[i] + j;
            const double weight = nadir_perturbable_rows_square(perturbable, e);
            if (weight == 0) {
                continue;
            }
            const double change = (point->X[e] - perturbable->phat[e]) / weight;
            const double landing = perturbable->landing != NULL ? perturbable->landing[e] : 0;
            const double h =
                force * (v[nadir_perturbable_rows_column(perturbable, i, j)] + landing) + hold * change;
            lowest = fmin(lowest, h);
            mean += point->X[e] * h;
            mass += perturbable->squares != NULL ? point->X[e] : 0;
            square += change * change * weight;
            widest = fmax(widest, fabs(change));
        }
        const double size = force * range + hold * widest;
        const double rounding =
            nadir_round_error((double)(2 * nadir_perturbable_rows_length(perturbable, i) + 32)) * size;
        sum.lack += fmax(mean - lowest * mass, 0) + rounding + 2 * point->sum_off * size;
        sum.cost +=
            nadir_round_down(hold / 2 * square, (double)(nadir_perturbable_rows_length(perturbable, i) + 16));
    }
    return sum;
}

/* At least max(f_s, 0) of all states; shifted: v less its mean. */
static void find_lacks(const nadir_context *context, const nadir_expansion_point *point,
                       const nadir_occupancy_bounds *bounds, double tau, const double *v,
                       const double *shifted, const double *product, double *f)
{
    const nadir_problem *problem = &point->problem;
    const int64_t n = bounds->states;
    const double largest = nadir_vector_largest(n, v);
    const bool lands = problem->landing != 0;
    const double rewards = lands ? nadir_landing_reward_size(context, problem->model, 1)
                                 : nadir_vector_largest(problem->rows, problem->rewards);
    const double range =
        nadir_vector_largest(n, shifted) +
        (lands ? nadir_round_up(fabs(problem->landing) * nadir_landing_largest(problem->model), 4) : 0);
    const nadir_average *average = nadir_occupancy_average(problem->occupancy);
    /* rounding of the product, of the averages P^pi and R^pi, and of the differences */
    const double rounding = problem->gamma * largest *
                                (nadir_round_error(nadir_average_roundings(context, average, false)) *
                                     nadir_average_terms(average) +
                                 point->known.averaging * point->known.size) +
                            2 * point->known.averaging * rewards + nadir_round_error(8) * (largest + rewards);
    for (int64_t s = 0; s < n; s++) {
        f[s] = 0;
        if (bounds->high[s] > 0) {
            const state_cost own = cost_of_state(point, s, tau / bounds->high[s], shifted, range);
            const double fall = v[s] - problem->R[s] - problem->gamma * product[s];
            const double lack = fall - own.cost + own.lack + rounding;
            f[s] = lack <= 0 ? 0 : nadir_round_up(lack, 8); /* a NaN stays */
        }
    }
}

nadir_status nadir_sublevel_radius(nadir_context *context, const nadir_expansion_point *point,
                                   const nadir_occupancy_bounds *bounds, double beta, double tau,
                                   const double *v, double level, double *radius)
{
    nadir_status status = NADIR_OK;
    const nadir_problem *problem = &point->problem;
    const int64_t n = bounds->states;
    double *work = NULL;
    double error;
    double lost;
    NADIR_NEW(context, work, 3 * n);
    double *product = work;
    double *shifted = work + n;
    double *f = work + 2 * n;
    const double mean = nadir_vector_sum(n, v) / (double)n;
    for (int64_t s = 0; s < n; s++) {
        shifted[s] = v[s] - mean;
    }
    nadir_average_multiply(context, nadir_occupancy_average(problem->occupancy), 1, v, product);
    find_lacks(context, point, bounds, tau, v, shifted, product, f);
    NADIR_CHECK(nadir_occupancy_bounds_most(context, bounds, f, &lost));
    const double value = nadir_vector_dot(n, problem->mu, v, &error);
    const double charge = tau * beta * beta;
    /* the shift of v costs a rounding, and rows of X sum to one up to sum_off */
    const double shift = point->total * (nadir_round_error(2) + point->sum_off) * nadir_vector_largest(n, v);
    const double over = level + charge - value + lost + error + shift +
                        nadir_round_error(8) * (fabs(level) + charge + fabs(value));
    /* a quotient and a root */
    *radius = over < 0 ? -1 : nadir_round_up(sqrt(over / tau), 8);
cleanup:
    nadir_release(context, work);
    return status;
}

/*
 * What kernels of distributions return at least and at most.
 *
 * Where the actions of state s have the probability rho(s) in all, which is one but for rounding, constants w
 * with w >= R^pi(s) + gamma rho(s) w in every state have w >= Tw whatever the kernel, so that J_P <= |mu|_1
 * w:
 *
 *     w = max over s of R^pi(s) / (1 - gamma rho(s)).
 *
 * R^pi is an average of the most that rows pay. Rewards on landing have two such bounds, of which neither is
 * always the better one: rows pay shaped(s, a) + (P - Phat) . e, shaped; or P . r, as the user counts.
 *
 * Next to gamma = 1 the gap 1 - gamma rho takes rho and the product in twice the precision: 1 - (gamma rho)
 * is exact, and what their rounding left is subtracted from it. What rows of the model sum to, as they are
 * stored, is one but for rounding as well; that is part of how far the gap may be off.
 */

/* At least x, of which `units` roundings are not known; what is below all numbers is below the least. */
static double raise(double x, double units)
{
    const double least = fmax(x, -DBL_MAX);
    return isnan(x) ? INFINITY : least + units * NADIR_ROUND_UNIT * fabs(least) + DBL_TRUE_MIN;
}

/* 1 - gamma rho of a state, and how far it may be off. stray: the sum of a row less one, at most. */
static double find_gap(const nadir_problem *problem, int64_t s, double stray, double *off)
{
    const int64_t *state_rows = problem->model->state_rows;
    const double terms = (double)(state_rows[s + 1] - state_rows[s] + 2);
    double rho = 0;
    double rest = 0; /* what rho lacks */
    for (int64_t row = state_rows[s]; row < state_rows[s + 1]; row++) {
        const double pi = problem->policy->probabilities[row];
        const double sum = rho + pi;
        rest += rho >= pi ? (rho - sum) + pi : (pi - sum) + rho;
        rho = sum;
    }
    const double product = problem->gamma * rho;
    const double lacks = fma(problem->gamma, rho, -product) + problem->gamma * rest;
    const double gap = (1 - product) - lacks;
    *off = 4 * NADIR_ROUND_UNIT * fabs(gap) + 8 * terms * NADIR_ROUND_UNIT * terms * NADIR_ROUND_UNIT +
           product * (1 + terms * DBL_EPSILON) * stray;
    return gap;
}

/* What is asked of the rows. */
typedef struct payment {
    const nadir_problem *problem;
    enum { NOMINAL, SHAPED, PAID } kind; /* shaped rewards of the nominal kernel, or of all; P . r of all */
    double sign;                         /* rewards of the problem times this */
    double stray;                        /* the sum of a row less one, at most */
    double g_most;                       /* max g, as signs are here, and max |g| */
    double g_size;
} payment;

/* At least max of e, or of r, over the successors that the domain allows a row, times turn; *mean: Phat . e. */
static double most_of_entries(const payment *self, int64_t row, double turn, double *mean)
{
    const nadir_model *model = self->problem->model;
    const nadir_landing *landing = &model->landing;
    const nadir_row nominal = nadir_model_row(model, row);
    const int64_t start = nadir_landing_entry(model, row);
    const bool open = self->problem->uncertainty->domain != NADIR_DOMAIN_SUPPORT;
    const bool paid = self->kind == PAID;
    double most = !open || nominal.count == nadir_model_total(model) ? -INFINITY
                  : paid ? turn * landing->base[row] + self->g_most
                         : 0;
    *mean = 0;
    if (paid && open && !landing->general) { /* r = base + g, but for what is left out */
        return turn * landing->base[row] + self->g_most + 2 * nadir_landing_largest(model);
    }
    bool lacks = false; /* a reward: it pays base + g */
    for (int64_t i = 0; i < nominal.count; i++) {
        const double x =
            paid ? nominal.rewards[i] : nadir_landing_e(model, row, start + i, nadir_row_column(&nominal, i));
        if (turn * x > most && (open || nominal.values[i] > 0)) {
            most = turn * x;
        }
        lacks = lacks || isnan(x);
        *mean += paid ? 0 : nominal.values[i] * x;
    }
    if (lacks && open) {
        most = fmax(most, turn * landing->base[row] + self->g_most);
    }
    return most;
}

/* At least what a row pays, as signs are here. */
static double most_of_row(const payment *self, int64_t row)
{
    const nadir_problem *problem = self->problem;
    const nadir_model *model = problem->model;
    const double turn = self->sign * problem->sign;
    const double own = self->sign * problem->rewards[row];
    double mean;
    if (nadir_uncertainty_scale(problem->uncertainty, row) == 0 || problem->policy->probabilities[row] == 0) {
        return self->kind == PAID ? turn * model->rewards[row] : own;
    }
    const double most = most_of_entries(self, row, turn, &mean);
    const double largest = nadir_landing_largest(model);
    /* rows that do not sum to one pay as many times base or e more; a sum over the successors, or one of two */
    if (self->kind == PAID) {
        return raise(most + self->stray * (fabs(model->landing.base[row]) + fabs(most)), 8) +
               4 * NADIR_ROUND_UNIT * (fabs(model->landing.base[row]) + self->g_size);
    }
    return raise(own + (most - turn * mean) + self->stray * largest, 8) +
           NADIR_ROUND_UNIT * (model->landing.longest + 8) * (fabs(own) + 4 * largest);
}

/* At least R^pi(s), rewards times sign. */
static double reward_of_state(const payment *self, int64_t s)
{
    const nadir_problem *problem = self->problem;
    const nadir_model *model = problem->model;
    const double terms = (double)(model->state_rows[s + 1] - model->state_rows[s] + 2);
    double sum = 0;
    double size = 0;
    for (int64_t row = model->state_rows[s]; row < model->state_rows[s + 1]; row++) {
        const double reward =
            self->kind == NOMINAL ? self->sign * problem->rewards[row] : most_of_row(self, row);
        const double term = problem->policy->probabilities[row] * reward;
        sum += term;
        size += fabs(term);
    }
    /* what underflows is off by less than the least number */
    const double error =
        terms * (NADIR_ROUND_UNIT * size * (1 + 4 * terms * NADIR_ROUND_UNIT) + DBL_TRUE_MIN) +
        NADIR_ROUND_UNIT * fabs(sum);
    return sum + 2 * error;
}

/* At least R^pi(s) / (1 - gamma rho(s)), rewards times sign. */
static double most_of_state(const payment *self, int64_t s)
{
    double off;
    const double reward = reward_of_state(self, s);
    const double gap = find_gap(self->problem, s, self->stray, &off);
    return gap > off ? raise(reward / (reward > 0 ? gap - off : gap + off), 8) : INFINITY;
}

/* Without a discount: one visit of a terminal state at most, and no more than 1 / gap visits of others. */
static double most_until_end(const payment *self)
{
    const nadir_problem *problem = self->problem;
    double last = 0;
    double step = 0;
    for (int64_t s = 0; s < problem->states; s++) {
        const bool ends = nadir_model_ends(problem->model, s);
        double *most = ends ? &last : &step;
        if (ends || !problem->model->reaches) { /* otherwise there is nothing but 0 on the way */
            *most = fmax(*most, reward_of_state(self, s));
        }
    }
    const double mass = 1 + nadir_round_error((double)problem->states + 8); /* of mu */
    return raise(last * mass + (step > 0 ? step / problem->gap : 0), 8);
}

static double most_return(const nadir_context *context, const payment *self)
{
    const nadir_problem *problem = self->problem;
    double w = -INFINITY;
    double mass = 0;
    if (problem->gamma == 1) {
        return most_until_end(self);
    }
    for (int64_t s = 0; s < problem->states; s++) {
        w = fmax(w, most_of_state(self, s));
        mass += problem->mu[s];
    }
    w = nadir_allreduce_maximum(context, w);
    mass = nadir_allreduce_sum(context, mass);
    const double spread = NADIR_ROUND_UNIT * (double)(nadir_model_total(problem->model) + 4);
    return raise(w * (mass * (w > 0 ? 1 + spread : 1 - spread)), 8);
}

/* The most that a kernel returns, times sign: the better of both bounds. */
static double most_of_kernels(const nadir_context *context, const nadir_problem *problem, bool nominal,
                              double sum_off, double sign)
{
    const nadir_model *model = problem->model;
    const nadir_row_limits *limits = &model->limits;
    const double turn = sign * problem->sign;
    const double stray =
        fmax(sum_off, fmax(fabs(1 - limits->sum_low), fabs(limits->sum_high - 1))) * (1 + 8 * DBL_EPSILON);
    payment self = {.problem = problem,
                    .kind = nominal || problem->landing == 0 ? NOMINAL : SHAPED,
                    .sign = sign,
                    .stray = stray,
                    .g_most = -INFINITY};
    const double shaped = most_return(context, &self);
    if (nominal || model->transition_rewards == NULL || problem->gamma == 1) {
        return shaped;
    }
    for (int64_t s = 0; s < model->states; s++) {
        self.g_most = fmax(self.g_most, turn * model->landing.g[s]);
        self.g_size = fmax(self.g_size, fabs(model->landing.g[s]));
    }
    self.g_most = nadir_allreduce_maximum(context, self.g_most);
    self.g_size = nadir_allreduce_maximum(context, self.g_size);
    self.kind = PAID;
    /* from the user's numbers to those of shaped rewards: means of pinned rows may be off as those are */
    const double paid = most_return(context, &self);
    const double shift = turn * nadir_landing_shaped_return(model, 0);
    return fmin(shaped, raise(paid + shift + 2 * model->landing.slack, 4) +
                            4 * NADIR_ROUND_UNIT * (fabs(paid) + fabs(shift)));
}

void nadir_reward_bounds(const nadir_context *context, const nadir_problem *problem, double stray,
                         double *lower, double *upper)
{
    *lower = -most_of_kernels(context, problem, false, stray, -1);
    *upper = most_of_kernels(context, problem, false, stray, 1);
}

void nadir_reward_bounds_nominal(const nadir_context *context, const nadir_problem *problem, double *lower,
                                 double *upper)
{
    *lower = -most_of_kernels(context, problem, true, 0, -1);
    *upper = most_of_kernels(context, problem, true, 0, 1);
}

bool nadir_rewards_underflow(const nadir_context *context, const nadir_problem *problem)
{
    const double largest = reward_size(context, problem);
    return largest > 0 && largest < NADIR_REWARD_LEAST;
}

/* |v d^T W| <= (largest reward) (max W) / (1 - gamma)^2. */
double nadir_free_reward_most(const nadir_context *context, const nadir_problem *problem)
{
    const double gap = problem->rest;
    const double W = nadir_global_largest(context, problem->states, problem->uncertainty->W);
    return PRODUCT_MOST * gap * gap / fmax(1, W);
}

bool nadir_free_rewards_fit(const nadir_context *context, const nadir_problem *problem)
{
    return !nadir_rewards_underflow(context, problem) &&
           reward_size(context, problem) <= nadir_free_reward_most(context, problem);
}
