/* box.c: small random models with intervals; see box.h. */
#include "support/support.h"

#include "support/box.h"
#include "support/reference.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static double uniform(nadir_random *random)
{
    return nadir_random_uniform(random);
}

/* A distribution over some states, and intervals around another one. */
static void draw_row(test_box *box, nadir_random *random, int64_t row, double end)
{
    const int64_t n = box->states;
    double *p = box->nominal + row * n;
    double *lower = box->lower + row * n;
    double *upper = box->upper + row * n;
    const double width = uniform(random) < 0.2 ? 0 : uniform(random);
    double sum = 0;
    for (int64_t t = 0; t < n; t++) {
        const bool listed = t < 2 || uniform(random) < 0.6;
        p[t] = listed ? -log(1 - uniform(random)) : 0;
        p[t] = t < 2 && end > 0 ? p[t] + end * (double)n : p[t];
        sum += p[t];
    }
    for (int64_t t = 0; t < n; t++) {
        p[t] /= sum;
        const double down = p[t] > 0 ? width * uniform(random) : 0;
        const double up = p[t] > 0 ? width * uniform(random) : 0;
        lower[t] = uniform(random) < 0.2 ? 0 : p[t] * (1 - down);
        lower[t] = t < 2 && end > 0 ? fmax(lower[t], p[t] / 2) : lower[t];
        upper[t] = fmin(1, p[t] + up);
        if (p[t] == 0 && uniform(random) < 0.1) { /* allowed, and no nominal successor */
            upper[t] = width * uniform(random);
        }
    }
}

static void draw_policy(test_box *box, nadir_random *random)
{
    for (int64_t s = 0; s < box->states; s++) {
        double sum = 0;
        for (int64_t a = 0; a < box->actions; a++) {
            box->pi[s * box->actions + a] = uniform(random) + 0.01;
            sum += box->pi[s * box->actions + a];
        }
        for (int64_t a = 0; a < box->actions; a++) {
            box->pi[s * box->actions + a] /= sum;
        }
    }
}

/* Room for the numbers. */
static void reserve(test_box *box)
{
    const int64_t n = box->states;
    box->nominal = test_new(box->rows * n, sizeof *box->nominal);
    box->lower = test_new(box->rows * n, sizeof *box->lower);
    box->upper = test_new(box->rows * n, sizeof *box->upper);
    box->rewards = test_new(box->rows, sizeof *box->rewards);
    box->mu = test_new(n, sizeof *box->mu);
    box->ends = test_new(n, sizeof *box->ends);
    box->pi = test_new(box->rows, sizeof *box->pi);
    for (int64_t s = 0; s < n; s++) {
        box->ends[s] = -1;
    }
}

test_box test_box_of(nadir_context *context, nadir_model *model, const bool *goal)
{
    nadir_model_data data;
    nadir_model_data_default(&data);
    nadir_model_view(model, &data);
    test_box box = {.states = data.states, .model = nadir_model_retain(model)};
    for (int64_t s = 0; s < data.states; s++) { /* states with fewer actions have the last one again */
        const int64_t count = data.state_rows[s + 1] - data.state_rows[s];
        box.actions = count > box.actions ? count : box.actions;
    }
    const int64_t n = box.states;
    assert_true(n <= TEST_BOX_STATES);
    box.rows = n * box.actions;
    box.gamma = goal != NULL ? 1 : data.discount;
    reserve(&box);
    memset(box.nominal, 0, (size_t)(box.rows * n) * sizeof *box.nominal);
    memset(box.lower, 0, (size_t)(box.rows * n) * sizeof *box.lower);
    memset(box.upper, 0, (size_t)(box.rows * n) * sizeof *box.upper);
    for (int64_t s = 0; s < n; s++) {
        const int64_t count = data.state_rows[s + 1] - data.state_rows[s];
        box.mu[s] = data.initial[s];
        box.ends[s] = goal != NULL && goal[s] ? 1 : -1;
        for (int64_t a = 0; a < box.actions; a++) {
            const int64_t row = s * box.actions + a;
            const int64_t own = data.state_rows[s] + (a < count ? a : count - 1);
            box.pi[row] = a < count ? 1.0 / (double)count : 0;
            box.rewards[row] = goal == NULL && data.rewards != NULL ? data.rewards[own] : 0;
            for (int64_t i = data.row_starts[own]; i < data.row_starts[own + 1]; i++) {
                box.nominal[row * n + data.columns[i]] = data.probabilities[i];
                box.lower[row * n + data.columns[i]] = data.lower[i];
                box.upper[row * n + data.columns[i]] = data.upper[i];
            }
        }
    }
    assert_int_equal(nadir_policy_create_uniform(context, model, &box.policy), NADIR_OK);
    return box;
}

test_box test_box_make(nadir_context *context, nadir_random *random, bool reach)
{
    test_box box = {.states = 3 + (int64_t)nadir_random_below(random, 8),
                    .actions = 1 + (int64_t)nadir_random_below(random, 3)};
    const int64_t n = box.states;
    box.rows = n * box.actions;
    box.gamma = reach ? 1 : uniform(random) * 0.95;
    reserve(&box);
    int64_t *state_rows = test_new(n + 1, sizeof *state_rows);
    for (int64_t s = 0; s <= n; s++) {
        state_rows[s] = s * box.actions;
    }
    for (int64_t row = 0; row < box.rows; row++) {
        const int64_t s = row / box.actions;
        draw_row(&box, random, row, reach ? 0.05 : 0);
        if (reach && s < 2) { /* stays */
            memset(box.nominal + row * n, 0, (size_t)n * sizeof *box.nominal);
            memset(box.lower + row * n, 0, (size_t)n * sizeof *box.lower);
            memset(box.upper + row * n, 0, (size_t)n * sizeof *box.upper);
            box.nominal[row * n + s] = box.lower[row * n + s] = box.upper[row * n + s] = 1;
        }
        box.rewards[row] = reach ? 0 : 2 * uniform(random) - 1;
    }
    for (int64_t s = 0; s < n; s++) {
        box.mu[s] = reach && s < 2 ? 0 : 1.0 / (double)(reach ? n - 2 : n);
        box.ends[s] = !reach || s >= 2 ? -1 : s == 0 ? 1 : 0;
    }
    draw_policy(&box, random);
    nadir_model_data data;
    nadir_model_data_default(&data);
    data.states = n;
    data.rows = box.rows;
    data.discount = reach ? 0.5 : box.gamma; /* --goal overrides it */
    data.state_rows = state_rows;
    data.dense = box.nominal;
    data.lower = box.lower;
    data.upper = box.upper;
    data.rewards = reach ? NULL : box.rewards;
    data.initial = box.mu;
    assert_int_equal(nadir_model_create(context, &data, &box.model), NADIR_OK);
    if (reach) { /* as a file is read */
        nadir_read_settings settings;
        nadir_read_settings_default(&settings);
        settings.goal = "0";
        settings.avoid = "1";
        assert_int_equal(nadir_model_write(context, box.model, "reach.npz", NULL), NADIR_OK);
        nadir_model_free(box.model);
        assert_int_equal(nadir_model_read(context, "reach.npz", &settings, &box.model), NADIR_OK);
    }
    assert_int_equal(nadir_policy_create(context, box.model, box.pi, &box.policy), NADIR_OK);
    free(state_rows);
    return box;
}

void test_box_clear(test_box *box)
{
    nadir_policy_free(box->policy);
    nadir_model_free(box->model);
    free(box->nominal);
    free(box->lower);
    free(box->upper);
    free(box->rewards);
    free(box->mu);
    free(box->ends);
    free(box->pi);
}

/* The smallest X . c of a row: l, and then as much as fits of the cheapest, again and again. */
static double cheapest(const test_box *box, int64_t row, const double *c)
{
    const int64_t n = box->states;
    const double *lower = box->lower + row * n;
    const double *upper = box->upper + row * n;
    int64_t list[TEST_BOX_STATES];
    int64_t count = 0;
    double left = 1;
    double sum = 0;
    for (int64_t t = 0; t < n; t++) {
        left -= lower[t];
        sum += lower[t] * c[t];
        list[count] = t;
        count += upper[t] > 0;
    }
    while (count > 0 && left > 0) {
        int64_t best = 0;
        for (int64_t k = 0; k < count; k++) {
            best = c[list[k]] < c[list[best]] ? k : best;
        }
        const int64_t t = list[best];
        const double more = fmin(left, upper[t] - lower[t]);
        left -= more;
        sum += more * c[t];
        list[best] = list[--count];
    }
    return sum;
}

double test_box_iterate(const test_box *box, bool best, bool optimal)
{
    const int64_t n = box->states;
    const double sign = best ? -1 : 1;
    double v[TEST_BOX_STATES] = {0};
    double next[TEST_BOX_STATES];
    double change = 1;
    double J = 0;
    for (int step = 0; step < 200000 && change >= 1e-16; step++) {
        change = 0;
        for (int64_t s = 0; s < n; s++) {
            double sum = 0;
            double most = -INFINITY;
            for (int64_t a = 0; a < box->actions; a++) {
                const int64_t row = s * box->actions + a;
                const double q = sign * box->rewards[row] + box->gamma * cheapest(box, row, v);
                sum += box->pi[row] * q;
                most = fmax(most, q);
            }
            next[s] = box->ends[s] >= 0 ? sign * box->ends[s] : optimal ? most : sum;
            change = fmax(change, fabs(next[s] - v[s]));
        }
        memcpy(v, next, (size_t)n * sizeof *v);
    }
    for (int64_t s = 0; s < n; s++) {
        J += box->mu[s] * v[s];
    }
    return sign * J;
}

double test_box_return(const test_box *box, const double *kernel)
{
    const int64_t n = box->states;
    const int64_t width = n + 1;
    double *M = test_new(n * width, sizeof *M);
    memset(M, 0, (size_t)(n * width) * sizeof *M);
    for (int64_t s = 0; s < n; s++) {
        M[s * width + s] = 1;
        M[s * width + n] = fmax(box->ends[s], 0);
        for (int64_t a = 0; a < box->actions && box->ends[s] < 0; a++) {
            const int64_t row = s * box->actions + a;
            M[s * width + n] += box->pi[row] * box->rewards[row];
            for (int64_t t = 0; t < n; t++) {
                M[s * width + t] -= box->gamma * box->pi[row] * kernel[row * n + t];
            }
        }
    }
    for (int64_t k = 0; k < n; k++) { /* diagonally dominant */
        for (int64_t i = 0; i < n; i++) {
            const double factor = i != k ? M[i * width + k] / M[k * width + k] : 0;
            for (int64_t j = k; j <= n && factor != 0; j++) {
                M[i * width + j] -= factor * M[k * width + j];
            }
        }
    }
    double J = 0;
    for (int64_t s = 0; s < n; s++) {
        J += box->mu[s] * M[s * width + n] / M[s * width + s];
    }
    free(M);
    return J;
}

void test_box_project(const test_box *box, int64_t row, double *X)
{
    const int64_t n = box->states;
    double target[TEST_BOX_STATES];
    double low = -100;
    double high = 100;
    memcpy(target, X, (size_t)n * sizeof *X);
    for (int i = 0; i < 100; i++) {
        const double level = low / 2 + high / 2;
        double sum = 0;
        for (int64_t t = 0; t < n; t++) {
            X[t] = fmin(fmax(target[t] + level, box->lower[row * n + t]), box->upper[row * n + t]);
            sum += X[t];
        }
        *(sum < 1 ? &low : &high) = level;
    }
}
