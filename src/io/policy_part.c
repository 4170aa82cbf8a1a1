/*
 * policy_part.c: parts of policies; see policy_part.h. Of CSV every process reads all lines and keeps its own
 * (policy_file.c); of these only what is its own:
 *
 *     .npy   (rows) probabilities, or (S, A) in C order, where every state has A actions
 *     .npy   (S) integers: action numbers
 */
#include "io/policy_part.h"

#include "io/numpy/npy.h"
#include "linalg/distributed.h"

typedef struct part_file {
    nadir_context *context;
    nadir_input input;
    int64_t done;
} part_file;

static nadir_status read_file(void *user, void *buffer, size_t size, size_t *got)
{
    part_file *file = user;
    const nadir_status status = nadir_input_read(file->context, &file->input, buffer, size, got);
    file->done += (int64_t)*got;
    return status;
}

static bool skip_file(void *user, int64_t bytes)
{
    part_file *file = user;
    file->done += bytes;
    return nadir_input_seek(file->context, &file->input, file->done) == NADIR_OK;
}

/* Probabilities of the own rows. */
static nadir_status take_rows(const nadir_model *model, nadir_npy *npy, nadir_policy **policy)
{
    nadir_status status = NADIR_OK;
    nadir_context *context = npy->context;
    double *numbers = NULL;
    NADIR_NEW(context, numbers, model->rows);
    NADIR_CHECK(nadir_npy_skip(npy, nadir_global_first(context, model->rows)));
    NADIR_CHECK(nadir_npy_doubles(npy, model->rows, numbers));
    NADIR_CHECK(nadir_policy_create(context, model, numbers, policy));
cleanup:
    nadir_release(context, numbers);
    return status;
}

/* Action numbers of the own states. */
static nadir_status take_actions(const nadir_model *model, nadir_npy *npy, nadir_policy **policy)
{
    nadir_status status = NADIR_OK;
    nadir_context *context = npy->context;
    int64_t *actions = NULL;
    NADIR_NEW(context, actions, model->states);
    NADIR_CHECK(nadir_npy_skip(npy, nadir_model_first(model)));
    NADIR_CHECK(nadir_npy_int64s(npy, model->states, actions));
    NADIR_CHECK(nadir_policy_create_deterministic(context, model, actions, policy));
cleanup:
    nadir_release(context, actions);
    return status;
}

/* As many actions as every state of every process has; 0: they differ. */
static int64_t common_actions(const nadir_context *context, const nadir_model *model)
{
    const int64_t actions = model->state_rows[1];
    bool same = model->row_actions == NULL;
    for (int64_t s = 0; s <= model->states; s++) {
        same = same && model->state_rows[s] == s * actions;
    }
    const int64_t most = (int64_t)nadir_allreduce_maximum(context, (double)actions);
    return nadir_allreduce_and(context, same && actions == most) ? most : 0;
}

nadir_status nadir_policy_part_read(nadir_context *context, const nadir_model *model, const char *path,
                                    nadir_policy **policy)
{
    nadir_status status = NADIR_OK;
    nadir_npy npy = {0};
    part_file file = {.context = context, .input = NADIR_INPUT_CLOSED};
    const int64_t rows = nadir_global_count(context, model->rows);
    const int64_t actions = common_actions(context, model);
    NADIR_CHECK(nadir_input_open(context, path, &file.input));
    const nadir_npy_source source = {path, file.input.bytes, read_file, &file, skip_file};
    NADIR_CHECK(nadir_npy_open(context, &source, &npy));
    const nadir_npy_header *header = &npy.header;
    const bool table = header->dimensions == 2 && !header->fortran && actions > 0 &&
                       header->shape[0] == nadir_model_total(model) && header->shape[1] == actions;
    const bool by_state =
        header->dimensions == 1 && nadir_npy_is_integer(header) && header->count == nadir_model_total(model);
    if (table || (!by_state && header->dimensions == 1 && header->count == rows)) {
        NADIR_CHECK(take_rows(model, &npy, policy));
    } else if (by_state) {
        NADIR_CHECK(take_actions(model, &npy, policy));
    } else {
        char shape[NADIR_NPY_SHAPE_LENGTH];
        status = nadir_fail(context, NADIR_ERROR_POLICY,
                            "%s: the array has shape %s; expected %lld probabilities, one for each row, in C "
                            "order, or integers (%lld,): an action number for each state",
                            path, nadir_npy_shape_text(header->dimensions, header->shape, shape),
                            (long long)rows, (long long)nadir_model_total(model));
    }
cleanup:
    nadir_npy_close(&npy);
    nadir_input_close(&file.input);
    return status;
}

/* CSV as policy_file.c writes it, of what process 0 has collected. */
static nadir_status write_lines(nadir_context *context, int64_t rows, const double *states,
                                const double *actions, const double *numbers, const char *path)
{
    nadir_status status = NADIR_OK;
    nadir_output output = NADIR_OUTPUT_CLOSED;
    NADIR_CHECK(nadir_output_open(context, path, &output));
    nadir_output_text(&output, "idstate,idaction,probability\n");
    for (int64_t row = 0; row < rows; row++) {
        if (numbers[row] > 0) {
            nadir_output_integer(&output, (int64_t)states[row]);
            nadir_output_text(&output, ",");
            nadir_output_integer(&output, (int64_t)actions[row]);
            nadir_output_text(&output, ",");
            nadir_output_double(&output, numbers[row]);
            nadir_output_text(&output, "\n");
        }
    }
    NADIR_CHECK(nadir_output_commit(context, &output));
cleanup:
    nadir_output_close(context, &output);
    return status;
}

/* all: [rows] on process 0, the numbers of all rows. */
static nadir_status write_csv(nadir_context *context, const nadir_model *model, int64_t rows,
                              const double *all, const char *path)
{
    nadir_status status = NADIR_OK;
    const nadir_communication *table = context->communication;
    const bool writes = table->rank == 0;
    double *own = NULL;
    double *states = NULL;
    double *actions = NULL;
    NADIR_NEW(context, own, 2 * model->rows);
    NADIR_NEW(context, states, writes ? rows : 0);
    NADIR_NEW(context, actions, writes ? rows : 0);
    for (int64_t s = 0; s < model->states; s++) {
        for (int64_t row = model->state_rows[s]; row < model->state_rows[s + 1]; row++) {
            own[row] = (double)(nadir_model_first(model) + s);
            own[model->rows + row] = (double)nadir_model_row_action(model, s, row);
        }
    }
    NADIR_CHECK(table->collect(table->self, context, model->rows, own, states));
    NADIR_CHECK(table->collect(table->self, context, model->rows, own + model->rows, actions));
    if (writes) {
        NADIR_CHECK(write_lines(context, rows, states, actions, all, path));
    }
cleanup:
    nadir_release(context, own);
    nadir_release(context, states);
    nadir_release(context, actions);
    return status;
}

nadir_status nadir_policy_part_write(nadir_context *context, const nadir_model *model, const double *numbers,
                                     const char *path)
{
    nadir_status status = NADIR_OK;
    const nadir_communication *table = context->communication;
    const bool writes = table->rank == 0;
    const int64_t rows = nadir_global_count(context, model->rows);
    const int64_t actions = common_actions(context, model);
    const int64_t shape[] = {nadir_model_total(model), actions};
    double *all = NULL;
    NADIR_NEW(context, all, writes ? rows : 0);
    NADIR_CHECK(table->collect(table->self, context, model->rows, numbers, all));
    if (!nadir_npy_is_name(path)) {
        NADIR_CHECK(write_csv(context, model, rows, all, path));
    } else if (writes) {
        NADIR_CHECK(nadir_npy_write(context, path, actions > 0 ? 2 : 1, actions > 0 ? shape : &rows, all));
    }
cleanup:
    nadir_release(context, all);
    return status;
}
