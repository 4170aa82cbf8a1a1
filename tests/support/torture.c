/* torture.c: problems at the edges of what numbers can say; see torture.h. */
#include "support/support.h"

#include "support/torture.h"

#include "support/reference.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

#define PICK(random, array) ((array)[nadir_random_below(random, sizeof(array) / sizeof *(array))])

enum { STATES_MOST = 6, ACTIONS_MOST = 4 };

typedef enum shape {
    SHAPE_DENSE,
    SHAPE_SPARSE,   /* one or two successors */
    SHAPE_SINGLE,   /* one successor: nothing is left to chance */
    SHAPE_CORNERS,  /* states that are left with a probability of 2^-10 to 2^-52 */
    SHAPE_ABSORB,   /* some states are never left */
    SHAPE_DENORMAL, /* probabilities of 1e-310 beside others */
    SHAPES
} shape;

static const char *const shape_names[SHAPES] = {"dense",   "sparse",    "single",
                                                "corners", "absorbing", "denormal"};

typedef enum pay {
    PAY_NORMAL,
    PAY_HUGE,     /* up to 1e300 */
    PAY_TINY,     /* about 1e-300 */
    PAY_DENORMAL, /* some times 5e-324 */
    PAY_MIXED,    /* 1e-300 to 1e300, each row its own */
    PAY_CONSTANT,
    PAY_OFFSET, /* 1e12 and a little */
    PAY_COST,   /* none above 0 */
    PAYS
} pay;

static const char *const pay_names[PAYS] = {"normal", "huge",     "tiny",   "denormal",
                                            "mixed",  "constant", "offset", "cost"};

/* Weights of n places, multiples of 2^-20 that sum to one, on `count` of them. */
static void share(nadir_random *random, int64_t n, int64_t count, double *weights)
{
    const double unit = 0x1p-20;
    double left = 1;
    memset(weights, 0, (size_t)n * sizeof *weights);
    for (int64_t i = 1; i < count; i++) {
        const double part = floor(left / unit * nadir_random_uniform(random) / 2) * unit;
        weights[nadir_random_below(random, (uint64_t)n)] += part;
        left -= part;
    }
    weights[nadir_random_below(random, (uint64_t)n)] += left;
}

/* Moves a small part of the largest weight elsewhere, exactly. */
static void leak(nadir_random *random, int64_t n, double part, double *weights)
{
    int64_t top = 0;
    for (int64_t i = 0; i < n; i++) {
        top = weights[i] > weights[top] ? i : top;
    }
    const int64_t to = (top + 1 + (int64_t)nadir_random_below(random, (uint64_t)(n - 1))) % n;
    weights[top] -= part;
    weights[to] += part;
}

static void draw_row(nadir_random *random, shape kind, int64_t n, int64_t s, double *row)
{
    static const double rests[] = {0x1p-10, 0x1p-30, 0x1p-45, 0x1p-52};
    const bool stays = kind == SHAPE_CORNERS || (kind == SHAPE_ABSORB && s % 2 == 0);
    const int64_t count = kind == SHAPE_DENSE    ? 3 * n
                          : kind == SHAPE_SINGLE ? 1
                                                 : 1 + (int64_t)nadir_random_below(random, 3);
    share(random, n, count, row);
    if (stays) {
        memset(row, 0, (size_t)n * sizeof *row);
        row[s] = 1;
    }
    if (kind == SHAPE_CORNERS && n > 1) {
        leak(random, n, PICK(random, rests), row);
    }
    if (kind == SHAPE_DENORMAL) {
        static const double least[] = {5e-324, 1e-310, 1e-300, 1e-200};
        row[nadir_random_below(random, (uint64_t)n)] += PICK(random, least);
    }
}

static double draw_reward(nadir_random *random, pay kind)
{
    const double x = nadir_random_normal(random);
    switch (kind) {
    case PAY_HUGE:
        return x *
               (nadir_random_below(random, 2) == 0 ? 1e299 : 1e270); /* the free domain refuses the first */
    case PAY_TINY:
        return x * 1e-300;
    case PAY_DENORMAL:
        return round(x * 3) * 5e-324;
    case PAY_MIXED:
        return x * pow(10, round(600 * nadir_random_uniform(random) - 300));
    case PAY_CONSTANT:
        return -0.7;
    case PAY_OFFSET:
        return 1e12 + x;
    case PAY_COST:
        return -fabs(x);
    default:
        return x;
    }
}

static double draw_discount(nadir_random *random)
{
    static const double discounts[] = {0.9,      0.99, 0.9999, 0.99999, 0.5,     0,        1e-300,
                                       1 - 1e-9, 0.9,  0.99,   0.9999,  0.99999, 1 - 1e-12};
    return PICK(random, discounts);
}

/* Ragged rows; returns how many. */
static int64_t draw_actions(nadir_random *random, int64_t states, int64_t *state_rows)
{
    state_rows[0] = 0;
    for (int64_t s = 0; s < states; s++) {
        state_rows[s + 1] = state_rows[s] + 1 + (int64_t)nadir_random_below(random, ACTIONS_MOST);
    }
    return state_rows[states];
}

static nadir_policy *draw_policy(nadir_context *context, nadir_random *random, const nadir_model *model,
                                 int64_t states, const int64_t *state_rows)
{
    static const double parts[] = {0x1p-20, 0x1p-40, 0x1p-52};
    double weights[TEST_TORTURE_ROWS];
    nadir_policy *policy = NULL;
    for (int64_t s = 0; s < states; s++) {
        const int64_t count = state_rows[s + 1] - state_rows[s];
        share(random, count, 1 + (int64_t)nadir_random_below(random, 4), weights + state_rows[s]);
        if (count > 1 && nadir_random_below(random, 4) == 0) {
            leak(random, count, PICK(random, parts), weights + state_rows[s]);
        }
    }
    assert_ok(context, nadir_policy_create(context, model, weights, &policy));
    return policy;
}

void test_torture_radius(nadir_random *random, test_torture *made)
{
    static const double radii[] = {0,    1e-300, 1e-17, 1e-9, 1e-3, 0.01, 0.03, 0.05, 0.1,
                                   0.15, 0.2,    0.3,   0.5,  0.7,  1.2,  3,    60,   1e50};
    static const double shares[] = {0.1, 0.5, 0.9, 0.99, 0.999999, 1.000001, 3};
    double radius = PICK(random, radii);
    if (made->ball.domain == NADIR_DOMAIN_FREE && nadir_random_below(random, 4) > 0) {
        nadir_ball ball = made->ball;
        ball.set = NADIR_SET_NONRECT;
        ball.radius_count = 1;
        ball.norm = ball.norm == 1 ? 1 : 2;
        made->radii[0] = 1;
        test_oracle oracle = test_oracle_make(made->model, made->policy, &ball);
        const double breakdown = test_quad_breakdown(&oracle);
        radius = isfinite(breakdown) && breakdown > 0 ? breakdown * PICK(random, shares) : radius;
        radius = radius > 1e100 ? 1 : radius;
        test_oracle_clear(&oracle);
    }
    for (int64_t i = 0; i < made->ball.radius_count; i++) {
        made->radii[i] = i == 0 || nadir_random_below(random, 3) > 0 ? radius : PICK(random, radii);
    }
}

static void draw_ball(nadir_random *random, const nadir_model_data *data, test_torture *made)
{
    static const double norms[] = {1, 2, INFINITY, 1 + 1e-6, 1e6, 1.5, 3, 2, 1000, 1, 2};
    static const double scales[] = {0, 1e-40, 1e-3, 1, 1, 1, 1e3, 1e40};
    nadir_ball *ball = &made->ball;
    nadir_ball_default(ball);
    ball->set = (nadir_set)(NADIR_SET_NONRECT + nadir_random_below(random, 3));
    ball->domain = (nadir_domain)(NADIR_DOMAIN_SIMPLEX + nadir_random_below(random, 3));
    ball->norm = PICK(random, norms);
    if (nadir_random_below(random, 5) == 0) { /* what exact answers are known of */
        ball->set = NADIR_SET_NONRECT;
        ball->domain = NADIR_DOMAIN_FREE;
        ball->norm = 1 + (double)nadir_random_below(random, 2);
    }
    ball->radius = made->radii;
    ball->radius_count = 1;
    if (nadir_random_below(random, 4) == 0 && ball->set != NADIR_SET_NONRECT) {
        ball->radius_count = ball->set == NADIR_SET_S ? data->states : data->rows;
    }
    if (nadir_random_below(random, 8) == 0) {
        for (int64_t row = 0; row < data->rows; row++) {
            made->scales[row] = PICK(random, scales);
        }
        ball->scales = made->scales;
    }
}

void test_torture_make(nadir_context *context, nadir_random *random, test_torture *made)
{
    const shape kind = (shape)nadir_random_below(random, SHAPES);
    const pay paid = (pay)nadir_random_below(random, PAYS);
    const bool alone = nadir_random_below(random, 25) == 0;
    const int64_t states = alone ? 1 : 2 + (int64_t)nadir_random_below(random, STATES_MOST - 1);
    int64_t state_rows[STATES_MOST + 1];
    double kernel[TEST_TORTURE_ROWS * STATES_MOST];
    double rewards[TEST_TORTURE_ROWS];
    double initial[STATES_MOST];
    memset(made, 0, sizeof *made);
    nadir_model_data data = test_model_data();
    data.states = states;
    data.rows = draw_actions(random, states, state_rows);
    data.discount = draw_discount(random);
    for (int64_t s = 0; s < states; s++) {
        for (int64_t row = state_rows[s]; row < state_rows[s + 1]; row++) {
            draw_row(random, kind, states, s, kernel + row * states);
            rewards[row] = draw_reward(random, paid);
        }
    }
    share(random, states, 1 + (int64_t)nadir_random_below(random, 4), initial);
    data.state_rows = state_rows;
    data.dense = kernel;
    data.rewards = rewards;
    data.initial = initial;
    assert_ok(context, nadir_model_create(context, &data, &made->model));
    made->policy = draw_policy(context, random, made->model, states, state_rows);
    draw_ball(random, &data, made);
    test_torture_radius(random, made);
    snprintf(made->name, sizeof made->name, "%d states, kernel %s, rewards %s, gamma 1 - %.3g", (int)states,
             shape_names[kind], pay_names[paid], 1 - data.discount);
}

void test_torture_clear(test_torture *made)
{
    nadir_policy_free(made->policy);
    nadir_model_free(made->model);
}

test_quad test_torture_largest(const test_oracle *oracle)
{
    test_quad top = 0;
    for (int64_t row = 0; row < oracle->rows; row++) {
        const test_quad reward = test_quad_absolute(oracle->rewards[row]);
        top = reward > top ? reward : top;
    }
    return top / (1 - (test_quad)oracle->gamma);
}

test_quad test_torture_rounding(const test_oracle *oracle)
{
    return (test_quad)1e-20 * test_torture_largest(oracle) + (test_quad)1e-340L;
}

void test_torture_refused(nadir_context *context, nadir_status status)
{
    const char *text = nadir_context_error(context);
    assert_true(text[0] != '\0');
    assert_that(status == NADIR_ERROR_ILL_POSED || status == NADIR_ERROR_NOT_CONVERGED ||
                    status == NADIR_ERROR_UNSUPPORTED || status == NADIR_ERROR_ARGUMENT,
                "%s: %s", nadir_status_name(status), text);
    if (getenv("NADIR_TORTURE_REFUSALS") != NULL) {
        print_message("  refused: %s\n", text);
    }
}

void test_torture_watch(int seconds)
{
    const struct itimerval limit = {.it_value = {.tv_sec = seconds}};
    assert_int_equal(setitimer(ITIMER_PROF, &limit, NULL), 0);
}
