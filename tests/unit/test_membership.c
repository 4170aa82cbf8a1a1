/*
 * Kernels that lie next to their set, but not in it: outside the ball by a hundred-millionth, with a successor
 * or a negative entry of a billionth, with a pinned row that moved. Evaluations, differences and verification
 * refuse each of them, however the kernel is stored, and take the one beside it that lies in the set.
 */
#include "support/support.h"

#include "proof/difference_bound.h"
#include "proof/membership.h"
#include "proof/rank_one_check.h"
#include "proof/verify.h"
#include "support/problem.h"
#include "support/reference.h"
#include "support/valid.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { STATES = 6, ROWS = 7 }; /* state 0 has two actions */

static const int64_t state_rows[STATES + 1] = {0, 2, 3, 4, 5, 6, 7};
static const double nominal[ROWS][STATES] = {
    {0.25, 0.125, 0.25, 0.125, 0.125, 0.125},
    {0.125, 0.25, 0.25, 0.125, 0.125, 0.125},
    {0.5, 0.25, 0.25, 0, 0, 0},
    {0.25, 0.25, 0, 0.25, 0, 0.25},
    {0, 0, 0.5, 0, 0, 0.5},
    {0.125, 0.125, 0.25, 0.25, 0.125, 0.125},
    {0.25, 0.25, 0.125, 0.125, 0.125, 0.125},
};
static const double rewards[ROWS] = {1, 2, -1, 0, 3, 1, -2};

/* How a kernel is stored: by rows of their own, or as numbers on the successors of a dense model. */
typedef enum storage { OWN_ROWS, VALUES, STORAGES } storage;

static nadir_kernel *store(nadir_context *context, nadir_model *model, storage how, double P[ROWS][STATES])
{
    nadir_kernel *kernel = NULL;
    if (how == OWN_ROWS) {
        int64_t rows[ROWS];
        int64_t starts[ROWS + 1] = {0};
        int32_t columns[ROWS * STATES];
        double values[ROWS * STATES];
        int64_t count = 0;
        for (int row = 0; row < ROWS; row++) {
            rows[row] = row;
            for (int t = 0; t < STATES; t++) {
                columns[count] = t;
                values[count] = P[row][t];
                count += P[row][t] != 0;
            }
            starts[row + 1] = count;
        }
        const nadir_changed_rows changed = {ROWS, rows, starts, columns, values};
        assert_ok(context, nadir_kernel_create_changed(context, model, &changed, &kernel));
    } else {
        assert_ok(context, nadir_kernel_create_blank(context, model, false, &kernel));
        const nadir_perturbed *numbers = nadir_kernel_perturbed(kernel);
        memcpy(numbers->values, P, sizeof(double[ROWS][STATES]));
        memset(numbers->nominal, 0, ROWS * sizeof *numbers->nominal);
    }
    return kernel;
}

/* The checks of an evaluation and of a difference agree with `inside`. */
static void check_problem(nadir_context *context, nadir_model *model, const nadir_ball *ball,
                          const nadir_kernel *kernel, bool inside)
{
    nadir_policy *policy = test_uniform_policy(context, model);
    test_problem made = test_problem_make(context, nadir_model_retain(model), policy, ball, NULL, 1);
    const nadir_problem *problem = test_problem_view(&made);
    const nadir_problem both[2] = {*problem, *problem};
    const nadir_difference_witness witness = {.kernel = kernel,
                                              .occupancy = {problem->occupancy, problem->occupancy},
                                              .v = {problem->v, problem->v}};
    nadir_difference_facts facts = {0};
    nadir_membership found;
    assert_ok(context, nadir_membership_measure(context, kernel, problem->uncertainty, 1, &found));
    const nadir_status status = nadir_membership_check(context, model, problem->uncertainty, &found);
    assert_that(status == (inside ? NADIR_OK : NADIR_ERROR_VERIFICATION), "%s: excess %g, minimum %g",
                nadir_status_name(status), found.excess, found.minimum);
    for (int i = 0; i < 2; i++) {
        assert_ok(context, nadir_perturbation_bound_make(context, &both[i], NADIR_CERTIFY_AUTO,
                                                         &facts.perturbation[i]));
    }
    assert_int_equal(nadir_difference_check(context, both, &witness, false, &facts), status);
    test_problem_clear(&made);
}

/* Verification agrees with `inside`: one of the checks of the kernel fails, or none. Takes the kernel. */
static void check_verification(nadir_context *context, nadir_model *model, const nadir_ball *ball,
                               nadir_kernel *kernel, bool inside)
{
    nadir_policy *policy = test_uniform_policy(context, model);
    nadir_verify_run run;
    bool holds = true;
    assert_ok(context, nadir_verify_start(context, model, policy, NULL, &run));
    run.kernel = kernel;
    run.ball = (nadir_kernel_parameters){.set = ball->set,
                                         .domain = ball->domain,
                                         .norm = ball->norm,
                                         .radius = ball->radius,
                                         .radius_count = ball->radius_count,
                                         .scales = ball->scales,
                                         .gamma = NAN};
    assert_ok(context, nadir_verify_prove(&run));
    for (int64_t i = 0; i < run.list->count; i++) {
        const nadir_verify_check *check = &run.list->checks[i];
        if (!check->holds) {
            assert_true(strcmp(check->name, "row_sums") == 0 || strcmp(check->name, "kernel") == 0 ||
                        strcmp(check->name, "domain") == 0 || strcmp(check->name, "distance") == 0);
        }
        holds = holds && check->holds;
    }
    assert_that(holds == inside, "verification: %d", holds);
    nadir_verify_clear(&run);
    nadir_policy_free(policy);
}

/* A kernel that differs from the nominal one in one row, and what it is measured by. */
typedef struct place {
    const char *name;
    nadir_set set;
    nadir_domain domain;
    double radius[ROWS]; /* the first of them unless the set is sa */
    double scale;        /* of the row */
    int row, from, to;
    double moved; /* mass from one to the other; the ball is beside it by 1e-8 where `nearly` */
    double added; /* to the row, besides */
    bool nearly, inside;
} place;

#define ALL(r)                                                                                               \
    {                                                                                                        \
        r, r, r, r, r, r, r                                                                                  \
    }

static const place places[] = {
    {"inside", NADIR_SET_NONRECT, NADIR_DOMAIN_SUPPORT, ALL(0.1), 1, 0, 0, 1, 0.0625, 0, false, true},
    {"inside, up to 1e-8", NADIR_SET_NONRECT, NADIR_DOMAIN_FREE, ALL(1), 1, 0, 0, 1, 0.0625, 0, true, true},
    {"outside by 1e-8", NADIR_SET_NONRECT, NADIR_DOMAIN_FREE, ALL(1), 1, 0, 0, 1, 0.0625, 0, true, false},
    {"outside by 1e-8", NADIR_SET_S, NADIR_DOMAIN_SIMPLEX, ALL(1), 1, 0, 0, 1, 0.0625, 0, true, false},
    {"outside by 1e-8", NADIR_SET_SA, NADIR_DOMAIN_SUPPORT, ALL(1), 1, 1, 2, 1, 0.0625, 0, true, false},
    {"outside, scaled", NADIR_SET_NONRECT, NADIR_DOMAIN_SIMPLEX, ALL(0.1), 0.5, 0, 0, 1, 0.06, 0, false,
     false},
    {"inside, scaled", NADIR_SET_NONRECT, NADIR_DOMAIN_SIMPLEX, ALL(0.2), 0.5, 0, 0, 1, 0.06, 0, false, true},
    {"pinned", NADIR_SET_NONRECT, NADIR_DOMAIN_SIMPLEX, ALL(0.1), 0, 0, 0, 1, 0.001, 0, false, false},
    {"pinned", NADIR_SET_SA, NADIR_DOMAIN_SIMPLEX, ALL(0.1), 0, 0, 0, 1, 0.001, 0, false, false},
    {"a negative entry", NADIR_SET_NONRECT, NADIR_DOMAIN_SIMPLEX, ALL(0.9), 1, 5, 0, 1, 0.125 + 1e-9, 0,
     false, false},
    {"a negative entry", NADIR_SET_NONRECT, NADIR_DOMAIN_SUPPORT, ALL(0.9), 1, 5, 1, 0, 0.125 + 1e-9, 0,
     false, false},
    {"a negative entry", NADIR_SET_SA, NADIR_DOMAIN_SIMPLEX, ALL(0.9), 1, 5, 2, 0, 0.25 + 1e-9, 0, false,
     false},
    {"a negative entry", NADIR_SET_SA, NADIR_DOMAIN_SIMPLEX, ALL(0.9), 1, 5, 3, 0, 0.25 + 1e-9, 0, false,
     false},
    {"a negative entry", NADIR_SET_SA, NADIR_DOMAIN_SIMPLEX, ALL(0.9), 1, 5, 5, 0, 0.125 + 1e-9, 0, false,
     false},
    {"negative but free", NADIR_SET_NONRECT, NADIR_DOMAIN_FREE, ALL(0.9), 1, 5, 5, 0, 0.125 + 1e-9, 0, false,
     true},
    {"a new successor", NADIR_SET_NONRECT, NADIR_DOMAIN_SUPPORT, ALL(0.1), 1, 2, 0, 4, 1e-9, 0, false, false},
    {"a new successor", NADIR_SET_SA, NADIR_DOMAIN_SUPPORT, ALL(0.1), 1, 4, 2, 3, 1e-9, 0, false, false},
    {"a successor", NADIR_SET_NONRECT, NADIR_DOMAIN_SIMPLEX, ALL(0.1), 1, 2, 0, 4, 1e-9, 0, false, true},
    {"a sum below one", NADIR_SET_NONRECT, NADIR_DOMAIN_SIMPLEX, ALL(0.1), 1, 0, 0, 1, 0, -1e-9, false,
     false},
    {"a sum above one", NADIR_SET_NONRECT, NADIR_DOMAIN_FREE, ALL(0.1), 1, 0, 0, 1, 0, 1e-9, false, false},
    /* all of the last successor: its own change counts, too */
    {"a lost successor", NADIR_SET_NONRECT, NADIR_DOMAIN_SUPPORT, ALL(0.6), 1, 4, 5, 2, 0.5, 0, false, false},
    {"radii of rows",
     NADIR_SET_SA,
     NADIR_DOMAIN_SUPPORT,
     {0.2, 0.05, 1, 1, 1, 1, 1},
     1,
     1,
     0,
     1,
     0.0625,
     0,
     false,
     false},
};

/* From all entries, or from the positive ones. */
static nadir_model *make_model(nadir_context *context, bool dense)
{
    nadir_model_data data = test_model_data();
    int64_t starts[ROWS + 1] = {0};
    int32_t columns[ROWS * STATES];
    double probabilities[ROWS * STATES];
    int64_t count = 0;
    for (int row = 0; row < ROWS; row++) {
        for (int t = 0; t < STATES; t++) {
            columns[count] = t;
            probabilities[count] = nominal[row][t];
            count += nominal[row][t] > 0;
        }
        starts[row + 1] = count;
    }
    data.states = STATES;
    data.rows = ROWS;
    data.discount = 0.5;
    data.state_rows = state_rows;
    data.rewards = rewards;
    if (dense) {
        data.dense = &nominal[0][0];
    } else {
        data.row_starts = starts;
        data.columns = columns;
        data.probabilities = probabilities;
    }
    return test_create_model(context, &data);
}

static void try_place(nadir_context *context, const place *of, bool dense, storage how)
{
    double P[ROWS][STATES];
    double scales[ROWS] = ALL(1);
    double radius[ROWS];
    memcpy(P, nominal, sizeof P);
    P[of->row][of->from] -= of->moved;
    P[of->row][of->to] += of->moved + of->added;
    scales[of->row] = of->scale;
    for (int row = 0; row < ROWS; row++) { /* |Delta|_2 = moved sqrt(2) */
        radius[row] = of->nearly ? of->moved * sqrt(2) * (of->inside ? 1 + 1e-8 : 1 - 1e-8) : of->radius[row];
    }
    nadir_model *model = make_model(context, dense);
    nadir_ball ball = test_ball(of->set, of->domain, 2, radius, scales);
    ball.radius_count = of->set == NADIR_SET_SA ? ROWS : 1;
    test_note("%s, %s model, storage %d", of->name, dense ? "dense" : "sparse", (int)how);
    nadir_kernel *kernel = store(context, model, how, P);
    check_problem(context, model, &ball, kernel, of->inside);
    check_verification(context, model, &ball, kernel, of->inside);
    nadir_model_free(model);
}

static void test_neighbours(void **state)
{
    nadir_context *context = *state;
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        try_place(context, &places[i], true, OWN_ROWS);
        try_place(context, &places[i], true, VALUES);
        try_place(context, &places[i], false, OWN_ROWS);
    }
}

/* Phat - b k^T on the free domain, from b and k. */
typedef struct rank_one {
    const char *name;
    double outside; /* share by which |b|_2 |k|_2 is more than the radius */
    double sum;     /* of k */
    bool pinned;    /* a row that moves has scale 0 */
    bool inside;
} rank_one;

static const rank_one ranks[] = {
    {"inside", -1e-8, 0, false, true},          {"outside by 1e-8", 1e-8, 0, false, false},
    {"outside by 1e-4", 1e-4, 0, false, false}, {"a sum of 1e-9", -1e-2, 1e-9, false, false},
    {"pinned", -1e-8, 0, true, false},
};

static void test_rank_one(void **state)
{
    nadir_context *context = *state;
    static const double k[STATES] = {1, -1, 0.5, -0.5, 0.25, -0.25};
    for (size_t i = 0; i < sizeof ranks / sizeof *ranks; i++) {
        const rank_one *of = &ranks[i];
        double scales[ROWS] = ALL(1);
        const double b[ROWS] = {0.03, 0, 0.04, 0, 0, 0, 0};
        double own[STATES];
        double length = 0;
        nadir_kernel *kernel = NULL;
        memcpy(own, k, sizeof own);
        own[0] += of->sum * 25; /* b is 0.04 at most */
        for (int t = 0; t < STATES; t++) {
            length = hypot(length, own[t]);
        }
        const double radius = 0.05 * length / (1 + of->outside);
        scales[2] = of->pinned ? 0 : 1;
        nadir_model *model = make_model(context, true);
        const nadir_ball ball = test_ball(NADIR_SET_NONRECT, NADIR_DOMAIN_FREE, 2, &radius, scales);
        test_note("rank one, %s", of->name);
        assert_ok(context, nadir_kernel_create_rank_one(context, model, b, own, &kernel));
        test_problem made = test_problem_make(context, nadir_model_retain(model),
                                              test_uniform_policy(context, model), &ball, NULL, 1);
        const nadir_rank_one_question question = {.kernel = kernel, .factor = 1};
        nadir_rank_one_check found;
        const nadir_status status =
            nadir_rank_one_check_kernel(context, test_problem_view(&made), &question, &found);
        assert_that((status == NADIR_OK) == (of->outside < 0 && !of->pinned), "%s",
                    nadir_status_name(status));
        test_problem_clear(&made);
        check_verification(context, model, &ball, kernel, of->inside);
        nadir_model_free(model);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {test_with_context(test_neighbours), test_with_context(test_rank_one)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
