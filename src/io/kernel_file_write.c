/*
 * kernel_file_write.c: a kernel as a NumPy archive; see result_files.h.
 *
 * Rows are made twice more after they were counted, once for their values and once for their columns, so that
 * a kernel whose rows are full where the model's are sparse takes no memory but for one row.
 */
#include "io/result_files.h"

#include "io/npz.h"
#include "linalg/distributed.h"
#include "model/kernel.h"
#include "model/kernel_internal.h"

#include <math.h>

/* The values, or the columns, of all rows. The archive takes one stream after the other, so that both may use
 * the same row. */
typedef struct row_stream {
    nadir_explicit *rows;
    bool columns;
    int64_t next;
} row_stream;

typedef struct writer {
    nadir_context *context;
    const nadir_kernel *kernel;
    const nadir_model *model;
    const nadir_kernel_parameters *parameters;
    nadir_npz_output output;
    nadir_explicit rows;
    row_stream values, columns;
    nadir_npz_stream data, indices;
    /* Kept until the archive is closed: */
    int64_t *starts; /* [rows + 1] */
    int32_t *row_state;
    int64_t shape[2];
    int64_t optimistic;
    double *b, *k, *scales, *radius; /* of all processes, where there are several */
} writer;

static void restart(void *user)
{
    row_stream *stream = user;
    stream->next = 0;
}

/* The next row that is not empty. */
static size_t next_row(void *user, const void **bytes)
{
    row_stream *stream = user;
    nadir_row row = {0};
    while (row.count == 0 && stream->next < stream->rows->kernel->model->rows) {
        row = nadir_explicit_row(stream->rows, stream->next++);
    }
    *bytes = stream->columns ? (const void *)row.columns : (const void *)row.values;
    return (size_t)row.count * (stream->columns ? sizeof *row.columns : sizeof *row.values);
}

static nadir_status count_entries(writer *self)
{
    nadir_status status = NADIR_OK;
    const int64_t rows = self->model->rows;
    self->starts[0] = 0;
    for (int64_t row = 0; row < rows; row++) {
        self->starts[row + 1] = self->starts[row] + nadir_explicit_row(&self->rows, row).count;
        if (row % 256 == 0) {
            NADIR_CHECK(nadir_progress(self->context, "counting entries", (double)row / (double)rows));
        }
    }
cleanup:
    return status;
}

/* Which state and which action each row has, where that does not go without saying. */
static nadir_status add_row_labels(writer *self)
{
    nadir_status status = NADIR_OK;
    const nadir_model *model = self->model;
    bool regular = true;
    for (int64_t s = 0; s <= model->states; s++) {
        regular = regular && model->state_rows[s] == s * model->state_rows[1];
    }
    if (!regular) {
        NADIR_NEW(self->context, self->row_state, model->rows);
        for (int64_t s = 0; s < model->states; s++) {
            for (int64_t row = model->state_rows[s]; row < model->state_rows[s + 1]; row++) {
                self->row_state[row] = (int32_t)s;
            }
        }
        NADIR_CHECK(nadir_npz_add(&self->output, NADIR_NPZ_ROW_STATE, "i4", 1, &model->rows, self->row_state,
                                  sizeof *self->row_state));
    }
    if (model->row_actions != NULL) {
        NADIR_CHECK(nadir_npz_add(&self->output, NADIR_NPZ_ROW_ACTION, "i4", 1, &model->rows,
                                  model->row_actions, sizeof *model->row_actions));
    }
cleanup:
    return status;
}

static nadir_status add_rows(writer *self)
{
    nadir_status status = NADIR_OK;
    const nadir_model *model = self->model;
    const int64_t starts = model->rows + 1;
    NADIR_CHECK(nadir_explicit_make(self->context, self->kernel, &self->rows));
    NADIR_NEW(self->context, self->starts, starts);
    NADIR_CHECK(count_entries(self));
    const int64_t entries = self->starts[model->rows];
    self->shape[0] = model->rows;
    self->shape[1] = model->states;
    self->values = (row_stream){.rows = &self->rows, .columns = false};
    self->columns = (row_stream){.rows = &self->rows, .columns = true};
    self->data = (nadir_npz_stream){.restart = restart, .next = next_row, .user = &self->values};
    self->indices = (nadir_npz_stream){.restart = restart, .next = next_row, .user = &self->columns};
    NADIR_CHECK(
        nadir_npz_add_stream(&self->output, NADIR_NPZ_P_DATA, "f8", entries, sizeof(double), &self->data));
    NADIR_CHECK(nadir_npz_add_stream(&self->output, NADIR_NPZ_P_INDICES, "i4", entries, sizeof(int32_t),
                                     &self->indices));
    NADIR_CHECK(
        nadir_npz_add(&self->output, NADIR_NPZ_P_INDPTR, "i8", 1, &starts, self->starts, sizeof(int64_t)));
    NADIR_CHECK(nadir_npz_add(&self->output, NADIR_NPZ_P_SHAPE, "i8", 1, &(const int64_t){2}, self->shape,
                              sizeof(int64_t)));
    NADIR_CHECK(add_row_labels(self));
cleanup:
    return status;
}

static void release_collected(writer *self)
{
    nadir_release(self->context, self->b);
    nadir_release(self->context, self->k);
    nadir_release(self->context, self->scales);
    nadir_release(self->context, self->radius);
}

/* b, k, scales and radii of all processes, on process 0; a nominal kernel has b = 0 and k = 0. */
static nadir_status collect(writer *self)
{
    nadir_status status = NADIR_OK;
    nadir_context *context = self->context;
    const nadir_communication *table = context->communication;
    const nadir_model *model = self->model;
    const double *scales = self->parameters->scales;
    const int64_t rows = nadir_global_count(context, model->rows);
    const bool writes = table->rank == 0;
    double *zeros = NULL;
    self->shape[0] = rows;
    self->shape[1] = nadir_model_total(model);
    NADIR_NEW_ZERO(context, zeros, model->rows > model->states ? model->rows : model->states);
    NADIR_NEW(context, self->b, writes ? rows : 0);
    NADIR_NEW(context, self->k, writes ? self->shape[1] : 0);
    NADIR_NEW(context, self->scales, writes && scales != NULL ? rows : 0);
    const double *b = self->kernel->b != NULL ? self->kernel->b : zeros;
    const double *k = self->kernel->b != NULL ? self->kernel->k : zeros;
    NADIR_CHECK(table->collect(table->self, context, model->rows, b, self->b));
    NADIR_CHECK(table->collect(table->self, context, model->states, k, self->k));
    if (scales != NULL) {
        NADIR_CHECK(table->collect(table->self, context, model->rows, scales, self->scales));
    }
    if (self->parameters->radius_count > 1) {
        const int64_t own = self->parameters->set == NADIR_SET_S ? model->states : model->rows;
        NADIR_NEW(context, self->radius, writes ? self->parameters->radius_count : 0);
        NADIR_CHECK(table->collect(table->self, context, own, self->parameters->radius, self->radius));
    }
cleanup:
    nadir_release(context, zeros);
    return status;
}

static nadir_status add_rank_one(writer *self)
{
    nadir_status status = NADIR_OK;
    const nadir_kernel *kernel = self->kernel;
    const bool spread = self->model->exchange != NULL;
    self->shape[0] = spread ? self->shape[0] : self->model->rows;
    self->shape[1] = spread ? self->shape[1] : self->model->states;
    NADIR_CHECK(nadir_npz_add(&self->output, NADIR_NPZ_B, "f8", 1, &self->shape[0],
                              spread ? self->b : kernel->b, sizeof(double)));
    NADIR_CHECK(nadir_npz_add(&self->output, NADIR_NPZ_K, "f8", 1, &self->shape[1],
                              spread ? self->k : kernel->k, sizeof(double)));
cleanup:
    return status;
}

static nadir_status add_ball(writer *self)
{
    nadir_status status = NADIR_OK;
    const nadir_kernel_parameters *ball = self->parameters;
    nadir_npz_output *output = &self->output;
    if (ball->radius != NULL) {
        const bool one = ball->radius_count == 1;
        NADIR_CHECK(nadir_npz_add(output, NADIR_NPZ_RADIUS, "f8", one ? 0 : 1, &ball->radius_count,
                                  self->radius != NULL ? self->radius : ball->radius, sizeof(double)));
    }
    if (!isnan(ball->norm)) {
        NADIR_CHECK(nadir_npz_add_number(output, NADIR_NPZ_NORM, &ball->norm));
    }
    if (ball->set != NADIR_SET_UNSAID) {
        NADIR_CHECK(nadir_npz_add_word(output, NADIR_NPZ_SET, nadir_set_name(ball->set)));
    }
    if (ball->domain != NADIR_DOMAIN_UNSAID) {
        NADIR_CHECK(nadir_npz_add_word(output, NADIR_NPZ_DOMAIN, nadir_domain_name(ball->domain)));
    }
    if (ball->scales != NULL) {
        const bool spread = self->model->exchange != NULL;
        NADIR_CHECK(nadir_npz_add(output, NADIR_NPZ_SCALES, "f8", 1,
                                  spread ? &self->shape[0] : &self->model->rows,
                                  spread ? self->scales : ball->scales, sizeof(double)));
    }
    self->optimistic = ball->optimistic;
    NADIR_CHECK(nadir_npz_add(output, NADIR_NPZ_OPTIMISTIC, "i8", 0, NULL, &self->optimistic,
                              sizeof self->optimistic));
cleanup:
    return status;
}

static nadir_status add_digest(writer *self, nadir_npz_which which, const char *digest)
{
    return digest[0] != '\0' ? nadir_npz_add_word(&self->output, which, digest) : NADIR_OK;
}

static nadir_status add_origin(writer *self)
{
    nadir_status status = NADIR_OK;
    const nadir_kernel_parameters *origin = self->parameters;
    if (!isnan(origin->gamma)) {
        NADIR_CHECK(nadir_npz_add_number(&self->output, NADIR_NPZ_GAMMA, &origin->gamma));
    }
    NADIR_CHECK(add_digest(self, NADIR_NPZ_MODEL_SHA256, origin->model_sha256));
    NADIR_CHECK(add_digest(self, NADIR_NPZ_POLICY_SHA256, origin->policy_sha256));
    NADIR_CHECK(add_digest(self, NADIR_NPZ_MODEL_FILE_SHA256, origin->model_file_sha256));
    NADIR_CHECK(add_digest(self, NADIR_NPZ_POLICY_FILE_SHA256, origin->policy_file_sha256));
cleanup:
    return status;
}

nadir_status nadir_kernel_file_write(nadir_context *context, const nadir_kernel *kernel,
                                     const nadir_kernel_parameters *parameters, const char *path)
{
    nadir_status status = NADIR_OK;
    writer self = {.context = context, .kernel = kernel, .model = kernel->model, .parameters = parameters};
    const bool spread = kernel->model->exchange != NULL;
    const bool rank_one = kernel->b != NULL && kernel->place == NULL;
    if (spread) {
        status = kernel->place != NULL || kernel->perturbed.values != NULL
                     ? nadir_model_check_one_process(context, kernel->model,
                                                     "files of kernels with rows of their own")
                     : collect(&self);
        if (status != NADIR_OK || context->communication->rank != 0) {
            release_collected(&self);
            return status;
        }
    }
    NADIR_CHECK(nadir_npz_output_open(context, path, false, &self.output));
    NADIR_CHECK(rank_one || spread ? add_rank_one(&self) : add_rows(&self));
    NADIR_CHECK(add_ball(&self));
    NADIR_CHECK(add_origin(&self));
    NADIR_CHECK(nadir_npz_output_store_digest(&self.output));
    NADIR_CHECK(nadir_npz_output_commit(&self.output));
cleanup:
    nadir_npz_output_close(&self.output);
    nadir_explicit_clear(context, &self.rows);
    nadir_release(context, self.starts);
    nadir_release(context, self.row_state);
    release_collected(&self);
    return status;
}
