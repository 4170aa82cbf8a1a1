/*
 * Backends against one another: whoever solves, values, bounds and the worst kernel are the same, for every
 * set, domain and norm. The reference is LAPACK's or KLU's in a context without a device; with a device
 * (NADIR_TEST_ENGINE) everything else is done there.
 *
 * Values and bounds: 1e-10. Kernels Phat - b k^T: b and k to 1e-10 of their largest entries; other ones by
 * products with their rows. A search stops when the value stands still, and the value is flat where it
 * stops: errors of a kernel are the root of those of its value. So searches are asked for all digits.
 */
#include "support/support.h"

#include "model/kernel.h"
#include "robust/evaluation.h"
#include "solve/occupancy.h"
#include "support/generated.h"
#include "support/reference.h"
#include "support/robust.h"

#include <math.h>
#include <stdlib.h>

#define SEED 2718

/* One question put to one backend. */
typedef struct answer {
    nadir_nominal nominal;
    nadir_robust robust;
    nadir_worst *worst;
    double *value;     /* [states] */
    double *occupancy; /* [states] */
} answer;

static void ask(nadir_context *context, nadir_model *model, const char *backend, const nadir_ball *ball,
                answer *to)
{
    const nadir_model_data view = test_view(model);
    nadir_solver *solver = NULL;
    nadir_solver_settings solving = test_solver_settings();
    solving.backend = backend;
    nadir_robust_settings settings = test_robust_settings();
    settings.tolerance = 1e-14;
    *to = (answer){.nominal.size = sizeof to->nominal, .robust.size = sizeof to->robust};
    to->value = test_new(view.states, sizeof *to->value);
    to->occupancy = test_new(view.states, sizeof *to->occupancy);
    nadir_policy *policy = test_uniform_policy(context, model);
    assert_ok(context, nadir_solver_create(context, model, policy, &solving, &solver));
    assert_ok(context, nadir_solver_nominal(context, solver, &to->nominal));
    assert_ok(context, nadir_solver_value(context, solver, to->value));
    assert_ok(context, nadir_solver_occupancy(context, solver, to->occupancy));
    const nadir_status status =
        nadir_solver_robust(context, solver, ball, &settings, &to->robust, &to->worst);
    assert_true(status == NADIR_OK || status == NADIR_ERROR_NOT_CONVERGED);
    nadir_solver_free(solver);
    nadir_policy_free(policy);
}

static void clear(answer *of)
{
    nadir_worst_free(of->worst);
    free(of->value);
    free(of->occupancy);
}

/* The largest differences seen, which are printed at the end. */
static struct {
    double values, bounds, b, k, rows;
} largest;

static void note_largest(double *so_far, double found)
{
    *so_far = fmax(*so_far, found);
}

/* max |x - sign y| / max |x|; NaN where a number is. */
static double distance(int64_t n, const double *x, double sign, const double *y)
{
    double off = 0;
    double most = 0;
    for (int64_t i = 0; i < n; i++) {
        const double apart = fabs(x[i] - sign * y[i]);
        if (isnan(apart)) {
            return apart;
        }
        off = fmax(off, apart);
        most = fmax(most, fabs(x[i]));
    }
    return most > 0 ? off / most : off;
}

static void compare_kernels(nadir_context *context, const nadir_model_data *view, const answer *a,
                            const answer *b)
{
    const double *pairs[2][2] = {{NULL, NULL}, {NULL, NULL}};
    const bool ranks[2] = {nadir_kernel_rank_one(nadir_worst_kernel(a->worst), &pairs[0][0], &pairs[0][1]),
                           nadir_kernel_rank_one(nadir_worst_kernel(b->worst), &pairs[1][0], &pairs[1][1])};
    if (ranks[0] && ranks[1] && pairs[0][0] != NULL && pairs[1][0] != NULL) {
        double dot = 0;
        for (int64_t t = 0; t < view->states; t++) {
            dot += pairs[0][1][t] * pairs[1][1][t];
        }
        const double off[2] = {distance(view->rows, pairs[0][0], dot < 0 ? -1 : 1, pairs[1][0]),
                               distance(view->states, pairs[0][1], dot < 0 ? -1 : 1, pairs[1][1])};
        assert_that(off[0] <= 1e-10, "b is off by %.3g", off[0]);
        assert_that(off[1] <= 1e-10, "k is off by %.3g", off[1]);
        note_largest(&largest.b, off[0]);
        note_largest(&largest.k, off[1]);
    } else {
        double *x = test_new(view->states, sizeof *x);
        double *y = test_new(2 * view->rows, sizeof *y);
        for (int64_t t = 0; t < view->states; t++) {
            x[t] = cos((double)t);
        }
        nadir_worst_multiply(context, a->worst, x, y);
        nadir_worst_multiply(context, b->worst, x, y + view->rows);
        const double off = distance(view->rows, y, 1, y + view->rows);
        assert_that(off <= 1e-7, "rows are off by %.3g", off);
        note_largest(&largest.rows, off);
        free(x);
        free(y);
    }
}

/* Differences of numbers that are near the return, relative to it where that is more than 1. */
static void compare_numbers(const answer *a, const answer *b)
{
    const double scale = fmax(1, fabs(a->nominal.nominal_return));
    const struct {
        const char *name;
        double a, b;
        double *largest;
    } numbers[] = {
        {"nominal return", a->nominal.nominal_return, b->nominal.nominal_return, &largest.values},
        {"nominal lower bound", a->nominal.lower_bound, b->nominal.lower_bound, &largest.bounds},
        {"nominal upper bound", a->nominal.upper_bound, b->nominal.upper_bound, &largest.bounds},
        {"robust return", a->robust.robust_return, b->robust.robust_return, &largest.values},
        {"lower bound", a->robust.lower_bound, b->robust.lower_bound, &largest.bounds},
        {"upper bound", a->robust.upper_bound, b->robust.upper_bound, &largest.bounds},
    };
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        const double off = numbers[i].a == numbers[i].b ? 0 : fabs(numbers[i].a - numbers[i].b) / scale;
        assert_that(off <= 1e-10, "%s: %.17g and %.17g", numbers[i].name, numbers[i].a, numbers[i].b);
        note_largest(numbers[i].largest, off);
    }
}

static void compare(nadir_context *context, nadir_model *model, const answer *a, const answer *b)
{
    const nadir_model_data view = test_view(model);
    const double off[2] = {distance(view.states, a->value, 1, b->value),
                           distance(view.states, a->occupancy, 1, b->occupancy)};
    compare_numbers(a, b);
    assert_that(off[0] <= 1e-10, "v is off by %.3g", off[0]);
    assert_that(off[1] <= 1e-10, "d is off by %.3g", off[1]);
    note_largest(&largest.values, fmax(off[0], off[1]));
    assert_int_equal(a->robust.certified, b->robust.certified);
    compare_kernels(context, &view, a, b);
}

typedef struct question {
    nadir_set set;
    nadir_domain domain;
    double norm, radius;
} question;

static const question questions[] = {
    {NADIR_SET_NONRECT, NADIR_DOMAIN_FREE, 2, 0.02},
    {NADIR_SET_NONRECT, NADIR_DOMAIN_FREE, 1, 0.02},
    {NADIR_SET_NONRECT, NADIR_DOMAIN_FREE, 3, 0.01},
    {NADIR_SET_NONRECT, NADIR_DOMAIN_FREE, 1.5, 0.02},
    {NADIR_SET_NONRECT, NADIR_DOMAIN_FREE, INFINITY, 0.001},
    {NADIR_SET_S, NADIR_DOMAIN_FREE, 2, 0.01},
    {NADIR_SET_SA, NADIR_DOMAIN_FREE, 2, 0.01},
    {NADIR_SET_SA, NADIR_DOMAIN_FREE, 1, 0.01},
    {NADIR_SET_NONRECT, NADIR_DOMAIN_SIMPLEX, 2, 0.05},
    {NADIR_SET_NONRECT, NADIR_DOMAIN_SIMPLEX, 1, 0.1},
    {NADIR_SET_NONRECT, NADIR_DOMAIN_SIMPLEX, INFINITY, 0.01},
    {NADIR_SET_S, NADIR_DOMAIN_SIMPLEX, 2, 0.05},
    {NADIR_SET_SA, NADIR_DOMAIN_SIMPLEX, 2, 0.05},
    {NADIR_SET_SA, NADIR_DOMAIN_SIMPLEX, 1, 0.05},
    {NADIR_SET_NONRECT, NADIR_DOMAIN_SUPPORT, 2, 0.05},
    {NADIR_SET_NONRECT, NADIR_DOMAIN_SUPPORT, 1, 0.1},
    {NADIR_SET_S, NADIR_DOMAIN_SUPPORT, 2, 0.05},
    {NADIR_SET_SA, NADIR_DOMAIN_SUPPORT, 2, 0.05},
    {NADIR_SET_NONRECT, NADIR_DOMAIN_SIMPLEX, 2, 0.5},
    {NADIR_SET_NONRECT, NADIR_DOMAIN_SIMPLEX, 1.5, 0.05},
    {NADIR_SET_NONRECT, NADIR_DOMAIN_SIMPLEX, 3, 0.05},
    {NADIR_SET_NONRECT, NADIR_DOMAIN_SUPPORT, 1.5, 0.3},
    {NADIR_SET_NONRECT, NADIR_DOMAIN_SUPPORT, 3, 0.3},
};

static bool with_device(void)
{
    const char *name = getenv("NADIR_TEST_ENGINE");
    return name != NULL && *name != '\0';
}

/* One in how many cases to take: memcheck is slow, and a device is to see all. */
static int stride(void)
{
    return test_memcheck() && !with_device() ? 3 : 1;
}

static void agree(const char *kind, int64_t states, const char *const backends[3])
{
    nadir_context *here = NULL;
    nadir_context *there = test_context();
    nadir_generate_settings shape = test_generate_settings();
    shape.states = states;
    shape.seed = SEED;
    assert_int_equal(nadir_context_create(NULL, &here), NADIR_OK);
    nadir_model *model = test_generate(here, kind, &shape);
    for (size_t i = 0; i < sizeof questions / sizeof *questions; i += (size_t)stride()) {
        const question *asked = &questions[i];
        const nadir_ball ball = test_ball(asked->set, asked->domain, asked->norm, &asked->radius, NULL);
        answer expected;
        ask(here, model, backends[0], &ball, &expected);
        for (int other = 1; other < 3 && backends[other] != NULL; other++) {
            answer found;
            test_note("%s of %lld states, seed %d, %s, %s against %s", kind, (long long)states, SEED,
                      test_ball_name(&ball), backends[other], backends[0]);
            ask(there, model, backends[other], &ball, &found);
            assert_string_equal(found.robust.backend, backends[other]);
            compare(here, model, &expected, &found);
            clear(&found);
        }
        clear(&expected);
    }
    test_note_clear();
    nadir_model_free(model);
    nadir_context_free(there);
    nadir_context_free(here);
}

/* Many systems at once are those one after another: wholes, guesses that are exact, and zeros among them. */
static void test_columns(void **state)
{
    enum { COLUMNS = 37 };
    static const double discounts[] = {0.9, 0.999};
    (void)state;
    for (int i = 0; i < 8; i += stride()) {
        const double gamma = discounts[i / 2 % 2];
        nadir_context *context = test_context();
        nadir_generate_settings shape = test_generate_settings();
        nadir_kernel *kernel = NULL;
        nadir_occupancy *occupancy = NULL;
        shape.states = i % 2 == 0 || stride() > 1 ? 70 : 300;
        shape.seed = SEED;
        nadir_model *model = test_generate(context, i < 4 ? "random" : "garnet", &shape);
        const int64_t n = shape.states;
        double *b = test_new(COLUMNS * n, sizeof *b);
        double *x = test_new(COLUMNS * n, sizeof *x);
        double *one = test_new(n, sizeof *one);
        for (int64_t j = 0; j < COLUMNS * n; j++) {
            b[j] = j / n == 5 ? 0 : j / n == 7 ? 1 : cos((double)(j * j)) * pow(10, (double)(j / n % 9));
        }
        nadir_policy *policy = test_uniform_policy(context, model);
        assert_ok(context, nadir_kernel_create(context, model, &kernel));
        assert_ok(context, nadir_occupancy_create(context, kernel, policy, gamma,
                                                  with_device() ? "device-krylov" : "krylov", 0, &occupancy));
        for (int transposed = 0; transposed < 2; transposed++) {
            test_note("%lld states, gamma %g, %s", (long long)n, gamma, transposed ? "transposed" : "plain");
            assert_ok(context, (transposed ? nadir_occupancy_solve_transposed
                                           : nadir_occupancy_solve)(context, occupancy, COLUMNS, b, x, NULL));
            for (int64_t j = 0; j < COLUMNS; j++) {
                assert_ok(context, (transposed ? nadir_occupancy_solve_transposed : nadir_occupancy_solve)(
                                       context, occupancy, 1, b + j * n, one, NULL));
                const double off = distance(n, one, 1, x + j * n);
                assert_that(off <= 1e-10, "column %lld is off by %.3g", (long long)j, off);
            }
        }
        test_note_clear();
        free(b);
        free(x);
        free(one);
        nadir_occupancy_free(context, occupancy);
        nadir_kernel_free(kernel);
        nadir_policy_free(policy);
        nadir_model_free(model);
        nadir_context_free(context);
    }
}

static void test_dense(void **state)
{
    static const char *const here[3] = {"lapack", "krylov", NULL};
    static const char *const there[3] = {"lapack", "device-lu", "device-krylov"};
    (void)state;
    agree("random", 40, with_device() ? there : here);
}

static void test_sparse(void **state)
{
    static const char *const here[3] = {"klu", "krylov", "lapack"};
    static const char *const there[3] = {"klu", "device-lu", "device-krylov"};
    (void)state;
    agree("garnet", 60, with_device() ? there : here);
}

static int stop(void *user, const char *task, double share)
{
    (void)task;
    (void)share;
    ++*(int *)user;
    return 1;
}

/* Who asks to stop is heard within a solve on a device, of one vector or of many. */
static void test_interruption(void **state)
{
    (void)state;
    if (!with_device()) {
        print_message("skipped: NADIR_TEST_ENGINE names no engine with a device\n");
        skip();
    }
    nadir_context *context = test_context();
    nadir_generate_settings shape = test_generate_settings();
    nadir_kernel *kernel = NULL;
    nadir_average average = {0};
    shape.states = 300;
    shape.seed = SEED;
    nadir_model *model = test_generate(context, "garnet", &shape);
    nadir_policy *policy = test_uniform_policy(context, model);
    assert_ok(context, nadir_kernel_create(context, model, &kernel));
    assert_ok(context, nadir_average_make(context, kernel, policy, &average));
    assert_non_null(average.device_matrix);
    for (int64_t count = 1; count <= 2; count++) {
        const nadir_device_system system = {.gamma = 0.99, .rate = 0.99, .residual = 1e-12};
        nadir_device_solve_result outcomes[2];
        int calls = 0;
        double *b = test_new(2 * shape.states, sizeof *b);
        double *x = test_new(2 * shape.states, sizeof *x);
        for (int64_t i = 0; i < 2 * shape.states; i++) {
            b[i] = cos((double)i);
        }
        nadir_context *other = test_context_progress(stop, &calls);
        const nadir_status status =
            count == 1 ? average.device->bicgstab_solve(average.device_matrix, other, &system, b, x, outcomes)
                       : average.device->bicgstab_solve_many(average.device_matrix, other, &system, count, b,
                                                             x, outcomes);
        assert_fails(other, status, NADIR_ERROR_INTERRUPTED, "interrupted while solving");
        assert_int_equal(calls, 1);
        nadir_context_free(other);
        free(b);
        free(x);
    }
    nadir_average_clear(context, &average);
    nadir_kernel_free(kernel);
    nadir_policy_free(policy);
    nadir_model_free(model);
    nadir_context_free(context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_dense),
        cmocka_unit_test(test_sparse),
        cmocka_unit_test(test_columns),
        cmocka_unit_test(test_interruption),
    };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    print_message("largest differences: values %.2g, bounds %.2g, b %.2g, k %.2g, other rows %.2g\n",
                  largest.values, largest.bounds, largest.b, largest.k, largest.rows);
    return failed;
}
