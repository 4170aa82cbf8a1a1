/*
 * Lanczos iterations with their vectors on a device against the same with vectors in memory, and what is
 * proven by them. The device is that of the engine that NADIR_TEST_ENGINE names, or else one that is
 * pretended (support/fake_device.h): whoever touches its vectors from here ends the test.
 */
#include "proof/breakdown.h"
#include "support/support.h"

#include "core/context.h"
#include "core/device.h"
#include "linalg/lanczos.h"
#include "model/average.h"
#include "support/device_counts.h"
#include "support/fake_device.h"
#include "support/generated.h"
#include "support/problem.h"
#include "support/reference.h"
#include "support/robust.h"
#include "support/scarce.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SEED = 1415, COUNT = 5003, MANY = 33, STATES = 1500 };

static nadir_context *device_context(test_device_counts **watch)
{
    nadir_context *context = test_context();
    test_pretend_device(context); /* where it has none */
    *watch = test_device_counts_start(context);
    return context;
}

/* Models of many states take too long under memcheck; a device gets the short form of tests, too. */
static void skip_under_memcheck(void)
{
    if (test_memcheck() && getenv("NADIR_TEST_ENGINE") == NULL) {
        skip();
    }
}

static void assert_near(int64_t count, const double *found, const double *wanted, double tolerance)
{
    double largest = 0;
    for (int64_t i = 0; i < count; i++) {
        largest = fmax(largest, fabs(wanted[i]));
    }
    for (int64_t i = 0; i < count; i++) {
        assert_that(fabs(found[i] - wanted[i]) <= tolerance * largest, "entry %lld: %.17g, not %.17g",
                    (long long)i, found[i], wanted[i]);
    }
}

/* Every operation once, all of `many` vectors after x and y; result: those and the dots. */
static void operate(const nadir_vec *vec, int many, const double *vectors, double *result)
{
    nadir_context *context = vec->context;
    const int64_t n = COUNT;
    const int kept = many < 10 ? many : 10;
    const int64_t numbers = (many + 2) * n;
    double *at = NULL;
    double *dots = result + numbers;
    double matrix[MANY * 10];
    assert_ok(context, nadir_vec_allocate(vec, numbers, &at));
    double *x = at;
    double *y = at + n;
    double *rest = at + 2 * n;
    for (int i = 0; i < kept * many; i++) {
        matrix[i] = cos(i);
    }
    assert_ok(context, nadir_vec_dots(vec, numbers, 1, at, at, dots));
    assert_true(dots[0] == 0); /* zeros */
    assert_ok(context, nadir_vec_copy(vec, numbers, vectors, at));
    assert_ok(context, nadir_vec_dots(vec, n, many, rest, x, dots));
    assert_ok(context, nadir_vec_dots(vec, n, 1, x, y, dots + many));
    const double factor = -1.25;
    assert_ok(context, nadir_vec_add_many(vec, n, 1, x, &factor, y));
    assert_ok(context, nadir_vec_add_many(vec, n, many, rest, dots, y));
    assert_ok(context, nadir_vec_multiply(vec, n, rest, y, x));
    assert_ok(context, nadir_vec_multiply(vec, n, rest, x, x));
    assert_ok(context, nadir_vec_scale(vec, n, 0.3, y, y));
    assert_ok(context, nadir_vec_rotate(vec, n, many, kept, matrix, rest));
    assert_ok(context, nadir_vec_scale(vec, n, -2, rest, rest + (many - 1) * n));
    assert_ok(context, nadir_vec_copy(vec, numbers, at, result));
    nadir_vec_release(vec, numbers, at);
}

static void test_operations(void **state)
{
    static const int counts[] = {1, 2, 3, 4, 32, MANY};
    test_device_counts *watch;
    nadir_context *context = device_context(&watch);
    const nadir_vec here = nadir_vec_host(context);
    const nadir_vec there = nadir_vec_device(context);
    const int64_t numbers = (MANY + 2) * COUNT;
    double *vectors = test_new(3 * numbers + 2 * (MANY + 1), sizeof *vectors);
    double *wanted = vectors + numbers;
    double *found = wanted + numbers + MANY + 1;
    (void)state;
    nadir_random random = test_random(SEED);
    for (int64_t i = 0; i < numbers; i++) {
        vectors[i] = nadir_random_normal(&random);
    }
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        const int many = counts[i];
        test_note("%d vectors", many);
        operate(&here, many, vectors, wanted);
        operate(&there, many, vectors, found);
        assert_near((many + 2) * COUNT, found, wanted, 1e-12);
        assert_near(many + 1, found + (many + 2) * COUNT, wanted + (many + 2) * COUNT, 1e-12);
    }
    test_note_clear();
    assert_int_equal(watch->rooms, (int64_t)(sizeof counts / sizeof *counts));
    assert_int_equal(watch->rooms_left, 0);
    free(vectors);
    nadir_context_free(context);
}

/* P^pi of a garnet on the device, times a diagonal that gives it a large singular value. */
typedef struct product {
    nadir_context *context;
    nadir_model *model;
    nadir_policy *policy;
    nadir_kernel *kernel;
    nadir_average average;
    nadir_vec vec;
    double *room;     /* [2 * STATES] of the vec: the diagonal, and to work with */
    int64_t products; /* so far */
    int64_t fails;    /* the product that fails; 0: none */
} product;

static product product_make(nadir_context *context)
{
    product made = {.context = context};
    nadir_generate_settings shape = test_generate_settings();
    shape.states = STATES;
    shape.actions = 3;
    shape.seed = SEED;
    made.model = test_generate(context, "garnet", &shape);
    assert_ok(context, nadir_policy_create_uniform(context, made.model, &made.policy));
    assert_ok(context, nadir_kernel_create(context, made.model, &made.kernel));
    assert_ok(context, nadir_average_make(context, made.kernel, made.policy, &made.average));
    assert_non_null(made.average.device_matrix);
    return made;
}

static void product_at(product *made, nadir_vec vec)
{
    double diagonal[STATES];
    for (int64_t s = 0; s < STATES; s++) {
        diagonal[s] = 1 + 3 * exp(-(double)s / 90);
    }
    made->vec = vec;
    made->products = 0;
    made->fails = 0;
    assert_ok(made->context, nadir_vec_allocate(&vec, 2 * STATES, &made->room));
    assert_ok(made->context, nadir_vec_copy(&vec, STATES, diagonal, made->room));
}

static void product_leave(product *made)
{
    nadir_vec_release(&made->vec, 2 * STATES, made->room);
}

static void product_clear(product *made)
{
    nadir_average_clear(made->context, &made->average);
    nadir_kernel_free(made->kernel);
    nadir_policy_free(made->policy);
    nadir_model_free(made->model);
}

static nadir_status apply(nadir_context *context, void *user, const double *x, double *y)
{
    nadir_status status = NADIR_OK;
    product *at = user;
    double *work = at->room + STATES;
    NADIR_CHECK(nadir_vec_multiply(&at->vec, STATES, at->room, x, work));
    NADIR_CHECK(
        at->average.device->matrix_combine(at->average.device_matrix, context, false, 1, 0, 1, work, y));
    if (++at->products == at->fails) {
        status = nadir_fail(context, NADIR_ERROR_INTERRUPTED, "stopped");
    }
cleanup:
    return status;
}

static nadir_status apply_transposed(nadir_context *context, void *user, const double *x, double *y)
{
    nadir_status status = NADIR_OK;
    product *at = user;
    NADIR_CHECK(at->average.device->matrix_combine(at->average.device_matrix, context, true, 1, 0, 1, x, y));
    NADIR_CHECK(nadir_vec_multiply(&at->vec, STATES, at->room, y, y));
cleanup:
    return status;
}

static nadir_status apply_both(nadir_context *context, void *user, const double *x, double *y)
{
    nadir_status status = NADIR_OK;
    product *at = user;
    double *between = at->room + STATES; /* apply is done with it when it writes y */
    NADIR_CHECK(nadir_vec_multiply(&at->vec, STATES, at->room, x, between));
    NADIR_CHECK(
        at->average.device->matrix_combine(at->average.device_matrix, context, false, 1, 0, 1, between, y));
    NADIR_CHECK(nadir_vec_copy(&at->vec, STATES, y, between));
    NADIR_CHECK(apply_transposed(context, user, between, y));
    if (++at->products == at->fails) {
        status = nadir_fail(context, NADIR_ERROR_INTERRUPTED, "stopped");
    }
cleanup:
    return status;
}

static void test_largest(void **state)
{
    test_device_counts *watch;
    nadir_context *context = device_context(&watch);
    product at = product_make(context);
    (void)state;
    for (int64_t limit = 1; limit <= 40; limit += 13) {
        nadir_largest wanted;
        nadir_largest found;
        nadir_random random = context->random;
        nadir_random same = random;
        test_note("%d products", (int)limit);
        product_at(&at, nadir_vec_host(context));
        assert_ok(context, nadir_lanczos_largest(&at.vec, STATES, apply_both, &at, &random, 0, INFINITY, 1e-3,
                                                 limit, &wanted));
        product_leave(&at);
        *watch = (test_device_counts){0};
        product_at(&at, nadir_vec_device(context));
        assert_ok(context, nadir_lanczos_largest(&at.vec, STATES, apply_both, &at, &same, 0, INFINITY, 1e-3,
                                                 limit, &found));
        product_leave(&at);
        assert_int_equal(found.products, wanted.products);
        assert_close(found.value / wanted.value, 1, 1e-10);
        assert_true(isinf(wanted.upper) ? isinf(found.upper) : fabs(found.upper / wanted.upper - 1) <= 1e-10);
        assert_int_equal(watch->multiplied_there, 2 * found.products);
        assert_int_equal(watch->multiplied_here, 0);
        assert_int_equal(watch->copied, 2 * STATES); /* the diagonal and the start */
        assert_int_equal(watch->rooms_left, 0);
    }
    test_note_clear();
    product_clear(&at);
    nadir_context_free(context);
}

/* Failures in the midst of iterations give everything back. */
static void test_fails(void **state)
{
    test_device_counts *watch;
    nadir_context *context = device_context(&watch);
    product at = product_make(context);
    nadir_random random = context->random;
    nadir_largest found;
    nadir_singular_triple triple;
    double *x = test_new(2 * STATES, sizeof *x);
    const nadir_linear_map of = {STATES, STATES, apply, apply_transposed, &at};
    (void)state;
    product_at(&at, nadir_vec_device(context));
    at.fails = 4;
    assert_fails(context,
                 nadir_lanczos_largest(&at.vec, STATES, apply_both, &at, &random, 0, INFINITY, 0, 9, &found),
                 NADIR_ERROR_INTERRUPTED, "stopped");
    at.fails = 7;
    assert_fails(context, nadir_lanczos_top(&at.vec, &of, NULL, &random, 0, 100, x, x + STATES, &triple),
                 NADIR_ERROR_INTERRUPTED, "stopped");
    watch->no_rooms = true;
    assert_fails(context, nadir_lanczos_top(&at.vec, &of, NULL, &random, 0, 100, x, x + STATES, &triple),
                 NADIR_ERROR_MEMORY, "room");
    assert_int_equal(watch->rooms_left, 1);
    product_leave(&at);
    free(x);
    product_clear(&at);
    nadir_context_free(context);
}

static nadir_status double_it(nadir_context *context, void *user, const double *x, double *y)
{
    const nadir_vec *vec = user;
    (void)context;
    return nadir_vec_scale(vec, COUNT, 2, x, y);
}

static nadir_status attempt(nadir_context *context, const void *of)
{
    nadir_status status = NADIR_OK;
    nadir_largest found;
    nadir_singular_triple triple;
    double *x = test_new(2 * COUNT, sizeof *x);
    (void)of;
    test_use_engine(context);
    test_pretend_device(context);
    nadir_vec there = nadir_vec_device(context);
    const nadir_linear_map twice = {COUNT, COUNT, double_it, double_it, &there};
    nadir_random random = test_random(SEED);
    NADIR_CHECK(nadir_lanczos_largest(&there, COUNT, double_it, &there, &random, 0, INFINITY, 0, 2, &found));
    assert_close(found.value, 2, 1e-13);
    NADIR_CHECK(nadir_lanczos_top(&there, &twice, NULL, &random, 0, 4, x, x + COUNT, &triple));
    assert_close(triple.sigma, 2, 1e-13);
cleanup:
    free(x);
    return status;
}

static void test_scarce_memory(void **state)
{
    (void)state;
    test_run_out(attempt, NULL, NULL, "Lanczos on a device");
}

static void test_top(void **state)
{
    test_device_counts *watch;
    nadir_context *context = device_context(&watch);
    product at = product_make(context);
    const nadir_linear_map of = {STATES, STATES, apply, apply_transposed, &at};
    double *x = test_new(3 * STATES, sizeof *x);
    double *y = x + STATES;
    nadir_random random = context->random;
    nadir_random same = random;
    nadir_singular_triple wanted;
    nadir_singular_triple found;
    (void)state;
    product_at(&at, nadir_vec_host(context));
    assert_ok(context, nadir_lanczos_top(&at.vec, &of, NULL, &random, 1e-11, 2000, x, y, &wanted));
    product_leave(&at);
    assert_that(wanted.converged && wanted.products > 64, "%d products: no restarts", (int)wanted.products);
    *watch = (test_device_counts){0};
    product_at(&at, nadir_vec_device(context));
    assert_ok(context, nadir_lanczos_top(&at.vec, &of, NULL, &same, 1e-11, 2000, x, y, &found));
    product_leave(&at);
    assert_int_equal(watch->multiplied_there, found.products);
    assert_int_equal(watch->multiplied_here, 0);
    assert_int_equal(watch->copied, 4 * STATES); /* diagonal, start and both vectors */
    assert_int_equal(watch->rooms_left, 0);
    assert_true(found.converged);
    assert_close(found.sigma / wanted.sigma, 1, 1e-11);
    product_at(&at, nadir_vec_host(context));
    assert_ok(context, apply(context, &at, x, x + 2 * STATES));
    product_leave(&at);
    for (int64_t s = 0; s < STATES; s++) {
        assert_that(fabs(x[2 * STATES + s] - found.sigma * y[s]) <= 1e-9, "state %lld", (long long)s);
    }
    free(x);
    product_clear(&at);
    nadir_context_free(context);
}

/* One state may change by far more than all others: a few products do. */
static double breakdown(nadir_context *context, const char *backend)
{
    enum { LARGE = 17000, ACTIONS = 2 };
    const double radius = 0.1;
    double *scales = test_new(LARGE * ACTIONS, sizeof *scales);
    const nadir_ball ball = test_ball(NADIR_SET_NONRECT, NADIR_DOMAIN_FREE, 2, &radius, scales);
    nadir_generate_settings shape = test_generate_settings();
    double found;
    bool converged;
    for (int64_t row = 0; row < LARGE * ACTIONS; row++) {
        scales[row] = row < ACTIONS ? 40 : 1;
    }
    shape.states = LARGE;
    shape.actions = ACTIONS;
    shape.branch = 2;
    shape.discount = 0.4;
    shape.seed = SEED;
    nadir_model *model = test_generate(context, "garnet", &shape);
    nadir_policy *policy = test_uniform_policy(context, model);
    test_problem made = test_problem_make(context, model, policy, &ball, backend, 1);
    assert_ok(context, nadir_breakdown_estimate(context, test_problem_view(&made), &found, &converged));
    assert_true(converged);
    test_problem_clear(&made);
    free(scales);
    return found;
}

static void test_breakdown(void **state)
{
    nadir_context *here = NULL;
    test_device_counts *watch;
    (void)state;
    skip_under_memcheck();
    nadir_context *there = device_context(&watch);
    assert_int_equal(nadir_context_create(NULL, &here), NADIR_OK);
    const double wanted = breakdown(here, "krylov");
    const double found = breakdown(there, "device-krylov");
    assert_close(found / wanted, 1, 1e-10);
    assert_true(watch->solved_there > 10 && watch->rooms > 0 && watch->rooms_left == 0);
    *watch = (test_device_counts){.no_rooms = true};
    assert_close(breakdown(there, "device-krylov") / wanted, 1, 1e-10);
    assert_true(watch->solved_there == 0 && watch->solved_here > 10);
    nadir_context_free(there);
    nadir_context_free(here);
}

/* A sparse model large enough for linear steps and for iterations of a device, on the domain support. */
static nadir_robust evaluate(nadir_context *context, const char *backend)
{
    const double radius = 0.02;
    const nadir_ball ball = test_ball(NADIR_SET_NONRECT, NADIR_DOMAIN_SUPPORT, 2, &radius, NULL);
    nadir_generate_settings shape = test_generate_settings();
    nadir_solver *solver = NULL;
    nadir_solver_settings settings = test_solver_settings();
    settings.backend = backend;
    shape.states = 20500;
    shape.actions = 2;
    shape.branch = 2;
    shape.discount = 0.9;
    shape.seed = SEED;
    nadir_model *model = test_generate(context, "garnet", &shape);
    nadir_policy *policy = test_uniform_policy(context, model);
    assert_ok(context, nadir_solver_create(context, model, policy, &settings, &solver));
    const nadir_robust result = test_robust(context, solver, &ball, NULL, NULL);
    nadir_solver_free(solver);
    nadir_policy_free(policy);
    nadir_model_free(model);
    return result;
}

static double memory_taken(const nadir_context *context)
{
    double taken;
    double left;
    context->device->memory(context->device_self, &taken, &left);
    return taken;
}

static void test_kappa(void **state)
{
    nadir_context *here = NULL;
    test_device_counts *watch;
    (void)state;
    skip_under_memcheck();
    nadir_context *there = device_context(&watch);
    assert_int_equal(nadir_context_create(NULL, &here), NADIR_OK);
    const nadir_robust wanted = evaluate(here, "krylov");
    assert_true(wanted.kappa > 0 && wanted.kappa < 0.5);
    watch->no_rooms = true;
    const nadir_robust sent = evaluate(there, "device-krylov"); /* vectors go there and back */
    assert_true(watch->centred_here > 0 && watch->centred_there == 0 && watch->solved_there == 0);
    const double before = memory_taken(there);
    *watch = (test_device_counts){0};
    const nadir_robust found = evaluate(there, "device-krylov");
    assert_true(watch->centred_there > 0 && watch->centred_here == 0);
    assert_int_equal(watch->solved_there, 2 * watch->centred_there);
    assert_int_equal(watch->rooms_left, 0);
    assert_close(memory_taken(there), before, 0);
    assert_close(found.kappa / sent.kappa, 1, 1e-8);
    assert_close(found.kappa / wanted.kappa, 1, 4e-2); /* solves of products are good to a fiftieth */
    assert_close(found.robust_return / wanted.robust_return, 1, 1e-10);
    assert_close(found.lower_bound / wanted.lower_bound, 1, 1e-10);
    assert_close(found.upper_bound / wanted.upper_bound, 1, 1e-10);
    nadir_context_free(there);
    nadir_context_free(here);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_operations),    cmocka_unit_test(test_largest),   cmocka_unit_test(test_fails),
        cmocka_unit_test(test_top),           cmocka_unit_test(test_breakdown), cmocka_unit_test(test_kappa),
        cmocka_unit_test(test_scarce_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
