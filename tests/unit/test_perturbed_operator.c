/*
 * test_perturbed_operator.c: how the occupancy operator takes kernels with lines: refilled again and again,
 * with many threads, with lines too long to be written out.
 */
#include "support/support.h"

#include "solve/occupancy.h"
#include "support/families.h"
#include "support/generated.h"
#include "support/perturbed.h"
#include "support/reference.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SEED  60217
#define GAMMA 0.9

/* x = D b and D^T b through `occupancy` against elimination: 1e-10 of the largest entry. */
static void check_solves(test_perturbed *f, nadir_occupancy *occupancy)
{
    const int64_t n = f->view.states;
    double *b = test_new(n, sizeof *b);
    double *x = test_new(n, sizeof *x);
    long double *exact = test_new(n, sizeof *exact);
    long double *average = test_dense_average(f->model, f->dense, nadir_policy_probabilities(f->policy));
    test_system system = test_system_make(n, average, GAMMA);
    for (int64_t s = 0; s < n; s++) {
        b[s] = nadir_random_normal(&f->random);
    }
    for (int transposed = 0; transposed < 2; transposed++) {
        nadir_accuracy accuracy;
        assert_ok(f->context,
                  transposed ? nadir_occupancy_solve_transposed(f->context, occupancy, 1, b, x, &accuracy)
                             : nadir_occupancy_solve(f->context, occupancy, 1, b, x, &accuracy));
        test_system_solve(&system, transposed, b, exact);
        double scale = 0;
        double error = 0;
        for (int64_t s = 0; s < n; s++) {
            scale = fmax(scale, (double)fabsl(exact[s]));
            error = fmax(error, (double)fabsl(x[s] - exact[s]));
        }
        assert_that(error <= 1e-10 * scale, "off by %g at a scale of %g", error, scale);
    }
    test_system_clear(&system);
    free(average);
    free(exact);
    free(b);
    free(x);
}

/* A perturbed kernel filled again and again, each time with an operator through the same nominal one. */
static void refill(const char *backend, int family)
{
    test_perturbed f = test_perturbed_make(test_context(), family, false, SEED);
    nadir_kernel *nominal = NULL;
    nadir_occupancy *base = NULL;
    nadir_occupancy *updated = NULL;
    assert_ok(f.context, nadir_kernel_create(f.context, f.model, &nominal));
    assert_ok(f.context, nadir_occupancy_create(f.context, nominal, f.policy, GAMMA, backend, 0, &base));
    assert_ok(f.context, nadir_occupancy_create(f.context, nominal, f.policy, GAMMA, backend, 0, &updated));
    for (int round = 0; round < test_often(5); round++) {
        nadir_occupancy *near = NULL;
        test_perturbed_fill(f.model, false, &f.random, nadir_kernel_perturbed(f.kernel));
        free(f.dense);
        f.dense = test_perturbed_numbers(f.model, nadir_kernel_perturbed(f.kernel));
        assert_ok(f.context, nadir_occupancy_perturb(f.context, base, f.kernel, f.policy, &near));
        check_solves(&f, near);
        nadir_occupancy_free(f.context, near);
        assert_ok(f.context, nadir_occupancy_update(f.context, updated, f.kernel, f.policy));
        check_solves(&f, updated);
    }
    /* and back */
    assert_ok(f.context, nadir_occupancy_update(f.context, updated, nominal, f.policy));
    free(f.dense);
    f.dense = test_dense_kernel(f.model);
    check_solves(&f, updated);
    check_solves(&f, base);
    nadir_occupancy_free(f.context, base);
    nadir_occupancy_free(f.context, updated);
    nadir_kernel_free(nominal);
    test_perturbed_clear(&f);
}

static void a_perturbed_kernel_can_be_filled_again_and_again(void **state)
{
    (void)state;
    static const char *const backends[] = {"lapack", "klu", "krylov", NULL};
    for (int family = 0; family < TEST_FAMILIES; family++) {
        for (size_t i = 0; i < sizeof backends / sizeof *backends; i++) {
            const bool dense = family == 0 || family == TEST_FAMILIES - 1;
            if (dense && backends[i] != NULL && strcmp(backends[i], "klu") == 0) {
                continue;
            }
            test_note("%s, %s, seed %d", test_families[family].name,
                      backends[i] != NULL ? backends[i] : "auto", SEED);
            refill(backends[i], family);
        }
    }
    test_note_clear();
}

static nadir_context *context_with(int32_t threads, size_t memory)
{
    nadir_context_settings settings;
    nadir_context_settings_default(&settings);
    settings.threads = threads;
    settings.memory_limit = memory;
    nadir_context *context = NULL;
    assert_int_equal(nadir_context_create(&settings, &context), NADIR_OK);
    return context;
}

/* A garnet perturbed by lines of these lengths: `length` in every row, or any if it is negative; 0.2 of each
 * row moves there. */
static nadir_kernel *perturbed_garnet(nadir_context *context, int64_t states, int64_t length,
                                      nadir_model **model)
{
    nadir_generate_settings shape = test_generate_settings();
    shape.states = states;
    shape.actions = 2;
    shape.branch = 4;
    shape.seed = SEED;
    *model = test_generate(context, "garnet", &shape);
    const nadir_model_data view = test_view(*model);
    nadir_kernel *kernel = NULL;
    nadir_random random = test_random(SEED);
    assert_ok(context, test_perturbed_create(context, *model, true, &kernel));
    nadir_perturbed *perturbed = nadir_kernel_perturbed(kernel);
    for (int64_t i = 0; i < states; i++) {
        perturbed->order[i] = (int32_t)((i * 7919 + 5) % states);
        perturbed->x[perturbed->order[i]] = floor((double)i / 3); /* ties */
    }
    for (int64_t i = 0; i < view.nonzeros; i++) {
        perturbed->values[i] *= 0.8;
    }
    for (int64_t row = 0; row < view.rows; row++) {
        const int64_t any = 1 + (int64_t)nadir_random_below(&random, (uint64_t)states);
        perturbed->length[row] = (int32_t)(length < 0 ? any : length);
        perturbed->omega[row] =
            0.2 / perturbed->length[row]; /* roughly: entries on the line get nothing of it */
        perturbed->slope[row] = perturbed->omega[row] / (2 * (double)states);
    }
    return kernel;
}

/* Products of rows, of the average and of the operator: [rows + 4 * states]. */
static double *products(int64_t states, int32_t threads)
{
    nadir_context *context = context_with(threads, 0);
    nadir_model *model = NULL;
    nadir_kernel *kernel = perturbed_garnet(context, states, -1, &model);
    const int64_t rows = test_view(model).rows;
    nadir_occupancy *occupancy = NULL;
    nadir_policy *policy = test_uniform_policy(context, model);
    assert_ok(context, nadir_occupancy_create(context, kernel, policy, 0.5, "krylov", 0, &occupancy));
    nadir_average *average = nadir_occupancy_average(occupancy);
    double *x = test_new(states, sizeof *x);
    double *y = test_new(rows + 4 * states, sizeof *y);
    for (int64_t s = 0; s < states; s++) {
        x[s] = sin((double)s);
    }
    double *to = y + rows;
    nadir_kernel_multiply(context, kernel, x, y);
    nadir_average_multiply(context, average, 1, x, to);
    assert_ok(context, nadir_average_multiply_transposed(context, average, 1, x, to + states));
    assert_ok(context, nadir_occupancy_solve(context, occupancy, 1, x, to + 2 * states, NULL));
    assert_ok(context, nadir_occupancy_solve_transposed(context, occupancy, 1, x, to + 3 * states, NULL));
    free(x);
    nadir_occupancy_free(context, occupancy);
    nadir_policy_free(policy);
    nadir_kernel_free(kernel);
    nadir_model_free(model);
    nadir_context_free(context);
    return y;
}

static void threads_give_the_same_bits(void **state)
{
    (void)state;
    enum { STATES = 60000 };
    double *one = products(STATES, 1);
    double *two = products(STATES, 2);
    double *many = products(STATES, 7);
    assert_memory_equal(one, two, (2 + 4) * STATES * sizeof *one);
    assert_memory_equal(one, many, (2 + 4) * STATES * sizeof *one);
    free(one);
    free(two);
    free(many);
}

/* The name of the backend that an operator of lines of this length gets, within this memory. */
static const char *chosen(int64_t states, int64_t length, const char *backend, size_t memory, bool *has_lines)
{
    nadir_context *context = context_with(1, memory);
    nadir_model *model = NULL;
    nadir_kernel *kernel = perturbed_garnet(context, states, length, &model);
    nadir_occupancy *occupancy = NULL;
    nadir_policy *policy = test_uniform_policy(context, model);
    assert_ok(context, nadir_occupancy_create(context, kernel, policy, 0.9, backend, 0, &occupancy));
    const char *name = nadir_occupancy_backend(occupancy);
    *has_lines = nadir_occupancy_average(occupancy)->tail.states > 0;
    if (backend == NULL && *has_lines) { /* the choice is made anew for a kernel without lines */
        nadir_kernel *nominal = NULL;
        assert_ok(context, nadir_kernel_create(context, model, &nominal));
        assert_ok(context, nadir_occupancy_update(context, occupancy, nominal, policy));
        assert_true(states > 1000 || strcmp(nadir_occupancy_backend(occupancy), "krylov") != 0);
        nadir_kernel_free(nominal);
    }
    nadir_occupancy_free(context, occupancy);
    nadir_policy_free(policy);
    nadir_kernel_free(kernel);
    nadir_model_free(model);
    nadir_context_free(context);
    return name;
}

static void lines_are_written_out_when_short_or_asked_for(void **state)
{
    (void)state;
    bool lines = false;
    assert_string_not_equal(chosen(300, 5, NULL, 0, &lines), "krylov");
    assert_false(lines);
    assert_string_equal(chosen(300, 300, NULL, 0, &lines), "krylov");
    assert_true(lines);
    assert_string_equal(chosen(300, 300, "lapack", 0, &lines), "lapack");
    assert_false(lines);
    assert_string_equal(chosen(300, 300, "klu", 0, &lines), "klu");
    assert_false(lines);
    assert_string_equal(chosen(300, 5, "krylov", 0, &lines), "krylov");
    assert_true(lines);
    /* 20000 states: their matrix would take 3.2 GB */
    assert_string_equal(chosen(20000, 20000, NULL, (size_t)64 << 20, &lines), "krylov");
    assert_true(lines);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_perturbed_kernel_can_be_filled_again_and_again),
        cmocka_unit_test(threads_give_the_same_bits),
        cmocka_unit_test(lines_are_written_out_when_short_or_asked_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
