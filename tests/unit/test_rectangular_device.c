/* Rectangular sets on the domain support by a device against those made here: answers of rows, whole
 * evaluations, and what happens where the device has no room. Without a device: that there are none. */
#include "support/support.h"

#include "core/context.h"
#include "linalg/vector.h"
#include "model/kernel_device.h"
#include "proof/bellman_bound.h"
#include "search/rectangular_policy_iteration.h"
#include "sets/lmo_by_state.h"
#include "support/generated.h"
#include "support/problem.h"
#include "support/reference.h"

#include <math.h>
#include <stdlib.h>

enum { SEED = 1415, STATES = 4700, MOST = 14 };

static const double norms[] = {1, 1.05, 1.5, 2, 3, 12, 40, INFINITY};
enum { NORMS = sizeof norms / sizeof *norms };

/* From none over next to none to more than matters; below 1e-292 there is nothing left of products. */
static const double radii[] = {0, 1e-300, 1e-9, 0.003, 0.02, 0.1, 0.3, 1, 1e6};
enum { RADII = sizeof radii / sizeof *radii };

/* A ragged model with rows of 1 to MOST successors, some of them pinned, some never used. */
typedef struct fixture {
    nadir_context *context;
    nadir_model *model;
    nadir_policy *policy;
    nadir_uncertainty set;
    nadir_problem problem;
    double *scales, *radius, *v;
} fixture;

static void choose_actions(fixture *made, nadir_random *random)
{
    const nadir_model *model = made->model;
    double *probabilities = test_new(model->rows, sizeof *probabilities);
    for (int64_t s = 0; s < STATES; s++) {
        const int64_t first = model->state_rows[s];
        const int64_t actions = model->state_rows[s + 1] - first;
        double sum = 0;
        for (int64_t a = 0; a < actions; a++) {
            /* alike, as it comes, or not at all */
            const double drawn = s % 2 == 0 ? 1 : nadir_random_uniform(random) + 1e-3;
            probabilities[first + a] = s % 5 == 4 && a > 0 ? 0 : drawn;
            sum += probabilities[first + a];
        }
        for (int64_t a = 0; a < actions; a++) {
            probabilities[first + a] /= sum;
        }
    }
    assert_ok(made->context, nadir_policy_create(made->context, model, probabilities, &made->policy));
    free(probabilities);
}

static void setup(nadir_set kind, double p, fixture *made)
{
    nadir_random random = test_random(SEED);
    made->context = test_context();
    made->model = test_ragged_model(made->context, &random, STATES, MOST, 40, 0.9);
    choose_actions(made, &random);
    const int64_t rows = made->model->rows;
    nadir_ball ball = test_ball(kind, NADIR_DOMAIN_SUPPORT, p, NULL, NULL);
    ball.radius_count = kind == NADIR_SET_S ? STATES : rows;
    made->scales = test_new(rows, sizeof *made->scales);
    made->radius = test_new(ball.radius_count, sizeof *made->radius);
    made->v = test_new(STATES, sizeof *made->v);
    for (int64_t row = 0; row < rows; row++) {
        made->scales[row] = row % 13 == 0 ? 0 : row % 3 == 0 ? 1 : 0.2 + nadir_random_uniform(&random);
    }
    for (int64_t s = 0; s < STATES; s++) { /* the same for neighbours, which lend each other their answers */
        const int64_t first = made->model->state_rows[s];
        for (int64_t row = first; row < made->model->state_rows[s + 1]; row++) {
            const bool shared = kind == NADIR_SET_S;
            made->radius[shared ? s : row] = radii[(s / 8 + (shared ? 0 : row - first)) % RADII];
        }
    }
    ball.scales = made->scales;
    ball.radius = made->radius;
    assert_ok(made->context,
              nadir_uncertainty_make(made->context, made->model, made->policy, &ball, &made->set));
    made->problem = (nadir_problem){.model = made->model,
                                    .policy = made->policy,
                                    .uncertainty = &made->set,
                                    .states = STATES,
                                    .rows = rows,
                                    .gamma = 0.9,
                                    .rest = 0.1};
}

static void teardown(fixture *made)
{
    nadir_uncertainty_clear(made->context, &made->set);
    nadir_policy_free(made->policy);
    nadir_model_free(made->model);
    free(made->scales);
    free(made->radius);
    free(made->v);
    nadir_context_free(made->context);
}

/* Values of one kind after another: any; others near these; ties, few and many; small differences. */
enum { KINDS = 5, TIED = 2 };
static void choose_values(int kind, fixture *made)
{
    nadir_random random = test_random(SEED + 1);
    for (int64_t s = 0; s < STATES; s++) {
        const double u = nadir_random_uniform(&random);
        made->v[s] = kind == 0   ? 100 + 5 * u
                     : kind == 1 ? 100 + 5 * u + 0.01 * sin((double)s)
                     : kind == 2 ? floor(40 * u)
                     : kind == 3 ? floor(2 * u)
                                 : pow(u, 25);
    }
}

/* |X - Phat|_p <= alpha beta, or shared by the rows of a state; nothing negative, and sums are one. */
static void check_members(const fixture *made, nadir_kernel *kernel)
{
    const nadir_model *model = made->model;
    const nadir_perturbed *perturbed = nadir_kernel_perturbed(kernel);
    const double p = made->set.p;
    double delta[MOST];
    double shares[3];
    for (int64_t s = 0; s < STATES; s++) {
        const int64_t first = model->state_rows[s];
        const int64_t end = model->state_rows[s + 1];
        for (int64_t row = first; row < end; row++) {
            const int64_t start = model->row_starts[row];
            const int64_t count = model->row_starts[row + 1] - start;
            const double radius = nadir_uncertainty_radius(&made->set, s, row);
            double sum = 0;
            for (int64_t i = 0; i < count; i++) {
                const double phat = model->probabilities[start + i];
                const double x = perturbed->nominal[row] ? phat : perturbed->values[start + i];
                assert_that(x >= 0, "row %lld: %g", (long long)row, x);
                sum += x;
                delta[i] = x - phat;
            }
            assert_close(sum, 1, 1e-13);
            const double norm = nadir_norm_short(count, delta, p);
            const double allowed = made->scales[row] * radius * (1 + 1e-12) + 1e-15;
            assert_that(norm <= allowed, "row %lld: %.17g, not %.17g", (long long)row, norm, allowed);
            shares[row - first] = made->scales[row] > 0 ? norm / made->scales[row] : 0;
        }
        const double radius = nadir_uncertainty_radius(&made->set, s, first);
        if (made->set.set == NADIR_SET_S) {
            const double norm = nadir_norm_short(end - first, shares, p);
            assert_that(norm <= radius * (1 + 1e-12) + 1e-14, "state %lld: %.17g, not %.17g", (long long)s,
                        norm, radius);
        }
    }
}

/* What states lose in the kernels, and rows where there is one answer. */
static void compare_kernels(const fixture *made, int kind, const double *gain, double range,
                            const nadir_kernel *here, nadir_kernel *there)
{
    const nadir_model *model = made->model;
    double *y = test_new(3 * model->rows, sizeof *y);
    nadir_kernel *nominal = NULL;
    assert_ok(made->context, nadir_kernel_device_fetch(made->context, there));
    assert_ok(made->context, nadir_kernel_create(made->context, made->model, &nominal));
    nadir_kernel_multiply(made->context, here, made->v, y);
    nadir_kernel_multiply(made->context, there, made->v, y + model->rows);
    nadir_kernel_multiply(made->context, nominal, made->v, y + 2 * model->rows);
    for (int64_t s = 0; s < STATES; s++) {
        double lost = 0;
        for (int64_t row = model->state_rows[s]; row < model->state_rows[s + 1]; row++) {
            const double other = y[model->rows + row];
            lost += made->policy->probabilities[row] * (y[2 * model->rows + row] - other);
            assert_that(kind == TIED || kind == TIED + 1 || fabs(other - y[row]) <= 1e-11 * range,
                        "row %lld: %.17g, not %.17g", (long long)row, other, y[row]);
            /* p = infinity: rows of next to no radius are written there, which changes nothing */
            assert_that(isinf(made->set.p) ||
                            nadir_kernel_is_nominal(here, row) == nadir_kernel_is_nominal(there, row),
                        "row %lld is nominal on one side", (long long)row);
        }
        assert_that(fabs(lost - gain[s]) <= 1e-12 * fmax(range, fabs(made->v[s])),
                    "state %lld loses %.17g, not %.17g", (long long)s, lost, gain[s]);
    }
    nadir_kernel_free(nominal);
    free(y);
}

/* One kind of values, made here and there, from the last answers on. */
static void compare(fixture *made, int kind, nadir_lmo_rectangular *here, nadir_lmo_rectangular *there,
                    nadir_kernel **here_kernel, nadir_kernel **there_kernel)
{
    choose_values(kind, made);
    assert_ok(made->context, nadir_lmo_rectangular_solve(made->context, here, made->v));
    assert_ok(made->context, nadir_lmo_rectangular_solve(made->context, there, made->v));
    assert_true(there->moves);
    const double range = here->order.range;
    for (int64_t s = 0; s < STATES; s++) {
        assert_that(fabs(there->gain[s] - here->gain[s]) <= 1e-12 * (range + fabs(here->gain[s])),
                    "state %lld: %.17g, not %.17g", (long long)s, there->gain[s], here->gain[s]);
    }
    assert_ok(made->context, nadir_lmo_rectangular_kernel(made->context, here, here_kernel));
    assert_ok(made->context, nadir_lmo_rectangular_kernel(made->context, there, there_kernel));
    compare_kernels(made, kind, there->gain, range, *here_kernel, *there_kernel);
    check_members(made, *there_kernel);
}

static void test_answers(void **state)
{
    (void)state;
    for (int i = 0; i < 2 * NORMS; i++) {
        fixture made = {0};
        nadir_lmo_rectangular here = {0};
        nadir_lmo_rectangular there = {0};
        nadir_kernel *kernels[2] = {NULL, NULL};
        setup(i % 2 == 0 ? NADIR_SET_S : NADIR_SET_SA, norms[i / 2], &made);
        assert_ok(made.context, nadir_lmo_rectangular_make(made.context, &made.problem, 1, &here));
        assert_ok(made.context, nadir_lmo_rectangular_make_on_device(made.context, &made.problem, 1, &there));
        const bool made_there = there.device_lmo.step != NULL;
        const bool powers = norms[i / 2] != 1 && norms[i / 2] != 2 && !isinf(norms[i / 2]);
        for (int kind = 0; kind < KINDS && made_there; kind += powers ? 3 : 1) { /* powers take their time */
            test_note("set %s, p %g, values %d", i % 2 == 0 ? "s" : "sa", norms[i / 2], kind);
            compare(&made, kind, &here, &there, &kernels[0], &kernels[1]);
        }
        test_note_clear();
        if (!made_there) {
            assert_null(made.context->device);
        }
        nadir_kernel_free(kernels[0]);
        nadir_kernel_free(kernels[1]);
        nadir_lmo_rectangular_clear(made.context, &here);
        nadir_lmo_rectangular_clear(made.context, &there);
        teardown(&made);
        if (!made_there) {
            skip();
            return;
        }
    }
}

/* Values that are all the same: rows stay as they are. */
static void test_nothing_moves(void **state)
{
    fixture made = {0};
    nadir_lmo_rectangular there = {0};
    nadir_kernel *kernel = NULL;
    (void)state;
    setup(NADIR_SET_S, 1.5, &made);
    assert_ok(made.context, nadir_lmo_rectangular_make_on_device(made.context, &made.problem, 1, &there));
    const bool made_there = there.device_lmo.step != NULL;
    if (made_there) {
        assert_ok(made.context, nadir_lmo_rectangular_solve(made.context, &there, made.v));
        assert_ok(made.context, nadir_lmo_rectangular_kernel(made.context, &there, &kernel));
        for (int64_t s = 0; s < STATES; s++) {
            assert_true(there.gain[s] == 0);
        }
        for (int64_t row = 0; row < made.model->rows; row++) {
            assert_true(nadir_kernel_is_nominal(kernel, row));
        }
    }
    nadir_kernel_free(kernel);
    nadir_lmo_rectangular_clear(made.context, &there);
    teardown(&made);
    if (!made_there) {
        skip();
    }
}

/* A device that counts answers, and has no room for numbers or for matrices of kernels of its own. */
static const nadir_device *whole;
static nadir_device scarce;
static int answers, refused;
static bool no_numbers, no_matrix;

static nadir_status count_answers(void *step, nadir_context *context, double beta, const double *x,
                                  const double *d, nadir_device_lmo_result *answer)
{
    answers++;
    return whole->lmo_solve(step, context, beta, x, d, answer);
}

static nadir_status refuse(nadir_context *context)
{
    refused++;
    return nadir_fail(context, NADIR_ERROR_MEMORY, "no room, says the test");
}

static nadir_status scarce_numbers(void *step, nadir_context *context, void **numbers)
{
    return no_numbers ? refuse(context) : whole->lmo_kernel(step, context, numbers);
}

static nadir_status scarce_put(void *kept, nadir_context *context, const nadir_device_perturbed *from,
                               void **numbers)
{
    return no_numbers ? refuse(context) : whole->perturbed_upload(kept, context, from, numbers);
}

static nadir_status scarce_average(void *kept, nadir_context *context, const void *values,
                                   const double *probabilities, void **matrix, nadir_device_facts *facts)
{
    return no_matrix ? refuse(context)
                     : whole->average_perturbed(kept, context, values, probabilities, matrix, facts);
}

static nadir_status scarce_upload(void *self, nadir_context *context, const nadir_device_rows *rows,
                                  void **matrix, nadir_device_facts *facts)
{
    return no_matrix ? refuse(context) : whole->matrix_upload(self, context, rows, matrix, facts);
}

static void use_scarce(nadir_context *context)
{
    whole = context->device;
    scarce = *whole;
    scarce.lmo_solve = count_answers;
    scarce.lmo_kernel = scarce_numbers;
    scarce.perturbed_upload = scarce_put;
    scarce.average_perturbed = scarce_average;
    scarce.matrix_upload = scarce_upload;
    context->device = &scarce;
}

/* Return and lower bound of a set, with the device of the context, if it has one. */
static void evaluate(nadir_context *context, const nadir_ball *ball, double found[2])
{
    nadir_generate_settings shape = test_generate_settings();
    nadir_candidate attack = {0};
    shape.states = 3500;
    shape.actions = 4;
    shape.seed = SEED;
    nadir_model *model = test_generate(context, "garnet", &shape);
    assert_true(model->nonzeros >= 65536);
    nadir_policy *policy = test_uniform_policy(context, model);
    test_problem made = test_problem_make(context, model, policy, ball,
                                          context->device != NULL ? "device-krylov" : "krylov", 1);
    const nadir_problem *problem = test_problem_view(&made);
    assert_ok(context, nadir_rectangular_policy_iteration(context, problem, 1, 1e-13, 100, &attack));
    assert_true(attack.converged);
    found[0] = attack.J;
    assert_ok(context, nadir_rectangular_check(context, problem, 1, attack.v, &found[1]));
    nadir_candidate_clear(context, &attack);
    test_problem_clear(&made);
}

static void compare_evaluations(nadir_context *context, const nadir_ball *ball, const double wanted[2])
{
    double found[2];
    answers = 0;
    refused = 0;
    evaluate(context, ball, found);
    assert_close(found[0], wanted[0], 1e-11);
    assert_close(found[1], wanted[1], 1e-10);
    assert_true(answers > 0);
    assert_int_equal(refused > 0, no_numbers || no_matrix);
}

static void test_evaluations(void **state)
{
    const double radius = 0.05;
    (void)state;
    for (int i = 0; i < NORMS; i++) {
        const nadir_set set = i % 2 == 0 ? NADIR_SET_S : NADIR_SET_SA;
        const nadir_ball ball = test_ball(set, NADIR_DOMAIN_SUPPORT, norms[i], &radius, NULL);
        nadir_context *alone = NULL;
        nadir_context *context = test_context();
        double wanted[2];
        if (context->device == NULL) {
            nadir_context_free(context);
            skip();
            return;
        }
        test_note("set %s, p %g", i % 2 == 0 ? "s" : "sa", norms[i]);
        assert_int_equal(nadir_context_create(NULL, &alone), NADIR_OK);
        evaluate(alone, &ball, wanted);
        nadir_context_free(alone);
        use_scarce(context);
        no_numbers = false;
        no_matrix = false;
        compare_evaluations(context, &ball, wanted);
        if (norms[i] == 2 || isinf(norms[i])) {
            no_matrix = true;
            compare_evaluations(context, &ball, wanted);
            no_numbers = true;
            compare_evaluations(context, &ball, wanted);
        }
        nadir_context_free(context);
    }
    test_note_clear();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_answers),
        cmocka_unit_test(test_nothing_moves),
        cmocka_unit_test(test_evaluations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
