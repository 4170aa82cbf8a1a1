/* test_data_wrong.c: what is wrong with a data file is said with its place, what was found and what was
 * expected. */
#include "support/support.h"

#include "io/format.h"
#include "support/numpy.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define T  "state,action,next_state\n"
#define TR "state,action,next_state,reward\n"
#define TC "state,action,next_state,count\n"
#define E  "episode,step,state,action,reward\n"
#define EN "episode,step,state,action,next_state,reward\n"
#define P  "idoutcome,idstatefrom,idaction,idstateto,probability,reward\n"

/* A file and the words of its error. */
typedef struct wrong {
    const char *table;
    const char *words;
} wrong;

static void check_tables(size_t count, const wrong *cases)
{
    nadir_context *context = test_context();
    for (size_t i = 0; i < count; i++) {
        nadir_data data;
        test_note("%s", cases[i].table);
        test_write_file("bad.csv", cases[i].table);
        assert_fails(context, nadir_data_read(context, "bad.csv", NULL, &data), NADIR_ERROR_FORMAT,
                     cases[i].words);
        assert_null(data.counts);
        assert_null(data.samples);
    }
    test_note_clear();
    nadir_context_free(context);
}

#define CHECK_TABLES(cases) check_tables(sizeof(cases) / sizeof *(cases), cases)

static void wrong_headers(void **state)
{
    (void)state;
    const wrong cases[] = {
        {"", "bad.csv: the file holds no lines"},
        {"# nothing\n\n", "bad.csv: the file holds no lines"},
        {"state,action,next_state,done,info,x\n0,0,0,0,0,0\n", "bad.csv:1: unknown columns: `info`, `x`"},
        {"\n# c\nstate,action,next_state,x\n", "bad.csv:3: unknown columns: `x`"},
        {"0,0,1\n", "bad.csv:1: missing column `state`"},
        {"state;action;next_state\n0;0;1\n", "with commas (not semicolons or tabs)"},
        {"state,next_state\n", "bad.csv:1: missing column `action`"},
        {"state,action\n0,0\n", "bad.csv:1: missing `next_state`; transitions have the columns"},
        {"state,action,next_state,state\n",
         "bad.csv:1: the header names column `state` twice: `state` and `state`"},
        {"state,action,next_state,idstatefrom\n", "names column `state` twice: `state` and `idstatefrom`"},
        {"state,action,count\n", "missing `next_state`; counts have the columns"},
        {"episode,action,reward\n", "missing column `state`"},
        {"step,state,action\n", "missing `episode`; trajectories"},
        {"episode,step,state,action,count\n", "bad.csv:1: out of place: `count`; trajectories have"},
        {"idstatefrom,idaction,idstateto,probability,reward\n0,0,0,1,0\n",
         "bad.csv:1: a column `probability` without `idoutcome`: this is a model, not data"},
        {"idoutcome,idstatefrom,idaction,idstateto\n", "missing `probability`; samples have the columns"},
        {"idoutcome,idstatefrom,idaction,idstateto,probability,count\n", "out of place: `count`; samples"},
        {T, "bad.csv: no transitions"},
        {E, "bad.csv: no transitions"},
        {P, "bad.csv: no transitions"},
        {E "0,0,1,0,0\n1,0,1,,\n", "bad.csv: no transitions"},
        {TC "0,0,1,0\n1,0,1,0\n", "bad.csv: all counts are 0"},
    };
    CHECK_TABLES(cases);
}

static void wrong_numbers(void **state)
{
    (void)state;
    const wrong cases[] = {
        {T "0,0,1\n0,0\n", "bad.csv:3: 2 cells; expected 3"},
        {T "0,0,1\n\n0,0,1,1\n", "bad.csv:4: 4 cells; expected 3"},
        {T "0,0,1\n0,0,1.5\n", "bad.csv:3: `next_state` is `1.5`; expected a whole number"},
        {T "0.5,0,1\n", "bad.csv:2: `state` is `0.5`; expected a whole number"},
        {T "0,0,1\n0,x,1\n", "bad.csv:3: `action` is `x`, a name, but line 2 has a number"},
        {T "a,0,1\n", "bad.csv:2: `next_state` is `1`, a number, but line 2 has a name"},
        {T "\xff,0,a\n", "bad.csv:2: the name in `state` is not UTF-8"},
        {T "0,,1\n", "bad.csv:2: `action` is ``; expected a whole number"},
        {T "nan,0,1\n", "bad.csv:2: `state` is `nan`; expected a whole number"},
        {T "0,1e30,1\n", "bad.csv:2: `action` is `1e30`; expected a whole number"},
        {T "0,0,0\n-1,0,0\n", "bad.csv:3: state -1; expected numbers from 0 to 2147483646"},
        {T "0,-3,0\n", "bad.csv:2: action -3; expected numbers from 0"},
        {T "0,0,-2\n", "bad.csv:2: next state -2; expected numbers from 0"},
        {T "2147483647,0,0\n", "bad.csv:2: state 2147483647; expected numbers from 0 to 2147483646"},
        {T "0,0,9223372036854775807\n", "bad.csv:2: next state 9223372036854775807"},
        {TR "0,0,0,1\n0,0,0,nan\n", "bad.csv:3: reward nan; expected a finite number"},
        {TR "0,0,0,-inf\n", "bad.csv:2: reward -inf; expected a finite number"},
        {TR "0,0,0,1e999\n", "bad.csv:2: reward inf; expected a finite number"},
        {TR "0,0,0,\n", "bad.csv:2: `reward` is ``; expected a number"},
        {TC "0,0,0,1\n0,0,0,-1\n", "bad.csv:3: count -1; expected a finite number, 0 or more"},
        {TC "0,0,0,nan\n", "bad.csv:2: count nan; expected a finite number, 0 or more"},
        {TC "0,0,0,inf\n", "bad.csv:2: count inf; expected a finite number, 0 or more"},
        {TC "0,0,0,1e308\n0,0,0,1e308\n", "bad.csv: the sum of the counts is larger than any number"},
        {TR "0,0,0,1e308\n0,0,0,1e308\n", "bad.csv: the sum of the rewards is larger than any number"},
        {"count," TR "1e300,0,0,0,1e300\n", "bad.csv: the sum of the rewards is larger than any number"},
    };
    CHECK_TABLES(cases);
}

static void wrong_episodes(void **state)
{
    (void)state;
    const wrong cases[] = {
        {E "1,0,0,0,0\n0,0,0,0,0\n", "bad.csv:3: episode 0 after episode 1: out of order"},
        {E "0,0,0,0,0\n1,0,0,0,0\n0,1,0,0,0\n", "bad.csv:4: episode 0 after episode 1: out of order"},
        {E "0,0,0,0,0\n0,2,0,0,0\n", "bad.csv:3: step 2 of episode 0 follows step 0; expected 1"},
        {E "0,0,0,0,0\n0,0,0,0,0\n", "bad.csv:3: step 0 of episode 0 follows step 0; expected 1"},
        {E "0,1,0,0,0\n0,0,0,0,0\n", "bad.csv:3: step 0 of episode 0 follows step 1; expected 2"},
        {E "4,2,0,0,0\n", "bad.csv:2: episode 4 begins with step 2; expected step 0 or 1"},
        {E "4,-1,0,0,0\n", "bad.csv:2: episode 4 begins with step -1"},
        {E "0,0,0,0,0\n0,1,0,,\n0,2,0,0,0\n", "bad.csv:3: no action; only the last step"},
        {E "0,0,0,0,\n0,1,0,0,0\n", "bad.csv:2: no reward; only the last step"},
        {E "0,0,0,0,nan\n", "bad.csv:2: reward nan; expected a finite number"},
        {E "0,0,0,-1,0\n", "bad.csv:2: action -1; expected numbers from 0"},
        {E "0,0,-5,0,0\n", "bad.csv:2: state -5; expected numbers from 0"},
        {E "x,0,0,0,0\n0,0,0,0,0\n", "bad.csv:3: `episode` is `0`, a number, but line 2 has a name"},
        {E "0,0,,0,0\n", "bad.csv:2: `state` is ``; expected a whole number"},
        {EN "0,0,0,0,1,0\n0,1,0,0,1,0\n",
         "bad.csv:3: state 0, but the step before says that the next state is 1"},
        {EN "0,0,0,0,,0\n0,1,0,0,1,0\n", "bad.csv:2: no next state; only the last step"},
        {EN "0,0,0,,1,0\n", "bad.csv:2: no action; only the last step"},
        {EN "0,0,0,0,1,\n", "bad.csv:2: no reward; only the last step"},
        {EN "0,0,0,0,-1,0\n", "bad.csv:2: next state -1; expected numbers from 0"},
        {"done," E "1,0,0,0,0,0\n0,0,1,0,0,0\n",
         "bad.csv:3: episode 0 goes on, but the line before is `done`"},
        {"truncated," E "1,0,0,0,0,0\n0,0,1,0,0,0\n", "but the line before is `truncated`"},
        {"done," E "2,0,0,0,0,0\n", "bad.csv:2: `done` is `2`; expected 0, 1, false, true, no or yes"},
        {"done," E "1,0,0,0,,0\n", "bad.csv:2: no action; only the last step"},
        {"time," E "1,0,0,0,0,0\n1,0,1,0,0,0\n",
         "bad.csv:3: two steps of episode 0 have the same time; where"},
        {"time," E "nan,0,0,0,0,0\n", "bad.csv:2: time nan; expected a finite number"},
        {"done," T "0,0,0,\n", "bad.csv:2: no next state; only a line that is done or truncated"},
    };
    CHECK_TABLES(cases);
}

static void wrong_samples(void **state)
{
    const wrong cases[] = {
        {P "0,0,0,0,0.5,0\n1,0,0,0,1,0\n",
         "bad.csv:2: state 0, action 0, outcome 0: the probabilities sum to 0.5"},
        {P "0,0,0,0,1,0\n1,0,0,0,0.5,0\n1,0,0,0,0.50002,0\n",
         "bad.csv:3: state 0, action 0, outcome 1: the probabilities sum to 1.00002"},
        {P "0,0,0,0,1,0\n0,0,0,0,0.5,0\n",
         "bad.csv:2: state 0, action 0, outcome 0: the probabilities sum to 1.5"},
        {P "0,0,0,0,1.1,0\n", "bad.csv:2: probability 1.1; expected a number from 0 to 1"},
        {P "0,0,0,0,-0.1,0\n", "bad.csv:2: probability -0.1; expected a number from 0 to 1"},
        {P "0,0,0,0,nan,0\n", "bad.csv:2: probability nan; expected a number from 0 to 1"},
        {P "0,0,0,0,1,nan\n", "bad.csv:2: reward nan; expected a finite number"},
        {P "-1,0,0,0,1,0\n", "bad.csv:2: outcome -1; expected numbers from 0"},
        {P "0,0,0,0,1,0\n2,0,0,0,1,0\n", "bad.csv: 2 lines for 3 outcomes of 1 rows"},
        {P "0,0,0,0,0.5,0\n0,0,0,1,0.5,0\n2,0,0,0,1,0\n",
         "bad.csv: state 0, action 0: no outcome 1; every outcome must have every row"},
        {P "0,0,0,0,1,0\n0,1,2,0,1,0\n1,0,0,0,0.25,0\n1,0,0,1,0.75,0\n",
         "bad.csv: state 1, action 2: no outcome 1; every outcome must have every row"},
        {P "0,0,0,0,0,0\n", "bad.csv:2: state 0, action 0, outcome 0: the probabilities sum to 0"},
        {P "0,0,0,0,1,1e308\n0,1,0,0,0.5,1e308\n0,1,0,0,0.5,1e308\n", NULL},
        {P "2000000000,0,0,0,1,0\n", "bad.csv: 1 lines for 2000000001 outcomes of 1 rows"},
    };
    nadir_context *context = *state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        nadir_data data;
        test_note("%s", cases[i].table);
        test_write_file("bad.csv", cases[i].table);
        const nadir_status status = nadir_data_read(context, "bad.csv", NULL, &data);
        if (cases[i].words != NULL) {
            assert_fails(context, status, NADIR_ERROR_FORMAT, cases[i].words);
            assert_null(data.samples);
        } else {
            assert_ok(context, status);
        }
        nadir_data_clear(context, &data);
    }
}

/* A short file may not ask for much memory: 16 MB are plenty for all of these. */
static void numbers_are_checked_before_they_are_believed(void **state)
{
    (void)state;
    const wrong cases[] = {
        {T "2147483646,0,0\n", "bad.csv: state 2147483646, but only 1 different transitions"},
        {T "0,0,2147483646\n", "bad.csv: state 2147483646, but only 1 different transitions"},
        {T "0,2147483646,0\n", "bad.csv: action 2147483646, but only 1 different transitions"},
        {T "60000,60000,0\n", "bad.csv: action 60000, but only 1 different transitions"},
        {E "0,0,2147483646,0,0\n0,1,0,0,0\n", "bad.csv: state 2147483646, but only 1"},
        {E "0,0,1,0,0\n0,1,0,0,0\n1,0,2147483646,0,0\n", "bad.csv: state 2147483646, but only 1"},
        {P "0,2147483646,0,0,1,0\n", "bad.csv: state 2147483646, but only 1"},
        {P "0,0,2147483646,0,1,0\n", "bad.csv: action 2147483646, but only 1"},
        {P "2147483646,0,0,0,1,0\n", "bad.csv: 1 lines for 2147483647 outcomes of 1 rows"},
    };
    for (int ragged = 0; ragged < 2; ragged++) {
        nadir_context *context = test_context_memory(16 << 20);
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
            nadir_data data;
            test_note("%s", cases[i].table);
            test_write_file("bad.csv", cases[i].table);
            const nadir_data_settings wanted = {.ragged = ragged == 1};
            const nadir_status status = nadir_data_read(context, "bad.csv", &wanted, &data);
            if (ragged == 1 && i == 3) {
                assert_ok(context,
                          status); /* one state with that many actions is no more than the numbers say */
            } else {
                assert_fails(context, status, NADIR_ERROR_FORMAT, cases[i].words);
            }
            nadir_data_clear(context, &data);
        }
        nadir_context_free(context);
    }
    test_note_clear();
}

static void given_sizes_are_kept(void **state)
{
    nadir_context *context = *state;
    nadir_data data;
    test_write_file("bad.csv", T "0,0,1\n1,1,4\n");
    const nadir_data_settings fit = {.states = 5, .actions = 2};
    assert_ok(context, nadir_data_read(context, "bad.csv", &fit, &data));
    nadir_data_clear(context, &data);
    assert_fails(context, nadir_data_read(context, "bad.csv", &(nadir_data_settings){.states = 4}, &data),
                 NADIR_ERROR_FORMAT,
                 "bad.csv:3: next state 4; expected numbers from 0 to 3, as asked for or as the data have");
    assert_fails(context, nadir_data_read(context, "bad.csv", &(nadir_data_settings){.actions = 1}, &data),
                 NADIR_ERROR_FORMAT,
                 "bad.csv:3: action 1; expected numbers from 0 to 0, as asked for or as the data have");
    assert_fails(context, nadir_data_read(context, "bad.csv", &(nadir_data_settings){.states = -1}, &data),
                 NADIR_ERROR_ARGUMENT, "-1 states");
    assert_fails(context, nadir_data_read(context, "none.csv", NULL, &data), NADIR_ERROR_FILE, "none.csv");
    assert_fails(context, nadir_data_read(context, ".", NULL, &data), NADIR_ERROR_FILE, "a directory");
}

/* An array with this type, shape and items. */
static nadir_status read_array(nadir_context *context, const char *type, const char *shape, const void *items,
                               size_t bytes)
{
    char header[512];
    nadir_data data;
    (void)snprintf(header, sizeof header, "{'descr': %s, 'fortran_order': False, 'shape': %s, }\n", type,
                   shape);
    test_write_npy_header("bad.npy", header, items, bytes);
    const nadir_status status = nadir_data_read(context, "bad.npy", NULL, &data);
    nadir_data_clear(context, &data);
    return status;
}

static void wrong_arrays(void **state)
{
    nadir_context *context = *state;
    const double numbers[] = {0, 0, 1, 2, 1, 0, 0, 0.5};
    const unsigned char zeros[256] = {0};
    const struct {
        const char *type, *shape, *words;
        size_t bytes;
    } cases[] = {
        {"'<f8'", "(8,)", "bad.npy: shape (8,); expected (N, 3)", 64},
        {"'<f8'", "(4, 2)", "bad.npy: shape (4, 2); expected (N, 3)", 64},
        {"'<f8'", "(1, 1, 8)", "bad.npy: shape (1, 1, 8); expected", 64},
        {"'<U4'", "(1, 4)", "bad.npy: shape (1, 4); expected", 64},
        {"'<f8'", "(0, 3)", "bad.npy: no transitions", 0},
        {"'<f8'", "(3, 3)", "does not fit the 64 bytes that are there", 64},
        {"[('state', '<i4'), ('action', '<i4'), ('next_state', '<i4'), ('colour', '|b1')]", "(1,)",
         "bad.npy: unknown field `colour`", 13},
        {"[('state', '<i4'), ('idstatefrom', '<i4')]", "(1,)", "bad.npy: a second field `idstatefrom`", 8},
        {"[('state', '<i4'), ('action', '<U1')]", "(1,)", "bad.npy: field `action` holds text", 8},
        {"[('state', '<i4'), ('action', '<i4')]", "(1,)", "bad.npy: missing `next_state`; transitions have",
         8},
        {"[('state', '<i4'), ('next_state', '<i4')]", "(1,)", "bad.npy: missing `action`", 8},
        {"[('state', '<i4'), ('action', '<i4'), ('next_state', '<i4')]", "(1, 1)", "bad.npy: shape (1, 1)",
         12},
        {"[('state', '<i4', (2,))]", "(1,)", "a field of the records is an array of its own", 8},
        {"[('state', [('x', '<i4')])]", "(1,)", "the fields of the records are no list", 4},
        {"[]", "(1,)", "the records have no fields", 0},
        {"[('state', '<q4')]", "(1,)", "items of type '<q4' are not read", 4},
        {"[('', '|V0')]", "(1,)", "items of type '|V0' are not read", 0},
        {"[('', '|V4')]", "(1,)", "the records have no fields", 4},
        {"[('state', '<i4') ('action', '<i4')]", "(1,)", "the fields of the records are no list", 8},
        {"[('state', '<i4')", "(1,)", "the fields of the records are no list", 4},
        {"[('a','|b1'),('b','|b1'),('c','|b1'),('d','|b1'),('e','|b1'),('f','|b1'),('g','|b1'),('h','|b1'),('"
         "i','|b1'"
         "),('j','|b1'),('k','|b1'),('l','|b1'),('m','|b1'),('n','|b1'),('o','|b1'),('p','|b1'),('q','|b1')]",
         "(1,)", "the records have more than 16 fields", 17},
        {"[('state', '<i4'), ('action', '<i4'), ('next_state', '<i4'), ('', '|V1000000')]", "(1,)",
         "does not fit the 12 bytes", 12},
        {"[('state', '<i4'), ('action', '<i4'), ('next_state', '<i4'), ('', '|V1000000')]", "(0,)",
         "bad.npy: no transitions", 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        test_note("%s %s", cases[i].type, cases[i].shape);
        assert_fails(context,
                     read_array(context, cases[i].type, cases[i].shape,
                                cases[i].bytes == 64 ? (const void *)numbers : zeros, cases[i].bytes),
                     NADIR_ERROR_FORMAT, cases[i].words);
    }
}

static void wrong_items(void **state)
{
    nadir_context *context = *state;
    const double half[] = {0, 0, 1, 0, 0.5, 1};
    const double missing[] = {0, 0, 1, 0, 0, (double)NAN};
    const double rewards[] = {0, 0, 1, 0, 0, 0, 1, (double)NAN};
    const double large[] = {0, 0, 1, 1e10, 0, 0};
    const double huge[] = {0, 0, 1e30};
    const int64_t negative[] = {0, 0, 1, 0, 0, 1, 0, -1, 0};
    const uint64_t wide[] = {0, UINT64_MAX, 0};
    assert_fails(context, read_array(context, "'<f8'", "(2, 3)", half, sizeof half), NADIR_ERROR_FORMAT,
                 "bad.npy: record 1: `action` is no whole number");
    assert_fails(context, read_array(context, "'<f8'", "(2, 3)", missing, sizeof missing), NADIR_ERROR_FORMAT,
                 "bad.npy: record 1: `next_state` is no whole number");
    assert_fails(context, read_array(context, "'<f8'", "(2, 4)", rewards, sizeof rewards), NADIR_ERROR_FORMAT,
                 "bad.npy: record 1: reward nan; expected a finite number");
    assert_fails(context, read_array(context, "'<f8'", "(2, 3)", large, sizeof large), NADIR_ERROR_FORMAT,
                 "bad.npy: record 1: state 10000000000; expected numbers from 0 to 2147483646");
    assert_fails(context, read_array(context, "'<f8'", "(1, 3)", huge, sizeof huge), NADIR_ERROR_FORMAT,
                 "bad.npy: record 0: `next_state` is out of range for an integer");
    assert_fails(context, read_array(context, "'<i8'", "(3, 3)", negative, sizeof negative),
                 NADIR_ERROR_FORMAT, "bad.npy: record 2: action -1; expected numbers from 0");
    assert_fails(context, read_array(context, "'<u8'", "(1, 3)", wide, sizeof wide), NADIR_ERROR_FORMAT,
                 "bad.npy: record 0: `action` is out of range for an integer");
    const int32_t steps[] = {0, 0, 0, 0, /**/ 0, 1, 0, -1, /**/ 0, 2, 0, 0};
    assert_fails(context,
                 read_array(context,
                            "[('episode', '<i4'), ('step', '<i4'), ('state', '<i4'), ('action', '<i4')]",
                            "(3,)", steps, sizeof steps),
                 NADIR_ERROR_FORMAT, "bad.npy: record 1: no action; only the last step of an episode");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wrong_headers),
        cmocka_unit_test(wrong_numbers),
        cmocka_unit_test(wrong_episodes),
        test_with_context(wrong_samples),
        cmocka_unit_test(numbers_are_checked_before_they_are_believed),
        test_with_context(given_sizes_are_kept),
        test_with_context(wrong_arrays),
        test_with_context(wrong_items),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
