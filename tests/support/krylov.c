/* krylov.c: the matrix-free backend on small models of every shape; see krylov.h. */
#include "support/support.h"

#include "support/krylov.h"

#include "core/random.h"
#include "support/reference.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const nadir_backend *const krylov = &nadir_backend_krylov;

int64_t test_row_cycle(int64_t states, int64_t state, int32_t *columns)
{
    columns[0] = (int32_t)((state + 1) % states);
    return 1;
}

/* Every state has one successor, more or less anywhere: trees that lead to cycles. */
static int64_t row_function(int64_t states, int64_t state, int32_t *columns)
{
    columns[0] = (int32_t)((state * state + 3) % states);
    return 1;
}

/* To the next state or back to where it began. */
static int64_t row_ladder(int64_t states, int64_t state, int32_t *columns)
{
    columns[0] = 0;
    columns[1] = (int32_t)(state + 1 < states ? state + 1 : state);
    return state > 0 || states > 1 ? 2 : 1;
}

static nadir_model *make_cycle(nadir_context *context)
{
    return test_sparse_model(context, 64, test_row_cycle);
}

static nadir_model *make_function(nadir_context *context)
{
    return test_sparse_model(context, 89, row_function);
}

static nadir_model *make_ladder(nadir_context *context)
{
    return test_sparse_model(context, 40, row_ladder);
}

static nadir_model *make_hub(nadir_context *context)
{
    return test_sparse_model(context, 90, test_row_hub);
}

static nadir_model *make_absorbing(nadir_context *context)
{
    return test_sparse_model(context, 50, test_row_absorbing);
}

static nadir_model *make_garnet(nadir_context *context)
{
    return test_generate_states(context, "garnet", 100);
}

static nadir_model *make_grid(nadir_context *context)
{
    return test_generate_states(context, "gridworld", 10);
}

static nadir_model *make_river(nadir_context *context)
{
    return test_generate_states(context, "riverswim", 60);
}

static nadir_model *make_dense(nadir_context *context)
{
    return test_generate_states(context, "random", 40);
}

static nadir_model *make_one(nadir_context *context)
{
    return test_generate_states(context, "random", 1);
}

const test_shape test_shapes[TEST_SHAPES] = {
    {"cycle", make_cycle}, {"function", make_function},   {"ladder", make_ladder}, {"hub", make_hub},
    {"dense", make_dense}, {"absorbing", make_absorbing}, {"garnet", make_garnet}, {"gridworld", make_grid},
    {"river", make_river}, {"one state", make_one},
};

nadir_model *test_shape_make(nadir_context *context, const char *name)
{
    for (int i = 0; i < TEST_SHAPES; i++) {
        if (strcmp(test_shapes[i].name, name) == 0) {
            return test_shapes[i].make(context);
        }
    }
    fail_msg("no shape %s", name);
    return NULL;
}

void test_krylov_set_up(test_krylov *made, double gamma)
{
    krylov->destroy(made->context, made->self);
    assert_ok(made->context, krylov->setup(made->context, &made->setting.average, gamma, &made->self));
}

void test_krylov_make(test_krylov *made, nadir_context *context, nadir_model *model, double gamma,
                      int64_t sides)
{
    *made = (test_krylov){.setting = test_setting_make(context, model), .context = context};
    made->states = made->setting.average.states;
    made->b = test_krylov_sides(made->states, sides);
    made->x = test_new(made->states * sides, sizeof *made->x);
    test_krylov_set_up(made, gamma);
}

void test_krylov_clear(test_krylov *made)
{
    krylov->destroy(made->context, made->self);
    test_setting_clear(&made->setting);
    free(made->b);
    free(made->x);
    nadir_context_free(made->context);
}

int64_t test_krylov_products(const test_krylov *made)
{
    nadir_backend_statistics statistics;
    krylov->statistics(made->self, &statistics);
    return statistics.iterations;
}

double test_krylov_norm(bool transposed, int64_t count, const double *x)
{
    double norm = 0;
    for (int64_t i = 0; i < count; i++) {
        norm = transposed ? norm + fabs(x[i]) : fmax(norm, fabs(x[i]));
    }
    return norm;
}

double test_krylov_residual(const test_krylov *made, double gamma, bool transposed, const double *b,
                            const double *x)
{
    long double *average = test_average_numbers(&made->setting.average);
    test_system system = test_system_make(made->states, average, gamma);
    long double *wide = test_new(made->states, sizeof *wide);
    for (int64_t i = 0; i < made->states; i++) {
        wide[i] = x[i];
    }
    const double residual = (double)test_system_residual(&system, transposed, b, wide);
    test_system_clear(&system);
    free(average);
    free(wide);
    return residual;
}

void test_krylov_assert_near(const test_krylov *made, const char *what, double gamma, bool transposed,
                             const double *b, const double *x)
{
    long double *average = test_average_numbers(&made->setting.average);
    test_system system = test_system_make(made->states, average, gamma);
    long double *exact = test_new(made->states, sizeof *exact);
    test_system_solve(&system, transposed, b, exact);
    double scale = 0;
    double error = 0;
    for (int64_t i = 0; i < made->states; i++) {
        scale = fmax(scale, (double)fabsl(exact[i]));
        error = fmax(error, (double)fabsl(x[i] - exact[i]));
    }
    assert_that(error <= 1e-10 * scale, "%s, gamma %g, transposed %d, seed %d: off by %g at a scale of %g",
                what, gamma, transposed, TEST_KRYLOV_SEED, error, scale);
    test_system_clear(&system);
    free(average);
    free(exact);
}

double *test_krylov_sides(int64_t states, int64_t count)
{
    double *b = test_new(states * count, sizeof *b);
    nadir_random random = test_random(TEST_KRYLOV_SEED);
    for (int64_t j = 0; j < count; j++) {
        for (int64_t i = 0; i < states; i++) {
            const double values[TEST_KRYLOV_SIDES] = {nadir_random_uniform(&random), 1, i == states / 3,
                                                      nadir_random_normal(&random)};
            b[j * states + i] = values[j % TEST_KRYLOV_SIDES];
        }
    }
    return b;
}

nadir_status test_krylov_solve(test_krylov *made, bool transposed, int64_t count, const double *b,
                               double residual, double *x)
{
    memset(x, 0, (size_t)(made->states * count) * sizeof *x);
    return krylov->solve(made->context, made->self, transposed, count, b, residual, x);
}
