/* tiny.c: tiny random problems of the adversary; see tiny.h. */
#include "support/support.h"

#include "support/norms.h"
#include "support/reference.h"
#include "support/tiny.h"

#include <math.h>
#include <stdlib.h>

nadir_model *test_tiny_model(nadir_context *context, nadir_random *random, int64_t states, double discount,
                             double density)
{
    int64_t *state_rows = test_new(states + 1, sizeof *state_rows);
    for (int64_t s = 0; s < states; s++) {
        state_rows[s + 1] = state_rows[s] + 1 + (int64_t)nadir_random_below(random, 3);
    }
    const int64_t rows = state_rows[states];
    double *dense = test_new(rows * states, sizeof *dense);
    double *rewards = test_new(rows, sizeof *rewards);
    double *initial = test_new(states, sizeof *initial);
    for (int64_t row = 0; row < rows; row++) {
        double sum = 0;
        dense[row * states + (int64_t)nadir_random_below(random, (uint64_t)states)] = 0.1;
        for (int64_t t = 0; t < states; t++) {
            double *entry = &dense[row * states + t];
            *entry += nadir_random_uniform(random) < density ? nadir_random_exponential(random) : 0;
            sum += *entry;
        }
        for (int64_t t = 0; t < states; t++) {
            dense[row * states + t] /= sum;
        }
        rewards[row] = nadir_random_normal(random);
    }
    double mass = 0;
    for (int64_t s = 0; s < states; s++) {
        const bool some = s == 0 || nadir_random_uniform(random) < 0.7;
        initial[s] = some ? nadir_random_exponential(random) : 0;
        mass += initial[s];
    }
    for (int64_t s = 0; s < states; s++) {
        initial[s] /= mass;
    }
    nadir_model_data data = test_model_data();
    data.states = states;
    data.rows = rows;
    data.discount = discount;
    data.state_rows = state_rows;
    data.dense = dense;
    data.rewards = rewards;
    data.initial = initial;
    nadir_model *model = test_create_model(context, &data);
    free(state_rows);
    free(dense);
    free(rewards);
    free(initial);
    return model;
}

double *test_tiny_scales(nadir_random *random, const nadir_model *model)
{
    double *scales = test_new(model->rows, sizeof *scales);
    for (int64_t row = 0; row < model->rows; row++) {
        const bool pinned = nadir_random_uniform(random) < 0.2;
        scales[row] = pinned ? 0 : 0.2 + 2 * nadir_random_uniform(random);
    }
    return scales;
}

double *test_kernel_entries(nadir_context *context, const nadir_kernel *kernel)
{
    const nadir_model *model = nadir_kernel_model(kernel);
    const int64_t n = model->states;
    double *entries = test_new(model->rows * n, sizeof *entries);
    double *unit = test_new(n, sizeof *unit);
    double *column = test_new(model->rows, sizeof *column);
    for (int64_t t = 0; t < n; t++) {
        unit[t] = 1;
        nadir_kernel_multiply(context, kernel, unit, column);
        unit[t] = 0;
        for (int64_t row = 0; row < model->rows; row++) {
            entries[row * n + t] = column[row];
        }
    }
    free(unit);
    free(column);
    return entries;
}

long double test_return(const nadir_problem *problem, const double *kernel)
{
    const int64_t n = problem->states;
    const double *pi = problem->policy->probabilities;
    long double *average = test_dense_average(problem->model, kernel, pi);
    test_system system = test_system_make(n, average, problem->gamma);
    long double *d = test_new(n, sizeof *d);
    long double sum = 0;
    assert_false(system.singular);
    test_system_solve(&system, true, problem->mu, d);
    for (int64_t s = 0; s < n; s++) {
        for (int64_t row = problem->model->state_rows[s]; row < problem->model->state_rows[s + 1]; row++) {
            sum += d[s] * pi[row] * problem->rewards[row];
        }
    }
    test_system_clear(&system);
    free(average);
    free(d);
    return sum;
}

/* |P_sa - Phat_sa|_p / alpha_sa; a pinned row must not change. */
static double row_distance(const nadir_problem *problem, const double *nominal, const double *kernel,
                           int64_t row)
{
    const int64_t n = problem->states;
    const double scale = nadir_uncertainty_scale(problem->uncertainty, row);
    double *change = test_new(n, sizeof *change);
    for (int64_t t = 0; t < n; t++) {
        change[t] = kernel[row * n + t] - nominal[row * n + t];
    }
    const double norm = (double)test_norm(n, change, 0, problem->uncertainty->p);
    free(change);
    if (scale == 0) {
        assert_that(norm == 0, "row %lld is pinned and changes by %g", (long long)row, norm);
        return 0;
    }
    return norm / scale;
}

void test_assert_in_set(const nadir_problem *problem, const double *kernel, double factor)
{
    const nadir_uncertainty *set = problem->uncertainty;
    const int64_t n = problem->states;
    double *nominal = test_dense_kernel(problem->model);
    double *distances = test_new(problem->rows, sizeof *distances);
    for (int64_t s = 0; s < n; s++) {
        const int64_t first = problem->model->state_rows[s];
        const int64_t end = problem->model->state_rows[s + 1];
        for (int64_t row = first; row < end; row++) {
            long double sum = 0;
            for (int64_t t = 0; t < n; t++) {
                sum += kernel[row * n + t];
            }
            assert_that(fabsl(sum - 1) <= 1e-13L, "row %lld sums to 1 + %Lg", (long long)row, sum - 1);
            distances[row] = row_distance(problem, nominal, kernel, row);
            const double radius = factor * nadir_uncertainty_radius(set, s, row);
            assert_that(set->set != NADIR_SET_SA || distances[row] <= radius * (1 + 1e-12) + 1e-15,
                        "row %lld is %.17g away, the radius is %.17g", (long long)row, distances[row],
                        radius);
        }
        const double norm = (double)test_norm(end - first, distances + first, 0, set->p);
        const double radius = factor * nadir_uncertainty_radius(set, s, first);
        assert_that(set->set != NADIR_SET_S || norm <= radius * (1 + 1e-12) + 1e-15,
                    "state %lld is %.17g away, the radius is %.17g", (long long)s, norm, radius);
    }
    const double norm = (double)test_norm(problem->rows, distances, 0, set->p);
    assert_that(set->set != NADIR_SET_NONRECT || norm <= factor * set->radius * (1 + 1e-12) + 1e-15,
                "the kernel is %.17g away, the radius is %.17g", norm, factor * set->radius);
    free(nominal);
    free(distances);
}

/* A random zero-sum vector of |x|_p = norm: of all entries, or of two. */
static void random_change(const nadir_problem *problem, nadir_random *random, bool pair, double norm,
                          double *x)
{
    const int64_t n = problem->states;
    double mean = 0;
    for (int64_t t = 0; t < n; t++) {
        x[t] = pair ? 0 : nadir_random_normal(random);
        mean += x[t] / (double)n;
    }
    for (int64_t t = 0; t < n; t++) {
        x[t] -= mean;
    }
    if (pair) {
        const int64_t up = (int64_t)nadir_random_below(random, (uint64_t)n);
        x[up] = 1;
        x[(up + 1 + (int64_t)nadir_random_below(random, (uint64_t)(n - 1))) % n] = -1;
    }
    const double size = (double)test_norm(n, x, 0, problem->uncertainty->p);
    for (int64_t t = 0; t < n; t++) {
        x[t] *= norm / size;
    }
}

void test_random_kernel(const nadir_problem *problem, nadir_random *random, double factor, double *kernel)
{
    const nadir_uncertainty *set = problem->uncertainty;
    const int64_t n = problem->states;
    double *nominal = test_dense_kernel(problem->model);
    double *change = test_new(n, sizeof *change);
    double *shares = test_new(problem->rows, sizeof *shares);
    const bool pairs = nadir_random_below(random, 2) == 0;
    const bool few = nadir_random_below(random, 2) == 0; /* most of the budget on few rows */
    for (int64_t row = 0; row < problem->rows; row++) {
        shares[row] = few ? pow(nadir_random_uniform(random), 8) : nadir_random_uniform(random);
    }
    const double total = (double)test_norm(problem->rows, shares, 0, set->p);
    for (int64_t s = 0; s < n; s++) {
        const int64_t first = problem->model->state_rows[s];
        const int64_t end = problem->model->state_rows[s + 1];
        const double of_state = (double)test_norm(end - first, shares + first, 0, set->p);
        for (int64_t row = first; row < end; row++) {
            const double whole = set->set == NADIR_SET_NONRECT ? total
                                 : set->set == NADIR_SET_S     ? of_state
                                                               : shares[row];
            const double norm = factor * nadir_uncertainty_radius(set, s, row) *
                                nadir_uncertainty_scale(set, row) * (shares[row] / whole);
            random_change(problem, random, pairs, norm, change);
            for (int64_t t = 0; t < n; t++) {
                kernel[row * n + t] = nominal[row * n + t] + change[t];
            }
        }
    }
    free(nominal);
    free(change);
    free(shares);
}
