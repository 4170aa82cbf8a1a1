/*
 * petsc_part.c: the part of a model that a process owns, from PETSc binary files; see petsc.c for the format.
 *
 * Lengths of rows, columns and values stand one after another, all of them of one size: the own part of each
 * is read from where it stands. How many entries the rows before have, the processes tell one another.
 */
#include "io/petsc/petsc_part.h"

#include "io/petsc/petsc_file.h"
#include "linalg/distributed.h"
#include "model/partition.h"

static nadir_status check_form(const nadir_petsc_file *file)
{
    if (file->vector || file->nonzeros == NADIR_PETSC_DENSE || file->rows < 1 || file->columns < 1 ||
        file->rows % file->columns != 0 || file->columns > NADIR_STATES_LIMIT) {
        return nadir_fail(file->context, NADIR_ERROR_FORMAT,
                          "%s: %s of %lld x %lld; expected a sparse matrix whose rows are a multiple of its "
                          "columns: one row for each state and action, one column for each state",
                          file->input.path, file->vector ? "a vector" : "a matrix", (long long)file->rows,
                          (long long)file->columns);
    }
    return NADIR_OK;
}

static nadir_status read_kernel(nadir_petsc_file *file, int64_t first, nadir_model *model)
{
    nadir_status status = NADIR_OK;
    nadir_context *context = file->context;
    NADIR_NEW(context, model->row_starts, model->rows + 1);
    NADIR_CHECK(nadir_petsc_read_lengths(file, first, model->rows, model->row_starts));
    const int64_t entries = model->row_starts[model->rows];
    const int64_t before = nadir_global_first(context, entries);
    NADIR_NEW(context, model->columns, entries);
    NADIR_NEW(context, model->probabilities, entries);
    NADIR_CHECK(nadir_petsc_read_entries(file, before, entries, model->columns, model->probabilities));
cleanup:
    return status;
}

/* A table of S x A with all entries stored, or with gaps that are zeros. */
static nadir_status read_table(nadir_petsc_file *file, int64_t first, int64_t actions, nadir_model *model)
{
    nadir_status status = NADIR_OK;
    nadir_context *context = file->context;
    const bool list = file->columns == 1;
    const int64_t rows = list ? model->rows : model->states;
    int64_t *starts = NULL;
    int32_t *columns = NULL;
    double *values = NULL;
    NADIR_NEW(context, starts, rows + 1);
    NADIR_CHECK(nadir_petsc_read_lengths(file, list ? first * actions : first, rows, starts));
    const int64_t before = nadir_global_first(context, starts[rows]);
    NADIR_NEW(context, columns, starts[rows]);
    NADIR_NEW(context, values, starts[rows]);
    NADIR_CHECK(nadir_petsc_read_entries(file, before, starts[rows], columns, values));
    for (int64_t row = 0; row < rows; row++) {
        for (int64_t i = starts[row]; i < starts[row + 1]; i++) {
            model->rewards[row * (list ? 1 : actions) + columns[i]] = values[i];
        }
    }
cleanup:
    nadir_release(context, starts);
    nadir_release(context, columns);
    nadir_release(context, values);
    return status;
}

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
                            "%s: rewards of %lld x %lld; expected %lld x %lld (states x actions), or %lld in "
                            "one column or vector",
                            path, (long long)file.rows, (long long)file.columns, (long long)states,
                            (long long)actions, (long long)rows);
        goto cleanup;
    }
    NADIR_NEW_ZERO(context, model->rewards, model->rows);
    if (file.nonzeros == NADIR_PETSC_DENSE) {
        NADIR_CHECK(nadir_petsc_read_numbers(&file, first * actions, model->rows, model->rewards));
    } else {
        NADIR_CHECK(read_table(&file, first, actions, model));
    }
cleanup:
    nadir_petsc_close(&file);
    return status;
}

nadir_status nadir_petsc_read_part(nadir_context *context, const char *path,
                                   const nadir_read_settings *settings, nadir_model **model)
{
    nadir_status status = NADIR_OK;
    nadir_model *made = NULL;
    nadir_petsc_file file;
    int64_t first;
    int64_t end;
    NADIR_CHECK(nadir_petsc_open(context, path, &file));
    NADIR_CHECK(check_form(&file));
    nadir_model_own_states(context, file.columns, &first, &end);
    NADIR_CHECK(nadir_model_start(context, &made));
    const int64_t actions = file.rows / file.columns;
    made->states = end - first;
    made->rows = made->states * actions;
    NADIR_NEW(context, made->state_rows, made->states + 1);
    for (int64_t s = 0; s <= made->states; s++) {
        made->state_rows[s] = s * actions;
    }
    if (settings->rewards != NULL) {
        NADIR_CHECK(read_rewards(context, settings->rewards, first, file.columns, actions, made));
    }
    NADIR_CHECK(read_kernel(&file, first * actions, made));
    NADIR_CHECK(nadir_model_distribute(context, made, path, first, file.columns));
    const nadir_source source = {.path = path};
    NADIR_CHECK(nadir_model_finish(context, made, &source));
    *model = made;
    made = NULL;
cleanup:
    nadir_model_free(made);
    nadir_petsc_close(&file);
    return status;
}
