/*
 * test_occupancy_wrong.c: requests to the occupancy operator that have no answer, or ask for one at the edge
 * of what doubles can hold. A singular or non-finite system never gets out as a number.
 */
#include "support/support.h"

#include "occupancy/occupancy.h"
#include "support/families.h"
#include "support/generated.h"
#include "support/reference.h"
#include "support/scarce.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SEED   2718
#define DENSE  0 /* places in test_families */
#define GARNET 1
#define CHAIN  2

static const char *const backends[] = {"lapack", "klu", "krylov"};

#define LENGTH(array) (sizeof(array) / sizeof *(array))

typedef struct fixture {
    nadir_context *context;
    nadir_random random;
    nadir_model *model;
    nadir_kernel *kernel; /* nominal */
    nadir_policy *policy;
    int64_t states, rows;
    double *b; /* [states] random */
    double *x; /* [states] */
} fixture;

static fixture set_up_in(nadir_context *context, int family)
{
    fixture made = {.context = context};
    nadir_random_seed(&made.random, SEED);
    made.model = test_families[family].make(made.context, &made.random);
    made.kernel = test_kernel(made.context, made.model, TEST_NOMINAL, 0.9, &made.random, NULL);
    made.policy = test_policy(made.context, made.model, TEST_RANDOM, &made.random);
    made.states = test_view(made.model).states;
    made.rows = test_view(made.model).rows;
    made.b = test_new(made.states, sizeof *made.b);
    made.x = test_new(made.states, sizeof *made.x);
    for (int64_t s = 0; s < made.states; s++) {
        made.b[s] = nadir_random_normal(&made.random);
    }
    return made;
}

static fixture set_up(int family)
{
    return set_up_in(test_context(), family);
}

static void tear_down(fixture *made)
{
    free(made->b);
    free(made->x);
    nadir_policy_free(made->policy);
    nadir_kernel_free(made->kernel);
    nadir_model_free(made->model);
    nadir_context_free(made->context);
}

static bool takes(const char *backend, int family)
{
    const unsigned needed = family == DENSE ? NADIR_BACKEND_DENSE : NADIR_BACKEND_SPARSE;
    return (nadir_backend_find(backend)->capabilities & needed) != 0;
}

/* For each backend and storage that go together. */
static void for_each(void (*test)(const char *backend, int family))
{
    const int families[] = {DENSE, GARNET, CHAIN};
    for (size_t i = 0; i < LENGTH(backends) * LENGTH(families); i++) {
        const char *backend = backends[i / LENGTH(families)];
        const int family = families[i % LENGTH(families)];
        if (takes(backend, family)) {
            test_note("backend %s, family %s, seed %d", backend, test_families[family].name, SEED);
            test(backend, family);
        }
    }
    test_note_clear();
}

static void an_unknown_backend_is_refused(void **state)
{
    (void)state;
    fixture f = set_up(DENSE);
    nadir_occupancy *occupancy = NULL;
    assert_null(nadir_backend_find("superduper"));
    assert_fails(f.context,
                 nadir_occupancy_create(f.context, f.kernel, f.policy, 0.9, "superduper", 0, &occupancy),
                 NADIR_ERROR_ARGUMENT, "no backend 'superduper'; there are lapack, klu and krylov");
    assert_null(occupancy);
    tear_down(&f);
}

static void a_backend_that_cannot_take_the_kernel_is_refused(void **state)
{
    (void)state;
    int refused = 0;
    for (size_t i = 0; i < 2 * LENGTH(backends); i++) {
        const char *backend = backends[i / 2];
        const int family = i % 2 == 0 ? DENSE : GARNET;
        if (!takes(backend, family)) {
            fixture f = set_up(family);
            nadir_occupancy *occupancy = NULL;
            test_note("backend %s, family %s", backend, test_families[family].name);
            assert_fails(f.context,
                         nadir_occupancy_create(f.context, f.kernel, f.policy, 0.9, backend, 0, &occupancy),
                         NADIR_ERROR_UNSUPPORTED, family == DENSE ? "dense" : "sparse");
            assert_non_null(strstr(nadir_context_error(f.context), backend));
            assert_null(occupancy);
            tear_down(&f);
            refused++;
        }
    }
    test_note_clear();
    assert_true(refused > 0 && !takes("klu", DENSE));
}

static void a_discount_outside_its_range_is_refused(void **state)
{
    (void)state;
    const double wrong[] = {-0.1, 1, 1.5, NAN, INFINITY};
    fixture f = set_up(DENSE);
    for (size_t i = 0; i < LENGTH(wrong); i++) {
        nadir_occupancy *occupancy = NULL;
        assert_fails(f.context,
                     nadir_occupancy_create(f.context, f.kernel, f.policy, wrong[i], NULL, 0, &occupancy),
                     NADIR_ERROR_ILL_POSED, "discount");
        assert_null(occupancy);
    }
    tear_down(&f);
}

static void refuse_right_hand_sides(const char *backend, int family)
{
    const double wrong[] = {NAN, INFINITY, -INFINITY};
    fixture f = set_up(family);
    nadir_occupancy *occupancy = NULL;
    assert_ok(f.context, nadir_occupancy_create(f.context, f.kernel, f.policy, 0.9, backend, 0, &occupancy));
    for (size_t i = 0; i < LENGTH(wrong); i++) {
        const double kept = f.b[f.states / 2];
        f.b[f.states / 2] = wrong[i];
        assert_fails(f.context, nadir_occupancy_solve(f.context, occupancy, 1, f.b, f.x, NULL),
                     NADIR_ERROR_ARGUMENT, "right-hand side 0 is not finite");
        assert_fails(f.context, nadir_occupancy_solve_transposed(f.context, occupancy, 1, f.b, f.x, NULL),
                     NADIR_ERROR_ARGUMENT, "right-hand side 0 is not finite");
        f.b[f.states / 2] = kept;
    }
    assert_ok(f.context, nadir_occupancy_solve(f.context, occupancy, 1, f.b, f.x, NULL));
    nadir_occupancy_free(f.context, occupancy);
    tear_down(&f);
}

static void right_hand_sides_that_are_not_finite_are_refused(void **state)
{
    (void)state;
    for_each(refuse_right_hand_sides);
}

/* Right-hand sides of all scales in one call have the solutions of their unscaled selves. */
static void scale(const char *backend, int family)
{
    const double scales[] = {1, 1e150, 1e-150, 1e300, 1e-290, 0};
    fixture f = set_up(family);
    const int64_t n = f.states;
    nadir_occupancy *occupancy = NULL;
    double *b = test_new(n * (int64_t)LENGTH(scales), sizeof *b);
    nadir_accuracy accuracy;
    assert_ok(f.context, nadir_occupancy_create(f.context, f.kernel, f.policy, 0.99, backend, 0, &occupancy));
    for (int transposed = 0; transposed < 2; transposed++) {
        for (int64_t i = 0; i < n * (int64_t)LENGTH(scales); i++) {
            b[i] = f.b[i % n] * scales[i / n];
        }
        nadir_status (*solve)(nadir_context *, nadir_occupancy *, int64_t, const double *, double *,
                              nadir_accuracy *) =
            transposed ? nadir_occupancy_solve_transposed : nadir_occupancy_solve;
        assert_ok(f.context, solve(f.context, occupancy, (int64_t)LENGTH(scales), b, b, &accuracy));
        assert_that(isfinite(accuracy.error_bound), "the bound is %g", accuracy.error_bound);
        double size = 0;
        for (int64_t i = 0; i < n; i++) {
            size = fmax(size, fabs(b[i]));
        }
        for (int64_t i = 0; i < n * (int64_t)LENGTH(scales); i++) {
            const double expected = b[i % n] * scales[i / n];
            assert_that(fabs(b[i] - expected) <= 1e-10 * size * scales[i / n], "%g is %g at scale %g",
                        expected, b[i], scales[i / n]);
        }
        assert_ok(f.context, solve(f.context, occupancy, 1, b + 5 * n, f.x, &accuracy));
        assert_true(f.x[0] == 0 && accuracy.error_bound == 0);
        assert_ok(f.context, solve(f.context, occupancy, 0, b, b, &accuracy));
    }
    free(b);
    nadir_occupancy_free(f.context, occupancy);
    tear_down(&f);
}

static void the_scale_of_a_right_hand_side_does_not_matter(void **state)
{
    (void)state;
    for_each(scale);
}

/* Neither creating nor solving lets a number out; whichever fails says so in words. */
static void assert_no_number(fixture *f, const char *backend, double gamma, const nadir_kernel *kernel)
{
    nadir_occupancy *occupancy = NULL;
    nadir_status status =
        nadir_occupancy_create(f->context, kernel, f->policy, gamma, backend, 0, &occupancy);
    if (status == NADIR_OK) {
        status = nadir_occupancy_solve(f->context, occupancy, 1, f->b, f->x, NULL);
        const nadir_status transposed =
            nadir_occupancy_solve_transposed(f->context, occupancy, 1, f->b, f->x, NULL);
        status = transposed == NADIR_OK ? transposed : status;
    }
    assert_that(status == NADIR_ERROR_ILL_POSED || status == NADIR_ERROR_NOT_CONVERGED,
                "a number got out: %s, x[0] = %g", nadir_status_name(status), f->x[0]);
    assert_true(strlen(nadir_context_error(f->context)) > 20);
    nadir_occupancy_free(f->context, occupancy);
    /* and through the nominal operator */
    occupancy = NULL;
    nadir_occupancy *base = NULL;
    assert_ok(f->context, nadir_occupancy_create(f->context, f->kernel, f->policy, gamma, backend, 0, &base));
    status = nadir_occupancy_perturb(f->context, base, kernel, f->policy, &occupancy);
    if (status == NADIR_OK) {
        status = nadir_occupancy_solve(f->context, occupancy, 1, f->b, f->x, NULL);
    }
    assert_that(status == NADIR_ERROR_ILL_POSED || status == NADIR_ERROR_NOT_CONVERGED,
                "a number got out of the perturbed operator: %s, x[0] = %g", nadir_status_name(status),
                f->x[0]);
    nadir_occupancy_free(f->context, occupancy);
    nadir_occupancy_free(f->context, base);
}

/* All rows of a state replaced by this one, [states]. */
static nadir_kernel *with_state(fixture *f, int64_t state, const double *row)
{
    const nadir_model_data view = test_view(f->model);
    const int64_t actions = view.state_rows[state + 1] - view.state_rows[state];
    int64_t *rows = test_new(actions, sizeof *rows);
    int64_t *starts = test_new(actions + 1, sizeof *starts);
    int32_t *columns = test_new(actions * f->states, sizeof *columns);
    double *values = test_new(actions * f->states, sizeof *values);
    int64_t to = 0;
    for (int64_t a = 0; a < actions; a++) {
        rows[a] = view.state_rows[state] + a;
        for (int64_t t = 0; t < f->states; t++) {
            if (row[t] != 0) {
                columns[to] = (int32_t)t;
                values[to++] = row[t];
            }
        }
        starts[a + 1] = to;
    }
    const nadir_changed_rows changed = {actions, rows, starts, columns, values};
    nadir_kernel *kernel = NULL;
    assert_ok(f->context, nadir_kernel_create_changed(f->context, f->model, &changed, &kernel));
    free(rows);
    free(starts);
    free(columns);
    free(values);
    return kernel;
}

/* gamma = 1/2 and P(s, s) = 2: a row of zeros, exactly. */
static void make_a_row_zero(const char *backend, int family)
{
    fixture f = set_up(family);
    double *row = test_new(f.states, sizeof *row);
    row[3] = 2;
    nadir_kernel *kernel = with_state(&f, 3, row);
    assert_no_number(&f, backend, 0.5, kernel);
    nadir_kernel_free(kernel);
    free(row);
    tear_down(&f);
}

static void an_exactly_singular_system_is_no_number(void **state)
{
    (void)state;
    for_each(make_a_row_zero);
}

/* Row 3 of I - gamma P the sum of rows 4 and 5, up to rounding: P3 = (e3 - e4 - e5)/gamma + P4 + P5. */
static void make_rows_dependent(const char *backend, int family)
{
    const double gamma = 0.9;
    fixture f = set_up(family);
    double *dense = test_dense_kernel(f.model);
    long double *average = test_dense_average(f.model, dense, nadir_policy_probabilities(f.policy));
    double *row = test_new(f.states, sizeof *row);
    for (int64_t t = 0; t < f.states; t++) {
        row[t] = (double)((((t == 3) - (t == 4) - (t == 5)) / (long double)gamma) +
                          average[4 * f.states + t] + average[5 * f.states + t]);
    }
    nadir_kernel *kernel = with_state(&f, 3, row);
    assert_no_number(&f, backend, gamma, kernel);
    nadir_kernel_free(kernel);
    free(row);
    free(average);
    free(dense);
    tear_down(&f);
}

static void a_system_singular_to_rounding_is_no_number(void **state)
{
    (void)state;
    for_each(make_rows_dependent);
}

/* Entries so large that products overflow. */
static void overflow(const char *backend, int family)
{
    fixture f = set_up(family);
    double *row = test_new(f.states, sizeof *row);
    for (int64_t t = 0; t < f.states; t++) {
        row[t] = t % 2 == 0 ? 1.7e308 : -1.7e308;
    }
    nadir_kernel *kernel = with_state(&f, 2, row);
    nadir_occupancy *occupancy = NULL;
    nadir_status status = nadir_occupancy_create(f.context, kernel, f.policy, 0.9, backend, 0, &occupancy);
    if (status == NADIR_OK) {
        status = nadir_occupancy_solve(f.context, occupancy, 1, f.b, f.x, NULL);
    }
    for (int64_t s = 0; s < f.states && status == NADIR_OK; s++) {
        assert_that(isfinite(f.x[s]), "entry %lld is %g", (long long)s, f.x[s]);
    }
    assert_that(status == NADIR_OK || status == NADIR_ERROR_ILL_POSED || status == NADIR_ERROR_NOT_CONVERGED,
                "%s", nadir_status_name(status));
    nadir_occupancy_free(f.context, occupancy);
    nadir_kernel_free(kernel);
    free(row);
    tear_down(&f);
}

static void a_system_that_overflows_is_no_number(void **state)
{
    (void)state;
    for_each(overflow);
}

/* b and k with 1 + gamma k.Db = rest, k of sum zero; [rows] and [states]. */
static void near_breakdown(fixture *f, double gamma, double rest, double *b, double *k)
{
    const nadir_model_data view = test_view(f->model);
    const double *policy = nadir_policy_probabilities(f->policy);
    double *dense = test_dense_kernel(f->model);
    long double *average = test_dense_average(f->model, dense, policy);
    test_system system = test_system_make(f->states, average, gamma);
    double *mean = test_new(f->states, sizeof *mean);
    long double *z = test_new(f->states, sizeof *z);
    long double dot = 0;
    k[0] = 1;
    k[f->states - 1] = -1;
    for (int64_t s = 0; s < f->states; s++) {
        const double size = 0.1 + nadir_random_uniform(&f->random) + (s < f->states / 2);
        for (int64_t row = view.state_rows[s]; row < view.state_rows[s + 1]; row++) {
            b[row] = size;
            mean[s] += policy[row] * size;
        }
    }
    test_system_solve(&system, false, mean, z);
    for (int64_t s = 0; s < f->states; s++) {
        dot += k[s] * z[s];
    }
    for (int64_t row = 0; row < f->rows; row++) {
        b[row] = (double)(b[row] * (rest - 1) / (gamma * dot));
    }
    free(dense);
    free(average);
    free(mean);
    free(z);
    test_system_clear(&system);
}

static void break_down(const char *backend, int family)
{
    const double gamma = 0.9;
    fixture f = set_up(family);
    double *b = test_new(f.rows, sizeof *b);
    double *k = test_new(f.states, sizeof *k);
    nadir_kernel *kernel = NULL;
    near_breakdown(&f, gamma, 0, b, k);
    assert_ok(f.context, nadir_kernel_create_rank_one(f.context, f.model, b, k, &kernel));
    assert_no_number(&f, backend, gamma, kernel);
    nadir_kernel_free(kernel);
    free(b);
    free(k);
    tear_down(&f);
}

static void a_denominator_of_zero_is_no_number(void **state)
{
    (void)state;
    for_each(break_down);
}

/* Close to breakdown a number may come out if it is right. */
static void come_close(const char *backend, int family)
{
    const double gamma = 0.9;
    for (double rest = 1e-1; rest > 1e-17; rest /= 10) {
        fixture f = set_up(family);
        double *b = test_new(f.rows, sizeof *b);
        double *k = test_new(f.states, sizeof *k);
        nadir_kernel *kernel = NULL;
        nadir_occupancy *occupancy = NULL;
        near_breakdown(&f, gamma, rest, b, k);
        assert_ok(f.context, nadir_kernel_create_rank_one(f.context, f.model, b, k, &kernel));
        nadir_status status =
            nadir_occupancy_create(f.context, kernel, f.policy, gamma, backend, 0, &occupancy);
        if (status == NADIR_OK) {
            status = nadir_occupancy_solve(f.context, occupancy, 1, f.b, f.x, NULL);
        }
        assert_that(status == NADIR_OK || status == NADIR_ERROR_ILL_POSED ||
                        (status == NADIR_ERROR_NOT_CONVERGED && rest < 1e-6),
                    "denominator %g: %s: %s", rest, nadir_status_name(status),
                    nadir_context_error(f.context));
        assert_that(status == NADIR_OK || rest < 1e-10, "refused already at a denominator of %g", rest);
        if (status == NADIR_OK) {
            long double *average = test_average_numbers(nadir_occupancy_average(occupancy));
            test_system system = test_system_make(f.states, average, gamma);
            long double *exact = test_new(f.states, sizeof *exact);
            test_system_solve(&system, false, f.b, exact);
            double scale = 0;
            double error = 0;
            for (int64_t s = 0; s < f.states; s++) {
                scale = fmax(scale, (double)fabsl(exact[s]));
                error = fmax(error, (double)fabsl(f.x[s] - exact[s]));
            }
            assert_that(error <= 1e-14 * scale / rest, "denominator %g: off by %g at a scale of %g", rest,
                        error, scale);
            test_system_clear(&system);
            free(average);
            free(exact);
        }
        nadir_occupancy_free(f.context, occupancy);
        nadir_kernel_free(kernel);
        free(b);
        free(k);
        tear_down(&f);
    }
}

static void a_tiny_denominator_is_right_or_refused(void **state)
{
    (void)state;
    for_each(come_close);
}

static void a_perturbed_operator_is_no_base(void **state)
{
    (void)state;
    fixture f = set_up(GARNET);
    nadir_occupancy *base = NULL;
    nadir_occupancy *first = NULL;
    nadir_occupancy *second = NULL;
    nadir_kernel *kernel = test_kernel(f.context, f.model, TEST_RANK_ONE, 0.9, &f.random, NULL);
    assert_ok(f.context, nadir_occupancy_create(f.context, f.kernel, f.policy, 0.9, NULL, 0, &base));
    assert_ok(f.context, nadir_occupancy_perturb(f.context, base, kernel, f.policy, &first));
    assert_fails(f.context, nadir_occupancy_perturb(f.context, first, kernel, f.policy, &second),
                 NADIR_ERROR_UNSUPPORTED, "base of a perturbed operator");
    assert_fails(f.context, nadir_occupancy_update(f.context, first, kernel, f.policy),
                 NADIR_ERROR_UNSUPPORTED, "perturbed operator cannot be updated");
    assert_null(second);
    nadir_occupancy_free(f.context, first);
    nadir_occupancy_free(f.context, base);
    nadir_occupancy_free(f.context, NULL);
    nadir_kernel_free(kernel);
    tear_down(&f);
}

/* An update that fails leaves an operator that says so, or works; a later update can mend it. */
static void fail_an_update(const char *backend, int family)
{
    fixture f = set_up(family);
    double *row = test_new(f.states, sizeof *row);
    row[3] = 2;
    nadir_kernel *singular = with_state(&f, 3, row);
    nadir_occupancy *occupancy = NULL;
    assert_ok(f.context, nadir_occupancy_create(f.context, f.kernel, f.policy, 0.5, backend, 0, &occupancy));
    assert_ok(f.context, nadir_occupancy_solve(f.context, occupancy, 1, f.b, f.x, NULL));
    const double expected = f.x[0];
    for (int i = 0; i < 2; i++) {
        nadir_status status = nadir_occupancy_update(f.context, occupancy, singular, f.policy);
        if (status == NADIR_OK) {
            status = nadir_occupancy_solve(f.context, occupancy, 1, f.b, f.x, NULL);
        } else {
            assert_that(nadir_occupancy_solve(f.context, occupancy, 1, f.b, f.x, NULL) != NADIR_OK,
                        "a number got out after an update that failed");
        }
        assert_that(status == NADIR_ERROR_ILL_POSED || status == NADIR_ERROR_NOT_CONVERGED, "%s",
                    nadir_status_name(status));
        assert_ok(f.context, nadir_occupancy_update(f.context, occupancy, f.kernel, f.policy));
        assert_ok(f.context, nadir_occupancy_solve(f.context, occupancy, 1, f.b, f.x, NULL));
        assert_close(f.x[0], expected, 1e-12);
    }
    nadir_occupancy_free(f.context, occupancy);
    nadir_kernel_free(singular);
    free(row);
    tear_down(&f);
}

static void an_update_that_failed_can_be_mended(void **state)
{
    (void)state;
    for_each(fail_an_update);
}

/* Everything once: create, solve both ways, perturb, update. */
static nadir_status use_everything(fixture *f, const char *backend, const nadir_kernel *kernel,
                                   const nadir_policy *other)
{
    nadir_context *context = f->context;
    nadir_occupancy *base = NULL;
    nadir_occupancy *near = NULL;
    nadir_status status = NADIR_OK;
    NADIR_CHECK(nadir_occupancy_create(context, f->kernel, f->policy, 0.9, backend, 0, &base));
    NADIR_CHECK(nadir_occupancy_solve(context, base, 1, f->b, f->x, NULL));
    NADIR_CHECK(nadir_occupancy_perturb(context, base, kernel, f->policy, &near));
    NADIR_CHECK(nadir_occupancy_solve(context, near, 1, f->b, f->x, NULL));
    NADIR_CHECK(nadir_occupancy_solve_transposed(context, near, 1, f->x, f->x, NULL));
    nadir_occupancy_free(context, near);
    near = NULL;
    status = nadir_occupancy_update(context, base, kernel, other);
    if (status != NADIR_OK) {
        assert_that(nadir_occupancy_solve(context, base, 1, f->b, f->x, NULL) != NADIR_OK,
                    "a number got out after an update without memory");
        goto cleanup;
    }
    NADIR_CHECK(nadir_occupancy_solve_transposed(context, base, 1, f->b, f->x, NULL));
cleanup:
    nadir_occupancy_free(context, near);
    nadir_occupancy_free(context, base);
    return status;
}

static void starve(const char *backend, int family)
{
    for (int change = TEST_RANK_ONE; change <= TEST_ALL_ROWS; change += 3) {
        test_scarce scarce;
        fixture f = set_up_in(test_scarce_context(&scarce), family);
        nadir_kernel *kernel = test_kernel(f.context, f.model, (test_change)change, 0.9, &f.random, NULL);
        nadir_policy *other = test_policy(f.context, f.model, TEST_RANDOM, &f.random);
        const int64_t blocks = scarce.blocks;
        nadir_status status = NADIR_ERROR_MEMORY;
        for (int64_t allowed = 0; status != NADIR_OK; allowed++) {
            scarce.left = allowed;
            status = use_everything(&f, backend, kernel, other);
            assert_that(status == NADIR_OK || status == NADIR_ERROR_MEMORY, "%s after %lld allocations: %s",
                        nadir_status_name(status), (long long)allowed, nadir_context_error(f.context));
            assert_that(scarce.blocks == blocks, "%lld blocks leaked after %lld allocations",
                        (long long)(scarce.blocks - blocks), (long long)allowed);
        }
        nadir_kernel_free(kernel);
        nadir_policy_free(other);
        tear_down(&f);
        assert_true(scarce.blocks == 0);
    }
}

static void memory_that_runs_out_is_said(void **state)
{
    (void)state;
    for_each(starve);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_unknown_backend_is_refused),
        cmocka_unit_test(a_backend_that_cannot_take_the_kernel_is_refused),
        cmocka_unit_test(a_discount_outside_its_range_is_refused),
        cmocka_unit_test(right_hand_sides_that_are_not_finite_are_refused),
        cmocka_unit_test(the_scale_of_a_right_hand_side_does_not_matter),
        cmocka_unit_test(an_exactly_singular_system_is_no_number),
        cmocka_unit_test(a_system_singular_to_rounding_is_no_number),
        cmocka_unit_test(a_system_that_overflows_is_no_number),
        cmocka_unit_test(a_denominator_of_zero_is_no_number),
        cmocka_unit_test(a_tiny_denominator_is_right_or_refused),
        cmocka_unit_test(a_perturbed_operator_is_no_base),
        cmocka_unit_test(an_update_that_failed_can_be_mended),
        cmocka_unit_test(memory_that_runs_out_is_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
