/* registry.c: the experiments, in the order of the report. */
#include "experiment.h"

#include <string.h>

extern const experiment experiment_penalty_function;
extern const experiment experiment_negative_entries;

static const experiment *const experiments[] = {
    &experiment_penalty_function,
    &experiment_negative_entries,
};

enum { EXPERIMENTS = sizeof experiments / sizeof *experiments };

const experiment *experiment_at(int64_t index)
{
    return index >= 0 && index < EXPERIMENTS ? experiments[index] : NULL;
}

const experiment *experiment_find(const char *name)
{
    for (int i = 0; i < EXPERIMENTS; i++) {
        if (strcmp(experiments[i]->name, name) == 0) {
            return experiments[i];
        }
    }
    return NULL;
}
