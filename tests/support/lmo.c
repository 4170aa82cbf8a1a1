/* lmo.c: small random problems for the oracle; see lmo.h. */
#include "support/support.h"

#include "linalg/vector.h"
#include "model/kernel.h"
#include "model/landing.h"
#include "support/lmo.h"
#include "support/reference.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const double test_rows_norms[TEST_ROWS_NORMS] = {1, 2, INFINITY, 1.5, 3, 1.1, 10, 1.001, 1000};

nadir_model *test_add_landing(nadir_context *context, nadir_random *random, nadir_model *model)
{
    nadir_model_data data = test_view(model);
    const int64_t entries = data.dense != NULL ? data.rows * data.states : data.nonzeros;
    double *rewards = test_new(entries, sizeof *rewards);
    for (int64_t i = 0; i < entries; i++) {
        rewards[i] = nadir_random_normal(random);
    }
    data.transition_rewards = rewards;
    data.rewards = NULL;
    nadir_model *made = test_create_model(context, &data);
    free(rewards);
    nadir_model_free(model);
    return made;
}

/* A row of random support with some very small probabilities, or one that is uniform. */
static void fill_row(nadir_random *random, int64_t states, double density, double *row)
{
    const bool even = nadir_random_below(random, 4) == 0;
    double sum = 0;
    for (int64_t t = 0; t < states; t++) {
        const bool there = nadir_random_uniform(random) < density;
        const double weight = nadir_random_exponential(random);
        const bool small = nadir_random_below(random, 10) == 0;
        row[t] = !there ? 0 : even ? 1 : small ? 1e-9 * weight : weight;
        sum += row[t];
    }
    if (!(sum > 0)) {
        row[nadir_random_below(random, (uint64_t)states)] = 1;
        sum = 1;
    }
    for (int64_t t = 0; t < states; t++) {
        row[t] /= sum;
    }
}

/* Rewards of the transitions of a row, NaN where there is none. */
static void fill_rewards(nadir_random *random, int64_t states, int kind, const double *row, double *rewards)
{
    static const double sizes[TEST_ROWS_LANDINGS] = {1, 1, 1e6, 1e-6, 1, 1};
    const int64_t only = (int64_t)nadir_random_below(random, (uint64_t)states);
    for (int64_t t = 0; t < states; t++) {
        const double normal = sizes[kind] * nadir_random_normal(random);
        const double few = (double)nadir_random_below(random, 3);
        const double r = kind == 1 ? few : kind == 4 && t != only ? 0 : normal;
        rewards[t] = row[t] > 0 || kind == 5 ? r : NAN;
    }
}

/* kind < 0: no rewards on landing. */
static nadir_model *make_model(nadir_context *context, nadir_random *random, int kind)
{
    static const double densities[] = {1, 0.05, 0.3, 0.45, 0.8};
    const int64_t states = 1 + (int64_t)nadir_random_below(random, TEST_ROWS_STATES);
    const double density = densities[nadir_random_below(random, 5)];
    int64_t *state_rows = test_new(states + 1, sizeof *state_rows);
    for (int64_t s = 0; s < states; s++) {
        state_rows[s + 1] = state_rows[s] + 1 + (int64_t)nadir_random_below(random, 3);
    }
    const int64_t rows = state_rows[states];
    double *dense = test_new(rows * states, sizeof *dense);
    double *rewards = test_new(rows, sizeof *rewards);
    double *landing = test_new(rows * states, sizeof *landing);
    for (int64_t row = 0; row < rows; row++) {
        fill_row(random, states, density, dense + row * states);
        rewards[row] = nadir_random_normal(random);
        if (kind >= 0) {
            fill_rewards(random, states, kind, dense + row * states, landing + row * states);
        }
    }
    nadir_model_data data = test_model_data();
    data.states = states;
    data.rows = rows;
    data.discount = 0.9;
    data.state_rows = state_rows;
    data.dense = dense;
    data.rewards = kind < 0 ? rewards : NULL;
    data.transition_rewards = kind < 0 ? NULL : landing;
    nadir_model *model = test_create_model(context, &data);
    free(landing);
    free(state_rows);
    free(dense);
    free(rewards);
    return model;
}

void test_rows_set(test_rows *made, nadir_random *random, int values)
{
    const double offset = nadir_random_below(random, 2) == 0 ? 0 : 10 * nadir_random_normal(random);
    for (int64_t s = 0; s < made->states; s++) {
        const double normal = nadir_random_normal(random);
        const double few = (double)nadir_random_below(random, 4);
        const double shapes[TEST_ROWS_VALUES] = {
            normal + offset, few, offset, 1 + 1e-9 * normal + offset, 1e150 * normal, 1e-150 * normal,
            s == 0 ? -3 : 4,
        };
        made->v[s] = shapes[values];
    }
    assert_ok(made->context, nadir_value_order_make(made->context, made->states, made->v, &made->order));
}

/* landing: of either sign. */
static void fill_landing(test_rows *made, double landing)
{
    for (int64_t row = 0; row < made->count; row++) {
        const nadir_row entries = nadir_model_row(made->model, row);
        const int64_t start = nadir_landing_entry(made->model, row);
        for (int64_t i = 0; i < entries.count; i++) {
            const int64_t t = nadir_row_column(&entries, i);
            made->e[row * made->states + t] = landing * nadir_landing_e(made->model, row, start + i, t);
        }
    }
    made->order.spread = fabs(landing) * (made->model->landing.e_high - made->model->landing.e_low);
}

test_rows test_rows_make(nadir_context *context, nadir_random *random, double p, nadir_domain domain,
                         int values)
{
    return test_rows_make_landing(context, random, p, domain, values, -1);
}

test_rows test_rows_make_landing(nadir_context *context, nadir_random *random, double p, nadir_domain domain,
                                 int values, int kind)
{
    test_rows made = {.context = context, .model = make_model(context, random, kind)};
    const bool general = nadir_landing_is_general(made.model);
    const double landing = !general ? 0 : nadir_random_below(random, 2) == 0 ? 1 / 0.9 : -1 / 0.9;
    made.states = made.model->states;
    made.count = made.model->rows;
    made.v = test_new(made.states, sizeof *made.v);
    made.scales = test_new(made.count, sizeof *made.scales);
    made.weights = test_new(made.count, sizeof *made.weights);
    made.phat = test_dense_kernel(made.model);
    made.e = test_new(made.count * made.states, sizeof *made.e);
    if (general) {
        fill_landing(&made, landing);
    }
    made.X = test_new(made.count * made.states, sizeof *made.X);
    made.answers = test_new(made.count, sizeof *made.answers);
    made.bounds = test_new(made.count, sizeof *made.bounds);
    for (int64_t row = 0; row < made.count; row++) {
        made.scales[row] = nadir_random_below(random, 8) == 0 ? 0 : 0.1 + nadir_random_exponential(random);
        made.weights[row] = nadir_random_below(random, 8) == 0 ? 0 : nadir_random_exponential(random);
    }
    test_rows_set(&made, random, values);
    made.rows = (nadir_lmo){
        .model = made.model,
        .scales = made.scales,
        .domain = domain,
        .p = p,
        .q = nadir_holder_conjugate(p),
        .landing = landing,
    };
    made.room = test_new(nadir_lmo_work_size(&made.rows, 0, made.count), sizeof *made.room);
    return made;
}

void test_rows_clear(test_rows *made)
{
    nadir_value_order_clear(made->context, &made->order);
    nadir_model_free(made->model);
    free(made->v);
    free(made->scales);
    free(made->weights);
    free(made->phat);
    free(made->e);
    free(made->room);
    free(made->X);
    free(made->answers);
    free(made->bounds);
}

void test_rows_write(test_rows *made)
{
    nadir_kernel *kernel = NULL;
    nadir_explicit rows = {0};
    assert_ok(made->context, nadir_lmo_kernel(made->context, &made->rows, made->answers, &kernel));
    assert_ok(made->context, nadir_explicit_make(made->context, kernel, &rows));
    memset(made->X, 0, (size_t)(made->count * made->states) * sizeof *made->X);
    for (int64_t row = 0; row < made->count; row++) {
        const nadir_row own = nadir_explicit_row(&rows, row);
        for (int64_t i = 0; i < own.count; i++) {
            made->X[row * made->states + nadir_row_column(&own, i)] = own.values[i];
        }
    }
    nadir_explicit_clear(made->context, &rows);
    nadir_kernel_free(kernel);
}

double test_rows_norm(const test_rows *made, int64_t row, const double *X)
{
    const double *phat = made->phat + row * made->states;
    const double p = made->rows.p;
    long double largest = 0;
    for (int64_t t = 0; t < made->states; t++) {
        largest = fmaxl(largest, fabsl((long double)X[t] - phat[t]));
    }
    if (isinf(p) || largest == 0) {
        return (double)(largest / (made->scales[row] > 0 ? made->scales[row] : 1));
    }
    long double sum = 0;
    for (int64_t t = 0; t < made->states; t++) {
        sum += powl(fabsl((long double)X[t] - phat[t]) / largest, p);
    }
    return (double)(largest * powl(sum, 1 / (long double)p) / made->scales[row]);
}

double test_rows_total(const test_rows *made, int64_t first, int64_t end, const double *X)
{
    const double p = made->rows.p;
    double largest = 0;
    for (int64_t row = first; row < end; row++) {
        largest = fmax(largest, test_rows_norm(made, row, X + row * made->states));
    }
    if (isinf(p) || largest == 0) {
        return largest;
    }
    long double sum = 0;
    for (int64_t row = first; row < end; row++) {
        sum += powl(test_rows_norm(made, row, X + row * made->states) / (long double)largest, p);
    }
    return (double)(largest * powl(sum, 1 / (long double)p));
}

long double test_rows_cost(const test_rows *made, int64_t row, int64_t t)
{
    return ((long double)made->v[t] - made->order.lowest) + made->e[row * made->states + t];
}

double test_rows_gain(const test_rows *made, int64_t row, const double *X)
{
    const double *phat = made->phat + row * made->states;
    long double sum = 0;
    for (int64_t t = 0; t < made->states; t++) {
        sum += ((long double)phat[t] - X[t]) * test_rows_cost(made, row, t);
    }
    return (double)sum;
}

void test_rows_random(const test_rows *made, nadir_random *random, int64_t row, double norm, double *X)
{
    const double *phat = made->phat + row * made->states;
    const bool support = made->rows.domain == NADIR_DOMAIN_SUPPORT;
    const uint64_t kind = nadir_random_below(random, 3);
    double sum = 0;
    for (int64_t t = 0; t < made->states; t++) {
        const bool allowed = !support || phat[t] > 0;
        /* anything; what is low in v; what the answer has, with noise */
        const double x =
            made->order.range > 0 ? (double)(test_rows_cost(made, row, t) / made->order.range) : 0;
        const double low = exp(-20 * x * nadir_random_uniform(random));
        const double near = made->X[row * made->states + t] * (1 + 0.1 * nadir_random_normal(random));
        X[t] = !allowed ? 0 : kind == 0 ? nadir_random_exponential(random) : kind == 1 ? low : fabs(near);
        sum += X[t];
    }
    for (int64_t t = 0; t < made->states; t++) {
        X[t] = sum > 0 ? X[t] / sum : phat[t];
    }
    /* towards Phat until it is within the ball, all of which stays in the domain */
    const double size = test_rows_norm(made, row, X);
    const double part = size > norm ? norm / size : 1;
    for (int64_t t = 0; t < made->states; t++) {
        X[t] = phat[t] + part * (X[t] - phat[t]);
    }
}
