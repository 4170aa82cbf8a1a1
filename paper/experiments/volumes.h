/*
 * volumes.h: how much larger the smallest rectangular sets around a non-rectangular ball are.
 *
 * Rows sum to one, so a row moves in S - 1 dimensions. The L_2 ball of radius beta over all rows is a ball of
 * n = S A (S - 1) dimensions. The smallest sa-rectangular set around it is the product of S A balls of S - 1
 * dimensions, the smallest s-rectangular one that of S balls of A (S - 1) dimensions, all of radius beta:
 * each row alone may spend the whole radius. With V_m = pi^(m/2) / Gamma(m/2 + 1) the radius cancels:
 *
 *     vol(U) / vol(U^sa) = V_n / V_(S-1)^(S A),      vol(U) / vol(U^s) = V_n / V_(A(S-1))^S
 */
#ifndef NADIR_PAPER_VOLUMES_H
#define NADIR_PAPER_VOLUMES_H

#include "inside.h"

/* log V_m of the unit ball of m >= 0 dimensions. */
double volumes_log_ball(int64_t dimension);

/* log of the ratio for the set "s" or "sa"; 0 or below. */
double volumes_log_ratio(nadir_set set, int64_t states, int64_t actions);

/* Of `samples` kernels drawn uniformly from the rectangular set of radius 1, row after row or state after
 * state, how many lie in the ball. */
nadir_status volumes_count(nadir_context *context, nadir_set set, int64_t states, int64_t actions,
                           uint64_t seed, int64_t samples, int64_t *inside);

#endif
