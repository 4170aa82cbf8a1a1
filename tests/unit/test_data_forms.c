/* test_data_forms.c: the same log gives the same counts in whichever form it comes. */
#include "support/support.h"

#include "core/random.h"
#include "io/format.h"
#include "io/npy.h"
#include "support/logged.h"
#include "support/numpy.h"
#include "support/scarce.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SEED 20251

/* Everything about the counts that the log says, without looking at how they were made. */
static void check_counts(const nadir_counts *counts, const test_log *log, bool rewards, bool episodes)
{
    const size_t places = (size_t)log->states * (size_t)log->actions * (size_t)log->states;
    double *seen = calloc(places, sizeof *seen);
    double *sums = calloc(places, sizeof *sums);
    double *initial = calloc((size_t)log->states, sizeof *initial);
    for (int i = 0; i < log->count; i++) {
        const test_step *at = &log->steps[i];
        const int place = (at->state * log->actions + at->action) * log->states + at->successor;
        seen[place] += 1;
        sums[place] += at->reward;
        initial[at->state] += i == 0 || log->steps[i - 1].last;
    }
    assert_int_equal(counts->states, log->states);
    assert_int_equal(counts->rows, log->states * log->actions);
    assert_true(counts->total == log->count);
    assert_int_equal(counts->reward_sums != NULL, rewards);
    assert_int_equal(counts->row_starts[0], 0);
    assert_int_equal(counts->row_starts[counts->rows], counts->nonzeros);
    int64_t visited = 0;
    for (int64_t row = 0; row < counts->rows; row++) {
        const int64_t first = counts->row_starts[row];
        const int64_t end = counts->row_starts[row + 1];
        assert_true(end >= first);
        visited += end > first;
        for (int64_t i = first; i < end; i++) {
            const int64_t place = row * log->states + counts->columns[i];
            assert_true(i == first || counts->columns[i] > counts->columns[i - 1]);
            assert_true(counts->counts[i] > 0 && counts->counts[i] == seen[place]);
            assert_true(counts->reward_sums == NULL || counts->reward_sums[i] == sums[place]);
            seen[place] = 0;
        }
    }
    for (size_t i = 0; i < places; i++) { /* nothing was left out */
        assert_true(seen[i] == 0);
    }
    assert_int_equal(counts->visited, visited);
    assert_int_equal(counts->episodes, episodes ? log->episodes : 0);
    assert_int_equal(counts->initial != NULL, episodes);
    for (int s = 0; s < log->states; s++) {
        assert_int_equal(counts->state_rows[s], s * log->actions);
        assert_true(!episodes || counts->initial[s] == initial[s]);
    }
    free(seen);
    free(sums);
    free(initial);
}

static nadir_data_kind expected_kind(test_log_form form)
{
    return test_log_form_has_episodes(form)                             ? NADIR_DATA_TRAJECTORIES
           : form == TEST_LOG_COUNTS || form == TEST_LOG_RECORDS_COUNTS ? NADIR_DATA_COUNTS
                                                                        : NADIR_DATA_TRANSITIONS;
}

static void every_form_gives_the_same_counts(void **state)
{
    nadir_context *context = *state;
    for (int round = 0; round < test_often(25); round++) {
        test_log log = test_log_make((uint64_t)(SEED + round));
        for (int form = 0; form < TEST_LOG_FORMS; form++) {
            test_note("seed %d, form %d", SEED + round, form);
            const nadir_data_settings given = {.states = log.states, .actions = log.actions};
            nadir_data data;
            const char *path = test_log_write(&log, (test_log_form)form);
            assert_ok(context, nadir_data_read(context, path, round % 2 == 0 ? NULL : &given, &data));
            assert_int_equal(data.kind, expected_kind((test_log_form)form));
            assert_null(data.samples);
            check_counts(data.counts, &log, form != TEST_LOG_PLAIN_INTEGERS,
                         test_log_form_has_episodes((test_log_form)form));
            nadir_data_clear(context, &data);
        }
        test_log_clear(&log);
    }
}

/* Reads a table and clears what came of it. */
static nadir_data read_table(nadir_context *context, const char *table, const nadir_data_settings *settings)
{
    nadir_data data;
    test_write_file("table.csv", table);
    assert_ok(context, nadir_data_read(context, "table.csv", settings, &data));
    return data;
}

static void sizes_come_from_the_data_or_are_given(void **state)
{
    nadir_context *context = *state;
    const char *table = "state,action,next_state\n0,2,1\n3,0,5\n3,1,3\n";
    nadir_data data = read_table(context, table, NULL);
    assert_int_equal(data.counts->states, 6);
    assert_int_equal(data.counts->rows, 18);
    assert_int_equal(data.counts->visited, 3);
    nadir_data_clear(context, &data);

    data = read_table(context, table, &(nadir_data_settings){.states = 10, .actions = 4});
    assert_int_equal(data.counts->states, 10);
    assert_int_equal(data.counts->rows, 40);
    assert_int_equal(data.counts->state_rows[10], 40);
    nadir_data_clear(context, &data);

    data = read_table(context, table, &(nadir_data_settings){.ragged = true});
    const int64_t expected[] = {0, 3, 4, 5, 7, 8, 9};
    assert_memory_equal(data.counts->state_rows, expected, sizeof expected);
    assert_int_equal(data.counts->rows, 9);
    nadir_data_clear(context, &data);
}

static void counts_may_be_zero_or_fractional(void **state)
{
    nadir_context *context = *state;
    nadir_data data = read_table(
        context, "count,state,action,next_state,reward\n0.5,0,0,1,2\n0,0,1,3,7\n2.25,0,0,1,4\n1,1,0,0,-1\n",
        NULL);
    const nadir_counts *counts = data.counts;
    assert_int_equal(data.kind, NADIR_DATA_COUNTS);
    assert_int_equal(counts->states, 4); /* a count of 0 says that there is such a state */
    assert_int_equal(counts->rows, 8);
    assert_int_equal(counts->nonzeros, 2);
    assert_int_equal(counts->visited, 2);
    assert_true(counts->total == 3.75);
    assert_true(counts->counts[0] == 2.75 && counts->reward_sums[0] == 10);
    assert_true(counts->counts[1] == 1 && counts->reward_sums[1] == -1);
    nadir_data_clear(context, &data);
}

static void the_last_action_of_an_episode_is_not_counted(void **state)
{
    nadir_context *context = *state;
    nadir_data data = read_table(context,
                                 "episode,step,state,action,reward\n"
                                 "7,1,0,0,1\n7,2,1,0,1\n"
                                 "8,0,1,1,1\n8,1,0,1,1\n8,2,0,,5\n"
                                 "9,0,1,2,3\n",
                                 NULL);
    const nadir_counts *counts = data.counts;
    assert_true(counts->total == 3);
    assert_int_equal(counts->observations, 3);
    assert_int_equal(counts->episodes, 3);
    assert_int_equal(counts->rows, 6); /* action 2 was taken, whatever came of it */
    assert_true(counts->initial[0] == 1 && counts->initial[1] == 2);
    assert_non_null(strstr(
        test_messages(), "2 lines end an episode with an action whose next state is not said: not counted"));
    nadir_data_clear(context, &data);
}

/* Three steps left, then it is done; an episode that was cut off; names as they appear. */
static void logs_have_names_and_ends(void **state)
{
    nadir_context *context = *state;
    const char *const texts[] = {
        "trajectory_id,time,obs,action,r,terminated,truncated\n"
        "x,0.5,b,up,1,0,0\nx,2,a,up,2,0,0\nx,7,b,down,3,true,0\ny,1,a,up,4,0,0\ny,2,b,up,5,0,1\n",
        "s,a,reward,done,timeout\n" /* episodes end where they say so */
        "b,up,1,0,0\na,up,2,0,0\nb,down,3,1,0\na,up,4,0,False\nb,up,5,0,True\n",
        "obs,action,reward,s_next,done,truncated\n" /* what follows a line that is done does not count */
        "b,up,1,a,0,0\na,up,2,b,0,0\nb,down,3,nowhere,1,0\na,up,4,b,0,0\nb,up,5,,0,1\n",
    };
    for (int k = 0; k < 3; k++) {
        nadir_data data = read_table(context, texts[k], NULL);
        const nadir_counts *counts = data.counts;
        assert_int_equal(counts->states, 3);
        assert_true(counts->terminal);
        assert_int_equal(counts->rows, 5); /* the terminal state has one */
        assert_int_equal(counts->dropped, 1);
        assert_true(counts->total == 4);
        assert_int_equal(counts->episodes, k < 2 ? 2 : 0);
        assert_true(k == 2 ||
                    (counts->initial[0] == 1 && counts->initial[1] == 1 && counts->initial[2] == 0));
        assert_string_equal(nadir_names_get(&data.names[0], 0), "b");
        assert_string_equal(nadir_names_get(&data.names[0], 1), "a");
        assert_string_equal(nadir_names_get(&data.names[0], 2), k < 2 ? "terminal" : "nowhere");
        assert_string_equal(nadir_names_get(&data.names[1], 1), "down");
        const int32_t columns[] = {1, 2, 0}; /* (b, up), (b, down), (a, up) */
        const double sums[] = {1, 3, 6};
        assert_int_equal(counts->nonzeros, 3);
        for (int i = 0; i < 3; i++) {
            assert_int_equal(counts->columns[i], columns[i]);
            assert_true(counts->reward_sums[i] == sums[i]);
        }
        nadir_data_clear(context, &data);
    }
}

/* The name of the end, where the log has one for all ends and no other state has it. */
static void ends_keep_their_name(void **state)
{
    nadir_context *context = *state;
    const struct {
        const char *lines, *name;
    } logs[] = {
        {"a,go,over,1\nb,go,over,1\nb,go,a,0\n", "over"},
        {"a,go,,1\nb,go,over,1\nb,go,a,0\n", "over"},
        {"a,go,won,1\nb,go,lost,1\nb,go,a,0\n", "terminal"},
        {"a,go,b,1\nb,go,b,1\nb,go,a,0\n", "terminal"},
        {"a,go,,1\nb,go,,1\nb,go,a,0\n", "terminal"},
        {"a,go,7,1\nb,go,7,1\nb,go,a,0\n", "terminal"},
        {"a,go,terminal,1\nterminal,go,terminal,1\n", "terminal#2"},
    };
    for (size_t k = 0; k < sizeof logs / sizeof *logs; k++) {
        char text[256];
        (void)snprintf(text, sizeof text, "state,action,next_state,done\n%s", logs[k].lines);
        nadir_data data = read_table(context, text, NULL);
        assert_int_equal(data.counts->states, 3);
        assert_string_equal(nadir_names_get(&data.names[0], 2), logs[k].name);
        nadir_data_clear(context, &data);
    }
}

/* Names that are given come first, in their order, whether the data have them or not. */
static void names_may_be_given_an_order(void **state)
{
    nadir_context *context = *state;
    const char *const states[] = {"c", "b", "a"};
    const char *const actions[] = {"stop", "go"};
    const nadir_data_settings settings = {.names = {states, actions}, .names_count = {3, 2}};
    nadir_data data =
        read_table(context, "state,action,next_state,done\na,go,d,0\nd,go,b,0\nb,wait,over,1\n", &settings);
    const char *const expected[] = {"c", "b", "a", "d", "over"};
    assert_int_equal(data.counts->states, 5);
    assert_int_equal(data.counts->rows, 4 * 3 + 1);
    for (int s = 0; s < 5; s++) {
        assert_string_equal(nadir_names_get(&data.names[0], s), expected[s]);
    }
    assert_string_equal(nadir_names_get(&data.names[1], 2), "wait");
    assert_true(data.counts->row_starts[4] == 0 &&
                data.counts->row_starts[6] == 1); /* c has no lines, b one */
    nadir_data_clear(context, &data);
    test_write_file("table.csv", "state,action,next_state\n0,0,0\n");
    assert_fails(context, nadir_data_read(context, "table.csv", &settings, &data), NADIR_ERROR_FORMAT,
                 "`0`, a number");
    nadir_data_clear(context, &data);
    const double numbers[] = {0, 0, 0, 0, 1, 0};
    test_write_npy("table.npy", &(test_array)TEST_ARRAY("", "=f8", "(2, 3)", numbers));
    assert_fails(context, nadir_data_read(context, "table.npy", &settings, &data), NADIR_ERROR_UNSUPPORTED,
                 "names are of tables");
    nadir_data_clear(context, &data);
}

/* Columns that were given are no others; those that nobody knows are then left out. */
static void columns_may_be_named(void **state)
{
    nadir_context *context = *state;
    const nadir_data_settings settings = {.columns = "state=from,next=state,action=what"};
    nadir_data data =
        read_table(context, "from,what,state,colour,reward\n0,1,1,7,5\n1,0,0,8,-2\n", &settings);
    assert_true(data.counts->total == 2);
    assert_int_equal(data.counts->rows, 4);
    assert_true(data.counts->reward_sums[0] == 5 && data.counts->columns[0] == 1);
    assert_non_null(strstr(test_messages(), "columns not used: `colour`"));
    nadir_data_clear(context, &data);
    const struct {
        const char *columns, *words;
        nadir_status status;
    } wrong[] = {
        {"state", "columns: `state`; expected state=NAME", NADIR_ERROR_ARGUMENT},
        {"state=", "columns: `state=`; expected state=NAME", NADIR_ERROR_ARGUMENT},
        {"colour=from", "columns: `colour=from`; expected", NADIR_ERROR_ARGUMENT},
        {"state=a,state=b", "columns: `state=b`; expected", NADIR_ERROR_ARGUMENT},
        {"state=elsewhere", "missing column `elsewhere`", NADIR_ERROR_FORMAT},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        const nadir_data_settings asked = {.columns = wrong[i].columns};
        assert_fails(context, nadir_data_read(context, "table.csv", &asked, &data), wrong[i].status,
                     wrong[i].words);
        nadir_data_clear(context, &data);
    }
}

static void standard_input_is_read_as_text(void **state)
{
    nadir_context *context = *state;
    int pipe_ends[2];
    const int kept = dup(STDIN_FILENO);
    assert_int_equal(pipe(pipe_ends), 0);
    static const char table[] = "state,action,next_state\n0,0,1\n1,0,0\n0,0,1\n";
    assert_int_equal(write(pipe_ends[1], table, sizeof table - 1), sizeof table - 1);
    close(pipe_ends[1]);
    assert_true(dup2(pipe_ends[0], STDIN_FILENO) >= 0);
    close(pipe_ends[0]);
    nadir_data data;
    assert_ok(context, nadir_data_read(context, "-", NULL, &data));
    assert_true(data.counts->total == 3 && data.counts->nonzeros == 2);
    nadir_data_clear(context, &data);
    assert_fails(context, nadir_data_read(context, "-", NULL, &data), NADIR_ERROR_FORMAT,
                 "standard input: the file holds no lines");
    assert_true(dup2(kept, STDIN_FILENO) >= 0);
    close(kept);
}

/* An array of integers of 4 bytes, (count, 3); fortran: items stand column after column. */
static void write_integers(const char *path, int64_t count, const int32_t *items, bool fortran)
{
    char header[NADIR_NPY_HEADER_LENGTH];
    const size_t length = nadir_npy_header_bytes("i4", 2, (const int64_t[]){count, 3}, header);
    const size_t size = (size_t)count * 3 * sizeof *items;
    unsigned char *bytes = malloc(length + size);
    if (fortran) {
        memcpy(strstr(header + 10, "False"), "True ", 5);
    }
    memcpy(bytes, header, length);
    memcpy(bytes + length, items, size);
    test_write_bytes(path, bytes, length + size);
    free(bytes);
}

/* Longer than a block of text and a piece of records: every row counts, wherever the cuts are. */
static void long_files_are_cut_anywhere(void **state)
{
    enum { COUNT = 20011, DIFFERENT = 3027 }; /* i mod 1009 and i mod 3 say all */
    nadir_context *context = *state;
    FILE *file = fopen("long.csv", "wb");
    int32_t *rows = calloc(COUNT, 3 * sizeof *rows);
    int32_t *columns = calloc(COUNT, 3 * sizeof *columns);
    (void)fputs("state,action,next_state\n", file);
    for (int i = 0; i < COUNT; i++) {
        const int32_t values[] = {i % 1009, i % 3, i * 7 % 1009};
        (void)fprintf(file, "%d,%d,%*d\n", values[0], values[1], i % 11, values[2]);
        for (int k = 0; k < 3; k++) {
            rows[3 * i + k] = values[k];
            columns[k * COUNT + i] = values[k];
        }
    }
    (void)fclose(file);
    write_integers("long.npy", COUNT, rows, false);
    write_integers("fortran.npy", COUNT, columns, true);
    nadir_data text;
    assert_ok(context, nadir_data_read(context, "long.csv", NULL, &text));
    assert_true(text.counts->total == COUNT);
    assert_int_equal(text.counts->nonzeros, DIFFERENT);
    for (int i = 0; i < 2; i++) {
        nadir_data array;
        assert_ok(context, nadir_data_read(context, i == 0 ? "long.npy" : "fortran.npy", NULL, &array));
        assert_int_equal(array.counts->nonzeros, DIFFERENT);
        assert_memory_equal(text.counts->row_starts, array.counts->row_starts, 3028 * sizeof(int64_t));
        assert_memory_equal(text.counts->columns, array.counts->columns, DIFFERENT * sizeof(int32_t));
        assert_memory_equal(text.counts->counts, array.counts->counts, DIFFERENT * sizeof(double));
        nadir_data_clear(context, &array);
    }
    nadir_data_clear(context, &text);
    free(rows);
    free(columns);
}

/* The file with some of its bytes changed, or cut short. */
static void spoil(const char *path, nadir_random *random)
{
    size_t size;
    unsigned char *bytes = test_read_bytes(path, &size);
    static const char likely[] = "0123456789-.,eE\n\"'()[] nai";
    const uint64_t changes = nadir_random_below(random, 4);
    for (uint64_t i = 0; i < changes; i++) {
        /* half of them near the beginning, where the header is */
        const uint64_t range = nadir_random_below(random, 2) == 0 && size > 300 ? 300 : size;
        const uint64_t at = nadir_random_below(random, range);
        bytes[at] = nadir_random_below(random, 2) == 0
                        ? (unsigned char)nadir_random_next(random)
                        : (unsigned char)likely[nadir_random_below(random, sizeof likely - 1)];
    }
    test_write_bytes(path, bytes, changes == 0 ? nadir_random_below(random, size) : size);
    free(bytes);
}

/* Whatever the bytes, there are counts that make sense or an error that names the file. */
static void spoilt_files_do_no_harm(void **state)
{
    (void)state;
    nadir_context *context = test_context_memory(64 << 20);
    nadir_random random = test_random(SEED);
    int read = 0;
    const int rounds = test_often(600);
    for (int round = 0; round < rounds; round++) {
        test_note("round %d", round);
        test_log log = test_log_make((uint64_t)(SEED + round % 50));
        nadir_data data;
        const char *path = test_log_write(&log, (test_log_form)(round % TEST_LOG_FORMS));
        spoil(path, &random);
        const nadir_data_settings wanted = {.ragged = round % 2 == 1};
        const nadir_status status = nadir_data_read(context, path, &wanted, &data);
        if (status == NADIR_OK) {
            read++;
            assert_true(data.counts->total > 0 && isfinite(data.counts->total));
            assert_int_equal(data.counts->row_starts[data.counts->rows], data.counts->nonzeros);
        } else {
            assert_fails(context, status, NADIR_ERROR_FORMAT, "log.");
            assert_null(data.counts);
        }
        nadir_data_clear(context, &data);
        test_log_clear(&log);
    }
    assert_that(read > rounds / 20 && read < rounds - rounds / 20, "%d of %d files read", read, rounds);
    test_note_clear();
    nadir_context_free(context);
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
    test_log log = test_log_make(SEED + 1);
    for (int form = 0; form < TEST_LOG_FORMS; form++) {
        test_run_out(attempt, test_log_write(&log, (test_log_form)form), NULL, "reading data");
    }
    test_log_clear(&log);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test_with_context(every_form_gives_the_same_counts),
        test_with_context(sizes_come_from_the_data_or_are_given),
        test_with_context(counts_may_be_zero_or_fractional),
        test_with_context(the_last_action_of_an_episode_is_not_counted),
        test_with_context(standard_input_is_read_as_text),
        test_with_context(long_files_are_cut_anywhere),
        test_with_context(logs_have_names_and_ends),
        test_with_context(ends_keep_their_name),
        test_with_context(names_may_be_given_an_order),
        test_with_context(columns_may_be_named),
        cmocka_unit_test(spoilt_files_do_no_harm),
        cmocka_unit_test(memory_may_run_out_anywhere),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
