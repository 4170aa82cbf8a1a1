/* penalized.c: the Lagrangian of a non-rectangular ball from its definition; see penalized.h. */
#include "support/support.h"

#include "support/penalized.h"

#include "support/miniature.h"
#include "support/naive_rows.h"
#include "support/reference.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double radii[] = {0, 1e-6, 0.01, 0.1, 0.3, 1, 3};
enum { RADII = sizeof radii / sizeof *radii };

/* States that some kernel of the set visits: those that mu or an allowed successor leads to. */
static void bound_visits(test_penalized *penalized)
{
    const nadir_problem *problem = test_penalized_view(penalized);
    const int64_t n = problem->states;
    double *nominal = test_dense_kernel(problem->model);
    const double most = 1 / (1 - problem->gamma) * (1 + 1e-12);
    for (int64_t s = 0; s < n; s++) {
        penalized->d_bar[s] = problem->mu[s] > 0 ? most : 0;
    }
    for (int64_t round = 0; round < n; round++) {
        for (int64_t s = 0; s < n; s++) {
            const int64_t end = problem->model->state_rows[s + 1];
            for (int64_t row = problem->model->state_rows[s]; row < end; row++) {
                const bool taken = penalized->d_bar[s] > 0 && problem->policy->probabilities[row] > 0;
                const bool free = penalized->ball.domain == NADIR_DOMAIN_SIMPLEX &&
                                  nadir_uncertainty_scale(problem->uncertainty, row) > 0;
                for (int64_t t = 0; t < n && taken; t++) {
                    penalized->d_bar[t] = free || nominal[row * n + t] > 0 ? most : penalized->d_bar[t];
                }
            }
        }
    }
    free(nominal);
}

test_penalized test_penalized_make(nadir_context *context, nadir_random *random, double p,
                                   int64_t states_most)
{
    test_penalized penalized = {.context = context};
    const test_miniature tiny = test_miniature_make(context, random, states_most);
    const bool simplex = nadir_random_below(random, 2) == 0;
    const double sign = nadir_random_below(random, 2) == 0 ? 1 : -1;
    penalized.radius = radii[nadir_random_below(random, RADII)] * (0.5 + nadir_random_uniform(random));
    penalized.ball = test_ball(NADIR_SET_NONRECT, simplex ? NADIR_DOMAIN_SIMPLEX : NADIR_DOMAIN_SUPPORT, p,
                               &penalized.radius, NULL);
    snprintf(penalized.name, sizeof penalized.name, "%s, %s, p %g, radius %g, sign %g", tiny.name,
             simplex ? "simplex" : "support", p, penalized.radius, sign);
    penalized.made = test_problem_make(context, tiny.model, tiny.policy, &penalized.ball, NULL, sign);
    penalized.d_bar = test_new(tiny.model->states, sizeof *penalized.d_bar);
    bound_visits(&penalized);
    return penalized;
}

void test_penalized_clear(test_penalized *penalized)
{
    test_problem_clear(&penalized->made);
    free(penalized->d_bar);
}

const nadir_problem *test_penalized_view(test_penalized *penalized)
{
    penalized->ball.radius = &penalized->radius;
    return test_problem_view(&penalized->made);
}

/* price (|P_sa - Phat_sa|_p / alpha_sa)^p; the price goes in before the power, which may be beyond all
 * numbers without it. */
static long double cost_of_row(const nadir_problem *problem, int64_t row, long double price,
                               const double *nominal, const double *kernel)
{
    const double scale = nadir_uncertainty_scale(problem->uncertainty, row);
    const long double p = problem->uncertainty->p;
    long double sum = 0;
    for (int64_t t = 0; t < problem->states; t++) {
        const long double change = (long double)kernel[t] - nominal[t];
        assert_that(scale > 0 || change == 0, "row %d is pinned and moved", (int)row);
        sum += scale > 0 ? powl(powl(price, 1 / p) * fabsl(change) / scale, p) : 0;
    }
    return sum;
}

long double test_penalized_return(test_penalized *penalized, double tau, const double *kernel, double *d)
{
    const nadir_problem *problem = test_penalized_view(penalized);
    const int64_t n = problem->states;
    const double *pi = problem->policy->probabilities;
    double *nominal = test_dense_kernel(problem->model);
    long double *average = test_dense_average(problem->model, kernel, pi);
    test_system system = test_system_make(n, average, problem->gamma);
    long double *visits = test_new(n, sizeof *visits);
    long double sum = 0;
    test_system_solve(&system, true, problem->mu, visits);
    for (int64_t s = 0; s < n; s++) {
        for (int64_t row = problem->model->state_rows[s]; row < problem->model->state_rows[s + 1]; row++) {
            const long double price = penalized->d_bar[s] > 0 ? (long double)tau / penalized->d_bar[s] : 0;
            sum += visits[s] * pi[row] * problem->rewards[row];
            sum += visits[s] * cost_of_row(problem, row, price, nominal + row * n, kernel + row * n);
        }
        if (d != NULL) {
            d[s] = (double)visits[s];
        }
    }
    test_system_clear(&system);
    free(nominal);
    free(average);
    free(visits);
    return sum;
}

/* A term of the separable objective w v X + price |X - phat|^p. */
typedef struct term {
    long double slope, price, phat, p;
} term;

static long double cost_of(const term *at, long double X)
{
    return at->slope * X + (at->price > 0 ? at->price * powl(fabsl(X - at->phat), at->p) : 0);
}

/* Moves mass between two entries until their sum is least, by golden section; returns what that gains. */
static long double exchange(const term *a, const term *b, long double *x, long double *y)
{
    const long double golden = 0.61803398874989484820L;
    const long double mass = *x + *y;
    const long double before = cost_of(a, *x) + cost_of(b, *y);
    long double low = 0;
    long double high = mass;
    for (int i = 0; i < 60; i++) {
        const long double left = high - golden * (high - low);
        const long double right = low + golden * (high - low);
        if (cost_of(a, left) + cost_of(b, mass - left) <= cost_of(a, right) + cost_of(b, mass - right)) {
            high = right;
        } else {
            low = left;
        }
    }
    const long double tries[] = {low, 0, mass, a->phat, mass - b->phat};
    for (int i = 0; i < 5; i++) {
        if (tries[i] >= 0 && tries[i] <= mass &&
            cost_of(a, tries[i]) + cost_of(b, mass - tries[i]) < cost_of(a, *x) + cost_of(b, *y)) {
            *x = tries[i];
            *y = mass - tries[i];
        }
    }
    return before - (cost_of(a, *x) + cost_of(b, *y));
}

/* min over X of weight X . v + price (|X - phat|_p / alpha)^p: the sum is separable, so that a point which no
 * exchange between two entries improves is a minimum. Adds (|X - phat|_p / alpha)^p to *power. */
static long double minimise(const nadir_problem *problem, int64_t row, double weight, long double price,
                            const double *phat, const double *v, long double *power)
{
    enum { MOST = 8 };
    const double alpha = nadir_uncertainty_scale(problem->uncertainty, row);
    const bool simplex = problem->uncertainty->domain == NADIR_DOMAIN_SIMPLEX;
    const double p = problem->uncertainty->p;
    term terms[MOST];
    long double X[MOST];
    long double sum = 0;
    assert_true(problem->states <= MOST);
    for (int64_t t = 0; t < problem->states; t++) {
        terms[t] = (term){(long double)weight * v[t], price / powl(alpha, p), phat[t], p};
        X[t] = phat[t];
    }
    long double gain = INFINITY;
    while (gain > 1e-15L * weight && alpha > 0 && weight > 0) {
        gain = 0;
        for (int64_t s = 0; s < problem->states; s++) {
            for (int64_t t = 0; t < s; t++) {
                if (simplex || (phat[s] > 0 && phat[t] > 0)) {
                    gain = fmaxl(gain, exchange(&terms[s], &terms[t], &X[s], &X[t]));
                }
            }
        }
    }
    for (int64_t t = 0; t < problem->states; t++) {
        sum += alpha > 0 ? cost_of(&terms[t], X[t]) : terms[t].slope * X[t];
        *power += alpha > 0 ? powl(fabsl(X[t] - phat[t]) / alpha, p) : 0;
    }
    return sum;
}

/* The rows of a state at one price of x_s; *power: x_s. */
static long double minimise_state(const nadir_problem *problem, int64_t s, long double price,
                                  const double *nominal, const double *v, long double *power)
{
    const double *pi = problem->policy->probabilities;
    const int64_t n = problem->states;
    long double sum = 0;
    *power = 0;
    for (int64_t row = problem->model->state_rows[s]; row < problem->model->state_rows[s + 1]; row++) {
        sum += minimise(problem, row, problem->gamma * pi[row], price, nominal + row * n, v, power);
    }
    return sum;
}

/* What the rows of a state gain where they use all of the radius. */
static double gain_most(const test_penalized *penalized, int64_t s, const double *nominal, const double *v)
{
    const nadir_problem *problem = &penalized->made.problem;
    const int64_t first = problem->model->state_rows[s];
    const int64_t count = problem->model->state_rows[s + 1] - first;
    double *weight = test_new(2 * count, sizeof *weight);
    double *alpha = weight + count;
    for (int64_t i = 0; i < count; i++) {
        weight[i] = problem->gamma * problem->policy->probabilities[first + i];
        alpha[i] = nadir_uncertainty_scale(problem->uncertainty, first + i) * penalized->radius;
    }
    const double gain = test_naive_gain(&(test_naive_rows){
        .count = count,
        .states = problem->states,
        .phat = nominal + first * problem->states,
        .v = v,
        .alpha = alpha,
        .weight = weight,
        .support = penalized->ball.domain == NADIR_DOMAIN_SUPPORT,
        .p = problem->uncertainty->p,
        .beta = 1, /* alpha beta is what counts */
    });
    free(weight);
    return gain;
}

double test_penalized_bellman(test_penalized *penalized, double tau, const double *v, int64_t s)
{
    const nadir_problem *problem = test_penalized_view(penalized);
    const int64_t n = problem->states;
    const double *pi = problem->policy->probabilities;
    const double price = penalized->d_bar[s] > 0 ? tau / penalized->d_bar[s] : INFINITY;
    const long double room = powl(penalized->radius, problem->uncertainty->p);
    double *nominal = test_dense_kernel(problem->model);
    long double power = 0;
    long double least = isfinite(price) ? minimise_state(problem, s, price, nominal, v, &power) : 0;
    long double sum = 0;
    long double plain = 0;
    for (int64_t row = problem->model->state_rows[s]; row < problem->model->state_rows[s + 1]; row++) {
        sum += (long double)pi[row] * problem->rewards[row];
        for (int64_t t = 0; t < n; t++) {
            plain += (long double)problem->gamma * pi[row] * nominal[row * n + t] * v[t];
        }
    }
    if (!isfinite(price) || penalized->radius == 0) {
        least = plain;
    } else if (power > room) {
        least = plain - gain_most(penalized, s, nominal, v) + price * room;
    }
    free(nominal);
    return (double)(sum + least);
}
