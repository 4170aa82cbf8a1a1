/*
 * test_occupancy_threads.c: products of a sparse model have the same bits with any number of threads, and
 * with a rank-one term too.
 */
#include "support/support.h"

#include "solve/occupancy.h"
#include "support/generated.h"
#include "support/reference.h"

#include <math.h>
#include <stdlib.h>

/* Long enough for each sum to be shared among threads. */
enum { STATES = 60000 };

/* x: [2 * STATES] D y and D^T y of a chain less a rank-one term. */
static void solve_with(int threads, const char *backend, double *x)
{
    nadir_context *context = test_context_threads(threads);
    nadir_generate_settings generate = test_generate_settings();
    generate.states = STATES;
    generate.discount = 0.5;
    nadir_model *model = test_generate(context, "riverswim", &generate);
    const int64_t rows = test_view(model).rows;
    double *b = test_new(rows, sizeof *b);
    double *k = test_new(STATES, sizeof *k);
    double *y = test_new(STATES, sizeof *y);
    for (int64_t row = 0; row < rows; row++) {
        b[row] = 1e-3 * sin((double)row);
    }
    for (int64_t s = 0; s < STATES; s++) {
        k[s] = cos((double)s);
        y[s] = sin(3 * (double)s);
    }
    nadir_kernel *kernels[2] = {NULL};
    nadir_occupancy *base = NULL;
    nadir_occupancy *perturbed = NULL;
    nadir_policy *policy = test_uniform_policy(context, model);
    assert_ok(context, nadir_kernel_create(context, model, &kernels[0]));
    assert_ok(context, nadir_kernel_create_rank_one(context, model, b, k, &kernels[1]));
    assert_ok(context, nadir_occupancy_create(context, kernels[0], policy, 0.5, backend, 0, &base));
    assert_ok(context, nadir_occupancy_perturb(context, base, kernels[1], policy, &perturbed));
    assert_ok(context, nadir_occupancy_solve(context, perturbed, 1, y, x, NULL));
    assert_ok(context, nadir_occupancy_solve_transposed(context, perturbed, 1, y, x + STATES, NULL));
    nadir_occupancy_free(context, perturbed);
    nadir_occupancy_free(context, base);
    nadir_kernel_free(kernels[1]);
    nadir_kernel_free(kernels[0]);
    nadir_policy_free(policy);
    nadir_model_free(model);
    free(b);
    free(k);
    free(y);
    nadir_context_free(context);
}

static void test_same_bits(void **state)
{
    (void)state;
    static const char *const backends[] = {"klu", "krylov"};
    double *one = test_new(2 * (int64_t)STATES, sizeof *one);
    double *many = test_new(2 * (int64_t)STATES, sizeof *many);
    for (int i = 0; i < 2; i++) {
        test_note("backend %s", backends[i]);
        solve_with(1, backends[i], one);
        solve_with(3, backends[i], many);
        assert_memory_equal(one, many, 2 * STATES * sizeof *one);
    }
    free(one);
    free(many);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_same_bits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
