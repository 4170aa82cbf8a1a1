/* test_average.c: kernels averaged over policies, against the definition. */
#include "support/support.h"

#include "model/average.h"
#include "support/families.h"
#include "support/generated.h"
#include "support/perturbed.h"
#include "support/reference.h"

#include <math.h>
#include <stdlib.h>

#define SEED  7741
#define GAMMA 0.9

static void check_products(nadir_context *context, nadir_average *average, const long double *expected,
                           int64_t count, nadir_random *random)
{
    const int64_t n = average->states;
    double *x = test_new(n * count, sizeof *x);
    double *y = test_new(n * count, sizeof *y);
    double *z = test_new(n * count, sizeof *z);
    for (int64_t i = 0; i < n * count; i++) {
        x[i] = nadir_random_normal(random);
        y[i] = NAN;
        z[i] = NAN;
    }
    nadir_average_multiply(context, average, count, x, y);
    assert_ok(context, nadir_average_multiply_transposed(context, average, count, x, z));
    for (int64_t i = 0; i < n * count; i++) {
        long double plain = 0;
        long double transposed = 0;
        for (int64_t t = 0; t < n; t++) {
            plain += expected[i % n * n + t] * x[i / n * n + t];
            transposed += expected[t * n + i % n] * x[i / n * n + t];
        }
        assert_close(y[i], (double)plain, 1e-13);
        assert_close(z[i], (double)transposed, 1e-13);
    }
    free(x);
    free(y);
    free(z);
}

/* Entries, norm and products of an average of this kernel [rows * states]. */
static void check_average(nadir_context *context, nadir_average *average, const nadir_model *model,
                          const double *kernel, const nadir_policy *policy, nadir_random *random)
{
    const int64_t n = average->states;
    long double *expected = test_dense_average(model, kernel, nadir_policy_probabilities(policy));
    long double *found = test_average_numbers(average);
    double norm = 0;
    for (int64_t s = 0; s < n; s++) {
        double sum = 0;
        for (int64_t t = 0; t < n; t++) {
            assert_close((double)found[s * n + t], (double)expected[s * n + t], 1e-15);
            sum += (double)fabsl(expected[s * n + t]);
        }
        norm = fmax(norm, sum);
    }
    /* lines may be longer than what is left of them once the entries that lie on them are taken off */
    assert_close(average->norm, norm, average->tail.states > 0 ? 1e-13 : 1e-14);
    check_products(context, average, expected, 1, random);
    const double roundings = nadir_average_roundings(context, average, true);
    nadir_average_forget_transpose(context, average);
    assert_true(nadir_average_roundings(context, average, true) == roundings);
    check_products(context, average, expected, 5, random);
    free(expected);
    free(found);
}

static void averages_are_those_of_the_definition(void **state)
{
    (void)state;
    for (int i = 0; i < TEST_FAMILIES * TEST_CHANGES * TEST_CHOICES; i++) {
        const test_family *family = &test_families[i / (TEST_CHANGES * TEST_CHOICES)];
        const test_change change = (test_change)(i / TEST_CHOICES % TEST_CHANGES);
        const test_choice choice = (test_choice)(i % TEST_CHOICES);
        test_note("%s, %s, %s policy, seed %d", family->name, test_change_names[change],
                  test_choice_names[choice], SEED + i);
        nadir_context *context = test_context();
        nadir_random random = test_random((uint64_t)(SEED + i));
        nadir_model *model = family->make(context, &random);
        double *dense = NULL;
        nadir_kernel *kernel = test_kernel(context, model, change, GAMMA, &random, &dense);
        nadir_policy *policy = test_policy(context, model, choice, &random);
        nadir_average average = {0};
        assert_ok(context, nadir_average_make(context, kernel, policy, &average));
        check_average(context, &average, model, dense, policy, &random);
        nadir_average_clear(context, &average);
        assert_null(average.matrix.dense);
        assert_null(average.matrix.starts);
        nadir_average_clear(context, &average);
        nadir_policy_free(policy);
        nadir_kernel_free(kernel);
        free(dense);
        nadir_model_free(model);
        nadir_context_free(context);
    }
    test_note_clear();
}

/* One average remade for a long random walk over kernels and policies of a model. */
static void walk(const test_family *family, uint64_t seed)
{
    nadir_context *context = test_context();
    nadir_random random = test_random(seed);
    nadir_model *model = family->make(context, &random);
    double *dense = NULL;
    nadir_kernel *kernel = test_kernel(context, model, TEST_NOMINAL, GAMMA, &random, &dense);
    nadir_policy *policy = test_policy(context, model, TEST_RANDOM, &random);
    nadir_average average = {0};
    assert_ok(context, nadir_average_make(context, kernel, policy, &average));
    for (int step = 0; step < 30; step++) {
        if (step % 2 == 0) {
            nadir_kernel_free(kernel);
            free(dense);
            const test_change change = (test_change)nadir_random_below(&random, TEST_CHANGES);
            kernel = test_kernel(context, model, change, GAMMA, &random, &dense);
        }
        nadir_policy *next = step % 3 == 0 ? test_policy_same_support(context, model, policy, &random)
                                           : test_policy(context, model, TEST_RANDOM, &random);
        nadir_policy_free(policy);
        policy = next;
        const nadir_matrix before = average.matrix;
        bool same_pattern = false;
        assert_ok(context, nadir_average_remake(context, kernel, policy, &average, &same_pattern));
        if (same_pattern) {
            assert_ptr_equal(before.dense, average.matrix.dense);
            assert_ptr_equal(before.starts, average.matrix.starts);
            assert_ptr_equal(before.columns, average.matrix.columns);
        } else {
            assert_true(average.matrix.dense == NULL || context->device != NULL);
        }
        check_average(context, &average, model, dense, policy, &random);
    }
    nadir_average_clear(context, &average);
    nadir_policy_free(policy);
    nadir_kernel_free(kernel);
    free(dense);
    nadir_model_free(model);
    nadir_context_free(context);
}

static void an_average_can_be_remade_for_any_kernel_and_policy(void **state)
{
    (void)state;
    for (int i = 0; i < TEST_FAMILIES; i++) {
        test_note("%s, seed %d", test_families[i].name, SEED + i);
        walk(&test_families[i], (uint64_t)(SEED + i));
    }
    test_note_clear();
}

typedef struct fixture {
    nadir_context *context;
    nadir_random random;
    nadir_model *model;
    nadir_kernel *kernel;
    nadir_policy *policy;
    nadir_average average;
} fixture;

/* The nominal average of a garnet under a random policy. */
static fixture garnet(void)
{
    fixture made = {.context = test_context()};
    nadir_random_seed(&made.random, SEED);
    made.model = test_families[1].make(made.context, &made.random);
    made.kernel = test_kernel(made.context, made.model, TEST_NOMINAL, GAMMA, &made.random, NULL);
    made.policy = test_policy(made.context, made.model, TEST_RANDOM, &made.random);
    assert_ok(made.context, nadir_average_make(made.context, made.kernel, made.policy, &made.average));
    return made;
}

static void clear(fixture *made)
{
    nadir_average_clear(made->context, &made->average);
    nadir_policy_free(made->policy);
    nadir_kernel_free(made->kernel);
    nadir_model_free(made->model);
    nadir_context_free(made->context);
}

/* On a device averages are made anew: there is no pattern to be kept. */
static void skip_with_device(fixture *made)
{
    if (made->context->device != NULL) {
        clear(made);
        print_message("skipped: on a device averages are made anew, and no pattern is kept\n");
        skip();
    }
}

static void the_same_actions_keep_the_pattern(void **state)
{
    (void)state;
    fixture f = garnet();
    skip_with_device(&f);
    bool same = false;
    nadir_policy *other = test_policy_same_support(f.context, f.model, f.policy, &f.random);
    assert_ok(f.context, nadir_average_remake(f.context, f.kernel, other, &f.average, &same));
    assert_true(same);
    nadir_policy_free(other);
    other = test_policy(f.context, f.model, TEST_UNIFORM, &f.random);
    assert_ok(f.context, nadir_average_remake(f.context, f.kernel, other, &f.average, &same));
    assert_false(same);
    nadir_policy_free(other);
    clear(&f);
}

static void a_term_of_rank_one_keeps_the_pattern(void **state)
{
    (void)state;
    fixture f = garnet();
    skip_with_device(&f);
    bool same = false;
    nadir_kernel *other = test_kernel(f.context, f.model, TEST_RANK_ONE, GAMMA, &f.random, NULL);
    assert_ok(f.context, nadir_average_remake(f.context, other, f.policy, &f.average, &same));
    assert_true(same);
    assert_non_null(f.average.b);
    assert_ok(f.context, nadir_average_remake(f.context, f.kernel, f.policy, &f.average, &same));
    assert_true(same);
    assert_null(f.average.b);
    assert_null(f.average.k);
    nadir_kernel_free(other);
    clear(&f);
}

/* Numbers of a perturbed kernel may be zero, and its lines of any length. */
static void a_perturbed_kernel_keeps_the_pattern(void **state)
{
    (void)state;
    fixture f = garnet();
    skip_with_device(&f);
    bool same = false;
    nadir_kernel *other = NULL;
    assert_ok(f.context, test_perturbed_create(f.context, f.model, true, &other));
    for (int fill = 0; fill < 4; fill++) {
        nadir_perturbed *perturbed = nadir_kernel_perturbed(other);
        test_perturbed_fill(f.model, fill % 2 == 1, &f.random, perturbed);
        for (int64_t i = 0; i < test_view(f.model).nonzeros; i += 3) {
            perturbed->values[i] = 0;
        }
        assert_ok(f.context, nadir_average_remake(f.context, other, f.policy, &f.average, &same));
        assert_true(same);
    }
    assert_ok(f.context, nadir_average_remake(f.context, f.kernel, f.policy, &f.average, &same));
    assert_true(same);
    assert_int_equal(f.average.tail.states, 0);
    nadir_kernel_free(other);
    clear(&f);
}

static void lines_can_be_written_out(void **state)
{
    (void)state;
    for (int i = 1; i < TEST_FAMILIES; i++) {
        nadir_context *context = test_context();
        nadir_random random = test_random(SEED);
        test_note("%s, seed %d", test_families[i].name, SEED);
        nadir_model *model = test_families[i].make(context, &random);
        double *dense = NULL;
        nadir_kernel *nominal = test_kernel(context, model, TEST_NOMINAL, GAMMA, &random, NULL);
        nadir_kernel *spread = test_kernel(context, model, TEST_SPREAD, GAMMA, &random, &dense);
        nadir_policy *policy = test_policy(context, model, TEST_RANDOM, &random);
        nadir_average average = {0};
        bool same = true;
        assert_ok(context, nadir_average_make(context, spread, policy, &average));
        const bool lined =
            average.tail.states > 0 && nadir_offsupport_tail_entries(&average.tail) > average.states;
        assert_ok(context, nadir_average_expand(context, &average));
        assert_int_equal(average.tail.states, 0);
        check_average(context, &average, model, dense, policy, &random);
        assert_ok(context, nadir_average_remake(context, nominal, policy, &average, &same));
        assert_true(!same || !lined);
        nadir_average_clear(context, &average);
        nadir_policy_free(policy);
        nadir_kernel_free(nominal);
        nadir_kernel_free(spread);
        free(dense);
        nadir_model_free(model);
        nadir_context_free(context);
    }
    test_note_clear();
}

/* The nominal row 0 with other numbers. */
static nadir_kernel *reweighed(fixture *f)
{
    const nadir_model_data view = test_view(f->model);
    const int64_t row = 0;
    const int64_t starts[2] = {0, view.row_starts[1]};
    double values[8];
    assert_true(starts[1] <= 8);
    for (int64_t i = 0; i < starts[1]; i++) {
        values[i] = 1 / (double)starts[1];
    }
    const nadir_changed_rows changed = {1, &row, starts, view.columns, values};
    nadir_kernel *kernel = NULL;
    assert_ok(f->context, nadir_kernel_create_changed(f->context, f->model, &changed, &kernel));
    return kernel;
}

static void changed_rows_keep_the_pattern_when_it_is_the_same(void **state)
{
    (void)state;
    fixture f = garnet();
    skip_with_device(&f);
    bool same = false;
    nadir_kernel *inside = reweighed(&f);
    assert_ok(f.context, nadir_average_remake(f.context, inside, f.policy, &f.average, &same));
    assert_true(same);
    assert_ok(f.context, nadir_average_remake(f.context, f.kernel, f.policy, &f.average, &same));
    assert_true(same);
    nadir_kernel *outside = test_kernel(f.context, f.model, TEST_ALL_ROWS, GAMMA, &f.random, NULL);
    assert_ok(f.context, nadir_average_remake(f.context, outside, f.policy, &f.average, &same));
    assert_false(same);
    /* back: what only the changed rows had must not stay behind as zeros */
    assert_ok(f.context, nadir_average_remake(f.context, f.kernel, f.policy, &f.average, &same));
    assert_false(same);
    for (int64_t i = 0; i < f.average.matrix.starts[f.average.states]; i++) {
        assert_true(f.average.matrix.values[i] > 0);
    }
    nadir_kernel_free(inside);
    nadir_kernel_free(outside);
    clear(&f);
}

static void the_norm_of_a_rank_one_kernel_that_is_valid_is_one(void **state)
{
    nadir_context *context = *state;
    nadir_random random = test_random(SEED);
    nadir_model *model = test_rich_model(context);
    /* Row 3 goes to state 3 for sure; half of that is moved to state 1. Row 0: 0.1 of it moved from 3. */
    const double b[7] = {0.2, 0, 0, 1, 0, 0, 0};
    const double k[4] = {0, -0.5, 0, 0.5};
    nadir_kernel *kernel = NULL;
    assert_ok(context, nadir_kernel_create_rank_one(context, model, b, k, &kernel));
    assert_true(test_kernel_minimum(context, kernel) == 0);
    nadir_policy *policy = test_policy(context, model, TEST_UNIFORM, &random);
    nadir_average average = {0};
    assert_ok(context, nadir_average_make(context, kernel, policy, &average));
    assert_close(average.norm, 1, 1e-15);
    nadir_average_clear(context, &average);
    nadir_policy_free(policy);
    nadir_kernel_free(kernel);
    nadir_model_free(model);
}

static void rows_without_entries_average_to_nothing(void **state)
{
    (void)state;
    fixture f = garnet();
    const int64_t rows = test_view(f.model).rows;
    int64_t *which = test_new(rows, sizeof *which);
    int64_t *starts = test_new(rows + 1, sizeof *starts);
    for (int64_t row = 0; row < rows; row++) {
        which[row] = row;
    }
    const nadir_changed_rows changed = {rows, which, starts, NULL, NULL};
    nadir_kernel *kernel = NULL;
    bool same = true;
    assert_ok(f.context, nadir_kernel_create_changed(f.context, f.model, &changed, &kernel));
    assert_ok(f.context, nadir_average_remake(f.context, kernel, f.policy, &f.average, &same));
    assert_false(same);
    assert_true(f.average.norm == 0);
    double *dense = test_new(rows * f.average.states, sizeof *dense);
    check_average(f.context, &f.average, f.model, dense, f.policy, &f.random);
    assert_ok(f.context, nadir_average_remake(f.context, f.kernel, f.policy, &f.average, &same));
    assert_false(same);
    free(dense);
    free(which);
    free(starts);
    nadir_kernel_free(kernel);
    clear(&f);
}

/* `lender` is the average of the nominal kernel, then of a changed one: only the first can be lent. */
static void lend(const test_family *family)
{
    nadir_context *context = test_context();
    nadir_random random = test_random(SEED);
    nadir_model *model = family->make(context, &random);
    double *dense = NULL;
    nadir_kernel *nominal = test_kernel(context, model, TEST_NOMINAL, GAMMA, &random, NULL);
    nadir_kernel *changed = test_kernel(context, model, TEST_ALL_ROWS, GAMMA, &random, NULL);
    nadir_kernel *perturbed = test_kernel(context, model, TEST_TILTED, GAMMA, &random, NULL);
    nadir_kernel *rank_one = test_kernel(context, model, TEST_RANK_ONE_STRONG, GAMMA, &random, &dense);
    nadir_policy *policy = test_policy(context, model, TEST_RANDOM, &random);
    nadir_average lender = {0};
    nadir_average average = {0};
    bool done = false;
    assert_ok(context, nadir_average_make(context, nominal, policy, &lender));
    assert_ok(context, nadir_average_borrow(context, &lender, rank_one, policy, &average, &done));
    assert_that(done, "the nominal matrix was not lent");
    check_average(context, &average, model, dense, policy, &random);
    nadir_average_clear(context, &average);
    assert_ok(context, nadir_average_borrow(context, &lender, changed, policy, &average, &done));
    assert_that(!done, "the nominal matrix was lent to a changed kernel");
    assert_ok(context, nadir_average_borrow(context, &lender, perturbed, policy, &average, &done));
    assert_that(!done, "the nominal matrix was lent to a perturbed kernel");
    assert_ok(context, nadir_average_remake(context, perturbed, policy, &lender, &done));
    assert_ok(context, nadir_average_borrow(context, &lender, rank_one, policy, &average, &done));
    assert_that(!done, "the matrix of a perturbed kernel was lent");
    assert_ok(context, nadir_average_remake(context, changed, policy, &lender, &done));
    assert_ok(context, nadir_average_borrow(context, &lender, rank_one, policy, &average, &done));
    assert_that(!done, "the matrix of a changed kernel was lent");
    nadir_average_clear(context, &lender);
    nadir_kernel_free(nominal);
    nadir_kernel_free(changed);
    nadir_kernel_free(perturbed);
    nadir_kernel_free(rank_one);
    nadir_policy_free(policy);
    free(dense);
    nadir_model_free(model);
    nadir_context_free(context);
}

static void only_the_nominal_matrix_is_lent(void **state)
{
    (void)state;
    for (int i = 0; i < TEST_FAMILIES; i++) {
        test_note("%s, seed %d", test_families[i].name, SEED);
        lend(&test_families[i]);
    }
    test_note_clear();
}

static void rewards_are_averaged(void **state)
{
    (void)state;
    for (int i = 0; i < TEST_FAMILIES; i++) {
        nadir_context *context = test_context();
        nadir_random random = test_random(SEED);
        nadir_model *model = test_families[i].make(context, &random);
        nadir_policy *policy = test_policy(context, model, TEST_RANDOM, &random);
        const nadir_model_data view = test_view(model);
        double *result = test_new(view.states, sizeof *result);
        nadir_average_rewards(model, policy, result);
        for (int64_t s = 0; s < view.states; s++) {
            long double sum = 0;
            for (int64_t row = view.state_rows[s]; row < view.state_rows[s + 1]; row++) {
                sum += (long double)nadir_policy_probabilities(policy)[row] * view.rewards[row];
            }
            assert_close(result[s], (double)sum, 1e-15);
        }
        free(result);
        nadir_policy_free(policy);
        nadir_model_free(model);
        nadir_context_free(context);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(averages_are_those_of_the_definition),
        cmocka_unit_test(an_average_can_be_remade_for_any_kernel_and_policy),
        cmocka_unit_test(the_same_actions_keep_the_pattern),
        cmocka_unit_test(a_term_of_rank_one_keeps_the_pattern),
        cmocka_unit_test(a_perturbed_kernel_keeps_the_pattern),
        cmocka_unit_test(lines_can_be_written_out),
        cmocka_unit_test(changed_rows_keep_the_pattern_when_it_is_the_same),
        test_with_context(the_norm_of_a_rank_one_kernel_that_is_valid_is_one),
        cmocka_unit_test(rows_without_entries_average_to_nothing),
        cmocka_unit_test(only_the_nominal_matrix_is_lent),
        cmocka_unit_test(rewards_are_averaged),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
