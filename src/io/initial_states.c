/* initial_states.c: initial distributions as a set of states; see initial_states.h. */
#include "io/initial_states.h"

#include <math.h>

nadir_status nadir_initial_states_add(nadir_context *context, nadir_initial_states *initial, int64_t state)
{
    nadir_status status = NADIR_OK;
    NADIR_RESERVE(context, initial->states, initial->count + 1, initial->capacity);
    initial->states[initial->count++] = (int32_t)state;
cleanup:
    return status;
}

nadir_status nadir_initial_states_apply(const nadir_initial_states *initial, const char *path,
                                        nadir_builder *builder)
{
    nadir_status status = NADIR_OK;
    nadir_context *context = builder->context;
    double *mu = NULL;
    int64_t count = 0;
    if (initial->count == 0) {
        nadir_log(context, NADIR_LOG_NOTICE,
                  "%s: no state has the label init: the initial distribution is uniform", path);
        return NADIR_OK;
    }
    NADIR_NEW_ZERO(context, mu, builder->states);
    for (size_t i = 0; i < initial->count; i++) {
        count += mu[initial->states[i]] == 0;
        mu[initial->states[i]] = 1;
    }
    for (int64_t s = 0; s < builder->states; s++) {
        mu[s] /= (double)count;
    }
    if (count > 1) {
        nadir_log(context, NADIR_LOG_NOTICE,
                  "%s: %lld states have the label init: the initial distribution is uniform over them", path,
                  (long long)count);
    }
    nadir_release(context, builder->model->initial);
    builder->model->initial = mu;
cleanup:
    return status;
}

void nadir_initial_states_clear(nadir_context *context, nadir_initial_states *initial)
{
    nadir_release(context, initial->states);
    *initial = (nadir_initial_states){0};
}

int64_t nadir_initial_states_count(const nadir_model *model)
{
    double common = 0;
    int64_t count = 0;
    for (int64_t s = 0; s < model->states; s++) {
        const double mu = model->initial[s];
        if (mu > 0) {
            common = count == 0 ? mu : common;
            if (mu != common) {
                return 0;
            }
            count++;
        }
    }
    return fabs(common * (double)count - 1) <= NADIR_SUM_ROUNDING ? count : 0;
}
