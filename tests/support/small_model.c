/* small_model.c: a model to be spoiled; see small_model.h. */
#include "support/support.h"

#include "support/small_model.h"

void test_small_set(test_small_model *small)
{
    *small = (test_small_model){
        .state_rows = {0, 1, 2},
        .row_starts = {0, 2, 4},
        .columns = {0, 1, 0, 1},
        .probabilities = {0.25, 0.75, 0.5, 0.5},
        .rewards = {1, 2},
        .initial = {0.5, 0.5},
        .scales = {1, 1},
    };
    nadir_model_data_default(&small->data);
    small->data.states = 2;
    small->data.rows = 2;
    small->data.discount = 0.9;
    small->data.state_rows = small->state_rows;
    small->data.row_starts = small->row_starts;
    small->data.columns = small->columns;
    small->data.probabilities = small->probabilities;
    small->data.rewards = small->rewards;
    small->data.initial = small->initial;
    small->data.scales = small->scales;
}

nadir_model *test_small_accept(nadir_context *context, const test_small_model *small)
{
    nadir_model *model = test_create_model(context, &small->data);
    return model;
}
