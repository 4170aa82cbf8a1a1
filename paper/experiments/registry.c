/* registry.c: the experiments, in the order of the report. */
#include "experiment.h"

#include <string.h>

extern const experiment experiment_norm_table;
extern const experiment experiment_random_guess;
extern const experiment experiment_penalty;
extern const experiment experiment_convergence;
extern const experiment experiment_penalty_function;
extern const experiment experiment_geometry;
extern const experiment experiment_volumes;
extern const experiment experiment_rectangular_sets;
extern const experiment experiment_hardness;
extern const experiment experiment_negative_entries;
extern const experiment experiment_notation;

/* NULL ends the list. */
static const experiment *const experiments[] = {
    &experiment_norm_table, /* the paper's methods */
    &experiment_random_guess,
    &experiment_penalty,
    &experiment_convergence,
    &experiment_penalty_function,
    &experiment_geometry, /* its sets */
    &experiment_volumes,
    &experiment_rectangular_sets,
    &experiment_hardness,         /* its appendix */
    &experiment_negative_entries, /* what it leaves out */
    &experiment_notation,         /* its symbols */
    NULL,
};

const experiment *experiment_at(int64_t index)
{
    int64_t count = 0;
    while (count < index && experiments[count] != NULL) {
        count++;
    }
    return index >= 0 ? experiments[count] : NULL;
}

const experiment *experiment_find(const char *name)
{
    for (const experiment *const *entry = experiments; *entry != NULL; entry++) {
        if (strcmp((*entry)->name, name) == 0) {
            return *entry;
        }
    }
    return NULL;
}
