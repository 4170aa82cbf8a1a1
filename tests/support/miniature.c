/* miniature.c: models of a few states; see miniature.h. */
#include "support/support.h"

#include "support/miniature.h"

#include "support/families.h"
#include "support/generated.h"
#include "support/reference.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { DENSE, SPARSE, HUB, ABSORBING, CHAIN, SHAPES };
static const char *const shape_names[SHAPES] = {"dense", "sparse", "hub", "absorbing", "chain"};

enum { UNIFORM, RANDOM, POINT, NEARLY_POINT, STARTS };
static const char *const start_names[STARTS] = {"uniform", "random", "point", "nearly a point"};

static const double discounts[] = {0, 0.5, 0.9, 0.9, 0.95, 0.99};
enum { DISCOUNTS = sizeof discounts / sizeof *discounts };

static int draw(nadir_random *random, int count)
{
    return (int)nadir_random_below(random, (uint64_t)count);
}

static double positive(nadir_random *random)
{
    return 0.02 + nadir_random_exponential(random);
}

static void normalise(int64_t count, double *weights)
{
    double sum = 0;
    for (int64_t i = 0; i < count; i++) {
        sum += weights[i];
    }
    for (int64_t i = 0; i < count; i++) {
        weights[i] /= sum;
    }
}

/* One row [n] of state s. */
static void draw_row(nadir_random *random, int shape, int64_t n, int64_t s, double *row)
{
    const bool last = s == n - 1;
    for (int64_t t = 0; t < n; t++) {
        const double chance = shape == DENSE ? 1 : shape == HUB ? 0.2 : 0.5;
        row[t] = nadir_random_uniform(random) < chance ? positive(random) : 0;
        if (shape == CHAIN) {
            row[t] = t == (last ? s : s + 1) ? 0.7 : 0;
        } else if (shape == ABSORBING && last) {
            row[t] = t == s;
        }
    }
    if (shape == CHAIN) {
        row[s > 0 ? s - 1 : 0] += 0.3;
    } else if (shape == HUB) {
        row[0] += positive(random);
    } else if (!(shape == ABSORBING && last)) {
        row[nadir_random_below(random, (uint64_t)n)] += positive(random);
    }
    normalise(n, row);
}

static void draw_initial(nadir_random *random, int start, int64_t n, double *initial)
{
    const int64_t point = draw(random, (int)n);
    for (int64_t s = 0; s < n; s++) {
        initial[s] = start == UNIFORM        ? 1
                     : start == RANDOM       ? positive(random)
                     : start == NEARLY_POINT ? 1e-9
                                             : 0;
    }
    if (start == POINT || start == NEARLY_POINT) {
        initial[point] = 1;
    }
    normalise(n, initial);
}

test_miniature test_miniature_make(nadir_context *context, nadir_random *random, int64_t states_most)
{
    const int64_t n = 2 + draw(random, (int)states_most - 1);
    const int shape = draw(random, SHAPES);
    const int start = draw(random, STARTS);
    const int choice = draw(random, TEST_CHOICES);
    const bool scaled = draw(random, 2) == 0;
    int64_t *state_rows = test_new(n + 1, sizeof *state_rows);
    for (int64_t s = 0; s < n; s++) {
        state_rows[s + 1] = state_rows[s] + 1 + draw(random, 3);
    }
    nadir_model_data data = test_model_data();
    data.states = n;
    data.rows = state_rows[n];
    data.discount = discounts[draw(random, DISCOUNTS)];
    data.state_rows = state_rows;
    double *dense = test_new(data.rows * n, sizeof *dense);
    double *rewards = test_new(data.rows, sizeof *rewards);
    double *scales = test_new(data.rows, sizeof *scales);
    double *initial = test_new(n, sizeof *initial);
    draw_initial(random, start, n, initial);
    for (int64_t s = 0; s < n; s++) {
        for (int64_t row = state_rows[s]; row < state_rows[s + 1]; row++) {
            draw_row(random, shape, n, s, dense + row * n);
            rewards[row] = nadir_random_normal(random);
            scales[row] = draw(random, 4) == 0 ? 0 : positive(random);
        }
    }
    data.dense = dense;
    data.rewards = rewards;
    data.initial = initial;
    data.scales = scaled ? scales : NULL;
    test_miniature made = {0};
    assert_ok(context, nadir_model_create(context, &data, &made.model));
    made.policy = test_policy(context, made.model, (test_choice)choice, random);
    snprintf(made.name, sizeof made.name, "%s, %d states, %d rows, start %s, policy %s, discount %g%s",
             shape_names[shape], (int)n, (int)data.rows, start_names[start], test_choice_names[choice],
             data.discount, scaled ? ", scaled" : "");
    free(state_rows);
    free(dense);
    free(rewards);
    free(scales);
    free(initial);
    return made;
}

void test_miniature_clear(test_miniature *tiny)
{
    nadir_policy_free(tiny->policy);
    nadir_model_free(tiny->model);
    *tiny = (test_miniature){0};
}

/* r(s, a, s'): [rows * states]. To be freed. */
static double *draw_paid(nadir_random *random, int number, const nadir_model_data *data, const double *dense)
{
    double *paid = test_new(data->rows * data->states, sizeof *paid);
    const bool flat = number % 4 == 0;
    const bool everywhere = number % 5 == 1;
    const double size = number % 7 == 0 ? 1e-3 : 1;
    const double offset = number % 13 == 0 ? 1e6 : 0;
    for (int64_t row = 0; row < data->rows; row++) {
        double mean = 0;
        for (int64_t i = row * data->states; i < (row + 1) * data->states; i++) {
            const double own = offset + data->rewards[row] + size * nadir_random_normal(random);
            paid[i] = dense[i] > 0 || everywhere ? own : NAN;
            mean += dense[i] > 0 ? dense[i] * paid[i] : 0;
        }
        for (int64_t i = row * data->states; i < (row + 1) * data->states && flat; i++) {
            paid[i] -= mean;
        }
    }
    return paid;
}

void test_miniature_land(nadir_context *context, nadir_random *random, int number, test_miniature *tiny)
{
    nadir_model_data data = test_view(tiny->model);
    double *dense = test_dense_kernel(tiny->model);
    double *paid = draw_paid(random, number, &data, dense);
    test_miniature made = *tiny;
    data.dense = dense;
    data.row_starts = NULL;
    data.columns = NULL;
    data.probabilities = NULL;
    data.rewards = NULL;
    data.transition_rewards = paid;
    data.unseen = number % 9 >= 6      ? (nadir_unseen)(number % 9 - 5)
                  : data.discount == 0 ? NADIR_UNSEEN_ROW
                                       : NADIR_UNSEEN_ADDITIVE;
    data.unseen_value = -1;
    made.model = test_create_model(context, &data);
    assert_ok(context, nadir_policy_create(context, made.model, nadir_policy_probabilities(tiny->policy),
                                           &made.policy));
    test_miniature_clear(tiny);
    *tiny = made;
    free(dense);
    free(paid);
}

nadir_model *test_model_rewarded(nadir_context *context, const nadir_model *model, double factor,
                                 double offset)
{
    nadir_model_data data = test_view(model);
    double *dense = test_dense_kernel(model);
    double *rewards = test_new(data.rows, sizeof *rewards);
    for (int64_t row = 0; row < data.rows; row++) {
        rewards[row] = factor * data.rewards[row] + offset;
    }
    data.dense = dense;
    data.row_starts = NULL;
    data.columns = NULL;
    data.probabilities = NULL;
    data.transition_rewards = NULL;
    data.rewards = rewards;
    nadir_model *made = test_create_model(context, &data);
    free(dense);
    free(rewards);
    return made;
}

void test_draw_radii(nadir_random *random, const nadir_model *model, double largest, nadir_ball *ball,
                     double *radii)
{
    const nadir_model_data view = test_view(model);
    const bool many = ball->set != NADIR_SET_NONRECT && nadir_random_below(random, 2) == 0;
    ball->radius = radii;
    ball->radius_count = !many ? 1 : ball->set == NADIR_SET_S ? view.states : view.rows;
    for (int64_t i = 0; i < ball->radius_count && many; i++) {
        radii[i] = largest * nadir_random_uniform(random) * (nadir_random_below(random, 4) > 0 ? 1 : 0);
    }
    radii[0] = largest;
}
