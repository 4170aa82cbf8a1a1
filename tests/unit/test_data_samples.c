/* test_data_samples.c: posterior samples of a kernel, against a table made beside the file. */
#include "support/support.h"

#include "core/random.h"
#include "io/format.h"
#include "support/numpy.h"
#include "support/scarce.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SEED     711
#define STATES   6
#define ACTIONS  3
#define OUTCOMES 5

#define HEADER "idoutcome,idstatefrom,idaction,idstateto,probability,reward\n"

/* One probability of the file. */
typedef struct line {
    int outcome, state, action, successor;
    double probability, reward;
} line;

/* Samples with gaps: states without actions, actions that a state does not have, successors that only some
 * outcomes have, and probabilities of 0. */
typedef struct drawn {
    bool has_row[STATES][ACTIONS];
    double p[OUTCOMES][STATES][ACTIONS][STATES];
    double reward[STATES][ACTIONS]; /* expected, averaged over outcomes */
    int count;
    line lines[OUTCOMES * STATES * ACTIONS * STATES];
} drawn;

static void draw_row(drawn *into, nadir_random *random, int outcome, int state, int action)
{
    double *p = into->p[outcome][state][action];
    int parts[STATES] = {0};
    for (int i = 0; i < 64; i++) { /* sums of 64ths are exact */
        parts[nadir_random_below(random, nadir_random_below(random, 2) == 0 ? STATES : 2)]++;
    }
    for (int successor = 0; successor < STATES; successor++) {
        p[successor] = parts[successor] / 64.0;
        if (parts[successor] > 0 || nadir_random_below(random, 3) == 0) {
            const double reward = (double)nadir_random_below(random, 32);
            into->lines[into->count++] = (line){outcome, state, action, successor, p[successor], reward};
            into->reward[state][action] += p[successor] * reward / OUTCOMES;
        }
    }
}

static void draw(drawn *into, uint64_t seed)
{
    nadir_random random = test_random(seed);
    memset(into, 0, sizeof *into);
    for (int s = 0; s < STATES; s++) {
        for (int a = 0; a < ACTIONS; a++) {
            into->has_row[s][a] = nadir_random_below(&random, 3) > 0 || (s == STATES - 1 && a == ACTIONS - 1);
            for (int k = 0; into->has_row[s][a] && k < OUTCOMES; k++) {
                draw_row(into, &random, k, s, a);
            }
        }
    }
    for (int i = into->count - 1; i > 0; i--) { /* in any order */
        const int other = (int)nadir_random_below(&random, (uint64_t)i + 1);
        const line kept = into->lines[i];
        into->lines[i] = into->lines[other];
        into->lines[other] = kept;
    }
}

static void write_text(const drawn *from, bool rewards)
{
    FILE *file = fopen("samples.csv", "wb");
    assert_non_null(file);
    (void)fprintf(file, "idstatefrom,idaction,\"idoutcome\",idstateto,probability%s\n",
                  rewards ? ",reward" : "");
    for (int i = 0; i < from->count; i++) {
        const line *at = &from->lines[i];
        (void)fprintf(file, "%d,%d,%d,%d,%.17g", at->state, at->action, at->outcome, at->successor,
                      at->probability);
        if (rewards) {
            (void)fprintf(file, ",%g", at->reward);
        }
        (void)fputc('\n', file);
    }
    (void)fclose(file);
}

static void write_records(const drawn *from)
{
    struct {
        double probability, reward, state;
        int32_t action, successor;
        int64_t outcome;
    } *records = calloc((size_t)from->count, sizeof *records);
    assert_non_null(records);
    for (int i = 0; i < from->count; i++) {
        const line *at = &from->lines[i];
        records[i].probability = at->probability;
        records[i].reward = at->reward;
        records[i].state = at->state;
        records[i].action = at->action;
        records[i].successor = at->successor;
        records[i].outcome = at->outcome;
    }
    char header[400];
    (void)snprintf(
        header, sizeof header,
        "{'descr': [('probability', '<f8'), ('reward', '<f8'), ('state', '<f8'), ('action', '<i4'), "
        "('next_state', '<i4'), ('outcome', '<i8')], 'fortran_order': False, 'shape': (%d,), }\n",
        from->count);
    test_write_npy_header("samples.npy", header, records, (size_t)from->count * sizeof *records);
    free(records);
}

static void check_row(const nadir_samples *samples, const drawn *from, int64_t row, int s, bool rewards)
{
    const int a = samples->row_actions[row];
    assert_true(a >= 0 && a < ACTIONS && from->has_row[s][a]);
    assert_true(row == samples->state_rows[s] || samples->row_actions[row - 1] < a);
    for (int k = 0; k < OUTCOMES; k++) {
        const double *p = samples->probabilities + k * samples->nonzeros;
        double sum = 0;
        for (int64_t i = samples->row_starts[row]; i < samples->row_starts[row + 1]; i++) {
            assert_true(i == samples->row_starts[row] || samples->columns[i] > samples->columns[i - 1]);
            assert_true(p[i] == from->p[k][s][a][samples->columns[i]]);
            sum += p[i];
        }
        assert_true(sum == 1); /* so that no successor was left out */
    }
    for (int64_t i = samples->row_starts[row]; i < samples->row_starts[row + 1]; i++) {
        double largest = 0;
        for (int k = 0; k < OUTCOMES; k++) {
            largest = fmax(largest, samples->probabilities[k * samples->nonzeros + i]);
        }
        assert_true(largest > 0); /* the support is no larger than it must be */
    }
    double sum = 0;
    for (int64_t i = samples->row_starts[row]; rewards && i < samples->row_starts[row + 1]; i++) {
        sum += samples->reward_sums[i];
    }
    assert_close(sum, rewards ? from->reward[s][a] : 0, 1e-13);
}

static void check_samples(const nadir_data *data, const drawn *from, bool rewards)
{
    const nadir_samples *samples = data->samples;
    assert_int_equal(data->kind, NADIR_DATA_SAMPLES);
    assert_null(data->counts);
    assert_int_equal(samples->states, STATES);
    assert_int_equal(samples->outcomes, OUTCOMES);
    assert_int_equal(samples->reward_sums != NULL, rewards);
    assert_int_equal(samples->state_rows[0], 0);
    assert_int_equal(samples->state_rows[STATES], samples->rows);
    assert_int_equal(samples->row_starts[0], 0);
    assert_int_equal(samples->row_starts[samples->rows], samples->nonzeros);
    int64_t rows = 0;
    for (int s = 0; s < STATES; s++) {
        for (int64_t row = samples->state_rows[s]; row < samples->state_rows[s + 1]; row++) {
            check_row(samples, from, row, s, rewards);
        }
        for (int a = 0; a < ACTIONS; a++) {
            rows += from->has_row[s][a];
        }
    }
    assert_int_equal(samples->rows, rows);
}

static void samples_are_those_of_the_file(void **state)
{
    nadir_context *context = *state;
    drawn *from = malloc(sizeof *from);
    for (int round = 0; round < test_often(20); round++) {
        nadir_data data;
        test_note("seed %d", SEED + round);
        draw(from, (uint64_t)(SEED + round));
        for (int form = 0; form < 3; form++) {
            if (form == 2) {
                write_records(from);
            } else {
                write_text(from, form == 0);
            }
            assert_ok(context,
                      nadir_data_read(context, form == 2 ? "samples.npy" : "samples.csv", NULL, &data));
            check_samples(&data, from, form != 1);
            nadir_data_clear(context, &data);
        }
    }
    assert_string_equal(test_messages(), "");
    test_note_clear();
    free(from);
}

static void rows_that_are_nearly_right_are_normalised(void **state)
{
    nadir_context *context = *state;
    nadir_data data;
    test_write_file("samples.csv", HEADER "0,0,0,0,0.25,8\n0,0,0,1,0.750005,0\n0,0,0,0,0,1000\n"
                                          "1,0,0,1,0.5,4\n1,0,0,1,0.5,2\n");
    assert_ok(context, nadir_data_read(context, "samples.csv", NULL, &data));
    const nadir_samples *samples = data.samples;
    assert_int_equal(samples->states, 2);
    assert_int_equal(samples->rows, 1);
    assert_int_equal(samples->nonzeros, 2);
    assert_close(samples->probabilities[0], 0.25 / 1.000005, 1e-15);
    assert_close(samples->probabilities[0] + samples->probabilities[1], 1, 1e-15);
    assert_true(samples->probabilities[2] == 0 && samples->probabilities[3] == 1);
    assert_close(samples->reward_sums[0], 1 / 1.000005, 1e-15);
    assert_close(samples->reward_sums[1], 1.5, 1e-15);
    assert_non_null(
        strstr(test_messages(), "rows of outcomes normalised; their sums were off by up to 5e-06"));
    nadir_data_clear(context, &data);
}

/* Outcomes with nothing in common would need a number for every pair of transition and outcome. */
static void samples_without_a_common_support_are_refused(void **state)
{
    enum { COUNT = 20000 };
    nadir_context *context = *state;
    nadir_data data;
    FILE *file = fopen("samples.csv", "wb");
    assert_non_null(file);
    (void)fputs(HEADER, file);
    for (int i = 0; i < COUNT; i++) {
        (void)fprintf(file, "%d,0,0,%d,1,0\n", i, i);
    }
    (void)fclose(file);
    assert_fails(context, nadir_data_read(context, "samples.csv", NULL, &data), NADIR_ERROR_FORMAT,
                 "20000 outcomes have 20000 different transitions");
}

static nadir_status attempt(nadir_context *context, const void *of)
{
    nadir_data data;
    const nadir_status status = nadir_data_read(context, of, NULL, &data);
    nadir_data_clear(context, &data);
    return status;
}

static void memory_may_run_out_anywhere(void **state)
{
    (void)state;
    drawn *from = malloc(sizeof *from);
    draw(from, SEED);
    write_text(from, true);
    write_records(from);
    test_run_out(attempt, "samples.csv", NULL, "reading samples");
    test_run_out(attempt, "samples.npy", NULL, "reading samples");
    free(from);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test_with_context(samples_are_those_of_the_file),
        test_with_context(rows_that_are_nearly_right_are_normalised),
        test_with_context(samples_without_a_common_support_are_refused),
        cmocka_unit_test(memory_may_run_out_anywhere),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
