/* norm_matrices.c: the random matrices of the paper's norm table; see norm_matrices.h. */
#include "norm_matrices.h"

#include "inside.h"
#include "numpy_random.h"

#include <math.h>

/* A run is repeated up to this many times, and for this many seconds. */
#define REPEATS        20
#define REPEAT_SECONDS 0.3

nadir_status experiment_matrix_create(experiment_run *run, int64_t n, uint64_t seed, double **matrix)
{
    nadir_status status = NADIR_OK;
    nadir_numpy_random random;
    NADIR_NEW(run->context, *matrix, n * n);
    nadir_numpy_random_seed(&random, (uint32_t)seed);
    for (int64_t i = 0; i < n * n; i++) {
        (*matrix)[i] = nadir_numpy_random_normal(&random);
    }
cleanup:
    return status;
}

void experiment_matrix_free(experiment_run *run, double *matrix)
{
    nadir_release(run->context, matrix);
}

nadir_status experiment_matrix_norm(experiment_run *run, int64_t n, const double *matrix, const char *order,
                                    int64_t samples, nadir_cone_norm_result *result)
{
    nadir_status status = NADIR_OK;
    nadir_cone_norm_settings settings;
    double fastest = INFINITY;
    double spent = 0;
    nadir_cone_norm_settings_default(&settings);
    settings.order = order;
    settings.samples = samples;
    for (int i = 0; i < REPEATS && spent < REPEAT_SECONDS; i++) {
        *result = (nadir_cone_norm_result){.size = sizeof *result};
        NADIR_CHECK(nadir_cone_norm(run->context, n, n, matrix, &settings, NULL, result));
        fastest = fmin(fastest, result->seconds_value);
        spent += result->seconds_value;
    }
    result->seconds_value = fastest;
cleanup:
    return status;
}
