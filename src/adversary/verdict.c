/* verdict.c: the answer for one radius. */
#include "adversary/verdict.h"

#include <float.h>
#include <math.h>

void nadir_verdict_clear(nadir_context *context, nadir_verdict *verdict)
{
    nadir_attack_clear(context, &verdict->attack);
    nadir_release(context, verdict->enclosing);
    nadir_release(context, verdict->d_bar);
    *verdict = (nadir_verdict){0};
}

/* A penalty smaller than the rounding of the return counts as one of that size. */
bool nadir_verdict_is_close(const nadir_problem *problem, const nadir_robust_settings *settings,
                            const nadir_verdict *verdict)
{
    const double scale = verdict->scale > 0 ? verdict->scale : fabs(problem->J - verdict->attack.J);
    const double rounding = 8 * problem->J_error + 64 * DBL_EPSILON * fabs(problem->J);
    return verdict->upper - verdict->lower <= fmax(settings->width * scale, rounding);
}
