/*
 * cone_slsqp.c: sequential quadratic programming on the norm over the cone, as the paper's table has it
 * ("minimize"), with NLopt's SLSQP (Kraft 1994) and the analytic gradient; see cone.h.
 *
 *     max |B x| over x >= 0, |x|^2 <= 1,   gradient K x / |B x|,
 *
 * from one random point. Each step solves a dense least-squares problem in n variables. The method is local:
 * it ends at a stationary point, which need not be the maximum. NLopt allocates memory outside of the
 * context.
 */
#include "cone/cone.h"

#include "sample_stream.h"

#include <cblas.h>
#include <math.h>
#include <nlopt.h>
#include <string.h>

/* Of the constraint. */
#define CONSTRAINT_TOLERANCE 1e-10
/* NLopt's SLSQP works with about so many numbers for each pair of variables. */
#define WORK_PER_PAIR 9
/* With 8000 a step takes minutes and 4.6 GB. */
#define VARIABLES_LIMIT 8000

typedef struct program {
    nadir_context *context;
    const nadir_cone *cone;
    nadir_trajectory *trajectory;
    nlopt_opt optimiser;
    nadir_status status;
    double *x;    /* [n] NLopt's iterate */
    double *unit; /* [n] the nearest point of the cone, of unit length */
    double *Kx;   /* [n] */
    double *best; /* [n] */
    double highest;
} program;

static double length_of_product(program *self, const double *x)
{
    nadir_cone_multiply(self->context, self->cone, 1, x, self->Kx);
    return sqrt(fmax(0, cblas_ddot((blasint)self->cone->columns, x, 1, self->Kx, 1)));
}

/* Records the value of x after scaling it to the nearest unit vector of the cone: iterates may lie a little
 * outside, or be shorter. */
static nadir_status record(program *self, const double *x)
{
    const int64_t n = self->cone->columns;
    const double value =
        nadir_cone_positive(n, 1, x, self->unit) > 0 ? length_of_product(self, self->unit) : 0;
    if (value > self->highest) {
        self->highest = value;
        memcpy(self->best, self->unit, (size_t)n * sizeof *x);
    }
    return nadir_trajectory_record(self->context, self->trajectory, self->trajectory->samples + 1,
                                   ldexp(self->highest, self->cone->exponent));
}

static double objective(unsigned count, const double *x, double *gradient, void *user)
{
    program *self = user;
    self->status = self->status == NADIR_OK ? record(self, x) : self->status;
    if (self->status != NADIR_OK) {
        nlopt_force_stop(self->optimiser);
        return 0;
    }
    const double value = length_of_product(self, x);
    for (unsigned i = 0; gradient != NULL && i < count; i++) {
        gradient[i] = value > 0 ? self->Kx[i] / value : 0;
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

/* The problem as NLopt's object; false: NLopt has no memory for it. */
static bool set_up(program *self)
{
    const nadir_budget *budget = &self->trajectory->budget;
    self->optimiser = nlopt_create(NLOPT_LD_SLSQP, (unsigned)self->cone->columns);
    bool good = self->optimiser != NULL && nlopt_set_max_objective(self->optimiser, objective, self) > 0;
    good = good && nlopt_set_lower_bounds1(self->optimiser, 0) > 0;
    good = good && nlopt_add_inequality_constraint(self->optimiser, excess, self, CONSTRAINT_TOLERANCE) > 0;
    good = good && nlopt_set_ftol_rel(self->optimiser, budget->tolerance) > 0;
    good = good && nlopt_set_maxeval(self->optimiser, (int)fmin(1e9, (double)budget->samples)) > 0;
    if (good && !isinf(budget->seconds)) {
        good = nlopt_set_maxtime(self->optimiser, fmax(1e-3, budget->seconds)) > 0;
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

static nadir_status start(program *self)
{
    nadir_status status = NADIR_OK;
    nadir_context *context = self->context;
    const int64_t n = self->cone->columns;
    double *room = NULL;
    /* NLopt takes about as much, outside of the context: fail where the limit of memory does not allow it. */
    NADIR_NEW(context, room, WORK_PER_PAIR * n * n);
    nadir_release(context, room);
    NADIR_NEW(context, self->x, n);
    NADIR_NEW(context, self->unit, n);
    NADIR_NEW(context, self->Kx, n);
    NADIR_NEW(context, self->best, n);
    nadir_cone_draw(nadir_sample_key(context), 0, n, self->x);
    memcpy(self->best, self->x, (size_t)n * sizeof *self->best);
cleanup:
    return status;
}

static void finish(program *self)
{
    nlopt_destroy(self->optimiser);
    nadir_release(self->context, self->x);
    nadir_release(self->context, self->unit);
    nadir_release(self->context, self->Kx);
    nadir_release(self->context, self->best);
}

nadir_status nadir_cone_slsqp(nadir_context *context, const nadir_cone *cone, nadir_trajectory *trajectory,
                              double *x)
{
    nadir_status status = NADIR_OK;
    program self = {.context = context, .cone = cone, .trajectory = trajectory};
    double ignored;
    NADIR_CHECK(start(&self));
    if (!set_up(&self)) {
        status = nadir_fail(context, NADIR_ERROR_MEMORY, "out of memory: NLopt refuses %lld variables",
                            (long long)cone->columns);
        goto cleanup;
    }
    /* However the search ends, the best point so far is in the cone. */
    const nlopt_result result = nlopt_optimize(self.optimiser, self.x, &ignored);
    NADIR_CHECK(self.status);
    if (result == NLOPT_OUT_OF_MEMORY) {
        status = nadir_fail(context, NADIR_ERROR_MEMORY, "out of memory inside NLopt");
        goto cleanup;
    }
    NADIR_CHECK(nadir_trajectory_finish(context, trajectory));
    memcpy(x, self.best, (size_t)cone->columns * sizeof *x);
cleanup:
    finish(&self);
    return status;
}
