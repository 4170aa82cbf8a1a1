/* rectangular_optimum.c: see rectangular_optimum.h. */
#include "policy/rectangular_optimum.h"

nadir_status nadir_rectangular_optimum(nadir_context *context, nadir_model *model, const nadir_ball *ball,
                                       const char *backend, double tolerance, int64_t iterations_limit,
                                       double *value, nadir_policy **policy,
                                       nadir_rectangular_optimum_result *result)
{
    (void)model;
    (void)ball;
    (void)backend;
    (void)tolerance;
    (void)iterations_limit;
    (void)value;
    (void)policy;
    (void)result;
    return nadir_fail(context, NADIR_ERROR_UNSUPPORTED, "method bellman is not there yet");
}
