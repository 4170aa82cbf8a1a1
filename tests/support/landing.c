/* landing.c: small models whose rewards are paid on landing; see landing.h. */
#include "support/support.h"

#include "support/landing.h"
#include "support/reference.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

test_landing test_landing_start_ragged(int64_t states, const int64_t *actions, double discount)
{
    test_landing made = {.states = states, .discount = discount};
    made.state_rows = test_new(states + 1, sizeof *made.state_rows);
    for (int64_t s = 0; s < states; s++) {
        made.state_rows[s + 1] = made.state_rows[s] + actions[s];
    }
    made.rows = made.state_rows[states];
    made.kernel = test_new(made.rows * states, sizeof *made.kernel);
    made.paid = test_new(made.rows * states, sizeof *made.paid);
    made.mu = test_new(states, sizeof *made.mu);
    made.scales = test_new(made.rows, sizeof *made.scales);
    for (int64_t i = 0; i < made.rows * states; i++) {
        made.paid[i] = NAN;
    }
    for (int64_t s = 0; s < states; s++) {
        made.mu[s] = 1 / (double)states;
    }
    for (int64_t row = 0; row < made.rows; row++) {
        made.scales[row] = 1;
    }
    return made;
}

test_landing test_landing_start(int64_t states, int64_t actions, double discount)
{
    int64_t *counts = test_new(states, sizeof *counts);
    for (int64_t s = 0; s < states; s++) {
        counts[s] = actions;
    }
    const test_landing made = test_landing_start_ragged(states, counts, discount);
    free(counts);
    return made;
}

void test_landing_clear(test_landing *landing)
{
    void *const arrays[] = {landing->state_rows, landing->kernel, landing->paid, landing->mu,
                            landing->scales};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) {
        free(arrays[i]);
    }
    *landing = (test_landing){0};
}

static nadir_model_data data_of(const test_landing *landing)
{
    nadir_model_data data = test_model_data();
    data.states = landing->states;
    data.rows = landing->rows;
    data.discount = landing->discount;
    data.state_rows = landing->state_rows;
    data.initial = landing->mu;
    data.scales = landing->scales;
    return data;
}

/* From lists of positive probabilities, with what each transition pays, unless the rows have rewards. */
static nadir_model *create_listed(nadir_context *context, const test_landing *landing, nadir_model_data data)
{
    const int64_t n = landing->states;
    int64_t *row_starts = test_new(landing->rows + 1, sizeof *row_starts);
    int32_t *columns = test_new(landing->rows * n, sizeof *columns);
    double *probabilities = test_new(landing->rows * n, sizeof *probabilities);
    double *paid = test_new(landing->rows * n, sizeof *paid);
    int64_t to = 0;
    for (int64_t row = 0; row < landing->rows; row++) {
        for (int64_t t = 0; t < n; t++) {
            if (landing->kernel[row * n + t] > 0) {
                columns[to] = (int32_t)t;
                probabilities[to] = landing->kernel[row * n + t];
                paid[to++] = landing->paid[row * n + t];
            }
        }
        row_starts[row + 1] = to;
    }
    data.row_starts = row_starts;
    data.columns = columns;
    data.probabilities = probabilities;
    data.transition_rewards = data.rewards == NULL ? paid : NULL;
    nadir_model *model = test_create_model(context, &data);
    free(row_starts);
    free(columns);
    free(probabilities);
    free(paid);
    return model;
}

nadir_model *test_landing_model(nadir_context *context, const test_landing *landing, bool sparse,
                                nadir_unseen unseen, double unseen_value)
{
    nadir_model_data data = data_of(landing);
    data.unseen = unseen;
    data.unseen_value = unseen_value;
    if (sparse) {
        return create_listed(context, landing, data);
    }
    data.dense = landing->kernel;
    data.transition_rewards = landing->paid;
    return test_create_model(context, &data);
}

/* Phat . r of a row */
static long double row_mean(const test_landing *landing, int64_t row)
{
    const int64_t n = landing->states;
    long double sum = 0;
    for (int64_t t = 0; t < n; t++) {
        if (landing->kernel[row * n + t] > 0) {
            sum += (long double)landing->kernel[row * n + t] * landing->paid[row * n + t];
        }
    }
    return sum;
}

nadir_model *test_landing_frozen(nadir_context *context, const test_landing *landing, bool sparse)
{
    nadir_model_data data = data_of(landing);
    double *rewards = test_new(landing->rows, sizeof *rewards);
    for (int64_t row = 0; row < landing->rows; row++) {
        rewards[row] = (double)row_mean(landing, row);
    }
    data.dense = sparse ? NULL : landing->kernel;
    data.rewards = rewards;
    nadir_model *model = sparse ? create_listed(context, landing, data) : test_create_model(context, &data);
    free(rewards);
    return model;
}

/* ------------------------------------------------------------------------------------ unseen successors */

/* Whether a row knows what a successor pays. */
static bool is_given(const test_landing *landing, int64_t row, int64_t t)
{
    return !isnan(landing->paid[row * landing->states + t]);
}

/* The smallest state of each component, by passing it on until nothing changes. */
static void find_components(const test_landing *landing, int64_t *component)
{
    const int64_t n = landing->states;
    bool changed = true;
    for (int64_t s = 0; s < n; s++) {
        component[s] = s;
    }
    while (changed) {
        changed = false;
        for (int64_t row = 0; row < landing->rows; row++) {
            int64_t smallest = n;
            for (int64_t t = 0; t < n && landing->scales[row] > 0; t++) {
                smallest = is_given(landing, row, t) && component[t] < smallest ? component[t] : smallest;
            }
            for (int64_t t = 0; t < n && landing->scales[row] > 0; t++) {
                if (is_given(landing, row, t) && component[t] > smallest) {
                    component[t] = smallest;
                    changed = true;
                }
            }
        }
    }
}

/* A x = b by elimination with the largest pivot of the column. A: [n * n], overwritten; b becomes x. */
static void eliminate(int64_t n, long double *A, long double *b)
{
    for (int64_t k = 0; k < n; k++) {
        int64_t pivot = k;
        for (int64_t i = k + 1; i < n; i++) {
            pivot = fabsl(A[i * n + k]) > fabsl(A[pivot * n + k]) ? i : pivot;
        }
        for (int64_t j = 0; j < n && pivot != k; j++) {
            const long double held = A[k * n + j];
            A[k * n + j] = A[pivot * n + j];
            A[pivot * n + j] = held;
        }
        const long double held = b[k];
        b[k] = b[pivot];
        b[pivot] = held;
        assert_true(A[k * n + k] != 0);
        for (int64_t i = 0; i < n; i++) {
            const long double factor = i == k ? 0 : A[i * n + k] / A[k * n + k];
            for (int64_t j = k; j < n && factor != 0; j++) {
                A[i * n + j] -= factor * A[k * n + j];
            }
            b[i] -= factor * b[k];
        }
    }
    for (int64_t k = 0; k < n; k++) {
        b[k] /= A[k * n + k];
    }
}

void test_landing_fit(const test_landing *landing, double *g, int64_t *component)
{
    const int64_t n = landing->states;
    long double *A = test_new(n * n, sizeof *A);
    long double *b = test_new(n, sizeof *b);
    find_components(landing, component);
    for (int64_t row = 0; row < landing->rows; row++) {
        const double *P = landing->kernel + row * n;
        const long double mean = row_mean(landing, row);
        for (int64_t t = 0; t < n && landing->scales[row] > 0; t++) {
            b[t] += P[t] > 0 ? P[t] * (landing->paid[row * n + t] - mean) : 0;
            A[t * n + t] += P[t];
            for (int64_t u = 0; u < n; u++) {
                A[t * n + u] -= (long double)P[t] * P[u];
            }
        }
    }
    /* the mean of every component is 0: the sums, added to each equation of the component */
    for (int64_t t = 0; t < n; t++) {
        for (int64_t u = 0; u < n; u++) {
            A[t * n + u] += component[t] == component[u];
        }
    }
    eliminate(n, A, b);
    for (int64_t t = 0; t < n; t++) {
        g[t] = (double)b[t];
    }
    free(A);
    free(b);
}

void test_landing_extend(const test_landing *landing, nadir_unseen unseen, double unseen_value, double *paid)
{
    const int64_t n = landing->states;
    double *g = test_new(n, sizeof *g);
    int64_t *component = test_new(n, sizeof *component);
    double smallest = INFINITY;
    bool any = false;
    for (int64_t i = 0; i < landing->rows * n; i++) {
        any = any || (isnan(landing->paid[i]) && landing->scales[i / n] > 0);
        smallest = isnan(landing->paid[i]) ? smallest : fmin(smallest, landing->paid[i]);
    }
    if (unseen == NADIR_UNSEEN_ADDITIVE && any) {
        test_landing_fit(landing, g, component);
    }
    for (int64_t row = 0; row < landing->rows; row++) {
        long double base = row_mean(landing, row);
        for (int64_t t = 0; t < n; t++) {
            base -= (long double)landing->kernel[row * n + t] * g[t];
        }
        for (int64_t t = 0; t < n; t++) {
            const double filled = unseen == NADIR_UNSEEN_MIN     ? smallest
                                  : unseen == NADIR_UNSEEN_VALUE ? unseen_value
                                                                 : (double)(base + g[t]);
            paid[row * n + t] = is_given(landing, row, t) ? landing->paid[row * n + t] : filled;
        }
    }
    free(g);
    free(component);
}

/* -------------------------------------------------------------------------------------- transition model */

/* The rows of the model with their transitions; the new states come after the old ones, in the same order. */
static nadir_model *make_transitions(nadir_context *context, const nadir_model_data *old,
                                     const double *scales)
{
    const int64_t count = old->row_starts[old->rows];
    const int64_t states = old->states + count;
    const double root = sqrt(old->discount);
    nadir_model_data data = test_model_data();
    int64_t *state_rows = test_new(states + 1, sizeof *state_rows);
    int64_t *row_starts = test_new(old->rows + count + 1, sizeof *row_starts);
    int32_t *columns = test_new(2 * count, sizeof *columns);
    double *probabilities = test_new(2 * count, sizeof *probabilities);
    double *rewards = test_new(old->rows + count, sizeof *rewards);
    double *mu = test_new(states, sizeof *mu);
    double *all_scales = test_new(old->rows + count, sizeof *all_scales);
    for (int64_t s = 0; s < states; s++) {
        state_rows[s + 1] = s < old->states ? old->state_rows[s + 1] : state_rows[s] + 1;
        mu[s] = s < old->states ? old->initial[s] : 0;
    }
    for (int64_t row = 0; row < old->rows; row++) {
        all_scales[row] = scales != NULL ? scales[row] : 1;
        row_starts[row + 1] = old->row_starts[row + 1];
        for (int64_t i = old->row_starts[row]; i < old->row_starts[row + 1]; i++) {
            const double paid =
                old->transition_rewards != NULL ? old->transition_rewards[i] : old->rewards[row];
            columns[i] = (int32_t)(old->states + i);
            probabilities[i] = old->probabilities[i];
            columns[count + i] = old->columns[i];
            probabilities[count + i] = 1;
            row_starts[old->rows + i + 1] = count + i + 1;
            rewards[old->rows + i] = paid / root;
        }
    }
    data.states = states;
    data.rows = old->rows + count;
    data.discount = root;
    data.state_rows = state_rows;
    data.row_starts = row_starts;
    data.columns = columns;
    data.probabilities = probabilities;
    data.rewards = rewards;
    data.initial = mu;
    data.scales = all_scales;
    nadir_model *model = test_create_model(context, &data);
    void *const arrays[] = {state_rows, row_starts, columns, probabilities, rewards, mu, all_scales};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) {
        free(arrays[i]);
    }
    return model;
}

/* Dense rows as lists. The arrays that are made are put into `held`, to be freed. */
static nadir_model_data listed(const nadir_model *model, void *held[4])
{
    nadir_model_data view = test_view(model);
    memset(held, 0, 4 * sizeof *held);
    if (view.dense == NULL) {
        return view;
    }
    const int64_t most = view.rows * view.states;
    int64_t *row_starts = held[0] = test_new(view.rows + 1, sizeof *row_starts);
    int32_t *columns = held[1] = test_new(most, sizeof *columns);
    double *probabilities = held[2] = test_new(most, sizeof *probabilities);
    double *paid = held[3] = test_new(most, sizeof *paid);
    int64_t to = 0;
    for (int64_t i = 0; i < most; i++) {
        if (view.dense[i] > 0) {
            columns[to] = (int32_t)(i % view.states);
            probabilities[to] = view.dense[i];
            paid[to++] = view.transition_rewards != NULL ? view.transition_rewards[i] : 0;
        }
        row_starts[i / view.states + 1] = to;
    }
    view.row_starts = row_starts;
    view.columns = columns;
    view.probabilities = probabilities;
    view.transition_rewards = view.transition_rewards != NULL ? paid : NULL;
    return view;
}

test_transitions test_transitions_make(nadir_context *context, const nadir_model *model,
                                       const nadir_policy *policy, const nadir_ball *ball)
{
    void *held[4];
    const nadir_model_data view = listed(model, held);
    const int64_t count = view.row_starts[view.rows];
    test_transitions made = {.ball = *ball};
    assert_true(view.discount > 0);
    made.model = make_transitions(context, &view, ball->scales != NULL ? ball->scales : view.scales);
    double *chances = test_new(view.rows + count, sizeof *chances);
    for (int64_t row = 0; row < view.rows + count; row++) {
        chances[row] = row < view.rows ? nadir_policy_probabilities(policy)[row] : 1;
    }
    assert_ok(context, nadir_policy_create(context, made.model, chances, &made.policy));
    const int64_t more = ball->radius_count > 1 ? count : 0;
    made.radii = test_new(ball->radius_count + more, sizeof *made.radii);
    memcpy(made.radii, ball->radius, (size_t)ball->radius_count * sizeof *made.radii);
    made.ball.domain = NADIR_DOMAIN_SUPPORT;
    made.ball.scales = NULL;
    made.ball.radius = made.radii;
    made.ball.radius_count = ball->radius_count + more;
    free(chances);
    for (int i = 0; i < 4; i++) {
        free(held[i]);
    }
    return made;
}

void test_transitions_clear(test_transitions *made)
{
    nadir_policy_free(made->policy);
    nadir_model_free(made->model);
    free(made->radii);
    *made = (test_transitions){0};
}
