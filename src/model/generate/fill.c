/* fill.c: what the kinds of generators share while they fill in a model; see generate.h. */
#include "model/generate.h"

#include <string.h>

nadir_status nadir_generate_size(nadir_context *context, int64_t a, int64_t b, int64_t c, int64_t *product)
{
    const int64_t most = INT64_MAX / (int64_t)sizeof(double) - 1;
    if (a > 0 && b > 0 && c > 0 && (b > most / a || c > most / a / b)) {
        return nadir_fail(context, NADIR_ERROR_ARGUMENT,
                          "%lld x %lld x %lld numbers are more than can be stored; ask for a smaller model",
                          (long long)a, (long long)b, (long long)c);
    }
    *product = a * b * c;
    return NADIR_OK;
}

nadir_status nadir_generate_name_actions(nadir_context *context, nadir_model *model, int64_t count,
                                         const char *const *names)
{
    nadir_status status = NADIR_OK;
    for (int64_t i = 0; i < count; i++) {
        NADIR_CHECK(nadir_names_add(context, &model->action_names, names[i], strlen(names[i])));
    }
cleanup:
    return status;
}

nadir_status nadir_generate_progress(nadir_context *context, int64_t row, int64_t rows, int64_t length)
{
    const int64_t stride = 1 + 65536 / length;
    return row % stride != 0 ? NADIR_OK : nadir_progress(context, "generating", (double)row / (double)rows);
}

nadir_status nadir_generate_reserve(nadir_context *context, nadir_model *model, int64_t states, int64_t rows,
                                    int64_t transitions)
{
    nadir_status status = NADIR_OK;
    NADIR_NEW(context, model->state_rows, states + 1);
    NADIR_NEW(context, model->row_starts, rows + 1);
    NADIR_NEW(context, model->columns, transitions);
    NADIR_NEW(context, model->probabilities, transitions);
    NADIR_NEW(context, model->rewards, rows);
    model->state_rows[0] = 0;
    model->row_starts[0] = 0;
cleanup:
    return status;
}
