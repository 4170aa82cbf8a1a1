/*
 * cone_slsqp.c: sequential quadratic programming on the norm over the cone, as the paper's table has it
 * ("minimize"), with NLopt's SLSQP (Kraft 1994) and the analytic gradient; see cone.h.
 *
 *     max |B x| over x >= 0, |x|^2 <= 1,   gradient K x / |B x|,
 *
 * from one random point. Each step solves a dense least-squares problem in n variables. It is a local method:
 * it ends at a stationary point, which need not be the maximum. NLopt takes memory of its own.
 */
#include "baseline/cone.h"

#include "baseline/stream.h"

#include <cblas.h>
#include <math.h>
#include <nlopt.h>
#include <string.h>

/* Of the constraint. */
#define CONSTRAINT_TOLERANCE 1e-10
/* NLopt's SLSQP works with about so many numbers for each pair of variables. */
#define WORK_PER_PAIR 9
/* At so many a step takes minutes and the work 4.6 GB. */
#define VARIABLES_LIMIT 8000

typedef struct programme {
    nadir_context *context;
    const nadir_cone *cone;
    nadir_track *track;
    nlopt_opt optimiser;
    nadir_status status;
    double *x;    /* [n] where it is */
    double *unit; /* [n] the nearest point of the cone, of unit length */
    double *Kx;   /* [n] */
    double *best; /* [n] */
    double highest;
} programme;

static double length_of_product(programme *at, const double *x)
{
    nadir_cone_multiply(at->context, at->cone, 1, x, at->Kx);
    return sqrt(fmax(0, cblas_ddot((blasint)at->cone->columns, x, 1, at->Kx, 1)));
}

/* Points on the way may be a little outside of the cone, or shorter than one. */
static nadir_status note(programme *at, const double *x)
{
    const int64_t n = at->cone->columns;
    const double value = nadir_cone_positive(n, 1, x, at->unit) > 0 ? length_of_product(at, at->unit) : 0;
    if (value > at->highest) {
        at->highest = value;
        memcpy(at->best, at->unit, (size_t)n * sizeof *x);
    }
    return nadir_track_note(at->context, at->track, at->track->samples + 1,
                            ldexp(at->highest, at->cone->exponent));
}

static double objective(unsigned count, const double *x, double *gradient, void *user)
{
    programme *at = user;
    at->status = at->status == NADIR_OK ? note(at, x) : at->status;
    if (at->status != NADIR_OK) {
        nlopt_force_stop(at->optimiser);
        return 0;
    }
    const double value = length_of_product(at, x);
    for (unsigned i = 0; gradient != NULL && i < count; i++) {
        gradient[i] = value > 0 ? at->Kx[i] / value : 0;
    }
    return value;
}

/* |x|^2 - 1, at most 0. */
static double excess(unsigned count, const double *x, double *gradient, void *user)
{
    (void)user;
    for (unsigned i = 0; gradient != NULL && i < count; i++) {
        gradient[i] = 2 * x[i];
    }
    return cblas_ddot((blasint)count, x, 1, x, 1) - 1;
}

/* The problem as NLopt has it. */
static bool pose(programme *at)
{
    const nadir_budget *budget = &at->track->budget;
    at->optimiser = nlopt_create(NLOPT_LD_SLSQP, (unsigned)at->cone->columns);
    bool good = at->optimiser != NULL && nlopt_set_max_objective(at->optimiser, objective, at) > 0;
    good = good && nlopt_set_lower_bounds1(at->optimiser, 0) > 0;
    good = good && nlopt_add_inequality_constraint(at->optimiser, excess, at, CONSTRAINT_TOLERANCE) > 0;
    good = good && nlopt_set_ftol_rel(at->optimiser, budget->tolerance) > 0;
    good = good && nlopt_set_maxeval(at->optimiser, (int)fmin(1e9, (double)budget->samples)) > 0;
    if (good && !isinf(budget->seconds)) {
        good = nlopt_set_maxtime(at->optimiser, fmax(1e-3, budget->seconds)) > 0;
    }
    return good;
}

nadir_status nadir_cone_slsqp_check(nadir_context *context, int64_t columns)
{
    return columns <= VARIABLES_LIMIT
               ? NADIR_OK
               : nadir_fail(context, NADIR_ERROR_UNSUPPORTED,
                            "order slsqp works with the square of the number of columns; it takes up to %d, "
                            "and the matrix has %lld: leave the order to power",
                            VARIABLES_LIMIT, (long long)columns);
}

static nadir_status start(programme *at)
{
    nadir_status status = NADIR_OK;
    nadir_context *context = at->context;
    const int64_t n = at->cone->columns;
    double *room = NULL;
    NADIR_NEW(context, room, WORK_PER_PAIR * n * n); /* what NLopt will take is within the limit */
    nadir_release(context, room);
    NADIR_NEW(context, at->x, n);
    NADIR_NEW(context, at->unit, n);
    NADIR_NEW(context, at->Kx, n);
    NADIR_NEW(context, at->best, n);
    nadir_cone_draw(nadir_stream_key(context), 0, n, at->x);
    memcpy(at->best, at->x, (size_t)n * sizeof *at->best);
cleanup:
    return status;
}

static void finish(programme *at)
{
    nlopt_destroy(at->optimiser);
    nadir_release(at->context, at->x);
    nadir_release(at->context, at->unit);
    nadir_release(at->context, at->Kx);
    nadir_release(at->context, at->best);
}

nadir_status nadir_cone_slsqp(nadir_context *context, const nadir_cone *cone, nadir_track *track, double *x)
{
    nadir_status status = NADIR_OK;
    programme at = {.context = context, .cone = cone, .track = track};
    double ignored;
    NADIR_CHECK(start(&at));
    if (!pose(&at)) {
        status = nadir_fail(context, NADIR_ERROR_MEMORY, "out of memory: NLopt refuses %lld variables",
                            (long long)cone->columns);
        goto cleanup;
    }
    /* Whatever it is that ends the search, the best point so far is one. */
    const nlopt_result result = nlopt_optimize(at.optimiser, at.x, &ignored);
    NADIR_CHECK(at.status);
    if (result == NLOPT_OUT_OF_MEMORY) {
        status = nadir_fail(context, NADIR_ERROR_MEMORY, "out of memory inside NLopt");
        goto cleanup;
    }
    NADIR_CHECK(nadir_track_finish(context, track));
    memcpy(x, at.best, (size_t)cone->columns * sizeof *x);
cleanup:
    finish(&at);
    return status;
}
