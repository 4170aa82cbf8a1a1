/*
 * petsc_model.c: models as PETSc binary matrices, the layout of madupite; see petsc_file.h for the bytes.
 *
 * The kernel is a matrix of S A rows and S columns whose row s A + a is P(.|s, a). The rewards stand in a
 * file of their own: a matrix S x A, or S A numbers in the order of the rows (a vector, or a matrix with one
 * column). Rewards are taken as they are, although madupite's files hold costs.
 *
 * Lengths of rows, columns and values stand one after another, each with items of one size, so a process
 * seeks to its own part of each. A scan over the processes gives the number of entries in the rows before.
 */
#include "io/format.h"
#include "io/petsc_file.h"
#include "linalg/distributed.h"
#include "model/model.h"

#include <string.h>
#include <unistd.h>

/* The entries of the rows [first, first + rows) of a sparse matrix; the arrays are released by the caller. */
typedef struct sparse_rows {
    int64_t *row_starts; /* [rows + 1] */
    int32_t *columns;
    double *values;
} sparse_rows;

static nadir_status read_sparse(nadir_petsc_file *file, int64_t first, int64_t rows, sparse_rows *made)
{
    nadir_status status = NADIR_OK;
    nadir_context *context = file->context;
    NADIR_NEW(context, made->row_starts, rows + 1);
    NADIR_CHECK(nadir_petsc_read_lengths(file, first, rows, made->row_starts));
    const int64_t count = made->row_starts[rows];
    const int64_t before = nadir_global_first(context, count);
    NADIR_NEW(context, made->columns, count);
    NADIR_NEW(context, made->values, count);
    NADIR_CHECK(
        nadir_petsc_read_entries(file, first, rows, made->row_starts, before, made->columns, made->values));
cleanup:
    return status;
}

/* Rewards of the own rows, of which `first_row` is the first; entries that are not stored are zero. */
static nadir_status read_sparse_rewards(nadir_petsc_file *file, int64_t first_row, nadir_model *model)
{
    nadir_status status = NADIR_OK;
    sparse_rows table = {0};
    const int64_t rows = model->rows / file->columns;
    NADIR_CHECK(read_sparse(file, first_row / file->columns, rows, &table));
    for (int64_t row = 0; row < rows; row++) {
        for (int64_t i = table.row_starts[row]; i < table.row_starts[row + 1]; i++) {
            model->rewards[row * file->columns + table.columns[i]] = table.values[i];
        }
    }
cleanup:
    nadir_release(file->context, table.row_starts);
    nadir_release(file->context, table.columns);
    nadir_release(file->context, table.values);
    return status;
}

/* states, actions: of the whole model; first: the first own state. */
static nadir_status read_rewards(nadir_context *context, const char *path, int64_t first, int64_t states,
                                 int64_t actions, nadir_model *model)
{
    nadir_status status = NADIR_OK;
    nadir_petsc_file file;
    const int64_t rows = states * actions;
    NADIR_CHECK(nadir_petsc_open(context, path, &file));
    const bool table = file.rows == states && file.columns == actions;
    const bool list = file.rows == rows && file.columns == 1;
    if (!table && !list) {
        status = nadir_fail(context, NADIR_ERROR_FORMAT,
                            "%s: rewards of %lld x %lld; expected %lld x %lld (states x actions), or %lld "
                            "in one column or vector",
                            path, (long long)file.rows, (long long)file.columns, (long long)states,
                            (long long)actions, (long long)rows);
        goto cleanup;
    }
    NADIR_NEW_ZERO(context, model->rewards, model->rows);
    if (file.nonzeros == NADIR_PETSC_DENSE) {
        NADIR_CHECK(nadir_petsc_read_numbers(&file, first * actions, model->rows, model->rewards));
    } else {
        NADIR_CHECK(read_sparse_rewards(&file, first * actions, model));
    }
cleanup:
    nadir_petsc_close(&file);
    return status;
}

static nadir_status check_shape(const nadir_petsc_file *file)
{
    const char *path = file->input.path;
    if (file->vector) {
        return nadir_fail(file->context, NADIR_ERROR_FORMAT,
                          "%s: a PETSc vector; expected the matrix of transition probabilities (rewards are "
                          "given by --rewards)",
                          path);
    }
    if (file->rows < 1 || file->columns < 1 || file->rows % file->columns != 0) {
        return nadir_fail(file->context, NADIR_ERROR_FORMAT,
                          "%s: a matrix of %lld x %lld; expected the rows to be a multiple of the columns: "
                          "one row for each state and action, one column for each state",
                          path, (long long)file->rows, (long long)file->columns);
    }
    const int64_t actions = file->rows / file->columns;
    if (file->columns > NADIR_STATES_LIMIT || actions > INT32_MAX) {
        return nadir_fail(file->context, NADIR_ERROR_MODEL, "%s: %lld states with %lld actions; at most %d",
                          path, (long long)file->columns, (long long)actions, NADIR_STATES_LIMIT);
    }
    return NADIR_OK;
}

/* first_row: the first own row. */
static nadir_status read_kernel(nadir_petsc_file *file, int64_t first_row, nadir_model *model)
{
    nadir_status status = NADIR_OK;
    sparse_rows kernel = {0};
    if (file->nonzeros == NADIR_PETSC_DENSE) {
        const int64_t count = model->rows * file->columns;
        NADIR_NEW(file->context, model->dense, count);
        return nadir_petsc_read_numbers(file, first_row * file->columns, count, model->dense);
    }
    status = read_sparse(file, first_row, model->rows, &kernel);
    model->row_starts = kernel.row_starts;
    model->columns = kernel.columns;
    model->probabilities = kernel.values;
cleanup:
    return status;
}

static nadir_status read_petsc(nadir_context *context, const char *path, const nadir_read_settings *settings,
                               nadir_model **model)
{
    nadir_status status = NADIR_OK;
    nadir_model *made = NULL;
    nadir_petsc_file file;
    int64_t first;
    int64_t end;
    NADIR_CHECK(nadir_petsc_open(context, path, &file));
    NADIR_CHECK(check_shape(&file));
    NADIR_CHECK(nadir_model_start(context, &made));
    const int64_t actions = file.rows / file.columns;
    nadir_model_own_states(context, file.columns, &first, &end);
    made->states = end - first;
    made->rows = made->states * actions;
    NADIR_NEW(context, made->state_rows, made->states + 1);
    for (int64_t s = 0; s <= made->states; s++) {
        made->state_rows[s] = s * actions;
    }
    if (settings->rewards != NULL) { /* before the kernel: what it takes to read them is then free again */
        NADIR_CHECK(read_rewards(context, settings->rewards, first, file.columns, actions, made));
    } else {
        nadir_log(context, NADIR_LOG_NOTICE, "%s: a kernel without rewards; --rewards FILE gives them", path);
    }
    NADIR_CHECK(read_kernel(&file, first * actions, made));
    if (context->engine != NULL) {
        NADIR_CHECK(nadir_model_distribute(context, made, path, first, file.columns));
    }
    const nadir_source source = {.path = path};
    NADIR_CHECK(nadir_model_finish(context, made, &source));
    *model = made;
    made = NULL;
cleanup:
    nadir_model_free(made);
    nadir_petsc_close(&file);
    return status;
}

static nadir_status write_kernel(nadir_context *context, nadir_output *output, const nadir_model *model)
{
    nadir_status status = NADIR_OK;
    const size_t width = nadir_petsc_put_header(output, model->rows, model->states, model->nonzeros);
    enum { LENGTHS, COLUMNS, VALUES, PASSES };
    for (int pass = LENGTHS; pass < PASSES; pass++) {
        for (int64_t row = 0; row < model->rows; row++) {
            const nadir_row entries = nadir_model_row(model, row);
            int64_t length = 0;
            for (int64_t i = 0; i < entries.count; i++) {
                const bool positive = entries.values[i] > 0;
                length += positive;
                if (positive && pass == COLUMNS) {
                    nadir_petsc_put_integer(output, width, nadir_row_column(&entries, i));
                } else if (positive && pass == VALUES) {
                    nadir_petsc_put_double(output, entries.values[i]);
                }
            }
            if (pass == LENGTHS) {
                nadir_petsc_put_integer(output, width, length);
            }
            const double passes_done = pass + (double)row / (double)model->rows;
            NADIR_CHECK(nadir_progress(context, "writing", passes_done / PASSES));
        }
    }
cleanup:
    return status;
}

/* A matrix S x A with every entry stored, the form madupite writes. */
static nadir_status write_rewards(nadir_context *context, nadir_output *output, const nadir_model *model)
{
    nadir_status status = NADIR_OK;
    const int64_t actions = model->rows / model->states;
    const size_t width = nadir_petsc_put_header(output, model->states, actions, model->rows);
    for (int64_t s = 0; s < model->states; s++) {
        nadir_petsc_put_integer(output, width, actions);
    }
    for (int64_t row = 0; row < model->rows; row++) {
        nadir_petsc_put_integer(output, width, row % actions);
    }
    for (int64_t row = 0; row < model->rows; row++) {
        nadir_petsc_put_double(output, model->rewards[row]);
        NADIR_CHECK(nadir_progress(context, "writing the rewards", (double)row / (double)model->rows));
    }
cleanup:
    return status;
}

/* "model.P.bin" has its rewards in "model.g.bin", as has "model.bin". */
static nadir_status rewards_path(nadir_context *context, const char *path, char **rewards)
{
    static const char kernel_ending[] = ".P.bin";
    nadir_status status = NADIR_OK;
    const size_t length = strlen(path);
    const size_t ending = sizeof kernel_ending - 1;
    if (length < ending || strcmp(path + length - ending, kernel_ending) != 0) {
        return nadir_sibling_path(context, path, ".g.bin", rewards);
    }
    NADIR_NEW(context, *rewards, length + 1);
    memcpy(*rewards, path, length + 1);
    memcpy(*rewards + length - ending, ".g.bin", ending);
cleanup:
    return status;
}

static nadir_status write_petsc(nadir_context *context, const nadir_model *model, const char *path,
                                const nadir_write_settings *settings)
{
    (void)settings;
    nadir_status status = NADIR_OK;
    char *sibling = NULL;
    nadir_output kernel = NADIR_OUTPUT_CLOSED;
    nadir_output rewards = NADIR_OUTPUT_CLOSED;
    NADIR_CHECK(nadir_output_open(context, path, &kernel));
    NADIR_CHECK(write_kernel(context, &kernel, model));
    if (model->rewards != NULL) {
        NADIR_CHECK(rewards_path(context, path, &sibling));
        NADIR_CHECK(nadir_output_open(context, sibling, &rewards));
        NADIR_CHECK(write_rewards(context, &rewards, model));
    }
    NADIR_CHECK(nadir_output_commit(context, &kernel));
    if (sibling != NULL) {
        status = nadir_output_commit(context, &rewards);
        if (status != NADIR_OK) {
            (void)unlink(path);
            goto cleanup;
        }
        nadir_log(context, NADIR_LOG_NOTICE, "%s: the rewards are in %s; read both with --rewards %s", path,
                  sibling, sibling);
    }
cleanup:
    nadir_output_close(context, &rewards);
    nadir_output_close(context, &kernel);
    nadir_release(context, sibling);
    return status;
}

const nadir_format nadir_format_petsc = {
    .name = "petsc",
    .endings = " .bin ",
    .title = "PETSc binary",
    .holds = NADIR_HOLDS_REWARDS,
    .takes = NADIR_TAKES_REWARDS,
    .recognises = nadir_petsc_recognises,
    .read = read_petsc,
    .reads_parts = true,
    .write = write_petsc,
};
