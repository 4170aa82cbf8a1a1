/* landing_random.c: small random models whose rewards are paid on landing; see landing.h. */
#include "support/support.h"

#include "support/families.h"
#include "support/landing.h"
#include "support/reference.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

const char *const test_rewards_names[TEST_REWARD_KINDS] = {"separable", "noisy", "general", "few", "flat"};

enum { DENSE, SPARSE, CHAIN, PARTS, SINGLE, ABSORBING, UNVISITED, SHAPES };
static const char *const shape_names[SHAPES] = {"dense",  "sparse",    "chain",    "two parts",
                                                "single", "absorbing", "unvisited"};
static const double discounts[] = {0.3, 0.6, 0.9, 0.95, 0.99};
enum { DISCOUNTS = sizeof discounts / sizeof *discounts };

static int draw(nadir_random *random, int count)
{
    return (int)nadir_random_below(random, (uint64_t)count);
}

static double positive(nadir_random *random)
{
    return 0.05 + nadir_random_exponential(random);
}

/* Whether t is a successor of s, before one is added so that there is any. */
static bool draw_successor(nadir_random *random, int shape, int64_t n, int64_t s, int64_t t)
{
    const bool half = draw(random, 2) == 0;
    switch (shape) {
    case DENSE:
        return true;
    case CHAIN:
        return t == s || t == s + 1;
    case PARTS:
        return s % 2 == t % 2 && half;
    case SINGLE:
        return s % 2 == 0 && half;
    case ABSORBING:
        return s == n - 1 ? t == s : half;
    case UNVISITED:
        return t < (n + 1) / 2 && half;
    default:
        return half;
    }
}

static void draw_row(nadir_random *random, int shape, int64_t n, int64_t s, double *row)
{
    const int64_t some = shape == PARTS                     ? s
                         : shape == UNVISITED               ? draw(random, (int)(n + 1) / 2)
                         : shape == ABSORBING && s == n - 1 ? s
                                                            : draw(random, (int)n);
    double sum = 0;
    for (int64_t t = 0; t < n; t++) {
        row[t] = draw_successor(random, shape, n, s, t) ? positive(random) : 0;
    }
    row[some] += row[some] == 0 && shape != CHAIN ? positive(random) : 0;
    for (int64_t t = 0; t < n; t++) {
        sum += row[t];
    }
    for (int64_t t = 0; t < n; t++) {
        row[t] /= sum;
    }
}

/* What all transitions pay. R: [rows], g: [states] */
static void draw_rewards(nadir_random *random, test_rewards kind, double size, test_landing *made)
{
    const int64_t n = made->states;
    double *R = test_new(made->rows + n, sizeof *R);
    double *g = R + made->rows;
    for (int64_t i = 0; i < made->rows + n; i++) {
        R[i] = nadir_random_normal(random);
    }
    for (int64_t i = 0; i < made->rows * n; i++) {
        const double noise =
            kind == TEST_REWARDS_FEW && draw(random, 4) > 0 ? 0 : nadir_random_normal(random);
        const double sum = R[i / n] + g[i % n];
        made->paid[i] = size * (kind == TEST_REWARDS_SEPARABLE ? sum
                                : kind == TEST_REWARDS_NOISY   ? sum + 0.03 * noise
                                                               : noise);
    }
    for (int64_t row = 0; row < made->rows && kind == TEST_REWARDS_FLAT; row++) {
        double mean = 0;
        for (int64_t i = row * n; i < (row + 1) * n; i++) {
            mean += made->kernel[i] * made->paid[i];
        }
        for (int64_t i = row * n; i < (row + 1) * n; i++) {
            made->paid[i] -= mean;
        }
    }
    free(R);
}

static void draw_frame(nadir_random *random, int shape, test_landing *made)
{
    const int64_t n = made->states;
    const int start = draw(random, 3);
    const bool scaled = draw(random, 2) == 0;
    double sum = 0;
    for (int64_t s = 0; s < n; s++) {
        const bool visited = shape != UNVISITED || s < (n + 1) / 2;
        made->mu[s] = !visited ? 0 : start == 0 ? 1 : start == 1 ? positive(random) : s == 0;
        sum += made->mu[s];
        for (int64_t row = made->state_rows[s]; row < made->state_rows[s + 1]; row++) {
            draw_row(random, shape, n, s, made->kernel + row * n);
            made->scales[row] = scaled ? (draw(random, 5) == 0 ? 0 : positive(random)) : 1;
            made->scales[row] = shape == ABSORBING && s == n - 1 ? 0 : made->scales[row];
        }
    }
    for (int64_t s = 0; s < n; s++) {
        made->mu[s] /= sum;
    }
}

test_landing_random test_landing_draw(nadir_context *context, nadir_random *random, int64_t states_most,
                                      test_rewards kind)
{
    const int64_t n = 2 + draw(random, (int)states_most - 1);
    const int shape = draw(random, SHAPES);
    const int choice = draw(random, TEST_CHOICES);
    const double discount = discounts[draw(random, DISCOUNTS)];
    test_landing_random made = {.size = pow(10, draw(random, 8) - 3)};
    int64_t *actions = test_new(n, sizeof *actions);
    for (int64_t s = 0; s < n; s++) {
        actions[s] = 1 + draw(random, 3);
    }
    made.draft = test_landing_start_ragged(n, actions, discount);
    draw_frame(random, shape, &made.draft);
    draw_rewards(random, kind, made.size, &made.draft);
    int64_t nonzeros = 0;
    for (int64_t i = 0; i < made.draft.rows * n; i++) {
        nonzeros += made.draft.kernel[i] > 0;
    }
    /* stored as lists below this density, and then transitions that never happen have no rewards */
    const bool full = 4 * nonzeros >= made.draft.rows * n && draw(random, 2) == 0;
    for (int64_t i = 0; i < made.draft.rows * n; i++) {
        const bool given = made.draft.kernel[i] > 0 || (full && made.draft.scales[i / n] > 0);
        made.draft.paid[i] = given ? made.draft.paid[i] : NAN;
    }
    made.model = test_landing_model(context, &made.draft, !full, NADIR_UNSEEN_ADDITIVE, 0);
    made.policy = test_policy(context, made.model, (test_choice)choice, random);
    snprintf(made.name, sizeof made.name,
             "%s, %s rewards of %g%s, %d states, %d rows, policy %s, discount %g", shape_names[shape],
             test_rewards_names[kind], made.size, full ? " all given" : "", (int)n, (int)made.draft.rows,
             test_choice_names[choice], discount);
    free(actions);
    return made;
}

void test_landing_random_clear(test_landing_random *drawn)
{
    test_landing_clear(&drawn->draft);
    nadir_policy_free(drawn->policy);
    nadir_model_free(drawn->model);
    *drawn = (test_landing_random){0};
}

test_oracle test_landing_oracle(const test_landing *landing, const nadir_model *model,
                                const nadir_policy *policy, const nadir_ball *ball, double sign)
{
    test_oracle made = test_oracle_make(model, policy, ball);
    free(made.paid); /* what the model says of itself */
    made.paid = test_new(landing->rows * landing->states, sizeof *made.paid);
    test_landing_extend(landing, NADIR_UNSEEN_ADDITIVE, 0, made.paid);
    for (int64_t i = 0; i < landing->rows * landing->states; i++) {
        made.paid[i] *= sign;
    }
    return made;
}
