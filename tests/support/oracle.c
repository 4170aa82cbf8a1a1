/* oracle.c: returns, gradients and sets from their definitions; see oracle.h. */
#include "support/support.h"

#include "support/oracle.h"

#include "model/landing.h"
#include "support/generated.h"
#include "support/reference.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int64_t ball_of(nadir_set set, int64_t state, int64_t row)
{
    return set == NADIR_SET_NONRECT ? 0 : set == NADIR_SET_S ? state : row;
}

static double *copied(const double *numbers, int64_t count)
{
    double *copy = test_new(count, sizeof *copy);
    memcpy(copy, numbers, (size_t)count * sizeof *copy);
    return copy;
}

/* r(s, a, s') as given; what nobody gave is what the model says that it adds. NULL: rewards of rows. */
static double *paid_on_landing(const nadir_model *model)
{
    const nadir_landing *landing = &model->landing;
    if (model->transition_rewards == NULL) {
        return NULL;
    }
    double *paid = test_new(model->rows * model->states, sizeof *paid);
    for (int64_t row = 0; row < model->rows; row++) {
        const nadir_row entries = nadir_model_row(model, row);
        double *own = paid + row * model->states;
        for (int64_t t = 0; t < model->states; t++) {
            own[t] = landing->base[row] + landing->g[t];
        }
        for (int64_t i = 0; i < entries.count; i++) {
            if (!isnan(entries.rewards[i])) {
                own[nadir_row_column(&entries, i)] = entries.rewards[i];
            }
        }
    }
    return paid;
}

test_oracle test_oracle_make(const nadir_model *model, const nadir_policy *policy, const nadir_ball *ball)
{
    const nadir_model_data view = test_view(model);
    const nadir_set set = ball->set;
    const double *scales = ball->scales != NULL ? ball->scales : view.scales;
    test_oracle made = {.states = view.states, .rows = view.rows, .gamma = view.discount};
    made.p = ball->norm;
    made.domain = ball->domain;
    made.balls = set == NADIR_SET_NONRECT ? 1 : set == NADIR_SET_S ? view.states : view.rows;
    made.nominal = test_dense_kernel(model);
    made.policy = copied(nadir_policy_probabilities(policy), view.rows);
    made.rewards = copied(view.rewards, view.rows);
    made.paid = paid_on_landing(model);
    made.mu = copied(view.initial, view.states);
    made.row_states = test_new(view.rows, sizeof *made.row_states);
    made.row_balls = test_new(view.rows, sizeof *made.row_balls);
    made.scales = test_new(view.rows, sizeof *made.scales);
    made.radii = test_new(made.balls, sizeof *made.radii);
    for (int64_t i = 0; i < made.balls; i++) {
        made.radii[i] = ball->radius[ball->radius_count > 1 ? i : 0];
    }
    for (int64_t s = 0; s < view.states; s++) {
        for (int64_t row = view.state_rows[s]; row < view.state_rows[s + 1]; row++) {
            const int64_t own = ball_of(set, s, row);
            made.row_states[row] = s;
            made.scales[row] = scales != NULL ? scales[row] : 1;
            made.row_balls[row] = made.scales[row] > 0 && made.radii[own] > 0 ? own : -1;
        }
    }
    return made;
}

void test_oracle_clear(test_oracle *oracle)
{
    void *const arrays[] = {oracle->row_states, oracle->row_balls, oracle->nominal,
                            oracle->policy,     oracle->rewards,   oracle->paid,
                            oracle->mu,         oracle->scales,    oracle->radii};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) {
        free(arrays[i]);
    }
    *oracle = (test_oracle){0};
}

/* I - gamma P^pi */
static test_system make_system(const test_oracle *oracle, const double *kernel)
{
    const int64_t n = oracle->states;
    long double *average = test_new(n * n, sizeof *average);
    for (int64_t row = 0; row < oracle->rows; row++) {
        for (int64_t t = 0; t < n; t++) {
            average[oracle->row_states[row] * n + t] +=
                (long double)oracle->policy[row] * kernel[row * n + t];
        }
    }
    const test_system system = test_system_make(n, average, oracle->gamma);
    free(average);
    return system;
}

/* The sign of the determinant: that of the pivots, and of the swaps. */
static bool is_positive(const test_system *system)
{
    bool positive = !system->singular;
    for (int64_t i = 0; i < system->size && !system->singular; i++) {
        positive ^= (system->factor[i * system->size + i] < 0) != (system->swaps[i] != i);
    }
    return positive;
}

/* P . r, or R. */
static double row_reward(const test_oracle *oracle, const double *kernel, int64_t row)
{
    const int64_t n = oracle->states;
    long double sum = 0;
    for (int64_t t = 0; t < n && oracle->paid != NULL; t++) {
        sum += (long double)kernel[row * n + t] * oracle->paid[row * n + t];
    }
    return oracle->paid != NULL ? (double)sum : oracle->rewards[row];
}

/* v and d; false: there are none. */
static bool solve(const test_oracle *oracle, const double *kernel, long double *v, long double *d)
{
    test_system system = make_system(oracle, kernel);
    const bool positive = is_positive(&system);
    double *average = test_new(oracle->states, sizeof *average);
    for (int64_t row = 0; row < oracle->rows; row++) {
        average[oracle->row_states[row]] += oracle->policy[row] * row_reward(oracle, kernel, row);
    }
    if (positive) {
        test_system_solve(&system, false, average, v);
        if (d != NULL) {
            test_system_solve(&system, true, oracle->mu, d);
        }
    }
    free(average);
    test_system_clear(&system);
    return positive;
}

static double weigh(const test_oracle *oracle, const long double *v)
{
    long double sum = 0;
    for (int64_t s = 0; s < oracle->states; s++) {
        sum += oracle->mu[s] * v[s];
    }
    return (double)sum;
}

double test_oracle_return(const test_oracle *oracle, const double *kernel, double *value)
{
    long double *v = test_new(oracle->states, sizeof *v);
    const double found = solve(oracle, kernel, v, NULL) ? weigh(oracle, v) : NAN;
    for (int64_t s = 0; value != NULL && s < oracle->states; s++) {
        value[s] = (double)v[s];
    }
    free(v);
    return oracle->less == NULL ? found : found - test_oracle_return(oracle->less, kernel, NULL);
}

/* gradient += sign times that of one policy; returns its return. */
static double add_gradient(const test_oracle *oracle, const double *kernel, int sign, double *gradient)
{
    const int64_t n = oracle->states;
    long double *v = test_new(2 * n, sizeof *v);
    const long double *d = v + n;
    const double found = solve(oracle, kernel, v, v + n) ? weigh(oracle, v) : NAN;
    for (int64_t row = 0; row < oracle->rows; row++) {
        const long double weight = sign * d[oracle->row_states[row]] * oracle->policy[row];
        for (int64_t t = 0; t < n; t++) {
            const double paid = oracle->paid != NULL ? oracle->paid[row * n + t] : 0;
            gradient[row * n + t] += (double)(weight * (paid + oracle->gamma * v[t]));
        }
    }
    free(v);
    return found;
}

double test_oracle_gradient(const test_oracle *oracle, const double *kernel, double *gradient)
{
    memset(gradient, 0, (size_t)(oracle->rows * oracle->states) * sizeof *gradient);
    const double found = add_gradient(oracle, kernel, 1, gradient);
    return oracle->less == NULL ? found : found - add_gradient(oracle->less, kernel, -1, gradient);
}

/* Whether the adversary may change this entry at all. */
static bool may_change(const test_oracle *oracle, int64_t row, int64_t t)
{
    return oracle->row_balls[row] >= 0 &&
           (oracle->domain != NADIR_DOMAIN_SUPPORT || oracle->nominal[row * oracle->states + t] > 0);
}

/* norms[ball] = the scaled p-norm of the change, with its largest entry taken out so that p may be huge. */
static void measure(const test_oracle *oracle, const double *kernel, double *norms)
{
    const int64_t n = oracle->states;
    double *largest = test_new(oracle->balls, sizeof *largest);
    memset(norms, 0, (size_t)oracle->balls * sizeof *norms);
    for (int pass = 0; pass < 2; pass++) {
        for (int64_t i = 0; i < oracle->rows * n; i++) {
            const int64_t ball = oracle->row_balls[i / n];
            if (ball < 0) {
                continue;
            }
            const double change = fabs(kernel[i] - oracle->nominal[i]) / oracle->scales[i / n];
            if (pass == 0) {
                largest[ball] = fmax(largest[ball], change);
            } else if (largest[ball] > 0) {
                norms[ball] += pow(change / largest[ball], oracle->p);
            }
        }
    }
    for (int64_t ball = 0; ball < oracle->balls; ball++) {
        norms[ball] = isinf(oracle->p) ? largest[ball] : largest[ball] * pow(norms[ball], 1 / oracle->p);
    }
    free(largest);
}

double test_oracle_excess(const test_oracle *oracle, const double *kernel)
{
    const int64_t n = oracle->states;
    double *norms = test_new(oracle->balls, sizeof *norms);
    double excess = 0;
    for (int64_t row = 0; row < oracle->rows; row++) {
        long double sum = 0;
        for (int64_t t = 0; t < n; t++) {
            const double entry = kernel[row * n + t];
            sum += entry;
            if (!may_change(oracle, row, t)) {
                excess = fmax(excess, fabs(entry - oracle->nominal[row * n + t]));
            } else if (oracle->domain != NADIR_DOMAIN_FREE) {
                excess = fmax(excess, -entry);
            }
        }
        excess = fmax(excess, (double)fabsl(sum - 1));
    }
    measure(oracle, kernel, norms);
    for (int64_t ball = 0; ball < oracle->balls; ball++) {
        if (oracle->radii[ball] > 0) {
            excess = fmax(excess, norms[ball] / oracle->radii[ball] - 1);
        }
    }
    free(norms);
    return excess;
}

/* One row into the domain: entries that may not change as they were, no negative ones, sum one. */
static void pull_row(const test_oracle *oracle, int64_t row, double *entries)
{
    const int64_t n = oracle->states;
    const double *nominal = oracle->nominal + row * n;
    const bool free_signs = oracle->domain == NADIR_DOMAIN_FREE;
    double sum = 0;
    for (int64_t t = 0; t < n; t++) {
        entries[t] = !may_change(oracle, row, t) ? nominal[t] : free_signs ? entries[t] : fmax(0, entries[t]);
        sum += entries[t];
    }
    for (int64_t t = 0; t < n && oracle->row_balls[row] >= 0; t++) {
        entries[t] = free_signs ? entries[t] + (1 - sum) / (double)n
                     : sum > 0  ? entries[t] / sum
                                : nominal[t];
    }
}

void test_oracle_pull(const test_oracle *oracle, double *kernel)
{
    const int64_t n = oracle->states;
    double *norms = test_new(oracle->balls, sizeof *norms);
    for (int64_t row = 0; row < oracle->rows; row++) {
        pull_row(oracle, row, kernel + row * n);
    }
    measure(oracle, kernel, norms);
    for (int64_t i = 0; i < oracle->rows * n; i++) {
        const int64_t ball = oracle->row_balls[i / n];
        if (ball >= 0 && norms[ball] > oracle->radii[ball]) {
            kernel[i] =
                oracle->nominal[i] + oracle->radii[ball] / norms[ball] * (kernel[i] - oracle->nominal[i]);
        }
    }
    free(norms);
}
