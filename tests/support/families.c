/* families.c: models of every shape, kernels near them, policies on them; see families.h. */
#include "support/support.h"

#include "support/families.h"

#include "support/generated.h"
#include "support/perturbed.h"
#include "support/reference.h"

#include <math.h>
#include <stdlib.h>

const char *const test_change_names[TEST_CHANGES] = {"nominal",  "rank one",  "strong rank one", "few rows",
                                                     "all rows", "perturbed", "spread"};
const char *const test_choice_names[TEST_CHOICES] = {"uniform", "deterministic", "random"};

/* A model being written down row after row. */
typedef struct draft {
    int64_t states, rows;
    int64_t *state_rows; /* [states + 1] */
    double *weights;     /* [rows * states] not yet normalised */
} draft;

/* actions: the number of actions of each state, from lowest to highest. */
static draft start(int64_t states, int64_t lowest, int64_t highest, nadir_random *random)
{
    draft made = {.states = states};
    made.state_rows = test_new(states + 1, sizeof *made.state_rows);
    for (int64_t s = 0; s < states; s++) {
        made.rows += lowest + (int64_t)nadir_random_below(random, (uint64_t)(highest - lowest + 1));
        made.state_rows[s + 1] = made.rows;
    }
    made.weights = test_new(made.rows * states, sizeof *made.weights);
    return made;
}

static double positive(nadir_random *random)
{
    return nadir_random_exponential(random) + 0.01;
}

/* Hands the weights over as CSR, so that the model itself chooses how to keep them. */
static nadir_model *finish(nadir_context *context, draft *made, nadir_random *random)
{
    const int64_t n = made->states;
    int64_t *row_starts = test_new(made->rows + 1, sizeof *row_starts);
    int32_t *columns = test_new(made->rows * n, sizeof *columns);
    double *probabilities = test_new(made->rows * n, sizeof *probabilities);
    double *rewards = test_new(made->rows, sizeof *rewards);
    double *initial = test_new(n, sizeof *initial);
    int64_t to = 0;
    for (int64_t row = 0; row < made->rows; row++) {
        double sum = 0;
        for (int64_t t = 0; t < n; t++) {
            sum += made->weights[row * n + t];
        }
        for (int64_t t = 0; t < n; t++) {
            if (made->weights[row * n + t] > 0) {
                columns[to] = (int32_t)t;
                probabilities[to++] = made->weights[row * n + t] / sum;
            }
        }
        row_starts[row + 1] = to;
        rewards[row] = nadir_random_normal(random);
    }
    for (int64_t s = 0; s < n; s++) {
        initial[s] = 1 / (double)n;
    }
    nadir_model_data data = test_model_data();
    data.states = n;
    data.rows = made->rows;
    data.discount = 0.9;
    data.state_rows = made->state_rows;
    data.row_starts = row_starts;
    data.columns = columns;
    data.probabilities = probabilities;
    data.rewards = rewards;
    data.initial = initial;
    nadir_model *model = test_create_model(context, &data);
    void *const arrays[] = {row_starts, columns,       probabilities,   rewards,
                            initial,    made->weights, made->state_rows};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) {
        free(arrays[i]);
    }
    return model;
}

static nadir_model *make_dense(nadir_context *context, nadir_random *random)
{
    draft made = start(24, 3, 3, random);
    for (int64_t i = 0; i < made.rows * made.states; i++) {
        made.weights[i] = positive(random);
    }
    return finish(context, &made, random);
}

/* `branch` successors among the states that leave the same rest when divided by `blocks`. */
static void scatter(draft *made, int64_t branch, int64_t blocks, nadir_random *random)
{
    const int64_t n = made->states;
    for (int64_t s = 0; s < n; s++) {
        for (int64_t row = made->state_rows[s]; row < made->state_rows[s + 1]; row++) {
            for (int64_t i = 0; i < branch; i++) {
                const int64_t t = (int64_t)nadir_random_below(random, (uint64_t)(n / blocks)) * blocks;
                made->weights[row * n + t + s % blocks] = positive(random);
            }
        }
    }
}

static nadir_model *make_garnet(nadir_context *context, nadir_random *random)
{
    draft made = start(40, 4, 4, random);
    scatter(&made, 3, 1, random);
    return finish(context, &made, random);
}

/* Two blocks that never meet, states of both in turn. */
static nadir_model *make_blocks(nadir_context *context, nadir_random *random)
{
    draft made = start(24, 2, 2, random);
    scatter(&made, 2, 2, random);
    return finish(context, &made, random);
}

static nadir_model *make_ragged(nadir_context *context, nadir_random *random)
{
    draft made = start(22, 1, 6, random);
    scatter(&made, 4, 1, random);
    return finish(context, &made, random);
}

/* Each state steps up or stays, or falls back by one. */
static nadir_model *make_chain(nadir_context *context, nadir_random *random)
{
    const int64_t n = 45;
    draft made = start(n, 2, 2, random);
    for (int64_t s = 0; s < n; s++) {
        double *up = made.weights + 2 * s * n;
        up[s] = 0.3;
        up[s + 1 < n ? s + 1 : s] += 0.7;
        up[n + (s > 0 ? s - 1 : s)] = 1;
    }
    return finish(context, &made, random);
}

/* A permutation: every eigenvalue of the kernel lies on the unit circle. */
static nadir_model *make_cycle(nadir_context *context, nadir_random *random)
{
    const int64_t n = 17;
    draft made = start(n, 1, 1, random);
    for (int64_t s = 0; s < n; s++) {
        made.weights[s * n + (s + 1) % n] = 1;
    }
    return finish(context, &made, random);
}

/* The smallest model that is stored sparse. */
static nadir_model *make_tiny(nadir_context *context, nadir_random *random)
{
    const int64_t n = 3;
    draft made = start(n, 1, 1, random);
    made.weights[0 * n + 1] = 1;
    made.weights[1 * n + 0] = 1;
    made.weights[2 * n + 2] = 1;
    return finish(context, &made, random);
}

/* All states go to state 0, which goes everywhere. */
static nadir_model *make_hub(nadir_context *context, nadir_random *random)
{
    const int64_t n = 30;
    draft made = start(n, 2, 2, random);
    for (int64_t row = 0; row < made.rows; row++) {
        double *weights = made.weights + row * n;
        for (int64_t t = 0; t < n && row < 2; t++) {
            weights[t] = positive(random);
        }
        weights[0] = 10 * positive(random);
        weights[row / 2] += row % 2 == 0;
    }
    return finish(context, &made, random);
}

/* States 0 to 3 are never left, states 20 to 24 never entered from elsewhere. */
static nadir_model *make_absorbing(nadir_context *context, nadir_random *random)
{
    const int64_t n = 25;
    draft made = start(n, 2, 3, random);
    for (int64_t s = 0; s < n; s++) {
        for (int64_t row = made.state_rows[s]; row < made.state_rows[s + 1]; row++) {
            for (int64_t i = 0; i < 3; i++) {
                const int64_t t = s < 4 ? s : (int64_t)nadir_random_below(random, 20);
                made.weights[row * n + t] = positive(random);
            }
        }
    }
    return finish(context, &made, random);
}

static nadir_model *make_one_state(nadir_context *context, nadir_random *random)
{
    draft made = start(1, 2, 2, random);
    made.weights[0] = 1;
    made.weights[1] = 1;
    return finish(context, &made, random);
}

const test_family test_families[TEST_FAMILIES] = {
    {"dense", make_dense},         {"garnet", make_garnet},
    {"chain", make_chain},         {"hub", make_hub},
    {"absorbing", make_absorbing}, {"blocks", make_blocks},
    {"ragged", make_ragged},       {"cycle", make_cycle},
    {"tiny", make_tiny},           {"one state", make_one_state},
};

/* P - b k^T with k of sum 0 and 1-norm 1. */
static nadir_kernel *make_rank_one(nadir_context *context, nadir_model *model, double size,
                                   nadir_random *random, double *dense)
{
    const nadir_model_data view = test_view(model);
    const int64_t n = view.states;
    double *b = test_new(view.rows, sizeof *b);
    double *k = test_new(n, sizeof *k);
    double mean = 0;
    for (int64_t t = 0; t < n; t++) {
        k[t] = nadir_random_normal(random);
        mean += k[t] / (double)n;
    }
    double norm = 0;
    for (int64_t t = 0; t < n; t++) {
        k[t] -= mean;
        norm += fabs(k[t]);
    }
    for (int64_t t = 0; t < n && norm > 0; t++) {
        k[t] /= norm;
    }
    for (int64_t row = 0; row < view.rows; row++) {
        b[row] = size * (2 * nadir_random_uniform(random) - 1);
        for (int64_t t = 0; t < n; t++) {
            dense[row * n + t] -= b[row] * k[t];
        }
    }
    nadir_kernel *kernel = NULL;
    assert_ok(context, nadir_kernel_create_rank_one(context, model, b, k, &kernel));
    free(b);
    free(k);
    return kernel;
}

/* One row anew: some weight taken off it and given to one to three states. */
static void change_row(int64_t n, double kept, nadir_random *random, double *row)
{
    const int64_t branch = 1 + (int64_t)nadir_random_below(random, 3);
    for (int64_t t = 0; t < n; t++) {
        row[t] *= kept;
    }
    for (int64_t i = 0; i < branch; i++) {
        row[nadir_random_below(random, (uint64_t)n)] += (1 - kept) / (double)branch;
    }
}

static nadir_kernel *make_changed(nadir_context *context, nadir_model *model, bool all, nadir_random *random,
                                  double *dense)
{
    const nadir_model_data view = test_view(model);
    const int64_t n = view.states;
    int64_t *rows = test_new(view.rows, sizeof *rows);
    int64_t *starts = test_new(view.rows + 1, sizeof *starts);
    int32_t *columns = test_new(view.rows * n, sizeof *columns);
    double *values = test_new(view.rows * n, sizeof *values);
    int64_t count = 0;
    int64_t to = 0;
    for (int64_t row = 0; row < view.rows; row++) {
        if (all || nadir_random_below(random, 5) == 0) {
            change_row(n, all && row % 2 == 0 ? 0 : nadir_random_uniform(random), random, dense + row * n);
            rows[count++] = row;
            for (int64_t t = 0; t < n; t++) {
                if (dense[row * n + t] != 0) {
                    columns[to] = (int32_t)t;
                    values[to++] = dense[row * n + t];
                }
            }
            starts[count] = to;
        }
    }
    const nadir_changed_rows changed = {count, rows, starts, columns, values};
    nadir_kernel *kernel = NULL;
    assert_ok(context, nadir_kernel_create_changed(context, model, &changed, &kernel));
    free(rows);
    free(starts);
    free(columns);
    free(values);
    return kernel;
}

static nadir_kernel *make_perturbed(nadir_context *context, nadir_model *model, bool spread,
                                    nadir_random *random, double **dense)
{
    nadir_kernel *kernel = NULL;
    assert_ok(context, test_perturbed_create(context, model, spread, &kernel));
    test_perturbed_fill(model, false, random, nadir_kernel_perturbed(kernel));
    free(*dense);
    *dense = test_perturbed_numbers(model, nadir_kernel_perturbed(kernel));
    return kernel;
}

nadir_kernel *test_kernel(nadir_context *context, nadir_model *model, test_change change, double gamma,
                          nadir_random *random, double **dense)
{
    double *numbers = test_dense_kernel(model);
    nadir_kernel *kernel = NULL;
    switch (change) {
    case TEST_NOMINAL:
        assert_ok(context, nadir_kernel_create(context, model, &kernel));
        break;
    case TEST_RANK_ONE:
        kernel = make_rank_one(context, model, 0.5 * (1 - gamma), random, numbers);
        break;
    case TEST_RANK_ONE_STRONG:
        kernel = make_rank_one(context, model, 0.9, random, numbers);
        break;
    case TEST_FEW_ROWS:
    case TEST_ALL_ROWS:
        kernel = make_changed(context, model, change == TEST_ALL_ROWS, random, numbers);
        break;
    case TEST_TILTED:
    case TEST_SPREAD:
        kernel = make_perturbed(context, model, change == TEST_SPREAD, random, &numbers);
        break;
    }
    if (dense != NULL) {
        *dense = numbers;
    } else {
        free(numbers);
    }
    return kernel;
}

/* Turns weights [rows] into probabilities of each state's actions, and these into a policy. */
static nadir_policy *normalised(nadir_context *context, const nadir_model *model, double *weights)
{
    const nadir_model_data view = test_view(model);
    for (int64_t s = 0; s < view.states; s++) {
        double sum = 0;
        for (int64_t row = view.state_rows[s]; row < view.state_rows[s + 1]; row++) {
            sum += weights[row];
        }
        for (int64_t row = view.state_rows[s]; row < view.state_rows[s + 1]; row++) {
            weights[row] /= sum;
        }
    }
    nadir_policy *policy = NULL;
    assert_ok(context, nadir_policy_create(context, model, weights, &policy));
    free(weights);
    return policy;
}

nadir_policy *test_policy(nadir_context *context, const nadir_model *model, test_choice choice,
                          nadir_random *random)
{
    const nadir_model_data view = test_view(model);
    double *weights = test_new(view.rows, sizeof *weights);
    for (int64_t s = 0; s < view.states; s++) {
        const int64_t actions = view.state_rows[s + 1] - view.state_rows[s];
        double *here = weights + view.state_rows[s];
        for (int64_t a = 0; a < actions; a++) {
            const bool taken = choice == TEST_RANDOM && nadir_random_below(random, 3) > 0;
            here[a] = choice == TEST_UNIFORM ? 1 : taken ? positive(random) : 0;
        }
        here[nadir_random_below(random, (uint64_t)actions)] = 1;
    }
    return normalised(context, model, weights);
}

nadir_policy *test_policy_same_support(nadir_context *context, const nadir_model *model,
                                       const nadir_policy *policy, nadir_random *random)
{
    const nadir_model_data view = test_view(model);
    const double *probabilities = nadir_policy_probabilities(policy);
    double *weights = test_new(view.rows, sizeof *weights);
    for (int64_t row = 0; row < view.rows; row++) {
        weights[row] = probabilities[row] > 0 ? positive(random) : 0;
    }
    return normalised(context, model, weights);
}
