/* radii.h: radii that hold the true kernel with a given confidence: by concentration bounds, or by draws. */
#ifndef NADIR_FIT_RADII_H
#define NADIR_FIT_RADII_H

#include "core/random.h"
#include "fit/evidence.h"

#include <stdint.h>

/* ---- Concentration bounds ---------------------------------------------------------------------------- */

/*
 * Radii that hold for every true kernel, whatever its rows are, when the successors of each
 * row were observed independently of each other: no posterior, no large-sample approximation.
 */

/* The scaled distance of the rows first .. end - 1 together, (sum of (|P_sa - m_sa|_p / alpha_sa)^p)^(1/p),
 * is larger with a probability of at most `risk`. scales: [rows] that do not depend on which successors were
 * observed; NULL: all one; 0: pinned. 0 where all rows are known. */
double nadir_concentration_radius(const nadir_evidence *evidence, double norm, int64_t first, int64_t end,
                                  const double *scales, double risk);

/* The same for scales that may depend on the data: from radii of single rows, [rows], that hold all at once.
 */
double nadir_concentration_gather(const nadir_evidence *evidence, double norm, const double *scales,
                                  const double *row_radii);

/* About E|P_sa - m_sa|_p of a row of which only the number of visits is known: what it is at most. */
double nadir_concentration_deviation(const nadir_evidence *evidence, double norm, int64_t row);

/* ---- Quantiles --------------------------------------------------------------------------------------- */

/* The k-th smallest of the values, 1 <= k <= count; puts them in another order. */
double nadir_order_statistic(int64_t count, double *values, int64_t k);

/* The least k such that the k-th smallest of `count` independent draws is below the quantile of `level` with
 * a probability of at most `risk`; count + 1: none is. */
int64_t nadir_quantile_rank(int64_t count, double level, double risk);

/* ---- Distances of draws ------------------------------------------------------------------------------ */

/*
 * Distances of kernels of the posterior, or of estimates from bootstrap data, from the nominal kernel. They
 * are given as powers, |P_sa - m_sa|_p^p, which add up over rows; at p = infinity as they are.
 * Every row has a random stream of its own, so that its distances do not depend on other rows or on threads.
 */

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

/* powers: [count] of this row; room: [nadir_posterior_draws_work_length]. Known rows have distance 0, rows
 * without data the largest possible one. */
void nadir_posterior_draws_row(const nadir_posterior_draws *draws, int64_t row, double *room, double *powers);

/* ---- Radii by draws ---------------------------------------------------------------------------------- */

/*
 * The radii that hold the asked share of random kernels: those of non-rectangular balls with several
 * choices of row scales, of one s-rectangular and of one sa-rectangular set, from the same kernels.
 *
 * A non-rectangular radius is a quantile of (sum over rows of (|P_sa - m_sa|_p / alpha_sa)^p)^(1/p). Of a
 * rectangular set every row (state) first gets the quantile that the union bound would ask for, as far as
 * there are draws enough to tell; then all of them are multiplied by the quantile of the largest ratio of a
 * distance to its radius, so that they hold together, no more and no less.
 */

enum { NADIR_DRAW_RADII_CANDIDATES = 4 };

/* A radius may miss the quantile, for want of draws, with this probability. */
#define NADIR_DRAW_RADII_RISK 1e-3

typedef struct nadir_draw_radii {
    double confidence;
    int candidates;
    double *scales[NADIR_DRAW_RADII_CANDIDATES]; /* [rows] alpha of each candidate; 0: pinned */
    double *state_scales;                        /* [rows] alpha inside the s-rectangular set */
    double radii[NADIR_DRAW_RADII_CANDIDATES];   /* out: of the non-rectangular balls */
    double *state_radii;                         /* [states] out */
    double *row_radii;                           /* [rows] out */
} nadir_draw_radii;

/* NADIR_ERROR_ARGUMENT: too few draws for this confidence. The same bits with any number of threads. */
nadir_status nadir_draw_radii_compute(nadir_context *context, const nadir_posterior_draws *draws,
                                      nadir_draw_radii *radii_found);

#endif
