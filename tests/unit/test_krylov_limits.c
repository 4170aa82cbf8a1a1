/* test_krylov_limits.c: what the matrix-free backend cannot do, and what it does then. */
#include "support/support.h"

#include "support/generated.h"
#include "support/krylov.h"
#include "support/reference.h"
#include "support/scarce.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const nadir_backend *const krylov = &nadir_backend_krylov;

/* What rounding does not allow is not promised, but x is as good as it gets. */
static void less_than_rounding_is_refused(void **state)
{
    (void)state;
    const double gamma = 0.99;
    nadir_context *context = test_context();
    test_krylov f;
    test_krylov_make(&f, context, test_shape_make(context, "garnet"), gamma, 1);
    for (int transposed = 0; transposed < 2; transposed++) {
        static const double goals[] = {0, 1e-300, 1e-20};
        for (size_t i = 0; i < sizeof goals / sizeof *goals; i++) {
            memset(f.x, 0, (size_t)f.states * sizeof *f.x);
            assert_fails(context, krylov->solve(context, f.self, transposed, 1, f.b, goals[i], f.x),
                         NADIR_ERROR_NOT_CONVERGED, "rounding allows");
            const double size = test_krylov_norm(transposed, f.states, f.x);
            assert_true(test_krylov_residual(&f, gamma, transposed, f.b, f.x) <= 8 * DBL_EPSILON * size);
        }
        /* the last bits are accepted as they come */
        const double size = test_krylov_norm(transposed, f.states, f.x);
        memset(f.x, 0, (size_t)f.states * sizeof *f.x);
        assert_ok(context, krylov->solve(context, f.self, transposed, 1, f.b, DBL_EPSILON * size / 2, f.x));
    }
    assert_true(test_krylov_products(&f) < 1000);
    test_krylov_clear(&f);
}

static void without_discount_rounding_is_exact(void **state)
{
    (void)state;
    nadir_context *context = test_context();
    test_krylov f;
    test_krylov_make(&f, context, test_shape_make(context, "garnet"), 0, 1);
    assert_ok(context, krylov->solve(context, f.self, false, 1, f.b, 0, f.x));
    assert_memory_equal(f.x, f.b, (size_t)f.states * sizeof *f.x);
    test_krylov_clear(&f);
}

static void sides_that_are_not_finite_are_refused(void **state)
{
    (void)state;
    static const double wrong[] = {NAN, INFINITY, -INFINITY};
    nadir_context *context = test_context();
    test_krylov f;
    test_krylov_make(&f, context, test_shape_make(context, "garnet"), 0.9, 3);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        f.b[f.states + 4] = wrong[i];
        memset(f.x, 0, (size_t)(3 * f.states) * sizeof *f.x);
        assert_fails(context, krylov->solve(context, f.self, i == 1, 3, f.b, 1e-10, f.x),
                     NADIR_ERROR_NOT_CONVERGED, "right-hand side 1 has entries that are not finite");
        /* the others are solved */
        if (i != 1) {
            test_krylov_assert_near(&f, "beside a side that is not finite", 0.9, false, f.b + 2 * f.states,
                                    f.x + 2 * f.states);
        }
    }
    test_krylov_clear(&f);
}

/* An average of any numbers, not only of probabilities: M = diagonal + shift, 3 x 3. */
typedef struct small {
    int64_t starts[4];
    int32_t columns[6];
    double values[6];
    nadir_average average;
} small;

static void make_small(small *made, double diagonal, double above)
{
    *made = (small){.starts = {0, 2, 4, 5}, .columns = {0, 1, 1, 2, 2}};
    const double values[] = {diagonal, above, diagonal, above, diagonal};
    memcpy(made->values, values, sizeof values);
    made->average = (nadir_average){.states = 3, .norm = fabs(diagonal) + fabs(above), .matrix = {.size = 3}};
    made->average.matrix.starts = made->starts;
    made->average.matrix.columns = made->columns;
    made->average.matrix.values = made->values;
}

static void without_contraction_it_still_tries(void **state)
{
    const double b[3] = {1, 2, 3};
    nadir_context *context = *state;
    small made;
    void *self = NULL;
    /* c = 2.7: A = 2.8 I - 0.9 shift is far from singular */
    make_small(&made, -2, 1);
    double x[3] = {0};
    assert_ok(context, krylov->setup(context, &made.average, 0.9, &self));
    assert_ok(context, krylov->solve(context, self, false, 1, b, 1e-12, x));
    assert_close(x[2], 3 / 2.8, 1e-11);
    assert_close(x[1], (2 + 0.9 * x[2]) / 2.8, 1e-11);
    assert_close(x[0], (1 + 0.9 * x[1]) / 2.8, 1e-11);
    krylov->destroy(context, self);
    nadir_entries_clear(context, &made.average.transpose);
}

static void a_singular_system_is_refused(void **state)
{
    (void)state;
    const double b[3] = {1, 2, 3};
    for (int transposed = 0; transposed < 2; transposed++) {
        nadir_context *context = test_context();
        small made;
        void *self = NULL;
        double x[3] = {0};
        make_small(&made, 2, 0.25); /* 1 - 0.5 * 2 = 0 on the diagonal */
        assert_ok(context, krylov->setup(context, &made.average, 0.5, &self));
        assert_fails(context, krylov->solve(context, self, transposed, 1, b, 1e-12, x),
                     NADIR_ERROR_NOT_CONVERGED, "stays at");
        krylov->destroy(context, self);
        nadir_entries_clear(context, &made.average.transpose);
        nadir_context_free(context);
    }
}

static int stop_at_once(void *user, const char *task, double share)
{
    int *calls = user;
    assert_string_equal(task, "solving");
    assert_true(share >= 0 && share <= 1);
    return ++*calls > 0;
}

static void it_can_be_interrupted(void **state)
{
    (void)state;
    int calls = 0;
    nadir_context *context = test_context_threads(0);
    test_krylov f;
    test_krylov_make(&f, context, test_shape_make(context, "river"), 0.999, 2);
    context->progress = stop_at_once;
    context->progress_user = &calls;
    assert_fails(context, krylov->solve(context, f.self, false, 2, f.b, 1e-12, f.x), NADIR_ERROR_INTERRUPTED,
                 "solving");
    assert_int_equal(calls, 1);
    context->progress = NULL;
    assert_ok(context, krylov->solve(context, f.self, false, 2, f.b, 1e-10, f.x));
    test_krylov_clear(&f);
}

static void memory_is_counted(void **state)
{
    (void)state;
    nadir_context *context = test_context();
    test_krylov f;
    test_krylov_make(&f, context, test_generate_states(context, "garnet", 1000), 0.9, 9);
    nadir_backend_statistics statistics;
    for (int64_t count = 1; count <= 9; count += 8) {
        const size_t others = nadir_context_memory(context);
        krylov->statistics(f.self, &statistics);
        const int64_t before = statistics.bytes;
        assert_ok(context, krylov->solve(context, f.self, count > 1, count, f.b, 1e-10, f.x));
        krylov->statistics(f.self, &statistics);
        const double taken = (double)(nadir_context_memory(context) - others);
        assert_close((double)(statistics.bytes - before) / taken, 1, 0.01);
    }
    test_krylov_clear(&f);
}

static void running_out_of_memory_leaks_nothing(void **state)
{
    (void)state;
    bool done = false;
    for (int64_t k = 0; !done; k++) {
        test_scarce scarce;
        nadir_context *context = test_scarce_context(&scarce);
        test_messages_clear();
        test_setting setting = test_setting_make(context, test_shape_make(context, "garnet"));
        const int64_t n = setting.average.states;
        double *b = test_krylov_sides(n, 2);
        double *x = test_new(2 * n, sizeof *x);
        void *self = NULL;
        scarce.left = k;
        nadir_status status = krylov->setup(context, &setting.average, 0.9, &self);
        for (int transposed = 0; transposed < 2 && status == NADIR_OK; transposed++) {
            status = krylov->solve(context, self, transposed, 1 + transposed, b, 1e-10, x);
        }
        assert_true(status == NADIR_OK || status == NADIR_ERROR_MEMORY);
        done = status == NADIR_OK;
        assert_true(done || k < 20);
        scarce.left = INT64_MAX;
        krylov->destroy(context, self);
        test_setting_clear(&setting);
        test_scarce_end(&scarce, context);
        free(b);
        free(x);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(less_than_rounding_is_refused),
        cmocka_unit_test(without_discount_rounding_is_exact),
        cmocka_unit_test(sides_that_are_not_finite_are_refused),
        test_with_context(without_contraction_it_still_tries),
        cmocka_unit_test(a_singular_system_is_refused),
        cmocka_unit_test(it_can_be_interrupted),
        cmocka_unit_test(memory_is_counted),
        cmocka_unit_test(running_out_of_memory_leaks_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
