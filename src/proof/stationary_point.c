/* stationary_point.c: a candidate with all that proofs by kappa start from; see stationary_point.h. */
#include "proof/kkt.h"

#include <math.h>

void nadir_stationary_point_clear(nadir_context *context, nadir_stationary_point *self)
{
    nadir_sensitivity_clear(context, &self->sensitivity);
    nadir_kkt_clear(context, &self->kkt);
    nadir_displacement_clear(context, &self->displacement);
    nadir_expansion_point_clear(context, &self->point);
    nadir_release(context, self->unvisited);
    self->unvisited = NULL;
}

nadir_status nadir_stationary_point_make(nadir_context *context, const nadir_problem *problem,
                                         const nadir_perturbable_rows *perturbable,
                                         const nadir_candidate *candidate, nadir_occupancy_source source,
                                         nadir_stationary_point *self)
{
    nadir_status status = NADIR_OK;
    nadir_expansion_point *point = &self->point;
    const double *d = source == NADIR_OCCUPANCY_COLUMNS ? NULL : candidate->d;
    NADIR_NEW(context, self->unvisited, perturbable->states);
    NADIR_CHECK(nadir_expansion_point_unvisited(context, problem, candidate->kernel, d, self->unvisited));
    NADIR_CHECK(source == NADIR_OCCUPANCY_NEAR
                    ? nadir_expansion_point_make_near(context, problem, perturbable, candidate,
                                                      self->unvisited, point)
                    : nadir_expansion_point_make(context, problem, perturbable, candidate->kernel,
                                                 self->unvisited, point));
    NADIR_CHECK(source == NADIR_OCCUPANCY_COLUMNS ? nadir_expansion_point_columns(context, point)
                                                  : nadir_expansion_point_occupancy(context, point));
    NADIR_CHECK(nadir_sensitivity_make(context, perturbable, point->X, &self->sensitivity));
cleanup:
    return status;
}

nadir_status nadir_stationary_point_kkt(nadir_context *context, const nadir_occupancy_bounds *bounds,
                                        double beta, double tau, nadir_stationary_point *self)
{
    nadir_status status = NADIR_OK;
    nadir_kkt_clear(context, &self->kkt);
    NADIR_CHECK(nadir_kkt_make(context, &self->point, &self->sensitivity, bounds, beta, tau, self->unvisited,
                               &self->kkt));
    NADIR_CHECK(nadir_displacement_make(context, &self->kkt, NULL, &self->displacement));
cleanup:
    return status;
}

/* The rounding of the difference is subtracted. */
double nadir_stationary_point_level(const nadir_stationary_point *self)
{
    return nadir_round_below(self->kkt.J - self->kkt.error, fabs(self->kkt.J), 2);
}
