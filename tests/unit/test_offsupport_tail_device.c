/*
 * Kernels with lines averaged, multiplied and solved with by a device, against their definition in long
 * double and against the processor. Without a device the same holds for the processor alone.
 */
#include "support/support.h"

#include "core/context.h"
#include "solve/occupancy.h"
#include "support/families.h"
#include "support/generated.h"
#include "support/perturbed.h"
#include "support/reference.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SEED = 14014, SIDES = 5 };
#define GAMMA 0.9

/* Sums of the reference lose as much again where long double has no more digits than double. */
static double coarse(void)
{
    return test_long_unit() < 1e-18 ? 1 : 1000;
}

/* A spread kernel of a garnet, with what the device makes of it. */
typedef struct fixture {
    nadir_context *context; /* with a device if there is one */
    nadir_context *here;    /* without */
    nadir_random random;
    nadir_model *model;
    nadir_kernel *kernel;
    nadir_policy *policy;
    int64_t states, rows;
} fixture;

static fixture setup(int64_t states, int64_t actions, int64_t branch)
{
    fixture made = {.context = test_context(), .states = states, .rows = states * actions};
    nadir_generate_settings shape = test_generate_settings();
    shape.states = states;
    shape.actions = actions;
    shape.branch = branch;
    shape.seed = SEED;
    assert_int_equal(nadir_context_create(NULL, &made.here), NADIR_OK);
    nadir_random_seed(&made.random, SEED);
    made.model = test_generate(made.here, "garnet", &shape);
    made.policy = test_policy(made.here, made.model, TEST_RANDOM, &made.random);
    assert_ok(made.here, test_perturbed_create(made.here, made.model, true, &made.kernel));
    return made;
}

static void teardown(fixture *made)
{
    nadir_policy_free(made->policy);
    nadir_kernel_free(made->kernel);
    nadir_model_free(made->model);
    nadir_context_free(made->context);
    nadir_context_free(made->here);
}

/* Products by the definition. */
typedef struct reference {
    const fixture *of;
    const nadir_perturbed *perturbed;
    int64_t *places;     /* [states] */
    long double *plain;  /* [states + 1] sums of y before a place */
    long double *moment; /* [states + 1] of x y */
} reference;

static reference reference_make(const fixture *of)
{
    reference made = {.of = of, .perturbed = nadir_kernel_perturbed(of->kernel)};
    made.places = test_new(of->states, sizeof *made.places);
    made.plain = test_new(of->states + 1, sizeof *made.plain);
    made.moment = test_new(of->states + 1, sizeof *made.moment);
    for (int64_t i = 0; i < of->states; i++) {
        made.places[made.perturbed->order[i]] = i;
    }
    return made;
}

static void reference_clear(reference *made)
{
    free(made->places);
    free(made->plain);
    free(made->moment);
}

static double x_at(const reference *of, int64_t place)
{
    return of->perturbed->x[of->perturbed->order[place]];
}

/* The line of a row at a place within its length. */
static long double line_at(const reference *of, int64_t row, int64_t place)
{
    const double x_last = x_at(of, of->perturbed->length[row] - 1);
    const double last = of->perturbed->omega[row] - of->perturbed->slope[row] * x_last;
    return last + (long double)of->perturbed->slope[row] * ((long double)x_last - x_at(of, place));
}

/* The stored part of a row: entries less the line, and the extra state. One after another: returns whether
 * there is an i-th. */
static bool stored(const reference *of, int64_t row, int64_t i, int32_t *column, long double *value)
{
    const nadir_model *model = of->of->model;
    const int64_t at = model->row_starts[row] + i;
    if (at < model->row_starts[row + 1]) {
        *column = model->columns[at];
        *value = of->perturbed->nominal[row] ? model->probabilities[at] : of->perturbed->values[at];
        *value -=
            of->places[*column] < of->perturbed->length[row] ? line_at(of, row, of->places[*column]) : 0;
        return true;
    }
    *column = of->perturbed->extra[row];
    *value = of->perturbed->amount[row];
    return at == model->row_starts[row + 1] && *column >= 0;
}

/* P^pi y. */
static void multiply(reference *of, const double *y, long double *to)
{
    const nadir_model *model = of->of->model;
    of->plain[0] = 0;
    of->moment[0] = 0;
    for (int64_t i = 0; i < of->of->states; i++) {
        const double value = y[of->perturbed->order[i]];
        of->plain[i + 1] = of->plain[i] + value;
        of->moment[i + 1] = of->moment[i] + (long double)x_at(of, i) * value;
    }
    for (int64_t s = 0; s < of->of->states; s++) {
        to[s] = 0;
        for (int64_t row = model->state_rows[s]; row < model->state_rows[s + 1]; row++) {
            const double weight = of->of->policy->probabilities[row];
            const int32_t length = of->perturbed->length[row];
            long double sum = 0;
            int32_t column;
            long double value;
            for (int64_t i = 0; stored(of, row, i, &column, &value); i++) {
                sum += value * y[column];
            }
            if (length > 0) {
                sum += line_at(of, row, length - 1) * of->plain[length] +
                       of->perturbed->slope[row] *
                           ((long double)x_at(of, length - 1) * of->plain[length] - of->moment[length]);
            }
            to[s] += weight * sum;
        }
    }
}

/* (P^pi)^T y. */
static void multiply_transposed(reference *of, const double *y, long double *to)
{
    const nadir_model *model = of->of->model;
    const int64_t n = of->of->states;
    memset(to, 0, (size_t)n * sizeof *to);
    memset(of->plain, 0, (size_t)(n + 1) * sizeof *of->plain);
    memset(of->moment, 0, (size_t)(n + 1) * sizeof *of->moment);
    for (int64_t s = 0; s < n; s++) {
        for (int64_t row = model->state_rows[s]; row < model->state_rows[s + 1]; row++) {
            const long double weight = (long double)of->of->policy->probabilities[row] * y[s];
            const int32_t length = of->perturbed->length[row];
            int32_t column;
            long double value;
            for (int64_t i = 0; stored(of, row, i, &column, &value); i++) {
                to[column] += weight * value;
            }
            if (length > 0) {
                const long double slope = of->perturbed->slope[row];
                of->plain[length - 1] +=
                    weight * (line_at(of, row, length - 1) + slope * x_at(of, length - 1));
                of->moment[length - 1] += weight * slope;
            }
        }
    }
    for (int64_t i = n - 1; i >= 0; i--) {
        of->plain[i] += of->plain[i + 1];
        of->moment[i] += of->moment[i + 1];
        to[of->perturbed->order[i]] += of->plain[i] - of->moment[i] * x_at(of, i);
    }
}

static double *vectors(int64_t states, int64_t count)
{
    double *x = test_new(states * count, sizeof *x);
    for (int64_t j = 0; j < count; j++) {
        for (int64_t i = 0; i < states; i++) {
            x[j * states + i] = j == 1 ? 1 : j == 2 ? (double)(i == 7) : cos((double)(i + j * states));
        }
    }
    return x;
}

static void make_average(const fixture *made, nadir_average *average)
{
    assert_ok(made->context, nadir_average_make(made->context, made->kernel, made->policy, average));
    assert_int_equal(average->tail.device_matrix != NULL, made->context->device != NULL);
    assert_int_equal(average->tail.states, made->states);
}

/* Products of an average, plain and transposed, within what it promises, and 1e-12 of their terms. */
static void check_products(const fixture *made, nadir_average *average)
{
    static const double scalings[][2] = {{0, 1}, {1, -GAMMA}};
    enum { COUNT = 3 };
    const int64_t n = made->states;
    reference against = reference_make(made);
    double *x = vectors(n, COUNT);
    double *y = test_new(2 * COUNT * n, sizeof *y);
    long double *exact = test_new(n, sizeof *exact);
    for (int k = 0; k < 4; k++) {
        const bool transposed = k % 2 == 1;
        const double shift = scalings[k / 2][0];
        const double scale = scalings[k / 2][1];
        for (int again = 0; again < 2; again++) {
            assert_ok(made->context, nadir_average_combine(made->context, average, transposed, COUNT, shift,
                                                           scale, x, y + again * COUNT * n));
        }
        assert_memory_equal(y, y + COUNT * n, (size_t)(COUNT * n) * sizeof *y);
        const double roundings = nadir_average_roundings(made->context, average, transposed);
        const double unit = fmin(DBL_EPSILON / 2 * roundings, 1e-12);
        const double most = (unit * nadir_average_terms(average) + 4 * DBL_EPSILON) * coarse();
        for (int64_t j = 0; j < COUNT; j++) {
            double norms[3] = {0, 0, 0}; /* of x, of the product, of the error */
            (transposed ? multiply_transposed : multiply)(&against, x + j * n, exact);
            for (int64_t s = 0; s < n; s++) {
                const double wanted = (double)(shift * x[j * n + s] + scale * exact[s]);
                const double of[3] = {fabs(x[j * n + s]), fabs(wanted), fabs(y[j * n + s] - wanted)};
                for (int i = 0; i < 3; i++) {
                    norms[i] = transposed ? norms[i] + of[i] : fmax(norms[i], of[i]);
                }
            }
            assert_that(norms[2] <= most * norms[0], "%s, %lld: off by %g, more than %g",
                        transposed ? "transposed" : "plain", (long long)j, norms[2], most * norms[0]);
        }
    }
    free(x);
    free(y);
    free(exact);
    reference_clear(&against);
}

/* What is said of the average, as the processor says it. */
static void check_facts(const fixture *made, const nadir_average *average)
{
    nadir_average expected = {0};
    assert_ok(made->here, nadir_average_make(made->here, made->kernel, made->policy, &expected));
    assert_close(average->norm, expected.norm, 1e-13 * expected.norm);
    assert_close(nadir_average_terms(average), nadir_average_terms(&expected),
                 1e-13 * nadir_average_terms(&expected));
    const int64_t extras = average->tail.device_matrix != NULL ? expected.tail.extra.starts[made->states] : 0;
    assert_int_equal(nadir_offsupport_tail_entries(&average->tail),
                     nadir_offsupport_tail_entries(&expected.tail) - extras);
    assert_true(nadir_average_row_length(average) >= nadir_average_row_length(&expected));
    nadir_average_clear(made->here, &expected);
}

/* Entry by entry. */
static void check_numbers(const fixture *made, const nadir_average *average, const long double *wanted)
{
    long double *found = test_average_numbers(average);
    for (int64_t i = 0; i < made->states * made->states; i++) {
        assert_that(fabsl(found[i] - wanted[i]) <= 1e-15L * (long double)coarse() * (1 + fabsl(wanted[i])),
                    "entry %lld: %Lg, not %Lg", (long long)i, found[i], wanted[i]);
    }
    free(found);
}

static void test_averages(void **state)
{
    (void)state;
    fixture made = test_memcheck() ? setup(170, 5, 5) : setup(400, 3, 5);
    for (int round = 0; round < 4; round += test_memcheck() ? 3 : 1) {
        nadir_average average = {0};
        test_note("round %d", round);
        test_perturbed_fill(made.model, round >= 2, &made.random, nadir_kernel_perturbed(made.kernel));
        double *numbers = test_perturbed_numbers(made.model, nadir_kernel_perturbed(made.kernel));
        long double *wanted = test_dense_average(made.model, numbers, made.policy->probabilities);
        make_average(&made, &average);
        check_facts(&made, &average);
        check_products(&made, &average);
        assert_ok(made.context, nadir_average_fetch(made.context, &average));
        check_numbers(&made, &average, wanted);
        check_products(&made, &average); /* still there */
        assert_ok(made.context, nadir_average_expand(made.context, &average));
        assert_int_equal(average.tail.states, 0);
        assert_null(average.device_matrix);
        check_numbers(&made, &average, wanted);
        check_products(&made, &average);
        nadir_average_clear(made.context, &average);
        free(wanted);
        free(numbers);
    }
    test_note_clear();
    teardown(&made);
}

/* Lines of `length` states in every row, or any if it is negative, none if it is zero; extra states in some
 * rows; 0.2 of each row moves there, roughly. */
static void fill(fixture *made, int64_t length)
{
    nadir_perturbed *perturbed = nadir_kernel_perturbed(made->kernel);
    const int64_t n = made->states;
    for (int64_t i = 0; i < n; i++) {
        perturbed->order[i] = (int32_t)((i * 7919 + 5) % n);
        perturbed->x[perturbed->order[i]] = 1000 + floor((double)i / 3); /* ties, far from zero */
    }
    for (int64_t row = 0; row < made->rows; row++) {
        const int64_t any = 1 + (int64_t)nadir_random_below(&made->random, (uint64_t)n);
        const int64_t end = made->model->row_starts[row + 1] - 1;
        const int32_t next = made->model->columns[end] + 1;
        perturbed->nominal[row] = row % 7 == 3;
        perturbed->length[row] = (int32_t)(perturbed->nominal[row] ? 0 : length < 0 ? any : length);
        perturbed->extra[row] = row % 7 != 3 && row % 5 == 0 && next < n ? next : -1;
        perturbed->amount[row] = 0.05;
        if (perturbed->length[row] > 0) {
            const double x_last = perturbed->x[perturbed->order[perturbed->length[row] - 1]];
            perturbed->slope[row] = 0.1 / ((double)perturbed->length[row] * (double)n);
            perturbed->omega[row] = 0.1 / perturbed->length[row] + perturbed->slope[row] * x_last;
        }
        for (int64_t i = made->model->row_starts[row]; i <= end; i++) {
            perturbed->values[i] = 0.8 * made->model->probabilities[i];
        }
    }
}

/* Solutions by their residuals. */
static void check_solves(const fixture *made, nadir_occupancy *occupancy)
{
    const int64_t n = made->states;
    reference against = reference_make(made);
    double *b = vectors(n, SIDES);
    double *x = test_new(SIDES * n, sizeof *x);
    long double *product = test_new(n, sizeof *product);
    for (int k = 0; k < 4; k++) {
        const bool transposed = k % 2 == 1;
        const int64_t count = k < 2 ? SIDES : 1;
        assert_ok(made->context, (transposed ? nadir_occupancy_solve_transposed : nadir_occupancy_solve)(
                                     made->context, occupancy, count, b, x, NULL));
        for (int64_t j = 0; j < count; j++) {
            double size = 0;
            double off = 0;
            (transposed ? multiply_transposed : multiply)(&against, x + j * n, product);
            for (int64_t s = 0; s < n; s++) {
                const double left = (double)fabsl(x[j * n + s] - GAMMA * product[s] - b[j * n + s]);
                off = transposed ? off + left : fmax(off, left);
                size = transposed ? size + fabs(x[j * n + s]) : fmax(size, fabs(x[j * n + s]));
            }
            assert_that(off <= 1e-12 * coarse() * size, "%s, right-hand side %lld: the residual is %g of %g",
                        transposed ? "transposed" : "plain", (long long)j, off, size);
        }
    }
    free(b);
    free(x);
    free(product);
    reference_clear(&against);
}

static void test_solves(void **state)
{
    static const char *const backends[] = {"device-krylov", "krylov", "klu", NULL};
    static const int64_t lengths[] = {-1, 0, 3};
    (void)state;
    fixture made = setup(test_memcheck() ? 550 : 1100, 2, 4);
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        fill(&made, lengths[i]);
        for (size_t k = 0; k < sizeof backends / sizeof *backends; k++) {
            const char *backend = backends[k];
            const bool remote = made.context->device != NULL;
            const bool iterates = backend != NULL && strcmp(backend, "klu") != 0;
            nadir_occupancy *occupancy = NULL;
            if ((!remote && backend != NULL && strcmp(backend, "device-krylov") == 0) ||
                (backend != NULL && !iterates && lengths[i] < 0)) { /* all of it would be written out */
                continue;
            }
            test_note("%s, lengths %lld", backend != NULL ? backend : "auto", (long long)lengths[i]);
            assert_ok(made.context, nadir_occupancy_create(made.context, made.kernel, made.policy, GAMMA,
                                                           backend, 0, &occupancy));
            const nadir_average *average = nadir_occupancy_average(occupancy);
            if (iterates || lengths[i] < 0) { /* nothing was written out */
                assert_int_equal(average->tail.states, made.states);
                assert_int_equal(average->tail.device_matrix != NULL, remote);
            } else {
                assert_int_equal(average->tail.states, 0);
            }
            if (backend == NULL && lengths[i] < 0) {
                assert_string_equal(nadir_occupancy_backend(occupancy), remote ? "device-krylov" : "krylov");
            }
            check_solves(&made, occupancy);
            fill(&made, lengths[i]); /* and again */
            assert_ok(made.context,
                      nadir_occupancy_update(made.context, occupancy, made.kernel, made.policy));
            check_solves(&made, occupancy);
            nadir_occupancy_free(made.context, occupancy);
        }
    }
    test_note_clear();
    teardown(&made);
}

static nadir_status refuse(void *kept, nadir_context *context, const void *values,
                           const double *probabilities, void **matrix, nadir_device_facts *facts)
{
    (void)kept;
    (void)values;
    (void)probabilities;
    (void)matrix;
    (void)facts;
    return nadir_fail(context, NADIR_ERROR_MEMORY, "no room");
}

/* A device without room for lines leaves them to the processor, as they are, until it has some. */
static void test_no_room(void **state)
{
    nadir_occupancy *occupancy = NULL;
    (void)state;
    fixture made = setup(test_memcheck() ? 550 : 1100, 2, 4);
    if (made.context->device == NULL) {
        teardown(&made);
        skip();
        return;
    }
    const nadir_device *device = made.context->device;
    nadir_device scarce = *device;
    scarce.average_perturbed = refuse;
    made.context->device = &scarce;
    fill(&made, -1);
    assert_ok(made.context, nadir_occupancy_create(made.context, made.kernel, made.policy, GAMMA,
                                                   "device-krylov", 0, &occupancy));
    const nadir_average *average = nadir_occupancy_average(occupancy);
    assert_string_equal(nadir_occupancy_backend(occupancy), "krylov");
    assert_int_equal(average->tail.states, made.states);
    assert_null(average->device_matrix);
    check_solves(&made, occupancy);
    made.context->device = device;
    assert_ok(made.context, nadir_occupancy_update(made.context, occupancy, made.kernel, made.policy));
    assert_string_equal(nadir_occupancy_backend(occupancy), "device-krylov");
    assert_non_null(average->tail.device_matrix);
    check_solves(&made, occupancy);
    nadir_occupancy_free(made.context, occupancy);
    teardown(&made);
}

/* What is made on the device is given back. */
static void test_memory(void **state)
{
    enum { ROUNDS = 4 };
    double taken[ROUNDS] = {0};
    double left;
    (void)state;
    fixture made = setup(550, 2, 4);
    if (made.context->device == NULL) {
        teardown(&made);
        skip();
        return;
    }
    for (int round = 0; round < ROUNDS; round++) {
        nadir_occupancy *occupancy = NULL;
        fill(&made, -1);
        assert_ok(made.context, nadir_occupancy_create(made.context, made.kernel, made.policy, GAMMA,
                                                       "device-krylov", 0, &occupancy));
        check_solves(&made, occupancy);
        nadir_occupancy_free(made.context, occupancy);
        (void)nadir_kernel_perturbed(made.kernel); /* forgets its numbers there */
        made.context->device->memory(made.context->device_self, &taken[round], &left);
    }
    assert_that(taken[ROUNDS - 1] == taken[0], "%.0f bytes more are taken", taken[ROUNDS - 1] - taken[0]);
    teardown(&made);
}

/* So many states, and lines, that their sums are made in several steps; and all lines ending at one place. */
static void test_many_pieces(void **state)
{
    const bool large = getenv("NADIR_TEST_ENGINE") != NULL;
    static const int64_t lengths[] = {-1, 1, INT32_MAX};
    (void)state;
    fixture made = setup(large ? 300007 : 5003, 1, 3);
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        nadir_average average = {0};
        test_note("lengths %lld", (long long)lengths[i]);
        fill(&made, lengths[i] < made.states ? lengths[i] : made.states);
        make_average(&made, &average);
        check_facts(&made, &average);
        check_products(&made, &average);
        nadir_average_clear(made.context, &average);
    }
    test_note_clear();
    teardown(&made);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_averages), cmocka_unit_test(test_solves),      cmocka_unit_test(test_no_room),
        cmocka_unit_test(test_memory),   cmocka_unit_test(test_many_pieces),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
