/* test_borrow.c: models that use the caller's kernel where it lies: the same model to the bit, copied where
 * it has to be, given back once. */
#include "support/support.h"

#include "model/model.h"
#include "support/scarce.h"

#include <math.h>
#include <sys/mman.h>

static void count_release(void *user)
{
    ++*(int *)user;
}

/* Four states with one action each, to be lent dense or sparse: a quarter to a half full, so that either
 * storage stays. */
enum { S = 4, ROWS = 4 };
static const int64_t state_rows[] = {0, 1, 2, 3, 4};

typedef struct loan {
    double dense[ROWS * S];
    int64_t row_starts[ROWS + 1];
    int32_t columns[8];
    double probabilities[8];
    double rewards[ROWS];
    double dense_rewards[ROWS * S];
    nadir_model_data data;
    int released;
} loan;

static void set_loan(loan *made, bool dense)
{
    *made = (loan){
        .dense = {0.25, 0, 0.75, 0, 0, 1, 0, 0, 0.5, 0, 0, 0.5, 0, 0, 1, 0},
        .row_starts = {0, 2, 3, 5, 6},
        .columns = {0, 2, 1, 0, 3, 2},
        .probabilities = {0.25, 0.75, 1, 0.5, 0.5, 1},
        .rewards = {1, 2, -1, 0.5},
    };
    nadir_model_data_default(&made->data);
    made->data.states = S;
    made->data.rows = ROWS;
    made->data.discount = 0.9;
    made->data.state_rows = state_rows;
    made->data.rewards = made->rewards;
    if (dense) {
        made->data.dense = made->dense;
    } else {
        made->data.row_starts = made->row_starts;
        made->data.columns = made->columns;
        made->data.probabilities = made->probabilities;
    }
}

static nadir_model *borrow(nadir_context *context, loan *made)
{
    nadir_model *model = NULL;
    assert_ok(context, nadir_model_borrow(context, &made->data, count_release, &made->released, &model));
    return model;
}

/* The same as a copy, to the bit; `lies`: where the caller put it. */
static void check_loan(nadir_context *context, loan *made, bool lies)
{
    nadir_model *copy = test_create_model(context, &made->data);
    nadir_model *model = borrow(context, made);
    const nadir_model_data view = test_view(model);
    assert_models_equal(model, copy, 0);
    assert_int_equal(model->borrowed, lies);
    assert_true((view.dense != NULL && view.dense == made->dense) == (lies && made->data.dense != NULL));
    assert_true((view.columns != NULL && view.columns == made->columns) ==
                (lies && made->data.dense == NULL));
    assert_true((view.columns == made->columns) == (view.probabilities == made->probabilities));
    assert_int_equal(made->released, lies ? 0 : 1);
    nadir_model_free(copy);
    nadir_model_free(model);
    assert_int_equal(made->released, 1);
}

static void test_kernel_lies_where_it_was(void **state)
{
    nadir_context *context = *state;
    loan made;
    for (int dense = 0; dense < 2; dense++) {
        set_loan(&made, dense == 1);
        check_loan(context, &made, true);
    }
}

/* What nadir_model_create repairs is repaired in a copy: the caller's numbers stay. */
static void test_repairs_are_made_in_a_copy(void **state)
{
    nadir_context *context = *state;
    loan made;
    loan before;
    for (int flaw = 0; flaw < 7; flaw++) {
        test_note("flaw %d", flaw);
        set_loan(&made, flaw < 2);
        switch (flaw) {
        case 0: /* normalised */
            made.dense[0] = 0.25 + 1e-9;
            break;
        case 1: /* normalised without a word */
            made.dense[5] = 1 - 1e-14;
            break;
        case 2:
            made.probabilities[1] = 0.75 - 1e-9;
            break;
        case 3: /* unsorted */
            made.columns[0] = 2;
            made.columns[1] = 0;
            break;
        case 4: /* a duplicate */
            made.columns[1] = 0;
            break;
        case 5: /* a zero */
            made.probabilities[0] = 0;
            made.probabilities[1] = 1;
            break;
        default: /* rounding alone is no flaw */
            made.probabilities[1] = nextafter(0.75, 1);
        }
        before = made;
        const bool lies = flaw == 6;
        check_loan(context, &made, lies);
        assert_memory_equal(before.dense, made.dense, sizeof made.dense);
        assert_memory_equal(before.columns, made.columns, sizeof made.columns);
        assert_memory_equal(before.probabilities, made.probabilities, sizeof made.probabilities);
    }
}

/* A kernel whose density asks for the other storage. */
static void test_storage_changes_in_a_copy(void **state)
{
    nadir_context *context = *state;
    enum { LARGE = 8 };
    int64_t places[LARGE + 1];
    double dense[LARGE * LARGE] = {0};
    int64_t row_starts[LARGE + 1];
    int32_t columns[LARGE * 4];
    double probabilities[LARGE * 4];
    for (int s = 0; s <= LARGE; s++) {
        places[s] = s;
        row_starts[s] = (int64_t)4 * s;
        for (int i = 0; s < LARGE && i < 4; i++) {
            columns[4 * s + i] = 2 * i;
            probabilities[4 * s + i] = 0.25;
        }
    }
    for (int s = 0; s < LARGE; s++) {
        dense[s * LARGE + s] = 1;
    }
    for (int sparse = 0; sparse < 2; sparse++) {
        nadir_model_data data = test_model_data();
        data.states = data.rows = LARGE;
        data.state_rows = places;
        data.dense = sparse ? NULL : dense;
        data.row_starts = sparse ? row_starts : NULL;
        data.columns = sparse ? columns : NULL;
        data.probabilities = sparse ? probabilities : NULL;
        int released = 0;
        nadir_model *model = NULL;
        assert_ok(context, nadir_model_borrow(context, &data, count_release, &released, &model));
        assert_int_equal(released, 1);
        assert_true((model->dense != NULL) == (sparse == 1));
        nadir_model_free(model);
        assert_int_equal(released, 1);
    }
}

/* Nothing is written to what was lent: it may lie in memory that cannot be written to. */
static void test_loans_may_be_read_only(void **state)
{
    nadir_context *context = *state;
    for (int dense = 0; dense < 2; dense++) {
        loan *made = mmap(NULL, sizeof *made, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        assert_true(made != MAP_FAILED);
        set_loan(made, dense == 1);
        assert_int_equal(mprotect(made, sizeof *made, PROT_READ), 0);
        nadir_model *model = NULL;
        assert_ok(context, nadir_model_borrow(context, &made->data, NULL, NULL, &model));
        assert_true(model->borrowed);
        nadir_model_free(model);
        (void)munmap(made, sizeof *made);
    }
}

/* Solvers are owners too: the loan ends with the last of them. */
static void test_last_owner_gives_back(void **state)
{
    nadir_context *context = *state;
    loan made;
    set_loan(&made, true);
    nadir_model *model = borrow(context, &made);
    nadir_solver *solver = NULL;
    nadir_nominal result = {.size = sizeof result};
    nadir_policy *policy = test_uniform_policy(context, model);
    assert_ok(context, nadir_solver_create(context, model, policy, NULL, &solver));
    nadir_model_free(model);
    nadir_policy_free(policy);
    assert_int_equal(made.released, 0);
    assert_ok(context, nadir_solver_nominal(context, solver, &result));
    nadir_solver_free(solver);
    assert_int_equal(made.released, 1);
}

/* Rewards of transitions are averaged and checked beside a kernel that lies still. */
static void test_transition_rewards(void **state)
{
    nadir_context *context = *state;
    loan made;
    set_loan(&made, true);
    made.data.rewards = NULL;
    made.data.transition_rewards = made.dense_rewards;
    for (int i = 0; i < ROWS * S; i++) {
        made.dense_rewards[i] = 0.1 * i;
    }
    check_loan(context, &made, true);
    made.dense_rewards[2] = INFINITY;
    nadir_model *model = NULL;
    assert_fails(context, nadir_model_borrow(context, &made.data, count_release, &made.released, &model),
                 NADIR_ERROR_MODEL, "state 0, action 0: the reward with successor 2 is inf");
    assert_int_equal(made.released, 1); /* as before: failure does not give back */
    assert_null(model);
}

/* All that nadir_model_create refuses, with the same sentence; release is not called. */
static void test_wrong_models_are_refused(void **state)
{
    nadir_context *context = *state;
    nadir_model *model = NULL;
    loan made;
    const struct {
        bool dense;
        double value; /* in place of the first probability */
        const char *words;
    } cases[] = {
        {true, -0.25, "state 0, action 0: the probability of successor 0 is -0.25"},
        {false, NAN, "state 0, action 0: the probability of successor 0 is nan"},
        {true, INFINITY, "the probability of successor 0 is inf"},
        {false, 0.3, "state 0, action 0: probabilities sum to 1.05"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        set_loan(&made, cases[i].dense);
        made.dense[0] = made.probabilities[0] = cases[i].value;
        assert_fails(context, nadir_model_borrow(context, &made.data, count_release, &made.released, &model),
                     NADIR_ERROR_MODEL, cases[i].words);
        assert_int_equal(made.released, 0);
    }
    set_loan(&made, false);
    made.columns[1] = S;
    assert_fails(context, nadir_model_borrow(context, &made.data, count_release, &made.released, &model),
                 NADIR_ERROR_MODEL, "successor 4 is not a state");
    set_loan(&made, false);
    made.row_starts[1] = 7;
    assert_fails(context, nadir_model_borrow(context, &made.data, count_release, &made.released, &model),
                 NADIR_ERROR_MODEL, "row 1 ends before it starts");
    set_loan(&made, true);
    made.rewards[3] = NAN;
    assert_fails(context, nadir_model_borrow(context, &made.data, count_release, &made.released, &model),
                 NADIR_ERROR_MODEL, "state 3, action 0: the reward is nan");
    set_loan(&made, true);
    made.data.discount = 1.5;
    assert_fails(context, nadir_model_borrow(context, &made.data, count_release, &made.released, &model),
                 NADIR_ERROR_MODEL, "the discount is 1.5");
    made.data.size = 3;
    assert_fails(context, nadir_model_borrow(context, &made.data, count_release, &made.released, &model),
                 NADIR_ERROR_ARGUMENT, "size");
    assert_int_equal(made.released, 0);
    assert_null(model);
}

/* A row that claims to go on past the last transition: nothing beyond the arrays is looked at (sanitizer). */
static void test_rows_past_the_end(void **state)
{
    nadir_context *context = *state;
    loan made;
    set_loan(&made, false);
    const double probabilities[S] = {1, 1, 1, 1};
    const int32_t columns[S] = {0, 1, 2, 3};
    const int64_t starts[] = {0, 5, 2, 3, 4};
    made.data.row_starts = starts;
    made.data.columns = columns;
    made.data.probabilities = probabilities;
    nadir_model *model = NULL;
    assert_fails(context, nadir_model_borrow(context, &made.data, NULL, NULL, &model), NADIR_ERROR_MODEL,
                 "row 1 ends before it starts");
}

static nadir_status attempt(nadir_context *context, const void *of)
{
    loan made = *(const loan *)of; /* its data point to the original */
    nadir_model *model = NULL;
    const nadir_status status =
        nadir_model_borrow(context, &made.data, count_release, &made.released, &model);
    assert_int_equal(made.released, 0);
    nadir_model_free(model);
    assert_int_equal(made.released, status == NADIR_OK);
    return status;
}

static void test_scarce_memory(void **state)
{
    (void)state;
    loan made;
    for (int dense = 0; dense < 2; dense++) {
        set_loan(&made, dense == 1);
        test_run_out(attempt, &made, NULL, dense == 1 ? "a dense loan" : "a sparse loan");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test_with_context(test_kernel_lies_where_it_was),
        test_with_context(test_repairs_are_made_in_a_copy),
        test_with_context(test_storage_changes_in_a_copy),
        test_with_context(test_loans_may_be_read_only),
        test_with_context(test_last_owner_gives_back),
        test_with_context(test_transition_rewards),
        test_with_context(test_wrong_models_are_refused),
        test_with_context(test_rows_past_the_end),
        cmocka_unit_test(test_scarce_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
