/* penalty.c: what each method finds of the penalty within a budget; see penalty.h. */
#include "penalty.h"

#include <math.h>

const double penalty_radii[PENALTY_RADII] = {0.01, 0.1, 0.02, 0.005};
const int64_t penalty_sizes[PENALTY_SIZES] = {4, 8, 16, 32, 64, 128};
const penalty_method penalty_methods[PENALTY_METHODS] = {{"paper", 10000},
                                                         {"slsqp", 20},
                                                         {"slsqp-scaled", 20},
                                                         {"random-rank-one", 10000},
                                                         {"random-kernel", 1000}};

nadir_status penalty_measure(const experiment_instance *instance, const penalty_method *method,
                             double seconds, penalty_found *found)
{
    experiment_found all = {0};
    const int64_t samples = isinf(seconds) ? method->samples : INT64_MAX;
    const nadir_status status = experiment_instance_find(instance, method->name, seconds, samples, &all);
    if (status == NADIR_OK) {
        const nadir_trajectory_point known = experiment_found_at(&all, seconds);
        *found = (penalty_found){.value = known.value,
                                 .share = known.value / instance->exact.penalty,
                                 .samples = all.result.samples,
                                 .stop_reason = all.result.stop_reason,
                                 .seconds = all.result.seconds};
    }
    experiment_found_free(instance, &all);
    return status;
}

void penalty_spread_add(penalty_spread *spread, double value)
{
    const bool first = spread->count++ == 0;
    spread->sum += value;
    spread->least = first ? value : fmin(spread->least, value);
    spread->most = first ? value : fmax(spread->most, value);
}

double penalty_spread_mean(const penalty_spread *spread)
{
    return spread->sum / (double)spread->count;
}

nadir_status penalty_cell_add(const experiment_instance *instance, double seconds, penalty_cell *cell,
                              penalty_found *found)
{
    penalty_spread_add(&cell->exact, instance->exact.penalty);
    cell->uncertified = cell->uncertified || !instance->exact.certified;
    for (int method = 0; method < PENALTY_METHODS; method++) {
        const nadir_status status =
            penalty_measure(instance, &penalty_methods[method], seconds, &found[method]);
        if (status != NADIR_OK) {
            return status;
        }
        penalty_spread_add(&cell->value[method], found[method].value);
        penalty_spread_add(&cell->share[method], found[method].share);
        cell->nothing[method] += found[method].share < 0.01;
    }
    return NADIR_OK;
}
