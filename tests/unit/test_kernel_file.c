/* test_kernel_file.c: kernels written to files and read back, and files that are wrong. */
#include "support/numpy.h"

#include "support/families.h"
#include "support/scarce.h"

#include "io/result_files.h"
#include "model/kernel.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SEED 20240715

static const char digest_a[] = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
static const char digest_b[] = "ffffffffffffffff0123456789abcdef0123456789abcdef0123456789abcdef";

/* The same entries, bit for bit, in every row. */
static void assert_kernels_equal(nadir_context *context, const nadir_kernel *a, const nadir_kernel *b)
{
    nadir_explicit rows[2];
    assert_ok(context, nadir_explicit_make(context, a, &rows[0]));
    assert_ok(context, nadir_explicit_make(context, b, &rows[1]));
    for (int64_t row = 0; row < nadir_kernel_model(a)->rows; row++) {
        const nadir_row one = nadir_explicit_row(&rows[0], row);
        const nadir_row other = nadir_explicit_row(&rows[1], row);
        assert_that(one.count == other.count, "row %lld: %lld and %lld entries", (long long)row,
                    (long long)one.count, (long long)other.count);
        assert_memory_equal(one.columns, other.columns, (size_t)one.count * sizeof *one.columns);
        assert_memory_equal(one.values, other.values, (size_t)one.count * sizeof *one.values);
    }
    nadir_explicit_clear(context, &rows[0]);
    nadir_explicit_clear(context, &rows[1]);
}

static void assert_same_bits(const double *a, const double *b, int64_t count)
{
    assert_true((a == NULL) == (b == NULL));
    if (a != NULL) {
        assert_memory_equal(a, b, (size_t)count * sizeof *a);
    }
}

static void assert_parameters_equal(const nadir_kernel_parameters *a, const nadir_kernel_parameters *b,
                                    int64_t rows)
{
    assert_int_equal(a->set, b->set);
    assert_int_equal(a->domain, b->domain);
    assert_true(a->norm == b->norm || (isnan(a->norm) && isnan(b->norm)));
    assert_true(a->gamma == b->gamma || (isnan(a->gamma) && isnan(b->gamma)));
    assert_int_equal(a->optimistic, b->optimistic);
    assert_string_equal(a->model_sha256, b->model_sha256);
    assert_string_equal(a->policy_sha256, b->policy_sha256);
    assert_string_equal(a->model_file_sha256, b->model_file_sha256);
    assert_string_equal(a->policy_file_sha256, b->policy_file_sha256);
    assert_int_equal(a->radius_count, b->radius_count);
    assert_same_bits(a->radius, b->radius, a->radius_count);
    assert_same_bits(a->scales, b->scales, rows);
}

/* Writes the kernel, reads it back, and all is the same; so are the bytes of a second writing. */
static void round_trip(nadir_context *context, const nadir_kernel *kernel,
                       const nadir_kernel_parameters *parameters)
{
    nadir_model *model = (nadir_model *)nadir_kernel_model(kernel); /* of the tests' own making */
    nadir_kernel *back = NULL;
    nadir_kernel_parameters found;
    const size_t before = nadir_context_memory(context);
    assert_ok(context, nadir_kernel_file_write(context, kernel, parameters, "kernel.npz"));
    assert_int_equal(nadir_context_memory(context), before);
    assert_ok(context, nadir_kernel_file_read(context, model, "kernel.npz", &back, &found));
    assert_kernels_equal(context, kernel, back);
    assert_parameters_equal(parameters, &found, model->rows);
    assert_ok(context, nadir_kernel_file_write(context, back, &found, "again.npz"));
    nadir_kernel_parameters_clear(context, &found);
    nadir_kernel_free(back);
    assert_int_equal(nadir_context_memory(context), before);
    size_t sizes[2];
    unsigned char *first = test_read_bytes("kernel.npz", &sizes[0]);
    unsigned char *second = test_read_bytes("again.npz", &sizes[1]);
    assert_int_equal(sizes[0], sizes[1]);
    assert_memory_equal(first, second, sizes[0]);
    free(first);
    free(second);
    assert_string_equal(test_messages(), "");
}

static const nadir_kernel_parameters nothing_said = {.norm = NAN, .gamma = NAN};

static void rank_one_kernels_come_back(void **state)
{
    nadir_context *context = *state;
    nadir_model *model = test_rich_model(context);
    nadir_kernel *kernel = NULL;
    const double b[] = {0.1, -0x1.999999999999ap-4, 5e-324, 0, 1.7976931348623157e308, -0.0, 1.0 / 3};
    const double k[] = {0.5, -0.5, 1e-300, 0.30000000000000004};
    const double scales[] = {1, 0, 0.1, 3, 1e300, 5e-324, 1};
    nadir_kernel_parameters parameters = {.set = NADIR_SET_NONRECT,
                                          .domain = NADIR_DOMAIN_FREE,
                                          .norm = INFINITY,
                                          .radius = (const double[]){0.1},
                                          .radius_count = 1,
                                          .scales = scales,
                                          .gamma = 0.9,
                                          .optimistic = true};
    memcpy(parameters.model_sha256, digest_a, sizeof digest_a);
    memcpy(parameters.policy_sha256, digest_b, sizeof digest_b);
    memcpy(parameters.model_file_sha256, digest_b, sizeof digest_b);
    memcpy(parameters.policy_file_sha256, digest_a, sizeof digest_a);
    assert_ok(context, nadir_kernel_create_rank_one(context, model, b, k, &kernel));
    round_trip(context, kernel, &parameters);
    parameters.radius = scales;
    parameters.radius_count = 7;
    parameters.norm = 1;
    round_trip(context, kernel, &parameters);
    parameters.radius_count = 4;
    parameters.optimistic = false;
    round_trip(context, kernel, &parameters);
    round_trip(context, kernel, &nothing_said);
    nadir_kernel_free(kernel);
    nadir_model_free(model);
}

static void changed_rows_come_back(void **state)
{
    nadir_context *context = *state;
    nadir_model *model = test_rich_model(context);
    nadir_kernel *kernel = NULL;
    const int64_t rows[] = {1, 2, 6};
    const int64_t starts[] = {0, 3, 3, 4}; /* row 2 has no entry at all */
    const int32_t columns[] = {0, 1, 3, 2};
    const double values[] = {-0.1, 0.30000000000000004, 0.8, 1};
    const nadir_changed_rows changed = {3, rows, starts, columns, values};
    const nadir_kernel_parameters parameters = {
        .set = NADIR_SET_SA, .domain = NADIR_DOMAIN_SIMPLEX, .norm = 1.5, .gamma = 0};
    assert_ok(context, nadir_kernel_create_changed(context, model, &changed, &kernel));
    round_trip(context, kernel, &parameters);
    nadir_kernel_free(kernel);
    nadir_model_free(model);
}

static nadir_model *generate(nadir_context *context, const char *kind, int64_t states)
{
    nadir_model *model = NULL;
    nadir_generate_settings settings = test_generate_settings();
    settings.states = states;
    assert_ok(context, nadir_model_generate(context, kind, &settings, &model));
    return model;
}

/* The nominal kernel; sparse ones are large enough to be written in many pieces. */
static void nominal_kernels_come_back(void **state)
{
    nadir_context *context = *state;
    static const struct {
        const char *kind;
        int64_t states;
    } cases[] = {{"random", 30}, {"garnet", 3000}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        nadir_model *model = generate(context, cases[i].kind, cases[i].states);
        nadir_kernel *kernel = NULL;
        assert_ok(context, nadir_kernel_create(context, model, &kernel));
        round_trip(context, kernel, &nothing_said);
        nadir_kernel_free(kernel);
        nadir_model_free(model);
    }
}

static void rows_are_read_as_a_model_too(void **state)
{
    nadir_context *context = *state;
    nadir_model *model = test_rich_model(context);
    nadir_model *back = NULL;
    nadir_kernel *kernel = NULL;
    assert_ok(context, nadir_kernel_create(context, model, &kernel));
    assert_ok(context, nadir_kernel_file_write(context, kernel, &nothing_said, "kernel.npz"));
    assert_ok(context, nadir_model_read(context, "kernel.npz", NULL, &back));
    assert_int_equal(back->rows, model->rows);
    for (int64_t row = 0; row < model->rows; row++) {
        for (int64_t t = 0; t < model->states; t++) {
            assert_true(test_probability(back, row, t) == test_probability(model, row, t));
        }
    }
    assert_memory_equal(back->row_actions, model->row_actions, (size_t)model->rows * sizeof(int32_t));
    nadir_model_free(back);
    nadir_kernel_free(kernel);
    nadir_model_free(model);
}

/* Every entry is the one that the tests made by themselves, up to rounding; none is zero, columns rise. (The
 * tests' own numbers are less exact under valgrind, which has no long doubles.) */
static void check_rows(nadir_context *context, const nadir_kernel *kernel, const double *dense)
{
    const nadir_model *model = nadir_kernel_model(kernel);
    nadir_explicit rows;
    assert_ok(context, nadir_explicit_make(context, kernel, &rows));
    for (int64_t row = 0; row < model->rows; row++) {
        const nadir_row found = nadir_explicit_row(&rows, row);
        assert_true(found.count <= nadir_explicit_bound(&rows, row));
        int64_t next = 0;
        for (int64_t t = 0; t < model->states; t++) {
            const bool stored = next < found.count && found.columns[next] == t;
            assert_close(stored ? found.values[next] : 0, dense[row * model->states + t], 1e-14);
            assert_true(!stored || found.values[next] != 0);
            next += stored;
        }
        assert_int_equal(next, found.count);
    }
    nadir_explicit_clear(context, &rows);
}

static void kernels_of_all_kinds_come_back(void **state)
{
    (void)state;
    for (int i = 0; i < TEST_FAMILIES * TEST_CHANGES; i++) {
        const test_family *family = &test_families[i / TEST_CHANGES];
        const test_change change = (test_change)(i % TEST_CHANGES);
        test_note("%s, %s, seed %d", family->name, test_change_names[change], SEED);
        nadir_context *context = test_context();
        nadir_random random = test_random(SEED);
        nadir_model *model = family->make(context, &random);
        double *dense = NULL;
        nadir_kernel *kernel = test_kernel(context, model, change, 0.9, &random, &dense);
        check_rows(context, kernel, dense);
        test_messages_clear();
        round_trip(context, kernel, &nothing_said);
        free(dense);
        nadir_kernel_free(kernel);
        nadir_model_free(model);
        nadir_context_free(context);
    }
    test_note_clear();
}

/* Two states with the actions {0, 1} and {0}: three rows. */
static nadir_model *three_rows(nadir_context *context)
{
    const int64_t state_rows[] = {0, 2, 3};
    const double dense[] = {1, 0, 0.5, 0.5, 0.25, 0.75};
    nadir_model *model = NULL;
    nadir_model_data data = test_model_data();
    data.states = 2;
    data.rows = 3;
    data.state_rows = state_rows;
    data.dense = dense;
    assert_ok(context, nadir_model_create(context, &data, &model));
    return model;
}

static const double b[] = {0.1, -0.2, 0.3};
static const double k[] = {0.5, -0.5};
static const double data[] = {1, 0.5, 0.5, 0.25, 0.75};
static const int32_t indices[] = {0, 0, 1, 0, 1};
static const int64_t indptr[] = {0, 1, 3, 5};

#define B       TEST_ARRAY("b.npy", "=f8", "(3,)", b)
#define K       TEST_ARRAY("k.npy", "=f8", "(2,)", k)
#define DATA    TEST_ARRAY("P_data.npy", "=f8", "(5,)", data)
#define INDICES TEST_ARRAY("P_indices.npy", "=i4", "(5,)", indices)
#define INDPTR  TEST_ARRAY("P_indptr.npy", "=i8", "(4,)", indptr)

/* Reading fails with these words and the name of the file, in a megabyte of memory. */
static void refuse_file(const char *path, nadir_status expected, const char *words)
{
    nadir_context *context = test_context_memory((size_t)1 << 20);
    nadir_kernel *kernel = NULL;
    nadir_kernel_parameters parameters = {.set = NADIR_SET_S};
    nadir_model *model = three_rows(context);
    const size_t before = nadir_context_memory(context);
    const nadir_status status = nadir_kernel_file_read(context, model, path, &kernel, &parameters);
    assert_fails(context, status, expected, words);
    assert_fails(context, status, expected, path);
    assert_null(kernel);
    assert_int_equal(parameters.set, NADIR_SET_S);
    assert_int_equal(nadir_context_memory(context), before);
    nadir_model_free(model);
    nadir_context_free(context);
}

#define REFUSE(words, ...)                                                                                   \
    do {                                                                                                     \
        const test_array arrays[] = {__VA_ARGS__};                                                           \
        test_write_npz("wrong.npz", arrays, false);                                                          \
        refuse_file("wrong.npz", NADIR_ERROR_FORMAT, words);                                                 \
    } while (0)

static void archives_by_others_are_read(void **state)
{
    nadir_context *context = *state;
    nadir_model *model = three_rows(context);
    nadir_kernel *kernel = NULL;
    nadir_kernel_parameters parameters;
    const float small[] = {0.5F, -0.25F, 0.125F};
    const int8_t slope[] = {1, -1};
    const test_array arrays[] = {TEST_ARRAY("b", "=f4", "(3,)", small), TEST_ARRAY("k", "|i1", "(2,)", slope),
                                 TEST_ARRAY("mine.npy", "=f8", "(2,)", k)};
    test_write_npz("theirs.npz", arrays, true);
    assert_ok(context, nadir_kernel_file_read(context, model, "theirs.npz", &kernel, &parameters));
    assert_parameters_equal(&parameters, &nothing_said, 3);
    nadir_explicit rows;
    assert_ok(context, nadir_explicit_make(context, kernel, &rows));
    const nadir_row row = nadir_explicit_row(&rows, 0); /* (1, 0) - 0.5 (1, -1) */
    assert_true(row.count == 2 && row.values[0] == 0.5 && row.values[1] == 0.5);
    nadir_explicit_clear(context, &rows);
    assert_non_null(strstr(test_messages(), "theirs.npz: 1 unknown array was ignored: mine"));
    nadir_kernel_parameters_clear(context, &parameters);
    nadir_kernel_free(kernel);
    nadir_model_free(model);
}

static void kernels_that_are_missing(void **state)
{
    (void)state;
    refuse_file("missing.npz", NADIR_ERROR_FILE, "cannot open");
    test_write_file("text.npz", "no archive");
    refuse_file("text.npz", NADIR_ERROR_FORMAT, "is no zip archive");
    REFUSE("no kernel; expected either arrays b and k, or P_data", INDPTR);
    REFUSE("more than one kernel", B, K, DATA, INDICES, INDPTR);
    REFUSE("array k is missing", B);
    REFUSE("array b is missing", K);
    REFUSE("array P_indices is missing", DATA, INDPTR);
    REFUSE("array P_indptr is missing", DATA, INDICES);
}

static void shapes_that_do_not_fit(void **state)
{
    (void)state;
    const double four[] = {1, 2, 3, 4};
    const int64_t shape[] = {2, 3};
    REFUSE("array b has shape (2,); expected one number for each of 3 rows",
           TEST_ARRAY("b.npy", "=f8", "(2,)", k), K);
    REFUSE("array k has shape (4,); expected one number for each of 2 states", B,
           TEST_ARRAY("k.npy", "=f8", "(4,)", four));
    REFUSE("array k has shape (2, 1)", B, TEST_ARRAY("k.npy", "=f8", "(2, 1)", k));
    REFUSE("array P_indices has shape (3,); expected one number for each of 5 entries", DATA,
           TEST_ARRAY("P_indices.npy", "=i8", "(3,)", ((int64_t[3]){0})), INDPTR);
    REFUSE("array P_indptr has shape (5,); expected (4,): one more than the model has rows", DATA, INDICES,
           TEST_ARRAY("P_indptr.npy", "=i4", "(5,)", indices));
    REFUSE("array P_shape makes 2 rows and 3 states; the model has 3 and 2", DATA, INDICES, INDPTR,
           TEST_ARRAY("P_shape.npy", "=i8", "(2,)", shape));
    const double many[8] = {0};
    REFUSE("array P_data has shape (8,); expected at most 2 entries in each of 3 rows",
           TEST_ARRAY("P_data.npy", "=f8", "(8,)", many), INDICES, INDPTR);
    const int32_t of_state[] = {0, 1, 1};
    REFUSE("array row_state: row 1 has 1; in the model it has 0", DATA, INDICES, INDPTR,
           TEST_ARRAY("row_state.npy", "=i4", "(3,)", of_state));
    REFUSE("array row_action: row 2 has 1; in the model it has 0", DATA, INDICES, INDPTR,
           TEST_ARRAY("row_action.npy", "=i4", "(3,)", of_state));
    REFUSE("array row_action has shape (5,)", DATA, INDICES, INDPTR,
           TEST_ARRAY("row_action.npy", "=i4", "(5,)", indices));
}

static void numbers_that_are_wrong(void **state)
{
    (void)state;
    const double bad_b[] = {0, NAN, 0};
    const double bad_k[] = {INFINITY, 0};
    const double bad_data[] = {1, 0.5, 0.5, -INFINITY, 0.75};
    const int32_t outside[] = {0, 0, 2, 0, 1};
    const int32_t below[] = {-1, 0, 1, 0, 1};
    const int32_t falls[] = {0, 1, 0, 0, 1};
    const int32_t twice[] = {0, 0, 1, 1, 1};
    REFUSE("array b: state 0, action 1: the number is nan; expected a finite one",
           TEST_ARRAY("b.npy", "=f8", "(3,)", bad_b), K);
    REFUSE("array k: state 0: the number is inf", B, TEST_ARRAY("k.npy", "=f8", "(2,)", bad_k));
    REFUSE("array P_data: state 1, action 0: the number is -inf",
           TEST_ARRAY("P_data.npy", "=f8", "(5,)", bad_data), INDICES, INDPTR);
    REFUSE("array P_indices: state 0, action 1: the number is 2; expected states of the model, rising", DATA,
           TEST_ARRAY("P_indices.npy", "=i4", "(5,)", outside), INDPTR);
    REFUSE("array P_indices: state 0, action 0: the number is -1", DATA,
           TEST_ARRAY("P_indices.npy", "=i4", "(5,)", below), INDPTR);
    REFUSE("array P_indices: state 0, action 1: the number is 0", DATA,
           TEST_ARRAY("P_indices.npy", "=i4", "(5,)", falls), INDPTR);
    REFUSE("array P_indices: state 1, action 0: the number is 1", DATA,
           TEST_ARRAY("P_indices.npy", "=i4", "(5,)", twice), INDPTR);
}

static void starts_that_are_wrong(void **state)
{
    (void)state;
    const int64_t starts[][4] = {
        {1, 1, 3, 5}, {0, 1, 3, 4}, {0, 4, 3, 5}, {0, 1, INT64_MAX, 5}, {0, -1, 3, 5}};
    for (size_t i = 0; i < sizeof starts / sizeof *starts; i++) {
        REFUSE("array P_indptr: row ", DATA, INDICES, TEST_ARRAY("P_indptr.npy", "=i8", "(4,)", starts[i]));
        REFUSE("expected numbers that do not fall, from 0 to the number of entries, 5", DATA, INDICES,
               TEST_ARRAY("P_indptr.npy", "=i8", "(4,)", starts[i]));
    }
}

static void parameters_that_are_wrong(void **state)
{
    (void)state;
    const double numbers[] = {NAN, 0.5, -1, 1, INFINITY};
#define NUMBER(name, i) {name, "=f8", "()", numbers + (i), sizeof(double), false}
    REFUSE("array norm is 0.5; expected 1 to infinity", B, K, NUMBER("norm.npy", 1));
    REFUSE("array norm is nan", B, K, NUMBER("norm.npy", 0));
    REFUSE("array gamma is inf", B, K, NUMBER("gamma.npy", 4));
    REFUSE("array gamma is nan", B, K, NUMBER("gamma.npy", 0));
    REFUSE("array radius is -1; expected a finite number, 0 or more", B, K, NUMBER("radius.npy", 2));
    REFUSE("array radius is inf", B, K, NUMBER("radius.npy", 4));
    REFUSE("array radius: state 0: the number is nan; expected a finite one, 0 or more", B, K,
           {"radius.npy", "=f8", "(2,)", numbers, 2 * sizeof(double), false});
    REFUSE("array radius has shape (5,); expected one number, or one for each of 2 states or 3 rows", B, K,
           TEST_ARRAY("radius.npy", "=f8", "(5,)", numbers));
    REFUSE("array scales: state 0, action 1: the number is -1", B, K,
           {"scales.npy", "=f8", "(3,)", numbers + 1, 3 * sizeof(double), false});
    REFUSE("array scales has shape (2,); expected one number for each of 3 rows", B, K,
           TEST_ARRAY("scales.npy", "=f8", "(2,)", k));
    REFUSE("array optimistic is 0.5; expected 0 or 1", B, K, NUMBER("optimistic.npy", 1));
    REFUSE("array optimistic is nan", B, K, NUMBER("optimistic.npy", 0));
    REFUSE("array norm has shape (2,); expected one number", B, K, TEST_ARRAY("norm.npy", "=f8", "(2,)", k));
    REFUSE("array set is \"box\"; expected nonrect, s, sa", B, K, {"set.npy", "|S3", "()", "box", 3, false});
    REFUSE("array domain is \"set\"; expected simplex, support, free, box", B, K,
           {"domain.npy", "|S3", "()", "set", 3, false});
    REFUSE("array model_sha256 is \"box\"; expected 64 hexadecimal digits", B, K,
           {"model_sha256.npy", "|S3", "()", "box", 3, false});
    REFUSE("array policy_sha256 has shape (2,); expected one word", B, K,
           {"policy_sha256.npy", "|S3", "(2,)", "boxbox", 6, false});
    REFUSE("array policy_sha256: holds numbers; expected text", B, K, NUMBER("policy_sha256.npy", 1));
#undef NUMBER
    char long_digest[] = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdefg";
    REFUSE("expected 64 hexadecimal digits", B, K,
           {"policy_sha256.npy", "|S65", "()", long_digest, 65, false});
    REFUSE("expected 64 hexadecimal digits", B, K,
           {"policy_sha256.npy", "|S64", "()", long_digest + 1, 64, false});
}

static int stop(void *user, const char *task, double share)
{
    (void)user;
    (void)task;
    (void)share;
    return 1;
}

static void files_are_written_whole_or_not_at_all(void **state)
{
    (void)state;
    nadir_context *interrupted = test_context_progress(stop, NULL);
    nadir_context *context = test_context();
    nadir_model *model = generate(context, "garnet", 3000);
    nadir_kernel *kernel = NULL;
    assert_ok(context, nadir_kernel_create(context, model, &kernel));
    assert_fails(context, nadir_kernel_file_write(context, kernel, &nothing_said, "no/folder.npz"),
                 NADIR_ERROR_IO, "no/folder.npz");
    assert_fails(interrupted, nadir_kernel_file_write(interrupted, kernel, &nothing_said, "stopped.npz"),
                 NADIR_ERROR_INTERRUPTED, "interrupted");
    assert_int_equal(test_count_files("stopped"), 0);
    assert_int_equal(test_count_files(".stopped"), 0);
    nadir_kernel_free(kernel);
    nadir_model_free(model);
    nadir_context_free(interrupted);
    nadir_context_free(context);
}

/* of: whether the kernel is of rank one. */
static nadir_status write_and_read(nadir_context *context, const void *of)
{
    nadir_model *model = NULL;
    nadir_kernel *kernel = NULL;
    nadir_kernel *back = NULL;
    nadir_kernel_parameters parameters = {.norm = 2, .gamma = 0.5};
    nadir_kernel_parameters found = nothing_said;
    const double zeros[12] = {0};
    parameters.scales = zeros;
    memcpy(parameters.model_sha256, digest_a, sizeof digest_a);
    nadir_status status = nadir_model_generate(context, "riverswim", NULL, &model);
    if (status == NADIR_OK) {
        status = *(const bool *)of ? nadir_kernel_create_rank_one(context, model, zeros, zeros, &kernel)
                                   : nadir_kernel_create(context, model, &kernel);
    }
    if (status == NADIR_OK) {
        status = nadir_kernel_file_write(context, kernel, &parameters, "scarce.npz");
    }
    if (status == NADIR_OK) {
        status = nadir_kernel_file_read(context, model, "scarce.npz", &back, &found);
        assert_int_equal(remove("scarce.npz"), 0);
    }
    nadir_kernel_parameters_clear(context, &found);
    nadir_kernel_free(kernel);
    nadir_kernel_free(back);
    nadir_model_free(model);
    return status;
}

static void memory_may_run_out(void **state)
{
    (void)state;
    test_run_out(write_and_read, &(bool){true}, "scarce", "rank one");
    test_run_out(write_and_read, &(bool){false}, "scarce", "rows");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test_with_context(rank_one_kernels_come_back),
        test_with_context(changed_rows_come_back),
        test_with_context(nominal_kernels_come_back),
        test_with_context(rows_are_read_as_a_model_too),
        cmocka_unit_test(kernels_of_all_kinds_come_back),
        test_with_context(archives_by_others_are_read),
        cmocka_unit_test(kernels_that_are_missing),
        cmocka_unit_test(shapes_that_do_not_fit),
        cmocka_unit_test(numbers_that_are_wrong),
        cmocka_unit_test(starts_that_are_wrong),
        cmocka_unit_test(parameters_that_are_wrong),
        cmocka_unit_test(files_are_written_whole_or_not_at_all),
        cmocka_unit_test(memory_may_run_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
