/* registry.c: the experiments, in the order of the report. */
#include "experiment.h"

#include <string.h>

extern const experiment experiment_geometry;
extern const experiment experiment_hardness;
extern const experiment experiment_rectangular_sets;
extern const experiment experiment_volumes;

/* NULL ends the list. */
static const experiment *const experiments[] = {
    &experiment_geometry, &experiment_volumes, &experiment_rectangular_sets, &experiment_hardness, NULL,
};

const experiment *experiment_at(int64_t index)
{
    const int64_t count = (int64_t)(sizeof experiments / sizeof *experiments) - 1;
    return index >= 0 && index < count ? experiments[index] : NULL;
}

const experiment *experiment_find(const char *name)
{
    for (const experiment *const *at = experiments; *at != NULL; at++) {
        if (strcmp((*at)->name, name) == 0) {
            return *at;
        }
    }
    return NULL;
}
