/* model_create.c: models from the caller's arrays, copied or borrowed; see nadir.h. */
#include "model/model.h"

#include <string.h>

/* A copy of an array of the caller's; NULL stays NULL. */
static nadir_status copy_array(nadir_context *context, const void *from, int64_t count, size_t size,
                               void *into)
{
    void *copy = NULL;
    if (from != NULL) {
        copy = nadir_allocate(context, (size_t)count, size);
        if (copy == NULL) {
            return NADIR_ERROR_MEMORY;
        }
        memcpy(copy, from, (size_t)count * size);
    }
    memcpy(into, &copy, sizeof copy);
    return NADIR_OK;
}

static nadir_status copy_names(nadir_context *context, const char *const *from, int64_t count,
                               nadir_names *into)
{
    nadir_status status = NADIR_OK;
    for (int64_t i = 0; from != NULL && i < count; i++) {
        NADIR_CHECK(nadir_names_add(context, into, from[i], strlen(from[i])));
    }
cleanup:
    return status;
}

/* What must hold before anything is copied; *entries is the number of transitions, or of dense numbers. */
static nadir_status check_given(nadir_context *context, const nadir_model_data *data, int64_t *entries)
{
    const bool sparse = data->row_starts != NULL && data->columns != NULL && data->probabilities != NULL;
    const bool any = data->row_starts != NULL || data->columns != NULL || data->probabilities != NULL;
    if (data->state_rows == NULL || (data->dense != NULL) == any || any != sparse) {
        return nadir_fail(context, NADIR_ERROR_ARGUMENT,
                          "a model needs state_rows and either a dense or a sparse kernel");
    }
    if (data->states < 1 || data->states > NADIR_STATES_LIMIT || data->rows < data->states ||
        data->rows > INT64_MAX / data->states / (int64_t)sizeof(double)) {
        return nadir_fail(context, NADIR_ERROR_ARGUMENT, "%lld states with %lld rows are no model",
                          (long long)data->states, (long long)data->rows);
    }
    *entries = sparse ? data->row_starts[data->rows] : data->rows * data->states;
    if (*entries < 0) {
        return nadir_fail(context, NADIR_ERROR_ARGUMENT, "row_starts ends with a negative number");
    }
    return NADIR_OK;
}

/* Borrowed arrays keep their place: the model never writes to them. */
static void take_kernel(const nadir_model_data *data, nadir_model *model)
{
    memcpy(&model->dense, &data->dense, sizeof model->dense);
    memcpy(&model->columns, &data->columns, sizeof model->columns);
    memcpy(&model->probabilities, &data->probabilities, sizeof model->probabilities);
}

static nadir_status copy_kernel(nadir_context *context, const nadir_model_data *data, int64_t entries,
                                nadir_model *model)
{
    nadir_status status = NADIR_OK;
    NADIR_CHECK(copy_array(context, data->dense, entries, sizeof(double), &model->dense));
    NADIR_CHECK(copy_array(context, data->columns, entries, sizeof(int32_t), &model->columns));
    NADIR_CHECK(copy_array(context, data->probabilities, entries, sizeof(double), &model->probabilities));
cleanup:
    return status;
}

/* All arrays but those of the kernel. */
static nadir_status copy_arrays(nadir_context *context, const nadir_model_data *data, int64_t entries,
                                nadir_model *model)
{
    nadir_status status = NADIR_OK;
    const struct {
        const void *from;
        int64_t count;
        size_t size;
        void *into;
    } arrays[] = {
        {data->state_rows, data->states + 1, sizeof(int64_t), &model->state_rows},
        {data->row_actions, data->rows, sizeof(int32_t), &model->row_actions},
        {data->row_starts, data->rows + 1, sizeof(int64_t), &model->row_starts},
        {data->rewards, data->rows, sizeof(double), &model->rewards},
        {data->transition_rewards, entries, sizeof(double), &model->transition_rewards},
        {data->initial, data->states, sizeof(double), &model->initial},
        {data->scales, data->rows, sizeof(double), &model->scales},
        {data->radius, data->radius_count, sizeof(double), &model->radius},
    };
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) {
        NADIR_CHECK(copy_array(context, arrays[i].from, arrays[i].count, arrays[i].size, arrays[i].into));
    }
    NADIR_CHECK(copy_names(context, data->state_names, data->states, &model->state_names));
    NADIR_CHECK(copy_names(context, data->action_names, data->action_names_count, &model->action_names));
cleanup:
    return status;
}

/* may_borrow: the kernel is used where it lies if nothing has to be done to it. */
static nadir_status make_model(nadir_context *context, const nadir_model_data *given, bool may_borrow,
                               nadir_model **model)
{
    nadir_status status = NADIR_OK;
    nadir_model *made = NULL;
    nadir_model_data data;
    int64_t entries = 0;
    nadir_model_data_default(&data);
    if (!nadir_settings_copy(&data, sizeof data, given)) {
        return nadir_fail(context, NADIR_ERROR_ARGUMENT, "the size of the model data is not set");
    }
    NADIR_CHECK(check_given(context, &data, &entries));
    NADIR_CHECK(nadir_model_start(context, &made));
    made->states = data.states;
    made->rows = data.rows;
    made->discount = data.discount;
    made->norm = data.norm;
    made->set = data.set;
    made->domain = data.domain;
    made->radius_count = data.radius != NULL ? data.radius_count : 0;
    if (may_borrow) {
        NADIR_CHECK(nadir_rows_stand(context, &data, &made->borrowed, &made->nonzeros));
    }
    if (made->borrowed) {
        take_kernel(&data, made);
    } else {
        NADIR_CHECK(copy_kernel(context, &data, entries, made));
    }
    NADIR_CHECK(copy_arrays(context, &data, entries, made));
    const nadir_source source = {.path = "model", .keep_transition_rewards = true};
    NADIR_CHECK(nadir_model_finish(context, made, &source));
    NADIR_CHECK(nadir_model_check_discount(context, made, source.path));
    *model = made;
    made = NULL;
cleanup:
    nadir_model_free(made);
    return status;
}

nadir_status nadir_model_create(nadir_context *context, const nadir_model_data *data, nadir_model **model)
{
    return make_model(context, data, false, model);
}

nadir_status nadir_model_borrow(nadir_context *context, const nadir_model_data *data,
                                nadir_release_function release, void *user, nadir_model **model)
{
    const nadir_status status = make_model(context, data, true, model);
    if (status == NADIR_OK && (*model)->borrowed) {
        (*model)->release = release;
        (*model)->release_user = user;
    } else if (status == NADIR_OK && release != NULL) {
        release(user);
    }
    return status;
}
