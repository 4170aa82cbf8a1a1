/*
 * posterior_draws.h: how far kernels of the posterior, or estimates of bootstrap data, are from the nominal one, row by
 * row.
 *
 * Distances are given as powers, |P_sa - m_sa|_p^p, which add up over rows; at p = infinity as they are.
 * Every row has a random stream of its own, so that its distances do not depend on other rows or on threads.
 */
#ifndef NADIR_FIT_POSTERIOR_DRAWS_H
#define NADIR_FIT_POSTERIOR_DRAWS_H

#include "fit/evidence.h"

typedef struct nadir_posterior_draws {
    const nadir_evidence *evidence;
    bool
        bootstrap; /* estimates from data that the nominal kernel made, instead of kernels of the posterior */
    double norm;   /* p */
    int64_t count; /* of kernels; those of samples, where there are samples */
    uint64_t seed;
} nadir_posterior_draws;

/* p, or 1 at infinity: distance = power^(1 / exponent). */
double nadir_distance_exponent(double norm);
/* Whether p-th powers of distances can leave the range of doubles: then the largest entry stands for them. */
bool nadir_distance_powers_overflow(double norm);

/* Numbers that nadir_posterior_draws_row wants as work space. */
int64_t nadir_posterior_draws_work_length(const nadir_posterior_draws *draws);

/* powers: [count] of this row; room: [nadir_posterior_draws_work_length]. Rows that are known have distance 0, rows without
 * data the largest there is. */
void nadir_posterior_draws_row(const nadir_posterior_draws *draws, int64_t row, double *room, double *powers);

#endif
