/* initial_file.h: initial distributions: the one that a user asks for, and sets of states labelled `init` by model
 * checkers. */
#ifndef NADIR_IO_INITIAL_FILE_H
#define NADIR_IO_INITIAL_FILE_H

#include "model/model_builder.h"

/* initial: "uniform", the number or the name of a state, or a file: .npy with S numbers, or CSV
 * `idstate,probability` where states left out have probability 0. NADIR_ERROR_ARGUMENT when it is none of
 * these. What sums to one within 1e-5 is normalised. mu: [states], written on success alone. */
nadir_status nadir_initial_read(nadir_context *context, const nadir_model *model, const char *initial,
                                double *mu);

/* The states labelled so far; a struct of zeros is empty. */
typedef struct nadir_initial_states {
    int32_t *states;
    size_t count;
    size_t capacity;
} nadir_initial_states;

/* state: from 0 to NADIR_STATES_LIMIT; the same one may be added again. */
nadir_status nadir_initial_states_add(nadir_context *context, nadir_initial_states *initial, int64_t state);

/* mu of the builder's model is uniform over the set, or over all states if it is empty; a notice says so
 * unless there is just one. Every state of the set is below builder->states, which the builder has checked
 * (nadir_builder_sort). path: the file with the labels. */
nadir_status nadir_initial_states_apply(const nadir_initial_states *initial, const char *path,
                                        nadir_builder *builder);

void nadir_initial_states_clear(nadir_context *context, nadir_initial_states *initial);

/* The number of states with positive probability if mu is uniform over them, else 0. */
int64_t nadir_initial_states_count(const nadir_model *model);

#endif
