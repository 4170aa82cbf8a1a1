/* evaluate.c: robust evaluation of the non-rectangular ball on the domains simplex and support. */
#include "adversary/verdict.h"

nadir_status nadir_valid_evaluate(nadir_context *context, const nadir_problem *problem,
                                  const nadir_robust_settings *settings, int64_t count, const double *factors,
                                  nadir_verdict *verdicts)
{
    (void)problem;
    (void)settings;
    (void)count;
    (void)factors;
    (void)verdicts;
    return nadir_fail(context, NADIR_ERROR_UNSUPPORTED,
                      "the non-rectangular ball is evaluated on the free domain in this version; give "
                      "--domain free, or --set s or sa");
}
