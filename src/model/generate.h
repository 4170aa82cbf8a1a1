/*
 * generate.h: what a kind of generator is, and how one fills in its model.
 *
 * A kind is a constant table in a file of its own. generate.c checks the settings against it, puts defaults
 * where none were given, starts the model, calls `fill`, and finishes the model.
 */
#ifndef NADIR_MODEL_GENERATE_H
#define NADIR_MODEL_GENERATE_H

#include "model/model.h"

typedef struct nadir_generate_kind {
    nadir_generator_facts facts;
    /* Fills in the arrays of a started model. Every setting the kind uses is in its range; one
     * without a standard value may be unset. The discount is in the model already. */
    nadir_status (*fill)(nadir_context *context, const nadir_generate_settings *settings, nadir_model *model);
} nadir_generate_kind;

extern const nadir_generate_kind nadir_generate_random;
extern const nadir_generate_kind nadir_generate_garnet;
extern const nadir_generate_kind nadir_generate_riverswim;
extern const nadir_generate_kind nadir_generate_machine;
extern const nadir_generate_kind nadir_generate_inventory;
extern const nadir_generate_kind nadir_generate_forest;
extern const nadir_generate_kind nadir_generate_gridworld;

/* The members settings and settings_count of nadir_generator_facts, from an array. */
#define NADIR_GENERATE_USES(array) .settings = (array), .settings_count = sizeof(array) / sizeof *(array)

/* Action names 0 .. count - 1. */
nadir_status nadir_generate_name_actions(nadir_context *context, nadir_model *model, int64_t count,
                                         const char *const *names);

/* Once every few thousand transitions: `row` of `rows` rows, of about `length` transitions each, are done. */
nadir_status nadir_generate_progress(nadir_context *context, int64_t row, int64_t rows, int64_t length);

/*
 * A sparse kernel is written from its first transition to its last: all transitions of a row, the end of the
 * row, ..., the end of the state, the next state. Meanwhile states, rows and nonzeros of the model count what
 * has been written; nadir_generate_reserve makes room for this much at most.
 */
nadir_status nadir_generate_reserve(nadir_context *context, nadir_model *model, int64_t states, int64_t rows,
                                    int64_t transitions);

static inline void nadir_generate_add(nadir_model *model, int64_t successor, double probability)
{
    model->columns[model->nonzeros] = (int32_t)successor;
    model->probabilities[model->nonzeros++] = probability;
}

static inline void nadir_generate_end_row(nadir_model *model, double reward)
{
    model->rewards[model->rows++] = reward;
    model->row_starts[model->rows] = model->nonzeros;
}

static inline void nadir_generate_end_state(nadir_model *model)
{
    model->state_rows[++model->states] = model->rows;
}

#endif
