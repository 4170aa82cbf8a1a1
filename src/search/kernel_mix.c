/* kernel_mix.c: convex combinations of two kernels; see kernel_mix.h. */
#include "search/kernel_solver.h"

#include "linalg/threads.h"
#include "model/kernel_rows.h"

/* What rounding can make of a zero. */
#define ROUNDING 1e-12

typedef struct mixture {
    double t;
    nadir_explicit from, to;
    int64_t *rows;
    int64_t *starts;
    int32_t *columns;
    double *values;
    size_t capacity; /* of columns and values, each */
    size_t values_capacity;
    int64_t count, entries;
} mixture;

/* Appends a + t (b - a), both by rising column. In this form equal rows stay exactly equal, pinned ones among
 * them, and nothing becomes negative. */
static void add_rows(mixture *mix, const nadir_row *a, const nadir_row *b)
{
    const bool beyond = mix->t < 0 || mix->t > 1;
    int64_t i = 0;
    int64_t j = 0;
    while (i < a->count || j < b->count) {
        const bool from = j == b->count || (i < a->count && a->columns[i] <= b->columns[j]);
        const bool to = i == a->count || (j < b->count && b->columns[j] <= a->columns[i]);
        mix->columns[mix->entries] = from ? a->columns[i] : b->columns[j];
        const double before = from ? a->values[i] : 0;
        mix->values[mix->entries] = before + mix->t * ((to ? b->values[j] : 0) - before);
        const double value = mix->values[mix->entries];
        const bool noise = beyond && value < 0 && value > -ROUNDING;
        mix->entries += value != 0 && !noise;
        i += from;
        j += to;
    }
}

static bool is_nominal(const nadir_row *nominal, const mixture *mix, int64_t first)
{
    int64_t index = first;
    for (int64_t i = 0; i < nominal->count; i++) {
        if (nominal->values[i] != 0) {
            if (index == mix->entries || mix->columns[index] != nadir_row_column(nominal, i) ||
                mix->values[index] != nominal->values[i]) {
                return false;
            }
            index++;
        }
    }
    return index == mix->entries;
}

static nadir_status mix_rows(nadir_context *context, const nadir_model *model, mixture *mix)
{
    nadir_status status = NADIR_OK;
    mix->starts[0] = 0;
    for (int64_t row = 0; row < model->rows; row++) {
        const nadir_row a = nadir_explicit_row(&mix->from, row);
        const nadir_row b = nadir_explicit_row(&mix->to, row);
        const nadir_row nominal = nadir_model_row(model, row);
        const int64_t first = mix->entries;
        NADIR_RESERVE(context, mix->columns, mix->entries + a.count + b.count, mix->capacity);
        NADIR_RESERVE(context, mix->values, mix->entries + a.count + b.count, mix->values_capacity);
        add_rows(mix, &a, &b);
        if (is_nominal(&nominal, mix, first)) {
            mix->entries = first;
            continue;
        }
        mix->rows[mix->count++] = row;
        mix->starts[mix->count] = mix->entries;
    }
cleanup:
    return status;
}

static bool are_on_support(const nadir_model *model, const nadir_kernel *from, const nadir_kernel *to)
{
    bool are = model->dense == NULL;
    for (int64_t row = 0; row < model->rows && are; row++) {
        are = nadir_kernel_on_support(from, row) != NULL && nadir_kernel_on_support(to, row) != NULL;
    }
    return are;
}

/* The same for kernels with the successors of the model. */
static nadir_status mix_on_support(nadir_context *context, nadir_model *model, const nadir_kernel *from,
                                   const nadir_kernel *to, double t, nadir_kernel **mixed)
{
    nadir_status status = NADIR_OK;
    const bool beyond = t < 0 || t > 1;
    NADIR_CHECK(nadir_kernel_create_blank(context, model, false, mixed));
    const nadir_perturbed *perturbed = nadir_kernel_perturbed(*mixed);
    const int threads = nadir_threads_for(context, 2 * model->nonzeros);
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int64_t row = 0; row < model->rows; row++) {
        const nadir_row nominal = nadir_model_row(model, row);
        const double *a = nadir_kernel_on_support(from, row);
        const double *b = nadir_kernel_on_support(to, row);
        double *values = perturbed->values + model->row_starts[row];
        bool same = true;
        for (int64_t i = 0; i < nominal.count; i++) {
            const double value = a[i] + t * (b[i] - a[i]);
            values[i] = beyond && value < 0 && value > -ROUNDING ? 0 : value;
            same = same && values[i] == nominal.values[i];
        }
        perturbed->nominal[row] = same;
    }
cleanup:
    return status;
}

nadir_status nadir_kernel_mix(nadir_context *context, nadir_model *model, const nadir_kernel *from,
                              const nadir_kernel *to, double t, nadir_kernel **mixed)
{
    nadir_status status = NADIR_OK;
    mixture mix = {.t = t};
    if (are_on_support(model, from, to)) {
        return mix_on_support(context, model, from, to, t, mixed);
    }
    NADIR_NEW(context, mix.rows, model->rows);
    NADIR_NEW(context, mix.starts, model->rows + 1);
    NADIR_CHECK(nadir_explicit_make(context, from, &mix.from));
    NADIR_CHECK(nadir_explicit_make(context, to, &mix.to));
    NADIR_CHECK(mix_rows(context, model, &mix));
    const nadir_changed_rows changed = {mix.count, mix.rows, mix.starts, mix.columns, mix.values};
    NADIR_CHECK(nadir_kernel_create_changed(context, model, &changed, mixed));
cleanup:
    nadir_explicit_clear(context, &mix.from);
    nadir_explicit_clear(context, &mix.to);
    nadir_release(context, mix.rows);
    nadir_release(context, mix.starts);
    nadir_release(context, mix.columns);
    nadir_release(context, mix.values);
    return status;
}
