/* kernel_difference.c: what the rows of one kernel do to an average more than those of another; see
 * kernel.h. */
#include "model/kernel_internal.h"

#include "linalg/distributed.h"
#include "linalg/threads.h"

/* States are taken in so many parts, whatever the threads: sums come out the same. */
enum { PARTS = 64 };

typedef struct moving {
    const nadir_kernel *from, *to;
    nadir_kernel_vector x_from, x_to;
    const double *d, *pi;
    int64_t ahead; /* see nadir_prefetch */
} moving;

/* The difference entry by entry, where both rows are stored on the successors of the model. */
static double stored_difference(const moving *self, int64_t row, const double *from, const double *to)
{
    const nadir_model *model = self->to->model;
    const int64_t start = model->row_starts[row];
    const int64_t count = model->row_starts[row + 1] - start;
    const int32_t *columns = model->columns + start;
    const double *x = self->x_to.x;
    double sum = 0;
    nadir_prefetch(x, model->columns, start, start + count, self->ahead);
    for (int64_t i = 0; i < count; i++) {
        sum += (to[i] - from[i]) * x[columns[i]];
    }
    return sum;
}

static double row_difference(const moving *self, int64_t row)
{
    const double *from = nadir_kernel_on_support(self->from, row);
    const double *to = nadir_kernel_on_support(self->to, row);
    if (from != NULL && to != NULL) {
        return from == to ? 0 : stored_difference(self, row, from, to);
    }
    double before;
    double after;
    nadir_kernel_multiply_rows(self->from, &self->x_from, row, row + 1, &before);
    nadir_kernel_multiply_rows(self->to, &self->x_to, row, row + 1, &after);
    return after - before;
}

static double add_part(const moving *self, int64_t first, int64_t end)
{
    const nadir_model *model = self->to->model;
    double sum = 0;
    for (int64_t s = first; s < end; s++) {
        double state = 0;
        for (int64_t row = model->state_rows[s]; row < model->state_rows[s + 1] && self->d[s] > 0; row++) {
            state += self->pi[row] != 0 ? self->pi[row] * row_difference(self, row) : 0;
        }
        sum += self->d[s] > 0 ? self->d[s] * state : 0;
    }
    return sum;
}

double nadir_kernel_difference_product(const nadir_context *context, const nadir_kernel *from,
                                       const nadir_kernel *to, const double *d, const double *pi,
                                       const double *x)
{
    const nadir_model *model = to->model;
    const int64_t entries = model->dense != NULL ? model->rows * model->states : model->nonzeros;
    const int threads = nadir_threads_for(context, 2 * entries);
    const nadir_kernel_vector x_from = nadir_kernel_prepare(context, from, x);
    const moving run = {
        .from = from,
        .to = to,
        .x_from = x_from,
        .x_to = nadir_kernel_prepare(context, to, x),
        .d = d,
        .pi = pi,
        .ahead = model->dense != NULL
                     ? 0
                     : nadir_prefetch_entries(nadir_model_width(model), model->row_starts[model->rows]),
    };
    double parts[PARTS];
    double sum = 0;
#pragma omp parallel for num_threads(threads) schedule(dynamic, 1)
    for (int part = 0; part < PARTS; part++) {
        parts[part] = add_part(&run, model->states * part / PARTS, model->states * (part + 1) / PARTS);
    }
    for (int part = 0; part < PARTS; part++) {
        sum += parts[part];
    }
    return nadir_allreduce_sum(context, sum);
}
