/*
 * Products with a sparse P^pi, as a device makes them for rows of all lengths, against sums in long double,
 * solves of several systems at once by their residuals, and evaluations against those made here. With an
 * engine, NADIR_DEVICE_BLOCK chooses its way: rows one by one, or with so many columns 32 rows together, the
 * matrix in blocks where it has more. With NADIR_DEVICE_MEMORY, too, blocks are dropped for what has to be
 * there.
 */
#include "support/support.h"

#include "core/context.h"
#include "core/random.h"
#include "model/average.h"
#include "solve/occupancy.h"
#include "support/generated.h"
#include "support/reference.h"
#include "support/robust.h"

#include <math.h>
#include <stdlib.h>

enum { SEED = 5040, ACTIONS = 2, BRANCH = 5, HUBS = 3, BARREN = 100, VECTORS = 3, SIDES = 5 };
#define GAMMA 0.9

/* No multiple of 32; fewer for tools that are slow. */
static int64_t states_count(void)
{
    return test_memcheck() ? 1501 : 30011;
}

/* A number of the environment; 0: not said. */
static int64_t said(const char *name)
{
    const char *text = getenv(name);
    return text != NULL ? strtoll(text, NULL, 10) : 0;
}

/*
 * A garnet in which a few rows have hundreds of successors, a few states are the successors of a third of all
 * rows, and BARREN states, next to one another, of none: long rows and empty ones of P^pi and of its
 * transpose.
 */
static nadir_model *make_model(nadir_context *context)
{
    const int64_t n = states_count();
    const int64_t most = n / 15;
    int64_t *state_rows = test_new(n + 1, sizeof *state_rows);
    int64_t *starts = test_new(ACTIONS * n + 1, sizeof *starts);
    int32_t *columns = test_new(ACTIONS * n * (BRANCH + 8), sizeof *columns);
    double *values = test_new(ACTIONS * n * (BRANCH + 8), sizeof *values);
    double *rewards = test_new(ACTIONS * n, sizeof *rewards);
    nadir_model *model = NULL;
    int64_t entries = 0;
    nadir_random random = test_random(SEED);
    for (int64_t row = 0; row < ACTIONS * n; row++) {
        const int64_t count = row % 997 == 5 ? most : row % 3 == 1 ? 1 : BRANCH;
        state_rows[row / ACTIONS] = row / ACTIONS * ACTIONS;
        starts[row] = entries;
        rewards[row] = nadir_random_uniform(&random);
        for (int64_t i = 0; i < count; i++) {
            const int64_t t = (int64_t)(nadir_random_uniform(&random) * (double)(n - BARREN));
            columns[entries + i] = (int32_t)(i == 0 ? row % HUBS : t < n / 2 ? t : t + BARREN);
            values[entries + i] = 1.0 / (double)count;
        }
        entries += count;
    }
    state_rows[n] = ACTIONS * n;
    starts[ACTIONS * n] = entries;
    nadir_model_data data = test_model_data();
    data.states = n;
    data.rows = ACTIONS * n;
    data.state_rows = state_rows;
    data.row_starts = starts;
    data.columns = columns;
    data.probabilities = values;
    data.rewards = rewards;
    data.discount = GAMMA;
    assert_ok(context, nadir_model_create(context, &data, &model));
    free(state_rows);
    free(starts);
    free(columns);
    free(values);
    free(rewards);
    return model;
}

/* shift x + scale P^pi x, or transposed, of the uniform policy: [states]. To be freed. */
static long double *wanted(const nadir_model *model, bool transposed, double shift, double scale,
                           const double *x)
{
    const nadir_model_data view = test_view(model);
    long double *y = test_new(view.states, sizeof *y);
    for (int64_t s = 0; s < view.states; s++) {
        y[s] = (long double)shift * x[s];
    }
    for (int64_t row = 0; row < view.rows; row++) {
        const int64_t s = row / ACTIONS;
        for (int64_t i = view.row_starts[row]; i < view.row_starts[row + 1]; i++) {
            const long double part = (long double)scale * view.probabilities[i] / ACTIONS;
            const int64_t t = view.columns[i];
            y[transposed ? t : s] += part * x[transposed ? s : t];
        }
    }
    return y;
}

static void check(const nadir_model *model, bool transposed, double shift, double scale, const double *x,
                  const double *y)
{
    long double *expected = wanted(model, transposed, shift, scale, x);
    const int64_t n = states_count();
    double most = 0;
    for (int64_t s = 0; s < n; s++) {
        most = fmax(most, fabs((double)expected[s]));
    }
    for (int64_t s = 0; s < n; s++) {
        assert_that(fabs(y[s] - (double)expected[s]) <= 1e-13 * most, "state %lld: %.17g, not %.17g",
                    (long long)s, y[s], (double)expected[s]);
    }
    free(expected);
}

/* What a device has taken; 0 where there is none. */
static double taken(const nadir_context *context)
{
    double bytes = 0;
    double left;
    if (context->device != NULL) {
        context->device->memory(context->device_self, &bytes, &left);
    }
    return bytes;
}

typedef struct fixture {
    nadir_context *context;
    nadir_model *model;
    nadir_policy *policy;
    nadir_kernel *kernel;
    nadir_average average;
} fixture;

static void setup(fixture *made)
{
    made->context = test_context();
    made->model = make_model(made->context);
    assert_ok(made->context, nadir_policy_create_uniform(made->context, made->model, &made->policy));
    assert_ok(made->context, nadir_kernel_create(made->context, made->model, &made->kernel));
    assert_ok(made->context, nadir_average_make(made->context, made->kernel, made->policy, &made->average));
    assert_int_equal(made->average.device_matrix != NULL, made->context->device != NULL);
}

static void teardown(fixture *made)
{
    nadir_average_clear(made->context, &made->average);
    nadir_kernel_free(made->kernel);
    nadir_policy_free(made->policy);
    nadir_model_free(made->model);
    nadir_context_free(made->context);
}

/* Products until blocks would be there, the same all the time. Returns by how much memory has grown. */
static double multiply(fixture *made, bool transposed)
{
    static const double scalings[][2] = {{0, 1}, {1, -GAMMA}, {0, 1}, {-0.5, 2}};
    const int64_t n = states_count();
    double *x = test_new(2 * VECTORS * n, sizeof *x);
    double *y = x + VECTORS * n;
    double before = 0;
    for (int64_t i = 0; i < VECTORS * n; i++) {
        x[i] = cos((double)i);
    }
    for (size_t i = 0; i < sizeof scalings / sizeof *scalings; i++) {
        test_note("products %zu, %s", i, transposed ? "transposed" : "plain");
        assert_ok(made->context, nadir_average_combine(made->context, &made->average, transposed, VECTORS,
                                                       scalings[i][0], scalings[i][1], x, y));
        for (int64_t j = 0; j < VECTORS; j++) {
            check(made->model, transposed, scalings[i][0], scalings[i][1], x + j * n, y + j * n);
        }
        before = i == 0 ? taken(made->context) : before;
    }
    test_note_clear();
    free(x);
    return taken(made->context) - before;
}

static void test_products(void **state)
{
    fixture made = {0};
    (void)state;
    setup(&made);
    const int64_t block = said("NADIR_DEVICE_BLOCK");
    const bool apart = made.context->device != NULL && block > 0 && block < states_count();
    for (int transposed = 0; transposed < 2; transposed++) {
        const double grown = multiply(&made, transposed == 1);
        assert_that(apart ? grown >= 12.0 * (double)made.average.facts.entries : grown == 0,
                    "%.0f bytes more are taken by %lld entries, blocks of %lld columns", grown,
                    (long long)made.average.facts.entries, (long long)block);
    }
    teardown(&made);
}

/* So many vectors that there is no room for them beside the blocks. */
static void test_dropping(void **state)
{
    fixture made = {0};
    const int64_t n = states_count();
    const double limit = (double)said("NADIR_DEVICE_MEMORY");
    (void)state;
    setup(&made);
    if (made.context->device == NULL || limit == 0 || said("NADIR_DEVICE_BLOCK") == 0) {
        print_message(
            "skipped: no device, or NADIR_DEVICE_MEMORY and NADIR_DEVICE_BLOCK do not make it small\n");
        teardown(&made);
        skip();
        return;
    }
    const double blocks = multiply(&made, false);
    assert_that(blocks > 0, "no blocks in %.0f bytes", limit);
    const double full = taken(made.context);
    const int64_t count = (int64_t)((limit - full + 0.9 * blocks) / (2.0 * (double)n * sizeof(double)));
    assert_true(count > 1);
    double *x = test_new(2 * count * n, sizeof *x);
    double *y = x + count * n;
    for (int64_t i = 0; i < count * n; i++) {
        x[i] = cos((double)i);
    }
    for (int again = 0; again < 2; again++) {
        assert_ok(made.context, nadir_average_combine(made.context, &made.average, false, count, 0, 1, x, y));
        for (int64_t j = 0; j < count; j += count - 1) {
            check(made.model, false, 0, 1, x + j * n, y + j * n);
        }
    }
    assert_that(taken(made.context) <= limit, "%.0f bytes are taken", taken(made.context));
    free(x);
    teardown(&made);
}

/* Right-hand sides that take their steps together, though the second and the third are done at once: zeros,
 * and ones, which are not if transposed. An odd number of them. */
static void check_solves(fixture *made, nadir_occupancy *occupancy, bool transposed)
{
    const int64_t n = states_count();
    double *b = test_new(2 * SIDES * n, sizeof *b);
    double *x = b + SIDES * n;
    for (int64_t i = 0; i < n; i++) {
        b[i] = cos((double)i);
        b[n + i] = 0;
        b[2 * n + i] = 1;
        b[3 * n + i] = 1e-3 * sin((double)i);
        b[4 * n + i] = i == 7 ? 1 : 0;
    }
    assert_ok(made->context, (transposed ? nadir_occupancy_solve_transposed : nadir_occupancy_solve)(
                                 made->context, occupancy, SIDES, b, x, NULL));
    for (int64_t j = 0; j < SIDES; j++) {
        long double *found = wanted(made->model, transposed, 1, -GAMMA, x + j * n);
        long double largest = 0;
        long double sum = 0;
        double size = 0;
        for (int64_t i = 0; i < n; i++) {
            const long double off = fabsl(found[i] - b[j * n + i]);
            largest = fmaxl(largest, off);
            sum += off;
            size = transposed ? size + fabs(x[j * n + i]) : fmax(size, fabs(x[j * n + i]));
        }
        assert_that((double)(transposed ? sum : largest) <= 1e-12 * size,
                    "%s, right-hand side %lld: the residual is %.3g, the solution %.3g",
                    transposed ? "transposed" : "plain", (long long)j, (double)(transposed ? sum : largest),
                    size);
        free(found);
    }
    free(b);
}

static void test_solves(void **state)
{
    fixture made = {0};
    nadir_occupancy *occupancy = NULL;
    (void)state;
    if (said("NADIR_DEVICE_MEMORY") > 0) { /* which may be too small for them */
        print_message("skipped: the device is small\n");
        skip();
        return;
    }
    setup(&made);
    assert_ok(made.context, nadir_occupancy_create(made.context, made.kernel, made.policy, GAMMA,
                                                   made.context->device != NULL ? "device-krylov" : "krylov",
                                                   0, &occupancy));
    check_solves(&made, occupancy, false);
    check_solves(&made, occupancy, true);
    nadir_occupancy_free(made.context, occupancy);
    teardown(&made);
}

/* Asked for all digits, as in test_agreement.c: bounds of a search that stops early depend on where it does.
 */
static nadir_robust evaluate(nadir_context *context, nadir_model *model, const char *backend,
                             nadir_domain domain)
{
    const double radius = 0.002;
    const nadir_ball ball = test_ball(NADIR_SET_NONRECT, domain, 2, &radius, NULL);
    nadir_robust found = {.size = sizeof found};
    nadir_solver *solver = NULL;
    nadir_solver_settings solving = test_solver_settings();
    solving.backend = backend;
    nadir_robust_settings settings = test_robust_settings();
    settings.tolerance = 1e-14;
    nadir_policy *policy = test_uniform_policy(context, model);
    assert_ok(context, nadir_solver_create(context, model, policy, &solving, &solver));
    const nadir_status status = nadir_solver_robust(context, solver, &ball, &settings, &found, NULL);
    assert_true(status == NADIR_OK || status == NADIR_ERROR_NOT_CONVERGED);
    nadir_solver_free(solver);
    nadir_policy_free(policy);
    return found;
}

static void test_evaluations(void **state)
{
    static const nadir_domain domains[] = {NADIR_DOMAIN_FREE, NADIR_DOMAIN_SUPPORT};
    nadir_context *here = NULL;
    nadir_context *there = test_context();
    (void)state;
    if (there->device == NULL || said("NADIR_DEVICE_MEMORY") > 0) { /* which may be too small for them */
        print_message("skipped: NADIR_TEST_ENGINE names no engine with a device, or it is small\n");
        nadir_context_free(there);
        skip();
        return;
    }
    assert_int_equal(nadir_context_create(NULL, &here), NADIR_OK);
    nadir_model *model = make_model(here);
    for (size_t i = 0; i < sizeof domains / sizeof *domains; i++) {
        const nadir_robust expected = evaluate(here, model, "krylov", domains[i]);
        const nadir_robust found = evaluate(there, model, "device-krylov", domains[i]);
        const double scale = fmax(1, fabs(expected.nominal_return));
        /* A tenth of what lies between them, if that is more: they have room for residuals, which differ. */
        const double bounds = fmax(1e-10 * scale, 0.1 * (expected.upper_bound - expected.lower_bound));
        test_note("domain %d", (int)domains[i]);
        assert_close(found.nominal_return, expected.nominal_return, 1e-10 * scale);
        assert_close(found.robust_return, expected.robust_return, 1e-10 * scale);
        assert_close(found.lower_bound, expected.lower_bound, bounds);
        assert_close(found.upper_bound, expected.upper_bound, bounds);
    }
    test_note_clear();
    nadir_model_free(model);
    nadir_context_free(there);
    nadir_context_free(here);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_products),
        cmocka_unit_test(test_dropping),
        cmocka_unit_test(test_solves),
        cmocka_unit_test(test_evaluations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
