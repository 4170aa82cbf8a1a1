/*
 * test_occupancy.c: one suite for the occupancy operator, run on every backend, every kind of kernel, every
 * way to come by the operator, every family of models and several discounts.
 *
 * The products are compared with Gaussian elimination in long double on the system that follows from the
 * model by the definitions, so that backends agree with each other too. The error bounds are compared with
 * the true errors, for the system as the operator itself has rounded it.
 */
#include "support/support.h"

#include "solve/occupancy.h"
#include "support/families.h"
#include "support/generated.h"
#include "support/reference.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Half of what two backends may differ by. */
#define AGREEMENT 5e-11
#define TOLERANCE 1e-12 /* of iterative backends, when none is asked for */
#define SEED      314159

static const char *const backends[] = {"lapack", "klu", "krylov", "auto", "device-lu", "device-krylov"};
static const double gammas[] = {0, 0.5, 0.99, 0.9999};
static const int64_t counts[] = {1, 3, 17};

#define LENGTH(array) (sizeof(array) / sizeof *(array))

/* How the operator is come by. */
typedef enum route {
    ROUTE_CREATE,
    ROUTE_UPDATE,          /* from another policy and kernel */
    ROUTE_PERTURB,         /* of the nominal operator */
    ROUTE_PERTURB_RANK_ONE /* of the operator of another rank-one kernel */
} route;

static const char *const route_names[] = {"created", "updated", "perturbed", "perturbed from rank one"};

/* One operator and what it should be. */
typedef struct instance {
    const char *backend;
    nadir_context *context;
    nadir_random random;
    nadir_model *model;
    nadir_policy *policy;
    nadir_kernel *kernel;
    nadir_occupancy *base; /* NULL: none */
    nadir_occupancy *occupancy;
    double gamma;
    test_system truth; /* by the definitions */
    test_system own;   /* as the operator has rounded it */
    double agreement;  /* relative to the scale of a product */
} instance;

static const char *backend_argument(const char *name)
{
    return strcmp(name, "auto") == 0 ? NULL : name;
}

/* Whether a backend says that it takes the models of this kind of storage. */
static bool supports(const char *backend, const nadir_model *model)
{
    if (strcmp(backend, "auto") == 0) {
        return true;
    }
    const nadir_backend *found = nadir_backend_find(backend);
    assert_non_null(found);
    if ((found->capabilities & NADIR_BACKEND_DEVICE) != 0 && getenv("NADIR_TEST_ENGINE") == NULL) {
        return false;
    }
    const unsigned needed = test_view(model).dense != NULL ? NADIR_BACKEND_DENSE : NADIR_BACKEND_SPARSE;
    return (found->capabilities & needed) != 0;
}

static void create(instance *at, const nadir_kernel *kernel, const nadir_policy *policy,
                   nadir_occupancy **occupancy)
{
    assert_ok(at->context, nadir_occupancy_create(at->context, kernel, policy, at->gamma,
                                                  backend_argument(at->backend), 0, occupancy));
}

/* Whatever is kept from a first product must not serve a later operator. */
static void apply_transposed(instance *at)
{
    const int64_t n = test_view(at->model).states;
    double *x = test_new(n, sizeof *x);
    x[0] = 1;
    assert_ok(at->context, nadir_occupancy_solve_transposed(at->context, at->occupancy, 1, x, x, NULL));
    free(x);
}

/* What was counted only grows; *before becomes the counts now. */
static void check_growth(const instance *at, nadir_backend_statistics *before)
{
    nadir_backend_statistics now;
    nadir_occupancy_statistics(at->occupancy, &now);
    assert_that(now.factorings >= before->factorings && now.solves >= before->solves &&
                    now.iterations >= before->iterations && now.factor_seconds >= before->factor_seconds,
                "%lld factorings, %lld solves, %lld iterations after %lld, %lld, %lld",
                (long long)now.factorings, (long long)now.solves, (long long)now.iterations,
                (long long)before->factorings, (long long)before->solves, (long long)before->iterations);
    *before = now;
}

/* First for another policy, then for one with the same actions, then for a third, with another kernel. */
static void create_by_updates(instance *at)
{
    nadir_context *context = at->context;
    nadir_kernel *nominal = test_kernel(context, at->model, TEST_NOMINAL, at->gamma, &at->random, NULL);
    nadir_policy *first = test_policy(context, at->model, TEST_RANDOM, &at->random);
    nadir_policy *second = test_policy_same_support(context, at->model, first, &at->random);
    nadir_backend_statistics before = {0};
    create(at, nominal, first, &at->occupancy);
    apply_transposed(at);
    check_growth(at, &before);
    assert_ok(context, nadir_occupancy_update(context, at->occupancy, nominal, second));
    apply_transposed(at);
    check_growth(at, &before);
    assert_ok(context, nadir_occupancy_update(context, at->occupancy, at->kernel, at->policy));
    check_growth(at, &before);
    nadir_policy_free(first);
    nadir_policy_free(second);
    nadir_kernel_free(nominal);
}

static void make_operator(instance *at, route way)
{
    nadir_context *context = at->context;
    if (way == ROUTE_CREATE) {
        create(at, at->kernel, at->policy, &at->occupancy);
    } else if (way == ROUTE_UPDATE) {
        create_by_updates(at);
    } else {
        const test_change start = way == ROUTE_PERTURB ? TEST_NOMINAL : TEST_RANK_ONE;
        nadir_kernel *kernel = test_kernel(context, at->model, start, at->gamma, &at->random, NULL);
        create(at, kernel, at->policy, &at->base);
        assert_ok(context,
                  nadir_occupancy_perturb(context, at->base, at->kernel, at->policy, &at->occupancy));
        nadir_kernel_free(kernel);
    }
    assert_true(nadir_occupancy_gamma(at->occupancy) == at->gamma);
}

/* The systems that products are checked with. */
static void make_references(instance *at, const double *kernel)
{
    const int64_t n = test_view(at->model).states;
    long double *numbers = test_dense_average(at->model, kernel, nadir_policy_probabilities(at->policy));
    at->truth = test_system_make(n, numbers, at->gamma);
    free(numbers);
    numbers = test_average_numbers(nadir_occupancy_average(at->occupancy));
    at->own = test_system_make(n, numbers, at->gamma);
    free(numbers);
    at->agreement = fmax(AGREEMENT, 1e-15 * test_system_condition(&at->truth));
}

static void clear(instance *at)
{
    test_system_clear(&at->truth);
    test_system_clear(&at->own);
    nadir_occupancy_free(at->context, at->occupancy);
    nadir_occupancy_free(at->context, at->base);
    nadir_policy_free(at->policy);
    nadir_kernel_free(at->kernel);
    nadir_model_free(at->model);
    nadir_context_free(at->context);
}

static nadir_status product(instance *at, bool transposed, int64_t count, const double *b, double *x,
                            nadir_accuracy *accuracy)
{
    return transposed ? nadir_occupancy_solve_transposed(at->context, at->occupancy, count, b, x, accuracy)
                      : nadir_occupancy_solve(at->context, at->occupancy, count, b, x, accuracy);
}

/* |x - exact| in the norm in which errors are bounded, and that of x itself. */
static double distance(bool transposed, int64_t n, const double *x, const long double *exact, double *size)
{
    long double largest = 0;
    long double sum = 0;
    long double largest_x = 0;
    long double sum_x = 0;
    for (int64_t i = 0; i < n; i++) {
        largest = fmaxl(largest, fabsl(x[i] - exact[i]));
        sum += fabsl(x[i] - exact[i]);
        largest_x = fmaxl(largest_x, fabs(x[i]));
        sum_x += fabs(x[i]);
    }
    *size = (double)(transposed ? sum_x : largest_x);
    return (double)(transposed ? sum : largest);
}

/* One column against both references; *error and *limit grow to the largest true error, and to what a bound
 * may be: a million times that, or what was asked for, or rounding. */
static void check_column(const instance *at, bool transposed, const double *b, const double *x, double *error,
                         double *limit)
{
    const int64_t n = at->own.size;
    const double gap = 1 - at->gamma * nadir_occupancy_average(at->occupancy)->norm;
    long double *exact = test_new(n, sizeof *exact);
    double scale = 0;
    double largest = 0;
    double size;
    test_system_solve(&at->truth, transposed, b, exact);
    for (int64_t i = 0; i < n; i++) {
        scale = fmax(scale, (double)fabsl(exact[i]));
        largest = fmax(largest, fabs(x[i] - (double)exact[i]));
        assert_that(isfinite(x[i]), "entry %lld is %g", (long long)i, x[i]);
    }
    assert_that(largest <= at->agreement * scale, "%s: off by %g at a scale of %g",
                transposed ? "D^T x" : "D x", largest, scale);
    test_system_solve(&at->own, transposed, b, exact);
    const double reference = (double)test_system_residual(&at->own, transposed, b, exact) / gap;
    const double found = distance(transposed, n, x, exact, &size);
    const double rounding = 8 * (double)(n + 8) * DBL_EPSILON * size / gap;
    *error = fmax(*error, found - 2 * reference);
    *limit = fmax(*limit, fmax(1e6 * found, 2 * TOLERANCE * size + rounding));
    free(exact);
}

/* The bound holds and says something. It may be missing only where |gamma P| is not below one. */
static void check_bound(instance *at, bool transposed, const nadir_accuracy *accuracy, double error,
                        double limit)
{
    const char *what = transposed ? "D^T x" : "D x";
    const double norm = nadir_occupancy_average(at->occupancy)->norm;
    assert_that(accuracy->residual >= 0 && isfinite(accuracy->residual), "the residual is %g",
                accuracy->residual);
    if (at->gamma * norm >= 1) {
        assert_that(accuracy->error_bound == INFINITY, "a bound of %g where |gamma P| is %g",
                    accuracy->error_bound, at->gamma * norm);
        return;
    }
    assert_that(accuracy->error_bound <= limit, "%s: bound %g, error %g: too loose", what,
                accuracy->error_bound, error);
    if (test_long_unit() < 1e-18) {
        assert_that(error <= accuracy->error_bound, "%s: bound %g, error %g: no bound", what,
                    accuracy->error_bound, error);
    }
}

static void check_products(instance *at, bool transposed, int64_t count, bool aliased)
{
    const int64_t n = at->own.size;
    double *b = test_new(n * count, sizeof *b);
    double *x = test_new(n * count, sizeof *x);
    nadir_accuracy accuracy;
    double error = 0;
    double limit = 0;
    for (int64_t i = 0; i < n * count; i++) {
        b[i] = nadir_random_normal(&at->random);
        x[i] = aliased ? b[i] : NAN;
    }
    nadir_backend_statistics before;
    nadir_backend_statistics after;
    nadir_occupancy_statistics(at->occupancy, &before);
    assert_ok(at->context, product(at, transposed, count, aliased ? x : b, x, &accuracy));
    nadir_occupancy_statistics(at->occupancy, &after);
    assert_that(after.solves >= before.solves + count, "%lld solves, then %lld after %lld more",
                (long long)before.solves, (long long)after.solves, (long long)count);
    for (int64_t j = 0; j < count; j++) {
        check_column(at, transposed, b + j * n, x + j * n, &error, &limit);
    }
    check_bound(at, transposed, &accuracy, error, limit);
    free(b);
    free(x);
}

/* What a product is come by from. */
typedef enum beginning { BEGIN_THERE, BEGIN_NEAR, BEGIN_FAR, BEGIN_NOWHERE, BEGINNINGS } beginning;

static double begin_at(instance *at, beginning from, double exact, double size)
{
    static const double off[BEGINNINGS] = {0, 1e-6, 1e6, NAN};
    return exact + off[from] * size * nadir_random_normal(&at->random);
}

/* From the product itself, near it, far from it and from no numbers: as good as from nothing, and from the
 * product itself no dearer. */
static void check_improved(instance *at, bool transposed, beginning from)
{
    const int64_t n = at->own.size;
    double *b = test_new(3 * n, sizeof *b);
    double *x = b + n;
    double *exact = x + n;
    nadir_accuracy accuracy;
    nadir_backend_statistics before;
    nadir_backend_statistics fresh;
    nadir_backend_statistics after;
    double size = 0;
    double error = 0;
    double limit = 0;
    for (int64_t i = 0; i < n; i++) {
        b[i] = nadir_random_normal(&at->random);
    }
    nadir_occupancy_statistics(at->occupancy, &before);
    assert_ok(at->context, product(at, transposed, 1, b, exact, NULL));
    nadir_occupancy_statistics(at->occupancy, &fresh);
    for (int64_t i = 0; i < n; i++) {
        size = fmax(size, fabs(exact[i]));
    }
    for (int64_t i = 0; i < n; i++) {
        x[i] = begin_at(at, from, exact[i], size);
    }
    assert_ok(at->context,
              nadir_occupancy_improve(at->context, at->occupancy, transposed, 1, b, 0, x, &accuracy));
    nadir_occupancy_statistics(at->occupancy, &after);
    check_column(at, transposed, b, x, &error, &limit);
    check_bound(at, transposed, &accuracy, error, limit);
    assert_that(from != BEGIN_THERE || after.solves - fresh.solves <= fresh.solves - before.solves,
                "%lld solves to stay, %lld to get there", (long long)(after.solves - fresh.solves),
                (long long)(fresh.solves - before.solves));
    free(b);
}

/* D 1 = 1/(1 - gamma), D^T mu sums to the same, <D x, y> = <x, D^T y>. */
static void check_identities(instance *at)
{
    const int64_t n = at->own.size;
    const double total = 1 / (1 - at->gamma);
    double *x = test_new(4 * n, sizeof *x);
    double *y = x + n;
    double *dx = y + n;
    double *dy = dx + n;
    double sum = 0;
    double weight = 0;
    for (int64_t i = 0; i < n; i++) {
        x[i] = 1;
        y[i] = nadir_random_uniform(&at->random) + 0.1;
        weight += y[i];
    }
    assert_ok(at->context, product(at, false, 1, x, dx, NULL));
    assert_ok(at->context, product(at, true, 1, y, dy, NULL));
    for (int64_t i = 0; i < n; i++) {
        assert_that(fabs(dx[i] - total) <= at->agreement * total, "D 1 is %.17g at %lld, expected %.17g",
                    dx[i], (long long)i, total);
        sum += dy[i] / weight;
        x[i] = nadir_random_normal(&at->random);
    }
    assert_that(fabs(sum - total) <= at->agreement * total * (double)n,
                "D^T mu sums to %.17g, expected %.17g", sum, total);
    assert_ok(at->context, product(at, false, 1, x, dx, NULL));
    double left = 0;
    double right = 0;
    double size = 0;
    for (int64_t i = 0; i < n; i++) {
        left += dx[i] * y[i];
        right += x[i] * dy[i];
        size += fabs(dx[i] * y[i]) + fabs(x[i] * dy[i]);
    }
    assert_that(fabs(left - right) <= at->agreement * size, "<Dx,y> is %.17g and <x,D^Ty> %.17g", left,
                right);
    free(x);
}

static void check_statistics(instance *at)
{
    nadir_backend_statistics statistics;
    const char *name = nadir_occupancy_backend(at->occupancy);
    nadir_occupancy_statistics(at->occupancy, &statistics);
    const nadir_backend *backend = nadir_backend_find(name);
    assert_non_null(backend);
    assert_true(strcmp(at->backend, "auto") == 0 || strcmp(at->backend, name) == 0);
    const bool direct = (backend->capabilities & NADIR_BACKEND_DIRECT) != 0;
    assert_that(statistics.factor_seconds >= 0 && statistics.factor_seconds < 60, "factored for %g s",
                statistics.factor_seconds);
    assert_that(!direct || statistics.factorings >= 1, "%lld factorings", (long long)statistics.factorings);
    assert_that(direct || statistics.iterations >= 0, "%lld iterations", (long long)statistics.iterations);
    assert_that(statistics.bytes > 0, "%lld bytes", (long long)statistics.bytes);
}

static void check_case(instance *at, test_change change, route way, const test_family *family)
{
    double *kernel = NULL;
    at->context = test_context();
    at->model = family->make(at->context, &at->random);
    if (!supports(at->backend, at->model)) {
        nadir_model_free(at->model);
        nadir_context_free(at->context);
        return;
    }
    at->policy = test_policy(at->context, at->model, TEST_RANDOM, &at->random);
    at->kernel = test_kernel(at->context, at->model, change, at->gamma, &at->random, &kernel);
    make_operator(at, way);
    make_references(at, kernel);
    for (size_t i = 0; i < LENGTH(counts); i++) {
        check_products(at, false, counts[i], i == 0);
        check_products(at, true, counts[i], i == 1);
    }
    for (int i = 0; i < 2 * BEGINNINGS; i++) {
        check_improved(at, i % 2 != 0, (beginning)(i / 2));
    }
    check_identities(at);
    check_statistics(at);
    free(kernel);
    clear(at);
}

typedef struct column {
    const char *backend;
    test_change change;
    route way;
} column;

/* All families and discounts for one backend, kind of kernel and route. */
static void conforms(void **state)
{
    const column *test = *state;
    if (strncmp(test->backend, "device", 6) == 0 && getenv("NADIR_TEST_ENGINE") == NULL) {
        skip();
    }
    const size_t stride = test_memcheck() ? 7 : test_brief() ? 3 : 1;
    for (size_t i = 0; i < TEST_FAMILIES * LENGTH(gammas); i++) {
        const size_t family = i / LENGTH(gammas);
        const uint64_t seed = SEED + i;
        instance at = {.backend = test->backend, .gamma = gammas[i % LENGTH(gammas)]};
        if (i % stride != ((size_t)test->change + (size_t)test->way) % stride) {
            continue;
        }
        test_note("backend %s, %s kernel %s, family %s, gamma %g, seed %llu", test->backend,
                  test_change_names[test->change], route_names[test->way], test_families[family].name,
                  at.gamma, (unsigned long long)seed);
        nadir_random_seed(&at.random, seed);
        check_case(&at, test->change, test->way, &test_families[family]);
    }
    test_note_clear();
}

int main(void)
{
    enum { TESTS = LENGTH(backends) * TEST_CHANGES * LENGTH(route_names) };
    static column columns[TESTS];
    static char names[TESTS][80];
    static struct CMUnitTest tests[TESTS];
    for (size_t i = 0; i < TESTS; i++) {
        columns[i] = (column){
            .backend = backends[i / (TEST_CHANGES * LENGTH(route_names))],
            .change = (test_change)(i / LENGTH(route_names) % TEST_CHANGES),
            .way = (route)(i % LENGTH(route_names)),
        };
        (void)snprintf(names[i], sizeof names[i], "%s, %s kernel, %s", columns[i].backend,
                       test_change_names[columns[i].change], route_names[columns[i].way]);
        tests[i] = (struct CMUnitTest){.name = names[i], .test_func = conforms, .initial_state = &columns[i]};
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
